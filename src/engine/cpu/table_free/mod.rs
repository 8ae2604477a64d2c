//! Propagation without tables of cliques, for junction trees of any size.
//!
//! The table of a clique is a product of factors and messages that are usually far smaller. Here
//! the product is computed tile by tile where it is needed, as [`lowering`](crate::lowering)
//! describes, and never stored. Memory is needed only for messages: one per separator, and for the
//! clique at work the beliefs of the separators to its children.
//!
//! Messages and sums are always in double precision. Each message is scaled by a power of two
//! so that its largest entry is near one. Offsets have the width of a pointer, so the size of a
//! clique is limited by time alone.
//!
//! Messages are computed one after another, and threads share each large one. The number of threads
//! changes no bit of the result.

mod execute;
mod tile;

use std::f64::consts::LN_2;
use std::sync::Arc;

use crate::engine::threads::Threads;
use crate::engine::{Propagator, RunError};
use crate::lowering::{AxisSet, Contraction, LoweredClique, LoweredTree, Operand, Step};
use crate::network::{Evidence, Factor, Finding, Network, VariableId};
use crate::potential::{Odometer, Scope, ratio};
use crate::propagation::{
    CompiledNetwork, Form, MessageId, Phase, Posteriors, Savings, Stage, Watch,
};
use execute::{Resources, rescale, run_step};

/// A compiled network that is propagated without tables of cliques.
pub struct TableFree {
    compiled: Arc<CompiledNetwork>,
    /// `None` if the calling thread does all the work.
    threads: Option<Threads>,
    /// The forecast memory in bytes.
    bytes: u64,
}

impl TableFree {
    /// A propagator for `compiled` that is forecast to need `bytes`.
    pub fn new(compiled: Arc<CompiledNetwork>, threads: usize, bytes: u64) -> Self {
        let threads = (threads > 1).then(|| Threads::new(threads)).flatten();
        Self { compiled, threads, bytes }
    }
}

impl Propagator for TableFree {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        let mut clock = watch.worker_clock();
        let lowered = watch.stage_with_clock(Stage::Initialise, &mut clock, |_| {
            LoweredTree::new(&self.compiled, evidence)
        });
        let resources =
            Resources { threads: self.threads.as_deref(), cancel: watch.cancel_token() };
        let mut pass = Pass::new(&self.compiled, &lowered, evidence, resources, watch);
        watch.stage_with_clock(Stage::Collect, &mut clock, |_| pass.collect())?;
        watch.stage_with_clock(Stage::Distribute, &mut clock, |_| pass.distribute())?;
        let network = self.compiled.network();
        let is_certain = evidence.is_empty() && network.is_bayesian();
        let ln_p_evidence = if is_certain { 0.0 } else { pass.ln_p_evidence };
        watch.note_savings(pass.savings());
        Ok(watch.stage_with_clock(Stage::Read, &mut clock, |_| {
            Posteriors::new(network, ln_p_evidence, |variable, states| {
                match evidence.observed(variable) {
                    Some(state) => states[state] = 1.0,
                    None => states.copy_from_slice(pass.posterior(variable)),
                }
            })
        }))
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn form(&self) -> Option<Form> {
        Some(Form::TableFree)
    }

    fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, |threads| threads.current_num_threads())
    }
}

/// The memory that a propagation of `compiled` needs at most, in bytes, and its forecast work in
/// products of entries, both without evidence.
pub fn forecast(compiled: &CompiledNetwork) -> (u64, f64) {
    let lowered = LoweredTree::new(compiled, &Evidence::none());
    let mut messages = 0_u64;
    let (mut scratch, mut work) = (0, 0.0);
    for (number, clique) in lowered.iter().enumerate() {
        if clique.parent.is_some() {
            messages = messages.saturating_add(clique.separator.entries(&clique.states) as u64);
        }
        for phase in [Phase::Collect, Phase::Distribute] {
            if phase == Phase::Collect && clique.parent.is_none() {
                continue;
            }
            let (inputs, outputs) = (lowered.inputs(number, phase), lowered.outputs(number, phase));
            let is_factor = |operand: &Operand| matches!(operand, Operand::Factor(_));
            let factors = inputs.iter().filter(|(operand, _)| is_factor(operand));
            let factors = total(factors.map(|(_, set)| set.entries(&clique.states)));
            let sums = total(outputs.iter().map(|set| set.entries(&clique.states)));
            let inputs: Vec<AxisSet> = inputs.iter().map(|&(_, set)| set).collect();
            let step = Step::new(&clique.contraction(&inputs, &outputs));
            scratch = scratch.max(total([step.scratch_entries(), factors, sums]));
            work += step.work();
        }
    }
    let entries = messages.saturating_add(scratch as u64);
    (entries.saturating_mul(8).saturating_add(WORKSPACE_BYTES), work)
}

/// The sum of `sizes`; saturating.
fn total(sizes: impl IntoIterator<Item = usize>) -> usize {
    sizes.into_iter().fold(0, usize::saturating_add)
}

/// Memory for tiles, plans and posteriors, in bytes. A generous round figure: it only matters for
/// networks that need little anyway.
const WORKSPACE_BYTES: u64 = 4 << 20;

/// One propagation.
struct Pass<'a> {
    network: &'a Network,
    lowered: &'a LoweredTree,
    evidence: &'a Evidence,
    resources: Resources<'a>,
    watch: &'a Watch,
    /// By clique: until its parent was reached on the way down, its message to the parent;
    /// afterwards the message from the parent. Empty if the message is one everywhere.
    messages: Vec<Vec<f64>>,
    /// By clique: the exponent of the power of two that its message to the parent must be
    /// multiplied by.
    exponents: Vec<i64>,
    /// By variable: its posterior, not normalised.
    posteriors: Vec<Vec<f64>>,
    ln_p_evidence: f64,
}

impl<'a> Pass<'a> {
    fn new(
        compiled: &'a CompiledNetwork,
        lowered: &'a LoweredTree,
        evidence: &'a Evidence,
        resources: Resources<'a>,
        watch: &'a Watch,
    ) -> Self {
        let network = compiled.network();
        Self {
            network,
            lowered,
            evidence,
            resources,
            watch,
            messages: vec![Vec::new(); lowered.len()],
            exponents: vec![0; lowered.len()],
            posteriors: vec![Vec::new(); network.variables().len()],
            ln_p_evidence: 0.0,
        }
    }

    /// Computes the messages to parents that are not one everywhere.
    fn collect(&mut self) -> Result<(), RunError> {
        for number in (1..self.lowered.len()).rev() {
            let clique = &self.lowered[number];
            self.watch.check()?;
            self.timed(clique.messages.map(|(collect, _)| collect), |pass| {
                if clique.sums_out {
                    return Ok(());
                }
                let (mut outputs, exponent) = pass.contract(number, Phase::Collect)?;
                let mut message = outputs.pop().unwrap_or_default();
                let scale = rescale(&mut message).ok_or(RunError::Impossible)?;
                pass.exponents[number] = exponent - i64::from(scale);
                pass.messages[number] = message;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Computes the messages from parents and the posteriors.
    fn distribute(&mut self) -> Result<(), RunError> {
        for number in 0..self.lowered.len() {
            self.watch.check()?;
            let clique = &self.lowered[number];
            // The contraction of a clique gives the messages to all its children. Its time is
            // attributed to the message into the clique, and the time at the root to no message.
            self.timed(clique.messages.map(|(_, distribute)| distribute), |pass| {
                pass.distribute_from(number)
            })?;
        }
        Ok(())
    }

    fn distribute_from(&mut self, number: usize) -> Result<(), RunError> {
        let clique = &self.lowered[number];
        if clique.children.is_empty() && clique.private().next().is_none() && number > 0 {
            self.messages[number] = Vec::new();
            return Ok(());
        }
        let (outputs, exponent) = self.contract(number, Phase::Distribute)?;
        self.messages[number] = Vec::new();
        let mut outputs = outputs.into_iter();
        for &child in &clique.children {
            let mut belief = outputs.next().unwrap_or_default();
            // The factor common to all entries does not matter.
            rescale(&mut belief);
            self.receive(child, belief)?;
        }
        for variable in clique.private() {
            self.posteriors[variable.index()] = outputs.next().unwrap_or_default();
        }
        if number == 0 {
            let total = outputs.next().and_then(|total| total.first().copied()).unwrap_or(0.0);
            if total <= 0.0 {
                return Err(RunError::Impossible);
            }
            self.ln_p_evidence = total.ln() + exponent as f64 * LN_2;
        }
        Ok(())
    }

    /// Turns the belief over the separator above `child` into the message to the child, and reads
    /// posteriors from it.
    fn receive(&mut self, child: usize, mut belief: Vec<f64>) -> Result<(), RunError> {
        self.read_posteriors(child, &belief)?;
        let up = &self.messages[child];
        if !up.is_empty() {
            belief.iter_mut().zip(up).for_each(|(belief, &up)| *belief = ratio(*belief, up));
        }
        self.messages[child] = belief;
        Ok(())
    }

    /// Reads the posteriors of the variables that are read from the separator above clique
    /// `number`.
    fn read_posteriors(&mut self, number: usize, belief: &[f64]) -> Result<(), RunError> {
        let clique = &self.lowered[number];
        let read = clique.read_from_separator();
        if read.is_empty() {
            return Ok(());
        }
        let outputs: Vec<AxisSet> = read.iter().map(|&(_, axes)| axes).collect();
        let contraction = Contraction {
            states: &clique.states,
            axes: clique.separator,
            inputs: &[clique.separator],
            outputs: &outputs,
        };
        let step = Step::new(&contraction);
        let (tables, _) = run_step(&step, &contraction, &[belief], self.resources)?;
        for ((variable, _), table) in read.into_iter().zip(tables) {
            self.posteriors[variable.index()] = table;
        }
        Ok(())
    }

    /// Computes the contraction of clique `number` in `phase`. Also returns the exponent of the
    /// power of two that the outputs must be multiplied by; on the way down, only the root's is
    /// meaningful.
    fn contract(&self, number: usize, phase: Phase) -> Result<(Vec<Vec<f64>>, i64), RunError> {
        let clique = &self.lowered[number];
        let inputs = self.lowered.inputs(number, phase);
        let mut exponent = 0;
        // Factors in the index order of the clique, without observed variables.
        let mut restricted: Vec<Vec<f64>> = Vec::new();
        for (operand, axes) in &inputs {
            let mut table = match operand {
                Operand::Factor(factor) => {
                    let variables: Vec<VariableId> =
                        axes.iter().map(|axis| clique.variables[axis]).collect();
                    restrict(self.network, self.network.factor(*factor), &variables, self.evidence)
                }
                Operand::Likelihood(variable) => self.likelihood(*variable),
                Operand::Message(child) => {
                    exponent += self.exponents[*child];
                    continue;
                }
            };
            exponent -= i64::from(rescale(&mut table).ok_or(RunError::Impossible)?);
            restricted.push(table);
        }
        let mut restricted = restricted.iter();
        let table = |&(operand, _): &(Operand, AxisSet)| match operand {
            Operand::Message(number) => &*self.messages[number],
            _ => restricted.next().map_or(&[][..], |table| &**table),
        };
        let tables: Vec<&[f64]> = inputs.iter().map(table).collect();
        let inputs: Vec<AxisSet> = inputs.iter().map(|&(_, axes)| axes).collect();
        let outputs = self.lowered.outputs(number, phase);
        let contraction = clique.contraction(&inputs, &outputs);
        let step = Step::new(&contraction);
        let (sums, scale) = run_step(&step, &contraction, &tables, self.resources)?;
        Ok((sums, exponent + scale))
    }

    /// The weights of the likelihood finding of `variable`.
    fn likelihood(&self, variable: VariableId) -> Vec<f64> {
        let finding = self.evidence.iter().find(|(other, _)| *other == variable);
        match finding {
            Some((_, Finding::Likelihood(weights))) => weights.to_vec(),
            _ => unreachable!("the clique lists findings of the evidence"),
        }
    }

    /// The posterior of an unobserved `variable`, not normalised.
    fn posterior(&self, variable: VariableId) -> &[f64] {
        match &*self.posteriors[variable.index()] {
            [] => &[1.0],
            states => states,
        }
    }

    fn savings(&self) -> Savings {
        let skipped = self.lowered.iter().skip(1).filter(|clique| clique.sums_out).count();
        let entries = |clique: &LoweredClique| {
            AxisSet::first(clique.states.len()).entries(&clique.states) as u64
        };
        Savings {
            messages_skipped: skipped,
            entries_used: self.lowered.iter().map(entries).sum(),
            ..Savings::default()
        }
    }

    /// Runs `work`, the computation of `message`, and times it.
    fn timed(
        &mut self,
        message: Option<MessageId>,
        work: impl FnOnce(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        match message {
            Some(message) => self.watch.message(message, 0, || work(self)),
            None => work(self),
        }
    }
}

/// The entries of `factor` for the observed states, as a table over `variables`, which are the
/// other variables of the factor with more than one state.
fn restrict(
    network: &Network,
    factor: &Factor,
    variables: &[VariableId],
    evidence: &Evidence,
) -> Vec<f64> {
    let stored = Scope::of(network, factor.scope().iter().copied());
    let observed = factor.scope().iter().filter_map(|&v| {
        let axis = stored.axis(v)?;
        Some(evidence.observed(v)? * axis.stride)
    });
    let first: usize = observed.sum();
    let wanted = Scope::of(network, variables.iter().copied());
    let entries = wanted.entries();
    Odometer::new(&wanted, &stored).take(entries).map(|at| factor.values()[first + at]).collect()
}
