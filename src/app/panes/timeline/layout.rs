//! Everything about a run that does not change from frame to frame: its rows, where each message
//! is, and the critical path.

use fixedbitset::FixedBitSet;

use super::launches;
use super::rows::{self, Grouping, TimelineRow};
use super::slices::{Slice, SliceKind, Work};
use super::waits::GapNamer;
use crate::app::panes::common::DurationSummary;
use crate::app::state::run_kind::RunKind;
use crate::propagation::{
    CompiledNetwork, CriticalPath, Dependencies, MessageId, MessageTrace, Stage,
};

/// The ways to group the messages of a run of this kind; the first is the default.
#[must_use]
pub fn groupings(kind: RunKind) -> Vec<Grouping> {
    if !kind.on_gpu || kind.launch.is_some() {
        return vec![Grouping::ByWorker];
    }
    let by_multiprocessor = kind.multiprocessors.map(Grouping::ByMultiprocessor);
    by_multiprocessor.into_iter().chain([Grouping::Packed, Grouping::ByWorker]).collect()
}

/// How messages of a run of this kind are grouped where there is little room. Each thread has a
/// row; all launches share one row, and all executions another. The blocks of a GPU are too many
/// to have a row each.
#[must_use]
pub fn compact_grouping(kind: RunKind) -> Grouping {
    let groupings = groupings(kind);
    if groupings.contains(&Grouping::Packed) { Grouping::Packed } else { groupings[0] }
}

/// Where a message is in the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Index of the row.
    pub row: usize,
    /// Index of the track in the row.
    pub track: usize,
    /// The message with its times.
    pub slice: Slice,
}

/// A run as the timeline draws it.
#[derive(Debug)]
pub struct TimelineLayout {
    /// The rows, from top to bottom.
    pub rows: Vec<TimelineRow>,
    /// The row of stages: first the stages in order, then the stretches of time before, between and
    /// after them.
    pub stages: Vec<Slice>,
    /// Which messages each message needs.
    pub dependencies: Dependencies,
    /// The longest chain of dependent messages.
    pub critical_path: CriticalPath,
    /// The messages of the critical path.
    pub critical: FixedBitSet,
    /// Count, sum and median of the durations of the messages.
    pub durations: DurationSummary,
    /// Sum of the times in nanoseconds in which the kernels of messages are launched; zero unless a
    /// kernel is launched for each message.
    pub launched: f64,
    /// By message: where it is; `None` if it was not computed.
    places: Vec<Option<Place>>,
}

impl TimelineLayout {
    /// Lays out the run that `trace` records, with its messages in rows as `grouping` says.
    #[must_use]
    pub fn new(
        trace: &MessageTrace,
        compiled: &CompiledNetwork,
        kind: RunKind,
        grouping: Grouping,
    ) -> Self {
        let plan = compiled.plan();
        let dependencies = Dependencies::new(compiled.tree(), plan);
        let critical_path = dependencies.critical_path(trace);
        let critical = critical_path.messages.iter().map(|id| id.index()).collect();
        let rows = arranged(trace, compiled, &dependencies, kind, grouping);
        let mut stages = rows::stages(trace, kind.on_gpu);
        if kind.launch.is_some() {
            let distribute = stages.iter().find(|slice| is_stage(slice, Stage::Distribute));
            let last_message = distribute.map_or(f64::INFINITY, |slice| slice.end);
            launches::name_reading_of_times(&mut stages, last_message);
        }
        let mut places = vec![None; plan.messages().len()];
        for (row, line) in rows.iter().enumerate() {
            for (track, slices) in line.tracks.iter().enumerate() {
                for slice in slices {
                    if let Some(place) = slice.message().and_then(|id| places.get_mut(id.index())) {
                        *place = Some(Place { row, track, slice: *slice });
                    }
                }
            }
        }
        let durations = trace.messages.iter().map(|timing| timing.duration.as_nanos() as f64);
        let durations = DurationSummary::of(durations);
        let is_launch = |slice: &&Slice| matches!(slice.kind, SliceKind::Work(Work::LaunchOf(_)));
        let slices = rows.iter().flat_map(|row| &row.tracks).flatten();
        let launched = slices.filter(is_launch).map(Slice::length).sum();
        Self { rows, stages, dependencies, critical_path, critical, durations, launched, places }
    }

    /// Where `message` is in the rows; `None` if it was not computed.
    #[must_use]
    pub fn place(&self, message: MessageId) -> Option<Place> {
        self.places.get(message.index()).copied().flatten()
    }

    /// The places of all messages that were computed, in the order of the plan.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.places.iter().flatten().copied()
    }
}

/// Whether `slice` shows `stage`.
fn is_stage(slice: &Slice, stage: Stage) -> bool {
    *slice == Slice::work(Work::Stage(stage), slice.start, slice.end)
}

/// The rows in which `grouping` arranges the messages of `trace`.
fn arranged(
    trace: &MessageTrace,
    compiled: &CompiledNetwork,
    dependencies: &Dependencies,
    kind: RunKind,
    grouping: Grouping,
) -> Vec<TimelineRow> {
    let plan = compiled.plan();
    if grouping == Grouping::Packed {
        return rows::packed(trace, plan);
    }
    if let Some(launch) = kind.launch {
        return launches::rows(trace, plan, launch).into();
    }
    if !kind.on_gpu {
        return rows::threads(trace, plan, &GapNamer::new(trace, compiled, dependencies));
    }
    let mut ends = vec![None; plan.messages().len()];
    for timing in &trace.messages {
        if let Some(end) = ends.get_mut(timing.message.index()) {
            *end = Some(timing.start + timing.duration);
        }
    }
    // The input that was computed last.
    let needed = |message: MessageId| {
        let inputs = dependencies.inputs(message).iter().copied();
        inputs.max_by_key(|input| ends[input.index()])
    };
    let block = |block: u32| format!("block {block}");
    match grouping {
        Grouping::ByMultiprocessor(count) => {
            let group = |worker: u32| worker % count.max(1);
            rows::blocks(trace, plan, group, |number| format!("SM {number}"), needed)
        }
        Grouping::ByWorker | Grouping::Packed => {
            rows::blocks(trace, plan, |worker| worker, block, needed)
        }
    }
}
