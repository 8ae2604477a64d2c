//! The tokenizer of the text formats.
//!
//! A word is anything between white space, punctuation and comments. Whether it is a name, a label, a
//! number or a keyword is up to the caller.

use crate::format::FormatError;
use crate::format::source::SourceText;

/// A word, a quoted text or a punctuation sign.
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
    /// The text between double quotes, escapes not resolved; it may span several lines.
    Quoted(&'s str),
    /// A name, label, number or keyword.
    Word(&'s str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The punctuation sign `byte`, in any dialect.
    const fn from_sign(byte: u8) -> Option<Self> {
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

/// The punctuation and comments of a format. `//` and `/* */` are comments in all formats.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The class of every byte.
    bytes: [ByteClass; 256],
    /// Whether a backslash escapes the next character in quotes.
    escapes: bool,
    /// Whether `/# #/` is a comment. Such comments nest.
    nested_comments: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteClass {
    /// Part of a word.
    Word,
    /// White space between words.
    Space,
    /// Punctuation, and the double quote.
    Sign,
    /// The sign that starts a line comment, other than `//`.
    LineComment,
    /// Possibly the start of a comment.
    Slash,
}

impl Dialect {
    /// A dialect with these punctuation signs.
    pub const fn new(punctuation: &[u8]) -> Self {
        let mut bytes = [ByteClass::Word; 256];
        // The last is the end-of-file character of DOS.
        let spaces = [b' ', b'\t', b'\r', b'\n', 0x0b, 0x0c, 0x1a];
        let mut index = 0;
        while index < spaces.len() {
            bytes[spaces[index] as usize] = ByteClass::Space;
            index += 1;
        }
        index = 0;
        while index < punctuation.len() {
            assert!(Token::from_sign(punctuation[index]).is_some());
            bytes[punctuation[index] as usize] = ByteClass::Sign;
            index += 1;
        }
        bytes[b'"' as usize] = ByteClass::Sign;
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
    fn is_comment(&self, next: Option<&u8>) -> bool {
        matches!(next, Some(b'/' | b'*')) || (self.nested_comments && next == Some(&b'#'))
    }
}

/// Reads the tokens of a text.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'s, 'd> {
    source: SourceText<'s>,
    dialect: &'d Dialect,
    /// The byte offset of the end of the last token.
    offset: usize,
    peeked: Option<(Token<'s>, usize)>,
}

impl<'s, 'd> Tokens<'s, 'd> {
    /// Starts at the beginning of `source`.
    pub fn new(source: SourceText<'s>, dialect: &'d Dialect) -> Self {
        Self { source, dialect, offset: 0, peeked: None }
    }

    /// The next token and its byte offset.
    pub fn next(&mut self) -> Result<(Token<'s>, usize), FormatError> {
        if let Some(next) = self.peeked.take() {
            return Ok(next);
        }
        self.skip_to_token()?;
        let (text, start) = (self.source.text, self.offset);
        let bytes = text.as_bytes();
        let Some(&first) = bytes.get(start) else { return Ok((Token::End, start)) };
        if self.dialect.bytes[usize::from(first)] != ByteClass::Sign {
            self.offset = self.end_of_word(start);
            return Ok((Token::Word(&text[start..self.offset]), start));
        }
        if let Some(sign) = Token::from_sign(first) {
            self.offset += 1;
            return Ok((sign, start));
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

    /// The next token, without consuming it.
    pub fn peek(&mut self) -> Result<(Token<'s>, usize), FormatError> {
        let next = self.next()?;
        self.peeked = Some(next);
        Ok(next)
    }

    /// Consumes the next token, which must be `sign`, and returns its byte offset.
    pub fn sign(&mut self, sign: Token<'s>) -> Result<usize, FormatError> {
        match self.next()? {
            (token, offset) if token == sign => Ok(offset),
            (found, offset) => Err(self.expected(&sign.to_string(), found, offset)),
        }
    }

    /// The error that `found`, at byte `offset`, is not `what` was expected.
    pub fn expected(&self, what: &str, found: Token<'_>, offset: usize) -> FormatError {
        self.source.error(offset, format!("expected {what}, found {found}"))
    }

    /// The byte offset of the end of the last token, including a peeked one.
    pub fn end(&self) -> usize {
        self.offset
    }

    /// The text after the last token.
    pub fn rest(&self) -> &'s str {
        &self.source.text[self.offset..]
    }

    /// Skips the next `bytes` of the text.
    pub fn skip(&mut self, bytes: usize) {
        debug_assert!(self.peeked.is_none());
        self.offset += bytes;
    }

    /// Skips white space and comments.
    fn skip_to_token(&mut self) -> Result<(), FormatError> {
        let text = self.source.text;
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.offset) {
            let rest = || &bytes[self.offset + 2..];
            match self.dialect.bytes[usize::from(byte)] {
                ByteClass::Space => self.offset += 1,
                ByteClass::LineComment => self.skip_line(),
                ByteClass::Slash if self.dialect.is_comment(bytes.get(self.offset + 1)) => {
                    let length = match bytes[self.offset + 1] {
                        b'/' => {
                            self.skip_line();
                            continue;
                        }
                        b'*' => rest().windows(2).position(|two| two == b"*/").map(|end| end + 2),
                        _ => nested_comment(rest()),
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

    fn skip_line(&mut self) {
        self.offset += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// The end of the word that begins at `start`: the next white space, punctuation or comment.
    fn end_of_word(&self, start: usize) -> usize {
        let bytes = self.source.text.as_bytes();
        let ends = |offset: &usize| match self.dialect.bytes[usize::from(bytes[*offset])] {
            ByteClass::Word => false,
            ByteClass::Slash => self.dialect.is_comment(bytes.get(offset + 1)),
            ByteClass::Space | ByteClass::Sign | ByteClass::LineComment => true,
        };
        (start + 1..bytes.len()).find(ends).unwrap_or(bytes.len())
    }
}

/// The length of the rest of a nested comment, whose `/#` was read; `None` if it is not closed.
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
mod tests {
    use super::*;

    static PLAIN: Dialect = Dialect::new(b"{}()[];,|").without_escapes();
    static PERCENT: Dialect = Dialect::new(b"{}()=;,:|").with_percent_comments();
    static NESTED: Dialect = Dialect::new(b"{}()[]=;,:|").with_nested_comments();

    /// The tokens of `text`, up to the first error, as text.
    fn words(dialect: &Dialect, text: &str) -> Vec<String> {
        let mut tokens = Tokens::new(SourceText { file: "f", text }, dialect);
        let mut words = Vec::new();
        loop {
            match tokens.next() {
                Ok((Token::End, offset)) => {
                    assert_eq!(offset, text.len());
                    return words;
                }
                Ok((token, _)) => words.push(token.to_string()),
                Err(error) => {
                    words.push(error.to_string());
                    return words;
                }
            }
        }
    }

    #[test]
    fn words_end_at_the_punctuation_of_the_dialect_and_at_comments() {
        assert_eq!(words(&PLAIN, "<5, 12+ 5-12"), ["'<5'", "','", "'12+'", "'5-12'"]);
        assert_eq!(words(&PLAIN, "Asy/Patch/ /x"), ["'Asy/Patch/'", "'/x'"]);
        assert_eq!(words(&PLAIN, "6// \"6\"\n7/* x */8/***/"), ["'6'", "'7'", "'8'"]);
        assert_eq!(words(&PLAIN, "Kj\u{e6}r=1e-3:%;"), ["'Kj\u{e6}r=1e-3:%'", "';'"]);
        assert_eq!(words(&PLAIN, "a/#b#/ /#"), ["'a/#b#/'", "'/#'"]);
        assert_eq!(
            words(&PERCENT, "data=((-1e-3 .5)%x\n(1)[);"),
            [
                "'data'", "'='", "'('", "'('", "'-1e-3'", "'.5'", "')'", "'('", "'1'", "')'",
                "'['", "')'", "';'"
            ]
        );
        assert_eq!(words(&PERCENT, "A01.00|x/* | */y//z"), ["'A01.00'", "'|'", "'x'", "'y'"]);
        assert_eq!(
            words(&NESTED, "a=(-1e23,@imposs);"),
            ["'a'", "'='", "'('", "'-1e23'", "','", "'@imposs'", "')'", "';'"]
        );
        assert_eq!(words(&NESTED, "20_MG_L// x\n#0/* y **/b"), ["'20_MG_L'", "'#0'", "'b'"]);
        assert_eq!(words(&NESTED, "a/# b /# c #/ d #/e"), ["'a'", "'e'"]);
    }

    #[test]
    fn quotes_hold_any_text_and_backslashes_escape_if_the_dialect_says_so() {
        assert_eq!(words(&PLAIN, "\"a // b; {\"x"), ["\"a // b; {\"", "'x'"]);
        assert_eq!(words(&PLAIN, r#""C:\" x"#), [r#""C:\""#, "'x'"]);
        assert_eq!(words(&PERCENT, "\"a % \\\" {\n;\" b"), ["\"a % \\\" {\n;\"", "'b'"]);
        assert_eq!(words(&NESTED, r#""a \" // { b"c"#), [r#""a \" // { b""#, "'c'"]);
        assert_eq!(words(&NESTED, "\"\u{e6}\\\u{e6}\"\u{e6}"), ["\"\u{e6}\\\u{e6}\"", "'\u{e6}'"]);
    }

    #[test]
    fn every_kind_of_white_space_separates_words() {
        assert_eq!(words(&PLAIN, "\u{a0}a\r\n\tb\x0b\u{2003}c\x0c\x1a"), ["'a'", "'b'", "'c'"]);
        assert_eq!(words(&PLAIN, "a\u{a0}b"), ["'a\u{a0}b'"], "but not within one");
    }

    #[test]
    fn unclosed_comments_and_quotes_are_reported_at_their_start() {
        for (dialect, text, message) in [
            (&PLAIN, "a\n /* b", "f:2:2: this comment is not closed"),
            (&PLAIN, "a /*/", "f:1:3: this comment is not closed"),
            (&PLAIN, "a \"b", "f:1:3: this quote is not closed"),
            (&PERCENT, "a \"b\\\"", "f:1:3: this quote is not closed"),
            (&PERCENT, "a \"b\\", "f:1:3: this quote is not closed"),
            (&NESTED, "a /# b /# #/", "f:1:3: this comment is not closed"),
            (&NESTED, "a/#", "f:1:2: this comment is not closed"),
        ] {
            assert_eq!(words(dialect, text), ["'a'", message], "{text}");
        }
    }

    #[test]
    fn is_word_accepts_exactly_one_word() {
        for word in ["a", "5-12", "\u{e6}", "a/b", "="] {
            assert!(PLAIN.is_word(word), "{word}");
        }
        for text in ["", " a", "a ", "a b", "a,", "\"a\"", "a//b", "a/*b*/", "\u{a0}a", "\x1a"] {
            assert!(!PLAIN.is_word(text), "{text:?}");
        }
        assert!(!PERCENT.is_word("a%"));
    }
}
