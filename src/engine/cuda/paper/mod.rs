//! Engine `gpu-paper`: the kernel of Zheng, Mengshoel and Chong to the letter, to be studied.
//!
//! HUGIN in place, one launch a message in depth-first order, one thread a separator entry, the
//! mapping tables of section 3.2 in the GPU's memory. Block size and layout of the mapping tables
//! are what the paper varies. It is never tuned: what it costs is what there is to see.
//!
//! [`tables`] lays out the buffers and the record of each launch, [`gpu`] does the launches and
//! [`twin`] does the same on the CPU.

mod gpu;
mod records;
mod tables;
#[cfg(test)]
mod twin;

use std::f64::consts::LN_2;
use std::sync::Arc;
use std::time::Duration;

use self::gpu::Gpu;
use self::tables::Tables;
use super::device::device;
use crate::engine::{
    Engine, EngineInfo, GPU_PAPER, GpuPropagator, LoadError, LoadOptions, Propagator, RunError,
};
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, MessageId, Posteriors, Stage, Watch};

/// See the module.
pub struct GpuPaper;

impl Engine for GpuPaper {
    fn info(&self) -> &'static EngineInfo {
        &GPU_PAPER
    }

    fn availability(&self) -> Result<(), String> {
        device().map(|_| ())
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let largest = compiled.statistics().max_clique_entries;
        let unsupported = crate::engine::too_many_entries("clique", largest, u32::MAX);
        crate::engine::forecast(self, compiled, precision, unsupported, || tables::bytes(compiled))
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let device =
            device().map_err(|reason| LoadError::Unavailable { engine: self.name(), reason })?;
        crate::engine::check_precision(self, options.precision)?;
        let forecast = self.forecast(compiled, options.precision);
        let bytes = forecast.bytes;
        forecast.check(options.memory)?;
        let tables = Tables::new(compiled, options.paper);
        let gpu = Gpu::load(device, &tables)
            .map_err(|error| device.refusal(self.name(), bytes, &error))?;
        Ok(Box::new(Loaded { compiled: Arc::clone(compiled), tables, executor: gpu, bytes }))
    }
}

/// What does the launches: the GPU, or its twin.
trait Executor: Send {
    /// Sets all tables to the prior and enters the findings, packed by [`Tables::pack`].
    fn initialise(&mut self, tables: &Tables, evidence: &[u32]) -> Result<(), RunError>;

    /// Passes message number `index` of the plan.
    fn message(&mut self, tables: &Tables, index: usize) -> Result<(), RunError>;

    /// Notes the time at which all that was asked for so far is done.
    fn mark(&mut self) -> Result<(), RunError>;

    /// Waits until all is done, and reads the marginals; see [`Tables::readings`].
    fn read(&mut self, tables: &Tables) -> Result<&[f64], RunError>;

    /// Waits until all is done.
    fn wait(&mut self) -> Result<(), RunError>;

    /// The times of all marks, counted from the first, and forgets them.
    fn marks(&mut self) -> Result<Vec<Duration>, RunError>;

    /// The time of all launches and copies of a propagation with empty kernels, the median of
    /// `repeat` runs.
    fn empty_run(&mut self, tables: &Tables, evidence: &[u32], repeat: u32) -> Option<Duration>;
}

/// A compiled network with its tables on the GPU.
struct Loaded<E> {
    compiled: Arc<CompiledNetwork>,
    tables: Tables,
    executor: E,
    bytes: u64,
}

impl<E: Executor> Propagator for Loaded<E> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        if watch.times_messages() {
            self.traced(evidence, watch)
        } else {
            self.plain(evidence, watch)
        }
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        Some(self)
    }
}

impl<E: Executor> GpuPropagator for Loaded<E> {
    fn set_block_size(&mut self, threads: u32) -> bool {
        // The buffers are the same for all sizes.
        self.tables.set_block_size(threads);
        true
    }

    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        let packed = self.tables.pack(&Evidence::none());
        self.executor.empty_run(&self.tables, &packed, repeat)
    }
}

impl<E: Executor> Loaded<E> {
    fn plain(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let packed = self.tables.pack(evidence);
        self.executor.initialise(&self.tables, &packed)?;
        for index in 0..self.tables.messages.len() {
            watch.check()?;
            self.executor.message(&self.tables, index)?;
        }
        let read = self.executor.read(&self.tables)?;
        watch.check()?;
        posteriors(&self.compiled, &self.tables, read)
    }

    /// The same with the time noted before and after every message, which takes longer.
    fn traced(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.stage(Stage::Initialise, || {
            let packed = self.tables.pack(evidence);
            self.executor.initialise(&self.tables, &packed)?;
            self.executor.wait()
        })?;
        let messages = self.tables.messages.len();
        self.executor.mark()?;
        for index in 0..messages {
            if let Err(cancelled) = watch.check() {
                self.executor.wait()?;
                self.executor.marks()?;
                return Err(cancelled.into());
            }
            self.executor.message(&self.tables, index)?;
            self.executor.mark()?;
        }
        self.executor.wait()?;
        // The GPU has a clock of its own: its last mark is no later than now.
        let now = watch.elapsed();
        let marks = self.executor.marks()?;
        let at = |mark: usize| (now + marks[mark]).saturating_sub(marks[messages]);
        for index in 0..messages {
            watch.note_message(MessageId::new(index), 0, Duration::ZERO, at(index), at(index + 1));
        }
        watch.note_stage(Stage::Collect, at(0), at(messages / 2));
        watch.note_stage(Stage::Distribute, at(messages / 2), at(messages));
        watch.check()?;
        watch.stage(Stage::Read, || {
            posteriors(&self.compiled, &self.tables, self.executor.read(&self.tables)?)
        })
    }
}

/// The posteriors from what was `read`.
fn posteriors(
    compiled: &CompiledNetwork,
    tables: &Tables,
    read: &[f64],
) -> Result<Posteriors, RunError> {
    let [total, exponent] = read[tables.states..] else { unreachable!("two numbers for P(e)") };
    if total.is_nan() || total <= 0.0 {
        return Err(RunError::Impossible);
    }
    let ln_p_evidence = near_one(total, exponent);
    Ok(Posteriors::new(compiled.network(), ln_p_evidence, |variable, states| {
        let first = tables.readings[variable.index()].out as usize;
        states.copy_from_slice(&read[first..first + states.len()]);
    }))
}

/// ln(`total` 2^`exponent`). The number is brought near one first: a logarithm near zero has the
/// more digits.
fn near_one(total: f64, exponent: f64) -> f64 {
    let power = total.log2().round();
    (total * (-power).exp2()).ln() + (exponent + power) * LN_2
}

#[cfg(test)]
mod tests {
    use super::twin::Twin;
    use super::*;
    use crate::engine::cuda::device::tests::on_the_gpu;
    use crate::engine::cuda::fixtures::{
        assert_as_sequential, assert_as_twin, load_options, networks,
    };
    use crate::engine::{MappingLayout, PaperOptions};
    use crate::potential::{MappingTables, Scope};

    fn twin(compiled: &Arc<CompiledNetwork>, options: PaperOptions) -> Loaded<Twin> {
        let tables = Tables::new(compiled, options);
        let executor = Twin::new(&tables);
        Loaded { compiled: Arc::clone(compiled), tables, executor, bytes: 0 }
    }

    const LAYOUTS: [PaperOptions; 3] = [
        PaperOptions { block_size: 128, layout: MappingLayout::Interleaved },
        PaperOptions { block_size: 16, layout: MappingLayout::Naive },
        PaperOptions { block_size: 1024, layout: MappingLayout::Interleaved },
    ];

    #[test]
    fn the_twin_agrees_with_the_sequential_engine() {
        for (compiled, cases) in networks() {
            for options in LAYOUTS {
                assert_as_sequential(&compiled, &cases, &mut twin(&compiled, options));
            }
        }
    }

    #[test]
    fn a_block_size_that_is_set_is_as_one_that_was_loaded() {
        let compiled = &networks()[0].0;
        let options = PaperOptions::default();
        for block_size in [1, 16, 192, 1024, 5000] {
            let mut set = twin(compiled, options);
            assert!(set.set_block_size(block_size));
            let loaded = twin(compiled, PaperOptions { block_size, ..options });
            assert_eq!(set.tables.block_size, loaded.tables.block_size);
            assert!((16..=1024).contains(&set.tables.block_size));
        }
    }

    #[test]
    fn both_layouts_hold_the_same_mapping_tables() {
        for (compiled, _) in networks() {
            let [a, b] = MappingLayout::ALL.map(|layout| {
                Tables::new(&compiled, PaperOptions { layout, ..PaperOptions::default() })
            });
            for (a_message, b_message) in a.messages.iter().zip(&b.messages) {
                let of = |tables: &Tables, m: &records::Message| -> Vec<Vec<u32>> {
                    let element = |j: u32, n: u32| {
                        let at = j * m.from_table_stride + n * m.from_stride;
                        tables.mappings[m.from_mapping as usize + at as usize]
                    };
                    (0..m.entries)
                        .map(|j| (0..m.from_count).map(|n| element(j, n)).collect())
                        .collect()
                };
                let lists = of(&a, a_message);
                assert_eq!(lists, of(&b, b_message));
                // As the arithmetic has it that shows them where there is no GPU.
                let message = compiled.plan()[MessageId::new(a_message.index as usize)];
                let scope =
                    |variables: &[_]| Scope::of(compiled.network(), variables.iter().copied());
                let sender = scope(&compiled.tree()[message.from].variables);
                let arithmetic = MappingTables::new(
                    &sender,
                    &scope(&compiled.tree()[message.separator].variables),
                );
                let (entries, count) = (arithmetic.entries(), arithmetic.count());
                for (tables, m, layout) in
                    [(&a, a_message, MappingLayout::ALL[0]), (&b, b_message, MappingLayout::ALL[1])]
                {
                    for n in 0..count.min(40) {
                        let words = layout.words_of_warp(entries, count, 0, n);
                        for (j, word) in words.into_iter().enumerate() {
                            let stored = tables.mappings[m.from_mapping as usize + word];
                            assert_eq!(stored as usize, arithmetic.element(j, n));
                        }
                    }
                }
                // Each entry of the clique is in one of them.
                let mut all: Vec<u32> = lists.into_iter().flatten().collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..a_message.entries * a_message.from_count));
            }
        }
    }

    #[test]
    fn the_gpu_does_what_the_twin_does() {
        if !on_the_gpu("the_gpu_does_what_the_twin_does") {
            return;
        }
        for (compiled, cases) in networks() {
            for options in LAYOUTS {
                let load = LoadOptions { paper: options, ..load_options(Precision::F32) };
                let mut gpu = GpuPaper.load(&compiled, &load).unwrap();
                assert_as_twin(&compiled, &cases, gpu.as_mut(), &mut twin(&compiled, options));
            }
        }
    }
}
