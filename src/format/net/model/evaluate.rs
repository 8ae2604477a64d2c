//! What an expression comes to in one configuration of the parents.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::parser::{Expression, ExpressionKind, Operator};
use super::{ErrorAt, StateValues, distribution};

/// How deep functions may call functions.
const MAX_DEPTH: usize = 32;

/// How far two numbers may be apart, relative to the larger, and be the same value of a state.
const SAME: f64 = 1e-10;

/// What an expression can come to.
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

/// One configuration of the parents of one node.
pub(super) struct Evaluation<'e, 's> {
    pub node: &'e str,
    pub child: &'e StateValues,
    pub parents: &'e [(&'e str, StateValues)],
    pub configuration: &'e [usize],
    /// The values that those parents have whose states are intervals.
    pub points: &'e [f64],
    pub functions: &'e HashMap<String, Expression<'s>>,
    pub steps: &'e mut usize,
    pub depth: usize,
}

/// The most steps that the expressions of a file may take together: few seconds.
const MAX_STEPS: usize = 1 << 25;

/// Adds `more` work to the `steps` that were taken.
pub(super) fn count(steps: &mut usize, at: usize, more: usize) -> Result<(), ErrorAt> {
    *steps = steps.saturating_add(more);
    if *steps > MAX_STEPS {
        let message = "the expressions of this file take too many steps";
        return Err((at, message.to_owned()));
    }
    Ok(())
}

/// Puts the names in `expression` into `names`, with those in the functions that it calls; gives how
/// much was looked at.
pub(super) fn gather_names<'x>(
    expression: &'x Expression<'_>,
    functions: &'x HashMap<String, Expression<'_>>,
    names: &mut HashSet<&'x str>,
) -> usize {
    let mut open = vec![expression];
    let mut looked_at = 0;
    while let Some(expression) = open.pop() {
        looked_at += 1;
        match &expression.kind {
            ExpressionKind::Name(name) => {
                if names.insert(name) {
                    open.extend(functions.get(*name));
                }
            }
            ExpressionKind::Call(_, arguments) => open.extend(arguments),
            ExpressionKind::Negative(inner) => open.push(inner),
            ExpressionKind::Both(_, left, right) => open.extend([&**left, &**right]),
            ExpressionKind::Number(_) | ExpressionKind::Text(_) => {}
        }
    }
    looked_at
}

impl<'e> Evaluation<'e, '_> {
    /// Puts the weights of the states into `row`, which is zero.
    pub fn fill(&mut self, expression: &Expression<'_>, row: &mut [f64]) -> Result<(), ErrorAt> {
        if let ExpressionKind::Call(name, arguments) = &expression.kind {
            if let ("if", [condition, then, other]) = (*name, &arguments[..]) {
                let branch = if self.truth(condition)? { then } else { other };
                return self.fill(branch, row);
            }
            if distribution::is_distribution(name) {
                return distribution::fill(self, expression.at, name, arguments, row);
            }
        }
        let value = self.value(expression)?;
        let state = match (self.child, &value) {
            (StateValues::Labels(labels), ExpressionValue::Text(text)) => {
                labels.iter().position(|l| l == text)
            }
            (StateValues::Boolean, ExpressionValue::Bool(value)) => Some(usize::from(*value)),
            (StateValues::Numbers(values), ExpressionValue::Number(value)) => {
                values.iter().position(|v| (v - value).abs() <= SAME * v.abs().max(1.0))
            }
            (StateValues::Intervals(bounds), ExpressionValue::Number(value)) => {
                bounds.windows(2).position(|bounds| (bounds[0]..bounds[1]).contains(value))
            }
            _ => None,
        };
        let state = state.ok_or_else(|| {
            let message = format!(
                "the expression gives {}, which is no state of '{}'",
                value.describe(),
                self.node
            );
            (expression.at, message)
        })?;
        row[state] = 1.0;
        Ok(())
    }

    /// Counts `steps` of work.
    pub fn count(&mut self, at: usize, steps: usize) -> Result<(), ErrorAt> {
        count(self.steps, at, steps)
    }

    /// What `expression` comes to.
    fn value(&mut self, expression: &Expression<'_>) -> Result<ExpressionValue<'e>, ErrorAt> {
        let at = expression.at;
        self.count(at, 1)?;
        match &expression.kind {
            ExpressionKind::Number(value) => Ok(ExpressionValue::Number(*value)),
            ExpressionKind::Text(text) => Ok(ExpressionValue::Text(Cow::Owned(text.clone()))),
            ExpressionKind::Name(name) => self.name(name, at),
            ExpressionKind::Negative(inner) => Ok(ExpressionValue::Number(-self.number(inner)?)),
            ExpressionKind::Both(operator, left, right) => self.both(*operator, left, right),
            ExpressionKind::Call(name, arguments) => self.call(name, arguments, at),
        }
    }

    /// The number that `expression` comes to.
    pub fn number(&mut self, expression: &Expression<'_>) -> Result<f64, ErrorAt> {
        match self.value(expression)? {
            ExpressionValue::Number(value) => Ok(value),
            other => Err((expression.at, format!("expected a number, found {}", other.describe()))),
        }
    }

    pub fn truth(&mut self, expression: &Expression<'_>) -> Result<bool, ErrorAt> {
        match self.value(expression)? {
            ExpressionValue::Bool(value) => Ok(value),
            other => {
                Err((expression.at, format!("expected a condition, found {}", other.describe())))
            }
        }
    }

    fn name(&mut self, name: &str, at: usize) -> Result<ExpressionValue<'e>, ErrorAt> {
        if let Some(parent) = self.parents.iter().position(|(parent, _)| *parent == name) {
            let state = self.configuration[parent];
            return Ok(match &self.parents[parent].1 {
                StateValues::Labels(labels) => ExpressionValue::Text(Cow::Borrowed(&labels[state])),
                StateValues::Boolean => ExpressionValue::Bool(state == 1),
                StateValues::Numbers(values) => ExpressionValue::Number(values[state]),
                StateValues::Intervals(_) => ExpressionValue::Number(self.points[parent]),
            });
        }
        match name {
            "true" => return Ok(ExpressionValue::Bool(true)),
            "false" => return Ok(ExpressionValue::Bool(false)),
            "pi" => return Ok(ExpressionValue::Number(std::f64::consts::PI)),
            _ => {}
        }
        let Some(function) = self.functions.get(name).filter(|_| self.depth < MAX_DEPTH) else {
            let message = format!(
                "the expression of '{}' names '{name}', expected one of its parents",
                self.node
            );
            return Err((at, message));
        };
        self.depth += 1;
        let value = self.value(function);
        self.depth -= 1;
        value
    }

    fn both(
        &mut self,
        operator: Operator,
        left: &Expression<'_>,
        right: &Expression<'_>,
    ) -> Result<ExpressionValue<'e>, ErrorAt> {
        if matches!(operator, Operator::Equal | Operator::Unequal) {
            let (a, b) = (self.value(left)?, self.value(right)?);
            if std::mem::discriminant(&a) != std::mem::discriminant(&b) {
                let message = format!("{} cannot be compared with {}", a.describe(), b.describe());
                return Err((right.at, message));
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
            Operator::Over => ExpressionValue::Number(a / b),
            Operator::Power => ExpressionValue::Number(a.powf(b)),
            Operator::Equal | Operator::Unequal => unreachable!("compared above"),
        })
    }

    fn call(
        &mut self,
        name: &str,
        arguments: &[Expression<'_>],
        at: usize,
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
        let one: Option<fn(f64) -> f64> = match name {
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
        let many: Option<fn(f64, f64) -> f64> = match name {
            "min" => Some(f64::min),
            "max" => Some(f64::max),
            "mod" => Some(|a, b| a - b * (a / b).floor()),
            _ => None,
        };
        match (one, many, arguments) {
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
                at,
                format!(
                    "'{name}' of {} arguments in the expression of '{}' is not computed here; \
                     expected 'data', or an expression with a table",
                    arguments.len(),
                    self.node
                ),
            )),
        }
    }
}
