//! Pieces of a response.

/// Appends a number in decimal.
#[inline]
pub fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; MAX_DIGITS];
    let mut first = MAX_DIGITS;
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        first = place;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(first..).unwrap_or_default());
}

/// Digits of `u64::MAX`.
const MAX_DIGITS: usize = 20;
const _: () = assert!(u64::MAX.ilog10() as usize + 1 == MAX_DIGITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_std_writes_them() {
        let powers =
            (0..20).map(|power| 10u64.pow(power)).flat_map(|number| [number - 1, number, number + 1]);
        for number in powers.chain([u64::MAX, u64::MAX - 1]).chain(0..1_200) {
            let mut out = b"n=".to_vec();
            push_decimal(&mut out, number);
            assert_eq!(out, format!("n={number}").as_bytes());
        }
    }
}
