//! Engine `cpu`: junction tree propagation that only reads the cliques' tables.
//!
//! HUGIN in place writes every clique's table twice. Here a table is read once on the way up and
//! once on the way down and nothing of its size is written: on the way up its product with the
//! children's messages is summed onto the separator above, and one pass on the way down gives the
//! beliefs of all separators below and of the variables that are in no other clique, see
//! [`message`]. Posteriors are read from the smallest of these.
//!
//! | module | what it does |
//! |---|---|
//! | [`layout`] | orders a clique's variables so that its loops are few and the innermost is long |
//! | [`kernel`] | the loops, which a compiler turns into vector instructions |
//! | [`fill`], [`product`], [`tables`] | multiply the factors of a clique, in memory that is kept |
//! | [`factored`], [`streams`] | tables that stay products of small ones, and are never made |
//! | [`structure`] | all of a tree but its numbers; which messages sum out and are never computed |
//! | [`assemble`], [`tree`] | tables and where they stand |
//! | [`support`], [`compress`] | leave out what is zero whatever the evidence |
//! | [`reduce`], [`choice`] | a small tree for what evidence leaves, where it is forecast to pay |
//! | [`inherit`] | what such a tree takes over from the one before it |
//! | [`change`] | what must be computed again when findings change |
//! | [`batch`] | many cases at once, each on one thread; [`lanes`](super::lanes) where that is sooner |
//! | [`state`], [`part`] | findings, messages, posteriors; subtrees and large tables on threads |
//!
//! # Numbers
//! `f32` and `f64` say what the cliques' tables are held in. Messages and sums are in double
//! precision, so that single precision costs no more than the rounding of the tables; only batches
//! in lanes compute all in what the tables are held in. Double
//! precision is the default although single precision is within 1e-6 of it and up to twice as fast,
//! because people compare posteriors to nine digits, between engines and with other programs.
//!
//! However many threads there are, the bits are the same. Between propagations messages are kept
//! that the new findings do not [change]. The answer then agrees with one that was computed
//! anew within 1e-12 in double precision, and after [`forget`](Propagator::forget) to the last bit.

mod context;
mod loaded;
mod memory;
mod parallel_cases;
mod pass;
mod reuse;
mod tables;
mod tree;
mod worker;

use std::sync::Arc;

use super::{CPU, Engine, EngineInfo, LoadError, LoadOptions, Propagator};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, MessageId, Phase};
use loaded::Loaded;
use tree::structure::{Shape, Structure};

/// See the module.
pub(super) struct Cpu;

impl Engine for Cpu {
    fn info(&self) -> &'static EngineInfo {
        &CPU
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        // Entries have indices of 32 bits.
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

/// The most that is held: tables are laid out, but none is made.
fn bytes(compiled: &CompiledNetwork, precision: Precision) -> u64 {
    let structure = Structure::new(compiled.network(), shape(compiled).0, None);
    // Half for the whole tree, and half for that of what evidence leaves of it.
    let (tables, others) = structure.bytes(precision.bytes() as usize, true);
    2 * (tables + others) as u64
}

/// The shape of a compiled network's tree, every clique before its children, and for each clique
/// the two messages between it and its parent.
fn shape(compiled: &CompiledNetwork) -> (Shape, Vec<Option<(MessageId, MessageId)>>) {
    let (tree, plan) = (compiled.tree(), compiled.plan());
    // The plan's order of distribution is a preorder.
    let mut number = vec![0; tree.cliques().len()];
    let mut shape = Shape::default();
    shape.cliques.push(tree[tree.root()].variables.clone());
    shape.parents.push(None);
    let mut messages = vec![None];
    let mut collect = vec![None; tree.separators().len()];
    for id in plan.ids().filter(|&id| plan[id].phase == Phase::Collect) {
        collect[plan[id].separator.index()] = Some(id);
    }
    for id in plan.ids().filter(|&id| plan[id].phase == Phase::Distribute) {
        let message = &plan[id];
        number[message.to.index()] = shape.cliques.len();
        shape.cliques.push(tree[message.to].variables.clone());
        shape.parents.push(Some(number[message.from.index()]));
        messages.push(collect[message.separator.index()].map(|collect| (collect, id)));
    }
    shape.families = vec![Vec::new(); shape.cliques.len()];
    for factor in compiled.network().factor_ids() {
        let clique = compiled.factor_home(factor);
        shape.families[number[clique.index()]].push(factor);
    }
    let (shape, order) = shape.with_bounded_fan_out();
    let messages = order.into_iter().map(|before| messages[before]).collect();
    (shape, messages)
}
