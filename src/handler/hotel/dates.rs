//! Days without a clock: civil dates to day numbers and back.
//!
//! The ledger counts days from 2000-01-01 to 2099-12-31, so a day fits in sixteen bits and a century of one room in
//! one row of a table.

/// Number of days the ledger knows.
pub(super) const DAYS: usize = 36_525;

/// A day the ledger knows: 0 is 2000-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(u16);

/// A date as `YYYY-MM-DD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DateText([u8; 10]);

impl Day {
    /// Reads `YYYY-MM-DD`. `None` for anything else, for dates that do not exist, and outside 2000 to 2099.
    pub(super) fn parse(text: &str) -> Option<Day> {
        let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
            return None;
        };
        let year = number(&[y1, y2, y3, y4])?;
        let month = number(&[m1, m2])?;
        let day = number(&[d1, d2])?;
        let exists = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        if !exists || !(2000..2100).contains(&year) {
            return None;
        }
        u16::try_from(days_from_civil(year, month, day)).ok().map(Day)
    }

    /// The day `nights` later, if the ledger knows it.
    pub(super) fn plus(self, nights: u16) -> Option<Day> {
        self.0.checked_add(nights).filter(|&day| usize::from(day) < DAYS).map(Day)
    }

    /// Row index: days since 2000-01-01.
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// As `YYYY-MM-DD`.
    pub(super) fn text(self) -> DateText {
        let (year, month, day) = civil_from_days(u32::from(self.0));
        let mut text = *b"0000-00-00";
        let digits = [year / 1000, year / 100, year / 10, year, 0, month / 10, month, 0, day / 10, day];
        for (byte, digit) in text.iter_mut().zip(digits) {
            *byte += if *byte == b'-' { 0 } else { (digit % 10) as u8 };
        }
        DateText(text)
    }
}

impl DateText {
    /// The text.
    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Days from 2000-01-01 to a later civil date. Years begin in March here, so that the leap day comes last and each
/// month's start follows from one linear formula.
fn days_from_civil(year: u32, month: u32, day: u32) -> u32 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let whole_years = year * 365 + year / 4 - year / 100 + year / 400;
    whole_years + (153 * month + 2) / 5 + day - 1 - DAYS_TO_2000
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: u32) -> (u32, u32, u32) {
    let days = days + DAYS_TO_2000;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Days from 0000-03-01 to 2000-01-01.
const DAYS_TO_2000: u32 = 730_425;

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    digits
        .iter()
        .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_century_goes_to_text_and_back_and_follows_the_day_before() {
        let mut day = Day::parse("2000-01-01").unwrap();
        assert_eq!(day.index(), 0);
        for index in 1..DAYS {
            let next = day.plus(1).unwrap();
            assert_eq!(next.index(), index);
            assert_eq!(Day::parse(next.text().as_str()), Some(next));
            assert!(next.text().as_str() > day.text().as_str());
            day = next;
        }
        assert_eq!(day.text().as_str(), "2099-12-31");
        assert_eq!(day.plus(1), None);
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for bad in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "2026-01-00",
            "1999-12-31",
            "2100-01-01",
            "2026-1-01",
            "2026/01/01",
            "2026-01-01T00",
            "",
            "２０２６-01-01",
        ] {
            assert_eq!(Day::parse(bad), None, "{bad}");
        }
        assert!(Day::parse("2024-02-29").is_some());
    }
}
