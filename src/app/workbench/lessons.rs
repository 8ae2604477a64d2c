//! Starts, advances and ends lessons. During a lesson, the user's own work is set aside.

use std::path::Path;
use std::sync::Arc;

use eframe::egui;

use super::Workbench;
use crate::app::state::command::{LessonCommand, StepCommand};
use crate::app::state::evidence;
use crate::app::state::lessons::{self, Action, Course, Lesson, LessonStep, UserWork};
use crate::app::state::named_finding::NamedFinding;

/// What is open after the user left a lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LessonEnd {
    /// The work that was set aside for the lesson; the network of the lesson if no network was open
    /// when the lesson started.
    RestoreWork,
    /// The network of the lesson; the work that was set aside if that network is not open yet.
    KeepNetwork,
}

impl Workbench {
    /// Applies `command` to the lesson that the user is taking, or starts one.
    pub(super) fn apply_to_lesson(&mut self, ctx: &egui::Context, command: LessonCommand) {
        match command {
            LessonCommand::Start(lesson) => self.start_lesson(&lesson),
            LessonCommand::OpenFile(path) => self.open_lesson(&path),
            LessonCommand::Next => self.next_step(ctx),
            LessonCommand::Back => {
                let Some(course) = &self.course else { return };
                let Some(step) = course.step_index().checked_sub(1) else { return };
                self.restore_step(ctx, step);
                self.enter_step(step);
            }
            LessonCommand::Predict(option) => self.answer(Some(option)),
            LessonCommand::ShowAnswer => self.answer(None),
            LessonCommand::DoIt => self.do_step(ctx),
            LessonCommand::Leave => self.leave_lesson(LessonEnd::RestoreWork),
            LessonCommand::Stay => self.leave_lesson(LessonEnd::KeepNetwork),
        }
        ctx.request_repaint();
    }

    /// Reads the lesson in the file at `path`, adds it to the menu in place of an earlier version,
    /// and starts it. If there is a mistake in the file, says so and changes nothing.
    fn open_lesson(&mut self, path: &Path) {
        match lessons::read(path).map(Arc::new) {
            Ok(lesson) => {
                let opened = &mut self.core.model.opened_lessons;
                opened.retain(|other| other.id != lesson.id);
                opened.push(Arc::clone(&lesson));
                self.start_lesson(&lesson);
            }
            Err(message) => {
                self.core.model.failure = Some(format!("The lesson: {message}"));
                self.core.requests.failed_to_open = true;
            }
        }
    }

    /// Sets `pointed` to the state that the current step asks the user to observe, if any. Also
    /// stores the numbers of the step, if the lesson compares them with those of other steps. Call
    /// this once a frame.
    pub(super) fn follow_lesson(&mut self) {
        let is_settled = self.is_settled();
        let model = &mut self.core.model;
        model.pointed = self.course.as_ref().and_then(|course| course.pointed(model));
        if let Some(course) = self.course.as_mut().filter(|_| is_settled) {
            course.keep_numbers(model);
        }
    }

    /// Answers the question of the current step, with `option` if the user chose one.
    fn answer(&mut self, option: Option<usize>) {
        if let Some(course) = &mut self.course {
            course.answer(option);
        }
    }

    /// Starts `lesson` at the step where it was left.
    fn start_lesson(&mut self, lesson: &Arc<Lesson>) {
        // If the user is already taking a lesson, first restore the work that was set aside for it.
        self.leave_lesson(LessonEnd::RestoreWork);
        let core = &mut self.core;
        let left_at = core.model.settings.lessons.get(&lesson.id).copied().unwrap_or(0);
        let step = left_at.min(lesson.steps.len() - 1);
        let user_work = UserWork {
            selected: core.model.selected().cloned(),
            history: std::mem::take(&mut self.history),
            document: core.model.document.take(),
            layout: core.layout_to_store().into_owned(),
            compute: core.model.compute,
            settings: core.model.settings.clone(),
            fill_edges: core.model.fill_edges,
        };
        let course = Course::new(Arc::clone(lesson), step, user_work);
        let (source, findings) = course.network_and_findings_at(step);
        self.course = Some(course);
        self.explanations.forget(&mut core.model);
        let shows_fill_edges = |step: &LessonStep| step.action == Some(Action::FillEdges);
        core.model.fill_edges = lesson.steps[..step].iter().any(shows_fill_edges);
        self.begin_opening(source, findings);
        self.enter_step(step);
        if step > 0 {
            self.core.notices.info(&format!(
                "The lesson continues at step {}, where you left it; Back goes to the earlier steps",
                step + 1
            ));
        }
    }

    /// Goes to the step with index `step`, stores it in the settings, and brings its pane to the
    /// front.
    fn enter_step(&mut self, step: usize) {
        let Some(course) = &mut self.course else { return };
        course.go_to(step);
        self.core.model.settings.lessons.insert(course.lesson().id.clone(), step);
        self.show_pane_of_step();
    }

    /// Brings the pane of the current step to the front, and maximises it if the step says so.
    pub(super) fn show_pane_of_step(&mut self) {
        let Some(course) = &self.course else { return };
        let (pane, maximise) = (course.step().pane(), course.step().maximise);
        if let Some(pane) = pane {
            self.core.show_pane(pane);
        }
        self.core.model.maximised = pane.filter(|_| maximise);
    }

    /// Opens the network and enters the evidence with which the step with index `step` ended, so
    /// that the step does not show numbers of a later one. If this network is open already, also
    /// steps through messages if this step or an earlier one in this network does, and otherwise
    /// ends stepping.
    fn restore_step(&mut self, ctx: &egui::Context, step: usize) {
        let Some(course) = &self.course else { return };
        let (source, findings) = course.network_and_findings_at(step + 1);
        let actions = course.lesson().steps[..=step].iter().filter_map(|step| step.action.as_ref());
        // Stepping ends when another network is opened.
        let mut actions = actions.rev().take_while(|action| !matches!(action, Action::Open(_)));
        let stepping = actions.find(|action| action.steps_through_messages()).cloned();
        // A network that is still being opened would replace the one that is open.
        let is_opening = self.core.requests.opening.is_some();
        let document = self.core.model.document.as_ref().filter(|_| !is_opening);
        let open = document.filter(|document| course.has_network_at(step + 1, document));
        let Some(document) = open else {
            _ = self.begin_opening(source, findings);
            return;
        };
        let evidence = NamedFinding::enter_all(&findings, document.network());
        if let Some(evidence) = evidence.ok().filter(|evidence| *evidence != document.evidence) {
            evidence::change(&mut self.core, &mut self.history, |current| *current = evidence);
        }
        let commands: &[StepCommand] = match (stepping, self.core.model.stepping.is_some()) {
            (None, true) => &[StepCommand::End],
            (Some(Action::StepToEnd), false) => &[StepCommand::Begin, StepCommand::Last],
            (Some(Action::SlowMotion), false) => &[StepCommand::SlowMotion],
            (Some(Action::RecordedRuns), false) => &[StepCommand::RecordedRuns],
            (Some(_), false) => &[StepCommand::Begin],
            _ => &[],
        };
        for command in commands {
            self.apply(ctx, (*command).into());
        }
    }

    /// Goes to the next step. If the task of the current step is not done, does it first, and stays
    /// in the step if it has more to show once its task is done. After the last step, the lesson
    /// ends. Does nothing before the question of the step is answered.
    fn next_step(&mut self, ctx: &egui::Context) {
        let Some(course) = self.course.as_ref().filter(|course| course.open_question().is_none())
        else {
            return;
        };
        if !course.is_done(&self.core.model) {
            let stays = course.step().has_result();
            self.do_step(ctx);
            if stays {
                return;
            }
        }
        let Some(course) = &self.course else { return };
        if course.is_at_end() {
            self.core.model.settings.lessons.remove(&course.lesson().id);
            self.leave_lesson(LessonEnd::RestoreWork);
        } else {
            let step = course.step_index() + 1;
            self.enter_step(step);
        }
    }

    /// Does the task of the current step for the user.
    fn do_step(&mut self, ctx: &egui::Context) {
        let command = self.course.as_ref().and_then(|course| course.command(&self.core.model));
        if let Some(command) = command {
            self.apply(ctx, command);
        }
    }

    /// Leaves the lesson, if the user is taking one.
    pub(super) fn leave_lesson(&mut self, end: LessonEnd) {
        if self.end_lesson(end) {
            // The session compiles the network again. In the meantime, the document with its
            // results is shown.
            self.core.request();
        }
    }

    /// As [`leave_lesson`](Self::leave_lesson), but requests nothing. Returns whether another
    /// document is open now.
    pub(super) fn end_lesson(&mut self, end: LessonEnd) -> bool {
        if end == LessonEnd::KeepNetwork {
            // The network that was set aside is closed. Store its evidence, so that undo can enter
            // it in a later run too.
            self.core.model.settings.left_evidence = self.left_evidence();
        }
        let Some(course) = self.course.take() else { return false };
        let core = &mut self.core;
        core.model.stepping = None;
        let before = course.into_user_work();
        core.model.maximised = None;
        core.model.settings.copy_compute_options(&before.settings);
        let Some(document) = before.document else { return false };
        if end == LessonEnd::KeepNetwork && core.model.document.is_some() {
            self.history.follow(before.history, &document);
            return false;
        }
        core.model.compute = before.compute;
        core.model.fill_edges = before.fill_edges;
        self.replace_document(document);
        self.core.set_layout(before.layout);
        self.core.select(before.selected);
        self.history = before.history;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Settings;
    use crate::app::state::command::EngineCommand;
    use crate::app::state::lessons::LESSONS;
    use crate::app::testing::model;
    use crate::engine::{by_name, default_engine};
    use crate::graph::{Heuristic, Triangulation};
    use crate::propagation::MemoryLimit;
    use crate::session::EngineChoice;

    #[test]
    fn leaving_a_lesson_restores_the_options_of_the_run_and_the_stored_settings() {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.core.model.document = model("asia").document;
        let sequential = by_name("sequential").expect("an engine of this name");
        let from_command_line = Settings {
            engine: sequential.name().to_owned(),
            memory: Some(MemoryLimit::from_bytes(1 << 30)),
            ..Settings::default()
        };
        workbench.use_for_this_run(&from_command_line);
        let before = workbench.core.model.compute;

        let ctx = egui::Context::default();
        workbench.run_command(&ctx, LessonCommand::Start(Arc::clone(&LESSONS[0])));
        let other_engine = EngineChoice { engine: default_engine(), ..before.engine };
        let other_method = Triangulation::By(Heuristic::MinFill);
        workbench.run_command(&ctx, EngineCommand::SetEngine(other_engine));
        workbench.run_command(&ctx, EngineCommand::SetTriangulation(other_method));
        workbench.run_command(&ctx, EngineCommand::SetMemoryLimit(None));
        assert_ne!(workbench.core.model.compute, before);

        let stored = |workbench: &Workbench| {
            let settings = workbench.settings();
            (settings.engine, settings.triangulation, settings.memory)
        };
        let default = Settings::default();
        let expected = (default.engine, default.triangulation, default.memory);
        assert_eq!(stored(&workbench), expected, "during the lesson");
        workbench.run_command(&ctx, LessonCommand::Leave);
        assert_eq!(workbench.core.model.compute, before);
        assert_eq!(stored(&workbench), expected, "after the lesson");
    }
}
