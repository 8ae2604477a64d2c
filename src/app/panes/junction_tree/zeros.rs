//! Counts the entries of clique tables at which a factor is zero, whatever the evidence.

use crate::graph::Clique;
use crate::network::{Factor, VariableId};
use crate::propagation::CompiledNetwork;

/// Maximum number of entries that are examined to count the zeros of one table. This many take
/// about a tenth of a second, or longer with many factors.
const MAX_ENTRIES: usize = 1 << 22;

/// After this many entries, each counted once for each factor, counting stops until the next frame.
/// With more, frames take visibly longer; with fewer, the whole tree takes longer.
const ENTRIES_PER_FRAME: usize = 1 << 19;

/// The share of zeros of each clique, as far as they have been counted.
#[derive(Default)]
pub struct Zeros {
    /// The address of the compiled network whose zeros are counted.
    address: usize,
    /// The share of zeros of the first cliques; `None` where too many entries would have to be
    /// examined.
    shares: Vec<Option<f64>>,
}

impl Zeros {
    /// Number of cliques whose zeros have been counted.
    pub fn counted(&self) -> usize {
        self.shares.len()
    }

    /// The share of zeros of each of `count` cliques; `None` where it is not known.
    pub fn shares(&self, count: usize) -> Vec<Option<f64>> {
        let mut shares = self.shares.clone();
        shares.resize(count, None);
        shares
    }

    /// Counts the zeros of some more cliques, from the beginning if `address`, the address of
    /// `compiled`, has changed. Returns whether there is more to count.
    pub fn count(&mut self, compiled: &CompiledNetwork, address: usize) -> bool {
        if self.address != address {
            *self = Self { address, shares: Vec::new() };
        }
        let cliques = compiled.tree().cliques();
        if self.shares.len() == cliques.len() {
            return false;
        }
        let has_zeros = |factor: &&Factor| factor.values().contains(&0.0);
        let factors: Vec<&Factor> = compiled.network().factors().filter(has_zeros).collect();
        let mut examined = 0;
        while self.shares.len() < cliques.len() && examined < ENTRIES_PER_FRAME {
            let (share, entries) = share_of_zeros(compiled, &factors, &cliques[self.shares.len()]);
            self.shares.push(share);
            examined += entries + factors.len();
        }
        self.shares.len() < cliques.len()
    }
}

/// The share of the entries of the clique's table at which one of the `factors` inside the clique
/// is zero; `None` if more than [`MAX_ENTRIES`] would have to be examined. A factor is inside the
/// clique if the clique contains its scope. Also returns the number of entries examined, each
/// counted once for each of these factors.
fn share_of_zeros(
    compiled: &CompiledNetwork,
    factors: &[&Factor],
    clique: &Clique,
) -> (Option<f64>, usize) {
    let network = compiled.network();
    let inside = |factor: &&Factor| {
        factor.scope().iter().all(|variable| clique.variables.contains(variable))
    };
    let factors: Vec<&Factor> = factors.iter().copied().filter(inside).collect();
    // Variables outside the scopes of the factors do not change the share.
    let is_needed =
        |variable: &&VariableId| factors.iter().any(|factor| factor.scope().contains(variable));
    let scope: Vec<VariableId> = clique.variables.iter().filter(is_needed).copied().collect();
    let cardinalities: Vec<usize> =
        scope.iter().map(|&variable| network[variable].cardinality()).collect();
    let entries =
        cardinalities.iter().try_fold(1_usize, |product, &states| product.checked_mul(states));
    let Some(entries) = entries.filter(|&entries| entries <= MAX_ENTRIES) else { return (None, 1) };
    let strides: Vec<Vec<usize>> = factors
        .iter()
        .map(|factor| {
            let stride = |variable: &VariableId| {
                let place = factor.scope().iter().position(|other| other == variable);
                place.map_or(0, |place| {
                    let faster = &factor.scope()[place + 1..];
                    faster.iter().map(|&other| network[other].cardinality()).product()
                })
            };
            scope.iter().map(stride).collect()
        })
        .collect();
    let mut states = vec![0; scope.len()];
    let mut indices = vec![0; factors.len()];
    let mut zeros = 0_usize;
    for _ in 0..entries {
        let is_zero = factors.iter().zip(&indices).any(|(factor, &i)| factor.values()[i] == 0.0);
        zeros += usize::from(is_zero);
        // The next state combination; the last variable changes fastest.
        for place in (0..scope.len()).rev() {
            states[place] += 1;
            let wraps = states[place] == cardinalities[place];
            for (index, strides) in indices.iter_mut().zip(&strides) {
                *index += strides[place];
                *index -= if wraps { strides[place] * cardinalities[place] } else { 0 };
            }
            if !wraps {
                break;
            }
            states[place] = 0;
        }
    }
    (Some(zeros as f64 / entries as f64), entries * factors.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing;

    #[test]
    fn zeros_are_counted_in_every_clique() {
        // In Asia, "either" is true exactly if "tub" or "lung" is: half of the entries of the
        // clique of these three variables are zero.
        let model = testing::model("asia");
        let compiled = model.compiled().unwrap();
        let mut zeros = Zeros::default();
        while zeros.count(compiled, 1) {}
        let cliques = compiled.tree().cliques();
        let shares = zeros.shares(cliques.len());
        let network = compiled.network();
        for (clique, share) in cliques.iter().zip(shares) {
            let names: Vec<&str> = clique.variables.iter().map(|&v| network[v].name()).collect();
            let is_or = ["either", "tub", "lung"].iter().all(|name| names.contains(name));
            assert_eq!(share, Some(if is_or { 0.5 } else { 0.0 }), "{names:?}");
        }
    }
}
