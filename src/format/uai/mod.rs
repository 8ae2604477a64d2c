//! UAI, the format of the inference competitions of the conference on uncertainty in artificial
//! intelligence: Bayesian networks (`BAYES`) and Markov networks (`MARKOV`).
//!
//! Source: "Model Format" of the UAI 2014 inference competition. A file is words between white
//! space: the kind; the number of variables and of states of each; the number of functions, and
//! for each the number and positions of its variables; then, for each function, how many values
//! it has and the values, its last variable fastest. In `BAYES` the last variable of a function is
//! the child, the others its parents. What that leaves open:
//!
//! * Variables and states have no names: variables are called `x0`, `x1` and so on, states `0`, `1`.
//! * What stands between `#` and the end of a line is a remark.
//! * Several functions of a Markov network may have the same variables; one of none is a constant.

mod read;
mod write;

use crate::format::language::{Keeps, Language};

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "UAI",
    extensions: &["uai"],
    recognise: read::recognise,
    read: read::read,
    write: Some(write::write),
    keeps: Keeps::NOTHING,
};

/// The name of the variable at position `index`.
fn name(index: usize) -> String {
    format!("x{index}")
}
