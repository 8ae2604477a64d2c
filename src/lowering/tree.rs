//! The contractions of a propagation: one per clique toward the root, and one per clique away from
//! the root.
//!
//! A clique has no table. Its contraction toward the root multiplies its factors, its likelihoods
//! and the messages of its children, and sums the product onto the separator to its parent. Its
//! contraction away from the root multiplies the same inputs and the message from the parent, and
//! sums the product onto the separators to all children and onto each private variable (a variable
//! that is in no separator).

use super::{AxisSet, Contraction, Optimisation, Optimisations, Shape};
use crate::network::{Evidence, FactorId, Finding, Network, VariableId};
use crate::propagation::{CompiledNetwork, MessageId, Phase};

/// An input of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A factor, restricted to the observed states.
    Factor(FactorId),
    /// The likelihood finding of a variable.
    Likelihood(VariableId),
    /// A message, given by the number of a clique. The number of a child stands for the message
    /// from this child, and the clique's own number for the message from its parent.
    Message(usize),
}

/// The place from which the posterior of a variable is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    /// The sum onto this variable alone, which the clique makes for it.
    Private,
    /// The table of the separator to the parent.
    Separator,
}

/// A clique without its observed variables.
#[derive(Clone, Debug)]
pub struct LoweredClique {
    /// The unobserved variables with more than one state: axis a is `variables[a]`. Variables that
    /// are eliminated later are faster, so the same variables are in the same order in all cliques.
    pub variables: Vec<VariableId>,
    /// By axis: the number of states.
    pub states: Vec<usize>,
    /// The number of the parent; `None` for the root.
    pub parent: Option<usize>,
    /// The numbers of the children.
    pub children: Vec<usize>,
    /// The axes of the separator to the parent.
    pub separator: AxisSet,
    /// The same variables as axes of the parent.
    pub separator_in_parent: AxisSet,
    /// The factors and likelihoods of this clique, with their axes.
    pub operands: Vec<(Operand, AxisSet)>,
    /// Whether the message to the parent is one everywhere, so that it need not be computed.
    pub message_is_one: bool,
    /// The variables whose posteriors are read here.
    pub readouts: Vec<(VariableId, Readout)>,
    /// The messages to the parent and from it; `None` for the root.
    pub messages: Option<(MessageId, MessageId)>,
}

/// A junction tree without the observed variables. Number 0 is the root, and every clique comes
/// before its children.
#[derive(Clone, Debug)]
pub struct LoweredTree {
    cliques: Vec<LoweredClique>,
}

impl std::ops::Deref for LoweredTree {
    type Target = [LoweredClique];

    fn deref(&self) -> &[LoweredClique] {
        &self.cliques
    }
}

impl LoweredTree {
    /// The tree of `compiled` without the variables that `evidence` observes.
    ///
    /// # Panics
    /// If a clique has more than [`AxisSet::MAX_AXES`] unobserved variables with several states.
    #[must_use]
    pub fn new(
        compiled: &CompiledNetwork,
        evidence: &Evidence,
        optimisations: Optimisations,
    ) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let mut rank = vec![0; network.variables().len()];
        for (position, &variable) in compiled.elimination_order().iter().enumerate() {
            rank[variable.index()] = position;
        }
        let is_axis =
            |v: &VariableId| network[*v].cardinality() > 1 && evidence.observed(*v).is_none();
        let shape = Shape::of(compiled);
        let mut cliques: Vec<LoweredClique> = Vec::with_capacity(shape.cliques.len());
        for (number, children) in shape.children().into_iter().enumerate() {
            let mut variables: Vec<VariableId> =
                shape.cliques[number].iter().copied().filter(is_axis).collect();
            variables.sort_by_key(|v| rank[v.index()]);
            assert!(variables.len() <= AxisSet::MAX_AXES, "the forecast refuses such a clique");
            let mut clique = LoweredClique {
                states: variables.iter().map(|&v| network[v].cardinality()).collect(),
                variables,
                parent: shape.parents[number],
                children,
                separator: AxisSet::default(),
                separator_in_parent: AxisSet::default(),
                operands: Vec::new(),
                message_is_one: false,
                readouts: Vec::new(),
                messages: shape.origins[number].and_then(|origin| origin.messages),
            };
            if let Some(parent) = clique.parent {
                let separator = shape.separator(number);
                clique.separator = clique.axes_of(&separator);
                clique.separator_in_parent = cliques[parent].axes_of(&separator);
            }
            for &factor in &shape.factors[number] {
                let axes = clique.axes_of(network.factor(factor).scope());
                clique.operands.push((Operand::Factor(factor), axes));
            }
            cliques.push(clique);
        }
        let numbers = shape.clique_numbers();
        let homes = tree.smallest_cliques(network.variables().len());
        for (variable, finding) in evidence.iter() {
            if let Finding::Likelihood(_) = finding {
                let clique = &mut cliques[numbers[homes[variable.index()].index()]];
                let axes = clique.axes_of(&[variable]);
                clique.operands.push((Operand::Likelihood(variable), axes));
            }
        }
        let mut lowered = Self { cliques };
        lowered.find_readouts(network);
        if network.is_bayesian() && optimisations.has(Optimisation::MessagesOfOne) {
            lowered.find_messages_of_one(network, evidence);
        }
        lowered
    }

    /// Chooses where each variable is read: from the smallest separator that contains it, or, if it
    /// is private, from its clique.
    fn find_readouts(&mut self, network: &Network) {
        // By variable: the entries of the separator, the number of the clique, and the readout.
        let mut smallest: Vec<Option<(usize, usize, Readout)>> =
            vec![None; network.variables().len()];
        for (number, clique) in self.cliques.iter().enumerate() {
            for (axis, variable) in clique.variables.iter().enumerate() {
                let is_separator = clique.separator.contains(axis);
                let entries = clique.separator.entries(&clique.states);
                let best = &mut smallest[variable.index()];
                let is_better = match *best {
                    None => true,
                    Some((_, _, Readout::Private)) => is_separator,
                    Some((least, ..)) => is_separator && entries < least,
                };
                if is_better {
                    let readout = if is_separator { Readout::Separator } else { Readout::Private };
                    *best = Some((entries, number, readout));
                }
            }
        }
        for (variable, best) in network.ids().zip(smallest) {
            if let Some((_, clique, readout)) = best {
                self.cliques[clique].readouts.push((variable, readout));
            }
        }
    }

    /// Finds the messages to parents that are one everywhere. The subtree that sends such a message
    /// has no likelihood, and no CPT of an observed variable or of a variable of the separator.
    /// Each of its tables then sums to one over a variable that is only in the subtree, or is the
    /// CPT of a variable with a single state.
    fn find_messages_of_one(&mut self, network: &Network, evidence: &Evidence) {
        self.cliques.iter_mut().skip(1).for_each(|clique| clique.message_is_one = true);
        // By clique: whether its subtree has a likelihood or the CPT of an observed variable. These
        // have no variable over which they sum to one.
        let mut has_finding = vec![false; self.cliques.len()];
        #[allow(clippy::needless_range_loop, reason = "the body changes other cliques too")]
        for number in 0..self.cliques.len() {
            for operand in 0..self.cliques[number].operands.len() {
                let variable = match self.cliques[number].operands[operand].0 {
                    Operand::Factor(factor) => VariableId::new(factor.index()),
                    Operand::Likelihood(_) | Operand::Message(_) => {
                        has_finding[number] = true;
                        continue;
                    }
                };
                if evidence.observed(variable).is_some() {
                    has_finding[number] = true;
                    continue;
                }
                // The CPT of a variable with a single state is one everywhere.
                if network[variable].cardinality() == 1 {
                    continue;
                }
                let mut at = number;
                while let Some(parent) = self.cliques[at].parent {
                    let clique = &mut self.cliques[at];
                    let axis = clique.variables.iter().position(|&other| other == variable);
                    if !axis.is_some_and(|axis| clique.separator.contains(axis)) {
                        break;
                    }
                    clique.message_is_one = false;
                    at = parent;
                }
            }
        }
        for number in (1..self.cliques.len()).rev() {
            if has_finding[number] {
                self.cliques[number].message_is_one = false;
                has_finding[self.cliques[number].parent.unwrap_or(0)] = true;
            }
        }
    }

    /// The inputs of the contraction of clique `number` in `phase`. The contraction away from the
    /// root has the same inputs as the contraction toward the root, and also the message from the
    /// parent.
    pub fn inputs(&self, number: usize, phase: Phase) -> Vec<(Operand, AxisSet)> {
        let clique = &self.cliques[number];
        let mut inputs = clique.operands.clone();
        for &child in clique.children.iter().filter(|&&child| !self.cliques[child].message_is_one) {
            inputs.push((Operand::Message(child), self.cliques[child].separator_in_parent));
        }
        if phase == Phase::Distribute && clique.parent.is_some() {
            inputs.push((Operand::Message(number), clique.separator));
        }
        inputs
    }

    /// The outputs of a contraction of clique `number`. Toward the root: the separator. Away from
    /// the root: the separators to the children in order, then each private variable that is read
    /// here, and for the root the sum of everything.
    pub fn outputs(&self, number: usize, phase: Phase) -> Vec<AxisSet> {
        let clique = &self.cliques[number];
        if phase == Phase::Collect {
            return vec![clique.separator];
        }
        let children = clique.children.iter().map(|&c| self.cliques[c].separator_in_parent);
        let private = clique.private().map(|variable| clique.axes_of(&[variable]));
        let total = clique.parent.is_none().then_some(AxisSet::default());
        children.chain(private).chain(total).collect()
    }
}

impl LoweredClique {
    /// A contraction of this clique with these `inputs` and `outputs`.
    #[must_use]
    pub fn contraction<'a>(
        &'a self,
        inputs: &'a [AxisSet],
        outputs: &'a [AxisSet],
    ) -> Contraction<'a> {
        let axes = AxisSet::first(self.variables.len());
        Contraction { states: &self.states, axes, inputs, outputs }
    }

    /// The number of entries of the clique's table; saturating.
    #[must_use]
    pub fn entries(&self) -> usize {
        AxisSet::first(self.states.len()).entries(&self.states)
    }

    /// The axes of `variables`. Variables that are observed, or have a single state, have none.
    pub fn axes_of(&self, variables: &[VariableId]) -> AxisSet {
        let position = |variable| self.variables.iter().position(|v| v == variable);
        variables.iter().filter_map(position).collect()
    }

    /// The variables that are read from a sum of this clique's product onto each of them.
    pub fn private(&self) -> impl Iterator<Item = VariableId> {
        let private = self.readouts.iter().filter(|(_, readout)| *readout == Readout::Private);
        private.map(|&(variable, _)| variable)
    }

    /// The variables that are read from the separator to the parent.
    pub fn read_from_separator(&self) -> impl Iterator<Item = VariableId> {
        let read = self.readouts.iter().filter(|(_, readout)| *readout == Readout::Separator);
        read.map(|&(variable, _)| variable)
    }
}
