//! Applies undo and redo.

use super::Workbench;
use crate::app::state::cases;
use crate::app::state::evidence;
use crate::app::state::history::{HistoryCommand, ReplacedValue};
use crate::app::state::left_evidence::LeftEvidence;

impl Workbench {
    /// Undoes or redoes a change.
    pub(super) fn apply_to_history(&mut self, command: HistoryCommand) {
        if self.core.model.document.is_none() {
            return;
        }
        let left_evidence = self.left_evidence();
        let serial = self.serial();
        let mut history = std::mem::take(&mut self.history);
        history.step(command, |value| self.put_back(value, left_evidence));
        self.history = history;
        if self.serial() != serial {
            let title = self.core.model.document.as_ref().map(|document| document.title());
            let back = match command {
                HistoryCommand::Undo => "Redo (Ctrl+Shift+Z)",
                HistoryCommand::Redo => "Undo (Ctrl+Z)",
            };
            self.core.notices.info(&format!(
                "The network {} is open again. {back} returns to the other one.",
                title.unwrap_or_default()
            ));
        }
    }

    /// The serial number of the open network.
    fn serial(&self) -> Option<u64> {
        self.core.model.document.as_ref().map(|document| document.serial)
    }

    /// Puts `value` back, and returns the value that it replaces. `left_evidence` is the result of
    /// [`left_evidence`](Self::left_evidence). It is stored if `value` replaces the open network.
    fn put_back(&mut self, value: ReplacedValue, left_evidence: LeftEvidence) -> ReplacedValue {
        let core = &mut self.core;
        match value {
            ReplacedValue::Evidence(evidence) => {
                let before = core.document().map(|document| document.evidence.clone());
                evidence::set(core, evidence);
                ReplacedValue::Evidence(before.unwrap_or_default())
            }
            ReplacedValue::Case { number, index, case } => {
                let before = cases::set(core, &mut self.case_store, number, index, case);
                ReplacedValue::Case { number, index, case: before }
            }
            ReplacedValue::Network { mut document, touched } => {
                core.model.settings.left_evidence = left_evidence;
                core.clear_failure();
                if core.requests.opening.is_some() {
                    // The network that was being opened is not opened any more.
                    self.recovery.failed_to_open();
                }
                // The document was stored without its tree and results. A new serial number makes
                // the session compute and report them again, even if it still holds them.
                let serial = core.requests.next_serial();
                let elimination = core.model.elimination.as_mut();
                if let Some(elimination) = elimination.filter(|e| e.serial == document.serial) {
                    elimination.serial = serial;
                }
                document.serial = serial;
                core.requests.use_orders(&core.model.settings.orders);
                let before = self.replace_document(*document).expect("a network is open");
                self.core.request();
                ReplacedValue::Network { document: Box::new(before.without_results()), touched }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Settings;
    use crate::app::testing::model;

    #[test]
    fn a_network_that_returns_is_compiled_with_the_orders_known_by_then() {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.core.model.document = model("child").document;
        let earlier = model("asia").document.expect("a network is open");
        workbench.history.record_network(&earlier);
        let compiled = earlier.compiled.as_ref().expect("a compiled network");
        let (graph, order) = (compiled.moral_graph(), compiled.elimination_order());
        // Recorded as better than every known order: with one entry in total.
        assert!(workbench.core.model.settings.orders.insert(graph, &order, 1));
        assert_ne!(workbench.core.requests.orders.entries(graph), Some(1));
        workbench.apply_to_history(HistoryCommand::Undo);
        assert_eq!(workbench.core.requests.orders.entries(graph), Some(1));
    }
}
