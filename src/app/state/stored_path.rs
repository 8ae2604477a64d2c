//! Paths in stored files. A path that is not UTF-8 is stored as its bytes, so that no path is lost
//! on Unix. On other systems, such a path is read back with replacement characters.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as text, or as bytes if it is not UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredPath<'p> {
    Text(Cow<'p, str>),
    Bytes(Vec<u8>),
}

impl<'p> StoredPath<'p> {
    fn of(path: &'p Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(Cow::Borrowed(text)),
            None => Self::Bytes(path.as_os_str().as_encoded_bytes().to_vec()),
        }
    }

    fn into_path(self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text.into_owned()),
            #[cfg(unix)]
            Self::Bytes(bytes) => {
                use std::os::unix::ffi::OsStringExt;
                std::ffi::OsString::from_vec(bytes).into()
            }
            #[cfg(not(unix))]
            Self::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }
}

/// Stores `path`; for `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    StoredPath::of(path).serialize(serializer)
}

/// Reads a path; for `#[serde(with)]`.
pub(crate) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<PathBuf, D::Error> {
    StoredPath::deserialize(deserializer).map(StoredPath::into_path)
}

/// Lists of paths; for `#[serde(with)]`.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, PathBuf, Serializer, StoredPath};

    pub(crate) fn serialize<S: Serializer>(
        paths: &[PathBuf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| StoredPath::of(path)))
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let stored = Vec::<StoredPath<'_>>::deserialize(deserializer)?;
        Ok(stored.into_iter().map(StoredPath::into_path).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Stored {
        #[serde(with = "super")]
        one: PathBuf,
        #[serde(with = "super::list")]
        list: Vec<PathBuf>,
    }

    #[test]
    fn paths_are_read_as_they_were_stored() {
        let mut list = vec![PathBuf::from("/a/\u{e9}.bif")];
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt;
            list.push(std::ffi::OsString::from_vec(b"/a/\xe9.bif".to_vec()).into());
        }
        let stored = Stored { one: list[list.len() - 1].clone(), list };
        let json = serde_json::to_string(&stored).unwrap();
        assert_eq!(serde_json::from_str::<Stored>(&json).unwrap(), stored);
        assert!(json.contains("[\"/a/\u{e9}.bif\""), "{json}");
    }
}
