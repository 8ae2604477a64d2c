//! The window's state and its turn of events: hear the worker, draw, do what was asked.

use std::sync::Arc;

use eframe::egui::{self, CentralPanel, KeyboardShortcut, Panel, Ui};
use egui_notify::Toasts;

use crate::app::lessons::{self, Course};
use crate::app::panes::Panes;
use crate::app::shell::actions;
use crate::app::shell::file_dialog::Dialog;
use crate::app::shell::menu::{self, Palette};
use crate::app::shell::path_box::PathBox;
use crate::app::shell::picture::Picture;
use crate::app::state::cases::CaseStore;
use crate::app::state::command::{Command, Commands, HistoryCommand, ViewCommand};
use crate::app::state::experiments::{ExperimentJob, ExperimentRunner};
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::history::History;
use crate::app::state::model::{Document, Model};
use crate::app::state::recovery::{self, Recovery};
use crate::app::state::settings::Settings;
use crate::app::{shell::drag_and_drop, shell::pane_layout, shell::status, shell::stepping_bar};
use crate::experiment::Recording;
use crate::format::NetworkSource;
use crate::graph::{KnownOrders, Triangulation};
use crate::network::{Evidence, Finding, Network};
use crate::propagation::MessageId;
use crate::session::{Explainer, Question, Session};

/// Everything behind the window but the window itself; draws into any [`Ui`].
pub struct Workbench {
    pub(crate) model: Model,
    pub(crate) settings: Settings,
    pub(crate) session: Session,
    pub(crate) commands: Commands,
    pub(crate) history: History,
    pub(crate) toasts: Toasts,
    pub(crate) dialog: Option<Dialog>,
    /// Where a path is typed, while there is no dialog.
    pub(crate) path_box: Option<PathBox>,
    pub(crate) help: bool,
    pub(crate) palette: Option<Palette>,
    /// The picture that is to be taken.
    pub(crate) picture: Option<Picture>,
    /// What failed is that a network could not be opened.
    pub(crate) failed_to_open: bool,
    /// A text had the focus when the last frame ended.
    was_typing: bool,
    pub(crate) layout: egui_tiles::Tree<crate::app::state::model::Pane>,
    /// The network that is being opened, and what is to be observed in it.
    pub(crate) opening: Option<Opening>,
    /// The elimination orders that were known when the network was asked for. They stay the same as
    /// long as it is open, so that what is found does not ask for another compilation.
    pub(crate) known: Arc<KnownOrders>,
    pub(crate) source_serial: u64,
    pub(crate) run_serial: u64,
    /// How many searches for better trees were begun.
    pub(crate) searches: u64,
    /// The evidence that the worker was last asked for.
    pub(crate) asked: Evidence,
    /// The cases that the worker was last asked for.
    pub(crate) compared: Arc<[Evidence]>,
    /// The cases of all networks.
    pub(crate) cases: CaseStore,
    /// Where results are kept from one run to the next, if anywhere.
    pub(crate) results: Option<crate::store::Store>,
    /// The experiment that runs.
    pub(crate) experiment: Option<ExperimentJob>,
    pub(crate) recovery: Recovery,
    /// The lesson that is being taken.
    pub(crate) course: Option<Course>,
    pub(crate) explainer: Explainer,
    /// The message that the explainer was asked for.
    question: Option<Question>,
    panes: Panes,
    hovered: Option<Item>,
}

/// A network that was asked for and is not there yet.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) source: NetworkSource,
    pub(crate) serial: u64,
    /// Findings by name: those of the command line, or those of the network before it was reloaded.
    pub(crate) evidence: Vec<(String, NamedFinding)>,
}

/// A finding that outlives the network it was made in.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NamedFinding {
    /// The label of the observed state.
    State(String),
    /// One weight a state.
    Likelihood(Box<[f64]>),
}

impl NamedFinding {
    /// All findings of `evidence`, which is about `network`, with the names of their variables.
    pub(crate) fn all(network: &Network, evidence: &Evidence) -> Vec<(String, Self)> {
        let named = |(variable, finding): (_, &Finding)| {
            let variable = &network[variable];
            let finding = match finding {
                Finding::Observed(state) => Self::State(variable.states()[*state].clone()),
                Finding::Likelihood(weights) => Self::Likelihood(weights.clone()),
            };
            (variable.name().to_owned(), finding)
        };
        evidence.iter().map(named).collect()
    }
}

impl Workbench {
    /// A window with nothing open. `wake` is called, from another thread, when there is news to draw.
    #[must_use]
    pub fn new(settings: Settings, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let wake = Arc::new(wake);
        let wake_too = Arc::clone(&wake);
        let model = Model {
            document: None,
            working: None,
            failure: None,
            engine: settings.engine_choice(),
            triangulation: settings.triangulation.parse().unwrap_or(Triangulation::Auto),
            memory: settings.memory,
            auto_propagate: settings.auto_propagate,
            experiments: ExperimentRunner::default(),
            recordings: Recording::shipped(),
            overheads: Vec::new(),
            keep_improving: settings.keep_improving,
            improvement: None,
            fill_edges: false,
            pointed: None,
            stepping: None,
            explained: None,
            selection: Highlight::default(),
            hover: Highlight::default(),
            fit_serial: 0,
        };
        let stored = settings.layout.clone().filter(pane_layout::is_complete);
        Self {
            model,
            layout: stored.unwrap_or_else(pane_layout::initial_layout),
            settings,
            session: Session::start(move || wake()),
            commands: Commands::default(),
            history: History::default(),
            toasts: Toasts::default()
                .with_anchor(egui_notify::Anchor::TopRight)
                .with_margin(egui::vec2(12.0, 40.0)),
            dialog: None,
            path_box: None,
            help: false,
            palette: None,
            picture: None,
            failed_to_open: false,
            was_typing: false,
            opening: None,
            known: KnownOrders::shipped(),
            source_serial: 0,
            run_serial: 0,
            searches: 0,
            asked: Evidence::none(),
            compared: [].into(),
            cases: CaseStore::default(),
            results: None,
            experiment: None,
            recovery: Recovery::default(),
            course: None,
            explainer: Explainer::new(move || wake_too()),
            question: None,
            panes: Panes::default(),
            hovered: None,
        }
    }

    /// What the panes draw.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The settings as they should be stored.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            layout: Some(self.layout.clone()),
            earlier: self.known_by_now(),
            ..self.settings.clone()
        }
    }

    /// Takes engine, triangulation and memory from `settings`, which are not stored.
    pub fn use_for_this_run(&mut self, settings: &Settings) {
        self.model.engine = settings.engine_choice();
        self.model.triangulation = settings.triangulation.parse().unwrap_or_default();
        self.model.memory = settings.memory;
    }

    /// Does `command` as if the user had asked for it.
    pub fn ask(&mut self, ctx: &egui::Context, command: impl Into<Command>) {
        self.apply(ctx, command.into());
    }

    /// Opens `source`, and observes `findings` (variable and state by name) in it.
    pub fn open(&mut self, source: NetworkSource, findings: Vec<(String, String)>) {
        let evidence = findings
            .into_iter()
            .map(|(variable, state)| (variable, NamedFinding::State(state)))
            .collect();
        self.begin_opening(source, evidence);
    }

    /// Whether all that was asked for is on screen, or has failed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.opening.is_none()
            && self.model.working.is_none()
            && (self.model.failure.is_some()
                || self.model.document.as_ref().is_some_and(|document| !document.is_stale()))
    }

    /// One frame.
    pub fn show(&mut self, ui: &mut Ui) {
        self.hear();
        self.stepping_keys(ui.ctx());
        self.collect_input(ui.ctx());
        self.advance_stepping(ui.ctx());
        self.model.pointed = self.course.as_ref().and_then(|course| course.pointed(&self.model));
        let Self { model, settings, commands, layout, panes, recovery, course, .. } = self;
        Panel::top("menu").show(ui, |ui| menu::show(ui, model, settings, commands));
        recovery::show(ui, recovery, commands);
        if model.stepping.is_some() {
            Panel::top("stepping").show(ui, |ui| stepping_bar::show(ui, model, commands));
        }
        Panel::bottom("status").show(ui, |ui| status::show(ui, model, commands));
        if let Some(failure) = &model.failure {
            Panel::bottom("failure").show(ui, |ui| status::failure(ui, failure, commands));
        }
        CentralPanel::no_frame()
            .show(ui, |ui| pane_layout::show(ui, layout, panes, model, commands));
        if let Some(course) = course {
            lessons::show(ui.ctx(), course, model, commands);
        }
        menu::help(ui.ctx(), &mut self.help);
        if let Some(palette) = &mut self.palette
            && !palette.show(ui.ctx(), &mut self.commands)
        {
            self.palette = None;
        }
        self.show_path_box(ui.ctx());
        drag_and_drop::show(ui.ctx(), self.model.document.is_some(), &mut self.commands);
        self.toasts.show(ui.ctx());
        self.was_typing = ui.ctx().text_edit_focused();
        self.settings.zoom = ui.ctx().zoom_factor();
        self.do_what_was_asked(ui.ctx());
        self.take_picture(ui.ctx());
        self.compare_what_is_seen();
        self.keep_what_changed();
        self.tell_of_the_drawer();
        self.report_store_error();
    }

    /// Keys and the answer of a dialog become commands.
    fn collect_input(&mut self, ctx: &egui::Context) {
        // A button with the focus takes no text: who goes about by Tab keeps all keys.
        let typing = self.is_typing(ctx);
        let mut keyed: Vec<(KeyboardShortcut, Command)> = actions::all()
            .into_iter()
            .filter_map(|action| Some((action.shortcut?, action.command)))
            .collect();
        keyed.push((actions::REDO_TOO, Command::History(HistoryCommand::Redo)));
        let escape = |input: &mut egui::InputState| {
            input.consume_key(egui::Modifiers::NONE, egui::Key::Escape)
        };
        if self.help && ctx.input_mut(escape) {
            self.help = false;
        }
        // The more modifiers the earlier: Ctrl+Z would also answer to Ctrl+Shift+Z.
        keyed.sort_by_key(|(shortcut, _)| !shortcut.modifiers.shift);
        for (shortcut, command) in keyed {
            let belongs_to_text = typing && actions::edits_text(shortcut);
            // Escape closes what is open.
            let closes = egui::Popup::is_any_open(ctx) && shortcut.logical_key == egui::Key::Escape;
            if !belongs_to_text
                && !closes
                && ctx.input_mut(|input| input.consume_shortcut(&shortcut))
            {
                self.commands.push(command);
            }
        }
        self.hear_dialog();
    }

    /// Whether plain keys belong to a text. Escape takes the focus from one before the frame begins.
    pub(crate) fn is_typing(&self, ctx: &egui::Context) -> bool {
        let has_box = self.palette.is_some() || self.path_box.is_some();
        has_box || self.was_typing || ctx.text_edit_focused()
    }

    fn do_what_was_asked(&mut self, ctx: &egui::Context) {
        let mut hovered = None;
        for command in self.commands.drain() {
            match command {
                Command::View(ViewCommand::Hover(item)) => hovered = Some(item),
                Command::View(ViewCommand::Explain(message)) => self.explain(message),
                command => self.apply(ctx, command),
            }
        }
        // A picture shows nothing of where the pointer happens to be.
        hovered = hovered.filter(|_| self.picture.is_none());
        // What is under the pointer lights up in the next frame, in every pane.
        if self.hovered != hovered {
            self.hovered.clone_from(&hovered);
            let compiled = self.model.compiled().map(Arc::clone);
            self.model.hover = Highlight::of(hovered, compiled.as_deref());
            ctx.request_repaint();
        }
    }

    /// Asks for the numbers of `message`, unless that was done.
    fn explain(&mut self, message: MessageId) {
        let Some((document, compiled)) = self.model.document.as_ref().zip(self.model.compiled())
        else {
            return;
        };
        // The engine has its part of the memory already, unless that is a card's.
        let on_card = document.launch_overhead.is_some();
        let engine = document.engine_bytes.filter(|_| !on_card).unwrap_or(0);
        let question = Question {
            compiled: Arc::clone(compiled),
            evidence: document.evidence.clone(),
            message,
            memory: self.model.memory.map(|limit| limit.less(engine)),
        };
        if self.question.as_ref() != Some(&question) {
            self.question = Some(question.clone());
            self.explainer.ask(question);
        }
    }

    /// Frees what was loaded to show messages, which are not those of the next tree.
    pub(crate) fn forget_messages(&mut self) {
        self.explainer.forget();
        (self.question, self.model.explained, self.model.stepping) = (None, None, None);
    }

    /// Lights up `item` as selected.
    pub(crate) fn select(&mut self, item: Option<Item>) {
        let compiled = self.model.compiled().map(Arc::clone);
        self.model.selection = Highlight::of(item, compiled.as_deref());
    }

    /// The open document.
    pub(crate) fn document(&mut self) -> Option<&mut Document> {
        self.model.document.as_mut()
    }
}
