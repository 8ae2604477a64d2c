//! The blocks of a file as a tree, names not yet looked up.

use std::borrow::Cow;

use crate::format::FormatError;
use crate::format::nodes::Word;
use crate::format::source::SourceText;
use crate::format::tokens::{Dialect, Token, Tokens};

static DIALECT: Dialect = Dialect::new(b"{}()[]=;,:|").with_nesting();

/// How deep blocks may be nested.
const MAX_DEPTH: usize = 100;

/// The most entries that all lists of a file may have together: each takes more room than it does
/// in the file.
const MAX_LISTED: usize = 1 << 25;

/// What stands in a pair of braces.
#[derive(Debug, Default)]
pub(in crate::format) struct Block<'s> {
    pub fields: Vec<Field<'s>>,
}

/// One part of a block: `name = value;`, or `name labels { ... };`.
#[derive(Debug)]
pub(in crate::format) struct Field<'s> {
    pub name: &'s str,
    pub at: usize,
    /// The words between the name and the value: `link 2 {`, `node A (class) {`.
    pub labels: Vec<Word<'s>>,
    pub value: FieldValue<'s>,
}

/// What a field holds.
#[derive(Debug)]
pub(in crate::format) enum FieldValue<'s> {
    Word(Word<'s>),
    /// What stands in parentheses, parentheses within them left out.
    List(Vec<ListEntry<'s>>),
    Block(Block<'s>),
}

/// One entry of a list; `None` where nothing stands between two commas.
#[derive(Debug)]
pub(in crate::format) struct ListEntry<'s> {
    pub word: Option<Cow<'s, str>>,
    pub at: usize,
}

impl<'s> Block<'s> {
    /// The last field called `name`: where a name comes twice, later ones win.
    pub fn field(&self, name: &str) -> Option<&Field<'s>> {
        self.fields.iter().rev().find(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The word or text that the field called `name` holds.
    pub fn word(&self, name: &str) -> Option<&Word<'s>> {
        match &self.field(name)?.value {
            FieldValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The list that the field called `name` holds, and where the field stands.
    pub fn list(&self, name: &str) -> Option<(&[ListEntry<'s>], usize)> {
        let field = self.field(name)?;
        match &field.value {
            FieldValue::List(entries) => Some((entries, field.at)),
            _ => None,
        }
    }

    /// The block that the field called `name` holds.
    pub fn block(&self, name: &str) -> Option<&Block<'s>> {
        match &self.field(name)?.value {
            FieldValue::Block(block) => Some(block),
            _ => None,
        }
    }
}

/// Whether the first words of `text` are `words`, and a name follows them.
pub(in crate::format) fn begins_with(text: &str, words: &[&str]) -> bool {
    let mut tokens = Tokens::new(SourceText { file: "", text }, &DIALECT);
    let mut next = || tokens.next().map_or(Token::End, |(token, _)| token);
    let mut fits = |word: &&str| match next() {
        Token::Word(found) => found.eq_ignore_ascii_case(word),
        _ => false,
    };
    words.iter().all(&mut fits) && matches!(next(), Token::Word(_) | Token::Quoted(_))
}

/// Reads a text token by token.
#[derive(Debug)]
pub(in crate::format) struct Parser<'s> {
    source: SourceText<'s>,
    /// What is left of the text.
    pub tokens: Tokens<'s, 'static>,
    /// Entries of all lists so far.
    listed: usize,
}

impl<'s> Parser<'s> {
    /// A parser at the start of a text.
    pub fn new(source: SourceText<'s>) -> Self {
        Self { source, tokens: Tokens::new(source, &DIALECT), listed: 0 }
    }

    /// Reads `keyword name { ... }` and what may follow it: the whole of a Netica or GeNIe file.
    pub fn document(&mut self, keyword: &str) -> Result<(Word<'s>, Block<'s>), FormatError> {
        let (token, at) = self.tokens.next()?;
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case(keyword) => {}
            found => return Err(self.tokens.expected(&format!("'{keyword}'"), found, at)),
        }
        let name = match self.tokens.peek()?.0 {
            Token::OpenBrace => Word { text: Cow::Borrowed(""), at },
            _ => self.word("the network's name")?,
        };
        let (open, open_at) = self.tokens.next()?;
        if open != Token::OpenBrace {
            return Err(self.tokens.expected("'{'", open, open_at));
        }
        let block = self.block(open_at, 0)?;
        while self.tokens.peek()?.0 == Token::Semicolon {
            self.tokens.next()?;
        }
        match self.tokens.next()? {
            (Token::End, _) => Ok((name, block)),
            (found, at) => Err(self.tokens.expected("the end of the file", found, at)),
        }
    }

    /// The rest of a block whose brace, at byte `open_at`, was read last.
    fn block(&mut self, open_at: usize, depth: usize) -> Result<Block<'s>, FormatError> {
        if depth == MAX_DEPTH {
            let message = format!("blocks are nested more than {MAX_DEPTH} deep");
            return Err(self.source.error(open_at, message));
        }
        let mut block = Block::default();
        loop {
            match self.tokens.next()? {
                (Token::CloseBrace, _) => return Ok(block),
                (Token::Semicolon, _) => {}
                (Token::Word(name), at) => block.fields.push(self.field(name, at, depth)?),
                (Token::End, _) => {
                    return Err(self.source.error(open_at, "this '{' is not closed"));
                }
                (found, at) => return Err(self.tokens.expected("a name or '}'", found, at)),
            }
        }
    }

    fn field(&mut self, name: &'s str, at: usize, depth: usize) -> Result<Field<'s>, FormatError> {
        let mut labels = Vec::new();
        let value = loop {
            let (token, token_at) = self.tokens.next()?;
            match token {
                Token::Equals => {
                    let value = self.value(depth)?;
                    self.end_of_value()?;
                    break value;
                }
                Token::OpenBrace => break FieldValue::Block(self.block(token_at, depth + 1)?),
                Token::Word(text) => {
                    labels.push(Word { text: Cow::Borrowed(text), at: token_at });
                }
                Token::Quoted(raw) => {
                    labels.push(Word { text: Cow::Owned(unquote(raw)), at: token_at });
                }
                Token::OpenParenthesis | Token::CloseParenthesis | Token::Comma
                    if !labels.is_empty() => {}
                found => {
                    let message = format!("'=' or '{{' after '{name}'");
                    return Err(self.tokens.expected(&message, found, token_at));
                }
            }
        };
        Ok(Field { name, at, labels, value })
    }

    fn value(&mut self, depth: usize) -> Result<FieldValue<'s>, FormatError> {
        let (token, at) = self.tokens.next()?;
        match token {
            Token::Quoted(raw) => Ok(FieldValue::Word(Word { text: Cow::Owned(unquote(raw)), at })),
            Token::Word(text) => match self.tokens.peek()? {
                (Token::OpenBrace, open_at) => {
                    self.tokens.next()?;
                    Ok(FieldValue::Block(self.block(open_at, depth + 1)?))
                }
                _ => Ok(FieldValue::Word(Word { text: Cow::Borrowed(text), at })),
            },
            Token::OpenBrace => Ok(FieldValue::Block(self.block(at, depth + 1)?)),
            Token::OpenParenthesis => Ok(FieldValue::List(self.list(at)?)),
            found => Err(self.tokens.expected("a value", found, at)),
        }
    }

    /// Every value ends with a semicolon, which some programs leave out before a brace.
    fn end_of_value(&mut self) -> Result<(), FormatError> {
        match self.tokens.peek()? {
            (Token::Semicolon, _) => {
                self.tokens.next()?;
                Ok(())
            }
            (Token::CloseBrace, _) => Ok(()),
            (found, at) => Err(self.tokens.expected("';'", found, at)),
        }
    }

    /// The entries up to the parenthesis that closes the one at byte `open_at`. Inner parentheses
    /// only show what the order says already.
    pub fn list(&mut self, open_at: usize) -> Result<Vec<ListEntry<'s>>, FormatError> {
        let mut entries = Vec::new();
        let mut depth = 1_usize;
        let mut after_comma = false; // or at the start of a list
        let mut before_any = true;
        while depth > 0 {
            let (token, at) = self.tokens.next()?;
            if self.listed + entries.len() > MAX_LISTED {
                let message = format!("more than {MAX_LISTED} entries in lists, the maximum");
                return Err(self.source.error(at, message));
            }
            match token {
                Token::OpenParenthesis => {
                    depth += 1;
                    before_any = true;
                }
                Token::CloseParenthesis => {
                    depth -= 1;
                    after_comma = false;
                    before_any = false;
                }
                Token::Comma => {
                    if after_comma || before_any {
                        entries.push(ListEntry { word: None, at });
                    }
                    after_comma = true;
                    before_any = false;
                }
                Token::Word(text) => {
                    entries.push(ListEntry { word: Some(Cow::Borrowed(text)), at });
                    (after_comma, before_any) = (false, false);
                }
                Token::Quoted(raw) => {
                    entries.push(ListEntry { word: Some(Cow::Owned(unquote(raw))), at });
                    (after_comma, before_any) = (false, false);
                }
                Token::End => return Err(self.source.error(open_at, "this '(' is not closed")),
                found => return Err(self.tokens.expected("',' or ')'", found, at)),
            }
        }
        self.listed += entries.len();
        Ok(entries)
    }

    /// A name, bare or in quotes.
    pub fn word(&mut self, what: &str) -> Result<Word<'s>, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text), at) => Ok(Word { text: Cow::Borrowed(text), at }),
            (Token::Quoted(raw), at) => Ok(Word { text: Cow::Owned(unquote(raw)), at }),
            (found, at) => Err(self.tokens.expected(what, found, at)),
        }
    }
}

/// The text that a quoted string means.
///
/// A backslash at the end of a line joins it with the next, whose indentation does not count; a
/// backslash before a bar stands for nothing, and shows where such a line's text begins.
fn unquote(raw: &str) -> String {
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

    #[test]
    fn escapes_and_joined_lines_are_understood() {
        assert_eq!(unquote(r#"a \"b\" c\\d\ne"#), "a \"b\" c\\d\ne");
        assert_eq!(unquote("one \\\r\n\t  two\\n\\\n\t\\|  three\\"), "one two\n  three");
    }
}
