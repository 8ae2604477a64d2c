//! UAI, the format of the UAI inference competitions: Bayesian networks (`BAYES`) and Markov
//! networks (`MARKOV`).
//!
//! Source: "Model Format" of the UAI 2014 inference competition. A file is a sequence of words: the
//! kind of network; the number of variables and the number of states of each; the number of
//! functions, and for each the number and the indices of its variables; then, for each function,
//! the number of its values and the values, where its last variable varies fastest. In `BAYES` the
//! last variable of a function is the child, the others are its parents. The source leaves some
//! points open, and other programs differ in some:
//!
//! * Variables and states have no names. Variables are called `x0`, `x1` and so on, states `0`,
//!   `1`.
//! * The last listed variable of a function varies fastest in both kinds of networks. pyAgrum 3.3.1
//!   follows other orders: in a Markov network the first variable varies fastest, in a Bayesian
//!   network the child and then the first parent. It therefore reads and writes some functions
//!   differently: in a Markov network those of several variables, in a Bayesian network those with
//!   several parents.
//! * A comment starts with `#` and ends with the line. A line that begins with the word `c` is a
//!   comment too (the format of the UAI 2016 evaluation).
//! * Several functions of a Markov network may have the same variables. A function of no variable
//!   is a constant. Very rarely a function becomes two factors, which are written as two functions:
//!   see [`Network::markov`](crate::network::Network::markov).

mod read;
mod write;

use crate::format::language::{Features, Language};

pub(super) static LANGUAGE: Language = Language {
    name: "UAI",
    extensions: &["uai"],
    recognise: read::recognise,
    read: read::read,
    write: Some(write::write),
    features: Features::NONE,
};

/// The name of variable `index`.
fn name(index: usize) -> String {
    format!("x{index}")
}

/// The message about the number of a variable that is not below `count`, the number of variables.
pub(super) fn no_such_variable(variable: usize, count: usize) -> String {
    match count {
        0 => format!("there is no variable {variable}, the network has no variables"),
        1 => format!("there is no variable {variable}, expected 0"),
        _ => format!("there is no variable {variable}, expected 0 to {}", count - 1),
    }
}
