//! The grammar of DSC: from a text to nodes and distributions. Names are not looked up here.

use std::ops::Range;

use crate::format::FormatError;
use crate::format::braces::Parser;
use crate::format::limits;
use crate::format::nodes::{
    Definition, Distribution, LabelledRow, LabelledRows, MAX_UNNAMED_STATES, Node, Number, Role,
    RowLabel, Word, number,
};
use crate::format::source::SourceText;
use crate::format::tokens::Token;
use crate::network::Annotation;

/// All blocks of a file.
pub(super) struct Document<'s> {
    pub name: String,
    pub nodes: Vec<Node<'s>>,
    pub distributions: Vec<Distribution<'s>>,
}

/// Reads the blocks of a file.
///
/// # Errors
/// The first mistake in the text.
pub(super) fn parse(source: SourceText<'_>) -> Result<Document<'_>, FormatError> {
    let mut reader = Reader { source, parser: Parser::new(source), name: String::new() };
    let mut states = 0;
    let mut found = Vec::new();
    let mut distributions = Vec::new();
    loop {
        let (token, offset) = reader.parser.tokens.next()?;
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case("belief") => {}
            Token::Word(word) if word.eq_ignore_ascii_case("network") => reader.network()?,
            Token::Word(word) if word.eq_ignore_ascii_case("properties") => {
                let open = reader.parser.tokens.expect(Token::OpenBrace)?;
                reader.skip_block(open)?;
            }
            Token::Word(word) if let Some(role) = role(word, "node") => {
                let node = reader.node(role)?;
                limits::count_states(source, &mut states, node.states.len(), offset)?;
                found.push(node);
            }
            Token::Word(word) if word.eq_ignore_ascii_case("probability") => {
                distributions.push(reader.distribution(offset)?);
            }
            Token::Semicolon => {}
            Token::End if !found.is_empty() => break,
            unknown => {
                let expected = "'belief network', 'properties', 'node', 'decision', 'utility' or \
                                'probability'";
                return Err(reader.parser.tokens.expected(expected, unknown, offset));
            }
        }
    }
    Ok(Document { name: reader.name, nodes: found, distributions })
}

/// The role of a node if its block or type begins with `word`; `None` if the word gives no role.
/// `chance` is the word for chance nodes, which differs between blocks and types.
fn role(word: &str, chance: &str) -> Option<Role> {
    let roles = [
        (chance, Role::Chance),
        ("decision", Role::Decision),
        ("utility", Role::LeftOut("utility")),
    ];
    roles.into_iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, role)| role)
}

struct Reader<'s> {
    source: SourceText<'s>,
    parser: Parser<'s>,
    name: String,
}

impl<'s> Reader<'s> {
    /// Reads the name of the network, if it has one, and skips the block after it.
    fn network(&mut self) -> Result<(), FormatError> {
        let is_block = |word: &str| {
            ["properties", "node", "decision", "utility", "probability"]
                .iter()
                .any(|block| word.eq_ignore_ascii_case(block))
        };
        let named = match self.parser.tokens.peek()?.0 {
            Token::Word(word) => !is_block(word),
            token => matches!(token, Token::Quoted(_)),
        };
        if named {
            self.name = self.parser.word("the network's name")?.text.into_owned();
        }
        if let (Token::OpenBrace, open) = self.parser.tokens.peek()? {
            self.parser.tokens.next()?;
            self.skip_block(open)?;
        }
        Ok(())
    }

    /// Skips the rest of a block. Its opening brace, at byte `open`, has been read.
    fn skip_block(&mut self, open: usize) -> Result<(), FormatError> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.parser.tokens.next()?.0 {
                Token::OpenBrace => depth += 1,
                Token::CloseBrace => depth -= 1,
                Token::End => return Err(self.source.error(open, "this '{' is not closed")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Consumes a colon, or `=` or `is`, which mean the same. `after` describes the text before
    /// it, for the error.
    fn expect_colon(&mut self, after: &str) -> Result<(), FormatError> {
        match self.parser.tokens.next()? {
            (Token::Colon | Token::Equals, _) => Ok(()),
            (Token::Word(word), _) if word.eq_ignore_ascii_case("is") => Ok(()),
            (found, offset) => {
                Err(self.parser.tokens.expected(&format!("':' after {after}"), found, offset))
            }
        }
    }

    /// Reads a node. The keyword of its block has been read and gives the node this `role`. The
    /// type of a chance node may still make it a decision or a utility.
    fn node(&mut self, mut role: Role) -> Result<Node<'s>, FormatError> {
        let name = self.parser.word("the name of a node")?;
        let open = self.parser.tokens.expect(Token::OpenBrace)?;
        let mut states = None;
        let mut note = Annotation::default();
        loop {
            let (token, offset) = self.parser.tokens.next()?;
            match token {
                Token::CloseBrace => break,
                Token::Semicolon => {}
                Token::Word(word) if word.eq_ignore_ascii_case("type") => {
                    self.expect_colon("'type'")?;
                    let (by_type, found) = self.states(&name.text)?;
                    if role == Role::Chance {
                        role = by_type;
                    }
                    states = Some(found);
                }
                Token::Word(word) if word.eq_ignore_ascii_case("name") => {
                    self.expect_colon("'name'")?;
                    let title = self.parser.word("the node's full name")?.text.into_owned();
                    note.title = Some(title).filter(|title| *title != name.text);
                    self.parser.tokens.expect(Token::Semicolon)?;
                }
                Token::Word(word) if word.eq_ignore_ascii_case("position") => {
                    self.expect_colon("'position'")?;
                    let open = self.parser.tokens.expect(Token::OpenParenthesis)?;
                    let entries = self.parser.list(open)?;
                    let coordinates = entries.iter().map(|entry| number(entry.word.as_deref()?));
                    let coordinates: Option<Vec<f64>> = coordinates.collect();
                    note.position = coordinates.and_then(|pair| pair.try_into().ok());
                    self.parser.tokens.expect(Token::Semicolon)?;
                }
                Token::Word(_) => self.skip_value(open)?,
                found => {
                    return Err(self.parser.tokens.expected("an attribute or '}'", found, offset));
                }
            }
        }
        let offset = name.offset;
        let states = match (states, role) {
            (_, Role::LeftOut(_)) => Vec::new(),
            (Some(states), _) => states,
            (None, _) => {
                let message = format!("expected a type in the node '{}'", name.text);
                return Err(self.source.error(open, message));
            }
        };
        let definition = Definition::Missing;
        Ok(Node { name, role, states, parents: Vec::new(), definition, offset, note })
    }

    /// Skips the rest of an attribute in the block that begins at byte `open`.
    fn skip_value(&mut self, open: usize) -> Result<(), FormatError> {
        loop {
            match self.parser.tokens.next()?.0 {
                Token::Semicolon => return Ok(()),
                Token::End => return Err(self.source.error(open, "this '{' is not closed")),
                _ => {}
            }
        }
    }

    /// The role and states in the type of the node `name`: `discrete [ N ] = { "a", "b" };`. Its
    /// first word may also be `decision` or `utility`; a utility needs no states.
    fn states(&mut self, name: &str) -> Result<(Role, Vec<Word<'s>>), FormatError> {
        let role = match self.parser.tokens.next()? {
            (Token::Word(word), offset) if word.eq_ignore_ascii_case("continuous") => {
                let message = format!("'{name}' is continuous, expected discrete nodes only");
                return Err(self.source.error(offset, message));
            }
            (Token::Word(word), _) if let Some(role) = role(word, "discrete") => role,
            (found, offset) => {
                let expected = "'discrete', 'decision' or 'utility'";
                return Err(self.parser.tokens.expected(expected, found, offset));
            }
        };
        if let (Role::LeftOut(_), (Token::Semicolon, _)) = (role, self.parser.tokens.peek()?) {
            self.parser.tokens.next()?;
            return Ok((role, Vec::new()));
        }
        self.parser.tokens.expect(Token::OpenBracket)?;
        let (token, offset) = self.parser.tokens.next()?;
        let count = match token {
            Token::Word(digits) => digits.parse::<usize>().ok(),
            _ => None,
        };
        let count = count
            .ok_or_else(|| self.parser.tokens.expected("the number of states", token, offset))?;
        self.parser.tokens.expect(Token::CloseBracket)?;
        if let (Token::Equals | Token::Colon, _) = self.parser.tokens.peek()? {
            self.parser.tokens.next()?;
        }
        let states = match self.parser.tokens.peek()?.0 {
            Token::OpenBrace => self.labels(count, offset)?,
            _ if count <= MAX_UNNAMED_STATES => {
                (0..count).map(|state| Word { text: state.to_string().into(), offset }).collect()
            }
            _ => {
                let message =
                    format!("expected at most {MAX_UNNAMED_STATES} states, found {count}");
                return Err(self.source.error(offset, message));
            }
        };
        self.parser.tokens.expect(Token::Semicolon)?;
        Ok((role, states))
    }

    /// Reads the labels of states in braces. There must be `count` of them; the file gives this
    /// number at byte `count_at`.
    fn labels(&mut self, count: usize, count_at: usize) -> Result<Vec<Word<'s>>, FormatError> {
        self.parser.tokens.expect(Token::OpenBrace)?;
        let mut labels = Vec::new();
        loop {
            match self.parser.tokens.peek()?.0 {
                Token::CloseBrace => break,
                Token::Comma => {
                    self.parser.tokens.next()?;
                }
                _ => labels.push(self.parser.word("the label of a state or '}'")?),
            }
        }
        self.parser.tokens.next()?;
        if labels.len() != count {
            let message = format!("expected {count} states, found {}", labels.len());
            return Err(self.source.error(count_at, message));
        }
        Ok(labels)
    }

    /// `probability(CHILD | PARENTS) { ROWS }`. Its keyword, at byte `block_at`, has been read.
    fn distribution(&mut self, block_at: usize) -> Result<Distribution<'s>, FormatError> {
        self.parser.tokens.expect(Token::OpenParenthesis)?;
        let child = self.parser.word("the name of a node")?;
        let mut parents = Vec::new();
        loop {
            match self.parser.tokens.peek()?.0 {
                Token::CloseParenthesis => break,
                Token::Bar | Token::Comma => {
                    self.parser.tokens.next()?;
                }
                _ => parents.push(self.parser.word("the name of a parent or ')'")?),
            }
        }
        self.parser.tokens.next()?;
        self.parser.tokens.expect(Token::OpenBrace)?;
        let definition = self.rows(&child)?;
        let note = Annotation::default();
        Ok(Distribution { child, parents, definition, block_at, offset: block_at, note })
    }

    /// The rows up to the end of the block of `child`, or its whole table if the block has a single
    /// list of numbers without states of parents.
    fn rows(&mut self, child: &Word<'s>) -> Result<Definition<'s>, FormatError> {
        let mut rows = LabelledRows::default();
        let mut table: Option<(Vec<Number>, usize)> = None;
        loop {
            let (token, offset) = self.parser.tokens.peek()?;
            let labels = match token {
                Token::CloseBrace => break,
                Token::Semicolon => {
                    self.parser.tokens.next()?;
                    continue;
                }
                Token::OpenParenthesis => {
                    self.parser.tokens.next()?;
                    let labels = self.row_labels(&mut rows.labels)?;
                    self.expect_colon("the states of the parents")?;
                    Some(labels)
                }
                Token::Word(word) if word.eq_ignore_ascii_case("default") => {
                    self.parser.tokens.next()?;
                    self.expect_colon("'default'")?;
                    None
                }
                Token::Word(word) if word.eq_ignore_ascii_case("function") => {
                    let message = format!(
                        "'{}' is given by a function, expected the rows of a table",
                        child.text
                    );
                    return Err(self.source.error(offset, message));
                }
                Token::Word(_) | Token::Colon | Token::Equals => {
                    if !matches!(token, Token::Word(_)) {
                        self.parser.tokens.next()?;
                    }
                    let mut numbers = Vec::new();
                    self.numbers(|number| numbers.push(number))?;
                    if table.replace((numbers, offset)).is_some() {
                        return Err(self.unlabelled(child, offset));
                    }
                    continue;
                }
                found => {
                    return Err(self.parser.tokens.expected(
                        "'(', 'default', a number or '}'",
                        found,
                        offset,
                    ));
                }
            };
            let first = rows.numbers.len();
            self.numbers(|number| rows.numbers.push(number.value))?;
            rows.rows.push(LabelledRow { offset, labels, numbers: first..rows.numbers.len() });
        }
        self.parser.tokens.next()?;
        match table {
            Some((_, offset)) if !rows.rows.is_empty() => Err(self.unlabelled(child, offset)),
            Some((numbers, _)) => Ok(Definition::Table(numbers)),
            None => Ok(Definition::Rows(rows)),
        }
    }

    /// The error for a row that lacks the states of the parents, although it is not the only row.
    fn unlabelled(&self, child: &Word<'_>, offset: usize) -> FormatError {
        self.source.error(offset, format!("expected the states of the parents of '{}'", child.text))
    }

    /// Reads the states of the parents up to `)`, appends them to `labels`, and returns their range
    /// in `labels`.
    fn row_labels(&mut self, labels: &mut Vec<RowLabel<'s>>) -> Result<Range<usize>, FormatError> {
        let first = labels.len();
        loop {
            match self.parser.tokens.peek()?.0 {
                Token::CloseParenthesis => break,
                Token::Comma => {
                    self.parser.tokens.next()?;
                }
                token => {
                    let may_be_index = !matches!(token, Token::Quoted(_));
                    let word = self.parser.word("the state of a parent or ')'")?;
                    labels.push(RowLabel { word, may_be_index });
                }
            }
        }
        self.parser.tokens.next()?;
        Ok(first..labels.len())
    }

    /// Calls `push` with each number up to a semicolon.
    fn numbers(&mut self, mut push: impl FnMut(Number)) -> Result<(), FormatError> {
        loop {
            let (token, offset) = self.parser.tokens.next()?;
            match token {
                Token::Comma => {}
                Token::Semicolon => return Ok(()),
                Token::Word(word) => match number(word) {
                    Some(value) => push(Number { value, offset }),
                    None => {
                        return Err(self.parser.tokens.expected("a number or ';'", token, offset));
                    }
                },
                found => return Err(self.parser.tokens.expected("a number or ';'", found, offset)),
            }
        }
    }
}
