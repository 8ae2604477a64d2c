//! Propagation without tables of cliques, for junction trees of any size.
//!
//! The table of a clique is a product of factors and messages that are usually far smaller. Here
//! the product is computed tile by tile where it is needed, as [`lowering`](crate::lowering)
//! describes, and never stored. Memory is needed only for factors, for a message per separator,
//! and, for the clique that is computed, for groups of small tables and for the beliefs over the
//! separators to its children.
//!
//! Messages and sums are in double precision. Each message is scaled by a power of two so that its
//! largest entry is near one. If numbers are out of range nevertheless, as
//! [`bounds`](crate::engine::bounds) finds out, every engine computes the case again here, with
//! [`Wide`](crate::engine::wide::Wide) numbers in place of f64. Offsets have the width of a
//! pointer, so the size of a clique is limited by time alone.
//!
//! Messages are computed one after another, and threads share each large one. The number of threads
//! changes no bit of the result.

mod buffers;
mod execute;
mod number;
mod tile;

use std::f64::consts::LN_2;
use std::sync::Arc;

use crate::allocate;
use crate::engine::bounds::{Bounds, Loss, belief_in_raised, no_message};
use crate::engine::cpu::pass::report::worker;
use crate::engine::factors::restricted;
use crate::engine::simd::Baseline;
use crate::engine::threads::Threads;
use crate::engine::{Propagator, RunError};
use crate::lowering::{
    AxisSet, LoweredClique, Operand, Optimisation, Optimisations, PlannedStep, Program,
};
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::potential::Precision;
use crate::propagation::{
    Activity, CompiledNetwork, Form, MessageId, Posteriors, Savings, Stage, Watch,
};
use buffers::Buffers;
use execute::{Input, Outputs, Resources, divide, run_step};
use number::Number;

/// A compiled network that is propagated without tables of cliques, in the number type `T`.
pub struct TableFree<T> {
    compiled: Arc<CompiledNetwork>,
    /// `None` if the calling thread does all the work.
    threads: Option<Threads>,
    /// The forecast memory in bytes.
    bytes: u64,
    /// The program of the [least evidence](CompiledNetwork::least_evidence), with this evidence.
    least: (Evidence, Program),
    /// The program of the last run with other evidence, and the evidence that it was made for.
    program: Option<(Evidence, Program)>,
    /// The factors in the index order of cliques, by factor.
    factors: Vec<Restricted<T>>,
    buffers: Buffers<T>,
    optimisations: Optimisations,
    /// Keeps vector instructions switched off if they are not among the optimisations.
    _baseline: Option<Baseline>,
}

/// A factor without the entries that contradict the observations.
struct Restricted<T> {
    /// The entries divided by two to the power of `exponent`. The last axis varies fastest.
    values: Vec<T>,
    exponent: i64,
    bounds: Bounds,
    /// Whether a variable of the factor was observed.
    is_restricted: bool,
}

impl<T: Number> TableFree<T> {
    /// A propagator for `compiled` that is forecast to need `bytes`. `program` is for the
    /// [least evidence](CompiledNetwork::least_evidence).
    pub fn new(
        compiled: Arc<CompiledNetwork>,
        program: Program,
        threads: usize,
        bytes: u64,
        optimisations: Optimisations,
    ) -> Self {
        let threads = (threads > 1).then(|| Threads::new(threads)).flatten();
        let keeps = optimisations.has(Optimisation::PooledMemory);
        let buffers = Buffers::new(bytes.saturating_sub(WORKSPACE_BYTES), keeps);
        let evidence = compiled.least_evidence();
        let least = (evidence, program);
        // Marked as restricted, so that the first run computes all factors.
        let unknown = |_| Restricted {
            values: Vec::new(),
            exponent: 0,
            bounds: Bounds::ONE,
            is_restricted: true,
        };
        let factors = compiled.network().factor_ids().map(unknown).collect();
        let program = None;
        let _baseline = Baseline::unless(optimisations.has(Optimisation::VectorInstructions));
        Self {
            compiled,
            threads,
            bytes,
            least,
            program,
            factors,
            buffers,
            optimisations,
            _baseline,
        }
    }

    /// See [`Propagator::run`].
    fn propagate(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        assert!(
            self.compiled.admits(evidence),
            "the evidence does not observe the variables without which the network was compiled"
        );
        let Self { compiled, threads, least, program, factors, buffers, optimisations, .. } = self;
        let mut clock = watch.worker_clock();
        let program = if Program::serves(&least.0, evidence) {
            &least.1
        } else {
            let found = match program.take() {
                Some((planned, found)) if Program::serves(&planned, evidence) => found,
                _ => Program::new(compiled, evidence, *optimisations),
            };
            &program.insert((evidence.clone(), found)).1
        };
        let network = compiled.network();
        if !optimisations.has(Optimisation::KeptFactors) {
            factors.iter_mut().for_each(|factor| factor.is_restricted = true);
        }
        let resources = Resources { forks: threads.is_some(), cancel: watch.cancel_token() };
        let mut pass = Pass::new(network, program, evidence, factors, buffers, resources, watch);
        let mut pass_over_tree = || -> Result<(), RunError> {
            watch.stage_with_clock(Stage::Initialise, &mut clock, |_| pass.restrict())?;
            watch.stage_with_clock(Stage::Collect, &mut clock, |_| pass.collect())?;
            watch.stage_with_clock(Stage::Distribute, &mut clock, |_| pass.distribute())
        };
        match threads {
            Some(threads) => {
                let asked = watch.worker_clock();
                threads.install(|| {
                    watch.note_activity(Activity::Start, worker(), asked);
                    pass_over_tree()
                })
            }
            None => pass_over_tree(),
        }?;
        pass.loss.check(Precision::F64)?;
        let is_certain = evidence.is_empty() && network.is_bayesian();
        let ln_p_evidence = if is_certain { 0.0 } else { pass.ln_p_evidence };
        watch.note_savings(pass.savings());
        Ok(watch.stage_with_clock(Stage::Read, &mut clock, |_| {
            Posteriors::new(network, ln_p_evidence, |variable, states| {
                match evidence.observed(variable) {
                    Some(state) => states[state] = 1.0,
                    None => pass.write_posterior(variable, states),
                }
            })
        }))
    }
}

impl<T: Number> Propagator for TableFree<T> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        allocate::or_error(|| self.propagate(evidence, watch))?
    }

    fn forget(&mut self) {
        self.program = None;
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

/// The program for the [least evidence](CompiledNetwork::least_evidence).
pub fn program(compiled: &CompiledNetwork, optimisations: Optimisations) -> Program {
    Program::new(compiled, &compiled.least_evidence(), optimisations)
}

/// The memory that a propagation by `program` with numbers of type `T` needs at most, in bytes.
pub fn bytes<T>(program: &Program) -> u64 {
    let bytes = (program.peak_entries() as u64).saturating_mul(size_of::<T>() as u64);
    bytes.saturating_add(WORKSPACE_BYTES)
}

/// Memory for tiles, plans and posteriors, in bytes. A generous round figure: it only matters for
/// networks that need little anyway.
const WORKSPACE_BYTES: u64 = 4 << 20;

/// One propagation.
struct Pass<'a, T> {
    network: &'a Network,
    program: &'a Program,
    evidence: &'a Evidence,
    factors: &'a mut [Restricted<T>],
    buffers: &'a mut Buffers<T>,
    resources: Resources<'a>,
    watch: &'a Watch,
    /// By clique: until its parent was reached on the way down, its message to the parent;
    /// afterwards the message from the parent. Empty if the message is one everywhere.
    messages: Vec<Vec<T>>,
    /// By clique: the bounds of its message.
    bounds: Vec<Bounds>,
    /// By clique: the level to which entries of its message to the parent were raised.
    raised: Vec<Option<i32>>,
    /// By clique: the exponent of the power of two that its message to the parent must be
    /// multiplied by.
    exponents: Vec<i64>,
    /// By variable: its posterior, not normalised.
    posteriors: Vec<Vec<T>>,
    ln_p_evidence: f64,
    /// The probability mass that may have been lost or added.
    loss: Loss,
}

impl<'a, T: Number> Pass<'a, T> {
    fn new(
        network: &'a Network,
        program: &'a Program,
        evidence: &'a Evidence,
        factors: &'a mut [Restricted<T>],
        buffers: &'a mut Buffers<T>,
        resources: Resources<'a>,
        watch: &'a Watch,
    ) -> Self {
        let cliques = program.tree.len();
        Self {
            network,
            program,
            evidence,
            factors,
            buffers,
            resources,
            watch,
            messages: vec![Vec::new(); cliques],
            bounds: vec![Bounds::ONE; cliques],
            raised: vec![None; cliques],
            exponents: vec![0; cliques],
            posteriors: vec![Vec::new(); network.variables().len()],
            ln_p_evidence: 0.0,
            loss: Loss::default(),
        }
    }

    /// Restricts the factors to the observed states. Factors that have no observed variable, and
    /// had none in the last run, are as they were.
    fn restrict(&mut self) -> Result<(), RunError> {
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
                    let mut values: Vec<T> = values.into_iter().map(T::from_f64).collect();
                    let scaled = T::rescale(&mut values, self.resources.forks);
                    let (scale, bounds) = scaled.ok_or(RunError::Impossible)?;
                    *kept =
                        Restricted { values, exponent: -i64::from(scale), bounds, is_restricted };
                }
            }
        }
        Ok(())
    }

    /// Computes the messages to parents that are not one everywhere.
    fn collect(&mut self) -> Result<(), RunError> {
        let program = self.program;
        for number in (1..program.tree.len()).rev() {
            let message = program.tree[number].messages.map(|(collect, _)| collect);
            self.watch.check()?;
            self.timed(message, |pass| {
                let Some(planned) = &program.collect[number] else { return Ok(()) };
                let Outputs { mut tables, exponent, products } = pass.contract(planned)?;
                let mut message = tables.pop().unwrap_or_default();
                let error = products.sum(program.tree[number].entries()).error;
                let scaled = T::rescale(&mut message, pass.resources.forks);
                let (scale, mut bounds) = scaled.ok_or_else(|| no_message(error))?;
                bounds.error = error.map(|error| error + scale).max(bounds.error);
                pass.raised[number] = bounds.raised_level();
                if let Some(level) = pass.raised[number] {
                    bounds = T::raise(&mut message, level, bounds);
                }
                pass.exponents[number] = exponent - i64::from(scale);
                (pass.messages[number], pass.bounds[number]) = (message, bounds);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Computes the messages from parents and the posteriors.
    fn distribute(&mut self) -> Result<(), RunError> {
        for number in 0..self.program.tree.len() {
            self.watch.check()?;
            // The contraction of a clique gives the messages to all its children. Its time is
            // attributed to the message into the clique.
            let message = self.program.tree[number].messages.map(|(_, distribute)| distribute);
            self.timed(message, |pass| pass.distribute_from(number))?;
        }
        Ok(())
    }

    /// Computes the messages from clique `number` to its children, and the posteriors that are read
    /// here.
    fn distribute_from(&mut self, number: usize) -> Result<(), RunError> {
        let program = self.program;
        let clique = &program.tree[number];
        if let Some(planned) = &program.distribute[number] {
            let Outputs { tables, exponent, products } = self.contract(planned)?;
            if clique.parent.is_none() {
                let total = tables.last().and_then(|total| total.first()).copied();
                let total = total.filter(|total| *total != T::ZERO);
                let total = total.ok_or_else(|| no_message(products.error))?;
                self.ln_p_evidence = total.ln() + exponent as f64 * LN_2;
            }
            if products.error.is_some() {
                let total = tables.first().map_or(0.0, |belief| T::sum(belief).to_f64());
                self.loss.add_error(products, clique.entries(), total);
            }
            let mut outputs = tables.into_iter();
            for &child in &clique.children {
                let mut belief = outputs.next().unwrap_or_default();
                // The factor common to all entries does not matter.
                let scaled = T::rescale(&mut belief, self.resources.forks);
                self.bounds[child] = scaled.ok_or(RunError::OutOfRange)?.1;
                self.receive(child, belief)?;
            }
            for variable in clique.private() {
                self.posteriors[variable.index()] = outputs.next().unwrap_or_default();
            }
        }
        self.buffers.put(std::mem::take(&mut self.messages[number]));
        Ok(())
    }

    /// Turns the belief over the separator above `child` into the message to the child, and reads
    /// posteriors from it.
    fn receive(&mut self, child: usize, mut belief: Vec<T>) -> Result<(), RunError> {
        if let Some(step) = &self.program.read[child] {
            let input: Input<'_, T> = (&belief, Bounds::ONE);
            let Outputs { tables, .. } = run_step(step, &[input], self.buffers, self.resources)?;
            let read = self.program.tree[child].read_from_separator();
            for (variable, table) in read.zip(tables) {
                self.posteriors[variable.index()] = table;
            }
        }
        let up = std::mem::take(&mut self.messages[child]);
        if !up.is_empty() {
            if let Some(level) = self.raised[child] {
                let message = up.iter().map(|entry| entry.to_f64());
                let belief = belief.iter().map(|entry| entry.to_f64());
                let (raised, total) = belief_in_raised(belief, message, level);
                self.loss.add(raised, total);
            }
            divide(&mut belief, &up, self.resources.forks);
            self.buffers.put(up);
            let scaled = T::rescale(&mut belief, self.resources.forks);
            // A ratio may be beyond the largest number.
            self.bounds[child] = scaled.ok_or(RunError::OutOfRange)?.1;
        }
        self.messages[child] = belief;
        Ok(())
    }

    /// Computes the contraction `planned`. In distribute, only the exponent of the root's outputs
    /// is meaningful.
    fn contract(&mut self, planned: &PlannedStep) -> Result<Outputs<T>, RunError> {
        let mut exponent = 0;
        let mut likelihoods: Vec<(Vec<T>, Bounds)> = Vec::new();
        for (operand, _) in &planned.inputs {
            match operand {
                Operand::Factor(factor) => exponent += self.factors[factor.index()].exponent,
                Operand::Message(child) => exponent += self.exponents[*child],
                Operand::Likelihood(variable) => {
                    let mut weights = self.likelihood(*variable);
                    let scaled = T::rescale(&mut weights, false);
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
                Operand::Message(number) => (&self.messages[number], self.bounds[number]),
                Operand::Likelihood(_) => {
                    likelihoods.next().map_or((&[][..], Bounds::ONE), |(w, bounds)| (w, *bounds))
                }
            }
        };
        let inputs: Vec<Input<'_, T>> = planned.inputs.iter().map(input).collect();
        let outputs = run_step(&planned.step, &inputs, self.buffers, self.resources)?;
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
    fn write_posterior(&self, variable: VariableId, states: &mut [f64]) {
        match &*self.posteriors[variable.index()] {
            [] => states.fill(1.0),
            values => T::write_proportional(values, states),
        }
    }

    /// The messages that are not computed, and the entries of the products of all cliques.
    fn savings(&self) -> Savings {
        let skipped = self.program.tree.iter().filter(|clique| clique.message_is_one).count();
        let entries = |clique: &LoweredClique| clique.entries() as u64;
        Savings {
            messages_skipped: skipped,
            entries_used: self.program.tree.iter().map(entries).sum(),
            ..Savings::default()
        }
    }

    /// Runs `work`, the computation of `message`, or of the root if there is none, and times it.
    fn timed(
        &mut self,
        message: Option<MessageId>,
        work: impl FnOnce(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        match message {
            Some(message) => self.watch.message(message, worker(), || work(self)),
            None => self.watch.activity(Activity::Root, worker(), || work(self)),
        }
    }
}
