//! Entering and retracting findings.

use std::path::PathBuf;

use crate::network::{Finding, VariableId};

/// A command about the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum EvidenceCommand {
    /// Observe this state, or retract the finding if the state is already observed.
    Toggle(VariableId, usize),
    /// Enter this finding.
    Set(VariableId, Finding),
    /// Retract the finding of a variable.
    Retract(VariableId),
    /// Retract all findings.
    Clear,
    /// Load evidence from this file.
    Load(PathBuf),
}
