//! The words, signs and quoted texts that most formats are made of.
//!
//! A word is whatever stands between white space, punctuation and comments: names, labels, numbers
//! and keywords are told apart by those who read them.

use crate::format::FormatError;
use crate::format::source::SourceText;

/// One word or sign.
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
    /// What stands in double quotes, escapes and all; it may go over several lines.
    Quoted(&'s str),
    /// A name, label, number or keyword.
    Word(&'s str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token that `byte` is, where it is a sign in some language.
    const fn of_sign(byte: u8) -> Option<Self> {
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

/// The punctuation and the comments of a language. `//` and `/* */` are comments in all of them.
#[derive(Debug)]
pub(super) struct Dialect {
    /// For every byte, what it does to a word.
    bytes: [ByteClass; 256],
    /// Whether a backslash takes a character into the quotes that would else end them.
    escapes: bool,
    /// Whether `/# #/`, which may hold others of its kind, is a comment.
    nests: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteClass {
    /// Part of a word.
    Word,
    /// White space between words.
    Space,
    /// Punctuation, and the double quote.
    Sign,
    /// The sign that makes the rest of the line a comment.
    Remark,
    /// Maybe the start of a comment.
    Slash,
}

impl Dialect {
    /// A language with the signs in `punctuation`.
    pub const fn new(punctuation: &[u8]) -> Self {
        let mut bytes = [ByteClass::Word; 256];
        // The last is the mark that programs for DOS put at the end of a text.
        let spaces = [b' ', b'\t', b'\r', b'\n', 0x0b, 0x0c, 0x1a];
        let mut at = 0;
        while at < spaces.len() {
            bytes[spaces[at] as usize] = ByteClass::Space;
            at += 1;
        }
        at = 0;
        while at < punctuation.len() {
            assert!(Token::of_sign(punctuation[at]).is_some());
            bytes[punctuation[at] as usize] = ByteClass::Sign;
            at += 1;
        }
        bytes[b'"' as usize] = ByteClass::Sign;
        bytes[b'/' as usize] = ByteClass::Slash;
        Self { bytes, escapes: true, nests: false }
    }

    /// The same, in which a backslash in quotes is a character like any other.
    pub const fn without_escapes(mut self) -> Self {
        self.escapes = false;
        self
    }

    /// The same, in which `%` makes the rest of a line a comment.
    pub const fn with_remarks(mut self) -> Self {
        self.bytes[b'%' as usize] = ByteClass::Remark;
        self
    }

    /// The same, in which `/#` and `#/` enclose a comment that may hold others.
    pub const fn with_nesting(mut self) -> Self {
        self.nests = true;
        self
    }

    /// Whether `text` is one word of the language.
    pub fn is_word(&self, text: &str) -> bool {
        let mut tokens = Tokens::new(SourceText { file: "", text }, self);
        matches!(tokens.next(), Ok((Token::Word(word), 0)) if word == text)
    }

    /// Whether a slash with `next` behind it begins a comment.
    fn is_comment(&self, next: Option<&u8>) -> bool {
        matches!(next, Some(b'/' | b'*')) || (self.nests && next == Some(&b'#'))
    }
}

/// The tokens of a text, one after another.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'s, 'd> {
    source: SourceText<'s>,
    dialect: &'d Dialect,
    /// The byte behind the token that was read last.
    at: usize,
    peeked: Option<(Token<'s>, usize)>,
}

impl<'s, 'd> Tokens<'s, 'd> {
    /// The tokens of `source`, from its start.
    pub fn new(source: SourceText<'s>, dialect: &'d Dialect) -> Self {
        Self { source, dialect, at: 0, peeked: None }
    }

    /// The next token and the byte at which it stands.
    pub fn next(&mut self) -> Result<(Token<'s>, usize), FormatError> {
        if let Some(next) = self.peeked.take() {
            return Ok(next);
        }
        self.skip_to_token()?;
        let (text, start) = (self.source.text, self.at);
        let bytes = text.as_bytes();
        let Some(&first) = bytes.get(start) else { return Ok((Token::End, start)) };
        if self.dialect.bytes[usize::from(first)] != ByteClass::Sign {
            self.at = self.end_of_word(start);
            return Ok((Token::Word(&text[start..self.at]), start));
        }
        if let Some(sign) = Token::of_sign(first) {
            self.at += 1;
            return Ok((sign, start));
        }
        let mut end = start + 1;
        while let Some(&byte) = bytes.get(end) {
            match byte {
                b'"' => {
                    self.at = end + 1;
                    return Ok((Token::Quoted(&text[start + 1..end]), start));
                }
                b'\\' if self.dialect.escapes => end += 2,
                _ => end += 1,
            }
        }
        Err(self.source.error(start, "this quote is not closed"))
    }

    /// The next token without taking it.
    pub fn peek(&mut self) -> Result<(Token<'s>, usize), FormatError> {
        let next = self.next()?;
        self.peeked = Some(next);
        Ok(next)
    }

    /// Takes the next token, which must be `sign`; the byte at which it stands.
    pub fn sign(&mut self, sign: Token<'s>) -> Result<usize, FormatError> {
        match self.next()? {
            (token, at) if token == sign => Ok(at),
            (found, at) => Err(self.expected(&sign.to_string(), found, at)),
        }
    }

    /// The error that says that `what` should stand where `found` does.
    pub fn expected(&self, what: &str, found: Token<'_>, at: usize) -> FormatError {
        self.source.error(at, format!("expected {what}, found {found}"))
    }

    /// The byte behind the token that was read last, peeked at or not.
    pub fn end(&self) -> usize {
        self.at
    }

    /// The text behind the token that was read last.
    pub fn rest(&self) -> &'s str {
        &self.source.text[self.at..]
    }

    /// Passes over the next `bytes` of the text, whatever they are.
    pub fn skip(&mut self, bytes: usize) {
        debug_assert!(self.peeked.is_none());
        self.at += bytes;
    }

    /// Passes over white space and comments.
    fn skip_to_token(&mut self) -> Result<(), FormatError> {
        let text = self.source.text;
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let rest = || &bytes[self.at + 2..];
            match self.dialect.bytes[usize::from(byte)] {
                ByteClass::Space => self.at += 1,
                ByteClass::Remark => self.skip_line(),
                ByteClass::Slash if self.dialect.is_comment(bytes.get(self.at + 1)) => {
                    let length = match bytes[self.at + 1] {
                        b'/' => {
                            self.skip_line();
                            continue;
                        }
                        b'*' => rest().windows(2).position(|two| two == b"*/").map(|end| end + 2),
                        _ => nested(rest()),
                    };
                    let Some(length) = length else {
                        return Err(self.source.error(self.at, "this comment is not closed"));
                    };
                    self.at += 2 + length;
                }
                ByteClass::Word if !byte.is_ascii() => {
                    let Some(space) = text[self.at..].chars().next().filter(|c| c.is_whitespace())
                    else {
                        break;
                    };
                    self.at += space.len_utf8();
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Where the word ends that begins at `start`: before white space, punctuation or a comment.
    fn end_of_word(&self, start: usize) -> usize {
        let bytes = self.source.text.as_bytes();
        let ends = |at: &usize| match self.dialect.bytes[usize::from(bytes[*at])] {
            ByteClass::Word => false,
            ByteClass::Slash => self.dialect.is_comment(bytes.get(at + 1)),
            ByteClass::Space | ByteClass::Sign | ByteClass::Remark => true,
        };
        (start + 1..bytes.len()).find(ends).unwrap_or(bytes.len())
    }
}

/// The length of the rest of a comment that may hold others, if it is closed.
fn nested(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (1_usize, 0);
    while depth > 0 {
        match rest.get(at..at + 2)? {
            b"/#" => (depth, at) = (depth + 1, at + 2),
            b"#/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    static PLAIN: Dialect = Dialect::new(b"{}()[];,|").without_escapes();
    static REMARKS: Dialect = Dialect::new(b"{}()=;,:|").with_remarks();
    static NESTING: Dialect = Dialect::new(b"{}()[]=;,:|").with_nesting();

    /// The tokens of `text`, and the message where there is none.
    fn words(dialect: &Dialect, text: &str) -> Vec<String> {
        let mut tokens = Tokens::new(SourceText { file: "f", text }, dialect);
        let mut words = Vec::new();
        loop {
            match tokens.next() {
                Ok((Token::End, at)) => {
                    assert_eq!(at, text.len());
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
    fn words_end_at_the_punctuation_of_their_language_and_at_comments() {
        assert_eq!(words(&PLAIN, "<5, 12+ 5-12"), ["'<5'", "','", "'12+'", "'5-12'"]);
        assert_eq!(words(&PLAIN, "Asy/Patch/ /x"), ["'Asy/Patch/'", "'/x'"]);
        assert_eq!(words(&PLAIN, "6// \"6\"\n7/* x */8/***/"), ["'6'", "'7'", "'8'"]);
        assert_eq!(words(&PLAIN, "Kj\u{e6}r=1e-3:%;"), ["'Kj\u{e6}r=1e-3:%'", "';'"]);
        assert_eq!(words(&PLAIN, "a/#b#/ /#"), ["'a/#b#/'", "'/#'"]);
        assert_eq!(
            words(&REMARKS, "data=((-1e-3 .5)%x\n(1)[);"),
            [
                "'data'", "'='", "'('", "'('", "'-1e-3'", "'.5'", "')'", "'('", "'1'", "')'",
                "'['", "')'", "';'"
            ]
        );
        assert_eq!(words(&REMARKS, "A01.00|x/* | */y//z"), ["'A01.00'", "'|'", "'x'", "'y'"]);
        assert_eq!(
            words(&NESTING, "a=(-1e23,@imposs);"),
            ["'a'", "'='", "'('", "'-1e23'", "','", "'@imposs'", "')'", "';'"]
        );
        assert_eq!(words(&NESTING, "20_MG_L// x\n#0/* y **/b"), ["'20_MG_L'", "'#0'", "'b'"]);
        assert_eq!(words(&NESTING, "a/# b /# c #/ d #/e"), ["'a'", "'e'"]);
    }

    #[test]
    fn quotes_hold_anything_and_a_backslash_where_the_language_has_it() {
        assert_eq!(words(&PLAIN, "\"a // b; {\"x"), ["\"a // b; {\"", "'x'"]);
        assert_eq!(words(&PLAIN, r#""C:\" x"#), [r#""C:\""#, "'x'"]);
        assert_eq!(words(&REMARKS, "\"a % \\\" {\n;\" b"), ["\"a % \\\" {\n;\"", "'b'"]);
        assert_eq!(words(&NESTING, r#""a \" // { b"c"#), [r#""a \" // { b""#, "'c'"]);
        assert_eq!(words(&NESTING, "\"\u{e6}\\\u{e6}\"\u{e6}"), ["\"\u{e6}\\\u{e6}\"", "'\u{e6}'"]);
    }

    #[test]
    fn white_space_of_every_kind_parts_words() {
        assert_eq!(words(&PLAIN, "\u{a0}a\r\n\tb\x0b\u{2003}c\x0c\x1a"), ["'a'", "'b'", "'c'"]);
        assert_eq!(words(&PLAIN, "a\u{a0}b"), ["'a\u{a0}b'"], "but not within one");
    }

    #[test]
    fn what_is_not_closed_is_an_error_at_its_start() {
        for (dialect, text, message) in [
            (&PLAIN, "a\n /* b", "f:2:2: this comment is not closed"),
            (&PLAIN, "a /*/", "f:1:3: this comment is not closed"),
            (&PLAIN, "a \"b", "f:1:3: this quote is not closed"),
            (&REMARKS, "a \"b\\\"", "f:1:3: this quote is not closed"),
            (&REMARKS, "a \"b\\", "f:1:3: this quote is not closed"),
            (&NESTING, "a /# b /# #/", "f:1:3: this comment is not closed"),
            (&NESTING, "a/#", "f:1:2: this comment is not closed"),
        ] {
            assert_eq!(words(dialect, text), ["'a'", message], "{text}");
        }
    }

    #[test]
    fn one_word_is_told_from_none_and_two() {
        for word in ["a", "5-12", "\u{e6}", "a/b", "="] {
            assert!(PLAIN.is_word(word), "{word}");
        }
        for text in ["", " a", "a ", "a b", "a,", "\"a\"", "a//b", "a/*b*/", "\u{a0}a", "\x1a"] {
            assert!(!PLAIN.is_word(text), "{text:?}");
        }
        assert!(!REMARKS.is_word("a%"));
    }
}
