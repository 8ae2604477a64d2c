//! What is timed.

use std::time::Duration;

use cliquescope::cancel::CancelToken;
use cliquescope::clock::Instant;
use cliquescope::engine::{self, Propagator, RunError};
use cliquescope::network::Evidence;
use cliquescope::propagation::{CompiledNetwork, Posteriors, Savings, Watch};
use cliquescope::statistics::{Quantiles, median};
use serde::Serialize;

use crate::cli::output::milliseconds;

/// Cases of a batch that are also propagated one at a time.
const ONE_AT_A_TIME: usize = 200;

/// How at least one duration is spread, in milliseconds.
pub fn spread(times: &[Duration]) -> Quantiles {
    let times: Vec<f64> = times.iter().copied().map(milliseconds).collect();
    Quantiles::of(&times).expect("something was timed")
}

/// What repeating one propagation gave.
pub struct Runs {
    pub propagate_ms: Quantiles,
    pub savings: Savings,
}

/// Propagates `repeat` times after one that warms up.
pub fn time(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    repeat: u32,
) -> Result<Runs, String> {
    let mut times = Vec::with_capacity(repeat as usize + 1);
    let mut savings = Savings::default();
    for _ in 0..=repeat {
        let watch = Watch::untimed(CancelToken::new());
        times.push(time_once(propagator, compiled, evidence, &watch)?);
        savings = watch.trace().savings;
    }
    times.remove(0);
    Ok(Runs { propagate_ms: spread(&times), savings })
}

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

/// What it costs to time every message.
#[derive(Serialize)]
pub struct TimingCost {
    /// The same propagation without and with a watch that times messages, by turns.
    pub untimed_ms: Quantiles,
    pub timed_ms: Quantiles,
    /// Messages that were timed.
    pub messages: usize,
    /// The median of what a timed propagation takes longer than the untimed one before or after it,
    /// as a share of the median untimed one.
    pub share: f64,
    /// What the kernel alone takes without and with the stamps by which it times messages, in
    /// microseconds, if it is one that has them: the rest of the difference is reading them.
    pub kernel_us: Option<[f64; 2]>,
}

/// Propagates `repeat` times without and with the timing of messages, by turns.
pub fn timing_cost(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    repeat: u32,
) -> Result<Box<TimingCost>, String> {
    let (mut untimed, mut timed) = (Vec::new(), Vec::new());
    let mut messages = 0;
    for pair in 0..=repeat {
        // Each is first as often as the other: what comes second finds more in the caches.
        for is_timed in [pair % 2 == 1, pair % 2 == 0] {
            let cancel = CancelToken::new();
            let watch = match is_timed {
                true => Watch::timed(compiled.plan(), cancel),
                false => Watch::untimed(cancel),
            };
            time_once(propagator, compiled, evidence, &watch)?;
            // By the watch's own clock, which leaves out that a device's times are fetched afterwards.
            let elapsed = watch.trace().elapsed;
            if is_timed { &mut timed } else { &mut untimed }.push(elapsed);
            messages = messages.max(watch.progress().0);
        }
    }
    untimed.remove(0);
    timed.remove(0);
    let pairs = untimed.iter().zip(&timed);
    let more = pairs.map(|(a, b)| milliseconds(*b) - milliseconds(*a));
    let more = median(more).expect("something was timed");
    let untimed_ms = spread(&untimed);
    let share = more / untimed_ms.median;
    let kernel_us = propagator.gpu().and_then(|gpu| gpu.kernel_times(repeat));
    let kernel_us = kernel_us.map(|times| times.map(|time| 1e3 * milliseconds(time)));
    Ok(Box::new(TimingCost { untimed_ms, timed_ms: spread(&timed), messages, share, kernel_us }))
}

/// What propagating many cases at once gave.
#[derive(Serialize)]
pub struct Batch {
    /// Cases, and those among them of probability zero.
    pub cases: usize,
    pub impossible: usize,
    /// Time of all cases.
    pub batch_ms: Quantiles,
    /// Cases a second, by the median.
    pub cases_per_second: f64,
    /// The same where each case is a run of its own.
    pub one_at_a_time: OneAtATime,
}

/// What propagating the first cases of a batch one after another gave.
#[derive(Serialize)]
pub struct OneAtATime {
    pub cases: usize,
    pub cases_per_second: f64,
    /// Largest difference between a posterior of the batch and the same of a run.
    pub largest_deviation: f64,
}

/// Propagates all cases at once, `repeat` times after one that warms up; and some one at a time.
pub fn batch(
    propagator: &mut dyn Propagator,
    cases: &[Evidence],
    repeat: u32,
) -> Result<Batch, String> {
    let watch = Watch::untimed(CancelToken::new());
    let mut times = Vec::with_capacity(repeat as usize + 1);
    let mut answers = Vec::new();
    for _ in 0..=repeat {
        propagator.forget();
        let started = Instant::now();
        let found = propagator.run_batch(cases, &watch).map_err(|error| error.to_string())?;
        times.push(started.elapsed());
        answers = found;
    }
    times.remove(0);
    let batch_ms = spread(&times);
    let first = &cases[..cases.len().min(ONE_AT_A_TIME)];
    propagator.forget();
    let mut elapsed = Duration::ZERO;
    let mut largest_deviation: f64 = 0.0;
    for (case, answer) in first.iter().zip(&answers) {
        let started = Instant::now();
        let alone = propagator.run(case, &watch);
        elapsed += started.elapsed();
        largest_deviation = largest_deviation.max(deviation(answer, &alone)?);
    }
    Ok(Batch {
        cases: cases.len(),
        impossible: answers.iter().filter(|answer| answer.is_err()).count(),
        batch_ms,
        cases_per_second: cases.len() as f64 / batch_ms.median * 1e3,
        one_at_a_time: OneAtATime {
            cases: first.len(),
            cases_per_second: first.len() as f64 / elapsed.as_secs_f64(),
            largest_deviation,
        },
    })
}

/// The largest difference between two answers' posteriors.
pub fn deviation(
    one: &Result<Posteriors, RunError>,
    other: &Result<Posteriors, RunError>,
) -> Result<f64, String> {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            let pairs = one.values().iter().zip(other.values());
            Ok(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
        }
        (Err(one), Err(other)) if one == other => Ok(0.0),
        _ => Err("the answers to one case differ in whether it is possible".to_owned()),
    }
}
