//! The slices of a trace arranged in rows.

use std::collections::BTreeMap;

use super::slices::{Cause, Slice, SliceKind, Work};
use super::waits::GapNamer;
use crate::propagation::{Activity, MessageId, MessageTrace, Plan, StageTiming};

/// How messages are assigned to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One row per thread, or per block of a GPU.
    ByWorker,
    /// One row per multiprocessor of a GPU with this many of them, as if blocks were handed out in
    /// turn: block b counts as running on multiprocessor b modulo their number. CUDA does not say
    /// where a block runs.
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
    /// The tracks, each a list of slices that do not overlap, in order of time. There is more than
    /// one track if several things were done in this row at the same time.
    pub tracks: Vec<Vec<Slice>>,
    /// The share of the propagation in which nothing was done here; `None` for packed rows, which
    /// belong to no worker.
    pub idle: Option<f64>,
}

/// The messages of `trace`, each with the time in nanoseconds when the wait before it began,
/// grouped by worker or by group of workers: `group` gives the group of a worker.
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

/// As few rows as possible, without waits. A row is named by its number, counted from 1: whenever a
/// message of this row begins, at least this many messages are computed in parallel.
#[must_use]
pub fn packed(trace: &MessageTrace, plan: &Plan) -> Vec<TimelineRow> {
    let spans = spans_by(trace, plan, |_| 0).remove(&0).unwrap_or_default();
    let spans = spans.into_iter().map(|(_, slice)| (slice.start, slice)).collect();
    let row = |(index, track): (usize, Vec<Slice>)| TimelineRow {
        name: if index == 0 {
            "1 message".to_owned()
        } else {
            format!("{} in parallel", index + 1)
        },
        tracks: vec![track],
        idle: None,
    };
    pack(spans, |_, _| None).into_iter().enumerate().map(row).collect()
}

/// A row for each thread of the CPU, from the first to the last that did anything, in which every
/// stretch of time has a name.
#[must_use]
pub fn threads(trace: &MessageTrace, plan: &Plan, gaps: &GapNamer<'_>) -> Vec<TimelineRow> {
    let mut workers = spans_by(trace, plan, |worker| worker);
    for (worker, slice) in activities(trace) {
        workers.entry(worker).or_default().push((slice.start, slice));
    }
    let last = workers.keys().next_back().copied().unwrap_or(0);
    let row = |worker: u32| {
        let mut spans = workers.remove(&worker).unwrap_or_default();
        spans.sort_by(|a, b| a.1.start.total_cmp(&b.1.start));
        let busy: Vec<Slice> = spans.iter().map(|(_, slice)| *slice).collect();
        let named = gaps.gaps(worker, &busy);
        let idle = named.iter().filter(|slice| slice.is_wait()).map(Slice::length).sum::<f64>();
        let all = busy.into_iter().chain(named).map(|slice| (slice.start, slice)).collect();
        TimelineRow {
            name: format!("thread {worker}"),
            tracks: pack(all, |_, _| None),
            idle: Some(idle / total(trace)),
        }
    };
    (0..=last).map(row).collect()
}

/// What the workers did apart from messages of their own. Waits are left out, because
/// [`GapNamer`] names the time between the other slices.
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
        let cause = slice.message().and_then(&needed).map_or(Cause::PickUp, Cause::Message);
        (from < slice.start).then(|| Slice::wait(cause, from, slice.start))
    };
    let row = |(number, spans): (u32, Vec<(f64, Slice)>)| {
        let mut busy: Vec<(f64, f64)> = spans.iter().map(|(_, s)| (s.start, s.end)).collect();
        let idle = 1.0 - covered(&mut busy) / total(trace);
        TimelineRow { name: name(number), tracks: pack(spans, wait), idle: Some(idle.max(0.0)) }
    };
    spans_by(trace, plan, group).into_iter().map(row).collect()
}

/// Nanoseconds from the start to the end of the propagation; at least one, so that other times can
/// be divided by the result.
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

/// Puts each slice into the first track whose last slice has ended, and adds a track if there is
/// none. Each slice comes with the time from which its track must be free, and `wait` makes a
/// slice for the time from then until the slice begins.
fn pack(
    mut spans: Vec<(f64, Slice)>,
    wait: impl Fn(f64, &Slice) -> Option<Slice>,
) -> Vec<Vec<Slice>> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut tracks: Vec<Vec<Slice>> = Vec::new();
    for (from, slice) in spans {
        let is_free = |track: &Vec<Slice>| track.last().is_none_or(|last| last.end <= from);
        let index = tracks.iter().position(is_free).unwrap_or(tracks.len());
        if index == tracks.len() {
            tracks.push(Vec::new());
        }
        tracks[index].extend(wait(from, &slice));
        tracks[index].push(slice);
    }
    tracks
}

/// The stages of `trace` in order, followed by the stretches of time before, between and after
/// them. On a GPU, these stretches count as launches and copies;
/// [`name_reading_of_times`](super::launches::name_reading_of_times) corrects this where one is not.
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
    use crate::app::panes::timeline::shapes::{TrackShape, nearest, shapes};
    use crate::app::panes::timeline::slices::track_of_messages;

    #[test]
    fn a_wait_comes_before_its_message_and_is_part_of_no_message() {
        let spans = track_of_messages(&[(100.0, 200.0), (200.0, 300.0)]);
        let input = MessageId::new(9);
        let wait = |from: f64, slice: &Slice| {
            (from < slice.start).then(|| Slice::wait(Cause::Message(input), from, slice.start))
        };
        let tracks = pack(vec![(10.0, spans[0]), (200.0, spans[1])], wait);
        assert_eq!(tracks.len(), 1);
        let waiting = Slice::wait(Cause::Message(input), 10.0, 100.0);
        assert_eq!(tracks[0], [waiting, spans[0], spans[1]]);
        assert_eq!(nearest(&tracks[0], 50.0, 1.0), Some(waiting));
        assert_eq!(waiting.related_message(), Some(input));
        let zoomed_out = shapes(&tracks[0], |t| (t / 200.0) as f32, (0.0, 300.0), 0.0, 2.0);
        let TrackShape::Column { shares, .. } = zoomed_out[0] else { panic!("{zoomed_out:?}") };
        assert!((shares[3] - 0.45).abs() < 1e-3, "{shares:?}");
    }

    #[test]
    fn overlapping_messages_are_put_into_separate_tracks() {
        let spans = track_of_messages(&[(0.0, 10.0), (5.0, 20.0), (10.0, 12.0), (20.0, 21.0)]);
        let spans = spans.into_iter().map(|slice| (slice.start, slice)).collect();
        let messages = |track: &Vec<Slice>| {
            track.iter().map(|slice| slice.message().unwrap().index()).collect::<Vec<_>>()
        };
        let tracks = pack(spans, |_, _| None);
        assert_eq!(tracks.iter().map(messages).collect::<Vec<_>>(), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn time_that_several_spans_cover_counts_once() {
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
