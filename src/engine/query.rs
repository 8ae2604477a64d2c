//! From evidence to posteriors, with impossible evidence explained.

use std::sync::Arc;

use super::{
    BatchAnswers, ImpossibleEvidence, LoadOptions, PropagationError, Propagator, QueryError,
    RunError, default_engine, diagnosis,
};
use crate::cancel::{CancelToken, Cancelled};
use crate::graph::TriangulationOptions;
use crate::network::{Evidence, Network};
use crate::propagation::{CompileOptions, CompiledNetwork, Posteriors, Watch, compile};

/// The posteriors of all variables of `network` given `evidence`.
///
/// Compiles the network, loads it into the default engine and propagates once. The tree and the
/// form of the engine are chosen for a single propagation. For several queries of one network,
/// compile and load the network once and call [`propagate`] for each set of evidence.
///
/// # Errors
/// If the network needs more than half of the available memory, if a propagation would take longer
/// than the engine accepts, or if the evidence has probability zero.
///
/// # Panics
/// If `evidence` names variables or states that `network` does not have.
pub fn query(network: &Arc<Network>, evidence: &Evidence) -> Result<Posteriors, QueryError> {
    let cancel = CancelToken::new();
    let triangulation = TriangulationOptions { runs: 1, ..TriangulationOptions::default() };
    let compiled = compile(Arc::clone(network), &CompileOptions { triangulation }, &cancel)?.into();
    let load = LoadOptions { runs: 1, ..LoadOptions::default() };
    let mut propagator = default_engine().load(&compiled, &load)?;
    Ok(propagate(&mut *propagator, &compiled, evidence, &Watch::untimed(cancel))?)
}

/// Propagates `evidence` with `propagator`, into which the network `compiled` is loaded. If the
/// evidence is impossible, the error names the findings in conflict.
///
/// # Errors
/// If the evidence is impossible, `watch` was cancelled, or the GPU failed.
pub fn propagate(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    watch: &Watch,
) -> Result<Posteriors, PropagationError> {
    watch.begin();
    let result = propagator.run(evidence, watch);
    watch.finish();
    match result {
        Ok(posteriors) => Ok(posteriors),
        Err(RunError::Cancelled) => Err(Cancelled.into()),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
        Err(RunError::Impossible) => {
            Err(diagnosis::explain(propagator, compiled.network(), evidence, watch)?.into())
        }
    }
}

/// As [`Propagator::run_batch`], but the answer to an impossible case names the findings in
/// conflict.
///
/// # Errors
/// If `watch` was cancelled or the GPU failed. An impossible case is an error only in its own
/// answer.
pub fn propagate_batch(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    cases: &[Evidence],
    watch: &Watch,
) -> Result<Vec<Result<Posteriors, ImpossibleEvidence>>, PropagationError> {
    let answers = propagator.run_batch(cases, watch)?;
    let mut explain = |(case, answer): (&Evidence, Result<_, _>)| match answer {
        Ok(posteriors) => Ok(Ok(posteriors)),
        Err(RunError::Cancelled) => Err(Cancelled.into()),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
        Err(RunError::Impossible) => {
            diagnosis::explain(propagator, compiled.network(), case, watch).map(Err)
        }
    };
    cases.iter().zip(answers).map(&mut explain).collect()
}

/// Propagates each case in a run of its own.
///
/// # Errors
/// [`Cancelled`] once `watch` is cancelled.
pub(super) fn one_at_a_time(
    cases: &[Evidence],
    watch: &Watch,
    mut run: impl FnMut(&Evidence, &Watch) -> Result<Posteriors, RunError>,
) -> Result<BatchAnswers, Cancelled> {
    let mut answers = Vec::with_capacity(cases.len());
    for case in cases {
        watch.check()?;
        match run(case, &watch.untimed_child()) {
            Err(RunError::Cancelled) => return Err(Cancelled),
            answer => answers.push(answer),
        }
    }
    Ok(answers)
}

/// For each case that a batch found impossible, propagates this case alone and uses the answer of
/// that run.
///
/// A batch has less numerical range than a single run, so it may report very unlikely evidence as
/// impossible.
///
/// # Errors
/// [`Cancelled`] once `watch` is cancelled.
pub(super) fn rerun_impossible(
    answers: BatchAnswers,
    cases: &[Evidence],
    watch: &Watch,
    mut run: impl FnMut(&Evidence, &Watch) -> Result<Posteriors, RunError>,
) -> Result<BatchAnswers, Cancelled> {
    let rerun = |(answer, case): (_, &Evidence)| match answer {
        Err(RunError::Impossible) => {
            watch.check()?;
            match run(case, &watch.untimed_child()) {
                Err(RunError::Cancelled) => Err(Cancelled),
                answer => Ok(answer),
            }
        }
        answer => Ok(answer),
    };
    answers.into_iter().zip(cases).map(rerun).collect()
}
