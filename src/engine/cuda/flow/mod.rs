//! Engine `gpu`: a whole propagation in one launch, as fast as we can make it.
//!
//! [`operations`] writes a propagation as sums of products that depend on one another, [`items`]
//! cuts them into pieces of work, [`schedule`] gives each block a list of them, [`tables`] fills
//! the copies of the potentials; [`gpu`] launches the kernel, and [`twin`] does the same on the CPU.

mod gpu;
mod items;
mod operations;
mod schedule;
mod tables;
#[cfg(test)]
mod twin;

use std::f64::consts::LN_2;
use std::sync::Arc;
use std::time::Duration;

use self::gpu::Gpu;
use self::items::Items;
use self::operations::Operations;
use super::device::device;
use crate::engine::{Engine, LoadError, LoadOptions, PropagationFailure, Propagator};
use crate::graph::SeparatorId;
use crate::network::Evidence;
use crate::potential::{Precision, Real};
use crate::propagation::{CompiledNetwork, Forecast, Phase, Posteriors, Stage, Watch};

/// Lists of items there are at most, which is blocks of the launch.
const MAX_LISTS: usize = 1024;

/// See the module.
pub struct GpuFlow;

impl Engine for GpuFlow {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn summary(&self) -> &'static str {
        "a whole propagation in one launch on an NVIDIA GPU, its blocks handing messages on"
    }

    fn availability(&self) -> Result<(), String> {
        device().map(|_| ())
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F32]
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let bytes = Flow::new(compiled).map_or(u64::MAX, |flow| flow.bytes());
        Forecast::new(self.name(), precision, compiled, bytes)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let engine = self.name();
        let device = device().map_err(|reason| LoadError::Unavailable { engine, reason })?;
        crate::engine::check_precision(self, options.precision)?;
        let flow = Flow::new(compiled);
        let bytes = flow.as_ref().map_or(u64::MAX, Flow::bytes);
        Forecast::new(engine, options.precision, compiled, bytes).check(options.memory)?;
        let flow = flow.expect("what cannot be laid out needs more than any limit");
        let (tables, exponent) = tables::fill(compiled, &flow.items);
        let gpu = Gpu::load(device, &flow, &tables)
            .map_err(|error| device.refusal(engine, bytes, &error))?;
        Ok(Box::new(Loaded {
            compiled: Arc::clone(compiled),
            flow,
            exponent,
            executor: gpu,
            bytes,
        }))
    }
}

/// Everything about the propagations of one network but the numbers.
struct Flow {
    operations: Operations,
    items: Items,
    variables: usize,
}

impl Flow {
    /// `None` if the network is too large for any GPU.
    fn new(compiled: &CompiledNetwork) -> Option<Self> {
        let cliques = compiled.tree().cliques();
        if cliques.iter().any(|clique| clique.entries > u64::from(u32::MAX) / 8) {
            return None;
        }
        let operations = Operations::new(compiled);
        let items = Items::new(compiled, &operations)?;
        Some(Self { operations, items, variables: compiled.network().variables().len() })
    }

    /// Words of packed evidence: which variables have a finding, and a weight for each state.
    fn evidence_words(&self) -> usize {
        self.variables + self.items.states
    }

    /// Words of what a run brings back: the posteriors, P(e) and its power of two.
    fn result_words(&self) -> usize {
        self.items.states + 2
    }

    /// Bytes of all buffers on the GPU. Buffers of nothing hold one.
    fn bytes(&self) -> u64 {
        let items = &self.items;
        let words = [
            items.records.len(),
            MAX_LISTS + 1,
            items.table_entries.max(1),
            items.offsets.max(1),
            self.evidence_words().max(1),
            items.messages.max(1),
            items.partials.max(1),
            self.operations.all.len(),
            self.result_words(),
            // A slot and three times of 8 bytes an item.
            8 * items.len(),
        ];
        words.into_iter().map(|count| 4 * count as u64).sum()
    }

    /// The evidence as the words that the kernel reads, and the exponent that it takes out.
    fn pack(&self, compiled: &CompiledNetwork, evidence: &Evidence, words: &mut [u32]) -> i64 {
        words.fill(0);
        let (active, mut weights) = words.split_at_mut(self.variables);
        let mut exponent = 0;
        for (variable, active) in compiled.network().ids().zip(active) {
            let states = compiled.network()[variable].cardinality();
            let (own, rest) = std::mem::take(&mut weights).split_at_mut(states);
            weights = rest;
            let Some(finding) = evidence.get(variable) else { continue };
            *active = 1;
            let largest = (0..states).map(|state| finding.weight(state)).fold(0.0, f64::max);
            let scale = largest.scale_exponent().unwrap_or(0);
            exponent -= i64::from(scale);
            for (state, weight) in own.iter_mut().enumerate() {
                *weight = (finding.weight(state).scale(scale) as f32).to_bits();
            }
        }
        exponent
    }
}

/// When an item was taken up, when it had what it waited for, and when it ended: nanoseconds of the GPU's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    began: u64,
    ready: u64,
    end: u64,
    /// The block.
    lane: u32,
}

/// What runs the items: the GPU, or its twin.
trait Executor: Send {
    /// Where evidence is to be packed for the next run.
    fn evidence(&mut self) -> &mut [u32];

    /// Runs all items, and waits.
    fn run(
        &mut self,
        flow: &Flow,
        has_evidence: bool,
        stamped: bool,
    ) -> Result<(), PropagationFailure>;

    /// The posteriors of all variables, not normalised, P(e) and its power of two, by the last run.
    fn result(&self) -> &[f32];

    /// The times of all items of the last run, which was stamped.
    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, PropagationFailure>;

    /// Blocks that run.
    fn lists(&self) -> usize;

    /// The time of a run with an empty kernel, the median of `repeat`.
    fn empty_run(&mut self, flow: &Flow, repeat: u32) -> Option<Duration>;
}

/// A compiled network with its tables on the GPU.
struct Loaded<E> {
    compiled: Arc<CompiledNetwork>,
    flow: Flow,
    /// The power of two that was taken out of all potentials.
    exponent: i64,
    executor: E,
    bytes: u64,
}

impl<E: Executor> Propagator for Loaded<E> {
    fn run(
        &mut self,
        evidence: &Evidence,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
        watch.check()?;
        let exponent = watch.stage(Stage::Initialise, || match evidence.is_empty() {
            true => 0,
            false => self.flow.pack(&self.compiled, evidence, self.executor.evidence()),
        });
        watch.check()?;
        let stamped = watch.times_messages();
        self.executor.run(&self.flow, !evidence.is_empty(), stamped)?;
        if stamped {
            let now = watch.elapsed();
            self.trace(watch, now)?;
        }
        watch.check()?;
        watch.stage(Stage::Read, || self.posteriors(exponent))
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn threads(&self) -> usize {
        self.executor.lists()
    }

    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        self.executor.empty_run(&self.flow, repeat)
    }
}

impl<E: Executor> Loaded<E> {
    fn posteriors(&self, of_evidence: i64) -> Result<Posteriors, PropagationFailure> {
        let out = self.executor.result();
        let states = self.flow.items.states;
        let (total, of_messages) = (f64::from(out[states]), out[states + 1] as i64);
        if total.is_nan() || total <= 0.0 {
            return Err(PropagationFailure::Impossible);
        }
        let of_ones = i64::from(tables::PEAK) * self.flow.operations.without_table as i64;
        let exponent = self.exponent + of_evidence + of_messages - of_ones;
        let power = -total.scale_exponent().unwrap_or(0);
        let ln = total.scale(-power).ln() + (exponent + i64::from(power)) as f64 * LN_2;
        let mut first = 0;
        Ok(Posteriors::new(self.compiled.network(), ln, |_, states| {
            for (state, value) in states.iter_mut().zip(&out[first..]) {
                *state = f64::from(*value);
            }
            first += states.len();
        }))
    }

    /// Tells `watch` when each message was computed, on the GPU's clock set so that its last item
    /// ended `now`.
    fn trace(&mut self, watch: &Watch, now: Duration) -> Result<(), PropagationFailure> {
        let stamps = self.executor.stamps(&self.flow)?;
        let Some(last) = stamps.iter().map(|stamp| stamp.end).max() else { return Ok(()) };
        let at = |time: u64| now.saturating_sub(Duration::from_nanos(last.saturating_sub(time)));
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
            let (start, end) = bounds.unwrap_or((now, now));
            watch.note_stage(stage, start, end);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::schedule::Schedule;
    use super::twin::Twin;
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cuda::device::tests::on_the_gpu;
    use crate::engine::cuda::fixtures::{assert_near, networks};
    use crate::engine::{PaperOptions, by_name};
    use crate::propagation::MemoryLimit;

    fn twin(compiled: &Arc<CompiledNetwork>, lists: usize) -> Loaded<Twin> {
        let flow = Flow::new(compiled).unwrap();
        let (tables, exponent) = tables::fill(compiled, &flow.items);
        let executor = Twin::new(&flow, tables, lists);
        Loaded { compiled: Arc::clone(compiled), flow, exponent, executor, bytes: 0 }
    }

    fn load_options(precision: Precision) -> LoadOptions {
        LoadOptions {
            precision,
            threads: 1,
            memory: MemoryLimit::of_bytes(4 << 30),
            paper: PaperOptions::default(),
        }
    }

    #[test]
    fn the_twin_agrees_with_the_sequential_engine() {
        let sequential = by_name("sequential").unwrap();
        for (compiled, cases) in networks() {
            let mut expected = sequential.load(&compiled, &load_options(Precision::F64)).unwrap();
            for lists in [1, 7, 528] {
                let mut twin = twin(&compiled, lists);
                for evidence in &cases {
                    let watch = Watch::timed(compiled.plan(), CancelToken::new());
                    let found = twin.run(evidence, &watch);
                    assert_near(&found, &expected.run(evidence, &watch.aside()));
                }
            }
        }
    }

    #[test]
    fn every_item_is_in_one_list_and_after_what_it_waits_for() {
        for (compiled, _) in networks() {
            let flow = Flow::new(&compiled).unwrap();
            for lists in [1, 3, 264] {
                let schedule = Schedule::new(&flow.operations, &flow.items, lists);
                assert_eq!(schedule.starts.len(), lists + 1);
                let mut all = schedule.items.clone();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..flow.items.len()));
                let mut place = vec![0; flow.items.len()];
                for (at, &item) in schedule.in_time.iter().enumerate() {
                    place[item] = at;
                }
                for list in schedule.starts.windows(2) {
                    let list = &schedule.items[list[0] as usize..list[1] as usize];
                    assert!(list.is_sorted_by_key(|&item| place[item]));
                }
                let of = |operation: usize| {
                    let first = &flow.items.first;
                    (first[operation]..first[operation + 1]).map(|item| place[item])
                };
                for (consumer, operation) in flow.operations.all.iter().enumerate() {
                    for (producer, _) in &operation.factors {
                        assert!(of(*producer).max() < of(consumer).min());
                    }
                }
            }
        }
    }

    #[test]
    fn the_gpu_does_what_the_twin_does() {
        if !on_the_gpu("the_gpu_does_what_the_twin_does") {
            return;
        }
        for (compiled, cases) in networks() {
            let mut twin = twin(&compiled, 16);
            let mut gpu = GpuFlow.load(&compiled, &load_options(Precision::F32)).unwrap();
            for evidence in &cases {
                let watch = Watch::timed(compiled.plan(), CancelToken::new());
                let traced = gpu.run(evidence, &watch);
                let plain = gpu.run(evidence, &watch.aside());
                assert_eq!(traced, plain, "tracing changes nothing");
                assert_near(&plain, &twin.run(evidence, &watch.aside()));
            }
            assert!(gpu.launch_overhead(3).unwrap() > Duration::ZERO);
        }
    }
}
