//! The lesson that the user is taking.

use std::collections::BTreeMap;
use std::sync::Arc;

use egui_tiles::Tree;

use super::columns::{Columns, Comparison};
use super::script::{Action, Lesson, LessonStep, Question};
use super::{check, numbers, progress};
use crate::app::state::command::{
    Command, DocumentCommand, EliminationCommand, EvidenceCommand, StepCommand, ViewCommand,
};
use crate::app::state::compute::ComputeOptions;
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::history::History;
use crate::app::state::model::Model;
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::app::state::pane::Pane;
use crate::app::state::settings::Settings;
use crate::format::NetworkSource;
use crate::network::{Finding, VariableId};

/// The lesson that the user is taking.
pub(in crate::app) struct Course {
    lesson: Arc<Lesson>,
    step: usize,
    user_work: UserWork,
    /// For the index of each step whose question was answered, the index of the option that the
    /// user chose; `None` if the answer was shown without a choice.
    predictions: BTreeMap<usize, Option<usize>>,
    columns: Columns,
}

/// The user's own work, which is set aside when a lesson starts.
pub(in crate::app) struct UserWork {
    pub document: Option<Document>,
    pub history: History,
    pub selected: Option<Item>,
    pub layout: Tree<Pane>,
    pub compute: ComputeOptions,
    /// The settings when the lesson started. Only the engine with its options, the triangulation
    /// and the memory limit are restored.
    pub settings: Settings,
    /// Whether moral and fill edges were shown.
    pub fill_edges: bool,
}

impl Course {
    /// `lesson`, at the step with index `step`.
    pub fn new(lesson: Arc<Lesson>, step: usize, user_work: UserWork) -> Self {
        let (predictions, columns) = (BTreeMap::new(), Columns::default());
        Self { lesson, step, user_work, predictions, columns }
    }

    /// The script of the lesson.
    pub fn lesson(&self) -> &Arc<Lesson> {
        &self.lesson
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
        self.step + 1 == self.lesson.steps.len()
    }

    /// The current step.
    pub fn step(&self) -> &LessonStep {
        &self.lesson.steps[self.step]
    }

    /// Goes to the step with index `step`.
    pub fn go_to(&mut self, step: usize) {
        self.step = step;
    }

    /// The question of the current step, if it has one that is not answered yet.
    pub fn open_question(&self) -> Option<&Question> {
        let question = self.step().question.as_ref();
        question.filter(|_| !self.predictions.contains_key(&self.step))
    }

    /// The option that the user chose as the answer to the question of the current step.
    pub fn prediction(&self) -> Option<usize> {
        self.predictions.get(&self.step).copied().flatten()
    }

    /// Answers the question of the current step, with `option` if the user chose one. Only the
    /// first answer counts.
    pub fn answer(&mut self, option: Option<usize>) {
        let options = self.step().question.as_ref().map_or(0, |question| question.options.len());
        if option.is_none_or(|option| option < options) {
            self.predictions.entry(self.step).or_insert(option);
        }
    }

    /// Whether the current step has no task, or its task is done.
    pub fn is_done(&self, model: &Model) -> bool {
        let action = self.step().action.as_ref();
        action.is_none_or(|action| progress::is_done(action, model))
    }

    /// Stores the numbers of the current step for its column, if it has one, once its question is
    /// answered and its task is done. Call this when the posteriors are up to date.
    pub fn keep_numbers(&mut self, model: &Model) {
        let document = model.document.as_ref();
        // The task of the step may open another network.
        let is_open = document.is_some_and(|document| self.has_network_at(self.step + 1, document));
        if is_open && self.open_question().is_none() && self.is_done(model) {
            self.columns.update(&self.lesson, self.step, model);
        }
    }

    /// The numbers that the current step compares, if any. They would give the answer away, so
    /// there are none before the question is answered and the task is done.
    pub fn comparison(&self, model: &Model) -> Option<Comparison> {
        let is_answered = self.open_question().is_none() && self.is_done(model);
        self.columns.comparison(&self.lesson, self.step).filter(|_| is_answered)
    }

    /// Why the current step cannot be taken with the open network, if it cannot, as a sentence.
    pub fn problem(&self, model: &Model) -> Option<String> {
        let document = model.document.as_ref()?;
        // Before and after the task of the step, which may open another network.
        let steps = self.step..=self.step + 1;
        let mut names = steps.map(|step| self.lesson.network_at(step));
        if !names.any(|name| progress::is_open(name, document)) {
            let needed = progress::title(self.lesson.network_at(self.step));
            let open = document.title();
            return Some(format!("This step needs the network {needed}, but {open} is open."));
        }
        let mistake = check::problem(self.step(), document.network())?;
        Some(format!("This lesson has a mistake: {mistake}."))
    }

    /// Whether the lesson uses the network in `source` in any step.
    pub fn uses(&self, source: &NetworkSource) -> bool {
        let Some(location) = NetworkLocation::of(source) else { return false };
        (0..=self.lesson.steps.len()).any(|step| {
            let used = self.lesson.source_of(self.lesson.network_at(step));
            NetworkLocation::of(&used).as_ref() == Some(&location)
        })
    }

    /// The first mistake in each step that is taken with the open network.
    pub fn problems(&self, model: &Model) -> Vec<String> {
        let Some(document) = &model.document else { return Vec::new() };
        let mut names = (0..=self.lesson.steps.len()).map(|step| self.lesson.network_at(step));
        let name = names.find(|name| progress::is_open(name, document));
        name.map_or_else(Vec::new, |name| check::problems(&self.lesson, name, document.network()))
    }

    /// The variable and the state that the current step asks the user to observe. `None` if the
    /// step has another task, or if the open network lacks this variable or state.
    pub fn pointed(&self, model: &Model) -> Option<(VariableId, usize)> {
        let Some(Action::Observe(variable, state)) = &self.step().action else { return None };
        numbers::find_state(model.document.as_ref()?.network(), variable, state).ok()
    }

    /// `text` of the lesson, with numbers of the open network filled in.
    pub fn filled_in(&self, text: &str, model: &Model) -> String {
        numbers::filled_in(text, model)
    }

    /// Whether `document` has the network that must be open when the step with index `step` starts.
    pub fn has_network_at(&self, step: usize, document: &Document) -> bool {
        progress::is_open(self.lesson.network_at(step), document)
    }

    /// The network that is open when the step with index `step` starts, and the findings that the
    /// tasks of earlier steps enter in it, each with the name of its variable.
    pub fn network_and_findings_at(
        &self,
        step: usize,
    ) -> (NetworkSource, Vec<(String, NamedFinding)>) {
        let mut findings = Vec::new();
        for action in self.lesson.steps[..step].iter().filter_map(|step| step.action.as_ref()) {
            match action {
                Action::Open(_) => findings.clear(),
                Action::Observe(variable, state) => {
                    findings.push((variable.clone(), NamedFinding::State(state.clone())));
                }
                _ => {}
            }
        }
        (self.lesson.source_of(self.lesson.network_at(step)), findings)
    }

    /// The command that does the task of the current step. `None` if the step has no task, if the
    /// network lacks the variable or the state of the task, or if there is no tree yet in which to
    /// select a clique.
    pub fn command(&self, model: &Model) -> Option<Command> {
        Some(match self.step().action.as_ref()? {
            Action::Open(name) => DocumentCommand::Open(self.lesson.source_of(name)).into(),
            Action::Observe(..) => {
                let (variable, state) = self.pointed(model)?;
                EvidenceCommand::Set(variable, Finding::Observed(state)).into()
            }
            Action::FillEdges => ViewCommand::ShowFillEdges(true).into(),
            Action::SelectClique => {
                // Not the root, because a later step of a lesson may show how the root is marked.
                let tree = model.compiled()?.tree();
                let mut cliques = tree.clique_ids();
                let other = cliques.find(|&clique| clique != tree.root()).unwrap_or(tree.root());
                ViewCommand::Select(Some(Item::Clique(other))).into()
            }
            Action::SelectLargest => {
                let largest = progress::largest_clique(model.compiled()?.tree());
                ViewCommand::Select(Some(Item::Clique(largest))).into()
            }
            Action::SelectVariable(name) => {
                let found = model.document.as_ref()?.network().find(name)?;
                ViewCommand::Select(Some(Item::Variable(found))).into()
            }
            Action::Eliminate(name) => {
                let found = model.document.as_ref()?.network().find(name)?;
                EliminationCommand::Eliminate(found).into()
            }
            Action::TakeBack(name) => {
                let found = model.document.as_ref()?.network().find(name)?;
                EliminationCommand::TakeBackFrom(found).into()
            }
            Action::EliminateAll => EliminationCommand::Finish.into(),
            Action::StepThrough => StepCommand::Begin.into(),
            Action::StepToEnd => StepCommand::Last.into(),
            Action::SlowMotion => StepCommand::SlowMotion.into(),
            Action::RecordedRuns => StepCommand::RecordedRuns.into(),
        })
    }
}
