//! What can be wrong with an evidence file.

use std::fmt;

use crate::format::{FormatError, OpenError};

/// Why a text is not evidence on a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError {
    /// The file, as the user called it.
    pub file: String,
    /// The case, counted from one, where it is known.
    pub case: Option<usize>,
    /// Line and column, counted from one, where they are known.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(case) = self.case {
            write!(f, ": case {case}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for CaseError {}

impl CaseError {
    /// That `file` cannot be read or written, with no place in it.
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), case: None, place: None, message: message.into() }
    }

    /// The same, known to be in the case that is number `case`, counted from one.
    pub(super) fn in_case(self, case: usize) -> Self {
        Self { case: Some(case), ..self }
    }
}

impl From<FormatError> for CaseError {
    fn from(error: FormatError) -> Self {
        let FormatError { file, line, column, message } = error;
        Self { file, case: None, place: Some((line, column)), message }
    }
}

impl From<OpenError> for CaseError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unreadable { file, reason } => Self::of_file(&file, reason),
            OpenError::Format(error) => error.into(),
            // The file stands at the start of these messages as well.
            other => {
                let text = other.to_string();
                let (file, message) = text.split_once(": ").unwrap_or(("", &text));
                Self::of_file(file, message)
            }
        }
    }
}
