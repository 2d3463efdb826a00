//! The peers' hotel: the work that the sample deployment's handler does, on the same layout of memory.

use std::sync::Mutex;

/// Rooms, of which 1 to 8 are single, 9 to 20 double, the others suites.
const ROOMS: usize = 24;

/// Days from 2000-01-01 to 2099-12-31.
const DAYS: usize = 36_525;

const BREAKFAST_PRICE: u32 = 14;

pub struct Booking<'a> {
    pub agent: [u8; 32],
    pub room: &'a str,
    pub check_in: &'a str,
    pub nights: u32,
    pub guests: u32,
    pub room_type: Option<&'a str>,
    pub breakfast: bool,
    pub guest_name: &'a str,
    pub notes: &'a str,
}

pub struct Booked {
    pub number: u32,
    pub check_out: String,
    pub total_price: u32,
}

struct Record {
    agent: [u8; 32],
    room: usize,
    first: usize,
    nights: u32,
    guests: u32,
    breakfast: bool,
    guest_name: String,
    notes: String,
}

struct Ledger {
    records: Vec<Record>,
    /// `calendar[room * DAYS + day]`: record + 1, 0 while nobody sleeps there.
    calendar: Vec<u32>,
}

pub struct Hotel(Mutex<Ledger>);

impl Hotel {
    pub fn new() -> Hotel {
        Hotel(Mutex::new(Ledger { records: Vec::new(), calendar: vec![0; ROOMS * DAYS] }))
    }

    /// Books a stay, or names the error of the endpoint's that keeps it from being booked.
    pub fn book(&self, booking: &Booking<'_>) -> Result<Booked, &'static str> {
        let room = booking.room.parse::<usize>().ok().filter(|room| (1..=ROOMS).contains(room));
        let room = room.ok_or("unknown_room")? - 1;
        let (kind, price, sleeps) = match room {
            ..8 => ("single", 79, 1),
            8..20 => ("double", 119, 2),
            _ => ("suite", 229, 4),
        };
        if booking.room_type.is_some_and(|wanted| wanted != kind) || booking.guests > sleeps {
            return Err("room_unsuitable");
        }
        let first = day(booking.check_in).ok_or("invalid_dates")?;
        let last = first + booking.nights as usize;
        if last > DAYS {
            return Err("invalid_dates");
        }
        let breakfast =
            if booking.breakfast && kind != "suite" { BREAKFAST_PRICE * booking.guests } else { 0 };
        let total_price = booking.nights * (price + breakfast);
        let number = self.enter(booking, room, first, last)?;
        Ok(Booked { number, check_out: text(last), total_price })
    }

    /// The number of the reservation: a new one, or that of the same stay.
    fn enter(
        &self,
        booking: &Booking<'_>,
        room: usize,
        first: usize,
        last: usize,
    ) -> Result<u32, &'static str> {
        let mut ledger = self.0.lock().map_err(|_| "internal")?;
        let nights = room * DAYS + first..room * DAYS + last;
        if let Some(found) = ledger.calendar[nights.start].checked_sub(1) {
            let same = ledger.records[found as usize].is(booking, room, first);
            return if same { Ok(found + 1) } else { Err("room_unavailable") };
        }
        if ledger.calendar[nights.clone()].iter().any(|night| *night != 0) {
            return Err("room_unavailable");
        }
        ledger.records.push(Record {
            agent: booking.agent,
            room,
            first,
            nights: booking.nights,
            guests: booking.guests,
            breakfast: booking.breakfast,
            guest_name: booking.guest_name.to_owned(),
            notes: booking.notes.to_owned(),
        });
        let number = ledger.records.len() as u32;
        ledger.calendar[nights].fill(number);
        Ok(number)
    }
}

impl Record {
    fn is(&self, booking: &Booking<'_>, room: usize, first: usize) -> bool {
        self.agent == booking.agent
            && (self.room, self.first, self.nights) == (room, first, booking.nights)
            && (self.guests, self.breakfast) == (booking.guests, booking.breakfast)
            && self.guest_name == booking.guest_name
            && self.notes == booking.notes
    }
}

/// Days since 2000-01-01 of a date that the schema has found to be one.
fn day(text: &str) -> Option<usize> {
    let year: usize = text.get(..4)?.parse().ok().filter(|year| (2000..2100).contains(year))?;
    let month: usize = text.get(5..7)?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let day: usize = text.get(8..10)?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let months: usize = (1..month).map(|month| days_of(year, month)).sum();
    Some(days_before(year) + months + day - 1)
}

/// Days from 2000-01-01 to the first of a year.
fn days_before(year: usize) -> usize {
    let years = year - 2000;
    years * 365 + years.div_ceil(4)
}

fn days_of(year: usize, month: usize) -> usize {
    match month {
        2 if year.is_multiple_of(4) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn text(day: usize) -> String {
    let mut year = 2000 + day / 366;
    while days_before(year + 1) <= day {
        year += 1;
    }
    let mut left = day - days_before(year);
    let mut month = 1;
    while left >= days_of(year, month) {
        left -= days_of(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (number, date) in
            [(0, "2000-01-01"), (59, "2000-02-29"), (366, "2001-01-01"), (DAYS - 1, "2099-12-31")]
        {
            assert_eq!((day(date), text(number).as_str()), (Some(number), date));
        }
        for number in 0..DAYS {
            assert_eq!(day(&text(number)), Some(number));
        }
    }
}
