//! Which tree to propagate through: the whole one, or one of what evidence leaves.
//!
//! The whole tree is there, without its zeros, and rows that an observation forbids are skipped. A
//! tree of what is left can be far smaller, but has to be made for each set of observed variables,
//! and its tables for each set of states; it takes over
//! [what is the same](crate::engine::cpu::reuse::reused) in the one before. It serves as long as what was
//! taken out of it is still observed; findings that come later are entered into it. In either tree
//! only that is computed which [changed](crate::engine::cpu::reuse::change), if it was the last to be used. All of this is
//! forecast in nanoseconds; the constants are rough, they need only tell a factor of two.

use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::engine::cpu::context::Means;
use crate::engine::cpu::pass::state::{Model, State};
use crate::engine::cpu::reuse::change::Change;
use crate::engine::cpu::reuse::reused::Twins;
use crate::engine::cpu::tables::make::{Shelf, Sources};
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::engine::cpu::tree::reduce::{self, Reduced};
use crate::engine::cpu::tree::structure::Structure;
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

/// For an entry of a table, up and down.
const ENTRY: f64 = 0.8;
/// For a row of a table, up and down.
const ROW: f64 = 12.0;
/// For a row that an observation forbids, up and down.
const SKIPPED_ROW: f64 = 5.0;
/// For an entry of the table of a separator, up and down.
const SEPARATOR: f64 = 5.0;
/// The same where the tables of all separators have more than this many entries: they are in no
/// cache when they are needed again.
const FAR_SEPARATOR: f64 = 8.0;
const FAR: usize = 700_000;
/// What a propagation takes of all this where the tables of the cliques, and so all that it needs,
/// have so few entries that they stay in a cache.
const NEAR_SHARE: f64 = 0.5;
const NEAR: usize = 600_000;
/// For a clique, up and down.
const CLIQUE: f64 = 200.0;
/// For making an entry of a table.
const MAKE_ENTRY: f64 = 1.0;
/// For a variable of which a new tree is made.
const MAKE_VARIABLE: f64 = 2200.0;
/// The same two where a tree of fewer entries than are [near](NEAR) is made and there is none before.
const MAKE_NEAR_ENTRY: f64 = 0.6;
const MAKE_NEAR_VARIABLE: f64 = 1300.0;

/// The share of the entries that a tree has to make where it takes others over from one before.
const NEW_SHARE: f64 = 0.3;

/// A tree is looked for where the best that there is takes so many times what looking does, which is
/// lost if none is found.
const WORTH_LOOKING: f64 = 2.0;

/// How many times fewer entries a tree made anew may have than the whole one without its observed
/// variables, where all are observed; where none is as many. With a fifth observed it was up to four
/// times, in networks of a thousand variables.
const FEWER: f64 = 30.0;

/// The trees of what evidence left that are kept for the next time.
#[derive(Debug)]
pub struct Choice<T> {
    /// What is known of each variable: the states that are observed.
    observed: Vec<Option<usize>>,
    cut: Option<Cut<T>>,
    /// What the tables of trees before were in, and the messages in them, for the next.
    shelf: Shelf<T>,
    room: State,
    /// A set of variables without which there is no tree of so few entries, where that was found out
    /// last.
    not_worth: Option<(Vec<bool>, u64)>,
    /// Entries of tables that were made for the evidence at work.
    pub made: usize,
}

/// A tree of what observed variables leave.
#[derive(Debug)]
struct Cut<T> {
    /// The states of the variables that were taken out.
    observed: Vec<Option<usize>>,
    reduced: Reduced,
    model: Model<T>,
    /// ln of the product of the tables all of whose variables are observed; `None` if it is zero.
    constant: Option<f64>,
}

/// What is chosen among.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Through the whole tree.
    Whole,
    /// Through the tree that was kept.
    Kept,
    /// Through the same with the tables of other states.
    Remade,
}

impl<T: Real> Choice<T> {
    /// Nothing is kept.
    pub fn new(network: &Network) -> Self {
        let observed = vec![None; network.variables().len()];
        let (shelf, room) = (Shelf::new(), State::default());
        Self { observed, cut: None, shelf, room, not_worth: None, made: 0 }
    }

    /// Makes ready for `evidence`, finds out what has to be computed, and says whether in
    /// [`kept`](Self::kept) rather than in the whole tree.
    ///
    /// Where nothing is kept, the choice depends on the evidence alone, and not on the threads.
    pub fn prepare(
        &mut self,
        network: &Network,
        (structure, tree, state): (&Structure, &Tree<T>, &mut State),
        evidence: &Evidence,
        means: Means<'_>,
        cancel: &CancelToken,
    ) -> bool {
        self.observed.fill(None);
        for (variable, finding) in evidence.iter() {
            if let Finding::Observed(state) = finding {
                self.observed[variable.index()] = Some(*state);
            }
        }
        self.made = 0;
        let change = state.find_change(network, tree, evidence);
        let mut best = (forecast(structure, tree, change, &self.observed), Way::Whole);
        if let Some(cut) = &mut self.cut {
            let way = cut.forecast(network, &self.observed, evidence);
            best = if way.0 < best.0 { way } else { best };
        }
        let is_known = self.cut.as_ref().is_some_and(|cut| cut.is_without(&self.observed));
        if !is_known && let Some(reduced) = self.reduce(network, structure, best.0, means, cancel) {
            // Tables give way to each other. If all else does not fit beside it, nothing is shared.
            let before = self.cut.as_ref().map_or(0, |cut| cut.reduced.other_bytes);
            if before + reduced.bytes() > means.bytes {
                self.drop_cut();
            }
            self.make(network, Some(reduced), evidence, means);
            best.1 = Way::Remade;
        } else if best.1 == Way::Remade {
            self.make(network, None, evidence, means);
        }
        best.1 != Way::Whole
    }

    /// Forecasts the propagation that was made ready, in nanoseconds, with all that this counts as
    /// the price of making it.
    pub fn forecast(
        &self,
        network: &Network,
        (structure, tree, state): (&Structure, &Tree<T>, &mut State),
        evidence: &Evidence,
        uses_kept: bool,
        making: f64,
    ) -> f64 {
        let Some(cut) = self.cut.as_ref().filter(|_| uses_kept) else {
            let change = state.find_change(network, tree, evidence);
            return forecast(structure, tree, change, &self.observed);
        };
        let left = self.observed.iter().filter(|state| state.is_none()).count();
        let entries: usize = cut.model.tree.nodes.iter().map(|node| node.entries()).sum();
        let of_entry = NEAR_SHARE * ENTRY + MAKE_ENTRY;
        entries as f64 * of_entry + making * MAKE_VARIABLE * left as f64
    }

    /// Forgets the trees that were made for evidence before.
    pub fn forget(&mut self) {
        self.drop_cut();
        self.not_worth = None;
    }

    /// Lets go of the tree that was kept but for its memory.
    fn drop_cut(&mut self) {
        if let Some(Cut { mut model, .. }) = self.cut.take() {
            model.tree.clear(&mut self.shelf);
            self.room = model.state;
        }
    }

    /// Makes the tables of a tree for the variables that are observed, `reduced` or, if there is none,
    /// that which is kept; takes over what it can of the one that is, and keeps it, ready for
    /// `evidence`.
    fn make(
        &mut self,
        network: &Network,
        reduced: Option<Reduced>,
        evidence: &Evidence,
        means: Means<'_>,
    ) {
        let Self { observed, cut, shelf, room, made, .. } = self;
        let sources = Sources { network, observed, threads: means.threads };
        let new = reduced.as_ref().or(cut.as_ref().map(|cut| &cut.reduced));
        let left = means.bytes.saturating_sub(new.map_or(0, Reduced::bytes));
        shelf.set_most(left / T::PRECISION.bytes() as usize);
        let room_of_new = std::mem::take(room);
        let (reduced, model) = if let Some(before) = cut.take() {
            let Cut { observed: then, reduced: old, model, .. } = before;
            let Model { tree: mut old_tree, state: mut old_state } = model;
            let structure = reduced.as_ref().map_or(&old.structure, |new| &new.structure);
            let twins = Twins::new(network, (&old.structure, &then), (structure, observed));
            let tree = structure.rebuild(sources, Some((&mut old_tree, &twins)), shelf);
            let entries = tree.nodes.iter().map(|node| node.values.len()).enumerate();
            *made = entries.filter(|(clique, _)| !twins.have_table(*clique)).map(|(_, n)| n).sum();
            let new = (&tree, &twins);
            let found = (network, evidence);
            let state = old_state.inherit(&old_tree, new, room_of_new, found, means.threads);
            *room = old_state;
            (reduced.unwrap_or(old), Model { tree, state })
        } else if let Some(reduced) = reduced {
            let tree = reduced.structure.rebuild(sources, None, shelf);
            *made = tree.nodes.iter().map(|node| node.values.len()).sum();
            let mut state = room_of_new.renewed(&tree);
            state.find_change(network, &tree, evidence);
            (reduced, Model { tree, state })
        } else {
            return;
        };
        let constant = reduced.constant(network, observed);
        *cut = Some(Cut { observed: observed.clone(), reduced, model, constant });
    }

    /// Forgets the messages in them.
    pub fn forget_messages(&mut self) {
        if let Some(cut) = &mut self.cut {
            cut.model.state.forget();
        }
    }

    /// The tree that was made ready, and the constant that its P(e) is to be multiplied by as its
    /// logarithm, `None` for zero.
    pub fn kept(&mut self) -> Option<(&mut Model<T>, Option<f64>)> {
        self.cut.as_mut().map(|cut| (&mut cut.model, cut.constant))
    }

    /// A tree without the observed variables that is forecast to take less than `least`
    /// nanoseconds and fits into the memory there is.
    fn reduce(
        &mut self,
        network: &Network,
        whole: &Structure,
        least: f64,
        means: Means<'_>,
        cancel: &CancelToken,
    ) -> Option<Reduced> {
        let is_observed: Vec<bool> = self.observed.iter().map(Option::is_some).collect();
        let left = is_observed.iter().filter(|is| !*is).count();
        let made = if self.cut.is_some() { NEW_SHARE } else { 1.0 };
        let limit = |of_variable: f64, of_entry: f64| {
            let fixed = means.making * of_variable * left as f64;
            let is_worth = least >= WORTH_LOOKING * fixed;
            let limit = (least - fixed) / (NEAR_SHARE * ENTRY + made * of_entry);
            if is_worth { limit as u64 } else { 0 }
        };
        let mut most = limit(MAKE_VARIABLE, MAKE_ENTRY);
        if self.cut.is_none() {
            most = most.max(limit(MAKE_NEAR_VARIABLE, MAKE_NEAR_ENTRY).min(NEAR as u64));
        }
        let limit = most;
        let is_in_vain = self
            .not_worth
            .as_ref()
            .is_some_and(|(out, least)| *out == is_observed && limit <= *least);
        if left == is_observed.len() || limit == 0 || is_in_vain {
            return None;
        }
        let share = (is_observed.len() - left) as f64 / is_observed.len() as f64;
        if whole.entries_without(&is_observed) > limit as f64 * (1.0 + (FEWER - 1.0) * share) {
            return None;
        }
        let width = T::PRECISION.bytes() as usize;
        let before = self.cut.as_ref().map(|cut| &cut.reduced);
        let found =
            reduce::reduce(network, &is_observed, limit, width, before, means.threads, cancel)
                .filter(|reduced| reduced.bytes() <= means.bytes);
        // What was not looked for to the end says nothing about the next time.
        self.not_worth =
            (found.is_none() && !cancel.is_cancelled()).then_some((is_observed, limit));
        found
    }
}

impl<T: Real> Cut<T> {
    /// Whether it is that without exactly the variables that are observed now.
    fn is_without(&self, observed: &[Option<usize>]) -> bool {
        let mut pairs = self.observed.iter().zip(observed);
        pairs.all(|(out, now)| out.is_some() == now.is_some())
    }

    /// How it can serve, and what that costs.
    fn forecast(
        &mut self,
        network: &Network,
        observed: &[Option<usize>],
        evidence: &Evidence,
    ) -> (f64, Way) {
        let is_without = self.is_without(observed);
        let Model { tree, state } = &mut self.model;
        let mut pairs = self.observed.iter().zip(observed);
        if pairs.all(|(out, now)| out.is_none() || out == now) {
            let change = state.find_change(network, tree, evidence);
            (forecast(&self.reduced.structure, tree, change, observed), Way::Kept)
        } else if is_without {
            let entries: usize = tree.nodes.iter().map(|node| node.entries()).sum();
            (entries as f64 * (ENTRY + NEW_SHARE * MAKE_ENTRY), Way::Remade)
        } else {
            (f64::INFINITY, Way::Remade)
        }
    }
}

/// Forecasts the messages of `change` in `tree`, in nanoseconds.
///
/// An observed variable among the slow ones of a clique leaves one of its states' rows.
fn forecast<T: Real>(
    structure: &Structure,
    tree: &Tree<T>,
    change: &Change,
    observed: &[Option<usize>],
) -> f64 {
    let entries: usize = tree.nodes.iter().map(|node| node.entries()).sum();
    let share = if entries < NEAR { NEAR_SHARE } else { 1.0 };
    let separator = if tree.above > FAR { FAR_SEPARATOR } else { SEPARATOR };
    let stale = change.needed.iter().zip(&change.up).zip(&change.down);
    let ways =
        stale.map(|((&needed, &up), &down)| f64::from(u8::from(needed && up) + u8::from(down)));
    let nodes = structure.layouts().iter().zip(&tree.nodes).zip(ways);
    let of = |((layout, node), ways): ((&Arc<Layout>, &Node<T>), f64)| {
        if ways == 0.0 {
            return 0.0;
        }
        let slow = layout.outer.variables().iter().zip(layout.outer.cardinalities());
        let fixed = slow.filter(|(v, _)| observed[v.index()].is_some());
        let left: f64 = fixed.map(|(_, &states)| 1.0 / states as f64).product();
        let rows = (node.words.len() / node.stride) as f64;
        let entries = node.entries() as f64;
        let always = CLIQUE + rows * SKIPPED_ROW + node.above.len() as f64 * separator;
        0.5 * ways * (always + left * (entries * ENTRY + rows * ROW))
    };
    share * nodes.map(of).sum::<f64>()
}
