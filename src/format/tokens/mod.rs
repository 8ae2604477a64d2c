//! The tokenizer of the text formats.
//!
//! A word is anything between ASCII white space, punctuation and comments. Whether it is a name, a
//! label, a number or a keyword is up to the caller. White space outside ASCII is skipped before a
//! word, but inside a word it is part of the word.

mod dialect;

use crate::allocate;
use crate::format::FormatError;
use crate::format::source::SourceText;
use dialect::ByteClass;

pub(super) use dialect::Dialect;

/// A word, a quoted text, a punctuation character or the end of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'s> {
    OpenBrace,
    CloseBrace,
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    Equals,
    Semicolon,
    Comma,
    Colon,
    Bar,
    /// The text between double quotes, before escapes are resolved. It may span several lines.
    Quoted(&'s str),
    /// A name, label, number or keyword.
    Word(&'s str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token of the punctuation character `byte`; `None` if `byte` is not punctuation in any
    /// dialect, or is the double quote.
    const fn from_punctuation(byte: u8) -> Option<Self> {
        Some(match byte {
            b'{' => Self::OpenBrace,
            b'}' => Self::CloseBrace,
            b'(' => Self::OpenParenthesis,
            b')' => Self::CloseParenthesis,
            b'[' => Self::OpenBracket,
            b']' => Self::CloseBracket,
            b'=' => Self::Equals,
            b';' => Self::Semicolon,
            b',' => Self::Comma,
            b':' => Self::Colon,
            b'|' => Self::Bar,
            _ => return None,
        })
    }
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OpenBrace => "'{'",
            Self::CloseBrace => "'}'",
            Self::OpenParenthesis => "'('",
            Self::CloseParenthesis => "')'",
            Self::OpenBracket => "'['",
            Self::CloseBracket => "']'",
            Self::Equals => "'='",
            Self::Semicolon => "';'",
            Self::Comma => "','",
            Self::Colon => "':'",
            Self::Bar => "'|'",
            Self::Quoted(text) => return write!(f, "\"{text}\""),
            Self::Word(text) => return write!(f, "'{text}'"),
            Self::End => "the end of the file",
        })
    }
}

/// Reads the tokens of a text.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'s, 'd> {
    source: SourceText<'s>,
    dialect: &'d Dialect,
    /// The byte offset of the end of the last token that was read or peeked, or of what was
    /// skipped.
    offset: usize,
    /// The next token, if it was peeked.
    peeked: Option<(Token<'s>, usize)>,
}

impl<'s, 'd> Tokens<'s, 'd> {
    /// Starts at the beginning of `source`.
    pub fn new(source: SourceText<'s>, dialect: &'d Dialect) -> Self {
        Self { source, dialect, offset: 0, peeked: None }
    }

    /// Consumes the next token, and returns it with its byte offset. At the end of the text,
    /// returns [`Token::End`] any number of times.
    ///
    /// # Errors
    /// If a comment or a quote is not closed.
    pub fn next(&mut self) -> Result<(Token<'s>, usize), FormatError> {
        if let Some(next) = self.peeked.take() {
            return Ok(next);
        }
        allocate::check();
        self.skip_to_token()?;
        let (text, start) = (self.source.text, self.offset);
        let bytes = text.as_bytes();
        let Some(&first) = bytes.get(start) else { return Ok((Token::End, start)) };
        if self.dialect.bytes[usize::from(first)] != ByteClass::Punctuation {
            self.offset = self.end_of_word(start);
            return Ok((Token::Word(&text[start..self.offset]), start));
        }
        if let Some(punctuation) = Token::from_punctuation(first) {
            self.offset += 1;
            return Ok((punctuation, start));
        }
        let mut end = start + 1;
        while let Some(&byte) = bytes.get(end) {
            match byte {
                b'"' => {
                    self.offset = end + 1;
                    return Ok((Token::Quoted(&text[start + 1..end]), start));
                }
                b'\\' if self.dialect.escapes => end += 2,
                _ => end += 1,
            }
        }
        Err(self.source.error(start, "this quote is not closed"))
    }

    /// The next token with its byte offset, without consuming it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn peek(&mut self) -> Result<(Token<'s>, usize), FormatError> {
        let next = self.next()?;
        self.peeked = Some(next);
        Ok(next)
    }

    /// Consumes the next token, which must be `token`, and returns its byte offset.
    ///
    /// # Errors
    /// If the next token is another one, or as [`next`](Self::next).
    pub fn expect(&mut self, token: Token<'s>) -> Result<usize, FormatError> {
        match self.next()? {
            (found, offset) if found == token => Ok(offset),
            (found, offset) => Err(self.expected(&token.to_string(), found, offset)),
        }
    }

    /// The error for the token `found` at byte `offset`, where `what` was expected.
    pub fn expected(&self, what: &str, found: Token<'_>, offset: usize) -> FormatError {
        self.source.error(offset, format!("expected {what}, found {found}"))
    }

    /// The byte offset of the end of the last token that was read or peeked.
    pub fn end(&self) -> usize {
        self.offset
    }

    /// The text after the last token that was read or peeked.
    pub fn rest(&self) -> &'s str {
        &self.source.text[self.offset..]
    }

    /// Skips the next `bytes` of the text. No token may be peeked.
    pub fn skip(&mut self, bytes: usize) {
        debug_assert!(self.peeked.is_none());
        self.offset += bytes;
    }

    /// Skips white space and comments.
    fn skip_to_token(&mut self) -> Result<(), FormatError> {
        let text = self.source.text;
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            let inside_comment = || &bytes[self.offset + 2..];
            match self.dialect.bytes[usize::from(byte)] {
                ByteClass::Space => self.offset += 1,
                ByteClass::LineComment => self.skip_line(),
                ByteClass::Slash if self.dialect.starts_comment(bytes.get(self.offset + 1)) => {
                    let length = match bytes[self.offset + 1] {
                        b'/' => {
                            self.skip_line();
                            continue;
                        }
                        b'*' => {
                            let end = inside_comment().windows(2).position(|two| two == b"*/");
                            end.map(|end| end + 2)
                        }
                        _ => nested_comment(inside_comment()),
                    };
                    let Some(length) = length else {
                        return Err(self.source.error(self.offset, "this comment is not closed"));
                    };
                    self.offset += 2 + length;
                }
                ByteClass::Word if !byte.is_ascii() => {
                    let Some(space) =
                        text[self.offset..].chars().next().filter(|c| c.is_whitespace())
                    else {
                        break;
                    };
                    self.offset += space.len_utf8();
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Skips the rest of the line.
    fn skip_line(&mut self) {
        self.offset += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// The end of the word that begins at `start`: the next ASCII white space, punctuation or
    /// comment.
    fn end_of_word(&self, start: usize) -> usize {
        let bytes = self.source.text.as_bytes();
        let ends = |offset: &usize| match self.dialect.bytes[usize::from(bytes[*offset])] {
            ByteClass::Word => false,
            ByteClass::Slash => self.dialect.starts_comment(bytes.get(offset + 1)),
            ByteClass::Space | ByteClass::Punctuation | ByteClass::LineComment => true,
        };
        (start + 1..bytes.len()).find(ends).unwrap_or(bytes.len())
    }
}

/// The number of bytes of `rest` up to and including the `#/` that closes the nested comment whose
/// `/#` comes just before `rest`. `None` if the comment is not closed.
fn nested_comment(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut offset) = (1_usize, 0);
    while depth > 0 {
        match rest.get(offset..offset + 2)? {
            b"/#" => (depth, offset) = (depth + 1, offset + 2),
            b"#/" => (depth, offset) = (depth - 1, offset + 2),
            _ => offset += 1,
        }
    }
    Some(offset)
}

#[cfg(test)]
mod tests;
