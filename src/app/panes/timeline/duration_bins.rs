//! Bins of message durations on a logarithmic axis.

use crate::propagation::MessageId;

/// Bins per power of ten.
const PER_DECADE: f64 = 4.0;

/// A bin and the messages in it.
#[derive(Clone, Debug, PartialEq)]
pub struct DurationBin {
    /// Lower edge in nanoseconds.
    pub from: f64,
    /// Upper edge in nanoseconds.
    pub to: f64,
    /// The messages that took at least `from` and less than `to`.
    pub messages: Vec<MessageId>,
}

/// The bins of `durations` in nanoseconds, from the shortest to the longest, without gaps. A
/// duration below one nanosecond counts as one.
#[must_use]
pub fn bins(durations: impl Iterator<Item = (MessageId, f64)>) -> Vec<DurationBin> {
    let index = |duration: f64| (duration.max(1.0).log10() * PER_DECADE).floor() as i32;
    let indexed: Vec<(i32, MessageId)> = durations.map(|(id, time)| (index(time), id)).collect();
    let indices = || indexed.iter().map(|(index, _)| *index);
    let (Some(first), Some(last)) = (indices().min(), indices().max()) else { return Vec::new() };
    let edge = |index: i32| 10_f64.powf(f64::from(index) / PER_DECADE);
    let empty =
        |index: i32| DurationBin { from: edge(index), to: edge(index + 1), messages: Vec::new() };
    let mut bins: Vec<DurationBin> = (first..=last).map(empty).collect();
    for (index, message) in indexed {
        bins[(index - first) as usize].messages.push(message);
    }
    bins
}

/// Which edges of `bins` are labelled if a bin is `width` points wide and a label `label` points:
/// edge `i` is the lower edge of bin `i` or the upper edge of the last. Powers of ten come before
/// the edges between them. If at most one of these edges is labelled, the first and the last edge
/// are, as far as there is room.
#[must_use]
pub fn labelled_edges(bins: &[DurationBin], width: f32, label: f32) -> Vec<usize> {
    let Some(first) = bins.first() else { return Vec::new() };
    let first = (first.from.log10() * PER_DECADE).round() as usize;
    // Doubling the step keeps the powers of ten; from 8 on, every second of them.
    let mut step = 1;
    while step as f32 * width < label && step <= bins.len() {
        step *= 2;
    }
    let edges = (0..=bins.len()).filter(|edge| (first + edge).is_multiple_of(step));
    let edges: Vec<usize> = edges.collect();
    if edges.len() > 1 {
        edges
    } else if bins.len() as f32 * width >= label {
        vec![0, bins.len()]
    } else {
        vec![0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_edges_are_labelled_in_any_range_and_at_any_width() {
        let of = |durations: &[f64], width| {
            let durations = durations.iter().enumerate().map(|(i, &d)| (MessageId::new(i), d));
            labelled_edges(&bins(durations), width, 50.0)
        };
        // From 100 ns to 1 µs in four bins.
        assert_eq!(of(&[100.0, 900.0], 80.0), [0, 1, 2, 3, 4]);
        assert_eq!(of(&[100.0, 900.0], 20.0), [0, 4]);
        // From 178 ns to 562 ns, without a power of ten.
        assert_eq!(of(&[200.0, 500.0], 20.0), [0]);
        assert_eq!(of(&[200.0, 500.0], 30.0), [0, 2]);
        assert_eq!(of(&[200.0, 500.0], 80.0), [0, 1, 2]);
        assert_eq!(of(&[], 80.0), [0; 0]);
        assert_eq!(of(&[100.0, 900.0], 0.0), [0]);
        // From 1 ns to 1 s: every second power of ten.
        assert_eq!(of(&[1.0, 9e8], 8.0), [0, 8, 16, 24, 32]);
    }

    #[test]
    fn every_duration_is_in_one_bin_and_the_bins_have_no_gaps() {
        let durations = [0.0, 1.0, 3.0, 950.0, 12_000.0];
        let bins = bins(durations.iter().enumerate().map(|(i, &d)| (MessageId::new(i), d)));
        let members: usize = bins.iter().map(|bin| bin.messages.len()).sum();
        assert_eq!(members, durations.len());
        assert!(bins.windows(2).all(|pair| pair[0].to == pair[1].from));
        for bin in &bins {
            for message in &bin.messages {
                let duration = durations[message.index()].max(1.0);
                assert!(bin.from <= duration && duration < bin.to, "{duration} in {bin:?}");
            }
        }
        assert_eq!(bins[0].messages, [MessageId::new(0), MessageId::new(1)]);
        assert!(super::bins(std::iter::empty()).is_empty());
    }
}
