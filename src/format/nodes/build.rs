//! From nodes to a network: looks up names, fills tables and collects warnings.

use std::collections::{HashMap, HashSet};

use super::labelled::LabelledTable;
use super::{Definition, IfMissing, Node, Number, Role};
use crate::allocate;
use crate::format::expand;
use crate::format::limits;
use crate::format::rows::{RowAudit, ZeroRow};
use crate::format::source::SourceText;
use crate::format::validate;
use crate::format::{FormatError, Warning};
use crate::network::{Annotation, Annotations, Cpt, Network, Scale, Variable, VariableId};
use crate::numbers::counted;

/// Builds the network called `name` from its `nodes`; `note` is the annotation of the network.
///
/// # Errors
/// The first mistake, with its place in `source`.
pub(in crate::format) fn network(
    source: SourceText<'_>,
    name: &str,
    note: Annotation,
    nodes: &[Node<'_>],
    if_missing: IfMissing,
) -> Result<(Network, Vec<Warning>), FormatError> {
    let mut builder = Builder::new(source, nodes)?;
    let mut cpts = Vec::with_capacity(builder.variables.len());
    for &index in &builder.variables.clone() {
        allocate::check();
        cpts.push(builder.cpt(index, if_missing)?);
    }
    let variables = builder.variables.iter().map(|&index| {
        let node = &nodes[index];
        Variable::new(node.name.text.as_ref(), node.states.iter().map(|state| state.text.as_ref()))
    });
    let offset_of = |name: &str| builder.by_name.get(name).map_or(0, |&index| nodes[index].offset);
    let network =
        validate::network(source, name, variables.collect(), cpts, &builder.audit, offset_of)?;
    let mut annotations = Annotations::default();
    annotations.network = note;
    for (variable, &index) in network.ids().zip(&builder.variables) {
        if !nodes[index].note.is_empty() {
            *annotations.of_mut(variable) = nodes[index].note.clone();
        }
    }
    Ok((network.with_annotations(annotations), builder.warnings()))
}

/// Builds the network from the nodes of a file.
struct Builder<'n, 's> {
    source: SourceText<'n>,
    nodes: &'n [Node<'s>],
    /// The index of each node, by name.
    by_name: HashMap<&'n str, usize>,
    /// For each variable, the index of its node.
    variables: Vec<usize>,
    /// For each node, its variable; `None` if the node is left out.
    variable_of: Vec<Option<VariableId>>,
    audit: RowAudit,
    /// The number of entries of all tables so far.
    entries: usize,
    /// The variables that got a uniform distribution because the file has no table for them.
    without_table: Vec<String>,
    /// The number of rows that the file leaves undefined, and the byte offset of the first.
    undefined: Option<(usize, usize)>,
}

impl<'n, 's> Builder<'n, 's> {
    /// Numbers the variables, and checks the names of nodes and the labels of their states.
    fn new(source: SourceText<'n>, nodes: &'n [Node<'s>]) -> Result<Self, FormatError> {
        let mut by_name = HashMap::with_capacity(nodes.len());
        let mut variables = Vec::with_capacity(nodes.len());
        let mut variable_of = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let name = node.name.text.as_ref();
            if let Some(first) = by_name.insert(name, index) {
                let line = source.line(nodes[first].name.offset);
                let message =
                    format!("'{name}' is declared a second time; the first is on line {line}");
                return Err(source.error(node.name.offset, message));
            }
            if !matches!(node.role, Role::LeftOut(_)) {
                check_states(source, node)?;
                variable_of[index] = Some(VariableId::new(variables.len()));
                variables.push(index);
            }
        }
        Ok(Self {
            source,
            nodes,
            by_name,
            variables,
            variable_of,
            audit: RowAudit::default(),
            entries: 0,
            without_table: Vec::new(),
            undefined: None,
        })
    }

    /// The table of the node with this `index`, which must be a variable.
    fn cpt(&mut self, index: usize, if_missing: IfMissing) -> Result<Cpt, FormatError> {
        let node = &self.nodes[index];
        let child = self.variable_of[index].expect("the node is a variable");
        if node.role == Role::Decision {
            // The parents of a decision are the variables known when deciding. A uniform
            // distribution does not depend on them.
            let states = node.states.len();
            self.count_table(node, &[], states)?;
            return Ok(Cpt::new(child, Vec::new(), vec![1.0 / states as f64; states]));
        }
        let parents = self.parents(index)?;
        let cardinalities: Vec<_> =
            parents.iter().map(|p| self.nodes[self.variables[p.index()]].states.len()).collect();
        let states = node.states.len();
        let rows = self.count_table(node, &cardinalities, states)?;
        let name = &node.name.text;
        let values = match &node.definition {
            Definition::Missing if if_missing == IfMissing::Uniform => {
                self.without_table.push(name.to_string());
                vec![1.0 / states as f64; rows * states]
            }
            Definition::Missing => {
                let message = format!("'{name}' has no probability table");
                return Err(self.source.error(node.offset, message));
            }
            Definition::Table(numbers) => self.table(child, node, numbers, rows, false)?,
            Definition::Weights(numbers) => self.table(child, node, numbers, rows, true)?,
            Definition::TableByState(numbers) => {
                let numbers = by_row(numbers, states);
                self.table(child, node, &numbers, rows, false)?
            }
            Definition::Rows(given) => {
                let parents =
                    parents.iter().map(|p| &self.nodes[self.variables[p.index()]]).collect();
                let source = self.source;
                LabelledTable { source, variable: child, node, parents, given }
                    .values(rows, &mut self.audit)?
            }
            Definition::Function(outcomes) => self.function(node, outcomes, rows)?,
            Definition::NoisyMax { strengths, columns } => {
                let expanded = expand::noisy_max(node, &cardinalities, strengths, columns);
                expanded.map_err(|(offset, message)| self.source.error(offset, message))?
            }
            Definition::NoisyAdder { weights, columns } => {
                let expanded = expand::noisy_adder(node, &cardinalities, weights, columns);
                expanded.map_err(|(offset, message)| self.source.error(offset, message))?
            }
        };
        Ok(Cpt::new(child, parents, values))
    }

    /// The parents of the node with this `index`.
    fn parents(&self, index: usize) -> Result<Vec<VariableId>, FormatError> {
        let node = &self.nodes[index];
        let mut parents = Vec::with_capacity(node.parents.len());
        let mut seen = HashSet::with_capacity(node.parents.len());
        for parent in &node.parents {
            let name = parent.text.as_ref();
            let &found = self.by_name.get(name).ok_or_else(|| {
                let message = format!(
                    "there is no variable '{name}', expected a parent of '{}'",
                    node.name.text
                );
                self.source.error(parent.offset, message)
            })?;
            let Some(variable) = self.variable_of[found] else {
                let Role::LeftOut(kind) = self.nodes[found].role else { unreachable!() };
                let child = &node.name.text;
                let message =
                    format!("'{name}' is a {kind} node and cannot be a parent of '{child}'");
                return Err(self.source.error(parent.offset, message));
            };
            if found == index {
                let message = format!("'{name}' is listed as its own parent");
                return Err(self.source.error(parent.offset, message));
            }
            if !seen.insert(variable) {
                let message = format!("parent '{name}' is listed twice");
                return Err(self.source.error(parent.offset, message));
            }
            parents.push(variable);
        }
        Ok(parents)
    }

    /// Counts the entries of the table of `node`, and returns the number of its rows. Call this
    /// before allocating the table.
    ///
    /// # Errors
    /// If the file has too many table entries.
    fn count_table(
        &mut self,
        node: &Node<'_>,
        cardinalities: &[usize],
        states: usize,
    ) -> Result<usize, FormatError> {
        let child = (node.name.text.as_ref(), node.offset);
        limits::count_entries(self.source, &mut self.entries, child, cardinalities, states)
    }

    /// The table of `node`, which is the variable `child`, from its `numbers`: `rows` rows in which
    /// the node varies fastest. With `are_weights`, a row may have any sum above zero.
    fn table(
        &mut self,
        child: VariableId,
        node: &Node<'_>,
        numbers: &[Number],
        rows: usize,
        are_weights: bool,
    ) -> Result<Vec<f64>, FormatError> {
        let states = node.states.len();
        let name = &node.name.text;
        if numbers.len() != rows * states {
            let expected = if rows == 1 {
                format!("{states}, one for each state")
            } else {
                format!(
                    "{}, {states} for each of {rows} configurations of the parents",
                    rows * states
                )
            };
            let numbers = counted(numbers.len(), "number", "numbers");
            let message = format!("the table of '{name}' has {numbers}, expected {expected}");
            return Err(self.source.error(node.offset, message));
        }
        let mut values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
        let scale = if are_weights {
            Scale::Probabilities
        } else {
            self.audit.scale(values.chunks(states), name, node.offset)
        };
        for (row, (values, numbers)) in
            values.chunks_mut(states).zip(numbers.chunks(states)).enumerate()
        {
            let offset = numbers[0].offset;
            let undefined = values.iter().any(|value| value.is_nan());
            if undefined && values.iter().all(|&value| value.is_nan() || value == 0.0) {
                self.count_undefined_row(offset);
                values.fill(1.0 / states as f64);
                continue;
            }
            values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
            let result = if are_weights {
                self.audit.weigh(values, offset)
            } else {
                self.audit.normalise(values, scale, offset)
            };
            self.audit.allow_zeros(result, ZeroRow { child, row: Some(row), offset }).map_err(
                |error| {
                    let row =
                        if rows == 1 { String::new() } else { format!("row {} of ", row + 1) };
                    self.source.error(offset, format!("{row}the table of '{name}': {error}"))
                },
            )?;
        }
        Ok(values)
    }

    /// The table of `node` from `outcomes`: for each of the `rows` configurations of the parents,
    /// the state, or `None` if it is undefined, and the byte offset.
    fn function(
        &mut self,
        node: &Node<'_>,
        outcomes: &[(Option<usize>, usize)],
        rows: usize,
    ) -> Result<Vec<f64>, FormatError> {
        if outcomes.len() != rows {
            let message = format!(
                "the function of '{}' has {}, expected {rows}, one for each configuration of the \
                 parents",
                node.name.text,
                counted(outcomes.len(), "value", "values")
            );
            return Err(self.source.error(node.offset, message));
        }
        let states = node.states.len();
        let mut values = vec![0.0; rows * states];
        for (row, &(state, offset)) in values.chunks_mut(states).zip(outcomes) {
            match state {
                Some(state) => row[state] = 1.0,
                None => {
                    self.count_undefined_row(offset);
                    row.fill(1.0 / states as f64);
                }
            }
        }
        Ok(values)
    }

    fn count_undefined_row(&mut self, offset: usize) {
        let (rows, _) = self.undefined.get_or_insert((0, offset));
        *rows += 1;
    }

    /// The kinds of the nodes that are left out, in the order in which the file first has them.
    fn left_out_kinds(&self) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for node in self.nodes {
            if let Role::LeftOut(kind) = node.role
                && !kinds.contains(&kind)
            {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// The warnings about all nodes and rows of the file.
    fn warnings(&self) -> Vec<Warning> {
        let file = || self.source.file.to_owned();
        let named = |role: Role| -> Vec<String> {
            let nodes = self.nodes.iter().filter(|node| node.role == role);
            nodes.map(|node| node.name.text.to_string()).collect()
        };
        let decisions = named(Role::Decision);
        let mut warnings = Vec::new();
        if !decisions.is_empty() {
            warnings.push(Warning::DecisionsAsChance { file: file(), nodes: decisions });
        }
        for kind in self.left_out_kinds() {
            let nodes = named(Role::LeftOut(kind));
            warnings.push(Warning::NodesLeftOut { file: file(), kind, nodes });
        }
        if !self.without_table.is_empty() {
            let variables = self.without_table.clone();
            warnings.push(Warning::TablesMissing { file: file(), variables });
        }
        if let Some((rows, offset)) = self.undefined {
            let line = self.source.line(offset);
            warnings.push(Warning::RowsUndefined { file: file(), rows, line });
        }
        warnings.extend(self.audit.warnings(self.source));
        warnings
    }
}

/// Checks that `node` has states, and that their labels are different.
fn check_states(source: SourceText<'_>, node: &Node<'_>) -> Result<(), FormatError> {
    let name = &node.name.text;
    if node.states.is_empty() {
        return Err(source.error(node.name.offset, format!("'{name}' has no states")));
    }
    let mut labels = HashSet::with_capacity(node.states.len());
    match node.states.iter().find(|state| !labels.insert(state.text.as_ref())) {
        None => Ok(()),
        Some(state) => {
            Err(source
                .error(state.offset, format!("'{name}' has the state '{}' twice", state.text)))
        }
    }
}

/// Reorders a table of a node with this many `states`: the node varies slowest in `numbers`, and
/// fastest in the result. Numbers that do not fill whole rows are returned unchanged; the caller
/// refuses them.
fn by_row(numbers: &[Number], states: usize) -> Vec<Number> {
    if !numbers.len().is_multiple_of(states) {
        return numbers.to_vec();
    }
    let rows = numbers.len() / states;
    let row = |row| (0..states).map(move |state| numbers[state * rows + row]);
    (0..rows).flat_map(row).collect()
}
