//! Engine `gpu`: a whole propagation in one launch, as fast as we can make it.
//!
//! [`operations`] writes a propagation as sums of products that depend on one another, [`items`]
//! cuts them into pieces of work, [`schedule`] gives each block a list of them, [`tables`] fills
//! the copies of the potentials, [`words`] is what messages and results are made of; [`gpu`]
//! launches the kernel, and [`twin`] does the same on the CPU. [`support`] finds what is zero whatever
//! the evidence. Many cases in one call are propagated by [`lanes`](super::lanes).

mod gpu;
mod items;
mod operations;
mod schedule;
mod support;
mod tables;
#[cfg(test)]
mod twin;
mod words;

use std::f64::consts::LN_2;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use self::gpu::Gpu;
use self::items::{Grain, Items};
use self::operations::Operations;
use self::words::{Results, Word, distribution};
use super::device::device;
use super::lanes::Lanes;
use crate::cancel::Cancelled;
use crate::engine::{
    BatchAnswers, Engine, LoadError, LoadOptions, PropagationFailure, Propagator, one_at_a_time,
};
use crate::graph::SeparatorId;
use crate::network::{Evidence, Finding, Variable};
use crate::potential::{Precision, Real};
use crate::propagation::{CompiledNetwork, Forecast, Phase, Posteriors, Stage, Watch};

/// Lists of items there are at most, which is blocks of the launch.
const MAX_LISTS: usize = 4096;

/// Items of a propagation that many blocks share.
const GRAIN: Grain = Grain { shares: 1056, entries: (1024, 2048) };

/// Posteriors that are looked at while the next one expected is not there.
const WINDOW: usize = 64;

/// Cases from which on it is worth to have them all at once.
const MANY: usize = 16;

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
        Forecast::new(self.name(), precision, compiled, bytes(compiled))
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let engine = self.name();
        let device = device().map_err(|reason| LoadError::Unavailable { engine, reason })?;
        crate::engine::check_precision(self, options.precision)?;
        if let Some(variable) = too_long(compiled) {
            let (name, states) = (variable.name(), variable.cardinality());
            let most = items::STAGE;
            let reason = format!("variable {name} has {states} states, and it takes up to {most}");
            return Err(LoadError::Unavailable { engine, reason });
        }
        let bytes = bytes(compiled);
        Forecast::new(engine, options.precision, compiled, bytes).check(options.memory)?;
        let Some((mut flow, exponent)) = Flow::new(compiled, GRAIN) else {
            let (needed, free) = (u64::MAX, device.free_bytes().unwrap_or(0));
            let reason = "there are more messages than it can number".to_owned();
            return Err(LoadError::Device { engine, needed, free, reason });
        };
        let gpu =
            Gpu::load(device, &flow).map_err(|error| device.refusal(engine, bytes, &error))?;
        // They are on the GPU now.
        flow.items.records = Vec::new();
        Ok(Box::new(Loaded {
            compiled: Arc::clone(compiled),
            flow,
            exponent,
            executor: gpu,
            bytes,
            options: *options,
            lanes: None,
        }))
    }
}

/// What evidence and results of a network look like.
struct Shape {
    variables: usize,
    /// What the network took out of its factors.
    ln_scale: f64,
    /// First state of each variable, and the end of the last.
    offsets: Arc<[usize]>,
}

impl Shape {
    fn new(compiled: &CompiledNetwork) -> Self {
        Self {
            variables: compiled.network().variables().len(),
            ln_scale: compiled.network().ln_scale(),
            offsets: items::first_states(compiled).into(),
        }
    }

    /// States of all variables.
    fn states(&self) -> usize {
        self.offsets[self.variables]
    }

    /// Words of what a run brings back: the posteriors and P(e).
    fn result_words(&self) -> usize {
        self.states() + 1
    }

    /// Words of bits of which there is one for each state.
    fn bit_words(&self) -> usize {
        self.states().div_ceil(32)
    }

    /// Words of packed evidence: a bit for each state that it leaves possible, and a weight for each.
    fn evidence_words(&self) -> usize {
        self.bit_words() + self.states()
    }

    /// The evidence as the words that the kernel reads, and the exponent that it takes out.
    fn pack(&self, evidence: &Evidence, words: &mut [u32]) -> i64 {
        let (bits, weights) = words.split_at_mut(self.bit_words());
        bits.fill(u32::MAX);
        weights[..self.states()].fill(1.0_f32.to_bits());
        let mut exponent = 0;
        for (variable, finding) in evidence.iter() {
            let states = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
            let first = states.start;
            if let Finding::Observed(state) = finding {
                exponent += 1;
                for at in states {
                    weights[at] = if at == first + state { 0.5_f32.to_bits() } else { 0 };
                    if at != first + state {
                        bits[at / 32] &= !(1 << (at % 32));
                    }
                }
                continue;
            }
            let all = states.clone().map(|state| finding.weight(state - first));
            let largest = all.clone().fold(0.0, f64::max);
            // Below one, so that products of many do not grow.
            let scale = largest.scale_exponent().unwrap_or(0) - 1;
            exponent -= i64::from(scale);
            for (state, weight) in states.zip(all) {
                let weight = weight.scale(scale) as f32;
                weights[state] = weight.to_bits();
                if weight == 0.0 {
                    bits[state / 32] &= !(1 << (state % 32));
                }
            }
        }
        exponent
    }

    fn finish(
        &self,
        values: Vec<f64>,
        exponent: i64,
        p_evidence: Word,
    ) -> Result<Posteriors, PropagationFailure> {
        let (mantissa, power) = p_evidence.parts().ok_or(PropagationFailure::Impossible)?;
        let ln = mantissa.ln() + (exponent + i64::from(power)) as f64 * LN_2 + self.ln_scale;
        Ok(Posteriors::of_values(Arc::clone(&self.offsets), values, ln))
    }
}

/// Everything about the propagations of one network.
struct Flow {
    shape: Shape,
    operations: Operations,
    items: Items,
}

/// A variable with more states than an item can hold.
fn too_long(compiled: &CompiledNetwork) -> Option<&Variable> {
    compiled.network().variables().iter().find(|variable| variable.cardinality() > items::STAGE)
}

/// The operations of a network; `None` if it is too large for any GPU.
fn operations(compiled: &CompiledNetwork) -> Option<Operations> {
    let cliques = compiled.tree().cliques();
    let is_large = |clique: &crate::graph::Clique| clique.entries > u64::from(u32::MAX) / 8;
    if cliques.iter().any(is_large) || too_long(compiled).is_some() {
        return None;
    }
    let is_short = |run: usize, parts: &[usize]| items::is_short(run, parts.iter().copied());
    Some(Operations::new(compiled, &is_short))
}

impl Flow {
    /// With the power of two that was taken out of all potentials. `None` if the network is too large
    /// for any GPU.
    fn new(compiled: &CompiledNetwork, grain: Grain) -> Option<(Self, i64)> {
        let operations = operations(compiled)?;
        let (copies, starts) = items::copies(compiled, &operations);
        let (tables, exponent) = tables::fill(compiled, &copies);
        let items = Items::new(compiled, &operations, grain, &starts, &tables)?;
        Some((Self { shape: Shape::new(compiled), operations, items }, exponent))
    }
}

/// Bytes that a network needs at most: those of all buffers on the GPU, and what they are made of.
fn bytes(compiled: &CompiledNetwork) -> u64 {
    let Some(operations) = operations(compiled) else { return u64::MAX };
    let shape = Shape::new(compiled);
    let (mut words, mut messages, mut items) = (0_u64, 0_u64, 0_u64);
    for operation in &operations.all {
        let needs = items::needs(operation, compiled.network(), GRAIN);
        words += needs.words;
        items += needs.items;
        messages += operation.rows.entries() as u64 + 4;
    }
    let copies: u64 =
        items::copies(compiled, &operations).0.iter().map(|c| c.1.entries() as u64).sum();
    let states = (shape.evidence_words() + 3 * shape.result_words()) as u64;
    // On the GPU, and twice on the way there; three times of 8 bytes an item.
    12 * words + 4 * copies + 8 * messages + 4 * states + 24 * items + 16 * MAX_LISTS as u64
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
    /// Held from the start of a run until its results are there.
    fn alone(&self) -> Option<MutexGuard<'static, ()>> {
        None
    }

    /// Where evidence is to be packed for the next run.
    fn evidence(&mut self) -> &mut [u32];

    /// Runs all items, and waits for nothing but the stamps.
    fn start(
        &mut self,
        flow: &Flow,
        has_evidence: bool,
        stamped: bool,
    ) -> Result<(), PropagationFailure>;

    /// The result of the last run: the posteriors of all variables, not normalised, and P(e).
    fn results(&self) -> Results<'_>;

    /// The variables in the order in which their posteriors are expected.
    fn posteriors(&self) -> &[usize];

    /// Whether words that are not there may still come.
    fn may_come(&self) -> Result<bool, PropagationFailure>;

    /// The times of all items of the last run, which was stamped.
    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, PropagationFailure>;

    /// Blocks that run.
    fn lists(&self) -> usize;

    /// The time of a run with an empty kernel, the median of `repeat`.
    fn empty_run(&mut self, repeat: u32) -> Option<Duration>;
}

/// A compiled network with its tables on the GPU.
struct Loaded<E> {
    compiled: Arc<CompiledNetwork>,
    flow: Flow,
    /// The power of two that was taken out of all potentials.
    exponent: i64,
    executor: E,
    bytes: u64,
    options: LoadOptions,
    /// Made when it is first asked for; `None` inside if it cannot be made.
    lanes: Option<Option<Lanes>>,
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
            false => self.flow.shape.pack(evidence, self.executor.evidence()),
        });
        watch.check()?;
        let stamped = watch.times_messages();
        let _alone = self.executor.alone();
        self.executor.start(&self.flow, !evidence.is_empty(), stamped)?;
        if stamped {
            let now = watch.elapsed();
            self.trace(watch, now)?;
        }
        watch.check()?;
        watch.stage(Stage::Read, || self.read(evidence, self.exponent + exponent))
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        if cases.len() >= MANY {
            let LoadOptions { threads, memory, .. } = self.options;
            let bytes = memory.bytes().saturating_sub(self.bytes);
            let make = || Lanes::load(&self.compiled, threads, bytes);
            if let Some(lanes) = self.lanes.get_or_insert_with(make) {
                return lanes.run(cases, watch);
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

    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        self.executor.empty_run(repeat)
    }
}

impl<E: Executor> Loaded<E> {
    /// Waits for a word of the results. The driver is asked now and then whether one can still come,
    /// because a kernel that failed brings no words.
    #[inline]
    fn wait_for(&self, at: usize, results: Results<'_>) -> Result<Word, PropagationFailure> {
        match results.get(at) {
            Some(word) => Ok(word),
            None if self.flow.items.zeros[at] => Ok(Word::default()),
            None => self.spin_for(at, results),
        }
    }

    #[cold]
    fn spin_for(&self, at: usize, results: Results<'_>) -> Result<Word, PropagationFailure> {
        for round in 1_u32.. {
            if let Some(word) = results.get(at) {
                return Ok(word);
            }
            if round.is_multiple_of(1 << 16) && !self.executor.may_come()? {
                break;
            }
            std::hint::spin_loop();
        }
        // What came while the driver was asked is read once more.
        let ended = || PropagationFailure::Device("the kernel ended without a result".to_owned());
        results.get(at).ok_or_else(ended)
    }

    /// Waits for the results and makes an answer of them, of one variable after another as they are
    /// expected: they come from the kernel itself, well before the driver would say that all is done.
    /// Of those that are expected next, one that is there already comes first.
    fn read(&self, evidence: &Evidence, exponent: i64) -> Result<Posteriors, PropagationFailure> {
        let (shape, results) = (&self.flow.shape, self.executor.results());
        let zeros = &self.flow.items.zeros;
        let mut values = vec![0.0; shape.states()];
        let mut is_done = vec![false; shape.variables];
        for (variable, finding) in evidence.iter() {
            // Of other states nothing may have been computed.
            if let Finding::Observed(state) = finding {
                values[shape.offsets[variable.index()] + state] = 1.0;
                is_done[variable.index()] = true;
            }
        }
        let order = self.executor.posteriors();
        let mut failure = None;
        let mut fill = |variable: usize| {
            let (first, end) = (shape.offsets[variable], shape.offsets[variable + 1]);
            distribution(&mut values[first..end], |state| {
                self.wait_for(first + state, results).unwrap_or_else(|reason| {
                    failure = Some(reason);
                    Word::default()
                })
            });
        };
        for (n, &variable) in order.iter().enumerate() {
            let is_there = |variable: usize| {
                let last = shape.offsets[variable + 1] - 1;
                results.get(last).is_some() || zeros[last]
            };
            while !is_done[variable] && !is_there(variable) {
                let next = order[n + 1..].iter().take(WINDOW).copied();
                let Some(other) = next.filter(|&other| !is_done[other]).find(|&v| is_there(v))
                else {
                    break;
                };
                fill(other);
                is_done[other] = true;
            }
            if !is_done[variable] {
                fill(variable);
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        shape.finish(values, exponent, self.wait_for(shape.states(), results)?)
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
    use crate::propagation::{CompileOptions, MemoryLimit, compile};

    fn twin(compiled: &Arc<CompiledNetwork>, lists: usize) -> Loaded<Twin> {
        let (flow, exponent) = Flow::new(compiled, GRAIN).unwrap();
        let executor = Twin::new(&flow, lists);
        let options = load_options(Precision::F32);
        let compiled = Arc::clone(compiled);
        Loaded { compiled, flow, exponent, executor, bytes: 0, options, lanes: None }
    }

    fn load_options(precision: Precision) -> LoadOptions {
        LoadOptions {
            precision,
            threads: 1,
            memory: MemoryLimit::of_bytes(16 << 30),
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
    fn many_cases_are_answered_as_each_alone() {
        if !on_the_gpu("many_cases_are_answered_as_each_alone") {
            return;
        }
        for (compiled, cases) in networks() {
            let many: Vec<Evidence> = cases.iter().cycle().take(MANY + 5).cloned().collect();
            let mut engine = GpuFlow.load(&compiled, &load_options(Precision::F32)).unwrap();
            let watch = Watch::untimed(CancelToken::new());
            let answers = engine.run_batch(&many, &watch).unwrap();
            assert_eq!(answers.len(), many.len());
            for (case, answer) in many.iter().zip(&answers) {
                assert_near(answer, &engine.run(case, &watch));
            }
            watch.cancel();
            assert_eq!(engine.run_batch(&many, &watch), Err(Cancelled));
        }
    }

    #[test]
    fn what_is_zero_is_left_out_and_the_forecast_suffices() {
        let mut is_less = 0;
        for (compiled, _) in networks() {
            let (flow, _) = Flow::new(&compiled, GRAIN).unwrap();
            let (items, shape) = (&flow.items, &flow.shape);
            let words = 2 * items.record_words() + 2 * items.messages + shape.evidence_words();
            let words = words + 2 * shape.result_words() + 6 * items.len();
            assert!(4 * (words + 4 * MAX_LISTS) as u64 <= bytes(&compiled));
            let (copies, starts) = items::copies(&compiled, &flow.operations);
            let (tables, _) = tables::fill(&compiled, &copies);
            let support = support::Support::new(&flow.operations, &starts, &tables);
            for (operation, part) in flow.operations.all.iter().zip(&support.parts) {
                let products = operation.rows.entries() * operation.run.entries();
                assert!(part.products <= products as u64);
                is_less += usize::from(part.products < products as u64 && !part.rows.is_empty());
            }
        }
        assert!(is_less > 100, "{is_less} operations");
    }

    #[test]
    fn every_item_is_in_one_list_and_after_what_it_waits_for() {
        for (compiled, _) in networks() {
            let (flow, _) = Flow::new(&compiled, GRAIN).unwrap();
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
    fn twenty_drawn_cases_of_each_of_the_papers_networks() {
        use rand::SeedableRng;
        let test = "twenty_drawn_cases_of_each_of_the_papers_networks";
        if !on_the_gpu(test) {
            return;
        }
        let sequential = by_name("sequential").unwrap();
        for name in ["mildew", "barley", "water", "pigs", "diabetes", "munin2", "munin3", "munin4"]
        {
            let network = crate::format::sample(name).unwrap().open().network;
            let options = CompileOptions::default();
            let compiled =
                Arc::new(compile(Arc::clone(&network), &options, &CancelToken::new()).unwrap());
            let mut gpu = GpuFlow.load(&compiled, &load_options(Precision::F32)).unwrap();
            let mut expected = sequential.load(&compiled, &load_options(Precision::F64)).unwrap();
            let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(20);
            let observed = network.variables().len() / 5;
            for case in 0..20 {
                let evidence = Evidence::drawn(&network, observed, &mut rng);
                let watch = Watch::untimed(CancelToken::new());
                let found = gpu.run(&evidence, &watch);
                assert_near(&found, &expected.run(&evidence, &watch));
                if case == 0 {
                    assert_eq!(gpu.run(&evidence, &watch), found, "{name}: two runs are bit-equal");
                }
            }
            eprintln!("{name}: 20 cases agree");
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
