//! The stages of one propagation: restricting the factors to the evidence, collect and distribute.

use std::f64::consts::LN_2;

use super::buffers::Buffers;
use super::execute::{Input, Outputs, Resources, contract_group, divide, run_step};
use super::number::Number;
use crate::engine::RunError;
use crate::engine::bounds::{Bounds, Loss, belief_in_raised, no_message};
use crate::engine::cpu::helpers::{Helpers, worker};
use crate::engine::factors::restricted;
use crate::lowering::{AxisSet, LoweredClique, Operand, PlannedStep, Program};
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::propagation::{Activity, MessageId, Savings, Watch};

/// A factor without the entries that contradict the observations.
pub struct Restricted<T> {
    /// The entries, scaled by a power of two. The last axis varies fastest.
    pub values: Vec<T>,
    /// The exponent of the power of two by which `values` must be multiplied.
    pub exponent: i64,
    pub bounds: Bounds,
    /// Whether a variable of the factor was observed.
    pub is_restricted: bool,
}

/// A message, first to the parent of a clique and later from it.
struct Message<T> {
    /// Empty if the message is one everywhere.
    table: Vec<T>,
    bounds: Bounds,
    /// In collect, the level to which entries were raised, as the exponent of a power of two;
    /// `None` if no entry was.
    raised: Option<i32>,
    /// In collect, the exponent of the power of two by which the message must be multiplied.
    exponent: i64,
}

impl<T> Message<T> {
    /// A message that is one everywhere.
    fn one() -> Self {
        Self { table: Vec::new(), bounds: Bounds::ONE, raised: None, exponent: 0 }
    }
}

/// What a clique sends away from the root.
struct ToChildren<T> {
    /// By child: the message to it.
    messages: Vec<Message<T>>,
    /// Posteriors of variables, not normalised.
    posteriors: Vec<(VariableId, Vec<T>)>,
    /// The probability mass that may have been lost or added.
    loss: Loss,
    /// ln P(e), if the clique is the root.
    ln_p_evidence: Option<f64>,
}

/// One propagation.
pub struct Pass<'a, T> {
    network: &'a Network,
    program: &'a Program,
    evidence: &'a Evidence,
    factors: &'a mut [Restricted<T>],
    buffers: &'a Buffers<T>,
    /// Whether the work is shared with the other threads of the pool in which the caller runs.
    forks: bool,
    watch: &'a Watch,
    /// By clique: until its parent was reached on the way down, its message to the parent.
    /// Afterwards the message from the parent, until the clique is done.
    messages: Vec<Message<T>>,
    /// By variable: its posterior, not normalised; empty if the variable is observed or has a
    /// single state.
    posteriors: Vec<Vec<T>>,
    /// ln P(e), once distribute has passed the root.
    pub ln_p_evidence: f64,
    /// The probability mass that may have been lost or added.
    pub loss: Loss,
}

impl<'a, T: Number> Pass<'a, T> {
    /// The propagation of `evidence` before its first stage.
    pub fn new(
        network: &'a Network,
        program: &'a Program,
        evidence: &'a Evidence,
        factors: &'a mut [Restricted<T>],
        buffers: &'a Buffers<T>,
        forks: bool,
        watch: &'a Watch,
    ) -> Self {
        let cliques = program.tree.len();
        Self {
            network,
            program,
            evidence,
            factors,
            buffers,
            forks,
            watch,
            messages: (0..cliques).map(|_| Message::one()).collect(),
            posteriors: vec![Vec::new(); network.variables().len()],
            ln_p_evidence: 0.0,
            loss: Loss::default(),
        }
    }

    /// Restricts the factors to the observed states. Does not touch factors that have no observed
    /// variable, and had none in the last run.
    ///
    /// # Errors
    /// [`RunError::Impossible`] if a factor is zero for all states that agree with the
    /// observations.
    pub fn restrict(&mut self) -> Result<(), RunError> {
        for clique in self.program.tree.iter() {
            for (operand, axes) in &clique.operands {
                let Operand::Factor(factor) = *operand else { continue };
                let (kept, factor) =
                    (&mut self.factors[factor.index()], self.network.factor(factor));
                let is_observed = |&v: &VariableId| self.evidence.observed(v).is_some();
                let is_restricted = factor.scope().iter().any(is_observed);
                if is_restricted || kept.is_restricted {
                    let variables = axes.iter().map(|axis| clique.variables[axis]);
                    let values = restricted(self.network, factor, variables, self.evidence);
                    let mut values: Vec<T> = values.map(T::from_f64).collect();
                    let scaled = T::rescale(&mut values, Helpers::unreported(self.forks));
                    let (scale, bounds) = scaled.ok_or(RunError::Impossible)?;
                    *kept =
                        Restricted { values, exponent: -i64::from(scale), bounds, is_restricted };
                }
            }
        }
        Ok(())
    }

    /// Computes the messages to parents, except messages that are one everywhere.
    ///
    /// # Errors
    /// If the evidence is impossible, numbers are out of range, or the propagation was cancelled.
    pub fn collect(&mut self) -> Result<(), RunError> {
        let Self { program, forks, .. } = *self;
        let send = |pass: &Self, number: usize| {
            let message = program.tree[number].messages.map(|(collect, _)| collect);
            pass.timed(message, |resources| pass.message_to_parent(number, resources))
        };
        let mut groups = program.collect_schedule.groups();
        groups.try_for_each(|group| {
            contract_group(self, group, forks, send, |pass, number, message| {
                pass.messages[number] = message;
            })
        })
    }

    /// The message of clique `number` to its parent.
    fn message_to_parent(
        &self,
        number: usize,
        resources: Resources<'_>,
    ) -> Result<Message<T>, RunError> {
        let Some(planned) = &self.program.collect[number] else {
            return Ok(Message::one());
        };
        let Outputs { mut tables, exponent, products } = self.contract(planned, resources)?;
        let mut table = tables.pop().unwrap_or_default();
        let error = products.sum(self.program.tree[number].entries()).error;
        let scaled = T::rescale(&mut table, resources.helpers);
        let (scale, mut bounds) = scaled.ok_or_else(|| no_message(error))?;
        bounds.error = error.map(|error| error + scale).max(bounds.error);
        let raised = bounds.raised_level()?;
        if let Some(level) = raised {
            bounds = T::raise(&mut table, level, bounds);
        }
        Ok(Message { table, bounds, raised, exponent: exponent - i64::from(scale) })
    }

    /// Computes the messages from parents and the posteriors.
    ///
    /// # Errors
    /// If the evidence is impossible, numbers are out of range, or the propagation was cancelled.
    pub fn distribute(&mut self) -> Result<(), RunError> {
        let Self { program, forks, .. } = *self;
        let send = |pass: &Self, number: usize| {
            // The contraction of a clique gives the messages to all its children. Its time is
            // attributed to the message into the clique.
            let message = program.tree[number].messages.map(|(_, distribute)| distribute);
            pass.timed(message, |resources| pass.send_from(number, resources))
        };
        let mut groups = program.distribute_schedule.groups();
        groups.try_for_each(|group| contract_group(self, group, forks, send, Self::keep))
    }

    /// What clique `number` sends to its children, and the posteriors that are read on the way.
    fn send_from(
        &self,
        number: usize,
        resources: Resources<'_>,
    ) -> Result<ToChildren<T>, RunError> {
        let clique = &self.program.tree[number];
        let mut sent = ToChildren {
            messages: Vec::new(),
            posteriors: Vec::new(),
            loss: Loss::default(),
            ln_p_evidence: None,
        };
        let Some(planned) = &self.program.distribute[number] else { return Ok(sent) };
        let Outputs { tables, exponent, products } = self.contract(planned, resources)?;
        if clique.parent.is_none() {
            let total = tables.last().and_then(|total| total.first()).copied();
            let total = total.filter(|total| *total != T::ZERO);
            let total = total.ok_or_else(|| no_message(products.error))?;
            sent.ln_p_evidence = Some(total.ln() + exponent as f64 * LN_2);
        }
        if products.error.is_some() {
            let total = tables.first().map_or(0.0, |belief| T::sum(belief).to_f64());
            sent.loss.add_error(products, clique.entries(), total);
        }
        let mut outputs = tables.into_iter();
        for &child in &clique.children {
            let belief = outputs.next().unwrap_or_default();
            self.send_to(child, belief, resources, &mut sent)?;
        }
        sent.posteriors.extend(clique.private().zip(outputs));
        Ok(sent)
    }

    /// Turns the belief over the separator above `child` into the message to the child, and reads
    /// posteriors from this belief. Adds all this to `sent`.
    fn send_to(
        &self,
        child: usize,
        mut belief: Vec<T>,
        resources: Resources<'_>,
        sent: &mut ToChildren<T>,
    ) -> Result<(), RunError> {
        // A message may have any scale, so the exponent is dropped.
        let helpers = resources.helpers;
        let (_, mut bounds) = T::rescale(&mut belief, helpers).ok_or(RunError::OutOfRange)?;
        if let Some(step) = &self.program.read[child] {
            let input: Input<'_, T> = (&belief, Bounds::ONE);
            let Outputs { tables, .. } = run_step(step, &[input], self.buffers, resources)?;
            sent.posteriors.extend(self.program.tree[child].read_from_separator().zip(tables));
        }
        let Message { table: up, raised, .. } = &self.messages[child];
        if !up.is_empty() {
            if let Some(level) = *raised {
                let message = up.iter().map(|entry| entry.to_f64());
                let belief = belief.iter().map(|entry| entry.to_f64());
                let (raised, total) = belief_in_raised(belief, message, level);
                sent.loss.add(raised, total);
            }
            divide(&mut belief, up, helpers);
            // A ratio may be beyond the largest number.
            (_, bounds) = T::rescale(&mut belief, helpers).ok_or(RunError::OutOfRange)?;
        }
        sent.messages.push(Message { table: belief, bounds, ..Message::one() });
        Ok(())
    }

    /// Keeps what clique `number` sent, and frees the message to it.
    fn keep(&mut self, number: usize, sent: ToChildren<T>) {
        let children = &self.program.tree[number].children;
        for (&child, message) in children.iter().zip(sent.messages) {
            let up = std::mem::replace(&mut self.messages[child], message);
            self.buffers.put(up.table);
        }
        for (variable, posterior) in sent.posteriors {
            self.posteriors[variable.index()] = posterior;
        }
        self.loss.add_loss(sent.loss);
        self.ln_p_evidence = sent.ln_p_evidence.unwrap_or(self.ln_p_evidence);
        self.buffers.put(std::mem::take(&mut self.messages[number].table));
    }

    /// Computes the contraction `planned`. In distribute, only the exponent of the root's outputs
    /// is meaningful.
    fn contract(
        &self,
        planned: &PlannedStep,
        resources: Resources<'_>,
    ) -> Result<Outputs<T>, RunError> {
        let mut exponent = 0;
        let mut likelihoods: Vec<(Vec<T>, Bounds)> = Vec::new();
        for (operand, _) in &planned.inputs {
            match operand {
                Operand::Factor(factor) => exponent += self.factors[factor.index()].exponent,
                Operand::Message(child) => exponent += self.messages[*child].exponent,
                Operand::Likelihood(variable) => {
                    let mut weights = self.likelihood(*variable);
                    let scaled = T::rescale(&mut weights, Helpers::none());
                    let (scale, bounds) = scaled.ok_or(RunError::Impossible)?;
                    exponent -= i64::from(scale);
                    likelihoods.push((weights, bounds));
                }
            }
        }
        let mut likelihoods = likelihoods.iter();
        let input = |&(operand, _): &(Operand, AxisSet)| -> Input<'_, T> {
            match operand {
                Operand::Factor(factor) => {
                    let factor = &self.factors[factor.index()];
                    (&factor.values, factor.bounds)
                }
                Operand::Message(number) => {
                    let message = &self.messages[number];
                    (&message.table, message.bounds)
                }
                Operand::Likelihood(_) => {
                    likelihoods.next().map_or((&[][..], Bounds::ONE), |(w, bounds)| (w, *bounds))
                }
            }
        };
        let inputs: Vec<Input<'_, T>> = planned.inputs.iter().map(input).collect();
        let outputs = run_step(&planned.step, &inputs, self.buffers, resources)?;
        Ok(Outputs { exponent: exponent + outputs.exponent, ..outputs })
    }

    /// The weights of the likelihood finding of `variable`.
    fn likelihood(&self, variable: VariableId) -> Vec<T> {
        match self.evidence.get(variable) {
            Some(Finding::Likelihood(weights)) => {
                weights.iter().map(|&weight| T::from_f64(weight)).collect()
            }
            _ => unreachable!("the clique lists the likelihoods of the evidence"),
        }
    }

    /// Writes the posterior of an unobserved `variable` into `states`, not normalised.
    pub fn write_posterior(&self, variable: VariableId, states: &mut [f64]) {
        match &*self.posteriors[variable.index()] {
            [] => states.fill(1.0),
            values => T::write_proportional(values, states),
        }
    }

    /// The number of messages that are not computed, and the number of entries of all cliques.
    pub fn savings(&self) -> Savings {
        let skipped = self.program.tree.iter().filter(|clique| clique.message_is_one).count();
        let entries = |clique: &LoweredClique| clique.entries() as u64;
        Savings {
            messages_skipped: skipped,
            entries_used: self.program.tree.iter().map(entries).sum(),
            ..Savings::default()
        }
    }

    /// Runs `work` and records its time as the time of `message`, or of the product at the root if
    /// `message` is `None`. What other threads do for it is recorded as helping.
    ///
    /// # Errors
    /// If `work` fails, or if the propagation was cancelled before `work` began.
    fn timed<R>(
        &self,
        message: Option<MessageId>,
        work: impl FnOnce(Resources<'_>) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        self.watch.check()?;
        let help = message.map_or(Activity::HelpRoot, Activity::Help);
        let helpers = Helpers::new(self.forks, Some((self.watch, help)));
        let resources = Resources { helpers, cancel: self.watch.cancel_token() };
        match message {
            Some(message) => self.watch.message(message, worker(), || work(resources)),
            None => self.watch.activity(Activity::Root, worker(), || work(resources)),
        }
    }
}
