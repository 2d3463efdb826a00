//! Response-IDs: UUID version 7 (RFC 9562).

/// Makes Response-IDs for one core: unique, and each greater than the one before, whatever the clock does.
///
/// After the 48 bits of milliseconds, the 12 bits `rand_a` and the upper 10 bits of `rand_b` are one counter (RFC 9562,
/// section 6.2, method 1): it starts at a random value in the lower half of its range in each new millisecond and goes
/// up by one while the clock stands still or steps back; when it is used up the timestamp runs ahead by one. The other
/// 52 bits are random, so that generators of different seeds do not meet.
#[derive(Clone, Debug)]
pub struct ResponseIds {
    unix_ms: u64,
    counter: u32,
    random: u64,
}

/// Bits of the counter.
const COUNTER_BITS: u32 = 22;
/// Those of them that are in `rand_b`; the others fill `rand_a`.
const COUNTER_LOW_BITS: u32 = 10;
/// Random bits at the end.
const TAIL_BITS: u32 = 52;
/// Bits of the timestamp.
const TIME_BITS: u32 = 48;
const _: () = assert!(COUNTER_BITS - COUNTER_LOW_BITS == 12 && 2 + COUNTER_LOW_BITS + TAIL_BITS == 64);

/// Length of an id as text.
pub const RESPONSE_ID_BYTES: usize = 36;

impl ResponseIds {
    /// A generator; `seed` is random and distinct for each core.
    pub fn new(seed: u64) -> ResponseIds {
        let mut ids = ResponseIds { unix_ms: 0, counter: 0, random: seed };
        ids.counter = ids.fresh_counter();
        ids
    }

    /// The next id, lowercase with hyphens.
    #[inline]
    pub fn next(&mut self, unix_ms: u64) -> [u8; RESPONSE_ID_BYTES] {
        self.step(unix_ms & low_bits(TIME_BITS));
        let counter = u64::from(self.counter);
        let high = self.unix_ms << 16 | 0x7000 | counter >> COUNTER_LOW_BITS;
        let low_counter = (counter & low_bits(COUNTER_LOW_BITS)) << TAIL_BITS;
        let low = 0b10 << 62 | low_counter | self.draw() & low_bits(TAIL_BITS);
        text(high, low)
    }

    /// Makes the pair of time and counter greater than it was.
    #[inline]
    fn step(&mut self, unix_ms: u64) {
        self.counter += 1;
        let used_up = self.counter >> COUNTER_BITS != 0;
        if unix_ms > self.unix_ms || used_up {
            self.unix_ms = unix_ms.max(self.unix_ms + u64::from(used_up));
            self.counter = self.fresh_counter();
        }
    }

    fn fresh_counter(&mut self) -> u32 {
        (self.draw() & low_bits(COUNTER_BITS - 1)) as u32
    }

    /// SplitMix64: a counter with an odd stride through a mixing bijection, so 2^64 draws before one repeats.
    #[inline]
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

const fn low_bits(count: u32) -> u64 {
    (1 << count) - 1
}

/// Two hexadecimal digits for each byte.
static HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    table
};

/// Where the digits of each byte go: `8-4-4-4-12`.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

#[inline]
fn text(high: u64, low: u64) -> [u8; RESPONSE_ID_BYTES] {
    let mut text = [b'-'; RESPONSE_ID_BYTES];
    let uuid = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    for (byte, place) in uuid.into_iter().zip(PLACES) {
        let [first, second] = HEX[usize::from(byte)];
        text[place] = first;
        text[place + 1] = second;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const NOW: u64 = 1_760_000_000_000;

    fn assert_uuid_v7(id: &[u8; RESPONSE_ID_BYTES]) {
        for (place, &byte) in id.iter().enumerate() {
            match place {
                8 | 13 | 18 | 23 => assert_eq!(byte, b'-'),
                14 => assert_eq!(byte, b'7', "version"),
                19 => assert!(b"89ab".contains(&byte), "variant"),
                _ => assert!(byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
            }
        }
    }

    fn unix_ms(id: &[u8; RESPONSE_ID_BYTES]) -> u64 {
        let digits = String::from_utf8(id[..13].to_vec()).unwrap().replace('-', "");
        u64::from_str_radix(&digits, 16).unwrap()
    }

    #[test]
    fn ids_are_version_7_with_the_time_given() {
        let mut ids = ResponseIds::new(1);
        for unix_ms_given in [NOW, NOW + 1, NOW + 86_400_000] {
            let id = ids.next(unix_ms_given);
            assert_uuid_v7(&id);
            assert_eq!(unix_ms(&id), unix_ms_given);
        }
    }

    #[test]
    fn ids_rise_whatever_the_clock_does() {
        let mut ids = ResponseIds::new(0);
        let mut seen = HashSet::new();
        let mut last = [0; RESPONSE_ID_BYTES];
        for number in 0..200_000 {
            // Stands still for a while, jumps ahead, steps back.
            let id = ids.next(NOW + [0, 0, 0, 7, 3, 1_000, 2][number / 1_000 % 7] + number as u64 / 50_000);
            assert_uuid_v7(&id);
            assert!(id > last, "id {number}");
            assert!(seen.insert(id));
            last = id;
        }
    }

    #[test]
    fn a_used_up_counter_borrows_from_the_time_ahead() {
        let mut ids = ResponseIds::new(5);
        let first = ids.next(NOW);
        ids.counter = (1 << COUNTER_BITS) - 2;
        let (highest, over) = (ids.next(NOW), ids.next(NOW));
        assert!(first < highest && highest < over);
        assert_eq!((unix_ms(&highest), unix_ms(&over)), (NOW, NOW + 1));
        assert!(ids.next(NOW) > over, "the clock is now behind");
        assert_eq!(unix_ms(&ids.next(NOW + 2)), NOW + 2, "and ahead again");
    }

    #[test]
    fn generators_of_different_seeds_do_not_meet() {
        let mut seen = HashSet::new();
        for seed in 0..64 {
            let mut ids = ResponseIds::new(seed);
            assert!((0..1_000).all(|_| seen.insert(ids.next(NOW))));
        }
    }

    #[test]
    fn clocks_before_the_epoch_and_past_48_bits_are_survived() {
        let mut ids = ResponseIds::new(9);
        assert_uuid_v7(&ids.next(0));
        assert_uuid_v7(&ids.next(u64::MAX));
        assert_uuid_v7(&ids.next(NOW));
    }
}
