//! From a network to a junction tree and a plan.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Instant;
use crate::graph::{
    CliqueId, JunctionTree, MoralGraph, SeparatorId, TreeStatistics, Triangulation,
    TriangulationOptions, build_junction_tree, predicates, triangulate,
};
use crate::network::{FactorId, Network, VariableId};
use crate::propagation::Plan;

/// How a network is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// How the moral graph is triangulated.
    pub triangulation: TriangulationOptions,
}

/// The smallest table that contains a variable. The variable's posterior is read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A clique's table, if this table is smaller than the table of every separator that contains
    /// the variable.
    Clique(CliqueId),
    /// A separator's table.
    Separator(SeparatorId),
}

/// A network with its junction tree and plan of messages: the structure of a propagation, without
/// tables.
#[derive(Clone, Debug)]
pub struct CompiledNetwork {
    network: Arc<Network>,
    moral: MoralGraph,
    fill_edges: Vec<(VariableId, VariableId)>,
    tree: JunctionTree,
    plan: Plan,
    statistics: TreeStatistics,
    triangulation: Option<Triangulation>,
    /// The elimination order from which the tree was built; `None` if the tree was
    /// [given](Self::with_tree).
    order: Option<Vec<VariableId>>,
    factor_homes: Vec<CliqueId>,
    variable_homes: Vec<Home>,
    elapsed: Duration,
}

/// Compiles `network` into a junction tree and a plan.
///
/// This allocates no tables. How much memory an engine needs for them is its
/// [forecast](crate::engine::Engine::forecast).
///
/// # Errors
/// [`Cancelled`] once `cancel` is cancelled.
pub fn compile(
    network: Arc<Network>,
    options: &CompileOptions,
    cancel: &CancelToken,
) -> Result<CompiledNetwork, Cancelled> {
    let started = Instant::now();
    let moral = MoralGraph::of_network(&network);
    let elimination = triangulate(&moral, &options.triangulation, cancel)?;
    let tree = build_junction_tree(&moral, &elimination);
    debug_assert_eq!(
        predicates::families_are_covered(
            network.factors().map(|factor| factor.scope().iter().copied()),
            &tree
        ),
        Ok(())
    );
    cancel.check()?;
    let mut compiled = CompiledNetwork::assemble(network, moral, elimination.fill_edges, tree);
    compiled.triangulation = Some(options.triangulation.method);
    compiled.order = Some(elimination.order);
    compiled.elapsed = started.elapsed();
    Ok(compiled)
}

impl CompiledNetwork {
    /// `network` with a junction tree that [`compile`] did not make, such as one with another root.
    ///
    /// # Panics
    /// If the tree does not cover every variable and every family of the network.
    #[must_use]
    pub fn with_tree(network: Arc<Network>, tree: JunctionTree) -> Self {
        let moral = MoralGraph::of_network(&network);
        let mut fill_edges = Vec::new();
        for clique in tree.cliques() {
            for (index, &a) in clique.variables.iter().enumerate() {
                let later = clique.variables[index + 1..].iter();
                let filled = later.filter(|b| !moral.adjacency()[a.index()].contains(b.index()));
                fill_edges.extend(filled.map(|&b| (a, b)));
            }
        }
        fill_edges.sort_unstable();
        fill_edges.dedup();
        Self::assemble(network, moral, fill_edges, tree)
    }

    fn assemble(
        network: Arc<Network>,
        moral: MoralGraph,
        fill_edges: Vec<(VariableId, VariableId)>,
        tree: JunctionTree,
    ) -> Self {
        let homes = network.factors().map(|factor| factor_home(&tree, factor.scope()));
        Self {
            factor_homes: homes.collect(),
            variable_homes: variable_homes(&tree, network.variables().len()),
            plan: Plan::depth_first(&tree),
            statistics: TreeStatistics::of(&tree),
            triangulation: None,
            order: None,
            network,
            moral,
            fill_edges,
            tree,
            elapsed: Duration::ZERO,
        }
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The moral graph.
    #[must_use]
    pub fn moral_graph(&self) -> &MoralGraph {
        &self.moral
    }

    /// The elimination order from which [`compile`] built this tree. For a tree that was
    /// [given](Self::with_tree), an order that gives the same cliques.
    #[must_use]
    pub fn elimination_order(&self) -> Cow<'_, [VariableId]> {
        match &self.order {
            Some(order) => Cow::Borrowed(order),
            None => Cow::Owned(self.tree.elimination_order()),
        }
    }

    /// The edges that triangulation added to the moral graph.
    #[must_use]
    pub fn fill_edges(&self) -> &[(VariableId, VariableId)] {
        &self.fill_edges
    }

    /// The junction tree.
    #[must_use]
    pub fn tree(&self) -> &JunctionTree {
        &self.tree
    }

    /// The messages of one propagation.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Size statistics of the tree.
    #[must_use]
    pub fn statistics(&self) -> &TreeStatistics {
        &self.statistics
    }

    /// The triangulation method of the tree; `None` for a tree that was [given](Self::with_tree).
    #[must_use]
    pub fn triangulation(&self) -> Option<Triangulation> {
        self.triangulation
    }

    /// The clique into whose table `factor` is multiplied: the smallest clique that contains the
    /// factor's scope.
    #[must_use]
    pub fn factor_home(&self, factor: FactorId) -> CliqueId {
        self.factor_homes[factor.index()]
    }

    /// The table from which the posterior of `variable` is read.
    #[must_use]
    pub fn variable_home(&self, variable: VariableId) -> Home {
        self.variable_homes[variable.index()]
    }

    /// How long compiling took; zero for a tree that was [given](Self::with_tree).
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

fn factor_home(tree: &JunctionTree, scope: &[VariableId]) -> CliqueId {
    let contains_scope = |clique: &CliqueId| {
        scope.iter().all(|variable| tree[*clique].variables.binary_search(variable).is_ok())
    };
    tree.clique_ids()
        .filter(contains_scope)
        .min_by_key(|&clique| tree[clique].entries)
        .expect("a junction tree covers every family")
}

fn variable_homes(tree: &JunctionTree, variables: usize) -> Vec<Home> {
    let mut homes: Vec<Option<(u64, Home)>> = vec![None; variables];
    let mut offer = |variable: VariableId, entries: u64, home: Home| {
        let best = &mut homes[variable.index()];
        if best.is_none_or(|(smallest, _)| entries < smallest) {
            *best = Some((entries, home));
        }
    };
    for id in tree.separator_ids() {
        for &variable in &tree[id].variables {
            offer(variable, tree[id].entries, Home::Separator(id));
        }
    }
    for id in tree.clique_ids() {
        for &variable in &tree[id].variables {
            offer(variable, tree[id].entries, Home::Clique(id));
        }
    }
    homes.into_iter().map(|best| best.expect("a junction tree covers every variable").1).collect()
}
