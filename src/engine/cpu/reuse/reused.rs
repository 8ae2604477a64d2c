//! What a tree takes over from the one before it.
//!
//! Where one finding changes, the tree of what evidence leaves changes near it and stays the same
//! elsewhere, because its elimination goes by local scores. A clique of the same variables with the
//! same factors in the same states has the same table, to the last bit; and where all of a subtree
//! is the same, so is its message.

use crate::engine::cpu::tables::factored::Plan;
use crate::engine::cpu::tables::make::{self as tables, Made, Shelf, Sources, Unmade};
use crate::engine::cpu::tree::assemble::Ready;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::structure::Structure;
use crate::network::{FactorId, Network};
use crate::potential::Real;

/// A clique of the tree before with the same table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    /// Its number there.
    pub clique: usize,
    /// Whether all ports are the same too, so that its rows are.
    pub has_same_ports: bool,
}

/// What is taken over.
#[derive(Debug)]
pub struct Twins {
    /// For each clique its twin in the tree before, if there is one.
    twins: Vec<Option<Twin>>,
    /// For each clique whether it and all below have twins with the same ports.
    pub same_below: Vec<bool>,
}

impl Twins {
    /// The cliques of `structure` in `before`, where of the variables that were taken out the
    /// states were those in `then`, and are those in `now`.
    pub fn new(
        network: &Network,
        (before, then): (&Structure, &[Option<usize>]),
        (structure, now): (&Structure, &[Option<usize>]),
    ) -> Self {
        let has_same_states = |&factor: &FactorId| {
            let scope = network.factor(factor).scope();
            scope.iter().all(|v| then[v.index()] == now[v.index()])
        };
        let twin = |clique| {
            let (twin, has_same_ports) = structure.like(clique, before)?;
            let (own, other) = (&structure.layouts()[clique], &before.layouts()[twin]);
            let is_same = (has_same_ports || own.outer == other.outer && own.inner == other.inner)
                && structure.families()[clique] == before.families()[twin]
                && structure.families()[clique].iter().all(has_same_states);
            is_same.then_some(Twin { clique: twin, has_same_ports })
        };
        let twins: Vec<_> = (0..structure.cliques().len()).map(twin).collect();
        let mut same_below = vec![false; twins.len()];
        for (clique, twin) in twins.iter().enumerate().rev() {
            let Some(twin) = twin.filter(|twin| twin.has_same_ports) else { continue };
            let mut pairs = structure.children(clique).iter().zip(before.children(twin.clique));
            let is_same = |(&child, &other): (&usize, &usize)| {
                same_below[child] && twins[child].is_some_and(|twin| twin.clique == other)
            };
            same_below[clique] = pairs.all(is_same);
        }
        Self { twins, same_below }
    }

    /// Whether the table of `clique` is there.
    pub fn have_table(&self, clique: usize) -> bool {
        self.twins[clique].is_some()
    }

    /// The clique of the tree before with the same table and ports.
    pub fn alike(&self, clique: usize) -> Option<usize> {
        self.twins[clique].filter(|twin| twin.has_same_ports).map(|twin| twin.clique)
    }
}

impl Structure {
    /// The tree with the tables of `sources`, those of twins taken out of `before`. The memory of the
    /// others goes to `shelf` and is there for new ones.
    pub fn rebuild<T: Real>(
        &self,
        sources: Sources<'_>,
        before: Option<(&mut Tree<T>, &Twins)>,
        shelf: &mut Shelf<T>,
    ) -> Tree<T> {
        let mut ready: Vec<Option<Ready<T>>> = Vec::new();
        ready.resize_with(self.cliques().len(), || None);
        let mut places = Vec::new();
        if let Some((before, twins)) = before {
            for (ready, twin) in ready.iter_mut().zip(&twins.twins) {
                *ready = twin.and_then(|twin| before.take(twin));
            }
            before.clear(shelf);
            places = std::mem::take(&mut before.places);
        }
        let missing: Vec<usize> =
            (0..ready.len()).filter(|&clique| ready[clique].is_none()).collect();
        let of = |&clique: &usize| (&*self.layouts()[clique], &*self.families()[clique]);
        let plan = |(layout, factors)| Plan::new(sources.network, layout, factors);
        let plans: Vec<_> = missing.iter().map(of).map(plan).collect();
        let sizes = missing.iter().zip(&plans).map(|(clique, plan)| match plan {
            Some(_) => 0,
            None => of(clique).0.entries(),
        });
        let rooms = shelf.rooms(&sizes.collect::<Vec<usize>>());
        let unmade = missing.iter().map(of).zip(plans).zip(rooms);
        let unmade = unmade.map(|(((layout, factors), plan), table)| Unmade {
            layout,
            factors,
            left: None,
            plan,
            table,
        });
        let made = tables::make(sources, unmade.collect());
        for (clique, made) in missing.into_iter().zip(made) {
            ready[clique] = Some(Ready { made, node: None });
        }
        let tables = ready.into_iter().map(|ready| ready.expect("each is there or was made"));
        self.assemble(sources, tables, places)
    }
}

impl<T: Real> Tree<T> {
    /// Takes out the table of a clique, and all of the clique but where its messages stand if the
    /// twin has the same ports. A product is of use only to that.
    fn take(&mut self, twin: Twin) -> Option<Ready<T>> {
        let node = &mut self.nodes[twin.clique];
        if node.factored.is_some() && !twin.has_same_ports {
            return None;
        }
        let values = std::mem::take(&mut node.values);
        let exponent = node.exponent;
        let node = twin.has_same_ports.then(|| {
            let (above, below) = (node.above.clone(), node.below.clone());
            std::mem::replace(node, Node { above, below, ..Node::default() })
        });
        Some(Ready { made: Made { values, exponent, factored: None }, node })
    }

    /// Puts the memory of all tables on `shelf`.
    pub fn clear(&mut self, shelf: &mut Shelf<T>) {
        self.nodes.iter_mut().for_each(|node| shelf.put(std::mem::take(&mut node.values)));
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cpu::tree::reduce::{Reduced, reduce};
    use crate::format::open;
    use crate::network::VariableId;

    fn reduced(network: &Network, observed: &[Option<usize>], before: Option<&Reduced>) -> Reduced {
        let is_observed: Vec<bool> = observed.iter().map(Option::is_some).collect();
        let found = reduce(network, &is_observed, u64::MAX, 8, before, None, &CancelToken::new());
        found.expect("there is no limit")
    }

    fn sources<'a>(network: &'a Network, observed: &'a [Option<usize>]) -> Sources<'a> {
        Sources { network, observed, threads: None }
    }

    #[test]
    fn what_is_taken_over_is_what_would_have_been_made() {
        // Of Diabetes some tables are so large that they are cut.
        for (name, every, steps, has_pieces) in [("pigs", 5, 30, false), ("diabetes", 9, 4, true)] {
            let network = open(name).expect("it is shipped").network;
            let count = network.variables().len();
            let mut rng = Pcg64Mcg::seed_from_u64(23);
            let mut state =
                |v: usize| rng.random_range(0..network[VariableId::new(v)].cardinality());
            let mut then: Vec<Option<usize>> =
                (0..count).map(|v| (v % every == 0).then(|| state(v))).collect();
            let mut shelf = Shelf::<f64>::new();
            let mut before = reduced(&network, &then, None);
            let mut tree = before.structure.rebuild(sources(&network, &then), None, &mut shelf);
            let (mut taken, mut made, mut same, mut pieces) = (0, 0, 0, 0);
            for step in 0..steps {
                let mut now = then.clone();
                let changed = step * 37 % count;
                now[changed] = now[changed].is_none().then(|| state(changed));
                let after = reduced(&network, &now, Some(&before));
                let twins =
                    Twins::new(&network, (&before.structure, &then), (&after.structure, &now));
                let sources = sources(&network, &now);
                let given = Some((&mut tree, &twins));
                let found = after.structure.rebuild(sources, given, &mut shelf);
                let anew = after.structure.rebuild(sources, None, &mut Shelf::<f64>::new());
                let nodes = found.nodes.iter().zip(&anew.nodes);
                for ((own, expected), twin) in nodes.zip(&twins.twins) {
                    assert_eq!(own.values, expected.values);
                    assert_eq!((&own.words, own.exponent), (&expected.words, expected.exponent));
                    assert_eq!(own.pieces, expected.pieces);
                    *if twin.is_some() { &mut taken } else { &mut made } += own.entries();
                    pieces += if twin.is_some() { own.pieces.len() } else { 0 };
                }
                same += twins.same_below.iter().filter(|is| **is).count();
                (before, then, tree) = (after, now, found);
            }
            assert!(
                made > 0 && taken > 4 * made,
                "{name}: {taken} entries taken over, {made} made"
            );
            assert!(same > 0, "{name}: there are subtrees that stay the same");
            assert_eq!(pieces > 0, has_pieces, "{name}: {pieces} pieces were taken over");
        }
    }
}
