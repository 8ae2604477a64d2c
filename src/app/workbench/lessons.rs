//! Lessons. The user's own work is set aside while a lesson is taken.

use eframe::egui;

use super::Workbench;
use crate::app::state::command::{EngineCommand, LessonCommand};
use crate::app::state::lessons::{Action, Course, LESSONS, LessonStep, UserWork};
use crate::app::state::pane_layout;
use crate::format::NetworkSource;
use crate::network::Evidence;

impl Workbench {
    /// Applies `command` to the lesson that the user is taking, or starts one.
    pub(super) fn apply_to_lesson(&mut self, ctx: &egui::Context, command: LessonCommand) {
        match command {
            LessonCommand::Start(lesson) => self.start_lesson(ctx, lesson),
            LessonCommand::Next => self.next_step(ctx),
            LessonCommand::Back => {
                let Some(course) = &self.course else { return };
                let step = course.step_index().saturating_sub(1);
                self.enter_step(step);
            }
            LessonCommand::DoIt => self.do_step(ctx),
            LessonCommand::Leave => self.leave_lesson(ctx, true),
            LessonCommand::Stay => self.leave_lesson(ctx, false),
        }
        ctx.request_repaint();
    }

    fn start_lesson(&mut self, ctx: &egui::Context, lesson: usize) {
        let Some(script) = LESSONS.get(lesson) else { return };
        // If the user is taking another lesson, restore the work that it set aside.
        self.leave_lesson(ctx, true);
        let core = &mut self.core;
        let left_at = core.model.settings.lessons.get(&script.id).copied().unwrap_or(0);
        let step = left_at.min(script.steps.len() - 1);
        let user_work = UserWork {
            selected: core.model.selected().cloned(),
            history: std::mem::take(&mut self.history),
            document: core.model.document.take(),
            layout: core.layout.clone(),
            compute: core.model.compute,
            fill_edges: core.model.fill_edges,
        };
        let course = Course::new(lesson, step, user_work);
        let (network, findings) = course.sample_and_findings_at(step);
        self.course = Some(course);
        self.explanations.forget(&mut core.model);
        let shows_fill_edges = |step: &LessonStep| step.action == Some(Action::FillEdges);
        core.model.fill_edges = script.steps[..step].iter().any(shows_fill_edges);
        self.begin_opening(NetworkSource::Named(network), findings);
        self.enter_step(step);
    }

    fn enter_step(&mut self, step: usize) {
        let Some(course) = &mut self.course else { return };
        course.go_to(step);
        self.core.model.settings.lessons.insert(course.lesson().id.clone(), step);
        if let Some(pane) = course.step().show {
            pane_layout::show_pane(&mut self.core.layout, pane);
        }
    }

    fn next_step(&mut self, ctx: &egui::Context) {
        let Some(course) = &self.course else { return };
        if !course.is_done(&self.core.model) {
            self.do_step(ctx);
        }
        let Some(course) = &self.course else { return };
        if course.is_at_end() {
            self.core.model.settings.lessons.remove(&course.lesson().id);
            self.leave_lesson(ctx, true);
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

    /// Leaves the lesson, if the user is taking one. With `restore`, restores the work that was set
    /// aside; otherwise the network of the lesson stays open.
    fn leave_lesson(&mut self, ctx: &egui::Context, restore: bool) {
        if !restore {
            // The work that was set aside is dropped, so undo must be able to enter its evidence.
            self.core.model.settings.left_evidence = self.left_evidence();
        }
        let Some(course) = self.course.take() else { return };
        let core = &mut self.core;
        core.model.stepping = None;
        let before = course.into_user_work();
        let Some(mut document) = before.document.filter(|_| restore) else { return };
        core.requests.opening = None;
        document.running = None;
        core.model
            .compute
            .set_triangulation(before.compute.triangulation, &mut core.model.settings);
        core.model.fill_edges = before.fill_edges;
        self.explanations.forget(&mut core.model);
        core.layout = before.layout;
        self.history = before.history;
        // What was requested for the lesson's network does not apply to the restored one.
        let result = document.result.as_ref();
        core.requests.evidence = result.map_or_else(Evidence::none, |r| r.evidence.clone());
        core.requests.cases = [].into();
        // The session reads the network again; the document is shown meanwhile.
        core.model.document = Some(document);
        self.cases.list(core);
        core.select(before.selected);
        self.apply(ctx, EngineCommand::SetEngine(before.compute.engine).into());
    }
}
