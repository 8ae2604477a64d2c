//! A propagation as operations of one form, each a sum of products; see `kernels/persistent.cu`.

use crate::graph::{CliqueId, Separator};
use crate::network::{FactorId, Network, VariableId};
use crate::potential::Scope;
use crate::propagation::{CompiledNetwork, Home};

/// Children of a clique whose messages are multiplied at once. Where there are more, groups of
/// them are multiplied by vertices between them and the clique.
const CHILDREN: usize = 5;

/// Findings that are multiplied at once in an operation of a clique, and in one of no clique: few enough
/// for the product of small likelihoods to be a number in single precision.
const FINDINGS: usize = 2;
const FINDINGS_ALONE: usize = 3;

/// One sum of products.
pub(super) struct Operation {
    /// The variables of the result, slowest index first.
    pub rows: Scope,
    /// The variables that are summed out.
    pub run: Scope,
    /// The potential that is a factor, by number.
    pub potential: Option<usize>,
    /// The messages that are factors: the operations that make them, and their variables.
    pub factors: Vec<(usize, Scope)>,
    /// The variables whose findings are factors.
    pub findings: Vec<VariableId>,
    pub result: Role,
}

/// What the result of an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A message: toward the root, away from it, or sums of parts on the way to another result.
    Message,
    /// A variable's posterior.
    Posterior(VariableId),
    /// P(e).
    Evidence,
}

/// The product of the network's factors that are in one clique; where there are none, there is no
/// potential.
pub(super) struct Potential {
    pub factors: Vec<FactorId>,
    pub variables: Vec<VariableId>,
}

/// All operations, each after those whose results it needs.
pub(super) struct Operations {
    pub all: Vec<Operation>,
    pub potentials: Vec<Potential>,
    /// For each separator the operations that make the messages up and down.
    pub of_separator: Vec<(usize, usize)>,
}

impl Operation {
    /// Entries of a factor with this scope that one row needs.
    fn entries_of_run(&self, factor: &Scope) -> usize {
        let run = self.run.variables().iter().zip(self.run.cardinalities());
        run.filter(|(variable, _)| factor.contains(**variable)).map(|(_, &states)| states).product()
    }

    /// Whether one row of this can be one item.
    pub fn is_short(&self, network: &Network, is_short: IsShort) -> bool {
        let parts = self.factors.iter().map(|(_, scope)| self.entries_of_run(scope));
        let findings = self.findings.iter().map(|&v| self.entries_of_run(&Scope::of(network, [v])));
        let parts: Vec<usize> = parts.chain(findings).collect();
        is_short(self.run.entries(), &parts)
    }

    /// Puts the variables of rows that few large factors have last, so that consecutive rows share
    /// entries of the others.
    pub fn order_rows(&mut self, network: &Network) {
        let weight = |variable: &VariableId| -> f64 {
            let with = self.factors.iter().filter(|(_, scope)| scope.contains(*variable));
            with.map(|(_, scope)| (1.0 + scope.entries() as f64).ln()).sum()
        };
        let mut rows = self.rows.variables().to_vec();
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        self.rows = Scope::of(network, rows);
    }
}

/// Whether a row with so many entries in its run, and so many entries of each factor, can be one item.
pub(super) type IsShort<'a> = &'a dyn Fn(usize, &[usize]) -> bool;

/// Adds `operation` to `all` and returns its number. A sum that is too long for an item is made in
/// two steps, of which the first leaves some of the variables.
fn push(
    all: &mut Vec<Operation>,
    network: &Network,
    mut operation: Operation,
    is_short: IsShort,
) -> usize {
    if !operation.is_short(network, is_short) {
        let run = operation.run.variables();
        let largest = run.iter().copied().max_by_key(|&v| network[v].cardinality());
        let mut parts: Vec<VariableId> = largest.into_iter().collect();
        let first_step = |parts: &[VariableId]| {
            let kept = operation.rows.variables().iter().chain(parts).copied();
            let rest = run.iter().copied().filter(|variable| !parts.contains(variable));
            Operation {
                rows: Scope::of(network, kept),
                run: Scope::of(network, rest),
                potential: operation.potential,
                factors: operation.factors.clone(),
                findings: operation.findings.clone(),
                result: Role::Message,
            }
        };
        let mut first = first_step(&parts);
        while !first.is_short(network, is_short) {
            if parts.len() == run.len() {
                break;
            }
            let rest = first.run.variables().iter().copied();
            parts.extend(rest.max_by_key(|&v| network[v].cardinality()));
            first = first_step(&parts);
        }
        let first = push(all, network, first, is_short);
        operation = Operation {
            run: Scope::of(network, parts),
            potential: None,
            factors: vec![(first, all[first].rows.clone())],
            findings: vec![],
            ..operation
        };
        return push(all, network, operation, is_short);
    }
    operation.order_rows(network);
    all.push(operation);
    all.len() - 1
}

/// A vertex of the tree on which messages run: a clique, or a place between cliques.
struct Vertex {
    potential: Option<usize>,
    variables: Vec<VariableId>,
    parent: Option<usize>,
    children: Vec<usize>,
    /// The variables shared with the parent.
    separator: Vec<VariableId>,
    /// The variables whose findings are entered here.
    findings: Vec<VariableId>,
    /// Whether it only has findings for its parent.
    is_alone: bool,
}

/// The junction tree with vertices put in where a clique has many findings or children; and the
/// potentials.
fn vertices(compiled: &CompiledNetwork) -> (Vec<Vertex>, Vec<Potential>) {
    let (network, tree) = (compiled.network(), compiled.tree());
    let of_clique = |clique: CliqueId| Vertex {
        potential: None,
        variables: tree[clique].variables.clone(),
        parent: tree.parent(clique).map(|link| link.clique.index()),
        children: tree.children(clique).iter().map(|link| link.clique.index()).collect(),
        separator: tree
            .parent(clique)
            .map_or(vec![], |link| tree[link.separator].variables.clone()),
        findings: vec![],
        is_alone: false,
    };
    let put_in = |clique: usize, variables: &[VariableId]| Vertex {
        potential: None,
        variables: variables.to_vec(),
        parent: Some(clique),
        children: vec![],
        separator: variables.to_vec(),
        findings: vec![],
        is_alone: false,
    };
    let mut vertices: Vec<Vertex> = tree.clique_ids().map(of_clique).collect();
    for (variable, clique) in network.ids().zip(tree.smallest_cliques(network.variables().len())) {
        vertices[clique.index()].findings.push(variable);
    }
    let mut potentials: Vec<Potential> = Vec::new();
    for factor in network.factor_ids() {
        let of = &mut vertices[compiled.factor_home(factor).index()].potential;
        let number = *of.get_or_insert(potentials.len());
        if number == potentials.len() {
            potentials.push(Potential { factors: vec![], variables: vec![] });
        }
        let Potential { factors, variables } = &mut potentials[number];
        factors.push(factor);
        variables.extend(network.factor(factor).scope());
        variables.sort_unstable();
        variables.dedup();
    }
    for clique in 0..tree.cliques().len() {
        if vertices[clique].findings.len() > FINDINGS {
            // Their products come as messages do.
            let findings = std::mem::take(&mut vertices[clique].findings);
            for group in findings.chunks(FINDINGS_ALONE) {
                let child = vertices.len();
                vertices[clique].children.push(child);
                let of_group = put_in(clique, group);
                vertices.push(Vertex { findings: group.to_vec(), is_alone: true, ..of_group });
            }
        }
        // Not beyond the cliques: what was put in has few children.
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
                let children = group.to_vec();
                vertices.push(Vertex { children, ..put_in(clique, &variables) });
                above.push(between);
            }
            children = above;
        }
        vertices[clique].children = children;
    }
    (vertices, potentials)
}

impl Operations {
    /// Operations of which `is_short` holds.
    pub fn new(compiled: &CompiledNetwork, is_short: IsShort) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let (vertices, potentials) = vertices(compiled);
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
            let mut messages: Vec<usize> = from_children.map(|child| up[child]).collect();
            if vertices[vertex].parent.is_some() && down[vertex] != usize::MAX {
                messages.push(down[vertex]);
            }
            messages
        };
        let mut add = |vertex: Option<usize>,
                       variables: &[VariableId],
                       rows: &[VariableId],
                       factors: Vec<usize>,
                       result| {
            let rest = variables.iter().copied().filter(|variable| !rows.contains(variable));
            let factors = factors.into_iter().map(|factor| (factor, all[factor].rows.clone()));
            let factors = factors.collect();
            let operation = Operation {
                rows: scope(rows),
                run: Scope::of(network, rest),
                potential: vertex.and_then(|vertex| vertices[vertex].potential),
                factors,
                findings: vertex.map_or(vec![], |vertex| vertices[vertex].findings.clone()),
                result,
            };
            push(&mut all, network, operation, is_short)
        };
        for &vertex in order.iter().skip(1).rev() {
            let Vertex { variables, separator, .. } = &vertices[vertex];
            let factors = inbox(vertex, None, &up, &down);
            up[vertex] = add(Some(vertex), variables, separator, factors, Role::Message);
        }
        for &vertex in &order {
            let Vertex { variables, children, .. } = &vertices[vertex];
            for &child in children {
                if vertices[child].is_alone {
                    continue;
                }
                let factors = inbox(vertex, Some(child), &up, &down);
                let separator = &vertices[child].separator;
                down[child] = add(Some(vertex), variables, separator, factors, Role::Message);
            }
        }
        // The product of both messages over the separator above `vertex`.
        let mut both = |vertex: usize, rows: &[VariableId], result| {
            add(None, &vertices[vertex].separator, rows, vec![up[vertex], down[vertex]], result)
        };
        let root = tree.root().index();
        let entries = |vertex: &usize| scope(&vertices[*vertex].separator).entries();
        let with_messages = vertices[root].children.iter().copied();
        let with_messages = with_messages.filter(|&child| down[child] != usize::MAX);
        let child_of_root = with_messages.min_by_key(entries);
        if let Some(child) = child_of_root {
            both(child, &[], Role::Evidence);
        }
        for variable in network.ids() {
            if let Home::Separator(edge) = compiled.variable_home(variable) {
                both(tree[edge].child.index(), &[variable], Role::Posterior(variable));
            }
        }
        if child_of_root.is_none() {
            let factors = inbox(root, None, &up, &down);
            add(Some(root), &vertices[root].variables, &[], factors, Role::Evidence);
        }
        for variable in network.ids() {
            if let Home::Clique(clique) = compiled.variable_home(variable) {
                let Vertex { variables, .. } = &vertices[clique.index()];
                let factors = inbox(clique.index(), None, &up, &down);
                add(
                    Some(clique.index()),
                    variables,
                    &[variable],
                    factors,
                    Role::Posterior(variable),
                );
            }
        }
        let (all, places) = super::shortcuts::add(all, network, is_short);
        let of_edge = |edge: &Separator| {
            let child = edge.child.index();
            (places[up[child]], places[down[child]])
        };
        let of_separator = tree.separators().iter().map(of_edge).collect();
        Self { all, potentials, of_separator }
    }
}
