//! Elimination one variable at a time, in an order that is chosen on the way.

use std::collections::HashSet;

use crate::graph::dynamic::DynamicGraph;
use crate::graph::{Elimination, MoralGraph, table_entries};
use crate::network::VariableId;

/// A graph from which variables are eliminated one after another.
#[derive(Clone)]
pub struct StepwiseElimination {
    graph: DynamicGraph,
    /// The number of states of each variable.
    cardinalities: Vec<usize>,
    steps: Vec<EliminationStep>,
    /// Whether each variable is eliminated.
    is_eliminated: Vec<bool>,
    /// The clusters so far, each without the variable that was eliminated.
    residues: HashSet<Vec<VariableId>>,
}

/// What eliminating one variable does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EliminationStep {
    /// The variable.
    pub variable: VariableId,
    /// The variable and its neighbours, ascending.
    pub cluster: Vec<VariableId>,
    /// The edges that are added between the neighbours, each with the smaller variable first.
    pub fill_edges: Vec<(VariableId, VariableId)>,
    /// The number of entries of the table over the cluster; [`u64::MAX`] if it overflows.
    pub entries: u64,
    /// Whether no earlier cluster contains this one. Then it is a clique of the triangulated graph.
    pub is_maximal: bool,
}

/// What an elimination costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EliminationCost {
    /// Number of fill edges.
    pub fill_edges: usize,
    /// Number of cliques.
    pub cliques: usize,
    /// The entries of the largest clique table.
    pub largest: u64,
    /// The entries of all clique tables together; [`u64::MAX`] if the sum overflows.
    pub total: u64,
}

impl EliminationCost {
    /// The cost of eliminating all variables of `graph` as in `elimination`.
    #[must_use]
    pub fn of(elimination: &Elimination, graph: &MoralGraph) -> Self {
        let cardinalities = graph.cardinalities();
        let mut cost = Self { fill_edges: elimination.fill_edges.len(), ..Self::default() };
        for index in elimination.maximal_clusters() {
            let cluster = &elimination.clusters[index];
            cost.add_clique(table_entries(cluster.iter().map(|v| cardinalities[v.index()])));
        }
        cost
    }

    fn add_clique(&mut self, entries: u64) {
        self.cliques += 1;
        self.largest = self.largest.max(entries);
        self.total = self.total.saturating_add(entries);
    }
}

impl StepwiseElimination {
    /// `graph`, with no variable eliminated.
    #[must_use]
    pub fn new(graph: &MoralGraph) -> Self {
        Self {
            graph: DynamicGraph::new(graph),
            cardinalities: graph.cardinalities().to_vec(),
            steps: Vec::new(),
            is_eliminated: vec![false; graph.len()],
            residues: HashSet::new(),
        }
    }

    /// What eliminating `variable` next would do; `None` if it is eliminated already, or if the
    /// graph does not have it.
    #[must_use]
    pub fn preview(&self, variable: VariableId) -> Option<EliminationStep> {
        if *self.is_eliminated.get(variable.index())? {
            return None;
        }
        let mut cluster = self.neighbours(variable);
        let mut fill_edges = Vec::new();
        for (index, &a) in cluster.iter().enumerate() {
            let lacking =
                |&&b: &&VariableId| !self.graph.are_neighbours(a.index() as u32, b.index() as u32);
            fill_edges.extend(cluster[index + 1..].iter().filter(lacking).map(|&b| (a, b)));
        }
        cluster.push(variable);
        cluster.sort_unstable();
        let entries = table_entries(cluster.iter().map(|v| self.cardinalities[v.index()]));
        // If an earlier cluster contains this one, the last such cluster consists of this one and
        // the variable that was eliminated there.
        let is_maximal = !self.residues.contains(&cluster);
        Some(EliminationStep { variable, cluster, fill_edges, entries, is_maximal })
    }

    /// Eliminates `variable`. Does nothing and returns `false` if it is eliminated already, or if
    /// the graph does not have it.
    pub fn eliminate(&mut self, variable: VariableId) -> bool {
        let Some(step) = self.preview(variable) else { return false };
        for &(a, b) in &step.fill_edges {
            self.graph.connect(a.index() as u32, b.index() as u32);
        }
        self.graph.remove(variable.index() as u32);
        self.is_eliminated[variable.index()] = true;
        let residue = step.cluster.iter().copied().filter(|&other| other != variable);
        self.residues.insert(residue.collect());
        self.steps.push(step);
        true
    }

    /// The neighbours of `variable` that are not eliminated, ascending; none if `variable` is
    /// eliminated itself.
    ///
    /// # Panics
    /// If the graph does not have this variable.
    #[must_use]
    pub fn neighbours(&self, variable: VariableId) -> Vec<VariableId> {
        let neighbours = self.graph.neighbours(variable.index() as u32);
        let mut neighbours: Vec<_> =
            neighbours.iter().map(|&other| VariableId::new(other as usize)).collect();
        neighbours.sort_unstable();
        neighbours
    }

    /// The variables eliminated so far, with what each elimination did, in order.
    #[must_use]
    pub fn steps(&self) -> &[EliminationStep] {
        &self.steps
    }

    /// Whether `variable` is eliminated.
    ///
    /// # Panics
    /// If the graph does not have this variable.
    #[must_use]
    pub fn is_eliminated(&self, variable: VariableId) -> bool {
        self.is_eliminated[variable.index()]
    }

    /// Whether all variables are eliminated.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.steps.len() == self.is_eliminated.len()
    }

    /// The variables that are not eliminated, ascending.
    pub fn remaining(&self) -> impl Iterator<Item = VariableId> + '_ {
        let all = (0..self.is_eliminated.len()).map(VariableId::new);
        all.filter(|&variable| !self.is_eliminated(variable))
    }

    /// The variable whose elimination adds the fewest fill edges (min-fill); of several, the first.
    /// `None` if all are eliminated.
    #[must_use]
    pub fn min_fill(&self) -> Option<VariableId> {
        let fill =
            |variable: &VariableId| self.preview(*variable).map(|step| step.fill_edges.len());
        self.remaining().min_by_key(fill)
    }

    /// The cost of the elimination so far.
    #[must_use]
    pub fn cost(&self) -> EliminationCost {
        let mut cost = EliminationCost::default();
        for step in &self.steps {
            cost.fill_edges += step.fill_edges.len();
            if step.is_maximal {
                cost.add_clique(step.entries);
            }
        }
        cost
    }
}

impl std::fmt::Debug for StepwiseElimination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepwiseElimination").field("steps", &self.steps).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::graph::eliminate_in_order;

    #[test]
    fn step_by_step_it_costs_what_the_whole_order_costs() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        for _ in 0..200 {
            let n = random.random_range(1..12_usize);
            let families: Vec<Vec<VariableId>> = (0..n)
                .map(|_| {
                    let size = random.random_range(1..=n.min(3));
                    let mut all: Vec<_> = (0..n).map(VariableId::new).collect();
                    all.shuffle(&mut random);
                    all[..size].to_vec()
                })
                .collect();
            let cardinalities = (0..n).map(|_| random.random_range(1..5)).collect();
            let graph = MoralGraph::new(cardinalities, &families);
            let mut order: Vec<_> = (0..n).map(VariableId::new).collect();
            order.shuffle(&mut random);
            let mut stepwise = StepwiseElimination::new(&graph);
            for &variable in &order {
                assert!(!stepwise.is_complete());
                let announced = stepwise.preview(variable);
                assert!(stepwise.eliminate(variable) && !stepwise.eliminate(variable));
                assert_eq!(stepwise.steps().last(), announced.as_ref());
            }
            assert!(stepwise.is_complete() && stepwise.min_fill().is_none());
            let whole = eliminate_in_order(&graph, &order, &CancelToken::new()).unwrap();
            assert_eq!(stepwise.cost(), EliminationCost::of(&whole, &graph));
            let clusters: Vec<_> = stepwise.steps().iter().map(|step| &step.cluster).collect();
            assert_eq!(clusters, whole.clusters.iter().collect::<Vec<_>>());
        }
    }
}
