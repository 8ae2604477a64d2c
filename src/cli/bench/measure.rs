//! Times propagations.

use std::borrow::Cow;
use std::time::Duration;

use cliquescope::cancel::CancelToken;
use cliquescope::clock::Instant;
use cliquescope::engine::{self, Propagator, RunError};
use cliquescope::network::Evidence;
use cliquescope::propagation::{CompiledNetwork, Posteriors, Savings, Watch};
use cliquescope::statistics::{Quantiles, median};
use serde::Serialize;

use super::changes::failure;
use crate::cli::output::milliseconds;

/// Maximum number of cases of a batch that are also propagated one at a time, for comparison. More
/// would make the comparison steadier and the command slower.
const SINGLE_CASES: usize = 200;

/// Quantiles of `times`, in milliseconds.
///
/// # Panics
/// If `times` is empty.
pub fn spread(times: &[Duration]) -> Quantiles {
    let times: Vec<f64> = times.iter().copied().map(milliseconds).collect();
    Quantiles::of(&times).expect("something was timed")
}

/// The result of repeating one propagation.
pub struct Runs {
    pub propagate_ms: Quantiles,
    /// What the last propagation skipped.
    pub savings: Savings,
    /// Whether the numbers were out of the engine's range, so that the case was computed again.
    pub recomputed: bool,
}

/// Times `repeat` propagations from scratch, after one for warming up.
///
/// # Errors
/// A message for the user if a propagation fails.
pub fn time(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    repeat: u32,
) -> Result<Runs, String> {
    let mut times = Vec::with_capacity(repeat as usize + 1);
    let (mut savings, mut recomputed) = (Savings::default(), false);
    for _ in 0..=repeat {
        let watch = Watch::untimed(CancelToken::new());
        times.push(time_once(propagator, compiled, evidence, &watch)?);
        savings = watch.trace().savings;
        recomputed = watch.recomputed() > 0;
    }
    times.remove(0);
    Ok(Runs { propagate_ms: spread(&times), savings, recomputed })
}

/// The time of one propagation from scratch.
fn time_once(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    watch: &Watch,
) -> Result<Duration, String> {
    propagator.forget();
    let started = Instant::now();
    let posteriors = engine::propagate(propagator, compiled, evidence, watch);
    let elapsed = started.elapsed();
    posteriors.map(|_| elapsed).map_err(|error| error.to_string())
}

/// The cost of timing every message.
#[derive(Serialize)]
pub struct TimingCost {
    /// Times of the same propagation without and with timing of messages, measured alternately.
    pub untimed_ms: Quantiles,
    pub timed_ms: Quantiles,
    /// Number of messages that were timed.
    pub messages: usize,
    /// The median difference between a timed propagation and the untimed one next to it, divided by
    /// the median untimed time.
    pub share: f64,
    /// Time of the kernel alone for a propagation without evidence, first without and then with
    /// timestamps, in microseconds; `None` if the engine does not measure this. Copying the
    /// timestamps afterwards is not part of the cost.
    pub kernel_us: Option<[f64; 2]>,
}

/// Propagates `repeat` times without timing the messages and `repeat` times with timing them,
/// alternately, after one of each for warming up.
///
/// # Errors
/// A message for the user if a propagation fails.
pub fn timing_cost(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    repeat: u32,
) -> Result<Box<TimingCost>, String> {
    let (mut untimed, mut timed) = (Vec::new(), Vec::new());
    let mut messages = 0;
    for pair in 0..=repeat {
        // Swap the order in every pair: the second run benefits from warm caches.
        for is_timed in [pair % 2 == 1, pair % 2 == 0] {
            let cancel = CancelToken::new();
            let watch = match is_timed {
                true => Watch::timed(compiled.plan(), cancel),
                false => Watch::untimed(cancel),
            };
            time_once(propagator, compiled, evidence, &watch)?;
            // Not the time that `time_once` returns: for engine gpu, that time includes fetching
            // the timestamps after the propagation.
            let elapsed = watch.trace().elapsed;
            if is_timed { &mut timed } else { &mut untimed }.push(elapsed);
            messages = messages.max(watch.progress().0);
        }
    }
    untimed.remove(0);
    timed.remove(0);
    let pairs = untimed.iter().zip(&timed);
    let differences = pairs.map(|(a, b)| milliseconds(*b) - milliseconds(*a));
    let difference = median(differences).expect("something was timed");
    let untimed_ms = spread(&untimed);
    let share = difference / untimed_ms.median;
    let kernel_us = propagator.gpu().and_then(|gpu| gpu.kernel_times(repeat));
    let kernel_us = kernel_us.map(|times| times.map(|time| 1e3 * milliseconds(time)));
    Ok(Box::new(TimingCost { untimed_ms, timed_ms: spread(&timed), messages, share, kernel_us }))
}

/// The result of propagating many cases together.
#[derive(Serialize)]
pub struct Batch {
    /// Number of cases.
    pub cases: usize,
    /// Number of cases with probability zero.
    pub impossible: usize,
    /// Number of cases that were computed again because their numbers were out of the engine's
    /// range.
    pub recomputed: u32,
    /// Time for all cases together, in milliseconds.
    pub batch_ms: Quantiles,
    /// Cases per second, according to the median time.
    pub cases_per_second: f64,
    /// Number of GPUs that computed the cases together, 0 if the cases were propagated one at a
    /// time; absent for an engine on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<usize>,
    /// The result of propagating the first cases again, one at a time.
    pub one_at_a_time: OneAtATime,
}

/// The result of propagating the first cases of a batch one at a time.
#[derive(Serialize)]
pub struct OneAtATime {
    /// Number of cases that were propagated one at a time.
    pub cases: usize,
    pub cases_per_second: f64,
    /// Largest absolute difference between a posterior of the batch and of a single propagation.
    pub largest_deviation: f64,
}

/// Times `repeat` propagations of all cases together, after one for warming up. The cases come in
/// `blocks`, and each block is propagated `repeat` times before the next is read. The n-th time of
/// all cases is the sum of the n-th times of the blocks. For comparison, also propagates the first
/// cases one at a time; each of these propagations may reuse results of the one before.
///
/// # Errors
/// A message for the user if a block of cases cannot be read, if a propagation fails, or if a case
/// has another outcome in the batch than alone.
pub fn batch<'c>(
    propagator: &mut dyn Propagator,
    blocks: impl Iterator<Item = Result<Cow<'c, [Evidence]>, String>>,
    repeat: u32,
) -> Result<Batch, String> {
    let watch = Watch::untimed(CancelToken::new());
    let mut times = vec![Duration::ZERO; repeat as usize];
    let (mut cases, mut impossible, mut recomputed) = (0, 0, 0);
    let mut alone = None;
    for block in blocks {
        let block = block?;
        // Counts the cases that the last run computed again.
        let mut counting = watch.untimed_child();
        let mut run = |propagator: &mut dyn Propagator| {
            counting = watch.untimed_child();
            propagator.forget();
            let started = Instant::now();
            let answers = propagator.run_batch(&block, &counting);
            let elapsed = started.elapsed();
            answers.map(|answers| (elapsed, answers)).map_err(|error| error.to_string())
        };
        let (_, mut answers) = run(propagator)?;
        for time in &mut times {
            let elapsed;
            (elapsed, answers) = run(propagator)?;
            *time += elapsed;
        }
        recomputed += counting.recomputed();
        cases += block.len();
        for answer in &answers {
            match answer {
                Ok(_) => {}
                Err(RunError::Impossible) => impossible += 1,
                Err(error) => return Err(failure(error.clone())),
            }
        }
        if alone.is_none() {
            alone = Some(one_at_a_time(propagator, &block, &answers, &watch)?);
        }
    }
    let batch_ms = spread(&times);
    let gpus = propagator.gpu().map(|gpu| gpu.gpus_of_batch());
    let nothing = OneAtATime { cases: 0, cases_per_second: 0.0, largest_deviation: 0.0 };
    Ok(Batch {
        cases,
        impossible,
        recomputed,
        batch_ms,
        // A file without cases takes no time.
        cases_per_second: if cases == 0 { 0.0 } else { cases as f64 / batch_ms.median * 1e3 },
        gpus,
        one_at_a_time: alone.unwrap_or(nothing),
    })
}

/// Propagates the first of `cases` one at a time, and compares with their `answers`.
fn one_at_a_time(
    propagator: &mut dyn Propagator,
    cases: &[Evidence],
    answers: &[Result<Posteriors, RunError>],
    watch: &Watch,
) -> Result<OneAtATime, String> {
    let first = &cases[..cases.len().min(SINGLE_CASES)];
    propagator.forget();
    let mut elapsed = Duration::ZERO;
    let mut largest_deviation: f64 = 0.0;
    for (case, answer) in first.iter().zip(answers) {
        let started = Instant::now();
        let single = propagator.run(case, watch);
        elapsed += started.elapsed();
        largest_deviation = largest_deviation.max(deviation(answer, &single)?);
    }
    Ok(OneAtATime {
        cases: first.len(),
        cases_per_second: first.len() as f64 / elapsed.as_secs_f64(),
        largest_deviation,
    })
}

/// The largest absolute difference between the posteriors of two answers to one case. Two equal
/// errors do not differ.
///
/// # Errors
/// If there are posteriors in one answer only, or the answers are different errors.
fn deviation(
    one: &Result<Posteriors, RunError>,
    other: &Result<Posteriors, RunError>,
) -> Result<f64, String> {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            let pairs = one.values().iter().zip(other.values());
            Ok(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
        }
        (Err(one), Err(other)) if one == other => Ok(0.0),
        _ => Err("a case has another outcome in the batch than alone".to_owned()),
    }
}
