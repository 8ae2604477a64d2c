//! Experiments of the window: the one that runs, and what came of those that ran.

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

/// What is known of experiments.
#[derive(Clone, Debug, Default)]
pub struct Laboratory {
    /// The one that runs.
    pub running: Option<RunningExperiment>,
    /// What came of those that ran or were opened, the newest last.
    pub results: Vec<KeptResult>,
    /// Why the last one failed.
    pub failure: Option<String>,
    /// Number of the last experiment or result.
    count: u64,
}

/// An experiment that runs.
#[derive(Clone)]
pub struct RunningExperiment {
    /// Its number.
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

/// What an experiment gave, under a name.
#[derive(Clone, Debug)]
pub struct KeptResult {
    /// Tells it from all others of this run of the program.
    pub number: u64,
    /// What the user calls it.
    pub name: String,
    /// What it gave.
    pub record: Arc<Record>,
    /// Where it is kept from one run to the next, if it is.
    entry: Option<EntryId>,
}

/// A result as it is kept from one run to the next.
#[derive(serde::Serialize, serde::Deserialize)]
struct Stored {
    name: String,
    record: Record,
}

impl Laboratory {
    /// Keeps a record under a name that no other has.
    pub fn keep(&mut self, record: Arc<Record>) {
        self.count += 1;
        let base = record.experiment.clone();
        let free = |name: &String| self.results.iter().all(|kept| kept.name != *name);
        let name = (1..).map(|n| format!("{base} #{n}")).find(free).unwrap_or(base);
        self.results.push(KeptResult { number: self.count, name, record, entry: None });
    }

    /// The result with this number.
    #[must_use]
    pub fn result(&self, number: u64) -> Option<&KeptResult> {
        self.results.iter().find(|kept| kept.number == number)
    }
}

impl Workbench {
    /// Keeps results in `folder` from now on, and brings back those that are there.
    pub(crate) fn keep_results_in(&mut self, folder: &Path) -> std::io::Result<()> {
        let (store, entries) = Store::open(folder)?;
        let laboratory = &mut self.model.laboratory;
        for entry in entries {
            // Another version's may mean nothing here, and stay for that version.
            let stored = serde_json::from_slice(&entry.content);
            let Ok(Stored { name, record }) = stored else { continue };
            if record.is_readable() {
                laboratory.count += 1;
                let (number, record) = (laboratory.count, Arc::new(record));
                laboratory.results.push(KeptResult { number, name, record, entry: Some(entry.id) });
            }
        }
        self.results = Some(store);
        Ok(())
    }

    /// Takes a record on the list, and keeps it from one run to the next.
    fn keep_result(&mut self, record: Arc<Record>, name: Option<String>) {
        let laboratory = &mut self.model.laboratory;
        laboratory.keep(record);
        let Some(kept) = laboratory.results.last_mut() else { return };
        kept.name = name.unwrap_or_else(|| kept.name.clone());
        if let Some(store) = &mut self.results {
            kept.entry = Some(store.add(kept.write()));
        }
    }

    /// Tells of a result that could not be written.
    pub(crate) fn tell_of_results(&mut self) {
        if let Some(failure) = self.results.as_ref().and_then(Store::take_error) {
            self.complain(&format!("A result could not be kept: {failure}"));
        }
    }

    pub(crate) fn run_experiment(&mut self, request: ExperimentRequest) {
        // Cancels the one that runs.
        self.experiment = None;
        let laboratory = &mut self.model.laboratory;
        laboratory.count += 1;
        laboratory.failure = None;
        let number = laboratory.count;
        let title =
            by_name(&request.experiment).map_or("", |experiment| experiment.title).to_owned();
        let (cancel, wake) = (CancelToken::new(), self.session.waker());
        let progress = Arc::new(Progress::new(cancel.clone()).with_listener(move |_| wake()));
        laboratory.running =
            Some(RunningExperiment { number, title, progress: Arc::clone(&progress) });
        let run = move || request.run(&progress);
        self.experiment = Some(self.session.start_measuring_job("experiment", cancel, run));
    }

    pub(crate) fn cancel_experiment(&mut self) {
        self.experiment = None;
        self.model.laboratory.running = None;
    }

    /// Takes the outcome of the running experiment, if it has ended since the last frame.
    pub(crate) fn poll_experiment(&mut self) {
        let Some(outcome) = self.experiment.as_ref().and_then(Job::take_outcome) else { return };
        self.experiment = None;
        self.model.laboratory.running = None;
        match outcome {
            Ok(Ok(record)) => self.keep_result(Arc::new(record), None),
            Ok(Err(ExperimentError::Cancelled(_))) => {}
            Ok(Err(error)) => self.model.laboratory.failure = Some(error.to_string()),
            Err(panic) => {
                self.model.laboratory.failure = Some(format!("internal error: {panic}"));
            }
        }
    }

    pub(crate) fn rename_result(&mut self, number: u64, name: String) {
        let mut results = self.model.laboratory.results.iter_mut();
        if let Some(kept) = results.find(|kept| kept.number == number) {
            kept.name = name;
            if let (Some(store), Some(entry)) = (&self.results, &kept.entry) {
                store.write(entry, kept.write());
            }
        }
    }

    pub(crate) fn remove_result(&mut self, number: u64) {
        let results = &mut self.model.laboratory.results;
        for removed in results.extract_if(.., |kept| kept.number == number) {
            if let (Some(store), Some(entry)) = (&self.results, &removed.entry) {
                store.remove(entry);
            }
        }
    }

    /// Writes a result into `folder`: as JSON, which can be opened again, its tables as CSV and its
    /// figures as SVG.
    pub(crate) fn export_result(&mut self, number: u64, folder: &Path) {
        let Some(kept) = self.model.laboratory.result(number) else { return };
        // Absolute, so that what is told of the files says where they are.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        match export(kept, &folder) {
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
                self.keep_result(Arc::new(record), name);
            }
            Err(message) => self.complain(&format!("{}: {message}", path.display())),
        }
    }
}

impl KeptResult {
    /// Makes what is written of it.
    fn write(&self) -> impl FnOnce() -> Vec<u8> + Send + 'static {
        let (name, record) = (self.name.clone(), Arc::clone(&self.record));
        // Plain data, of which every value can be written.
        move || serde_json::to_vec(&Stored { name, record: (*record).clone() }).unwrap_or_default()
    }
}

/// The name of a file that `name` is kept in, without an ending.
fn file_stem(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let parts = name.chars().map(plain).collect::<String>();
    parts.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Writes a result into `folder`, and says to which files.
fn export(kept: &KeptResult, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let said = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    std::fs::create_dir_all(folder).map_err(said(folder))?;
    // What is there already and says something else is not replaced.
    let is_other = |(name, content): &(String, String)| {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(there) => Ok(there != content.as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(said(&path)(error)),
        }
    };
    let stem = file_stem(&kept.name);
    let mut files = kept.record.files(&stem);
    for number in 2.. {
        let others: Vec<bool> = files.iter().map(is_other).collect::<Result<_, _>>()?;
        if !others.contains(&true) {
            break;
        }
        files = kept.record.files(&format!("{stem}-{number}"));
    }
    let mut written = Vec::new();
    for (name, content) in files {
        let path = folder.join(name);
        write_atomically(&path, content.as_bytes()).map_err(said(&path))?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_names_of_files() {
        assert_eq!(file_stem("fig7 #2"), "fig7-2");
        assert_eq!(file_stem("../etc/passwd: Überlauf"), "etc-passwd-Überlauf");
    }
}
