//! Entering findings into the tables in which messages take them along.

use std::cmp::Reverse;

use crate::engine::cpu::pass::clique_state::CliqueState;
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::reuse::change::Change;
use crate::engine::cpu::tree::entry_map::Kept;
use crate::engine::cpu::tree::nodes::{Port, Tree};
use crate::network::{Evidence, Finding, VariableId};
use crate::potential::{Axis, Entry, Real};

impl State {
    /// Enters the findings of `evidence` in place of those before, where they differ as it was
    /// [found](Self::find_change).
    pub fn enter<T: Entry>(&mut self, tree: &Tree<T>, evidence: &Evidence) {
        let change = std::mem::take(&mut self.change);
        for (clique, node) in tree.nodes.iter().enumerate() {
            let state = &mut self.cliques[clique];
            state.is_masked &= !change.mask[clique];
            if change.weights[clique] && std::mem::take(&mut state.is_weighted) {
                self.up[node.private.clone().expect("it was weighted")].fill(1.0);
            }
            state.is_needed = change.needed[clique];
            state.is_up_stale = change.up[clique];
            state.is_down_stale = change.down[clique];
            state.entered = 0;
        }
        self.sum_work(tree);
        // A variable that was taken out of the tree has its finding in the tables.
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
        // Until they are all passed, messages tell of neither evidence.
        self.told = None;
    }

    fn sum_work<T>(&mut self, tree: &Tree<T>) {
        for (clique, node) in tree.nodes.iter().enumerate().rev() {
            let of = |state: &CliqueState| (state.work_up, state.work_down);
            let below = node.children.iter().map(|&child| of(&self.cliques[child]));
            let (up, down) = below.fold((0, 0), |sum, work| (sum.0 + work.0, sum.1 + work.1));
            let state = &mut self.cliques[clique];
            let own = |is_stale: bool| if is_stale { node.work } else { 0 };
            state.work_up = up + own(state.is_up_stale && state.is_needed);
            state.work_down = down + own(state.is_down_stale);
        }
    }

    /// Notes the tables in which a variable is observed. Nothing happens there to what agrees with it,
    /// and what does not is skipped, so an observation is entered wherever the variable turns up.
    fn observe<T>(&mut self, tree: &Tree<T>, change: &Change, variable: VariableId, state: usize) {
        let place = &tree.places[variable.index()];
        if let Some(axis) = place.private {
            if change.weights[place.top] {
                self.observations.push((Port::Private(place.top), axis, state));
            }
            return;
        }
        let stale = place.separators.iter().filter(|(clique, _)| change.mask[*clique]);
        self.observations.extend(stale.map(|&(clique, axis)| (Port::Above(clique), axis, state)));
    }

    /// Enters what was noted, all that is known of a table at once.
    fn enter_observations<T>(&mut self, tree: &Tree<T>) {
        let mut observations = std::mem::take(&mut self.observations);
        // The slowest first. A variable of one state has the stride of the one before it.
        observations.sort_unstable_by_key(|(port, axis, _)| {
            (*port, Reverse((axis.stride, axis.cardinality)))
        });
        for group in observations.chunk_by(|(one, ..), (other, ..)| one == other) {
            self.states.clear();
            self.states.extend(group.iter().map(|&(_, axis, state)| (axis, state)));
            let (table, kept) = match group[0].0 {
                Port::Above(clique) => {
                    let node = &tree.nodes[clique];
                    self.cliques[clique].is_masked = true;
                    let table = &mut self.mask[node.above.clone()];
                    if node.states.write(&self.states, table) {
                        continue;
                    }
                    (table, &node.above_kept)
                }
                Port::Private(clique) => {
                    let node = &tree.nodes[clique];
                    self.cliques[clique].is_weighted = true;
                    let range = node.private.clone().expect("it has private variables");
                    (&mut self.up[range], &node.private_kept)
                }
            };
            table.fill(0.0);
            kept.runs_of(&self.states, table.len(), &mut |run| table[run].fill(1.0));
        }
        observations.clear();
        self.observations = observations;
    }

    /// Enters a likelihood where the variable turns up first: it counts once.
    fn enter_likelihood<T: Entry>(
        &mut self,
        tree: &Tree<T>,
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
        let state = &mut self.cliques[clique];
        state.entered -= i64::from(scale);
        let node = &tree.nodes[clique];
        if place.private.is_some() {
            if change.weights[clique] {
                state.is_weighted = true;
                let range = node.private.clone().expect("it has private variables");
                weigh(&mut self.up[range], &node.private_kept, axis, finding, scale);
            }
        } else if change.mask[clique] {
            let table = &mut self.mask[node.above.clone()];
            if !std::mem::replace(&mut state.is_masked, true) {
                table.fill(1.0);
            }
            weigh(table, &node.above_kept, axis, finding, scale);
        }
    }
}

/// Multiplies the entries of each state of one variable by the finding's weight.
fn weigh(table: &mut [f64], kept: &Kept, axis: Axis, finding: &Finding, scale: i32) {
    for (state, run) in kept.runs(axis, table.len()) {
        let weight = finding.weight(state).scale(scale);
        table[run].iter_mut().for_each(|value| *value *= weight);
    }
}

/// The exponent of the power of two that brings the largest weight of `finding` into [1, 2).
fn finding_scale(finding: &Finding, states: usize) -> i32 {
    match finding {
        Finding::Observed(_) => 0,
        Finding::Likelihood(weights) => {
            weights[..states].iter().copied().fold(0.0, f64::max).scale_exponent().unwrap_or(0)
        }
    }
}
