//! Chooses the tree to propagate through: the full tree, or a reduced one.
//!
//! The full tree is always available. Its zeros are left out, and rows that an observation rules
//! out are skipped. A reduced tree can be far smaller, but it must be found for each set of
//! observed variables, and its tables must be made for each combination of observed states. A new
//! reduced tree [reuses](crate::engine::cpu::reuse::reused) cliques of the previous reduced tree. A
//! reduced tree can be used as long as the variables that were removed from it stay observed in the
//! same states; other findings are entered into the tree. In a tree with messages from an earlier
//! propagation, only messages that [change](crate::engine::cpu::reuse::change) are computed. The
//! strategy with the lowest [forecast time](crate::engine::cpu::reuse::costs) is used.

use crate::cancel::CancelToken;
use crate::engine::cpu::context::{ExecutionContext, TableInputs};
use crate::engine::cpu::pass::state::State;
use crate::engine::cpu::reuse::costs;
use crate::engine::cpu::reuse::reused::ReusedCliques;
use crate::engine::cpu::tables::filled::FilledTree;
use crate::engine::cpu::tables::pool::ReusePool;
use crate::engine::cpu::tree::reduce::{ReducedTree, Search, reduce};
use crate::engine::cpu::tree::structure::Structure;
use crate::engine::factors::smallest_exponents;
use crate::lowering::{Optimisation, Optimisations};
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

/// The gain of a new triangulation is the number of entries of the full tree, after the observed
/// variables were removed from its cliques, divided by the number of entries of the new tree. The
/// gain is assumed to have a maximum that grows linearly with the share of observed variables, from
/// 1 if none is observed to this if all are observed. A search that cannot succeed under this
/// assumption is skipped. With a fifth of the variables observed, in networks of a thousand
/// variables, the measured gain was at most 4. If the constant is wrong, only speed changes (and
/// last bits of results).
const MAX_GAIN: f64 = 30.0;

/// How to propagate.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "each is a tree, and is called so elsewhere")]
pub enum Strategy {
    /// Through the full tree.
    FullTree,
    /// Through the cached reduced tree as it is.
    CachedTree,
    /// Through a reduced tree with tables made for this propagation: a new tree, or the cached tree
    /// with other states.
    RebuiltTree,
}

/// A strategy, and the reduced tree that was found for it.
pub struct Choice {
    /// The forecast time of the propagation, including making tables but not the search, in
    /// nanoseconds.
    pub cost: f64,
    strategy: Strategy,
    /// A new reduced tree; `None` for the cached tree or the full tree.
    reduced: Option<ReducedTree>,
}

/// Chooses strategies, and caches the last reduced tree.
#[derive(Debug)]
pub struct StrategyChooser<T> {
    /// By variable: the state in which the current evidence observes it.
    observed: Vec<Option<usize>>,
    /// By factor: the exponent of its smallest nonzero value, for [`TableInputs::smallest`].
    smallest: Vec<i32>,
    /// The last reduced tree.
    cached: Option<CachedTree<T>>,
    /// Memory for tables.
    pool: ReusePool<T>,
    /// Memory for messages: at most two states, because a new tree and the one before it each need
    /// one.
    spare_states: Vec<State>,
    /// The last search, if it was in vain.
    failed_search: Option<FailedSearch>,
    /// The forecast time of the propagation after the last search, as in [`Choice::cost`].
    last_cost: Option<f64>,
    /// Number of table entries that were made for the current propagation, not counting factored
    /// tables.
    pub made_entries: usize,
    /// The most memory that reduced trees have taken together at any time, in bytes. While a tree
    /// is rebuilt, the cached tree and the new one are in memory together.
    pub peak_bytes: usize,
}

/// A search for a reduced tree that was in vain.
#[derive(Debug)]
struct FailedSearch {
    /// By variable: whether it was observed.
    is_observed: Vec<bool>,
    /// The forecast time of a propagation in the tree that was found, including making it, in
    /// nanoseconds; if no tree was found, the time of the best other strategy.
    cost: f64,
}

/// If one more or one fewer variable is observed, the tree that a search finds is assumed to cost
/// at least the previous cost divided by this. If the constant is wrong, only speed changes (and
/// last bits of results).
const MAX_GAIN_PER_VARIABLE: f64 = 1.1;

impl FailedSearch {
    /// Whether a search that takes `search` nanoseconds is assumed to be in vain again, if it is
    /// for the variables that are now observed and the best known strategy takes `best`
    /// nanoseconds.
    fn predicts_failure(&self, is_observed: &[bool], best: f64, search: f64) -> bool {
        let differing = self.is_observed.iter().zip(is_observed).filter(|(then, now)| then != now);
        let gain = MAX_GAIN_PER_VARIABLE.powi(differing.count() as i32);
        best <= self.cost / gain + search
    }
}

/// A reduced tree with its tables and messages.
#[derive(Debug)]
pub struct CachedTree<T> {
    /// By variable: its observed state if it was removed.
    observed: Vec<Option<usize>>,
    reduced: ReducedTree,
    pub filled: FilledTree<T>,
    pub state: State,
    /// The natural logarithm of the product of all factors whose variables were all removed; `None`
    /// if the product is zero.
    pub ln_constant: Option<f64>,
}

/// The full tree and the messages in it.
pub struct FullTree<'a, T> {
    pub structure: &'a Structure,
    pub filled: &'a FilledTree<T>,
    pub state: &'a mut State,
}

impl<T: Real> StrategyChooser<T> {
    /// A chooser without a cached tree.
    pub fn new(network: &Network) -> Self {
        Self {
            observed: vec![None; network.variables().len()],
            smallest: smallest_exponents(network),
            cached: None,
            pool: ReusePool::new(),
            spare_states: Vec::new(),
            failed_search: None,
            last_cost: None,
            made_entries: 0,
            peak_bytes: 0,
        }
    }

    /// Finds the fastest way to propagate `evidence` without a new tree, and what has to be
    /// computed then. Returns its forecast time in nanoseconds, and the strategy.
    pub fn find_best(
        &mut self,
        network: &Network,
        full: &mut FullTree<'_, T>,
        evidence: &Evidence,
        optimisations: Optimisations,
    ) -> (f64, Strategy) {
        self.observed.fill(None);
        for (variable, finding) in evidence.iter() {
            if let Finding::Observed(state) = finding {
                self.observed[variable.index()] = Some(*state);
            }
        }
        self.made_entries = 0;
        let mut best = (self.full_tree_cost(network, full, evidence), Strategy::FullTree);
        if let Some(cached) = &mut self.cached {
            let with_cached = cached.forecast(network, &self.observed, evidence, optimisations);
            best = if with_cached.0 < best.0 { with_cached } else { best };
        }
        best
    }

    /// The expected time of a propagation, in nanoseconds, before a search for a reduced tree.
    /// `best` is the forecast time of the best way without a new tree. The search is expected to
    /// find a tree like the last one.
    pub fn expected_cost(&self, best: f64) -> f64 {
        self.last_cost.map_or(best, |cost| cost.min(best))
    }

    /// Chooses how to propagate evidence, and finds the tree to propagate through. `full` is the
    /// structure of the full tree, and `best` what [`find_best`](Self::find_best) has just
    /// returned.
    ///
    /// If no tree, no messages and no failed search are kept from earlier propagations, the choice
    /// depends only on the evidence and on `context`, but not on its threads.
    pub fn choose(
        &mut self,
        network: &Network,
        full: &Structure,
        best: (f64, Strategy),
        context: ExecutionContext<'_>,
        cancel: &CancelToken,
    ) -> Choice {
        let removes_same =
            self.cached.as_ref().is_some_and(|cached| cached.removes_same(&self.observed));
        let may_reduce = context.optimisations.has(Optimisation::ReducedTrees) && !removes_same;
        let found = may_reduce.then(|| self.reduce(network, full, best.0, context, cancel));
        match found.flatten() {
            Some((reduced, cost)) => {
                Choice { cost, strategy: Strategy::RebuiltTree, reduced: Some(reduced) }
            }
            None => Choice { cost: best.0, strategy: best.1, reduced: None },
        }
    }

    /// Makes the tables of the tree that was chosen, if necessary, and finds what has to be
    /// computed in it. `choice` is what [`choose`](Self::choose) has just returned.
    pub fn prepare(
        &mut self,
        network: &Network,
        evidence: &Evidence,
        choice: Choice,
        context: ExecutionContext<'_>,
    ) -> Strategy {
        let Choice { strategy, reduced, .. } = choice;
        if let Some(reduced) = reduced {
            if self.reusable(&reduced, context).is_none() {
                self.drop_cached();
            }
            self.rebuild(network, Some(reduced), evidence, context);
        } else if strategy == Strategy::RebuiltTree {
            // The tables of both trees share memory, but the rest of both trees would be in memory
            // at the same time. If the total, with the tables counted once, exceeds the limit, the
            // cached tree is dropped first.
            let is_too_large =
                self.cached.as_ref().is_some_and(|CachedTree { reduced, .. }| {
                    reduced.other_bytes + reduced.bytes() > context.reduced_tree_bytes
                });
            let reduced = if is_too_large { self.drop_cached() } else { None };
            self.rebuild(network, reduced, evidence, context);
        }
        strategy
    }

    /// The forecast time of the propagation that was [prepared](Self::prepare), in nanoseconds. A
    /// reduced tree counts as new: the time includes making all its tables, and the share
    /// `build_share` of `context` of the search for the tree.
    pub fn forecast(
        &self,
        network: &Network,
        full: &mut FullTree<'_, T>,
        evidence: &Evidence,
        strategy: Strategy,
        context: ExecutionContext<'_>,
    ) -> f64 {
        let ExecutionContext { build_share, optimisations, .. } = context;
        match self.cached.as_ref().filter(|_| strategy != Strategy::FullTree) {
            Some(cached) => {
                let unobserved = self.observed.iter().filter(|state| state.is_none()).count();
                let inputs = self.inputs(network, optimisations);
                let cost = costs::with_new_tree(&cached.reduced.structure, None, inputs);
                cost + build_share * costs::search(unobserved)
            }
            None => self.full_tree_cost(network, full, evidence),
        }
    }

    /// The forecast time of a propagation of `evidence` in the full tree, in nanoseconds.
    fn full_tree_cost(
        &self,
        network: &Network,
        full: &mut FullTree<'_, T>,
        evidence: &Evidence,
    ) -> f64 {
        let tree = &full.filled.tree;
        let change = full.state.find_change(network, tree, evidence);
        costs::propagation(full.structure, tree, change, &self.observed)
    }

    /// What tables are made from, for planning on one thread.
    fn inputs<'a>(&'a self, network: &'a Network, optimisations: Optimisations) -> TableInputs<'a> {
        TableInputs::of_structure(network, &self.observed, optimisations)
    }

    /// Forgets the cached tree and its messages, but keeps their memory. What the last search
    /// brought is not forgotten: it affects only where the next propagation runs.
    pub fn forget(&mut self) {
        self.drop_cached();
        self.failed_search = None;
    }

    /// Forgets the messages in the cached tree, but not the tree.
    pub fn forget_messages(&mut self) {
        if let Some(cached) = &mut self.cached {
            cached.state.forget();
        }
    }

    /// The cached tree, if cliques of it are reused in the new tree `reduced`. New tables get the
    /// memory of the cached tree's tables, but the rest of both trees is in memory at the same
    /// time. If this exceeds the limit, nothing is reused.
    fn reusable(
        &self,
        reduced: &ReducedTree,
        context: ExecutionContext<'_>,
    ) -> Option<&CachedTree<T>> {
        let fits = |cached: &&CachedTree<T>| {
            cached.reduced.other_bytes + reduced.bytes() <= context.reduced_tree_bytes
        };
        let reuses = context.optimisations.has(Optimisation::ReusedCliques);
        self.cached.as_ref().filter(|_| reuses).filter(fits)
    }

    /// Drops the cached tree, but keeps the memory of its tables and messages. Returns its
    /// structure.
    fn drop_cached(&mut self) -> Option<ReducedTree> {
        let CachedTree { reduced, mut filled, state, .. } = self.cached.take()?;
        filled.release(&mut self.pool);
        self.spare_states.push(state);
        Some(reduced)
    }

    /// The cached tree.
    pub fn cached(&mut self) -> Option<&mut CachedTree<T>> {
        self.cached.as_mut()
    }

    /// Makes the tables of `reduced`, or of the structure of the cached tree if `reduced` is
    /// `None`, for the current observations, and caches the tree. Reuses tables and messages of the
    /// tree that was cached before.
    fn rebuild(
        &mut self,
        network: &Network,
        reduced: Option<ReducedTree>,
        evidence: &Evidence,
        context: ExecutionContext<'_>,
    ) {
        let Self {
            observed, smallest, cached, pool, spare_states, made_entries, peak_bytes, ..
        } = self;
        let ExecutionContext { threads, optimisations, .. } = context;
        let inputs = TableInputs { network, observed, smallest, threads, optimisations };
        let new = reduced.as_ref().or(cached.as_ref().map(|cached| &cached.reduced));
        let tree_bytes = new.map_or(0, ReducedTree::bytes);
        let before = cached.as_ref().map_or(0, |cached| cached.reduced.other_bytes);
        let pool_bytes = context.reduced_tree_bytes.saturating_sub(tree_bytes);
        pool.set_max_entries(pool_bytes / T::PRECISION.bytes() as usize);
        if !optimisations.has(Optimisation::PooledMemory) {
            *pool = ReusePool::new();
            spare_states.clear();
        }
        let memory = spare_states.pop().unwrap_or_default();
        let mut all_bytes = tree_bytes.saturating_add(before);
        let idle_bytes = spare_states.iter().map(State::capacity_bytes).sum::<usize>();
        if all_bytes.saturating_add(idle_bytes) > context.reduced_tree_bytes {
            spare_states.clear();
        } else {
            all_bytes += idle_bytes;
        }
        *peak_bytes = all_bytes.max(*peak_bytes);
        let (reduced, filled, state) = if let Some(mut old) = cached.take() {
            let structure = reduced.as_ref().map_or(&old.reduced.structure, |new| &new.structure);
            let states = (structure, &**observed);
            let reused = ReusedCliques::new(network, old.structure_and_states(), states);
            let previous = Some((&mut old.filled, &reused));
            let filled = FilledTree::rebuild(structure, inputs, previous, pool);
            let entries = filled.tables.iter().map(|table| table.values.len()).enumerate();
            let made = entries.filter(|(clique, _)| !reused.has_table(*clique));
            *made_entries = made.map(|(_, entries)| entries).sum();
            let state = old.state.transfer(
                &old.filled.tree,
                (&filled.tree, &reused),
                memory,
                (network, evidence),
                context.threads,
            );
            spare_states.push(old.state);
            (reduced.unwrap_or(old.reduced), filled, state)
        } else if let Some(reduced) = reduced {
            let filled = FilledTree::rebuild(&reduced.structure, inputs, None, pool);
            *made_entries = filled.tables.iter().map(|table| table.values.len()).sum();
            let mut state = memory.reset(&filled.tree);
            state.find_change(network, &filled.tree, evidence);
            (reduced, filled, state)
        } else {
            return;
        };
        let ln_constant = reduced.ln_constant(network, observed);
        let observed = observed.clone();
        *cached = Some(CachedTree { observed, reduced, filled, state, ln_constant });
    }

    /// Searches for a junction tree of the unobserved variables. `None` if no tree is found that
    /// fits into memory, if making it and propagating in it is forecast to take at least `best`
    /// nanoseconds, or if the search would not pay off.
    fn reduce(
        &mut self,
        network: &Network,
        full: &Structure,
        best: f64,
        context: ExecutionContext<'_>,
        cancel: &CancelToken,
    ) -> Option<(ReducedTree, f64)> {
        let is_observed: Vec<bool> = self.observed.iter().map(Option::is_some).collect();
        let (count, unobserved) =
            (is_observed.len(), is_observed.iter().filter(|observed| !*observed).count());
        let reuses = context.optimisations.has(Optimisation::ReusedCliques);
        let has_previous = self.cached.is_some() && reuses;
        let search = context.build_share * costs::search(unobserved);
        let max_entries = costs::max_entries(best, search, has_previous);
        let failed = self.failed_search.as_ref();
        let is_hopeless = max_entries == 0
            || failed.is_some_and(|failed| failed.predicts_failure(&is_observed, best, search));
        let has_limits = context.optimisations.has(Optimisation::SearchLimits);
        if unobserved == count || (has_limits && is_hopeless) {
            return None;
        }
        let share = (count - unobserved) as f64 / count as f64;
        let max_gain = 1.0 + (MAX_GAIN - 1.0) * share;
        if has_limits && full.entries_without(&is_observed) > max_entries as f64 * max_gain {
            return None;
        }
        let inputs = self.inputs(network, context.optimisations);
        let cost = |reduced: &ReducedTree| {
            let reused = self.reusable(reduced, context).map(|cached| {
                let states = (&reduced.structure, &*self.observed);
                ReusedCliques::new(network, cached.structure_and_states(), states)
            });
            costs::with_new_tree(&reduced.structure, reused.as_ref(), inputs)
        };
        let width = T::PRECISION.bytes() as usize;
        let previous = self.cached.as_ref().map(|cached| &cached.reduced);
        let ExecutionContext { threads, optimisations, .. } = context;
        let search = Search { max_entries, width, threads, optimisations, cancel };
        let found = reduce(network, &is_observed, previous, search)
            .filter(|reduced| reduced.bytes() <= context.reduced_tree_bytes);
        let cost = found.as_ref().map_or(best, cost);
        let found = found.filter(|_| cost < best || !has_limits);
        self.last_cost = Some(cost.min(best));
        // A search that was cancelled says nothing about the next one.
        self.failed_search = (found.is_none() && !cancel.is_cancelled())
            .then_some(FailedSearch { is_observed, cost });
        found.map(|reduced| (reduced, cost))
    }
}

impl<T: Real> CachedTree<T> {
    /// The structure, and the states of the variables that were removed from its cliques.
    fn structure_and_states(&self) -> (&Structure, &[Option<usize>]) {
        (&self.reduced.structure, &self.observed)
    }

    /// Whether the removed variables are exactly the variables that are now `observed`.
    fn removes_same(&self, observed: &[Option<usize>]) -> bool {
        let mut pairs = self.observed.iter().zip(observed);
        pairs.all(|(removed, now)| removed.is_some() == now.is_some())
    }

    /// The forecast time of a propagation in this tree, in nanoseconds, and the strategy for using
    /// the tree. The time is infinite if the tree cannot be used.
    fn forecast(
        &mut self,
        network: &Network,
        observed: &[Option<usize>],
        evidence: &Evidence,
        optimisations: Optimisations,
    ) -> (f64, Strategy) {
        let removes_same = self.removes_same(observed);
        let tree = &self.filled.tree;
        let mut pairs = self.observed.iter().zip(observed);
        if pairs.all(|(removed, now)| removed.is_none() || removed == now) {
            let change = self.state.find_change(network, tree, evidence);
            let cost = costs::propagation(&self.reduced.structure, tree, change, observed);
            (cost, Strategy::CachedTree)
        } else if removes_same {
            let structure = &self.reduced.structure;
            let states = (structure, observed);
            let reused = ReusedCliques::new(network, self.structure_and_states(), states);
            let inputs = TableInputs::of_structure(network, observed, optimisations);
            (costs::with_new_tree(structure, Some(&reused), inputs), Strategy::RebuiltTree)
        } else {
            (f64::INFINITY, Strategy::RebuiltTree)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_repeated_only_if_the_evidence_or_the_best_known_time_differs_enough() {
        let failed = FailedSearch { is_observed: vec![true, false, false], cost: 100.0 };
        let fails = |is_observed: [bool; 3], best, search| {
            failed.predicts_failure(&is_observed, best, search)
        };
        assert!(fails([true, false, false], 100.0, 0.0));
        assert!(!fails([true, false, false], 101.0, 0.0));
        assert!(fails([true, false, false], 101.0, 2.0), "the gain would not pay for the search");
        for one_more_or_fewer in [[true, true, false], [false, false, false]] {
            assert!(fails(one_more_or_fewer, 90.0, 0.0));
            assert!(!fails(one_more_or_fewer, 95.0, 0.0));
        }
        assert!(!fails([false, true, true], 95.0, 15.0));
    }
}
