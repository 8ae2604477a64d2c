//! The buckets of a network and the memory that they need.

use super::Wide;
use crate::allocate;
use crate::cancel::CancelToken;
use crate::graph::{self, Heuristic, MoralGraph, table_entries};
use crate::network::{FactorId, Network, VariableId};
use crate::potential::Scope;

/// Bytes of a bucket apart from the entries of its tables. Its parts, with those of its messages
/// and of its marginal, add up to about 600 bytes for a variable with one parent; the rest is for
/// what the allocator adds. With a smaller number, networks of very many variables could take more
/// memory than the forecast says.
const BYTES_PER_BUCKET: u64 = 1000;

/// A variable, and what is multiplied before it is summed out.
pub(super) struct Bucket {
    pub variable: VariableId,
    /// The variables of the product, in ascending order.
    pub scope: Scope,
    /// The variables of the message to the parent, and of the one back: `scope` without `variable`.
    pub separator: Scope,
    /// The factors whose first variable in the order of elimination is `variable`. The first bucket
    /// also has all factors without variables.
    pub factors: Vec<FactorId>,
    /// The buckets that send their messages to this one, as positions in the order of elimination.
    pub children: Vec<usize>,
}

impl Bucket {
    /// Whether the bucket has no parent: its message has no variables.
    pub fn is_root(&self) -> bool {
        self.separator.variables().is_empty()
    }
}

/// The bucket of each variable, in the order of elimination.
pub(super) fn all(network: &Network) -> Vec<Bucket> {
    let mut buckets = allocate::with_capacity(network.ids().len());
    for_each(network, |bucket| buckets.push(bucket));
    buckets
}

/// The peak of the memory that the engine takes in addition to the network and its tree, in bytes.
///
/// At most the following are held at the same time: all factors, a finding on every variable, all
/// messages of the first pass, the messages of the second, and the marginals.
pub(super) fn forecast_bytes(network: &Network) -> u64 {
    let factors = network.factors().map(|factor| factor.values().len() as u64).sum::<u64>();
    let states = network.ids().map(|variable| network[variable].cardinality() as u64).sum::<u64>();
    let (mut messages, mut bucket_bytes) = (0_u64, 0);
    for_each(network, |bucket| {
        let entries = table_entries(bucket.separator.cardinalities().iter().copied());
        messages = messages.saturating_add(entries);
        bucket_bytes += BYTES_PER_BUCKET;
    });
    let entries = messages.saturating_mul(2).saturating_add(factors + 2 * states);
    entries.saturating_mul(size_of::<Wide>() as u64).saturating_add(bucket_bytes)
}

/// Calls `visit` with the bucket of each variable, in the order of elimination.
fn for_each(network: &Network, mut visit: impl FnMut(Bucket)) {
    let order = elimination_order(network);
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, variable)| position[variable.index()] = at);
    // The position of the bucket in which a table over these variables is multiplied.
    let bucket_of = |variables: &[VariableId]| variables.iter().map(|v| position[v.index()]).min();
    let mut factors = vec![Vec::new(); order.len()];
    for id in network.factor_ids() {
        // A constant has no variables and may be in any bucket. A network without variables has no
        // bucket.
        let at = bucket_of(network.factor(id).scope()).unwrap_or(0);
        if let Some(factors) = factors.get_mut(at) {
            factors.push(id);
        }
    }
    // The children of each bucket that is not yet visited, with the variables of their messages.
    let mut children: Vec<Vec<(usize, Scope)>> = vec![Vec::new(); order.len()];
    for (at, &variable) in order.iter().enumerate() {
        let (children_here, messages): (Vec<usize>, Vec<Scope>) =
            std::mem::take(&mut children[at]).into_iter().unzip();
        let factors = std::mem::take(&mut factors[at]);
        let variables_of =
            |&factor: &FactorId| Scope::of(network, network.factor(factor).scope().iter().copied());
        let mut scopes = messages;
        scopes.extend(factors.iter().map(variables_of));
        scopes.push(Scope::of(network, [variable]));
        let scope = Scope::union(&scopes);
        let separator = scope.without(variable);
        if let Some(parent) = bucket_of(separator.variables()) {
            children[parent].push((at, separator.clone()));
        }
        visit(Bucket { variable, scope, separator, factors, children: children_here });
    }
}

/// All variables in greedy order: each is a remaining variable whose elimination needs the smallest
/// product. Any order gives the same posteriors.
fn elimination_order(network: &Network) -> Vec<VariableId> {
    let graph = MoralGraph::of_network(network);
    let eliminated = graph::eliminate(&graph, Heuristic::MinWeight, 0, &CancelToken::new());
    eliminated.expect("nothing limits or cancels this").order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures;

    #[test]
    fn every_factor_is_in_one_bucket_and_every_message_goes_to_a_later_one() {
        for (compiled, _) in fixtures::networks() {
            let network = compiled.network();
            let buckets = all(network);
            let mut factors: Vec<FactorId> =
                buckets.iter().flat_map(|b| b.factors.clone()).collect();
            factors.sort_unstable();
            assert!(factors.into_iter().eq(network.factor_ids()), "{}", network.name());
            let mut senders: Vec<usize> =
                (0..buckets.len()).filter(|&b| buckets[b].is_root()).collect();
            for (at, bucket) in buckets.iter().enumerate() {
                assert!(bucket.scope.contains(bucket.variable));
                for &child in &bucket.children {
                    assert!(child < at);
                    let separator = buckets[child].separator.variables();
                    assert!(separator.iter().all(|&variable| bucket.scope.contains(variable)));
                    senders.push(child);
                }
            }
            senders.sort_unstable();
            assert!(senders.into_iter().eq(0..buckets.len()), "each has one parent or is a root");
        }
    }
}
