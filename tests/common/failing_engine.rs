//! An engine that fails at a chosen point, as an engine on a GPU may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cliquescope::engine::{
    Capabilities, Device, Engine, EngineInfo, GpuPropagator, LoadError, LoadOptions, Propagator,
    RunError, default_engine,
};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Forecast, Posteriors, Watch};
use cliquescope::session::EngineChoice;

use super::session::engine_choice;

/// How the engine fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureMode {
    /// The device has too little memory.
    OutOfMemory,
    /// The device is missing.
    Unavailable,
    /// The device is lost in any propagation with evidence.
    DeviceLost,
    /// The device is lost in the propagation with this number, and in all later ones. Each
    /// propagator counts its propagations from one. Each case of a batch is a propagation.
    DeviceLostAtRun(usize),
    /// Numbers are out of range in the propagation with this number, counted as above.
    OutOfRangeAtRun(usize),
    /// The propagator panics in any propagation with evidence, and when it is dropped.
    Panic,
    /// The engine panics while it loads a network.
    PanicInLoad,
    /// The propagator panics in this propagation, counted from one.
    PanicAtRun(usize),
}

/// An engine that computes like the default engine, except where it must fail.
pub struct FailingEngine {
    info: &'static EngineInfo,
    failure: FailureMode,
    /// Whether propagators loaded from now on work.
    repaired: AtomicBool,
}

impl FailingEngine {
    /// An engine called `name` that fails as `failure` says. Its memory is never freed.
    pub fn new(name: &'static str, failure: FailureMode) -> &'static Self {
        let capabilities = Capabilities {
            device: Device::Gpu,
            precisions: &[Precision::F64],
            ..default_engine().info().capabilities
        };
        let info = Box::leak(Box::new(EngineInfo { name, summary: "for tests", capabilities }));
        Box::leak(Box::new(Self { info, failure, repaired: AtomicBool::new(false) }))
    }

    /// From now on, the engine loads propagators that work. Those already loaded still fail.
    pub fn repair(&self) {
        self.repaired.store(true, Ordering::Relaxed);
    }

    /// Selects this engine in double precision on one thread.
    pub fn choice(&'static self) -> EngineChoice {
        engine_choice(self)
    }

    fn fails_by(&self, failure: FailureMode) -> bool {
        self.failure == failure && !self.repaired.load(Ordering::Relaxed)
    }
}

impl Engine for FailingEngine {
    fn info(&self) -> &'static EngineInfo {
        self.info
    }

    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        default_engine().forecast(compiled, precision)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        if self.fails_by(FailureMode::Unavailable) {
            return Err(LoadError::Unavailable {
                engine: self.name(),
                reason: "unplugged".to_owned(),
            });
        }
        if self.fails_by(FailureMode::OutOfMemory) {
            return Err(LoadError::Device {
                engine: self.name(),
                needed: 2048,
                free: 1024,
                reason: "out of memory".to_owned(),
            });
        }
        assert!(!self.fails_by(FailureMode::PanicInLoad), "the engine has a defect");
        let failure = Some(self.failure).filter(|&mode| self.fails_by(mode));
        let inner = default_engine().load(compiled, options)?;
        Ok(Box::new(FailingPropagator { inner, failure, runs: 0 }))
    }
}

struct FailingPropagator {
    inner: Box<dyn Propagator>,
    failure: Option<FailureMode>,
    /// Number of propagations so far.
    runs: usize,
}

impl Propagator for FailingPropagator {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        self.runs += 1;
        let (panics, is_lost) = match self.failure {
            Some(FailureMode::Panic) => (!evidence.is_empty(), false),
            Some(FailureMode::PanicAtRun(run)) => (self.runs == run, false),
            Some(FailureMode::DeviceLost) => (false, !evidence.is_empty()),
            Some(FailureMode::DeviceLostAtRun(run)) => (false, self.runs >= run),
            _ => (false, false),
        };
        assert!(!panics, "the engine has a defect");
        if self.failure == Some(FailureMode::OutOfRangeAtRun(self.runs)) {
            return Err(RunError::OutOfRange);
        }
        if is_lost {
            return Err(RunError::Device("the device is lost".to_owned()));
        }
        self.inner.run(evidence, watch)
    }

    fn peak_bytes(&self) -> u64 {
        self.inner.peak_bytes()
    }

    fn gpu(&mut self) -> Option<&mut dyn GpuPropagator> {
        Some(self)
    }
}

impl GpuPropagator for FailingPropagator {
    fn launch_overhead(&mut self, _: u32) -> Option<Duration> {
        Some(Duration::from_nanos(1))
    }

    fn host_bytes(&self) -> u64 {
        self.peak_bytes()
    }

    fn device_bytes(&self) -> u64 {
        0
    }
}

impl Drop for FailingPropagator {
    fn drop(&mut self) {
        assert!(
            self.failure != Some(FailureMode::Panic),
            "the propagator panics when it is dropped"
        );
    }
}
