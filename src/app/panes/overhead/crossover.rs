//! The table size above which the messages of one run are faster than those of another run.

use std::collections::BTreeMap;

use crate::statistics::median;

/// Width of a bin of sizes, in powers of ten. In each bin, the medians of the times are compared.
/// With narrower bins, fewer bins have times of both runs; with wider bins, the crossover is less
/// exact.
const BIN_DECADES: f64 = 0.25;

/// How the times of two runs compare, depending on the table size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossover {
    /// The second run is faster from this size on.
    At(f64),
    /// There is no size from which on the second run is faster.
    Never,
    /// The second run is faster in every bin of sizes with times of both runs.
    SecondAlways,
    /// There is no bin of sizes with times of both runs.
    Unknown,
}

/// Compares two runs, each given by the size and the time of its messages. If the second run
/// becomes faster at several sizes, the crossover is at the largest of these sizes.
pub(super) fn crossover(first: &[(f64, f64)], second: &[(f64, f64)]) -> Crossover {
    let (first, second) = (medians(first), medians(second));
    // The decimal logarithms of the size and of the ratio of the times, first over second.
    let mut ratios: Vec<(f64, f64)> = Vec::new();
    for (bin, time) in &first {
        if let Some(other) = second.get(bin) {
            ratios.push(((*bin as f64 + 0.5) * BIN_DECADES, (time / other).log10()));
        }
    }
    let Some((_, last)) = ratios.last() else { return Crossover::Unknown };
    if *last <= 0.0 {
        return Crossover::Never;
    }
    let Some(before) = ratios.iter().rposition(|(_, ratio)| *ratio <= 0.0) else {
        return Crossover::SecondAlways;
    };
    let ((from, below), (to, above)) = (ratios[before], ratios[before + 1]);
    let share = if above > below { -below / (above - below) } else { 0.0 };
    Crossover::At(10_f64.powf(from + share * (to - from)))
}

/// The median time in each bin of sizes. Messages without a positive size and time are left out.
fn medians(messages: &[(f64, f64)]) -> BTreeMap<i64, f64> {
    let mut bins: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for &(size, time) in messages {
        if size > 0.0 && time > 0.0 {
            bins.entry((size.log10() / BIN_DECADES).floor() as i64).or_default().push(time);
        }
    }
    bins.into_iter().filter_map(|(bin, times)| Some((bin, median(times)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of many sizes. Each takes `overhead`, and `per_entry` more for each table entry.
    fn line(overhead: f64, per_entry: f64) -> Vec<(f64, f64)> {
        (0..60)
            .map(|i| 10_f64.powf(f64::from(i) / 10.0))
            .map(|s| (s, overhead + per_entry * s))
            .collect()
    }

    #[test]
    fn a_run_with_more_overhead_and_less_time_per_entry_is_faster_from_some_size_on() {
        // 0.1 + 0.01 s = 5 + 0.0001 s at s = 495.
        let Crossover::At(size) = crossover(&line(0.1, 0.01), &line(5.0, 0.0001)) else {
            panic!("there is a crossover");
        };
        assert!((size.log10() - 495_f64.log10()).abs() < 0.1, "{size}");
    }

    #[test]
    fn one_run_may_be_faster_for_every_size() {
        let (fast, slow) = (line(1.0, 0.001), line(2.0, 0.01));
        assert_eq!(crossover(&fast, &slow), Crossover::Never);
        assert_eq!(crossover(&slow, &fast), Crossover::SecondAlways);
        assert_eq!(crossover(&slow, &[]), Crossover::Unknown);
        assert_eq!(crossover(&[(10.0, 0.0)], &[(10.0, 1.0)]), Crossover::Unknown);
    }
}
