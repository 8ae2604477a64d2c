//! The moral graph.

use crate::graph::GraphTooLarge;
use crate::network::{Network, VariableId};

/// The undirected graph in which the variables of every family are neighbours.
///
/// Built from families (sets of variables that share a table) rather than from arcs, so that models
/// made of undirected factors compile too. Its memory grows with the number of edges.
#[derive(Clone, Debug)]
pub struct MoralGraph {
    cardinalities: Vec<usize>,
    /// The neighbours of all variables, one variable after the other.
    neighbours: Vec<VariableId>,
    /// The neighbours of variable `v` are at `starts[v]..starts[v + 1]`.
    starts: Vec<usize>,
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
    /// O(n + s log s) time and O(n + s) memory for n variables, where s is the sum of squared
    /// family sizes.
    pub fn new(cardinalities: Vec<usize>, families: &[Vec<VariableId>]) -> Self {
        let n = cardinalities.len();
        // The number of neighbours of each variable, with repetitions; then where they start.
        let mut starts = vec![0; n + 1];
        for family in families {
            for a in family {
                starts[a.index() + 1] += family.iter().filter(|&b| b != a).count();
            }
        }
        for v in 0..n {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![VariableId::new(0); starts[n]];
        for family in families {
            for a in family {
                for &b in family.iter().filter(|&b| b != a) {
                    neighbours[next[a.index()]] = b;
                    next[a.index()] += 1;
                }
            }
        }
        // Leave out the repetitions.
        let mut end = 0;
        for v in 0..n {
            let own = std::mem::replace(&mut starts[v], end)..starts[v + 1];
            neighbours[own.clone()].sort_unstable();
            let first = end;
            for index in own {
                let neighbour = neighbours[index];
                if end == first || neighbours[end - 1] != neighbour {
                    neighbours[end] = neighbour;
                    end += 1;
                }
            }
        }
        starts[n] = end;
        neighbours.truncate(end);
        neighbours.shrink_to_fit();
        Self { cardinalities, neighbours, starts }
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
        Self::given_within(network, observed, u64::MAX).expect("memory is not limited")
    }

    /// As [`given`](Self::given), with a limit of `max_bytes` bytes for the lists of neighbours.
    ///
    /// # Errors
    /// If the lists may take more memory while the graph is built.
    ///
    /// # Panics
    /// If `network` does not have one of these variables.
    pub fn given_within(
        network: &Network,
        observed: &[VariableId],
        max_bytes: u64,
    ) -> Result<Self, GraphTooLarge> {
        let cardinalities = network.cardinalities();
        let mut is_observed = vec![false; cardinalities.len()];
        observed.iter().for_each(|variable| is_observed[variable.index()] = true);
        let unobserved = |v: &VariableId| !is_observed[v.index()];
        let families: Vec<Vec<VariableId>> = network
            .factors()
            .map(|factor| factor.scope().iter().copied().filter(unobserved).collect())
            .collect();
        let pairs = families.iter().map(|family| (family.len() as u64).pow(2)).sum();
        GraphTooLarge::check_pairs(cardinalities.len(), pairs, max_bytes)?;
        Ok(Self::new(cardinalities, &families))
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

    /// The neighbours of `variable`, ascending.
    ///
    /// # Panics
    /// If the graph does not have this variable.
    #[must_use]
    pub fn neighbours(&self, variable: VariableId) -> &[VariableId] {
        &self.neighbours[self.starts[variable.index()]..self.starts[variable.index() + 1]]
    }

    /// Whether `a` and `b` are neighbours. A variable is not its own neighbour.
    ///
    /// # Panics
    /// If the graph does not have variable `a`.
    #[must_use]
    pub fn are_neighbours(&self, a: VariableId, b: VariableId) -> bool {
        self.neighbours(a).binary_search(&b).is_ok()
    }

    /// Each edge once, as a pair in ascending order; the pairs are in ascending order too.
    pub fn edges(&self) -> impl Iterator<Item = (VariableId, VariableId)> + '_ {
        (0..self.len()).map(VariableId::new).flat_map(|a| {
            let later = self.neighbours(a).iter().filter(move |&&b| b > a);
            later.map(move |&b| (a, b))
        })
    }

    /// Number of undirected edges.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }
}
