//! Where each case of a JSON file begins and ends.
//!
//! A case is found without checking its content, so that the cases can be read one at a time.

use crate::format::cases::input::Input;
use crate::format::cases::{CaseError, CaseFormat};

/// How the cases of a file are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// A single object.
    Object,
    /// An array of objects.
    Array,
    /// One object per line.
    Lines,
}

impl Arrangement {
    /// The arrangement of the JSON text in `input`; moves over white space at its beginning, and
    /// over the bracket that opens an array.
    ///
    /// # Errors
    /// If the input cannot be read. In the format JSON, also if the text is empty or begins with
    /// neither an object nor an array.
    pub fn open(input: &mut Input, format: CaseFormat) -> Result<Self, CaseError> {
        let expected = "expected a case (an object) or an array of cases";
        match input.skip_white_space()? {
            _ if format == CaseFormat::JsonLines => Ok(Self::Lines),
            None => {
                let message = format!("the file is empty, {expected}");
                Err(CaseError::without_place(input.file(), message))
            }
            Some(b'{') => Ok(Self::Object),
            Some(b'[') => {
                input.skip(1);
                Ok(Self::Array)
            }
            Some(_) => {
                let message = format!("{expected}, found '{}'", input.first_character());
                Err(input.error(0, message))
            }
        }
    }

    /// Finds the next case, and moves to its beginning. `number` is the number of cases before it.
    /// `None` after the last case.
    ///
    /// # Errors
    /// If the text does not continue as the arrangement requires, for example without a comma
    /// between two cases, or the input cannot be read.
    pub fn find_case(
        self,
        input: &mut Input,
        number: usize,
    ) -> Result<Option<CaseExtent>, CaseError> {
        let next = input.skip_white_space()?;
        match (self, next) {
            (Self::Lines | Self::Object, None) if number > 0 || self == Self::Lines => Ok(None),
            (Self::Lines, _) => {
                let length = input.line_end(0)?;
                Ok(Some(CaseExtent { length, is_complete: true }))
            }
            (Self::Object, _) if number == 0 => find_value(input).map(Some),
            (Self::Array, Some(b']')) => {
                input.skip(1);
                match input.skip_white_space()? {
                    None => Ok(None),
                    Some(_) => Err(input.error(0, TRAILING)),
                }
            }
            (Self::Array, Some(b',')) if number > 0 => {
                input.skip(1);
                input.skip_white_space()?;
                find_value(input).map(Some)
            }
            (Self::Array, Some(_)) if number == 0 => find_value(input).map(Some),
            (Self::Array, Some(_)) => Err(input.error(0, "expected ',' or ']' after a case")),
            (Self::Array, None) => Err(input.error(0, INCOMPLETE)),
            (Self::Object, _) => Err(input.error(0, TRAILING)),
        }
    }
}

/// A case at the beginning of the input.
#[derive(Clone, Copy)]
pub(super) struct CaseExtent {
    /// Its length in bytes.
    pub length: usize,
    /// Whether it is complete: the text does not end inside it. A line always counts as complete.
    pub is_complete: bool,
}

/// The message for text after the end of the JSON.
const TRAILING: &str = "trailing characters";

/// The message for a text that ends too early.
pub(super) const INCOMPLETE: &str = "the file ends before the JSON is complete";

/// Whether the text in `input` begins with a JSON value that is followed by an object on a later
/// line. Only the part of the text in memory is examined.
pub(super) fn is_lines(input: &Input) -> bool {
    let bytes = input.rest();
    let mut scanner = Scanner::default();
    let Some(length) = scanner.value_end(bytes) else { return false };
    let rest = bytes[length..].trim_ascii_start();
    let between = &bytes[length..bytes.len() - rest.len()];
    between.contains(&b'\n') && rest.starts_with(b"{")
}

/// The extent of the JSON value at the beginning of `input`.
fn find_value(input: &mut Input) -> Result<CaseExtent, CaseError> {
    let mut scanner = Scanner::default();
    let found = loop {
        if let Some(length) = scanner.value_end(input.rest()) {
            break CaseExtent { length, is_complete: true };
        }
        if !input.fill()? {
            break CaseExtent { length: input.rest().len(), is_complete: false };
        }
    };
    if found.length > 0 {
        return Ok(found);
    }
    Err(match input.rest().first() {
        None => input.error(0, INCOMPLETE),
        Some(&byte) => input.error(0, format!("expected a case, found '{}'", char::from(byte))),
    })
}

/// Finds the end of a JSON value without checking the value.
#[derive(Default)]
struct Scanner {
    /// Number of bytes that were examined.
    examined: usize,
    /// Number of open braces and brackets.
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scanner {
    /// The length of the value at the beginning of `bytes`; `None` if it is not complete. A later
    /// call may have more bytes, and continues where the earlier one ended.
    fn value_end(&mut self, bytes: &[u8]) -> Option<usize> {
        while let Some(&byte) = bytes.get(self.examined) {
            let is_end = match byte {
                _ if std::mem::take(&mut self.is_escaped) => false,
                b'\\' if self.is_in_string => {
                    self.is_escaped = true;
                    false
                }
                b'"' => {
                    self.is_in_string = !self.is_in_string;
                    false
                }
                _ if self.is_in_string => false,
                b'{' | b'[' => {
                    self.depth += 1;
                    false
                }
                b'}' | b']' if self.depth > 1 => {
                    self.depth -= 1;
                    false
                }
                b'}' | b']' if self.depth == 1 => return Some(self.examined + 1),
                b'}' | b']' | b',' => self.depth == 0,
                _ => false,
            };
            if is_end {
                return Some(self.examined);
            }
            self.examined += 1;
        }
        None
    }
}
