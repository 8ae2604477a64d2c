//! Receiving the updates of the session.

use std::sync::Arc;

use super::Workbench;
use crate::app::state::cases;
use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::improvement;
use crate::app::state::model::MeasuredOverhead;
use crate::app::state::recordings::RecordedRunRef;
use crate::engine::LoadError;
use crate::graph::{KnownOrders, Triangulation};
use crate::propagation::CompiledNetwork;
use crate::safe_text::shortened;
use crate::session::{EngineChoice, Failure, Propagation, Step, Update};

/// Maximum number of characters of a failure on screen. A message is longer only if it contains a
/// name from a file, which may have any length; such a message is shortened.
const MAX_FAILURE: usize = 4000;

impl Workbench {
    /// Receives everything that other threads reported since the last frame.
    pub(super) fn receive_updates(&mut self) {
        self.explanations.receive(&mut self.core.model);
        let (model, session) = (&mut self.core.model, &self.core.requests.session);
        let open = model.document.as_ref().and_then(|document| document.compiled.as_ref());
        self.experiments.receive(&mut model.experiments, session, open);
        self.long_case_reader.receive(&mut self.core, &mut self.history, &mut self.case_store);
        let updates: Vec<(u64, Update)> = self.core.requests.session.updates().collect();
        for (serial, update) in updates {
            let opening = self.core.requests.opening.as_ref().map(|opening| opening.serial);
            let document = self.core.model.document.as_ref().map(|document| document.serial);
            // Other updates are about networks that were replaced in the meantime.
            if opening == Some(serial) || document == Some(serial) {
                self.receive(update);
            }
        }
    }

    /// Receives one update about the network that is open or being opened.
    fn receive(&mut self, update: Update) {
        if let Update::Started(_) | Update::Idle | Update::Cancelled(_) | Update::Failed(..) =
            update
        {
            self.core.requests.unanswered = false;
        }
        match update {
            Update::Started(step) => self.started(step),
            Update::FellBack { wanted, engine, reason } => self.fell_back(wanted, engine, reason),
            Update::Opened(read) => self.opened(read),
            Update::Compiled(compiled) => self.compiled(compiled),
            Update::Cancelled(step) => {
                self.idle();
                self.core.notices.info(&format!("Stopped {}", step.gerund()));
            }
            Update::Failed(step, failure) => self.failed(step, failure),
            Update::Idle => self.idle(),
            Update::Improved(orders) => improvement::receive(&mut self.core, &orders),
            Update::ImprovementEnded(end) => improvement::receive_end(&mut self.core, end),
            update => self.receive_result(update),
        }
    }

    /// Stores a result of the session in the document.
    fn receive_result(&mut self, update: Update) {
        if let Update::Untraced(result) = &update {
            self.store_overhead(result);
        }
        let Some(document) = self.core.document() else { return };
        match update {
            Update::Loaded { peak_bytes, launch_overhead, launch, .. } => {
                document.engine_bytes = Some(peak_bytes);
                document.launch_overhead = launch_overhead;
                // Keep the launch time: the result in the document may come from an earlier engine,
                // which launched kernels.
                document.launch_time = launch.or(document.launch_time);
            }
            Update::Propagating(watch) => document.running = Some(watch),
            Update::Prior(prior) => {
                document.prior = Some(prior);
                document.running = None;
            }
            Update::Propagated(result) => {
                document.result = Some(result);
                document.running = None;
                document.impossible = None;
            }
            Update::Untraced(result) => document.result = Some(result),
            Update::Answered(evidence, answer) => {
                cases::receive_answer(document, &evidence, &answer);
            }
            _ => {}
        }
    }

    /// The session has started `step`.
    fn started(&mut self, step: Step) {
        let core = &mut self.core;
        core.model.working = Some(step);
        // If another network or a lesson could not be opened, the work on the current network does
        // not hide the error.
        if step <= Step::Propagate && !core.requests.failed_to_open {
            core.model.failure = None;
        }
        match (step, core.document()) {
            (Step::Load, Some(document)) => {
                document.engine_bytes = None;
                document.fallback = None;
            }
            (Step::Reduce, Some(document)) => document.engine_bytes = None,
            _ => {}
        }
    }

    /// The session reports a junction tree: of the whole network, or of the network without the
    /// edges of its observed variables.
    fn compiled(&mut self, compiled: Arc<CompiledNetwork>) {
        let core = &mut self.core;
        let is_auto = compiled.triangulation() == Some(Triangulation::Auto);
        let is_whole = compiled.observed().is_empty();
        if core.model.compiled().is_some_and(|old| old.observed() != compiled.observed()) {
            improvement::cancel(core);
        }
        if is_auto && is_whole && KnownOrders::shipped().find(compiled.moral_graph()).is_none() {
            let entries = compiled.statistics().total_clique_entries;
            let (graph, order) = (compiled.moral_graph(), compiled.elimination_order());
            core.model.settings.orders.insert(graph, &order, entries);
        }
        // A selected clique, separator or message stays selected if the new tree has it too.
        let selected = match (core.model.selected(), core.model.compiled()) {
            (Some(Item::Variable(variable)), _) => Some(Item::Variable(*variable)),
            (Some(item), Some(old)) => item.in_tree(old, &compiled),
            _ => None,
        };
        self.explanations.forget(&mut core.model);
        let recordings = core.model.recordings;
        if let Some(document) = core.document() {
            document.recorded = RecordedRunRef::on_tree(recordings, &document.title(), &compiled);
            (document.shown, document.second_shown) = (None, None);
            document.compiled = Some(compiled);
            document.running = None;
            document.engine_bytes = None;
        }
        core.select(selected);
        core.model.hover = Highlight::default();
        improvement::start_if_wanted(core);
    }

    /// Adds the launch overhead of `result` to the model, in place of an earlier one of the same
    /// network, engine and triangulation. Does nothing if `result` has evidence, or if no launch
    /// overhead was measured, for example because the engine launches no kernels.
    fn store_overhead(&mut self, result: &Propagation) {
        let model = &mut self.core.model;
        let Some(document) = &model.document else { return };
        let Some(overhead) = document.launch_overhead.filter(|_| result.evidence.is_empty()) else {
            return;
        };
        let measured = MeasuredOverhead {
            network: document.title(),
            engine: result.engine.title(),
            triangulation: model.compute.triangulation,
            overhead_us: overhead.as_secs_f64() * 1e6,
            whole_us: result.took().as_secs_f64() * 1e6,
        };
        let is_same = |other: &MeasuredOverhead| {
            other.network == measured.network
                && other.engine == measured.engine
                && other.triangulation == measured.triangulation
        };
        model.overheads.retain(|other| !is_same(other));
        model.overheads.push(measured);
    }

    /// The session has nothing to do.
    fn idle(&mut self) {
        self.core.model.working = None;
        if let Some(document) = self.core.document() {
            document.running = None;
        }
    }

    /// The session uses `engine` instead of `wanted`.
    fn fell_back(&mut self, wanted: EngineChoice, engine: EngineChoice, reason: String) {
        self.core.notices.warning(&format!(
            "Engine {wanted} cannot be used: {reason}. Engine {used} propagates instead. Propagate \
             (F5) tries engine {wanted} again.",
            wanted = wanted.engine.name(),
            used = engine.engine.name(),
        ));
        if let Some(document) = self.core.document() {
            document.fallback = Some((engine, reason));
        }
    }

    /// `step` has failed.
    fn failed(&mut self, step: Step, failure: Failure) {
        self.idle();
        let core = &mut self.core;
        let mut message = failure.to_string();
        if matches!(failure, Failure::Load(LoadError::TooLarge(_))) {
            message.push_str(match step {
                Step::Reduce => {
                    ". Observe more variables: the network without them may be small enough."
                }
                _ => ". Observe some variables: the network without them may be small enough.",
            });
        }
        if step == Step::Open {
            core.requests.opening = None;
            core.requests.failed_to_open = true;
            self.recovery.failed_to_open();
            // The current network stays open: continue the work on it, which was interrupted.
            core.request();
            improvement::start_if_wanted(core);
        }
        if let (Failure::Impossible(impossible), Some(document)) = (failure, core.document()) {
            document.impossible = Some(impossible);
        }
        core.model.failure = Some(shortened(&message, MAX_FAILURE).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use eframe::egui::Context;

    use super::*;
    use crate::app::state::command::LessonCommand;
    use crate::app::state::settings::Settings;
    use crate::app::testing::model;

    #[test]
    fn the_launch_time_stays_known_when_an_engine_without_launches_is_loaded() {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.core.model.document = model("asia").document;
        let engine = workbench.core.model.compute.engine;
        let known = Some(Duration::from_micros(2));
        for launch in [known, None] {
            let (peak_bytes, launch_overhead) = (1, launch);
            workbench.receive(Update::Loaded { engine, peak_bytes, launch_overhead, launch });
            let document = workbench.core.document().unwrap();
            assert_eq!((document.launch_overhead, document.launch_time), (launch, known));
        }
    }

    #[test]
    fn work_on_the_current_network_does_not_hide_that_a_lesson_could_not_be_opened() {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.core.model.document = model("asia").document;
        let absent = "/there/is/no/such/lesson.json".into();
        workbench.run_command(&Context::default(), LessonCommand::OpenFile(absent));
        workbench.receive(Update::Started(Step::Propagate));
        assert!(workbench.core.model.failure.is_some());
    }

    #[test]
    fn the_window_is_not_settled_before_the_session_has_reported_on_a_request() {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.core.model.document = model("asia").document;
        workbench.core.model.compute.engine = workbench.core.document().unwrap().engine();
        assert!(workbench.is_settled());
        workbench.core.request();
        assert!(!workbench.is_settled());
        workbench.receive(Update::Idle);
        assert!(workbench.is_settled());
    }
}
