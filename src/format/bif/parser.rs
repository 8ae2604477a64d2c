//! The grammar of BIF: from a text to nodes and distributions. Names are not looked up here.

use std::borrow::Cow;
use std::ops::Range;

use super::DIALECT;
use super::properties::{self, PROPERTY, TABLE_PROPERTY};
use crate::format::FormatError;
use crate::format::nodes::{
    Definition, Distribution, LabelledRow, LabelledRows, Node, Number, Role, RowLabel, Word, number,
};
use crate::format::source::SourceText;
use crate::format::tokens::{Token, Tokens};
use crate::network::Annotation;

/// All blocks of a file.
#[derive(Debug, Default)]
pub(super) struct Document<'s> {
    pub name: &'s str,
    /// Properties of the network.
    pub note: Annotation,
    pub variables: Vec<Node<'s>>,
    pub probabilities: Vec<Distribution<'s>>,
}

const KEYWORDS: [&str; 8] =
    ["network", "variable", "probability", "property", "type", "discrete", "table", "default"];

/// `token`, in lower case if it is a keyword.
fn keyword(token: Token<'_>) -> Token<'_> {
    let Token::Word(word) = token else { return token };
    let known = KEYWORDS.into_iter().find(|known| known.eq_ignore_ascii_case(word));
    known.map_or(token, Token::Word)
}

/// Whether the first word of `text` opens a block.
pub(super) fn begins_with_block(text: &str) -> bool {
    let first = Tokens::new(SourceText { file: "", text }, &DIALECT).next();
    matches!(
        first.map(|(token, _)| keyword(token)),
        Ok(Token::Word("network" | "variable" | "probability"))
    )
}

/// Reads the blocks of a file.
///
/// # Errors
/// The first mistake in the text.
pub(super) fn parse(source: SourceText<'_>) -> Result<Document<'_>, FormatError> {
    let mut parser = Parser { source, tokens: Tokens::new(source, &DIALECT) };
    let mut document = Document::default();
    let mut blocks = 0;
    loop {
        let (token, offset) = parser.tokens.next()?;
        match keyword(token) {
            Token::Word("network") => document.name = parser.network(&mut document.note)?,
            Token::Word("variable") => document.variables.push(parser.variable()?),
            Token::Word("probability") => document.probabilities.push(parser.probability()?),
            Token::End if blocks > 0 => return Ok(document),
            Token::Semicolon if blocks > 0 => continue,
            _ => {
                let expected = "'network', 'variable' or 'probability'";
                return Err(parser.tokens.expected(expected, token, offset));
            }
        }
        blocks += 1;
    }
}

struct Parser<'s> {
    source: SourceText<'s>,
    tokens: Tokens<'s, 'static>,
}

impl<'s> Parser<'s> {
    /// `NAME { PROPERTIES }`. Adds the properties to `note`, and returns the name, which is empty
    /// if the file gives none.
    fn network(&mut self, note: &mut Annotation) -> Result<&'s str, FormatError> {
        let (name, _) = match self.tokens.peek()?.0 {
            Token::OpenBrace => ("", 0),
            _ => self.name("the network's name")?,
        };
        self.tokens.expect(Token::OpenBrace)?;
        loop {
            let (token, offset) = self.tokens.next()?;
            match keyword(token) {
                Token::Word("property") => {
                    let property = self.property(offset)?;
                    note.attributes.push(properties::attribute(PROPERTY, property));
                }
                Token::CloseBrace => return Ok(name),
                _ => return Err(self.tokens.expected("'property' or '}'", token, offset)),
            }
        }
    }

    /// `NAME { type discrete [ N ] { STATES }; }`, after the keyword `variable`. There may be
    /// properties before and after the type.
    fn variable(&mut self) -> Result<Node<'s>, FormatError> {
        let (name, name_at) = self.name("the variable's name")?;
        self.tokens.expect(Token::OpenBrace)?;
        let (mut states, mut note) = (None, Annotation::default());
        loop {
            let (token, offset) = self.tokens.next()?;
            match keyword(token) {
                Token::Word("property") => {
                    properties::annotate(&mut note, self.property(offset)?);
                }
                Token::Word("type") => {
                    if states.replace(self.states()?).is_some() {
                        let message = format!("variable '{name}' has a second type");
                        return Err(self.source.error(offset, message));
                    }
                }
                Token::CloseBrace => {
                    let message = || format!("variable '{name}' has no type");
                    return Ok(Node {
                        name: word(name, name_at),
                        role: Role::Chance,
                        states: states.ok_or_else(|| self.source.error(offset, message()))?,
                        parents: Vec::new(),
                        definition: Definition::Missing,
                        offset: name_at,
                        note,
                    });
                }
                _ => return Err(self.tokens.expected("'type', 'property' or '}'", token, offset)),
            }
        }
    }

    /// `discrete [ N ] { STATES };`
    fn states(&mut self) -> Result<Vec<Word<'s>>, FormatError> {
        let (token, offset) = self.tokens.next()?;
        if keyword(token) != Token::Word("discrete") {
            return Err(self.tokens.expected("'discrete'", token, offset));
        }
        self.tokens.expect(Token::OpenBracket)?;
        let (token, offset) = self.tokens.next()?;
        let count = match token {
            Token::Word(digits) => digits.parse::<usize>().ok(),
            _ => None,
        };
        let count =
            count.ok_or_else(|| self.tokens.expected("the number of states", token, offset))?;
        self.tokens.expect(Token::CloseBracket)?;
        self.tokens.expect(Token::OpenBrace)?;
        let mut states = Vec::new();
        self.names_until(Token::CloseBrace, "the label of a state", |state| states.push(state))?;
        self.tokens.expect(Token::Semicolon)?;
        if states.len() != count {
            let message = format!("expected {count} states, found {}", states.len());
            return Err(self.source.error(offset, message));
        }
        Ok(states)
    }

    /// `( CHILD | PARENTS ) { ENTRIES }`, after the keyword `probability`.
    fn probability(&mut self) -> Result<Distribution<'s>, FormatError> {
        self.tokens.expect(Token::OpenParenthesis)?;
        let (child, child_at) = self.name("the name of a variable")?;
        if self.tokens.peek()?.0 == Token::Bar {
            self.tokens.next()?;
        }
        let mut parents = Vec::new();
        let what = "the name of a parent";
        self.names_until(Token::CloseParenthesis, what, |parent| parents.push(parent))?;
        self.tokens.expect(Token::OpenBrace)?;
        let mut note = Annotation::default();
        let mut rows = LabelledRows::default();
        let mut table: Option<(Vec<Number>, usize)> = None;
        loop {
            let (token, offset) = self.tokens.next()?;
            let labels = match keyword(token) {
                Token::Word("property") => {
                    let property = self.property(offset)?;
                    note.attributes.push(properties::attribute(TABLE_PROPERTY, property));
                    continue;
                }
                Token::CloseBrace => break,
                Token::Word("table" | "default") => None,
                Token::OpenParenthesis => Some(self.row_labels(&mut rows.labels)?),
                _ => {
                    let expected = "'(', 'table', 'default', 'property' or '}'";
                    return Err(self.tokens.expected(expected, token, offset));
                }
            };
            let is_table = keyword(token) == Token::Word("table");
            if table.is_some() || (is_table && !rows.rows.is_empty()) {
                let message = "'table' gives the whole table, so there can be no other entry";
                return Err(self.source.error(offset, message));
            }
            if is_table {
                let mut numbers = Vec::new();
                self.numbers(|value| numbers.push(Number { value, offset }))?;
                table = Some((numbers, offset));
            } else {
                let first = rows.numbers.len();
                self.numbers(|value| rows.numbers.push(value))?;
                rows.rows.push(LabelledRow { offset, labels, numbers: first..rows.numbers.len() });
            }
        }
        let (definition, offset) = match table {
            Some((numbers, offset)) => (Definition::TableByState(numbers), offset),
            None => (Definition::Rows(rows), child_at),
        };
        let child = word(child, child_at);
        Ok(Distribution { child, parents, definition, block_at: child_at, offset, note })
    }

    /// Reads the states of the parents up to `)`, appends them to `labels`, and returns their range
    /// in `labels`.
    fn row_labels(&mut self, labels: &mut Vec<RowLabel<'s>>) -> Result<Range<usize>, FormatError> {
        let first = labels.len();
        self.names_until(Token::CloseParenthesis, "the state of a parent", |word| {
            labels.push(RowLabel { word, may_be_index: false });
        })?;
        Ok(first..labels.len())
    }

    /// Calls `push` with each number up to a semicolon.
    fn numbers(&mut self, mut push: impl FnMut(f64)) -> Result<(), FormatError> {
        loop {
            let (token, offset) = self.tokens.next()?;
            match token {
                Token::Comma => {}
                Token::Semicolon => return Ok(()),
                Token::Word(word) => match number(word) {
                    Some(value) => push(value),
                    None => return Err(self.tokens.expected("a number or ';'", token, offset)),
                },
                found => return Err(self.tokens.expected("a number or ';'", found, offset)),
            }
        }
    }

    /// Calls `push` with each name up to `end`; commas between names are optional. `what` describes
    /// the expected name, for the error.
    fn names_until(
        &mut self,
        end: Token<'s>,
        what: &str,
        mut push: impl FnMut(Word<'s>),
    ) -> Result<(), FormatError> {
        loop {
            let (token, offset) = self.tokens.next()?;
            match token {
                Token::Word(text) | Token::Quoted(text) => push(word(text, offset)),
                Token::Comma => {}
                found if found == end => return Ok(()),
                found => {
                    return Err(self.tokens.expected(&format!("{what} or {end}"), found, offset));
                }
            }
        }
    }

    /// A name, with or without quotes, and its byte offset.
    fn name(&mut self, what: &str) -> Result<(&'s str, usize), FormatError> {
        match self.tokens.next()? {
            (Token::Word(text) | Token::Quoted(text), offset) => Ok((text, offset)),
            (found, offset) => Err(self.tokens.expected(what, found, offset)),
        }
    }

    /// The rest of a property. Its keyword, at byte `offset`, has been read.
    ///
    /// A property is free text that may hold an apostrophe or an address with `//`, so it is not
    /// split into tokens. A double quote that is not closed on its line is an ordinary character.
    fn property(&mut self, offset: usize) -> Result<&'s str, FormatError> {
        let rest = self.tokens.rest();
        let mut skipped = 0;
        while let Some(next) = rest[skipped..].find([';', '"']) {
            let found = skipped + next;
            skipped = found + 1;
            if rest.as_bytes()[found] == b';' {
                self.tokens.skip(skipped);
                return Ok(rest[..found].trim());
            }
            let rest_of_line = &rest[skipped..];
            let close =
                rest_of_line.find(['"', '\n']).filter(|&at| rest_of_line[at..].starts_with('"'));
            skipped += close.map_or(0, |close| close + 1);
        }
        Err(self.source.error(offset, "this property is not ended by ';'"))
    }
}

fn word(text: &str, offset: usize) -> Word<'_> {
    Word { text: Cow::Borrowed(text), offset }
}
