//! The words and punctuation of the languages that put blocks in braces.

use logos::{Lexer, Logos};

/// One word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Logos)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(in crate::format) enum Token<'s> {
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParenthesis,
    #[token(")")]
    CloseParenthesis,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
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
    /// What stands in double quotes, escapes and all.
    #[regex(r#""([^"\\]|\\[\s\S])*""#, quoted)]
    Quoted(&'s str),
    /// A name, label, number or keyword.
    #[regex(r#"[^\s,;:={}()\[\]|"]"#, word, priority = 1)]
    Word(&'s str),
    /// A comment that may hold others: `/# ... #/`.
    #[token("/#", nesting_comment, priority = 10)]
    Comment,
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
            Self::OpenBracket => "'['",
            Self::CloseBracket => "']'",
            Self::Equals => "'='",
            Self::Semicolon => "';'",
            Self::Comma => "','",
            Self::Colon => "':'",
            Self::Bar => "'|'",
            Self::Quoted(text) => return write!(f, "\"{text}\""),
            Self::Word(text) => return write!(f, "'{text}'"),
            Self::Comment => "a comment",
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
    if lexer.slice() == "/" && matches!(rest.first(), Some(b'*' | b'#')) {
        return Err(()); // a comment that is not closed, or the lexer would have skipped it
    }
    let ends = |at: &usize| match rest[*at] {
        b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => true,
        b',' | b';' | b':' | b'=' | b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'|' | b'"' => true,
        b'/' => matches!(rest.get(at + 1), Some(b'/' | b'*' | b'#')),
        _ => false,
    };
    lexer.bump((0..rest.len()).find(ends).unwrap_or(rest.len()));
    Ok(lexer.slice())
}

/// Skips the rest of a comment that may hold others.
fn nesting_comment<'s>(lexer: &mut Lexer<'s, Token<'s>>) -> Result<(), ()> {
    let rest = lexer.remainder().as_bytes();
    let (mut depth, mut at) = (1_usize, 0);
    while at + 1 < rest.len() {
        match (rest[at], rest[at + 1]) {
            (b'/', b'#') => (depth, at) = (depth + 1, at + 2),
            (b'#', b'/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            lexer.bump(at);
            return Ok(());
        }
    }
    Err(())
}

/// The text that a quoted string means.
///
/// A backslash at the end of a line joins it with the next, whose indentation does not count; a
/// backslash before a bar stands for nothing, and shows where such a line's text begins.
pub(super) fn unquote(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut characters = rest[at + 1..].chars();
        match characters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r' | '|') | None => {}
            Some('\n' | '\r') => {
                rest = characters.as_str().trim_start_matches([' ', '\t', '\r', '\n']);
                continue;
            }
            Some(other) => text.push(other),
        }
        rest = characters.as_str();
    }
    text.push_str(rest);
    text
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
    fn words_end_at_punctuation_and_comments() {
        assert_eq!(
            words("a=(-1e23,@imposs);"),
            ["'a'", "'='", "'('", "'-1e23'", "','", "'@imposs'", "')'", "';'"]
        );
        assert_eq!(words("20_MG_L// x\n#0/* y **/b"), ["'20_MG_L'", "'#0'", "'b'"]);
        assert_eq!(words("a/# b /# c #/ d #/e"), ["'a'", "a comment", "'e'"]);
        assert_eq!(words(r#""a \" // { b"c"#), [r#""a \" // { b""#, "'c'"]);
    }

    #[test]
    fn what_is_not_closed_is_an_error() {
        assert!(words("a /* b").contains(&"error".to_owned()));
        assert!(words("a /# b /# #/").contains(&"error".to_owned()));
        assert!(words("a \"b").contains(&"error".to_owned()));
    }

    #[test]
    fn escapes_and_joined_lines_are_understood() {
        assert_eq!(unquote(r#"a \"b\" c\\d\ne"#), "a \"b\" c\\d\ne");
        assert_eq!(unquote("one \\\r\n\t  two\\n\\\n\t\\|  three\\"), "one two\n  three");
    }
}
