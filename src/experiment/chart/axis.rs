//! Ranges and ticks of axes.

use super::{Axis, Scale};
use crate::numbers::{round_step, short};

/// Approximate number of intervals between the ticks of a linear axis. More intervals give more
/// ticks.
const LINEAR_INTERVALS: f64 = 5.0;

/// An axis with the range of axis coordinates that it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisRange<'a> {
    axis: &'a Axis,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Position of the tick, in axis coordinates.
    pub coordinate: f64,
    /// Its label; empty for a tick without one.
    pub label: String,
    /// Approximate distance between ticks of the same kind, in axis coordinates. On a logarithmic
    /// axis, this is 1 for powers of ten and for multiples with a label, and 0.1 for other multiples
    /// between them. Renderers may fade ticks that are too close together.
    pub spacing: f64,
    /// Whether the tick only subdivides the interval between two major ticks.
    pub is_minor: bool,
}

impl Scale {
    /// The axis coordinate of `value`; `None` if the value has no position on this scale.
    #[must_use]
    pub fn coordinate(&self, value: f64) -> Option<f64> {
        match self {
            Self::Log => (value > 0.0 && value.is_finite()).then(|| value.log10()),
            Self::Linear | Self::Categories(_) => value.is_finite().then_some(value),
        }
    }
}

impl<'a> AxisRange<'a> {
    /// The range from `low` to `high`, both in axis coordinates.
    #[must_use]
    pub fn new(axis: &'a Axis, low: f64, high: f64) -> Self {
        Self { axis, low, high }
    }

    /// A range that shows all of `coordinates`. Linear axes include zero and end at round numbers;
    /// logarithmic axes have a margin; category axes always show all names.
    #[must_use]
    pub fn around(axis: &'a Axis, coordinates: impl Iterator<Item = f64>) -> Self {
        let extremes = coordinates.fold(None, |extremes: Option<(f64, f64)>, c| {
            let (low, high) = extremes.unwrap_or((c, c));
            Some((low.min(c), high.max(c)))
        });
        match &axis.scale {
            Scale::Categories(names) => Self::new(axis, -0.5, names.len().max(1) as f64 - 0.5),
            Scale::Linear => {
                let (low, high) = extremes.unwrap_or_default();
                let (low, high) = (low.min(0.0), high.max(0.0));
                let step = round_step(((high - low) / LINEAR_INTERVALS).max(f64::MIN_POSITIVE));
                // Without 1e-9, a rounding error could move a multiple of the step up by a step.
                let round_up = |value: f64| (value / step - 1e-9).ceil() * step;
                Self::new(axis, -round_up(-low), if high > low { round_up(high) } else { 1.0 })
            }
            Scale::Log => {
                let Some((low, high)) = extremes else { return Self::new(axis, 0.0, 1.0) };
                // Keeps dots away from the ends: 6% of the range, but at least a factor of 1.15.
                let margin = (0.06 * (high - low)).max(1.15_f64.log10());
                Self::new(axis, low - margin, high + margin)
            }
        }
    }

    /// The scale of the axis.
    #[must_use]
    pub fn scale(&self) -> &'a Scale {
        &self.axis.scale
    }

    /// Position of `coordinate` within the range: 0 at the lower end, 1 at the upper end.
    #[must_use]
    pub fn fraction(&self, coordinate: f64) -> f64 {
        (coordinate - self.low) / (self.high - self.low)
    }

    /// Where bars begin: at zero, or at the lower end of a logarithmic axis.
    #[must_use]
    pub fn base(&self) -> f64 {
        match self.axis.scale {
            Scale::Log => self.low,
            Scale::Linear | Scale::Categories(_) => 0.0,
        }
    }

    /// The ticks, from low to high.
    #[must_use]
    pub fn ticks(&self) -> Vec<Tick> {
        match &self.axis.scale {
            Scale::Categories(names) => {
                let tick = |(index, name): (usize, &String)| Tick {
                    coordinate: index as f64,
                    label: name.clone(),
                    spacing: 1.0,
                    is_minor: false,
                };
                names.iter().enumerate().map(tick).collect()
            }
            Scale::Linear => {
                let mut ticks = linear_ticks(self.low, self.high);
                let positive = ticks.iter_mut().filter(|tick| tick.coordinate > 0.0);
                if self.axis.signed {
                    positive.for_each(|tick| tick.label.insert(0, '+'));
                }
                ticks
            }
            Scale::Log => log_ticks(self.low, self.high),
        }
    }
}

/// Ticks at the multiples of a step, which is 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64) -> Vec<Tick> {
    let step = round_step((high - low) / LINEAR_INTERVALS);
    // 1e-9 keeps the ticks at both ends in spite of rounding.
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let tick = |n: i64| {
        let value = n as f64 * step;
        Tick { coordinate: value, label: linear_label(value, step), spacing: step, is_minor: false }
    };
    (first..=last).map(tick).collect()
}

/// Length in powers of ten below which all multiples on a logarithmic axis are labelled. With fewer
/// labels, an axis from 6 to 9 would have only the label 7.
const VERY_SHORT: f64 = 0.4;

/// Length in powers of ten below which numbers between the multiples are labelled too. The gap
/// between the multiples 2 and 3 is this wide, so with fewer labels a shorter axis could have none.
const SHORTEST: f64 = 0.18;

/// Where a logarithmic axis may have ticks within each power of ten. Consecutive numbers differ by
/// at most a factor of 1.25, which is less than the length of the shortest axis, 1.15 * 1.15.
const LOG_TICKS: [f64; 14] = [1.0, 1.2, 1.5, 1.7, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];

/// Labelled ticks at powers of ten, and minor ticks at multiples of these powers. On a short axis,
/// some or all of the multiples are labelled too. On a long axis, only every other power of ten is
/// labelled. The lengths at which this changes affect only the ticks and their labels.
fn log_ticks(low: f64, high: f64) -> Vec<Tick> {
    let decades = high - low;
    let labelled: &[f64] = if decades < SHORTEST {
        &LOG_TICKS
    } else if decades < VERY_SHORT {
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    } else if decades < 1.0 {
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]
    } else if decades < 2.5 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let label_every = if decades > 8.0 { 2 } else { 1 };
    let mut ticks = Vec::new();
    for exponent in low.floor() as i32..=high.ceil() as i32 {
        for factor in LOG_TICKS {
            let is_minor = !labelled.contains(&factor);
            let value = factor * 10_f64.powi(exponent);
            let coordinate = value.log10();
            let is_visible = (low..=high).contains(&coordinate);
            if !is_visible || (is_minor && factor.fract() > 0.0) {
                continue;
            }
            let has_label = !is_minor && exponent % label_every == 0;
            let label = match has_label {
                true if exponent < -5 => format!("{factor}e{exponent}"),
                true => tick_label(value, DECIMALS),
                false => String::new(),
            };
            let spacing = if factor == 1.0 || has_label { 1.0 } else { 0.1 };
            ticks.push(Tick { coordinate, label, spacing, is_minor });
        }
    }
    ticks
}

/// The label of a tick at `value` of a linear axis with this `step`, with enough digits to tell the
/// tick from its neighbours if the value is below 1000 or the axis includes zero.
fn linear_label(value: f64, step: f64) -> String {
    // Without the factor, a rounding error could turn 1e-7 into a number of the decade below.
    let power = |number: f64| (number.abs() * (1.0 + 1e-9)).log10().floor() as i32;
    let decimals = (-power(step)).max(0) as usize;
    if decimals <= DECIMALS || value.abs() < step / 2.0 {
        return tick_label(value, DECIMALS);
    }
    if value.abs() >= 1e-5 {
        return tick_label(value, decimals);
    }
    let digits = (power(value) - power(step)).max(0) as usize;
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((digits, power)) if digits.contains('.') => format!("{}e{power}", trimmed(digits)),
        _ => text,
    }
}

/// Maximum number of decimals of a label, unless the step between the ticks needs more. Six
/// decimals hide the rounding errors of multiples of the step.
const DECIMALS: usize = 6;

/// The label of a tick at `value` with at most this many decimals, such as `0.25`, `20` or `1.5 k`.
fn tick_label(value: f64, decimals: usize) -> String {
    if value.abs() >= 1000.0 {
        return if value < 0.0 { format!("-{}", short(-value)) } else { short(value) };
    }
    let text = format!("{value:.decimals$}");
    let text = trimmed(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// `text`, a number with a decimal point, without trailing zeros.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: &AxisRange) -> Vec<String> {
        range.ticks().into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    fn linear(low: f64, high: f64) -> Vec<String> {
        labels(&AxisRange::new(&Axis::linear(""), low, high))
    }

    fn log(low: f64, high: f64) -> Vec<String> {
        labels(&AxisRange::new(&Axis::log(""), low.log10(), high.log10()))
    }

    #[test]
    fn a_logarithmic_axis_has_labels_however_short_it_is() {
        for value in (100..1000).map(|value| f64::from(value) / 100.0) {
            let axis = Axis::log("");
            let shortest = AxisRange::around(&axis, [value.log10()].into_iter());
            let longer = AxisRange::new(&axis, value.log10(), value.log10() + SHORTEST);
            for range in [shortest, longer] {
                assert!(!labels(&range).is_empty(), "no label around {value}");
            }
        }
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(linear(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(linear(-20.0, 20.0), ["-20", "-10", "0", "10", "20"]);
        assert_eq!(linear(0.0, 3e-6)[..3], ["0", "0.000001", "0.000002"]);
        assert_eq!(linear(0.0, 2.2e-7), ["0", "5e-8", "1e-7", "1.5e-7", "2e-7"]);
        assert_eq!(linear(0.0, 1.2e-6), ["0", "5e-7", "1e-6"]);
        assert_eq!(linear(-5e-9, 5e-9), ["-4e-9", "-2e-9", "0", "2e-9", "4e-9"]);
        assert_eq!(linear(0.5, 0.500_000_5)[..3], ["0.5", "0.5000001", "0.5000002"]);
        assert_eq!(log(0.5, 2e6)[..3], ["1", "10", "100"]);
        let differences = Axis::differences("");
        assert_eq!(labels(&AxisRange::new(&differences, -10.0, 10.0))[2..], ["0", "+5", "+10"]);
        assert_eq!(log(14.0, 1100.0), ["20", "50", "100", "200", "500", "1 k"]);
        assert_eq!(log(0.8, 20_000.0), ["1", "10", "100", "1 k", "10 k"]);
        assert_eq!(log(1.9, 13.0), ["2", "3", "4", "5", "7", "10"]);
        assert_eq!(log(5.5, 9.5), ["6", "7", "8", "9"]);
        assert_eq!(log(1e-8, 1e-4), ["1e-8", "1e-7", "1e-6", "0.00001", "0.0001"]);
        assert_eq!(log(0.001, 100.0), ["0.001", "0.01", "0.1", "1", "10", "100"]);
    }

    #[test]
    fn minor_ticks_have_no_label_and_linear_ticks_stay_within_the_range() {
        let log = Axis::log("");
        let ticks = AxisRange::new(&log, 0.0, 4.0).ticks();
        let minor: Vec<f64> = ticks.iter().filter(|t| t.is_minor).map(|t| t.coordinate).collect();
        assert_eq!(minor.len(), 4 * 8);
        assert!(ticks.iter().all(|tick| tick.is_minor == tick.label.is_empty()));
        assert_eq!(linear(-1.0, 5.0), ["0", "2", "4"]);
    }

    #[test]
    fn a_range_contains_all_coordinates() {
        let (linear, log) = (Axis::linear(""), Axis::log(""));
        for values in [vec![], vec![3.0], vec![-1.0, 2.5], vec![-4.0]] {
            let range = AxisRange::around(&linear, values.iter().copied());
            assert!(values.iter().all(|&v| (0.0..=1.0).contains(&range.fraction(v))), "{values:?}");
            assert!((0.0..=1.0).contains(&range.fraction(0.0)), "{values:?}");
        }
        for values in [vec![], vec![7.0], vec![0.001, 1e6]] {
            let coordinates: Vec<f64> =
                values.iter().filter_map(|&v| Scale::Log.coordinate(v)).collect();
            let range = AxisRange::around(&log, coordinates.iter().copied());
            assert!(coordinates.iter().all(|&c| (0.0..=1.0).contains(&range.fraction(c))));
            assert!(
                range.ticks().iter().all(|t| (0.0..=1.0).contains(&range.fraction(t.coordinate)))
            );
        }
    }

    #[test]
    fn linear_ranges_begin_at_zero_and_logarithmic_ones_have_a_margin() {
        let (linear, log) = (Axis::linear(""), Axis::log(""));
        let range = AxisRange::around(&linear, [3.0, 10.0].into_iter());
        assert_eq!(range.low, 0.0, "a linear axis begins at zero");
        assert!(range.high >= 10.0 && range.high < 12.0);
        let range = AxisRange::around(&log, [2.0, 4.0].into_iter());
        assert!(range.low < 2.0 && range.high > 4.0);
        let names = Axis::categories("", ["a", "b"]);
        let range = AxisRange::around(&names, std::iter::empty());
        assert_eq!((range.low, range.high), (-0.5, 1.5));
        let range = AxisRange::around(&log, std::iter::empty());
        assert_eq!((range.low, range.high), (0.0, 1.0));
    }

    #[test]
    fn only_positive_values_have_a_position_on_a_logarithmic_axis() {
        assert_eq!(Scale::Log.coordinate(100.0), Some(2.0));
        assert_eq!(Scale::Log.coordinate(0.0), None);
        assert_eq!(Scale::Linear.coordinate(0.0), Some(0.0));
    }
}
