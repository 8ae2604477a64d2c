//! Choosing a triangulation.

use std::str::FromStr;
use std::time::Duration;

use crate::cancel::{CancelToken, Cancelled};
use crate::graph::search::search;
use crate::graph::{Elimination, Heuristic, MoralGraph, eliminate, eliminate_in_order};

/// How the moral graph is made chordal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Triangulation {
    /// The least total table size that all heuristics and seeded restarts of them find.
    #[default]
    Auto,
    /// One heuristic, run once.
    By(Heuristic),
}

impl Triangulation {
    /// All of them, the default first.
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

/// What a triangulation is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriangulationOptions {
    /// The method.
    pub method: Triangulation,
    /// Determines how ties are broken, and with that the tree.
    pub seed: u64,
    /// Restarts of every heuristic that [`Triangulation::Auto`] tries beyond the first run.
    pub restarts: usize,
    /// [`Triangulation::Auto`] starts no further restart after this long.
    pub budget: Duration,
}

impl Default for TriangulationOptions {
    /// A release build comes to the end of these restarts well within the budget for the largest
    /// networks that are shipped, which have about a thousand variables.
    fn default() -> Self {
        Self {
            method: Triangulation::Auto,
            seed: 0,
            restarts: 32,
            budget: Duration::from_millis(250),
        }
    }
}

/// Makes `graph` chordal.
///
/// The result is the same for the same graph and options, except that [`Triangulation::Auto`] may
/// find a larger one where its budget ends before its restarts do.
///
/// # Errors
/// [`Cancelled`] once `cancel` is set.
pub fn triangulate(
    graph: &MoralGraph,
    options: &TriangulationOptions,
    cancel: &CancelToken,
) -> Result<Elimination, Cancelled> {
    match options.method {
        Triangulation::Auto => {
            let order = search(graph, options, cancel)?;
            eliminate_in_order(graph, &order, cancel)
        }
        Triangulation::By(heuristic) => eliminate(graph, heuristic, options.seed, cancel),
    }
}
