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
//! * The values of a function are in odometer order over its variables as they are listed, the last
//!   one fastest, in both kinds of networks. pyAgrum 3.3.1 lets the first variable turn fastest in a
//!   Markov network, and in a Bayesian one the child and then the first parent; it differs from the
//!   definition, and from itself, where a function has several parents. Its files with the child
//!   first are no Bayesian networks by the definition.
//! * What stands between `#` and the end of a line is a remark, and so is a line that begins with the
//!   word `c` (the format of the UAI 2016 evaluation).
//! * Several functions of a Markov network may have the same variables; one of none is a constant.

mod read;
mod write;

use crate::format::language::{Features, Language};

/// What is known of the format.
pub(super) static LANGUAGE: Language = Language {
    name: "UAI",
    extensions: &["uai"],
    recognise: read::recognise,
    read: read::read,
    write: Some(write::write),
    features: Features::NONE,
};

/// The name of the variable at position `index`.
fn name(index: usize) -> String {
    format!("x{index}")
}
