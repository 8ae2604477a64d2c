//! All contractions of a propagation, planned.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    AxisSet, Contraction, ContractionSchedule, LoweredClique, LoweredTree, Operand, Optimisations,
    Step,
};
use crate::allocate;
use crate::network::{Evidence, VariableId};
use crate::propagation::{CompiledNetwork, Phase};

/// The contractions of a propagation through a junction tree without tables.
///
/// The program depends on which variables are observed and which have likelihoods, but not on the
/// observed states and the weights. Equal contractions share their step: a network with many small
/// cliques has few different ones.
#[derive(Clone, Debug)]
pub struct Program {
    /// The cliques that are contracted.
    pub tree: LoweredTree,
    /// By clique: the contraction toward the root; `None` for the root, and where the message to
    /// the parent is one everywhere.
    pub collect: Vec<Option<PlannedStep>>,
    /// By clique: the contraction away from the root; `None` for a clique other than the root that
    /// has no children and no private variable to read.
    pub distribute: Vec<Option<PlannedStep>>,
    /// By clique: how the belief over the separator to the parent is summed onto each variable
    /// whose posterior is read from this separator; `None` if there is no such variable.
    pub read: Vec<Option<Arc<Step>>>,
    /// When the contractions toward the root are computed. The root is left out.
    pub collect_schedule: ContractionSchedule,
    /// When the contractions away from the root are computed.
    pub distribute_schedule: ContractionSchedule,
}

/// A contraction of a clique.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// The inputs, with their axes.
    pub inputs: Vec<(Operand, AxisSet)>,
    /// How the outputs are computed.
    pub step: Arc<Step>,
}

/// The steps that were planned so far.
#[derive(Default)]
struct Steps {
    /// By contraction.
    steps: HashMap<ContractionKey, Arc<Step>>,
}

/// The states, axes, inputs and outputs of a [`Contraction`].
type ContractionKey = (Vec<usize>, AxisSet, Vec<AxisSet>, Vec<AxisSet>);

impl Steps {
    /// The step for `contraction`, which is planned unless an equal one was.
    fn get(&mut self, contraction: &Contraction<'_>, optimisations: Optimisations) -> Arc<Step> {
        let &Contraction { states, axes, inputs, outputs } = contraction;
        let key = (states.to_vec(), axes, inputs.to_vec(), outputs.to_vec());
        let plan = || Arc::new(Step::new(contraction, optimisations));
        Arc::clone(self.steps.entry(key).or_insert_with(plan))
    }
}

impl Program {
    /// The program for evidence on the same variables as `evidence`: the same variables are
    /// observed, and the same have likelihoods.
    ///
    /// # Panics
    /// As [`LoweredTree::new`], and if memory has run out, as [`allocate::check`] does.
    #[must_use]
    pub fn new(
        compiled: &CompiledNetwork,
        evidence: &Evidence,
        optimisations: Optimisations,
    ) -> Self {
        let tree = LoweredTree::new(compiled, evidence, optimisations);
        let mut steps = Steps::default();
        let mut plan = |number: usize, phase: Phase| {
            allocate::check();
            let clique = &tree[number];
            let is_root = clique.parent.is_none();
            let is_needed = match phase {
                Phase::Collect => !is_root && !clique.message_is_one,
                Phase::Distribute => {
                    is_root || !clique.children.is_empty() || clique.private().next().is_some()
                }
            };
            if !is_needed {
                return None;
            }
            let inputs = tree.inputs(number, phase);
            let outputs = tree.outputs(number, phase);
            let sets: Vec<AxisSet> = inputs.iter().map(|&(_, axes)| axes).collect();
            let step = steps.get(&clique.contraction(&sets, &outputs), optimisations);
            Some(PlannedStep { inputs, step })
        };
        let mut plan_all = |phase: Phase| -> Vec<Option<PlannedStep>> {
            (0..tree.len()).map(|number| plan(number, phase)).collect()
        };
        let (collect, distribute) = (plan_all(Phase::Collect), plan_all(Phase::Distribute));
        let planned = collect.iter().chain(&distribute).flatten();
        let largest = planned.map(|planned| planned.step.entries()).max().unwrap_or(0);
        let schedule = |planned: &[_], phase: Phase| {
            ContractionSchedule::new(&tree, planned, phase, largest, optimisations)
        };
        let collect_schedule = schedule(&collect, Phase::Collect);
        let distribute_schedule = schedule(&distribute, Phase::Distribute);
        let read = |number: usize| {
            let clique = &tree[number];
            let outputs: Vec<AxisSet> =
                clique.read_from_separator().map(|variable| clique.axes_of(&[variable])).collect();
            let inputs = [clique.separator];
            let mut contraction = clique.contraction(&inputs, &outputs);
            contraction.axes = clique.separator;
            (!outputs.is_empty()).then(|| steps.get(&contraction, optimisations))
        };
        let read = (0..tree.len()).map(read).collect();
        Self { tree, collect, distribute, read, collect_schedule, distribute_schedule }
    }

    /// Number of multiplications and additions of entries.
    #[must_use]
    pub fn work(&self) -> f64 {
        let planned = self.collect.iter().chain(&self.distribute).flatten();
        let steps = planned.map(|planned| &planned.step).chain(self.read.iter().flatten());
        steps.map(|step| step.work()).sum()
    }

    /// The time of collect and distribute, as a number of multiplications and additions.
    #[must_use]
    pub fn schedule_work(&self) -> f64 {
        self.collect_schedule.work() + self.distribute_schedule.work()
    }

    /// Maximum number of entries of all tables that exist at the same time: all factors, one
    /// message per separator, and whatever else the group of contractions with the largest need
    /// uses. Saturating.
    #[must_use]
    pub fn peak_entries(&self) -> usize {
        let sum = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(0, usize::saturating_add);
        let separator = |number: usize| {
            let clique = &self.tree[number];
            clique.separator.entries(&clique.states)
        };
        let messages = sum(&mut (1..self.tree.len()).map(separator));
        let operands = |clique: &LoweredClique| {
            sum(&mut clique.operands.iter().map(|(_, axes)| axes.entries(&clique.states)))
        };
        let factors = sum(&mut self.tree.iter().map(operands));
        let group = self.collect_schedule.entries().max(self.distribute_schedule.entries());
        sum(&mut [messages, factors, group].into_iter())
    }

    /// Whether the program for `planned` is also the program for `evidence`: the same variables are
    /// observed, and the same have likelihoods.
    #[must_use]
    pub fn serves(planned: &Evidence, evidence: &Evidence) -> bool {
        // Each variable that has a finding, and whether it is observed.
        let findings = |evidence: &Evidence| -> Vec<(VariableId, bool)> {
            let finding = |(variable, _)| (variable, evidence.observed(variable).is_some());
            evidence.iter().map(finding).collect()
        };
        findings(planned) == findings(evidence)
    }
}
