//! Going on improving an elimination order for as long as one likes.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::MoralGraph;
use crate::graph::elimination_tree::EliminationTree;
use crate::graph::reduction::reduce;
use crate::graph::search::{ROUNDS, saturated};
use crate::network::VariableId;

/// The longest walk. Longer ones find no more, and would keep what they found to themselves too long.
const LONGEST: u64 = 8_000_000;

/// Improves `order`, which holds every variable of `graph` once, until `cancel` is set.
///
/// Walks as [`Triangulation::Auto`](crate::graph::Triangulation::Auto) does, without its limits.
/// Each order with a smaller sum of clique table entries than any before goes to `better` with
/// that sum; `tick` is called every few thousand steps, and may take its time: the search rests
/// meanwhile. The orders found depend on graph, order and seed alone.
///
/// Returns once nothing was found for a hundred times as many steps as it takes most pairs of vertices
/// to meet, and at once where taking simplicial vertices first leaves nothing to choose.
///
/// # Errors
/// [`Cancelled`] once `cancel` is set.
pub fn improve_order(
    graph: &MoralGraph,
    order: &[VariableId],
    seed: u64,
    cancel: &CancelToken,
    mut tick: impl FnMut(),
    mut better: impl FnMut(Vec<VariableId>, f64),
) -> Result<(), Cancelled> {
    let core = reduce(graph);
    let total = |order: &[VariableId]| EliminationTree::new(graph, order, |states| states).total();
    let mut least = total(order);
    let mut offer = |of_core: &[VariableId]| {
        let order = core.extend(of_core);
        let entries = total(&order);
        if entries < least {
            least = entries;
            better(order, entries);
        }
    };
    let mut best = core.restrict(order);
    // Taking the simplicial vertices first may be better already.
    offer(&best);
    if core.graph.len() < 2 {
        return Ok(());
    }
    let total_of_core =
        |order: &[VariableId]| EliminationTree::new(&core.graph, order, |states| states).total();
    let mut least_of_core = total_of_core(&best);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut rest = || {
        tick();
        false
    };
    let n = core.graph.len() as u64;
    let hopeless = 100 * saturated(n);
    let mut idle = 0;
    let mut length = (100 * n + 3 * n * n).clamp(20_000, LONGEST / 32);
    loop {
        for round in &ROUNDS {
            let found = round.walk(&core.graph, &best, length, &mut random, &mut rest, cancel)?;
            let entries = total_of_core(&found);
            idle += length;
            if entries < least_of_core {
                (least_of_core, best, idle) = (entries, found, 0);
                offer(&best);
            }
            if idle >= hopeless {
                return Ok(());
            }
        }
        length = (length * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eliminate_in_order;

    fn ids(indices: &[usize]) -> Vec<VariableId> {
        indices.iter().copied().map(VariableId::new).collect()
    }

    /// The four-cycle of [`super::super::reduction`], with a tail.
    fn cycle() -> MoralGraph {
        let edges = [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]];
        MoralGraph::new(vec![3, 3, 2, 3, 5], &edges.map(|edge| ids(&edge)))
    }

    #[test]
    fn better_orders_are_told_one_by_one_with_their_totals() {
        let graph = cycle();
        let mut found = Vec::new();
        let mut ticks = 0;
        let start = ids(&[0, 1, 2, 3, 4]);
        let better = |order, entries| found.push((order, entries));
        let tick = || ticks += 1;
        let ended = improve_order(&graph, &start, 7, &CancelToken::new(), tick, better);
        assert_eq!(ended, Ok(()), "a small graph is done with soon");
        assert!(ticks > 100);
        let (order, entries) = found.last().expect("the start is not the best");
        assert_eq!(*entries, 36.0 + 15.0);
        let elimination = eliminate_in_order(&graph, order, &CancelToken::new()).unwrap();
        assert_eq!(elimination.total_entries(&graph), 51);
        assert!(found.windows(2).all(|pair| pair[1].1 < pair[0].1));
        let cancel = CancelToken::new();
        let ended = improve_order(&graph, &start, 7, &cancel, || cancel.cancel(), |_, _| {});
        assert_eq!(ended, Err(Cancelled));
    }

    #[test]
    fn a_graph_that_is_chordal_already_comes_to_an_end() {
        let path = MoralGraph::new(vec![2, 3, 4], &[ids(&[0, 1]), ids(&[1, 2])]);
        let mut found = Vec::new();
        let ended = improve_order(
            &path,
            &ids(&[1, 0, 2]),
            1,
            &CancelToken::new(),
            || panic!("there is nothing to walk over"),
            |_, entries| found.push(entries),
        );
        assert_eq!((ended, found), (Ok(()), vec![18.0]));
    }
}
