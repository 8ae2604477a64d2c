//! Loading an engine, or the fallback if that engine cannot be used. If the whole network is too
//! large, it is compiled again without the edges of the observed variables.

use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::engine::{LoadError, LoadOptions, Propagator, launch_time};
use crate::graph::TriangulationError;
use crate::network::Evidence;
use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, compile};
use crate::session::state::{EngineFailure, LoadedEngine, Refusal};
use crate::session::worker::{Interruption, Worker};
use crate::session::{EngineChoice, Failure, Request, Step, Update};

/// Number of times that the launch overhead is measured when an engine has loaded; the median is
/// shown. More runs make the shown time steadier, and loading slower.
const OVERHEAD_RUNS: u32 = 5;

impl Worker {
    /// Loads the whole network. If it is too large and the request observes variables, the next
    /// step loads it without the edges of these variables.
    ///
    /// # Errors
    /// If the network is too large and the request observes no variable, or if the network cannot
    /// be loaded for another reason.
    pub(super) fn load(&mut self, request: &Request) -> Result<(), Interruption> {
        if self.state.is_refused(request) {
            return self.report_refusal();
        }
        let (_, compiled) = self.state.compiled.as_ref().expect("an earlier step compiled it");
        let compiled = Arc::clone(compiled);
        // Free the old tables first, so that old and new need not fit into memory together.
        self.state.forget_from(Step::Load);
        if let Some(failure) = &mut self.state.engine_failure {
            failure.is_reported = false;
        }
        match self.load_compiled(request, &compiled) {
            Ok(loaded) => {
                self.report_whole_tree();
                self.finish_load(loaded);
                Ok(())
            }
            Err(error @ LoadError::TooLarge(_)) => {
                let Request { engine, memory, run_serial, .. } = *request;
                self.state.refusal = Some(Refusal { requested: engine, memory, run_serial, error });
                if request.evidence.observed_variables().is_empty() {
                    self.report_refusal()
                } else {
                    Ok(())
                }
            }
            Err(error) => Err(Interruption::Failed(Failure::Load(error))),
        }
    }

    /// Fails, because the network is too large. First reports the tree of the whole network if the
    /// tree reported last was another one.
    fn report_refusal(&mut self) -> Result<(), Interruption> {
        self.state.forget_from(Step::Reduce);
        self.report_whole_tree();
        let refusal = self.state.refusal.as_ref().expect("the network was refused");
        Err(Interruption::Failed(Failure::Load(refusal.error.clone())))
    }

    /// Reports the tree of the whole network if the tree reported last was another one.
    fn report_whole_tree(&mut self) {
        if std::mem::take(&mut self.state.reported_given_evidence)
            && let Some((_, compiled)) = &self.state.compiled
        {
            self.report(Update::Compiled(Arc::clone(compiled)));
        }
    }

    /// Compiles and loads the network without the edges of the variables that the request observes.
    ///
    /// # Errors
    /// If the network is still too large, or cannot be loaded, or the step is cancelled.
    pub(super) fn reduce(
        &mut self,
        request: &Request,
        token: &CancelToken,
    ) -> Result<(), Interruption> {
        let compiled = self.compile_given(&request.evidence, request, token)?;
        self.state.forget_from(Step::Reduce);
        self.state.reported_given_evidence = true;
        self.report(Update::Compiled(Arc::clone(&compiled)));
        let loaded = self.load_compiled(request, &compiled);
        let loaded = loaded.map_err(|error| Interruption::Failed(Failure::Load(error)))?;
        self.finish_load(loaded);
        Ok(())
    }

    /// The network without the edges of the variables that `evidence` observes, compiled within the
    /// memory limit of the request.
    ///
    /// # Errors
    /// If the triangulation needs too much memory, or the step is cancelled.
    pub(super) fn compile_given(
        &self,
        evidence: &Evidence,
        request: &Request,
        token: &CancelToken,
    ) -> Result<Arc<CompiledNetwork>, TriangulationError> {
        let (_, read) = self.state.opened.as_ref().expect("an earlier step opened it");
        let observed = evidence.observed_variables();
        let mut options = CompileOptions { observed, ..request.compile.clone() };
        options.triangulation.max_bytes = memory_limit(request).bytes();
        compile(Arc::clone(&read.network), &options, token).map(Arc::new)
    }

    /// Loads `compiled` into the requested engine, or into its fallback.
    fn load_compiled(
        &mut self,
        request: &Request,
        compiled: &Arc<CompiledNetwork>,
    ) -> Result<LoadedEngine, LoadError> {
        let (engine, run_serial) = (request.engine, request.run_serial);
        let loaded = |engine, fallback_since, propagator| LoadedEngine {
            requested: request.engine,
            memory: request.memory,
            engine,
            fallback_since,
            compiled: Arc::clone(compiled),
            propagator,
        };
        // An engine that has already failed in this run is not tried again.
        let is_of_this_run =
            |failure: &EngineFailure| failure.engine == engine && failure.run_serial == run_serial;
        let (reason, is_reported) = match self.state.engine_failure.take().filter(is_of_this_run) {
            Some(failure) => (failure.reason, failure.is_reported),
            None => match load_engine(engine, request, compiled) {
                Ok(propagator) => return Ok(loaded(engine, None, propagator)),
                Err(error) if error.another_engine_may_load() && engine != engine.fallback() => {
                    (error.to_string(), false)
                }
                Err(error) => return Err(error),
            },
        };
        let fallback = engine.fallback();
        self.state.engine_failure =
            Some(EngineFailure { engine, run_serial, reason: reason.clone(), is_reported: true });
        if !is_reported {
            self.report(Update::FellBack { wanted: engine, engine: fallback, reason });
        }
        let propagator = load_engine(fallback, request, compiled)?;
        Ok(loaded(fallback, Some(run_serial), propagator))
    }

    /// Stores the loaded engine and reports it.
    fn finish_load(&mut self, mut loaded: LoadedEngine) {
        let (engine, propagator) = (loaded.engine, &mut loaded.propagator);
        let peak_bytes = propagator.peak_bytes();
        let launch_overhead = propagator.gpu().and_then(|gpu| gpu.launch_overhead(OVERHEAD_RUNS));
        let launch = launch_overhead.and_then(|_| launch_time());
        self.state.loaded = Some(loaded);
        self.report(Update::Loaded { engine, peak_bytes, launch_overhead, launch });
    }
}

/// The memory limit of `request`.
fn memory_limit(request: &Request) -> MemoryLimit {
    request.memory.unwrap_or_else(MemoryLimit::half_of_available)
}

/// Loads `compiled` into the engine of `choice`, with the memory limit of `request`.
///
/// # Errors
/// If the engine cannot load the network.
pub(super) fn load_engine(
    choice: EngineChoice,
    request: &Request,
    compiled: &Arc<CompiledNetwork>,
) -> Result<Box<dyn Propagator>, LoadError> {
    let EngineChoice { engine, precision, threads, paper } = choice;
    let memory = memory_limit(request);
    engine.load(
        compiled,
        &LoadOptions { precision, threads, memory, paper, ..LoadOptions::default() },
    )
}
