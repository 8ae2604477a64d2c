//! The lesson that the user is taking.

use egui_tiles::Tree;

use super::script::{Action, Lesson, LessonStep};
use super::{LESSONS, progress, text};
use crate::app::state::command::{
    Command, DocumentCommand, EvidenceCommand, StepCommand, ViewCommand,
};
use crate::app::state::compute::ComputeOptions;
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::history::History;
use crate::app::state::model::Model;
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::pane::Pane;
use crate::app::state::settings::Settings;
use crate::format::NetworkSource;
use crate::graph::CliqueId;
use crate::network::{Finding, VariableId};

/// The lesson that the user is taking.
pub(in crate::app) struct Course {
    lesson: usize,
    step: usize,
    user_work: UserWork,
}

/// The user's own work, which is set aside when a lesson starts.
pub(in crate::app) struct UserWork {
    pub document: Option<Document>,
    pub history: History,
    pub selected: Option<Item>,
    pub layout: Tree<Pane>,
    pub compute: ComputeOptions,
    /// The settings when the lesson started. Only the engine, the triangulation and the memory
    /// limit are restored.
    pub settings: Settings,
    pub fill_edges: bool,
}

impl Course {
    /// The lesson with index `lesson` in [`LESSONS`], at the step with index `step`.
    pub fn new(lesson: usize, step: usize, user_work: UserWork) -> Self {
        Self { lesson, step, user_work }
    }

    /// The script of the lesson.
    pub fn lesson(&self) -> &'static Lesson {
        &LESSONS[self.lesson]
    }

    /// The user's own work, which is set aside during the lesson.
    pub fn user_work(&self) -> &UserWork {
        &self.user_work
    }

    /// Ends the lesson and returns the user's own work.
    pub fn into_user_work(self) -> UserWork {
        self.user_work
    }

    /// The index of the current step, from zero.
    pub fn step_index(&self) -> usize {
        self.step
    }

    /// Whether the current step is the last one.
    pub fn is_at_end(&self) -> bool {
        self.step + 1 == self.lesson().steps.len()
    }

    /// The current step.
    pub fn step(&self) -> &'static LessonStep {
        &self.lesson().steps[self.step]
    }

    /// Goes to the step with index `step`.
    pub fn go_to(&mut self, step: usize) {
        self.step = step;
    }

    /// Whether the task of the current step is done.
    pub fn is_done(&self, model: &Model) -> bool {
        progress::is_done(&self.step().until, model)
    }

    /// The variable and the state that the current step asks the user to observe. `None` if the
    /// step has another task, or if the open network lacks this variable or state.
    pub fn pointed(&self, model: &Model) -> Option<(VariableId, usize)> {
        let Some(Action::Observe(variable, state)) = &self.step().action else { return None };
        let network = model.document.as_ref()?.network();
        let id = network.find(variable)?;
        Some((id, network[id].state_index(state)?))
    }

    /// The text of the current step, with numbers of the open network filled in.
    pub fn text(&self, model: &Model) -> String {
        text::filled_in(&self.step().text, model)
    }

    /// The sample that is open when the step with index `step` starts, and the findings entered
    /// before, each with the name of its variable.
    pub fn sample_and_findings_at(&self, step: usize) -> (String, Vec<(String, NamedFinding)>) {
        let mut network = self.lesson().network.clone();
        let mut findings = Vec::new();
        for action in self.lesson().steps[..step].iter().filter_map(|step| step.action.as_ref()) {
            match action {
                Action::Open(name) => {
                    network.clone_from(name);
                    findings.clear();
                }
                Action::Observe(variable, state) => {
                    findings.push((variable.clone(), NamedFinding::State(state.clone())));
                }
                _ => {}
            }
        }
        (network, findings)
    }

    /// The command that does the task of the current step. `None` if the step has no task, if the
    /// network lacks the state to observe, or if there is no tree yet in which to find the largest
    /// clique.
    pub fn command(&self, model: &Model) -> Option<Command> {
        Some(match self.step().action.as_ref()? {
            Action::Open(name) => DocumentCommand::Open(NetworkSource::Named(name.clone())).into(),
            Action::Observe(..) => {
                let (variable, state) = self.pointed(model)?;
                EvidenceCommand::Set(variable, Finding::Observed(state)).into()
            }
            Action::FillEdges => ViewCommand::ShowFillEdges(true).into(),
            Action::SelectClique => {
                ViewCommand::Select(Some(Item::Clique(CliqueId::new(0)))).into()
            }
            Action::SelectLargest => {
                let largest = progress::largest_clique(model.compiled()?.tree());
                ViewCommand::Select(Some(Item::Clique(largest))).into()
            }
            Action::SelectVariable(name) => {
                let document = model.document.as_ref();
                let found = document.and_then(|document| document.network().find(name));
                ViewCommand::Select(found.map(Item::Variable)).into()
            }
            Action::Walk => StepCommand::Begin.into(),
            Action::WalkToEnd => StepCommand::Last.into(),
            Action::SlowMotion => StepCommand::SlowMotion.into(),
        })
    }
}
