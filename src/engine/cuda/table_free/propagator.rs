//! A network loaded into engine `gpu` without tables: from evidence to posteriors.

use std::f64::consts::LN_2;
use std::sync::Arc;
use std::time::Duration;

use super::plan::{OperandTable, TableReadings};
use super::scale::{MAX_ERROR, Range, Scale, scales};
use super::{Executor, Prepared, TOO_MANY_TABLES};
use crate::engine::cuda::semiring::Semiring;
use crate::engine::factors::restricted;
use crate::engine::{GpuPropagator, Propagator, RunError};
use crate::lowering::{Operand, Program};
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::propagation::{CompiledNetwork, Form, Phase, Posteriors, Savings, Stage, Watch};
use crate::statistics::median_duration;

/// Maximum number of products that are enqueued before the host waits for the GPU, counted as
/// [`CliqueLaunches::work`](super::plan::CliqueLaunches::work); a single clique may have more. They
/// take some 20 ms on an H200. A cancelled propagation ends only after the work that is already
/// enqueued. With a smaller number, the GPU would idle more often.
const MAX_ENQUEUED: u64 = 1 << 33;

/// A compiled network on the GPU, without tables of cliques.
pub(super) struct TableFreePropagator<E> {
    compiled: Arc<CompiledNetwork>,
    executor: E,
    /// The forecast memory of the largest plan so far.
    bytes: u64,
    /// The memory of the GPU for the largest plan so far.
    device_bytes: u64,
    /// The evidence for which `prepared` was planned; see [`Program::serves`]. `None` if the
    /// executor may not have this plan.
    planned: Option<Evidence>,
    pub(super) prepared: Prepared,
    /// The evidence whose operands are on the GPU, and their scales.
    entered: Option<(Evidence, Vec<Scale>)>,
}

impl<E: Executor> TableFreePropagator<E> {
    /// A propagator for `compiled`. `prepared` is for the
    /// [least evidence](CompiledNetwork::least_evidence), and `executor` has its plan.
    pub(super) fn new(
        compiled: Arc<CompiledNetwork>,
        prepared: Prepared,
        executor: E,
        bytes: u64,
    ) -> Self {
        let planned = Some(compiled.least_evidence());
        let device_bytes = prepared.plan.bytes();
        Self { compiled, executor, bytes, device_bytes, planned, prepared, entered: None }
    }

    /// Makes a plan for `evidence`, unless the present plan serves it.
    fn plan(&mut self, evidence: &Evidence) -> Result<(), RunError> {
        if self.planned.as_ref().is_some_and(|planned| Program::serves(planned, evidence)) {
            return Ok(());
        }
        let prepared = Prepared::for_evidence(&self.compiled, self.prepared.semiring, evidence);
        let too_many = || RunError::Device(TOO_MANY_TABLES.to_owned());
        let prepared = prepared.ok_or_else(too_many)?;
        (self.entered, self.planned) = (None, None);
        self.executor.set_plan(&prepared.plan)?;
        self.prepared = prepared;
        self.bytes = self.bytes.max(self.prepared.forecast(&self.compiled).bytes);
        self.device_bytes = self.device_bytes.max(self.prepared.plan.bytes());
        self.planned = Some(evidence.clone());
        Ok(())
    }

    /// Restricts the factors to the evidence, and copies them and the likelihoods to the GPU.
    fn enter(&mut self, evidence: &Evidence) -> Result<(), RunError> {
        if self.entered.as_ref().is_some_and(|(entered, _)| entered == evidence) {
            return Ok(());
        }
        let network = self.compiled.network();
        let plan = &self.prepared.plan;
        let mut numbers: Vec<f32> = Vec::with_capacity(plan.operand_entries as usize);
        let mut scales = Vec::with_capacity(plan.operands.len());
        for operand in &plan.operands {
            let values = operand_values(network, operand, evidence);
            let range = Range::of(&values);
            let exponent = range.largest.ok_or(RunError::Impossible)?;
            numbers.extend(values.iter().map(|value| scaled(*value, -exponent) as f32));
            scales.push(Scale::default().rounded(i64::from(exponent), range));
        }
        self.executor.set_operands(&numbers)?;
        self.entered = Some((evidence.clone(), scales));
        Ok(())
    }

    /// Enqueues all launches. With `marks`, also enqueues a time mark before the first launch and
    /// after the launches of each clique.
    fn launch(&mut self, watch: &Watch, marks: bool) -> Result<(), RunError> {
        self.executor.start()?;
        if marks {
            self.executor.mark()?;
        }
        let plan = &self.prepared.plan;
        let mut enqueued = 0_u64;
        for clique in &plan.cliques {
            enqueued = enqueued.saturating_add(clique.work);
            if enqueued > MAX_ENQUEUED {
                self.executor.wait()?;
                enqueued = clique.work;
            }
            watch.check()?;
            for launch in &plan.launches[clique.launches.clone()] {
                self.executor.launch(launch)?;
            }
            if marks {
                self.executor.mark()?;
            }
        }
        Ok(())
    }

    /// Waits for the results and converts them to posteriors.
    fn read(&mut self, evidence: &Evidence) -> Result<Posteriors, RunError> {
        let (ranges, sums) = self.executor.results()?;
        let Prepared { plan, semiring, .. } = &self.prepared;
        let network = self.compiled.network();
        let operands = self.entered.as_ref().map_or(&[][..], |(_, operands)| &**operands);
        let scales = scales(plan, operands, &ranges);
        let mut read = plan.posteriors.iter().map(|(_, read)| read).chain([&plan.total]);
        if read.any(|read| scales[read.table as usize].error > MAX_ERROR) {
            return Err(RunError::OutOfRange);
        }
        let TableReadings { readings, table } = &plan.total;
        let total = semiring.total(sums[readings.clone()].iter().copied());
        if total <= 0.0 {
            return Err(RunError::Impossible);
        }
        let is_certain =
            *semiring == Semiring::SumProduct && evidence.is_empty() && network.is_bayesian();
        let ln_total = total.ln() + scales[*table as usize].exponent as f64 * LN_2;
        let ln_p_evidence = if is_certain { 0.0 } else { ln_total };
        let mut read = vec![None; network.variables().len()];
        for (variable, of_table) in &plan.posteriors {
            read[variable.index()] = Some(of_table.readings.clone());
        }
        Ok(Posteriors::new(network, ln_p_evidence, |variable: VariableId, states| {
            if let Some(state) = evidence.observed(variable) {
                states[state] = 1.0;
            } else if let Some(readings) = &read[variable.index()] {
                let sums = &sums[readings.clone()];
                let parts = sums.chunks_exact(sums.len() / states.len());
                for (state, parts) in states.iter_mut().zip(parts) {
                    *state = semiring.total(parts.iter().copied());
                }
            } else {
                states.fill(1.0);
            }
        }))
    }

    /// Notes in `watch` when the GPU computed each message and ran each stage. The first launch is
    /// taken to begin at `launched`. As in engine `cpu`, the time of a clique in distribute counts
    /// as the time of the message to this clique.
    fn trace(&mut self, watch: &Watch, launched: Duration) -> Result<(), RunError> {
        let marks = self.executor.take_marks()?;
        let mut bounds = [None::<(Duration, Duration)>; 2];
        for (clique, times) in self.prepared.plan.cliques.iter().zip(marks.windows(2)) {
            let (start, end) = (launched + times[0], launched + times[1]);
            if let Some(message) = clique.message {
                watch.note_message(message, 0, Duration::ZERO, start, end);
            }
            let bounds = &mut bounds[usize::from(clique.phase == Phase::Distribute)];
            *bounds = Some((bounds.map_or(start, |(first, _)| first), end));
        }
        for (stage, bounds) in [Stage::Collect, Stage::Distribute].into_iter().zip(bounds) {
            let (start, end) = bounds.unwrap_or((launched, launched));
            watch.note_stage(stage, start, end);
        }
        let end = watch.trace().elapsed;
        let last = marks.last().map_or(end, |mark| (launched + *mark).min(end));
        watch.note_stage(Stage::Read, last, end);
        Ok(())
    }
}

impl<E: Executor> Propagator for TableFreePropagator<E> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        assert!(
            self.compiled.admits(evidence),
            "the evidence does not observe the variables without which the network was compiled"
        );
        watch.stage(Stage::Initialise, || {
            self.plan(evidence)?;
            self.enter(evidence)
        })?;
        let marks = watch.times_messages();
        let launched = watch.elapsed();
        let launches = self.launch(watch, marks);
        if launches.is_err() {
            // What was enqueued must end before the next propagation.
            self.executor.wait()?;
            self.executor.take_marks()?;
        }
        launches?;
        let posteriors = self.read(evidence);
        if posteriors.is_err() {
            self.executor.take_marks()?;
        }
        let posteriors = posteriors?;
        // Reading the marks is not part of the propagation.
        watch.note_end();
        if marks {
            self.trace(watch, launched)?;
        }
        let tree = &self.prepared.program.tree;
        let skipped = tree.iter().filter(|clique| clique.message_is_one).count();
        watch.note_savings(Savings { messages_skipped: skipped, ..Savings::default() });
        Ok(posteriors)
    }

    fn forget(&mut self) {
        self.entered = None;
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn form(&self) -> Option<Form> {
        Some(Form::TableFree)
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        Some(self)
    }
}

impl<E: Executor> GpuPropagator for TableFreePropagator<E> {
    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        let plan = &self.prepared.plan;
        // The first run warms up.
        self.executor.empty_run(plan)?;
        let times = (0..repeat.max(1)).map(|_| self.executor.empty_run(plan));
        median_duration(times.collect::<Option<Vec<_>>>()?)
    }

    fn host_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.device_bytes)
    }

    fn device_bytes(&self) -> u64 {
        self.device_bytes
    }
}

/// The entries of an operand for the evidence, in the index order of its table.
fn operand_values(network: &Network, operand: &OperandTable, evidence: &Evidence) -> Vec<f64> {
    match operand.operand {
        Operand::Factor(factor) => {
            let variables = operand.variables.iter().copied();
            restricted(network, network.factor(factor), variables, evidence).collect()
        }
        Operand::Likelihood(variable) => match evidence.get(variable) {
            Some(Finding::Likelihood(weights)) => weights.to_vec(),
            _ => unreachable!("the plan lists the likelihoods of the evidence"),
        },
        Operand::Message(_) => unreachable!("a message is not an operand"),
    }
}

/// `value` times 2^`exponent`, where the result is at most two.
fn scaled(value: f64, exponent: i32) -> f64 {
    // In two steps, because the power may be out of range.
    value * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2)
}
