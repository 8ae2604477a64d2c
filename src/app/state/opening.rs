//! Opening networks.

use crate::session::Source;

/// A command about the open network as a whole.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentCommand {
    /// Open this network.
    Open(Source),
    /// Read the open network again.
    Reload,
    /// Restore the autosaved work of a run that crashed.
    Restore,
    /// Discard the autosaved work of a run that crashed.
    DiscardAutosave,
}
