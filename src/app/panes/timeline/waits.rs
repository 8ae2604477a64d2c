//! Names the gaps in the row of a thread of the CPU, in which the thread computes no message. The
//! name comes from the stages, or from the messages that the thread's next message needs.

use super::slices::{Cause, Slice, SliceKind, Work};
use crate::propagation::{
    Activity, ActivityTiming, CompiledNetwork, Dependencies, MessageId, MessageTrace, Phase, Stage,
    StageTiming,
};

/// A section of a propagation. Times are in nanoseconds since the start of the propagation. The
/// sections follow one another without a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Section {
    kind: SectionKind,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SectionKind {
    /// One worker does this work while the others wait.
    Work(Work),
    /// Messages are passed.
    Messages(Phase),
}

/// Gives the gaps between the slices of a worker their names.
pub struct GapNamer<'a> {
    dependencies: &'a Dependencies,
    sections: Vec<Section>,
    /// By message: when it ended, in nanoseconds; `None` if it was not computed.
    ends: Vec<Option<f64>>,
    /// The worker that initialises the tables and reads the posteriors.
    stage_worker: u32,
    /// The worker that does the work at the root.
    root_worker: u32,
}

impl<'a> GapNamer<'a> {
    /// Prepares naming the gaps of `trace`.
    #[must_use]
    pub fn new(
        trace: &MessageTrace,
        compiled: &CompiledNetwork,
        dependencies: &'a Dependencies,
    ) -> Self {
        let plan = compiled.plan();
        let mut ends = vec![None; plan.messages().len()];
        for timing in &trace.messages {
            if let Some(end) = ends.get_mut(timing.message.index()) {
                *end = Some((timing.start + timing.duration).as_nanos() as f64);
            }
        }
        let phase = |id: MessageId| plan.messages().get(id.index()).map(|message| message.phase);
        let of = |wanted| trace.messages.iter().filter(move |t| phase(t.message) == Some(wanted));
        let first = of(Phase::Distribute).min_by_key(|timing| timing.start);
        let collected = of(Phase::Collect).map(|timing| timing.start + timing.duration).max();
        let root = collected.zip(first.map(|timing| timing.start));
        let root = root.map(|(from, to)| (from.as_nanos() as f64, to.as_nanos() as f64));
        let worker_of = |activity: Activity| {
            let is_wanted = |timing: &&ActivityTiming| timing.activity == activity;
            trace.activities.iter().find(is_wanted).map(|timing| timing.worker)
        };
        // Only this worker records its start.
        let stage_worker = worker_of(Activity::Start).unwrap_or(0);
        let first = first.map(|timing| timing.worker);
        let root_worker = worker_of(Activity::Root).or(first).unwrap_or(stage_worker);
        Self { dependencies, sections: sections(trace, root), ends, stage_worker, root_worker }
    }

    /// The slices that fill the gaps between `busy`, the slices in which `worker` does something,
    /// from the start to the end of the propagation. `busy` is sorted by start, and its slices may
    /// overlap.
    #[must_use]
    pub fn gaps(&self, worker: u32, busy: &[Slice]) -> Vec<Slice> {
        let mut gaps = Vec::new();
        let total = self.sections.last().map_or(0.0, |section| section.end);
        let mut free_from = 0.0;
        let last = Slice::work(Work::After, total, total);
        for next in busy.iter().chain([&last]) {
            if next.start > free_from {
                self.fill_gap(worker, (free_from, next.start), next, &mut gaps);
            }
            free_from = next.end.max(free_from);
        }
        gaps
    }

    /// Adds the slices of `gap`, which ends when `next` begins.
    fn fill_gap(&self, worker: u32, gap: (f64, f64), next: &Slice, into: &mut Vec<Slice>) {
        for section in &self.sections {
            let (from, to) = (gap.0.max(section.start), gap.1.min(section.end));
            if from >= to {
                continue;
            }
            match section.kind {
                SectionKind::Work(work) => {
                    let busy_worker =
                        if work == Work::AtRoot { self.root_worker } else { self.stage_worker };
                    into.push(if worker == busy_worker {
                        Slice::work(work, from, to)
                    } else {
                        Slice::wait(Cause::Work(work), from, to)
                    });
                }
                SectionKind::Messages(phase) => self.fill_wait(phase, (from, to), next, into),
            }
        }
    }

    /// Adds the slices for the time from `from` to `to`, in which the worker computes nothing while
    /// messages of `phase` are passed. `next` is what the worker does next.
    fn fill_wait(&self, phase: Phase, (from, to): (f64, f64), next: &Slice, into: &mut Vec<Slice>) {
        let needed = match next.kind {
            SliceKind::Message(message, of) if of == phase => message,
            SliceKind::Work(Work::Help(message)) => message,
            _ => return into.push(Slice::wait(Cause::NoMore(phase), from, to)),
        };
        let inputs = self.dependencies.inputs(needed).iter();
        let ended = inputs.filter_map(|&input| Some((self.ends[input.index()]?, input)));
        let last = ended.max_by(|a, b| a.0.total_cmp(&b.0));
        let mut ready = from;
        if let Some((end, input)) = last.filter(|(end, _)| *end > from) {
            ready = end.min(to);
            into.push(Slice::wait(Cause::Message(input), from, ready));
        }
        if ready < to {
            into.push(Slice::wait(Cause::PickUp, ready, to));
        }
    }
}

/// The sections of the propagation. `root` is the end of the last collect message and the start of
/// the first distribute message, in nanoseconds.
fn sections(trace: &MessageTrace, root: Option<(f64, f64)>) -> Vec<Section> {
    let nanoseconds = |stage: &StageTiming| {
        (stage.stage, stage.start.as_nanos() as f64, stage.end.as_nanos() as f64)
    };
    let mut stages: Vec<(Stage, f64, f64)> = trace.stages.iter().map(nanoseconds).collect();
    stages.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut sections: Vec<Section> = Vec::new();
    let mut until = 0.0;
    let mut add = |kind: SectionKind, end: f64| {
        if end > until {
            sections.push(Section { kind, start: until, end });
            until = end;
        }
    };
    for (index, (stage, start, end)) in stages.iter().copied().enumerate() {
        let before = if index == 0 { Work::Before } else { Work::Between };
        let with_root = |phase| (SectionKind::Messages(phase), root.filter(|(from, to)| from < to));
        match stage {
            Stage::Collect => {
                add(SectionKind::Work(before), start);
                let (kind, root) = with_root(Phase::Collect);
                add(kind, root.map_or(end, |(from, _)| from.min(end)));
            }
            Stage::Distribute => {
                let (kind, root) = with_root(Phase::Distribute);
                match root {
                    Some((_, to)) => add(SectionKind::Work(Work::AtRoot), to.min(end)),
                    None => add(SectionKind::Work(before), start),
                }
                add(kind, end);
            }
            Stage::Initialise | Stage::Read => {
                add(SectionKind::Work(before), start);
                add(SectionKind::Work(Work::Stage(stage)), end);
            }
        }
    }
    add(SectionKind::Work(Work::After), trace.elapsed.as_nanos() as f64);
    sections
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::testing::model;
    use crate::propagation::MessageTiming;

    fn at(nanoseconds: u64) -> Duration {
        Duration::from_nanos(nanoseconds)
    }

    /// A trace of Asia on two threads: thread 0 computes all messages but the last collect message
    /// and the last distribute message. Each message takes 10 ns. After collect, the work at the
    /// root takes 100 ns.
    fn trace(compiled: &CompiledNetwork) -> MessageTrace {
        let count = compiled.plan().messages().len() as u64;
        let half = count / 2;
        let message = |id: u64| MessageTiming {
            message: MessageId::new(id as usize),
            worker: u32::from(id + 1 == half || id + 1 == count),
            wait: Duration::ZERO,
            start: at(20 + 10 * id + if id >= half { 100 } else { 0 }),
            duration: at(10),
            shared_with: 0,
        };
        let stage = |stage, from, to| StageTiming { stage, start: at(from), end: at(to) };
        let collected = 20 + 10 * half;
        let end = 120 + 10 * count;
        MessageTrace {
            messages: (0..count).map(message).collect(),
            stages: vec![
                stage(Stage::Initialise, 5, 20),
                stage(Stage::Collect, 20, collected),
                stage(Stage::Distribute, collected, end),
                stage(Stage::Read, end, end + 30),
            ],
            elapsed: at(end + 40),
            ..MessageTrace::default()
        }
    }

    /// The compiled network, the trace, and the gaps of both threads.
    fn gaps_of_both() -> (CompiledNetwork, MessageTrace, [Vec<Slice>; 2]) {
        let compiled = (**model("asia").compiled().unwrap()).clone();
        let trace = trace(&compiled);
        let gaps = gaps_in(&trace, &compiled);
        (compiled, trace, gaps)
    }

    /// The gaps of both threads in `trace`.
    fn gaps_in(trace: &MessageTrace, compiled: &CompiledNetwork) -> [Vec<Slice>; 2] {
        let dependencies = Dependencies::new(compiled.tree(), compiled.plan());
        let namer = GapNamer::new(trace, compiled, &dependencies);
        let busy = |worker| {
            let own = trace.messages.iter().filter(|timing| timing.worker == worker);
            own.map(|timing| Slice {
                kind: SliceKind::Message(timing.message, compiled.plan()[timing.message].phase),
                start: timing.start.as_nanos() as f64,
                end: (timing.start + timing.duration).as_nanos() as f64,
                shared_with: 0,
            })
            .collect::<Vec<_>>()
        };
        [0, 1].map(|worker| namer.gaps(worker, &busy(worker)))
    }

    #[test]
    fn the_gaps_and_the_messages_cover_the_whole_propagation() {
        let (_, trace, gaps_of_both) = gaps_of_both();
        for (worker, gaps) in gaps_of_both.iter().enumerate() {
            let own = trace.messages.iter().filter(|timing| timing.worker == worker as u32);
            let busy: f64 = own.map(|timing| timing.duration.as_nanos() as f64).sum();
            let idle: f64 = gaps.iter().map(Slice::length).sum();
            assert_eq!(busy + idle, trace.elapsed.as_nanos() as f64, "thread {worker}: {gaps:?}");
        }
    }

    #[test]
    fn the_first_thread_does_the_stages_and_the_work_at_the_root() {
        let (_, trace, [first, second]) = gaps_of_both();
        let works: Vec<SliceKind> = first.iter().map(|slice| slice.kind).collect();
        for work in [
            Work::Before,
            Work::Stage(Stage::Initialise),
            Work::AtRoot,
            Work::Stage(Stage::Read),
            Work::After,
        ] {
            assert!(works.contains(&SliceKind::Work(work)), "{work:?} in {works:?}");
            let waited = SliceKind::Wait(Cause::Work(work));
            assert!(second.iter().any(|slice| slice.kind == waited), "{work:?} in {second:?}");
        }
        let root = first.iter().find(|slice| slice.kind == SliceKind::Work(Work::AtRoot)).unwrap();
        let half = trace.messages.len() as f64 / 2.0;
        assert_eq!((root.start, root.end), (20.0 + 10.0 * half, 120.0 + 10.0 * half));
    }

    #[test]
    fn the_thread_that_recorded_its_start_does_the_stages() {
        let (compiled, mut trace, _) = gaps_of_both();
        let (start, duration) = (at(2), at(2));
        trace.activities =
            vec![ActivityTiming { activity: Activity::Start, worker: 1, start, duration }];
        let [first, second] = gaps_in(&trace, &compiled);
        for stage in [Stage::Initialise, Stage::Read] {
            let work = Work::Stage(stage);
            let kinds = |gaps: &[Slice]| gaps.iter().map(|slice| slice.kind).collect::<Vec<_>>();
            assert!(kinds(&second).contains(&SliceKind::Work(work)), "{second:?}");
            assert!(kinds(&first).contains(&SliceKind::Wait(Cause::Work(work))), "{first:?}");
        }
    }

    #[test]
    fn a_thread_waits_for_the_message_that_its_next_message_needs() {
        let (compiled, trace, _) = gaps_of_both();
        let dependencies = Dependencies::new(compiled.tree(), compiled.plan());
        let namer = GapNamer::new(&trace, &compiled, &dependencies);
        let end = |id: MessageId| namer.ends[id.index()].unwrap();
        // A message away from the root whose sender is not the root.
        let plan = compiled.plan();
        let inner = |id: &MessageId| {
            let message = plan[*id];
            message.phase == Phase::Distribute && message.from != compiled.tree().root()
        };
        let needed = plan.ids().find(inner).unwrap();
        let &[input] = dependencies.inputs(needed) else { panic!("one input") };
        let ready = end(input);
        let kind = SliceKind::Message(needed, Phase::Distribute);
        let next = Slice { kind, start: ready + 5.0, end: ready + 15.0, shared_with: 0 };
        let gaps = namer.gaps(1, &[next]);
        let before: Vec<&Slice> = gaps.iter().filter(|gap| gap.end <= next.start).collect();
        let [.., waiting, pick_up] = before[..] else { panic!("{before:?}") };
        assert_eq!(waiting.kind, SliceKind::Wait(Cause::Message(input)));
        assert_eq!(*pick_up, Slice::wait(Cause::PickUp, ready, ready + 5.0));
        assert_eq!(waiting.end, ready);
        let after = gaps.last().unwrap();
        assert_eq!(after.kind, SliceKind::Wait(Cause::Work(Work::After)));
    }
}
