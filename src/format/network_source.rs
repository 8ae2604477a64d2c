//! Where to read a network from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format::{OpenError, ReadNetwork, check_not_special, open, open_bytes, open_path};

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
    /// Reads the network. A source can be read again, so it must not be a pipe.
    ///
    /// # Errors
    /// As [`open`](crate::format::open()), [`open_path`] or [`open_bytes`], and if the source is a
    /// pipe or a device.
    pub fn open(&self) -> Result<ReadNetwork, OpenError> {
        match self {
            Self::Named(spec) => {
                check_not_special(Path::new(spec))?;
                open(spec)
            }
            Self::File(path) => {
                check_not_special(path)?;
                open_path(path)
            }
            Self::Bytes { name, bytes } => open_bytes(name, bytes.to_vec()),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_refused_instead_of_waiting_for_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.bif");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: there is no mkfifo");
            return;
        }
        let named = NetworkSource::Named(path.to_str().unwrap().to_owned());
        for source in [NetworkSource::File(path), named] {
            let error = source.open().unwrap_err().to_string();
            assert!(error.ends_with("this is a pipe or a device, expected a file"), "{error}");
        }
    }
}
