//! The format of the answers.

use std::str::FromStr;

/// A format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// A table for each case, for people.
    Text,
    /// One object with an array of all cases.
    Json,
    /// An object per line, one for each case.
    JsonLines,
    /// A header, and a row for each case with a column for each state.
    Csv,
}

impl OutputFormat {
    /// The format with the extension of `file`, ignoring case.
    pub fn by_extension(file: &str) -> Option<Self> {
        file.rsplit_once('.').and_then(|(_, extension)| extension.parse().ok())
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().as_str() {
            "text" | "txt" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Csv),
            _ => Err("expected text, json, jsonl or csv".to_owned()),
        }
    }
}
