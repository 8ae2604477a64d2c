//! Applies undo and redo.

use crate::app::state::cases::CaseStore;
use crate::app::state::core::Core;
use crate::app::state::evidence;
use crate::app::state::history::{History, HistoryCommand, ReplacedValue};

/// Applies `command` to the open document.
pub(crate) fn apply(
    core: &mut Core,
    history: &mut History,
    cases: &mut CaseStore,
    command: HistoryCommand,
) {
    if core.model.document.is_some() {
        history.step(command, |value| restore(core, cases, value));
    }
}

/// Restores `value`, and returns the value that was there before.
fn restore(core: &mut Core, cases: &mut CaseStore, value: ReplacedValue) -> ReplacedValue {
    match value {
        ReplacedValue::Evidence(evidence) => {
            let now = core.document().map(|document| document.evidence.clone());
            evidence::set(core, evidence);
            ReplacedValue::Evidence(now.unwrap_or_default())
        }
        ReplacedValue::Case { number, index, case } => {
            let now = cases.replace_listed(core, number, index, case);
            ReplacedValue::Case { number, index, case: now }
        }
    }
}
