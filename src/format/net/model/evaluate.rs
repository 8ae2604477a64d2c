//! Evaluates expressions for one configuration of the parents.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::parser::{Expression, ExpressionKind, Operator};
use super::{ErrorAt, ModelRow, StateValues, distribution};
use crate::numbers::counted;

/// Maximum length of a chain of function nodes, each of which uses the next. It bounds the
/// recursion.
const MAX_DEPTH: usize = 32;

/// Maximum number of evaluation steps of all expressions of a file together. They take a few
/// seconds.
const MAX_STEPS: usize = 1 << 25;

/// Number of weights, one for each state, that are normalised and added to the mean in the time of
/// an evaluation step, roughly.
pub(super) const STATES_PER_STEP: usize = 16;

/// Number of bytes of a label that are copied or compared in the time of an evaluation step,
/// roughly.
const BYTES_PER_STEP: usize = 1024;

/// Maximum difference between a number and the value of the state that it matches, relative to that
/// value if its magnitude exceeds 1.
const VALUE_TOLERANCE: f64 = 1e-10;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExpressionValue<'v> {
    Number(f64),
    Bool(bool),
    Text(Cow<'v, str>),
}

impl ExpressionValue<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Number(value) => format!("the number {value}"),
            Self::Bool(value) => format!("{value}"),
            Self::Text(text) => format!("the label \"{text}\""),
        }
    }
}

/// The evaluation of an expression at one point of a row.
pub(super) struct Evaluation<'e, 's> {
    pub row: &'e ModelRow<'e>,
    /// For each parent, its value at the point. Used only for a parent whose states are intervals.
    pub point: &'e [f64],
    /// The expressions of the function nodes by name.
    pub functions: &'e HashMap<String, Expression<'s>>,
    /// The evaluation steps of the file so far: one per subexpression, more for distributions and
    /// long labels. Averaging the weights of many states over points also counts as steps.
    pub steps: &'e mut usize,
    /// Number of function nodes that are being evaluated, each inside the one before.
    pub depth: usize,
}

/// Adds `more` to `steps`, the number of steps of the file so far.
///
/// # Errors
/// If the file then has too many steps.
pub(super) fn count(steps: &mut usize, offset: usize, more: usize) -> Result<(), ErrorAt> {
    *steps = steps.saturating_add(more);
    if *steps > MAX_STEPS {
        let message = "the expressions of this file take too many steps";
        return Err((offset, message.to_owned()));
    }
    Ok(())
}

/// Adds the names in `expression`, and in the function nodes that it uses, to `names`. Returns the
/// number of subexpressions visited.
pub(super) fn gather_names<'x>(
    expression: &'x Expression<'_>,
    functions: &'x HashMap<String, Expression<'_>>,
    names: &mut HashSet<&'x str>,
) -> usize {
    let mut open = vec![expression];
    let mut visited = 0;
    while let Some(expression) = open.pop() {
        visited += 1;
        match &expression.kind {
            ExpressionKind::Name(name) => {
                if names.insert(name) {
                    open.extend(functions.get(*name));
                }
            }
            ExpressionKind::Call(_, arguments) => open.extend(arguments),
            ExpressionKind::Negative(inner) => open.push(inner),
            ExpressionKind::Binary(_, left, right) => open.extend([&**left, &**right]),
            ExpressionKind::Number(_) | ExpressionKind::Text(_) => {}
        }
    }
    visited
}

impl<'e> Evaluation<'e, '_> {
    /// Fills `weights`, which must be all zeros, with the weight of each state of the node
    /// according to `expression`.
    ///
    /// # Errors
    /// If the expression has a mistake, its value is not a state of the node, or the file takes too
    /// many evaluation steps.
    pub fn fill(
        &mut self,
        expression: &Expression<'_>,
        weights: &mut [f64],
    ) -> Result<(), ErrorAt> {
        if let ExpressionKind::Call(name, arguments) = &expression.kind {
            if let ("if", [condition, then, other]) = (*name, &arguments[..]) {
                let branch = if self.truth(condition)? { then } else { other };
                return self.fill(branch, weights);
            }
            if distribution::is_distribution(name) {
                return distribution::fill(self, expression.offset, name, arguments, weights);
            }
        }
        let value = self.value(expression)?;
        let state = match (self.row.child, &value) {
            (StateValues::Labels(labels), ExpressionValue::Text(text)) => {
                let steps = (text.len() / BYTES_PER_STEP).saturating_mul(labels.len());
                self.count(expression.offset, steps)?;
                labels.iter().position(|l| l == text)
            }
            (StateValues::Boolean, ExpressionValue::Bool(value)) => Some(usize::from(*value)),
            (StateValues::Numbers(values), ExpressionValue::Number(value)) => {
                values.iter().position(|v| (v - value).abs() <= VALUE_TOLERANCE * v.abs().max(1.0))
            }
            (StateValues::Intervals(bounds), ExpressionValue::Number(value)) => {
                bounds.windows(2).position(|bounds| (bounds[0]..bounds[1]).contains(value))
            }
            _ => None,
        };
        let state = state.ok_or_else(|| {
            let message = format!(
                "the value of the expression is {}, which is not a state of '{}'",
                value.describe(),
                self.row.node
            );
            (expression.offset, message)
        })?;
        weights[state] = 1.0;
        Ok(())
    }

    /// Adds `steps` to the number of steps of the file.
    ///
    /// # Errors
    /// If the file then has too many steps.
    pub fn count(&mut self, offset: usize, steps: usize) -> Result<(), ErrorAt> {
        count(self.steps, offset, steps)
    }

    /// The value of `expression`.
    fn value(&mut self, expression: &Expression<'_>) -> Result<ExpressionValue<'e>, ErrorAt> {
        let offset = expression.offset;
        self.count(offset, 1)?;
        let value = match &expression.kind {
            ExpressionKind::Number(value) => ExpressionValue::Number(*value),
            ExpressionKind::Text(text) => ExpressionValue::Text(Cow::Owned(text.clone())),
            ExpressionKind::Name(name) => self.name(name, offset)?,
            ExpressionKind::Negative(inner) => ExpressionValue::Number(-self.number(inner)?),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            ExpressionKind::Call(name, arguments) => self.call(name, arguments, offset)?,
        };
        if let ExpressionValue::Text(text) = &value {
            self.count(offset, text.len() / BYTES_PER_STEP)?;
        }
        Ok(value)
    }

    /// The value of `expression`, which must be a number.
    ///
    /// # Errors
    /// If the expression has a mistake, its value is not a number, or the file takes too many
    /// evaluation steps.
    pub fn number(&mut self, expression: &Expression<'_>) -> Result<f64, ErrorAt> {
        match self.value(expression)? {
            ExpressionValue::Number(value) => Ok(value),
            other => {
                Err((expression.offset, format!("expected a number, found {}", other.describe())))
            }
        }
    }

    /// The value of `expression`, which must be a truth value.
    ///
    /// # Errors
    /// If the expression has a mistake, its value is not a truth value, or the file takes too many
    /// evaluation steps.
    pub fn truth(&mut self, expression: &Expression<'_>) -> Result<bool, ErrorAt> {
        match self.value(expression)? {
            ExpressionValue::Bool(value) => Ok(value),
            other => Err((
                expression.offset,
                format!("expected a condition, found {}", other.describe()),
            )),
        }
    }

    /// The value of the parent, constant or function node called `name`.
    fn name(&mut self, name: &str, offset: usize) -> Result<ExpressionValue<'e>, ErrorAt> {
        let row = self.row;
        if let Some(parent) = row.parents.iter().position(|(parent, _)| *parent == name) {
            let state = row.configuration[parent];
            return Ok(match &row.parents[parent].1 {
                StateValues::Labels(labels) => ExpressionValue::Text(Cow::Borrowed(&labels[state])),
                StateValues::Boolean => ExpressionValue::Bool(state == 1),
                StateValues::Numbers(values) => ExpressionValue::Number(values[state]),
                StateValues::Intervals(_) => ExpressionValue::Number(self.point[parent]),
            });
        }
        match name {
            "true" => return Ok(ExpressionValue::Bool(true)),
            "false" => return Ok(ExpressionValue::Bool(false)),
            "pi" => return Ok(ExpressionValue::Number(std::f64::consts::PI)),
            _ => {}
        }
        let Some(function) = self.functions.get(name) else {
            let message = format!(
                "the expression of '{}' uses '{name}', expected one of its parents",
                row.node
            );
            return Err((offset, message));
        };
        if self.depth == MAX_DEPTH {
            let message = format!(
                "'{name}' uses itself, or ends a chain of more than {MAX_DEPTH} function nodes"
            );
            return Err((offset, message));
        }
        self.depth += 1;
        let value = self.value(function);
        self.depth -= 1;
        value
    }

    /// The value of `left operator right`.
    fn binary(
        &mut self,
        operator: Operator,
        left: &Expression<'_>,
        right: &Expression<'_>,
    ) -> Result<ExpressionValue<'e>, ErrorAt> {
        if matches!(operator, Operator::Equal | Operator::Unequal) {
            let (a, b) = (self.value(left)?, self.value(right)?);
            if std::mem::discriminant(&a) != std::mem::discriminant(&b) {
                let message = format!("{} cannot be compared with {}", a.describe(), b.describe());
                return Err((right.offset, message));
            }
            return Ok(ExpressionValue::Bool((a == b) == (operator == Operator::Equal)));
        }
        let (a, b) = (self.number(left)?, self.number(right)?);
        Ok(match operator {
            Operator::Less => ExpressionValue::Bool(a < b),
            Operator::LessOrEqual => ExpressionValue::Bool(a <= b),
            Operator::Greater => ExpressionValue::Bool(a > b),
            Operator::GreaterOrEqual => ExpressionValue::Bool(a >= b),
            Operator::Plus => ExpressionValue::Number(a + b),
            Operator::Minus => ExpressionValue::Number(a - b),
            Operator::Times => ExpressionValue::Number(a * b),
            Operator::DividedBy => ExpressionValue::Number(a / b),
            Operator::Power => ExpressionValue::Number(a.powf(b)),
            Operator::Equal | Operator::Unequal => unreachable!("compared above"),
        })
    }

    /// The value of the function `name`, which is called at byte `offset`.
    fn call(
        &mut self,
        name: &str,
        arguments: &[Expression<'_>],
        offset: usize,
    ) -> Result<ExpressionValue<'e>, ErrorAt> {
        match (name, arguments) {
            ("if", [condition, then, other]) => {
                let branch = if self.truth(condition)? { then } else { other };
                return self.value(branch);
            }
            ("not", [one]) => return Ok(ExpressionValue::Bool(!self.truth(one)?)),
            ("and" | "or", [_, ..]) => {
                let mut any = false;
                let mut all = true;
                for argument in arguments {
                    let truth = self.truth(argument)?;
                    (any, all) = (any || truth, all && truth);
                }
                return Ok(ExpressionValue::Bool(if name == "and" { all } else { any }));
            }
            _ => {}
        }
        let unary: Option<fn(f64) -> f64> = match name {
            "log" => Some(f64::ln),
            "log2" => Some(f64::log2),
            "log10" => Some(f64::log10),
            "exp" => Some(f64::exp),
            "sqrt" => Some(f64::sqrt),
            "abs" => Some(f64::abs),
            "floor" => Some(f64::floor),
            "ceil" => Some(f64::ceil),
            "sin" => Some(f64::sin),
            "cos" => Some(f64::cos),
            "tan" => Some(f64::tan),
            "sinh" => Some(f64::sinh),
            "cosh" => Some(f64::cosh),
            "tanh" => Some(f64::tanh),
            _ => None,
        };
        let folded: Option<fn(f64, f64) -> f64> = match name {
            "min" => Some(f64::min),
            "max" => Some(f64::max),
            "mod" => Some(|a, b| a - b * (a / b).floor()),
            _ => None,
        };
        match (unary, folded, arguments) {
            (Some(function), _, [argument]) => {
                Ok(ExpressionValue::Number(function(self.number(argument)?)))
            }
            (_, Some(function), [first, rest @ ..]) if name != "mod" || rest.len() == 1 => {
                let mut value = self.number(first)?;
                for argument in rest {
                    value = function(value, self.number(argument)?);
                }
                Ok(ExpressionValue::Number(value))
            }
            _ => Err((
                offset,
                format!(
                    "'{name}' with {} is not supported in the expression of '{}'; expected \
                     'data' or another expression",
                    counted(arguments.len(), "argument", "arguments"),
                    self.row.node
                ),
            )),
        }
    }
}
