//! The search for a better junction tree, in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::cancel::{CancelToken, Cancelled};
use crate::clock::Instant;
use crate::graph::{
    KnownOrders, TreeStatistics, build_junction_tree, eliminate_in_order, improve_order,
};
use crate::network::VariableId;
use crate::propagation::CompiledNetwork;
use crate::session::panics::catch_panic;
use crate::session::reporter::Reporter;
use crate::session::timing_gate::TimingGate;
use crate::session::{Job, Update};

/// The progress of a search for a better junction tree. The thread that searches updates it, and
/// any thread can read it.
#[derive(Debug)]
pub struct ImprovementProgress {
    source_serial: u64,
    /// Total clique table entries of the best tree so far.
    best: AtomicU64,
    /// Time spent searching, in nanoseconds.
    searched: AtomicU64,
    paused: AtomicBool,
    ended: AtomicBool,
}

impl ImprovementProgress {
    /// The [`source_serial`](crate::session::Request::source_serial) of the network.
    #[must_use]
    pub fn source_serial(&self) -> u64 {
        self.source_serial
    }

    /// Total clique table entries of the best tree so far.
    #[must_use]
    pub fn best(&self) -> u64 {
        self.best.load(Ordering::Relaxed)
    }

    /// How long the search has run, excluding pauses.
    #[must_use]
    pub fn searched(&self) -> Duration {
        Duration::from_nanos(self.searched.load(Ordering::Relaxed))
    }

    /// Whether the search is paused because something is being measured.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    /// Whether the search has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// The handle to a search. Dropping the handle cancels the search without waiting for its end.
pub(super) struct Improver {
    progress: Arc<ImprovementProgress>,
    _job: Job<()>,
}

impl Improver {
    /// Starts a search from an elimination order of the tree of `compiled`.
    pub fn start(
        source_serial: u64,
        compiled: Arc<CompiledNetwork>,
        seed: u64,
        timing: Arc<TimingGate>,
        reporter: Reporter,
    ) -> Self {
        let cancel = CancelToken::new();
        let progress = Arc::new(ImprovementProgress {
            source_serial,
            best: AtomicU64::new(compiled.statistics().total_clique_entries),
            searched: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let search =
            Search { compiled, token: cancel.clone(), progress: Arc::clone(&progress), reporter };
        let if_not_started = search.clone();
        let job = Job::start("improver", cancel, move || search.run(&timing, seed), || {});
        if_not_started.end_if_failed(&job);
        Self { progress, _job: job }
    }

    /// The progress of the search.
    pub fn progress(&self) -> &Arc<ImprovementProgress> {
        &self.progress
    }
}

#[derive(Clone)]
struct Search {
    compiled: Arc<CompiledNetwork>,
    token: CancelToken,
    progress: Arc<ImprovementProgress>,
    reporter: Reporter,
}

impl Search {
    fn run(self, timing: &TimingGate, seed: u64) {
        // A panic ends the search as if it found nothing more: the best tree so far remains.
        let result = catch_panic(|| self.search(timing, seed));
        self.progress.ended.store(true, Ordering::Relaxed);
        if !matches!(result, Ok(Err(Cancelled))) {
            self.report_end(Ok(()));
        }
    }

    /// Ends the search if `job` could not start the thread that would do it.
    fn end_if_failed(&self, job: &Job<()>) {
        if let Some(Err(reason)) = job.take_outcome() {
            self.progress.ended.store(true, Ordering::Relaxed);
            self.report_end(Err(reason));
        }
    }

    fn report_end(&self, end: Result<(), String>) {
        self.reporter.report(self.progress.source_serial, Update::ImprovementEnded(end));
    }

    /// Searches until nothing better has been found for a long time. Pauses while anything is
    /// measured.
    fn search(&self, timing: &TimingGate, seed: u64) -> Result<(), Cancelled> {
        self.progress.paused.store(timing.is_measuring(), Ordering::Relaxed);
        let mut work = Some(timing.work(&self.token));
        self.progress.paused.store(false, Ordering::Relaxed);
        let mut since = Instant::now();
        let tick = || {
            let now = Instant::now();
            let elapsed = u64::try_from(now.duration_since(since).as_nanos()).unwrap_or(u64::MAX);
            self.progress.searched.fetch_add(elapsed, Ordering::Relaxed);
            since = now;
            if timing.is_measuring() {
                self.progress.paused.store(true, Ordering::Relaxed);
                // The measurement waits for this drop before it begins.
                work = None;
                work = Some(timing.work(&self.token));
                self.progress.paused.store(false, Ordering::Relaxed);
                since = Instant::now();
            }
        };
        let graph = self.compiled.moral_graph();
        let order = self.compiled.tree().elimination_order();
        let report = |order: Vec<VariableId>, _| self.report_if_better(&order);
        improve_order(graph, &order, seed, &self.token, tick, report)
    }

    /// Reports `order` if its tree has fewer entries than the best tree so far.
    fn report_if_better(&self, order: &[VariableId]) {
        let graph = self.compiled.moral_graph();
        let Ok(elimination) = eliminate_in_order(graph, order, &self.token) else { return };
        let tree = build_junction_tree(graph, &elimination);
        let entries = TreeStatistics::of(&tree).total_clique_entries;
        // The search adds up sizes in floating point, so the exact sum may not be smaller.
        if entries < self.progress.best() {
            self.progress.best.store(entries, Ordering::Relaxed);
            let orders = Arc::new(KnownOrders::of(graph, order, entries));
            self.reporter.report(self.progress.source_serial, Update::Improved(orders));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::format::{NetworkSource, ReadNetwork};
    use crate::propagation::{CompileOptions, compile};

    #[test]
    fn a_search_whose_job_failed_has_ended_and_says_why() {
        let cancel = CancelToken::new();
        let ReadNetwork { network, .. } = NetworkSource::Named("asia".to_owned()).open().unwrap();
        let compiled = Arc::new(compile(network, &CompileOptions::default(), &cancel).unwrap());
        let (sender, updates) = channel();
        let (source_serial, best) = (7, AtomicU64::new(0));
        let (searched, paused, ended) = (AtomicU64::new(0), AtomicBool::new(false), false.into());
        let progress =
            Arc::new(ImprovementProgress { source_serial, best, searched, paused, ended });
        let reporter = Reporter::new(sender, || {});
        let search = Search { compiled, token: cancel.clone(), progress, reporter };
        let (woken, wakes) = channel();
        let work = || panic!("no thread");
        let job = Job::start("test", cancel, work, move || woken.send(()).unwrap());
        wakes.recv().unwrap();
        search.end_if_failed(&job);
        assert!(search.progress.has_ended());
        let (serial, update) = updates.try_recv().unwrap();
        assert_eq!(serial, 7);
        let Update::ImprovementEnded(Err(reason)) = update else { panic!("{update:?}") };
        assert_eq!(reason, "internal error: no thread");
    }
}
