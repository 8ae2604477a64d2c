//! Improves an elimination order without a time limit, for the session's search in the background.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::MoralGraph;
use crate::graph::anneal::{MAX_VERTICES, Ordering, anneal};
use crate::graph::reduction::reduce;
use crate::graph::search::{SCHEDULES, saturation_steps};
use crate::network::VariableId;

/// Maximum number of steps of a walk. Longer walks did not find better orders, and a walk reports
/// its order only at its end.
const LONGEST_WALK: u64 = 8_000_000;

/// Improves `order`, an elimination order of `graph`, until `cancel` is set or a better order has
/// become unlikely.
///
/// Uses the walks of [`Triangulation::Auto`](crate::graph::Triangulation::Auto), without its limits
/// on time and steps. Calls `better` with each order that has a smaller sum of clique table entries
/// than all before it, and with that sum. Calls `tick` at least every few thousand steps and waits
/// until it returns. The orders found depend only on `graph`, `order` and `seed`.
///
/// A walk of 200 n + 100 n^2 steps exchanges most pairs of n vertices several times. Returns when
/// twenty times as many steps have brought no improvement. Simplicial vertices are removed first.
/// Returns at once if at most one vertex remains, or if so many remain that a walk would be too
/// slow.
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
    let mut least = Ordering::new(graph, order.to_vec()).entries;
    let mut offer = |of_core: &[VariableId]| {
        let found = Ordering::new(graph, core.extend(of_core));
        if found.entries < least {
            least = found.entries;
            better(found.order, found.entries);
        }
    };
    let mut best = Ordering::new(&core.graph, core.restrict(order));
    // Eliminating simplicial vertices first may already be an improvement.
    offer(&best.order);
    if core.graph.len() < 2 || core.graph.len() > MAX_VERTICES {
        return Ok(());
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut tick_and_continue = || {
        tick();
        false
    };
    let n = core.graph.len() as u64;
    let give_up_after = 20 * saturation_steps(n);
    let mut steps_since_best = 0;
    // Number of steps of the next walk. It doubles each time all schedules have had a walk.
    let mut length = (100 * n + 3 * n * n).clamp(20_000, LONGEST_WALK / 32);
    loop {
        for schedule in SCHEDULES {
            let found = anneal(
                &core.graph,
                &best.order,
                schedule,
                length,
                &mut random,
                &mut tick_and_continue,
                cancel,
            )?;
            steps_since_best += length;
            if found.entries < best.entries {
                (best, steps_since_best) = (found, 0);
                offer(&best.order);
            }
            if steps_since_best >= give_up_after {
                return Ok(());
            }
        }
        length = (length * 2).min(LONGEST_WALK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::eliminate_in_order;

    fn ids(indices: &[usize]) -> Vec<VariableId> {
        indices.iter().copied().map(VariableId::new).collect()
    }

    /// The four-cycle in the example of [`super::super::reduction`], with a further vertex.
    fn cycle() -> MoralGraph {
        let edges = [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]];
        MoralGraph::new(vec![3, 3, 2, 3, 5], &edges.map(|edge| ids(&edge)))
    }

    #[test]
    fn each_better_order_is_reported_with_its_total() {
        let graph = cycle();
        let mut found = Vec::new();
        let mut ticks = 0;
        let start = ids(&[0, 1, 2, 3, 4]);
        let better = |order, entries| found.push((order, entries));
        let tick = || ticks += 1;
        let ended = improve_order(&graph, &start, 7, &CancelToken::new(), tick, better);
        assert_eq!(ended, Ok(()), "the search of a small graph ends");
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
    fn the_search_of_a_chordal_graph_ends_at_once() {
        let path = MoralGraph::new(vec![2, 3, 4], &[ids(&[0, 1]), ids(&[1, 2])]);
        let mut found = Vec::new();
        let ended = improve_order(
            &path,
            &ids(&[1, 0, 2]),
            1,
            &CancelToken::new(),
            || panic!("a chordal graph needs no walk"),
            |_, entries| found.push(entries),
        );
        assert_eq!((ended, found), (Ok(()), vec![18.0]));
    }
}
