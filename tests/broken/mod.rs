//! An engine that fails where a test wants it to, as one on a GPU may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cliquescope::engine::{
    Engine, LoadError, LoadOptions, PropagationFailure, Propagator, default_engine,
};
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Forecast, Posteriors, Watch};
use cliquescope::session::EngineChoice;

use crate::asking::choice;

/// Where it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// The device has too little memory.
    InMemory,
    /// There is no device.
    NotThere,
    /// The device is lost in any propagation with evidence.
    WithEvidence,
    /// The engine panics in any propagation with evidence, and once more when it is dropped.
    InPanic,
}

/// Answers as the default engine does, but for what breaks.
pub struct Broken {
    name: &'static str,
    breaks: Breaks,
    /// It breaks no more.
    mended: AtomicBool,
}

impl Broken {
    /// An engine called `name`.
    pub fn new(name: &'static str, breaks: Breaks) -> &'static Self {
        Box::leak(Box::new(Self { name, breaks, mended: AtomicBool::new(false) }))
    }

    /// Nothing breaks any more.
    pub fn mend(&self) {
        self.mended.store(true, Ordering::Relaxed);
    }

    /// Its choice.
    pub fn choice(&'static self) -> EngineChoice {
        choice(self)
    }

    fn breaks(&self, breaks: Breaks) -> bool {
        self.breaks == breaks && !self.mended.load(Ordering::Relaxed)
    }
}

impl Engine for Broken {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "for tests"
    }

    fn availability(&self) -> Result<(), String> {
        Ok(())
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F64]
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        default_engine().forecast(compiled, precision)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        if self.breaks(Breaks::NotThere) {
            return Err(LoadError::Unavailable {
                engine: self.name,
                reason: "unplugged".to_owned(),
            });
        }
        if self.breaks(Breaks::InMemory) {
            return Err(LoadError::Device {
                engine: self.name,
                needed: 2048,
                free: 1024,
                reason: "out of memory".to_owned(),
            });
        }
        let breaks = [Breaks::WithEvidence, Breaks::InPanic].into_iter().find(|&b| self.breaks(b));
        Ok(Box::new(BrokenRun { inner: default_engine().load(compiled, options)?, breaks }))
    }
}

struct BrokenRun {
    inner: Box<dyn Propagator>,
    breaks: Option<Breaks>,
}

impl Propagator for BrokenRun {
    fn run(
        &mut self,
        evidence: &Evidence,
        watch: &Watch,
    ) -> Result<Posteriors, PropagationFailure> {
        match self.breaks.filter(|_| !evidence.is_empty()) {
            Some(Breaks::InPanic) => panic!("the engine has a defect"),
            Some(_) => Err(PropagationFailure::Device("the device is lost".to_owned())),
            None => self.inner.run(evidence, watch),
        }
    }

    fn peak_bytes(&self) -> u64 {
        self.inner.peak_bytes()
    }

    /// As if it launched something: it stands for an engine on a device.
    fn launch_overhead(&mut self, _: u32) -> Option<Duration> {
        Some(Duration::from_nanos(1))
    }
}

impl Drop for BrokenRun {
    fn drop(&mut self) {
        assert!(self.breaks != Some(Breaks::InPanic), "the engine has a defect in its end, too");
    }
}
