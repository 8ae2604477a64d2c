//! Whether single precision is enough for an answer, decided from P(e) alone.
//!
//! A kernel may round a number to zero if it is below 2^-126 of the largest number of the same sum.
//! The effect of such an *underflow* is bounded as a probability. The largest entry of every
//! message of a Bayesian network is at most one: the message sums products of CPTs over variables
//! whose own CPTs are among them. So each product takes at most 2^-126 from P(e), and from a
//! posterior before it is normalised, and all products together take at most 2^-126 times their
//! number. If P(e) is large enough, this is negligible.
//!
//! The bound does not depend on the messages. So it also rejects improbable evidence whose messages
//! are far from underflow. Messages are scaled, so in most networks no evidence brings them there.
//! Engine `gpu` therefore applies the bound only to networks in which many factors, or extreme
//! entries, meet in one message; in others it doubts only P(e) = 0. Engine `gpu-paper` multiplies
//! messages into clique tables, whose entries spread further, so it applies the bound to every
//! network.

use std::f64::consts::LN_2;

use crate::cancel::Cancelled;
use crate::engine::bounds::Loss;
use crate::engine::{BatchAnswers, GpuPropagator, Propagator, RunError};
use crate::network::{Evidence, Finding, Network};
use crate::potential::{Entry, Precision};
use crate::propagation::{CompiledNetwork, Form, Posteriors, Watch};

/// The answers of a propagator in single precision, except those that underflow may have changed.
struct Guarded {
    propagator: Box<dyn Propagator>,
    /// The logarithm of what underflow may take from P(e) if no finding is a likelihood.
    ln_lost: f64,
    /// Whether the bound is applied to every answer.
    bounds_answers: bool,
}

/// Least nonzero entry of factors for which messages are trusted. The messages of the networks with
/// which engine `gpu` was tested, whose least entry is 1e-6, stay far from underflow. A smaller limit
/// could let an underflow pass; a larger one only costs time.
const LEAST_ENTRY: f64 = 1e-8;

/// Largest number of factors of a variable for which messages are trusted. Findings on many children
/// of one variable can all speak for one state, and then all against it. Munin4 has a variable in 67
/// factors. A larger limit could let an underflow pass; a smaller one only costs time.
const MOST_FACTORS: usize = 80;

/// Whether messages of `network` may come near underflow: it is a Markov network, it has an entry
/// below [`LEAST_ENTRY`], or a variable in more than [`MOST_FACTORS`] factors.
fn is_extreme(network: &Network) -> bool {
    let mut factors = vec![0; network.variables().len()];
    for factor in network.factors() {
        if factor.values().iter().any(|&value| value > 0.0 && value < LEAST_ENTRY) {
            return true;
        }
        factor.scope().iter().for_each(|variable| factors[variable.index()] += 1);
    }
    !network.is_bayesian() || factors.into_iter().any(|count| count > MOST_FACTORS)
}

/// `propagator`, into which `compiled` was loaded. In place of an answer that underflow may have
/// changed, it returns [`RunError::OutOfRange`]. Use this if the propagator computes messages from
/// tables that it does not change; otherwise use [`guarded_always`].
pub(super) fn guarded(
    propagator: Box<dyn Propagator>,
    compiled: &CompiledNetwork,
) -> Box<dyn Propagator> {
    let bounds_answers = is_extreme(compiled.network());
    Box::new(Guarded { propagator, ln_lost: ln_lost(compiled), bounds_answers })
}

/// As [`guarded`], with the bound applied to answers for every network.
pub(super) fn guarded_always(
    propagator: Box<dyn Propagator>,
    compiled: &CompiledNetwork,
) -> Box<dyn Propagator> {
    Box::new(Guarded { propagator, ln_lost: ln_lost(compiled), bounds_answers: true })
}

/// See [`Guarded::ln_lost`].
fn ln_lost(compiled: &CompiledNetwork) -> f64 {
    let tree = compiled.tree();
    // An entry of a clique takes part in a product for each message and each posterior, and while
    // the table is made, in one for each factor and finding. Vertices that an engine inserts
    // between cliques at most double this.
    let products = tree.clique_ids().map(|clique| {
        let sums = tree.children(clique).len() + 2 * tree[clique].variables.len() + 2;
        2.0 * tree[clique].entries as f64 * sums as f64
    });
    let products: f64 = products.sum();
    let smallest = f64::from(f32::LIMITS.normal) * LN_2;
    smallest + products.max(1.0).ln() + ln_largest(compiled.network())
}

/// An upper bound on the logarithm of the entries of messages. The factors of a Markov network may
/// exceed one, and so may the sums of their products.
fn ln_largest(network: &Network) -> f64 {
    if network.is_bayesian() {
        return 0.0;
    }
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max).max(1.0).ln();
    let factors: f64 = network.factors().map(|factor| largest(factor.values())).sum();
    let variables = network.variables().iter();
    let sums: f64 = variables.map(|variable| (variable.cardinality() as f64).ln()).sum();
    factors + sums + network.ln_scale()
}

impl Guarded {
    /// `answer`, or [`RunError::OutOfRange`] if underflow may have changed it. A P(e) of zero may
    /// be an underflow too.
    fn check(
        &self,
        evidence: &Evidence,
        answer: Result<Posteriors, RunError>,
    ) -> Result<Posteriors, RunError> {
        let posteriors = match answer {
            Err(RunError::Impossible) => return Err(RunError::OutOfRange),
            answer => answer?,
        };
        if !self.bounds_answers {
            return Ok(posteriors);
        }
        let ln_weight = |finding: &Finding| match finding {
            Finding::Observed(_) => 0.0,
            Finding::Likelihood(weights) => weights.iter().copied().fold(0.0, f64::max).ln(),
        };
        let ln_weights: f64 = evidence.iter().map(|(_, finding)| ln_weight(finding)).sum();
        let mut loss = Loss::default();
        loss.add((self.ln_lost + ln_weights - posteriors.ln_p_evidence()).exp(), 1.0);
        loss.check(Precision::F32)?;
        Ok(posteriors)
    }
}

impl Propagator for Guarded {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let answer = self.propagator.run(evidence, watch);
        self.check(evidence, answer)
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        let answers = self.propagator.run_batch(cases, watch)?;
        let checked = cases.iter().zip(answers).map(|(case, answer)| self.check(case, answer));
        Ok(checked.collect())
    }

    fn forget(&mut self) {
        self.propagator.forget();
    }

    fn peak_bytes(&self) -> u64 {
        self.propagator.peak_bytes()
    }

    fn form(&self) -> Option<Form> {
        self.propagator.form()
    }

    fn threads(&self) -> usize {
        self.propagator.threads()
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        self.propagator.gpu()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::cuda::fixtures::networks;

    /// Answers every case with the same P(e).
    struct Fixed(Arc<Network>, f64);

    impl Propagator for Fixed {
        fn run(&mut self, _: &Evidence, _: &Watch) -> Result<Posteriors, RunError> {
            if self.1 == f64::NEG_INFINITY {
                return Err(RunError::Impossible);
            }
            Ok(Posteriors::new(&self.0, self.1, |_, states| states.fill(1.0)))
        }

        fn peak_bytes(&self) -> u64 {
            0
        }
    }

    #[test]
    fn an_answer_is_returned_unless_its_evidence_is_too_improbable() {
        let (compiled, _) = networks().swap_remove(0);
        let network = compiled.network();
        let run_if = |bounds_answers, evidence: &Evidence, ln| {
            let propagator = Box::new(Fixed(Arc::clone(network), ln));
            let watch = Watch::untimed(crate::cancel::CancelToken::new());
            let mut guarded = Guarded { propagator, ln_lost: ln_lost(&compiled), bounds_answers };
            guarded.run(evidence, &watch).map(|found| found.ln_p_evidence())
        };
        let run = |evidence: &Evidence, ln| run_if(true, evidence, ln);
        let none = Evidence::none();
        assert_eq!(run_if(false, &none, -700.0), Ok(-700.0));
        assert_eq!(run_if(false, &none, f64::NEG_INFINITY), Err(RunError::OutOfRange));
        assert_eq!(run(&none, -50.0), Ok(-50.0));
        for ln in [-80.0, -700.0, f64::NEG_INFINITY] {
            assert_eq!(run(&none, ln), Err(RunError::OutOfRange));
        }
        // Small weights make P(e) small, but no case improbable.
        let variable = network.ids().next().expect("a variable");
        let mut small = Evidence::none();
        small.set_likelihood(network, variable, vec![1e-30, 1e-20]).expect("two weights");
        assert_eq!(run(&small, -80.0), Ok(-80.0));
    }
}
