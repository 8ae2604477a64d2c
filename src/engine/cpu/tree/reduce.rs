//! The network that is left when observed variables are taken out.
//!
//! An observed variable fixes an index of the tables that hold it and leaves its neighbours without
//! an edge through it. What is left falls apart or has smaller cliques, so it is triangulated anew;
//! with a fifth of the variables observed the tables often shrink to a hundredth.

use std::slice;

use rayon::ThreadPool;

use crate::cancel::CancelToken;
use crate::engine::cpu::tables::make::most_given;
use crate::engine::cpu::tree::structure::{Shape, Structure};
use crate::graph::{CliqueTree, Heuristic, MoralGraph, quick_tree};
use crate::network::{FactorId, Network, VariableId};

/// A tree for the variables that are not observed.
#[derive(Debug)]
pub struct Reduced {
    pub structure: Structure,
    /// What found the tree.
    heuristic: Heuristic,
    /// Entries of all its tables.
    entries: u64,
    /// Bytes that its tables take, in memory that may be larger than it has to be.
    table_bytes: usize,
    /// Bytes that it takes beside them.
    pub other_bytes: usize,
    /// The factors of which nothing but one number is left: all their variables are observed.
    constants: Vec<FactorId>,
}

impl Reduced {
    /// Bytes that it takes in all.
    pub fn bytes(&self) -> usize {
        self.table_bytes + self.other_bytes
    }

    /// ln of the product of what is left of tables all of whose variables are observed, in the
    /// states in `observed`; `None` if it is zero.
    pub fn constant(&self, network: &Network, observed: &[Option<usize>]) -> Option<f64> {
        let entry = |&factor: &FactorId| {
            let factor = network.factor(factor);
            let state = |v: VariableId| observed[v.index()].expect("it is observed");
            let scope = factor.scope().iter();
            let at = scope.fold(0, |at, &v| at * network[v].cardinality() + state(v));
            factor.values()[at]
        };
        let mut entries = self.constants.iter().map(entry);
        entries.try_fold(0.0, |sum, entry| (entry > 0.0).then(|| sum + entry.ln()))
    }
}

/// Triangulates what is left of `network` without the variables that `is_observed`.
///
/// Entries of its tables are to be `width` bytes wide. What is the same in the tree `before` is taken
/// over from there. Two heuristics run at once if there are `threads`. `None` once `cancel` is set, or if no tree has fewer than `limit` entries in all.
pub fn reduce(
    network: &Network,
    is_observed: &[bool],
    limit: u64,
    width: usize,
    before: Option<&Reduced>,
    threads: Option<&ThreadPool>,
    cancel: &CancelToken,
) -> Option<Reduced> {
    let left: Vec<VariableId> = network.ids().filter(|v| !is_observed[v.index()]).collect();
    let mut number = vec![usize::MAX; is_observed.len()];
    left.iter().enumerate().for_each(|(index, v)| number[v.index()] = index);
    let cardinalities = left.iter().map(|&v| network[v].cardinality()).collect();
    let families: Vec<Vec<VariableId>> = network
        .factors()
        .map(|factor| {
            let unobserved = factor.scope().iter().filter(|v| !is_observed[v.index()]);
            unobserved.map(|v| VariableId::new(number[v.index()])).collect()
        })
        .collect();
    let graph = MoralGraph::new(cardinalities, &families);
    let mut heuristics = HEURISTICS;
    if let Some(before) = before {
        // The same again, so that most stays the same.
        heuristics.sort_by_key(|&heuristic| heuristic != before.heuristic);
    }
    let heuristics = if graph.len() > MANY { &heuristics[..2] } else { &heuristics[..] };
    let is_enough =
        |entries: u64| graph.len() > MANY && entries / WORTH_ANOTHER < graph.len() as u64;
    let worth = |entries: u64| match before {
        _ if is_enough(entries) => 0,
        Some(_) => entries / 4 * 3,
        None => entries,
    };
    let run = |heuristics| quick_tree(&graph, heuristics, limit, worth, cancel);
    // Where another was worth its time before it will be so again.
    let is_hard = before.is_some_and(|before| !is_enough(before.entries));
    let (tree, heuristic) = match (threads, heuristics) {
        (Some(threads), [one, other]) if is_hard => {
            let both = || rayon::join(|| run(slice::from_ref(one)), || run(slice::from_ref(other)));
            match threads.install(both) {
                // What one after the other would have come to.
                (Some(one), Some(other)) if other.0.entries < worth(one.0.entries) => Some(other),
                (one, other) => one.or(other),
            }
        }
        _ => run(heuristics),
    }?;
    let entries = tree.entries;
    let (shape, constants) = shape(tree, &left, &families);
    let structure = Structure::new(network, shape, before.map(|before| &before.structure));
    let (tables, other_bytes) = structure.bytes(width, false);
    let table_bytes = most_given(tables);
    Some(Reduced { structure, heuristic, entries, table_bytes, other_bytes, constants })
}

/// Those of which the best is taken; of the first two where there are many variables.
const HEURISTICS: [Heuristic; 3] =
    [Heuristic::MinWeight, Heuristic::WeightedMinFill, Heuristic::MinFill];

/// More variables than this are many.
const MANY: usize = 200;

/// Entries of tables for each of many variables from which on a second heuristic is worth its time.
const WORTH_ANOTHER: u64 = 1400;

/// The shape of `tree`, whose variables are numbered as in `left`, and what fits nowhere.
fn shape(
    tree: CliqueTree,
    left: &[VariableId],
    families: &[Vec<VariableId>],
) -> (Shape, Vec<FactorId>) {
    let mut shape = Shape {
        families: vec![Vec::new(); tree.cliques.len()],
        cliques: tree.cliques,
        parents: tree.parents,
    };
    let mut constants = Vec::new();
    for (factor, family) in families.iter().enumerate() {
        let factor = FactorId::new(factor);
        match family.iter().min_by_key(|v| tree.position[v.index()]) {
            Some(first) => shape.families[tree.home[first.index()]].push(factor),
            None => constants.push(factor),
        }
    }
    for clique in &mut shape.cliques {
        clique.iter_mut().for_each(|variable| *variable = left[variable.index()]);
        // So that the same clique has the same table in another tree.
        clique.sort_unstable();
    }
    (shape.with_bounded_fan_out().0, constants)
}
