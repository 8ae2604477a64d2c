//! A propagation as operations of one form, each a sum of products; see `kernels/persistent.cu`.
//! [`Vertices`] is the tree on which the messages are passed.

pub(super) use super::vertices::Potential;
use super::vertices::{Vertex, Vertices};
use crate::graph::Separator;
use crate::network::{Network, VariableId};
use crate::potential::Scope;
use crate::propagation::{CompiledNetwork, Home};

/// One sum of products.
pub(super) struct Operation {
    /// The variables of the result, slowest index first. Each entry of the result is a *row* of the
    /// operation: the sum of one product for each entry of the row.
    pub rows: Scope,
    /// The variables that are summed out. Each combination of their states is an *entry* of a row.
    pub summed: Scope,
    /// The potential that is a factor, if any: its index in [`Operations::potentials`].
    pub potential: Option<usize>,
    /// The messages that are factors: for each the number of the operation that computes the
    /// message, and the scope of the message.
    pub factors: Vec<(usize, Scope)>,
    /// The variables whose findings are factors.
    pub findings: Vec<VariableId>,
    /// What the result is.
    pub result: Role,
}

/// What the result of an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A message up or down the tree, or an intermediate result.
    Message,
    /// A variable's posterior.
    Posterior(VariableId),
    /// P(e).
    PEvidence,
}

/// All operations of a propagation.
pub(super) struct Operations {
    /// The operations by number. Each operation comes after the operations whose results it reads.
    pub all: Vec<Operation>,
    pub potentials: Vec<Potential>,
    /// For each separator the numbers of the operations that compute the message up, and the
    /// message down.
    pub separator_messages: Vec<(usize, usize)>,
}

impl Operation {
    /// The number of entries that one row reads of a factor with the scope `factor`.
    fn entries_per_row(&self, factor: &Scope) -> usize {
        let summed = self.summed.variables().iter().zip(self.summed.cardinalities());
        summed
            .filter(|(variable, _)| factor.contains(**variable))
            .map(|(_, &states)| states)
            .product()
    }

    /// Whether one row of this operation fits into a work item.
    pub fn row_fits(&self, network: &Network, row_fits: RowFits) -> bool {
        let factors = self.factors.iter().map(|(_, scope)| self.entries_per_row(scope));
        let findings =
            self.findings.iter().map(|&v| self.entries_per_row(&Scope::of(network, [v])));
        let staged: Vec<usize> = factors.chain(findings).collect();
        row_fits(self.summed.entries(), &staged)
    }

    /// Sorts the variables of the rows: variables of many or large messages come first. Consecutive
    /// rows then share entries of these messages.
    pub fn order_rows(&mut self, network: &Network) {
        let weight = |variable: &VariableId| -> f64 {
            let messages = self.factors.iter().filter(|(_, scope)| scope.contains(*variable));
            messages.map(|(_, scope)| (1.0 + scope.entries() as f64).ln()).sum()
        };
        let mut rows = self.rows.variables().to_vec();
        rows.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        self.rows = Scope::of(network, rows);
    }
}

/// Returns whether a row fits into a work item. Arguments: the number of entries of the row, and
/// for each message and finding the number of its entries that the row reads.
pub(super) type RowFits<'a> = &'a (dyn Fn(usize, &[usize]) -> bool + Sync);

/// Adds `operation` to `all` and returns its number. If a single row of `operation` does not fit
/// into a work item, two operations are added in its place: the first keeps some of the summed
/// variables as rows, and the second sums over these variables. If a row of the second does not fit
/// either, the second is divided in the same way. The number of the last operation is returned.
fn push(
    all: &mut Vec<Operation>,
    network: &Network,
    mut operation: Operation,
    row_fits: RowFits,
) -> usize {
    if !operation.row_fits(network, row_fits) {
        let summed = operation.summed.variables();
        let largest = summed.iter().copied().max_by_key(|&v| network[v].cardinality());
        let mut kept: Vec<VariableId> = largest.into_iter().collect();
        let first_step = |kept: &[VariableId]| {
            let rows = operation.rows.variables().iter().chain(kept).copied();
            let rest = summed.iter().copied().filter(|variable| !kept.contains(variable));
            Operation {
                rows: Scope::of(network, rows),
                summed: Scope::of(network, rest),
                potential: operation.potential,
                factors: operation.factors.clone(),
                findings: operation.findings.clone(),
                result: Role::Message,
            }
        };
        let mut first = first_step(&kept);
        while !first.row_fits(network, row_fits) {
            if kept.len() == summed.len() {
                break;
            }
            let rest = first.summed.variables().iter().copied();
            kept.extend(rest.max_by_key(|&v| network[v].cardinality()));
            first = first_step(&kept);
        }
        let first = push(all, network, first, row_fits);
        operation = Operation {
            summed: Scope::of(network, kept),
            potential: None,
            factors: vec![(first, all[first].rows.clone())],
            findings: vec![],
            ..operation
        };
        return push(all, network, operation, row_fits);
    }
    operation.order_rows(network);
    all.push(operation);
    all.len() - 1
}

impl Operations {
    /// The operations of a propagation, divided so that every row satisfies `row_fits`.
    pub fn new(compiled: &CompiledNetwork, row_fits: RowFits) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let Vertices { all: vertices, potentials, of_cliques } = Vertices::new(compiled);
        let mut builder = Builder {
            network,
            row_fits,
            all: Vec::new(),
            up: vec![None; vertices.len()],
            down: vec![None; vertices.len()],
            vertices,
        };
        builder.add_messages();
        builder.add_results(compiled, &of_cliques);
        let Builder { all, up, down, .. } = builder;
        let (all, numbers) = super::shortcuts::add(all, network, row_fits);
        let messages = |edge: &Separator| {
            let child = of_cliques[edge.child.index()];
            let number = |message: Option<usize>| numbers[message.expect("both were added")];
            (number(up[child]), number(down[child]))
        };
        let separator_messages = tree.separators().iter().map(messages).collect();
        Self { all, potentials, separator_messages }
    }
}

/// Adds the operations of a propagation.
struct Builder<'a> {
    network: &'a Network,
    row_fits: RowFits<'a>,
    vertices: Vec<Vertex>,
    all: Vec<Operation>,
    /// For each vertex the message to its parent, once it has been added.
    up: Vec<Option<usize>>,
    /// For each vertex the message from its parent, once it has been added.
    down: Vec<Option<usize>>,
}

impl Builder<'_> {
    /// The messages to `vertex` that have been added: from its children except child `except`, and
    /// from its parent.
    fn inbox(&self, vertex: usize, except: Option<usize>) -> Vec<usize> {
        let children = self.vertices[vertex].children.iter().copied();
        let children = children.filter(|&child| Some(child) != except);
        children.filter_map(|child| self.up[child]).chain(self.down[vertex]).collect()
    }

    /// Adds an operation over `variables` that sums out all variables except `rows`. The operation
    /// multiplies the messages `factors`, and the potential and findings of `vertex`, if any.
    /// Returns the number of the operation.
    fn add(
        &mut self,
        vertex: Option<usize>,
        variables: &[VariableId],
        rows: &[VariableId],
        factors: Vec<usize>,
        result: Role,
    ) -> usize {
        let rest = variables.iter().copied().filter(|variable| !rows.contains(variable));
        let factors = factors.into_iter().map(|factor| (factor, self.all[factor].rows.clone()));
        let vertex = vertex.map(|vertex| &self.vertices[vertex]);
        let operation = Operation {
            rows: Scope::of(self.network, rows.iter().copied()),
            summed: Scope::of(self.network, rest),
            potential: vertex.and_then(|vertex| vertex.potential),
            factors: factors.collect(),
            findings: vertex.map_or(vec![], |vertex| vertex.findings.clone()),
            result,
        };
        push(&mut self.all, self.network, operation, self.row_fits)
    }

    /// Adds an operation over all variables of `vertex`. The operation multiplies all messages to
    /// the vertex except the message from child `except`.
    fn add_at_vertex(
        &mut self,
        vertex: usize,
        except: Option<usize>,
        rows: &[VariableId],
        result: Role,
    ) -> usize {
        let factors = self.inbox(vertex, except);
        let variables = self.vertices[vertex].variables.clone();
        self.add(Some(vertex), &variables, rows, factors, result)
    }

    /// Adds an operation that multiplies both messages over the separator between `vertex` and its
    /// parent, and sums out all variables except `rows`.
    fn add_at_separator(&mut self, vertex: usize, rows: &[VariableId], result: Role) {
        let factors = self.up[vertex].into_iter().chain(self.down[vertex]).collect();
        let variables = self.vertices[vertex].separator.clone();
        self.add(None, &variables, rows, factors, result);
    }

    /// Adds all messages: up, then down. A vertex that has only findings gets no message from its
    /// parent, because nothing would read it.
    fn add_messages(&mut self) {
        // Breadth first, so that messages away from the root that do not depend on one another have
        // consecutive numbers.
        let mut order = vec![0];
        let mut next = 0;
        while let Some(&vertex) = order.get(next) {
            order.extend(&self.vertices[vertex].children);
            next += 1;
        }
        for &vertex in order.iter().skip(1).rev() {
            let separator = self.vertices[vertex].separator.clone();
            self.up[vertex] = Some(self.add_at_vertex(vertex, None, &separator, Role::Message));
        }
        for &vertex in &order {
            for child in self.vertices[vertex].children.clone() {
                if self.vertices[child].has_only_findings {
                    continue;
                }
                let separator = self.vertices[child].separator.clone();
                let down = self.add_at_vertex(vertex, Some(child), &separator, Role::Message);
                self.down[child] = Some(down);
            }
        }
    }

    /// Adds P(e) and all posteriors. Each is computed at a separator if possible, otherwise at a
    /// clique. `of_cliques`: as [`Vertices::of_cliques`].
    fn add_results(&mut self, compiled: &CompiledNetwork, of_cliques: &[usize]) {
        let (network, tree) = (compiled.network(), compiled.tree());
        let separator_entries = |vertex: &usize| {
            let separator = &self.vertices[*vertex].separator;
            Scope::of(network, separator.iter().copied()).entries()
        };
        let children = self.vertices[0].children.iter().copied();
        let with_both_messages = children.filter(|&child| self.down[child].is_some());
        let smallest = with_both_messages.min_by_key(separator_entries);
        if let Some(child) = smallest {
            self.add_at_separator(child, &[], Role::PEvidence);
        }
        for variable in network.ids() {
            if let Home::Separator(edge) = compiled.variable_home(variable) {
                let child = of_cliques[tree[edge].child.index()];
                self.add_at_separator(child, &[variable], Role::Posterior(variable));
            }
        }
        if smallest.is_none() {
            self.add_at_vertex(0, None, &[], Role::PEvidence);
        }
        for variable in network.ids() {
            if let Home::Clique(clique) = compiled.variable_home(variable) {
                let posterior = Role::Posterior(variable);
                self.add_at_vertex(of_cliques[clique.index()], None, &[variable], posterior);
            }
        }
    }
}
