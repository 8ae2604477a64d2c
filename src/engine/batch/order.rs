//! The order in which the messages of a join tree are computed.

use super::join_tree::JoinTree;

/// The order of the messages. In both orders, a message comes after its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By level: messages of one level do not depend on one another, so they can be computed in
    /// parallel.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu uses it.
    Levels,
    /// Depth first: a message is soon followed by the messages that depend on it, while it is still
    /// in a cache.
    DepthFirst,
}

/// The computation of the message that `vertex` sends over `edge`. The vertex is end number `end`
/// of this edge.
pub struct Step {
    pub vertex: usize,
    pub edge: usize,
    pub end: usize,
    /// One above the highest level of the message's inputs, apart from messages from variables;
    /// zero if there are no other inputs.
    pub level: usize,
}

/// All messages except those from variables, in `order`.
pub fn steps(tree: &JoinTree<'_>, order: Order) -> Vec<Step> {
    let mut steps = by_dependency(tree);
    match order {
        Order::Levels => steps.sort_by_key(|step| (step.level, step.edge, step.end)),
        Order::DepthFirst => sort_depth_first(tree, &mut steps),
    }
    steps
}

/// All messages except those from variables, each after its inputs, with their levels.
fn by_dependency(tree: &JoinTree<'_>) -> Vec<Step> {
    // By edge and end: the vertex there; `usize::MAX` for a variable.
    let mut neighbour = vec![[usize::MAX; 2]; tree.edges.len()];
    for (number, vertex) in tree.vertices.iter().enumerate() {
        vertex.links.iter().for_each(|link| neighbour[link.edge][link.end] = number);
    }
    let mut steps: Vec<Step> = Vec::new();
    // By edge and end, for the message from that end: how many inputs are still missing, and the
    // level according to the inputs that are not missing.
    let mut missing = vec![[0; 2]; tree.edges.len()];
    let mut level = vec![[0; 2]; tree.edges.len()];
    for vertex in &tree.vertices {
        for link in &vertex.links {
            let others = vertex.links.iter().filter(|other| other.edge != link.edge);
            let others = others.filter(|o| neighbour[o.edge][1 - o.end] != usize::MAX);
            missing[link.edge][link.end] = others.count();
        }
    }
    let mut ready: Vec<(usize, usize)> = Vec::new();
    for vertex in &tree.vertices {
        let links = vertex.links.iter().map(|link| (link.edge, link.end));
        ready.extend(links.filter(|&(edge, end)| missing[edge][end] == 0));
    }
    while let Some((edge, end)) = ready.pop() {
        let vertex = neighbour[edge][end];
        let own = level[edge][end];
        steps.push(Step { vertex, edge, end, level: own });
        let to = neighbour[edge][1 - end];
        if to == usize::MAX {
            continue;
        }
        for link in tree.vertices[to].links.iter().filter(|link| link.edge != edge) {
            let level = &mut level[link.edge][link.end];
            *level = (*level).max(own + 1);
            let missing = &mut missing[link.edge][link.end];
            *missing -= 1;
            if *missing == 0 {
                ready.push((link.edge, link.end));
            }
        }
    }
    steps
}

/// Sorts `steps` by a depth-first numbering of the vertices: first the messages toward the first
/// vertex, in descending order of the numbers of their senders; then the messages away from the
/// first vertex, in ascending order of the numbers of their receivers. A message to a variable
/// comes after the message to its sender.
fn sort_depth_first(tree: &JoinTree<'_>, steps: &mut [Step]) {
    // By edge and end: the vertex there; `None` for a variable.
    let mut ends = vec![[None; 2]; tree.edges.len()];
    for (number, vertex) in tree.vertices.iter().enumerate() {
        vertex.links.iter().for_each(|link| ends[link.edge][link.end] = Some(number));
    }
    // By edge and end: the position in time of the message from that end.
    let mut time = vec![[0; 2]; tree.edges.len()];
    // The vertices to visit, each with the edge over which it is reached.
    let mut stack = vec![(0, None)];
    let mut visited = 0;
    let last = 2 * tree.vertices.len() + 1;
    while let Some((vertex, above)) = stack.pop() {
        visited += 2;
        for link in &tree.vertices[vertex].links {
            let own = &mut time[link.edge];
            if above == Some(link.edge) {
                (own[link.end], own[1 - link.end]) = (last - visited, last + visited);
            } else if let Some(neighbour) = ends[link.edge][1 - link.end] {
                stack.push((neighbour, Some(link.edge)));
            } else {
                // To a variable: after the message from above.
                own[link.end] = last + visited + 1;
            }
        }
    }
    steps.sort_by_key(|step| (time[step.edge][step.end], step.edge));
}
