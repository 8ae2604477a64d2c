//! The handle to the worker.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::allocate::start_thread;
use crate::cancel::CancelToken;
use crate::propagation::CompiledNetwork;
use crate::session::control::Control;
use crate::session::improver::{ImprovementProgress, Improver};
use crate::session::reporter::Reporter;
use crate::session::timing_gate::TimingGate;
use crate::session::worker::Worker;
use crate::session::{Job, Request, Update};

/// The handle to a worker thread.
///
/// Dropping the handle asks the worker to stop and does not wait for it, so that a window closes at
/// once even while tables are filled.
pub struct Session {
    control: Arc<Control>,
    timing: Arc<TimingGate>,
    updates: Receiver<(u64, Update)>,
    reporter: Reporter,
    improver: Option<Improver>,
}

impl Session {
    /// Starts a worker. `wake` is called after each update, from the thread that sends it, and by
    /// every [`waker`](Self::waker).
    ///
    /// # Panics
    /// If no thread can be started.
    #[must_use]
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        let (control, timing) = (Arc::<Control>::default(), Arc::<TimingGate>::default());
        let (sender, updates) = channel();
        let reporter = Reporter::new(sender, wake);
        let worker = Worker::new(Arc::clone(&control), Arc::clone(&timing), reporter.clone());
        start_thread("session", move || worker.run()).expect("a thread can be started");
        Self { control, timing, updates, reporter, improver: None }
    }

    /// Replaces the request. To have the same work done again, increase one of its serials. Returns
    /// whether the worker has something new to do; it then reports at least one update.
    pub fn submit(&self, request: Request) -> bool {
        self.control.submit(request)
    }

    /// Stops the running step, if there is one. The worker then does nothing more for the request
    /// of this step.
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Starts a background search for a better junction tree than the tree of `compiled`, and stops
    /// any earlier search. `source_serial` is the [serial](Request::source_serial) of the network.
    /// The search ends when it has found nothing better for a long time, or when it is
    /// [stopped](Self::stop_improving). Another `seed` makes it search differently.
    ///
    /// Each better tree is reported as [`Update::Improved`]; nothing is recompiled automatically.
    /// If no thread can be started, the search ends at once, with an error.
    pub fn improve(
        &mut self,
        source_serial: u64,
        compiled: &Arc<CompiledNetwork>,
        seed: u64,
    ) -> Arc<ImprovementProgress> {
        let improver = Improver::start(
            source_serial,
            Arc::clone(compiled),
            seed,
            Arc::clone(&self.timing),
            self.reporter.clone(),
        );
        let progress = Arc::clone(improver.progress());
        self.improver = Some(improver);
        progress
    }

    /// Stops the search for a better junction tree. Updates from the search may still arrive.
    pub fn stop_improving(&mut self) {
        self.improver = None;
    }

    /// Runs `work`, which measures times, on a new thread called `name`. The search for a better
    /// junction tree pauses until `work` ends. `cancel` must be the token by which `work` can be
    /// stopped. If no thread can be started, the outcome of the job says so.
    pub fn start_measuring_job<T: Send + 'static>(
        &self,
        name: &str,
        cancel: CancelToken,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Job<T> {
        let timing = Arc::clone(&self.timing);
        let measure = move || {
            let _measurement = timing.measure();
            work()
        };
        Job::start(name, cancel, measure, self.waker())
    }

    /// Runs `work` on a new thread called `name`. `cancel` must be the token by which `work` can be
    /// stopped. If no thread can be started, the outcome of the job says so.
    pub fn start_job<T: Send + 'static>(
        &self,
        name: &str,
        cancel: CancelToken,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Job<T> {
        Job::start(name, cancel, work, self.waker())
    }

    /// A function that any thread can call to wake the window.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let reporter = self.reporter.clone();
        move || reporter.wake()
    }

    /// The updates since the last call, oldest first, each with the
    /// [`source_serial`](Request::source_serial) of the network that it is about.
    pub fn updates(&self) -> impl Iterator<Item = (u64, Update)> + '_ {
        self.updates.try_iter()
    }

    /// Waits for the next update, however long that takes, and returns it as
    /// [`updates`](Self::updates) does.
    #[must_use]
    pub fn wait(&self) -> (u64, Update) {
        self.updates.recv().expect("the reporter of this session keeps a sender")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.control.close();
    }
}
