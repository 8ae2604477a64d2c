//! The grammar of BIF: from text to blocks, names not yet looked up.

use std::ops::Range;

use super::DIALECT;
use crate::format::FormatError;
use crate::format::nodes::number;
use crate::format::source::Source;
use crate::format::tokens::{Token, Tokens};

/// A name or label, and the byte at which it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'s> {
    pub text: &'s str,
    pub at: usize,
}

/// `variable NAME { type discrete [ N ] { STATES }; }`
#[derive(Debug)]
pub(super) struct VariableBlock<'s> {
    pub name: Name<'s>,
    pub states: Vec<Name<'s>>,
    pub properties: Vec<&'s str>,
}

/// `probability ( CHILD | PARENTS ) { ENTRIES }`
#[derive(Debug)]
pub(super) struct ProbabilityBlock<'s> {
    pub child: Name<'s>,
    pub parents: Vec<Name<'s>>,
    pub entries: Vec<Entry>,
    pub properties: Vec<&'s str>,
}

/// What an entry of a probability block gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Table,
    Default,
    Row,
}

/// One entry of a probability block. Its labels and numbers stand in the document's, because a
/// vector for each of a hundred thousand rows would cost more than reading them.
#[derive(Debug)]
pub(super) struct Entry {
    pub at: usize,
    pub kind: EntryKind,
    pub labels: Range<usize>,
    pub numbers: Range<usize>,
}

/// All blocks of a file.
#[derive(Debug, Default)]
pub(super) struct Document<'s> {
    pub name: &'s str,
    /// Those of the network.
    pub properties: Vec<&'s str>,
    pub variables: Vec<VariableBlock<'s>>,
    pub probabilities: Vec<ProbabilityBlock<'s>>,
    pub labels: Vec<Name<'s>>,
    pub numbers: Vec<f64>,
}

const KEYWORDS: [&str; 8] =
    ["network", "variable", "probability", "property", "type", "discrete", "table", "default"];

/// `token`, or the keyword that it is in capital letters or small ones.
fn keyword(token: Token<'_>) -> Token<'_> {
    let Token::Word(word) = token else { return token };
    let known = KEYWORDS.into_iter().find(|known| known.eq_ignore_ascii_case(word));
    known.map_or(token, Token::Word)
}

/// Whether the first word of `text` opens a block.
pub(super) fn begins_with_block(text: &str) -> bool {
    let first = Tokens::new(Source { file: "", text }, &DIALECT).next();
    matches!(
        first.map(|(token, _)| keyword(token)),
        Ok(Token::Word("network" | "variable" | "probability"))
    )
}

/// Reads the blocks of a file.
pub(super) fn parse(source: Source<'_>) -> Result<Document<'_>, FormatError> {
    let mut parser = Parser { source, tokens: Tokens::new(source, &DIALECT) };
    let mut document = Document::default();
    let mut blocks = 0;
    loop {
        let (token, at) = parser.tokens.next()?;
        match keyword(token) {
            Token::Word("network") => document.name = parser.network(&mut document.properties)?,
            Token::Word("variable") => document.variables.push(parser.variable()?),
            Token::Word("probability") => {
                let block = parser.probability(&mut document)?;
                document.probabilities.push(block);
            }
            Token::End if blocks > 0 => return Ok(document),
            Token::Semicolon if blocks > 0 => continue,
            _ => {
                let expected = "'network', 'variable' or 'probability'";
                return Err(parser.tokens.expected(expected, token, at));
            }
        }
        blocks += 1;
    }
}

struct Parser<'s> {
    source: Source<'s>,
    tokens: Tokens<'s, 'static>,
}

impl<'s> Parser<'s> {
    fn network(&mut self, properties: &mut Vec<&'s str>) -> Result<&'s str, FormatError> {
        let name = match self.tokens.peek()?.0 {
            Token::OpenBrace => "",
            _ => self.name("the network's name")?.text,
        };
        self.tokens.sign(Token::OpenBrace)?;
        loop {
            let (token, at) = self.tokens.next()?;
            match keyword(token) {
                Token::Word("property") => properties.push(self.property(at)?),
                Token::CloseBrace => return Ok(name),
                _ => return Err(self.tokens.expected("'property' or '}'", token, at)),
            }
        }
    }

    fn variable(&mut self) -> Result<VariableBlock<'s>, FormatError> {
        let name = self.name("the variable's name")?;
        self.tokens.sign(Token::OpenBrace)?;
        let (mut states, mut properties) = (None, Vec::new());
        loop {
            let (token, at) = self.tokens.next()?;
            match keyword(token) {
                Token::Word("property") => properties.push(self.property(at)?),
                Token::Word("type") => {
                    if states.replace(self.states()?).is_some() {
                        let message = format!("variable '{}' has a second type", name.text);
                        return Err(self.source.error(at, message));
                    }
                }
                Token::CloseBrace => {
                    let message = || format!("variable '{}' has no type", name.text);
                    let states = states.ok_or_else(|| self.source.error(at, message()))?;
                    return Ok(VariableBlock { name, states, properties });
                }
                _ => return Err(self.tokens.expected("'type', 'property' or '}'", token, at)),
            }
        }
    }

    /// `discrete [ N ] { STATES };`
    fn states(&mut self) -> Result<Vec<Name<'s>>, FormatError> {
        let (token, at) = self.tokens.next()?;
        if keyword(token) != Token::Word("discrete") {
            return Err(self.tokens.expected("'discrete'", token, at));
        }
        self.tokens.sign(Token::OpenBracket)?;
        let (token, at) = self.tokens.next()?;
        let count = match token {
            Token::Word(digits) => digits.parse::<usize>().ok(),
            _ => None,
        };
        let count = count.ok_or_else(|| self.tokens.expected("the number of states", token, at))?;
        self.tokens.sign(Token::CloseBracket)?;
        self.tokens.sign(Token::OpenBrace)?;
        let mut states = Vec::new();
        self.names_until(Token::CloseBrace, "the label of a state", &mut states)?;
        self.tokens.sign(Token::Semicolon)?;
        if states.len() != count {
            let message = format!("{count} states are announced, but {} follow", states.len());
            return Err(self.source.error(at, message));
        }
        Ok(states)
    }

    fn probability(
        &mut self,
        document: &mut Document<'s>,
    ) -> Result<ProbabilityBlock<'s>, FormatError> {
        self.tokens.sign(Token::OpenParenthesis)?;
        let child = self.name("the name of a variable")?;
        if self.tokens.peek()?.0 == Token::Bar {
            self.tokens.next()?;
        }
        let mut parents = Vec::new();
        self.names_until(Token::CloseParenthesis, "the name of a parent", &mut parents)?;
        self.tokens.sign(Token::OpenBrace)?;
        let (mut entries, mut properties) = (Vec::new(), Vec::new());
        loop {
            let first_label = document.labels.len();
            let (token, at) = self.tokens.next()?;
            let kind = match keyword(token) {
                Token::Word("property") => {
                    properties.push(self.property(at)?);
                    continue;
                }
                Token::Word("table") => EntryKind::Table,
                Token::Word("default") => EntryKind::Default,
                Token::OpenParenthesis => {
                    let labels = &mut document.labels;
                    self.names_until(Token::CloseParenthesis, "the state of a parent", labels)?;
                    EntryKind::Row
                }
                Token::CloseBrace => {
                    return Ok(ProbabilityBlock { child, parents, entries, properties });
                }
                _ => {
                    let expected = "'(', 'table', 'default', 'property' or '}'";
                    return Err(self.tokens.expected(expected, token, at));
                }
            };
            let labels = first_label..document.labels.len();
            let numbers = self.numbers(&mut document.numbers)?;
            entries.push(Entry { at, kind, labels, numbers });
        }
    }

    /// Numbers up to a semicolon, pushed onto `numbers`; returns where they stand there.
    fn numbers(&mut self, numbers: &mut Vec<f64>) -> Result<Range<usize>, FormatError> {
        let start = numbers.len();
        loop {
            let (token, at) = self.tokens.next()?;
            match token {
                Token::Comma => {}
                Token::Semicolon => return Ok(start..numbers.len()),
                Token::Word(word) => match number(word) {
                    Some(value) => numbers.push(value),
                    None => return Err(self.tokens.expected("a number or ';'", token, at)),
                },
                found => return Err(self.tokens.expected("a number or ';'", found, at)),
            }
        }
    }

    /// Names with or without commas between them up to `end`, pushed onto `names`.
    fn names_until(
        &mut self,
        end: Token<'s>,
        what: &str,
        names: &mut Vec<Name<'s>>,
    ) -> Result<(), FormatError> {
        loop {
            let (token, at) = self.tokens.next()?;
            match token {
                Token::Word(text) | Token::Quoted(text) => names.push(Name { text, at }),
                Token::Comma => {}
                found if found == end => return Ok(()),
                found => return Err(self.tokens.expected(&format!("{what} or {end}"), found, at)),
            }
        }
    }

    fn name(&mut self, what: &str) -> Result<Name<'s>, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text) | Token::Quoted(text), at) => Ok(Name { text, at }),
            (found, at) => Err(self.tokens.expected(what, found, at)),
        }
    }

    /// The rest of the property whose keyword, at byte `at`, was read last.
    ///
    /// The text is free, so it is not cut into words: it may hold an apostrophe or an address with
    /// `//`. A double quote that is not closed on its line is a character like any other.
    fn property(&mut self, at: usize) -> Result<&'s str, FormatError> {
        let rest = self.tokens.rest();
        let mut skipped = 0;
        while let Some(offset) = rest[skipped..].find([';', '"']) {
            let found = skipped + offset;
            skipped = found + 1;
            if rest.as_bytes()[found] == b';' {
                self.tokens.skip(skipped);
                return Ok(rest[..found].trim());
            }
            let line = rest[skipped..].lines().next().unwrap_or_default();
            skipped += line.find('"').map_or(0, |close| close + 1);
        }
        Err(self.source.error(at, "the property is not ended by ';'"))
    }
}
