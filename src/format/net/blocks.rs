//! The blocks of a NET file. Names in them are not looked up.

use crate::format::FormatError;
use crate::format::nodes::{Number, Word};

/// `name = value;`
#[derive(Debug)]
pub(super) struct NetAttribute<'s> {
    pub name: &'s str,
    /// The byte offset of the name.
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
    /// A quoted text with escapes resolved. Several texts in a row are joined.
    Text(String),
    /// The words and quoted texts of a value that begins with `(`. All other tokens are ignored.
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

/// The kind of a node, given by the words before its name.
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
    /// At least one. The potential of a chance node must have exactly one; the parser does not
    /// check this.
    pub children: Vec<Word<'s>>,
    pub parents: Vec<Word<'s>>,
    /// The byte offset of the keyword.
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
    /// A word that is not a number. The error is reported only if the node is a chance node.
    Malformed(FormatError),
}

/// `instance NAME : CLASS (INPUT = ACTUAL, ...; ALIAS = OUTPUT, ...) { ATTRIBUTES }`
#[derive(Debug)]
pub(super) struct Instance<'s> {
    /// The number of this instance in the file, counted from one.
    pub number: usize,
    pub name: Word<'s>,
    pub class: Word<'s>,
    /// Pairs of an input of the class and the node of the surrounding class that it is bound to.
    pub inputs: Vec<(Word<'s>, Word<'s>)>,
    /// Pairs of an alias in the surrounding class and the node of the instance that it names.
    pub outputs: Vec<(Word<'s>, Word<'s>)>,
}

/// The content of a class. Everything outside a class forms a class without a name.
#[derive(Debug, Default)]
pub(super) struct Class<'s> {
    pub name: &'s str,
    /// The byte offset where the class begins.
    pub offset: usize,
    pub attributes: Vec<NetAttribute<'s>>,
    pub nodes: Vec<NodeBlock<'s>>,
    pub potentials: Vec<PotentialBlock<'s>>,
    pub instances: Vec<Instance<'s>>,
}
