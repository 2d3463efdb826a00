//! The rooms of the house and what they cost.

/// A room's number, 1 to [`ROOMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoomNumber(u8);

/// Number of rooms.
pub(super) const ROOMS: usize = 24;

/// Every price is in this currency, in whole units.
pub(super) const CURRENCY: &str = "EUR";

/// Breakfast for one guest and one night, where the room does not include it.
pub(super) const BREAKFAST_PRICE: u32 = 14;

/// Types of room, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoomType {
    /// Rooms 1 to 8.
    Single,
    /// Rooms 9 to 20.
    Double,
    /// Rooms 21 to 24.
    Suite,
}

impl RoomType {
    /// As in endpoint declarations.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            RoomType::Single => "single",
            RoomType::Double => "double",
            RoomType::Suite => "suite",
        }
    }

    /// The type of this name.
    pub(super) fn named(name: &str) -> Option<RoomType> {
        [RoomType::Single, RoomType::Double, RoomType::Suite].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Most guests it sleeps.
    pub(super) const fn sleeps(self) -> u32 {
        match self {
            RoomType::Single => 1,
            RoomType::Double => 2,
            RoomType::Suite => 4,
        }
    }

    /// Price of a night.
    pub(super) const fn price(self) -> u32 {
        match self {
            RoomType::Single => 79,
            RoomType::Double => 119,
            RoomType::Suite => 229,
        }
    }

    /// Whether breakfast is included.
    pub(super) const fn includes_breakfast(self) -> bool {
        matches!(self, RoomType::Suite)
    }

    /// What breakfast adds to each night.
    pub(super) const fn breakfast_per_night(self, guests: u32, breakfast: bool) -> u32 {
        if breakfast && !self.includes_breakfast() { BREAKFAST_PRICE * guests } else { 0 }
    }

    /// Price of a stay.
    pub(super) const fn total(self, nights: u32, guests: u32, breakfast: bool) -> u32 {
        nights * (self.price() + self.breakfast_per_night(guests, breakfast))
    }
}

impl RoomNumber {
    /// All rooms, cheapest first, since rooms are numbered in the order of their types.
    pub(super) fn all() -> impl Iterator<Item = RoomNumber> {
        (1..=ROOMS as u8).map(RoomNumber)
    }

    /// The room of this id. Ids are plain decimal: `012` names no room, so a room has one path.
    pub(super) fn parse(id: &str) -> Option<RoomNumber> {
        let number = id.parse().ok().map(RoomNumber)?;
        (number.index() < ROOMS && number.id().as_str() == id).then_some(number)
    }

    /// Row index, from 0.
    pub(super) fn index(self) -> usize {
        usize::from(self.0.wrapping_sub(1))
    }

    /// Its id as text.
    pub(super) fn id(self) -> RoomId {
        RoomId([b'0' + self.0 / 10 % 10, b'0' + self.0 % 10])
    }

    /// Its type.
    pub(super) const fn kind(self) -> RoomType {
        match self.0 {
            ..=8 => RoomType::Single,
            9..=20 => RoomType::Double,
            _ => RoomType::Suite,
        }
    }
}

/// A room's id as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoomId([u8; 2]);

impl RoomId {
    /// The text, one or two digits.
    pub(super) fn as_str(&self) -> &str {
        let digits = self.0.strip_prefix(b"0").unwrap_or(&self.0);
        str::from_utf8(digits).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_room_has_one_id() {
        for room in RoomNumber::all() {
            assert_eq!(RoomNumber::parse(room.id().as_str()), Some(room));
        }
        for bad in ["", "0", "00", "012", "+1", "25", "112", "255", "256", "penthouse", "1 "] {
            assert_eq!(RoomNumber::parse(bad), None, "{bad}");
        }
        assert_eq!(RoomNumber::all().count(), ROOMS);
    }

    #[test]
    fn breakfast_is_charged_where_it_is_not_included() {
        assert_eq!(RoomType::Double.total(3, 2, false), 357);
        assert_eq!(RoomType::Double.total(3, 2, true), 357 + 3 * 2 * BREAKFAST_PRICE);
        assert_eq!(RoomType::Suite.total(2, 4, true), 458);
    }

    #[test]
    fn rooms_are_listed_cheapest_first() {
        let prices: Vec<_> = RoomNumber::all().map(|room| room.kind().price()).collect();
        assert!(prices.is_sorted());
    }
}
