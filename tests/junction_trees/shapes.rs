//! Trees of graphs made by hand: cycles, complete graphs, isolated variables, huge tables.

use cliquescope::graph::{Heuristic, TreeStatistics, Triangulation};

use crate::{checked, compile, cycle, graph, ids};

#[test]
fn a_cycle_of_length_n_gets_n_minus_3_fill_edges() {
    for length in 4..=8 {
        for heuristic in Heuristic::ALL {
            let method = Triangulation::By(heuristic);
            let tree = checked(&cycle(length), method, 0, "a cycle");
            assert_eq!(tree.cliques().len(), length - 2);
            assert!(tree.cliques().iter().all(|clique| clique.entries == 8));
            let fill = compile(&cycle(length), method, 0).0.fill_edges.len();
            assert_eq!(fill, length - 3);
        }
    }
}

#[test]
fn a_complete_graph_is_one_clique() {
    let all: Vec<usize> = (0..6).collect();
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[2, 3, 4, 1, 2, 2], &[&all]), method, 0, "a complete graph");
        assert_eq!(tree.cliques().len(), 1);
        assert_eq!(tree.cliques()[0].variables, ids(&all));
        assert_eq!(tree.cliques()[0].entries, 96);
        assert!(tree.separators().is_empty());
    }
}

#[test]
fn no_variables_give_one_empty_clique() {
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[], &[]), method, 0, "nothing");
        assert_eq!(tree.cliques().len(), 1);
        assert!(tree.cliques()[0].variables.is_empty());
        assert_eq!(tree.cliques()[0].entries, 1);
    }
}

#[test]
fn isolated_variables_form_a_star_around_one_of_them() {
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[2, 3, 4, 5], &[]), method, 0, "isolated variables");
        assert_eq!(tree.cliques().len(), 4);
        assert!(tree.depth() <= 1);
        assert!(tree.separators().iter().all(|s| s.variables.is_empty() && s.entries == 1));
    }
}

#[test]
fn components_are_joined_by_empty_separators() {
    // A chain of seven pairs, a triangle, a single variable.
    let families: [&[usize]; 8] =
        [&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 5], &[5, 6], &[6, 7], &[8, 9, 10]];
    let graph = graph(&[2; 12], &families);
    for method in Triangulation::ALL {
        let tree = checked(&graph, method, 0, "three parts");
        assert_eq!(tree.cliques().len(), 9);
        assert_eq!(tree.separators().iter().filter(|s| s.variables.is_empty()).count(), 2);
        assert_eq!(tree.depth(), 3, "the chain's own depth");
    }
}

#[test]
fn variables_with_one_state_weigh_nothing() {
    // A square. As a fill edge, the diagonal between the variables with one state costs nothing.
    let square = graph(&[1, 5, 1, 5], &[&[0, 1], &[1, 2], &[2, 3], &[3, 0]]);
    for heuristic in [Heuristic::MinWeight, Heuristic::WeightedMinFill] {
        let tree = checked(&square, Triangulation::By(heuristic), 0, "a square");
        assert!(tree.cliques().iter().all(|clique| clique.entries == 5));
        assert_eq!(tree.separators()[0].variables, ids(&[0, 2]));
    }
    for method in Triangulation::ALL {
        checked(&graph(&[1; 5], &[&[0, 1, 2], &[2, 3], &[3, 4], &[4, 0]]), method, 0, "ones");
    }
}

#[test]
fn tables_beyond_64_bits_saturate() {
    let all: Vec<usize> = (0..80).collect();
    for method in Triangulation::ALL {
        let tree = checked(&graph(&[2; 80], &[&all]), method, 0, "a huge table");
        assert_eq!(tree.cliques()[0].entries, u64::MAX);
        let statistics = TreeStatistics::of(&tree);
        assert_eq!(statistics.total_clique_entries, u64::MAX);
    }
    let wide = graph(&[usize::MAX; 6], &[&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 5], &[5, 0]]);
    for method in Triangulation::ALL {
        checked(&wide, method, 3, "huge cardinalities");
    }
}
