//! How networks are compiled and propagated: triangulation, engine and memory.

use crate::app::state::settings::Settings;
use crate::graph::Triangulation;
use crate::propagation::MemoryLimit;
use crate::session::EngineChoice;

/// A command about compiling and propagating.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineCommand {
    /// Propagate with this engine.
    SetEngine(EngineChoice),
    /// Compile with this triangulation.
    SetTriangulation(Triangulation),
    /// Limit the memory that an engine may use; `None` means half of the available memory.
    SetMemoryLimit(Option<MemoryLimit>),
    /// Propagate whenever evidence changes, or only on request.
    SetAutoPropagate(bool),
    /// Propagate now, even if nothing changed. An engine that a fallback replaced is tried again.
    Propagate,
    /// Propagate [`Settings::measured_runs`] times, to show the median, minimum and maximum time.
    Measure,
    /// Propagate this many times when measuring.
    SetMeasuredRuns(usize),
    /// Cancel what the session is doing.
    Cancel,
    /// Hide the message about the last failure.
    DismissFailure,
}

/// How networks are compiled and propagated in this run.
///
/// The user's choices are stored in the [`Settings`] as well. What the command line or a restored
/// autosave chose, and what the user chose during a lesson, holds for this run at most and does not
/// reach the settings file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputeOptions {
    /// The engine with its number type and, for engine `gpu-paper`, block size and layout.
    pub engine: EngineChoice,
    /// How the moral graph is triangulated.
    pub triangulation: Triangulation,
    /// Maximum memory that an engine may use; `None` means half of the available memory.
    pub memory: Option<MemoryLimit>,
}

impl ComputeOptions {
    /// The options in `settings`. Defaults replace an engine that cannot run here, a precision that
    /// the engine does not support, and a triangulation that does not exist.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            engine: settings.engine_choice(),
            triangulation: settings.triangulation.parse().unwrap_or_default(),
            memory: settings.memory,
        }
    }

    /// Uses `engine` in this run and stores the choice.
    pub fn set_engine(&mut self, engine: EngineChoice, settings: &mut Settings) {
        self.engine = engine;
        settings.engine = engine.engine.name().to_owned();
        settings.precision = engine.precision;
        settings.paper = engine.paper;
    }

    /// Uses `method` in this run and stores the choice.
    pub fn set_triangulation(&mut self, method: Triangulation, settings: &mut Settings) {
        self.triangulation = method;
        settings.triangulation = method.name().to_owned();
    }

    /// Uses `limit` in this run and stores the choice.
    pub fn set_memory(&mut self, limit: Option<MemoryLimit>, settings: &mut Settings) {
        self.memory = limit;
        settings.memory = limit;
    }
}
