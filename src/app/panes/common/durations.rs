//! Count, sum and median of durations.

use crate::statistics::median;

/// Count, sum and median of some durations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::app::panes) struct DurationSummary {
    /// Number of durations.
    pub count: usize,
    /// The sum; zero if there are no durations.
    pub total: f64,
    /// The median; zero if there are no durations.
    pub median: f64,
}

impl DurationSummary {
    /// The summary of `durations`, in any order.
    pub fn of(durations: impl Iterator<Item = f64>) -> Self {
        let mut durations: Vec<f64> = durations.collect();
        durations.sort_by(f64::total_cmp);
        let count = durations.len();
        let median = median(durations.iter().copied()).unwrap_or(0.0);
        // Adding 0.0 turns the -0.0 of an empty sum into 0.0.
        Self { count, total: durations.iter().sum::<f64>() + 0.0, median }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_no_durations_is_positive_zero() {
        assert!(DurationSummary::of(std::iter::empty()).total.is_sign_positive());
    }

    #[test]
    fn the_median_does_not_depend_on_the_order() {
        assert_eq!(DurationSummary::of([3.0, 1.0, 2.0].into_iter()).median, 2.0);
    }
}
