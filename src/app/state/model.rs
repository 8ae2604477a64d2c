//! What the panes draw.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::app::state::cases::Case;
use crate::app::state::experiments::ExperimentRunner;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::recordings::Recorded;
use crate::app::state::stepping::Stepping;
use crate::engine::ImpossibleEvidence;
use crate::experiment::Recording;
use crate::format::NetworkSource;
use crate::format::ReadNetwork;
use crate::graph::Triangulation;
use crate::network::{Evidence, Network, VariableId};
use crate::propagation::{CompiledNetwork, MemoryLimit, MessageTrace, Watch};
use crate::session::{Answer, EngineChoice, Improvement, Propagation, Step};

/// A pane of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Pane {
    /// Variables with posteriors and evidence.
    Variables,
    /// Named evidence and its posteriors side by side.
    Cases,
    /// The junction tree as a picture.
    JunctionTree,
    /// The Bayesian network as a picture.
    Network,
    /// The selected thing in detail.
    Details,
    /// The cliques as a list.
    Cliques,
    /// Messages against time.
    Timeline,
    /// The messages as a list.
    Messages,
    /// How the selected message is computed.
    Inside,
    /// Histograms of table sizes.
    Histogram,
    /// Kernel overhead against compute time.
    Overhead,
    /// The paper's experiments.
    Experiments,
}

/// Dark, light, or as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ThemeChoice {
    /// As the system has it.
    #[default]
    System,
    /// Light on dark.
    Dark,
    /// Dark on light.
    Light,
}

/// The open network and all that is known of it.
#[derive(Clone, Debug)]
pub struct Document {
    /// Where it came from.
    pub source: NetworkSource,
    /// Which opening this is; grows with every network opened.
    pub serial: u64,
    /// The engine that the posteriors are wanted from.
    pub engine: EngineChoice,
    /// The network and what its reader had to say.
    pub read: Arc<ReadNetwork>,
    /// Its junction tree, once compiled.
    pub compiled: Option<Arc<CompiledNetwork>>,
    /// What the user knows.
    pub evidence: Evidence,
    /// What the user has kept of what was known, in order.
    pub cases: Vec<Case>,
    /// Posteriors without evidence.
    pub prior: Option<Arc<Propagation>>,
    /// The newest posteriors, which may be [stale](Self::is_stale).
    pub result: Option<Arc<Propagation>>,
    /// Recorded runs whose messages are those of the junction tree.
    pub recorded: Vec<Recorded>,
    /// The recorded run that is shown in place of what this machine computed.
    pub shown: Option<Recorded>,
    /// The propagation at work.
    pub running: Option<Arc<Watch>>,
    /// Why the evidence is impossible, if it is.
    pub impossible: Option<ImpossibleEvidence>,
    /// Bytes that the engine holds.
    pub engine_bytes: Option<u64>,
    /// What propagates in the place of [`engine`](Self::engine), and why that cannot.
    pub stand_in: Option<(EngineChoice, String)>,
    /// What the engine's launches and copies take with empty kernels, if it launches anything.
    pub launch_overhead: Option<Duration>,
    /// What one launch takes on this machine, if the engine launches anything.
    pub launch: Option<Duration>,
}

impl Document {
    /// The network.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.read.network
    }

    /// What the network is called: by its file or as a sample.
    #[must_use]
    pub fn title(&self) -> String {
        self.read.origin.title()
    }

    /// Whether the posteriors shown are not those of the evidence and the engine shown.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let engine = self.stand_in.as_ref().map_or(self.engine, |(engine, _)| *engine);
        self.result
            .as_ref()
            .is_none_or(|result| result.evidence != self.evidence || result.engine != engine)
    }

    /// Whether `propagation` ran on the tree that is shown: its messages are those of that plan.
    #[must_use]
    pub fn is_of_this_tree(&self, propagation: &Propagation) -> bool {
        self.compiled.as_ref().is_some_and(|tree| Arc::ptr_eq(tree, &propagation.compiled))
    }

    /// The engine that computed the newest messages of this machine, or is at it.
    #[must_use]
    pub fn traced_engine(&self) -> EngineChoice {
        match (&self.running, &self.result) {
            (None, Some(result)) => result.engine,
            _ => self.engine,
        }
    }

    /// The trace to draw: of the recording that is shown, or else of the propagation at work, or
    /// else of the newest.
    ///
    /// A running trace is read anew on every call.
    #[must_use]
    pub fn trace(&self) -> Option<Cow<'_, MessageTrace>> {
        if let Some(trace) = self.shown.and_then(|shown| shown.trace()) {
            return Some(Cow::Borrowed(trace));
        }
        match (&self.running, &self.result) {
            (Some(watch), _) => Some(Cow::Owned(watch.trace())),
            (None, Some(result)) if self.is_of_this_tree(result) => {
                Some(Cow::Borrowed(&result.trace))
            }
            _ => None,
        }
    }

    /// What the propagation of [that trace](Self::trace) takes when its messages are not timed, where
    /// that was measured.
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

    /// The trace of the recording that is shown, or else of the newest propagation, if it ran on
    /// the tree that is shown.
    #[must_use]
    pub fn finished_trace(&self) -> Option<&MessageTrace> {
        self.traces_to_compare().first().map(|(_, trace)| *trace)
    }

    /// That trace and one to compare it with, where there is one: a recording on a GPU, or of this
    /// machine where a recording is shown. Each with what it is a trace of.
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

    /// Nanoseconds of the longest of [these traces](Self::traces_to_compare); zero where there are none.
    #[must_use]
    pub fn traced_nanoseconds(&self) -> f64 {
        let traces = self.traces_to_compare();
        traces.iter().map(|(_, trace)| trace.elapsed.as_nanos() as f64).fold(0.0, f64::max)
    }
}

/// What launching took of a propagation without evidence on this machine's GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOverhead {
    /// What the network is called.
    pub network: String,
    /// The engine and what it was asked for, as of a [recorded run](Recorded::engine).
    pub engine: String,
    /// Its launches and copies with empty kernels, microseconds.
    pub overhead_us: f64,
    /// All of the propagation, microseconds.
    pub whole_us: f64,
}

/// Everything that a pane may look at.
#[derive(Clone, Debug)]
pub struct Model {
    /// The open network, if there is one.
    pub document: Option<Document>,
    /// The step at work, if there is one.
    pub working: Option<Step>,
    /// What went wrong last, until something goes right.
    pub failure: Option<String>,
    /// The engine that propagates.
    pub engine: EngineChoice,
    /// How networks are compiled.
    pub triangulation: Triangulation,
    /// Memory that engines may take; `None` is half of what is available.
    pub memory: Option<MemoryLimit>,
    /// Whether to propagate whenever evidence changes.
    pub auto_propagate: bool,
    /// Experiments.
    pub experiments: ExperimentRunner,
    /// What was recorded on other machines.
    pub recordings: &'static [Recording],
    /// What launching took of the propagations of this machine's GPU, the newest of each network and
    /// engine.
    pub overheads: Vec<MeasuredOverhead>,
    /// Whether a better junction tree is searched for whenever a network is open.
    pub keep_improving: bool,
    /// The search for a better junction tree of the open network, at work or over.
    pub improvement: Option<Arc<Improvement>>,
    /// Whether moral and fill edges are shown in the picture of the network.
    pub fill_edges: bool,
    /// The state of a variable that a lesson points at.
    pub pointed: Option<(VariableId, usize)>,
    /// The walk through the messages, while there is one.
    pub stepping: Option<Stepping>,
    /// The message with its numbers that came last, or why there are none.
    pub explained: Option<Answer>,
    /// What is selected.
    pub selection: Highlight,
    /// What the pointer was over in the last frame.
    pub hover: Highlight,
    /// Counts up when the pictures are to be fitted to their panes.
    pub fit_serial: u64,
}

impl Model {
    /// The junction tree, if there is one.
    #[must_use]
    pub fn compiled(&self) -> Option<&Arc<CompiledNetwork>> {
        self.document.as_ref()?.compiled.as_ref()
    }

    /// The selected item.
    #[must_use]
    pub fn selected(&self) -> Option<&Item> {
        self.selection.item()
    }

    /// The item under the pointer.
    #[must_use]
    pub fn hovered(&self) -> Option<&Item> {
        self.hover.item()
    }
}
