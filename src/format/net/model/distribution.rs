//! The distributions that expressions may use.
//!
//! Source: *The HUGIN API Reference Manual*, section "Statistical distributions". A node with a
//! discrete distribution has the values 0, 1, 2 and so on; the last state gets the remaining
//! probability, except for `Binomial`, whose possible values must all be states. The intervals of a
//! node with a continuous distribution must cover all of the distribution; `truncate` can restrict
//! the distribution to the intervals.
//!
//! In `NoisyOR (C1, P1, C2, P2, ...)`, Pi is the probability that the cause Ci is inhibited. The
//! probability that the result is false is the product of the Pi of all causes that are true. The
//! cause `true` is the leak (as in the network *Family Out* that comes with Hugin). `Triangular`
//! and `PERT` take bounds and mode in any order, since the mode lies between the bounds. `PERT` is
//! the beta distribution that gives the mode the usual weight of four. `Exponential` is refused:
//! the manual does not say whether its parameter is a rate or a mean.

use statrs::distribution::{Binomial, Discrete, Geometric, NegativeBinomial, Poisson};

use super::evaluate::Evaluation;
use super::parser::{Expression, ExpressionKind};
use super::special::{beta_cdf, gamma_cdf, normal_cdf};
use super::{ErrorAt, StateValues};
use crate::numbers::counted;

/// Maximum probability outside the intervals of a node. It allows for rounding.
const MAX_OUTSIDE: f64 = 1e-6;

/// Maximum shape parameter of a continuous distribution; its reciprocal is the minimum. It bounds
/// the time for computing the distribution function, and keeps the function accurate to about
/// twelve digits.
const MAX_SHAPE: f64 = 1000.0;

/// The cost of computing one probability, in evaluation steps: roughly the number of arithmetic
/// operations.
const STEPS_PER_PROBABILITY: usize = 64;

/// The discrete distributions that expressions may use.
const DISCRETE: [&str; 4] = ["Binomial", "Poisson", "Geometric", "NegativeBinomial"];
/// The continuous distributions that expressions may use.
const CONTINUOUS: [&str; 8] =
    ["Normal", "LogNormal", "Beta", "Gamma", "Weibull", "Uniform", "Triangular", "PERT"];

/// Whether `name` is a supported distribution.
pub(super) fn is_distribution(name: &str) -> bool {
    matches!(name, "Distribution" | "NoisyOR" | "truncate")
        || DISCRETE.contains(&name)
        || CONTINUOUS.contains(&name)
}

/// A cumulative distribution function.
type Cumulative = Box<dyn Fn(f64) -> f64>;

/// Fills `row` with the probability of each state of the node according to the distribution `name`,
/// which is called at byte `offset` with `arguments`. `Distribution` gives weights instead.
///
/// # Errors
/// If the distribution is unknown or cannot be used here, its arguments are wrong, or the file
/// takes too many evaluation steps.
pub(super) fn fill(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    name: &str,
    arguments: &[Expression<'_>],
    row: &mut [f64],
) -> Result<(), ErrorAt> {
    match name {
        "Distribution" => weights(evaluation, offset, arguments, row),
        "NoisyOR" => noisy_or(evaluation, offset, arguments, row),
        _ => {
            evaluation.count(offset, row.len().saturating_mul(STEPS_PER_PROBABILITY))?;
            if DISCRETE.contains(&name) {
                discrete(evaluation, offset, name, arguments, row)
            } else {
                intervals(evaluation, offset, name, arguments, row)
            }
        }
    }
}

/// `Distribution (W1, W2, ...)`: the weight of each state.
fn weights(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    arguments: &[Expression<'_>],
    row: &mut [f64],
) -> Result<(), ErrorAt> {
    if arguments.len() != row.len() {
        let message = format!(
            "'Distribution' has {}, expected {}, one for each state of '{}'",
            counted(arguments.len(), "weight", "weights"),
            row.len(),
            evaluation.row.node
        );
        return Err((offset, message));
    }
    for (weight, argument) in row.iter_mut().zip(arguments) {
        *weight = evaluation.number(argument)?;
        if !weight.is_finite() || *weight < 0.0 {
            let message = format!("expected a weight of at least 0, found {weight}");
            return Err((argument.offset, message));
        }
    }
    Ok(())
}

/// The probability of each interval in the continuous distribution `name`.
fn intervals(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    name: &str,
    arguments: &[Expression<'_>],
    row: &mut [f64],
) -> Result<(), ErrorAt> {
    let StateValues::Intervals(bounds) = evaluation.row.child else {
        return Err((offset, format!("'{name}' needs a node whose states are intervals")));
    };
    let cdf = continuous(evaluation, offset, name, arguments)?;
    for (probability, bounds) in row.iter_mut().zip(bounds.windows(2)) {
        *probability = (cdf(bounds[1]) - cdf(bounds[0])).max(0.0);
    }
    let sum: f64 = row.iter().sum();
    // The comparison is false if the sum is NaN.
    if (1.0 - sum).abs() <= MAX_OUTSIDE {
        return Ok(());
    }
    let message = format!(
        "the intervals of '{}' cover {sum} of '{name}', expected 1 (use 'truncate')",
        evaluation.row.node
    );
    Err((offset, message))
}

/// `NoisyOR (C1, P1, C2, P2, ...)`: the probabilities of `false` and `true`.
fn noisy_or(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    arguments: &[Expression<'_>],
    row: &mut [f64],
) -> Result<(), ErrorAt> {
    if !matches!(evaluation.row.child, StateValues::Boolean) {
        return Err((offset, "'NoisyOR' needs a boolean node".to_owned()));
    }
    let (causes, []) = arguments.as_chunks::<2>() else {
        let message = format!(
            "'NoisyOR' has {}, expected pairs of a cause and the probability that it is inhibited",
            counted(arguments.len(), "argument", "arguments")
        );
        return Err((offset, message));
    };
    let mut inhibited = 1.0;
    for [cause, probability] in causes {
        let is_true = evaluation.truth(cause)?;
        let probability_at = probability.offset;
        let probability = evaluation.number(probability)?;
        if !(0.0..=1.0).contains(&probability) {
            let message = format!("expected a probability from 0 to 1, found {probability}");
            return Err((probability_at, message));
        }
        inhibited *= if is_true { probability } else { 1.0 };
    }
    row.copy_from_slice(&[inhibited, 1.0 - inhibited]);
    Ok(())
}

/// The probabilities of 0, 1, 2 and so on in the discrete distribution `name`.
fn discrete(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    name: &str,
    arguments: &[Expression<'_>],
    row: &mut [f64],
) -> Result<(), ErrorAt> {
    let counts_from_zero = matches!(evaluation.row.child, StateValues::Numbers(values)
        if values.iter().enumerate().all(|(count, value)| *value == count as f64));
    if !counts_from_zero {
        let message = format!("'{name}' needs a node with the values 0, 1, 2 and so on");
        return Err((offset, message));
    }
    let numbers = numbers(evaluation, arguments)?;
    let invalid = || invalid_parameters(offset, name, &numbers);
    let certain_zero = || Box::new(|count| f64::from(u8::from(count == 0)));
    let mass: Box<dyn Fn(u64) -> f64> = match (name, &numbers[..]) {
        ("Binomial", &[n, p]) if n.fract() == 0.0 && (0.0..row.len() as f64).contains(&n) => {
            let binomial = Binomial::new(p, n as u64).map_err(|_| invalid())?;
            Box::new(move |count| binomial.pmf(count))
        }
        ("Poisson", &[0.0]) => certain_zero(),
        ("Poisson", &[mean]) if mean.is_finite() => {
            let poisson = Poisson::new(mean).map_err(|_| invalid())?;
            Box::new(move |count| poisson.pmf(count))
        }
        ("Geometric", &[p]) => {
            let geometric = Geometric::new(p).map_err(|_| invalid())?;
            // Hugin counts the failures before the first success, and statrs counts all trials.
            Box::new(move |count| geometric.pmf(count + 1))
        }
        ("NegativeBinomial", &[r, 1.0]) if r > 0.0 => certain_zero(),
        ("NegativeBinomial", &[r, p]) if r.is_finite() && r > 0.0 && p > 0.0 => {
            let negative_binomial = NegativeBinomial::new(r, p).map_err(|_| invalid())?;
            Box::new(move |count| negative_binomial.pmf(count))
        }
        _ => return Err(invalid()),
    };
    let last = row.len() - 1;
    for (count, probability) in (0..).zip(row.iter_mut()) {
        *probability = mass(count);
    }
    if name != "Binomial" {
        row[last] = (1.0 - row[..last].iter().sum::<f64>()).max(0.0);
    }
    Ok(())
}

/// The continuous distribution `name`, which is called at byte `offset`.
fn continuous(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    name: &str,
    arguments: &[Expression<'_>],
) -> Result<Cumulative, ErrorAt> {
    if name == "truncate" {
        return truncated(evaluation, offset, arguments);
    }
    let numbers = numbers(evaluation, arguments)?;
    let invalid = || invalid_parameters(offset, name, &numbers);
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(invalid());
    }
    let is_shape = |shape: f64| (1.0 / MAX_SHAPE..=MAX_SHAPE).contains(&shape);
    // The lower end of the support, an optional last parameter.
    let start = |rest: &[f64]| rest.first().copied().unwrap_or(0.0);
    Ok(match (name, &numbers[..]) {
        ("Normal", &[mean, variance]) if variance > 0.0 => {
            Box::new(move |x| normal_cdf((x - mean) / variance.sqrt()))
        }
        ("LogNormal", &[mean, variance, ref rest @ ..]) if variance > 0.0 && rest.len() < 2 => {
            let start = start(rest);
            Box::new(move |x| normal_cdf(((x - start).max(0.0).ln() - mean) / variance.sqrt()))
        }
        ("Beta", &[a, b, ref rest @ ..]) if is_shape(a) && is_shape(b) => {
            let (from, to) = match *rest {
                [] => (0.0, 1.0),
                [from, to] if from < to => (from, to),
                _ => return Err(invalid()),
            };
            Box::new(move |x| beta_cdf(a, b, (x - from) / (to - from)))
        }
        ("Gamma", &[shape, scale, ref rest @ ..])
            if is_shape(shape) && scale > 0.0 && rest.len() < 2 =>
        {
            let start = start(rest);
            Box::new(move |x| gamma_cdf(shape, (x - start) / scale))
        }
        ("Weibull", &[shape, scale, ref rest @ ..])
            if is_shape(shape) && scale > 0.0 && rest.len() < 2 =>
        {
            let start = start(rest);
            Box::new(move |x| -(-((x - start) / scale).max(0.0).powf(shape)).exp_m1())
        }
        ("Uniform", &[from, to]) if from < to => {
            Box::new(move |x| ((x - from) / (to - from)).clamp(0.0, 1.0))
        }
        ("Triangular" | "PERT", &[a, b, c]) if a != b || b != c => {
            let mut sorted = [a, b, c];
            sorted.sort_by(f64::total_cmp);
            let [from, mode, to] = sorted;
            let relative = move |x: f64| (x - from) / (to - from);
            if name == "PERT" {
                let (a, b) = (1.0 + 4.0 * relative(mode), 1.0 + 4.0 * (1.0 - relative(mode)));
                Box::new(move |x| beta_cdf(a, b, relative(x)))
            } else {
                let (whole, below, above) = (to - from, mode - from, to - mode);
                Box::new(move |x| match x {
                    x if x <= from => 0.0,
                    x if x >= to => 1.0,
                    x if x <= mode => (x - from).powi(2) / (whole * below),
                    x => 1.0 - (to - x).powi(2) / (whole * above),
                })
            }
        }
        _ => return Err(invalid()),
    })
}

/// The distribution `truncate (A, D, B)`: `D` between the bounds `A` and `B`, one of which may be
/// omitted.
fn truncated(
    evaluation: &mut Evaluation<'_, '_>,
    offset: usize,
    arguments: &[Expression<'_>],
) -> Result<Cumulative, ErrorAt> {
    let is_continuous = |argument: &&Expression<'_>| match &argument.kind {
        ExpressionKind::Call(name, _) => CONTINUOUS.contains(name),
        _ => false,
    };
    let inner_at = arguments.iter().position(|argument| is_continuous(&argument));
    let (Some(inner_at), 2..=3) = (inner_at, arguments.len()) else {
        let message = "'truncate' needs a supported continuous distribution and one or two bounds";
        return Err((offset, message.to_owned()));
    };
    let inner = &arguments[inner_at];
    let ExpressionKind::Call(name, parameters) = &inner.kind else { unreachable!() };
    let cdf = continuous(evaluation, inner.offset, name, parameters)?;
    if inner_at > 1 || arguments.len() - inner_at > 2 {
        let message = "expected at most one bound on each side of the distribution";
        return Err((offset, message.to_owned()));
    }
    let lower = match inner_at {
        0 => f64::NEG_INFINITY,
        _ => evaluation.number(&arguments[0])?,
    };
    let upper = match arguments.get(inner_at + 1) {
        None => f64::INFINITY,
        Some(upper) => evaluation.number(upper)?,
    };
    let (below, up_to) = (cdf(lower), cdf(upper));
    let whole = up_to - below;
    let is_range = lower <= upper;
    if !is_range || whole.is_nan() || whole <= 0.0 {
        return Err((offset, format!("'{name}' has probability 0 between {lower} and {upper}")));
    }
    Ok(Box::new(move |x| ((cdf(x.clamp(lower, upper)) - below) / whole).clamp(0.0, 1.0)))
}

/// The values of `arguments`, which must be numbers.
fn numbers(
    evaluation: &mut Evaluation<'_, '_>,
    arguments: &[Expression<'_>],
) -> Result<Vec<f64>, ErrorAt> {
    arguments.iter().map(|argument| evaluation.number(argument)).collect()
}

fn invalid_parameters(offset: usize, name: &str, numbers: &[f64]) -> ErrorAt {
    let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    (offset, format!("'{name}' has invalid parameters: {}", numbers.join(", ")))
}
