//! What is kept between runs.
//!
//! The window's own store is a file that is cut off before it is written anew, so that a program that
//! ends at that moment leaves nothing. It has the place of the window alone; the settings have a file
//! that is whole at any time.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::app::state::earlier::Earlier;
use crate::app::state::model::{Pane, ThemeChoice};
use crate::engine::{self, PaperOptions};
use crate::graph::KnownOrders;
use crate::potential::Precision;
use crate::propagation::MemoryLimit;
use crate::session::EngineChoice;
use crate::store::Store;

/// What the file of the settings is called, without its ending.
const NAME: &str = "settings";
/// How many recent files are kept.
const RECENT: usize = 12;

/// The user's settings, as they are stored.
///
/// Names rather than values stand for engines and triangulations, so that settings of another
/// version are read as far as they still mean something.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Dark, light, or as the system has it.
    pub theme: ThemeChoice,
    /// How large everything is; 1 is normal.
    pub zoom: f32,
    /// Whether to propagate whenever evidence changes.
    pub auto_propagate: bool,
    /// Name of the engine.
    pub engine: String,
    /// Number type of its tables.
    pub precision: Precision,
    /// Block size and layout for engine `gpu-paper`.
    pub paper: PaperOptions,
    /// Name of the triangulation.
    pub triangulation: String,
    /// Whether a better junction tree is searched for whenever a network is open.
    pub keep_improving: bool,
    /// Memory that engines may take; `None` is half of what is available.
    pub memory: Option<MemoryLimit>,
    /// Files opened last, newest first.
    pub recent: Vec<PathBuf>,
    /// Elimination orders that were found for networks that are not shipped.
    pub orders: KnownOrders,
    /// The step at which each lesson was left, by the lesson's name.
    pub lessons: BTreeMap<String, usize>,
    /// What was known of the networks that were left last.
    pub earlier: Earlier,
    /// Where the panes are; `None` is where they are at first.
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
            recent: Vec::new(),
            orders: KnownOrders::default(),
            lessons: BTreeMap::new(),
            earlier: Earlier::default(),
            layout: None,
        }
    }
}

impl Settings {
    /// The engine that these settings name, or the default one where it is not there or cannot run.
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

    /// Puts `path` first among the recent files.
    pub fn remember(&mut self, path: PathBuf) {
        self.recent.retain(|known| *known != path);
        self.recent.insert(0, path);
        self.recent.truncate(RECENT);
    }
}

/// Where settings are kept between runs.
pub(crate) struct SettingsFile {
    store: Store,
    /// What the file holds.
    written: Vec<u8>,
}

impl SettingsFile {
    /// Opens the store in `folder`, with the settings that are there.
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, Option<Settings>)> {
        let (store, entries) = Store::open(folder)?;
        let id = store.named(NAME);
        let found = entries.into_iter().find(|entry| entry.id == id);
        let written = found.map(|entry| entry.content).unwrap_or_default();
        let settings = serde_json::from_slice(&written).ok();
        Ok((Self { store, written }, settings))
    }

    /// Has `settings` written, unless they are what the file holds. Does not wait for it.
    pub(crate) fn write(&mut self, settings: &Settings) {
        let Ok(json) = serde_json::to_vec_pretty(settings) else { return };
        if json != self.written {
            self.written.clone_from(&json);
            self.store.write(&self.store.named(NAME), move || json);
        }
    }
}

/// Threads that the machine runs at once.
#[must_use]
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_files_are_few_and_each_once() {
        let mut settings = Settings::default();
        for index in 0..20 {
            settings.remember(PathBuf::from(format!("{}.bif", index % 15)));
        }
        assert_eq!(settings.recent.len(), RECENT);
        assert_eq!(settings.recent[0], PathBuf::from("4.bif"));
    }

    #[test]
    fn settings_are_there_again_and_half_a_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, none) = SettingsFile::open(folder.path()).unwrap();
        assert!(none.is_none());
        let layout = Some(crate::app::shell::pane_layout::initial_layout());
        let orders = (*KnownOrders::shipped()).clone();
        let settings = Settings { zoom: 1.25, layout, orders, ..Settings::default() };
        store.write(&settings);
        drop(store);
        let (_, found) = SettingsFile::open(folder.path()).unwrap();
        let found = found.unwrap();
        assert!(found.zoom == 1.25 && found.layout == settings.layout);
        assert_eq!(found.orders.len(), settings.orders.len());
        let file = folder.path().join("settings.json");
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert!(SettingsFile::open(folder.path()).unwrap().1.is_none());
    }

    #[test]
    fn settings_of_another_version_are_read_as_far_as_they_go() {
        let settings: Settings =
            serde_json::from_str(r#"{"engine": "warp-drive", "auto_propagate": false}"#).unwrap();
        assert!(!settings.auto_propagate);
        assert_eq!(settings.engine_choice().engine.name(), engine::default_engine().name());
    }
}
