//! The search for a better junction tree, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::clock::Instant;
use crate::graph::{
    KnownOrders, TreeStatistics, build_junction_tree, eliminate_in_order, improve_order,
};
use crate::network::VariableId;
use crate::propagation::CompiledNetwork;
use crate::session::Update;
use crate::session::quiet::Quiet;
use crate::session::worker::Teller;

/// How a search for a better junction tree stands. It can be read at any time.
#[derive(Debug)]
pub struct Improvement {
    /// The network that it is about.
    source_serial: u64,
    best: AtomicU64,
    /// Nanoseconds at work.
    searched: AtomicU64,
    resting: AtomicBool,
    ended: AtomicBool,
}

impl Improvement {
    /// The [`source_serial`](crate::session::Request::source_serial) of the network that it is about.
    #[must_use]
    pub fn source_serial(&self) -> u64 {
        self.source_serial
    }

    /// Sum of the clique tables' entries of the best tree so far.
    #[must_use]
    pub fn best(&self) -> u64 {
        self.best.load(Ordering::Relaxed)
    }

    /// How long was searched, without the time of rest.
    #[must_use]
    pub fn searched(&self) -> Duration {
        Duration::from_nanos(self.searched.load(Ordering::Relaxed))
    }

    /// Whether the search rests because something else is timed.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Relaxed)
    }

    /// Whether the search has come to its end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// The handle to the search; dropping it gives the search up and does not wait.
pub(super) struct Improver {
    token: CancelToken,
    improvement: Arc<Improvement>,
}

impl Improver {
    /// Starts to search from the tree of `compiled`.
    pub fn start(
        source_serial: u64,
        compiled: Arc<CompiledNetwork>,
        seed: u64,
        quiet: Arc<Quiet>,
        teller: Teller,
    ) -> Self {
        let token = CancelToken::new();
        let improvement = Arc::new(Improvement {
            source_serial,
            best: AtomicU64::new(compiled.statistics().total_clique_entries),
            searched: AtomicU64::new(0),
            resting: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        });
        let search =
            Search { compiled, token: token.clone(), improvement: improvement.clone(), teller };
        std::thread::Builder::new()
            .name("improver".to_owned())
            .spawn(move || search.run(&quiet, seed))
            .expect("a thread for the search");
        Self { token, improvement }
    }

    /// How the search stands.
    pub fn improvement(&self) -> &Arc<Improvement> {
        &self.improvement
    }
}

impl Drop for Improver {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

struct Search {
    compiled: Arc<CompiledNetwork>,
    token: CancelToken,
    improvement: Arc<Improvement>,
    teller: Teller,
}

impl Search {
    fn run(self, quiet: &Quiet, seed: u64) {
        // A defect of the search must not take the window with it.
        let ended = catch_unwind(AssertUnwindSafe(|| self.search(quiet, seed)));
        let given_up = matches!(ended, Ok(Err(_)));
        self.improvement.ended.store(true, Ordering::Relaxed);
        if !given_up {
            self.teller.tell(self.improvement.source_serial, Update::ImprovementEnded);
        }
    }

    fn search(&self, quiet: &Quiet, seed: u64) -> Result<(), crate::cancel::Cancelled> {
        let mut at_work = Some(quiet.work(&self.token));
        let mut since = Instant::now();
        let tick = || {
            let now = Instant::now();
            let elapsed = u64::try_from(now.duration_since(since).as_nanos()).unwrap_or(u64::MAX);
            self.improvement.searched.fetch_add(elapsed, Ordering::Relaxed);
            since = now;
            if quiet.is_timing() {
                self.improvement.resting.store(true, Ordering::Relaxed);
                // Whoever is timed waits for this before it begins.
                at_work = None;
                at_work = Some(quiet.work(&self.token));
                self.improvement.resting.store(false, Ordering::Relaxed);
                since = Instant::now();
            }
        };
        let graph = self.compiled.moral_graph();
        let order = self.compiled.tree().elimination_order();
        let better = |order: Vec<VariableId>, _| self.found(&order);
        improve_order(graph, &order, seed, &self.token, tick, better)
    }

    fn found(&self, order: &[VariableId]) {
        let graph = self.compiled.moral_graph();
        let Ok(elimination) = eliminate_in_order(graph, order, &self.token) else { return };
        let tree = build_junction_tree(graph, &elimination);
        let entries = TreeStatistics::of(&tree).total_clique_entries;
        // The search counts in floating point, and might take for better what is not.
        if entries < self.improvement.best() {
            self.improvement.best.store(entries, Ordering::Relaxed);
            let orders = Arc::new(KnownOrders::of(graph, order, entries));
            self.teller.tell(self.improvement.source_serial, Update::Improved(orders));
        }
    }
}
