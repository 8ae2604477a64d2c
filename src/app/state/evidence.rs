//! Entering and retracting findings.

use crate::app::state::core::Core;
use crate::app::state::history::{History, ReplacedValue};
use crate::network::{Evidence, Finding, VariableId};

/// A command about the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum EvidenceCommand {
    /// Observe this state, or retract the finding if this state is already observed.
    Toggle(VariableId, usize),
    /// Enter this finding, in place of the variable's current one if there is one.
    Set(VariableId, Finding),
    /// As `Set`, while a slider moves. Changes of one `gesture` are undone together.
    Adjust {
        /// The variable.
        variable: VariableId,
        /// The new finding.
        finding: Finding,
        /// Changes whenever the user presses a slider again.
        gesture: u64,
    },
    /// Retract the finding of a variable.
    Retract(VariableId),
    /// Retract all findings.
    Clear,
}

/// Applies `command` to the open document.
pub(crate) fn apply(core: &mut Core, history: &mut History, command: EvidenceCommand) {
    let gesture = match command {
        EvidenceCommand::Adjust { variable, gesture, .. } => Some((variable, gesture)),
        _ => None,
    };
    change_in_gesture(core, history, gesture, |evidence| match command {
        EvidenceCommand::Toggle(variable, state) if evidence.observed(variable) == Some(state) => {
            evidence.retract(variable);
        }
        EvidenceCommand::Toggle(variable, state) => {
            evidence.insert(variable, Finding::Observed(state));
        }
        EvidenceCommand::Set(variable, finding)
        | EvidenceCommand::Adjust { variable, finding, .. } => evidence.insert(variable, finding),
        EvidenceCommand::Retract(variable) => _ = evidence.retract(variable),
        EvidenceCommand::Clear => evidence.clear(),
    });
}

/// Changes the evidence of the open document. The user can undo the change.
pub(crate) fn change(core: &mut Core, history: &mut History, change: impl FnOnce(&mut Evidence)) {
    change_in_gesture(core, history, None, change);
}

/// As [`change`]. Changes with the same `gesture` that follow each other are undone together.
fn change_in_gesture(
    core: &mut Core,
    history: &mut History,
    gesture: Option<(VariableId, u64)>,
    change: impl FnOnce(&mut Evidence),
) {
    let Some(document) = &core.model.document else { return };
    let mut evidence = document.evidence.clone();
    change(&mut evidence);
    if evidence != document.evidence {
        history.record_in_gesture(ReplacedValue::Evidence(document.evidence.clone()), gesture);
        set(core, evidence);
    }
}

/// Replaces the evidence of the open document, and requests its propagation if automatic
/// propagation is on.
pub(crate) fn set(core: &mut Core, evidence: Evidence) {
    if let Some(document) = core.document() {
        document.evidence = evidence;
        document.impossible = None;
    }
    core.clear_failure();
    if core.model.settings.auto_propagate {
        core.request_evidence();
    }
}
