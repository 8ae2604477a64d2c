//! The messages of a trace by lane, and how they become bars.

use crate::propagation::{MessageId, MessageTrace, Phase, Plan};

/// A message as a bar, in nanoseconds since the start of the propagation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The message.
    pub message: MessageId,
    /// Its phase.
    pub phase: Phase,
    /// When its lane began to wait for it; `start` where it did not wait.
    pub taken_up: f64,
    /// When it began.
    pub start: f64,
    /// When it ended.
    pub end: f64,
    /// Others that it was timed together with, so that start and end are shares by forecast.
    pub shared_with: u32,
}

/// Messages that one thread or one block of the GPU computed, in the order of time. They do not
/// overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// The number of the thread or block; of several, one of them.
    pub number: u32,
    /// The messages.
    pub spans: Vec<Span>,
}

/// What is drawn in one lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A message that is wide enough to be seen by itself: left and right edge.
    Bar(Span, f32, f32),
    /// A column one pixel wide that several messages, or a very short one, cover in part.
    Column {
        /// Left edge.
        x: f32,
        /// Share of the column in which messages toward the root run.
        collect: f32,
        /// Share of the column in which messages away from the root run.
        distribute: f32,
        /// Share of the column in which the lane waits.
        wait: f32,
    },
    /// A wait that is wide enough to be seen by itself: left and right edge.
    Wait(f32, f32),
}

/// Which messages stand in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Those of one thread or block, with its waits; a block whose messages overlap has several.
    Lanes,
    /// As many as fit one after another, whoever computed them: the number of rows is how many
    /// messages were computed at the same time. Waits are left out.
    Packed,
}

/// The messages of `trace` in rows; lane numbers without messages are left out.
#[must_use]
pub fn lanes(trace: &MessageTrace, plan: &Plan, rows: Rows) -> Vec<Lane> {
    let mut lanes: std::collections::BTreeMap<u32, Vec<Span>> = std::collections::BTreeMap::new();
    for timing in &trace.messages {
        let Some(message) = plan.messages().get(timing.message.index()) else { continue };
        let start = timing.start.as_nanos() as f64;
        let (lane, wait) = match rows {
            Rows::Lanes => (timing.lane, timing.wait.as_nanos() as f64),
            Rows::Packed => (0, 0.0),
        };
        lanes.entry(lane).or_default().push(Span {
            message: timing.message,
            phase: message.phase,
            taken_up: start - wait,
            start,
            end: start + timing.duration.as_nanos() as f64,
            shared_with: timing.shared_with,
        });
    }
    lanes.into_iter().flat_map(|(number, spans)| without_overlap(number, spans)).collect()
}

/// Puts each of `spans` into the first row that is free when it is taken up.
fn without_overlap(number: u32, mut spans: Vec<Span>) -> Vec<Lane> {
    spans.sort_by(|a, b| a.taken_up.total_cmp(&b.taken_up));
    let mut rows: Vec<Lane> = Vec::new();
    for span in spans {
        let free = |row: &&mut Lane| row.spans.last().is_none_or(|last| last.end <= span.taken_up);
        match rows.iter_mut().find(free) {
            Some(row) => row.spans.push(span),
            None => rows.push(Lane { number, spans: vec![span] }),
        }
    }
    rows
}

impl Lane {
    /// The messages that are in view between `start` and `end`.
    #[must_use]
    pub fn between(&self, start: f64, end: f64) -> &[Span] {
        let first = self.spans.partition_point(|span| span.end < start);
        let last = self.spans.partition_point(|span| span.taken_up <= end);
        &self.spans[first.min(last)..last]
    }

    /// The message at `time`; failing that, the longest that is at most `reach` away.
    #[must_use]
    pub fn nearest(&self, time: f64, reach: f64) -> Option<Span> {
        let near = self.between(time - reach, time + reach);
        let under = near.iter().find(|span| span.taken_up <= time && time <= span.end);
        let longest = || {
            let length = |span: &&Span| span.end - span.start;
            near.iter().max_by(|a, b| length(a).total_cmp(&length(b)))
        };
        under.filter(|span| span.end - span.taken_up >= reach).or_else(longest).copied()
    }

    /// What to draw of the lane on an axis where time `t` is at `x(t)` pixels, from `left` to
    /// `right`. However many messages there are, there are never more shapes than pixels allow.
    #[must_use]
    pub fn shapes(
        &self,
        x: impl Fn(f64) -> f32,
        view: (f64, f64),
        left: f32,
        right: f32,
    ) -> Vec<Shape> {
        /// From this width on a message is a bar of its own.
        const WIDE: f32 = 2.0;
        /// After collect and distribute.
        const WAIT: usize = 2;
        let columns = (right - left).ceil().max(0.0) as usize;
        let mut cover = vec![[0.0_f32; 3]; columns];
        let mut fill = |kind: usize, from: f32, to: f32| {
            let mut at = from;
            loop {
                let column = ((at - left).floor().max(0.0) as usize).min(columns.saturating_sub(1));
                let Some(covered) = cover.get_mut(column) else { break };
                let edge = left + column as f32 + 1.0;
                // A message too short to measure still leaves a trace.
                covered[kind] += (to.min(edge) - at).max(0.02);
                if to <= edge || column + 1 >= columns {
                    break;
                }
                at = edge;
            }
        };
        let mut shapes = Vec::new();
        for span in self.between(view.0, view.1) {
            let edges = [span.taken_up, span.start, span.end].map(&x);
            let [taken_up, from, to] = edges.map(|edge| edge.clamp(left, right));
            let kind = usize::from(span.phase == Phase::Distribute);
            if edges[1] - edges[0] >= WIDE {
                shapes.push(Shape::Wait(taken_up, from));
            } else if span.taken_up < span.start {
                fill(WAIT, taken_up, from);
            }
            if edges[2] - edges[1] >= WIDE {
                shapes.push(Shape::Bar(*span, from, to));
            } else {
                fill(kind, from, to);
            }
        }
        let drawn = cover.iter().enumerate().filter(|(_, cover)| cover.iter().any(|c| *c > 0.0));
        shapes.extend(drawn.map(|(index, cover)| {
            let [collect, distribute, wait] = cover.map(|share| share.min(1.0));
            Shape::Column { x: left + index as f32, collect, distribute, wait }
        }));
        shapes
    }
}

/// Count, sum and median of the durations of some messages, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// How many.
    pub count: usize,
    /// All together.
    pub total: f64,
    /// The middle one, or the mean of the two in the middle; zero for none.
    pub median: f64,
}

impl Sum {
    /// Of the messages that run, at least in part, between `start` and `end`.
    #[must_use]
    pub fn between(lanes: &[Lane], start: f64, end: f64) -> Self {
        Self::of(lanes.iter().flat_map(|lane| lane.between(start, end)).map(|s| s.end - s.start))
    }

    /// Of these durations.
    #[must_use]
    pub fn of(durations: impl Iterator<Item = f64>) -> Self {
        let mut durations: Vec<f64> = durations.collect();
        durations.sort_by(f64::total_cmp);
        let count = durations.len();
        let median = match (count, count % 2) {
            (0, _) => 0.0,
            (_, 1) => durations[count / 2],
            _ => f64::midpoint(durations[count / 2 - 1], durations[count / 2]),
        };
        // The sum of no floating point numbers is -0.
        Self { count, total: durations.iter().sum::<f64>() + 0.0, median }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(spans: &[(f64, f64)]) -> Lane {
        let span = |(index, &(start, end)): (usize, &(f64, f64))| Span {
            message: MessageId::new(index),
            phase: if index % 2 == 0 { Phase::Collect } else { Phase::Distribute },
            taken_up: start,
            start,
            end,
            shared_with: 0,
        };
        Lane { number: 0, spans: spans.iter().enumerate().map(span).collect() }
    }

    #[test]
    fn many_short_messages_become_at_most_one_column_a_pixel() {
        let spans: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i), f64::from(i) + 0.5)).collect();
        let shapes = lane(&spans).shapes(|t| (t / 50.0) as f32, (0.0, 1e4), 0.0, 200.0);
        assert_eq!(shapes.len(), 200);
        for shape in shapes {
            let Shape::Column { collect, distribute, .. } = shape else { panic!("{shape:?}") };
            // Half of the time is covered, in turn by either phase.
            assert!((collect - 0.25).abs() < 0.26 && (distribute - 0.25).abs() < 0.26);
            assert!(collect > 0.0 && distribute > 0.0);
        }
    }

    #[test]
    fn a_long_message_among_short_ones_stays_a_bar() {
        let lane = lane(&[(0.0, 1.0), (1.0, 500.0), (500.0, 501.0)]);
        let shapes = lane.shapes(|t| (t / 10.0) as f32, (0.0, 600.0), 0.0, 60.0);
        let bars: Vec<_> = shapes.iter().filter(|s| matches!(s, Shape::Bar(..))).collect();
        assert_eq!(bars.len(), 1);
        assert!(matches!(bars[0], Shape::Bar(span, ..) if span.message == MessageId::new(1)));
        assert_eq!(shapes.len(), 3);
    }

    #[test]
    fn a_wait_is_drawn_before_its_message_and_found_with_it() {
        let mut lane = lane(&[(100.0, 200.0), (200.0, 300.0)]);
        lane.spans[1].taken_up = 200.0;
        lane.spans[0].taken_up = 10.0;
        let shapes = lane.shapes(|t| t as f32, (0.0, 300.0), 0.0, 300.0);
        assert_eq!(shapes[0], Shape::Wait(10.0, 100.0));
        assert_eq!(shapes.len(), 3);
        assert_eq!(lane.between(0.0, 50.0), &lane.spans[..1]);
        assert_eq!(lane.nearest(50.0, 1.0), Some(lane.spans[0]));
        let far = lane.shapes(|t| (t / 200.0) as f32, (0.0, 300.0), 0.0, 2.0);
        let Shape::Column { wait, .. } = far[0] else { panic!("{far:?}") };
        assert!((wait - 0.45).abs() < 1e-3);
    }

    #[test]
    fn the_sum_of_nothing_is_not_below_zero() {
        assert!(Sum::of(std::iter::empty()).total.is_sign_positive());
    }

    #[test]
    fn messages_that_overlap_stand_in_rows_of_their_own() {
        let spans = lane(&[(0.0, 10.0), (5.0, 20.0), (10.0, 12.0), (20.0, 21.0)]).spans;
        let rows = without_overlap(7, spans);
        let of = |row: &Lane| row.spans.iter().map(|s| s.message.index()).collect::<Vec<_>>();
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), [vec![0, 2, 3], vec![1]]);
        assert!(rows.iter().all(|row| row.number == 7));
    }

    #[test]
    fn only_what_is_in_view_is_drawn() {
        let lane = lane(&[(0.0, 10.0), (20.0, 30.0), (40.0, 50.0)]);
        let shapes = lane.shapes(|t| ((t - 15.0) * 4.0) as f32, (15.0, 40.0), 0.0, 100.0);
        assert_eq!(lane.between(15.0, 35.0), &lane.spans[1..2]);
        assert!(shapes.len() <= 2 && !shapes.is_empty());
    }

    #[test]
    fn the_pointer_finds_the_message_below_it_or_the_longest_nearby() {
        let lane = lane(&[(0.0, 100.0), (110.0, 111.0), (112.0, 120.0)]);
        assert_eq!(lane.nearest(50.0, 5.0), Some(lane.spans[0]));
        assert_eq!(lane.nearest(110.5, 5.0), Some(lane.spans[2]));
        assert_eq!(lane.nearest(200.0, 5.0), None);
    }

    #[test]
    fn a_range_is_summed_up() {
        let lanes = [lane(&[(0.0, 10.0), (20.0, 50.0), (60.0, 62.0)]), lane(&[(0.0, 1.0)])];
        let sum = Sum::between(&lanes, 5.0, 55.0);
        assert_eq!(sum, Sum { count: 2, total: 40.0, median: 20.0 });
        assert_eq!(Sum::between(&lanes, 70.0, 80.0), Sum::default());
        assert_eq!(Sum::of([3.0, 1.0, 2.0].into_iter()).median, 2.0);
    }
}
