//! Names the time in which a thread of the CPU computes no message: from the stages, and from the
//! messages that its next message needs.

use super::slices::{Cause, Slice, SliceKind, Work};
use crate::propagation::{
    Activity, ActivityTiming, CompiledNetwork, Dependencies, MessageId, MessageTrace, Phase, Stage,
    StageTiming,
};

/// A part of a propagation. The parts follow one another without a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    kind: PartKind,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PartKind {
    /// One worker does this work while the others wait.
    Work(Work),
    /// Messages are passed.
    Messages(Phase),
}

/// What is needed to name the gaps of all workers.
pub struct Gaps<'a> {
    dependencies: &'a Dependencies,
    parts: Vec<Part>,
    /// By message: when it ended, in nanoseconds; `None` if it was not computed.
    ends: Vec<Option<f64>>,
    /// The worker that does the work at the root.
    root_worker: u32,
}

impl<'a> Gaps<'a> {
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
        let is_root = |timing: &&ActivityTiming| timing.activity == Activity::Root;
        let recorded = trace.activities.iter().find(is_root).map(|timing| timing.worker);
        let root_worker = recorded.or(first.map(|timing| timing.worker)).unwrap_or(0);
        Self { dependencies, parts: parts(trace, root), ends, root_worker }
    }

    /// `busy`, the stretches in which `worker` does something, with a stretch for each gap between
    /// them. `busy` is in order of its starts, and its stretches may overlap.
    #[must_use]
    pub fn fill(&self, worker: u32, busy: &[Slice]) -> Vec<Slice> {
        let mut filled = Vec::new();
        let total = self.parts.last().map_or(0.0, |part| part.end);
        let mut free_from = 0.0;
        let last = Slice::work(Work::After, total, total);
        for next in busy.iter().chain([&last]) {
            if next.start > free_from {
                self.name_gap(worker, (free_from, next.start), next, &mut filled);
            }
            free_from = next.end.max(free_from);
        }
        filled
    }

    /// Adds the stretches of `gap`, which ends when `next` begins.
    fn name_gap(&self, worker: u32, gap: (f64, f64), next: &Slice, into: &mut Vec<Slice>) {
        for part in &self.parts {
            let (from, to) = (gap.0.max(part.start), gap.1.min(part.end));
            if from >= to {
                continue;
            }
            match part.kind {
                PartKind::Work(work) => {
                    let doer = if work == Work::AtRoot { self.root_worker } else { 0 };
                    into.push(if worker == doer {
                        Slice::work(work, from, to)
                    } else {
                        Slice::wait(Cause::Work(work), from, to)
                    });
                }
                PartKind::Messages(phase) => self.name_wait(phase, (from, to), next, into),
            }
        }
    }

    /// Adds the stretches of a wait between messages of `phase`.
    fn name_wait(&self, phase: Phase, (from, to): (f64, f64), next: &Slice, into: &mut Vec<Slice>) {
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
            into.push(Slice::wait(Cause::TakeUp, ready, to));
        }
    }
}

/// The parts of the propagation. `root` is the end of the last collect message and the start of the
/// first distribute message, in nanoseconds.
fn parts(trace: &MessageTrace, root: Option<(f64, f64)>) -> Vec<Part> {
    let nanoseconds = |stage: &StageTiming| {
        (stage.stage, stage.start.as_nanos() as f64, stage.end.as_nanos() as f64)
    };
    let mut stages: Vec<(Stage, f64, f64)> = trace.stages.iter().map(nanoseconds).collect();
    stages.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut parts: Vec<Part> = Vec::new();
    let mut until = 0.0;
    let mut add = |kind: PartKind, end: f64| {
        if end > until {
            parts.push(Part { kind, start: until, end });
            until = end;
        }
    };
    for (index, (stage, start, end)) in stages.iter().copied().enumerate() {
        let before = if index == 0 { Work::Before } else { Work::Between };
        let with_root = |phase| (PartKind::Messages(phase), root.filter(|(from, to)| from < to));
        match stage {
            Stage::Collect => {
                add(PartKind::Work(before), start);
                let (kind, root) = with_root(Phase::Collect);
                add(kind, root.map_or(end, |(from, _)| from.min(end)));
            }
            Stage::Distribute => {
                let (kind, root) = with_root(Phase::Distribute);
                match root {
                    Some((_, to)) => add(PartKind::Work(Work::AtRoot), to.min(end)),
                    None => add(PartKind::Work(before), start),
                }
                add(kind, end);
            }
            Stage::Initialise | Stage::Read => {
                add(PartKind::Work(before), start);
                add(PartKind::Work(Work::Stage(stage)), end);
            }
        }
    }
    add(PartKind::Work(Work::After), trace.elapsed.as_nanos() as f64);
    parts
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

    /// The gaps of both threads.
    fn filled() -> (CompiledNetwork, MessageTrace, [Vec<Slice>; 2]) {
        let model = model("asia");
        let compiled = (**model.compiled().unwrap()).clone();
        let trace = trace(&compiled);
        let dependencies = Dependencies::new(compiled.tree(), compiled.plan());
        let gaps = Gaps::new(&trace, &compiled, &dependencies);
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
        let filled = [0, 1].map(|worker| gaps.fill(worker, &busy(worker)));
        (compiled, trace, filled)
    }

    #[test]
    fn the_gaps_and_the_messages_cover_the_whole_propagation() {
        let (_, trace, filled) = filled();
        for (worker, gaps) in filled.iter().enumerate() {
            let own = trace.messages.iter().filter(|timing| timing.worker == worker as u32);
            let busy: f64 = own.map(|timing| timing.duration.as_nanos() as f64).sum();
            let idle: f64 = gaps.iter().map(Slice::length).sum();
            assert_eq!(busy + idle, trace.elapsed.as_nanos() as f64, "thread {worker}: {gaps:?}");
        }
    }

    #[test]
    fn the_first_thread_does_the_stages_and_the_work_at_the_root() {
        let (_, trace, [first, second]) = filled();
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
    fn a_thread_waits_for_the_message_that_its_next_message_needs() {
        let (compiled, trace, _) = filled();
        let dependencies = Dependencies::new(compiled.tree(), compiled.plan());
        let gaps = Gaps::new(&trace, &compiled, &dependencies);
        let end = |id: MessageId| gaps.ends[id.index()].unwrap();
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
        let named = gaps.fill(1, &[next]);
        let before: Vec<&Slice> = named.iter().filter(|gap| gap.end <= next.start).collect();
        let [.., waiting, taking] = before[..] else { panic!("{before:?}") };
        assert_eq!(waiting.kind, SliceKind::Wait(Cause::Message(input)));
        assert_eq!(*taking, Slice::wait(Cause::TakeUp, ready, ready + 5.0));
        assert_eq!(waiting.end, ready);
        let after = named.last().unwrap();
        assert_eq!(after.kind, SliceKind::Wait(Cause::Work(Work::After)));
    }
}
