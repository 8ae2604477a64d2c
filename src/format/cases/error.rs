//! Errors of evidence files.

use std::fmt;

use crate::format::{FormatError, OpenError};

/// A mistake in an evidence file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError {
    /// The file name, as the user gave it.
    pub file: String,
    /// The number of the case, counted from one, if it is known.
    pub case: Option<usize>,
    /// The line and column, counted from one, if they are known.
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
    /// An error about `file` as a whole.
    pub(super) fn without_place(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), case: None, place: None, message: message.into() }
    }

    /// The same error with the number of the `case`, counted from one.
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
            OpenError::Unreadable { file, reason } => Self::without_place(&file, reason),
            OpenError::Format(error) => error.into(),
            // The messages of the other errors that reading can cause begin with the file name.
            other => {
                let text = other.to_string();
                let (file, message) = text.split_once(": ").unwrap_or(("", &text));
                Self::without_place(file, message)
            }
        }
    }
}
