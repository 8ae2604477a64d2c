//! What must be computed again when findings change.
//!
//! A message to a parent depends only on the findings that are entered in the sender's subtree, so
//! it changes only if one of these findings changes. A clique's beliefs change, by more than a
//! factor common to the whole table, only if the clique holds a variable that is d-connected to the
//! changed findings given the findings that stay the same. Other beliefs, and the posteriors read
//! from these beliefs, are kept. They are correct for the new evidence up to the rounding of their
//! own computation, and no error accumulates over changes.
//!
//! A message from a parent depends only on the findings outside the receiver's subtree. It is the
//! parent's belief over the separator divided by the message to the parent, and both change if a
//! finding in the subtree changes. So large messages from parents are stored. While only findings
//! below change, such a message is used again, and the parent does not compute its belief over the
//! separator. Where the message to the parent is zero, the quotient says nothing about the message
//! from the parent, so such a message is not stored.

use crate::engine::cpu::reuse::d_connection::{DConnection, reset};
use crate::engine::cpu::tree::nodes::{Node, Tree};
use crate::network::{Evidence, Finding, Network, VariableId};

/// The messages, beliefs and posteriors that must be computed again. Filled for each propagation;
/// keeps its memory.
#[derive(Debug, Default)]
pub struct Change {
    /// By variable: whether its posterior may differ from the previous one.
    pub posterior: Vec<bool>,
    /// By clique: whether findings that are entered at the separator above differ.
    pub mask: Vec<bool>,
    /// By clique: whether findings on its private variables differ.
    pub weights: Vec<bool>,
    /// By clique: whether its message to the parent must be computed from the table, because a
    /// finding below the separator affects the message, or because the message is not one
    /// everywhere even without evidence.
    pub needed: Vec<bool>,
    /// By clique: whether its message to the parent may differ from the previous one.
    pub up: Vec<bool>,
    /// By clique: whether its beliefs may differ from the previous ones by more than a factor
    /// common to all entries.
    pub down: Vec<bool>,
    /// By clique: whether the path from the clique to the root has been followed.
    on_path: Vec<bool>,
    /// The variables whose findings differ.
    changed: Vec<VariableId>,
    /// The smallest and the largest number of a clique that is the [top] of a changed variable;
    /// `(usize::MAX, 0)` if no finding changed. `None` if everything must be computed again.
    ///
    /// [top]: crate::engine::cpu::tree::places::VariablePlaces::top
    tops: Option<(usize, usize)>,
    /// The search for the variables that these findings can affect.
    connected: DConnection,
}

/// Messages that a new tree lacks because they could not be transferred from the previous tree.
#[derive(Debug)]
pub struct MissingMessages {
    /// By clique: whether its message to the parent is missing.
    pub up: Vec<bool>,
    /// By clique: whether its beliefs are missing.
    pub down: Vec<bool>,
}

impl MissingMessages {
    /// Adds the messages toward the root that may depend on findings on `variables` in `tree`.
    pub fn add_findings(&mut self, tree: &Tree, variables: impl Iterator<Item = VariableId>) {
        let mut on_path = vec![false; tree.nodes.len()];
        for variable in variables {
            let place = &tree.places[variable.index()];
            if place.home.is_some() {
                let path = new_path(tree, place.top, &mut on_path);
                path.for_each(|clique| self.up[clique] = true);
                place.separators.iter().for_each(|&(clique, _)| self.up[clique] = true);
            }
        }
    }
}

impl Change {
    /// Finds what a propagation of `after` must compute again if the previous messages are for
    /// `before`; everything if `before` is `None`.
    pub fn find(
        &mut self,
        network: &Network,
        tree: &Tree,
        before: Option<&Evidence>,
        after: &Evidence,
    ) {
        let is_from_scratch = before.is_none();
        let cliques = tree.nodes.len();
        for flags in [&mut self.mask, &mut self.weights, &mut self.up, &mut self.down] {
            reset(flags, cliques, is_from_scratch);
        }
        self.find_needed(tree, after);
        self.tops = None;
        if let Some(before) = before {
            find_differing(before, after, &mut self.changed);
            let tops = self.changed.iter().map(|variable| tree.places[variable.index()].top);
            let start = (usize::MAX, 0);
            self.tops = Some(tops.fold(start, |(a, b), top| (a.min(top), b.max(top))));
            let optimisations = tree.optimisations;
            self.connected.find(network, before, after, &self.changed, optimisations);
            self.posterior.clear();
            self.posterior.extend(self.connected.affected());
            self.find_stale(tree, before, after);
            for (node, down) in tree.nodes.iter().zip(&mut self.down) {
                *down = node.variables.iter().any(|v| self.posterior[v.index()]);
            }
            // P(e) is read at the root.
            self.down[0] |= tree.nodes[0].children.iter().any(|&child| self.up[child]);
        } else {
            reset(&mut self.posterior, network.variables().len(), true);
        }
    }

    /// Adds the `missing` messages of a new tree. No finding is entered in this tree yet, so all
    /// masks and weights are added too.
    pub fn add_missing(&mut self, missing: &MissingMessages) {
        self.up.iter_mut().zip(&missing.up).for_each(|(up, &missing)| *up |= missing);
        self.down.iter_mut().zip(&missing.down).for_each(|(down, &missing)| *down |= missing);
        self.mask.fill(true);
        self.weights.fill(true);
        self.down[0] |= self.up[1..].iter().any(|&up| up);
    }

    /// Whether everything must be computed again.
    pub fn is_from_scratch(&self) -> bool {
        self.tops.is_none()
    }

    /// Whether the stored message from the parent of `clique`, whose node is `node`, is correct for
    /// the new evidence, up to a factor common to all entries. This is so if only findings below
    /// the separator change. It is also so if the beliefs of the parent stay the same, because the
    /// variables of the separator are then d-separated from all changed findings.
    pub fn keeps_message(&self, node: &Node, clique: usize) -> bool {
        self.tops.zip(node.parent).is_some_and(|((first, last), parent)| {
            !self.down[parent] || (clique <= first && last < node.end)
        })
    }

    /// Fills `needed`.
    fn find_needed(&mut self, tree: &Tree, after: &Evidence) {
        self.needed.clear();
        let is_needed = |node: &Node| node.parent.is_some() && !node.message_is_one;
        self.needed.extend(tree.nodes.iter().map(is_needed));
        reset(&mut self.on_path, tree.nodes.len(), false);
        for (variable, _) in after.iter() {
            let place = &tree.places[variable.index()];
            // The finding of a variable that was removed from the tree is in the tables.
            if place.home.is_some() {
                let path = new_path(tree, place.top, &mut self.on_path);
                path.for_each(|clique| self.needed[clique] = true);
            }
        }
    }

    /// Finds the tables into which differing findings are or were entered, and the messages toward
    /// the root that depend on these findings.
    fn find_stale(&mut self, tree: &Tree, before: &Evidence, after: &Evidence) {
        reset(&mut self.on_path, tree.nodes.len(), false);
        for &variable in &self.changed {
            let place = &tree.places[variable.index()];
            if place.home.is_none() {
                continue;
            }
            let path = new_path(tree, place.top, &mut self.on_path);
            path.for_each(|clique| self.up[clique] = true);
            if place.private.is_some() {
                self.weights[place.top] = true;
                continue;
            }
            let is_observed =
                before.observed(variable).is_some() || after.observed(variable).is_some();
            // A likelihood is entered at the first separator only.
            let count = if is_observed { place.separators.len() } else { 1 };
            for &(clique, _) in &place.separators[..count] {
                (self.mask[clique], self.up[clique]) = (true, true);
            }
        }
    }
}

/// The cliques from `clique` toward the root, without the root, until the first that is already
/// marked in `on_path`. Marks them too, so no later path visits them again, and all paths together
/// take time in proportion to the number of cliques, however deep the tree is.
fn new_path(tree: &Tree, clique: usize, on_path: &mut [bool]) -> impl Iterator<Item = usize> {
    tree.path_to_root(clique).take_while(|&clique| !std::mem::replace(&mut on_path[clique], true))
}

/// Writes the variables whose findings differ into `changed`.
fn find_differing(before: &Evidence, after: &Evidence, changed: &mut Vec<VariableId>) {
    changed.clear();
    let differs = |(variable, finding): &(VariableId, &Finding), other: &Evidence| {
        other.get(*variable) != Some(*finding)
    };
    changed.extend(before.iter().filter(|entry| differs(entry, after)).map(|(v, _)| v));
    changed.extend(after.iter().filter(|entry| differs(entry, before)).map(|(v, _)| v));
    changed.sort_unstable();
    changed.dedup();
}
