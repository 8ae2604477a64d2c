//! Limits: the stack, the memory limit, and cancellation.

use cliquescope::cancel::{CancelToken, Cancelled};
use cliquescope::graph::{
    Heuristic, MoralGraph, Triangulation, TriangulationError, TriangulationOptions, triangulate,
};
use cliquescope::network::VariableId;

use crate::{checked, cycle, ids, options};

/// Runs `test` on a thread whose stack is too small for recursion over a long chain.
fn on_small_stack(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(256 << 10);
        builder.spawn_scoped(scope, test).unwrap().join().unwrap();
    });
}

#[test]
fn long_chains_large_stars_and_many_isolated_variables_compile_by_every_method() {
    const VARIABLES: usize = 100_000;
    let edges = |other: fn(usize) -> usize| {
        let pairs = (1..VARIABLES).map(|v| ids(&[other(v), v]));
        MoralGraph::new(vec![2; VARIABLES], &pairs.collect::<Vec<_>>())
    };
    let graphs = [
        ("chain", edges(|v| v - 1), VARIABLES - 1),
        ("star", edges(|_| 0), VARIABLES - 1),
        ("isolated", MoralGraph::new(vec![2; VARIABLES], &[]), VARIABLES),
    ];
    on_small_stack(|| {
        for (what, graph, cliques) in &graphs {
            for method in Triangulation::ALL {
                let tree = checked(graph, method, 0, what);
                assert_eq!(tree.cliques().len(), *cliques, "{what} by {}", method.name());
            }
        }
    });
}

#[test]
fn a_long_chain_with_a_variable_in_all_cliques_compiles() {
    const VARIABLES: usize = 50_000;
    // Takes minutes if the time grows with the square of the length. The tables of the cliques have
    // 8, 12 or 16 entries.
    let states = (0..VARIABLES).map(|v| 2 + v % 2 * (v % 3)).collect();
    let families: Vec<Vec<VariableId>> = (2..VARIABLES).map(|v| ids(&[0, v - 1, v])).collect();
    let graph = MoralGraph::new(states, &families);
    on_small_stack(|| {
        let tree = checked(&graph, Triangulation::By(Heuristic::MinFill), 0, "hub");
        assert_eq!(tree.cliques().len(), VARIABLES - 2);
    });
}

#[test]
fn a_graph_that_needs_more_memory_than_the_limit_is_refused() {
    // The complete bipartite graph of 100 and 100 variables, which needs fill edges.
    let edges: Vec<Vec<VariableId>> =
        (0..100).flat_map(|a| (100..200).map(move |b| ids(&[a, b]))).collect();
    let graph = MoralGraph::new(vec![2; 200], &edges);
    let refusal = |method, max_bytes| {
        let options = TriangulationOptions { max_bytes, ..options(method, 0) };
        match triangulate(&graph, &options, &CancelToken::new()) {
            Err(TriangulationError::TooLarge(refusal)) => Some(refusal),
            outcome => {
                outcome.expect("not cancelled");
                None
            }
        }
    };
    for method in Triangulation::ALL {
        let at_once = refusal(method, 10_000).expect("the graph alone is larger");
        assert_eq!((at_once.variables, at_once.edges), (200, 10_000));
        assert!(at_once.bytes > 10_000 && at_once.limit == 10_000, "{at_once:?}");
        let later = refusal(method, at_once.bytes).expect("there is no room for a fill edge");
        assert!(later.edges > 10_000, "{later:?}");
        assert_eq!(refusal(method, 10_000_000), None, "{}", method.name());
        let said = later.to_string();
        assert!(
            said.starts_with("too large to triangulate: 200 variables and at least 10,"),
            "{said}"
        );
    }
}

#[test]
fn cancelled_work_stops() {
    let cancel = CancelToken::new();
    cancel.cancel();
    for method in Triangulation::ALL {
        let outcome = triangulate(&cycle(5), &options(method, 0), &cancel);
        assert_eq!(outcome.unwrap_err(), Cancelled.into(), "{}", method.name());
    }
}
