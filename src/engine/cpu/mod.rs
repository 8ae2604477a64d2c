//! Engine `cpu`: junction tree propagation that only reads the cliques' tables.
//!
//! In-place HUGIN writes a clique's table once for each message that the clique receives. This
//! engine reads a table at most once on the way up and once on the way down, except if numbers must
//! be rescaled, and never writes it.
//! On the way up, the product of the table and the children's messages is summed onto the separator
//! above. On the way down, one pass gives the beliefs over the separators below and over the
//! clique's private variables; see [`pass`]. The posterior of a variable is read from the smallest
//! table of beliefs that holds it.
//!
//! The engine has a second form, [`table_free`], for networks whose tables do not fit into memory
//! or would cost more time than they save. Everything else here describes the form with tables.
//!
//! | module | what it does |
//! |---|---|
//! | [`tree`] | cliques, the order of variables in each, rows; no probabilities |
//! | [`tables`] | the cliques' tables: full, without zeros, or kept as products of smaller ones |
//! | [`pass`] | collect and distribute, down to the innermost loops |
//! | [`reuse`] | which tree to use, and what is kept between propagations |
//! | [`table_free`] | the other form, without tables of cliques; also finds what is possible |
//! | [`propagate`] | one propagation from evidence to posteriors, with tables |
//! | [`loaded`] | the propagator; chooses between the two ways to propagate a batch |
//! | [`parallel_cases`] | a batch, one case per thread; the other way is [`batch`](super::batch) |
//! | [`memory`], [`context`] | memory forecast; threads and limits |
//! | [`share`], [`helpers`] | lists of work, and the work of one message, shared between threads |
//! | [`vector`] | elementary loops |
//!
//! Read `tree`, `tables`, `pass` and `reuse` in this order, each beginning with its `mod.rs`, and
//! then `propagate` and `loaded`. `table_free` runs the contractions of
//! [`lowering`](crate::lowering): with numbers, as the other form, and with booleans, for `tables`.
//! [`Forms`] forecasts which of the two forms is faster.
//!
//! # Terms
//! ARCHITECTURE.md defines the terms of all engines. This engine adds:
//!
//! * *private variable*: a variable that is in one clique only.
//! * *port* of a clique: a table that it exchanges numbers with. These are the separator to its
//!   parent, the separator to each child, and the table of its private variables.
//! * *above*, *below*: toward the root, toward the leaves. Also the two regions of memory in which
//!   the tables at ports lie ([`Tree`](tree::nodes::Tree)).
//! * *row*: consecutive entries of a clique's table that one innermost loop reads. A *word* is one
//!   of the 32-bit numbers that describe a row ([`rows`](tree::rows)).
//! * *mask*: a table with, for each entry of a separator, the product of the findings that are
//!   entered there. *Weights* are such a table for the private variables of a clique. The
//!   *unmasked* message is the one to the parent before multiplication by the mask
//!   ([`message`](pass::message)).
//! * *active port*: the port to a child, or the private port, if the message from the child or the
//!   weights may differ from one.
//! * *stored message*: a large message from a parent that is stored, and used again while only
//!   findings below it change ([`change`](reuse::change)).
//! * *stale*: said of a message or belief that must be computed again for the new evidence.
//! * *factored table*: a clique's table that is kept as a product of smaller tables. Each smaller
//!   table is the product of the factors in one *factor group* ([`factored`](tables::factored)).
//! * *part* of a table: consecutive rows that one thread sums while others sum other parts
//!   ([`division`](tree::division)).
//! * *forks*: whether a function may share its work with other threads.
//!
//! # Numbers
//! The chosen precision is the precision of the cliques' tables. Factored tables, messages and sums
//! are always in double precision, so single precision costs no accuracy beyond the rounding of the
//! tables. Only the batch runner computes messages in the chosen precision.
//! [`ErrorBound`](super::ErrorBound) says how far posteriors in single precision may be off; they
//! are found up to twice as fast. Double precision is nevertheless the default, because people
//! compare posteriors to nine digits, between engines and with other programs.
//!
//! Messages that new findings do not [change](reuse::change) are kept between propagations. The
//! answer then agrees within 1e-12, in double precision, with an answer that is computed from
//! scratch; after [`forget`](Propagator::forget) it agrees to the last bit. The number of threads
//! changes no bit of a propagation. The answers to a batch may differ in their last bits between
//! different numbers of threads: only a single thread keeps messages from one case to the next, and
//! the number of threads determines which cases share a reduced tree.

mod context;
mod helpers;
mod loaded;
mod memory;
mod parallel_cases;
mod pass;
mod propagate;
mod reuse;
mod share;
mod table_free;
mod tables;
mod tree;
mod vector;

use std::sync::Arc;

use rayon::ThreadPool;

use super::wide::Wide;
use super::{CPU, Engine, EngineInfo, LoadError, LoadOptions, Propagator, RunError, recomputing};
use crate::allocate;
use crate::lowering::{Optimisation, Optimisations, Program, Shape};
use crate::potential::Precision;
use crate::propagation::{CompiledNetwork, Forecast, Form, FormForecast, MemoryLimit};
use context::TableInputs;
use loaded::Loaded;
use memory::Footprint;
use table_free::TableFree;
#[cfg(feature = "cuda")]
pub(super) use table_free::supports::Support;
pub(super) use table_free::supports::{PossibleEntries, Supports};
use tables::sparsity::TreePlan;
use tree::structure::Structure;

/// Engine `cpu`.
pub(super) struct Cpu;

impl Engine for Cpu {
    fn info(&self) -> &'static EngineInfo {
        &CPU
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let all = Optimisations::default();
        Forms::new(compiled, precision, tables_bytes, all).forecast(compiled, precision, None)
    }

    fn other_forms(
        &self,
        compiled: &CompiledNetwork,
        precision: Precision,
        form: Form,
    ) -> Vec<FormForecast> {
        // If the network is loaded with tables, their forecast is not returned, so a bound
        // suffices. The exact forecast searches for zeros, which takes as much memory as loading.
        let bytes = if form == Form::Tables { max_tables_bytes } else { tables_bytes };
        let forms = Forms::new(compiled, precision, bytes, Optimisations::default());
        forms.forecast(compiled, precision, None).other_forms(Some(form)).collect()
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        super::check_precision(self, options.precision)?;
        let LoadOptions { precision, memory, runs, optimisations, .. } = *options;
        // The data from which the forecasts are computed may itself take more than the limit.
        let least = compiled.structure_bytes(PROGRAM_BYTES_PER_CLIQUE);
        Forecast::new(CPU.name, precision, compiled, least).check(memory)?;
        let mut forms = Forms::new(compiled, precision, max_tables_bytes, optimisations);
        let mut forecast = forms.forecast(compiled, precision, options.form);
        let mut form = forecast.fastest_form(memory, runs);
        // Tables may need far less than the bound on their memory. To find out takes time, and a
        // byte for each entry.
        let may_be_better = |tables: &FormForecast| {
            let is_faster = |form: FormForecast| tables.total_ns(runs) < form.total_ns(runs);
            tables.form == Form::Tables
                && options.form != Some(Form::TableFree)
                && tables.bytes > memory.bytes()
                && compiled.statistics().total_clique_entries <= memory.bytes()
                && form.is_none_or(is_faster)
        };
        let position = forms.forms.iter().position(may_be_better);
        if let Some(position) = position {
            let program = forms.program.as_ref();
            forms.forms[position].bytes =
                with_structure(compiled, program, precision, optimisations, tables_bytes);
            forecast = forms.forecast(compiled, precision, options.form);
            form = forecast.fastest_form(memory, runs);
        }
        let Some(form) = form else {
            return Err(forecast.check(memory).expect_err("no form fits").into());
        };
        let threads = options.threads;
        let limit = memory.bytes();
        let shared = || Arc::clone(compiled);
        let load = || -> Box<dyn Propagator> {
            let program = forms.program;
            match (form.form, precision) {
                (Form::TableFree, _) => {
                    let (program, bytes) = (program.expect("it was planned"), form.bytes);
                    Box::new(TableFree::<f64>::new(
                        shared(),
                        program,
                        threads,
                        bytes,
                        optimisations,
                    ))
                }
                (Form::Tables, Precision::F32) => {
                    Box::new(Loaded::<f32>::new(shared(), program, threads, limit, optimisations))
                }
                (Form::Tables, Precision::F64) => {
                    Box::new(Loaded::<f64>::new(shared(), program, threads, limit, optimisations))
                }
            }
        };
        let propagator = allocate::or_error(load)
            .map_err(|error| LoadError::OutOfMemory { engine: self.name(), error })?;
        Ok(recomputing(propagator, compiled, options))
    }
}

/// The form without tables is ruled out if one propagation is forecast to take longer than this on
/// one core.
const MAX_HOURS: u32 = 24;

/// Forecast time of loading with tables, in nanoseconds per table entry: the entry is multiplied,
/// checked for being zero, and written to new memory. Like [`PRODUCT_NS`], a rough figure for one
/// core, from the paper's eight networks. If it is wrong, the slower form may be taken.
const LOAD_ENTRY_NS: f64 = 30.0;

/// Forecast time of a propagation with tables, in nanoseconds per table entry. It was measured on
/// Mildew, in which most entries are zero and left out; without zeros it is four times as long. So
/// the forecast favours tables, which also keep what a changed finding does not affect.
const TABLE_ENTRY_NS: f64 = 0.3;

/// Forecast time of a propagation without tables, in nanoseconds per product.
const PRODUCT_NS: f64 = 0.4;

/// Forecast time of planning the contractions of a clique, in nanoseconds: a rough figure, like
/// [`PRODUCT_NS`]. A propagation of other evidence may have to plan them again.
const PLAN_CLIQUE_NS: f64 = 12_000.0;

/// A propagator without tables of cliques that computes with [`Wide`] numbers.
///
/// # Errors
/// [`RunError::OutOfRange`] if it needs more memory than `memory`.
pub(super) fn wide(
    compiled: &Arc<CompiledNetwork>,
    threads: usize,
    memory: MemoryLimit,
) -> Result<TableFree<Wide>, RunError> {
    let optimisations = Optimisations::default();
    let program = table_free::program(compiled, optimisations);
    let structure = compiled.structure_bytes(PROGRAM_BYTES_PER_CLIQUE);
    let bytes = table_free::bytes::<Wide>(&program).saturating_add(structure);
    if bytes > memory.bytes() {
        return Err(RunError::OutOfRange);
    }
    Ok(TableFree::new(Arc::clone(compiled), program, threads, bytes, optimisations))
}

/// Bytes that the form with tables takes for each clique, in addition to tables, rows and messages.
/// Like [`PROGRAM_BYTES_PER_CLIQUE`], it was measured on a chain of 100,000 binary variables, and
/// only matters for networks of about that size. If it is too small, an engine may take more memory
/// than the limit.
const TABLES_BYTES_PER_CLIQUE: u64 = 2400;

/// As [`TABLES_BYTES_PER_CLIQUE`], for the form without tables.
const PROGRAM_BYTES_PER_CLIQUE: u64 = 1200;

/// A function that forecasts the memory of the form with tables, in bytes. It is given the
/// contractions of the network without evidence, if they were planned before.
type TablesBytes = fn(&CompiledNetwork, Option<&Program>, Precision, Optimisations) -> u64;

/// The memory of the form with tables, and of the network and its tree, in bytes. `tables_bytes`
/// forecasts the memory of the form with tables.
fn with_structure(
    compiled: &CompiledNetwork,
    program: Option<&Program>,
    precision: Precision,
    optimisations: Optimisations,
    tables_bytes: TablesBytes,
) -> u64 {
    let structure = compiled.structure_bytes(TABLES_BYTES_PER_CLIQUE);
    tables_bytes(compiled, program, precision, optimisations).saturating_add(structure)
}

/// The forms in which the engine can hold a network.
struct Forms {
    /// The form with tables comes first.
    forms: Vec<FormForecast>,
    /// The program of the form without tables, which was planned for the forecast; `None` if that
    /// form was ruled out before planning.
    program: Option<Program>,
}

impl Forms {
    /// The forms for `compiled`. `tables_bytes` forecasts the memory of the form with tables.
    fn new(
        compiled: &CompiledNetwork,
        precision: Precision,
        tables_bytes: TablesBytes,
        optimisations: Optimisations,
    ) -> Self {
        let statistics = compiled.statistics();
        let entries = statistics.total_clique_entries as f64;
        let max_ns = f64::from(MAX_HOURS) * 3.6e12;
        // Each entry takes part in at least one product of each pass, so the time on the left is a
        // lower bound. It is checked before planning, because the plan of larger contractions would
        // itself be large.
        let is_feasible = 2.0 * PRODUCT_NS * entries <= max_ns;
        let program = is_feasible.then(|| table_free::program(compiled, optimisations));
        let mut forms = Vec::new();
        // Rows are described by 32-bit indices into the table. Each factor must be covered by a
        // clique, which is certain only in the tree of the whole network.
        let is_whole = compiled.observed().is_empty();
        if is_whole && statistics.max_clique_entries <= u64::from(u32::MAX) {
            forms.push(FormForecast {
                form: Form::Tables,
                bytes: with_structure(
                    compiled,
                    program.as_ref(),
                    precision,
                    optimisations,
                    tables_bytes,
                ),
                device_bytes: 0,
                load_ns: LOAD_ENTRY_NS * entries,
                run_ns: TABLE_ENTRY_NS * entries,
            });
        }
        if let Some(program) = &program {
            let run_ns = PRODUCT_NS * program.work() + PLAN_CLIQUE_NS * statistics.cliques as f64;
            if run_ns <= max_ns {
                let bytes = table_free::bytes::<f64>(program)
                    .saturating_add(compiled.structure_bytes(PROGRAM_BYTES_PER_CLIQUE));
                forms.push(FormForecast {
                    form: Form::TableFree,
                    bytes,
                    device_bytes: 0,
                    load_ns: 0.0,
                    run_ns,
                });
            }
        }
        Self { forms, program }
    }

    /// The forecast for `compiled` with these forms, or only with the form that is `wanted` if it
    /// is one of them.
    fn forecast(
        &self,
        compiled: &CompiledNetwork,
        precision: Precision,
        wanted: Option<Form>,
    ) -> Forecast {
        if self.forms.is_empty() {
            let reason = format!("one propagation would take more than {MAX_HOURS} hours");
            return Forecast::unsupported(CPU.name, precision, compiled, reason);
        }
        let is_wanted = |found: &FormForecast| wanted.is_none_or(|form| found.form == form);
        let forms: Vec<_> = self.forms.iter().copied().filter(is_wanted).collect();
        let forms = if forms.is_empty() { self.forms.clone() } else { forms };
        Forecast::new(CPU.name, precision, compiled, 0).with_forms(forms)
    }
}

/// Trees with more table entries than this are not searched for zeros in order to forecast their
/// memory, because the search takes about two nanoseconds and a byte for each entry. The forecast
/// is then an upper bound.
const MAX_SEARCHED_ENTRIES: u64 = 1 << 27;

/// The structure of the full tree of `compiled`, laid out on `threads`.
fn structure(
    compiled: &CompiledNetwork,
    optimisations: Optimisations,
    threads: Option<&ThreadPool>,
) -> Structure {
    let shape = Shape::of(compiled).with_bounded_siblings();
    Structure::new(compiled.network(), shape, None, optimisations, threads)
}

/// An upper bound on the memory of the form with tables, in bytes, which takes less time to compute
/// than [`tables_bytes`].
fn max_tables_bytes(
    compiled: &CompiledNetwork,
    _: Option<&Program>,
    precision: Precision,
    optimisations: Optimisations,
) -> u64 {
    let network = compiled.network();
    let structure = structure(compiled, optimisations, None);
    let width = precision.bytes() as usize;
    let footprint = if optimisations.has(Optimisation::Sparsity) && network.has_zeros() {
        Footprint::with_zeros(&structure, network, width)
    } else {
        let observed = vec![None; network.variables().len()];
        let inputs = TableInputs::of_structure(network, &observed, optimisations);
        Footprint::new(&structure, width, Some(inputs))
    };
    footprint.bytes() as u64
}

/// The memory of the form with tables, in bytes: for loading and for propagation in the full tree.
/// Finds out which entries are possible, if there are at most
/// [`MAX_SEARCHED_ENTRIES`]; otherwise this is [`max_tables_bytes`].
fn tables_bytes(
    compiled: &CompiledNetwork,
    program: Option<&Program>,
    precision: Precision,
    optimisations: Optimisations,
) -> u64 {
    if compiled.statistics().total_clique_entries > MAX_SEARCHED_ENTRIES {
        return max_tables_bytes(compiled, program, precision, optimisations);
    }
    let network = compiled.network();
    let structure = structure(compiled, optimisations, None);
    let observed = vec![None; network.variables().len()];
    let inputs = TableInputs::of_structure(network, &observed, optimisations);
    let plan = TreePlan::new(compiled, program, &structure, inputs);
    plan.bytes(&structure, precision.bytes() as usize) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::networks;

    #[test]
    fn other_forms_are_those_of_the_forecast() {
        // The fourth network is Alarm.
        let (compiled, _) = networks().swap_remove(3);
        for precision in [Precision::F32, Precision::F64] {
            let forms = Cpu.forecast(&compiled, precision).forms;
            assert_eq!(forms.len(), 2);
            for FormForecast { form, .. } in &forms {
                let others = forms.iter().copied().filter(|other| other.form != *form);
                let found = Cpu.other_forms(&compiled, precision, *form);
                assert_eq!(found, others.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_forecast_allows_for_optimisations_that_are_switched_off() {
        // The fourth network is Alarm.
        let (compiled, _) = networks().swap_remove(3);
        let forecasts = Optimisation::ALL.map(|optimisation| {
            let optimisations = Optimisations::default().without(optimisation);
            let loaded = Loaded::<f64>::new(Arc::clone(&compiled), None, 1, 1 << 30, optimisations);
            let bytes =
                with_structure(&compiled, None, Precision::F64, optimisations, tables_bytes);
            assert_eq!(bytes, loaded.peak_bytes(), "without {optimisation}");
            let most =
                with_structure(&compiled, None, Precision::F64, optimisations, max_tables_bytes);
            assert!(bytes <= most, "without {optimisation}");
            bytes
        });
        let all = Optimisations::default();
        let all = with_structure(&compiled, None, Precision::F64, all, tables_bytes);
        assert!(forecasts.iter().any(|&bytes| bytes > all), "{forecasts:?}");
    }
}
