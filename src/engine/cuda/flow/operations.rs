//! A propagation as operations of one form, each a sum of products; see `kernels/propagate.cu`.

use crate::graph::CliqueId;
use crate::network::VariableId;
use crate::potential::Scope;
use crate::propagation::{CompiledNetwork, Home};

/// Children of a clique whose messages are multiplied at once. Where there are more, groups of
/// them are multiplied by vertices between them and the clique.
const CHILDREN: usize = 6;

/// One sum of products.
pub(super) struct Operation {
    /// The variables of the result, slowest index first.
    pub rows: Scope,
    /// The variables that are summed out.
    pub run: Scope,
    /// The clique whose potential is a factor.
    pub clique: Option<CliqueId>,
    /// The messages that are factors: the operations that make them, and their variables.
    pub factors: Vec<(usize, Scope)>,
    pub result: Role,
}

/// What the result of an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A message toward the root.
    Up,
    /// A message away from the root.
    Down,
    /// A variable's posterior.
    Posterior(VariableId),
    /// P(e).
    Evidence,
}

/// All operations, each after those whose results it needs.
pub(super) struct Operations {
    pub all: Vec<Operation>,
    /// For each separator the operations that make the messages up and down.
    pub of_separator: Vec<(usize, usize)>,
    /// Operations without a potential among those that P(e) is made by.
    pub without_table: usize,
}

/// A vertex of the tree on which messages run: a clique, or a place between cliques.
struct Vertex {
    clique: Option<CliqueId>,
    variables: Vec<VariableId>,
    parent: Option<usize>,
    children: Vec<usize>,
    /// The variables shared with the parent.
    separator: Vec<VariableId>,
}

/// The junction tree with vertices put in where a clique has many children.
fn vertices(compiled: &CompiledNetwork) -> Vec<Vertex> {
    let tree = compiled.tree();
    let of_clique = |clique: CliqueId| Vertex {
        clique: Some(clique),
        variables: tree[clique].variables.clone(),
        parent: tree.parent(clique).map(|link| link.clique.index()),
        children: tree.children(clique).iter().map(|link| link.clique.index()).collect(),
        separator: tree
            .parent(clique)
            .map_or(vec![], |link| tree[link.separator].variables.clone()),
    };
    let mut vertices: Vec<Vertex> = tree.clique_ids().map(of_clique).collect();
    for clique in 0..vertices.len() {
        // Children that share the same variables come together, so that their product is small.
        let mut children = std::mem::take(&mut vertices[clique].children);
        children.sort_by(|&a, &b| vertices[a].separator.cmp(&vertices[b].separator));
        while children.len() > CHILDREN {
            let mut above = Vec::new();
            for group in children.chunks(CHILDREN) {
                if let &[alone] = group {
                    above.push(alone);
                    continue;
                }
                let between = vertices.len();
                let shared = group.iter().flat_map(|&child| vertices[child].separator.clone());
                let mut variables: Vec<VariableId> = shared.collect();
                variables.sort_unstable();
                variables.dedup();
                for &child in group {
                    vertices[child].parent = Some(between);
                }
                vertices.push(Vertex {
                    clique: None,
                    separator: variables.clone(),
                    variables,
                    parent: Some(clique),
                    children: group.to_vec(),
                });
                above.push(between);
            }
            children = above;
        }
        vertices[clique].children = children;
    }
    vertices
}

impl Operations {
    pub fn new(compiled: &CompiledNetwork) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let vertices = vertices(compiled);
        let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        // Every vertex after its parent.
        let mut order = vec![tree.root().index()];
        let mut next = 0;
        while let Some(&vertex) = order.get(next) {
            order.extend(&vertices[vertex].children);
            next += 1;
        }
        let mut all: Vec<Operation> = Vec::new();
        let mut up = vec![usize::MAX; vertices.len()];
        let mut down = vec![usize::MAX; vertices.len()];

        // The messages that `vertex` has, but for the one from `except`.
        let inbox = |vertex: usize, except: Option<usize>, up: &[usize], down: &[usize]| {
            let from_children = vertices[vertex].children.iter().copied();
            let from_children = from_children.filter(|&child| Some(child) != except);
            let mut messages: Vec<(usize, Scope)> =
                from_children.map(|child| (up[child], scope(&vertices[child].separator))).collect();
            if vertices[vertex].parent.is_some() && down[vertex] != usize::MAX {
                messages.push((down[vertex], scope(&vertices[vertex].separator)));
            }
            messages
        };
        let operation = |vertex: usize, rows: &[VariableId], factors, result| Operation {
            rows: scope(rows),
            run: {
                let rest = vertices[vertex].variables.iter().copied();
                Scope::of(network, rest.filter(|variable| !rows.contains(variable)))
            },
            clique: vertices[vertex].clique,
            factors,
            result,
        };
        for &vertex in order.iter().skip(1).rev() {
            let factors = inbox(vertex, None, &up, &down);
            up[vertex] = all.len();
            all.push(operation(vertex, &vertices[vertex].separator, factors, Role::Up));
        }
        for &vertex in &order {
            for &child in &vertices[vertex].children {
                let factors = inbox(vertex, Some(child), &up, &down);
                down[child] = all.len();
                all.push(operation(vertex, &vertices[child].separator, factors, Role::Down));
            }
        }
        // The product of both messages over the separator above `vertex`.
        let both = |vertex: usize, rows: &[VariableId], result| {
            let separator = &vertices[vertex].separator;
            let rest = separator.iter().copied().filter(|variable| !rows.contains(variable));
            Operation {
                rows: scope(rows),
                run: Scope::of(network, rest),
                clique: None,
                factors: vec![(up[vertex], scope(separator)), (down[vertex], scope(separator))],
                result,
            }
        };
        for variable in network.ids() {
            let (rows, role) = (&[variable], Role::Posterior(variable));
            all.push(match compiled.variable_home(variable) {
                Home::Separator(edge) => both(tree[edge].child.index(), rows, role),
                Home::Clique(clique) => {
                    let factors = inbox(clique.index(), None, &up, &down);
                    operation(clique.index(), rows, factors, role)
                }
            });
        }
        let root = tree.root().index();
        let entries = |vertex: &usize| scope(&vertices[*vertex].separator).entries();
        all.push(match vertices[root].children.iter().copied().min_by_key(entries) {
            Some(child) => both(child, &[], Role::Evidence),
            None => operation(root, &[], vec![], Role::Evidence),
        });
        // P(e) is made by all messages up, one down, from the root, and the last operation.
        let counts = |operation: &&Operation| matches!(operation.result, Role::Up | Role::Evidence);
        let without_table =
            all.iter().filter(counts).filter(|operation| operation.clique.is_none()).count();
        let of_separator = tree.separators().iter();
        let of_separator =
            of_separator.map(|edge| (up[edge.child.index()], down[edge.child.index()])).collect();
        Self { all, of_separator, without_table }
    }
}
