//! The grammar of Hugin NET: from text to nodes and potentials, names not yet looked up.

use std::borrow::Cow;

use super::DIALECT;
use super::quotes::unquote;
use crate::format::FormatError;
use crate::format::nodes::{Number, Word, number};
use crate::format::source::SourceText;
use crate::format::tokens::{Token, Tokens};

/// `name = value;`
#[derive(Debug)]
pub(super) struct NetAttribute<'s> {
    pub name: &'s str,
    pub at: usize,
    /// The value as it is spelt, comments and all, and the byte at which it stands.
    pub raw: &'s str,
    pub raw_at: usize,
    pub value: AttributeValue<'s>,
}

/// What an attribute says.
#[derive(Debug)]
pub(super) enum AttributeValue<'s> {
    /// A single word.
    Word(&'s str),
    /// A text, or several one after another, as the text that they mean.
    Text(String),
    /// What stands in parentheses, parentheses within them left out.
    List(Vec<ListItem<'s>>),
    /// Anything else.
    Other,
}

/// A word or text in a list, and the byte at which it stands.
#[derive(Debug)]
pub(super) struct ListItem<'s> {
    pub text: &'s str,
    pub quoted: bool,
    pub at: usize,
}

/// What a node is, as the words before its name say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Chance,
    Decision,
    Utility,
    Function,
    Continuous,
}

/// `node NAME { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct NodeBlock<'s> {
    pub kind: NodeKind,
    pub name: Word<'s>,
    pub attributes: Vec<NetAttribute<'s>>,
}

/// `potential (CHILD | PARENTS) { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct PotentialBlock<'s> {
    pub children: Vec<Word<'s>>,
    pub parents: Vec<Word<'s>>,
    pub at: usize,
    /// The numbers of `data`, and the byte at which they begin.
    pub data: Option<(PotentialData, usize)>,
    /// The rest.
    pub attributes: Vec<NetAttribute<'s>>,
}

/// What `data` gives.
#[derive(Debug)]
pub(super) enum PotentialData {
    Numbers(Vec<Number>),
    /// Something that is no number stands at this byte; only nodes that are left out may have it.
    Malformed(FormatError),
}

/// `instance NAME : CLASS (INPUT = ACTUAL, ...; ALIAS = OUTPUT, ...) { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct Instance<'s> {
    /// Its place among all of the file.
    pub number: usize,
    pub name: Word<'s>,
    pub class: Word<'s>,
    /// Inputs of the class, and the nodes here that they are.
    pub inputs: Vec<(Word<'s>, Word<'s>)>,
    /// Names here, and the nodes of the class that they stand for.
    pub outputs: Vec<(Word<'s>, Word<'s>)>,
}

/// What stands in a class, or in `net` and behind it, which is a class without a name.
#[derive(Debug, Default)]
pub(super) struct Class<'s> {
    pub name: &'s str,
    pub at: usize,
    pub attributes: Vec<NetAttribute<'s>>,
    pub nodes: Vec<NodeBlock<'s>>,
    pub potentials: Vec<PotentialBlock<'s>>,
    pub instances: Vec<Instance<'s>>,
}

const KINDS: [&str; 5] = ["discrete", "continuous", "decision", "utility", "function"];

/// Whether `text` begins like a NET file.
pub(super) fn begins_with_block(text: &str) -> bool {
    let mut tokens = Tokens::new(SourceText { file: "", text }, &DIALECT);
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

/// Reads the blocks of a file: its classes, and as one of them what stands in none.
pub(super) fn parse(source: SourceText<'_>) -> Result<Vec<Class<'_>>, FormatError> {
    let mut parser = Parser { source, tokens: Tokens::new(source, &DIALECT), instances: 0 };
    let mut classes: Vec<Class<'_>> = Vec::new();
    let mut outside = None;
    loop {
        let (token, at) = parser.tokens.next()?;
        if token == Token::End && !classes.is_empty() {
            return Ok(classes);
        }
        if token == Token::Word("class") {
            let name = parser.plain_name("the name of the class")?;
            classes.push(Class { name, at, ..Class::default() });
            parser.tokens.sign(Token::OpenBrace)?;
            parser.body(classes.last_mut().expect("just put there"))?;
            continue;
        }
        let index = *outside.get_or_insert_with(|| {
            classes.push(Class { at, ..Class::default() });
            classes.len() - 1
        });
        if token == Token::Word("net") {
            parser.tokens.sign(Token::OpenBrace)?;
            parser.body(&mut classes[index])?;
        } else {
            parser.element(token, at, &mut classes[index])?;
        }
    }
}

struct Parser<'s> {
    source: SourceText<'s>,
    tokens: Tokens<'s, 'static>,
    /// How many instances there were so far.
    instances: usize,
}

impl<'s> Parser<'s> {
    /// The rest of `net {` or `class NAME {`: attributes, and in a class also what it is made of.
    fn body(&mut self, class: &mut Class<'s>) -> Result<(), FormatError> {
        loop {
            match self.tokens.next()? {
                (Token::CloseBrace, _) => return Ok(()),
                (Token::Word(name), at) if self.tokens.peek()?.0 == Token::Equals => {
                    let attribute = self.attribute(name, at)?;
                    class.attributes.push(attribute);
                }
                (found, at) => self.element(found, at, class)?,
            }
        }
    }

    /// A node, a potential or an instance, whose first word is `token`.
    fn element(
        &mut self,
        token: Token<'s>,
        at: usize,
        class: &mut Class<'s>,
    ) -> Result<(), FormatError> {
        match token {
            Token::Word("potential" | "probability") => class.potentials.push(self.potential(at)?),
            Token::Word(
                "node" | "discrete" | "continuous" | "decision" | "utility" | "function",
            ) => class.nodes.push(self.node(token)?),
            Token::Word("instance") => class.instances.push(self.instance()?),
            found => {
                let what = "'net', 'class', 'node', 'potential' or another kind of node";
                return Err(self.tokens.expected(what, found, at));
            }
        }
        Ok(())
    }

    fn instance(&mut self) -> Result<Instance<'s>, FormatError> {
        let name = self.name("the name of the instance")?;
        self.tokens.sign(Token::Colon)?;
        let class = self.name("the class of the instance")?;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        if self.tokens.peek()?.0 == Token::OpenParenthesis {
            self.tokens.next()?;
            let mut behind_semicolon = false;
            loop {
                match self.tokens.peek()? {
                    (Token::CloseParenthesis, _) => break,
                    (Token::Semicolon, _) if !behind_semicolon => behind_semicolon = true,
                    (Token::Comma, _) => {}
                    _ => {
                        let left = self.name("a name, ';' or ')'")?;
                        self.tokens.sign(Token::Equals)?;
                        let right = self.name("the node that it is bound to")?;
                        let side = if behind_semicolon { &mut outputs } else { &mut inputs };
                        side.push((left, right));
                        continue;
                    }
                }
                self.tokens.next()?;
            }
            self.tokens.next()?;
        }
        match self.tokens.next()? {
            (Token::OpenBrace, _) => {
                self.attributes(|_, _, _| Ok(false))?;
            }
            (Token::Semicolon, _) => {}
            (found, at) => return Err(self.tokens.expected("'{'", found, at)),
        }
        self.instances += 1;
        Ok(Instance { number: self.instances, name, class, inputs, outputs })
    }

    /// `discrete decision NAME { ... }`, of which `first` is the first word.
    fn node(&mut self, first: Token<'s>) -> Result<NodeBlock<'s>, FormatError> {
        let mut kind = NodeKind::Chance;
        let mut word = first;
        // The last word is the name, even of a node that is called 'node'.
        let name = loop {
            match word {
                Token::Word("continuous") => kind = NodeKind::Continuous,
                Token::Word("decision") => kind = NodeKind::Decision,
                Token::Word("utility") => kind = NodeKind::Utility,
                Token::Word("function") => kind = NodeKind::Function,
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
    ) -> Result<Vec<NetAttribute<'s>>, FormatError> {
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
    fn attribute(&mut self, name: &'s str, at: usize) -> Result<NetAttribute<'s>, FormatError> {
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
                        && items.iter().all(|item: &ListItem<'_>| item.quoted);
                    let value = if is_list {
                        AttributeValue::List(items)
                    } else if all_quoted {
                        AttributeValue::Text(items.iter().map(|item| unquote(item.text)).collect())
                    } else if let ([item], 1) = (&items[..], tokens) {
                        AttributeValue::Word(item.text)
                    } else {
                        AttributeValue::Other
                    };
                    return Ok(NetAttribute { name, at, raw, raw_at: start, value });
                }
                Token::Word(text) => items.push(ListItem { text, quoted: false, at: item_at }),
                Token::Quoted(text) => items.push(ListItem { text, quoted: true, at: item_at }),
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
    fn data(&mut self) -> Result<(PotentialData, usize), FormatError> {
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
                    let data =
                        odd.map_or(PotentialData::Numbers(numbers), PotentialData::Malformed);
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
