//! Applies commands.

use eframe::egui;

use super::Workbench;
use crate::app::state::command::{Command, DocumentCommand, EngineCommand};
use crate::app::state::{
    case_files, cases, elimination, evidence, improvement, stepping_control, view,
};

impl Workbench {
    /// Applies `command` to the features that it concerns.
    pub(super) fn apply(&mut self, ctx: &egui::Context, command: Command) {
        let Self { core, history, case_store, long_case_reader, .. } = self;
        match command {
            Command::Evidence(command) => evidence::apply(core, history, command),
            Command::History(command) => self.apply_to_history(command),
            Command::Case(command) => cases::apply(core, history, case_store, command),
            Command::CaseFile(command) => {
                case_files::apply(core, history, case_store, long_case_reader, command);
            }
            Command::Document(command) => self.apply_to_document(command),
            Command::Engine(command) => self.apply_to_engine(command),
            Command::Tree(command) => improvement::apply(core, command),
            Command::Elimination(command) => elimination::apply(core, &command),
            Command::Experiment(command) => {
                let (session, notices) = (&core.requests.session, &mut core.notices);
                let experiments = &mut core.model.experiments;
                self.experiments.apply(experiments, session, notices, command);
            }
            Command::View(command) => view::apply(core, ctx, command),
            Command::Lesson(command) => self.apply_to_lesson(ctx, command),
            Command::Step(command) => stepping_control::apply(core, ctx, command),
            Command::Window(command) => {
                if let Err(message) = self.overlays.apply(ctx, command) {
                    self.core.notices.error(&message);
                }
            }
        }
    }

    /// Opens, reloads or restores a network, or discards offered work.
    fn apply_to_document(&mut self, command: DocumentCommand) {
        match command {
            DocumentCommand::Open(source) => _ = self.begin_opening(source, Vec::new()),
            DocumentCommand::Reload => self.reload(),
            DocumentCommand::Restore => self.restore(),
            DocumentCommand::DiscardAutosave => self.recovery.discard(),
        }
    }

    /// Changes how networks are compiled and propagated, propagates, or cancels.
    fn apply_to_engine(&mut self, command: EngineCommand) {
        let core = &mut self.core;
        let (compute, settings) = (&mut core.model.compute, &mut core.model.settings);
        match command {
            EngineCommand::SetEngine(engine) => {
                compute.set_engine(engine, settings);
                core.request();
            }
            EngineCommand::SetTriangulation(method) => {
                compute.set_triangulation(method, settings);
                improvement::cancel(core);
                core.request();
            }
            EngineCommand::SetMemoryLimit(limit) => {
                compute.set_memory(limit, settings);
                core.request();
            }
            EngineCommand::SetAutoPropagate(auto) => {
                core.model.settings.auto_propagate = auto;
                if auto {
                    core.request();
                }
            }
            EngineCommand::Propagate => {
                core.requests.propagate_again(1);
                core.request_evidence();
            }
            EngineCommand::Measure => {
                core.requests.propagate_again(settings.measured_runs);
                core.request_evidence();
            }
            EngineCommand::SetMeasuredRuns(runs) => settings.measured_runs = runs,
            EngineCommand::Cancel => core.requests.session.cancel(),
            EngineCommand::DismissFailure => core.clear_failure(),
        }
    }
}
