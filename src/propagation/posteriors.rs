//! The result of a propagation.

use std::ops::Range;
use std::sync::Arc;

use crate::network::{Network, VariableId};

/// P(X = x | e) of every variable, and ln P(e).
#[derive(Clone, Debug, PartialEq)]
pub struct Posteriors {
    /// The index in `values` of each variable's first state, and the length of `values`.
    offsets: Arc<[usize]>,
    values: Vec<f64>,
    ln_p_evidence: f64,
    is_recomputed: bool,
}

impl Posteriors {
    /// The posteriors of the variables of `network`. `distribution` is called for each variable to
    /// fill a slice with one number for each state; the numbers are normalised here, unless all are
    /// zero.
    ///
    /// `ln_p_evidence` is the natural logarithm of the sum, over all configurations, of the product
    /// of all factors and findings. [`Network::ln_scale`], the logarithm of the scale taken out of
    /// the factors, is added here.
    pub fn new(
        network: &Network,
        ln_p_evidence: f64,
        mut distribution: impl FnMut(VariableId, &mut [f64]),
    ) -> Self {
        let offsets = Self::offsets(network);
        let values = vec![0.0; offsets[offsets.len() - 1]];
        let ln_p_evidence = ln_p_evidence + network.ln_scale();
        let mut posteriors = Self { offsets, values, ln_p_evidence, is_recomputed: false };
        network.ids().for_each(|variable| posteriors.fill(variable, &mut distribution));
        posteriors
    }

    /// The index of each variable's first state in an array of the states of all variables in
    /// order, and the length of that array.
    pub(crate) fn offsets(network: &Network) -> Arc<[usize]> {
        let mut offsets = vec![0];
        for variable in network.variables() {
            offsets.push(offsets[offsets.len() - 1] + variable.cardinality());
        }
        offsets.into()
    }

    /// Posteriors from an array of normalised `values` with the [`offsets`](Self::offsets) of the
    /// variables. Unlike [`new`](Self::new), this does not add [`Network::ln_scale`] to
    /// `ln_p_evidence`.
    pub(crate) fn from_values(offsets: Arc<[usize]>, values: Vec<f64>, ln_p_evidence: f64) -> Self {
        debug_assert_eq!(offsets.last(), Some(&values.len()));
        Self { offsets, values, ln_p_evidence, is_recomputed: false }
    }

    /// These posteriors, [marked](Self::is_recomputed) as computed again.
    #[must_use]
    pub(crate) fn recomputed(self) -> Self {
        Self { is_recomputed: true, ..self }
    }

    /// Whether these posteriors were computed again with numbers of a wider range, because the
    /// numbers were out of the range of the engine.
    #[must_use]
    pub fn is_recomputed(&self) -> bool {
        self.is_recomputed
    }

    /// These posteriors with the distributions of `variables` replaced; the arguments are as for
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

    /// Sets the distribution of `variable` to the numbers that `distribution` gives, normalised.
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

    /// P(X = x | e) for every state x of `variable`, in the order of its states.
    #[must_use]
    pub fn of(&self, variable: VariableId) -> &[f64] {
        &self.values[self.range(variable)]
    }

    /// Natural logarithm of the probability of the evidence, or of Z(e) in a Markov network. In a
    /// Bayesian network without evidence it is zero, up to rounding.
    ///
    /// With likelihood findings, it is the logarithm of the sum, over all configurations, of the
    /// joint probability times the likelihoods.
    #[must_use]
    pub fn ln_p_evidence(&self) -> f64 {
        self.ln_p_evidence
    }

    /// All posteriors, variable by variable in the order of the network, each in the order of its
    /// states.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Where the states of `variable` are in [`values`](Self::values).
    fn range(&self, variable: VariableId) -> Range<usize> {
        self.offsets[variable.index()]..self.offsets[variable.index() + 1]
    }
}
