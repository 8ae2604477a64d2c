//! Messages of a trace arranged in rows, and the shapes that a row is drawn with.

use crate::app::panes::common::DurationSummary;
use crate::propagation::{MessageId, MessageTrace, Phase, Plan};

/// A message on the time axis. Times are in nanoseconds since the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The message.
    pub message: MessageId,
    /// Its phase.
    pub phase: Phase,
    /// When its worker began to wait for its inputs; equal to `start` if the worker did not wait.
    pub wait_start: f64,
    /// When the computation began.
    pub start: f64,
    /// When the computation ended.
    pub end: f64,
    /// Number of other messages that were timed together with this one. If it is not zero, `start`
    /// and `end` are estimates: the common time is shared among the messages in proportion to their
    /// forecast costs.
    pub shared_with: u32,
}

/// Messages that do not overlap in time, waits included, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelineRow {
    /// The worker that computed the messages: a thread, or a block of the GPU. Zero in packed rows.
    pub worker: u32,
    /// The messages.
    pub spans: Vec<Span>,
}

/// Part of a row as it is drawn. A pixel is a logical pixel, which egui calls a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowShape {
    /// A message that is wide enough for a bar: left and right edge.
    Bar(Span, f32, f32),
    /// A column one pixel wide, partly covered by messages or waits too short for a bar.
    Column {
        /// Left edge.
        x: f32,
        /// Share of the column covered by messages toward the root.
        collect: f32,
        /// Share of the column covered by messages away from the root.
        distribute: f32,
        /// Share of the column covered by waits.
        wait: f32,
    },
    /// A wait that is wide enough for a bar: left and right edge.
    Wait(f32, f32),
}

/// How messages are assigned to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One row per worker, with its waits. A worker whose messages overlap has several rows.
    ByWorker,
    /// As few rows as possible, whichever worker computed a message. The number of rows is then the
    /// largest number of messages computed in parallel. Waits are left out.
    Packed,
}

/// The messages of `trace` in rows, ordered by worker. Workers without messages have no row.
#[must_use]
pub fn rows(trace: &MessageTrace, plan: &Plan, grouping: Grouping) -> Vec<TimelineRow> {
    let mut workers: std::collections::BTreeMap<u32, Vec<Span>> = std::collections::BTreeMap::new();
    for timing in &trace.messages {
        let Some(message) = plan.messages().get(timing.message.index()) else { continue };
        let start = timing.start.as_nanos() as f64;
        let (worker, wait) = match grouping {
            Grouping::ByWorker => (timing.worker, timing.wait.as_nanos() as f64),
            Grouping::Packed => (0, 0.0),
        };
        workers.entry(worker).or_default().push(Span {
            message: timing.message,
            phase: message.phase,
            wait_start: start - wait,
            start,
            end: start + timing.duration.as_nanos() as f64,
            shared_with: timing.shared_with,
        });
    }
    workers.into_iter().flat_map(|(worker, spans)| pack(worker, spans)).collect()
}

/// Puts each span into the first row whose last span has ended, and adds a row if there is none.
fn pack(worker: u32, mut spans: Vec<Span>) -> Vec<TimelineRow> {
    spans.sort_by(|a, b| a.wait_start.total_cmp(&b.wait_start));
    let mut rows: Vec<TimelineRow> = Vec::new();
    for span in spans {
        let free = |row: &&mut TimelineRow| {
            row.spans.last().is_none_or(|last| last.end <= span.wait_start)
        };
        match rows.iter_mut().find(free) {
            Some(row) => row.spans.push(span),
            None => rows.push(TimelineRow { worker, spans: vec![span] }),
        }
    }
    rows
}

/// Total and median duration of the messages that wait or run at any time between `start` and
/// `end`. Each counts with its whole duration, without its wait.
#[must_use]
pub fn summary_between(rows: &[TimelineRow], start: f64, end: f64) -> DurationSummary {
    let spans = rows.iter().flat_map(|row| row.between(start, end));
    DurationSummary::of(spans.map(|span| span.end - span.start))
}

impl TimelineRow {
    /// The messages that wait or run at any time between `start` and `end`.
    #[must_use]
    pub fn between(&self, start: f64, end: f64) -> &[Span] {
        let first = self.spans.partition_point(|span| span.end < start);
        let last = self.spans.partition_point(|span| span.wait_start <= end);
        &self.spans[first.min(last)..last]
    }

    /// The message that waits or runs at `time`, if it is at least `tolerance` nanoseconds long
    /// with its wait. Otherwise the longest message within `tolerance` of `time`.
    #[must_use]
    pub fn nearest(&self, time: f64, tolerance: f64) -> Option<Span> {
        let near = self.between(time - tolerance, time + tolerance);
        let under = near.iter().find(|span| span.wait_start <= time && time <= span.end);
        let longest = || {
            let length = |span: &&Span| span.end - span.start;
            near.iter().max_by(|a, b| length(a).total_cmp(&length(b)))
        };
        under.filter(|span| span.end - span.wait_start >= tolerance).or_else(longest).copied()
    }

    /// The shapes of the row on an axis where `x` maps a time to a pixel, from `left` to `right`;
    /// `view` is the start and end of the time in view.
    ///
    /// There are at most about one and a half shapes per pixel, however many messages there are.
    #[must_use]
    pub fn shapes(
        &self,
        x: impl Fn(f64) -> f32,
        view: (f64, f64),
        left: f32,
        right: f32,
    ) -> Vec<RowShape> {
        /// Minimum width, in pixels, of a message or a wait that is drawn as a bar.
        const MIN_BAR_WIDTH: f32 = 2.0;
        let mut coverage = Coverage::new(left, right);
        let mut shapes = Vec::new();
        for span in self.between(view.0, view.1) {
            let edges = [span.wait_start, span.start, span.end].map(&x);
            let [wait_start, start, end] = edges.map(|edge| edge.clamp(left, right));
            if edges[1] - edges[0] >= MIN_BAR_WIDTH {
                shapes.push(RowShape::Wait(wait_start, start));
            } else if span.wait_start < span.start {
                coverage.add(Coverage::WAIT, wait_start, start);
            }
            if edges[2] - edges[1] >= MIN_BAR_WIDTH {
                shapes.push(RowShape::Bar(*span, start, end));
            } else {
                coverage.add(Coverage::phase_index(span.phase), start, end);
            }
        }
        shapes.extend(coverage.columns());
        shapes
    }
}

/// How much of each pixel column is covered by messages and waits that are too short for a bar.
struct Coverage {
    left: f32,
    /// Pixels covered per column: collect, distribute, wait.
    columns: Vec<[f32; 3]>,
}

impl Coverage {
    /// Index of waits within a column.
    const WAIT: usize = 2;
    /// Minimum coverage of a message or a wait, in pixels, so that even a message too short to
    /// measure is visible.
    const MIN_COVERAGE: f32 = 0.02;

    fn new(left: f32, right: f32) -> Self {
        let count = (right - left).ceil().max(0.0) as usize;
        Self { left, columns: vec![[0.0; 3]; count] }
    }

    /// Index of messages of `phase` within a column.
    fn phase_index(phase: Phase) -> usize {
        usize::from(phase == Phase::Distribute)
    }

    /// Adds a message or wait from pixel `from` to pixel `to` to each column that it crosses.
    /// `kind` is the index of the phase, or [`WAIT`](Self::WAIT).
    fn add(&mut self, kind: usize, from: f32, to: f32) {
        let count = self.columns.len();
        let mut from = from;
        loop {
            let index = ((from - self.left).floor().max(0.0) as usize).min(count.saturating_sub(1));
            let Some(column) = self.columns.get_mut(index) else { break };
            let edge = self.left + index as f32 + 1.0;
            column[kind] += (to.min(edge) - from).max(Self::MIN_COVERAGE);
            if to <= edge || index + 1 >= count {
                break;
            }
            from = edge;
        }
    }

    /// The columns that are at least partly covered.
    fn columns(self) -> impl Iterator<Item = RowShape> {
        let left = self.left;
        let columns = self.columns.into_iter().enumerate();
        columns.filter(|(_, column)| column.iter().any(|&share| share > 0.0)).map(
            move |(index, column)| {
                let [collect, distribute, wait] = column.map(|share| share.min(1.0));
                RowShape::Column { x: left + index as f32, collect, distribute, wait }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(spans: &[(f64, f64)]) -> TimelineRow {
        let span = |(index, &(start, end)): (usize, &(f64, f64))| Span {
            message: MessageId::new(index),
            phase: if index % 2 == 0 { Phase::Collect } else { Phase::Distribute },
            wait_start: start,
            start,
            end,
            shared_with: 0,
        };
        TimelineRow { worker: 0, spans: spans.iter().enumerate().map(span).collect() }
    }

    #[test]
    fn many_short_messages_become_at_most_one_column_per_pixel() {
        let spans: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i), f64::from(i) + 0.5)).collect();
        let shapes = row(&spans).shapes(|t| (t / 50.0) as f32, (0.0, 1e4), 0.0, 200.0);
        assert_eq!(shapes.len(), 200);
        for shape in shapes {
            let RowShape::Column { collect, distribute, .. } = shape else { panic!("{shape:?}") };
            // Half of the time is covered, alternating between the phases.
            assert!((collect - 0.25).abs() < 0.26 && (distribute - 0.25).abs() < 0.26);
            assert!(collect > 0.0 && distribute > 0.0);
        }
    }

    #[test]
    fn a_long_message_among_short_ones_is_drawn_as_a_bar() {
        let row = row(&[(0.0, 1.0), (1.0, 500.0), (500.0, 501.0)]);
        let shapes = row.shapes(|t| (t / 10.0) as f32, (0.0, 600.0), 0.0, 60.0);
        let bars: Vec<_> = shapes.iter().filter(|s| matches!(s, RowShape::Bar(..))).collect();
        assert_eq!(bars.len(), 1);
        assert!(matches!(bars[0], RowShape::Bar(span, ..) if span.message == MessageId::new(1)));
        assert_eq!(shapes.len(), 3);
    }

    #[test]
    fn a_wait_is_drawn_before_its_message_and_pointing_at_it_finds_the_message() {
        let mut row = row(&[(100.0, 200.0), (200.0, 300.0)]);
        row.spans[1].wait_start = 200.0;
        row.spans[0].wait_start = 10.0;
        let shapes = row.shapes(|t| t as f32, (0.0, 300.0), 0.0, 300.0);
        assert_eq!(shapes[0], RowShape::Wait(10.0, 100.0));
        assert_eq!(shapes.len(), 3);
        assert_eq!(row.between(0.0, 50.0), &row.spans[..1]);
        assert_eq!(row.nearest(50.0, 1.0), Some(row.spans[0]));
        let zoomed_out = row.shapes(|t| (t / 200.0) as f32, (0.0, 300.0), 0.0, 2.0);
        let RowShape::Column { wait, .. } = zoomed_out[0] else { panic!("{zoomed_out:?}") };
        assert!((wait - 0.45).abs() < 1e-3);
    }

    #[test]
    fn overlapping_messages_are_put_into_separate_rows() {
        let spans = row(&[(0.0, 10.0), (5.0, 20.0), (10.0, 12.0), (20.0, 21.0)]).spans;
        let rows = pack(7, spans);
        let messages = |row: &TimelineRow| {
            row.spans.iter().map(|span| span.message.index()).collect::<Vec<_>>()
        };
        assert_eq!(rows.iter().map(messages).collect::<Vec<_>>(), [vec![0, 2, 3], vec![1]]);
        assert!(rows.iter().all(|row| row.worker == 7));
    }

    #[test]
    fn only_messages_in_view_are_drawn() {
        let row = row(&[(0.0, 10.0), (20.0, 30.0), (40.0, 50.0)]);
        let shapes = row.shapes(|t| ((t - 15.0) * 4.0) as f32, (15.0, 40.0), 0.0, 100.0);
        assert_eq!(row.between(15.0, 35.0), &row.spans[1..2]);
        assert!(shapes.len() <= 2 && !shapes.is_empty());
    }

    #[test]
    fn the_pointer_finds_the_message_under_it_or_the_longest_nearby() {
        let row = row(&[(0.0, 100.0), (110.0, 111.0), (112.0, 120.0)]);
        assert_eq!(row.nearest(50.0, 5.0), Some(row.spans[0]));
        assert_eq!(row.nearest(110.5, 5.0), Some(row.spans[2]));
        assert_eq!(row.nearest(200.0, 5.0), None);
    }

    #[test]
    fn the_durations_within_a_range_are_summed() {
        let rows = [row(&[(0.0, 10.0), (20.0, 50.0), (60.0, 62.0)]), row(&[(0.0, 1.0)])];
        let summary = summary_between(&rows, 5.0, 55.0);
        assert_eq!(summary, DurationSummary { count: 2, total: 40.0, median: 20.0 });
        assert_eq!(summary_between(&rows, 70.0, 80.0), DurationSummary::default());
    }
}
