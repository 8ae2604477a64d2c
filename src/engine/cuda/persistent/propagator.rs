//! A network loaded into engine `gpu`: evidence in, posteriors out.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Memory;
use super::words::{MAX_POWER, Word};
use super::{Executor, Program, Variant, interval, smallest_power, state_layout};
use crate::cancel::Cancelled;
use crate::engine::cuda::batch::BatchPropagator;
use crate::engine::cuda::semiring::Semiring;
use crate::engine::cuda::underflow::MassBound;
use crate::engine::{
    BatchAnswers, GpuPropagator, LoadOptions, Propagator, RunError, one_at_a_time,
};
use crate::network::{Evidence, Finding};
use crate::propagation::{CompiledNetwork, Form, Phase, Posteriors, Stage, Watch};

/// Number of reports that the host polls at the same time: the reports that are expected next.
/// Tuned on the paper's networks; it affects only speed.
const REPORT_WINDOW: usize = 8;

/// Minimum number of cases for the batched kernel to pay off. Tuned on the paper's networks; it
/// affects only speed.
pub(super) const MIN_BATCH: usize = 16;

/// After this many attempts to read a result, the host asks the driver whether the kernel is still
/// running. The call is slow, so it is made rarely. A larger number only delays the detection of a
/// failure.
const ATTEMPTS_PER_CHECK: u32 = 1 << 16;

/// A compiled network with its tables on the GPU.
pub(super) struct PersistentPropagator<E> {
    compiled: Arc<CompiledNetwork>,
    pub(super) program: Program,
    /// The exponent of the power of two to multiply P(e) by, to undo the scaling of potentials.
    exponent: i64,
    pub(super) executor: E,
    memory: Memory,
    options: LoadOptions,
    pub(super) bound: MassBound,
    /// The [`smallest_power`] of the network.
    smallest_power: f64,
    /// `None` before the first batch of at least [`MIN_BATCH`] cases, or if the batch propagator
    /// could not be created.
    batch: Option<BatchPropagator>,
    /// Whether creating the batch propagator was tried.
    has_tried_batch: bool,
}

impl<E: Executor> Propagator for PersistentPropagator<E> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        // If n is this sum, nonzero numbers can be as small as 2^-n. Words support numbers down to
        // 2^-`MAX_POWER`; smaller ones could be taken for large ones.
        if self.smallest_power + state_layout::smallest_power(evidence) >= MAX_POWER {
            return Err(RunError::OutOfRange);
        }
        let exponent = watch.stage(Stage::Initialise, || match evidence.is_empty() {
            true => 0,
            false => self.program.states.pack(evidence, self.executor.evidence()),
        });
        watch.check()?;
        let timestamped = watch.times_messages();
        let variant = if timestamped { Variant::Timestamped } else { Variant::Plain };
        let _lock = self.executor.lock();
        self.executor.start(&self.program, !evidence.is_empty(), variant)?;
        let launched = watch.elapsed();
        let posteriors = match self.read(evidence, self.exponent + exponent) {
            Ok(found) if !self.bound.allows(evidence, &found) => {
                self.compare_with_raised(evidence).map(|()| found)
            }
            // A P(e) of zero may be an underflow.
            Err(RunError::Impossible) => Err(RunError::OutOfRange),
            answer => answer,
        };
        watch.check()?;
        // Copying the timestamps is not part of the propagation.
        watch.note_end();
        if timestamped {
            self.trace(watch, launched)?;
        }
        posteriors
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        // The batched kernel only adds terms up.
        if cases.len() >= MIN_BATCH && self.program.semiring == Semiring::SumProduct {
            let LoadOptions { threads, memory, .. } = self.options;
            let bytes = memory.bytes().saturating_sub(self.peak_bytes());
            if !std::mem::replace(&mut self.has_tried_batch, true) {
                self.batch = BatchPropagator::load(&self.compiled, threads, bytes);
            }
            if let Some(batch) = &mut self.batch {
                return batch.run(cases, watch);
            }
        }
        one_at_a_time(cases, watch, |case, watch| self.run(case, watch))
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Tables)
    }

    fn peak_bytes(&self) -> u64 {
        let bytes = |batch: &BatchPropagator| batch.device_bytes() + batch.host_bytes();
        let batch = self.batch.as_ref().map_or(0, bytes);
        self.memory.peak + batch + self.compiled.structure_bytes(0)
    }

    fn threads(&self) -> usize {
        self.executor.blocks()
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        Some(self)
    }
}

impl<E: Executor> GpuPropagator for PersistentPropagator<E> {
    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        self.executor.empty_run(repeat)
    }

    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]> {
        let _lock = self.executor.lock();
        self.executor.kernel_times(repeat)
    }

    fn host_bytes(&self) -> u64 {
        let batch = self.batch.as_ref().map_or(0, BatchPropagator::host_bytes);
        self.memory.host + batch + self.compiled.structure_bytes(0)
    }

    fn device_bytes(&self) -> u64 {
        self.memory.device + self.batch.as_ref().map_or(0, BatchPropagator::device_bytes)
    }

    fn gpus_of_batch(&self) -> usize {
        self.batch.as_ref().map_or(0, BatchPropagator::gpus)
    }
}

impl<E: Executor> PersistentPropagator<E> {
    /// A propagator that runs `program` for `compiled` with `executor`. P(e) is multiplied by two
    /// to the power of `exponent`.
    pub(super) fn new(
        compiled: Arc<CompiledNetwork>,
        program: Program,
        exponent: i64,
        executor: E,
        memory: Memory,
        options: LoadOptions,
    ) -> Self {
        let bound = interval::mass_bound(compiled.network(), &program.operations);
        let smallest_power = smallest_power(compiled.network());
        Self {
            compiled,
            program,
            exponent,
            executor,
            memory,
            options,
            bound,
            smallest_power,
            batch: None,
            has_tried_batch: false,
        }
    }

    /// Compares the last run, which had this evidence, with a raised run; see [`interval`]. The
    /// caller must have held [`Executor::lock`] since before the last run was started.
    ///
    /// # Errors
    /// [`RunError::OutOfRange`] if underflow may have changed the results of the last run;
    /// [`RunError::Device`] if the driver reports an error.
    fn compare_with_raised(&mut self, evidence: &Evidence) -> Result<(), RunError> {
        if self.program.has_tiny_entries || self.bound.has_tiny_weight(evidence) {
            return Err(RunError::OutOfRange);
        }
        let [lower, upper] = self.executor.raise(&self.program, !evidence.is_empty())?;
        interval::check(&self.program.items, lower, upper)
    }

    /// Calls `poll` until it returns a value. Every [`ATTEMPTS_PER_CHECK`] attempts, asks the
    /// driver whether the kernel is still running, because a kernel that failed writes no results.
    #[inline]
    fn wait_for<T>(&self, mut poll: impl FnMut() -> Option<T>) -> Result<T, RunError> {
        for attempt in 1_u32.. {
            if let Some(found) = poll() {
                return Ok(found);
            }
            if attempt.is_multiple_of(ATTEMPTS_PER_CHECK) && !self.executor.is_running()? {
                break;
            }
            std::hint::spin_loop();
        }
        // The value may have arrived between the last attempt and the end of the kernel.
        let ended = || RunError::Device("the kernel ended without a result".to_owned());
        poll().ok_or_else(ended)
    }

    /// Waits for the results and converts them to posteriors. P(e) is multiplied by 2^`exponent`.
    ///
    /// Reads the reports as they arrive. The kernel writes them to host memory, where they can be
    /// read well before the driver reports the end of the launch.
    ///
    /// # Errors
    /// If the evidence is impossible, or if the driver or the kernel fails.
    pub(super) fn read(
        &mut self,
        evidence: &Evidence,
        exponent: i64,
    ) -> Result<Posteriors, RunError> {
        let (states, items) = (&self.program.states, &self.program.items);
        let results = self.executor.results();
        let mut values = vec![0.0; states.states()];
        let mut expected = self.executor.report_order().to_vec();
        while !expected.is_empty() {
            let has_arrived = |&report: &usize| {
                let last = items.reports[report].last as usize;
                results.get(last).is_some()
            };
            let window = || expected.iter().take(REPORT_WINDOW).position(has_arrived);
            let next = self.wait_for(window)?;
            let report = expected.remove(next);
            // Waits for every word, so that no word of this run can arrive during the next run.
            for &(variable, first) in &items.reports[report].variables {
                let (variable, first) = (variable as usize, first as usize);
                let values = &mut values[states.offsets[variable]..states.offsets[variable + 1]];
                self.wait_for(|| results.fill(first, values).then_some(()))?;
            }
        }
        for (variable, finding) in evidence.iter() {
            // The posterior of an observed variable is known exactly.
            if let Finding::Observed(state) = finding {
                let first = states.offsets[variable.index()];
                values[first..states.offsets[variable.index() + 1]].fill(0.0);
                values[first + state] = 1.0;
            }
        }
        let p_evidence = match items.is_possible {
            true => self.wait_for(|| results.p_evidence())?,
            false => Word::default(),
        };
        self.executor.finish_reading();
        self.program.states.posteriors(values, exponent, p_evidence)
    }

    /// Notes in `watch` when each message was computed.
    ///
    /// Times of the GPU's clock are converted to times of `watch`, as if the first work item began
    /// at `launched`. The read stage is taken to begin when the last work item ends.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub(super) fn trace(&mut self, watch: &Watch, launched: Duration) -> Result<(), RunError> {
        let end_of_run = watch.trace().elapsed;
        let timestamps = self.executor.timestamps(&self.program)?;
        let Some(began) = timestamps.iter().map(|times| times.began).min() else { return Ok(()) };
        let on_watch = |time: u64| {
            let since = Duration::from_nanos(time.saturating_sub(began));
            (launched + since).min(end_of_run)
        };
        let offsets = &self.program.items.offsets;
        // The start and the end of the collect stage and of the distribute stage.
        let mut bounds = [None::<(Duration, Duration)>; 2];
        let plan = self.compiled.plan();
        for (id, message) in plan.ids().zip(plan.messages()) {
            let (up, down) = self.program.operations.separator_messages[message.separator.index()];
            let operation = match message.phase {
                Phase::Collect => up,
                Phase::Distribute => down,
            };
            let timestamps = &timestamps[offsets[operation]..offsets[operation + 1]];
            let Some(first) = timestamps.iter().min_by_key(|times| times.ready) else {
                continue;
            };
            let end = timestamps.iter().map(|times| times.end).max().unwrap_or(0);
            let (start, end) = (on_watch(first.ready), on_watch(end));
            let wait = Duration::from_nanos(first.ready.saturating_sub(first.began));
            watch.note_message(id, first.block, wait, start, end);
            let bounds = &mut bounds[usize::from(message.phase == Phase::Distribute)];
            let (from, to) = bounds.unwrap_or((start, end));
            *bounds = Some((from.min(start), to.max(end)));
        }
        for (stage, bounds) in [Stage::Collect, Stage::Distribute].into_iter().zip(bounds) {
            let (start, end) = bounds.unwrap_or((launched, launched));
            watch.note_stage(stage, start, end);
        }
        let last = timestamps.iter().map(|times| times.end).max().map_or(end_of_run, on_watch);
        watch.note_stage(Stage::Read, last, end_of_run);
        Ok(())
    }
}
