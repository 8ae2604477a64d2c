//! Order statistics of measured numbers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Extremes and quartiles of a number that was measured several times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Number of measurements.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// The lower quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub upper: f64,
    /// The largest.
    pub max: f64,
}

impl Quantiles {
    /// The quantiles of `measured`; `None` if it is empty.
    ///
    /// A quantile between two measurements is interpolated linearly.
    #[must_use]
    pub fn of(measured: &[f64]) -> Option<Self> {
        let mut sorted = measured.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Self {
            count: sorted.len(),
            min: quantile(&sorted, 0.0)?,
            lower: quantile(&sorted, 0.25)?,
            median: quantile(&sorted, 0.5)?,
            upper: quantile(&sorted, 0.75)?,
            max: quantile(&sorted, 1.0)?,
        })
    }

    /// These quantiles with `f` applied to each. `f` must be non-decreasing.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            count: self.count,
            min: f(self.min),
            lower: f(self.lower),
            median: f(self.median),
            upper: f(self.upper),
            max: f(self.max),
        }
    }
}

/// The median of `values`: of an even number of values, the mean of the middle two. `None` if there
/// are no values.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// As [`median`], for durations.
#[must_use]
pub fn median_duration(durations: impl IntoIterator<Item = Duration>) -> Option<Duration> {
    median(durations.into_iter().map(|duration| duration.as_secs_f64()))
        .map(Duration::from_secs_f64)
}

/// The value below which a fraction `p` of `sorted` lies, interpolated linearly between neighbours;
/// `None` if `sorted` is empty.
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let position = p * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let quantiles = |measured: &[f64]| {
            Quantiles::of(measured).map(|q| [q.min, q.lower, q.median, q.upper, q.max])
        };
        assert_eq!(quantiles(&[]), None);
        assert_eq!(quantiles(&[7.0]), Some([7.0; 5]));
        assert_eq!(quantiles(&[5.0, 1.0, 3.0, 2.0, 4.0]), Some([1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(quantiles(&[4.0, 1.0, 2.0, 9.0]), Some([1.0, 1.75, 3.0, 5.25, 9.0]));
    }

    #[test]
    fn the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 9.0]), Some(3.0));
        let times = [3, 1, 8, 4].map(Duration::from_millis);
        assert_eq!(median_duration(times), Some(Duration::from_micros(3500)));
    }
}
