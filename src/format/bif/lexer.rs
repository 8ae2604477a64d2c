//! The words and punctuation of BIF.

use logos::{Lexer, Logos};

/// One word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Logos)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
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
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token("|")]
    Bar,
    /// What stands in double quotes.
    #[regex(r#""[^"]*""#, quoted)]
    Quoted(&'s str),
    /// A name, label, number or keyword.
    #[regex(r#"[^\s,;{}()\[\]|"]"#, word, priority = 1)]
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
            Self::OpenBracket => "'['",
            Self::CloseBracket => "']'",
            Self::Semicolon => "';'",
            Self::Comma => "','",
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
        b',' | b';' | b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'|' | b'"' => true,
        b'/' => matches!(rest.get(at + 1), Some(b'/' | b'*')),
        _ => false,
    };
    lexer.bump((0..rest.len()).find(ends).unwrap_or(rest.len()));
    Ok(lexer.slice())
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
    fn labels_keep_their_punctuation_and_comments_end_them() {
        assert_eq!(words("<5, 12+ 5-12"), ["'<5'", "','", "'12+'", "'5-12'"]);
        assert_eq!(words("Asy/Patch/ /x"), ["'Asy/Patch/'", "'/x'"]);
        assert_eq!(words("6// \"6\"\n7/* x */8/***/"), ["'6'", "'7'", "'8'"]);
        assert_eq!(words("Kj\u{e6}r=1e-3;"), ["'Kj\u{e6}r=1e-3'", "';'"]);
        assert_eq!(words("\"a // b; {\"x"), ["\"a // b; {\"", "'x'"]);
    }

    #[test]
    fn what_is_not_closed_is_an_error() {
        assert!(words("a /* b").contains(&"error".to_owned()));
        assert!(words("a \"b").contains(&"error".to_owned()));
    }
}
