//! Who sleeps where and when: the hotel's only state, in memory, per process.
//!
//! All of its memory is laid out when the first request needs it and nothing allocates afterwards. The system commits
//! the pages as they are touched, so an idle hotel costs next to nothing.
//!
//! * `records` holds one reservation per slot, text inline.
//! * `calendar` holds, for each room and day, the slot of whoever sleeps there. A booking looks at no other cells than
//!   its own nights, and a repeated booking finds its own reservation in the first of them.

use super::dates::{DAYS, Day};
use super::house::{ROOMS, RoomNumber};
use crate::identity::AgentId;
use std::num::NonZeroU32;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Most reservations the process remembers. Bounds its memory, whatever callers do; once all slots are taken,
/// cancelled reservations are forgotten, the latest first.
pub(super) const CAPACITY: usize = 65_536;

/// Longest guest name in bytes: the 60 characters of the declaration, four bytes each.
pub(super) const NAME_BYTES: usize = 240;

/// Longest notes in bytes: 120 characters.
pub(super) const NOTES_BYTES: usize = 480;

/// Why the ledger refuses. The names are those of the endpoints' `errors` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Somebody sleeps there.
    RoomUnavailable,
    /// The stay does not lie within 2000 to 2099.
    InvalidDates,
    /// Every slot holds a confirmed reservation.
    HotelFull,
    /// No such reservation, or another agent's.
    UnknownReservation,
    /// It was cancelled.
    ReservationCancelled,
}

/// The nights of a stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nights {
    /// First night.
    pub(super) check_in: Day,
    /// How many, 1 to 30.
    pub(super) count: u16,
}

/// What is reserved: all of a reservation but its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    /// The room.
    pub(super) room: RoomNumber,
    /// When.
    pub(super) nights: Nights,
    /// How many guests.
    pub(super) guests: u8,
    /// Whether breakfast was asked for.
    pub(super) breakfast: bool,
}

/// A reservation's number; its id is `rsv-` and at least six digits. Numbers can be guessed, and nothing is gained by
/// it: a reservation is shown to the agent that made it and to nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number(NonZeroU32);

/// A reservation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    /// Its number.
    pub(super) number: Number,
    /// What is reserved.
    pub(super) stay: Stay,
    /// Whether it was cancelled.
    pub(super) cancelled: bool,
}

/// A request for a room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booking<'a> {
    /// The agent that asks.
    pub(super) agent: AgentId,
    /// What it wants.
    pub(super) stay: Stay,
    /// For whom.
    pub(super) guest_name: &'a str,
    /// What the front desk should know; may be empty.
    pub(super) notes: &'a str,
}

/// Text kept inline, cut at a character boundary if it is longer than the declaration allows.
#[derive(Clone, Copy, Debug)]
struct InlineText<const N: usize> {
    len: u16,
    bytes: [u8; N],
}

#[derive(Clone, Copy, Debug)]
struct Record {
    reservation: Reservation,
    agent: AgentId,
    guest_name: InlineText<NAME_BYTES>,
    notes: InlineText<NOTES_BYTES>,
}

/// Index into [`Ledger::records`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(u32);

/// The book of reservations.
#[derive(Debug)]
pub(super) struct Ledger {
    records: Vec<Record>,
    /// Slots of cancelled reservations, a stack.
    cancelled: Vec<Slot>,
    /// `calendar[room * DAYS + day]`: slot + 1, 0 while nobody sleeps there.
    calendar: Vec<u32>,
    capacity: usize,
}

static LEDGER: OnceLock<Mutex<Ledger>> = OnceLock::new();

/// Does something with the process's ledger. The lock is taken even when poisoned: a record is complete before the
/// calendar points to it, so a panic in between costs at most its slot.
pub(super) fn with_ledger<T>(work: impl FnOnce(&mut Ledger) -> T) -> T {
    let ledger = LEDGER.get_or_init(|| Mutex::new(Ledger::new(CAPACITY)));
    work(&mut ledger.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Ledger {
    /// An empty book with room for `capacity` reservations.
    pub(super) fn new(capacity: usize) -> Ledger {
        Ledger {
            records: Vec::with_capacity(capacity),
            cancelled: Vec::with_capacity(capacity),
            calendar: vec![0; ROOMS * DAYS],
            capacity,
        }
    }

    /// Books a stay. The same stay for the same guest by the same agent is the same reservation, however often it is
    /// asked for; anything else that touches an occupied night is refused.
    pub(super) fn book(&mut self, booking: &Booking<'_>) -> Result<Reservation, Refusal> {
        let nights = self.nights_of(&booking.stay)?;
        if let Some(record) = nights.first().and_then(|cell| self.record(Slot(cell.checked_sub(1)?))) {
            let repeated = record.is_repeated_by(booking);
            return if repeated { Ok(record.reservation) } else { Err(Refusal::RoomUnavailable) };
        }
        if nights.iter().any(|&cell| cell != 0) {
            return Err(Refusal::RoomUnavailable);
        }
        let (slot, number) = self.free_slot()?;
        let reservation = Reservation { number, stay: booking.stay, cancelled: false };
        self.store(slot, Record::new(reservation, booking));
        self.occupy(&booking.stay, slot);
        Ok(reservation)
    }

    /// Whether every night of a stay is free.
    pub(super) fn is_free(&self, stay: &Stay) -> Result<bool, Refusal> {
        Ok(self.nights_of(stay)?.iter().all(|&cell| cell == 0))
    }

    /// An agent's reservation, with the guest's name and the notes.
    pub(super) fn look_up(&self, agent: &AgentId, id: &str) -> Result<(Reservation, &str, &str), Refusal> {
        let slot = self.find(agent, id)?;
        let record = self.record(slot).ok_or(Refusal::UnknownReservation)?;
        Ok((record.reservation, record.guest_name.as_str(), record.notes.as_str()))
    }

    /// Cancels an agent's reservation; a repeat changes nothing.
    pub(super) fn cancel(&mut self, agent: &AgentId, id: &str) -> Result<Reservation, Refusal> {
        let slot = self.find(agent, id)?;
        let record = self.record_mut(slot).ok_or(Refusal::UnknownReservation)?;
        let already = std::mem::replace(&mut record.reservation.cancelled, true);
        let reservation = record.reservation;
        if !already {
            self.mark(&reservation.stay, 0);
            self.cancelled.push(slot);
        }
        Ok(reservation)
    }

    /// Moves an agent's reservation to other nights of the same room; its length stays unless one is given.
    pub(super) fn reschedule(
        &mut self,
        agent: &AgentId,
        id: &str,
        check_in: Day,
        nights: Option<u16>,
    ) -> Result<Reservation, Refusal> {
        let slot = self.find(agent, id)?;
        let old = self.record(slot).ok_or(Refusal::UnknownReservation)?.reservation;
        if old.cancelled {
            return Err(Refusal::ReservationCancelled);
        }
        let count = nights.unwrap_or(old.stay.nights.count);
        let stay = Stay { nights: Nights { check_in, count }, ..old.stay };
        if self.nights_of(&stay)?.iter().any(|&cell| cell != 0 && cell != slot.0 + 1) {
            return Err(Refusal::RoomUnavailable);
        }
        self.mark(&old.stay, 0);
        self.occupy(&stay, slot);
        let record = self.record_mut(slot).ok_or(Refusal::UnknownReservation)?;
        record.reservation.stay = stay;
        Ok(record.reservation)
    }

    fn find(&self, agent: &AgentId, id: &str) -> Result<Slot, Refusal> {
        let number = Number::parse(id).ok_or(Refusal::UnknownReservation)?;
        let slot = number.slot(self.capacity);
        self.record(slot)
            .filter(|record| record.reservation.number == number && record.agent == *agent)
            .map(|_| slot)
            .ok_or(Refusal::UnknownReservation)
    }

    fn record(&self, slot: Slot) -> Option<&Record> {
        self.records.get(slot.0 as usize)
    }

    fn record_mut(&mut self, slot: Slot) -> Option<&mut Record> {
        self.records.get_mut(slot.0 as usize)
    }

    fn cells(stay: &Stay) -> std::ops::Range<usize> {
        let start = stay.room.index() * DAYS + stay.nights.check_in.index();
        start..start + usize::from(stay.nights.count)
    }

    /// The calendar's cells of a stay. Day of departure included, all of it must lie in the century, or the cells would
    /// run into the next room's.
    fn nights_of(&self, stay: &Stay) -> Result<&[u32], Refusal> {
        stay.nights.check_in.plus(stay.nights.count).ok_or(Refusal::InvalidDates)?;
        self.calendar.get(Self::cells(stay)).ok_or(Refusal::InvalidDates)
    }

    fn occupy(&mut self, stay: &Stay, slot: Slot) {
        self.mark(stay, slot.0 + 1);
    }

    fn mark(&mut self, stay: &Stay, value: u32) {
        if let Some(cells) = self.calendar.get_mut(Self::cells(stay)) {
            cells.fill(value);
        }
    }

    /// A slot to write to, and the number of what will be written: never used ones first, then cancelled ones under
    /// the next number that belongs to the slot.
    fn free_slot(&mut self) -> Result<(Slot, Number), Refusal> {
        if self.records.len() < self.capacity {
            let slot = Slot(self.records.len() as u32);
            return Number::first(slot).map(|number| (slot, number)).ok_or(Refusal::HotelFull);
        }
        let slot = self.cancelled.pop().ok_or(Refusal::HotelFull)?;
        let number = self.record(slot).and_then(|record| record.reservation.number.next(self.capacity));
        number.map(|number| (slot, number)).ok_or(Refusal::HotelFull)
    }

    fn store(&mut self, slot: Slot, record: Record) {
        match self.record_mut(slot) {
            Some(old) => *old = record,
            None => self.records.push(record),
        }
    }
}

impl Number {
    fn first(slot: Slot) -> Option<Number> {
        slot.0.checked_add(1).and_then(NonZeroU32::new).map(Number)
    }

    fn next(self, capacity: usize) -> Option<Number> {
        self.0.checked_add(u32::try_from(capacity).ok()?).map(Number)
    }

    fn slot(self, capacity: usize) -> Slot {
        Slot((self.0.get() - 1) % capacity.max(1) as u32)
    }

    fn parse(id: &str) -> Option<Number> {
        let digits = id.strip_prefix("rsv-")?;
        let number =
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?.map(Number)?;
        (number.id().as_str() == id).then_some(number)
    }

    /// Its id as text.
    pub(super) fn id(self) -> ReservationId {
        let mut bytes = *b"rsv-0000000000";
        let mut rest = self.0.get();
        for byte in bytes.iter_mut().rev() {
            if rest == 0 {
                break;
            }
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        // Six digits unless more are needed: what goes are leading zeros between prefix and number.
        let spare = bytes.iter().skip(4).take_while(|&&byte| byte == b'0').count().min(4);
        bytes.copy_within(4 + spare.., 4);
        ReservationId { len: 14 - spare as u8, bytes }
    }
}

/// A reservation's id as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReservationId {
    len: u8,
    bytes: [u8; 14],
}

impl ReservationId {
    /// The text.
    pub(super) fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.len))
            .and_then(|bytes| str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl Record {
    fn new(reservation: Reservation, booking: &Booking<'_>) -> Record {
        Record {
            reservation,
            agent: booking.agent,
            guest_name: InlineText::new(booking.guest_name),
            notes: InlineText::new(booking.notes),
        }
    }

    fn is_repeated_by(&self, booking: &Booking<'_>) -> bool {
        self.reservation.stay.nights == booking.stay.nights
            && self.agent == booking.agent
            && self.guest_name.as_str() == booking.guest_name
    }
}

impl<const N: usize> InlineText<N> {
    fn new(text: &str) -> Self {
        let end = text.floor_char_boundary(N);
        let mut bytes = [0; N];
        for (to, from) in bytes.iter_mut().zip(text.as_bytes().iter().take(end)) {
            *to = *from;
        }
        InlineText { len: end as u16, bytes }
    }

    fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.len))
            .and_then(|bytes| str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
