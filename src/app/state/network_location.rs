//! Where a network can be read again.

use std::path::{Path, PathBuf};

use crate::format::{NetworkSource, sample};

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
        match source {
            NetworkSource::Named(spec) => Some(Self::of_name(spec, Path::is_file)),
            NetworkSource::File(path) => Some(Self::of_file(path)),
            NetworkSource::Bytes { .. } => None,
        }
    }

    /// Where the network that the user calls `spec` can be read again. As in
    /// [`format::open`](crate::format::open()), a file takes precedence over a sample of the same
    /// name, and a folder does not.
    fn of_name(spec: &str, is_file: impl Fn(&Path) -> bool) -> Self {
        let path = Path::new(spec);
        match sample(spec) {
            Some(sample) if !is_file(path) => Self::Named(sample.name.to_owned()),
            _ => Self::of_file(path),
        }
    }

    fn of_file(path: &Path) -> Self {
        Self::File(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// The source from which to open the network at this location.
    pub(crate) fn into_source(self) -> NetworkSource {
        match self {
            Self::Named(spec) => NetworkSource::Named(spec),
            Self::File(path) => NetworkSource::File(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_one_location_unless_a_file_has_its_name() {
        let asia = NetworkLocation::Named("asia".to_owned());
        for spec in ["asia", "Asia"] {
            // `false` is the answer for a folder, too.
            assert_eq!(NetworkLocation::of_name(spec, |_| false), asia);
            let file = NetworkLocation::of_name(spec, |_| true);
            assert_eq!(file, NetworkLocation::of(&NetworkSource::File(spec.into())).unwrap());
        }
    }

    #[test]
    fn the_location_of_a_file_that_is_gone_does_not_depend_on_the_current_folder() {
        let location = NetworkLocation::of(&NetworkSource::Named("gone.bif".to_owned()));
        assert!(matches!(location, Some(NetworkLocation::File(path)) if path.is_absolute()));
    }
}
