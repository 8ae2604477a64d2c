//! Nodes as the readers of several formats find them, and the network that they make.
//!
//! Names are looked up here and nowhere before, so nodes may come in any order. Utility nodes and
//! the like are left out, decisions become chance variables, and what is given by other means than
//! a table is expanded.

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

/// The most states that a file may ask for by their number alone, for one node.
pub(super) const MAX_UNNAMED_STATES: usize = 1 << 16;

/// A name, label or other text, and the byte at which it stands.
#[derive(Clone, Debug)]
pub(super) struct Word<'s> {
    pub text: Cow<'s, str>,
    pub at: usize,
}

/// A number, and the byte at which it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// [`UNDEFINED`] where the file says that there is none.
    pub value: f64,
    pub at: usize,
}

/// Stands for an entry that the file leaves open on purpose. No number in a file reads as this.
pub(super) const UNDEFINED: f64 = f64::NAN;

/// What a node is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Chance,
    Decision,
    /// Nothing that a Bayesian network has: `"utility"`, `"constant"`.
    LeftOut(&'static str),
}

/// How the distribution of a node is given. All lists are in odometer order over the parents, the
/// last one fastest.
#[derive(Debug)]
pub(super) enum Definition<'s> {
    /// Not at all.
    Missing,
    /// One number for each state of the node in each configuration of the parents, the node fastest.
    Table(Vec<Number>),
    /// The same numbers in another order: the node slowest, then its parents.
    TableByState(Vec<Number>),
    /// Rows in any order, each with the states of the parents.
    Rows(LabelledRows<'s>),
    /// As in `Table`, but the numbers of a row are weights that may sum to anything.
    Weights(Vec<Number>),
    /// The state of the node in each configuration of the parents; `None` where there is none.
    Function(Vec<(Option<usize>, usize)>),
    /// A column for each state of each parent, and one for the leak.
    NoisyMax {
        /// For each parent in turn, its states from the strongest to the one without effect.
        strengths: Vec<Number>,
        columns: Vec<Number>,
    },
    /// The same columns, averaged.
    NoisyAdder {
        /// One for each parent, and one for the leak.
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
    /// The byte at which the definition stands, or the node if it has none.
    pub at: usize,
    /// What the file says of it beside the model.
    pub note: Annotation,
}

/// What to do with a chance node that has no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfMissing {
    Refuse,
    /// Give all states the same chance, as the program does whose format it is.
    Uniform,
}

/// The number that `word` writes; words that only Rust takes for a number are none. `5e-1f` is one:
/// programs in Java, JavaBayes first, read and write the letter that tells the type.
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
    fn numbers_are_told_from_words() {
        let numbers = ["1", "+.5", "-1.", "1e-3", "5e-1f", "0.25D", "7.E-1"].map(number);
        assert_eq!(numbers, [1.0, 0.5, -1.0, 1e-3, 0.5, 0.25, 0.7].map(Some));
        for word in ["", "f", "inf", "NaN", "-inf", "1ff", "1e", "0x1", "1_0", "1.0.0", "--1", "."]
        {
            assert_eq!(number(word), None, "{word}");
        }
    }
}
