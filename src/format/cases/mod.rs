//! Evidence files: cases, each with what is known of some variables.
//!
//! | format | endings | cases | likelihoods |
//! |---|---|---|---|
//! | JSON, our own | `json` | any number | yes |
//! | CSV, one case a row | `csv`, `tsv` | any number | yes, as Netica writes them |
//! | Hugin case | `hcs` | one | yes |
//! | Hugin data | `dat` | any number | no |
//! | Netica cases | `cas` | any number | yes |
//! | UAI evidence | `evid` | any number | no |
//!
//! Names that the network does not have are an error, because a misspelt finding that is passed over
//! gives wrong posteriors; only a whole column of a table that is not a variable is passed over with
//! a warning, because tables come with numbers and remarks of their own.

mod cells;
mod error;
mod evid;
mod hcs;
mod json;
mod table;
mod value;

use std::path::Path;

pub use error::CaseError;

use crate::format::decode;
use crate::format::source::SourceText;
use crate::network::{Evidence, Network};

/// The formats that evidence is read from and written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaseFormat {
    /// Our JSON: `{"name": NAME, "evidence": {VARIABLE: STATE}, "likelihood": {VARIABLE: [weights]}}`
    /// of which nothing must be there, or an array of such.
    Json,
    /// A table with a header that names variables, and a case in each row.
    Csv,
    /// A finding a line, as `name: "label"`.
    HuginCase,
    /// Hugin's table of cases.
    HuginData,
    /// Netica's table of cases, with uncertain values.
    Netica,
    /// Number of findings, then variable and state by their positions.
    Uai,
}

/// The cases of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// What is known, a case an element, in the order of the file.
    pub cases: Vec<Evidence>,
    /// What each case is called; only JSON has names.
    pub names: Vec<Option<String>>,
    /// What was passed over, for the user.
    pub warnings: Vec<String>,
    /// The format that they were read from.
    pub format: CaseFormat,
}

impl CaseFormat {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Json, Self::Csv, Self::HuginCase, Self::HuginData, Self::Netica, Self::Uai];

    /// What the format is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Csv => "CSV",
            Self::HuginCase => "Hugin case",
            Self::HuginData => "Hugin data",
            Self::Netica => "Netica cases",
            Self::Uai => "UAI evidence",
        }
    }

    /// The endings of its files, without the dot, the usual one first.
    #[must_use]
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Json => &["json"],
            Self::Csv => &["csv", "tsv"],
            Self::HuginCase => &["hcs"],
            Self::HuginData => &["dat"],
            Self::Netica => &["cas"],
            Self::Uai => &["evid"],
        }
    }

    /// The format that the ending of `file` stands for, if it is one of ours; `.gz` is passed over.
    #[must_use]
    pub fn of_name(file: &str) -> Option<Self> {
        let (_, ending) = decode::without_gz(file).rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        Self::ALL.into_iter().find(|format| format.extensions().contains(&ending.as_str()))
    }

    /// The format of a file called `file` that holds `text`: by its ending where that is known, so
    /// that a mistake is reported as the mistake it is, and otherwise by how it begins.
    fn detect(file: &str, text: &str) -> Self {
        Self::of_name(file).unwrap_or_else(|| {
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

/// Reads the cases in `bytes`, which came under the name `file` and may be gzip.
///
/// # Errors
/// If there is a mistake in them, or they name a variable or state that `network` does not have.
pub fn read(
    file: &str,
    bytes: impl Into<Vec<u8>>,
    network: &Network,
) -> Result<CaseFile, CaseError> {
    read_unpacked(file, &decode::unpack_all(file, bytes.into())?, network)
}

/// Reads the cases in the file at `path`.
///
/// # Errors
/// As [`read`], and if the file cannot be read.
pub fn read_file(path: &Path, network: &Network) -> Result<CaseFile, CaseError> {
    read_unpacked(&path.display().to_string(), &decode::read_path(path)?, network)
}

fn read_unpacked(file: &str, bytes: &[u8], network: &Network) -> Result<CaseFile, CaseError> {
    let text = decode::text(bytes);
    let format = CaseFormat::detect(file, &text);
    let source = SourceText { file, text: &text };
    let mut warnings = Vec::new();
    let mut names = Vec::new();
    let cases: Vec<Evidence> = match format {
        CaseFormat::Json => {
            let cases;
            (names, cases) = json::read(file, &text, network)?.into_iter().unzip();
            cases
        }
        CaseFormat::Csv | CaseFormat::HuginData | CaseFormat::Netica => {
            table::read(source, format, network, &mut warnings)?
        }
        CaseFormat::HuginCase => vec![hcs::read(source, network)?],
        CaseFormat::Uai => evid::read(source, network)?,
    };
    names.resize(cases.len(), None);
    Ok(CaseFile { cases, names, warnings, format })
}

/// The text of a file in `format` that [`read`] reads back as `cases`.
///
/// # Errors
/// If the format cannot hold them: as a sentence for the user.
pub fn write(format: CaseFormat, network: &Network, cases: &[Evidence]) -> Result<String, String> {
    match format {
        CaseFormat::Json => Ok(json::write(network, cases, &[])),
        CaseFormat::Csv | CaseFormat::HuginData | CaseFormat::Netica => {
            table::write(format, network, cases)
        }
        CaseFormat::HuginCase => hcs::write(network, cases),
        CaseFormat::Uai => evid::write(network, cases),
    }
}

/// Writes `cases` to the file at `path`, in the format that its ending stands for, or else in JSON.
/// The first of `names` is that of the first case, and so on; only JSON keeps them, and there may be
/// none.
///
/// # Errors
/// If the format cannot hold them, or the file cannot be written. It is then as it was.
pub fn write_file(
    path: &Path,
    network: &Network,
    cases: &[Evidence],
    names: &[String],
) -> Result<(), CaseError> {
    let file = path.display().to_string();
    let text = match CaseFormat::of_name(&file).unwrap_or(CaseFormat::Json) {
        CaseFormat::Json => Ok(json::write(network, cases, names)),
        format => write(format, network, cases),
    };
    let text = text.map_err(|message| CaseError::of_file(&file, message))?;
    crate::store::write_atomically(path, text.as_bytes())
        .map_err(|error| CaseError::of_file(&file, error.to_string()))
}
