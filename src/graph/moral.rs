//! The moral graph.

use fixedbitset::FixedBitSet;

use crate::network::{Network, VariableId};

/// The undirected graph in which the variables of every family are neighbours.
///
/// Built from families (sets of variables that share a table) rather than from arcs, so that models
/// made of undirected factors compile too.
#[derive(Clone, Debug)]
pub struct MoralGraph {
    cardinalities: Vec<usize>,
    adjacency: Vec<FixedBitSet>,
}

/// Number of entries of a table over variables with these cardinalities; [`u64::MAX`] if the
/// product overflows.
pub fn table_entries(cardinalities: impl IntoIterator<Item = usize>) -> u64 {
    cardinalities.into_iter().fold(1_u64, |size, states| size.saturating_mul(states as u64))
}

impl MoralGraph {
    /// The graph in which the variables of each family in `families` are pairwise neighbours.
    ///
    /// `cardinalities[v]` is the number of states of variable `v`.
    ///
    /// # Panics
    /// If a family has a variable without a cardinality.
    ///
    /// # Complexity
    /// O(n^2 / 64 + sum of squared family sizes) for n variables.
    pub fn new(cardinalities: Vec<usize>, families: &[Vec<VariableId>]) -> Self {
        let mut adjacency =
            vec![FixedBitSet::with_capacity(cardinalities.len()); cardinalities.len()];
        for family in families {
            for a in family {
                adjacency[a.index()].extend(family.iter().filter(|b| *b != a).map(|b| b.index()));
            }
        }
        Self { cardinalities, adjacency }
    }

    /// The moral graph of a network: all variables of a factor are neighbours, so the parents of a
    /// common child are joined.
    #[must_use]
    pub fn of_network(network: &Network) -> Self {
        Self::given(network, &[])
    }

    /// The moral graph of a network in which `observed` are observed: these variables are vertices
    /// without neighbours.
    ///
    /// # Panics
    /// If `network` does not have one of these variables.
    #[must_use]
    pub fn given(network: &Network, observed: &[VariableId]) -> Self {
        let cardinalities = network.cardinalities();
        let mut is_observed = vec![false; cardinalities.len()];
        observed.iter().for_each(|variable| is_observed[variable.index()] = true);
        let unobserved = |v: &VariableId| !is_observed[v.index()];
        let families: Vec<Vec<VariableId>> = network
            .factors()
            .map(|factor| factor.scope().iter().copied().filter(unobserved).collect())
            .collect();
        Self::new(cardinalities, &families)
    }

    /// Number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cardinalities.len()
    }

    /// Whether there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cardinalities.is_empty()
    }

    /// Number of states of each variable.
    #[must_use]
    pub fn cardinalities(&self) -> &[usize] {
        &self.cardinalities
    }

    /// The neighbours of each variable as bit sets over variable indices.
    #[must_use]
    pub fn adjacency(&self) -> &[FixedBitSet] {
        &self.adjacency
    }

    /// Number of undirected edges.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.adjacency.iter().map(|row| row.count_ones(..)).sum::<usize>() / 2
    }
}
