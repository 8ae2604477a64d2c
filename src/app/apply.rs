//! What the user asked for is done.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use eframe::egui;

use crate::app::shell::file_dialog::Dialog;
use crate::app::shell::menu::Palette;
use crate::app::shell::pane_layout;
use crate::app::shell::path_box::PathBox;
use crate::app::shell::picture::Picture;
use crate::app::state::command::{
    CaseCommand, Command, DocumentCommand, EngineCommand, EvidenceCommand, ExperimentCommand,
    HistoryCommand, TreeCommand, ViewCommand, WindowCommand,
};
use crate::app::state::file_purpose::FilePurpose;
use crate::app::state::history::Past;
use crate::app::state::model::ThemeChoice;
use crate::app::workbench::{NamedFinding, Opening, Workbench};
use crate::format::NetworkSource;
use crate::graph::{KnownOrders, TriangulationOptions};
use crate::network::{Evidence, Finding};
use crate::propagation::CompileOptions;
use crate::session::Request;

/// Nobody closes a dialog sooner after it was asked for: it did not come up.
const NOBODY: Duration = Duration::from_millis(400);

impl Workbench {
    /// Does `command`.
    pub(crate) fn apply(&mut self, ctx: &egui::Context, command: Command) {
        match command {
            Command::Window(WindowCommand::ChooseFile(purpose)) => self.ask_for_file(ctx, purpose),
            Command::Document(DocumentCommand::Open(source)) => {
                self.begin_opening(source, Vec::new())
            }
            Command::Document(DocumentCommand::Reload) => self.reload(),
            Command::Evidence(EvidenceCommand::Toggle(variable, state)) => {
                self.change_evidence(|evidence| {
                    if evidence.observed(variable) == Some(state) {
                        evidence.retract(variable);
                    } else {
                        evidence.insert(variable, Finding::Observed(state));
                    }
                })
            }
            Command::Evidence(EvidenceCommand::Set(variable, finding)) => {
                self.change_evidence(|evidence| evidence.insert(variable, finding));
            }
            Command::Evidence(EvidenceCommand::Retract(variable)) => {
                self.change_evidence(|evidence| {
                    evidence.retract(variable);
                })
            }
            Command::Evidence(EvidenceCommand::Clear) => self.change_evidence(Evidence::clear),
            Command::History(HistoryCommand::Undo) => self.step_history(true),
            Command::History(HistoryCommand::Redo) => self.step_history(false),
            Command::Evidence(EvidenceCommand::Load(path)) => self.load_evidence(&path),
            Command::Case(CaseCommand::Add(name)) => self.keep_case(&name),
            Command::Case(CaseCommand::Enter(number)) => self.recall_case(number),
            Command::Case(CaseCommand::Rename(number, name)) => self.rename_case(number, &name),
            Command::Case(CaseCommand::Replace(number)) => self.replace_case(number),
            Command::Case(CaseCommand::Remove(number)) => self.remove_case(number),
            Command::Case(CaseCommand::Open(path)) => self.open_cases(&path),
            Command::Case(CaseCommand::SaveAll(path)) => self.save_cases(&path),
            Command::View(ViewCommand::Select(item)) => self.select(item),
            Command::View(ViewCommand::Hover(_)) => {}
            Command::View(ViewCommand::Show(pane)) => {
                pane_layout::show_pane(&mut self.layout, pane)
            }
            Command::View(ViewCommand::Fit) => self.model.fit_serial += 1,
            Command::View(ViewCommand::ResetLayout) => self.layout = pane_layout::initial_layout(),
            Command::Engine(EngineCommand::SetEngine(engine)) => {
                self.model.engine = engine;
                if let Some(document) = self.document() {
                    document.engine = engine;
                }
                self.settings.engine = engine.engine.name().to_owned();
                self.settings.precision = engine.precision;
                self.settings.paper = engine.paper;
                self.request();
            }
            Command::Engine(EngineCommand::SetTriangulation(method)) => {
                self.model.triangulation = method;
                self.forget_improvement();
                self.settings.triangulation = method.name().to_owned();
                self.request();
            }
            Command::Engine(EngineCommand::SetMemoryLimit(limit)) => {
                self.model.memory = limit;
                self.settings.memory = limit;
                self.request();
            }
            Command::Engine(EngineCommand::SetAutoPropagate(auto)) => {
                self.model.auto_propagate = auto;
                self.settings.auto_propagate = auto;
                if auto {
                    self.request();
                }
            }
            Command::View(ViewCommand::ShowRecording(recorded)) => {
                if let Some(document) = self.document() {
                    document.shown = recorded;
                }
            }
            Command::Engine(EngineCommand::Propagate) => {
                self.run_serial += 1;
                self.request_evidence();
            }
            Command::Engine(EngineCommand::DismissFailure) => self.forget_failure(),
            Command::Engine(EngineCommand::Cancel) => self.session.cancel(),
            Command::Experiment(ExperimentCommand::Run(trial)) => self.run_experiment(*trial),
            Command::Experiment(ExperimentCommand::Cancel) => self.cancel_experiment(),
            Command::Experiment(ExperimentCommand::RenameResult(number, name)) => {
                self.rename_result(number, name)
            }
            Command::Experiment(ExperimentCommand::RemoveResult(number)) => {
                self.remove_result(number)
            }
            Command::Experiment(ExperimentCommand::ExportResult(number, folder)) => {
                self.export_result(number, &folder)
            }
            Command::Experiment(ExperimentCommand::OpenResult(path)) => self.open_result(&path),
            Command::Tree(TreeCommand::Improve) => self.improve_tree(),
            Command::Tree(TreeCommand::StopImproving) => self.stop_improving(),
            Command::Tree(TreeCommand::SetKeepImproving(keep)) => self.set_keep_improving(keep),
            Command::View(ViewCommand::ShowFillEdges(show)) => self.model.fill_edges = show,
            Command::Lesson(command) => self.teach(ctx, command),
            Command::Step(command) => self.apply_step(ctx, command),
            Command::View(ViewCommand::Explain(_)) => {}
            Command::View(ViewCommand::SetTheme(theme)) => {
                self.settings.theme = theme;
                set_theme(ctx, theme);
            }
            Command::View(ViewCommand::SetZoom(zoom)) => ctx.set_zoom_factor(zoom),
            Command::Window(WindowCommand::ToggleHelp) => self.help = !self.help,
            Command::Window(WindowCommand::TogglePalette) => {
                self.palette = if self.palette.is_some() { None } else { Some(Palette::default()) };
            }
            Command::Document(DocumentCommand::Restore) => self.restore(),
            Command::Document(DocumentCommand::DiscardAutosave) => self.recovery.discard(),
            Command::Window(WindowCommand::SavePicture(pane, path)) => {
                self.picture = Some(Picture::new(pane, path))
            }
            Command::Window(WindowCommand::Quit) => {
                ctx.send_viewport_cmd(egui::ViewportCommand::Close)
            }
        }
    }

    pub(crate) fn begin_opening(
        &mut self,
        source: NetworkSource,
        evidence: Vec<(String, NamedFinding)>,
    ) {
        self.source_serial += 1;
        self.forget_improvement();
        let mut known = (*KnownOrders::shipped()).clone();
        known.merge(&self.settings.orders);
        self.known = Arc::new(known);
        self.opening = Some(Opening { source, serial: self.source_serial, evidence });
        self.forget_failure();
        self.request();
    }

    /// Reads the open network anew, and keeps what is known as far as the names still mean something.
    fn reload(&mut self) {
        let Some(document) = &self.model.document else { return };
        let named = NamedFinding::all(document.network(), &document.evidence);
        let source = document.source.clone();
        self.begin_opening(source, named);
    }

    pub(crate) fn change_evidence(&mut self, change: impl FnOnce(&mut Evidence)) {
        let Some(document) = &mut self.model.document else { return };
        let mut evidence = document.evidence.clone();
        change(&mut evidence);
        if evidence != document.evidence {
            self.history.record(Past::Evidence(document.evidence.clone()));
            self.set_evidence(evidence);
        }
    }

    fn step_history(&mut self, back: bool) {
        if self.model.document.is_none() {
            return;
        }
        let mut history = std::mem::take(&mut self.history);
        history.step(back, |past| self.go_to(past));
        self.history = history;
    }

    /// Puts `past` in the place of what is there, which is returned.
    fn go_to(&mut self, past: Past) -> Past {
        match past {
            Past::Evidence(evidence) => {
                let now = self.document().map(|document| document.evidence.clone());
                self.set_evidence(evidence);
                Past::Evidence(now.unwrap_or_default())
            }
            Past::Case { number, place, was } => {
                let now = self.put_case(number, place, was);
                Past::Case { number, place, was: now }
            }
        }
    }

    fn set_evidence(&mut self, evidence: Evidence) {
        if let Some(document) = self.document() {
            document.evidence = evidence;
            document.impossible = None;
        }
        self.forget_failure();
        if self.model.auto_propagate {
            self.request_evidence();
        }
    }

    /// Tells the worker what is wanted now, the evidence on screen included.
    fn request_evidence(&mut self) {
        if let Some(document) = &self.model.document {
            self.asked = document.evidence.clone();
        }
        self.submit();
    }

    /// Tells the worker what is wanted now. Evidence that waits for Propagate keeps waiting.
    pub(crate) fn request(&mut self) {
        let fresh = self.model.document.as_ref().is_some_and(|document| document.prior.is_none());
        if self.model.auto_propagate || fresh {
            self.request_evidence();
        } else {
            self.submit();
        }
    }

    pub(crate) fn submit(&self) {
        let (source, source_serial, evidence) = match (&self.opening, &self.model.document) {
            (Some(opening), _) => (opening.source.clone(), opening.serial, Evidence::none()),
            (None, Some(document)) => {
                (document.source.clone(), document.serial, self.asked.clone())
            }
            (None, None) => return,
        };
        // The cases of one network mean nothing in another.
        let is_opening = self.opening.is_some();
        let cases = if is_opening { [].into() } else { Arc::clone(&self.compared) };
        self.session.submit(Request {
            source,
            source_serial,
            compile: CompileOptions {
                triangulation: TriangulationOptions {
                    method: self.model.triangulation,
                    known: Some(Arc::clone(&self.known)),
                    ..TriangulationOptions::default()
                },
            },
            engine: self.model.engine,
            memory: self.model.memory,
            evidence,
            cases,
            run_serial: self.run_serial,
        });
    }

    fn ask_for_file(&mut self, ctx: &egui::Context, purpose: FilePurpose) {
        if self.dialog.is_some() {
            return;
        }
        let ctx = ctx.clone();
        match Dialog::open(purpose, move || ctx.request_repaint()) {
            Ok(dialog) => self.dialog = Some(dialog),
            Err(error) => {
                self.complain(&format!("The file dialog cannot be opened: {error}"));
            }
        }
    }

    /// Takes the answer of a dialog once the user has given it.
    pub(crate) fn hear_dialog(&mut self) {
        let Some(dialog) = &self.dialog else { return };
        let Some((path, took)) = dialog.answer() else { return };
        let purpose = dialog.purpose();
        self.dialog = None;
        self.take_answer(purpose, path, took);
    }

    /// Takes the answer of a dialog, which came after `took`. Where none came up a path can be typed.
    pub(crate) fn take_answer(
        &mut self,
        purpose: FilePurpose,
        path: Option<PathBuf>,
        took: Duration,
    ) {
        match path {
            Some(path) => self.use_path(purpose, path),
            None if took < NOBODY => self.path_box = Some(PathBox::new(purpose)),
            None => {}
        }
    }

    /// Draws the box for a path that is typed, and takes its answer.
    pub(crate) fn show_path_box(&mut self, ctx: &egui::Context) {
        let Some(path_box) = &mut self.path_box else { return };
        let Some(answer) = path_box.show(ctx) else { return };
        let purpose = path_box.purpose();
        self.path_box = None;
        if let Some(path) = answer {
            self.use_path(purpose, path);
        }
    }

    fn use_path(&mut self, purpose: FilePurpose, path: PathBuf) {
        match purpose {
            FilePurpose::OpenNetwork => {
                self.commands.push(DocumentCommand::Open(NetworkSource::File(path)))
            }
            FilePurpose::LoadEvidence => self.load_evidence(&path),
            FilePurpose::SaveEvidence => self.save_evidence(&path),
            FilePurpose::OpenCases => self.open_cases(&path),
            FilePurpose::SaveCases => self.save_cases(&path),
            FilePurpose::ExportResult(number) => self.export_result(number, &path),
            FilePurpose::OpenResult => self.open_result(&path),
            FilePurpose::SavePicture(pane) => {
                self.commands.push(WindowCommand::SavePicture(pane, path))
            }
        }
    }
}

/// Draws everything in `theme` from now on.
pub(crate) fn set_theme(ctx: &egui::Context, theme: ThemeChoice) {
    ctx.set_theme(match theme {
        ThemeChoice::System => egui::ThemePreference::System,
        ThemeChoice::Dark => egui::ThemePreference::Dark,
        ThemeChoice::Light => egui::ThemePreference::Light,
    });
}
