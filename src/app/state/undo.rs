//! Applies undo and redo.

use crate::app::state::case_store::CaseStore;
use crate::app::state::cases;
use crate::app::state::core::Core;
use crate::app::state::evidence;
use crate::app::state::history::{History, HistoryCommand, ReplacedValue};

/// Applies `command` to the open document.
pub(crate) fn apply(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    command: HistoryCommand,
) {
    if core.model.document.is_some() {
        history.step(command, |value| restore(core, store, value));
    }
}

/// Restores `value`, and returns the value that it replaces.
fn restore(core: &mut Core, store: &mut CaseStore, value: ReplacedValue) -> ReplacedValue {
    match value {
        ReplacedValue::Evidence(evidence) => {
            let before = core.document().map(|document| document.evidence.clone());
            evidence::set(core, evidence);
            ReplacedValue::Evidence(before.unwrap_or_default())
        }
        ReplacedValue::Case { number, index, case } => {
            let before = cases::set(core, store, number, index, case);
            ReplacedValue::Case { number, index, case: before }
        }
    }
}
