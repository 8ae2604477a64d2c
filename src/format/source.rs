//! The text of a file, and the line and column of each byte.

use crate::format::FormatError;

/// The byte offset of a mistake in the text, and the error message.
pub(super) type ErrorAt = (usize, String);

/// The text of a file and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceText<'s> {
    /// The file name, as the user gave it.
    pub file: &'s str,
    /// The content, without a byte order mark.
    pub text: &'s str,
}

impl SourceText<'_> {
    /// Line of the byte at `offset`, counted from one.
    pub fn line(&self, offset: usize) -> usize {
        1 + self.before(offset).bytes().filter(|&byte| byte == b'\n').count()
    }

    /// Column of the byte at `offset` in characters, counted from one.
    pub fn column(&self, offset: usize) -> usize {
        let before = self.before(offset);
        1 + before[before.rfind('\n').map_or(0, |end| end + 1)..].chars().count()
    }

    /// An error with `message` at byte `offset`.
    pub fn error(&self, offset: usize, message: impl Into<String>) -> FormatError {
        FormatError {
            file: self.file.to_owned(),
            line: self.line(offset),
            column: self.column(offset),
            message: message.into(),
        }
    }

    fn before(&self, offset: usize) -> &str {
        &self.text[..self.text.floor_char_boundary(offset)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_from_one() {
        let source = SourceText { file: "f", text: "ab\n\u{e9}\u{e9}x\n" };
        let place = |offset| (source.line(offset), source.column(offset));
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(2), (1, 3));
        assert_eq!(place(7), (2, 3));
        assert_eq!(place(4), (2, 1), "inside a character");
        assert_eq!(place(99), (3, 1), "beyond the end");
        assert_eq!(source.error(7, "odd").to_string(), "f:2:3: odd");
    }
}
