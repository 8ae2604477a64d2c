//! Whether single precision is enough for an answer, as far as P(e) alone shows it.
//!
//! A kernel may round a number to zero if it is far below the largest number of the same sum. The
//! effect of such an *underflow* is bounded as a probability mass. The largest entry of every
//! message of a Bayesian network is at most one: the message sums products of CPTs over variables
//! whose own CPTs are among them. Let an underflow take at most the share s of the product of the
//! largest entries of the factors that are multiplied. Then it takes at most s from P(e), and at
//! most s from a posterior before normalisation. All underflows together take at most s times the
//! number of products. If P(e) is much larger, this is negligible. All of this also holds for
//! max-product, because a maximum is at most the sum, and changes by at most what its terms do.
//!
//! If P(e) is not large enough, underflow may still have taken nothing: messages are scaled, so
//! improbable evidence does not by itself bring them near underflow. Engine `gpu` then compares the
//! run with a second one (`persistent/interval.rs`). Batches have a bound of their own
//! (`batch/mod.rs`).

use std::f64::consts::LN_2;

use crate::engine::RunError;
use crate::engine::bounds::Loss;
use crate::network::{Evidence, Finding, Network};
use crate::potential::Precision;
use crate::propagation::Posteriors;

/// An upper bound on the mass that underflow takes from P(e) and from any posterior.
pub(super) struct MassBound {
    /// The logarithm of the bound without evidence.
    ln_lost: f64,
    /// A weight is tiny if it is below two to the power of this times the largest of its finding.
    tiny_weight: i32,
}

impl MassBound {
    /// The bound for a kernel that computes this number of products in one propagation. In a
    /// product, underflow takes at most two to the power of `share` times the product of the
    /// largest entries of the factors. A weight is tiny if it is below two to the power of
    /// `tiny_weight` times the largest of its finding.
    pub fn new(network: &Network, products: f64, share: i32, tiny_weight: i32) -> Self {
        let ln_products = products.max(1.0).ln();
        let ln_lost = f64::from(share) * LN_2 + ln_products + ln_largest_sum(network);
        Self { ln_lost, tiny_weight }
    }

    /// A bound of zero, for tests of what a twin computes: no P(e) above zero is too small.
    #[cfg(test)]
    pub fn allowing_all() -> Self {
        Self { ln_lost: f64::NEG_INFINITY, tiny_weight: TINY_WEIGHT }
    }

    /// Whether underflow cannot have changed `answer`, the answer to `evidence`, by more than the
    /// [tolerance](crate::engine::bounds::tolerance).
    pub fn allows(&self, evidence: &Evidence, answer: &Posteriors) -> bool {
        let largest = evidence.iter().map(|(_, finding)| match finding {
            Finding::Observed(_) => 0.0,
            Finding::Likelihood(weights) => weights.iter().copied().fold(0.0, f64::max).ln(),
        });
        let ln_lost = self.ln_lost + largest.sum::<f64>();
        let mut loss = Loss::default();
        loss.add((ln_lost - answer.ln_p_evidence()).exp(), 1.0);
        loss.check(Precision::F32).is_ok() && !self.has_tiny_weight(evidence)
    }

    /// Whether a weight of `evidence` other than zero is so small, compared with the largest of its
    /// finding, that products of weights may underflow.
    pub fn has_tiny_weight(&self, evidence: &Evidence) -> bool {
        evidence.iter().any(|(_, finding)| has_tiny_weight(finding, self.tiny_weight))
    }

    /// `answer`, if the bound [allows](Self::allows) it.
    ///
    /// # Errors
    /// [`RunError::OutOfRange`] if the bound does not allow the answer, also if `answer` is
    /// [`RunError::Impossible`]: a P(e) of zero may be an underflow. Other errors of `answer` are
    /// returned as they are.
    pub fn check(
        &self,
        evidence: &Evidence,
        answer: Result<Posteriors, RunError>,
    ) -> Result<Posteriors, RunError> {
        match answer {
            Ok(answer) if self.allows(evidence, &answer) => Ok(answer),
            Ok(_) | Err(RunError::Impossible) => Err(RunError::OutOfRange),
            failed => failed,
        }
    }
}

/// An upper bound on the logarithm of the entries of messages without evidence. The factors of a
/// Markov network may exceed one, and so may the sums of their products.
fn ln_largest_sum(network: &Network) -> f64 {
    if network.is_bayesian() {
        return 0.0;
    }
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max).max(1.0).ln();
    let factors: f64 = network.factors().map(|factor| largest(factor.values())).sum();
    let variables = network.variables().iter();
    let sums: f64 = variables.map(|variable| (variable.cardinality() as f64).ln()).sum();
    factors + sums + network.ln_scale()
}

/// Below two to the power of this, a weight may lose digits in single precision, or become zero,
/// when the finding is scaled to a largest weight near one.
pub(super) const TINY_WEIGHT: i32 = -120;

/// Whether a weight of `finding` that is not zero is below two to the power of `exponent` times the
/// largest.
pub(super) fn has_tiny_weight(finding: &Finding, exponent: i32) -> bool {
    let Finding::Likelihood(weights) = finding else { return false };
    let largest = weights.iter().copied().fold(0.0, f64::max);
    weights.iter().any(|&weight| weight > 0.0 && weight / largest < 2_f64.powi(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cuda::fixtures::networks;
    use crate::network::VariableId;

    fn answer(network: &Network, ln: f64) -> Posteriors {
        Posteriors::new(network, ln, |_, states| states.fill(1.0))
    }

    #[test]
    fn an_answer_is_allowed_unless_its_evidence_is_too_improbable() {
        let (compiled, _) = networks().swap_remove(0);
        let network = compiled.network();
        let bound = MassBound::new(network, 1000.0, -126, TINY_WEIGHT);
        let allows = |evidence: &Evidence, ln| bound.allows(evidence, &answer(network, ln));
        let none = Evidence::none();
        assert!(allows(&none, -50.0));
        assert!(!allows(&none, -80.0) && !allows(&none, -700.0));
        assert!(!allows(&none, f64::NEG_INFINITY));
        let impossible = bound.check(&none, Err(RunError::Impossible));
        assert_eq!(impossible, Err(RunError::OutOfRange));
        // Small weights make P(e) small, but do no harm: only their ratios matter.
        let variable = VariableId::new(0);
        let mut small = Evidence::none();
        small.set_likelihood(network, variable, vec![1e-30, 1e-20]).expect("two weights");
        assert!(allows(&small, -80.0));
        // A weight that is zero in single precision could make a possible state impossible.
        small.set_likelihood(network, variable, vec![1e-60, 1e-20]).expect("two weights");
        assert!(!allows(&small, -50.0));
    }

    #[test]
    fn only_weights_far_below_the_largest_are_tiny() {
        let is_tiny =
            |weights: &[f64]| has_tiny_weight(&Finding::Likelihood(weights.into()), TINY_WEIGHT);
        assert!(!is_tiny(&[0.0, 1e-30, 1.0]) && !is_tiny(&[1e-290, 1e-300]));
        assert!(is_tiny(&[1.0, 1e-37]) && is_tiny(&[1e300, 0.0, 5e-324]));
        assert!(!has_tiny_weight(&Finding::Observed(1), TINY_WEIGHT));
    }
}
