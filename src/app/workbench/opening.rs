//! Opening, reloading and restoring networks.

use std::sync::Arc;

use super::Workbench;
use super::lessons::LessonEnd;
use crate::app::state::cases;
use crate::app::state::document::Document;
use crate::app::state::history::ReplacedValue;
use crate::app::state::improvement;
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::app::state::pane_layout;
use crate::format::{NetworkOrigin, NetworkSource, ReadNetwork};
use crate::network::Evidence;
use crate::numbers;

impl Workbench {
    /// Requests the network in `source`, and returns the serial number of the opening. `evidence`
    /// is entered once the network has been read.
    pub(super) fn begin_opening(
        &mut self,
        source: NetworkSource,
        evidence: Vec<(String, NamedFinding)>,
    ) -> u64 {
        improvement::cancel(&mut self.core);
        let serial = self.core.requests.open(source, evidence, &self.core.model.settings.orders);
        self.core.clear_failure();
        self.core.request();
        serial
    }

    /// Reads the open network again, and enters the findings that still fit.
    pub(super) fn reload(&mut self) {
        let Some(document) = &self.core.model.document else { return };
        let evidence = NamedFinding::all(document.network(), &document.evidence);
        let source = document.source.clone();
        self.begin_opening(source, evidence);
    }

    /// Restores the offered work of a run that crashed.
    pub(super) fn restore(&mut self) {
        let Some(work) = self.recovery.offered_work().cloned() else { return };
        // A step of the lesson would replace the restored work.
        self.say_that_the_lesson_ends("the evidence of an earlier run is restored");
        self.leave_lesson(LessonEnd::RestoreWork);
        self.core.model.compute = work.compute_options();
        if let Some(layout) = work.layout() {
            self.core.set_layout(layout.clone());
        }
        let serial = self.begin_opening(work.network.into_source(), work.evidence);
        self.recovery.restore_with(serial);
    }

    /// Receives the requested network, which becomes the document.
    pub(super) fn opened(&mut self, read: Arc<ReadNetwork>) {
        let Some(opening) = self.core.requests.opening.take() else { return };
        self.recovery.opened(opening.serial);
        if let NetworkOrigin::File(path) = &read.origin {
            // The next run may start in another folder.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            self.core.model.settings.remember(path);
        }
        let mut evidence = Evidence::none();
        for (variable, finding) in &opening.evidence {
            if let Err(error) = finding.enter(&mut evidence, &read.network, variable) {
                self.core.notices.error(&error.to_string());
            }
        }
        self.leave_other_lesson(&opening.source);
        self.core.model.settings.left_evidence = self.left_evidence();
        let engine = self.core.model.compute.engine;
        let document = Document::new(opening.source, opening.serial, engine, read, evidence);
        let previous = self.replace_document(document);
        // A larger or smaller network may have another layout, with other panes in front.
        self.show_pane_of_step();
        self.continue_history(previous.as_ref());
        for mistake in self.course.iter().flat_map(|course| course.problems(&self.core.model)) {
            self.core.notices.error(&format!("The lesson has a mistake: {mistake}"));
        }
        self.core.request();
    }

    /// Makes `document` the open document, and returns the earlier one. Call `Core::request`
    /// afterwards.
    pub(super) fn replace_document(&mut self, mut document: Document) -> Option<Document> {
        improvement::cancel(&mut self.core);
        let core = &mut self.core;
        self.explanations.forget(&mut core.model);
        core.requests.opening = None;
        // The evidence and the cases of the last request were for the earlier network.
        let result = document.result.as_ref();
        core.requests.evidence = result.map_or_else(Evidence::none, |r| r.evidence.clone());
        core.requests.cases = [].into();
        document.running = None;
        let previous = core.replace_document(document);
        let arrangement = core.arrangement();
        core.change_layout(|core| {
            pane_layout::arrange(&mut core.layout, arrangement);
            core.narrow_layout = None;
        });
        cases::list(core, &self.case_store);
        previous
    }

    /// Leaves the lesson, if the user is taking one that does not use the network in `source`. If
    /// the lesson continued, its next step would replace this network.
    fn leave_other_lesson(&mut self, source: &NetworkSource) {
        if self.course.as_ref().is_some_and(|course| !course.uses(source)) {
            self.say_that_the_lesson_ends("it does not use this network");
            _ = self.end_lesson(LessonEnd::RestoreWork);
        }
    }

    /// Says that the lesson that the user is taking, if there is one, ends for this `reason`.
    fn say_that_the_lesson_ends(&mut self, reason: &str) {
        let Some(course) = &self.course else { return };
        let title = &course.lesson().title;
        self.core.notices.info(&format!(
            "You left the lesson '{title}', because {reason}. Start the lesson again to continue \
             at the same step."
        ));
    }

    /// Adds entries to the history after the open document replaced `previous`. If both are the
    /// same network with the same variables, undo restores the evidence of `previous`.
    ///
    /// Otherwise undo opens `previous` again. If the new network was opened without evidence and
    /// not by a lesson, but had evidence when it was last open, the first undo enters that
    /// evidence, and the second opens `previous`.
    fn continue_history(&mut self, previous: Option<&Document>) {
        let Some(document) = &self.core.model.document else { return };
        let is_same = |previous: &Document| {
            NetworkLocation::of(&previous.source)
                .is_some_and(|location| NetworkLocation::of(&document.source) == Some(location))
                && previous.network().variables() == document.network().variables()
        };
        match previous {
            Some(previous) if is_same(previous) => {
                if previous.evidence != document.evidence {
                    self.history.record(ReplacedValue::Evidence(previous.evidence.clone()));
                }
                return;
            }
            Some(previous) => self.history.record_network(previous),
            None => {}
        }
        if self.course.is_some() || !document.evidence.is_empty() {
            return;
        }
        let Some(evidence) = self.core.model.settings.left_evidence.of(document) else { return };
        let findings = numbers::counted(evidence.len(), "finding", "findings");
        let title = document.title();
        self.history.offer(evidence);
        self.core.notices.info(&format!(
            "{title} had {findings} when it was last open. Undo (Ctrl+Z) restores the evidence."
        ));
    }
}
