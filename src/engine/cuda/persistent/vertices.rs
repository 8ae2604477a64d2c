//! The tree on which messages are passed: the junction tree, with vertices inserted below cliques
//! that have many findings or children, so that no operation has too many factors.

use crate::graph::CliqueId;
use crate::network::{FactorId, VariableId};
use crate::propagation::CompiledNetwork;

/// Maximum number of messages from children that one operation multiplies. If a clique has more
/// children, they are grouped, and the messages of each group are multiplied at a new vertex
/// between the group and the clique. A work item can have at most 8 factors: this many messages,
/// the message from the parent, and `MAX_FINDINGS` findings. Tuned on the paper's networks; a
/// smaller value affects only speed.
const MAX_CHILDREN: usize = 5;

/// Maximum number of findings that an operation of a clique multiplies. If a clique has more, they
/// are multiplied at new vertices below the clique. The more findings one operation multiplies, the
/// sooner a product of small likelihoods underflows in single precision.
const MAX_FINDINGS: usize = 2;

// The kernel multiplies at most four pairs of factors, and a message and a finding are never in the
// same pair.
const _: () = assert!((MAX_CHILDREN + 1).div_ceil(2) + MAX_FINDINGS.div_ceil(2) <= 4);

// `interval` takes for granted that no product has more than six messages.
const _: () = assert!(MAX_CHILDREN < 6);

/// Maximum number of findings at a vertex that multiplies only findings. With a smaller value there
/// are more vertices. It must not be larger: [`interval`](super::interval) takes for granted that
/// no product has more than three findings.
const MAX_FINDINGS_ALONE: usize = 3;

const _: () = assert!(MAX_FINDINGS <= MAX_FINDINGS_ALONE && MAX_FINDINGS_ALONE <= 3);

/// The product of the network's factors that are assigned to one clique. A clique without factors
/// has no potential.
pub(super) struct Potential {
    pub factors: Vec<FactorId>,
    /// The variables of all factors, in ascending order.
    pub variables: Vec<VariableId>,
}

/// A vertex of the tree on which messages are passed: a clique, or a vertex inserted below one.
pub(super) struct Vertex {
    /// The potential of the clique, if it has factors: its index among all potentials.
    pub potential: Option<usize>,
    pub variables: Vec<VariableId>,
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    /// The variables shared with the parent.
    pub separator: Vec<VariableId>,
    /// The variables whose findings are entered here.
    pub findings: Vec<VariableId>,
    /// Whether the vertex was inserted only to multiply findings for its parent.
    pub has_only_findings: bool,
}

/// One vertex per clique, with its variables, neighbours and findings, and without a potential.
fn clique_vertices(compiled: &CompiledNetwork) -> Vec<Vertex> {
    let (network, tree) = (compiled.network(), compiled.tree());
    let vertex = |clique: CliqueId| Vertex {
        potential: None,
        variables: tree[clique].variables.clone(),
        parent: tree.parent(clique).map(|link| link.clique.index()),
        children: tree.children(clique).iter().map(|link| link.clique.index()).collect(),
        separator: tree
            .parent(clique)
            .map_or(vec![], |link| tree[link.separator].variables.clone()),
        findings: vec![],
        has_only_findings: false,
    };
    let mut vertices: Vec<Vertex> = tree.clique_ids().map(vertex).collect();
    for (variable, clique) in network.ids().zip(tree.smallest_cliques(network.variables().len())) {
        vertices[clique.index()].findings.push(variable);
    }
    vertices
}

/// The potentials of all cliques. Each clique of `vertices` that factors are assigned to gets the
/// number of its potential.
fn add_potentials(compiled: &CompiledNetwork, vertices: &mut [Vertex]) -> Vec<Potential> {
    let network = compiled.network();
    let mut potentials: Vec<Potential> = Vec::new();
    for factor in network.factor_ids() {
        let potential = &mut vertices[compiled.factor_home(factor).index()].potential;
        let number = *potential.get_or_insert(potentials.len());
        if number == potentials.len() {
            potentials.push(Potential { factors: vec![], variables: vec![] });
        }
        let Potential { factors, variables } = &mut potentials[number];
        factors.push(factor);
        variables.extend(network.factor(factor).scope());
        variables.sort_unstable();
        variables.dedup();
    }
    potentials
}

/// A new child of `clique`. The child has only `variables`, and shares all of them with the clique.
fn inserted(clique: usize, variables: &[VariableId]) -> Vertex {
    Vertex {
        potential: None,
        variables: variables.to_vec(),
        parent: Some(clique),
        children: vec![],
        separator: variables.to_vec(),
        findings: vec![],
        has_only_findings: false,
    }
}

/// If `clique` has more than [`MAX_FINDINGS`] findings, moves all of them to inserted children. The
/// message of such a child is the product of its findings.
fn limit_findings(vertices: &mut Vec<Vertex>, clique: usize) {
    if vertices[clique].findings.len() <= MAX_FINDINGS {
        return;
    }
    let findings = std::mem::take(&mut vertices[clique].findings);
    for group in findings.chunks(MAX_FINDINGS_ALONE) {
        let child = vertices.len();
        vertices[clique].children.push(child);
        let vertex = inserted(clique, group);
        vertices.push(Vertex { findings: group.to_vec(), has_only_findings: true, ..vertex });
    }
}

/// If `clique` has more than [`MAX_CHILDREN`] children, groups them and inserts a vertex between
/// each group and the clique. This is repeated until the clique has few enough children. A group of
/// a single child needs no vertex.
fn limit_children(vertices: &mut Vec<Vertex>, clique: usize) {
    let mut children = std::mem::take(&mut vertices[clique].children);
    // Children with the same separator are placed together, so that the product of their messages
    // is small.
    children.sort_by(|&a, &b| vertices[a].separator.cmp(&vertices[b].separator));
    while children.len() > MAX_CHILDREN {
        let mut above = Vec::new();
        for group in children.chunks(MAX_CHILDREN) {
            if let &[single] = group {
                above.push(single);
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
            let children = group.to_vec();
            vertices.push(Vertex { children, ..inserted(clique, &variables) });
            above.push(between);
        }
        children = above;
    }
    vertices[clique].children = children;
}

/// The vertices and the potentials. The cliques come first, with their own numbers, and then the
/// vertices that were inserted because a clique has many findings or children.
pub(super) fn vertices(compiled: &CompiledNetwork) -> (Vec<Vertex>, Vec<Potential>) {
    let mut vertices = clique_vertices(compiled);
    let potentials = add_potentials(compiled, &mut vertices);
    for clique in 0..vertices.len() {
        limit_findings(&mut vertices, clique);
        limit_children(&mut vertices, clique);
    }
    (vertices, potentials)
}
