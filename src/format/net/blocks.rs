//! The blocks of a NET file, names not yet looked up.

use crate::format::FormatError;
use crate::format::nodes::{Number, Word};

/// `name = value;`
#[derive(Debug)]
pub(super) struct NetAttribute<'s> {
    pub name: &'s str,
    pub offset: usize,
    /// The value as it is in the file, with comments.
    pub raw: &'s str,
    /// The byte offset of the value.
    pub raw_at: usize,
    pub value: AttributeValue<'s>,
}

/// The value of an attribute.
#[derive(Debug)]
pub(super) enum AttributeValue<'s> {
    /// A single word.
    Word(&'s str),
    /// A quoted text, or several in a row joined, escapes resolved.
    Text(String),
    /// A list in parentheses. Inner parentheses are ignored.
    List(Vec<ListItem<'s>>),
    /// Anything else.
    Other,
}

/// A word or quoted text in a list, with its byte offset. Escapes are not resolved.
#[derive(Debug)]
pub(super) struct ListItem<'s> {
    pub text: &'s str,
    pub quoted: bool,
    pub offset: usize,
}

/// The kind of a node, which the words before its name give.
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
    pub offset: usize,
    /// The value of `data`, and its byte offset.
    pub data: Option<(PotentialData, usize)>,
    /// All other attributes.
    pub attributes: Vec<NetAttribute<'s>>,
}

/// The content of `data`.
#[derive(Debug)]
pub(super) enum PotentialData {
    Numbers(Vec<Number>),
    /// Something other than numbers. The error is reported only if the node is a chance node.
    Malformed(FormatError),
}

/// `instance NAME : CLASS (INPUT = ACTUAL, ...; ALIAS = OUTPUT, ...) { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct Instance<'s> {
    /// Its number among the instances of the file, counted from one.
    pub number: usize,
    pub name: Word<'s>,
    pub class: Word<'s>,
    /// Inputs of the class, and the nodes of the surrounding class that they are bound to.
    pub inputs: Vec<(Word<'s>, Word<'s>)>,
    /// Aliases in the surrounding class, and the nodes of this class that they stand for.
    pub outputs: Vec<(Word<'s>, Word<'s>)>,
}

/// The content of a class. `net` and what follows it form a class without a name.
#[derive(Debug, Default)]
pub(super) struct Class<'s> {
    pub name: &'s str,
    pub offset: usize,
    pub attributes: Vec<NetAttribute<'s>>,
    pub nodes: Vec<NodeBlock<'s>>,
    pub potentials: Vec<PotentialBlock<'s>>,
    pub instances: Vec<Instance<'s>>,
}
