//! A lesson at work.

use eframe::egui;

use super::{Action, LESSONS, Lesson, LessonCommand, LessonStep, Until};
use crate::app::shell::pane_layout;
use crate::app::state::command::{
    Command, DocumentCommand, EngineCommand, EvidenceCommand, ViewCommand,
};
use crate::app::state::highlight::Item;
use crate::app::state::history::History;
use crate::app::state::model::{Document, Model, Pane};
use crate::app::state::stepping::{StepCommand, SteppingMode};
use crate::app::workbench::{NamedFinding, Workbench};
use crate::format::NetworkSource;
use crate::graph::{CliqueId, JunctionTree, Triangulation};
use crate::network::{Evidence, VariableId};
use crate::numbers;
use crate::session::EngineChoice;

/// A lesson that is being taken.
pub struct Course {
    lesson: usize,
    step: usize,
    /// What was open before.
    before: PutAside,
}

/// Everything that the user made and that comes back when the lesson is left.
struct PutAside {
    document: Option<Document>,
    history: History,
    selected: Option<Item>,
    layout: egui_tiles::Tree<Pane>,
    engine: EngineChoice,
    triangulation: Triangulation,
    fill_edges: bool,
}

impl Course {
    /// The lesson.
    pub fn lesson(&self) -> &'static Lesson {
        &LESSONS[self.lesson]
    }

    /// What was open before the lesson, and its history.
    pub(in crate::app) fn put_aside(&self) -> (Option<&Document>, &History) {
        (self.before.document.as_ref(), &self.before.history)
    }

    /// Number of the step, from zero.
    pub fn number(&self) -> usize {
        self.step
    }

    /// The step.
    pub fn step(&self) -> &'static LessonStep {
        &self.lesson().steps[self.step]
    }

    /// Whether what the step asks for is done.
    pub fn is_done(&self, model: &Model) -> bool {
        is_done(&self.step().until, model)
    }

    /// The variable's state that the step points at, if it points at one.
    pub fn pointed(&self, model: &Model) -> Option<(VariableId, usize)> {
        let Some(Action::Observe(variable, state)) = &self.step().action else { return None };
        let network = model.document.as_ref()?.network();
        let id = network.find(variable)?;
        Some((id, network[id].state_index(state)?))
    }

    /// The text of the step with the numbers of what is open.
    pub fn text(&self, model: &Model) -> String {
        filled_in(&self.step().text, model)
    }

    /// The sample that is open at step `step`, and what was observed in it by then.
    fn state_at(&self, step: usize) -> (String, Vec<(String, NamedFinding)>) {
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
}

impl Workbench {
    /// Does what was asked of the lessons.
    pub(in crate::app) fn teach(&mut self, ctx: &egui::Context, command: LessonCommand) {
        match command {
            LessonCommand::Start(lesson) => self.start_lesson(ctx, lesson),
            LessonCommand::Next => {
                let Some(course) = &self.course else { return };
                if !course.is_done(&self.model) {
                    self.do_step(ctx);
                }
                let Some(course) = &self.course else { return };
                if course.step + 1 == course.lesson().steps.len() {
                    let id = course.lesson().id.clone();
                    self.settings.lessons.remove(&id);
                    self.leave_lesson(ctx, true);
                } else {
                    let step = course.step + 1;
                    self.enter_step(step);
                }
            }
            LessonCommand::Back => {
                let Some(course) = &self.course else { return };
                let step = course.step.saturating_sub(1);
                self.enter_step(step);
            }
            LessonCommand::DoIt => self.do_step(ctx),
            LessonCommand::Leave => self.leave_lesson(ctx, true),
            LessonCommand::Stay => self.leave_lesson(ctx, false),
        }
        ctx.request_repaint();
    }

    fn start_lesson(&mut self, ctx: &egui::Context, lesson: usize) {
        let Some(wanted) = LESSONS.get(lesson) else { return };
        // One lesson may follow another: what the user had is what was there before the first.
        self.leave_lesson(ctx, true);
        let kept = self.settings.lessons.get(&wanted.id).copied().unwrap_or(0);
        let step = kept.min(wanted.steps.len() - 1);
        let before = PutAside {
            selected: self.model.selected().cloned(),
            history: std::mem::take(&mut self.history),
            document: self.model.document.take(),
            layout: self.layout.clone(),
            engine: self.model.engine,
            triangulation: self.model.triangulation,
            fill_edges: self.model.fill_edges,
        };
        let course = Course { lesson, step, before };
        let (network, findings) = course.state_at(step);
        self.course = Some(course);
        self.forget_messages();
        let filled = |step: &LessonStep| step.action == Some(Action::FillEdges);
        self.model.fill_edges = wanted.steps[..step].iter().any(filled);
        self.begin_opening(NetworkSource::Named(network), findings);
        self.enter_step(step);
    }

    fn enter_step(&mut self, step: usize) {
        let Some(course) = &mut self.course else { return };
        course.step = step;
        let (id, show) = (course.lesson().id.clone(), course.step().show);
        self.settings.lessons.insert(id, step);
        if let Some(pane) = show {
            pane_layout::show_pane(&mut self.layout, pane);
        }
    }

    fn do_step(&mut self, ctx: &egui::Context) {
        let Some(action) = self.course.as_ref().and_then(|course| course.step().action.clone())
        else {
            return;
        };
        let command = match action {
            Action::Open(name) => {
                Command::Document(DocumentCommand::Open(NetworkSource::Named(name)))
            }
            Action::Observe(..) => {
                let pointed = self.course.as_ref().and_then(|course| course.pointed(&self.model));
                let Some((variable, state)) = pointed else { return };
                Command::Evidence(EvidenceCommand::Set(
                    variable,
                    crate::network::Finding::Observed(state),
                ))
            }
            Action::FillEdges => Command::View(ViewCommand::ShowFillEdges(true)),
            Action::SelectClique => {
                Command::View(ViewCommand::Select(Some(Item::Clique(CliqueId::new(0)))))
            }
            Action::SelectLargest => {
                let Some(compiled) = self.model.compiled() else { return };
                Command::View(ViewCommand::Select(Some(Item::Clique(largest(compiled.tree())))))
            }
            Action::SelectVariable(name) => {
                let document = self.model.document.as_ref();
                let found = document.and_then(|document| document.network().find(&name));
                Command::View(ViewCommand::Select(found.map(Item::Variable)))
            }
            Action::Walk => Command::Step(StepCommand::Begin),
            Action::WalkToEnd => Command::Step(StepCommand::Last),
            Action::SlowMotion => Command::Step(StepCommand::SlowMotion),
        };
        self.apply(ctx, command);
    }

    /// Ends the lesson, if there is one.
    fn leave_lesson(&mut self, ctx: &egui::Context, put_back: bool) {
        if !put_back {
            self.settings.earlier = self.known_by_now();
        }
        let Some(course) = self.course.take() else { return };
        self.model.stepping = None;
        let before = course.before;
        let Some(mut document) = before.document.filter(|_| put_back) else { return };
        self.opening = None;
        document.running = None;
        self.model.triangulation = before.triangulation;
        self.settings.triangulation = before.triangulation.name().to_owned();
        self.model.fill_edges = before.fill_edges;
        self.forget_messages();
        self.layout = before.layout;
        self.history = before.history;
        // What was asked of the lesson's network means nothing in this one.
        self.asked = document.result.as_ref().map_or_else(Evidence::none, |r| r.evidence.clone());
        self.compared = [].into();
        // The worker reads the network anew; the document with its evidence is there meanwhile.
        self.model.document = Some(document);
        self.list_cases();
        self.select(before.selected);
        self.apply(ctx, Command::Engine(EngineCommand::SetEngine(before.engine)));
    }
}

fn largest(tree: &JunctionTree) -> CliqueId {
    let by_size = |clique: &CliqueId| (tree[*clique].entries, std::cmp::Reverse(*clique));
    tree.clique_ids().max_by_key(by_size).expect("a tree has a clique")
}

fn is_done(until: &Until, model: &Model) -> bool {
    let Some(document) = &model.document else { return false };
    let clique = match model.selected() {
        Some(&Item::Clique(clique)) => Some(clique),
        _ => None,
    };
    match until {
        Until::Read => true,
        Until::Opened(name) => document.title() == *name && document.result.is_some(),
        Until::Observed(variable, state) => {
            let network = document.network();
            network
                .find(variable)
                .is_some_and(|id| document.evidence.observed(id) == network[id].state_index(state))
        }
        Until::FillEdges => model.fill_edges,
        Until::CliqueSelected => clique.is_some(),
        Until::LargestSelected => {
            let tree = model.compiled().map(|compiled| compiled.tree());
            clique.zip(tree).is_some_and(|(clique, tree)| {
                tree.cliques()
                    .get(clique.index())
                    .is_some_and(|found| found.entries == tree[largest(tree)].entries)
            })
        }
        Until::VariableSelected => matches!(model.selected(), Some(Item::Variable(_))),
        Until::Walking => model.stepping.is_some(),
        Until::Walked => {
            model.stepping.zip(model.compiled()).is_some_and(|(stepping, compiled)| {
                stepping.mode == SteppingMode::Plan
                    && stepping.player.step() == compiled.plan().messages().len()
            })
        }
        Until::SlowMotion => {
            model.stepping.is_some_and(|stepping| stepping.mode == SteppingMode::SlowMotion)
        }
    }
}

/// `text` with the numbers of what is open in place of the names in braces; a dash where there is
/// no number yet.
fn filled_in(text: &str, model: &Model) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        filled.push_str(&number(name, model).unwrap_or_else(|| "–".to_owned()));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

fn number(name: &str, model: &Model) -> Option<String> {
    let document = model.document.as_ref()?;
    if let Some((variable, state)) = name.split_once('=') {
        let network = document.network();
        let id = network.find(variable)?;
        let state = network[id].state_index(state)?;
        return Some(numbers::percent(document.result.as_ref()?.posteriors.of(id)[state]));
    }
    if name == "variables" {
        return Some(numbers::thousands(document.network().variables().len() as u64));
    }
    if name == "time" {
        return Some(numbers::duration(document.result.as_ref()?.took()));
    }
    let compiled = model.compiled()?;
    let tree = compiled.statistics();
    Some(numbers::thousands(match name {
        "cliques" => tree.cliques as u64,
        "largest" => tree.max_clique_entries,
        "total" => tree.total_clique_entries,
        "separator" => tree.mean_separator_entries.round() as u64,
        "messages" => compiled.plan().messages().len() as u64,
        "fill" => compiled.fill_edges().len() as u64,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model_with;

    #[test]
    fn texts_carry_the_numbers_of_what_is_open() {
        let model = model_with("asia", "sequential", &[("xray", "yes")]);
        let text = filled_in("{variables} variables, {messages} messages, {lung=yes}.", &model);
        assert_eq!(text, "8 variables, 10 messages, 48.9%.");
        let nothing = model_with("", "sequential", &[]);
        assert_eq!(filled_in("{cliques} cliques", &nothing), "– cliques");
    }

    #[test]
    fn every_name_in_every_text_has_a_number() {
        let model = model_with("asia", "sequential", &[]);
        for step in LESSONS.iter().flat_map(|lesson| &lesson.steps) {
            let text = filled_in(&step.text, &model);
            assert!(!text.contains('–') && !text.contains('{'), "{text}");
        }
    }
}
