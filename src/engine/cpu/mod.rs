//! Engine `cpu`: junction tree propagation that only reads the cliques' tables.
//!
//! HUGIN in place writes every clique's table twice. Here a table is read once on the way up and
//! once on the way down, and nothing of its size is written. On the way up, its product with the
//! children's messages is summed onto the separator above. On the way down, one pass gives the
//! beliefs of all separators below and of the clique's private variables; see [`pass`]. Posteriors
//! are read from the smallest of these.
//!
//! | module | what it does |
//! |---|---|
//! | [`tree`] | cliques, the order of their variables, rows; no numbers |
//! | [`tables`] | the cliques' tables: made, without zeros, or left as products |
//! | [`pass`] | messages: collect, distribute, the loops |
//! | [`reuse`] | which tree to use, and what is kept between propagations |
//! | [`worker`] | one propagation from evidence to posteriors |
//! | [`loaded`] | the propagator; which way a batch of cases takes |
//! | [`parallel_cases`] | a batch with one case per thread; the other way is [`batch`](super::batch) |
//! | [`memory`], [`context`], [`vector`] | memory forecast; threads and limits; elementary loops |
//!
//! Read `tree`, `tables`, `pass` and `reuse` in this order, each beginning with its `mod.rs`, and
//! then `worker` and `loaded`.
//!
//! # Numbers
//! The precision is that of the cliques' tables. Messages and sums are in double precision whatever
//! the tables are, so single precision costs no more than the rounding of the tables; only the
//! batch runner computes everything in the precision of the tables. Double precision is the
//! default, although single precision is within 1e-6 of it and up to twice as fast, because people
//! compare posteriors to nine digits, between engines and with other programs.
//!
//! The number of threads does not change a bit. Messages that new findings do not
//! [change](reuse::change) are kept between propagations. The answer then agrees within 1e-12, in
//! double precision, with one that is computed from scratch, and after
//! [`forget`](Propagator::forget) to the last bit.

mod context;
mod loaded;
mod memory;
mod parallel_cases;
mod pass;
mod reuse;
mod tables;
mod tree;
mod vector;
mod worker;

use std::sync::Arc;

use super::{CPU, Engine, EngineInfo, LoadError, LoadOptions, Propagator};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, MessageId, Phase};
use loaded::Loaded;
use memory::Footprint;
use tree::structure::{Shape, Structure};

/// Engine `cpu`.
pub(super) struct Cpu;

impl Engine for Cpu {
    fn info(&self) -> &'static EngineInfo {
        &CPU
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        // The words of a row hold 32-bit indices.
        let largest = compiled.statistics().max_clique_entries;
        let unsupported = super::too_many_entries("clique", largest, u32::MAX);
        super::forecast(self, compiled, precision, unsupported, || bytes(compiled, precision))
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let bytes = super::admit(self, compiled, options)?;
        let limit = options.memory.bytes();
        Ok(match options.precision {
            Precision::F32 => {
                Box::new(Loaded::<f32>::new(Arc::clone(compiled), options.threads, bytes, limit))
            }
            Precision::F64 => {
                Box::new(Loaded::<f64>::new(Arc::clone(compiled), options.threads, bytes, limit))
            }
        })
    }
}

/// An upper bound on the memory that is held. Lays out the tables but makes none.
fn bytes(compiled: &CompiledNetwork, precision: Precision) -> u64 {
    let structure = Structure::new(compiled.network(), shape(compiled).0, None);
    let footprint = Footprint::new(&structure, precision.bytes() as usize, true);
    // Half is for the full tree, the other half for a reduced one.
    2 * (footprint.table_bytes + footprint.other_bytes) as u64
}

/// The shape of a compiled network's tree, and for each clique the messages to its parent and from
/// it.
fn shape(compiled: &CompiledNetwork) -> (Shape, Vec<Option<(MessageId, MessageId)>>) {
    let (tree, plan) = (compiled.tree(), compiled.plan());
    let mut number = vec![0; tree.cliques().len()];
    let mut shape = Shape::default();
    shape.cliques.push(tree[tree.root()].variables.clone());
    shape.parents.push(None);
    let mut messages = vec![None];
    let mut collect = vec![None; tree.separators().len()];
    for id in plan.ids().filter(|&id| plan[id].phase == Phase::Collect) {
        collect[plan[id].separator.index()] = Some(id);
    }
    // The plan distributes in preorder.
    for id in plan.ids().filter(|&id| plan[id].phase == Phase::Distribute) {
        let message = &plan[id];
        number[message.to.index()] = shape.cliques.len();
        shape.cliques.push(tree[message.to].variables.clone());
        shape.parents.push(Some(number[message.from.index()]));
        messages.push(collect[message.separator.index()].map(|collect| (collect, id)));
    }
    shape.factors = vec![Vec::new(); shape.cliques.len()];
    for factor in compiled.network().factor_ids() {
        let clique = compiled.factor_home(factor);
        shape.factors[number[clique.index()]].push(factor);
    }
    let (shape, order) = shape.with_bounded_fan_out();
    let messages = order.into_iter().map(|before| messages[before]).collect();
    (shape, messages)
}
