//! Which variables a change of findings can affect: d-connection.
//!
//! Source: Koller and Friedman, *Probabilistic Graphical Models* (2009), algorithm 3.1.

use crate::lowering::{Optimisation, Optimisations};
use crate::network::{Evidence, Finding, Network, VariableId};

/// A search for the variables that are d-connected to the variables with changed findings. Keeps
/// its memory for the next search.
#[derive(Debug, Default)]
pub struct DConnection {
    /// Variables to visit. The flag says whether the variable is reached from a child; otherwise it
    /// is reached from a parent.
    stack: Vec<(VariableId, bool)>,
    /// By variable: whether it was visited from a parent, and from a child.
    visited: Vec<[bool; 2]>,
    /// By variable: whether it is observed in the same state before and after the change.
    is_observed: Vec<bool>,
    /// By variable: whether the variable or a descendant has a finding that stays the same.
    has_evidence_below: Vec<bool>,
}

impl DConnection {
    /// Finds all variables that are d-connected to `changed`, given the findings that `before` and
    /// `after` have in common. In a Markov network, or without [`Optimisation::DConnection`], finds
    /// all variables.
    pub fn find(
        &mut self,
        network: &Network,
        before: &Evidence,
        after: &Evidence,
        changed: &[VariableId],
        optimisations: Optimisations,
    ) {
        let count = network.variables().len();
        self.visited.clear();
        self.visited.resize(count, [false; 2]);
        reset(&mut self.is_observed, count, false);
        reset(&mut self.has_evidence_below, count, false);
        self.stack.clear();
        if !network.is_bayesian() || !optimisations.has(Optimisation::DConnection) {
            self.visited.fill([true; 2]);
            return;
        }
        let common = after.iter().filter(|(v, finding)| before.get(*v) == Some(*finding));
        for (variable, finding) in common {
            self.is_observed[variable.index()] = matches!(finding, Finding::Observed(_));
            self.stack.push((variable, true));
        }
        // Mark the variables with common findings and all their ancestors.
        while let Some((variable, _)) = self.stack.pop() {
            if !std::mem::replace(&mut self.has_evidence_below[variable.index()], true) {
                self.stack.extend(network.parents(variable).iter().map(|&p| (p, true)));
            }
        }
        self.stack.extend(changed.iter().map(|&variable| (variable, true)));
        while let Some((variable, from_child)) = self.stack.pop() {
            self.visit(network, variable, from_child);
        }
    }

    /// Visits a variable along a trail from a child or a parent, and extends the trail.
    fn visit(&mut self, network: &Network, variable: VariableId, from_child: bool) {
        let at = variable.index();
        if std::mem::replace(&mut self.visited[at][usize::from(from_child)], true) {
            return;
        }
        let is_open = !self.is_observed[at];
        let leads_to_parents = if from_child { is_open } else { self.has_evidence_below[at] };
        if leads_to_parents {
            self.stack.extend(network.parents(variable).iter().map(|&p| (p, true)));
        }
        if is_open {
            self.stack.extend(network.children(variable).iter().map(|&c| (c, false)));
        }
    }

    /// By variable: whether its posterior may differ after the change.
    pub fn affected(&self) -> impl Iterator<Item = bool> {
        let found = self.visited.iter().zip(&self.is_observed);
        found.map(|([a, b], is_observed)| (*a || *b) && !is_observed)
    }
}

/// Sets `flags` to `length` copies of `value`.
pub fn reset(flags: &mut Vec<bool>, length: usize, value: bool) {
    flags.clear();
    flags.resize(length, value);
}
