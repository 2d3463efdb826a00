//! Times as records state them.

const DAY_MS: u64 = 86_400_000;

/// Appends a time as RFC 3339 in UTC, to the millisecond; always 24 bytes before the year 10000.
pub fn push_rfc3339(out: &mut Vec<u8>, unix_ms: u64) {
    let (year, month, day) = civil(unix_ms / DAY_MS);
    let in_day = unix_ms % DAY_MS;
    for (number, digits, end) in [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (in_day / 3_600_000, 2, b':'),
        (in_day / 60_000 % 60, 2, b':'),
        (in_day / 1000 % 60, 2, b'.'),
        (in_day % 1000, 3, b'Z'),
    ] {
        for place in (0..digits).rev() {
            out.push(b'0' + (number / 10u64.pow(place) % 10) as u8);
        }
        out.push(end);
    }
}

/// Year, month and day of a day counted from 1970. The year is taken to begin in March, so that the leap day is its
/// last, and 400 years are one era of 146,097 days.
fn civil(day: u64) -> (u64, u64, u64) {
    // From 0000-03-01 to 1970-01-01.
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (unix_ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_001, "2024-02-29T00:00:00.001Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (1_735_689_600_000, "2025-01-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let mut out = Vec::new();
            push_rfc3339(&mut out, unix_ms);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut last = civil(0);
        for day in 1..150_000 {
            let (year, month, of_month) = civil(day);
            let (y, m, d) = last;
            let next_day = (year, month, of_month) == (y, m, d + 1);
            let next_month = (year, month, of_month) == (y, m + 1, 1) && d >= 28;
            let next_year = (year, month, of_month) == (y + 1, 1, 1) && (m, d) == (12, 31);
            assert!(next_day || next_month || next_year, "{last:?} is followed by {year}-{month}-{of_month}");
            last = (year, month, of_month);
        }
    }
}
