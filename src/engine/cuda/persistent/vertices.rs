//! The tree on which messages are passed: the junction tree, with vertices inserted below cliques
//! that have many findings or children, so that no operation has too many factors.

use crate::lowering::Shape;
use crate::network::{FactorId, Network, VariableId};
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

impl Potential {
    /// The product of `factors`.
    fn new(network: &Network, factors: Vec<FactorId>) -> Self {
        let scopes = factors.iter().flat_map(|&factor| network.factor(factor).scope());
        let mut variables: Vec<VariableId> = scopes.copied().collect();
        variables.sort_unstable();
        variables.dedup();
        Self { factors, variables }
    }
}

/// A vertex of the tree on which messages are passed: a clique, or a vertex inserted below one.
pub(super) struct Vertex {
    /// The potential of the clique, if it has factors: its index among all potentials.
    pub potential: Option<usize>,
    pub variables: Vec<VariableId>,
    pub children: Vec<usize>,
    /// The variables shared with the parent.
    pub separator: Vec<VariableId>,
    /// The variables whose findings are entered here.
    pub findings: Vec<VariableId>,
    /// Whether the vertex was inserted only to multiply findings for its parent.
    pub has_only_findings: bool,
}

/// The tree on which messages are passed.
pub(super) struct Vertices {
    /// The vertices; the first is the root, and each comes before its children.
    pub all: Vec<Vertex>,
    pub potentials: Vec<Potential>,
    /// By clique of the compiled network: the number of its vertex.
    pub of_cliques: Vec<usize>,
}

impl Vertices {
    /// The cliques of `compiled`, and the vertices that are inserted because a clique has many
    /// findings or children.
    pub fn new(compiled: &CompiledNetwork) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let mut shape = Shape::of(compiled);
        let cliques = shape.cliques.len();
        // By clique before they are grouped, including the children that are added for findings:
        // the findings entered there.
        let mut findings = vec![Vec::new(); cliques];
        let numbers = shape.clique_numbers();
        for (variable, home) in network.ids().zip(tree.smallest_cliques(network.variables().len()))
        {
            findings[numbers[home.index()]].push(variable);
        }
        // If a clique has many findings, they are all moved to children that have nothing else. The
        // message of such a child is the product of its findings.
        for clique in 0..cliques {
            if findings[clique].len() > MAX_FINDINGS {
                for group in std::mem::take(&mut findings[clique]).chunks(MAX_FINDINGS_ALONE) {
                    shape.push(Some(clique), group.to_vec());
                    findings.push(group.to_vec());
                }
            }
        }
        let (mut shape, order) = shape.with_grouped_children(MAX_CHILDREN);
        let (mut separators, mut children) = (shape.separators(), shape.children());
        let mut potentials = Vec::new();
        let mut all = Vec::with_capacity(order.len());
        for (number, before) in order.into_iter().enumerate() {
            let factors = std::mem::take(&mut shape.factors[number]);
            let potential = (!factors.is_empty()).then_some(potentials.len());
            if potential.is_some() {
                potentials.push(Potential::new(network, factors));
            }
            all.push(Vertex {
                potential,
                variables: shape.cliques[number].clone(),
                children: std::mem::take(&mut children[number]),
                separator: std::mem::take(&mut separators[number]),
                has_only_findings: (cliques..findings.len()).contains(&before),
                findings: findings.get_mut(before).map(std::mem::take).unwrap_or_default(),
            });
        }
        Self { all, potentials, of_cliques: shape.clique_numbers() }
    }
}
