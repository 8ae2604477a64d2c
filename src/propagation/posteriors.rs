//! The result of a propagation.

use std::ops::Range;
use std::sync::Arc;

use crate::network::{Network, VariableId};

/// P(X = x | e) of every variable, and ln P(e).
#[derive(Clone, Debug, PartialEq)]
pub struct Posteriors {
    /// Start of each variable's states in `values`, and the end of the last.
    offsets: Arc<[usize]>,
    values: Vec<f64>,
    ln_p_evidence: f64,
}

impl Posteriors {
    /// The posteriors of `network`'s variables, each the result of `distribution` called with the
    /// variable and a slice of its states to fill, normalised here.
    ///
    /// `ln_p_evidence` is that of the product of the factors' values; the power of two that the
    /// network took out of them is put back here.
    ///
    /// A distribution may be given up to a factor; one that sums to zero is left as it is.
    pub fn new(
        network: &Network,
        ln_p_evidence: f64,
        mut distribution: impl FnMut(VariableId, &mut [f64]),
    ) -> Self {
        let offsets = Self::offsets(network);
        let values = vec![0.0; offsets[offsets.len() - 1]];
        let ln_p_evidence = ln_p_evidence + network.ln_scale();
        let mut posteriors = Self { offsets, values, ln_p_evidence };
        network.ids().for_each(|variable| posteriors.fill(variable, &mut distribution));
        posteriors
    }

    /// Where the states of each variable begin when those of all lie one variable after another, and
    /// the end of the last.
    pub(crate) fn offsets(network: &Network) -> Arc<[usize]> {
        let mut offsets = vec![0];
        for variable in network.variables() {
            offsets.push(offsets[offsets.len() - 1] + variable.cardinality());
        }
        offsets.into()
    }

    /// The posteriors whose normalised `values` lie one variable after another, from `offsets` on;
    /// the last offset is the end. For engines that fill them in an order of their own, and put back
    /// what the network took out of P(e).
    pub(crate) fn of_values(offsets: Arc<[usize]>, values: Vec<f64>, ln_p_evidence: f64) -> Self {
        debug_assert_eq!(offsets.last(), Some(&values.len()));
        Self { offsets, values, ln_p_evidence }
    }

    /// These posteriors with those of `variables` in place of what they were, as for
    /// [`new`](Self::new).
    #[must_use]
    pub fn updated(
        &self,
        network: &Network,
        ln_p_evidence: f64,
        variables: impl IntoIterator<Item = VariableId>,
        mut distribution: impl FnMut(VariableId, &mut [f64]),
    ) -> Self {
        let ln_p_evidence = ln_p_evidence + network.ln_scale();
        let mut posteriors = Self { ln_p_evidence, ..self.clone() };
        variables.into_iter().for_each(|variable| posteriors.fill(variable, &mut distribution));
        posteriors
    }

    fn fill(
        &mut self,
        variable: VariableId,
        distribution: &mut impl FnMut(VariableId, &mut [f64]),
    ) {
        let range = self.range(variable);
        let states = &mut self.values[range];
        distribution(variable, states);
        let sum: f64 = states.iter().sum();
        if sum > 0.0 {
            states.iter_mut().for_each(|p| *p /= sum);
        }
    }

    /// P(X = x | e) for every state x of `variable`, in file order.
    #[must_use]
    pub fn of(&self, variable: VariableId) -> &[f64] {
        &self.values[self.range(variable)]
    }

    /// Natural logarithm of the probability of the evidence; zero, up to rounding, where there is none.
    ///
    /// With likelihood vectors, that of the product of prior and likelihoods, summed over all states.
    #[must_use]
    pub fn ln_p_evidence(&self) -> f64 {
        self.ln_p_evidence
    }

    /// All posteriors, one variable after another in file order, each in state order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    fn range(&self, variable: VariableId) -> Range<usize> {
        self.offsets[variable.index()]..self.offsets[variable.index() + 1]
    }
}
