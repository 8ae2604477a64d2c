//! Engine `gpu-paper`: the algorithm of Zheng, Mengshoel and Chong for GPUs, for study.
//!
//! The engine propagates by HUGIN. There is one launch per message in depth-first order, and one
//! thread per separator entry. The mapping tables of section 3.2 are in the GPU's memory. The block
//! size and the layout of the mapping tables can be chosen, as in the paper.
//! `kernels/paper/message.cu` lists what is added to the algorithm as printed. The engine is
//! deliberately not tuned, to show what the published algorithm costs.
//!
//! [`buffers`] computes the contents of all buffers and the record of each launch, and [`gpu`]
//! launches the kernels. In tests, [`twin`] does the same as the kernels on the CPU.

mod buffers;
mod gpu;
mod records;
#[cfg(test)]
mod twin;

use std::f64::consts::LN_2;
use std::sync::Arc;
use std::time::Duration;

use self::buffers::Buffers;
use self::gpu::Gpu;
use super::device::{device, known_device};
use super::underflow::{MassBound, TINY_WEIGHT};
use crate::engine::{
    Engine, EngineInfo, GPU_PAPER, GpuPropagator, LoadError, LoadOptions, Propagator, RunError,
    recomputing,
};
use crate::network::Evidence;
use crate::potential::{Entry, Precision};
use crate::propagation::{CompiledNetwork, Forecast, MessageId, Posteriors, Stage, Watch};

/// The engine `gpu-paper`.
pub struct GpuPaper;

impl Engine for GpuPaper {
    fn info(&self) -> &'static EngineInfo {
        &GPU_PAPER
    }

    fn availability(&self) -> Result<(), String> {
        device().map(|_| ())
    }

    fn known_availability(&self) -> Option<Result<(), String>> {
        known_device().map(|known| known.map(|_| ()))
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let largest = compiled.statistics().max_clique_entries;
        let unsupported = crate::engine::too_many_entries("clique", largest, u32::MAX);
        let device_bytes = buffers::bytes(compiled);
        let bytes = || device_bytes.saturating_add(compiled.structure_bytes(0));
        let forecast = crate::engine::forecast(self, compiled, precision, unsupported, bytes);
        let is_supported = forecast.unsupported.is_none();
        Forecast { device_bytes: if is_supported { device_bytes } else { 0 }, ..forecast }
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let device =
            device().map_err(|reason| LoadError::Unavailable { engine: self.name(), reason })?;
        let bytes = crate::engine::admit(self, compiled, options)?;
        let buffers = Buffers::new(compiled, options.paper);
        let gpu = Gpu::load(device, &buffers)
            .map_err(|error| device.refusal(self.name(), bytes, &error))?;
        let propagator = PaperPropagator::new(compiled, buffers, gpu, bytes);
        Ok(recomputing(Box::new(propagator), compiled, options))
    }
}

/// Runs the kernels of a propagation on the GPU, or in tests their twin on the CPU.
trait Executor: Send {
    /// Fills each clique table with the product of the clique's factors and of the weights of its
    /// findings, and fills the separator tables with ones. [`Buffers::pack`] packs `evidence`.
    fn initialise(&mut self, buffers: &Buffers, evidence: &[u32]) -> Result<(), RunError>;

    /// Passes message number `index` of the plan.
    fn message(&mut self, buffers: &Buffers, index: usize) -> Result<(), RunError>;

    /// Records the time at which all work enqueued so far has ended.
    fn mark(&mut self) -> Result<(), RunError>;

    /// Computes the marginals after all work enqueued so far, and waits for them. Returns what
    /// [`Buffers::states`] describes.
    fn read(&mut self, buffers: &Buffers) -> Result<&[f64], RunError>;

    /// Waits for all work.
    fn wait(&mut self) -> Result<(), RunError>;

    /// Removes all marks, and returns for each mark the time since the first mark.
    fn take_marks(&mut self) -> Result<Vec<Duration>, RunError>;

    /// The median time of `repeat` runs of all launches and copies of a propagation with empty
    /// kernels; `None` in the twin, and if the driver fails.
    fn empty_run(&mut self, buffers: &Buffers, evidence: &[u32], repeat: u32) -> Option<Duration>;
}

/// A compiled network with its tables on the GPU.
struct PaperPropagator<E> {
    compiled: Arc<CompiledNetwork>,
    buffers: Buffers,
    executor: E,
    bytes: u64,
    bound: MassBound,
}

impl<E: Executor> Propagator for PaperPropagator<E> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        let answer = match watch.times_messages() {
            true => self.traced(evidence, watch),
            false => self.plain(evidence, watch),
        };
        self.bound.check(evidence, answer)
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        Some(self)
    }
}

impl<E: Executor> GpuPropagator for PaperPropagator<E> {
    fn set_block_size(&mut self, threads: u32) -> bool {
        // Only the launches use the block size; no buffer has to be computed again.
        self.buffers.set_block_size(threads);
        true
    }

    fn launch_overhead(&mut self, repeat: u32) -> Option<Duration> {
        let packed = self.buffers.pack(&Evidence::none());
        self.executor.empty_run(&self.buffers, &packed, repeat)
    }

    fn host_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.device_bytes())
    }

    fn device_bytes(&self) -> u64 {
        buffers::bytes(&self.compiled)
    }
}

impl<E: Executor> PaperPropagator<E> {
    fn new(compiled: &Arc<CompiledNetwork>, buffers: Buffers, executor: E, bytes: u64) -> Self {
        let bound = mass_bound(compiled);
        Self { compiled: Arc::clone(compiled), buffers, executor, bytes, bound }
    }

    /// Propagates without timing the messages.
    fn plain(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let packed = self.buffers.pack(evidence);
        self.executor.initialise(&self.buffers, &packed)?;
        for index in 0..self.buffers.messages.len() {
            watch.check()?;
            self.executor.message(&self.buffers, index)?;
        }
        let read = self.executor.read(&self.buffers)?;
        watch.check()?;
        posteriors(&self.compiled, &self.buffers, read)
    }

    /// Propagates and times every message. This takes longer than [`Self::plain`].
    fn traced(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let compiled = &self.compiled;
        watch.note_processed(|| compiled.plan().entries_touched(compiled.tree()));
        watch.stage(Stage::Initialise, || {
            let packed = self.buffers.pack(evidence);
            self.executor.initialise(&self.buffers, &packed)?;
            self.executor.wait()
        })?;
        let messages = self.buffers.messages.len();
        self.executor.mark()?;
        for index in 0..messages {
            if let Err(cancelled) = watch.check() {
                self.executor.wait()?;
                self.executor.take_marks()?;
                return Err(cancelled.into());
            }
            self.executor.message(&self.buffers, index)?;
            self.executor.mark()?;
        }
        self.executor.wait()?;
        // Converts times of the GPU's clock to times of `watch`. The last mark counts as now.
        let now = watch.elapsed();
        let marks = self.executor.take_marks()?;
        let at = |mark: usize| (now + marks[mark]).saturating_sub(marks[messages]);
        for index in 0..messages {
            watch.note_message(MessageId::new(index), 0, Duration::ZERO, at(index), at(index + 1));
        }
        watch.note_stage(Stage::Collect, at(0), at(messages / 2));
        watch.note_stage(Stage::Distribute, at(messages / 2), at(messages));
        watch.check()?;
        watch.stage(Stage::Read, || {
            posteriors(&self.compiled, &self.buffers, self.executor.read(&self.buffers)?)
        })
    }
}

/// The bound on the probability mass that underflow removes. An entry is rounded to zero only if it
/// is below 2^-126 of the product of the largest numbers that are multiplied.
fn mass_bound(compiled: &CompiledNetwork) -> MassBound {
    let tree = compiled.tree();
    // An upper bound on the number of products that compute the tables. For each entry of a clique,
    // the product of the clique's factors counts as one, because it is rounded only once. Each
    // message to the clique counts as one. Each variable of the clique counts as two: the weight of
    // its finding is rounded to single precision, and then the entry is multiplied by it. All these
    // numbers are doubled, because the largest entry of a table is scaled only to near a power of
    // two.
    let products = tree.clique_ids().map(|clique| {
        let per_entry = tree.children(clique).len() + 2 * tree[clique].variables.len() + 2;
        2.0 * tree[clique].entries as f64 * per_entry as f64
    });
    MassBound::new(compiled.network(), products.sum(), f32::LIMITS.normal, TINY_WEIGHT)
}

/// The posteriors, computed from `read`, the result of [`Executor::read`].
fn posteriors(
    compiled: &CompiledNetwork,
    buffers: &Buffers,
    read: &[f64],
) -> Result<Posteriors, RunError> {
    let [total, exponent] = read[buffers.states..] else { unreachable!("two numbers for P(e)") };
    if total.is_nan() || total <= 0.0 {
        return Err(RunError::Impossible);
    }
    let ln_p_evidence = ln_scaled(total, exponent);
    Ok(Posteriors::new(compiled.network(), ln_p_evidence, |variable, states| {
        let first = buffers.marginals[variable.index()].out as usize;
        states.copy_from_slice(&read[first..first + states.len()]);
    }))
}

/// ln(`total` * 2^`exponent`). `total` is first scaled to near one, because a logarithm near zero
/// has the smallest rounding error.
fn ln_scaled(total: f64, exponent: f64) -> f64 {
    let power = total.log2().round();
    (total * (-power).exp2()).ln() + (exponent + power) * LN_2
}

#[cfg(test)]
mod tests {
    use super::twin::Twin;
    use super::*;
    use crate::engine::cuda::device::tests::has_gpu;
    use crate::engine::cuda::fixtures::{
        assert_agrees_with_sequential, assert_agrees_with_twin, load_options, long_networks,
        networks,
    };
    use crate::engine::{MappingLayout, PaperOptions};
    use crate::potential::{MappingTables, Scope};

    fn twin(compiled: &Arc<CompiledNetwork>, options: PaperOptions) -> PaperPropagator<Twin> {
        let buffers = Buffers::new(compiled, options);
        let executor = Twin::new(&buffers);
        let bound = MassBound::allowing_all();
        PaperPropagator { bound, ..PaperPropagator::new(compiled, buffers, executor, 0) }
    }

    const OPTIONS: [PaperOptions; 3] = [
        PaperOptions { block_size: 128, layout: MappingLayout::Interleaved },
        PaperOptions { block_size: 16, layout: MappingLayout::Naive },
        PaperOptions { block_size: 1024, layout: MappingLayout::Interleaved },
    ];

    #[test]
    fn the_twin_agrees_with_the_sequential_engine() {
        for (compiled, cases) in networks() {
            for options in OPTIONS {
                assert_agrees_with_sequential(&compiled, &cases, &mut twin(&compiled, options));
            }
        }
    }

    #[test]
    fn the_twin_propagates_100_000_variables() {
        for (compiled, cases) in long_networks() {
            let mut twin = twin(&compiled, PaperOptions::default());
            assert_agrees_with_sequential(&compiled, &cases, &mut twin);
        }
    }

    #[test]
    fn the_block_size_is_clamped_alike_when_loading_and_when_set_later() {
        let compiled = &networks()[0].0;
        let options = PaperOptions::default();
        for block_size in [1, 16, 192, 1024, 5000] {
            let mut set = twin(compiled, options);
            assert!(set.set_block_size(block_size));
            let loaded = twin(compiled, PaperOptions { block_size, ..options });
            assert_eq!(set.buffers.block_size, loaded.buffers.block_size);
            assert!((16..=1024).contains(&set.buffers.block_size));
        }
    }

    #[test]
    fn both_layouts_store_the_same_mapping_tables() {
        for (compiled, _) in networks() {
            let [a, b] = MappingLayout::ALL.map(|layout| {
                Buffers::new(&compiled, PaperOptions { layout, ..PaperOptions::default() })
            });
            for (a_message, b_message) in a.messages.iter().zip(&b.messages) {
                let mapping_tables = |buffers: &Buffers, m: &records::Message| -> Vec<Vec<u32>> {
                    let element = |j: u32, n: u32| {
                        let at = j * m.from_table_stride + n * m.from_stride;
                        buffers.mappings[m.from_mapping as usize + at as usize]
                    };
                    (0..m.entries)
                        .map(|j| (0..m.from_count).map(|n| element(j, n)).collect())
                        .collect()
                };
                let tables = mapping_tables(&a, a_message);
                assert_eq!(tables, mapping_tables(&b, b_message));
                // `MappingTables`, which the window uses, computes the same tables.
                let message = compiled.plan()[MessageId::new(a_message.index as usize)];
                let scope =
                    |variables: &[_]| Scope::of(compiled.network(), variables.iter().copied());
                let sender = scope(&compiled.tree()[message.from].variables);
                let arithmetic = MappingTables::new(
                    &sender,
                    &scope(&compiled.tree()[message.separator].variables),
                );
                let (entries, count) = (arithmetic.entries(), arithmetic.count());
                for (buffers, m, layout) in
                    [(&a, a_message, MappingLayout::ALL[0]), (&b, b_message, MappingLayout::ALL[1])]
                {
                    for n in 0..count.min(40) {
                        let words = layout.words_of_warp(entries, count, 0, n);
                        for (j, word) in words.into_iter().enumerate() {
                            let stored = buffers.mappings[m.from_mapping as usize + word];
                            assert_eq!(stored as usize, arithmetic.element(j, n));
                        }
                    }
                }
                // Each entry of the clique is in exactly one mapping table.
                let mut all: Vec<u32> = tables.into_iter().flatten().collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..a_message.entries * a_message.from_count));
            }
        }
    }

    #[test]
    fn the_gpu_agrees_with_the_twin() {
        if !has_gpu("paper: the_gpu_agrees_with_the_twin") {
            return;
        }
        for (compiled, cases) in networks() {
            for options in OPTIONS {
                let load = LoadOptions { paper: options, ..load_options(Precision::F32) };
                let mut gpu = GpuPaper.load(&compiled, &load).unwrap();
                assert_agrees_with_twin(
                    &compiled,
                    &cases,
                    gpu.as_mut(),
                    &mut twin(&compiled, options),
                );
            }
        }
    }
}
