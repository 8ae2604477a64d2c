//! Carrying out undo and redo.

use crate::app::state::cases::CaseStore;
use crate::app::state::core::Core;
use crate::app::state::evidence;
use crate::app::state::history::{History, HistoryCommand, Past};

/// Applies `command` to the open document.
pub(crate) fn apply(
    core: &mut Core,
    history: &mut History,
    cases: &mut CaseStore,
    command: HistoryCommand,
) {
    if core.model.document.is_some() {
        history.step(command, |past| restore(core, cases, past));
    }
}

/// Restores `past`, and returns what it replaced.
fn restore(core: &mut Core, cases: &mut CaseStore, past: Past) -> Past {
    match past {
        Past::Evidence(evidence) => {
            let now = core.document().map(|document| document.evidence.clone());
            evidence::set(core, evidence);
            Past::Evidence(now.unwrap_or_default())
        }
        Past::Case { number, index, case } => {
            let now = cases.replace_listed(core, number, index, case);
            Past::Case { number, index, case: now }
        }
    }
}
