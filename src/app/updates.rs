//! What the worker tells becomes the model.

use std::sync::Arc;

use crate::app::state::highlight::{Highlight, Item};
use crate::app::state::model::{Document, MeasuredOverhead};
use crate::app::state::recordings::Recorded;
use crate::app::workbench::{NamedFinding, Workbench};
use crate::format::{Origin, ReadNetwork};
use crate::graph::{KnownOrders, Triangulation};
use crate::network::{Evidence, EvidenceError, Network};
use crate::numbers;
use crate::session::{EngineChoice, Failure, Propagation, Step, Update};

/// Characters in a line of a notice.
const TOAST_COLUMNS: usize = 64;

impl Workbench {
    /// Takes in everything that the worker has told since the last frame.
    pub(crate) fn hear(&mut self) {
        if let Some(answer) = self.explainer.answer() {
            self.model.explained = Some(answer);
        }
        self.poll_experiment();
        let updates: Vec<(u64, Update)> = self.session.updates().collect();
        for (serial, update) in updates {
            let of_opening = self.opening.as_ref().is_some_and(|opening| opening.serial == serial);
            let document = self.model.document.as_ref();
            let of_document = document.is_some_and(|document| document.serial == serial);
            // What is told of a network that nobody wants any more must not reach another's document.
            if of_opening || of_document {
                self.take_in(update);
            }
        }
    }

    fn take_in(&mut self, update: Update) {
        match update {
            Update::Started(step) => {
                self.model.working = Some(step);
                // What goes on with the network that stayed open says nothing of the other.
                if step <= Step::Propagate && !self.failed_to_open {
                    self.model.failure = None;
                }
                if let (Step::Load, Some(document)) = (step, self.document()) {
                    document.engine_bytes = None;
                    document.stand_in = None;
                }
            }
            Update::FellBack { wanted, engine, reason } => self.fell_back(wanted, engine, reason),
            Update::Opened(read) => self.opened(read),
            Update::Compiled(compiled) => {
                let found = compiled.triangulation() == Some(Triangulation::Auto);
                if found && KnownOrders::shipped().find(compiled.moral_graph()).is_none() {
                    let entries = compiled.statistics().total_clique_entries;
                    let (graph, order) = (compiled.moral_graph(), compiled.elimination_order());
                    self.settings.orders.insert(graph, &order, entries);
                }
                // Cliques and messages of the old tree mean nothing in the new one, unless they are
                // there as well.
                let kept = match (self.model.selected(), self.model.compiled()) {
                    (Some(Item::Variable(variable)), _) => Some(Item::Variable(*variable)),
                    (Some(item), Some(old)) => item.in_tree(old, &compiled),
                    _ => None,
                };
                let recordings = self.model.recordings;
                self.forget_messages();
                if let Some(document) = self.document() {
                    document.recorded = Recorded::on_tree(recordings, &document.title(), &compiled);
                    document.shown = None;
                    document.compiled = Some(compiled);
                    document.running = None;
                    document.engine_bytes = None;
                }
                self.select(kept);
                self.model.hover = Highlight::default();
                self.go_on_improving();
            }
            Update::Loaded { peak_bytes, launch_overhead, launch, .. } => {
                if let Some(document) = self.document() {
                    document.engine_bytes = Some(peak_bytes);
                    document.launch_overhead = launch_overhead;
                    document.launch = launch;
                }
            }
            Update::Propagating(watch) => {
                if let Some(document) = self.document() {
                    document.running = Some(watch);
                }
            }
            Update::Prior(prior) => {
                if let Some(document) = self.document() {
                    document.prior = Some(prior);
                    document.running = None;
                }
            }
            Update::Propagated(result) => {
                if let Some(document) = self.document() {
                    document.result = Some(result);
                    document.running = None;
                    document.impossible = None;
                }
            }
            Update::Untraced(result) => {
                self.note_overhead(&result);
                if let Some(document) = self.document() {
                    document.result = Some(result);
                }
            }
            Update::Answered(evidence, answer) => self.answered(&evidence, &answer),
            Update::Improved(orders) => self.improved(&orders),
            Update::ImprovementEnded => self.improvement_ended(),
            Update::Cancelled(step) => {
                self.stop_working();
                self.toasts.info(format!("Stopped {}", step.gerund()));
            }
            Update::Failed(step, failure) => self.failed(step, failure),
            Update::Idle => self.stop_working(),
        }
    }

    /// Keeps what launching took, if the engine launches anything.
    fn note_overhead(&mut self, result: &Propagation) {
        let Some(document) = &self.model.document else { return };
        let Some(overhead) = document.launch_overhead.filter(|_| result.evidence.is_empty()) else {
            return;
        };
        let measured = MeasuredOverhead {
            network: document.title(),
            engine: result.engine.title(),
            overhead_us: overhead.as_secs_f64() * 1e6,
            whole_us: result.took().as_secs_f64() * 1e6,
        };
        let same = |known: &MeasuredOverhead| {
            known.network == measured.network && known.engine == measured.engine
        };
        self.model.overheads.retain(|known| !same(known));
        self.model.overheads.push(measured);
    }

    fn stop_working(&mut self) {
        self.model.working = None;
        if let Some(document) = self.document() {
            document.running = None;
        }
    }

    fn opened(&mut self, read: Arc<ReadNetwork>) {
        let Some(opening) = self.opening.take() else { return };
        self.recovery.opened(opening.serial);
        if let Origin::File(path) = &read.origin {
            // Absolute: the next run may begin in another folder.
            self.settings.remember(std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        }
        let mut evidence = Evidence::none();
        for (variable, finding) in &opening.evidence {
            if let Err(error) = enter(&mut evidence, &read.network, variable, finding) {
                self.complain(&error.to_string());
            }
        }
        self.settings.earlier = self.known_by_now();
        let left = self.model.document.replace(Document {
            source: opening.source,
            serial: opening.serial,
            engine: self.model.engine,
            read,
            compiled: None,
            evidence,
            cases: Vec::new(),
            prior: None,
            result: None,
            recorded: Vec::new(),
            shown: None,
            running: None,
            impossible: None,
            engine_bytes: None,
            stand_in: None,
            launch_overhead: None,
            launch: None,
        });
        self.forget_messages();
        self.model.selection = Highlight::default();
        self.model.hover = Highlight::default();
        self.list_cases();
        // Those of the network before mean nothing in this one.
        self.compared = [].into();
        self.follow_on(left.as_ref());
        self.request();
    }

    fn fell_back(&mut self, wanted: EngineChoice, engine: EngineChoice, reason: String) {
        self.warn(&format!(
            "Engine {} cannot be used, so engine {} propagates: {reason}. Propagate (F5) tries it again.",
            wanted.engine.name(),
            engine.engine.name(),
        ));
        if let Some(document) = self.document() {
            document.stand_in = Some((engine, reason));
        }
    }

    fn failed(&mut self, step: Step, failure: Failure) {
        self.stop_working();
        let message = failure.to_string();
        if step == Step::Open {
            self.opening = None;
            self.recovery.failed();
            self.failed_to_open = true;
            // What was open stays open, and what was interrupted for the other is taken up again.
            self.request();
            self.go_on_improving();
        }
        if let (Failure::Impossible(impossible), Some(document)) = (failure, self.document()) {
            document.impossible = Some(impossible);
        }
        self.model.failure = Some(message);
    }

    /// Shows no more what failed.
    pub(crate) fn forget_failure(&mut self) {
        self.model.failure = None;
        self.failed_to_open = false;
    }

    /// Tells of something that went otherwise than the user may think.
    pub(crate) fn warn(&mut self, message: &str) {
        self.toasts.warning(numbers::wrapped(message, TOAST_COLUMNS));
    }

    /// Tells of something that was done, or can be.
    pub(crate) fn tell(&mut self, message: &str) {
        self.toasts.info(numbers::wrapped(message, TOAST_COLUMNS));
    }

    /// Tells of something that was asked for and did not work.
    pub(crate) fn complain(&mut self, message: &str) {
        self.toasts.error(numbers::wrapped(message, TOAST_COLUMNS));
    }
}

pub(crate) fn enter(
    evidence: &mut Evidence,
    network: &Network,
    variable: &str,
    finding: &NamedFinding,
) -> Result<(), EvidenceError> {
    match finding {
        NamedFinding::State(state) => evidence.observe_named(network, variable, state),
        NamedFinding::Likelihood(weights) => {
            evidence.set_likelihood_named(network, variable, weights.clone())
        }
    }
}
