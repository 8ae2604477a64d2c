//! Loading an engine, or the fallback if that engine cannot be used.

use std::sync::Arc;

use crate::engine::{LoadError, LoadOptions, Propagator, launch_time};
use crate::propagation::{CompiledNetwork, MemoryLimit};
use crate::session::state::{EngineFailure, LoadedEngine};
use crate::session::worker::{Interruption, Worker};
use crate::session::{EngineChoice, Failure, Request, Step, Update};

/// Number of times that the launch overhead is measured when an engine has loaded; the median is
/// shown. More runs make the shown time steadier, and loading slower.
const OVERHEAD_RUNS: u32 = 5;

impl Worker {
    /// Loads the requested engine, or its fallback.
    pub(super) fn load(&mut self, request: &Request) -> Result<(), Interruption> {
        let (_, compiled) = self.state.compiled.as_ref().expect("an earlier step compiled it");
        let compiled = Arc::clone(compiled);
        // Free the old tables first, so that old and new need not fit into memory together.
        self.state.forget_from(Step::Load);
        let (engine, run_serial) = (request.engine, request.run_serial);
        // An engine that has already failed in this run is not tried again.
        let is_of_this_run =
            |failure: &EngineFailure| failure.engine == engine && failure.run_serial == run_serial;
        let reason = match self.state.engine_failure.take().filter(is_of_this_run) {
            Some(failure) => failure.reason,
            None => match load_engine(engine, request, &compiled) {
                Ok(propagator) => {
                    self.finish_load(request, engine, None, propagator);
                    return Ok(());
                }
                Err(error) if error.another_engine_may_load() && engine != engine.fallback() => {
                    error.to_string()
                }
                Err(error) => return Err(Interruption::Failed(Failure::Load(error))),
            },
        };
        let fallback = engine.fallback();
        self.state.engine_failure =
            Some(EngineFailure { engine, run_serial, reason: reason.clone() });
        self.report(Update::FellBack { wanted: engine, engine: fallback, reason });
        let propagator = load_engine(fallback, request, &compiled)
            .map_err(|error| Interruption::Failed(Failure::Load(error)))?;
        self.finish_load(request, fallback, Some(run_serial), propagator);
        Ok(())
    }

    /// Stores the loaded engine and reports it.
    fn finish_load(
        &mut self,
        request: &Request,
        engine: EngineChoice,
        fallback_since: Option<u64>,
        mut propagator: Box<dyn Propagator>,
    ) {
        let peak_bytes = propagator.peak_bytes();
        let launch_overhead = propagator.gpu().and_then(|gpu| gpu.launch_overhead(OVERHEAD_RUNS));
        let launch = launch_overhead.and_then(|_| launch_time());
        self.state.loaded = Some(LoadedEngine {
            requested: request.engine,
            memory: request.memory,
            engine,
            fallback_since,
            propagator,
        });
        self.report(Update::Loaded { engine, peak_bytes, launch_overhead, launch });
    }
}

fn load_engine(
    choice: EngineChoice,
    request: &Request,
    compiled: &Arc<CompiledNetwork>,
) -> Result<Box<dyn Propagator>, LoadError> {
    let EngineChoice { engine, precision, threads, paper } = choice;
    let memory = request.memory.unwrap_or_else(MemoryLimit::half_of_available);
    engine.load(
        compiled,
        &LoadOptions {
            precision,
            threads,
            memory,
            paper,
            runs: LoadOptions::MANY_RUNS,
            form: None,
        },
    )
}
