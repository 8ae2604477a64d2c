//! Experiments in the window: the running one, and the results.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::workbench::Workbench;
use crate::cancel::CancelToken;
use crate::experiment::{ExperimentError, ExperimentRequest, Progress, Record, by_name};
use crate::session::Job;
use crate::store::{EntryId, Store, write_atomically};

/// A command about experiments and their results. Results are identified by their number.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentCommand {
    /// Run an experiment.
    Run(Box<ExperimentRequest>),
    /// Cancel the running experiment.
    Cancel,
    /// Rename a result.
    RenameResult(u64, String),
    /// Remove a result.
    RemoveResult(u64),
    /// Write a result into this folder.
    ExportResult(u64, PathBuf),
    /// Open the result in this file.
    OpenResult(PathBuf),
}

/// The thread of a running experiment.
pub(crate) type ExperimentJob = Job<Result<Record, ExperimentError>>;

/// The running experiment and the results.
#[derive(Clone, Debug, Default)]
pub struct ExperimentRunner {
    /// The running experiment.
    pub running: Option<RunningExperiment>,
    /// The results, in the order in which they were made or opened.
    pub results: Vec<NamedResult>,
    /// Why the last experiment failed.
    pub failure: Option<String>,
    /// Number of the last experiment or result.
    count: u64,
}

/// A running experiment.
#[derive(Clone)]
pub struct RunningExperiment {
    /// Its number, unlike that of any other experiment or result of this session.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// How far it is.
    pub progress: Arc<Progress>,
}

impl std::fmt::Debug for RunningExperiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "experiment {} of {}", self.number, self.title)
    }
}

/// The result of an experiment, under a name.
#[derive(Clone, Debug)]
pub struct NamedResult {
    /// Its number, unlike that of any other experiment or result of this session.
    pub number: u64,
    /// Its name, which the user can change.
    pub name: String,
    /// The result.
    pub record: Arc<Record>,
    /// Its entry in the store, if there is a store.
    entry: Option<EntryId>,
}

/// A result as the store holds it.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stored {
    name: String,
    record: Record,
}

impl ExperimentRunner {
    /// Adds a record under a new name, such as `fig7 #2`.
    pub fn add(&mut self, record: Arc<Record>) {
        self.count += 1;
        let base = record.experiment.clone();
        let is_free = |name: &String| self.results.iter().all(|result| result.name != *name);
        let name = (1..).map(|n| format!("{base} #{n}")).find(is_free).unwrap_or(base);
        self.results.push(NamedResult { number: self.count, name, record, entry: None });
    }

    /// The result with this number.
    #[must_use]
    pub fn result(&self, number: u64) -> Option<&NamedResult> {
        self.results.iter().find(|result| result.number == number)
    }
}

impl Workbench {
    /// Stores results in `folder` from now on, and loads those that are there.
    pub(crate) fn store_results_in(&mut self, folder: &Path) -> std::io::Result<()> {
        let (store, entries) = Store::open(folder)?;
        let experiments = &mut self.model.experiments;
        for entry in entries {
            // A result that this version cannot read stays for the version that can.
            let stored = serde_json::from_slice(&entry.content);
            let Ok(Stored { name, record }) = stored else { continue };
            if record.is_readable() {
                experiments.count += 1;
                let (number, record) = (experiments.count, Arc::new(record));
                experiments.results.push(NamedResult {
                    number,
                    name,
                    record,
                    entry: Some(entry.id),
                });
            }
        }
        self.results = Some(store);
        Ok(())
    }

    /// Adds a record to the results and to the store, under `name` or a new one.
    fn add_result(&mut self, record: Arc<Record>, name: Option<String>) {
        let experiments = &mut self.model.experiments;
        experiments.add(record);
        let Some(result) = experiments.results.last_mut() else { return };
        result.name = name.unwrap_or_else(|| result.name.clone());
        if let Some(store) = &mut self.results {
            result.entry = Some(store.add(result.content()));
        }
    }

    /// Reports a result that could not be stored.
    pub(crate) fn report_store_error(&mut self) {
        if let Some(failure) = self.results.as_ref().and_then(Store::take_error) {
            self.complain(&format!("A result could not be stored: {failure}"));
        }
    }

    pub(crate) fn run_experiment(&mut self, request: ExperimentRequest) {
        // Dropping a job cancels it.
        self.experiment = None;
        let experiments = &mut self.model.experiments;
        experiments.count += 1;
        experiments.failure = None;
        let number = experiments.count;
        let title =
            by_name(&request.experiment).map_or("", |experiment| experiment.title).to_owned();
        let (cancel, wake) = (CancelToken::new(), self.session.waker());
        let progress = Arc::new(Progress::new(cancel.clone()).with_listener(move |_| wake()));
        experiments.running =
            Some(RunningExperiment { number, title, progress: Arc::clone(&progress) });
        let run = move || request.run(&progress);
        self.experiment = Some(self.session.start_measuring_job("experiment", cancel, run));
    }

    pub(crate) fn cancel_experiment(&mut self) {
        self.experiment = None;
        self.model.experiments.running = None;
    }

    /// Takes the outcome of the running experiment, if it has ended since the last frame.
    pub(crate) fn poll_experiment(&mut self) {
        let Some(outcome) = self.experiment.as_ref().and_then(Job::take_outcome) else { return };
        self.experiment = None;
        self.model.experiments.running = None;
        match outcome {
            Ok(Ok(record)) => self.add_result(Arc::new(record), None),
            Ok(Err(ExperimentError::Cancelled(_))) => {}
            Ok(Err(error)) => self.model.experiments.failure = Some(error.to_string()),
            Err(panic) => {
                self.model.experiments.failure = Some(format!("internal error: {panic}"));
            }
        }
    }

    pub(crate) fn rename_result(&mut self, number: u64, name: String) {
        let mut results = self.model.experiments.results.iter_mut();
        if let Some(result) = results.find(|result| result.number == number) {
            result.name = name;
            if let (Some(store), Some(entry)) = (&self.results, &result.entry) {
                store.write(entry, result.content());
            }
        }
    }

    pub(crate) fn remove_result(&mut self, number: u64) {
        let results = &mut self.model.experiments.results;
        for removed in results.extract_if(.., |result| result.number == number) {
            if let (Some(store), Some(entry)) = (&self.results, &removed.entry) {
                store.remove(entry);
            }
        }
    }

    /// Writes a result into `folder`: as JSON, which can be opened again, its tables as CSV and its
    /// figures as SVG.
    pub(crate) fn export_result(&mut self, number: u64, folder: &Path) {
        let Some(result) = self.model.experiments.result(number) else { return };
        // An absolute path tells the user where the files are.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        match export(result, &folder) {
            Ok(files) => {
                let files: Vec<String> =
                    files.iter().map(|path| path.display().to_string()).collect();
                self.toasts.success(format!("Written:\n{}", files.join("\n")));
            }
            Err(message) => self.complain(&message),
        }
    }

    /// Opens a result that was written as JSON.
    pub(crate) fn open_result(&mut self, path: &Path) {
        let read = std::fs::read_to_string(path).map_err(|error| error.to_string());
        match read.and_then(|text| Record::read(&text)) {
            Ok(record) => {
                let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
                self.add_result(Arc::new(record), name);
            }
            Err(message) => self.complain(&format!("{}: {message}", path.display())),
        }
    }
}

impl NamedResult {
    /// The content of its entry in the store, to be made on the thread that writes it.
    fn content(&self) -> impl FnOnce() -> Vec<u8> + Send + 'static {
        let (name, record) = (self.name.clone(), Arc::clone(&self.record));
        // Serialising plain data cannot fail.
        move || serde_json::to_vec(&Stored { name, record: (*record).clone() }).unwrap_or_default()
    }
}

/// A file name without extension, made of the letters and digits of `name`.
fn file_stem(name: &str) -> String {
    let letter_or_hyphen = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let parts = name.chars().map(letter_or_hyphen).collect::<String>();
    parts.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Writes a result into `folder` and returns the paths of the files. Files that exist with other
/// content are not replaced: the new ones have a number in their names.
fn export(result: &NamedResult, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    let has_other_content = |(name, content): &(String, String)| {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(existing) => Ok(existing != content.as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(&path)(error)),
        }
    };
    let stem = file_stem(&result.name);
    let mut files = result.record.files(&stem);
    for number in 2.. {
        let conflicts: Vec<bool> = files.iter().map(has_other_content).collect::<Result<_, _>>()?;
        if !conflicts.contains(&true) {
            break;
        }
        files = result.record.files(&format!("{stem}-{number}"));
    }
    let mut written = Vec::new();
    for (name, content) in files {
        let path = folder.join(name);
        write_atomically(&path, content.as_bytes()).map_err(failed(&path))?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_made_of_letters_and_digits() {
        assert_eq!(file_stem("fig7 #2"), "fig7-2");
        assert_eq!(file_stem("../etc/passwd: Überlauf"), "etc-passwd-Überlauf");
    }
}
