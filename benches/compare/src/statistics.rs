//! Medians, and how far rounds lie apart.

/// What the rounds of one figure came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Summary {
    /// `None` of no values.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        } else {
            sorted[middle]
        };
        Some(Summary { median, least, most })
    }

    /// How far the rounds lie apart, in percent of the median.
    pub fn spread(&self) -> f64 {
        if self.median > 0.0 { (self.most - self.least) / self.median * 100.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]), Some(Summary { median: 2.0, least: 1.0, most: 3.0 }));
        let even = Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((even.median, even.spread()), (2.5, 120.0));
    }
}
