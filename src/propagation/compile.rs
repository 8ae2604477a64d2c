//! From a network to a junction tree and a plan.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::clock::Instant;
use crate::graph::{
    CliqueId, Elimination, GraphTooLarge, Heuristic, JunctionTree, MoralGraph, SeparatorId,
    TreeStatistics, Triangulation, TriangulationError, TriangulationOptions, build_junction_tree,
    eliminate_in_order, predicates, triangulate,
};
use crate::network::{Evidence, Factor, FactorId, Network, VariableId};
use crate::propagation::Plan;

/// How a network is compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// How the moral graph is triangulated.
    pub triangulation: TriangulationOptions,
    /// Variables that are observed in all evidence to be propagated, in any order. Their edges are
    /// left out of the moral graph, which can make the junction tree much smaller. See
    /// [`CompiledNetwork::observed`].
    pub observed: Vec<VariableId>,
}

/// The smallest table that contains a variable. Engines may read the variable's posterior from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A clique's table, if no separator contains the variable.
    Clique(CliqueId),
    /// A separator's table.
    Separator(SeparatorId),
}

/// A network with its junction tree and plan of messages: the structure of a propagation, without
/// tables.
#[derive(Clone, Debug)]
pub struct CompiledNetwork {
    network: Arc<Network>,
    observed: Vec<VariableId>,
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

/// Number of bytes of a network and its tree that do not count against a memory limit. So the
/// forecast for a small network says what the engine itself takes. With a larger number, the
/// program may take more than the limit by as much.
const UNCOUNTED_BYTES: u64 = 1 << 20;

/// Bytes of a compiled network for each variable: its place in the moral graph, the elimination
/// order and the list of homes.
const BYTES_PER_VARIABLE: u64 = 64;

/// Bytes of a compiled network for each edge of the triangulated graph.
const BYTES_PER_EDGE: u64 = 8;

/// Bytes of a compiled network for each clique: the clique and its separator with their variables,
/// the links of the tree and two messages. Measured on a chain of 100,000 binary variables.
const BYTES_PER_CLIQUE: u64 = 320;

/// Compiles `network` into a junction tree and a plan.
///
/// This allocates no tables. How much memory an engine needs for them is its
/// [forecast](crate::engine::Engine::forecast).
///
/// # Errors
/// [`TriangulationError::TooLarge`] if this needs more memory than `options.triangulation` allows,
/// or [`TriangulationError::Cancelled`] once `cancel` is cancelled.
///
/// # Panics
/// If `options.observed` has a variable that `network` does not have.
pub fn compile(
    network: Arc<Network>,
    options: &CompileOptions,
    cancel: &CancelToken,
) -> Result<CompiledNetwork, TriangulationError> {
    let started = Instant::now();
    let mut observed = options.observed.clone();
    observed.sort_unstable();
    observed.dedup();
    let (moral, elimination) = eliminated(&network, &observed, &options.triangulation, cancel)?;
    let tree = build_junction_tree(&moral, &elimination);
    debug_assert_eq!(
        predicates::families_are_covered(
            network.factors().map(|factor| without(factor.scope(), &observed)),
            &tree
        ),
        Ok(())
    );
    debug_assert_eq!(predicates::are_alone(&observed, &tree), Ok(()));
    cancel.check()?;
    let mut compiled =
        CompiledNetwork::assemble(network, observed, moral, elimination.fill_edges, tree);
    compiled.triangulation = Some(options.triangulation.method);
    compiled.order = Some(elimination.order);
    compiled.elapsed = started.elapsed();
    Ok(compiled)
}

/// The moral graph of `network` without the edges of the `observed` variables, and its elimination.
/// The memory limit includes the network.
fn eliminated(
    network: &Network,
    observed: &[VariableId],
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<(MoralGraph, Elimination), TriangulationError> {
    let limit = options.max_bytes;
    let of_network = network.bytes().saturating_sub(UNCOUNTED_BYTES);
    let max_bytes = limit.saturating_sub(of_network);
    let options = TriangulationOptions { max_bytes, ..options.clone() };
    let eliminate = || {
        let moral = MoralGraph::given_within(network, observed, max_bytes)?;
        let elimination = if observed.is_empty() {
            triangulate(&moral, &options, cancel)?
        } else {
            triangulate_part(network, &moral, &options, cancel)?
        };
        Ok((moral, elimination))
    };
    eliminate().map_err(|error| match error {
        TriangulationError::TooLarge(error) => {
            let bytes = error.bytes.saturating_add(of_network);
            GraphTooLarge { bytes, limit, ..error }.into()
        }
        error @ TriangulationError::Cancelled(_) => error,
    })
}

/// Triangulates `part`, the moral graph of `network` without the edges of some variables.
///
/// A known order for the whole graph is an order for its part too, and gives at most as many table
/// entries there. Using it saves the search of [`Triangulation::Auto`]. Weighted min-fill may find
/// a better order for the part, so it is tried too. As in [`triangulate`], known orders are used
/// only with seed 0: with another seed, the user wants to see another tree.
fn triangulate_part(
    network: &Network,
    part: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Elimination, TriangulationError> {
    let is_auto = options.method == Triangulation::Auto && options.seed == 0;
    let known = options.known.as_ref().filter(|known| is_auto && known.has_order_of(part.len()));
    let Some(order) = known.and_then(|known| known.find(&MoralGraph::of_network(network))) else {
        return triangulate(part, options, cancel);
    };
    let known = eliminate_in_order(part, &order, cancel)?;
    let method = Triangulation::By(Heuristic::WeightedMinFill);
    let greedy = triangulate(part, &TriangulationOptions { method, ..options.clone() }, cancel)?;
    let is_better = greedy.total_entries(part) < known.total_entries(part);
    Ok(if is_better { greedy } else { known })
}

impl CompiledNetwork {
    /// `network` with a junction tree that [`compile`] did not make, such as one with another root.
    ///
    /// # Panics
    /// If the tree does not cover every variable and every family of the network.
    #[must_use]
    pub fn with_tree(network: Arc<Network>, tree: JunctionTree) -> Self {
        let moral = MoralGraph::of_network(&network);
        Self::with_tree_of(network, Vec::new(), moral, tree)
    }

    /// This network, for the same [observed](Self::observed) variables, with another junction tree.
    ///
    /// # Panics
    /// If a variable is in no clique of the tree, or if there is a family whose unobserved
    /// variables are not all in one clique.
    #[must_use]
    pub fn with_other_tree(&self, tree: JunctionTree) -> Self {
        let network = Arc::clone(&self.network);
        Self::with_tree_of(network, self.observed.clone(), self.moral.clone(), tree)
    }

    /// The network with `tree`. The fill edges are the pairs of variables of a clique that are not
    /// neighbours in `moral`, the moral graph without the edges of the `observed` variables.
    fn with_tree_of(
        network: Arc<Network>,
        observed: Vec<VariableId>,
        moral: MoralGraph,
        tree: JunctionTree,
    ) -> Self {
        let mut fill_edges = Vec::new();
        for clique in tree.cliques() {
            for (index, &a) in clique.variables.iter().enumerate() {
                let later = clique.variables[index + 1..].iter();
                let filled = later.filter(|&&b| !moral.are_neighbours(a, b));
                fill_edges.extend(filled.map(|&b| (a, b)));
            }
        }
        fill_edges.sort_unstable();
        fill_edges.dedup();
        Self::assemble(network, observed, moral, fill_edges, tree)
    }

    /// The network with all that follows from its tree. It has no triangulation method and no
    /// elimination order yet, and its compile time is zero.
    fn assemble(
        network: Arc<Network>,
        observed: Vec<VariableId>,
        moral: MoralGraph,
        fill_edges: Vec<(VariableId, VariableId)>,
        tree: JunctionTree,
    ) -> Self {
        let factor_homes = factor_homes(&network, &tree, &observed);
        Self {
            factor_homes,
            observed,
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

    /// The variables that all evidence must observe to be propagated with this tree, ascending;
    /// usually none.
    ///
    /// Each of them is a clique of its own, which empty separators join to the tree. The tree
    /// covers the other variables of each factor. Only engines with the
    /// [`observed`](crate::engine::Capabilities::observed) capability can load such a network.
    #[must_use]
    pub fn observed(&self) -> &[VariableId] {
        &self.observed
    }

    /// The least evidence that can be propagated with this tree: observations of the
    /// [observed](Self::observed) variables, in their first states.
    #[must_use]
    pub fn least_evidence(&self) -> Evidence {
        let mut evidence = Evidence::none();
        self.observed.iter().for_each(|&v| evidence.observe(&self.network, v, 0));
        evidence
    }

    /// Whether `evidence` observes all [observed](Self::observed) variables, so that it can be
    /// propagated with this tree.
    #[must_use]
    pub fn admits(&self, evidence: &Evidence) -> bool {
        self.observed.iter().all(|&variable| evidence.observed(variable).is_some())
    }

    /// The moral graph, without the edges of the [observed](Self::observed) variables.
    #[must_use]
    pub fn moral_graph(&self) -> &MoralGraph {
        &self.moral
    }

    /// The elimination order from which [`compile`] built this tree. For a tree that was
    /// [given](Self::with_tree), an order whose fill edges lie within the cliques of the tree.
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
    /// factor's scope without the [observed](Self::observed) variables. If all variables of the
    /// factor are observed, the clique of one of them.
    #[must_use]
    pub fn factor_home(&self, factor: FactorId) -> CliqueId {
        self.factor_homes[factor.index()]
    }

    /// The smallest table that contains `variable`, from which engines may read its posterior.
    #[must_use]
    pub fn variable_home(&self, variable: VariableId) -> Home {
        self.variable_homes[variable.index()]
    }

    /// Number of bytes that count against a memory limit, in addition to tables: those of the
    /// network, of its tree, and `per_clique` bytes that an engine keeps for each clique. Zero for
    /// a small network. Approximate; saturating.
    #[must_use]
    pub fn structure_bytes(&self, per_clique: u64) -> u64 {
        let edges = (self.moral.edge_count() + self.fill_edges.len()) as u64;
        let tree = [
            (self.network.variables().len() as u64, BYTES_PER_VARIABLE),
            (edges, BYTES_PER_EDGE),
            (self.tree.cliques().len() as u64, BYTES_PER_CLIQUE.saturating_add(per_clique)),
        ];
        let tree = tree.iter().map(|&(count, bytes)| count.saturating_mul(bytes));
        tree.fold(self.network.bytes(), u64::saturating_add).saturating_sub(UNCOUNTED_BYTES)
    }

    /// How long compiling took; zero for a tree that was [given](Self::with_tree).
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// The variables of `scope` that are not among `observed`, which are ascending.
fn without(scope: &[VariableId], observed: &[VariableId]) -> Vec<VariableId> {
    let is_other = |variable: &VariableId| observed.binary_search(variable).is_err();
    scope.iter().copied().filter(is_other).collect()
}

/// For each factor its [home](CompiledNetwork::factor_home).
fn factor_homes(network: &Network, tree: &JunctionTree, observed: &[VariableId]) -> Vec<CliqueId> {
    let mut holders: Vec<Vec<CliqueId>> = vec![Vec::new(); network.variables().len()];
    for id in tree.clique_ids() {
        tree[id].variables.iter().for_each(|variable| holders[variable.index()].push(id));
    }
    let smallest = |cliques: &mut dyn Iterator<Item = CliqueId>| {
        let home = cliques.min_by_key(|&clique| tree[clique].entries);
        home.expect("a junction tree covers every family")
    };
    // Many factors can have the same scope, and a variable can be in very many cliques.
    let mut homes: HashMap<Vec<VariableId>, CliqueId> = HashMap::new();
    let home = |factor: &Factor| {
        let mut covered = without(factor.scope(), observed);
        if covered.is_empty() {
            covered.extend(factor.scope().first());
        }
        *homes.entry(covered).or_insert_with_key(|covered| {
            let is_covered = |clique: &CliqueId| {
                let clique = &tree[*clique].variables;
                covered.iter().all(|variable| clique.binary_search(variable).is_ok())
            };
            let rarest = covered.iter().min_by_key(|variable| holders[variable.index()].len());
            match rarest {
                Some(rarest) => {
                    smallest(&mut holders[rarest.index()].iter().copied().filter(is_covered))
                }
                None => smallest(&mut tree.clique_ids()),
            }
        })
    };
    network.factors().map(home).collect()
}

/// For each of the `variables` variables its [home](CompiledNetwork::variable_home).
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
