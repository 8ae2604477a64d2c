//! The dialects of the text formats: their punctuation and comments.

use super::{Token, Tokens};
use crate::format::source::SourceText;

/// The punctuation and comments of a format. `//` and `/* */` are comments in all dialects.
#[derive(Debug)]
pub(in crate::format) struct Dialect {
    /// The class of every byte.
    pub(super) bytes: [ByteClass; 256],
    /// Whether a backslash escapes the next character in quotes.
    pub(super) escapes: bool,
    /// Whether `/# #/` is a comment. Such comments nest.
    nested_comments: bool,
}

/// What a byte means outside quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteClass {
    /// Part of a word.
    Word,
    /// ASCII white space, or the end-of-file character of DOS.
    Space,
    /// Punctuation, including the double quote.
    Punctuation,
    /// A character that starts a line comment, such as `%`.
    LineComment,
    /// A slash, which may start a comment.
    Slash,
}

impl Dialect {
    /// A dialect with these punctuation characters and the double quote. A backslash escapes the
    /// next character in quotes.
    pub const fn new(punctuation: &[u8]) -> Self {
        let mut bytes = [ByteClass::Word; 256];
        // 0x1a is the end-of-file character of DOS.
        let spaces = [b' ', b'\t', b'\r', b'\n', 0x0b, 0x0c, 0x1a];
        let mut index = 0;
        while index < spaces.len() {
            bytes[spaces[index] as usize] = ByteClass::Space;
            index += 1;
        }
        index = 0;
        while index < punctuation.len() {
            assert!(Token::from_punctuation(punctuation[index]).is_some());
            bytes[punctuation[index] as usize] = ByteClass::Punctuation;
            index += 1;
        }
        bytes[b'"' as usize] = ByteClass::Punctuation;
        bytes[b'/' as usize] = ByteClass::Slash;
        Self { bytes, escapes: true, nested_comments: false }
    }

    /// Makes a backslash in quotes an ordinary character.
    pub const fn without_escapes(mut self) -> Self {
        self.escapes = false;
        self
    }

    /// Makes `%` start a line comment.
    pub const fn with_percent_comments(mut self) -> Self {
        self.bytes[b'%' as usize] = ByteClass::LineComment;
        self
    }

    /// Makes `/#` and `#/` enclose comments that nest.
    pub const fn with_nested_comments(mut self) -> Self {
        self.nested_comments = true;
        self
    }

    /// Whether `text` is exactly one word.
    pub fn is_word(&self, text: &str) -> bool {
        let mut tokens = Tokens::new(SourceText { file: "", text }, self);
        matches!(tokens.next(), Ok((Token::Word(word), 0)) if word == text)
    }

    /// Whether a slash followed by `next` starts a comment.
    pub(super) fn starts_comment(&self, next: Option<&u8>) -> bool {
        matches!(next, Some(b'/' | b'*')) || (self.nested_comments && next == Some(&b'#'))
    }
}
