//! The open network with its evidence, tree and results.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::app::state::case::Case;
use crate::app::state::kept_run::KeptRun;
use crate::app::state::long_case_file::LongCaseFile;
use crate::app::state::recordings::RecordedRunRef;
use crate::app::state::run_kind::RunKind;
use crate::engine::ImpossibleEvidence;
use crate::format::NetworkSource;
use crate::format::ReadNetwork;
use crate::network::{Evidence, Network};
use crate::propagation::{CompiledNetwork, MessageId, MessageTiming, MessageTrace, Watch};
use crate::session::{EngineChoice, Propagation, RunTimes};

/// A trace that slow motion plays.
#[derive(Clone, Debug)]
pub struct PlayedTrace<'a> {
    /// The engine and the machine.
    pub title: String,
    /// The trace.
    pub trace: &'a MessageTrace,
    /// How the run was computed.
    pub kind: RunKind,
    /// The recorded run; `None` for this machine's newest run.
    pub recorded: Option<RecordedRunRef>,
}

/// The open network with its evidence, tree and results.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where the network was read from.
    pub source: NetworkSource,
    /// Unique among all networks opened in this run; newer networks have larger numbers.
    pub serial: u64,
    /// The engine of the last request for this document.
    pub requested_engine: EngineChoice,
    /// The network and the warnings of its reader.
    pub read: Arc<ReadNetwork>,
    /// The compiled network. `None` until the network has been compiled.
    pub compiled: Option<Arc<CompiledNetwork>>,
    /// The evidence.
    pub evidence: Evidence,
    /// The named cases of this network, in the order of the list on screen.
    pub cases: Vec<Case>,
    /// The file of cases that is open separately from the list: its cases are still being found, or
    /// are too many for the list.
    pub long_case_file: Option<LongCaseFile>,
    /// The propagation without evidence.
    pub prior: Option<Arc<Propagation>>,
    /// The newest propagation, which may be [stale](Self::is_stale).
    pub result: Option<Arc<Propagation>>,
    /// The recorded runs that have a trace and whose messages have the same sizes as the messages
    /// of this junction tree. They are taken to be runs on this tree.
    pub recorded: Vec<RecordedRunRef>,
    /// The recorded run that is shown instead of this machine's propagation, if the user chose one.
    pub shown: Option<RecordedRunRef>,
    /// The recorded run that slow motion plays next to the one that is [shown](Self::shown), in
    /// place of this machine's newest run. Each of the two then has a time scale of its own.
    pub second_shown: Option<RecordedRunRef>,
    /// If there is a [second run](Self::second_shown): what was [shown](Self::shown) before.
    pub shown_before: Option<RecordedRunRef>,
    /// The run that was kept to be compared with others.
    pub kept: Option<Arc<KeptRun>>,
    /// The watch of the running propagation.
    pub running: Option<Arc<Watch>>,
    /// The progress of the running propagation at the start of this frame.
    pub snapshot: Option<RunningSnapshot>,
    /// Why the evidence is impossible, if it is.
    pub impossible: Option<ImpossibleEvidence>,
    /// Maximum memory that the engine uses, in bytes. `None` until the engine has loaded the
    /// network.
    pub engine_bytes: Option<u64>,
    /// The engine used in place of the [requested](Self::requested_engine) one, and why the
    /// requested one failed. `None` while the requested engine is in use.
    pub fallback: Option<(EngineChoice, String)>,
    /// The launch overhead of one propagation, if the engine launches kernels.
    pub launch_overhead: Option<Duration>,
    /// Time of one kernel launch on this machine, if an engine that launches kernels was loaded.
    pub launch_time: Option<Duration>,
}

/// The progress of a running propagation, read once per frame so that all panes agree.
#[derive(Clone, Debug)]
pub struct RunningSnapshot {
    /// The messages and stages that have ended.
    pub trace: MessageTrace,
    /// The message that is being computed: of several, only the one that began last. Empty if there
    /// is none.
    pub active: Vec<MessageId>,
}

impl RunningSnapshot {
    fn of(watch: &Watch) -> Self {
        Self { trace: watch.trace(), active: watch.active().into_iter().collect() }
    }
}

impl Document {
    /// A document that was just opened, without a tree and without results.
    #[must_use]
    pub fn new(
        source: NetworkSource,
        serial: u64,
        engine: EngineChoice,
        read: Arc<ReadNetwork>,
        evidence: Evidence,
    ) -> Self {
        Self {
            source,
            serial,
            requested_engine: engine,
            read,
            compiled: None,
            evidence,
            cases: Vec::new(),
            long_case_file: None,
            prior: None,
            result: None,
            recorded: Vec::new(),
            shown: None,
            second_shown: None,
            shown_before: None,
            kept: None,
            running: None,
            snapshot: None,
            impossible: None,
            engine_bytes: None,
            fallback: None,
            launch_overhead: None,
            launch_time: None,
        }
    }

    /// This document without its tree and its results, which the session can compute again. It
    /// keeps what the user made: the evidence, the cases with their answers, and the kept run. It
    /// keeps the file of cases only if all its cases were found, because an unfinished search for
    /// cases is lost.
    #[must_use]
    pub fn without_results(&self) -> Self {
        let (source, read) = (self.source.clone(), Arc::clone(&self.read));
        let evidence = self.evidence.clone();
        Self {
            cases: self.cases.clone(),
            long_case_file: self.long_case_file.clone().filter(|file| file.index.is_some()),
            kept: self.kept.clone(),
            ..Self::new(source, self.serial, self.requested_engine, read, evidence)
        }
    }

    /// Takes the snapshot of the running propagation for this frame.
    pub fn read_running(&mut self) {
        self.snapshot = self.running.as_deref().map(RunningSnapshot::of);
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.read.network
    }

    /// The name of the sample, or the name of the network's file without its extension.
    #[must_use]
    pub fn title(&self) -> String {
        self.read.origin.title()
    }

    /// The listed case with this number.
    #[must_use]
    pub fn case(&self, number: u64) -> Option<&Case> {
        self.cases.iter().find(|case| case.number == number)
    }

    /// Whether the posteriors are missing, were computed from other evidence, or were computed by
    /// an engine other than the one [in use](Self::engine).
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let engine = self.engine();
        self.result
            .as_ref()
            .is_none_or(|result| result.evidence != self.evidence || result.engine != engine)
    }

    /// The engine in use: the requested one, or its fallback.
    #[must_use]
    pub fn engine(&self) -> EngineChoice {
        self.fallback.as_ref().map_or(self.requested_engine, |(engine, _)| *engine)
    }

    /// Whether `propagation` ran on the current tree, so that its message ids refer to the current
    /// plan.
    #[must_use]
    pub fn is_on_current_tree(&self, propagation: &Propagation) -> bool {
        self.compiled.as_ref().is_some_and(|tree| Arc::ptr_eq(tree, &propagation.compiled))
    }

    /// The engine of this machine's newest trace. While a propagation runs, and before the first
    /// one, this is the engine [in use](Self::engine). Otherwise, it is the engine of the newest
    /// propagation.
    #[must_use]
    pub fn traced_engine(&self) -> EngineChoice {
        match (&self.running, &self.result) {
            (None, Some(result)) => result.engine,
            _ => self.engine(),
        }
    }

    /// The trace to draw: the first of these that exists.
    ///
    /// 1. The trace of the recording that is shown.
    /// 2. The trace of the running propagation at the start of this frame.
    /// 3. The trace of the newest propagation, if that propagation ran on the current tree.
    #[must_use]
    pub fn trace(&self) -> Option<&MessageTrace> {
        if let Some(trace) = self.shown.and_then(|shown| shown.trace()) {
            return Some(trace);
        }
        match (&self.running, &self.result) {
            (Some(_), _) => self.snapshot.as_ref().map(|snapshot| &snapshot.trace),
            (None, Some(result)) if self.is_on_current_tree(result) => Some(&result.trace),
            _ => None,
        }
    }

    /// What computed the posteriors on screen, such as `cpu f64, live`. Posteriors are never
    /// recorded.
    #[must_use]
    pub fn posterior_source(&self) -> String {
        let engine = self.result.as_ref().map_or(self.engine(), |result| result.engine);
        format!("{} {}, live", engine.engine.name(), engine.precision)
    }

    /// What measured the times of messages on screen, such as `gpu f32, recorded` or
    /// `cpu f64, live`.
    #[must_use]
    pub fn time_source(&self) -> String {
        match self.shown {
            Some(recorded) => format!("{}, recorded", recorded.engine()),
            None => {
                let engine = self.traced_engine();
                format!("{} {}, live", engine.engine.name(), engine.precision)
            }
        }
    }

    /// How long the propagation whose trace is [drawn](Self::trace) takes without timing its
    /// messages, if this was measured.
    #[must_use]
    pub fn untraced(&self) -> Option<Duration> {
        match (&self.shown, &self.running, &self.result) {
            (Some(recorded), ..) => {
                Some(Duration::from_secs_f64(recorded.run.propagate_us.median / 1e6))
            }
            (None, None, Some(result)) if self.is_on_current_tree(result) => result.untraced,
            _ => None,
        }
    }

    /// The engine and the tree of the run whose trace is [drawn](Self::trace), such as
    /// `cpu f64, min-fill`.
    #[must_use]
    pub fn run_title(&self) -> String {
        let triangulation = self.compiled.as_ref().and_then(|compiled| compiled.triangulation());
        let tree = triangulation.map_or("order found by a search", |method| method.name());
        match self.shown {
            Some(recorded) => format!("{}, {}, {tree}", recorded.engine(), recorded.credit()),
            None => format!("{}, {tree}", self.traced_engine().title()),
        }
    }

    /// The minimum, median and maximum time of the runs, if the propagation whose trace is
    /// [drawn](Self::trace) is the median of several on this machine.
    #[must_use]
    pub fn run_times(&self) -> Option<RunTimes> {
        let result = self.result.as_ref().filter(|_| self.shown.is_none())?;
        result.times.filter(|_| self.running.is_none() && self.is_on_current_tree(result))
    }

    /// The first of the [traces to compare](Self::traces_to_compare). The graphs show this one in
    /// slow motion.
    #[must_use]
    pub fn finished_trace(&self) -> Option<&MessageTrace> {
        self.traces_to_compare().first().map(|played| played.trace)
    }

    /// The traces that slow motion plays: up to two traces of finished propagations that fit the
    /// current tree.
    ///
    /// * If [two recorded runs](Self::second_shown) are shown: their traces, the longer one first.
    /// * If one recorded run is shown: its trace, and then this machine's newest trace.
    /// * Otherwise: this machine's newest trace, and then the trace of a recorded run on a GPU.
    #[must_use]
    pub fn traces_to_compare(&self) -> Vec<PlayedTrace<'_>> {
        let result = self.result.as_ref().filter(|result| self.is_on_current_tree(result));
        let on_this_machine =
            result.filter(|result| !result.trace.messages.is_empty()).map(|result| {
                let EngineChoice { engine, precision, .. } = result.engine;
                PlayedTrace {
                    title: format!("{} {precision}, this machine", engine.name()),
                    trace: &result.trace,
                    kind: RunKind::on_this_machine(self),
                    recorded: None,
                }
            });
        let played = |recorded: &RecordedRunRef| {
            recorded.trace().map(|trace| PlayedTrace {
                title: format!("{}, {}", recorded.engine(), recorded.credit()),
                trace,
                kind: RunKind::of_recorded(*recorded),
                recorded: Some(*recorded),
            })
        };
        if let Some((shown, second)) = self.shown.as_ref().zip(self.second_shown.as_ref()) {
            let mut both: Vec<_> = [shown, second].into_iter().filter_map(played).collect();
            both.sort_by_key(|played| std::cmp::Reverse(played.trace.elapsed));
            return both;
        }
        let recorded = match &self.shown {
            Some(shown) => played(shown),
            None => self.recorded.iter().find(|recorded| recorded.on_gpu()).and_then(played),
        };
        if self.shown.is_some() {
            recorded.into_iter().chain(on_this_machine).collect()
        } else {
            on_this_machine.into_iter().chain(recorded).collect()
        }
    }

    /// Two of the [recorded](Self::recorded) runs: the first run of engine `gpu-paper`, and the
    /// fastest run of another engine on a GPU. `None` unless there are both.
    #[must_use]
    pub fn recorded_gpu_runs(&self) -> Option<[RecordedRunRef; 2]> {
        let on_gpu = || self.recorded.iter().filter(|recorded| recorded.on_gpu());
        let time = |recorded: &&RecordedRunRef| recorded.run.propagate_us.median;
        let paper = on_gpu().find(|recorded| recorded.run.paper.is_some())?;
        let others = on_gpu().filter(|recorded| recorded.run.paper.is_none());
        let fastest = others.min_by(|one, other| time(one).total_cmp(&time(other)))?;
        Some([*paper, *fastest])
    }

    /// The factor by which slow motion stretches the times of `trace`: 1, unless each trace has a
    /// time scale of its own and `trace` is not the longest.
    #[must_use]
    pub fn stretch(&self, trace: &MessageTrace) -> f64 {
        if self.shown.is_none() || self.second_shown.is_none() {
            return 1.0;
        }
        self.traced_nanoseconds() / (trace.elapsed.as_nanos() as f64).max(1.0)
    }

    /// The time around `now` in which none of the [traces to compare](Self::traces_to_compare) has
    /// a message, in nanoseconds since the start of the propagation. Empty if a message is being
    /// computed `now`.
    #[must_use]
    pub fn time_without_messages(&self, now: f64) -> Range<f64> {
        let mut gap = 0.0..self.traced_nanoseconds();
        for PlayedTrace { trace, .. } in self.traces_to_compare() {
            let stretch = self.stretch(trace);
            for timing in &trace.messages {
                let start = stretch * timing.start.as_nanos() as f64;
                let end = start + stretch * timing.duration.as_nanos() as f64;
                if start <= now && now < end {
                    return now..now;
                }
                if end <= now {
                    gap.start = gap.start.max(end);
                } else {
                    gap.end = gap.end.min(start);
                }
            }
        }
        gap
    }

    /// The total time in which at least one of the [traces to compare](Self::traces_to_compare) has
    /// a message, in nanoseconds.
    #[must_use]
    pub fn time_with_messages(&self) -> f64 {
        let traces = self.traces_to_compare();
        let span = |trace: &MessageTrace| {
            let stretch = self.stretch(trace);
            let span = move |timing: &MessageTiming| {
                let end = timing.start + timing.duration;
                (timing.start.mul_f64(stretch), end.mul_f64(stretch))
            };
            trace.messages.iter().map(span).collect::<Vec<_>>()
        };
        let mut spans: Vec<(Duration, Duration)> =
            traces.iter().flat_map(|played| span(played.trace)).collect();
        spans.sort_unstable();
        let (mut busy, mut covered) = (Duration::ZERO, Duration::ZERO);
        for (start, end) in spans {
            busy += end.saturating_sub(start.max(covered));
            covered = covered.max(end);
        }
        busy.as_nanos() as f64
    }

    /// Duration of the longest of the [traces to compare](Self::traces_to_compare), in nanoseconds;
    /// zero if there are none.
    #[must_use]
    pub fn traced_nanoseconds(&self) -> f64 {
        let traces = self.traces_to_compare();
        traces.iter().map(|played| played.trace.elapsed.as_nanos() as f64).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model;
    use crate::cancel::CancelToken;
    use crate::engine::default_engine;

    #[test]
    fn while_a_fallback_propagates_the_trace_is_of_the_fallback() {
        let mut document = model("asia").document.expect("an open network");
        let requested = document.requested_engine;
        let fallback = EngineChoice { engine: default_engine(), ..requested };
        assert_ne!(fallback, requested);
        assert_eq!(document.traced_engine(), requested);
        document.fallback = Some((fallback, "the device failed".to_owned()));
        assert_eq!(
            document.traced_engine(),
            requested,
            "the newest result is of the requested engine"
        );
        document.running = Some(Arc::new(Watch::untimed(CancelToken::new())));
        assert_eq!(document.traced_engine(), fallback);
        (document.running, document.result) = (None, None);
        assert_eq!(document.traced_engine(), fallback);
    }
}
