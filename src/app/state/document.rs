//! The open network with its evidence, tree and results.

use std::sync::Arc;
use std::time::Duration;

use crate::app::state::case::Case;
use crate::app::state::recordings::Recorded;
use crate::engine::ImpossibleEvidence;
use crate::format::NetworkSource;
use crate::format::ReadNetwork;
use crate::network::{Evidence, Network};
use crate::propagation::{CompiledNetwork, MessageId, MessageTrace, Watch};
use crate::session::{EngineChoice, Propagation};

/// The open network with its evidence, tree and results.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it was read from.
    pub source: NetworkSource,
    /// Unique among all networks opened in this run; newer networks have larger numbers.
    pub serial: u64,
    /// The engine of the last request for this document.
    pub requested_engine: EngineChoice,
    /// The network and the warnings of its reader.
    pub read: Arc<ReadNetwork>,
    /// The compiled network, once there is one.
    pub compiled: Option<Arc<CompiledNetwork>>,
    /// The evidence.
    pub evidence: Evidence,
    /// The named cases of this network, in the order in which they were added.
    pub cases: Vec<Case>,
    /// The propagation without evidence.
    pub prior: Option<Arc<Propagation>>,
    /// The newest propagation, which may be [stale](Self::is_stale).
    pub result: Option<Arc<Propagation>>,
    /// The recorded runs with a trace whose messages have the sizes of this junction tree's
    /// messages.
    pub recorded: Vec<Recorded>,
    /// The recorded run that is shown instead of this machine's propagation.
    pub shown: Option<Recorded>,
    /// The running propagation.
    pub running: Option<Arc<Watch>>,
    /// Trace and active messages of the running propagation, as of the start of this frame.
    pub snapshot: Option<RunningSnapshot>,
    /// Why the evidence is impossible, if it is.
    pub impossible: Option<ImpossibleEvidence>,
    /// Memory that the engine uses, bytes.
    pub engine_bytes: Option<u64>,
    /// The engine in use if the [requested](Self::requested_engine) one failed, and why the
    /// requested one failed.
    pub stand_in: Option<(EngineChoice, String)>,
    /// Time of the launches and copies of one propagation with empty kernels, if the engine
    /// launches kernels.
    pub launch_overhead: Option<Duration>,
    /// Time of one kernel launch on this machine, if the engine launches kernels.
    pub launch: Option<Duration>,
}

/// A running propagation, read once a frame so that all panes agree.
#[derive(Clone, Debug)]
pub struct RunningSnapshot {
    /// The messages and stages so far.
    pub trace: MessageTrace,
    /// The messages that are being computed.
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
            prior: None,
            result: None,
            recorded: Vec::new(),
            shown: None,
            running: None,
            snapshot: None,
            impossible: None,
            engine_bytes: None,
            stand_in: None,
            launch_overhead: None,
            launch: None,
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

    /// The name of the network's file, or of the sample.
    #[must_use]
    pub fn title(&self) -> String {
        self.read.origin.title()
    }

    /// The case with this number.
    #[must_use]
    pub fn case(&self, number: u64) -> Option<&Case> {
        self.cases.iter().find(|case| case.number == number)
    }

    /// Whether the posteriors are missing, or were computed from other evidence or by another
    /// engine than is chosen now.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let engine = self.engine();
        self.result
            .as_ref()
            .is_none_or(|result| result.evidence != self.evidence || result.engine != engine)
    }

    /// The engine in use: the requested one, or the one that replaces it.
    #[must_use]
    pub fn engine(&self) -> EngineChoice {
        self.stand_in.as_ref().map_or(self.requested_engine, |(engine, _)| *engine)
    }

    /// Whether `propagation` ran on the present tree, so that its message ids refer to the present
    /// plan.
    #[must_use]
    pub fn is_of_this_tree(&self, propagation: &Propagation) -> bool {
        self.compiled.as_ref().is_some_and(|tree| Arc::ptr_eq(tree, &propagation.compiled))
    }

    /// The engine that computed this machine's newest messages, or is computing them.
    #[must_use]
    pub fn traced_engine(&self) -> EngineChoice {
        match (&self.running, &self.result) {
            (None, Some(result)) => result.engine,
            _ => self.requested_engine,
        }
    }

    /// The trace to draw. The first of these that exists: the recording that is shown; the running
    /// propagation as of the start of this frame; the newest propagation, if it ran on the present
    /// tree.
    #[must_use]
    pub fn trace(&self) -> Option<&MessageTrace> {
        if let Some(trace) = self.shown.and_then(|shown| shown.trace()) {
            return Some(trace);
        }
        match (&self.running, &self.result) {
            (Some(_), _) => self.snapshot.as_ref().map(|snapshot| &snapshot.trace),
            (None, Some(result)) if self.is_of_this_tree(result) => Some(&result.trace),
            _ => None,
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
            (None, None, Some(result)) if self.is_of_this_tree(result) => result.untraced,
            _ => None,
        }
    }

    /// The first of the [traces to compare](Self::traces_to_compare): the one that slow motion
    /// plays.
    #[must_use]
    pub fn finished_trace(&self) -> Option<&MessageTrace> {
        self.traces_to_compare().first().map(|(_, trace)| *trace)
    }

    /// Up to two traces of finished propagations on the present tree, each with a title. If a
    /// recording is shown, its trace comes first, followed by this machine's newest one. Otherwise
    /// this machine's newest trace comes first, followed by a recording made on a GPU.
    #[must_use]
    pub fn traces_to_compare(&self) -> Vec<(String, &MessageTrace)> {
        let result = self.result.as_ref().filter(|result| self.is_of_this_tree(result));
        let own = result.filter(|result| !result.trace.messages.is_empty()).map(|result| {
            let EngineChoice { engine, precision, .. } = result.engine;
            (format!("{} {precision}, this machine", engine.name()), &result.trace)
        });
        let named = |recorded: &Recorded| {
            let name = format!("{}, {}", recorded.engine(), recorded.credit());
            recorded.trace().map(|trace| (name, trace))
        };
        let recorded = match &self.shown {
            Some(shown) => named(shown),
            None => self.recorded.iter().find(|recorded| recorded.on_gpu()).and_then(named),
        };
        if self.shown.is_some() {
            recorded.into_iter().chain(own).collect()
        } else {
            own.into_iter().chain(recorded).collect()
        }
    }

    /// Duration of the longest of the [traces to compare](Self::traces_to_compare), nanoseconds;
    /// zero if there are none.
    #[must_use]
    pub fn traced_nanoseconds(&self) -> f64 {
        let traces = self.traces_to_compare();
        traces.iter().map(|(_, trace)| trace.elapsed.as_nanos() as f64).fold(0.0, f64::max)
    }
}
