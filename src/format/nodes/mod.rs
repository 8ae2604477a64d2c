//! The nodes of a file, as a reader collects them, and the network that is built from them.
//!
//! A reader creates [`Node`]s without looking up the names of parents. [`network`] looks up these
//! names, so a file may declare its nodes in any order. It leaves out nodes of kinds that a
//! Bayesian network does not have, turns decisions into chance variables, and expands definitions
//! other than tables into tables. The reader of a format that gives distributions apart from the
//! declarations also creates [`Distribution`]s, and calls [`assign`] first.

mod build;
mod distribution;
mod labelled;
mod labels;

use std::borrow::Cow;

use crate::network::Annotation;

pub(super) use build::network;
pub(super) use distribution::{Distribution, assign};
pub(super) use labelled::{LabelledRow, LabelledRows, RowLabel};
pub(super) use labels::Labels;

/// Maximum number of states of a node if the file gives their number but no labels. A short file
/// could otherwise demand any amount of memory.
pub(super) const MAX_UNNAMED_STATES: usize = 1 << 16;

/// A name, label or other text, with its byte offset in the file.
#[derive(Clone, Debug)]
pub(super) struct Word<'s> {
    pub text: Cow<'s, str>,
    pub offset: usize,
}

/// A number, with its byte offset in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// [`UNDEFINED`] if the file leaves this entry undefined.
    pub value: f64,
    pub offset: usize,
}

/// The value of an entry that the file leaves undefined on purpose. [`number`] never returns it.
pub(super) const UNDEFINED: f64 = f64::NAN;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Chance,
    Decision,
    /// A kind that a Bayesian network does not have, with its name for messages: `"utility"`.
    LeftOut(&'static str),
}

/// The distribution of a node, as the file gives it. Among the parents, the last varies fastest.
#[derive(Debug)]
pub(super) enum Definition<'s> {
    /// The file gives none.
    Missing,
    /// One number for each state of the node in each configuration of the parents; the node varies
    /// fastest.
    Table(Vec<Number>),
    /// The same numbers, but the node varies slowest.
    TableByState(Vec<Number>),
    /// Rows in any order, each with the states of the parents.
    Rows(LabelledRows<'s>),
    /// As in `Table`, but the numbers of a row are weights, with any sum above zero.
    Weights(Vec<Number>),
    /// The state of the node in each configuration of the parents, with its byte offset; `None`
    /// where the file leaves it undefined.
    Function(Vec<(Option<usize>, usize)>),
    /// Parameters of a noisy-MAX: one column for each state of each parent, and one for the leak,
    /// which some files omit.
    NoisyMax {
        /// For each parent in turn, its states from the strongest to the one without effect. Empty
        /// if every parent has its states in that order.
        strengths: Vec<Number>,
        columns: Vec<Number>,
    },
    /// Parameters of a noisy adder, which averages columns like those of a noisy-MAX. The column
    /// for the leak may be missing here too.
    NoisyAdder {
        /// One weight for each parent and one for the leak; empty if all are equal.
        weights: Vec<Number>,
        columns: Vec<Number>,
    },
}

/// One node of a file.
#[derive(Debug)]
pub(super) struct Node<'s> {
    pub name: Word<'s>,
    pub role: Role,
    pub states: Vec<Word<'s>>,
    pub parents: Vec<Word<'s>>,
    pub definition: Definition<'s>,
    /// The byte offset of the definition, or of the node if it has no definition.
    pub offset: usize,
    /// Title, position and other attributes of the node.
    pub note: Annotation,
}

/// What to do with a chance node that has no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfMissing {
    Refuse,
    /// Give all states the same probability, as the program that owns the format does.
    Uniform,
}

/// Parses `word` as a number. Unlike Rust's parser, this one refuses the words `inf` and `nan`, and
/// accepts a type suffix of Java (`5e-1f`), as JavaBayes and its successors do. A number beyond the
/// range of `f64` becomes infinite.
pub(super) fn number(word: &str) -> Option<f64> {
    let digits = word.trim_start_matches(['+', '-']);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    word.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(word).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinguished_from_words() {
        let numbers = ["1", "+.5", "-1.", "1e-3", "5e-1f", "0.25D", "7.E-1"].map(number);
        assert_eq!(numbers, [1.0, 0.5, -1.0, 1e-3, 0.5, 0.25, 0.7].map(Some));
        for word in ["", "f", "inf", "NaN", "-inf", "1ff", "1e", "0x1", "1_0", "1.0.0", "--1", "."]
        {
            assert_eq!(number(word), None, "{word}");
        }
    }
}
