//! Propagating with the loaded engine.

use std::sync::Arc;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::engine::{Device, PropagationError, QueryError, propagate};
use crate::network::Evidence;
use crate::propagation::Watch;
use crate::session::panics::drop_quietly;
use crate::session::state::EngineFailure;
use crate::session::worker::load::load_engine;
use crate::session::worker::{Interruption, Worker};
use crate::session::{Failure, Propagation, Request, RunTimes, Step, Update};

impl Worker {
    /// Propagates without evidence. If the request has none and asks for one propagation, this is
    /// also its result.
    ///
    /// # Errors
    /// If the propagation fails, or the step is cancelled.
    pub(super) fn propagate_prior(
        &mut self,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Interruption> {
        let watch = self.timed_watch(token);
        let Some(prior) = self.propagate(&Evidence::none(), request, &watch)? else {
            return Ok(());
        };
        self.state.prior = Some(Arc::clone(&prior));
        self.report(Update::Prior(Arc::clone(&prior)));
        if request.evidence.is_empty() && !self.state.asks_for_several_runs(request) {
            self.store_and_report(request, prior);
        }
        Ok(())
    }

    /// Propagates the evidence of the request, as often as it asks for.
    ///
    /// # Errors
    /// If a propagation fails, or the step is cancelled.
    pub(super) fn propagate_evidence(
        &mut self,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Interruption> {
        if self.state.asks_for_several_runs(request) {
            return self.propagate_repeatedly(request, token);
        }
        if self.state.is_another_run(request)
            && let Some(loaded) = &mut self.state.loaded
        {
            // The user asks for another run in order to see every message computed.
            loaded.propagator.forget();
        }
        let watch = self.timed_watch(token);
        if let Some(propagation) = self.propagate(&request.evidence, request, &watch)? {
            self.store_and_report(request, propagation);
        }
        Ok(())
    }

    /// Propagates as often as requested, computing every message each time, and reports the run
    /// with the median time. The runs are not reported one by one, because drawing them in the
    /// window would slow down the runs after them.
    fn propagate_repeatedly(
        &mut self,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Interruption> {
        let mut runs: Vec<Arc<Propagation>> = Vec::with_capacity(request.runs);
        for _ in 0..request.runs {
            let loaded = self.state.loaded.as_mut().expect("an earlier step loaded it");
            loaded.propagator.forget();
            let watch = Watch::timed(loaded.compiled.plan(), token.clone());
            match self.propagate(&request.evidence, request, &watch)? {
                Some(run) => runs.push(run),
                None => return Ok(()),
            }
        }
        let times: Vec<Duration> = runs.iter().map(|run| run.trace.elapsed).collect();
        if let Some((median, times)) = RunTimes::of(&times) {
            let times = Some(times);
            let propagation = Propagation { times, ..(*runs[median]).clone() };
            self.store_and_report(request, Arc::new(propagation));
        }
        Ok(())
    }

    /// Stores and reports the posteriors for the request's evidence.
    fn store_and_report(&mut self, request: &Request, propagation: Arc<Propagation>) {
        // On a GPU, timing the messages slows a propagation down. The next step therefore repeats
        // the propagation without timing its messages, to measure the time that it then takes.
        let device = propagation.engine.engine.info().capabilities.device;
        self.state.traced = (device == Device::Gpu).then(|| Arc::clone(&propagation));
        self.state.propagated = Some((request.evidence.clone(), request.run_serial));
        self.state.last_run = Some(request.run_serial);
        self.report(Update::Propagated(propagation));
    }

    /// Repeats the last propagation without timing messages. A failure is not reported here, but by
    /// the next propagation, which fails too if the device is still broken.
    ///
    /// # Errors
    /// Only if the step is cancelled.
    pub(super) fn propagate_untraced(&mut self, token: &CancelToken) -> Result<(), Interruption> {
        let traced = self.state.traced.as_ref().expect("an earlier step propagated");
        let loaded = self.state.loaded.as_mut().expect("an earlier step loaded it");
        let Propagation { compiled, evidence, times, .. } = &**traced;
        // If the propagation was repeated, so is the one without timing.
        let mut untraced: Vec<Duration> = Vec::new();
        for _ in 0..times.map_or(1, |times| times.runs) {
            let watch = Watch::untimed(token.clone());
            match propagate(&mut *loaded.propagator, compiled, evidence, &watch) {
                Ok(_) => untraced.push(watch.trace().elapsed),
                Err(PropagationError::Cancelled(_)) => return Err(Interruption::Cancelled),
                Err(_) => {
                    self.state.traced = None;
                    return Ok(());
                }
            }
        }
        if let Some(traced) = self.state.traced.take()
            && let Some((_, measured)) = RunTimes::of(&untraced)
        {
            let untraced = Some(measured.median);
            let times = traced.times.map(|_| measured);
            let propagation = Propagation { untraced, times, ..(*traced).clone() };
            self.report(Update::Untraced(Arc::new(propagation)));
        }
        Ok(())
    }

    /// Propagates the first case of the request that has no answer yet.
    ///
    /// # Errors
    /// If the case cannot be compiled or propagated, or the step is cancelled. If the case is
    /// impossible or its numbers are out of range, this is its answer and not an error. If the case
    /// needs a tree of its own, a failure to load or propagate this tree is also an answer.
    pub(super) fn propagate_case(
        &mut self,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Interruption> {
        let case = self.state.first_unanswered(request).expect("a case is unanswered").clone();
        let watch = Watch::untimed(token.clone());
        let loaded = self.state.loaded.as_ref().expect("an earlier step loaded it");
        let answer = if loaded.compiled.admits(&case) {
            match self.propagate(&case, request, &watch) {
                Ok(None) => return Ok(()),
                Ok(Some(propagation)) => Ok(propagation.posteriors.clone()),
                Err(Interruption::Failed(Failure::Impossible(impossible))) => {
                    Err(PropagationError::from(impossible).into())
                }
                Err(Interruption::Failed(Failure::OutOfRange(error))) => Err(error.into()),
                Err(interruption) => return Err(interruption),
            }
        } else {
            // The loaded tree lacks variables that the evidence of the request observes and this
            // case does not, so the case gets a tree of its own.
            let engine = loaded.engine;
            let compiled = self.compile_given(&case, request, token)?;
            match load_engine(engine, request, &compiled) {
                Ok(mut propagator) => match propagate(&mut *propagator, &compiled, &case, &watch) {
                    Err(PropagationError::Cancelled(_)) => return Err(Interruption::Cancelled),
                    answer => answer.map_err(QueryError::from),
                },
                Err(error) => Err(error.into()),
            }
        };
        let answer = answer.map(Arc::new);
        self.state.answered.push(case.clone());
        self.report(Update::Answered(case, answer));
        Ok(())
    }

    /// A watch that times each message, reported so that the window can show progress.
    fn timed_watch(&self, token: &CancelToken) -> Arc<Watch> {
        let loaded = self.state.loaded.as_ref().expect("an earlier step loaded it");
        let watch = Arc::new(Watch::timed(loaded.compiled.plan(), token.clone()));
        self.report(Update::Propagating(Arc::clone(&watch)));
        watch
    }

    /// Propagates `evidence`. `None` if the engine's device failed and the engine has a fallback:
    /// the engine is then unloaded, and loading is the next step.
    fn propagate(
        &mut self,
        evidence: &Evidence,
        request: &Request,
        watch: &Watch,
    ) -> Result<Option<Arc<Propagation>>, Interruption> {
        let loaded = self.state.loaded.as_mut().expect("an earlier step loaded it");
        let compiled = Arc::clone(&loaded.compiled);
        match propagate(&mut *loaded.propagator, &compiled, evidence, watch) {
            Ok(posteriors) => Ok(Some(Arc::new(Propagation {
                evidence: evidence.clone(),
                posteriors,
                untraced: None,
                times: None,
                trace: watch.trace(),
                engine: loaded.engine,
                compiled,
            }))),
            Err(PropagationError::Cancelled(_)) => Err(Interruption::Cancelled),
            Err(PropagationError::Impossible(impossible)) => {
                Err(Interruption::Failed(Failure::Impossible(impossible)))
            }
            Err(error @ PropagationError::OutOfRange) => {
                Err(Interruption::Failed(Failure::OutOfRange(error)))
            }
            Err(PropagationError::OutOfMemory(error)) => {
                drop_quietly(self.state.loaded.take());
                self.state.forget_from(Step::Load);
                Err(Interruption::Failed(error.into()))
            }
            Err(PropagationError::Device(reason)) => {
                if loaded.engine == loaded.engine.fallback() {
                    return Err(Interruption::Failed(Failure::Device(reason)));
                }
                drop_quietly(self.state.loaded.take());
                self.state.forget_from(Step::Load);
                let (engine, run_serial) = (request.engine, request.run_serial);
                self.state.engine_failure =
                    Some(EngineFailure { engine, run_serial, reason, is_reported: false });
                Ok(None)
            }
        }
    }
}
