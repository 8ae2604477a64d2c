//! What the panes draw.

use std::sync::Arc;

use crate::app::state::compute::ComputeOptions;
use crate::app::state::document::Document;
use crate::app::state::elimination::HandElimination;
use crate::app::state::experiments::Experiments;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::lessons::Lesson;
use crate::app::state::pane::Pane;
use crate::app::state::progress::Progress;
use crate::app::state::projector::WindowBefore;
use crate::app::state::settings::Settings;
use crate::app::state::stepping::Stepping;
use crate::engine::Beliefs;
use crate::experiment::Recording;
use crate::graph::Triangulation;
use crate::network::VariableId;
use crate::propagation::CompiledNetwork;
use crate::session::{Answer, ImprovementProgress, Step};

/// The launch overhead of one propagation without evidence on this machine's GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredOverhead {
    /// The title of the network.
    pub network: String,
    /// The engine and its options, as in
    /// [`EngineChoice::title`](crate::session::EngineChoice::title).
    pub engine: String,
    /// How the network was triangulated.
    pub triangulation: Triangulation,
    /// Time of the launches and copies with empty kernels, in microseconds.
    pub overhead_us: f64,
    /// Time of the whole propagation, in microseconds.
    pub whole_us: f64,
}

/// What the probabilities on screen are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeliefStatus {
    /// Posteriors given the current evidence.
    Current,
    /// Posteriors given other evidence, or computed by another engine or with other engine options.
    Stale,
    /// Beliefs in the middle of a propagation.
    SoFar,
}

/// Everything that panes may read.
#[derive(Clone, Debug)]
pub struct Model {
    /// The user's settings. They hold neither the current layout nor the evidence of the open
    /// network, which [`Workbench::settings`](crate::app::Workbench::settings) adds.
    pub settings: Settings,
    /// The open network, if there is one.
    pub document: Option<Document>,
    /// How networks are compiled and propagated in this run.
    pub compute: ComputeOptions,
    /// The step that the session is working on, if any.
    pub working: Option<Step>,
    /// The message of the last failure, until the user dismisses it, changes the evidence or opens
    /// a network. The next step of compiling, loading or propagating hides it too, except after a
    /// network or a lesson could not be opened: see `Requests::failed_to_open`.
    pub failure: Option<String>,
    /// The running experiment and all results.
    pub experiments: Experiments,
    /// Measurements recorded on other machines.
    pub recordings: &'static [Recording],
    /// Launch overheads measured on this machine's GPU: for each network, engine and triangulation
    /// the newest one.
    pub overheads: Vec<MeasuredOverhead>,
    /// The last search for a better junction tree, running or ended. `None` before the first
    /// search, and after a search was stopped or cancelled.
    pub improvement: Option<Arc<ImprovementProgress>>,
    /// The elimination by hand that was begun last, perhaps of another network: see
    /// [`hand_elimination`](Self::hand_elimination).
    pub elimination: Option<HandElimination>,
    /// Whether moral and fill edges are shown in the network graph.
    pub fill_edges: bool,
    /// The pane that fills the window, if the user maximised one.
    pub maximised: Option<Pane>,
    /// The window before the view for projectors was turned on; `None` while it is off.
    pub projector: Option<WindowBefore>,
    /// A number that increases whenever the keyboard focus should move to the states of a variable.
    pub focus_serial: u64,
    /// The variable whose likelihoods are being entered with sliders.
    pub likelihood: Option<VariableId>,
    /// Whether cases are kept when the window closes.
    pub keeps_cases: bool,
    /// The lessons that the user opened from files in this run, oldest first.
    pub opened_lessons: Vec<Arc<Lesson>>,
    /// The variable and the state that the current step of a lesson asks the user to observe.
    pub pointed: Option<(VariableId, usize)>,
    /// The position of stepping through the messages; `None` while the user is not stepping.
    pub stepping: Option<Stepping>,
    /// The message that was explained last, with its numbers or with the reason why they cannot be
    /// shown.
    pub explained: Option<Answer>,
    /// The selected item, and what is highlighted with it.
    pub selection: Highlight,
    /// The item that was under the pointer in the last frame, and what is highlighted with it.
    pub hover: Highlight,
    /// A number that increases whenever the graphs should be fitted to their panes.
    pub fit_serial: u64,
}

impl Model {
    /// A model with nothing open.
    #[must_use]
    pub fn new(settings: Settings, recordings: &'static [Recording]) -> Self {
        Self {
            compute: ComputeOptions::from_settings(&settings),
            settings,
            document: None,
            working: None,
            failure: None,
            experiments: Experiments::default(),
            recordings,
            overheads: Vec::new(),
            improvement: None,
            elimination: None,
            fill_edges: false,
            maximised: None,
            projector: None,
            focus_serial: 0,
            likelihood: None,
            keeps_cases: false,
            opened_lessons: Vec::new(),
            pointed: None,
            stepping: None,
            explained: None,
            selection: Highlight::default(),
            hover: Highlight::default(),
            fit_serial: 0,
        }
    }

    /// Takes the snapshot of the running propagation that all panes draw in this frame.
    pub fn begin_frame(&mut self) {
        if let Some(document) = &mut self.document {
            document.read_running();
        }
    }

    /// The compiled network, once there is one.
    #[must_use]
    pub fn compiled(&self) -> Option<&Arc<CompiledNetwork>> {
        self.document.as_ref()?.compiled.as_ref()
    }

    /// The compiled network, if it was compiled with all its variables. `None` for a tree given the
    /// evidence.
    #[must_use]
    pub fn compiled_whole(&self) -> Option<&Arc<CompiledNetwork>> {
        self.compiled().filter(|compiled| compiled.observed().is_empty())
    }

    /// The beliefs so far, while the user steps along the plan. `None` in slow motion, once all
    /// messages are passed, and before the beliefs are computed.
    #[must_use]
    pub fn beliefs_so_far(&self) -> Option<&Arc<Beliefs>> {
        self.stepping.as_ref()?.messages_passed()?;
        let (_, answer) = self.explained.as_ref()?;
        let beliefs = answer.as_ref().ok()?.beliefs.as_ref()?;
        let is_current = self.compiled().is_some_and(|now| Arc::ptr_eq(now, beliefs.compiled()));
        Some(beliefs).filter(|beliefs| is_current && !beliefs.is_final())
    }

    /// The probability of each state of `variable`: from the
    /// [beliefs so far](Self::beliefs_so_far) if there are any, otherwise the posterior. `None` if
    /// there is neither.
    #[must_use]
    pub fn belief(&self, variable: VariableId) -> Option<&[f64]> {
        match self.beliefs_so_far() {
            Some(beliefs) => Some(beliefs.of(variable)),
            None => Some(self.document.as_ref()?.result.as_ref()?.posteriors.of(variable)),
        }
    }

    /// What the probabilities of [`belief`](Self::belief) are.
    #[must_use]
    pub fn belief_status(&self) -> BeliefStatus {
        match &self.document {
            _ if self.beliefs_so_far().is_some() => BeliefStatus::SoFar,
            Some(document) if document.is_stale() => BeliefStatus::Stale,
            _ => BeliefStatus::Current,
        }
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

    /// Which messages were sent and which are being computed: at the current position while the
    /// user steps through the messages, otherwise in the running propagation. `None` if the user is
    /// not stepping and no propagation runs.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        let document = self.document.as_ref()?;
        let compiled = document.compiled.as_ref()?;
        match &self.stepping {
            Some(stepping) => Some(stepping.progress(compiled, document.finished_trace())),
            None => Progress::of_running(document, compiled),
        }
    }
}
