//! Eight bytes at a time: where the first byte of some kind is.
//!
//! The texts of a head are short (a name of 10 bytes, a value of 30), too short for wide vectors behind a call to pay:
//! these loops, inlined, halved the time of a usual head against `memchr` for each delimiter and a pass over each value.
//! What was tried and lost: two words at a time, and questions of single bytes that the compiler turns into SSE2 (the
//! way back from a vector register to the place of a byte costs more than the loop saves).
//!
//! A *mark* is bit 7 of a byte. The marks of a word may be wrong above its lowest one, because a subtraction borrows
//! from the next byte and an addition carries into it, but only from a byte that is itself marked; so the lowest mark
//! is always exact, and it is the only one that is used.

const ONES: u64 = u64::MAX / 255;
const MARKS: u64 = ONES << 7;
const WORD_BYTES: usize = size_of::<u64>();

const fn splat(byte: u8) -> u64 {
    ONES * byte as u64
}

/// Marks bytes that are `byte`.
const fn equal(word: u64, byte: u8) -> u64 {
    let differences = word ^ splat(byte);
    differences.wrapping_sub(ONES) & !differences & MARKS
}

/// Marks bytes below `least`, which is at most 0x80, and some from 0x80 up.
const fn below(word: u64, least: u8) -> u64 {
    word.wrapping_sub(splat(least)) & MARKS
}

/// Marks DEL and bytes from 0x80 up.
const fn from_del(word: u64) -> u64 {
    (word | word.wrapping_add(ONES)) & MARKS
}

/// Number of bytes in front that are printable ASCII or space.
#[inline]
pub(super) fn printable_len(bytes: &[u8]) -> usize {
    first(bytes, |word| below(word, b' ') | from_del(word)).unwrap_or(bytes.len())
}

/// Where the first `byte` is.
#[inline]
pub(super) fn position(bytes: &[u8], byte: u8) -> Option<usize> {
    first(bytes, |word| equal(word, byte))
}

/// Where in a target the first byte is that needs a closer look: `?`, `#`, space, a control, or no ASCII.
#[inline]
pub(super) fn target_delimiter(bytes: &[u8]) -> Option<usize> {
    first(bytes, |word| below(word, b'!') | from_del(word) | equal(word, b'?') | equal(word, b'#'))
}

/// Where the first marked byte is. The last word overlaps its predecessor, where it has no marks.
#[inline(always)]
fn first(bytes: &[u8], marks: impl Fn(u64) -> u64) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    for (number, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(number * WORD_BYTES + lowest(marks));
        }
    }
    match bytes.last_chunk::<WORD_BYTES>() {
        Some(last) if !rest.is_empty() => {
            let marks = marks(u64::from_le_bytes(*last));
            (marks != 0).then(|| bytes.len() - WORD_BYTES + lowest(marks))
        }
        _ => first_of_few(rest, marks),
    }
}

/// As [`first`], for less than a word. Apart, so that the loop stays small where it is inlined.
#[inline(never)]
fn first_of_few(bytes: &[u8], marks: impl Fn(u64) -> u64) -> Option<usize> {
    bytes.iter().position(|&byte| marks(splat(byte)) != 0)
}

/// The byte of the lowest mark.
const fn lowest(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agree(bytes: &[u8]) {
        let printable = bytes.iter().take_while(|byte| (32..127).contains(*byte)).count();
        assert_eq!(printable_len(bytes), printable, "{bytes:?}");
        assert_eq!(position(bytes, b':'), bytes.iter().position(|&byte| byte == b':'), "{bytes:?}");
        let delimiter =
            bytes.iter().position(|&byte| !(33..127).contains(&byte) || byte == b'?' || byte == b'#');
        assert_eq!(target_delimiter(bytes), delimiter, "{bytes:?}");
    }

    #[test]
    fn every_byte_is_found_at_every_place_of_every_length() {
        for len in 1..35 {
            for place in 0..len {
                for byte in 0..=255 {
                    let mut bytes = vec![b'~'; len];
                    bytes[place] = byte;
                    agree(&bytes);
                }
            }
        }
        agree(b"");
    }

    #[test]
    fn marks_above_the_lowest_do_not_matter() {
        for low in 0..=255u8 {
            for high in 0..=255u8 {
                agree(&[b'a', low, high, b'a', b'a', b'a', b'a', b'a']);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_searched_as_plainly(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            agree(&bytes);
        }
    }
}
