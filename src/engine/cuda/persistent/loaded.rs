//! A network that is loaded: evidence in, posteriors out.

use std::sync::Arc;
use std::time::Duration;

use super::words::Word;
use super::{Executor, Flow};
use crate::cancel::Cancelled;
use crate::engine::cuda::batch::Lanes;
use crate::engine::{
    BatchAnswers, GpuPropagator, LoadOptions, Propagator, RunError, one_at_a_time, rerun_impossible,
};
use crate::graph::SeparatorId;
use crate::network::{Evidence, Finding};
use crate::propagation::{CompiledNetwork, Phase, Posteriors, Stage, Watch};

/// Reports that are looked at while the next one expected is not there.
const WINDOW: usize = 8;

/// Cases from which on it is worth to have them all at once.
pub(super) const MANY: usize = 16;

/// A compiled network with its tables on the GPU.
pub(super) struct Loaded<E> {
    pub(super) compiled: Arc<CompiledNetwork>,
    pub(super) flow: Flow,
    /// The power of two that was taken out of all potentials.
    pub(super) exponent: i64,
    pub(super) executor: E,
    pub(super) bytes: u64,
    pub(super) options: LoadOptions,
    /// Made when it is first asked for; `None` inside if it cannot be made.
    pub(super) lanes: Option<Option<Lanes>>,
}

impl<E: Executor> Propagator for Loaded<E> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        let exponent = watch.stage(Stage::Initialise, || match evidence.is_empty() {
            true => 0,
            false => self.flow.shape.pack(evidence, self.executor.evidence()),
        });
        watch.check()?;
        let stamped = watch.times_messages();
        let _alone = self.executor.alone();
        self.executor.start(&self.flow, !evidence.is_empty(), stamped)?;
        let launched = watch.elapsed();
        let posteriors = self.read(evidence, self.exponent + exponent);
        watch.check()?;
        // The stamps are fetched by whoever wants to see them, when all is done.
        watch.note_end();
        if stamped {
            self.trace(watch, launched)?;
        }
        posteriors
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        if cases.len() >= MANY {
            let LoadOptions { threads, memory, .. } = self.options;
            let bytes = memory.bytes().saturating_sub(self.bytes);
            let make = || Lanes::load(&self.compiled, threads, bytes);
            if let Some(lanes) = self.lanes.get_or_insert_with(make) {
                let answers = lanes.run(cases, watch)?;
                return rerun_impossible(answers, cases, watch, |case, watch| {
                    self.run(case, watch)
                });
            }
        }
        one_at_a_time(cases, watch, |case, watch| self.run(case, watch))
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes + self.lanes.as_ref().and_then(Option::as_ref).map_or(0, Lanes::bytes)
    }

    fn threads(&self) -> usize {
        self.executor.lists()
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        Some(self)
    }
}

impl<E: Executor> GpuPropagator for Loaded<E> {
    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        self.executor.empty_run(repeat)
    }

    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]> {
        let _alone = self.executor.alone();
        self.executor.kernel_times(repeat)
    }
}

impl<E: Executor> Loaded<E> {
    /// Waits for what `found` finds. The driver is asked now and then whether it can still come,
    /// because a kernel that failed brings nothing.
    #[inline]
    fn wait_for<T>(&self, mut found: impl FnMut() -> Option<T>) -> Result<T, RunError> {
        for round in 1_u32.. {
            if let Some(found) = found() {
                return Ok(found);
            }
            if round.is_multiple_of(1 << 16) && !self.executor.may_come()? {
                break;
            }
            std::hint::spin_loop();
        }
        // What came while the driver was asked is looked for once more.
        let ended = || RunError::Device("the kernel ended without a result".to_owned());
        found().ok_or_else(ended)
    }

    /// Waits for the results and makes an answer of them, of one report after another as they are
    /// expected: they come from the kernel itself, well before the driver would say that all is done.
    /// Of those that are expected next, one that is there already comes first.
    pub(super) fn read(
        &mut self,
        evidence: &Evidence,
        exponent: i64,
    ) -> Result<Posteriors, RunError> {
        let (shape, items) = (&self.flow.shape, &self.flow.items);
        let results = self.executor.results();
        let mut values = vec![0.0; shape.states()];
        let mut expected = self.executor.reports().to_vec();
        while !expected.is_empty() {
            let is_there = |&report: &usize| {
                let last = items.reports[report].last as usize;
                results.get(last).is_some()
            };
            let next = self.wait_for(|| expected.iter().take(WINDOW).position(is_there))?;
            let report = expected.remove(next);
            // All of it is waited for, so that the next run finds nothing that is older than this.
            for &(variable, first) in &items.reports[report].variables {
                let (variable, first) = (variable as usize, first as usize);
                let values = &mut values[shape.offsets[variable]..shape.offsets[variable + 1]];
                self.wait_for(|| results.fill(first, values).then_some(()))?;
            }
        }
        for (variable, finding) in evidence.iter() {
            // Of other states nothing may have been computed.
            if let Finding::Observed(state) = finding {
                let first = shape.offsets[variable.index()];
                values[first..shape.offsets[variable.index() + 1]].fill(0.0);
                values[first + state] = 1.0;
            }
        }
        let p_evidence = match items.is_possible {
            true => self.wait_for(|| results.p_evidence())?,
            false => Word::default(),
        };
        self.executor.have_been_read();
        self.flow.shape.finish(values, exponent, p_evidence)
    }

    /// Tells `watch` when each message was computed, on the GPU's clock set so that its first block
    /// began when the launch was made, and that the host was reading from the last item on.
    pub(super) fn trace(&mut self, watch: &Watch, launched: Duration) -> Result<(), RunError> {
        let over = watch.trace().elapsed;
        let stamps = self.executor.stamps(&self.flow)?;
        let Some(began) = stamps.iter().map(|stamp| stamp.began).min() else { return Ok(()) };
        let at = |time: u64| {
            let since = Duration::from_nanos(time.saturating_sub(began));
            (launched + since).min(over)
        };
        let first = &self.flow.items.first;
        let mut bounds = [None::<(Duration, Duration)>; 2];
        for (edge, &(up, down)) in self.flow.operations.of_separator.iter().enumerate() {
            for (phase, operation) in [(Phase::Collect, up), (Phase::Distribute, down)] {
                let stamps = &stamps[first[operation]..first[operation + 1]];
                let Some(begun) = stamps.iter().min_by_key(|stamp| stamp.ready) else { continue };
                let ended = stamps.iter().map(|stamp| stamp.end).max().unwrap_or(0);
                let (start, end) = (at(begun.ready), at(ended));
                let id = self.compiled.plan().message_over(SeparatorId::new(edge), phase);
                if let Some(id) = id {
                    let wait = Duration::from_nanos(begun.ready.saturating_sub(begun.began));
                    watch.note_message(id, begun.lane, wait, start, end);
                }
                let bounds = &mut bounds[usize::from(phase == Phase::Distribute)];
                let (from, to) = bounds.unwrap_or((start, end));
                *bounds = Some((from.min(start), to.max(end)));
            }
        }
        for (stage, bounds) in [Stage::Collect, Stage::Distribute].into_iter().zip(bounds) {
            let (start, end) = bounds.unwrap_or((launched, launched));
            watch.note_stage(stage, start, end);
        }
        let last = stamps.iter().map(|stamp| stamp.end).max().map_or(over, at);
        watch.note_stage(Stage::Read, last, over);
        Ok(())
    }
}
