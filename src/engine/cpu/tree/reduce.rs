//! The reduced tree: a junction tree of the variables that are not observed.
//!
//! An observed variable fixes one index of every table over it, and no longer connects its
//! neighbours. Without the observed variables, the moral graph often has more components or smaller
//! cliques, so it is triangulated again. The new tables are often much smaller.

use rayon::ThreadPool;

use crate::cancel::CancelToken;
use crate::engine::cpu::memory::{Footprint, max_pooled};
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::wide::Wide;
use crate::graph::{CliqueTree, Heuristic, MoralGraph, clique_tree};
use crate::lowering::{Optimisation, Optimisations, Shape};
use crate::network::{FactorId, Network, VariableId};

/// The heuristics to try, in order, except that the heuristic of a previous tree comes first. The
/// tree of the second heuristic replaces the first only if it is smaller, or, if there is a
/// previous tree whose cliques may be reused, more than a quarter smaller.
///
/// In random cases of Barley, Water and Mildew with a fifth of the variables observed,
/// [`Heuristic::MinWeight`] alone found trees with 1.2 to 1.6 times as many entries as
/// [`Heuristic::WeightedMinFill`], but in a case of Diabetes a propagation took 1.6 times as long
/// without it. [`Heuristic::MinFill`] as a third saved at most three percent of the entries.
const HEURISTICS: [Heuristic; 2] = [Heuristic::WeightedMinFill, Heuristic::MinWeight];

/// The second heuristic is tried only if the first finds no tree with fewer table entries per
/// unobserved variable than this. Otherwise, trying it takes longer than a smaller tree is likely
/// to save. Tuned on the paper's eight networks; if it is wrong, only speed changes (and last bits
/// of results).
const RETRY_ENTRIES_PER_VARIABLE: u64 = 4_000;

/// A junction tree of the variables that are not observed.
#[derive(Debug)]
pub struct ReducedTree {
    pub structure: Structure,
    /// The heuristic that found the tree.
    heuristic: Heuristic,
    /// An upper bound on the bytes of the tables. Their memory comes from a pool, which may give a
    /// table more memory than it needs.
    table_bytes: usize,
    /// An upper bound on the bytes of everything else; see [`Footprint::others`].
    pub other_bytes: usize,
    /// The factors that are a single number, because all their variables are observed.
    constants: Vec<FactorId>,
}

impl ReducedTree {
    /// An upper bound on the bytes of the tree and of one propagation in it.
    pub fn bytes(&self) -> usize {
        self.table_bytes + self.other_bytes
    }

    /// The natural logarithm of the product of all factors whose variables are all `observed`;
    /// `None` if the product is zero. The tree's P(e) must be multiplied by this product.
    pub fn ln_constant(&self, network: &Network, observed: &[Option<usize>]) -> Option<f64> {
        let entry = |&factor: &FactorId| {
            let factor = network.factor(factor);
            let state =
                |v: VariableId| observed[v.index()].expect("all its variables are observed");
            let scope = factor.scope().iter();
            let at = scope.fold(0, |at, &v| at * network[v].cardinality() + state(v));
            factor.values()[at]
        };
        // The sum of thousands of logarithms would have a larger rounding error.
        let entries = self.constants.iter().map(entry);
        let product = entries.fold(Wide::ONE, |product, entry| product * Wide::new(entry));
        (!product.is_zero()).then(|| product.ln())
    }
}

/// A search for a reduced tree.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The tables of the tree must have fewer entries than this in total.
    pub max_entries: u64,
    /// Size of a table entry in bytes.
    pub width: usize,
    /// With threads, the cliques are laid out in parallel; the result is the same.
    pub threads: Option<&'a ThreadPool>,
    pub optimisations: Optimisations,
    pub cancel: &'a CancelToken,
}

#[cfg(test)]
impl<'a> Search<'a> {
    /// A search for a tree of any size, for tables in double precision.
    pub fn unlimited(cancel: &'a CancelToken) -> Self {
        let optimisations = Optimisations::default();
        Self { max_entries: u64::MAX, width: 8, threads: None, optimisations, cancel }
    }
}

/// Triangulates `network` without the variables that are observed.
///
/// Cliques that are unchanged since the tree `previous` share the layouts of that tree. Returns
/// `None` if the search is cancelled, or if no heuristic finds a tree that is small enough.
pub fn reduce(
    network: &Network,
    is_observed: &[bool],
    previous: Option<&ReducedTree>,
    search: Search<'_>,
) -> Option<ReducedTree> {
    let Search { max_entries, width, threads, optimisations, cancel } = search;
    let unobserved: Vec<VariableId> = network.ids().filter(|v| !is_observed[v.index()]).collect();
    let (graph, families) = reduced_graph(network, is_observed, &unobserved);
    let mut heuristics = HEURISTICS;
    if let Some(previous) = previous {
        // Try the heuristic of the previous tree first, because it leaves most cliques unchanged.
        heuristics.sort_by_key(|&heuristic| heuristic != previous.heuristic);
    }
    let count = if optimisations.has(Optimisation::MoreHeuristics) { heuristics.len() } else { 1 };
    // The limit for the second heuristic, if the tree of the first has `entries` table entries: the
    // second tree must have fewer than the limit to replace the first. Zero to try no second.
    let next_limit = |entries: u64| match previous {
        _ if entries / RETRY_ENTRIES_PER_VARIABLE < graph.len() as u64 => 0,
        Some(_) => entries / 4 * 3,
        None => entries,
    };
    let heuristics = &heuristics[..count];
    let (tree, heuristic) = clique_tree(&graph, heuristics, max_entries, next_limit, cancel)?;
    let (shape, constants) = shape(tree, &unobserved, &families);
    let previous = previous.map(|previous| &previous.structure);
    let structure = Structure::new(network, shape, previous, optimisations, threads);
    let footprint = Footprint::new(&structure, width, None);
    let (table_bytes, other_bytes) = (max_pooled(footprint.tables), footprint.others);
    Some(ReducedTree { structure, heuristic, table_bytes, other_bytes, constants })
}

/// The moral graph of the `unobserved` variables, which are numbered by their positions in this
/// list. Also returns, by factor, the numbers of its unobserved variables.
fn reduced_graph(
    network: &Network,
    is_observed: &[bool],
    unobserved: &[VariableId],
) -> (MoralGraph, Vec<Vec<VariableId>>) {
    let mut number = vec![usize::MAX; is_observed.len()];
    unobserved.iter().enumerate().for_each(|(index, v)| number[v.index()] = index);
    let cardinalities = unobserved.iter().map(|&v| network[v].cardinality()).collect();
    let families: Vec<Vec<VariableId>> = network
        .factors()
        .map(|factor| {
            let scope = factor.scope().iter().filter(|v| !is_observed[v.index()]);
            scope.map(|v| VariableId::new(number[v.index()])).collect()
        })
        .collect();
    (MoralGraph::new(cardinalities, &families), families)
}

/// The shape of `tree`, whose variables are numbered as in `unobserved`, and the factors that
/// belong to no clique because their `families` are empty.
fn shape(
    tree: CliqueTree,
    unobserved: &[VariableId],
    families: &[Vec<VariableId>],
) -> (Shape, Vec<FactorId>) {
    let mut shape = Shape {
        factors: vec![Vec::new(); tree.cliques.len()],
        origins: vec![None; tree.cliques.len()],
        cliques: tree.cliques,
        parents: tree.parents,
    };
    let mut constants = Vec::new();
    for (factor, family) in families.iter().enumerate() {
        let factor = FactorId::new(factor);
        // Eliminating the first variable of a family made a clique, which holds the whole family.
        match family.iter().min_by_key(|v| tree.position[v.index()]) {
            Some(first) => shape.factors[tree.home[first.index()]].push(factor),
            None => constants.push(factor),
        }
    }
    for clique in &mut shape.cliques {
        clique.iter_mut().for_each(|variable| *variable = unobserved[variable.index()]);
        // Ascending, so that the same clique has the same table in another tree, and separators
        // with the same variables are equal lists.
        clique.sort_unstable();
    }
    (shape.with_bounded_siblings(), constants)
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::network::{Factor, Variable};

    /// A network of twelve variables and twenty factors over two of them.
    fn network(rng: &mut Pcg64Mcg) -> Network {
        let states: Vec<usize> = (0..12).map(|_| rng.random_range(2..7)).collect();
        let variables = states.iter().enumerate().map(|(v, &states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let variables = variables.collect();
        let mut scope: Vec<usize> = (0..12).collect();
        let mut factor = || {
            scope.shuffle(rng);
            let entries = states[scope[0]] * states[scope[1]];
            Factor::new(
                scope[..2].iter().map(|&v| VariableId::new(v)).collect(),
                vec![0.5; entries],
            )
        };
        let factors = (0..20).map(|_| factor()).collect();
        Network::markov("test", variables, factors).expect("the network is valid")
    }

    fn entries(tree: &ReducedTree) -> u64 {
        tree.structure.layouts.iter().map(|layout| layout.entries() as u64).sum()
    }

    #[test]
    fn the_second_heuristic_is_tried_if_the_first_finds_no_small_tree() {
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        let cancel = CancelToken::new();
        let mut smaller = 0;
        for _ in 0..200 {
            let network = network(&mut rng);
            let is_observed = [false; 12];
            let find = |max_entries, optimisations| {
                let search = Search { max_entries, optimisations, ..Search::unlimited(&cancel) };
                reduce(&network, &is_observed, None, search).map(|tree| entries(&tree))
            };
            let all = Optimisations::default();
            let one = all.without(Optimisation::MoreHeuristics);
            let first = find(u64::MAX, all).expect("there is no limit");
            assert_eq!(find(u64::MAX, one), Some(first), "the tree is small");
            assert_eq!(find(first, one), None, "only one heuristic is tried");
            if let Some(second) = find(first, all) {
                assert!(second < first);
                smaller += 1;
            }
        }
        assert!(smaller > 5, "the second heuristic found {smaller} smaller trees");
    }
}
