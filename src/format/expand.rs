//! Tables of canonical nodes: noisy-MAX and noisy-adder.
//!
//! Source: the manual of SMILE, *Canonical nodes*; F. J. Diez, *Parameter adjustment in Bayes
//! networks: the generalized noisy OR-gate*, UAI 1993. The parameters form columns: one column for
//! each state of each parent, and a last column for the leak. Each column is a distribution over
//! the states of the node.
//!
//! In the tables returned here the node varies fastest, then its last parent.

use crate::format::nodes::{Node, Number};
use crate::format::source::ErrorAt;
use crate::network::normalise_row;
use crate::numbers::counted;

/// The table of a noisy-MAX node: each parent and the leak independently causes a state of the
/// node, and the strongest of these states occurs. The first state of the node is the strongest.
///
/// `cardinalities` has the number of states of each parent. For each parent, `strengths` lists its
/// states in the order of its columns, from the strongest state to the state without effect. If
/// `strengths` is empty, the columns are in the order of the states.
///
/// # Errors
/// If there are too few or too many parameters or strengths; if the strengths of a parent do not
/// list each of its states once; or if a column is not a distribution.
pub(super) fn noisy_max(
    node: &Node<'_>,
    cardinalities: &[usize],
    strengths: &[Number],
    columns: &[Number],
) -> Result<Vec<f64>, ErrorAt> {
    let states = node.states.len();
    let mut columns = Columns::new(node, cardinalities, columns)?;
    columns.reorder(node, cardinalities, strengths)?;
    // From here on, an entry is the probability that the parent or the leak causes this state or a
    // weaker one.
    for column in columns.values.chunks_mut(states) {
        for state in (0..states - 1).rev() {
            column[state] += column[state + 1];
        }
        column[0] = 1.0;
    }
    Ok(columns.combine(cardinalities, |chosen, row| {
        row.fill(1.0);
        for column in chosen {
            row.iter_mut().zip(*column).for_each(|(product, weaker)| *product *= weaker);
        }
        for state in 0..states - 1 {
            row[state] = (row[state] - row[state + 1]).max(0.0);
        }
    }))
}

/// The table of a noisy-adder node: the weighted mean of the columns of the parents and the leak
/// (A. Zagorecki, *Local probability distributions in Bayesian networks*, 2010, section 5.3).
///
/// `cardinalities` has the number of states of each parent. `weights` has one number for each
/// parent and one for the leak, or is empty if all weights are equal.
///
/// # Errors
/// If there are too few or too many parameters or weights, a weight is negative or not finite, the
/// sum of the weights is zero, subnormal or infinite, or a column is not a distribution.
pub(super) fn noisy_adder(
    node: &Node<'_>,
    cardinalities: &[usize],
    weights: &[Number],
    columns: &[Number],
) -> Result<Vec<f64>, ErrorAt> {
    let columns = Columns::new(node, cardinalities, columns)?;
    let name = &node.name.text;
    if !weights.is_empty() && weights.len() != cardinalities.len() + 1 {
        let message = format!(
            "'{name}' has {}, expected {}, one for each parent and the leak",
            counted(weights.len(), "weight", "weights"),
            cardinalities.len() + 1
        );
        return Err((weights[0].offset, message));
    }
    if let Some(bad) = weights.iter().find(|w| !(w.value.is_finite() && w.value >= 0.0)) {
        return Err((
            bad.offset,
            format!("'{name}' has the weight {}, expected 0 or more", bad.value),
        ));
    }
    let weights: Vec<f64> = match weights {
        [] => vec![1.0; cardinalities.len() + 1],
        given => given.iter().map(|weight| weight.value).collect(),
    };
    let sum: f64 = weights.iter().sum();
    if !sum.is_normal() {
        return Err((
            node.offset,
            format!("the weights of '{name}' sum to {sum}, expected a finite sum above 0"),
        ));
    }
    Ok(columns.combine(cardinalities, |chosen, row| {
        for (column, weight) in chosen.iter().zip(&weights) {
            row.iter_mut().zip(*column).for_each(|(mean, p)| *mean += weight / sum * p);
        }
    }))
}

/// The columns of a node in one array, column by column.
struct Columns {
    values: Vec<f64>,
    states: usize,
}

impl Columns {
    /// Normalises the columns in `numbers`, and adds a column for the leak if it is missing.
    fn new(node: &Node<'_>, cardinalities: &[usize], numbers: &[Number]) -> Result<Self, ErrorAt> {
        let states = node.states.len();
        let columns = cardinalities.iter().sum::<usize>() + 1;
        let name = &node.name.text;
        // Some files omit the leak. Its column then makes the last state certain. In a noisy-MAX,
        // such a leak has no effect.
        let complete = numbers.len() == columns * states;
        if !complete && numbers.len() != (columns - 1) * states {
            let message = format!(
                "'{name}' has {}, expected {}: {states} for each state of each parent \
                 and for the leak",
                counted(numbers.len(), "parameter", "parameters"),
                columns * states
            );
            return Err((node.offset, message));
        }
        let mut values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
        for (values, numbers) in values.chunks_mut(states).zip(numbers.chunks(states)) {
            normalise_row(values).map_err(|error| {
                (numbers[0].offset, format!("a column of the parameters of '{name}': {error}"))
            })?;
        }
        if !complete {
            values.extend((1..=states).map(|state| f64::from(u8::from(state == states))));
        }
        Ok(Self { values, states })
    }

    /// Reorders the columns of each parent from the order of `strengths` to the order of its
    /// states.
    fn reorder(
        &mut self,
        node: &Node<'_>,
        cardinalities: &[usize],
        strengths: &[Number],
    ) -> Result<(), ErrorAt> {
        let Some(first) = strengths.first() else { return Ok(()) };
        let name = &node.name.text;
        let total: usize = cardinalities.iter().sum();
        if strengths.len() != total {
            let message = format!(
                "'{name}' has {}, expected {total}, one for each state of each parent",
                counted(strengths.len(), "strength", "strengths")
            );
            return Err((first.offset, message));
        }
        let given = self.values.clone();
        let mut base = 0;
        for (parent, &cardinality) in cardinalities.iter().enumerate() {
            let mut seen = vec![false; cardinality];
            for (column, strength) in strengths[base..base + cardinality].iter().enumerate() {
                let state = strength.value;
                let is_state = state.fract() == 0.0 && (0.0..cardinality as f64).contains(&state);
                if !is_state || std::mem::replace(&mut seen[state as usize], true) {
                    let message = format!(
                        "the strengths of parent '{}' of '{name}' contain {state}, expected each \
                         of 0 to {} once",
                        node.parents[parent].text,
                        cardinality - 1
                    );
                    return Err((strength.offset, message));
                }
                let to = (base + state as usize) * self.states;
                let from = (base + column) * self.states;
                self.values[to..to + self.states].copy_from_slice(&given[from..from + self.states]);
            }
            base += cardinality;
        }
        Ok(())
    }

    /// The table with one row for each configuration of the parents, which have `cardinalities`
    /// states. `fill_row` gets the columns of the parents' states and of the leak, and a row of
    /// zeros.
    fn combine(
        &self,
        cardinalities: &[usize],
        fill_row: impl Fn(&[&[f64]], &mut [f64]),
    ) -> Vec<f64> {
        let states = self.states;
        let rows: usize = cardinalities.iter().product();
        let mut table = vec![0.0; rows * states];
        let column = |index: usize| &self.values[index * states..(index + 1) * states];
        let mut configuration = vec![0; cardinalities.len()];
        let mut chosen = Vec::with_capacity(cardinalities.len() + 1);
        for row in table.chunks_mut(states) {
            chosen.clear();
            let mut base = 0;
            for (&state, &cardinality) in configuration.iter().zip(cardinalities) {
                chosen.push(column(base + state));
                base += cardinality;
            }
            chosen.push(column(base));
            fill_row(&chosen, row);
            for (state, &cardinality) in configuration.iter_mut().zip(cardinalities).rev() {
                *state = (*state + 1) % cardinality;
                if *state > 0 {
                    break;
                }
            }
        }
        table
    }
}
