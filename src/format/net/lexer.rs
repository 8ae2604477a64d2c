//! The words and punctuation of Hugin NET.

use logos::{Lexer, Logos};

/// One word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Logos)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"(%|//)[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(super) enum Token<'s> {
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParenthesis,
    #[token(")")]
    CloseParenthesis,
    #[token("=")]
    Equals,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("|")]
    Bar,
    /// What stands in double quotes, escapes and all; it may go over several lines.
    #[regex(r#""([^"\\]|\\[\s\S])*""#, quoted)]
    Quoted(&'s str),
    /// A name, a number, a keyword, or a sign of an expression.
    #[regex(r#"[^\s,;:={}()|"%]"#, word, priority = 1)]
    Word(&'s str),
    /// The end of the text, which the parser puts in.
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OpenBrace => "'{'",
            Self::CloseBrace => "'}'",
            Self::OpenParenthesis => "'('",
            Self::CloseParenthesis => "')'",
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

fn quoted<'s>(lexer: &mut Lexer<'s, Token<'s>>) -> &'s str {
    let slice = lexer.slice();
    &slice[1..slice.len() - 1]
}

/// Extends the character just read to a word: up to white space, punctuation or a comment.
fn word<'s>(lexer: &mut Lexer<'s, Token<'s>>) -> Result<&'s str, ()> {
    let rest = lexer.remainder().as_bytes();
    if lexer.slice() == "/" && rest.first() == Some(&b'*') {
        return Err(()); // a comment that is not closed, or the lexer would have skipped it
    }
    let ends = |at: &usize| match rest[*at] {
        b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => true,
        b',' | b';' | b':' | b'=' | b'{' | b'}' | b'(' | b')' | b'|' | b'"' | b'%' => true,
        b'/' => matches!(rest.get(at + 1), Some(b'/' | b'*')),
        _ => false,
    };
    lexer.bump((0..rest.len()).find(ends).unwrap_or(rest.len()));
    Ok(lexer.slice())
}

/// The text that a quoted string means.
pub(super) fn unquote(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

/// `text` in double quotes, such that [`unquote`] gives it back.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Token::lexer(text)
            .map(|token| token.map_or("error".to_owned(), |token| token.to_string()))
            .collect()
    }

    #[test]
    fn names_and_numbers_end_at_punctuation_and_comments() {
        assert_eq!(
            words("data=((-1e-3 .5)%x\n(1));"),
            [
                "'data'", "'='", "'('", "'('", "'-1e-3'", "'.5'", "')'", "'('", "'1'", "')'",
                "')'", "';'"
            ]
        );
        assert_eq!(words("A01.00|x/* | */y//z"), ["'A01.00'", "'|'", "'x'", "'y'"]);
        assert_eq!(words("\"a % \\\" {\n;\" b"), ["\"a % \\\" {\n;\"", "'b'"]);
        assert!(words("\"a").contains(&"error".to_owned()));
        assert!(words("a /* b").contains(&"error".to_owned()));
    }

    #[test]
    fn what_is_quoted_is_given_back() {
        for text in ["", "a\"b", "back\\slash", "two\nlines\tand a tab", "\\n", "\u{e6} \u{1f600}"]
        {
            let quoted = quote(text);
            assert_eq!(unquote(&quoted[1..quoted.len() - 1]), text);
            assert_eq!(words(&quoted).len(), 1);
        }
    }
}
