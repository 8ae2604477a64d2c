//! Where a network can be read again.

use std::path::{Path, PathBuf};

use crate::format::NetworkSource;

/// Where a network can be read again: the name of a sample, or an absolute path.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NetworkLocation {
    /// The name of a sample.
    Named(String),
    /// The absolute path of a file.
    #[serde(with = "crate::app::state::stored_path")]
    File(PathBuf),
}

impl NetworkLocation {
    /// Where `source` can be read again; `None` for bytes, which have no file.
    pub(crate) fn of(source: &NetworkSource) -> Option<Self> {
        let absolute =
            |path: &Path| Self::File(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        match source {
            NetworkSource::Named(spec) if Path::new(spec).exists() => {
                Some(absolute(Path::new(spec)))
            }
            NetworkSource::Named(spec) => Some(Self::Named(spec.clone())),
            NetworkSource::File(path) => Some(absolute(path)),
            NetworkSource::Bytes { .. } => None,
        }
    }

    /// The source from which to open the network at this location.
    pub(crate) fn into_source(self) -> NetworkSource {
        match self {
            Self::Named(spec) => NetworkSource::Named(spec),
            Self::File(path) => NetworkSource::File(path),
        }
    }
}
