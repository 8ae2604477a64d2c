//! The settings file.
//!
//! The file is written whole or not at all. The storage of eframe is not used, because it truncates
//! its file before it writes, so a crash at that moment would lose the settings. Several windows
//! share the file. Each window writes only what it changed itself, and keeps what another window
//! changed meanwhile. A field that cannot be read does not affect the others.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::app::state::left_evidence;
use crate::app::state::settings::{MAX_RECENT, Settings};
use crate::store::{Store, set_aside};

/// Name of the settings file, without extension.
const NAME: &str = "settings";

/// The settings file of a window.
pub(crate) struct SettingsFile {
    store: Store,
    /// The settings that this window last passed to the store, as JSON; before that, those in the
    /// file. As long as the settings equal these, nothing is written.
    passed_on: Map<String, Value>,
    /// The settings of this window when it last read or merged the file. Shared with the store's
    /// thread.
    base: Arc<Mutex<Map<String, Value>>>,
}

/// What was found in the settings file.
#[derive(Default)]
pub(crate) struct StoredSettings {
    /// The fields that can be read, and defaults for the others. `None` if there is no file or none
    /// of it can be read.
    pub(crate) settings: Option<Settings>,
    /// What is wrong, for the user; `None` if nothing is.
    pub(crate) problem: Option<String>,
}

impl SettingsFile {
    /// Opens the file in `folder`, and reads the settings. If some of it cannot be read, the file
    /// is copied first, because it will be overwritten.
    ///
    /// # Errors
    /// If the folder cannot be created or read, or the operating system cannot start a thread.
    pub(crate) fn open(folder: &Path) -> io::Result<(Self, StoredSettings)> {
        let (store, entries) = Store::open(folder)?;
        let id = store.named(NAME);
        let found = entries.into_iter().find(|entry| entry.id == id);
        let content = found.map(|entry| entry.content).unwrap_or_default();
        let mut stored = StoredSettings::default();
        let mut base = Map::new();
        if !content.is_empty() {
            let unreadable;
            (base, unreadable) = readable_fields(&content);
            stored.settings = serde_json::from_value(Value::Object(base.clone())).ok();
            if base.is_empty() {
                stored.settings = None;
            }
            if !unreadable.is_empty() {
                let copy = set_aside(id.path(), &content);
                stored.problem = Some(describe(id.path(), &unreadable, copy));
            }
        }
        if let Err(error) = store.check_writable() {
            let path = id.path().display();
            stored.problem =
                Some(format!("Settings will be lost when the window closes: {path}: {error}"));
        }
        let passed_on = base.clone();
        // Fields that the file lacks have their defaults, which count as unchanged.
        if let Ok(Value::Object(defaults)) = serde_json::to_value(Settings::default()) {
            for (name, value) in defaults {
                base.entry(name).or_insert(value);
            }
        }
        Ok((Self { store, passed_on, base: Arc::new(Mutex::new(base)) }, stored))
    }

    /// Writes what changed in `settings` in the background, if anything did.
    pub(crate) fn write(&mut self, settings: &Settings) {
        let Ok(Value::Object(ours)) = serde_json::to_value(settings) else { return };
        if ours == self.passed_on {
            return;
        }
        self.passed_on.clone_from(&ours);
        let (base, id) = (Arc::clone(&self.base), self.store.named(NAME));
        let path = id.path().to_owned();
        self.store.merge(&id, move |content| {
            let mut base = base.lock().unwrap_or_else(PoisonError::into_inner);
            let (theirs, unreadable) = readable_fields(&content);
            if !content.is_empty() && !unreadable.is_empty() {
                // The window may be closed by now, so a failure cannot be shown.
                let _ = set_aside(&path, &content);
            }
            let merged = merge(&base, &ours, theirs);
            *base = ours;
            serde_json::to_vec_pretty(&merged).unwrap_or_default()
        });
    }

    /// Takes the error of the latest failed write; `None` if no write has failed since the last
    /// call.
    pub(crate) fn take_error(&self) -> Option<String> {
        self.store.take_error()
    }
}

/// The fields of the settings in `content` that can be read, and the names of the others. A name
/// that this version does not know is kept for the version that wrote it. If `content` is not a
/// JSON object, no field can be read, and the only name is "everything".
fn readable_fields(content: &[u8]) -> (Map<String, Value>, Vec<String>) {
    let Ok(Value::Object(all)) = serde_json::from_slice(content) else {
        return (Map::new(), vec!["everything".to_owned()]);
    };
    let (mut readable, mut unreadable) = (Map::new(), Vec::new());
    for (name, value) in all {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        match serde_json::from_value::<Settings>(alone) {
            Ok(_) => {
                readable.insert(name, value);
            }
            Err(_) => unreadable.push(name),
        }
    }
    (readable, unreadable)
}

/// Tells the user which fields of the file at `path` are `unreadable`, and where the copy is.
fn describe(path: &Path, unreadable: &[String], copy: io::Result<PathBuf>) -> String {
    let path = path.display();
    let kept = match copy {
        Ok(copy) => format!("the old file is kept as {}", copy.display()),
        Err(error) => format!("the old file could not be copied: {error}"),
    };
    let fields = unreadable.join(", ");
    format!("Some settings cannot be read and have their defaults: {fields} in {path}; {kept}")
}

/// The settings after a window that began with `base` has changed them to `ours`, while other
/// windows changed the file to `theirs`.
fn merge(
    base: &Map<String, Value>,
    ours: &Map<String, Value>,
    mut theirs: Map<String, Value>,
) -> Map<String, Value> {
    for (name, value) in ours {
        let before = base.get(name);
        if before == Some(value) && theirs.contains_key(name) {
            continue;
        }
        let merged = match (name.as_str(), value, theirs.get(name)) {
            ("recent", Value::Array(ours), Some(Value::Array(theirs))) => {
                merge_lists(before, ours, theirs, MAX_RECENT, |item| item)
            }
            ("earlier", Value::Array(ours), Some(Value::Array(theirs))) => {
                let limit = left_evidence::MAX_NETWORKS;
                merge_lists(before, ours, theirs, limit, |item| &item["network"])
            }
            ("orders" | "lessons", Value::Object(ours), Some(Value::Object(theirs))) => {
                merge_entries(before, ours, theirs)
            }
            _ => value.clone(),
        };
        theirs.insert(name.clone(), merged);
    }
    theirs
}

/// The items of `ours`, then those items of `theirs` that are neither in `ours` nor in `before`; at
/// most `limit`. (An item of `before` that is not in `ours` was removed by this window.) Items with
/// the same `key` are the same.
fn merge_lists(
    before: Option<&Value>,
    ours: &[Value],
    theirs: &[Value],
    limit: usize,
    key: fn(&Value) -> &Value,
) -> Value {
    let before = before.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let has = |items: &[Value], item: &Value| items.iter().any(|other| key(other) == key(item));
    let more = theirs.iter().filter(|item| !has(ours, item) && !has(before, item));
    Value::Array(ours.iter().chain(more).take(limit).cloned().collect())
}

/// `theirs` with what this window changed: the entries in which `ours` differs from `before`.
fn merge_entries(
    before: Option<&Value>,
    ours: &Map<String, Value>,
    theirs: &Map<String, Value>,
) -> Value {
    let none = Map::new();
    let before = before.and_then(Value::as_object).unwrap_or(&none);
    let mut merged = theirs.clone();
    merged.retain(|name, _| ours.contains_key(name) || !before.contains_key(name));
    for (name, value) in ours.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
        merged.insert(name.clone(), value.clone());
    }
    Value::Object(merged)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::app::state::pane_layout::{Arrangement, initial_layout};
    use crate::graph::KnownOrders;

    fn open(folder: &Path) -> (SettingsFile, StoredSettings) {
        SettingsFile::open(folder).unwrap()
    }

    #[test]
    fn settings_are_restored_and_a_truncated_file_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, stored) = open(folder.path());
        assert!(stored.settings.is_none() && stored.problem.is_none());
        let orders = (*KnownOrders::shipped()).clone();
        let settings = Settings {
            zoom: 1.25,
            layout: Some(initial_layout(Arrangement::Tabs)),
            orders,
            ..Settings::default()
        };
        file.write(&settings);
        drop(file);
        let found = open(folder.path()).1.settings.unwrap();
        assert!(found.zoom == 1.25 && found.layout == settings.layout);
        assert_eq!(found.orders.len(), settings.orders.len());

        let path = folder.path().join("settings.json");
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        let (mut file, stored) = open(folder.path());
        assert!(stored.settings.is_none());
        let problem = stored.problem.unwrap();
        assert!(problem.contains("settings.bad"), "{problem}");
        file.write(&Settings::default());
        drop(file);
        assert_eq!(fs::read(folder.path().join("settings.bad")).unwrap(), text[..text.len() / 2]);
        assert!(open(folder.path()).1.problem.is_none(), "the file is whole again");
    }

    #[test]
    fn a_bad_field_is_set_aside_and_the_others_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let bad = r#"{"zoom": "large", "theme": "Dark", "recent": ["/a.bif"], "newer": [1]}"#;
        fs::write(&path, bad).unwrap();
        let (mut file, stored) = open(folder.path());
        let settings = stored.settings.unwrap();
        assert_eq!((settings.zoom, settings.recent.len()), (1.0, 1));
        let problem = stored.problem.unwrap();
        assert!(problem.contains("defaults: zoom in") && !problem.contains("recent"), "{problem}");
        file.write(&settings);
        drop(file);
        assert_eq!(fs::read_to_string(folder.path().join("settings.bad")).unwrap(), bad);
        let written: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!((&written["zoom"], &written["theme"]), (&json!(1.0), &json!("Dark")));
        assert_eq!(written["newer"], json!([1]), "a field of another version is kept");
        assert!(open(folder.path()).1.problem.is_none());
    }

    #[test]
    fn windows_that_close_together_keep_each_others_changes() {
        let folder = tempfile::tempdir().unwrap();
        let windows: Vec<SettingsFile> = (0..MAX_RECENT).map(|_| open(folder.path()).0).collect();
        let close = |(number, mut file): (usize, SettingsFile)| {
            let mut settings = Settings::default();
            settings.remember(PathBuf::from(format!("{number}.bif")));
            settings.lessons.insert(format!("lesson {number}"), number);
            settings.keep_improving = number == 3;
            // A window may write several times.
            file.write(&settings);
            settings.zoom = 1.5;
            file.write(&settings);
        };
        std::thread::scope(|scope| {
            for window in windows.into_iter().enumerate() {
                scope.spawn(move || close(window));
            }
        });
        let found = open(folder.path()).1.settings.unwrap();
        assert_eq!(found.recent.len(), MAX_RECENT);
        assert_eq!((found.lessons.len(), found.zoom), (MAX_RECENT, 1.5));
        assert!(found.keep_improving, "only one window changed this field");
    }

    #[test]
    fn only_what_this_window_changed_replaces_what_another_wrote() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let base = map(json!({"zoom": 1.0, "theme": "System", "recent": ["a", "b"],
            "orders": {"x": 1, "y": 2}}));
        let ours = map(json!({"zoom": 2.0, "theme": "System", "recent": ["c", "a"],
            "orders": {"x": 1, "z": 3}}));
        let theirs = map(json!({"zoom": 1.0, "theme": "Dark", "recent": ["d", "a", "b"],
            "orders": {"x": 9, "y": 2, "w": 4}, "newer": true}));
        let merged = Value::Object(merge(&base, &ours, theirs));
        let expected = json!({"zoom": 2.0, "theme": "Dark", "recent": ["c", "a", "d"],
            "orders": {"x": 9, "w": 4, "z": 3}, "newer": true});
        assert_eq!(merged, expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_cannot_be_written_is_announced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("settings.json"), r#"{"zoom": 2.0}"#).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        if fs::write(folder.path().join("probe"), "").is_ok() {
            eprintln!("SKIPPED: this user may write to every folder");
            return;
        }
        let (_, stored) = open(folder.path());
        assert_eq!(stored.settings.unwrap().zoom, 2.0);
        let problem = stored.problem.unwrap();
        assert!(problem.starts_with("Settings will be lost when the window closes"), "{problem}");
    }
}
