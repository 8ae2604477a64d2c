//! Which engine to load, and how.

use crate::engine::{self, Engine, PaperOptions};
use crate::potential::Precision;

/// An engine and the options to load it with.
#[derive(Clone, Copy)]
pub struct EngineChoice {
    /// The engine.
    pub engine: &'static dyn Engine,
    /// Number type of its tables.
    pub precision: Precision,
    /// Maximum number of threads of the CPU. See [`LoadOptions`](engine::LoadOptions::threads) for
    /// the exceptions.
    pub threads: usize,
    /// Block size and layout of the mapping tables. See
    /// [`takes_paper_options`](Self::takes_paper_options).
    pub paper: PaperOptions,
}

impl EngineChoice {
    /// Whether the engine uses the options in [`paper`](Self::paper).
    #[must_use]
    pub fn takes_paper_options(&self) -> bool {
        self.engine.info().capabilities.paper_options
    }

    /// The choice that replaces this one if its engine cannot be used: the default engine, which
    /// runs everywhere. The precision stays the same if the default engine supports it.
    #[must_use]
    pub fn fallback(&self) -> Self {
        let engine = engine::default_engine();
        let precisions = engine.precisions();
        let same = precisions.iter().copied().find(|&precision| precision == self.precision);
        Self { engine, precision: same.unwrap_or(precisions[0]), ..*self }
    }

    /// The engine, its precision, and the paper's options if the engine uses them, such as
    /// `gpu-paper f32, naive, 48 threads per block`.
    #[must_use]
    pub fn title(&self) -> String {
        let title = format!("{} {}", self.engine.name(), self.precision);
        if !self.takes_paper_options() {
            return title;
        }
        format!("{title}, {}", self.paper)
    }
}

/// Choices are equal if they load a network in the same way. Engines are identified by name, and
/// the paper's options do not count if the engine ignores them.
impl PartialEq for EngineChoice {
    fn eq(&self, other: &Self) -> bool {
        self.engine.name() == other.engine.name()
            && self.precision == other.precision
            && self.threads == other.threads
            && (self.paper == other.paper || !self.takes_paper_options())
    }
}

impl std::fmt::Debug for EngineChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} on {}", self.engine.name(), self.precision, self.threads)
    }
}
