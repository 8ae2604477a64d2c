//! Reuses cliques of the previous reduced tree.
//!
//! If one variable becomes observed or unobserved, the reduced tree usually changes near this
//! variable and stays the same elsewhere, because elimination orders follow local scores. A clique
//! with the same variables in the same order, the same factors and the same states of the removed
//! variables has the same table, to the last bit. If a whole subtree and the findings entered in it
//! are the same, the message of the subtree to its parent is the same too.

use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::factored::FactoringPlan;
use crate::engine::cpu::tables::filled::{FilledTree, ReadyClique};
use crate::engine::cpu::tables::make::{TableRequest, make_tables};
use crate::engine::cpu::tables::pool::ReusePool;
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::structure::Structure;
use crate::network::{FactorId, Network};
use crate::potential::Real;

/// A clique of the previous tree that has the same table as a clique of the new tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReusedClique {
    /// The number of the clique in the previous tree.
    pub clique: usize,
    /// Whether all ports are the same too: the separators to the parent and to each child, and the
    /// private variables. If so, the rows are the same.
    pub has_same_ports: bool,
}

/// Which cliques of a tree are reused from the previous one.
#[derive(Debug)]
pub struct ReusedCliques {
    /// By clique: the clique of the previous tree with the same table.
    cliques: Vec<Option<ReusedClique>>,
    /// By clique: whether the clique and all cliques below it are reused with the same ports.
    pub is_subtree_reused: Vec<bool>,
}

impl ReusedCliques {
    /// Compares `structure` with the structure of the previous tree. Each structure comes with the
    /// states of the variables that were removed from its cliques.
    pub fn new(
        network: &Network,
        (previous, previous_states): (&Structure, &[Option<usize>]),
        (structure, states): (&Structure, &[Option<usize>]),
    ) -> Self {
        let has_same_states = |&factor: &FactorId| {
            let scope = network.factor(factor).scope();
            scope.iter().all(|v| previous_states[v.index()] == states[v.index()])
        };
        let find = |clique| {
            let (other, has_same_ports) = structure.counterpart(clique, previous)?;
            let (layout, other_layout) = (&structure.layouts[clique], &previous.layouts[other]);
            let has_same_order =
                layout.outer == other_layout.outer && layout.inner == other_layout.inner;
            let factors = &structure.shape.factors[clique];
            let is_same = (has_same_ports || has_same_order)
                && *factors == previous.shape.factors[other]
                && factors.iter().all(has_same_states);
            is_same.then_some(ReusedClique { clique: other, has_same_ports })
        };
        let cliques: Vec<_> = (0..structure.shape.cliques.len()).map(find).collect();
        let mut is_subtree_reused = vec![false; cliques.len()];
        for (clique, reused) in cliques.iter().enumerate().rev() {
            let Some(reused) = reused.filter(|reused| reused.has_same_ports) else { continue };
            let children = structure.children[clique].iter();
            let mut pairs = children.zip(&previous.children[reused.clique]);
            let is_same = |(&child, &other): (&usize, &usize)| {
                is_subtree_reused[child]
                    && cliques[child].is_some_and(|reused| reused.clique == other)
            };
            is_subtree_reused[clique] = pairs.all(is_same);
        }
        Self { cliques, is_subtree_reused }
    }

    /// Whether the table of `clique` is reused. Also true if the table in the previous tree is
    /// factored and the ports differ, although the table is then made again.
    pub fn has_table(&self, clique: usize) -> bool {
        self.cliques[clique].is_some()
    }

    /// The clique of the previous tree with the same table and ports as `clique`.
    pub fn with_same_ports(&self, clique: usize) -> Option<usize> {
        self.cliques[clique].filter(|reused| reused.has_same_ports).map(|reused| reused.clique)
    }
}

impl<T: Real> FilledTree<T> {
    /// Makes the tables of `structure`, except for those that are reused from the tree `previous`.
    /// The memory of tables that are not reused goes to `pool`, which provides memory for new
    /// tables.
    pub fn rebuild(
        structure: &Structure,
        inputs: TableInputs<'_>,
        previous: Option<(&mut Self, &ReusedCliques)>,
        pool: &mut ReusePool<T>,
    ) -> Self {
        let mut ready: Vec<Option<ReadyClique<T>>> = Vec::new();
        ready.resize_with(structure.shape.cliques.len(), || None);
        let mut places = Vec::new();
        if let Some((previous, reused)) = previous {
            for (ready, reused) in ready.iter_mut().zip(&reused.cliques) {
                *ready = reused.and_then(|reused| previous.take(reused));
            }
            previous.release(pool);
            places = std::mem::take(&mut previous.tree.places);
        }
        let missing: Vec<usize> =
            (0..ready.len()).filter(|&clique| ready[clique].is_none()).collect();
        let made = make_missing(structure, inputs, &missing, pool);
        for (clique, made) in missing.into_iter().zip(made) {
            ready[clique] = Some(made);
        }
        let cliques = ready.into_iter().map(|ready| ready.expect("every clique is reused or new"));
        Self::assemble(structure, inputs, cliques, places)
    }

    /// Takes the table of a clique out of this tree, and also the node if the new clique has the
    /// same ports. The ranges of the clique's messages stay here, because the messages are still to
    /// be copied. Returns `None` for a factored table if the ports differ, because the rows of a
    /// new node would have no words that point into the table.
    fn take(&mut self, reused: ReusedClique) -> Option<ReadyClique<T>> {
        let (node, table) = (&mut self.tree.nodes[reused.clique], &mut self.tables[reused.clique]);
        if table.factored.is_some() && !reused.has_same_ports {
            return None;
        }
        let table = std::mem::take(table);
        let node = reused.has_same_ports.then(|| {
            let (above, below) = (node.above.clone(), node.below.clone());
            std::mem::replace(node, Node { above, below, ..Node::default() })
        });
        Some(ReadyClique { table, groups: Vec::new(), reused: node })
    }

    /// Puts the memory of all tables that are not factored into `pool`.
    pub fn release(&mut self, pool: &mut ReusePool<T>) {
        self.tables.iter_mut().for_each(|table| pool.put(std::mem::take(&mut table.values)));
    }
}

/// Makes the tables of the cliques that are `missing`, in memory from `pool`.
fn make_missing<T: Real>(
    structure: &Structure,
    inputs: TableInputs<'_>,
    missing: &[usize],
    pool: &mut ReusePool<T>,
) -> Vec<ReadyClique<T>> {
    let clique = |&clique: &usize| (&*structure.layouts[clique], &*structure.shape.factors[clique]);
    let plan = |(layout, factors)| FactoringPlan::new(inputs, layout, factors);
    let plans: Vec<_> = missing.iter().map(clique).map(plan).collect();
    let sizes = missing.iter().map(clique).zip(&plans);
    let sizes = sizes.map(|((layout, _), plan)| if plan.is_some() { 0 } else { layout.entries() });
    let tables = pool.take_all(&sizes.collect::<Vec<usize>>());
    let requests = missing.iter().map(clique).zip(&plans).zip(tables);
    let requests = requests.map(|(((layout, factors), plan), table)| {
        let plan = plan.as_ref().map(|plan| (plan, plan.memory()));
        TableRequest { layout, factors, sparse: None, plan, table }
    });
    let made = make_tables(inputs, requests.collect());
    let ready = |((table, plan), &clique): ((_, &Option<FactoringPlan>), &usize)| {
        let layout = &structure.layouts[clique];
        let groups = plan.as_ref().map(|plan| plan.ports(inputs.network, layout));
        ReadyClique { table, groups: groups.unwrap_or_default(), reused: None }
    };
    made.into_iter().zip(&plans).zip(missing).map(ready).collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cpu::tree::reduce::{ReducedTree, Search, reduce};
    use crate::format::open;
    use crate::lowering::Optimisations;
    use crate::network::VariableId;

    fn reduced(
        network: &Network,
        observed: &[Option<usize>],
        previous: Option<&ReducedTree>,
    ) -> ReducedTree {
        let is_observed: Vec<bool> = observed.iter().map(Option::is_some).collect();
        let cancel = CancelToken::new();
        let found = reduce(network, &is_observed, previous, Search::unlimited(&cancel));
        found.expect("there is no limit")
    }

    fn inputs<'a>(network: &'a Network, observed: &'a [Option<usize>]) -> TableInputs<'a> {
        let optimisations = Optimisations::default();
        TableInputs { network, observed, smallest: &[], threads: None, optimisations }
    }

    #[test]
    fn reused_cliques_equal_newly_made_cliques() {
        // Diabetes has tables that are large enough to be divided.
        for (name, every, steps, is_divided) in [("pigs", 5, 30, false), ("diabetes", 9, 4, true)] {
            let network = open(name).expect("a sample of this name").network;
            let count = network.variables().len();
            let mut rng = Pcg64Mcg::seed_from_u64(23);
            let mut state =
                |v: usize| rng.random_range(0..network[VariableId::new(v)].cardinality());
            let mut then: Vec<Option<usize>> =
                (0..count).map(|v| (v % every == 0).then(|| state(v))).collect();
            let mut pool = ReusePool::<f64>::new();
            let mut before = reduced(&network, &then, None);
            let first = inputs(&network, &then);
            let mut tree = FilledTree::rebuild(&before.structure, first, None, &mut pool);
            let (mut reused_entries, mut made_entries) = (0, 0);
            let (mut subtrees, mut parts) = (0, 0);
            for step in 0..steps {
                let mut now = then.clone();
                let changed = step * 37 % count;
                now[changed] = now[changed].is_none().then(|| state(changed));
                let after = reduced(&network, &now, Some(&before));
                let (old, new) = ((&before.structure, &*then), (&after.structure, &*now));
                let reused = ReusedCliques::new(&network, old, new);
                let inputs = inputs(&network, &now);
                let previous = Some((&mut tree, &reused));
                let found = FilledTree::rebuild(&after.structure, inputs, previous, &mut pool);
                let mut own_pool = ReusePool::<f64>::new();
                let expected = FilledTree::rebuild(&after.structure, inputs, None, &mut own_pool);
                let nodes = found.tree.nodes.iter().zip(&expected.tree.nodes);
                let tables = found.tables.iter().zip(&expected.tables);
                for ((pair, (own, expected)), reused) in nodes.zip(tables).zip(&reused.cliques) {
                    assert_eq!(own.values, expected.values);
                    assert_eq!(own.exponent, expected.exponent);
                    let (own, expected) = pair;
                    assert_eq!(own.words, expected.words);
                    assert_eq!(own.parts_up, expected.parts_up);
                    assert_eq!(own.parts_down, expected.parts_down);
                    assert_eq!(own.met_above, expected.met_above);
                    if reused.is_some() {
                        reused_entries += own.entries;
                        parts += own.parts_up.parts.len();
                    } else {
                        made_entries += own.entries;
                    }
                }
                subtrees += reused.is_subtree_reused.iter().filter(|reused| **reused).count();
                (before, then, tree) = (after, now, found);
            }
            assert!(
                made_entries > 0 && reused_entries > 4 * made_entries,
                "{name}: {reused_entries} entries reused, {made_entries} made"
            );
            assert!(subtrees > 0, "{name}: there are subtrees that stay the same");
            assert!(parts > 0 || !is_divided, "{name}: {parts} parts were reused");
        }
    }
}
