//! The worker: takes requests and does, step by step, what is missing for the latest one.

mod load;
mod propagate;

use std::sync::Arc;

use crate::allocate;
use crate::cancel::{CancelToken, Cancelled};
use crate::engine::LoadError;
use crate::graph::TriangulationError;
use crate::network::Evidence;
use crate::session::control::Control;
use crate::session::panics::{catch_panic, drop_quietly};
use crate::session::reporter::Reporter;
use crate::session::state::State;
use crate::session::timing_gate::TimingGate;
use crate::session::{Failure, Request, Step, Update};

/// Works on its own thread until the [`Session`](crate::session::Session) is dropped.
pub(super) struct Worker {
    control: Arc<Control>,
    timing: Arc<TimingGate>,
    reporter: Reporter,
    state: State,
    /// The request that is not finished; `None` while the worker waits for another one.
    unfinished: Option<Request>,
    /// The serial of the network that the running step is about.
    source_serial: u64,
}

/// Why a step gave no result.
enum Interruption {
    /// By the user, or by a newer request.
    Cancelled,
    /// The failure is reported to the window.
    Failed(Failure),
}

impl From<TriangulationError> for Interruption {
    fn from(error: TriangulationError) -> Self {
        match error {
            TriangulationError::Cancelled(_) => Self::Cancelled,
            TriangulationError::TooLarge(refusal) => Self::Failed(LoadError::from(refusal).into()),
        }
    }
}

impl From<Cancelled> for Interruption {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl Worker {
    pub fn new(control: Arc<Control>, timing: Arc<TimingGate>, reporter: Reporter) -> Self {
        let state = State::default();
        Self { control, timing, reporter, state, unfinished: None, source_serial: 0 }
    }

    /// Works on the latest request, until the session is dropped.
    pub fn run(mut self) {
        while let Some((request, step)) = self.next_work() {
            self.source_serial = request.source_serial;
            match step {
                Some((step, token)) => self.do_step(step, &request, &token),
                None => self.report(Update::Idle),
            }
        }
    }

    /// Takes up the unfinished request, or waits for another. Returns the request with its next
    /// step, which counts as running from then on; without a step if nothing is left to do. `None`
    /// once the session is dropped.
    fn next_work(&mut self) -> Option<(Request, Option<(Step, CancelToken)>)> {
        let request = match self.unfinished.take() {
            Some(request) => request,
            None => self.control.wait()?,
        };
        let work = self.control.start_step(request, |request| self.state.next_step(request))?;
        if let (request, Some(_)) = &work {
            self.unfinished = Some(request.clone());
        }
        Some(work)
    }

    /// Does one step and reports how it ended.
    fn do_step(&mut self, step: Step, request: &Request, token: &CancelToken) {
        self.report(Update::Started(step));
        let timing = Arc::clone(&self.timing);
        let measurement = timing.measure();
        let result = catch_panic(|| self.perform(step, request, token));
        drop(measurement);
        let cancelled_by_user = self.control.end_step();
        match result {
            // The step could not be interrupted, but the steps after it need not run.
            Ok(Ok(())) if cancelled_by_user && self.state.next_step(request).is_some() => {
                self.give_up(request, Update::Cancelled(step));
            }
            Ok(Ok(())) => {}
            Ok(Err(Interruption::Cancelled)) if cancelled_by_user => {
                self.give_up(request, Update::Cancelled(step));
            }
            // A newer request interrupted the step and is taken next.
            Ok(Err(Interruption::Cancelled)) => {}
            Ok(Err(Interruption::Failed(failure))) => {
                self.give_up(request, Update::Failed(step, failure));
            }
            Err(failure) => {
                // Opening changes nothing before it has succeeded.
                if step != Step::Open {
                    drop_quietly(std::mem::take(&mut self.state));
                }
                self.give_up(request, Update::Failed(step, failure));
            }
        }
    }

    /// Does nothing more for `request`, and reports why.
    fn give_up(&mut self, request: &Request, update: Update) {
        self.unfinished = None;
        // A run that was given up counts as done. A later change of the evidence is then not taken
        // for another run.
        self.state.last_run = self.state.last_run.map(|_| request.run_serial);
        self.control.give_up(request);
        self.report(update);
    }

    /// Reports `update` about the network of the running step.
    fn report(&self, update: Update) {
        self.reporter.report(self.source_serial, update);
    }

    /// Does one step. The results of earlier steps that it needs must exist.
    fn perform(
        &mut self,
        step: Step,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Interruption> {
        #[cfg(test)]
        crate::session::testing::panic_if_wanted(step, request);
        match step {
            Step::Open => self.open(request),
            Step::Compile => self.compile(request, token),
            Step::Load => self.load(request),
            Step::Prior => self.propagate_prior(request, token),
            Step::Reduce => self.reduce(request, token),
            Step::Propagate => self.propagate_evidence(request, token),
            Step::Untraced => self.propagate_untraced(token),
            Step::Compare => self.propagate_case(request, token),
        }
    }

    /// Reads the network, unless the window has read it.
    fn open(&mut self, request: &Request) -> Result<(), Interruption> {
        // The open network is kept until the new one has been read, so that nothing is lost if
        // reading fails.
        let read = match &request.read {
            Some(read) => Arc::clone(read),
            None => {
                let read = request.source.open();
                let failed = |error| Interruption::Failed(Failure::Open(Arc::new(error)));
                Arc::new(read.map_err(failed)?)
            }
        };
        // This is the last place at which opening can fail. Nothing was changed yet.
        allocate::check();
        self.state.forget_from(Step::Open);
        self.state.opened = Some((request.source_serial, Arc::clone(&read)));
        if request.read.is_none() {
            self.report(Update::Opened(read));
        }
        Ok(())
    }

    /// Compiles the whole network.
    fn compile(&mut self, request: &Request, token: &CancelToken) -> Result<(), Interruption> {
        let compiled = self.compile_given(&Evidence::none(), request, token)?;
        // This is the last place at which compiling can fail. Nothing was changed yet.
        allocate::check();
        self.state.forget_from(Step::Compile);
        self.state.compiled = Some((request.compile.clone(), Arc::clone(&compiled)));
        self.report(Update::Compiled(compiled));
        Ok(())
    }
}
