//! Tables given by the expressions in `model_data`.
//!
//! Source: *The HUGIN API Reference Manual*, chapter "Generating Tables". `model_nodes` lists some
//! of the parents, and `model_data` has one expression for each of their configurations. In an
//! expression, the name of a parent has the value of its state: `false` or `true` if the parent is
//! boolean, a number if its states are numbers or intervals, else the label. The value of an
//! expression is a state of the node or a distribution.
//!
//! If the states of a parent are intervals, an expression that uses the parent is evaluated at
//! evenly spaced points of each interval, 25 or as many as `samples_per_interval` says, and the row
//! is the mean over these points. Hugin does the same but does not document its points; here they
//! are the midpoints of equal parts. Such tables are estimates, and cause a warning.
//!
//! Expressions that Hugin computes by convolution (`aggregate`) or from posteriors (`probability`)
//! are refused, and so are functions whose meaning the manual leaves open.

mod distribution;
mod evaluate;
mod parser;
mod points;
mod special;

use std::collections::{HashMap, HashSet};

use super::blocks::{AttributeValue, ListItem, NetAttribute, NodeBlock, NodeKind, PotentialBlock};
use super::states;
use crate::format::FormatError;
use crate::format::limits;
use crate::format::nodes::Number;
use crate::format::source::{ErrorAt, SourceText};
use crate::numbers::counted;
use evaluate::Evaluation;
use parser::Expression;
use points::Points;

/// The values that the states of a node have in expressions.
#[derive(Debug)]
enum StateValues {
    /// The labels themselves.
    Labels(Vec<String>),
    /// Two states, `false` and `true`.
    Boolean,
    /// Increasing numbers.
    Numbers(Vec<f64>),
    /// The increasing bounds of the intervals: one more than there are states.
    Intervals(Vec<f64>),
}

impl StateValues {
    /// The values of the states of the node in `block`, according to its subtype.
    fn new(source: SourceText<'_>, block: &NodeBlock<'_>) -> Result<Self, FormatError> {
        let labels = states::labels(source, block)?;
        if labels.is_empty() {
            let name = &block.name;
            return Err(source.error(name.offset, format!("'{}' has no states", name.text)));
        }
        let subtype = states::subtype(block);
        let expected = match subtype {
            Some("boolean") if labels.len() == 2 => return Ok(Self::Boolean),
            Some("number") => labels.len(),
            Some("interval") => labels.len() + 1,
            _ => {
                let labels = labels.into_iter().map(|label| label.text.into_owned());
                return Ok(Self::Labels(labels.collect()));
            }
        };
        let words = states::values(source, states::field(block, "state_values"))?;
        let values: Option<Vec<f64>> = words.iter().map(|word| states::value(word)).collect();
        let increases = |values: &Vec<f64>| values.is_sorted_by(|a, b| a < b);
        match values.filter(|values| values.len() == expected && increases(values)) {
            Some(values) if subtype == Some("number") => Ok(Self::Numbers(values)),
            Some(values) => Ok(Self::Intervals(values)),
            None => {
                let message = format!(
                    "expected {expected} increasing 'state_values' of '{}', because it occurs in a \
                     table given by expressions",
                    block.name.text
                );
                Err(source.error(block.name.offset, message))
            }
        }
    }

    /// The number of states.
    fn count(&self) -> usize {
        match self {
            Self::Labels(labels) => labels.len(),
            Self::Boolean => 2,
            Self::Numbers(values) => values.len(),
            Self::Intervals(bounds) => bounds.len() - 1,
        }
    }
}

/// The table entries and evaluation steps of all expressions of a file so far. Both are limited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    entries: usize,
    steps: usize,
}

/// The row of a table, to be computed from an expression.
struct ModelRow<'r> {
    /// The name of the node.
    node: &'r str,
    /// The values of the node's states.
    child: &'r StateValues,
    /// The name of each parent, and the values of its states.
    parents: &'r [(&'r str, StateValues)],
    /// The state of each parent in this row.
    configuration: &'r [usize],
    /// The indices of the varying parents: their states are intervals, and the expression depends
    /// on them.
    varying: &'r [usize],
    /// The number of points in each interval of a varying parent.
    samples: usize,
}

/// Computes the tables of the nodes of a class from their expressions.
pub(super) struct Models<'s, F> {
    source: SourceText<'s>,
    /// Looks up the block of a node by name.
    block_of: F,
    /// The expressions of the function nodes by name. Nodes with a malformed expression or with
    /// several expressions are left out.
    functions: HashMap<String, Expression<'s>>,
    pub usage: Usage,
    /// The nodes with estimated tables.
    pub estimated: Vec<String>,
}

impl<'b, 's: 'b, F: Fn(&str) -> Option<&'b NodeBlock<'s>>> Models<'s, F> {
    /// Collects the function nodes among `blocks`, which expressions may use in addition to
    /// parents.
    pub fn new(
        source: SourceText<'s>,
        blocks: &[NodeBlock<'s>],
        block_of: F,
        potentials: &HashMap<String, PotentialBlock<'s>>,
        usage: Usage,
    ) -> Self {
        let mut functions = HashMap::new();
        for block in blocks.iter().filter(|block| block.kind == NodeKind::Function) {
            let potential = potentials.get(&*block.name.text);
            let model = potential.and_then(|potential| attribute(potential, "model_data"));
            // A mistake in a function matters only if a table uses it: its name is then unknown.
            if let Some(model) = model
                && let Ok(mut expressions) = parser::parse(model.raw, model.raw_at)
                && expressions.len() == 1
            {
                functions.extend(expressions.pop().map(|one| (block.name.text.to_string(), one)));
            }
        }
        let estimated = Vec::new();
        Self { source, block_of, functions, usage, estimated }
    }

    /// The table of the node `block` as weights, computed from the expressions in `model`, an
    /// attribute of its `potential`. The states of the node vary fastest, then the states of the
    /// last parent.
    ///
    /// # Errors
    /// If a parent is unknown, the node or a parent has no states or lacks the values for its
    /// subtype, an interval is infinite, an expression is malformed or not supported, its value is
    /// not a state of the node, there are too few or too many expressions, `model_nodes` names a
    /// node that is no parent, `samples_per_interval` is out of range, or the file takes too many
    /// evaluation steps or has too many table entries.
    pub fn table(
        &mut self,
        block: &NodeBlock<'s>,
        potential: &PotentialBlock<'s>,
        model: &NetAttribute<'s>,
    ) -> Result<Vec<Number>, FormatError> {
        let child = StateValues::new(self.source, block)?;
        let parents = self.parent_values(potential)?;
        let cardinalities: Vec<usize> = parents.iter().map(|(_, values)| values.count()).collect();
        let table_at = (&*block.name.text, model.offset);
        let entries = &mut self.usage.entries;
        let rows =
            limits::count_entries(self.source, entries, table_at, &cardinalities, child.count())?;
        let mut selectors = self.model_nodes(potential, &parents)?;
        // A parent with a single state selects nothing, however often it is listed.
        selectors.retain(|&parent| cardinalities[parent] > 1);
        // A parent may be listed several times, so the product may exceed `usize`.
        let expected = selectors
            .iter()
            .fold(1_usize, |product, &parent| product.saturating_mul(cardinalities[parent]));
        let expressions = self.expressions(block, model, expected)?;
        let samples = self.samples_per_interval(potential)?;
        // For each expression that has been used, its varying parents.
        let mut varying: Vec<Option<Vec<usize>>> = vec![None; expressions.len()];
        let mut numbers = Vec::with_capacity(rows * child.count());
        let mut configuration = vec![0; parents.len()];
        for _ in 0..rows {
            let index =
                selectors.iter().fold(0, |index, &p| index * cardinalities[p] + configuration[p]);
            let expression = &expressions[index];
            if varying[index].is_none() {
                varying[index] = Some(self.varying(expression, &parents)?);
            }
            let row = ModelRow {
                node: &block.name.text,
                child: &child,
                parents: &parents,
                configuration: &configuration,
                varying: varying[index].as_deref().unwrap_or_default(),
                samples,
            };
            let weights = self.mean_weights(expression, &row)?;
            numbers
                .extend(weights.iter().map(|&value| Number { value, offset: expression.offset }));
            for (state, &cardinality) in configuration.iter_mut().zip(&cardinalities).rev() {
                *state = (*state + 1) % cardinality;
                if *state > 0 {
                    break;
                }
            }
        }
        if varying.iter().flatten().any(|parents| !parents.is_empty()) {
            self.estimated.push(block.name.text.to_string());
        }
        Ok(numbers)
    }

    /// The name of each parent in `potential`, and the values of its states.
    fn parent_values<'p>(
        &self,
        potential: &'p PotentialBlock<'s>,
    ) -> Result<Vec<(&'p str, StateValues)>, FormatError> {
        let mut parents = Vec::with_capacity(potential.parents.len());
        for parent in &potential.parents {
            let block = (self.block_of)(&parent.text).ok_or_else(|| {
                self.source.error(parent.offset, format!("there is no variable '{}'", parent.text))
            })?;
            parents.push((&*parent.text, StateValues::new(self.source, block)?));
        }
        Ok(parents)
    }

    /// The expressions in `model`, an attribute of the potential of `block`.
    ///
    /// # Errors
    /// If an expression is malformed, or there are not `expected` ones.
    fn expressions(
        &self,
        block: &NodeBlock<'s>,
        model: &NetAttribute<'s>,
        expected: usize,
    ) -> Result<Vec<Expression<'s>>, FormatError> {
        let expressions =
            parser::parse(model.raw, model.raw_at).map_err(|error| self.error(error))?;
        if expressions.len() != expected {
            let message = format!(
                "'{}' has {}, expected {expected}, one for each configuration of its 'model_nodes'",
                block.name.text,
                counted(expressions.len(), "expression", "expressions")
            );
            return Err(self.source.error(model.offset, message));
        }
        Ok(expressions)
    }

    /// The weights that `expression` gives to the states of the node for `row`: the mean over all
    /// points of the varying parents.
    fn mean_weights(
        &mut self,
        expression: &Expression<'s>,
        row: &ModelRow<'_>,
    ) -> Result<Vec<f64>, FormatError> {
        let points = Points::new(row, expression.offset);
        let mut points = points.map_err(|error| self.error(error))?;
        let mut mean = vec![0.0; row.child.count()];
        let mut weights = vec![0.0; row.child.count()];
        loop {
            if !row.varying.is_empty() {
                let steps = row.child.count() / evaluate::STATES_PER_STEP;
                evaluate::count(&mut self.usage.steps, expression.offset, steps)
                    .map_err(|(offset, message)| self.source.error(offset, message))?;
            }
            let mut evaluation = Evaluation {
                row,
                point: &points.values,
                functions: &self.functions,
                steps: &mut self.usage.steps,
                depth: 0,
            };
            weights.fill(0.0);
            let outcome = evaluation.fill(expression, &mut weights);
            outcome.map_err(|error| self.error(error))?;
            // The weights at each point are normalised before they are averaged.
            let sum = if row.varying.is_empty() { 1.0 } else { weights.iter().sum::<f64>() };
            if sum == 0.0 {
                let message = format!(
                    "all states of '{}' have weight 0 at a point in the intervals of its parents",
                    row.node
                );
                return Err(self.error((expression.offset, message)));
            }
            mean.iter_mut().zip(&weights).for_each(|(mean, p)| *mean += p / sum / points.count);
            if !points.advance() {
                return Ok(mean);
            }
        }
    }

    /// The indices of the `parents` whose states are intervals and on which `expression` depends.
    fn varying(
        &mut self,
        expression: &Expression<'_>,
        parents: &[(&str, StateValues)],
    ) -> Result<Vec<usize>, FormatError> {
        let are_intervals = |values: &StateValues| matches!(values, StateValues::Intervals(_));
        if !parents.iter().any(|(_, values)| are_intervals(values)) {
            return Ok(Vec::new());
        }
        let mut names = HashSet::new();
        let visited = evaluate::gather_names(expression, &self.functions, &mut names);
        evaluate::count(&mut self.usage.steps, expression.offset, visited)
            .map_err(|(offset, message)| self.source.error(offset, message))?;
        let varies =
            |(name, values): &(&str, StateValues)| are_intervals(values) && names.contains(name);
        Ok((0..parents.len()).filter(|&parent| varies(&parents[parent])).collect())
    }

    /// The number of points in each interval.
    fn samples_per_interval(&self, potential: &PotentialBlock<'s>) -> Result<usize, FormatError> {
        /// Hugin's default.
        const DEFAULT: usize = 25;
        /// Maximum number of points in each interval. A file that asks for more is refused.
        const MAX: usize = 10_000;
        let Some(field) = attribute(potential, "samples_per_interval") else { return Ok(DEFAULT) };
        let samples = field.raw.parse().ok().filter(|samples| (1..=MAX).contains(samples));
        samples.ok_or_else(|| {
            let message =
                format!("expected 1 to {MAX} for 'samples_per_interval', found '{}'", field.raw);
            self.source.error(field.raw_at, message)
        })
    }

    /// The indices in `parents` of the nodes in `model_nodes`.
    fn model_nodes(
        &self,
        potential: &PotentialBlock<'s>,
        parents: &[(&str, StateValues)],
    ) -> Result<Vec<usize>, FormatError> {
        let Some(field) = attribute(potential, "model_nodes") else { return Ok(Vec::new()) };
        let AttributeValue::List(items) = &field.value else { return Ok(Vec::new()) };
        let position = |item: &ListItem<'s>| {
            parents.iter().position(|(name, _)| *name == item.text).ok_or_else(|| {
                let message = format!("'{}' in 'model_nodes' is not a parent", item.text);
                self.source.error(item.offset, message)
            })
        };
        items.iter().map(position).collect()
    }

    fn error(&self, (offset, message): ErrorAt) -> FormatError {
        self.source.error(offset, message)
    }
}

/// The last attribute of `potential` called `name`.
pub(super) fn attribute<'p, 's>(
    potential: &'p PotentialBlock<'s>,
    name: &str,
) -> Option<&'p NetAttribute<'s>> {
    potential.attributes.iter().rfind(|field| field.name == name)
}

#[cfg(test)]
mod tests;
