//! Opening networks.

use crate::format::NetworkSource;

/// A command about the open network as a whole.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentCommand {
    /// Open this network.
    Open(NetworkSource),
    /// Read the open network again.
    Reload,
    /// Restore the autosaved work of a run that crashed.
    Restore,
    /// Discard the autosaved work of a run that crashed.
    DiscardAutosave,
}
