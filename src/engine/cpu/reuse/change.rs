//! What must be computed again when findings change.
//!
//! A message to a parent tells of the findings below it, so it changes where one of those does.
//! A belief changes, by more than a factor for the whole table, only where the clique holds a
//! variable that the changed findings can say anything about: one that is d-connected to them
//! given the findings that stay. Beliefs elsewhere, and the posteriors read from them, are kept;
//! they are those of the evidence as it is now, to the last bits of their own rounding, and no
//! error grows from one change to the next.
//!
//! Reference for d-connection: Koller and Friedman, Probabilistic Graphical Models (2009),
//! algorithm 3.1.

use crate::engine::cpu::tree::nodes::Tree;
use crate::network::{Evidence, Finding, Network, VariableId};

/// What must be computed again. To be filled for each propagation, and kept for its room.
#[derive(Debug, Default)]
pub struct Change {
    /// By variable: whether its posterior may differ.
    pub posterior: Vec<bool>,
    /// By clique: whether findings that are entered at the separator above differ.
    pub mask: Vec<bool>,
    /// By clique: whether findings on its private variables differ.
    pub weights: Vec<bool>,
    /// By clique: whether its message to the parent tells of anything.
    pub needed: Vec<bool>,
    /// By clique: whether its message to the parent may differ.
    pub up: Vec<bool>,
    /// By clique: whether its beliefs may differ by more than a factor.
    pub down: Vec<bool>,
    /// The variables whose findings differ.
    changed: Vec<VariableId>,
    ball: Ball,
}

/// What must be computed in a tree that took over messages from another, because those were not
/// there.
#[derive(Debug)]
pub struct Fresh {
    /// By clique: its message to the parent.
    pub up: Vec<bool>,
    /// By clique: its beliefs.
    pub down: Vec<bool>,
}

impl Fresh {
    /// Adds the messages toward the root that may tell of a finding on `variable`.
    pub fn find_places<T>(&mut self, tree: &Tree<T>, variable: VariableId) {
        let place = &tree.places[variable.index()];
        if place.home.is_some() {
            tree.path_to_root(place.top).for_each(|clique| self.up[clique] = true);
            place.separators.iter().for_each(|&(clique, _)| self.up[clique] = true);
        }
    }
}

/// Variables to visit on trails along which something can be said.
#[derive(Debug, Default)]
struct Ball {
    open: Vec<(VariableId, bool)>,
    /// By variable: visited from a child, and from a parent.
    visited: Vec<[bool; 2]>,
    /// By variable: whether its state is known, and stays.
    is_known: Vec<bool>,
    /// By variable: whether something that stays is known of it or of a descendant.
    informs: Vec<bool>,
}

fn reset(flags: &mut Vec<bool>, length: usize, value: bool) {
    flags.clear();
    flags.resize(length, value);
}

impl Change {
    /// What differs between `before`, or nothing at all, and `after`.
    pub fn find<T>(
        &mut self,
        network: &Network,
        tree: &Tree<T>,
        before: Option<&Evidence>,
        after: &Evidence,
    ) {
        let everything = before.is_none();
        let cliques = tree.nodes.len();
        for flags in [&mut self.mask, &mut self.weights, &mut self.up, &mut self.down] {
            reset(flags, cliques, everything);
        }
        self.find_needed(tree, after);
        if let Some(before) = before {
            differing(before, after, &mut self.changed);
            self.ball.roll(network, before, after, &self.changed);
            self.posterior.clear();
            let reached = self.ball.visited.iter().zip(&self.ball.is_known);
            self.posterior.extend(reached.map(|([a, b], is_known)| (*a || *b) && !is_known));
            self.find_places(tree, before, after);
            for (node, down) in tree.nodes.iter().zip(&mut self.down) {
                *down = node.variables.iter().any(|v| self.posterior[v.index()]);
            }
            // P(e) is read at the root.
            self.down[0] |= tree.nodes[0].children.iter().any(|&child| self.up[child]);
        } else {
            reset(&mut self.posterior, network.variables().len(), true);
        }
    }

    /// Adds what must be computed because the tree is `fresh`, in which no finding is entered.
    pub fn add(&mut self, fresh: &Fresh) {
        self.up.iter_mut().zip(&fresh.up).for_each(|(up, &is)| *up |= is);
        self.down.iter_mut().zip(&fresh.down).for_each(|(down, &is)| *down |= is);
        self.mask.fill(true);
        self.weights.fill(true);
        self.down[0] |= self.up[1..].iter().any(|&up| up);
    }

    /// Notes the messages that tell of a finding or do not sum out.
    fn find_needed<T>(&mut self, tree: &Tree<T>, after: &Evidence) {
        self.needed.clear();
        let of = |node: &crate::engine::cpu::tree::nodes::Node<T>| {
            node.parent.is_some() && !node.sums_out
        };
        self.needed.extend(tree.nodes.iter().map(of));
        for (variable, _) in after.iter() {
            let place = &tree.places[variable.index()];
            // A variable that was taken out of the tree has its finding in the tables.
            if place.home.is_some() {
                // Every message from there to the root tells of it.
                tree.path_to_root(place.top).for_each(|clique| self.needed[clique] = true);
            }
        }
    }

    /// Notes where findings that differ were or are entered, and the messages that tell of them.
    fn find_places<T>(&mut self, tree: &Tree<T>, before: &Evidence, after: &Evidence) {
        for &variable in &self.changed {
            let place = &tree.places[variable.index()];
            if place.home.is_none() {
                continue;
            }
            tree.path_to_root(place.top).for_each(|clique| self.up[clique] = true);
            if place.private.is_some() {
                self.weights[place.top] = true;
                continue;
            }
            let is_observed =
                before.observed(variable).is_some() || after.observed(variable).is_some();
            let count = if is_observed { place.separators.len() } else { 1 };
            for &(clique, _) in &place.separators[..count] {
                (self.mask[clique], self.up[clique]) = (true, true);
            }
        }
    }
}

/// The variables with different findings, into `changed`.
fn differing(before: &Evidence, after: &Evidence, changed: &mut Vec<VariableId>) {
    changed.clear();
    let differs = |(variable, finding): &(VariableId, &Finding), other: &Evidence| {
        other.get(*variable) != Some(*finding)
    };
    changed.extend(before.iter().filter(|entry| differs(entry, after)).map(|(v, _)| v));
    changed.extend(after.iter().filter(|entry| differs(entry, before)).map(|(v, _)| v));
    changed.sort_unstable();
    changed.dedup();
}

impl Ball {
    /// Visits all that is d-connected to `changed` given the findings that `before` and `after`
    /// have in common.
    fn roll(
        &mut self,
        network: &Network,
        before: &Evidence,
        after: &Evidence,
        changed: &[VariableId],
    ) {
        let count = network.variables().len();
        self.visited.clear();
        self.visited.resize(count, [false; 2]);
        reset(&mut self.is_known, count, false);
        reset(&mut self.informs, count, false);
        self.open.clear();
        if !network.is_bayesian() {
            // Factors have no direction by which to tell.
            self.visited.fill([true; 2]);
            return;
        }
        let common = after.iter().filter(|(v, finding)| before.get(*v) == Some(*finding));
        for (variable, finding) in common {
            self.is_known[variable.index()] = matches!(finding, Finding::Observed(_));
            self.open.push((variable, true));
        }
        while let Some((variable, _)) = self.open.pop() {
            if !std::mem::replace(&mut self.informs[variable.index()], true) {
                self.open.extend(network.parents(variable).iter().map(|&p| (p, true)));
            }
        }
        self.open.extend(changed.iter().map(|&variable| (variable, true)));
        while let Some((variable, from_child)) = self.open.pop() {
            let at = variable.index();
            if std::mem::replace(&mut self.visited[at][usize::from(from_child)], true) {
                continue;
            }
            let passes = !self.is_known[at];
            if if from_child { passes } else { self.informs[at] } {
                self.open.extend(network.parents(variable).iter().map(|&p| (p, true)));
            }
            if passes {
                self.open.extend(network.children(variable).iter().map(|&c| (c, false)));
            }
        }
    }
}
