//! Enters findings: an observation into every separator that holds the variable, a likelihood once.
//!
//! An observation multiplies entries by zero or one, so entering it at several separators does not
//! change the result, and at each separator more rows can be skipped.
//!
//! A private variable is in one clique only, and so in no separator. Findings on the private
//! variables of a clique are written as weights into a table over these variables, the table of the
//! private port. The clique's table is multiplied by the weights as by a message from a child.

use std::cmp::Reverse;

use crate::allocate;
use crate::engine::bounds::{Bounds, scaled_bounds};
use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::reuse::change::Change;
use crate::engine::cpu::tree::entry_map::EntryMap;
use crate::engine::cpu::tree::nodes::Tree;
use crate::engine::cpu::tree::places::BeliefTable;
use crate::network::{Evidence, Finding, VariableId};
use crate::potential::{Axis, Real};

impl State {
    /// Enters the findings of `evidence` into the tables for which
    /// [`find_change`](Self::find_change) found a difference. Call that function first.
    pub fn enter(&mut self, tree: &Tree, evidence: &Evidence) {
        if self.stored.len() < tree.stored && !self.change.is_from_scratch() {
            // Without this memory, all messages from parents are computed.
            self.stored = allocate::attempt(|| allocate::zeros(tree.stored)).unwrap_or_default();
        }
        let change = std::mem::take(&mut self.change);
        for (clique, node) in tree.nodes.iter().enumerate() {
            let state = &mut self.cliques[clique];
            state.is_masked &= !change.mask[clique];
            if change.weights[clique] && std::mem::take(&mut state.is_weighted) {
                self.up[node.private.clone().expect("a weighted clique has private variables")]
                    .fill(1.0);
            }
            state.is_needed = change.needed[clique];
            state.is_up_stale = change.up[clique];
            state.is_down_stale = change.down[clique];
            state.is_stored &= change.keeps_message(node, clique);
            (state.entered_exponent, state.entered_bounds) = (0, Bounds::ONE);
        }
        self.sum_work(tree);
        // The finding of a variable that was removed from the tree is in the tables.
        let findings = || evidence.iter().filter(|(v, _)| tree.places[v.index()].home.is_some());
        for (variable, finding) in findings() {
            if let &Finding::Observed(state) = finding {
                self.observe(tree, &change, variable, state);
            }
        }
        self.enter_observations(tree);
        for (variable, finding) in findings() {
            if let Finding::Likelihood(_) = finding {
                self.enter_likelihood(tree, &change, variable, finding);
            }
        }
        self.change = change;
        // Until all messages are passed, they belong neither to the old evidence nor to the new.
        self.propagated = None;
    }

    /// Adds up the costs of stale messages and beliefs over subtrees.
    fn sum_work(&mut self, tree: &Tree) {
        for (clique, node) in tree.nodes.iter().enumerate().rev() {
            let work = |state: &CliqueState| (state.work_up, state.work_down);
            let below = node.children.iter().map(|&child| work(&self.cliques[child]));
            let (up, down) = below.fold((0, 0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
            let state = &mut self.cliques[clique];
            let cost_if = |is_stale: bool| if is_stale { node.work } else { 0 };
            state.work_up = up + cost_if(state.is_up_stale && state.is_needed);
            state.work_down = down + cost_if(state.is_down_stale);
        }
    }

    /// Adds to `observations` the tables into which an observation must be entered. Skips tables
    /// with unchanged findings.
    fn observe(&mut self, tree: &Tree, change: &Change, variable: VariableId, state: usize) {
        let place = &tree.places[variable.index()];
        if let Some(axis) = place.private {
            if change.weights[place.top] {
                self.observations.push((BeliefTable::Private(place.top), axis, state));
            }
            return;
        }
        let stale = place.separators.iter().filter(|(clique, _)| change.mask[*clique]);
        self.observations
            .extend(stale.map(|&(clique, axis)| (BeliefTable::Separator(clique), axis, state)));
    }

    /// Enters the observations in `observations`, table by table, and clears this list.
    fn enter_observations(&mut self, tree: &Tree) {
        let mut observations = std::mem::take(&mut self.observations);
        // The slowest axis comes first. A variable with a single state has the same stride as the
        // next slower variable, so variables of equal stride are sorted by their numbers of states.
        observations.sort_unstable_by_key(|(table, axis, _)| {
            (*table, Reverse((axis.stride, axis.cardinality)))
        });
        for table_observations in observations.chunk_by(|(one, ..), (other, ..)| one == other) {
            self.states.clear();
            self.states.extend(table_observations.iter().map(|&(_, axis, state)| (axis, state)));
            let (table, map) = match table_observations[0].0 {
                BeliefTable::Separator(clique) => {
                    let node = &tree.nodes[clique];
                    self.cliques[clique].is_masked = true;
                    (&mut self.mask[node.above.clone()], &node.above_map)
                }
                BeliefTable::Private(clique) => {
                    let node = &tree.nodes[clique];
                    self.cliques[clique].is_weighted = true;
                    let range = node.private.clone().expect("the clique has private variables");
                    (&mut self.up[range], &node.private_map)
                }
            };
            map.write_mask(&self.states, table);
        }
        observations.clear();
        self.observations = observations;
    }

    /// Enters a likelihood at the separator nearest to the root, or as a weight if the variable is
    /// private. Leaves a table with unchanged findings as it is.
    fn enter_likelihood(
        &mut self,
        tree: &Tree,
        change: &Change,
        variable: VariableId,
        finding: &Finding,
    ) {
        let place = &tree.places[variable.index()];
        let (clique, axis) = match place.private {
            Some(axis) => (place.top, axis),
            None => place.separators[0],
        };
        let scale = finding_scale(finding, axis.cardinality);
        let bounds = scaled_bounds((0..axis.cardinality).map(|state| finding.weight(state)), scale);
        let state = &mut self.cliques[clique];
        state.entered_bounds.min += bounds.min.min(0);
        state.entered_bounds.max += bounds.max;
        state.entered_exponent -= i64::from(scale);
        let node = &tree.nodes[clique];
        if place.private.is_some() {
            if change.weights[clique] {
                state.is_weighted = true;
                let range = node.private.clone().expect("the clique has private variables");
                weigh(&mut self.up[range], &node.private_map, axis, finding, scale);
            }
        } else if change.mask[clique] {
            let table = &mut self.mask[node.above.clone()];
            if !std::mem::replace(&mut state.is_masked, true) {
                table.fill(1.0);
            }
            weigh(table, &node.above_map, axis, finding, scale);
        }
    }
}

/// Multiplies each entry of `table` by the finding's weight for the entry's state along `axis`, and
/// by two to the power of `scale`.
fn weigh(table: &mut [f64], map: &EntryMap, axis: Axis, finding: &Finding, scale: i32) {
    for (state, run) in map.runs(axis, table.len()) {
        let weight = finding.weight(state).scale(scale);
        table[run].iter_mut().for_each(|value| *value *= weight);
    }
}

/// The exponent of the power of two that brings the largest weight of `finding` into [1, 2); zero
/// for an observation.
fn finding_scale(finding: &Finding, states: usize) -> i32 {
    match finding {
        Finding::Observed(_) => 0,
        Finding::Likelihood(weights) => {
            weights[..states].iter().copied().fold(0.0, f64::max).scale_exponent().unwrap_or(0)
        }
    }
}
