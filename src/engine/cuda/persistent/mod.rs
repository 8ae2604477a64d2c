//! Engine `gpu`: a whole propagation in one launch, as fast as we can make it.
//!
//! [`operations`] writes a propagation as sums of products that depend on one another, [`shortcuts`]
//! makes the longest way through them shorter, [`items`] cuts them into pieces of work, [`schedule`]
//! gives each block a list of them by what they are thought to take ([`costs`]), [`tables`] fills the
//! copies of the potentials, [`words`] is what messages and results are made of, and [`shape`] packs
//! evidence; [`gpu`] launches the kernel, [`twin`] does the same on the CPU, and [`loaded`] reads what
//! came of it. [`support`] finds what is zero whatever the evidence. Many cases in one call are
//! propagated by [`lanes`](super::lanes).

mod costs;
mod gpu;
mod items;
mod loaded;
mod operations;
mod schedule;
mod shape;
mod shortcuts;
mod support;
mod tables;
#[cfg(test)]
mod twin;
mod words;

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use self::gpu::Gpu;
use self::items::{Grain, Items};
use self::loaded::Loaded;
use self::operations::Operations;
use self::shape::Shape;
use self::words::Results;
use super::device::device;
use crate::engine::factors::smallest_nonzero;
use crate::engine::{
    Engine, EngineInfo, GPU, LoadError, LoadOptions, Propagator, RunError, too_many_entries,
};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, TooLarge};

/// Lists of items there are at most, which is blocks of the launch.
const MAX_LISTS: usize = 4096;

/// See the module.
pub struct GpuPersistent;

impl Engine for GpuPersistent {
    fn info(&self) -> &'static EngineInfo {
        &GPU
    }

    fn availability(&self) -> Result<(), String> {
        device().map(|_| ())
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let bytes = || bytes(compiled, &operations(compiled));
        crate::engine::forecast(self, compiled, precision, refusal(compiled), bytes)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let engine = self.name();
        let device = device().map_err(|reason| LoadError::Unavailable { engine, reason })?;
        crate::engine::check_precision(self, options.precision)?;
        let refused = |obstacle: String| {
            let forecast = Forecast::unsupported(engine, options.precision, compiled, obstacle);
            TooLarge { forecast: Box::new(forecast), limit: options.memory }
        };
        if let Some(obstacle) = refusal(compiled) {
            return Err(refused(obstacle).into());
        }
        let operations = operations(compiled);
        let bytes = bytes(compiled, &operations);
        Forecast::new(engine, options.precision, compiled, bytes).check(options.memory)?;
        let Some((mut flow, exponent)) = Flow::new(compiled, operations) else {
            return Err(refused("there are more messages than it can number".to_owned()).into());
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

/// Everything about the propagations of one network.
struct Flow {
    shape: Shape,
    operations: Operations,
    items: Items,
}

/// Why a network is none for it, however much memory there is: a clique with more entries than it can
/// number, a variable with more states than an item holds, or numbers further from one than a word holds,
/// for which it takes tens of thousands of cliques.
fn refusal(compiled: &CompiledNetwork) -> Option<String> {
    let largest = compiled.statistics().max_clique_entries;
    if let Some(reason) = too_many_entries("clique", largest, u32::MAX / 8) {
        return Some(reason);
    }
    let network = compiled.network();
    let most = items::STAGE;
    if let Some(variable) = network.variables().iter().find(|v| v.cardinality() > most) {
        let (name, states) = (variable.name(), variable.cardinality());
        return Some(format!("variable {name} has {states} states, and it takes up to {most}"));
    }
    // Powers of two: the largest sum there can be, and the least product that is not zero.
    let sums: f64 = compiled.tree().cliques().iter().map(|c| (c.entries as f64).log2()).sum();
    let products: f64 =
        network.factors().map(|factor| -smallest_nonzero(factor.values()).log2()).sum();
    let powers = sums.max(products);
    (powers >= words::POWERS).then(|| {
        let most = words::POWERS;
        format!("its numbers can be 2^{powers:.0} from one, and it takes up to 2^{most}")
    })
}

/// The operations of a network that there is no [`refusal`] of.
fn operations(compiled: &CompiledNetwork) -> Operations {
    let is_short = |run: usize, parts: &[usize]| items::is_short(run, parts.iter().copied());
    Operations::new(compiled, &is_short)
}

impl Flow {
    /// With the power of two that was taken out of all potentials. `None` if there are more messages
    /// than records can number.
    fn new(compiled: &CompiledNetwork, operations: Operations) -> Option<(Self, i64)> {
        let network = compiled.network();
        let (copies, starts) = items::copies(network, &operations);
        let (tables, exponent) = tables::fill(network, &operations.potentials, &copies);
        let items = Items::new(compiled, &operations, &starts, &tables)?;
        Some((Self { shape: Shape::new(compiled), operations, items }, exponent))
    }
}

/// Bytes that a network with these operations needs at most: those of all buffers on the GPU, and what
/// they are made of.
fn bytes(compiled: &CompiledNetwork, operations: &Operations) -> u64 {
    let shape = Shape::new(compiled);
    let (mut words, mut messages, mut items) = (0_u64, 0_u64, 0_u64);
    for operation in &operations.all {
        let needs = items::needs(operation, compiled.network(), Grain::FINEST);
        words += needs.words;
        items += needs.items;
        messages += operation.rows.entries() as u64 + 4;
    }
    let copies = items::copies(compiled.network(), operations).0;
    let copies: u64 = copies.iter().map(|(_, scope)| scope.entries() as u64).sum();
    // Reports: there is one a variable at most, and each is filled up.
    let variables = compiled.network().variables().len() as u64;
    words += 3 * shape.states() as u64 + 64 * variables;
    items += variables;
    let states = (shape.evidence_words() + 3 * shape.states()) as u64 + 64 * variables;
    // On the GPU, and twice on the way there; three times of 8 bytes an item.
    12 * words + 4 * copies + 8 * messages + 4 * states + 24 * items + 24 * MAX_LISTS as u64
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
    fn start(&mut self, flow: &Flow, has_evidence: bool, stamped: bool) -> Result<(), RunError>;

    /// The result of the last run: the posteriors of all variables and P(e).
    fn results(&self) -> Results<'_>;

    /// All results of the last run were there.
    fn have_been_read(&mut self);

    /// The reports in the order in which they are expected.
    fn reports(&self) -> &[usize];

    /// Whether words that are not there may still come.
    fn may_come(&self) -> Result<bool, RunError>;

    /// The times of all items of the last run, which was stamped.
    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, RunError>;

    /// Blocks that run.
    fn lists(&self) -> usize;

    /// The time of a run with an empty kernel, the median of `repeat`.
    fn empty_run(&mut self, repeat: u32) -> Option<Duration>;

    /// The time of the kernel without and with stamps, medians of `repeat`.
    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]>;
}

#[cfg(test)]
mod explain;
#[cfg(test)]
mod tests;
