//! Tests of the predicates, on small graphs and trees that satisfy or violate them.

use super::*;
use crate::graph::{Separator, eliminate_in_order};

fn ids(variables: &[usize]) -> Vec<VariableId> {
    variables.iter().copied().map(VariableId::new).collect()
}

/// A path of `cliques` over binary variables, rooted at the first, with its separators.
fn path(cliques: &[&[usize]], separators: &[&[usize]]) -> JunctionTree {
    let entries = |variables: &[usize]| 1 << variables.len();
    JunctionTree::new(
        cliques.iter().map(|c| Clique { variables: ids(c), entries: entries(c) }).collect(),
        separators
            .iter()
            .enumerate()
            .map(|(index, s)| Separator {
                variables: ids(s),
                entries: entries(s),
                parent: CliqueId::new(index),
                child: CliqueId::new(index + 1),
            })
            .collect(),
        CliqueId::new(0),
    )
}

/// The square 0-1-2-3 with variable 4 attached, and the diagonal that makes it chordal.
fn square() -> (MoralGraph, Vec<(VariableId, VariableId)>) {
    let families = [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]].map(|edge| ids(&edge));
    let diagonal = (VariableId::new(0), VariableId::new(2));
    (MoralGraph::new(vec![2; 5], &families), vec![diagonal])
}

fn message(verdict: Verdict) -> String {
    verdict.unwrap_err().to_string()
}

#[test]
fn a_junction_tree_is_accepted() {
    let (graph, fill) = square();
    let tree = path(&[&[0, 1, 2], &[0, 2, 3], &[3, 4]], &[&[0, 2], &[3]]);
    assert_eq!(is_junction_tree(&graph, &fill, &tree), Ok(()));
}

#[test]
fn a_square_is_not_chordal() {
    let (graph, fill) = square();
    let said = message(is_chordal(&graph, &[]));
    assert!(said.contains("no chord"), "{said}");
    assert_eq!(is_chordal(&graph, &fill), Ok(()));
}

#[test]
fn a_graph_is_chordal_if_and_only_if_some_order_adds_no_edge() {
    // All graphs over five vertices, against all orders.
    let pairs: Vec<(usize, usize)> = (0..5).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
    let mut chordal = 0;
    for graph in 0..1_usize << pairs.len() {
        let edges: Vec<Vec<VariableId>> = (0..pairs.len())
            .filter(|bit| graph >> bit & 1 == 1)
            .map(|bit| ids(&[pairs[bit].0, pairs[bit].1]))
            .collect();
        let graph = MoralGraph::new(vec![2; 5], &edges);
        let perfect = (0..5_usize.pow(5)).any(|code| {
            let order: Vec<usize> = (0..5).map(|place| code / 5_usize.pow(place) % 5).collect();
            (0..5).all(|v| order.contains(&v))
                && eliminate_in_order(&graph, &ids(&order), &Default::default())
                    .is_ok_and(|elimination| elimination.fill_edges.is_empty())
        });
        assert_eq!(is_chordal(&graph, &[]).is_ok(), perfect, "{edges:?}");
        chordal += usize::from(perfect);
    }
    assert_eq!(chordal, 822, "labelled chordal graphs on five vertices");
}

#[test]
fn a_clique_with_an_edge_missing_is_named() {
    let (graph, fill) = square();
    let tree = path(&[&[0, 1, 2], &[0, 2, 3, 4]], &[&[0, 2]]);
    let said = message(cliques_are_complete(&graph, &fill, &tree));
    assert_eq!(said, "clique 1 holds variables 0 and 4, which are not neighbours");
}

#[test]
fn a_clique_inside_another_is_named() {
    let tree = path(&[&[0, 1, 2], &[3, 4], &[0, 2]], &[&[], &[]]);
    let said = message(cliques_are_maximal(&tree));
    assert_eq!(said, "clique 2 is contained in clique 0");
    let with_nothing = path(&[&[0], &[]], &[&[]]);
    let said = message(cliques_are_maximal(&with_nothing));
    assert_eq!(said, "clique 1 is contained in clique 0");
}

#[test]
fn an_edge_or_a_variable_outside_all_cliques_is_named() {
    let (graph, fill) = square();
    let tree = path(&[&[0, 1, 2], &[0, 2], &[3, 4]], &[&[0, 2], &[]]);
    let said = message(edges_are_covered(&graph, &fill, &tree));
    assert_eq!(said, "no clique holds variables 0, 3");
    let tree = path(&[&[0, 1, 2, 3]], &[]);
    let said = message(edges_are_covered(&graph, &fill, &tree));
    assert_eq!(said, "no clique holds variable 4");
    let said = message(families_are_covered([ids(&[2, 7])], &tree));
    assert_eq!(said, "no clique holds variables 2, 7");
}

#[test]
fn a_gap_between_two_cliques_of_a_variable_is_named() {
    let tree = path(&[&[0, 1], &[1, 2], &[0, 2]], &[&[1], &[2]]);
    let said = message(running_intersection_holds(3, &tree));
    assert_eq!(said, "variable 0 is in cliques 0 and 2 but not in all between them");
}

#[test]
fn a_separator_that_is_not_the_intersection_is_named() {
    let tree = path(&[&[0, 1], &[1, 2], &[2, 3]], &[&[1], &[]]);
    let said = message(separators_are_intersections(&tree));
    assert_eq!(said, "separator 1 holds variables (none), but its ends share 2");
}

#[test]
fn wrong_table_sizes_are_named() {
    let tree = path(&[&[0, 1], &[1, 2]], &[&[1]]);
    assert_eq!(entries_are_products(&[2, 2, 2], &tree), Ok(()));
    let said = message(entries_are_products(&[2, 2, 3], &tree));
    assert_eq!(said, "clique 1 claims 4 entries, but has 6");
}
