//! The grammar of Hugin NET: from text to nodes and potentials, names not yet looked up.

use std::borrow::Cow;

use super::DIALECT;
use super::quotes::unquote;
use crate::format::FormatError;
use crate::format::nodes::{Number, Word, number};
use crate::format::source::Source;
use crate::format::tokens::{Token, Tokens};

/// `name = value;`
#[derive(Debug)]
pub(super) struct Attribute<'s> {
    pub name: &'s str,
    pub at: usize,
    /// The value as it is spelt, comments and all, and the byte at which it stands.
    pub raw: &'s str,
    pub raw_at: usize,
    pub value: Value<'s>,
}

/// What an attribute says.
#[derive(Debug)]
pub(super) enum Value<'s> {
    /// A single word.
    Word(&'s str),
    /// A text, or several one after another, as the text that they mean.
    Text(String),
    /// What stands in parentheses, parentheses within them left out.
    List(Vec<Item<'s>>),
    /// Anything else.
    Other,
}

/// A word or text in a list, and the byte at which it stands.
#[derive(Debug)]
pub(super) struct Item<'s> {
    pub text: &'s str,
    pub quoted: bool,
    pub at: usize,
}

/// What a node is, as the words before its name say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Chance,
    Decision,
    Utility,
    Function,
    Continuous,
}

/// `node NAME { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct NodeBlock<'s> {
    pub kind: Kind,
    pub name: Word<'s>,
    pub attributes: Vec<Attribute<'s>>,
}

/// `potential (CHILD | PARENTS) { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct PotentialBlock<'s> {
    pub children: Vec<Word<'s>>,
    pub parents: Vec<Word<'s>>,
    pub at: usize,
    /// The numbers of `data`, and the byte at which they begin.
    pub data: Option<(Data, usize)>,
    /// The rest.
    pub attributes: Vec<Attribute<'s>>,
}

/// What `data` gives.
#[derive(Debug)]
pub(super) enum Data {
    Numbers(Vec<Number>),
    /// Something that is no number stands at this byte; only nodes that are left out may have it.
    Odd(FormatError),
}

/// All blocks of a file.
#[derive(Debug, Default)]
pub(super) struct Document<'s> {
    pub name: &'s str,
    pub attributes: Vec<Attribute<'s>>,
    pub nodes: Vec<NodeBlock<'s>>,
    pub potentials: Vec<PotentialBlock<'s>>,
}

const KINDS: [&str; 5] = ["discrete", "continuous", "decision", "utility", "function"];

/// Whether `text` begins like a NET file.
pub(super) fn begins_with_block(text: &str) -> bool {
    let mut tokens = Tokens::new(Source { file: "", text }, &DIALECT);
    let mut next = || tokens.next().map_or(Token::End, |(token, _)| token);
    match (next(), next()) {
        (Token::Word("net"), Token::OpenBrace)
        | (Token::Word("class"), Token::Word(_))
        | (Token::Word("potential"), Token::OpenParenthesis) => true,
        (Token::Word("node"), Token::Word(_)) => next() == Token::OpenBrace,
        (Token::Word(kind), Token::Word("node")) => KINDS.contains(&kind),
        _ => false,
    }
}

/// Reads the blocks of a file.
pub(super) fn parse(source: Source<'_>) -> Result<Document<'_>, FormatError> {
    let mut parser = Parser { source, tokens: Tokens::new(source, &DIALECT) };
    let mut document = Document::default();
    let mut blocks = 0;
    loop {
        let (token, at) = parser.tokens.next()?;
        match token {
            Token::End if blocks > 0 => return Ok(document),
            Token::Word("net") => {
                parser.tokens.sign(Token::OpenBrace)?;
                parser.body(&mut document)?;
            }
            Token::Word("class") => {
                if !document.name.is_empty() {
                    // Why there are several is said by what makes one of the other.
                    let instance = parser.find_instance();
                    return Err(instance.unwrap_or_else(|| {
                        let message = format!(
                            "a second class; the file is read as one network, which class '{}' gives",
                            document.name
                        );
                        source.error(at, message)
                    }));
                }
                document.name = parser.plain_name("the name of the class")?;
                parser.tokens.sign(Token::OpenBrace)?;
                parser.body(&mut document)?;
            }
            found => parser.element(found, at, &mut document)?,
        }
        blocks += 1;
    }
}

struct Parser<'s> {
    source: Source<'s>,
    tokens: Tokens<'s, 'static>,
}

impl<'s> Parser<'s> {
    /// The rest of `net {` or `class NAME {`: attributes, and in a class also nodes and potentials.
    fn body(&mut self, document: &mut Document<'s>) -> Result<(), FormatError> {
        loop {
            match self.tokens.next()? {
                (Token::CloseBrace, _) => return Ok(()),
                (Token::Word(name), at) if self.tokens.peek()?.0 == Token::Equals => {
                    let attribute = self.attribute(name, at)?;
                    document.attributes.push(attribute);
                }
                (found, at) => self.element(found, at, document)?,
            }
        }
    }

    /// A node or a potential, whose first word is `token`.
    fn element(
        &mut self,
        token: Token<'s>,
        at: usize,
        document: &mut Document<'s>,
    ) -> Result<(), FormatError> {
        match token {
            Token::Word("potential" | "probability") => {
                let potential = self.potential(at)?;
                document.potentials.push(potential);
            }
            Token::Word(
                "node" | "discrete" | "continuous" | "decision" | "utility" | "function",
            ) => {
                let node = self.node(token)?;
                document.nodes.push(node);
            }
            Token::Word("instance") => {
                let name = self.name("the name of the instance")?;
                self.tokens.sign(Token::Colon)?;
                let class = self.name("the class of the instance")?;
                return Err(self.instance(at, &name.text, &class.text));
            }
            found => {
                let what = "'net', 'class', 'node', 'potential' or another kind of node";
                return Err(self.tokens.expected(what, found, at));
            }
        }
        Ok(())
    }

    /// What is said of the instance at byte `at`.
    fn instance(&self, at: usize, name: &str, class: &str) -> FormatError {
        let message = format!(
            "'{name}' is an instance of the class '{class}', and instances are not unfolded; \
             expected nodes and potentials alone"
        );
        self.source.error(at, message)
    }

    /// What is to be said of the next instance in the rest of the text, if there is one.
    fn find_instance(&mut self) -> Option<FormatError> {
        loop {
            match self.tokens.next().ok()? {
                (Token::End, _) => return None,
                (Token::Word("instance"), at) => {
                    if let (Token::Word(name) | Token::Quoted(name), _) = self.tokens.next().ok()?
                        && self.tokens.peek().ok()?.0 == Token::Colon
                    {
                        self.tokens.next().ok()?;
                        let class = self.name("").ok()?;
                        return Some(self.instance(at, name, &class.text));
                    }
                }
                _ => {}
            }
        }
    }

    /// `discrete decision NAME { ... }`, of which `first` is the first word.
    fn node(&mut self, first: Token<'s>) -> Result<NodeBlock<'s>, FormatError> {
        let mut kind = Kind::Chance;
        let mut word = first;
        // The last word is the name, even of a node that is called 'node'.
        let name = loop {
            match word {
                Token::Word("continuous") => kind = Kind::Continuous,
                Token::Word("decision") => kind = Kind::Decision,
                Token::Word("utility") => kind = Kind::Utility,
                Token::Word("function") => kind = Kind::Function,
                _ => {}
            }
            let name = self.name("the name of the node")?;
            if self.tokens.peek()?.0 == Token::OpenBrace {
                break name;
            }
            if !(KINDS.contains(&&*name.text) || name.text == "node") {
                let (found, at) = self.tokens.next()?;
                return Err(self.tokens.expected("'{'", found, at));
            }
            word = Token::Word(&self.source.text[name.at..name.at + name.text.len()]);
        };
        self.tokens.sign(Token::OpenBrace)?;
        let attributes = self.attributes(|_, _, _| Ok(false))?;
        Ok(NodeBlock { kind, name, attributes })
    }

    /// `(CHILD | PARENTS) { ... }`
    fn potential(&mut self, at: usize) -> Result<PotentialBlock<'s>, FormatError> {
        self.tokens.sign(Token::OpenParenthesis)?;
        let (mut children, mut parents) = (Vec::new(), Vec::new());
        let mut behind_bar = false;
        loop {
            let (token, at) = self.tokens.next()?;
            match token {
                Token::Word(text) => {
                    let word = Word { text: Cow::Borrowed(text), at };
                    if behind_bar { &mut parents } else { &mut children }.push(word);
                }
                Token::Quoted(text) => {
                    let word = Word { text: Cow::Owned(unquote(text)), at };
                    if behind_bar { &mut parents } else { &mut children }.push(word);
                }
                Token::Comma => {}
                Token::Bar if !behind_bar => behind_bar = true,
                Token::CloseParenthesis => break,
                found => {
                    let what = if behind_bar { "a parent or ')'" } else { "a node, '|' or ')'" };
                    return Err(self.tokens.expected(what, found, at));
                }
            }
        }
        if children.is_empty() {
            return Err(self.source.error(at, "the potential names no node"));
        }
        self.tokens.sign(Token::OpenBrace)?;
        let mut data = None;
        let attributes = self.attributes(|parser, name, _| {
            if name == "data" {
                data = Some(parser.data()?);
            }
            Ok(name == "data")
        })?;
        Ok(PotentialBlock { children, parents, at, data, attributes })
    }

    /// Attributes up to '}'. Those that `special` reads itself, from behind the '=' to behind the
    /// ';', are not among them.
    fn attributes(
        &mut self,
        mut special: impl FnMut(&mut Self, &'s str, usize) -> Result<bool, FormatError>,
    ) -> Result<Vec<Attribute<'s>>, FormatError> {
        let mut attributes = Vec::new();
        loop {
            match self.tokens.next()? {
                (Token::CloseBrace, _) => return Ok(attributes),
                (Token::Semicolon, _) => {}
                (Token::Word(name), at) => {
                    let (equals, equals_at) = self.tokens.peek()?;
                    if equals != Token::Equals {
                        return Err(self.tokens.expected("'='", equals, equals_at));
                    }
                    if !special(self, name, at)? {
                        attributes.push(self.attribute(name, at)?);
                    }
                }
                (found, at) => return Err(self.tokens.expected("an attribute or '}'", found, at)),
            }
        }
    }

    /// `= VALUE;` of the attribute `name`, which stands at byte `at`.
    fn attribute(&mut self, name: &'s str, at: usize) -> Result<Attribute<'s>, FormatError> {
        self.tokens.sign(Token::Equals)?;
        let (first, start) = self.tokens.peek()?;
        let is_list = first == Token::OpenParenthesis;
        let (mut depth, mut tokens, mut end) = (0_usize, 0_usize, start);
        let mut items = Vec::new();
        loop {
            let (token, item_at) = self.tokens.next()?;
            match token {
                Token::OpenParenthesis => depth += 1,
                Token::CloseParenthesis if depth > 0 => depth -= 1,
                Token::Semicolon if depth == 0 => {
                    let raw = &self.source.text[start..end];
                    let all_quoted = !items.is_empty()
                        && items.len() == tokens
                        && items.iter().all(|item: &Item<'_>| item.quoted);
                    let value = if is_list {
                        Value::List(items)
                    } else if all_quoted {
                        Value::Text(items.iter().map(|item| unquote(item.text)).collect())
                    } else if let ([item], 1) = (&items[..], tokens) {
                        Value::Word(item.text)
                    } else {
                        Value::Other
                    };
                    return Ok(Attribute { name, at, raw, raw_at: start, value });
                }
                Token::Word(text) => items.push(Item { text, quoted: false, at: item_at }),
                Token::Quoted(text) => items.push(Item { text, quoted: true, at: item_at }),
                Token::End | Token::OpenBrace | Token::CloseBrace | Token::CloseParenthesis => {
                    return Err(self.tokens.expected(
                        &format!("';' after '{name}'"),
                        token,
                        item_at,
                    ));
                }
                // Signs of an expression.
                _ => {}
            }
            tokens += 1;
            end = self.tokens.end();
        }
    }

    /// `= ( NUMBERS );`, with parentheses among them or not.
    fn data(&mut self) -> Result<(Data, usize), FormatError> {
        self.tokens.sign(Token::Equals)?;
        let start = self.tokens.peek()?.1;
        let (mut depth, mut numbers, mut odd) = (0_usize, Vec::new(), None);
        loop {
            let (token, at) = self.tokens.next()?;
            match token {
                Token::OpenParenthesis => depth += 1,
                Token::CloseParenthesis if depth > 0 => depth -= 1,
                Token::Comma => {}
                Token::Semicolon if depth == 0 => {
                    let data = odd.map_or(Data::Numbers(numbers), Data::Odd);
                    return Ok((data, start));
                }
                Token::Word(word) => match number(word) {
                    Some(value) => numbers.push(Number { value, at }),
                    None => {
                        odd.get_or_insert_with(|| {
                            self.source.error(at, format!("expected a number, found '{word}'"))
                        });
                    }
                },
                found => {
                    let what = if depth > 0 { "a number or ')'" } else { "';' after 'data'" };
                    return Err(self.tokens.expected(what, found, at));
                }
            }
        }
    }

    fn name(&mut self, what: &str) -> Result<Word<'s>, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text), at) => Ok(Word { text: Cow::Borrowed(text), at }),
            (Token::Quoted(text), at) => Ok(Word { text: Cow::Owned(unquote(text)), at }),
            (found, at) => Err(self.tokens.expected(what, found, at)),
        }
    }

    fn plain_name(&mut self, what: &str) -> Result<&'s str, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text) | Token::Quoted(text), _) => Ok(text),
            (found, at) => Err(self.tokens.expected(what, found, at)),
        }
    }
}
