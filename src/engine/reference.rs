//! Engine `reference`: bucket elimination, against which the other engines are checked.
//!
//! Each variable has a bucket, which holds what is multiplied before the variable is summed out
//! (see [`buckets`]). A first pass goes through the buckets in the order of elimination: each sends
//! the result of its sum, a message, to the next bucket whose variable is in the message. A second
//! pass goes through them in the opposite order: each sends a message back to every bucket from
//! which it received one. Each bucket then gives the posterior of its variable.
//!
//! The engine uses the network, and neither its junction tree nor the passes of other engines. So
//! an error in those does not affect it. Its numbers have an exponent of their own ([`Wide`]), so
//! products neither underflow nor overflow. Nothing is divided. The product in a bucket is not
//! stored: one loop over its entries computes all sums that the bucket needs.
//!
//! The first pass is that of Dechter, Bucket elimination: a unifying framework for reasoning
//! (1999); with the second, the method is the bucket-tree elimination of Kask, Dechter, Larrosa and
//! Dechter, Unifying tree decompositions for reasoning in graphical models (2005).

mod buckets;

use std::mem;
use std::sync::Arc;

use self::buckets::Bucket;
use super::wide::Wide;
use super::{Engine, EngineInfo, LoadError, LoadOptions, Propagator, REFERENCE, RunError};
use crate::allocate;
use crate::network::{Evidence, Network};
use crate::potential::{Odometer, Precision, Scope};
use crate::propagation::{CompiledNetwork, Forecast, Posteriors, Stage, Watch};

/// Number of entries of a product between two checks for cancellation. These entries take some
/// milliseconds at most. With a larger number, cancelling takes longer; a much smaller one would
/// cost time.
const ENTRIES_BETWEEN_CHECKS: usize = 1 << 14;

/// Engine `reference`.
pub(super) struct Reference;

impl Engine for Reference {
    fn info(&self) -> &'static EngineInfo {
        &REFERENCE
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let bytes = buckets::forecast_bytes(compiled.network());
        let bytes = bytes.saturating_add(compiled.structure_bytes(0));
        Forecast::new(self.name(), precision, compiled, bytes)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let peak_bytes = super::admit(self, compiled, options)?;
        let load = || Loaded::new(Arc::clone(compiled.network()), peak_bytes);
        let loaded = allocate::or_error(load)
            .map_err(|error| LoadError::OutOfMemory { engine: self.name(), error })?;
        Ok(Box::new(loaded))
    }
}

/// A network with its factors and buckets.
struct Loaded {
    network: Arc<Network>,
    /// The values of each factor, by its [`FactorId`](crate::network::FactorId).
    factors: Vec<Vec<Wide>>,
    /// In the order of elimination.
    buckets: Vec<Bucket>,
    peak_bytes: u64,
}

impl Loaded {
    fn new(network: Arc<Network>, peak_bytes: u64) -> Self {
        let wide = |values: &[f64]| values.iter().copied().map(Wide::new).collect();
        let factors = network.factors().map(|factor| wide(factor.values())).collect();
        let buckets = buckets::all(&network);
        Self { network, factors, buckets, peak_bytes }
    }

    fn propagate(&self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        let findings = watch.stage(Stage::Initialise, || self.findings(evidence));
        let up = watch.stage(Stage::Collect, || self.collect(&findings, watch))?;
        // A bucket whose message has no variables sends a number. P(e) is the product of these
        // numbers.
        let numbers = self.buckets.iter().zip(&up).filter(|(bucket, _)| bucket.is_root());
        let p_evidence = numbers.fold(self.without_buckets(), |p, (_, message)| p * message[0]);
        if p_evidence.is_zero() {
            return Err(RunError::Impossible);
        }
        let marginals =
            watch.stage(Stage::Distribute, || self.distribute(&findings, &up, watch))?;
        Ok(watch.stage(Stage::Read, || {
            Posteriors::new(&self.network, p_evidence.ln(), |variable, states| {
                Wide::write_proportional(&marginals[variable.index()], states);
            })
        }))
    }

    /// The product of all factors if there is no bucket, because the network has no variables;
    /// otherwise one.
    fn without_buckets(&self) -> Wide {
        let factors = if self.buckets.is_empty() { &*self.factors } else { &[] };
        factors.iter().fold(Wide::ONE, |product, constant| product * constant[0])
    }

    /// The weights of the states of each variable with a finding, by
    /// [`VariableId`](crate::network::VariableId); no weights for other variables.
    fn findings(&self, evidence: &Evidence) -> Vec<Vec<Wide>> {
        let mut findings = vec![Vec::new(); self.buckets.len()];
        for (variable, finding) in evidence.iter() {
            let states = 0..self.network[variable].cardinality();
            let weights = states.map(|state| Wide::new(finding.weight(state)));
            findings[variable.index()] = weights.collect();
        }
        findings
    }

    /// The message that each bucket sends to its parent, over the bucket's separator.
    fn collect(&self, findings: &[Vec<Wide>], watch: &Watch) -> Result<Vec<Vec<Wide>>, RunError> {
        let mut up: Vec<Vec<Wide>> = allocate::with_capacity(self.buckets.len());
        for bucket in &self.buckets {
            let mut inputs = self.inputs(bucket, findings, &up);
            let mut message = zeros(&bucket.separator);
            let separator = Odometer::new(&bucket.scope, &bucket.separator);
            for (entry, onto) in (0..bucket.scope.entries()).zip(separator) {
                if entry % ENTRIES_BETWEEN_CHECKS == 0 {
                    watch.check()?;
                }
                let values = inputs.iter_mut().map(Input::next_value);
                message[onto] += values.fold(Wide::ONE, |product, value| product * value);
            }
            normalise(&mut message);
            up.push(message);
        }
        Ok(up)
    }

    /// For each variable numbers proportional to its posterior, by
    /// [`VariableId`](crate::network::VariableId). `up` has the messages of
    /// [`collect`](Self::collect).
    fn distribute(
        &self,
        findings: &[Vec<Wide>],
        up: &[Vec<Wide>],
        watch: &Watch,
    ) -> Result<Vec<Vec<Wide>>, RunError> {
        let mut marginals = vec![Vec::new(); self.buckets.len()];
        // The message to each bucket from its parent, over the bucket's separator. A bucket without
        // a parent receives a one: the numbers sent by the other buckets without a parent would
        // only scale its posterior, which is normalised.
        let mut down = vec![vec![Wide::ONE]; self.buckets.len()];
        for (at, bucket) in self.buckets.iter().enumerate().rev() {
            let from_parent = mem::take(&mut down[at]);
            let mut inputs = self.inputs(bucket, findings, up);
            inputs.push(Input::new(&bucket.scope, &bucket.separator, &from_parent));
            let own = Scope::of(&self.network, [bucket.variable]);
            let mut marginal = zeros(&own);
            let mut messages: Vec<Vec<Wide>> = bucket
                .children
                .iter()
                .map(|&child| zeros(&self.buckets[child].separator))
                .collect();
            let states = Odometer::new(&bucket.scope, &own);
            // The product of each input and all inputs after it; the product of no inputs is last.
            let mut products = vec![Wide::ONE; inputs.len() + 1];
            for (entry, state) in (0..bucket.scope.entries()).zip(states) {
                if entry % ENTRIES_BETWEEN_CHECKS == 0 {
                    watch.check()?;
                }
                for (position, input) in inputs.iter_mut().enumerate().rev() {
                    products[position] = input.next_value() * products[position + 1];
                }
                marginal[state] += products[0];
                // The inputs from children are first. Each child is sent the product of all others.
                let mut before = Wide::ONE;
                for ((message, input), &after) in
                    messages.iter_mut().zip(&inputs).zip(&products[1..])
                {
                    message[input.entry] += before * after;
                    before *= input.value();
                }
            }
            normalise(&mut marginal);
            marginals[bucket.variable.index()] = marginal;
            for (&child, mut message) in bucket.children.iter().zip(messages) {
                normalise(&mut message);
                down[child] = message;
            }
        }
        Ok(marginals)
    }

    /// What is multiplied in `bucket`, except the message from its parent: the messages of `up`
    /// from its children, in their order, then its factors and the finding of its variable.
    fn inputs<'a>(
        &'a self,
        bucket: &Bucket,
        findings: &'a [Vec<Wide>],
        up: &'a [Vec<Wide>],
    ) -> Vec<Input<'a>> {
        let of_child =
            |&child: &usize| Input::new(&bucket.scope, &self.buckets[child].separator, &up[child]);
        let of_factor = |&factor: &_| {
            let variables = self.network.factor(factor).scope().iter().copied();
            let scope = Scope::of(&self.network, variables);
            Input::new(&bucket.scope, &scope, &self.factors[factor.index()])
        };
        let mut inputs: Vec<Input> = bucket.children.iter().map(of_child).collect();
        inputs.extend(bucket.factors.iter().map(of_factor));
        let finding = &findings[bucket.variable.index()];
        if !finding.is_empty() {
            let own = Scope::of(&self.network, [bucket.variable]);
            inputs.push(Input::new(&bucket.scope, &own, finding));
        }
        inputs
    }
}

impl Propagator for Loaded {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        allocate::or_error(|| self.propagate(evidence, watch))?
    }

    fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}

/// A table that is read in step with the entries of a product.
struct Input<'a> {
    values: &'a [Wide],
    odometer: Odometer,
    /// The entry that was read last.
    entry: usize,
}

impl<'a> Input<'a> {
    /// A table with these `values` over `scope`, which is a part of `product`.
    fn new(product: &Scope, scope: &Scope, values: &'a [Wide]) -> Self {
        Self { values, odometer: Odometer::new(product, scope), entry: 0 }
    }

    /// Goes to the next entry of the product.
    fn next_value(&mut self) -> Wide {
        self.entry = self.odometer.next().expect("an odometer never ends");
        self.value()
    }

    /// The value that [`next_value`](Self::next_value) returned last.
    fn value(&self) -> Wide {
        self.values[self.entry]
    }
}

fn zeros(scope: &Scope) -> Vec<Wide> {
    let entries = scope.entries();
    let mut zeros = allocate::with_capacity(entries);
    zeros.resize(entries, Wide::ZERO);
    zeros
}

/// Brings the mantissas of `values` back to [1, 2); see [`Wide::normalised`]. The numbers stay the
/// same: their sum does not become one.
fn normalise(values: &mut [Wide]) {
    values.iter_mut().for_each(|value| *value = value.normalised());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::network::{Cpt, Factor, Variable, VariableId};

    /// The network A -> B <- C with three small tables.
    fn collider() -> Network {
        let id = VariableId::new;
        let coin = |name: &str| Variable::new(name, ["no", "yes"]);
        let cpts = vec![
            Cpt::new(id(0), vec![], vec![0.75, 0.25]),
            Cpt::new(id(1), vec![id(0), id(2)], vec![1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0]),
            Cpt::new(id(2), vec![], vec![0.5, 0.5]),
        ];
        Network::new("collider", vec![coin("A"), coin("B"), coin("C")], cpts).unwrap()
    }

    fn run(network: &Network, evidence: &Evidence) -> Result<Posteriors, RunError> {
        let mut loaded = Loaded::new(Arc::new(network.clone()), 0);
        loaded.run(evidence, &Watch::untimed(CancelToken::new()))
    }

    #[test]
    fn a_collider_has_the_posteriors_computed_by_hand() {
        let network = collider();
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "B", "yes").unwrap();
        let posteriors = run(&network, &evidence).unwrap();
        // P(B=yes) = 3/8 * 0 + 3/8 * 1/2 + 1/8 * 1/2 + 1/8 * 1 = 3/8.
        assert!((posteriors.ln_p_evidence() - 0.375_f64.ln()).abs() < 1e-15);
        assert!((posteriors.of(VariableId::new(0))[1] - 0.5).abs() < 1e-15);
        assert!((posteriors.of(VariableId::new(2))[1] - 5.0 / 6.0).abs() < 1e-15);
        assert_eq!(posteriors.of(VariableId::new(1)), [0.0, 1.0]);
    }

    #[test]
    fn a_constant_factor_counts_in_the_partition_function() {
        let id = VariableId::new;
        let pair = |name: &str| Variable::new(name, ["no", "yes"]);
        let factors =
            vec![Factor::new(vec![], vec![0.5]), Factor::new(vec![id(1)], vec![1.0, 3.0])];
        let network = Network::markov("two", vec![pair("A"), pair("B")], factors).unwrap();
        let posteriors = run(&network, &Evidence::none()).unwrap();
        // The sum over A and B is 0.5 * 2 * (1 + 3) = 4.
        assert!((posteriors.ln_p_evidence() - 4_f64.ln()).abs() < 1e-15);
        assert_eq!(posteriors.of(id(0)), [0.5, 0.5]);
        assert_eq!(posteriors.of(id(1)), [0.25, 0.75]);
    }

    #[test]
    fn a_network_may_consist_of_constants() {
        let of = |value| {
            let factor = Factor::new(vec![], vec![value]);
            Network::markov("constant", vec![], vec![factor]).unwrap()
        };
        let posteriors = run(&of(0.5), &Evidence::none()).unwrap();
        assert!((posteriors.ln_p_evidence() - 0.5_f64.ln()).abs() < 1e-15);
        assert_eq!(run(&of(0.0), &Evidence::none()), Err(RunError::Impossible));
    }

    #[test]
    fn contradictory_evidence_is_impossible() {
        let network = collider();
        let mut evidence = Evidence::none();
        for (variable, state) in [("A", "no"), ("B", "yes"), ("C", "no")] {
            evidence.observe_named(&network, variable, state).unwrap();
        }
        assert_eq!(run(&network, &evidence), Err(RunError::Impossible));
    }
}
