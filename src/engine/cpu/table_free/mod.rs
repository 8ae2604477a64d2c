//! Propagation without tables of cliques, for junction trees of any size.
//!
//! The table of a clique is a product of factors and messages that are usually far smaller. Here
//! the product is computed tile by tile where it is needed, as [`lowering`](crate::lowering)
//! describes, and never stored. Memory is needed only for factors, for a message per separator,
//! and, for the cliques that are contracted at the same time, for groups of small tables and for
//! the beliefs over the separators to their children.
//!
//! Messages and sums are in double precision. Each message is scaled by a power of two so that its
//! largest entry is near one. If numbers are out of range nevertheless, as
//! [`bounds`](crate::engine::bounds) finds out, every engine computes the case again here, with
//! [`Wide`](crate::engine::wide::Wide) numbers in place of f64. Offsets have the width of a
//! pointer, so the size of a clique is limited by time alone.
//!
//! Threads share each large contraction, and also contract different cliques at the same time, as
//! the [schedule](crate::lowering::ContractionSchedule) says. The number of threads changes no bit
//! of the result.

mod buffers;
mod execute;
mod number;
mod pass;
pub mod supports;
mod tile;

use std::sync::Arc;

use crate::allocate;
use crate::engine::bounds::Bounds;
use crate::engine::cpu::PROGRAM_BYTES_PER_CLIQUE;
use crate::engine::cpu::helpers::worker;
use crate::engine::simd::Baseline;
use crate::engine::threads::{Awake, Threads};
use crate::engine::{Propagator, RunError};
use crate::lowering::{Optimisation, Optimisations, Program};
use crate::network::Evidence;
use crate::potential::Precision;
use crate::propagation::{Activity, CompiledNetwork, Form, Posteriors, Stage, Watch};
use buffers::Buffers;
use number::Number;
use pass::{Pass, Restricted};

/// Minimum number of multiplications and additions of a propagation whose threads are kept awake:
/// about a hundred microseconds of work, twice as long as it takes to wake all threads. If it is
/// wrong, only speed changes.
const MIN_AWAKE_WORK: f64 = 200_000.0;

/// A compiled network that is propagated without tables of cliques, in the number type `T`.
pub struct TableFree<T> {
    compiled: Arc<CompiledNetwork>,
    /// `None` if the calling thread does all the work.
    threads: Option<Threads>,
    /// The forecast memory in bytes.
    bytes: u64,
    /// The program of the [least evidence](CompiledNetwork::least_evidence), with this evidence.
    least: (Evidence, Program),
    /// The program of the last run with other evidence, and the evidence that it was made for.
    program: Option<(Evidence, Program)>,
    /// By factor: the factor restricted to the observations of the last run, with its variables in
    /// the order of its clique.
    factors: Vec<Restricted<T>>,
    buffers: Buffers<T>,
    optimisations: Optimisations,
    /// Keeps vector instructions switched off if they are not among the optimisations.
    _baseline: Option<Baseline>,
}

impl<T: Number> TableFree<T> {
    /// A propagator for `compiled` that is forecast to need `bytes`. `program` is for the
    /// [least evidence](CompiledNetwork::least_evidence).
    pub fn new(
        compiled: Arc<CompiledNetwork>,
        program: Program,
        threads: usize,
        bytes: u64,
        optimisations: Optimisations,
    ) -> Self {
        let threads = (threads > 1).then(|| Threads::new(threads)).flatten();
        let keeps = optimisations.has(Optimisation::PooledMemory);
        let others = compiled.structure_bytes(PROGRAM_BYTES_PER_CLIQUE);
        let others = others.saturating_add(WORKSPACE_BYTES);
        let buffers = Buffers::new(bytes.saturating_sub(others), keeps);
        let evidence = compiled.least_evidence();
        let least = (evidence, program);
        // Marked as restricted, so that the first run computes all factors.
        let unknown = |_| Restricted {
            values: Vec::new(),
            exponent: 0,
            bounds: Bounds::ONE,
            is_restricted: true,
        };
        let factors = compiled.network().factor_ids().map(unknown).collect();
        let program = None;
        let _baseline = Baseline::unless(optimisations.has(Optimisation::VectorInstructions));
        Self {
            compiled,
            threads,
            bytes,
            least,
            program,
            factors,
            buffers,
            optimisations,
            _baseline,
        }
    }

    /// See [`Propagator::run`].
    fn propagate(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        watch.check()?;
        assert!(
            self.compiled.admits(evidence),
            "the evidence does not observe the variables without which the network was compiled"
        );
        let Self { compiled, threads, least, program, factors, buffers, optimisations, .. } = self;
        let mut clock = watch.worker_clock();
        let program = if Program::serves(&least.0, evidence) {
            &least.1
        } else {
            let found = match program.take() {
                Some((planned, found)) if Program::serves(&planned, evidence) => found,
                _ => Program::new(compiled, evidence, *optimisations),
            };
            &program.insert((evidence.clone(), found)).1
        };
        let network = compiled.network();
        if !optimisations.has(Optimisation::KeptFactors) {
            factors.iter_mut().for_each(|factor| factor.is_restricted = true);
        }
        let threads = threads.as_deref();
        let forks = threads.is_some();
        buffers.begin();
        let mut pass = Pass::new(network, program, evidence, factors, buffers, forks, watch);
        let mut pass_and_read = || -> Result<Posteriors, RunError> {
            watch.stage_with_clock(Stage::Initialise, &mut clock, |_| pass.restrict())?;
            let is_long = program.schedule_work() >= MIN_AWAKE_WORK;
            let is_kept_awake = is_long && optimisations.has(Optimisation::AwakeThreads);
            let _awake = threads.filter(|_| is_kept_awake).map(Awake::new);
            watch.stage_with_clock(Stage::Collect, &mut clock, |_| pass.collect())?;
            watch.stage_with_clock(Stage::Distribute, &mut clock, |_| pass.distribute())?;
            pass.loss.check(Precision::F64)?;
            let is_certain = evidence.is_empty() && network.is_bayesian();
            let ln_p_evidence = if is_certain { 0.0 } else { pass.ln_p_evidence };
            watch.note_savings(pass.savings());
            Ok(watch.stage_with_clock(Stage::Read, &mut clock, |_| {
                Posteriors::new(network, ln_p_evidence, |variable, states| {
                    match evidence.observed(variable) {
                        Some(state) => states[state] = 1.0,
                        None => pass.write_posterior(variable, states),
                    }
                })
            }))
        };
        match threads {
            Some(threads) => {
                let asked = watch.worker_clock();
                threads.install(|| {
                    watch.note_activity(Activity::Start, worker(), asked);
                    pass_and_read()
                })
            }
            None => pass_and_read(),
        }
    }
}

impl<T: Number> Propagator for TableFree<T> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        allocate::or_error(|| self.propagate(evidence, watch))?
    }

    fn forget(&mut self) {
        self.program = None;
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes
    }

    fn form(&self) -> Option<Form> {
        Some(Form::TableFree)
    }

    fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, |threads| threads.current_num_threads())
    }
}

/// The program for the [least evidence](CompiledNetwork::least_evidence).
pub fn program(compiled: &CompiledNetwork, optimisations: Optimisations) -> Program {
    Program::new(compiled, &compiled.least_evidence(), optimisations)
}

/// The memory that a propagation by `program` with numbers of type `T` needs at most, in bytes.
pub fn bytes<T>(program: &Program) -> u64 {
    let bytes = (program.peak_entries() as u64).saturating_mul(size_of::<T>() as u64);
    bytes.saturating_add(WORKSPACE_BYTES)
}

/// Memory for tiles, for the loop nests of the program's steps, and for posteriors, in bytes. A
/// generous round figure: it only matters for networks that need little anyway.
const WORKSPACE_BYTES: u64 = 4 << 20;
