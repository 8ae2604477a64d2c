//! The worker thread and the handle to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::cancel::{CancelToken, Cancelled};
use crate::engine::{LoadError, LoadOptions, PropagationError, Propagator, launch_time, propagate};
use crate::experiment::Progress;
use crate::network::Evidence;
use crate::propagation::{CompiledNetwork, MemoryLimit, Watch, compile};
use crate::session::improver::{Improvement, Improver};
use crate::session::quiet::Quiet;
use crate::session::state::{Loaded, Lost, State};
use crate::session::trial::{self, Trial};
use crate::session::{EngineChoice, Failure, Propagation, Request, Step, Update};

/// The handle to a worker thread.
///
/// Dropping it asks the worker to stop and does not wait: a window that is closed while tables are
/// filled closes at once.
pub struct Session {
    shared: Arc<Shared>,
    updates: Receiver<(u64, Update)>,
    teller: Teller,
    improver: Option<Improver>,
    trial: Option<trial::Running>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    quiet: Arc<Quiet>,
}

/// Where updates go, from whatever thread.
#[derive(Clone)]
pub(super) struct Teller {
    sender: Sender<(u64, Update)>,
    wake: Arc<Mutex<dyn Fn() + Send>>,
}

impl Teller {
    /// Tells of the network with this serial.
    pub(super) fn tell(&self, serial: u64, update: Update) {
        // The handle may be gone already; then nobody wants to know.
        let _ = self.sender.send((serial, update));
        self.wake();
    }

    /// Asks for a look at what is shared.
    pub(super) fn wake(&self) {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        (*wake)();
    }
}

/// What the two threads tell each other.
#[derive(Default)]
struct Inbox {
    /// The latest request; stays here while it is worked on.
    wanted: Option<Request>,
    /// The worker has done all it can for `wanted`: everything, or up to a failure or a cancel.
    settled: bool,
    /// The step at work and how to interrupt it.
    working: Option<(Step, CancelToken)>,
    /// The user, not a newer request, interrupted the step at work.
    given_up: bool,
    closed: bool,
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // A panic while the lock is held cannot leave an inbox half changed.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Starts a worker. It calls `wake` after each update, from its own thread.
    ///
    /// # Panics
    /// If the operating system gives no thread.
    #[must_use]
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        let shared = Arc::new(Shared {
            inbox: Mutex::default(),
            arrived: Condvar::new(),
            quiet: Arc::default(),
        });
        let (sender, updates) = channel();
        let teller = Teller { sender, wake: Arc::new(Mutex::new(wake)) };
        let worker = Worker {
            shared: Arc::clone(&shared),
            teller: teller.clone(),
            state: State::default(),
            serial: 0,
        };
        std::thread::Builder::new()
            .name("session".to_owned())
            .spawn(move || worker.run())
            .expect("a thread for the worker");
        Self { shared, updates, teller, improver: None, trial: None }
    }

    /// States what is wanted from now on, in place of what was wanted before. To have the same
    /// done once more, count up one of the request's serials.
    pub fn submit(&self, request: Request) {
        let mut inbox = self.shared.inbox();
        let difference = match &inbox.wanted {
            Some(before) => request.first_difference(before),
            None => Some(Step::Open),
        };
        // What failed would fail again: only something new is worth another try.
        let Some(changed) = difference else { return };
        if let Some((step, token)) = &inbox.working
            && changed <= *step
        {
            token.cancel();
        }
        inbox.wanted = Some(request);
        inbox.settled = false;
        self.shared.arrived.notify_one();
    }

    /// Gives up what the worker is doing; it then waits for another request.
    pub fn cancel(&self) {
        let mut inbox = self.shared.inbox();
        if let Some((_, token)) = &inbox.working {
            token.cancel();
            inbox.given_up = true;
        }
    }

    /// Searches for a junction tree better than `compiled`, of the network with this serial, in place
    /// of what was searched for before, until there is nothing to be found or the search is
    /// [given up](Self::stop_improving). Searches with different seeds take different ways.
    ///
    /// What is found comes as [`Update::Improved`]; nothing is recompiled by itself.
    ///
    /// # Panics
    /// If the operating system gives no thread.
    pub fn improve(
        &mut self,
        source_serial: u64,
        compiled: &Arc<CompiledNetwork>,
        seed: u64,
    ) -> Arc<Improvement> {
        let improver = Improver::start(
            source_serial,
            Arc::clone(compiled),
            seed,
            Arc::clone(&self.shared.quiet),
            self.teller.clone(),
        );
        let improvement = Arc::clone(improver.improvement());
        self.improver = Some(improver);
        improvement
    }

    /// Gives up the search for a better junction tree. What it found last may still come.
    pub fn stop_improving(&mut self) {
        self.improver = None;
    }

    /// Runs an experiment in place of the one at work, if there is one. Its end comes as
    /// [`Update::Tried`] with `number`.
    ///
    /// # Panics
    /// If the operating system gives no thread.
    pub fn run_trial(&mut self, number: u64, trial: Trial) -> Arc<Progress> {
        self.trial = None;
        let quiet = Arc::clone(&self.shared.quiet);
        let (running, progress) = trial::start(number, trial, quiet, self.teller.clone());
        self.trial = Some(running);
        progress
    }

    /// Gives up the experiment at work.
    pub fn cancel_trial(&mut self) {
        self.trial = None;
    }

    /// What has happened since the last call, oldest first, each with the
    /// [`source_serial`](Request::source_serial) of the request that it is about.
    pub fn updates(&self) -> impl Iterator<Item = (u64, Update)> + '_ {
        self.updates.try_iter()
    }

    /// Waits for the next update, and gives it as [`updates`](Self::updates) does. `None` if the
    /// worker is gone, which it never is before the handle.
    #[must_use]
    pub fn wait(&self) -> Option<(u64, Update)> {
        self.updates.recv().ok()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        {
            let mut inbox = self.shared.inbox();
            inbox.closed = true;
            if let Some((_, token)) = &inbox.working {
                token.cancel();
            }
            self.shared.arrived.notify_one();
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    teller: Teller,
    state: State,
    /// Which network the request at work is about.
    serial: u64,
}

/// How often the launches of an engine are timed with empty kernels when it has loaded.
const EMPTY_RUNS: u32 = 5;

/// How a step ended that gave no result.
enum Stopped {
    Cancelled,
    Failed(Failure),
}

impl From<Cancelled> for Stopped {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl Worker {
    fn run(mut self) {
        while let Some((request, step, token)) = self.next_work() {
            self.serial = request.source_serial;
            let Some(step) = step else {
                self.tell(Update::Idle);
                continue;
            };
            self.tell(Update::Started(step));
            let quiet = Arc::clone(&self.shared.quiet);
            let timing = quiet.timing();
            let result = catch_unwind(AssertUnwindSafe(|| self.perform(step, &request, &token)));
            drop(timing);
            let given_up = self.end_work();
            match result {
                // The step could not be interrupted, but what would follow it can.
                Ok(Ok(())) if given_up && self.state.next_step(&request).is_some() => {
                    self.settle(&request);
                    self.tell(Update::Cancelled(step));
                }
                Ok(Ok(())) => {}
                Ok(Err(Stopped::Cancelled)) if given_up => {
                    self.settle(&request);
                    self.tell(Update::Cancelled(step));
                }
                // A newer request interrupted the step, and is looked at next.
                Ok(Err(Stopped::Cancelled)) => {}
                Ok(Err(Stopped::Failed(failure))) => {
                    self.settle(&request);
                    self.tell(Update::Failed(step, failure));
                }
                Err(panic) => {
                    drop_quietly(std::mem::take(&mut self.state));
                    self.settle(&request);
                    self.tell(Update::Failed(step, Failure::Panicked(panic_message(&*panic))));
                }
            }
        }
    }

    /// Waits for a request that is not settled. Gives it with the step to do for it; with no step,
    /// and settled, if everything is there. `None` once the handle is gone.
    fn next_work(&mut self) -> Option<(Request, Option<Step>, CancelToken)> {
        let shared = Arc::clone(&self.shared);
        let mut inbox = shared.inbox();
        while !inbox.closed && (inbox.settled || inbox.wanted.is_none()) {
            inbox = shared.arrived.wait(inbox).unwrap_or_else(PoisonError::into_inner);
        }
        if inbox.closed {
            return None;
        }
        let request = inbox.wanted.clone()?;
        let step = self.state.next_step(&request);
        let token = CancelToken::new();
        inbox.given_up = false;
        inbox.settled = step.is_none();
        inbox.working = step.map(|step| (step, token.clone()));
        Some((request, step, token))
    }

    /// Notes that no step is at work. Whether the user gave it up.
    fn end_work(&self) -> bool {
        let mut inbox = self.shared.inbox();
        inbox.working = None;
        inbox.given_up
    }

    /// Does nothing more for `request`, unless a newer one has come meanwhile.
    fn settle(&self, request: &Request) {
        let mut inbox = self.shared.inbox();
        if inbox.wanted.as_ref() == Some(request) {
            inbox.settled = true;
        }
    }

    fn tell(&self, update: Update) {
        self.teller.tell(self.serial, update);
    }

    /// Does one step, whose prerequisites are there.
    fn perform(
        &mut self,
        step: Step,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Stopped> {
        match step {
            Step::Open => self.open(request),
            Step::Compile => self.compile(request, token),
            Step::Load => self.load(request),
            Step::Prior => self.propagate_prior(request, token),
            Step::Propagate => self.propagate_evidence(request, token),
            Step::Untraced => self.propagate_untraced(token),
            Step::Compare => self.propagate_case(request, token),
        }
    }

    fn open(&mut self, request: &Request) -> Result<(), Stopped> {
        // What was open stays until the new network is there: a file that cannot be read costs nothing.
        let read = request
            .source
            .open()
            .map_err(|error| Stopped::Failed(Failure::Open(Arc::new(error))))?;
        let read = Arc::new(read);
        self.state.forget_from(Step::Open);
        self.state.opened = Some((request.source_serial, Arc::clone(&read)));
        self.tell(Update::Opened(read));
        Ok(())
    }

    fn compile(&mut self, request: &Request, token: &CancelToken) -> Result<(), Stopped> {
        let (_, read) = self.state.opened.as_ref().expect("opened before");
        let compiled = Arc::new(compile(Arc::clone(&read.network), &request.compile, token)?);
        self.state.forget_from(Step::Compile);
        self.state.compiled = Some((request.compile.clone(), Arc::clone(&compiled)));
        self.tell(Update::Compiled(compiled));
        Ok(())
    }

    fn load(&mut self, request: &Request) -> Result<(), Stopped> {
        let (_, compiled) = self.state.compiled.as_ref().expect("compiled before");
        let compiled = Arc::clone(compiled);
        // The old tables go first, so that the two never have to fit into memory together.
        self.state.forget_from(Step::Load);
        let (engine, run_serial) = (request.engine, request.run_serial);
        let lost = self.state.lost.take();
        let lost = lost.filter(|lost| lost.engine == engine && lost.run_serial == run_serial);
        let reason = match lost {
            Some(lost) => lost.reason,
            None => match load_engine(engine, request, &compiled) {
                Ok(propagator) => {
                    self.loaded(request, engine, None, propagator);
                    return Ok(());
                }
                Err(error) if error.another_engine_may_load() && engine != engine.stand_in() => {
                    error.to_string()
                }
                Err(error) => return Err(Stopped::Failed(Failure::Load(error))),
            },
        };
        self.state.lost = Some(Lost { engine, run_serial, reason: reason.clone() });
        self.tell(Update::FellBack { wanted: engine, engine: engine.stand_in(), reason });
        let engine = engine.stand_in();
        let propagator = load_engine(engine, request, &compiled)
            .map_err(|error| Stopped::Failed(Failure::Load(error)))?;
        self.loaded(request, engine, Some(run_serial), propagator);
        Ok(())
    }

    fn loaded(
        &mut self,
        request: &Request,
        engine: EngineChoice,
        tried: Option<u64>,
        mut propagator: Box<dyn Propagator>,
    ) {
        let peak_bytes = propagator.peak_bytes();
        let launch_overhead = propagator.gpu().and_then(|gpu| gpu.launch_overhead(EMPTY_RUNS));
        let (wanted, memory) = (request.engine, request.memory);
        let on_device = engine.engine.info().capabilities.on_gpu();
        let launch = if on_device { launch_time() } else { None };
        self.state.loaded = Some(Loaded { wanted, memory, engine, tried, on_device, propagator });
        self.tell(Update::Loaded { engine, peak_bytes, launch_overhead, launch });
    }

    fn propagate_prior(&mut self, request: &Request, token: &CancelToken) -> Result<(), Stopped> {
        let watch = self.watch(token);
        let Some(prior) = self.propagate(&Evidence::none(), request, &watch)? else {
            return Ok(());
        };
        self.state.prior = Some(Arc::clone(&prior));
        self.tell(Update::Prior(Arc::clone(&prior)));
        if request.evidence.is_empty() {
            self.propagated(request, prior);
        }
        Ok(())
    }

    fn propagate_evidence(
        &mut self,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Stopped> {
        let run = self.state.propagated.as_ref().map(|(_, run_serial)| *run_serial);
        if run.is_some_and(|run| run != request.run_serial)
            && let Some(loaded) = &mut self.state.loaded
        {
            // Who asks for a run wants to see all of its messages, also where nothing has changed.
            loaded.propagator.forget();
        }
        let watch = self.watch(token);
        let propagation = self.propagate(&request.evidence, request, &watch)?;
        if let Some(propagation) = propagation {
            self.propagated(request, propagation);
        }
        Ok(())
    }

    /// Notes and tells the posteriors that were asked for.
    fn propagated(&mut self, request: &Request, propagation: Arc<Propagation>) {
        let on_device = self.state.loaded.as_ref().is_some_and(|loaded| loaded.on_device);
        self.state.traced = on_device.then(|| Arc::clone(&propagation));
        self.state.propagated = Some((request.evidence.clone(), request.run_serial));
        self.tell(Update::Propagated(propagation));
    }

    /// A failure shows the next time that posteriors are wanted.
    fn propagate_untraced(&mut self, token: &CancelToken) -> Result<(), Stopped> {
        let traced = self.state.traced.as_ref().expect("propagated before");
        let loaded = self.state.loaded.as_mut().expect("loaded before");
        let watch = Watch::untimed(token.clone());
        let Propagation { compiled, evidence, .. } = &**traced;
        let answer = propagate(&mut *loaded.propagator, compiled, evidence, &watch);
        if let Err(PropagationError::Cancelled(_)) = answer {
            return Err(Stopped::Cancelled);
        }
        let traced = self.state.traced.take().expect("it is there");
        if answer.is_ok() {
            let untraced = Some(watch.trace().elapsed);
            self.tell(Update::Untraced(Arc::new(Propagation { untraced, ..(*traced).clone() })));
        }
        Ok(())
    }

    fn propagate_case(&mut self, request: &Request, token: &CancelToken) -> Result<(), Stopped> {
        let case = self.state.unanswered(request).expect("there is one").clone();
        let watch = Watch::untimed(token.clone());
        let answer = match self.propagate(&case, request, &watch) {
            Ok(None) => return Ok(()),
            Ok(Some(propagation)) => Ok(Arc::new(propagation.posteriors.clone())),
            Err(Stopped::Failed(Failure::Impossible(impossible))) => Err(impossible),
            Err(stopped) => return Err(stopped),
        };
        self.state.answered.push(case.clone());
        self.tell(Update::Answered(case, answer));
        Ok(())
    }

    /// A watch that times each message, of which the front end is told.
    fn watch(&self, token: &CancelToken) -> Arc<Watch> {
        let (_, compiled) = self.state.compiled.as_ref().expect("compiled before");
        let watch = Arc::new(Watch::timed(compiled.plan(), token.clone()));
        self.tell(Update::Propagating(Arc::clone(&watch)));
        watch
    }

    /// Propagates `evidence`. `None` if the device of the engine failed: it is no longer loaded then,
    /// and loading is the next step.
    fn propagate(
        &mut self,
        evidence: &Evidence,
        request: &Request,
        watch: &Watch,
    ) -> Result<Option<Arc<Propagation>>, Stopped> {
        let (_, compiled) = self.state.compiled.as_ref().expect("compiled before");
        let compiled = Arc::clone(compiled);
        let loaded = self.state.loaded.as_mut().expect("loaded before");
        match propagate(&mut *loaded.propagator, &compiled, evidence, watch) {
            Ok(posteriors) => Ok(Some(Arc::new(Propagation {
                evidence: evidence.clone(),
                posteriors,
                untraced: None,
                trace: watch.trace(),
                engine: loaded.engine,
                compiled,
            }))),
            Err(PropagationError::Cancelled(_)) => Err(Stopped::Cancelled),
            Err(PropagationError::Impossible(impossible)) => {
                Err(Stopped::Failed(Failure::Impossible(impossible)))
            }
            Err(PropagationError::Device(reason)) => {
                if loaded.engine == loaded.engine.stand_in() {
                    return Err(Stopped::Failed(Failure::Device(reason)));
                }
                drop_quietly(self.state.loaded.take());
                self.state.forget_from(Step::Load);
                let (engine, run_serial) = (request.engine, request.run_serial);
                self.state.lost = Some(Lost { engine, run_serial, reason });
                Ok(None)
            }
        }
    }
}

fn load_engine(
    choice: EngineChoice,
    request: &Request,
    compiled: &Arc<CompiledNetwork>,
) -> Result<Box<dyn Propagator>, LoadError> {
    let EngineChoice { engine, precision, threads, paper } = choice;
    let memory = request.memory.unwrap_or_else(MemoryLimit::half_of_available);
    engine.load(compiled, &LoadOptions { precision, threads, memory, paper })
}

/// Drops what has panicked or failed, and may panic once more when it is dropped.
fn drop_quietly(value: impl Sized) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
