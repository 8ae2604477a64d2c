//! DSC, the format of Microsoft's Bayesian network editor MSBN.
//!
//! Source: Decision Theory Group, Microsoft Research, *Proposal for a Bayesian Network Interchange
//! Format*, 1996. A value follows its name after `:`, `=` or `is`. A row names the states of the
//! parents by their positions, counted from zero; labels are understood too. Rows may come in any
//! order, `default` fills those that do not come.

use std::collections::HashMap;

use crate::format::braces::{self, Parser, Token};
use crate::format::draft;
use crate::format::language::{Keeps, Language};
use crate::format::nodes::{
    self, Definition, IfMissing, MAX_UNNAMED_STATES, Node, Number, Role, Word, number,
};
use crate::format::source::Source;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Network};

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "DSC",
    extensions: &["dsc"],
    recognise,
    read,
    write: None,
    keeps: Keeps { names: true, ..Keeps::NOTHING },
};

/// Whether `text` looks like DSC.
fn recognise(text: &str) -> bool {
    // The word "belief" came late; without it BIF begins alike, and the ending decides.
    braces::begins_with(text, &["belief", "network"]) || braces::begins_with(text, &["network"])
}

/// Reads a network.
fn read(source: Source<'_>) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut reader = Reader { source, parser: Parser::new(source), name: String::new() };
    let mut states = 0;
    let mut found = Vec::new();
    let mut distributions = Vec::new();
    loop {
        let (token, at) = reader.parser.next()?;
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case("belief") => {}
            Token::Word(word) if word.eq_ignore_ascii_case("network") => reader.network()?,
            Token::Word(word) if word.eq_ignore_ascii_case("properties") => {
                let open = reader.parser.sign(Token::OpenBrace)?;
                reader.skip_to_brace(open)?;
            }
            Token::Word(word) if word.eq_ignore_ascii_case("node") => {
                let node = reader.node()?;
                draft::count_states(source, &mut states, node.states.len(), at)?;
                found.push(node);
            }
            Token::Word(word) if word.eq_ignore_ascii_case("probability") => {
                distributions.push(reader.distribution(at)?);
            }
            Token::Semicolon => {}
            Token::End if !found.is_empty() => break,
            unknown => {
                let expected = "'belief network', 'properties', 'node' or 'probability'";
                return Err(reader.parser.expected(expected, unknown, at));
            }
        }
    }
    let by_name: HashMap<String, usize> =
        found.iter().enumerate().map(|(at, node)| (node.name.text.to_string(), at)).collect();
    let mut entries = 0;
    for distribution in distributions {
        define(source, &mut found, &by_name, distribution, &mut entries)?;
    }
    nodes::network(source, &reader.name, Annotation::default(), &found, IfMissing::Refuse)
}

/// The block of one node, names not yet looked up.
struct Distribution<'s> {
    child: Word<'s>,
    parents: Vec<Word<'s>>,
    rows: Vec<Row<'s>>,
    at: usize,
}

/// Numbers for one configuration of the parents, for all (`None`), or for what no row is about.
struct Row<'s> {
    configuration: Option<Vec<(Word<'s>, bool)>>,
    default: bool,
    numbers: Vec<Number>,
    at: usize,
}

struct Reader<'s> {
    source: Source<'s>,
    parser: Parser<'s>,
    name: String,
}

impl<'s> Reader<'s> {
    /// `"name"`, and a block that is skipped.
    fn network(&mut self) -> Result<(), FormatError> {
        if let (Token::Quoted(_), _) = self.parser.peek()? {
            self.name = self.parser.word("the network's name")?.text.into_owned();
        }
        if let (Token::OpenBrace, open) = self.parser.peek()? {
            self.parser.next()?;
            self.skip_to_brace(open)?;
        }
        Ok(())
    }

    /// Skips what stands up to the brace that closes the one at byte `open`.
    fn skip_to_brace(&mut self, open: usize) -> Result<(), FormatError> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.parser.next()?.0 {
                Token::OpenBrace => depth += 1,
                Token::CloseBrace => depth -= 1,
                Token::End => return Err(self.source.error(open, "this '{' is not closed")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes `:`, `=` or `is`.
    fn conjunction(&mut self, after: &str) -> Result<(), FormatError> {
        match self.parser.next()? {
            (Token::Colon | Token::Equals, _) => Ok(()),
            (Token::Word(word), _) if word.eq_ignore_ascii_case("is") => Ok(()),
            (found, at) => Err(self.parser.expected(&format!("':' after {after}"), found, at)),
        }
    }

    fn node(&mut self) -> Result<Node<'s>, FormatError> {
        let name = self.parser.word("the name of a node")?;
        let open = self.parser.sign(Token::OpenBrace)?;
        let mut states = None;
        let mut note = Annotation::default();
        loop {
            let (token, at) = self.parser.next()?;
            match token {
                Token::CloseBrace => break,
                Token::Semicolon => {}
                Token::Word(word) if word.eq_ignore_ascii_case("type") => {
                    self.conjunction("'type'")?;
                    states = Some(self.states()?);
                }
                Token::Word(word) if word.eq_ignore_ascii_case("name") => {
                    self.conjunction("'name'")?;
                    let title = self.parser.word("the node's full name")?.text.into_owned();
                    note.title = Some(title).filter(|title| *title != name.text);
                    self.parser.sign(Token::Semicolon)?;
                }
                Token::Word(word) if word.eq_ignore_ascii_case("position") => {
                    self.conjunction("'position'")?;
                    let open = self.parser.sign(Token::OpenParenthesis)?;
                    let places = self.parser.list(open)?;
                    let places = places.iter().map(|entry| number(entry.word.as_deref()?));
                    let places: Option<Vec<f64>> = places.collect();
                    note.position = places.and_then(|places| places.try_into().ok());
                    self.parser.sign(Token::Semicolon)?;
                }
                Token::Word(_) => self.skip_value(open)?,
                found => return Err(self.parser.expected("an attribute or '}'", found, at)),
            }
        }
        let at = name.at;
        let states = states.ok_or_else(|| {
            self.source.error(open, format!("expected a type for the node '{}'", name.text))
        })?;
        let definition = Definition::Missing;
        Ok(Node { name, role: Role::Chance, states, parents: Vec::new(), definition, at, note })
    }

    /// Skips to the end of an attribute in the block that begins at byte `open`.
    fn skip_value(&mut self, open: usize) -> Result<(), FormatError> {
        loop {
            match self.parser.next()?.0 {
                Token::Semicolon => return Ok(()),
                Token::End => return Err(self.source.error(open, "this '{' is not closed")),
                _ => {}
            }
        }
    }

    /// `discrete [ N ] = { "a", "b" };`
    fn states(&mut self) -> Result<Vec<Word<'s>>, FormatError> {
        match self.parser.next()? {
            (Token::Word(word), _) if word.eq_ignore_ascii_case("discrete") => {}
            (found, at) => return Err(self.parser.expected("'discrete'", found, at)),
        }
        self.parser.sign(Token::OpenBracket)?;
        let (token, at) = self.parser.next()?;
        let count = match token {
            Token::Word(digits) => digits.parse::<usize>().ok(),
            _ => None,
        };
        let count = count.ok_or_else(|| self.parser.expected("the number of states", token, at))?;
        self.parser.sign(Token::CloseBracket)?;
        if let (Token::Equals | Token::Colon, _) = self.parser.peek()? {
            self.parser.next()?;
        }
        let mut states = Vec::new();
        if let (Token::OpenBrace, _) = self.parser.peek()? {
            self.parser.next()?;
            loop {
                match self.parser.peek()?.0 {
                    Token::CloseBrace => break,
                    Token::Comma => {
                        self.parser.next()?;
                    }
                    _ => states.push(self.parser.word("the label of a state or '}'")?),
                }
            }
            self.parser.next()?;
            if states.len() != count {
                let message = format!("{count} states are announced, but {} follow", states.len());
                return Err(self.source.error(at, message));
            }
        } else if count <= MAX_UNNAMED_STATES {
            states.extend((0..count).map(|state| Word { text: state.to_string().into(), at }));
        } else {
            let message = format!("{count} states are more than {MAX_UNNAMED_STATES}");
            return Err(self.source.error(at, message));
        }
        self.parser.sign(Token::Semicolon)?;
        Ok(states)
    }

    fn distribution(&mut self, at: usize) -> Result<Distribution<'s>, FormatError> {
        self.parser.sign(Token::OpenParenthesis)?;
        let child = self.parser.word("the name of a node")?;
        let mut parents = Vec::new();
        loop {
            match self.parser.peek()?.0 {
                Token::CloseParenthesis => break,
                Token::Bar | Token::Comma => {
                    self.parser.next()?;
                }
                _ => parents.push(self.parser.word("the name of a parent or ')'")?),
            }
        }
        self.parser.next()?;
        self.parser.sign(Token::OpenBrace)?;
        let mut rows = Vec::new();
        loop {
            let (token, at) = self.parser.peek()?;
            let (mut configuration, mut default) = (None, false);
            match token {
                Token::CloseBrace => break,
                Token::Semicolon => {
                    self.parser.next()?;
                    continue;
                }
                Token::OpenParenthesis => {
                    self.parser.next()?;
                    configuration = Some(self.configuration()?);
                    self.conjunction("the states of the parents")?;
                }
                Token::Word(word) if word.eq_ignore_ascii_case("default") => {
                    self.parser.next()?;
                    self.conjunction("'default'")?;
                    default = true;
                }
                Token::Word(word) if word.eq_ignore_ascii_case("function") => {
                    let message = format!(
                        "'{}' is given by a function, expected the rows of a table",
                        child.text
                    );
                    return Err(self.source.error(at, message));
                }
                Token::Word(_) => {}
                Token::Colon | Token::Equals => {
                    self.parser.next()?;
                }
                found => {
                    return Err(self.parser.expected("'(', 'default', a number or '}'", found, at));
                }
            }
            let numbers = self.numbers()?;
            rows.push(Row { configuration, default, numbers, at });
        }
        self.parser.next()?;
        Ok(Distribution { child, parents, rows, at })
    }

    /// The states of the parents, each with whether it is quoted.
    fn configuration(&mut self) -> Result<Vec<(Word<'s>, bool)>, FormatError> {
        let mut states = Vec::new();
        loop {
            match self.parser.peek()?.0 {
                Token::CloseParenthesis => break,
                Token::Comma => {
                    self.parser.next()?;
                }
                token => {
                    let quoted = matches!(token, Token::Quoted(_));
                    states.push((self.parser.word("the state of a parent or ')'")?, quoted));
                }
            }
        }
        self.parser.next()?;
        Ok(states)
    }

    /// Numbers up to a semicolon.
    fn numbers(&mut self) -> Result<Vec<Number>, FormatError> {
        let mut numbers = Vec::new();
        loop {
            let (token, at) = self.parser.next()?;
            match token {
                Token::Comma => {}
                Token::Semicolon => return Ok(numbers),
                Token::Word(word) => match number(word) {
                    Some(value) => numbers.push(Number { value, at }),
                    None => return Err(self.parser.expected("a number or ';'", token, at)),
                },
                found => return Err(self.parser.expected("a number or ';'", found, at)),
            }
        }
    }
}

/// Puts the rows of `found` in order, and the table into its node.
fn define<'s>(
    source: Source<'_>,
    nodes: &mut [Node<'s>],
    by_name: &HashMap<String, usize>,
    found: Distribution<'s>,
    entries: &mut usize,
) -> Result<(), FormatError> {
    let name = found.child.text.clone();
    let look_up = |word: &Word<'_>| {
        by_name
            .get(word.text.as_ref())
            .copied()
            .ok_or_else(|| source.error(word.at, format!("there is no node '{}'", word.text)))
    };
    let index = look_up(&found.child)?;
    if !matches!(nodes[index].definition, Definition::Missing) {
        let line = source.line(nodes[index].at);
        let message = format!("a second probability block for '{name}'; line {line} has one");
        return Err(source.error(found.at, message));
    }
    let parents = found.parents.iter().map(look_up).collect::<Result<Vec<_>, _>>()?;
    let states = nodes[index].states.len();
    let rows = parents.iter().try_fold(1_usize, |rows, &p| rows.checked_mul(nodes[p].states.len()));
    let total = rows.and_then(|rows| rows.checked_mul(states)?.checked_add(*entries));
    let limit = draft::max_entries(source);
    let rows = match (rows, total) {
        (Some(rows), Some(total)) if total <= limit => {
            *entries = total;
            rows
        }
        _ => {
            let message = format!(
                "with the table of '{name}' given {} parents, the tables of this file have more \
                 than {limit} entries, which is refused",
                parents.len()
            );
            return Err(source.error(found.at, message));
        }
    };
    let table = if let [Row { configuration: None, default: false, numbers, .. }] = &found.rows[..]
    {
        numbers.clone()
    } else {
        table(source, nodes, &name, &parents, states, rows, &found)?
    };
    let node = &mut nodes[index];
    (node.parents, node.definition, node.at) = (found.parents, Definition::Table(table), found.at);
    Ok(())
}

fn table(
    source: Source<'_>,
    nodes: &[Node<'_>],
    name: &str,
    parents: &[usize],
    states: usize,
    rows: usize,
    found: &Distribution<'_>,
) -> Result<Vec<Number>, FormatError> {
    let mut given: Vec<Option<&Row<'_>>> = vec![None; rows];
    let mut default: Option<&Row<'_>> = None;
    for row in &found.rows {
        if row.numbers.len() != states {
            let message =
                format!("the row of '{name}' has {} numbers, expected {states}", row.numbers.len());
            return Err(source.error(row.at, message));
        }
        let before = match &row.configuration {
            Some(configuration) => {
                let index = row_index(source, nodes, name, parents, row.at, configuration)?;
                given[index].replace(row)
            }
            None if row.default => default.replace(row),
            None => {
                let message = format!("expected the states of the parents of '{name}'");
                return Err(source.error(row.at, message));
            }
        };
        if let Some(before) = before {
            let line = source.line(before.at);
            let message =
                format!("this row of '{name}' is given a second time; line {line} has it");
            return Err(source.error(row.at, message));
        }
    }
    let mut table = Vec::with_capacity(rows * states);
    for row in &given {
        let row = row.or(default).ok_or_else(|| {
            let missing = given.iter().filter(|row| row.is_none()).count();
            let message =
                format!("the table of '{name}' lacks {missing} of {rows} rows, and has no default");
            source.error(found.at, message)
        })?;
        table.extend_from_slice(&row.numbers);
    }
    Ok(table)
}

/// Position of a row in the table: the first parent slowest.
fn row_index(
    source: Source<'_>,
    nodes: &[Node<'_>],
    name: &str,
    parents: &[usize],
    at: usize,
    configuration: &[(Word<'_>, bool)],
) -> Result<usize, FormatError> {
    if configuration.len() != parents.len() {
        let message = format!(
            "the row names {} states, expected {}, one for each parent of '{name}'",
            configuration.len(),
            parents.len()
        );
        return Err(source.error(at, message));
    }
    let mut row = 0;
    for ((word, quoted), &parent) in configuration.iter().zip(parents) {
        let states = &nodes[parent].states;
        let position = word.text.parse().ok().filter(|&state| !quoted && state < states.len());
        let labelled = || states.iter().position(|state| state.text == word.text);
        let state = position.or_else(labelled).ok_or_else(|| {
            let message = format!(
                "'{}' has no state '{}', expected 0 to {} or a label",
                nodes[parent].name.text,
                word.text,
                states.len().saturating_sub(1)
            );
            source.error(word.at, message)
        })?;
        row = row * states.len() + state;
    }
    Ok(row)
}
