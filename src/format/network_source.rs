//! Where to read a network from.

use std::path::PathBuf;
use std::sync::Arc;

use crate::format::{OpenError, ReadNetwork, open, open_bytes, open_path};

/// Where to read a network from. Unlike a [`NetworkOrigin`](super::NetworkOrigin), it holds
/// everything needed to open the network again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkSource {
    /// A path or the name of a sample, as typed by the user.
    Named(String),
    /// A file.
    File(PathBuf),
    /// Bytes in memory, such as the content of a file dropped onto the window.
    Bytes {
        /// The name of the file.
        name: String,
        /// The content of the file.
        bytes: Arc<[u8]>,
    },
}

impl NetworkSource {
    /// Reads the network.
    ///
    /// # Errors
    /// As [`open`](crate::format::open()), [`open_path`] or [`open_bytes`].
    pub fn open(&self) -> Result<ReadNetwork, OpenError> {
        match self {
            Self::Named(spec) => open(spec),
            Self::File(path) => open_path(path),
            Self::Bytes { name, bytes } => open_bytes(name, bytes.to_vec()),
        }
    }
}
