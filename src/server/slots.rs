//! The connections of one core, by index, and their deadlines.

/// A slab: indexes are reused, so that a readiness event carries no pointer. An event or queue entry of a closed
/// connection may thus reach its successor, which tries the socket once in vain.
pub(super) struct Slots<T> {
    entries: Vec<Option<T>>,
    vacant: Vec<u32>,
    /// In milliseconds of the core's clock; [`NEVER`] where vacant. Apart from the entries, so that looking for the
    /// expired among 100,000 connections reads 800 kB in a row, once a tick, and setting one is a store.
    deadlines: Vec<u64>,
}

/// No deadline.
pub(super) const NEVER: u64 = u64::MAX;

impl<T> Slots<T> {
    pub(super) fn new() -> Slots<T> {
        Slots { entries: Vec::new(), vacant: Vec::new(), deadlines: Vec::new() }
    }

    /// Puts a connection in and says where.
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        let index = self.vacant.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(index as usize) {
            Some(slot) => *slot = Some(entry),
            None => {
                self.entries.push(Some(entry));
                self.deadlines.push(NEVER);
            }
        }
        index
    }

    /// Takes a connection out.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let entry = self.entries.get_mut(index as usize)?.take()?;
        self.set_deadline(index, NEVER);
        self.vacant.push(index);
        Some(entry)
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.entries.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.vacant.len() == self.entries.len()
    }

    /// The index of every connection, with it.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (0..).zip(&mut self.entries).filter_map(|(index, entry)| Some((index, entry.as_mut()?)))
    }

    pub(super) fn set_deadline(&mut self, index: u32, deadline_ms: u64) {
        if let Some(deadline) = self.deadlines.get_mut(index as usize) {
            *deadline = deadline_ms;
        }
    }

    /// Appends the indexes whose deadline has come.
    pub(super) fn expired(&self, now_ms: u64, into: &mut Vec<u32>) {
        into.extend(
            (0..).zip(&self.deadlines).filter(|(_, deadline)| **deadline <= now_ms).map(|(index, _)| index),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_reused_and_lose_their_deadline() {
        let mut slots = Slots::new();
        assert!(slots.is_empty());
        assert_eq!((slots.insert('a'), slots.insert('b')), (0, 1));
        slots.set_deadline(0, 5);
        slots.set_deadline(1, 9);
        assert_eq!((slots.remove(0), slots.remove(0)), (Some('a'), None));
        assert_eq!(slots.insert('c'), 0);
        let mut expired = Vec::new();
        slots.expired(9, &mut expired);
        assert_eq!(expired, [1]);
        assert_eq!(
            slots.iter_mut().map(|(index, entry)| (index, *entry)).collect::<Vec<_>>(),
            [(0, 'c'), (1, 'b')]
        );
        assert!(slots.get_mut(2).is_none());
        slots.remove(0);
        slots.remove(1);
        assert!(slots.is_empty());
    }
}
