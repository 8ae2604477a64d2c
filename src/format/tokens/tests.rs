//! The tokens of short texts in three dialects.

use super::*;

static PLAIN: Dialect = Dialect::new(b"{}()[];,|").without_escapes();
static PERCENT: Dialect = Dialect::new(b"{}()=;,:|").with_percent_comments();
static NESTED: Dialect = Dialect::new(b"{}()[]=;,:|").with_nested_comments();

/// The tokens of `text` as they are displayed, up to the end or the first error, which is included.
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
            "'data'", "'='", "'('", "'('", "'-1e-3'", "'.5'", "')'", "'('", "'1'", "')'", "'['",
            "')'", "';'"
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
fn white_space_before_words_is_skipped_and_ascii_white_space_ends_words() {
    assert_eq!(words(&PLAIN, "\u{a0}a\r\n\tb\x0b\u{2003}c\x0c\x1a"), ["'a'", "'b'", "'c'"]);
    assert_eq!(
        words(&PLAIN, "a\u{a0}b"),
        ["'a\u{a0}b'"],
        "a no-break space inside a word is part of it"
    );
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
