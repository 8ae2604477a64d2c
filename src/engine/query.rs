//! From evidence to posteriors, with impossible evidence explained.

use std::sync::Arc;

use super::{
    BatchAnswers, Engine, ImpossibleEvidence, LoadError, LoadOptions, PropagationError, Propagator,
    QueryError, RunError, default_engine, diagnosis,
};
use crate::cancel::{CancelToken, Cancelled};
use crate::graph::TriangulationOptions;
use crate::network::{Evidence, Network, VariableId};
use crate::propagation::{
    CompileOptions, CompiledNetwork, Form, FormForecast, Posteriors, Watch, compile,
};

/// The posteriors of all variables of `network` given `evidence`.
///
/// Compiles the network without the observed variables, loads it into the default engine and
/// propagates once. The tree and the form of the engine are chosen for a single propagation. For
/// several queries of one network, compile and load the network once and call [`propagate`] for
/// each set of evidence, or call [`query_cases`].
///
/// # Errors
/// If the network without the observed variables needs more than half of the available memory, if a
/// propagation would take longer than the engine accepts, or if the propagation fails, for example
/// because the evidence has probability zero.
///
/// # Panics
/// If `evidence` names variables or states that `network` does not have.
pub fn query(network: &Arc<Network>, evidence: &Evidence) -> Result<Posteriors, QueryError> {
    let (compile, load) = (CompileOptions::default(), LoadOptions::default());
    let cases = std::slice::from_ref(evidence);
    let answers =
        query_cases(default_engine(), network, cases, &compile, &load, &CancelToken::new())?;
    answers.into_iter().next().expect("one case has one answer")
}

/// The posteriors of all variables of `network` given each of `cases`, in their order.
///
/// Observed variables make a junction tree smaller if they are known when the network is compiled.
/// So the network is compiled without the variables that all cases observe, unless the whole
/// network is forecast to answer all cases sooner. If neither fits into the memory limit, each case
/// gets a junction tree of its own. An engine without the capability `observed`, or with
/// `load.form` set to tables, always loads the whole network. The numbers of runs in `compile` and
/// `load`, the memory limit in `compile`, and `compile.observed` are ignored.
///
/// # Errors
/// * No case can be answered, because the network is too large even without the observed variables.
/// * The engine cannot load the tree that all cases share, for another reason.
/// * A propagation in this tree fails for a reason other than impossible evidence.
/// * `cancel` is set.
///
/// Any other error concerns one case and is the answer to this case.
///
/// # Panics
/// If a case names variables or states that `network` does not have.
pub fn query_cases(
    engine: &dyn Engine,
    network: &Arc<Network>,
    cases: &[Evidence],
    compile: &CompileOptions,
    load: &LoadOptions,
    cancel: &CancelToken,
) -> Result<CaseAnswers, QueryError> {
    let load = LoadOptions { runs: u32::try_from(cases.len()).unwrap_or(u32::MAX), ..*load };
    CaseQuery::new(engine, network, compile, &load, cancel).answer(cases)
}

/// Answers the cases of one network, one block of cases after another, so that not all of them need
/// to be in memory.
///
/// The network is compiled and loaded for the first block, as [`query_cases`] says. It may be
/// compiled without some variables that all cases of the block observe. If a case of a later block
/// does not observe all of these variables, the network is compiled and loaded again.
pub struct CaseQuery<'a> {
    engine: &'a dyn Engine,
    network: &'a Arc<Network>,
    compile: &'a CompileOptions,
    load: LoadOptions,
    cancel: &'a CancelToken,
    /// Why the default engine replaced the engine, if it did.
    device_failure: Option<String>,
    /// The network as it was last loaded: whole, or without some variables that the last cases
    /// observe. `None` if it could not be loaded.
    prepared: Option<Prepared>,
    /// The last attempt in which the network was too large: the variables that were left out, and
    /// the error.
    refused: Option<Refusal>,
    /// Whether the engine could load the network for at least one case so far.
    has_answered: bool,
}

/// The answer to each of some cases, in their order.
type CaseAnswers = Vec<Result<Posteriors, QueryError>>;

/// A compiled network with a propagator that has loaded it.
type Prepared = (Arc<CompiledNetwork>, Box<dyn Propagator>);

/// Variables that were left out of a network, and the error that says why it was still too large.
type Refusal = (Vec<VariableId>, LoadError);

impl<'a> CaseQuery<'a> {
    /// A query for cases of `network`, which `engine` answers. The number of runs in `load` is the
    /// expected number of cases in all blocks; `compile.observed`, and the number of runs and the
    /// memory limit in `compile`, are ignored. `cancel` stops the query.
    #[must_use]
    pub fn new(
        engine: &'a dyn Engine,
        network: &'a Arc<Network>,
        compile: &'a CompileOptions,
        load: &LoadOptions,
        cancel: &'a CancelToken,
    ) -> Self {
        Self {
            engine,
            network,
            compile,
            load: *load,
            cancel,
            device_failure: None,
            prepared: None,
            refused: None,
            has_answered: false,
        }
    }

    /// Why the device of the engine failed in a propagation, if it did. The default engine then
    /// answers the block of cases in which this happened, and all later ones.
    #[must_use]
    pub fn device_failure(&self) -> Option<&str> {
        self.device_failure.as_deref()
    }

    /// The posteriors of all variables given each of `cases`, in their order. If the GPU fails in a
    /// propagation, the default engine answers these cases and all later ones.
    ///
    /// # Errors
    /// * No case so far could be answered, because the network is too large even without the
    ///   observed variables.
    /// * The engine cannot load the tree that these cases share, for another reason.
    /// * A propagation in this tree fails for a reason other than impossible evidence.
    /// * The query was cancelled.
    ///
    /// Any other error concerns one case and is the answer to this case.
    ///
    /// # Panics
    /// If a case names variables or states that the network does not have.
    pub fn answer(&mut self, cases: &[Evidence]) -> Result<CaseAnswers, QueryError> {
        match self.answer_with_engine(cases) {
            Err(QueryError::Propagation(PropagationError::Device(reason)))
                if !std::ptr::eq(self.engine.info(), default_engine().info()) =>
            {
                self.engine = default_engine();
                let precisions = self.engine.precisions();
                if !precisions.contains(&self.load.precision) {
                    self.load.precision = precisions[0];
                }
                (self.prepared, self.refused) = (None, None);
                self.device_failure = Some(reason);
                self.answer_with_engine(cases)
            }
            answers => answers,
        }
    }

    /// As [`answer`](Self::answer), but fails if the GPU fails.
    fn answer_with_engine(&mut self, cases: &[Evidence]) -> Result<CaseAnswers, QueryError> {
        if cases.is_empty() {
            return Ok(Vec::new());
        }
        let watch = Watch::untimed(self.cancel.clone());
        let refused = self.prepare(cases)?;
        if let (None, Some((compiled, propagator))) = (&refused, &mut self.prepared) {
            let answers = propagate_batch(&mut **propagator, compiled, cases, &watch)?;
            let answer = |answer: Result<_, ImpossibleEvidence>| {
                answer.map_err(|impossible| PropagationError::from(impossible).into())
            };
            self.has_answered = true;
            return Ok(answers.into_iter().map(answer).collect());
        }
        // Never `None` here: `prepare` loads the network or returns a refusal.
        let Some((tried, error)) = refused else { return Err(Cancelled.into()) };
        let mut answers = Vec::with_capacity(cases.len());
        for case in cases {
            match self.answer_by_itself(case, &tried, &error, &watch) {
                Err(QueryError::Propagation(
                    error @ (PropagationError::Cancelled(_) | PropagationError::Device(_)),
                )) => return Err(error.into()),
                answer => answers.push(answer),
            }
        }
        let is_refused = |answer: &Result<_, _>| matches!(answer, Err(QueryError::Load(_)));
        self.has_answered |= !answers.iter().all(is_refused);
        if self.has_answered { Ok(answers) } else { Err(error.into()) }
    }

    /// Compiles and loads the network so that `cases` can be propagated, unless this is done
    /// already. If it is too large even without the variables that all cases observe, returns the
    /// variables that were left out when this was found, and the error.
    fn prepare(&mut self, cases: &[Evidence]) -> Result<Option<Refusal>, QueryError> {
        let admits = |(compiled, _): &Prepared| cases.iter().all(|case| compiled.admits(case));
        if self.prepared.as_ref().is_some_and(admits) {
            return Ok(None);
        }
        let by_block = if self.can_leave_out() { observed_by_all(cases) } else { Vec::new() };
        let mut by_all = by_block.clone();
        // A tree that suits the earlier blocks too is tried first: it more likely suits the next
        // block as well.
        if let Some((earlier, _)) = self.prepared.take() {
            by_all.retain(|variable| earlier.observed().binary_search(variable).is_ok());
        }
        for observed in [by_all, by_block] {
            if let Some((tried, _)) = &self.refused
                && observed.iter().all(|variable| tried.binary_search(variable).is_ok())
            {
                continue;
            }
            match self.prepared_given(observed.clone()) {
                Err(QueryError::Load(
                    error @ (LoadError::TooLarge(_) | LoadError::GraphTooLarge(_)),
                )) if self.can_leave_out() => {
                    self.refused = Some((observed, error));
                }
                prepared => {
                    self.prepared = Some(prepared?);
                    return Ok(None);
                }
            }
        }
        Ok(self.refused.clone())
    }

    /// Whether observed variables may be left out of the network.
    fn can_leave_out(&self) -> bool {
        self.engine.info().capabilities.observed && self.load.form != Some(Form::Tables)
    }

    /// Compiles and loads the network without the `observed` variables, or the whole network if it
    /// is forecast to answer all cases sooner.
    fn prepared_given(&self, observed: Vec<VariableId>) -> Result<Prepared, QueryError> {
        let part = self.compiled(observed, self.load.runs)?;
        if part.observed().is_empty() || self.load.runs == 1 {
            return self.loaded(part, self.load.runs);
        }
        let (precision, memory, runs) = (self.load.precision, self.load.memory, self.load.runs);
        let forecast = self.engine.forecast(&part, precision);
        let time = forecast.fastest_form(memory, runs).map_or(0.0, |form| form.total_ns(runs));
        // Compiling the whole network would take at least as long as compiling this part.
        if forecast.fits(memory) && time <= part.elapsed().as_nanos() as f64 {
            return self.loaded(part, runs);
        }
        let whole = match self.compiled(Vec::new(), runs) {
            Err(QueryError::Load(LoadError::GraphTooLarge(_))) if forecast.fits(memory) => {
                return self.loaded(part, runs);
            }
            whole => whole?,
        };
        let forecast_whole = self.engine.forecast(&whole, precision);
        let is_faster = |form: FormForecast| form.total_ns(runs) < time;
        let use_whole = forecast_whole.fits(memory)
            && (!forecast.fits(memory)
                || forecast_whole.fastest_form(memory, runs).is_some_and(is_faster));
        self.loaded(if use_whole { whole } else { part }, runs)
    }

    /// Answers `case` with a junction tree of its own. `error` says why the network could not be
    /// loaded without the variables `tried`.
    fn answer_by_itself(
        &self,
        case: &Evidence,
        tried: &[VariableId],
        error: &LoadError,
        watch: &Watch,
    ) -> Result<Posteriors, QueryError> {
        let observed = case.observed_variables();
        // These trees were tried already.
        if observed.is_empty() || observed == tried {
            return Err(error.clone().into());
        }
        let (compiled, mut propagator) = self.loaded(self.compiled(observed, 1)?, 1)?;
        Ok(propagate(&mut *propagator, &compiled, case, watch)?)
    }

    fn compiled(
        &self,
        observed: Vec<VariableId>,
        runs: u32,
    ) -> Result<Arc<CompiledNetwork>, QueryError> {
        let triangulation = TriangulationOptions {
            runs,
            max_bytes: self.load.memory.bytes(),
            ..self.compile.triangulation.clone()
        };
        let options = CompileOptions { triangulation, observed };
        Ok(Arc::new(compile(Arc::clone(self.network), &options, self.cancel)?))
    }

    fn loaded(&self, compiled: Arc<CompiledNetwork>, runs: u32) -> Result<Prepared, QueryError> {
        let propagator = self.engine.load(&compiled, &LoadOptions { runs, ..self.load })?;
        Ok((compiled, propagator))
    }
}

/// The variables that each of `cases` observes.
fn observed_by_all(cases: &[Evidence]) -> Vec<VariableId> {
    let mut observed = cases.first().map_or_else(Vec::new, Evidence::observed_variables);
    for case in cases.iter().skip(1) {
        observed.retain(|&variable| case.observed(variable).is_some());
    }
    observed
}

/// Propagates `evidence` with `propagator`, into which the network `compiled` is loaded. If the
/// evidence is impossible, the error names the findings in conflict.
///
/// # Errors
/// If [`Propagator::run`] fails.
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
        Err(RunError::OutOfRange) => Err(PropagationError::OutOfRange),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
        Err(RunError::OutOfMemory(error)) => Err(error.into()),
        Err(RunError::Impossible) => {
            Err(diagnosis::explain(propagator, compiled, evidence, watch)?.into())
        }
    }
}

/// As [`Propagator::run_batch`], but the answer to an impossible case names the findings in
/// conflict.
///
/// # Errors
/// If `watch` was cancelled, or if a case fails as in [`Propagator::run`] for a reason other than
/// impossible evidence. An impossible case is an error only in its own answer.
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
        Err(RunError::OutOfRange) => Err(PropagationError::OutOfRange),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
        Err(RunError::OutOfMemory(error)) => Err(error.into()),
        Err(RunError::Impossible) => diagnosis::explain(propagator, compiled, case, watch).map(Err),
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

/// For each case whose numbers are out of the range of a batch, propagates this case alone and uses
/// the answer of that run, which has more range.
///
/// # Errors
/// [`Cancelled`] once `watch` is cancelled.
pub(super) fn rerun_out_of_range(
    answers: BatchAnswers,
    cases: &[Evidence],
    watch: &Watch,
    mut run: impl FnMut(&Evidence, &Watch) -> Result<Posteriors, RunError>,
) -> Result<BatchAnswers, Cancelled> {
    let rerun = |(answer, case): (_, &Evidence)| match answer {
        Err(RunError::OutOfRange) => {
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
