//! Tests of all three arrangements.

use super::*;

/// A tree of `n` vertices in which `parent(v)`, smaller than `v`, is the parent of `v`.
fn tree_of(n: usize, parent: impl Fn(usize) -> usize) -> TreeShape {
    let mut children = vec![Vec::new(); n];
    (1..n).for_each(|vertex| children[parent(vertex)].push(vertex));
    TreeShape::new(children, 0)
}

/// Trees of many shapes: very small ones, a chain, a star, a heap, and some irregular ones.
fn trees() -> Vec<TreeShape> {
    let mut trees = vec![
        tree_of(1, |_| 0),
        tree_of(2, |_| 0),
        tree_of(60, |v| v - 1),
        tree_of(60, |_| 0),
        tree_of(80, |v| if v < 40 { v - 1 } else { v - 40 }),
        tree_of(90, |v| if v < 50 { 0 } else { v - v % 7 - 1 }),
        tree_of(127, |v| (v - 1) / 2),
    ];
    for seed in 1..6_usize {
        let spread = 3 * seed;
        trees.push(tree_of(300, |v| v - 1 - (v * 7919 + seed * 104_729) % v.min(spread)));
    }
    trees
}

fn mixed_sizes(n: usize) -> Vec<Vec2> {
    (0..n).map(|v| Vec2::new(30.0 + (v % 5) as f32 * 9.0, 20.0 + (v % 3) as f32 * 4.0)).collect()
}

fn drawings() -> impl Iterator<Item = (TreeShape, Vec<Vec2>, TreeDrawing)> {
    trees().into_iter().flat_map(|tree| {
        [Arrangement::TopDown, Arrangement::LeftToRight, Arrangement::Packed].map(|arrangement| {
            let sizes = mixed_sizes(tree.children.len());
            let drawing = draw_arranged(&tree, &sizes, arrangement);
            (tree.clone(), sizes, drawing)
        })
    })
}

#[test]
fn no_two_vertices_overlap() {
    for (_, sizes, drawing) in drawings() {
        let boxes: Vec<Rect> = (0..sizes.len())
            .map(|v| Rect::from_center_size(drawing.centres[v], sizes[v]).shrink(0.01))
            .collect();
        for (index, a) in boxes.iter().enumerate() {
            assert!(a.min.is_finite() && a.max.is_finite(), "{:?}", drawing.arrangement);
            for b in &boxes[..index] {
                assert!(!a.intersects(*b), "{:?}: {a:?} and {b:?}", drawing.arrangement);
            }
            assert!(drawing.bounds.expand(0.1).contains_rect(*a));
        }
    }
}

#[test]
fn a_parent_drawn_top_down_is_above_the_middle_of_its_first_and_last_child() {
    for (tree, _, drawing) in
        drawings().filter(|(.., drawing)| drawing.arrangement == Arrangement::TopDown)
    {
        for (vertex, children) in tree.children.iter().enumerate() {
            let (Some(&first), Some(&last)) = (children.first(), children.last()) else {
                continue;
            };
            let middle = (drawing.centres[first].x + drawing.centres[last].x) / 2.0;
            assert!((drawing.centres[vertex].x - middle).abs() < 0.05);
            assert!(drawing.centres[first].y > drawing.centres[vertex].y);
        }
    }
}

#[test]
fn children_keep_their_order_and_small_subtrees_are_spread_between_large_ones() {
    // Two deep children with three leaves between them.
    let mut children =
        vec![vec![1, 2, 3, 4, 5], vec![6, 7, 8], vec![], vec![], vec![], vec![9, 10, 11]];
    children.resize(12, Vec::new());
    let tree = TreeShape::new(children, 0);
    let drawing = draw_arranged(&tree, &[Vec2::new(20.0, 10.0); 12], Arrangement::TopDown);
    let x: Vec<f32> = (1..=5).map(|v| drawing.centres[v].x).collect();
    assert!(x.windows(2).all(|pair| pair[0] < pair[1]));
    assert!((x[2] - drawing.centres[0].x).abs() < 0.01, "the middle leaf is in the middle");
    assert!(((x[1] - x[0]) - (x[4] - x[3])).abs() < 0.01, "left and right are mirror images");
}

#[test]
fn the_arrangement_suits_the_shape_of_the_tree() {
    let arrangement = |tree: &TreeShape| {
        draw(tree, &vec![Vec2::new(80.0, 45.0); tree.children.len()]).arrangement
    };
    assert_eq!(arrangement(&tree_of(7, |v| (v - 1) / 2)), Arrangement::TopDown);
    assert_eq!(arrangement(&tree_of(3, |v| v - 1)), Arrangement::LeftToRight);
    for tree in [tree_of(800, |v| (v - 1) / 2), tree_of(60, |v| v - 1), tree_of(100, |_| 0)] {
        assert_eq!(arrangement(&tree), Arrangement::Packed);
    }
}

/// Sizes of the panes in which a fitted drawing is checked, in points: the room of the junction
/// tree in a window of 1280x800 and of 1920x1080, without the margin.
const PANES: [Vec2; 2] = [Vec2::new(640.0, 420.0), Vec2::new(1180.0, 640.0)];

#[test]
fn a_drawing_uses_half_of_the_width_of_the_pane_and_its_boxes_can_be_seen() {
    let chain_with_leaves = tree_of(99, |v| if v < 50 { v - 1 } else { v - 50 });
    let arms = tree_of(200, |v| if v % 100 == 0 { 0 } else { v - 1 });
    let mut trees = trees();
    trees.extend([chain_with_leaves, arms, tree_of(1000, |_| 0), tree_of(1000, |v| v - 1)]);
    trees.push(tree_of(1000, |v| if v % 3 == 0 { v.saturating_sub(3) } else { v - v % 3 }));
    trees.push(tree_of(999, |v| (v - 1) / 2));
    for seed in 1..6_usize {
        trees.push(tree_of(1000, |v| v - 1 - (v * 7919 + seed * 104_729) % v.min(40 * seed)));
    }
    for n in 1..12 {
        trees.push(tree_of(n, |v| v - 1));
        trees.push(tree_of(n, |_| 0));
    }
    for tree in trees {
        // The boxes resemble the boxes of a junction tree: they are nearly square in large trees,
        // and the boxes of larger tables are larger.
        let n = tree.children.len();
        let base = if n > 60 { Vec2::new(56.0, 40.0) } else { Vec2::new(78.0, 40.0) };
        let sizes: Vec<Vec2> = (0..n).map(|v| base * (1.0 + (v % 4) as f32 / 3.0).sqrt()).collect();
        let drawing = draw(&tree, &sizes);
        for pane in PANES {
            let zoom = (pane / drawing.bounds.size()).min_elem();
            let tried = format!("{} {:?} {:?}", sizes.len(), drawing.arrangement, drawing.bounds);
            assert!(drawing.bounds.width() * zoom >= pane.x / 2.0, "{tried}");
            // The smallest box is 40 points high at zoom 1, and must be at least 4 points high on
            // screen.
            assert!(40.0 * zoom >= 4.0, "{tried}");
        }
    }
}

#[test]
fn the_same_tree_is_always_drawn_the_same_way() {
    for tree in trees() {
        let sizes = mixed_sizes(tree.children.len());
        let (one, two) = (draw(&tree, &sizes), draw(&tree, &sizes));
        assert_eq!((one.centres, one.links), (two.centres, two.links));
    }
}

#[test]
fn a_line_connects_a_child_with_its_parent_without_passing_through_boxes() {
    for (tree, sizes, drawing) in drawings() {
        let boxes: Vec<Rect> = (0..sizes.len())
            .map(|v| Rect::from_center_size(drawing.centres[v], sizes[v]))
            .collect();
        for (vertex, children) in tree.children.iter().enumerate() {
            for &child in children {
                let link = &drawing.links[child];
                assert!(boxes[vertex].distance_to_pos(link[0]) < 0.6);
                assert!(boxes[child].distance_to_pos(link[link.len() - 1]) < 1.1);
                let hit = |point: &Pos2| boxes.iter().any(|b| b.shrink(0.1).contains(*point));
                assert!(!link.iter().any(hit), "{:?}", drawing.arrangement);
            }
        }
    }
}

#[test]
fn a_chain_of_ten_thousand_vertices_does_not_overflow_the_stack() {
    let tree = tree_of(10_000, |v| v - 1);
    let drawing = draw(&tree, &vec![Vec2::new(40.0, 25.0); 10_000]);
    assert!(drawing.bounds.is_finite());
}

#[test]
fn chains_and_stars_of_100_000_vertices_are_drawn_on_a_small_stack() {
    const VERTICES: usize = 100_000;
    let chain = (1..=VERTICES).map(|v| if v < VERTICES { vec![v] } else { vec![] }).collect();
    let star = (0..VERTICES).map(|v| if v == 0 { (1..VERTICES).collect() } else { vec![] });
    let shapes = [TreeShape::new(chain, 0), TreeShape::new(star.collect(), 0)];
    let sizes = vec![Vec2::new(40.0, 20.0); VERTICES];
    std::thread::scope(|scope| {
        let test = || {
            for shape in &shapes {
                let drawing = draw(shape, &sizes);
                assert!(drawing.bounds.is_finite() && drawing.bounds.area() > 8e7);
            }
        };
        let builder = std::thread::Builder::new().stack_size(256 << 10);
        builder.spawn_scoped(scope, test).unwrap().join().unwrap();
    });
}
