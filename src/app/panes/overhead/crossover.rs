//! From what size on one of two machines is the faster.

use crate::statistics::median;

/// Sizes within this many powers of ten are one size.
const WIDTH: f64 = 0.25;

/// How the times of two machines compare over sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossover {
    /// From this size on the second is the faster.
    At(f64),
    /// The first is the faster for every size.
    FirstAlways,
    /// The second is the faster for every size.
    SecondAlways,
    /// No size is known of both.
    Unknown,
}

/// Compares points of size and time by the medians of sizes that are about the same. Where the
/// second becomes the faster more than once, the last time counts.
pub(super) fn crossover(first: &[(f64, f64)], second: &[(f64, f64)]) -> Crossover {
    let (first, second) = (medians(first), medians(second));
    // Logarithms of the size and of how much longer the first takes.
    let mut compared: Vec<(f64, f64)> = Vec::new();
    for (bin, time) in &first {
        if let Some((_, other)) = second.iter().find(|(of, _)| of == bin) {
            compared.push(((*bin as f64 + 0.5) * WIDTH, (time / other).log10()));
        }
    }
    let Some((_, at_end)) = compared.last() else { return Crossover::Unknown };
    if *at_end <= 0.0 {
        return Crossover::FirstAlways;
    }
    let Some(before) = compared.iter().rposition(|(_, longer)| *longer <= 0.0) else {
        return Crossover::SecondAlways;
    };
    let ((from, below), (to, above)) = (compared[before], compared[before + 1]);
    let share = if above > below { -below / (above - below) } else { 0.0 };
    Crossover::At(10_f64.powf(from + share * (to - from)))
}

/// The median time of each size that occurs, by growing size.
fn medians(points: &[(f64, f64)]) -> Vec<(i64, f64)> {
    let mut bins: std::collections::BTreeMap<i64, Vec<f64>> = std::collections::BTreeMap::new();
    for &(size, time) in points {
        if size > 0.0 && time > 0.0 {
            bins.entry((size.log10() / WIDTH).floor() as i64).or_default().push(time);
        }
    }
    bins.into_iter().filter_map(|(bin, times)| Some((bin, median(times)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that grow with the size from what an empty message takes.
    fn line(empty: f64, each: f64) -> Vec<(f64, f64)> {
        (0..60).map(|i| 10_f64.powf(f64::from(i) / 10.0)).map(|s| (s, empty + each * s)).collect()
    }

    #[test]
    fn a_machine_that_starts_slower_and_grows_slower_overtakes_in_between() {
        // 0.1 + 0.01 s = 5 + 0.0001 s at s = 495.
        let Crossover::At(size) = crossover(&line(0.1, 0.01), &line(5.0, 0.0001)) else {
            panic!("there is a crossover");
        };
        assert!((size.log10() - 495_f64.log10()).abs() < 0.1, "{size}");
    }

    #[test]
    fn one_may_be_faster_throughout() {
        let (fast, slow) = (line(1.0, 0.001), line(2.0, 0.01));
        assert_eq!(crossover(&fast, &slow), Crossover::FirstAlways);
        assert_eq!(crossover(&slow, &fast), Crossover::SecondAlways);
        assert_eq!(crossover(&slow, &[]), Crossover::Unknown);
        assert_eq!(crossover(&[(10.0, 0.0)], &[(10.0, 1.0)]), Crossover::Unknown);
    }
}
