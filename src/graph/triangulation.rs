//! Choosing a triangulation.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::graph::elimination::eliminate_within;
use crate::graph::search::search;
use crate::graph::{
    Elimination, Heuristic, KnownOrders, MoralGraph, TriangulationError, eliminate_in_order,
};

/// How the moral graph is made chordal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Triangulation {
    /// The best known order for this structure. If none is known, the best order found by a search
    /// that starts from the best result of all heuristics.
    #[default]
    Auto,
    /// One heuristic, run once.
    By(Heuristic),
}

impl Triangulation {
    /// All methods, the default first.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::By(Heuristic::MinDegree),
        Self::By(Heuristic::MinFill),
        Self::By(Heuristic::MinWeight),
        Self::By(Heuristic::WeightedMinFill),
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::By(Heuristic::MinDegree) => "min-degree",
            Self::By(Heuristic::MinFill) => "min-fill",
            Self::By(Heuristic::MinWeight) => "min-weight",
            Self::By(Heuristic::WeightedMinFill) => "weighted-min-fill",
        }
    }
}

impl FromStr for Triangulation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{name}' is not a triangulation; expected one of {names}")
        })
    }
}

/// How to triangulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriangulationOptions {
    /// The method.
    pub method: Triangulation,
    /// Seed of the tie-breaking of the heuristics and of the random walks of the search.
    pub seed: u64,
    /// How often [`Triangulation::Auto`] restarts each heuristic whose first run had a tie.
    pub restarts: usize,
    /// Maximum number of steps by which [`Triangulation::Auto`] improves the best order of the
    /// heuristics: steps of walks, and eliminations with random weights, which count as several
    /// steps for each vertex. The search ends earlier once it stops finding improvements.
    pub steps: u64,
    /// Number of propagations that are likely to follow. [`Triangulation::Auto`] stops once the
    /// search has taken longer than this many propagations of the best tree so far are expected to
    /// take.
    pub runs: u32,
    /// Time after which [`Triangulation::Auto`] returns the best order so far. Each heuristic is
    /// run at least once, however long that takes.
    pub budget: Duration,
    /// Orders that [`Triangulation::Auto`] uses instead of searching. Only with seed 0; another
    /// seed, or `None` here, forces a search.
    pub known: Option<Arc<KnownOrders>>,
    /// Maximum memory for the graph, its fill edges and its cliques, in bytes. An order in
    /// [`known`](Self::known) is used without this limit.
    pub max_bytes: u64,
}

impl TriangulationOptions {
    /// The default number of [`runs`](Self::runs), for a user who explores a network.
    pub const MANY_RUNS: u32 = 1000;
}

impl Default for TriangulationOptions {
    /// For networks of about a thousand variables, a release build completes these steps within the
    /// budget. Memory is not limited.
    fn default() -> Self {
        Self {
            method: Triangulation::Auto,
            seed: 0,
            restarts: 4,
            steps: 2_000_000,
            runs: Self::MANY_RUNS,
            budget: Duration::from_secs(1),
            known: Some(KnownOrders::shipped()),
            max_bytes: u64::MAX,
        }
    }
}

/// Makes `graph` chordal.
///
/// The result is the same for the same graph and options, whatever the number of threads, except
/// that [`Triangulation::Auto`] may find larger cliques if three quarters of its budget run out before
/// its steps do.
///
/// # Errors
/// [`TriangulationError::TooLarge`] if this needs more than
/// [`max_bytes`](TriangulationOptions::max_bytes) and no known order is used, or
/// [`TriangulationError::Cancelled`] once `cancel` is set.
pub fn triangulate(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Elimination, TriangulationError> {
    match options.method {
        Triangulation::Auto => {
            let known = options.known.as_ref().filter(|_| options.seed == 0);
            if let Some(order) = known.and_then(|known| known.find(graph)) {
                return Ok(eliminate_in_order(graph, &order, cancel)?);
            }
            let order = search(graph, options, cancel)?;
            Ok(eliminate_in_order(graph, &order, cancel)?)
        }
        Triangulation::By(heuristic) => {
            eliminate_within(graph, heuristic, options.seed, options.max_bytes, cancel)
        }
    }
}
