//! The workbench: the state of the window, and what happens in a frame.
//!
//! In each frame, the workbench receives the updates of the session, reads the keyboard, draws the
//! panes, and applies the commands that were pushed. [`state`](crate::app::state) has one file per
//! feature; this module does what involves several features.

mod apply;
mod lessons;
mod opening;
mod undo;
mod updates;

use std::path::Path;
use std::sync::Arc;

use eframe::egui::{self, CentralPanel, Panel, Ui};

use crate::app::panes::Panes;
use crate::app::shell::overlays::Overlays;
use crate::app::shell::{
    drag_and_drop, lesson_strip, menu, pane_area, recovery_bar, shortcuts, status, stepping_bar,
};
use crate::app::state::case_store::CaseStore;
use crate::app::state::cases;
use crate::app::state::command::{Command, Commands, ViewCommand};
use crate::app::state::compute::ComputeOptions;
use crate::app::state::core::Core;
use crate::app::state::experiments::ExperimentRunner;
use crate::app::state::explanations::Explanations;
#[cfg(test)]
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::history::History;
use crate::app::state::left_evidence::LeftEvidence;
use crate::app::state::lessons::Course;
use crate::app::state::long_case_reader::LongCaseReader;
use crate::app::state::model::Model;
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::notices::Notices;
use crate::app::state::pane_layout::Arrangement;
use crate::app::state::recovery::Recovery;
use crate::app::state::requests::Requests;
use crate::app::state::settings::Settings;
use crate::app::state::{pane_layout, projector, stepping_control};
use crate::experiment::Recording;
use crate::format::NetworkSource;
use crate::session::{Explainer, Session};

/// The window without its native frame: draws into any [`Ui`].
pub struct Workbench {
    /// The state that every feature may use.
    core: Core,
    history: History,
    case_store: CaseStore,
    long_case_reader: LongCaseReader,
    experiments: ExperimentRunner,
    recovery: Recovery,
    explanations: Explanations,
    /// The lesson that the user is taking.
    course: Option<Course>,
    panes: Panes,
    overlays: Overlays,
    /// The commands pushed in this frame so far.
    commands: Commands,
    /// The item that was under the pointer in the last frame.
    hovered: Option<Item>,
    /// Whether a text field had the focus at the end of the last frame.
    was_typing: bool,
}

impl Workbench {
    /// A workbench with nothing open. `wake` is called from other threads when there is something
    /// new to draw.
    #[must_use]
    pub fn new(settings: Settings, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let wake = Arc::new(wake);
        let (wake_session, wake_explainer) = (Arc::clone(&wake), wake);
        let layout = settings.layout.clone().filter(pane_layout::is_complete);
        Self {
            core: Core {
                model: Model::new(settings, Recording::shipped()),
                layout: layout.unwrap_or_else(|| pane_layout::initial_layout(Arrangement::Tabs)),
                narrow_layout: None,
                enlarged: Vec::new(),
                requests: Requests::new(Session::start(move || wake_session())),
                notices: Notices::default(),
            },
            history: History::default(),
            case_store: CaseStore::default(),
            long_case_reader: LongCaseReader::default(),
            experiments: ExperimentRunner::default(),
            recovery: Recovery::default(),
            explanations: Explanations::new(Explainer::new(move || wake_explainer())),
            course: None,
            panes: Panes::default(),
            overlays: Overlays::default(),
            commands: Commands::default(),
            hovered: None,
            was_typing: false,
        }
    }

    /// Stores cases and results of experiments in two subfolders of `folder` from now on, and
    /// reads those that are already there.
    pub fn store_in(&mut self, folder: &Path) {
        let Core { model, notices, .. } = &mut self.core;
        let mut report = |what: &str, error: std::io::Error| {
            let folder = folder.display();
            notices
                .error(&format!("{what} will be lost when the window closes: {folder}: {error}"));
        };
        match CaseStore::open(&folder.join("cases")) {
            Ok(store) => {
                let writable = store.check_writable();
                model.keeps_cases = writable.is_ok();
                writable.unwrap_or_else(|error| report("Cases", error));
                self.case_store = store;
            }
            Err(error) => report("Cases", error),
        }
        match ExperimentRunner::open(&folder.join("results"), &mut model.experiments) {
            Ok(runner) => {
                runner.check_writable().unwrap_or_else(|error| report("Results", error));
                self.experiments = runner;
            }
            Err(error) => report("Results", error),
        }
    }

    /// Shows `message` as a notice that something is not as the user may expect.
    pub fn warn(&mut self, message: &str) {
        self.core.notices.warning(message);
    }

    /// The texts of the last notices, oldest first, whether or not they are still on screen.
    pub fn notices(&self) -> impl Iterator<Item = &str> {
        self.core.notices.all()
    }

    /// Saves the open network's evidence and options to `folder` from now on, and offers to restore
    /// the work of runs that crashed.
    pub fn autosave_in(&mut self, folder: &Path) {
        match Recovery::start(folder, &mut self.core.notices) {
            Ok(recovery) => self.recovery = recovery,
            Err(error) => self.core.notices.error(&format!("Autosave is off: {error}")),
        }
    }

    /// Ends the run normally, so that the next run does not offer to restore the work of this one.
    pub fn end(&mut self) {
        self.recovery.end();
    }

    /// What the panes draw.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.core.model
    }

    /// The settings to store. The engine, triangulation and memory limit chosen during a lesson are
    /// not stored.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let mut settings = Settings {
            layout: Some(self.core.layout_to_store().into_owned()),
            left_evidence: self.left_evidence(),
            ..self.core.model.settings.clone()
        };
        if let Some(course) = &self.course {
            settings.copy_compute_options(&course.user_work().settings);
        }
        settings
    }

    /// The evidence of the networks that the user left, as if the user left the open network now.
    /// During a lesson, the network that was set aside counts as the open one.
    fn left_evidence(&self) -> LeftEvidence {
        let (document, history) = match &self.course {
            Some(course) => (&course.user_work().document, &course.user_work().history),
            None => (&self.core.model.document, &self.history),
        };
        self.core.model.settings.left_evidence.after_leaving(document.as_ref(), history)
    }

    /// Uses the engine, triangulation and memory limit of `settings` in this run, without storing
    /// them.
    pub fn use_for_this_run(&mut self, settings: &Settings) {
        self.core.model.compute = ComputeOptions::from_settings(settings);
    }

    /// Applies `command` as if the user had asked for it.
    pub fn run_command(&mut self, ctx: &egui::Context, command: impl Into<Command>) {
        self.apply(ctx, command.into());
    }

    /// Opens `source` and enters `findings`, each of which is the name of a variable and the label
    /// of its observed state.
    pub fn open(&mut self, source: NetworkSource, findings: Vec<(String, String)>) {
        let evidence = findings
            .into_iter()
            .map(|(variable, state)| (variable, NamedFinding::State(state)))
            .collect();
        self.begin_opening(source, evidence);
    }

    /// Whether no network is being opened, the session is idle, and either the posteriors are up to
    /// date or something has failed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let model = &self.core.model;
        let requests = &self.core.requests;
        requests.opening.is_none()
            && !requests.unanswered
            && model.working.is_none()
            && (model.failure.is_some()
                || model.document.as_ref().is_some_and(|document| !document.is_stale()))
    }

    /// Runs one frame.
    pub fn show(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.receive_updates();
        self.read_input(&ctx);
        stepping_control::advance(&mut self.core, &ctx);
        self.follow_lesson();
        self.core.model.begin_frame();
        self.draw(ui);
        self.was_typing = ctx.text_edit_focused();
        // While the view for projectors is on, store the scale that was used before it was turned
        // on.
        let before = self.core.model.projector;
        let zoom = before.map_or_else(|| ctx.zoom_factor(), |before| before.zoom);
        self.core.model.settings.zoom = zoom;
        self.apply_commands(&ctx);
        self.take_picture(&ctx);
        cases::request_visible(&mut self.core);
        self.save();
    }

    /// Draws the bars, the panes, and the overlays and notices in front of them.
    fn draw(&mut self, ui: &mut Ui) {
        projector::fit_layout(&mut self.core, ui.available_width());
        let Self { core, panes, commands, recovery, course, overlays, .. } = self;
        let model = &core.model;
        let has_bars = model.projector.is_none();
        // A lesson that points at the menu or at the choice of the engine needs the menu bar.
        let target = course.as_ref().and_then(|course| course.step().target.as_deref());
        if has_bars || matches!(target, Some("menu" | "engine")) {
            Panel::top("menu").show(ui, |ui| menu::show(ui, model, commands));
        } else {
            Panel::top("projector").show(ui, |ui| menu::show_projector(ui, model, commands));
        }
        if let Some(course) = course {
            lesson_strip::show(ui, course, model, commands);
        }
        recovery_bar::show(ui, recovery, commands);
        if model.stepping.is_some() {
            Panel::top("stepping").show(ui, |ui| stepping_bar::show(ui, model, commands));
        }
        if has_bars {
            Panel::bottom("status").show(ui, |ui| status::show(ui, model, commands));
        }
        if let Some(failure) = &model.failure {
            Panel::bottom("failure").show(ui, |ui| status::failure(ui, failure, commands));
        }
        let layout = core.narrow_layout.as_mut().unwrap_or(&mut core.layout);
        CentralPanel::no_frame().show(ui, |ui| pane_area::show(ui, layout, panes, model, commands));
        overlays.show(ui.ctx(), commands);
        drag_and_drop::show(ui.ctx(), model.document.is_some(), commands);
        core.notices.show(ui.ctx());
    }

    /// Turns keys, and paths that the user chose, into commands.
    fn read_input(&mut self, ctx: &egui::Context) {
        // Only text fields take keys: a button that has the focus leaves all keys to the shortcuts.
        // Escape removes the focus before the frame begins, so the focus in the last frame counts
        // too.
        let typing = self.overlays.has_text_field() || self.was_typing || ctx.text_edit_focused();
        let escape = |input: &mut egui::InputState| {
            input.consume_key(egui::Modifiers::NONE, egui::Key::Escape)
        };
        if self.overlays.help && ctx.input_mut(escape) {
            self.overlays.help = false;
        }
        if let Some(stepping) = self.core.model.stepping.as_ref().filter(|_| !typing) {
            shortcuts::read_stepping(ctx, stepping, &mut self.commands);
        }
        if self.course.is_some() && !typing {
            shortcuts::read_lesson(ctx, &mut self.commands);
        }
        shortcuts::read(ctx, typing, &mut self.commands);
        self.commands.extend(self.overlays.files.poll());
    }

    /// Acts as if a file dialog had been answered after `duration`.
    #[cfg(test)]
    pub(crate) fn answer_dialog(
        &mut self,
        purpose: FilePurpose,
        path: Option<std::path::PathBuf>,
        duration: std::time::Duration,
    ) {
        self.commands.extend(self.overlays.files.take_answer(purpose, path, duration));
    }

    /// Applies the commands that were pushed in this frame. If several commands hover an item, only
    /// the last of them counts. The same holds for commands that explain a message.
    fn apply_commands(&mut self, ctx: &egui::Context) {
        let (mut hovered, mut explained) = (None, None);
        for command in self.commands.drain() {
            match command {
                Command::View(ViewCommand::Hover(item)) => hovered = Some(item),
                Command::View(ViewCommand::Explain(message)) => explained = Some(message),
                command => self.apply(ctx, command),
            }
        }
        self.explanations.ask(&self.core.model, explained);
        // While a picture of the window or a pane is to be saved, no item counts as hovered.
        hovered = hovered.filter(|_| self.overlays.picture.is_none());
        // The hovered item is highlighted in the next frame, in all panes.
        if self.hovered != hovered {
            self.hovered.clone_from(&hovered);
            let compiled = self.core.model.compiled().map(Arc::clone);
            self.core.model.hover = Highlight::of(hovered, compiled.as_deref());
            ctx.request_repaint();
        }
    }

    /// Takes and writes the picture that the user asked for, if any, and reports the outcome.
    fn take_picture(&mut self, ctx: &egui::Context) {
        let Some(picture) = &mut self.overlays.picture else { return };
        let Some(outcome) = picture.advance(ctx) else { return };
        self.overlays.picture = None;
        match outcome {
            Ok(path) => self.core.notices.success(&format!("Saved {}", path.display())),
            Err(message) => self.core.notices.error(&message),
        }
    }

    /// Autosaves the work if it changed, and reports errors of earlier writes and removals.
    fn save(&mut self) {
        // During a lesson, the autosave still holds the user's own work, which was set aside.
        if self.course.is_none() {
            self.recovery.save_changes(&mut self.core);
        }
        if let Some(error) = self.case_store.take_error() {
            self.core.notices.error(&format!("A case could not be saved or removed: {error}"));
        }
        if let Some(error) = self.experiments.take_error() {
            self.core.notices.error(&format!("A result could not be saved or removed: {error}"));
        }
    }
}
