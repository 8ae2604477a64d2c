//! The shapes that a track of the timeline is drawn with, and the slice that the pointer finds in
//! it.

use super::slices::{Slice, SliceKind};
use crate::propagation::Phase;

/// Part of a track as it is drawn. A pixel is a logical pixel, which egui calls a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrackShape {
    /// A slice that is wide enough for a bar: left and right edge.
    Bar(Slice, f32, f32),
    /// A column one pixel wide, partly covered by slices too short for a bar.
    Column {
        /// Left edge.
        x: f32,
        /// The shares of the column covered by messages toward the root, messages away from the
        /// root, other work, and waits.
        shares: [f32; 4],
    },
}

/// The slices of `track` that touch the time from `start` to `end`.
#[must_use]
pub fn between(track: &[Slice], start: f64, end: f64) -> &[Slice] {
    let first = track.partition_point(|slice| slice.end < start);
    let last = track.partition_point(|slice| slice.start <= end);
    &track[first.min(last)..last]
}

/// The slice of `track` at `time`, if it is at least `tolerance` nanoseconds long. Otherwise the
/// longest message within `tolerance` of `time`, or else the longest other slice.
#[must_use]
pub fn nearest(track: &[Slice], time: f64, tolerance: f64) -> Option<Slice> {
    let near = between(track, time - tolerance, time + tolerance);
    let at_time = near.iter().find(|slice| slice.start <= time && time < slice.end);
    let longest = || {
        let rank = |slice: &&Slice| (slice.message().is_some(), slice.length());
        near.iter().max_by(|a, b| {
            let ((a, a_length), (b, b_length)) = (rank(a), rank(b));
            a.cmp(&b).then(a_length.total_cmp(&b_length))
        })
    };
    at_time.filter(|slice| slice.length() >= tolerance).or_else(longest).copied()
}

/// The shapes of `track` on an axis where `x` maps a time to a pixel, from `left` to `right`;
/// `view` is the start and end of the time in view.
///
/// There are at most about one and a half shapes per pixel, however many slices there are.
#[must_use]
pub fn shapes(
    track: &[Slice],
    x: impl Fn(f64) -> f32,
    view: (f64, f64),
    left: f32,
    right: f32,
) -> Vec<TrackShape> {
    /// Minimum width, in pixels, of a slice that is drawn as a bar. Narrower slices share columns.
    const MIN_BAR_WIDTH: f32 = 2.0;
    let mut coverage = Coverage::new(left, right);
    let mut shapes = Vec::new();
    for slice in between(track, view.0, view.1) {
        let edges = [slice.start, slice.end].map(&x);
        let [start, end] = edges.map(|edge| edge.clamp(left, right));
        if edges[1] - edges[0] >= MIN_BAR_WIDTH {
            shapes.push(TrackShape::Bar(*slice, start, end));
        } else {
            coverage.add(Coverage::index(slice.kind), start, end);
        }
    }
    shapes.extend(coverage.columns());
    shapes
}

/// How much of each pixel column is covered by slices that are too short for a bar.
struct Coverage {
    left: f32,
    /// Pixels covered per column: collect, distribute, other work, waits.
    columns: Vec<[f32; 4]>,
}

impl Coverage {
    /// Minimum coverage of a slice, in pixels, so that even a message too short to measure is
    /// visible.
    const MIN_COVERAGE: f32 = 0.02;

    fn new(left: f32, right: f32) -> Self {
        let count = (right - left).ceil().max(0.0) as usize;
        Self { left, columns: vec![[0.0; 4]; count] }
    }

    /// Index of the share of slices of this kind within a column.
    fn index(kind: SliceKind) -> usize {
        match kind {
            SliceKind::Message(_, Phase::Collect) => 0,
            SliceKind::Message(_, Phase::Distribute) => 1,
            SliceKind::Work(_) => 2,
            SliceKind::Wait(_) => 3,
        }
    }

    /// Adds a slice from pixel `from` to pixel `to` to each column that it crosses. `share` is the
    /// [`index`](Self::index) of its kind.
    fn add(&mut self, share: usize, from: f32, to: f32) {
        let last = self.columns.len().saturating_sub(1);
        let first = ((from - self.left).floor().max(0.0) as usize).min(last);
        let mut from = from;
        for (index, column) in self.columns.iter_mut().enumerate().skip(first) {
            let edge = self.left + index as f32 + 1.0;
            column[share] += (to.min(edge) - from).max(Self::MIN_COVERAGE);
            if to <= edge {
                break;
            }
            from = edge;
        }
    }

    /// The columns that are at least partly covered.
    fn columns(self) -> impl Iterator<Item = TrackShape> {
        let left = self.left;
        let columns = self.columns.into_iter().enumerate();
        columns.filter(|(_, column)| column.iter().any(|&share| share > 0.0)).map(
            move |(index, column)| TrackShape::Column {
                x: left + index as f32,
                shares: column.map(|share| share.min(1.0)),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::panes::timeline::slices::track_of_messages;

    #[test]
    fn many_short_messages_become_at_most_one_column_per_pixel() {
        let spans: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i), f64::from(i) + 0.5)).collect();
        let shapes =
            shapes(&track_of_messages(&spans), |t| (t / 50.0) as f32, (0.0, 1e4), 0.0, 200.0);
        assert_eq!(shapes.len(), 200);
        for shape in shapes {
            let TrackShape::Column { shares: [collect, distribute, ..], .. } = shape else {
                panic!("{shape:?}")
            };
            // Half of the time is covered, alternating between the phases.
            assert!((collect - 0.25).abs() < 0.26 && (distribute - 0.25).abs() < 0.26);
            assert!(collect > 0.0 && distribute > 0.0);
        }
    }

    #[test]
    fn a_long_message_among_short_ones_is_drawn_as_a_bar() {
        let track = track_of_messages(&[(0.0, 1.0), (1.0, 500.0), (500.0, 501.0)]);
        let shapes = shapes(&track, |t| (t / 10.0) as f32, (0.0, 600.0), 0.0, 60.0);
        let bars: Vec<_> = shapes.iter().filter(|s| matches!(s, TrackShape::Bar(..))).collect();
        assert_eq!(bars.len(), 1);
        assert!(matches!(bars[0], TrackShape::Bar(slice, ..) if *slice == track[1]));
        assert_eq!(shapes.len(), 3);
    }

    #[test]
    fn only_messages_in_view_are_drawn() {
        let track = track_of_messages(&[(0.0, 10.0), (20.0, 30.0), (40.0, 50.0)]);
        let shapes = shapes(&track, |t| ((t - 15.0) * 4.0) as f32, (15.0, 40.0), 0.0, 100.0);
        assert_eq!(between(&track, 15.0, 35.0), &track[1..2]);
        assert!(shapes.len() <= 2 && !shapes.is_empty());
    }

    #[test]
    fn the_pointer_finds_the_message_under_it_or_the_longest_nearby() {
        let track = track_of_messages(&[(0.0, 100.0), (110.0, 111.0), (112.0, 120.0)]);
        assert_eq!(nearest(&track, 50.0, 5.0), Some(track[0]));
        assert_eq!(nearest(&track, 110.5, 5.0), Some(track[2]));
        assert_eq!(nearest(&track, 200.0, 5.0), None);
    }
}
