//! The user's settings, stored between runs.
//!
//! The settings have a file of their own. eframe stores only the position and size of the window.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::app::state::left_evidence::LeftEvidence;
use crate::app::state::pane::Pane;
use crate::engine::{self, PaperOptions};
use crate::graph::KnownOrders;
use crate::potential::Precision;
use crate::propagation::MemoryLimit;
use crate::session::EngineChoice;

/// Maximum number of recent files. With a larger number, the menu of recent files gets longer.
pub(crate) const MAX_RECENT: usize = 12;

/// Number of propagations when times are measured, unless the user chooses another. The median of
/// more runs varies less, and takes longer.
const DEFAULT_MEASURED_RUNS: usize = 20;

/// The theme that the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ThemeChoice {
    /// The theme of the system.
    #[default]
    System,
    /// Light on dark.
    Dark,
    /// Dark on light.
    Light,
}

/// The user's settings, as they are stored.
///
/// Engines and triangulations are stored by name, so that settings can be read even if they were
/// written by a version with other engines or triangulations.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The theme that the user chose.
    pub theme: ThemeChoice,
    /// Scale of everything; 1 is normal size.
    pub zoom: f32,
    /// Whether to propagate whenever evidence changes.
    pub auto_propagate: bool,
    /// Name of the engine.
    pub engine: String,
    /// Number type of the engine's tables.
    pub precision: Precision,
    /// Block size and layout for engine `gpu-paper`.
    pub paper: PaperOptions,
    /// Name of the triangulation.
    pub triangulation: String,
    /// Whether to search for a better junction tree whenever a network is open and triangulation
    /// `auto` is chosen.
    pub keep_improving: bool,
    /// Maximum memory that an engine may use; `None` means half of the available memory.
    pub memory: Option<MemoryLimit>,
    /// Number of propagations when times are measured.
    pub measured_runs: usize,
    /// Recently opened files, newest first.
    #[serde(with = "crate::app::state::stored_path::list")]
    pub recent: Vec<PathBuf>,
    /// Elimination orders found on this machine: by triangulation `auto` for networks without a
    /// shipped order, and by searches for better trees.
    pub orders: KnownOrders,
    /// For the id of each unfinished lesson, the index of the step at which the lesson was left.
    pub lessons: BTreeMap<String, usize>,
    /// The evidence that each network had when the user left it.
    #[serde(rename = "earlier")]
    pub left_evidence: LeftEvidence,
    /// Where the panes are; `None` is the initial layout.
    pub layout: Option<egui_tiles::Tree<Pane>>,
}

impl Default for Settings {
    fn default() -> Self {
        let engine = engine::default_engine();
        Self {
            theme: ThemeChoice::default(),
            zoom: 1.0,
            auto_propagate: true,
            engine: engine.name().to_owned(),
            precision: engine.precisions()[0],
            paper: PaperOptions::default(),
            triangulation: crate::graph::Triangulation::default().name().to_owned(),
            keep_improving: false,
            memory: None,
            measured_runs: DEFAULT_MEASURED_RUNS,
            recent: Vec::new(),
            orders: KnownOrders::default(),
            lessons: BTreeMap::new(),
            left_evidence: LeftEvidence::default(),
            layout: None,
        }
    }
}

impl Settings {
    /// The engine named in these settings, or the default engine if the named one does not exist or
    /// cannot run on this machine. The engine's default precision replaces a precision that the
    /// engine does not support.
    #[must_use]
    pub fn engine_choice(&self) -> EngineChoice {
        let engine = engine::by_name(&self.engine)
            .filter(|engine| engine.availability().is_ok())
            .unwrap_or_else(engine::default_engine);
        let precisions = engine.precisions();
        let precision =
            if precisions.contains(&self.precision) { self.precision } else { precisions[0] };
        EngineChoice { engine, precision, threads: available_threads(), paper: self.paper }
    }

    /// Copies the engine with its options, the triangulation and the memory limit from `other`.
    pub(crate) fn copy_compute_options(&mut self, other: &Self) {
        self.engine.clone_from(&other.engine);
        self.precision = other.precision;
        self.paper = other.paper;
        self.triangulation.clone_from(&other.triangulation);
        self.memory = other.memory;
    }

    /// Puts `path` first among the recent files. If there are too many, the last one is dropped.
    pub fn remember(&mut self, path: PathBuf) {
        self.recent.retain(|known| *known != path);
        self.recent.insert(0, path);
        self.recent.truncate(MAX_RECENT);
    }
}

/// The number of threads that this process can run in parallel; 1 if that is unknown.
#[must_use]
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn recent_files_are_limited_and_listed_once() {
        let mut settings = Settings::default();
        for index in 0..20 {
            settings.remember(PathBuf::from(format!("{}.bif", index % 15)));
        }
        assert_eq!(settings.recent.len(), MAX_RECENT);
        assert_eq!(settings.recent[0], PathBuf::from("4.bif"));
        settings.remember(PathBuf::from("9.bif"));
        let times = settings.recent.iter().filter(|path| path.as_path() == Path::new("9.bif"));
        assert_eq!(times.count(), 1);
    }

    #[test]
    fn settings_of_another_version_get_defaults_for_what_is_missing() {
        let settings: Settings =
            serde_json::from_str(r#"{"engine": "warp-drive", "auto_propagate": false}"#).unwrap();
        assert!(!settings.auto_propagate);
        assert_eq!(settings.engine_choice().engine.name(), engine::default_engine().name());
    }
}
