//! The requests that the window sends to the session.

use std::sync::Arc;

use crate::app::state::compute::ComputeOptions;
use crate::app::state::document::Document;
use crate::app::state::named_finding::NamedFinding;
use crate::format::NetworkSource;
use crate::graph::{KnownOrders, TriangulationOptions};
use crate::network::Evidence;
use crate::propagation::CompileOptions;
use crate::session::{Request, Session};

/// A network that was requested and is not open yet.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// Where the network is read from.
    pub(crate) source: NetworkSource,
    /// Unique among all openings since the program was started. The document gets the same serial
    /// number.
    pub(crate) serial: u64,
    /// Findings to enter once the network is open, each with the name of its variable.
    pub(crate) evidence: Vec<(String, NamedFinding)>,
}

/// The session, and the parts of requests that are kept from one request to the next.
pub(crate) struct Requests {
    /// The session.
    pub(crate) session: Session,
    /// The network that is being opened.
    pub(crate) opening: Option<Opening>,
    /// Whether a network or a lesson could not be opened and the window still shows a failure. Work
    /// on the current network then does not hide the failure.
    pub(crate) failed_to_open: bool,
    /// Whether the session has not yet reported anything since it took the latest request.
    pub(crate) unanswered: bool,
    /// The known elimination orders that are part of each request. An order that is found later is
    /// not added at once, because the session compiles the network again when the orders change.
    pub(crate) orders: Arc<KnownOrders>,
    /// The serial number that was given out last: to an opening, or to a document that undo put
    /// back. Zero before the first.
    source_serial: u64,
    /// Number of times that the user asked for a propagation.
    run_serial: u64,
    /// Number of propagations that the latest call of [`propagate_again`](Self::propagate_again)
    /// asked for; 1 before the first call.
    runs: usize,
    /// Number of searches for a better tree that were started, which is also the seed of the newest
    /// one.
    searches: u64,
    /// The evidence in requests for the open network. Requests for a network that is being opened
    /// have none.
    pub(crate) evidence: Evidence,
    /// The cases in requests for the open network. Requests for a network that is being opened have
    /// none.
    pub(crate) cases: Arc<[Evidence]>,
}

impl Requests {
    /// The state before the first request to `session`.
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session,
            opening: None,
            failed_to_open: false,
            unanswered: false,
            orders: KnownOrders::shipped(),
            source_serial: 0,
            run_serial: 0,
            runs: 1,
            searches: 0,
            evidence: Evidence::none(),
            cases: [].into(),
        }
    }

    /// Makes the network in `source` the one that is being opened, and returns the serial number of
    /// the opening. `evidence` is entered once the network is open. `orders` are elimination orders
    /// known in addition to the shipped ones. Does not send a request.
    pub(crate) fn open(
        &mut self,
        source: NetworkSource,
        evidence: Vec<(String, NamedFinding)>,
        orders: &KnownOrders,
    ) -> u64 {
        let serial = self.next_serial();
        self.use_orders(orders);
        self.opening = Some(Opening { source, serial, evidence });
        serial
    }

    /// Makes the shipped elimination orders and `orders` part of each request from now on.
    pub(crate) fn use_orders(&mut self, orders: &KnownOrders) {
        let mut known = (*KnownOrders::shipped()).clone();
        known.merge(orders);
        self.orders = Arc::new(known);
    }

    /// A new serial number, for an opening or for a document that undo puts back.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.source_serial += 1;
        self.source_serial
    }

    /// Makes the next request propagate `runs` times even if nothing changed. If the
    /// network was not propagated yet, `runs` is ignored and it is propagated once.
    pub(crate) fn propagate_again(&mut self, runs: usize) {
        self.run_serial += 1;
        self.runs = runs;
    }

    /// Counts a new search for a better tree, and returns the seed for it.
    pub(crate) fn next_search(&mut self) -> u64 {
        self.searches += 1;
        self.searches
    }

    /// Sends a request for the network that is being opened, or else for `document`. Does nothing
    /// if there is neither.
    pub(crate) fn submit(&mut self, document: Option<&mut Document>, options: &ComputeOptions) {
        // The evidence and the cases of the last request do not belong to a network that is being
        // opened.
        let (source, read, source_serial, evidence, cases) = match (&self.opening, document) {
            (Some(opening), _) => {
                (opening.source.clone(), None, opening.serial, Evidence::none(), [].into())
            }
            (None, Some(document)) => {
                document.requested_engine = options.engine;
                let (evidence, cases) = (self.evidence.clone(), Arc::clone(&self.cases));
                // The file may have changed since it was read, but what is on screen belongs to the
                // network that was read.
                let read = Some(Arc::clone(&document.read));
                (document.source.clone(), read, document.serial, evidence, cases)
            }
            (None, None) => return,
        };
        let is_new = self.session.submit(Request {
            source,
            read,
            source_serial,
            compile: CompileOptions {
                triangulation: TriangulationOptions {
                    method: options.triangulation,
                    known: Some(Arc::clone(&self.orders)),
                    ..TriangulationOptions::default()
                },
                ..CompileOptions::default()
            },
            engine: options.engine,
            memory: options.memory,
            evidence,
            cases,
            run_serial: self.run_serial,
            runs: self.runs,
        });
        self.unanswered |= is_new;
    }
}
