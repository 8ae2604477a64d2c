//! The stretches of a trace arranged in rows, and the shapes that a row is drawn with.

use std::collections::BTreeMap;

use super::slices::{Cause, Slice, SliceKind, Work};
use super::waits::Gaps;
use crate::propagation::{Activity, MessageId, MessageTrace, Phase, Plan, StageTiming};

/// How messages are assigned to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One row per thread, or per block of a GPU.
    ByWorker,
    /// One row per multiprocessor of a GPU with this many of them. Blocks are handed out in turn,
    /// so block b counts to multiprocessor b modulo their number.
    ByMultiprocessor(u32),
    /// As few rows as possible, whichever worker computed a message. The number of rows is then the
    /// largest number of messages computed in parallel. Waits are left out.
    Packed,
}

/// A row of the timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelineRow {
    /// What the row shows, such as `thread 3`.
    pub name: String,
    /// Stretches that do not overlap, in order of time. There is more than one list if a worker did
    /// several things at the same time.
    pub lanes: Vec<Vec<Slice>>,
    /// The share of the propagation in which nothing was done here; `None` where that means
    /// nothing.
    pub idle: Option<f64>,
}

/// Part of a row as it is drawn. A pixel is a logical pixel, which egui calls a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowShape {
    /// A stretch that is wide enough for a bar: left and right edge.
    Bar(Slice, f32, f32),
    /// A column one pixel wide, partly covered by stretches too short for a bar.
    Column {
        /// Left edge.
        x: f32,
        /// The shares of the column covered by messages toward the root, messages away from the
        /// root, other work, and waits.
        shares: [f32; 4],
    },
}

/// The messages of `trace`, each with its wait, by the worker or group of workers that `group`
/// gives for a worker.
fn spans_by(
    trace: &MessageTrace,
    plan: &Plan,
    group: impl Fn(u32) -> u32,
) -> BTreeMap<u32, Vec<(f64, Slice)>> {
    let mut groups: BTreeMap<u32, Vec<(f64, Slice)>> = BTreeMap::new();
    for timing in &trace.messages {
        let Some(message) = plan.messages().get(timing.message.index()) else { continue };
        let start = timing.start.as_nanos() as f64;
        let slice = Slice {
            kind: SliceKind::Message(timing.message, message.phase),
            start,
            end: start + timing.duration.as_nanos() as f64,
            shared_with: timing.shared_with,
        };
        let wait = timing.wait.as_nanos() as f64;
        groups.entry(group(timing.worker)).or_default().push((start - wait, slice));
    }
    groups
}

/// As few rows as possible, without waits and without names.
#[must_use]
pub fn packed(trace: &MessageTrace, plan: &Plan) -> Vec<TimelineRow> {
    let spans = spans_by(trace, plan, |_| 0).remove(&0).unwrap_or_default();
    let spans = spans.into_iter().map(|(_, slice)| (slice.start, slice)).collect();
    let row = |(index, lane): (usize, Vec<Slice>)| TimelineRow {
        name: if index == 0 {
            "1 message".to_owned()
        } else {
            format!("{} in parallel", index + 1)
        },
        lanes: vec![lane],
        idle: None,
    };
    pack(spans, |_, _| None).into_iter().enumerate().map(row).collect()
}

/// A row for each thread of the CPU, from the first to the last that did anything, in which every
/// stretch of time has a name.
#[must_use]
pub fn threads(trace: &MessageTrace, plan: &Plan, gaps: &Gaps<'_>) -> Vec<TimelineRow> {
    let mut workers = spans_by(trace, plan, |worker| worker);
    for (worker, slice) in activities(trace) {
        workers.entry(worker).or_default().push((slice.start, slice));
    }
    let last = workers.keys().next_back().copied().unwrap_or(0);
    let row = |worker: u32| {
        let mut spans = workers.remove(&worker).unwrap_or_default();
        spans.sort_by(|a, b| a.1.start.total_cmp(&b.1.start));
        let busy: Vec<Slice> = spans.iter().map(|(_, slice)| *slice).collect();
        let named = gaps.fill(worker, &busy);
        let idle = named.iter().filter(|slice| slice.is_wait()).map(Slice::length).sum::<f64>();
        let all = busy.into_iter().chain(named).map(|slice| (slice.start, slice)).collect();
        TimelineRow {
            name: format!("thread {worker}"),
            lanes: pack(all, |_, _| None),
            idle: Some(idle / total(trace)),
        }
    };
    (0..=last).map(row).collect()
}

/// What the workers did apart from messages of their own. Waits are left out: the gaps between the
/// other stretches are named by what was waited for.
fn activities(trace: &MessageTrace) -> impl Iterator<Item = (u32, Slice)> + '_ {
    trace.activities.iter().filter_map(|timing| {
        let work = match timing.activity {
            Activity::Start => Work::StartThread,
            Activity::Root => Work::Root,
            Activity::HelpRoot => Work::HelpRoot,
            Activity::Help(message) => Work::Help(message),
            Activity::Wait => return None,
        };
        let start = timing.start.as_nanos() as f64;
        let end = start + timing.duration.as_nanos() as f64;
        Some((timing.worker, Slice::work(work, start, end)))
    })
}

/// A row for each block of a GPU, or for each group of blocks, with the waits that the GPU
/// recorded. `group` maps a block to its group, and `name` names a group. `needed` gives the
/// message that a message waited for.
#[must_use]
pub fn blocks(
    trace: &MessageTrace,
    plan: &Plan,
    group: impl Fn(u32) -> u32,
    name: impl Fn(u32) -> String,
    needed: impl Fn(MessageId) -> Option<MessageId>,
) -> Vec<TimelineRow> {
    let wait = |from: f64, slice: &Slice| {
        let cause = slice.message().and_then(&needed).map_or(Cause::TakeUp, Cause::Message);
        (from < slice.start).then(|| Slice::wait(cause, from, slice.start))
    };
    let row = |(number, spans): (u32, Vec<(f64, Slice)>)| {
        let mut busy: Vec<(f64, f64)> = spans.iter().map(|(_, s)| (s.start, s.end)).collect();
        let idle = 1.0 - covered(&mut busy) / total(trace);
        TimelineRow { name: name(number), lanes: pack(spans, wait), idle: Some(idle.max(0.0)) }
    };
    spans_by(trace, plan, group).into_iter().map(row).collect()
}

/// Nanoseconds from the start to the end of the propagation.
fn total(trace: &MessageTrace) -> f64 {
    (trace.elapsed.as_nanos() as f64).max(1.0)
}

/// The time that at least one of `spans` covers, each given by its start and its end.
fn covered(spans: &mut [(f64, f64)]) -> f64 {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = 0.0_f64;
    let mut sum = 0.0;
    for &mut (start, end) in spans {
        sum += (end - start.max(until)).max(0.0);
        until = until.max(end);
    }
    sum
}

/// Puts each stretch into the first lane whose last stretch has ended, and adds a lane if there is
/// none. Each stretch comes with the time from which its lane must be free, and `wait` makes a
/// stretch for the time from then until the stretch begins.
fn pack(
    mut spans: Vec<(f64, Slice)>,
    wait: impl Fn(f64, &Slice) -> Option<Slice>,
) -> Vec<Vec<Slice>> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lanes: Vec<Vec<Slice>> = Vec::new();
    for (from, slice) in spans {
        let is_free = |lane: &Vec<Slice>| lane.last().is_none_or(|last| last.end <= from);
        let index = lanes.iter().position(is_free).unwrap_or(lanes.len());
        if index == lanes.len() {
            lanes.push(Vec::new());
        }
        lanes[index].extend(wait(from, &slice));
        lanes[index].push(slice);
    }
    lanes
}

/// The stretches of `lane` that touch the time from `start` to `end`.
#[must_use]
pub fn between(lane: &[Slice], start: f64, end: f64) -> &[Slice] {
    let first = lane.partition_point(|slice| slice.end < start);
    let last = lane.partition_point(|slice| slice.start <= end);
    &lane[first.min(last)..last]
}

/// The stretch of `lane` at `time`, if it is at least `tolerance` nanoseconds long. Otherwise the
/// longest message within `tolerance` of `time`, or else the longest other stretch.
#[must_use]
pub fn nearest(lane: &[Slice], time: f64, tolerance: f64) -> Option<Slice> {
    let near = between(lane, time - tolerance, time + tolerance);
    let under = near.iter().find(|slice| slice.start <= time && time < slice.end);
    let longest = || {
        let rank = |slice: &&Slice| (slice.message().is_some(), slice.length());
        near.iter().max_by(|a, b| {
            let ((a, a_length), (b, b_length)) = (rank(a), rank(b));
            a.cmp(&b).then(a_length.total_cmp(&b_length))
        })
    };
    under.filter(|slice| slice.length() >= tolerance).or_else(longest).copied()
}

/// The shapes of `lane` on an axis where `x` maps a time to a pixel, from `left` to `right`; `view`
/// is the start and end of the time in view.
///
/// There are at most about one and a half shapes per pixel, however many stretches there are.
#[must_use]
pub fn shapes(
    lane: &[Slice],
    x: impl Fn(f64) -> f32,
    view: (f64, f64),
    left: f32,
    right: f32,
) -> Vec<RowShape> {
    /// Minimum width, in pixels, of a stretch that is drawn as a bar.
    const MIN_BAR_WIDTH: f32 = 2.0;
    let mut coverage = Coverage::new(left, right);
    let mut shapes = Vec::new();
    for slice in between(lane, view.0, view.1) {
        let edges = [slice.start, slice.end].map(&x);
        let [start, end] = edges.map(|edge| edge.clamp(left, right));
        if edges[1] - edges[0] >= MIN_BAR_WIDTH {
            shapes.push(RowShape::Bar(*slice, start, end));
        } else {
            coverage.add(Coverage::index(slice.kind), start, end);
        }
    }
    shapes.extend(coverage.columns());
    shapes
}

/// How much of each pixel column is covered by stretches that are too short for a bar.
struct Coverage {
    left: f32,
    /// Pixels covered per column: collect, distribute, other work, waits.
    columns: Vec<[f32; 4]>,
}

impl Coverage {
    /// Minimum coverage of a stretch, in pixels, so that even a message too short to measure is
    /// visible.
    const MIN_COVERAGE: f32 = 0.02;

    fn new(left: f32, right: f32) -> Self {
        let count = (right - left).ceil().max(0.0) as usize;
        Self { left, columns: vec![[0.0; 4]; count] }
    }

    /// Index within a column.
    fn index(kind: SliceKind) -> usize {
        match kind {
            SliceKind::Message(_, Phase::Collect) => 0,
            SliceKind::Message(_, Phase::Distribute) => 1,
            SliceKind::Work(_) => 2,
            SliceKind::Wait(_) => 3,
        }
    }

    /// Adds a stretch from pixel `from` to pixel `to` to each column that it crosses.
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
            move |(index, column)| RowShape::Column {
                x: left + index as f32,
                shares: column.map(|share| share.min(1.0)),
            },
        )
    }
}

/// The stages of `trace` in order, followed by the stretches of time between them. On a GPU these
/// are launches and copies.
#[must_use]
pub fn stages(trace: &MessageTrace, on_gpu: bool) -> Vec<Slice> {
    let stage = |stage: &StageTiming| {
        let (start, end) = (stage.start.as_nanos() as f64, stage.end.as_nanos() as f64);
        Slice::work(Work::Stage(stage.stage), start, end)
    };
    let mut stages: Vec<Slice> = trace.stages.iter().map(stage).collect();
    stages.sort_by(|a, b| a.start.total_cmp(&b.start));
    let end = trace.elapsed.as_nanos() as f64;
    let last = Slice::work(Work::After, end, end);
    let (mut covered_until, mut gaps) = (0.0, Vec::new());
    for (index, slice) in stages.iter().chain([&last]).enumerate() {
        if slice.start > covered_until {
            let work = match index {
                _ if on_gpu => Work::Launch,
                0 => Work::Before,
                _ if index == stages.len() => Work::After,
                _ => Work::Between,
            };
            gaps.push(Slice::work(work, covered_until, slice.start));
        }
        covered_until = slice.end.max(covered_until);
    }
    stages.extend(gaps);
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(spans: &[(f64, f64)]) -> Vec<Slice> {
        let slice = |(index, &(start, end)): (usize, &(f64, f64))| Slice {
            kind: SliceKind::Message(
                MessageId::new(index),
                if index % 2 == 0 { Phase::Collect } else { Phase::Distribute },
            ),
            start,
            end,
            shared_with: 0,
        };
        spans.iter().enumerate().map(slice).collect()
    }

    #[test]
    fn many_short_messages_become_at_most_one_column_per_pixel() {
        let spans: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i), f64::from(i) + 0.5)).collect();
        let shapes = shapes(&lane(&spans), |t| (t / 50.0) as f32, (0.0, 1e4), 0.0, 200.0);
        assert_eq!(shapes.len(), 200);
        for shape in shapes {
            let RowShape::Column { shares: [collect, distribute, ..], .. } = shape else {
                panic!("{shape:?}")
            };
            // Half of the time is covered, alternating between the phases.
            assert!((collect - 0.25).abs() < 0.26 && (distribute - 0.25).abs() < 0.26);
            assert!(collect > 0.0 && distribute > 0.0);
        }
    }

    #[test]
    fn a_long_message_among_short_ones_is_drawn_as_a_bar() {
        let lane = lane(&[(0.0, 1.0), (1.0, 500.0), (500.0, 501.0)]);
        let shapes = shapes(&lane, |t| (t / 10.0) as f32, (0.0, 600.0), 0.0, 60.0);
        let bars: Vec<_> = shapes.iter().filter(|s| matches!(s, RowShape::Bar(..))).collect();
        assert_eq!(bars.len(), 1);
        assert!(matches!(bars[0], RowShape::Bar(slice, ..) if *slice == lane[1]));
        assert_eq!(shapes.len(), 3);
    }

    #[test]
    fn a_wait_comes_before_its_message_and_is_part_of_no_message() {
        let spans = lane(&[(100.0, 200.0), (200.0, 300.0)]);
        let input = MessageId::new(9);
        let wait = |from: f64, slice: &Slice| {
            (from < slice.start).then(|| Slice::wait(Cause::Message(input), from, slice.start))
        };
        let lanes = pack(vec![(10.0, spans[0]), (200.0, spans[1])], wait);
        assert_eq!(lanes.len(), 1);
        let waiting = Slice::wait(Cause::Message(input), 10.0, 100.0);
        assert_eq!(lanes[0], [waiting, spans[0], spans[1]]);
        assert_eq!(nearest(&lanes[0], 50.0, 1.0), Some(waiting));
        assert_eq!(waiting.related_message(), Some(input));
        let zoomed_out = shapes(&lanes[0], |t| (t / 200.0) as f32, (0.0, 300.0), 0.0, 2.0);
        let RowShape::Column { shares, .. } = zoomed_out[0] else { panic!("{zoomed_out:?}") };
        assert!((shares[3] - 0.45).abs() < 1e-3, "{shares:?}");
    }

    #[test]
    fn overlapping_messages_are_put_into_separate_lanes() {
        let spans = lane(&[(0.0, 10.0), (5.0, 20.0), (10.0, 12.0), (20.0, 21.0)]);
        let spans = spans.into_iter().map(|slice| (slice.start, slice)).collect();
        let messages = |lane: &Vec<Slice>| {
            lane.iter().map(|slice| slice.message().unwrap().index()).collect::<Vec<_>>()
        };
        let lanes = pack(spans, |_, _| None);
        assert_eq!(lanes.iter().map(messages).collect::<Vec<_>>(), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn only_messages_in_view_are_drawn() {
        let lane = lane(&[(0.0, 10.0), (20.0, 30.0), (40.0, 50.0)]);
        let shapes = shapes(&lane, |t| ((t - 15.0) * 4.0) as f32, (15.0, 40.0), 0.0, 100.0);
        assert_eq!(between(&lane, 15.0, 35.0), &lane[1..2]);
        assert!(shapes.len() <= 2 && !shapes.is_empty());
    }

    #[test]
    fn the_pointer_finds_the_message_under_it_or_the_longest_nearby() {
        let lane = lane(&[(0.0, 100.0), (110.0, 111.0), (112.0, 120.0)]);
        assert_eq!(nearest(&lane, 50.0, 5.0), Some(lane[0]));
        assert_eq!(nearest(&lane, 110.5, 5.0), Some(lane[2]));
        assert_eq!(nearest(&lane, 200.0, 5.0), None);
    }

    #[test]
    fn time_that_several_stretches_cover_counts_once() {
        let mut spans = [(5.0, 7.0), (0.0, 4.0), (2.0, 6.0), (10.0, 11.0)];
        assert_eq!(covered(&mut spans), 8.0);
    }

    #[test]
    fn the_time_between_stages_has_a_name() {
        use crate::propagation::Stage;
        let nanoseconds = std::time::Duration::from_nanos;
        let stage =
            |stage, from, to| StageTiming { stage, start: nanoseconds(from), end: nanoseconds(to) };
        let trace = MessageTrace {
            stages: vec![
                stage(Stage::Initialise, 5, 10),
                stage(Stage::Collect, 20, 50),
                stage(Stage::Distribute, 40, 60),
            ],
            elapsed: nanoseconds(70),
            ..MessageTrace::default()
        };
        let between = |on_gpu| stages(&trace, on_gpu).split_off(3);
        let works = |works: [Work; 3]| {
            let times = [(0.0, 5.0), (10.0, 20.0), (60.0, 70.0)];
            let named = works.into_iter().zip(times);
            named.map(|(work, (from, to))| Slice::work(work, from, to)).collect::<Vec<_>>()
        };
        assert_eq!(between(true), works([Work::Launch; 3]));
        assert_eq!(between(false), works([Work::Before, Work::Between, Work::After]));
    }
}
