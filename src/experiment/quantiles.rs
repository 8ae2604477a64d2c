//! How a number that was measured many times is spread.

use serde::{Deserialize, Serialize};

/// Extremes and quartiles of a number that was measured several times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How often it was measured.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// A quarter is less.
    pub lower: f64,
    /// Half is less.
    pub median: f64,
    /// A quarter is more.
    pub upper: f64,
    /// The most.
    pub max: f64,
}

impl Quantiles {
    /// Those of `measured`, between two neighbours in proportion; `None` of nothing.
    #[must_use]
    pub fn of(measured: &[f64]) -> Option<Self> {
        let mut sorted = measured.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| -> Option<f64> {
            let place = share * sorted.len().checked_sub(1)? as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            Some(sorted[below] + (sorted[above] - sorted[below]) * place.fract())
        };
        Some(Self {
            count: sorted.len(),
            min: at(0.0)?,
            lower: at(0.25)?,
            median: at(0.5)?,
            upper: at(0.75)?,
            max: at(1.0)?,
        })
    }

    /// Each of them as `change` makes it.
    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            count: self.count,
            min: change(self.min),
            lower: change(self.lower),
            median: change(self.median),
            upper: change(self.upper),
            max: change(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_in_proportion() {
        let of = |measured: &[f64]| {
            Quantiles::of(measured).map(|q| [q.min, q.lower, q.median, q.upper, q.max])
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7.0]), Some([7.0; 5]));
        assert_eq!(of(&[5.0, 1.0, 3.0, 2.0, 4.0]), Some([1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(of(&[4.0, 1.0, 2.0, 9.0]), Some([1.0, 1.75, 3.0, 5.25, 9.0]));
    }
}
