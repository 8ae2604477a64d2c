//! Colours for values, from the smallest to the largest.

use eframe::egui::Color32;

use crate::app::theme;
use crate::graph::JunctionTree;

/// A scale of colours for values that are not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourScale {
    low: f64,
    high: f64,
    is_log: bool,
    /// Whether the colours are for the dark theme.
    is_dark: bool,
}

impl ColourScale {
    /// The linear scale from the smallest to the largest of `values`, in the colours of the dark or
    /// the light theme. If there are no values, both ends are 1.
    #[must_use]
    pub fn linear(values: impl Iterator<Item = f64>, is_dark: bool) -> Self {
        Self::of(values, false, is_dark)
    }

    /// As [`linear`](Self::linear), but logarithmic. The scale begins at the smallest positive
    /// value. If all values are zero, so are both ends.
    #[must_use]
    pub fn logarithmic(values: impl Iterator<Item = f64>, is_dark: bool) -> Self {
        Self::of(values, true, is_dark)
    }

    /// The logarithmic or the linear scale of `values`.
    fn of(values: impl Iterator<Item = f64>, is_log: bool, is_dark: bool) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            // A logarithmic scale cannot begin at zero.
            if value > 0.0 || !is_log {
                low = low.min(value);
            }
            high = high.max(value);
        }
        if high == f64::NEG_INFINITY {
            (low, high) = (1.0, 1.0);
        }
        Self { low: low.min(high), high, is_log, is_dark }
    }

    /// The logarithmic scale of the sizes of the cliques of `tree`.
    #[must_use]
    pub fn of_cliques(tree: &JunctionTree, is_dark: bool) -> Self {
        Self::logarithmic(tree.cliques().iter().map(|clique| clique.entries as f64), is_dark)
    }

    /// The smallest value.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The largest value.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The position of `value` on the scale, from 0 (smallest) to 1 (largest). If both ends are
    /// equal, they are at position 1, or at 0 if they are zero.
    #[must_use]
    pub fn share(&self, value: f64) -> f32 {
        if self.high <= self.low {
            return if self.high == 0.0 || value < self.low { 0.0 } else { 1.0 };
        }
        let share = if self.is_log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (share as f32).clamp(0.0, 1.0)
    }

    /// The colour of `value`.
    #[must_use]
    pub fn colour(&self, value: f64) -> Color32 {
        self.colour_at(self.share(value))
    }

    /// The colour at a position of the scale.
    #[must_use]
    pub fn colour_at(&self, share: f32) -> Color32 {
        theme::ramp(share, self.is_dark)
    }

    /// Values at which the scale is labelled: the smallest, the largest and, between them, all
    /// powers of ten or, on a linear scale, three values at equal distances.
    #[must_use]
    pub fn ticks(&self) -> Vec<f64> {
        let mut ticks = vec![self.low];
        if self.is_log {
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            let powers = (first..=last).map(|power| 10_f64.powi(power));
            ticks.extend(powers.filter(|&power| power > self.low && power < self.high));
        } else {
            let step = (self.high - self.low) / 4.0;
            ticks.extend((1..4).map(|part| self.low + f64::from(part) * step));
        }
        ticks.push(self.high);
        ticks.dedup();
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_runs_from_the_smallest_to_the_largest_value() {
        let log = ColourScale::logarithmic([400.0, 4.0, 40.0].into_iter(), true);
        assert_eq!((log.low(), log.high()), (4.0, 400.0));
        assert_eq!((log.share(4.0), log.share(400.0)), (0.0, 1.0));
        assert!((log.share(40.0) - 0.5).abs() < 1e-6);
        assert_eq!(log.ticks(), [4.0, 10.0, 100.0, 400.0]);
        let linear = ColourScale::linear([4.0, 404.0].into_iter(), true);
        assert!((linear.share(104.0) - 0.25).abs() < 1e-6);
        assert_eq!(linear.ticks(), [4.0, 104.0, 204.0, 304.0, 404.0]);
    }

    #[test]
    fn equal_values_and_no_values_have_a_colour() {
        for (values, end, share) in
            [(vec![6.0, 6.0], 6.0, 1.0), (Vec::new(), 1.0, 1.0), (vec![0.0, 0.0], 0.0, 0.0)]
        {
            for is_log in [true, false] {
                let scale = ColourScale::of(values.iter().copied(), is_log, false);
                assert_eq!((scale.low(), scale.high()), (end, end));
                assert_eq!(scale.share(end), share);
                assert_eq!(scale.colour(end), theme::ramp(share, false));
                assert_eq!(scale.ticks(), [end]);
            }
        }
    }
}
