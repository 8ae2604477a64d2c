//! Reads a file as a tree of blocks.

use std::borrow::Cow;

use crate::format::FormatError;
use crate::format::nodes::Word;
use crate::format::source::SourceText;
use crate::format::tokens::{Dialect, Token, Tokens};

static DIALECT: Dialect = Dialect::new(b"{}()[]=;,:|").with_nested_comments();

/// Maximum depth of nested blocks. It bounds the recursion. Real files nest less than ten deep.
const MAX_DEPTH: usize = 100;

/// Maximum number of entries in all lists of a file together. A [`ListEntry`] takes 32 bytes, so
/// this many take 1 GiB.
const MAX_LIST_ENTRIES: usize = 1 << 25;

/// The content of a pair of braces.
#[derive(Debug, Default)]
pub(in crate::format) struct Block<'s> {
    pub fields: Vec<Field<'s>>,
}

/// One field of a block: `name = value;` or `name labels { ... };`.
#[derive(Debug)]
pub(in crate::format) struct Field<'s> {
    pub name: &'s str,
    /// The byte offset of the name.
    pub offset: usize,
    /// The words between the name and the block, such as `A` and `class` in `node A (class) {`.
    pub labels: Vec<Word<'s>>,
    pub value: FieldValue<'s>,
}

/// The value of a field.
#[derive(Debug)]
pub(in crate::format) enum FieldValue<'s> {
    Word(Word<'s>),
    /// A list in parentheses. Inner parentheses are ignored.
    List(Vec<ListEntry<'s>>),
    Block(Block<'s>),
}

/// One entry of a list.
#[derive(Debug)]
pub(in crate::format) struct ListEntry<'s> {
    /// `None` if the entry is empty, as between two commas.
    pub word: Option<Cow<'s, str>>,
    /// The byte offset of the entry, or of the comma after an empty entry.
    pub offset: usize,
}

impl<'s> Block<'s> {
    /// The last field called `name`, ignoring ASCII case.
    pub fn field(&self, name: &str) -> Option<&Field<'s>> {
        self.fields.iter().rev().find(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The word or quoted text that is the value of the field called `name`.
    pub fn word(&self, name: &str) -> Option<&Word<'s>> {
        match &self.field(name)?.value {
            FieldValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The list of the field called `name`, and the byte offset of the field.
    pub fn list(&self, name: &str) -> Option<(&[ListEntry<'s>], usize)> {
        let field = self.field(name)?;
        match &field.value {
            FieldValue::List(entries) => Some((entries, field.offset)),
            _ => None,
        }
    }

    /// The block of the field called `name`.
    pub fn block(&self, name: &str) -> Option<&Block<'s>> {
        match &self.field(name)?.value {
            FieldValue::Block(block) => Some(block),
            _ => None,
        }
    }
}

/// Whether `text` begins with `words`, ignoring ASCII case, and then a name.
pub(in crate::format) fn begins_with(text: &str, words: &[&str]) -> bool {
    let mut tokens = Tokens::new(SourceText { file: "", text }, &DIALECT);
    let mut next = || tokens.next().map_or(Token::End, |(token, _)| token);
    let mut matches_next = |word: &&str| match next() {
        Token::Word(found) => found.eq_ignore_ascii_case(word),
        _ => false,
    };
    words.iter().all(&mut matches_next) && matches!(next(), Token::Word(_) | Token::Quoted(_))
}

/// A parser of blocks.
#[derive(Debug)]
pub(in crate::format) struct Parser<'s> {
    source: SourceText<'s>,
    /// The tokens that have not been read. The parser of DSC reads some of them itself.
    pub tokens: Tokens<'s, 'static>,
    /// The number of entries in all lists so far.
    list_entries: usize,
}

impl<'s> Parser<'s> {
    /// A parser at the start of a text.
    pub fn new(source: SourceText<'s>) -> Self {
        Self { source, tokens: Tokens::new(source, &DIALECT), list_entries: 0 }
    }

    /// Reads a whole Netica or GeNIe file: `keyword name { ... }`. The name may be missing, and is
    /// then empty.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub fn document(&mut self, keyword: &str) -> Result<(Word<'s>, Block<'s>), FormatError> {
        let (token, offset) = self.tokens.next()?;
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case(keyword) => {}
            found => return Err(self.tokens.expected(&format!("'{keyword}'"), found, offset)),
        }
        let name = match self.tokens.peek()?.0 {
            Token::OpenBrace => Word { text: Cow::Borrowed(""), offset },
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
            (found, offset) => Err(self.tokens.expected("the end of the file", found, offset)),
        }
    }

    /// The rest of a block. Its opening brace, at byte `open_at`, has been read.
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
                (Token::Word(name), offset) => block.fields.push(self.field(name, offset, depth)?),
                (Token::End, _) => {
                    return Err(self.source.error(open_at, "this '{' is not closed"));
                }
                (found, offset) => {
                    return Err(self.tokens.expected("a name or '}'", found, offset));
                }
            }
        }
    }

    /// The rest of a field after its `name`, which is at byte `offset`. `depth` is the number of
    /// blocks around the block that holds the field.
    fn field(
        &mut self,
        name: &'s str,
        offset: usize,
        depth: usize,
    ) -> Result<Field<'s>, FormatError> {
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
                    labels.push(Word { text: Cow::Borrowed(text), offset: token_at });
                }
                Token::Quoted(raw) => {
                    labels.push(Word { text: Cow::Owned(unquote(raw)), offset: token_at });
                }
                Token::OpenParenthesis | Token::CloseParenthesis | Token::Comma
                    if !labels.is_empty() => {}
                found => {
                    let what = format!("'=' or '{{' after '{name}'");
                    return Err(self.tokens.expected(&what, found, token_at));
                }
            }
        };
        Ok(Field { name, offset, labels, value })
    }

    /// The value of a field after `=`: a word, a text, a list or a block. A word before a block is
    /// ignored.
    fn value(&mut self, depth: usize) -> Result<FieldValue<'s>, FormatError> {
        let (token, offset) = self.tokens.next()?;
        match token {
            Token::Quoted(raw) => {
                Ok(FieldValue::Word(Word { text: Cow::Owned(unquote(raw)), offset }))
            }
            Token::Word(text) => match self.tokens.peek()? {
                (Token::OpenBrace, open_at) => {
                    self.tokens.next()?;
                    Ok(FieldValue::Block(self.block(open_at, depth + 1)?))
                }
                _ => Ok(FieldValue::Word(Word { text: Cow::Borrowed(text), offset })),
            },
            Token::OpenBrace => Ok(FieldValue::Block(self.block(offset, depth + 1)?)),
            Token::OpenParenthesis => Ok(FieldValue::List(self.list(offset)?)),
            found => Err(self.tokens.expected("a value", found, offset)),
        }
    }

    /// Consumes the semicolon after a value. Some programs omit it before a closing brace.
    fn end_of_value(&mut self) -> Result<(), FormatError> {
        match self.tokens.peek()? {
            (Token::Semicolon, _) => {
                self.tokens.next()?;
                Ok(())
            }
            (Token::CloseBrace, _) => Ok(()),
            (found, offset) => Err(self.tokens.expected("';'", found, offset)),
        }
    }

    /// Reads the entries of a list. Its opening parenthesis, at byte `open_at`, has been read.
    /// Inner parentheses only group the entries and are ignored.
    ///
    /// # Errors
    /// The first mistake in the list, or that the lists of the file have too many entries.
    pub fn list(&mut self, open_at: usize) -> Result<Vec<ListEntry<'s>>, FormatError> {
        let mut entries = Vec::new();
        let mut depth = 1_usize;
        let mut after_comma = false;
        let mut at_start = true;
        while depth > 0 {
            let (token, offset) = self.tokens.next()?;
            if self.list_entries + entries.len() > MAX_LIST_ENTRIES {
                let message = format!(
                    "the file has more than the maximum of {MAX_LIST_ENTRIES} list entries"
                );
                return Err(self.source.error(offset, message));
            }
            match token {
                Token::OpenParenthesis => {
                    depth += 1;
                    at_start = true;
                }
                Token::CloseParenthesis => {
                    depth -= 1;
                    after_comma = false;
                    at_start = false;
                }
                Token::Comma => {
                    if after_comma || at_start {
                        entries.push(ListEntry { word: None, offset });
                    }
                    after_comma = true;
                    at_start = false;
                }
                Token::Word(text) => {
                    entries.push(ListEntry { word: Some(Cow::Borrowed(text)), offset });
                    (after_comma, at_start) = (false, false);
                }
                Token::Quoted(raw) => {
                    entries.push(ListEntry { word: Some(Cow::Owned(unquote(raw))), offset });
                    (after_comma, at_start) = (false, false);
                }
                Token::End => return Err(self.source.error(open_at, "this '(' is not closed")),
                found => return Err(self.tokens.expected("',' or ')'", found, offset)),
            }
        }
        self.list_entries += entries.len();
        Ok(entries)
    }

    /// A name, with or without quotes. `what` describes the expected name, for the error.
    ///
    /// # Errors
    /// If the next token is not a name.
    pub fn word(&mut self, what: &str) -> Result<Word<'s>, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text), offset) => Ok(Word { text: Cow::Borrowed(text), offset }),
            (Token::Quoted(raw), offset) => Ok(Word { text: Cow::Owned(unquote(raw)), offset }),
            (found, offset) => Err(self.tokens.expected(what, found, offset)),
        }
    }
}

/// Resolves the escapes of a quoted text.
///
/// A backslash at the end of a line joins the next line to it, without the next line's indentation.
/// `\|` marks where the text of a joined line begins, and is removed.
fn unquote(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(offset) = rest.find('\\') {
        text.push_str(&rest[..offset]);
        let mut characters = rest[offset + 1..].chars();
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
    fn escapes_and_joined_lines_are_resolved() {
        assert_eq!(unquote(r#"a \"b\" c\\d\ne"#), "a \"b\" c\\d\ne");
        assert_eq!(unquote("one \\\r\n\t  two\\n\\\n\t\\|  three\\"), "one two\n  three");
    }
}
