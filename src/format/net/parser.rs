//! The grammar of Hugin NET: from a text to blocks. Names are not looked up here.

use std::borrow::Cow;

use super::DIALECT;
use super::blocks::{
    AttributeValue, Class, Instance, ListItem, NetAttribute, NodeBlock, NodeKind, PotentialBlock,
    PotentialData,
};
use super::quotes::unquote;
use crate::format::FormatError;
use crate::format::nodes::{Number, Word, number};
use crate::format::source::SourceText;
use crate::format::tokens::{Token, Tokens};

/// The words for kinds of nodes. They come before `node`, or replace it.
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

/// Reads the classes of a file. Everything outside a class forms a class without a name.
///
/// # Errors
/// The first mistake in the text, but not a wrong number in `data`: see
/// [`PotentialData::Malformed`].
pub(super) fn parse(source: SourceText<'_>) -> Result<Vec<Class<'_>>, FormatError> {
    let mut parser = Parser { source, tokens: Tokens::new(source, &DIALECT), instances: 0 };
    let mut classes: Vec<Class<'_>> = Vec::new();
    let mut outside = None;
    loop {
        let (token, offset) = parser.tokens.next()?;
        if token == Token::End && !classes.is_empty() {
            return Ok(classes);
        }
        if token == Token::Word("class") {
            let name = parser.plain_name("the name of the class")?;
            classes.push(Class { name, offset, ..Class::default() });
            parser.tokens.expect(Token::OpenBrace)?;
            parser.body(classes.last_mut().expect("it was just pushed"))?;
            continue;
        }
        let index = *outside.get_or_insert_with(|| {
            classes.push(Class { offset, ..Class::default() });
            classes.len() - 1
        });
        if token == Token::Word("net") {
            parser.tokens.expect(Token::OpenBrace)?;
            parser.body(&mut classes[index])?;
        } else {
            let expected = "'net', 'class', 'instance', 'potential', 'node' or a kind of node \
                            (such as 'decision')";
            parser.element(token, offset, &mut classes[index], expected)?;
        }
    }
}

struct Parser<'s> {
    source: SourceText<'s>,
    tokens: Tokens<'s, 'static>,
    /// The number of instances so far.
    instances: usize,
}

impl<'s> Parser<'s> {
    /// The rest of `net {` or `class NAME {`: attributes, nodes, potentials and instances.
    fn body(&mut self, class: &mut Class<'s>) -> Result<(), FormatError> {
        loop {
            match self.tokens.next()? {
                (Token::CloseBrace, _) => return Ok(()),
                (Token::Word(name), offset) if self.tokens.peek()?.0 == Token::Equals => {
                    let attribute = self.attribute(name, offset)?;
                    class.attributes.push(attribute);
                }
                (found, offset) => {
                    let expected = "an attribute, 'instance', 'potential', 'node', a kind of node \
                                    (such as 'decision') or '}'";
                    self.element(found, offset, class, expected)?;
                }
            }
        }
    }

    /// A node, a potential or an instance. Its first word, `token`, has been read. `expected` lists
    /// what is allowed here, for the error message.
    fn element(
        &mut self,
        token: Token<'s>,
        offset: usize,
        class: &mut Class<'s>,
        expected: &str,
    ) -> Result<(), FormatError> {
        match token {
            Token::Word("potential" | "probability") => {
                class.potentials.push(self.potential(offset)?)
            }
            Token::Word(
                "node" | "discrete" | "continuous" | "decision" | "utility" | "function",
            ) => class.nodes.push(self.node(token)?),
            Token::Word("instance") => class.instances.push(self.instance()?),
            found => return Err(self.tokens.expected(expected, found, offset)),
        }
        Ok(())
    }

    /// `NAME : CLASS ( INPUTS ; OUTPUTS ) { ... }` after `instance`.
    fn instance(&mut self) -> Result<Instance<'s>, FormatError> {
        let name = self.name("the name of the instance")?;
        self.tokens.expect(Token::Colon)?;
        let class = self.name("the class of the instance")?;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        if self.tokens.peek()?.0 == Token::OpenParenthesis {
            self.tokens.next()?;
            let mut after_semicolon = false;
            loop {
                match self.tokens.peek()? {
                    (Token::CloseParenthesis, _) => break,
                    (Token::Semicolon, _) if !after_semicolon => after_semicolon = true,
                    (Token::Comma, _) => {}
                    _ => {
                        let left = self.name("a name, ';' or ')'")?;
                        self.tokens.expect(Token::Equals)?;
                        let what = format!("the name of a node after '{} ='", left.text);
                        let right = self.name(&what)?;
                        let side = if after_semicolon { &mut outputs } else { &mut inputs };
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
                self.attributes(|_, _| Ok(false))?;
            }
            (Token::Semicolon, _) => {}
            (found, offset) => return Err(self.tokens.expected("'{' or ';'", found, offset)),
        }
        self.instances += 1;
        Ok(Instance { number: self.instances, name, class, inputs, outputs })
    }

    /// The words for the kind of a node, its name, and `{ ... }`, such as
    /// `discrete decision NAME { ... }`. The first word, `first`, has been read.
    fn node(&mut self, first: Token<'s>) -> Result<NodeBlock<'s>, FormatError> {
        let mut kind = NodeKind::Chance;
        let mut word = first;
        // Each word before the name may give the kind. The last word before the brace is the name,
        // even if it is 'node'.
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
                let (found, offset) = self.tokens.next()?;
                return Err(self.tokens.expected("'{'", found, offset));
            }
            word = Token::Word(&self.source.text[name.offset..name.offset + name.text.len()]);
        };
        self.tokens.expect(Token::OpenBrace)?;
        let attributes = self.attributes(|_, _| Ok(false))?;
        Ok(NodeBlock { kind, name, attributes })
    }

    /// `( CHILD | PARENTS ) { ... }` after `potential`, which is at byte `offset`.
    fn potential(&mut self, offset: usize) -> Result<PotentialBlock<'s>, FormatError> {
        self.tokens.expect(Token::OpenParenthesis)?;
        let (mut children, mut parents) = (Vec::new(), Vec::new());
        let mut after_bar = false;
        loop {
            let (token, offset) = self.tokens.next()?;
            match token {
                Token::Word(text) => {
                    let word = Word { text: Cow::Borrowed(text), offset };
                    if after_bar { &mut parents } else { &mut children }.push(word);
                }
                Token::Quoted(text) => {
                    let word = Word { text: Cow::Owned(unquote(text)), offset };
                    if after_bar { &mut parents } else { &mut children }.push(word);
                }
                Token::Comma => {}
                Token::Bar if !after_bar => after_bar = true,
                Token::CloseParenthesis => break,
                found => {
                    let what = if after_bar { "a parent or ')'" } else { "a node, '|' or ')'" };
                    return Err(self.tokens.expected(what, found, offset));
                }
            }
        }
        if children.is_empty() {
            return Err(self.source.error(offset, "this potential names no node"));
        }
        self.tokens.expect(Token::OpenBrace)?;
        let mut data = None;
        let attributes = self.attributes(|parser, name| {
            if name == "data" {
                data = Some(parser.data()?);
            }
            Ok(name == "data")
        })?;
        Ok(PotentialBlock { children, parents, offset, data, attributes })
    }

    /// The attributes up to '}'. For each name, `read_special` may read the rest of the attribute
    /// itself, from '=' to ';'. If so, it returns true, and the result lacks the attribute.
    fn attributes(
        &mut self,
        mut read_special: impl FnMut(&mut Self, &str) -> Result<bool, FormatError>,
    ) -> Result<Vec<NetAttribute<'s>>, FormatError> {
        let mut attributes = Vec::new();
        loop {
            match self.tokens.next()? {
                (Token::CloseBrace, _) => return Ok(attributes),
                (Token::Semicolon, _) => {}
                (Token::Word(name), offset) => {
                    let (equals, equals_at) = self.tokens.peek()?;
                    if equals != Token::Equals {
                        return Err(self.tokens.expected("'='", equals, equals_at));
                    }
                    if !read_special(self, name)? {
                        attributes.push(self.attribute(name, offset)?);
                    }
                }
                (found, offset) => {
                    return Err(self.tokens.expected("an attribute or '}'", found, offset));
                }
            }
        }
    }

    /// `= VALUE;` after `name`, which is at byte `offset`.
    fn attribute(&mut self, name: &'s str, offset: usize) -> Result<NetAttribute<'s>, FormatError> {
        self.tokens.expect(Token::Equals)?;
        let (first, start) = self.tokens.peek()?;
        let is_list = first == Token::OpenParenthesis;
        let (mut depth, mut token_count, mut end) = (0_usize, 0_usize, start);
        let mut items = Vec::new();
        loop {
            let (token, item_at) = self.tokens.next()?;
            match token {
                Token::OpenParenthesis => depth += 1,
                Token::CloseParenthesis if depth > 0 => depth -= 1,
                Token::Semicolon if depth == 0 => {
                    let raw = &self.source.text[start..end];
                    let all_quoted = !items.is_empty()
                        && items.len() == token_count
                        && items.iter().all(|item: &ListItem<'_>| item.quoted);
                    let value = if is_list {
                        AttributeValue::List(items)
                    } else if all_quoted {
                        AttributeValue::Text(items.iter().map(|item| unquote(item.text)).collect())
                    } else if let ([item], 1) = (&items[..], token_count) {
                        AttributeValue::Word(item.text)
                    } else {
                        AttributeValue::Other
                    };
                    return Ok(NetAttribute { name, offset, raw, raw_at: start, value });
                }
                Token::Word(text) => items.push(ListItem { text, quoted: false, offset: item_at }),
                Token::Quoted(text) => items.push(ListItem { text, quoted: true, offset: item_at }),
                Token::End | Token::OpenBrace | Token::CloseBrace | Token::CloseParenthesis => {
                    return Err(self.tokens.expected(
                        &format!("';' after '{name}'"),
                        token,
                        item_at,
                    ));
                }
                // Other punctuation occurs in expressions.
                _ => {}
            }
            token_count += 1;
            end = self.tokens.end();
        }
    }

    /// `= ( NUMBERS );` after `data`, with or without inner parentheses. Returns the numbers and
    /// the byte offset of the value.
    fn data(&mut self) -> Result<(PotentialData, usize), FormatError> {
        self.tokens.expect(Token::Equals)?;
        let start = self.tokens.peek()?.1;
        let (mut depth, mut numbers, mut malformed) = (0_usize, Vec::new(), None);
        loop {
            let (token, offset) = self.tokens.next()?;
            match token {
                Token::OpenParenthesis => depth += 1,
                Token::CloseParenthesis if depth > 0 => depth -= 1,
                Token::Comma => {}
                Token::Semicolon if depth == 0 => {
                    let data =
                        malformed.map_or(PotentialData::Numbers(numbers), PotentialData::Malformed);
                    return Ok((data, start));
                }
                Token::Word(word) => match number(word) {
                    Some(value) => numbers.push(Number { value, offset }),
                    None => {
                        malformed.get_or_insert_with(|| {
                            self.source.error(offset, format!("expected a number, found '{word}'"))
                        });
                    }
                },
                found => {
                    let what = if depth > 0 { "a number or ')'" } else { "';' after 'data'" };
                    return Err(self.tokens.expected(what, found, offset));
                }
            }
        }
    }

    /// A name, with or without quotes. `what` describes the expected name, for the error.
    fn name(&mut self, what: &str) -> Result<Word<'s>, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text), offset) => Ok(Word { text: Cow::Borrowed(text), offset }),
            (Token::Quoted(text), offset) => Ok(Word { text: Cow::Owned(unquote(text)), offset }),
            (found, offset) => Err(self.tokens.expected(what, found, offset)),
        }
    }

    /// As [`name`](Self::name), but returns only the text, with its escapes unresolved.
    fn plain_name(&mut self, what: &str) -> Result<&'s str, FormatError> {
        match self.tokens.next()? {
            (Token::Word(text) | Token::Quoted(text), _) => Ok(text),
            (found, offset) => Err(self.tokens.expected(what, found, offset)),
        }
    }
}
