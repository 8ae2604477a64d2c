use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;

/// Applies random rotations and compares each tree with one built from its order.
#[test]
fn a_rotated_tree_equals_the_tree_built_from_its_order() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    for n in [2, 5, 12, 70, 130] {
        let pairs = (0..2 * n).map(|_| {
            (0..2).map(|_| VariableId::new(random.random_range(0..n))).collect::<Vec<_>>()
        });
        let edges: Vec<Vec<VariableId>> = pairs.collect();
        let states = (0..n).map(|_| random.random_range(1..=4)).collect();
        let graph = MoralGraph::new(states, &edges);
        let order: Vec<VariableId> = (0..n).map(VariableId::new).collect();
        let mut tree = EliminationTree::new(&graph, &order);
        for _ in 0..300 {
            let v = random.random_range(0..n);
            let Some(p) = tree.parent(v) else { continue };
            let before = tree.clone();
            tree.rotate(v);
            assert_eq!(tree.parent(p), Some(v));
            assert_equal(&tree, &EliminationTree::new(&graph, &tree.order()));
            if random.random_bool(0.3) {
                tree.rotate(p);
                assert_equal(&tree, &before);
            }
        }
    }
}

fn assert_equal(one: &EliminationTree, other: &EliminationTree) {
    assert_eq!(one.residues, other.residues);
    assert_eq!(one.clusters, other.clusters);
    assert_eq!(one.total, other.total);
    let sorted = |tree: &EliminationTree| {
        let lists = tree.children.iter().cloned();
        lists
            .map(|mut list| {
                list.sort_unstable();
                list
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(sorted(one), sorted(other));
}

#[test]
fn logarithms_and_powers_are_precise() {
    let unit = f64::from(1 << ENTRY_PLACES);
    for number in (1..2000_u64).chain([99_999, 1 << 40, u64::MAX]) {
        for (log, expected) in
            [(log2(number), number as f64), (log2(number) / 2, (number as f64).sqrt())]
        {
            let error = (exp2(log) as f64 / unit - expected).abs();
            assert!(error <= 3e-8 * expected + 1.0 / unit, "{number}: {error}");
        }
    }
    assert!(exp2(u64::MAX) == exp2(MAX_LOG << LOG_PLACES), "larger powers are capped");
    assert!(exp2(u64::MAX) > exp2((MAX_LOG << LOG_PLACES) - (1 << LOG_PLACES)));
}

#[test]
fn the_total_is_the_sum_of_the_maximal_tables() {
    // A path a - b - c of 2, 3 and 5 states: the cliques have 6 and 15 entries.
    let ids = |indices: &[usize]| -> Vec<VariableId> {
        indices.iter().copied().map(VariableId::new).collect()
    };
    let graph = MoralGraph::new(vec![2, 3, 5], &[ids(&[0, 1]), ids(&[1, 2])]);
    let mut tree = EliminationTree::new(&graph, &ids(&[0, 1, 2]));
    let in_units = |total: u128| total as f64 / f64::from(1 << ENTRY_PLACES);
    assert!((in_units(tree.total()) - 21.0).abs() < 1e-5);
    tree.set_exponent(WHOLE / 2);
    assert!((in_units(tree.total()) - (6_f64.sqrt() + 15_f64.sqrt())).abs() < 1e-5);
    assert!((in_units(tree.whole_total()) - 21.0).abs() < 1e-5);
}
