//! Opens a network by name, path or content.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format::source::SourceText;
use crate::format::{Format, OpenError, Sample, Warning, decode, sample};
use crate::network::Network;

/// Where a network came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkOrigin {
    /// A shipped network, by its name.
    Sample(&'static str),
    /// A file.
    File(PathBuf),
    /// Bytes passed to [`open_bytes`] with this name.
    Bytes(String),
}

impl NetworkOrigin {
    /// The title for lists and results: the name of the sample, or the file name without folder,
    /// `.gz` and extension.
    #[must_use]
    pub fn title(&self) -> String {
        let file = match self {
            Self::Sample(name) => return (*name).to_owned(),
            Self::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::Bytes(name) => Some(name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned()),
        };
        let file = file.unwrap_or_default();
        let plain = decode::without_gz(&file);
        match plain.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
            _ => plain.to_owned(),
        }
    }
}

/// A network together with how it was read.
#[derive(Clone, Debug)]
pub struct ReadNetwork {
    /// The network.
    pub network: Arc<Network>,
    /// Corrections made while reading.
    pub warnings: Vec<Warning>,
    /// Where the network came from.
    pub origin: NetworkOrigin,
    /// The format of the file.
    pub format: Format,
}

/// Opens the file at the path `spec`, which need not be UTF-8, or the sample named `spec`.
///
/// An existing file takes precedence over a sample of the same name; a folder does not.
///
/// # Errors
/// If there is neither such a file nor such a sample, or as for [`open_path`].
pub fn open(spec: impl AsRef<Path>) -> Result<ReadNetwork, OpenError> {
    let path = spec.as_ref();
    match path.to_str().and_then(sample) {
        Some(sample) if !path.is_file() => Ok(sample.open()),
        None if !path.exists() => Err(OpenError::NotFound(path.display().to_string())),
        _ => open_path(path),
    }
}

/// Checks that `path` is not a pipe or a device, from which reading may wait forever. A path that
/// does not exist passes.
///
/// # Errors
/// [`OpenError::Unreadable`] if `path` is a pipe or a device.
pub fn check_not_special(path: &Path) -> Result<(), OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Err(OpenError::Unreadable {
            file: path.display().to_string(),
            reason: "this is a pipe or a device, expected a file".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Opens the file at `path`.
///
/// # Errors
/// If the file cannot be read or is too large, its format is unknown, or its content has a mistake.
pub fn open_path(path: &Path) -> Result<ReadNetwork, OpenError> {
    let bytes = decode::read_path(path)?;
    read(&path.display().to_string(), &bytes, NetworkOrigin::File(path.to_owned()))
}

/// Reads a network from `bytes`, the content of a file named `name`. The bytes may be compressed
/// with gzip.
///
/// # Errors
/// If the bytes are damaged gzip or too large when unpacked, the format is unknown, or there is a
/// mistake in the content.
pub fn open_bytes(name: &str, bytes: impl Into<Vec<u8>>) -> Result<ReadNetwork, OpenError> {
    let bytes = decode::unpack_all(name, bytes.into())?;
    read(name, &bytes, NetworkOrigin::Bytes(name.to_owned()))
}

impl Sample {
    /// Reads the sample.
    ///
    /// # Panics
    /// Never: a test reads every sample.
    #[must_use]
    pub fn open(&self) -> ReadNetwork {
        let name = format!("{}.bif", self.name);
        let read = decode::unpack_all(&name, self.packed.to_vec())
            .and_then(|bytes| read(&name, &bytes, NetworkOrigin::Sample(self.name)));
        read.unwrap_or_else(|error| panic!("a sample is valid: {error}"))
    }
}

/// Reads a network from the unpacked `bytes` of a file named `name`. Warns if the content has
/// another format than the extension of the name says.
fn read(name: &str, bytes: &[u8], origin: NetworkOrigin) -> Result<ReadNetwork, OpenError> {
    let text = decode::text(bytes);
    let format = Format::detect(decode::without_gz(name), &text).ok_or_else(|| {
        OpenError::UnknownFormat { file: name.to_owned(), found: beginning(&text) }
    })?;
    let (network, mut warnings) = (format.language().read)(SourceText { file: name, text: &text })?;
    if let Some(extension) = Format::by_extension(name).filter(|&expected| expected != format) {
        let file = name.to_owned();
        warnings.insert(0, Warning::UnexpectedFormat { file, extension, found: format });
    }
    Ok(ReadNetwork { network: Arc::new(network), warnings, origin, format })
}

/// A clause for a message that says how `text`, whose format is unknown, begins.
fn beginning(text: &str) -> String {
    const SHOWN: usize = 32; // in characters
    let start = text.trim_start();
    match start.lines().next() {
        None => "it is empty".to_owned(),
        Some(line) => {
            let shown: String = line.chars().take(SHOWN).flat_map(char::escape_default).collect();
            let more = if line.chars().nth(SHOWN).is_some() { "..." } else { "" };
            format!("it begins with '{shown}{more}'")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_name_without_folder_and_extensions() {
        let title = |path: &str| NetworkOrigin::File(path.into()).title();
        assert_eq!(title("/some/where/asia.bif.gz"), "asia");
        assert_eq!(title("asia.v2.BIF.GZ"), "asia.v2");
        assert_eq!(title(".hidden"), ".hidden");
        assert_eq!(NetworkOrigin::Bytes("C:\\nets\\asia.bif".into()).title(), "asia");
        assert_eq!(NetworkOrigin::Sample("asia").title(), "asia");
    }
}
