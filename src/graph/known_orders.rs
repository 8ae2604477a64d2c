//! Elimination orders found earlier.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::cancel::CancelToken;
use crate::graph::{MoralGraph, eliminate_in_order, predicates};
use crate::network::VariableId;

/// A collection of elimination orders: for each structure in it, the best order found so far.
///
/// A structure is the moral graph with the number of states of each variable, in file order; names
/// and probabilities do not matter. The JSON form is an object from the structure (a hash in
/// hexadecimal) to the order and the total entries of its clique tables. `networks/orders.json`
/// holds the orders for the shipped networks; the example `best_orders` writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KnownOrders(BTreeMap<String, Known>);

/// The best order found so far for a structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// Sum of the entries of the clique tables.
    entries: u64,
    order: Vec<VariableId>,
}

static SHIPPED: LazyLock<Arc<KnownOrders>> = LazyLock::new(|| {
    let text = include_str!("../../networks/orders.json");
    Arc::new(serde_json::from_str(text).expect("a test reads the shipped orders"))
});

impl KnownOrders {
    /// The orders for the shipped networks.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        Arc::clone(&SHIPPED)
    }

    /// A collection with the one `order` for `graph`, whose clique tables have `entries` entries in
    /// total.
    #[must_use]
    pub fn of(graph: &MoralGraph, order: &[VariableId], entries: u64) -> Self {
        let known = Known { entries, order: order.to_vec() };
        debug_assert_eq!(predicates::is_elimination_order(graph, &known.order), Ok(()));
        Self(BTreeMap::from([(structure(graph), known)]))
    }

    /// The order for the structure of `graph`.
    ///
    /// `None` if the structure is unknown. The order may come from a file, so it is checked: `None`
    /// also if it is not an order of this graph, or if its cliques do not have the recorded total.
    #[must_use]
    pub fn find(&self, graph: &MoralGraph) -> Option<Vec<VariableId>> {
        if !self.has_order_of(graph.len()) {
            return None;
        }
        let known = self.0.get(&structure(graph))?;
        predicates::is_elimination_order(graph, &known.order).ok()?;
        let elimination = eliminate_in_order(graph, &known.order, &CancelToken::new()).ok()?;
        (elimination.total_entries(graph) == known.entries).then(|| known.order.clone())
    }

    /// Whether an order of `variables` variables is known. Much faster than [`find`](Self::find),
    /// which looks at the whole graph.
    #[must_use]
    pub fn has_order_of(&self, variables: usize) -> bool {
        self.0.values().any(|known| known.order.len() == variables)
    }

    /// The recorded total entries of the order for the structure of `graph`. Unlike
    /// [`find`](Self::find), this checks nothing.
    #[must_use]
    pub fn entries(&self, graph: &MoralGraph) -> Option<u64> {
        self.0.get(&structure(graph)).map(|known| known.entries)
    }

    /// Adds `order` for `graph`, whose clique tables have `entries` entries in total, unless an
    /// order at least as good is known. Returns whether `order` was added. The order itself is
    /// kept, not just its cliques: another order with the same cliques can give another tree.
    pub fn insert(&mut self, graph: &MoralGraph, order: &[VariableId], entries: u64) -> bool {
        let is_better = self.find(graph).is_none() || self.0[&structure(graph)].entries > entries;
        if is_better {
            self.0.extend(Self::of(graph, order, entries).0);
        }
        is_better
    }

    /// Copies from `other` the orders for unknown structures, and the orders whose recorded totals
    /// are smaller than the known ones. Checks nothing.
    pub fn merge(&mut self, other: &Self) {
        for (structure, known) in &other.0 {
            if self.0.get(structure).is_none_or(|here| here.entries > known.entries) {
                self.0.insert(structure.clone(), known.clone());
            }
        }
    }

    /// The number of structures.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no order is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The 128-bit FNV-1a hash of the number of variables, their numbers of states, and the pairs of
/// neighbours in ascending order, in hexadecimal.
fn structure(graph: &MoralGraph) -> String {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    let mut add = |number: usize| {
        for byte in (number as u64).to_le_bytes() {
            hash = (hash ^ u128::from(byte)).wrapping_mul((1 << 88) + 0x13b);
        }
    };
    add(graph.len());
    graph.cardinalities().iter().for_each(|&states| add(states));
    for (a, b) in graph.edges() {
        add(a.index());
        add(b.index());
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(states: [usize; 4]) -> MoralGraph {
        let edge = |v: usize| vec![VariableId::new(v), VariableId::new((v + 1) % 4)];
        MoralGraph::new(states.to_vec(), &[edge(0), edge(1), edge(2), edge(3)])
    }

    fn insert(known: &mut KnownOrders, graph: &MoralGraph, order: [usize; 4]) -> bool {
        let order = order.map(VariableId::new);
        known.insert(graph, &order, total(graph, &order))
    }

    fn total(graph: &MoralGraph, order: &[VariableId]) -> u64 {
        eliminate_in_order(graph, order, &CancelToken::new()).unwrap().total_entries(graph)
    }

    #[test]
    fn the_better_of_two_orders_is_kept() {
        let graph = cycle([3, 3, 2, 3]);
        let mut known = KnownOrders::default();
        assert_eq!(known.find(&graph), None);
        assert!(insert(&mut known, &graph, [0, 1, 2, 3]));
        assert!(known.has_order_of(4) && !known.has_order_of(3));
        assert_eq!(total(&graph, &known.find(&graph).unwrap()), 45);
        assert!(insert(&mut known, &graph, [1, 0, 2, 3]), "it is smaller");
        assert!(!insert(&mut known, &graph, [0, 1, 2, 3]), "it is larger");
        assert_eq!(total(&graph, &known.find(&graph).unwrap()), 36);
        let mut other = KnownOrders::default();
        insert(&mut other, &graph, [0, 1, 2, 3]);
        let better = known.clone();
        known.merge(&other);
        other.merge(&better);
        assert_eq!((&known, &other), (&better, &better));
    }

    #[test]
    fn an_order_is_not_found_for_another_structure() {
        let mut known = KnownOrders::default();
        let graph = cycle([3, 3, 2, 3]);
        insert(&mut known, &graph, [0, 1, 2, 3]);
        assert_eq!(known.find(&cycle([3, 2, 3, 3])), None);
        let ids = |pair: [usize; 2]| pair.map(VariableId::new).to_vec();
        let path = MoralGraph::new(vec![3, 3, 2, 3], &[ids([0, 1]), ids([1, 2]), ids([2, 3])]);
        assert_eq!(known.find(&path), None);
    }

    #[test]
    fn orders_survive_serialisation_and_wrong_ones_are_not_found() {
        let graph = cycle([3, 3, 2, 3]);
        let mut known = KnownOrders::default();
        insert(&mut known, &graph, [1, 0, 2, 3]);
        let text = serde_json::to_string(&known).unwrap();
        let order = serde_json::to_string(&known.find(&graph).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<KnownOrders>(&text).unwrap(), known);
        for wrong in ["[]", "[0,1,2]", "[0,1,2,2]", "[0,1,2,4]", "[0,1,2,3]", "[0,1,2,3,0]"] {
            let text = text.replace(&order, wrong);
            let mut read: KnownOrders = serde_json::from_str(&text).unwrap();
            assert_eq!(read.find(&graph), None, "{wrong}");
            assert!(insert(&mut read, &graph, [0, 1, 2, 3]), "{wrong} is replaced");
            assert!(read.find(&graph).is_some());
        }
    }
}
