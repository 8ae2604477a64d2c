//! Reading and writing evidence files: cases, each with the findings on some variables.
//!
//! | format | extensions | cases | likelihoods |
//! |---|---|---|---|
//! | JSON, defined here | `json` | any number | yes |
//! | JSON lines, one case per line | `jsonl`, `ndjson` | any number | yes |
//! | CSV, one case per row | `csv`, `tsv` | any number | yes, as Netica writes them |
//! | Hugin case | `hcs` | one | yes |
//! | Hugin data | `dat` | any number | no |
//! | Netica cases | `cas` | any number | yes |
//! | UAI evidence | `evid` | any number | no |
//!
//! An unknown name is an error, because ignoring a misspelt finding would give wrong posteriors.
//! Only the columns of a table may have unknown names, because a table may have further columns,
//! for example of comments. They are ignored with a warning. A column known to hold case numbers,
//! or a column of counts that are all one, is ignored without a warning.
//!
//! [`CaseReader`] reads one case after another and keeps only a part of the file in memory, so a
//! file can have any length. [`read`] reads all cases of a short file, and [`CaseIndex`] reads any
//! of the cases of a long one.

mod arrangement;
mod cells;
mod error;
mod evid;
mod hcs;
mod index;
mod input;
mod json;
mod reader;
mod table;
mod value;

use std::path::Path;

pub use error::CaseError;
pub use index::CaseIndex;
pub use reader::{CaseReader, ReadCase};

use crate::format::decode;
use crate::network::{Evidence, Network};

/// The file formats of evidence. Each can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaseFormat {
    /// JSON of this program: `{"name": NAME, "evidence": {VARIABLE: STATE}, "likelihood":
    /// {VARIABLE: [weights]}}`, all keys optional, or an array of such objects.
    Json,
    /// The same objects, one per line.
    JsonLines,
    /// A table whose header names variables, with one case per row.
    Csv,
    /// One finding per line: `name: "label"`.
    HuginCase,
    /// Hugin's table of cases.
    HuginData,
    /// Netica's table of cases, with uncertain values.
    Netica,
    /// The number of findings, then for each the index of the variable and of the state.
    Uai,
}

/// The cases of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The evidence of each case, in the order of the file.
    pub cases: Vec<Evidence>,
    /// The name of each case; only JSON and JSON lines have names.
    pub names: Vec<Option<String>>,
    /// Warnings about ignored columns, for the user.
    pub warnings: Vec<String>,
    /// The format of the file.
    pub format: CaseFormat,
}

impl CaseFormat {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Json,
        Self::JsonLines,
        Self::Csv,
        Self::HuginCase,
        Self::HuginData,
        Self::Netica,
        Self::Uai,
    ];

    /// The name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Csv => "CSV",
            Self::HuginCase => "Hugin case",
            Self::HuginData => "Hugin data",
            Self::Netica => "Netica cases",
            Self::Uai => "UAI evidence",
        }
    }

    /// Whether cases can have names in this format.
    #[must_use]
    pub fn has_names(self) -> bool {
        matches!(self, Self::Json | Self::JsonLines)
    }

    /// The file extensions of the format, without the dot, the usual one first.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["json"],
            Self::JsonLines => &["jsonl", "ndjson"],
            Self::Csv => &["csv", "tsv"],
            Self::HuginCase => &["hcs"],
            Self::HuginData => &["dat"],
            Self::Netica => &["cas"],
            Self::Uai => &["evid"],
        }
    }

    /// The format with the extension of `file`, ignoring `.gz` and ASCII case; `None` if the
    /// extension is unknown.
    #[must_use]
    pub fn by_extension(file: &str) -> Option<Self> {
        let (_, extension) = decode::without_gz(file).rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.extensions().contains(&extension.as_str()))
    }

    /// The format of a file called `file` that begins with `text`. A known extension decides, so
    /// that mistakes are reported in terms of that format; otherwise the text decides.
    fn detect(file: &str, text: &str) -> Self {
        Self::by_extension(file).unwrap_or_else(|| {
            let start = text.trim_start();
            if start.starts_with(['{', '[']) {
                Self::Json
            } else if table::is_netica(start) {
                Self::Netica
            } else if evid::recognise(start) {
                Self::Uai
            } else if hcs::recognise(start) {
                Self::HuginCase
            } else {
                Self::Csv
            }
        })
    }
}

/// Reads cases from `bytes`, the content of a file named `file`. The bytes may be compressed with
/// gzip.
///
/// # Errors
/// If the bytes are damaged gzip or too large when unpacked; if there is a mistake in the content;
/// or if the content names a state or a variable that `network` does not have. Unknown columns of a
/// table only cause a warning.
pub fn read(
    file: &str,
    bytes: impl Into<Vec<u8>>,
    network: &Network,
) -> Result<CaseFile, CaseError> {
    read_unpacked(file, decode::unpack_all(file, bytes.into())?, network)
}

/// Reads the cases in the file at `path`.
///
/// # Errors
/// As [`read`], and if the file cannot be read or is too large.
pub fn read_file(path: &Path, network: &Network) -> Result<CaseFile, CaseError> {
    read_unpacked(&path.display().to_string(), decode::read_path(path)?, network)
}

fn read_unpacked(file: &str, bytes: Vec<u8>, network: &Network) -> Result<CaseFile, CaseError> {
    let mut reader = CaseReader::new(file, std::io::Cursor::new(bytes), network)?;
    let (mut cases, mut names) = (Vec::new(), Vec::new());
    for case in &mut reader {
        let case = case?;
        cases.push(case.evidence?);
        names.push(case.name);
    }
    Ok(CaseFile { cases, names, warnings: reader.take_warnings(), format: reader.format() })
}

/// The content of a file in `format` with `cases`, which [`read`] reads back.
///
/// # Errors
/// If the format cannot hold the cases. The error is a sentence for the user.
pub fn write(format: CaseFormat, network: &Network, cases: &[Evidence]) -> Result<String, String> {
    match format {
        CaseFormat::Json => Ok(json::write(network, cases, &[])),
        CaseFormat::JsonLines => Ok(json::write_lines(network, cases, &[])),
        CaseFormat::Csv | CaseFormat::HuginData | CaseFormat::Netica => {
            table::write(format, network, cases)
        }
        CaseFormat::HuginCase => hcs::write(network, cases),
        CaseFormat::Uai => evid::write(network, cases),
    }
}

/// Writes `cases` to the file at `path`, in the format of its extension, or in JSON if the
/// extension is unknown. The text is not compressed, even if the file ends in `.gz`. `names` are
/// the names of the first cases; only JSON and JSON lines keep them, and there may be fewer names
/// than cases.
///
/// # Errors
/// If the format cannot hold the cases, or the file cannot be written. The file is then unchanged.
pub fn write_file(
    path: &Path,
    network: &Network,
    cases: &[Evidence],
    names: &[String],
) -> Result<(), CaseError> {
    let file = path.display().to_string();
    let text = match CaseFormat::by_extension(&file).unwrap_or(CaseFormat::Json) {
        CaseFormat::Json => Ok(json::write(network, cases, names)),
        CaseFormat::JsonLines => Ok(json::write_lines(network, cases, names)),
        format => write(format, network, cases),
    };
    let text = text.map_err(|message| CaseError::without_place(&file, message))?;
    crate::store::write_atomically(path, text.as_bytes())
        .map_err(|error| CaseError::without_place(&file, error.to_string()))
}
