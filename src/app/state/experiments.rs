//! The running experiment, and the results of experiments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::state::merging::{MergeRequest, MergedTree, Merger};
use crate::app::state::notices::Notices;
use crate::cancel::CancelToken;
use crate::experiment::{ExperimentError, ExperimentRequest, Progress, Record, by_name};
use crate::format::check_not_special;
use crate::propagation::CompiledNetwork;
use crate::session::{Job, Session};
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
    /// Write the files of a result into this folder.
    ExportResult(u64, PathBuf),
    /// Open the result in this file.
    OpenResult(PathBuf),
    /// Remove small separators from a tree by merging the cliques on either side.
    Merge(MergeRequest),
}

/// The running experiment and all results.
#[derive(Clone, Debug, Default)]
pub struct Experiments {
    /// The running experiment.
    pub running: Option<RunningExperiment>,
    /// Results of experiments that ran, were stored or were opened from a file, in the order in
    /// which they were added.
    pub results: Vec<NamedResult>,
    /// Why the last experiment failed, if it did.
    pub failure: Option<String>,
    /// The tree that was merged last.
    pub merged: Option<MergedTree>,
    /// The highest number given to an experiment or a result so far.
    last_number: u64,
}

/// A running experiment.
#[derive(Clone)]
pub struct RunningExperiment {
    /// The number of the experiment.
    pub number: u64,
    /// The title of the experiment.
    pub title: String,
    /// The progress of the experiment.
    pub progress: Arc<Progress>,
}

impl std::fmt::Debug for RunningExperiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "experiment {}, {}", self.number, self.title)
    }
}

/// The result of an experiment, under a name.
#[derive(Clone, Debug)]
pub struct NamedResult {
    /// Unique among all results of this run of the program.
    pub number: u64,
    /// The name, which the user can change.
    pub name: String,
    /// The result as data.
    pub record: Arc<Record>,
    /// The stored entry of the result; `None` if results are lost at the end of the run.
    entry: Option<EntryId>,
}

impl NamedResult {
    /// A function that makes the content of the stored entry. Another thread can call it.
    fn content(&self) -> impl FnOnce() -> Vec<u8> + Send + 'static {
        let (name, record) = (self.name.clone(), Arc::clone(&self.record));
        move || {
            // Serialising plain data to memory cannot fail.
            serde_json::to_vec(&StoredResult { name, record: (*record).clone() })
                .unwrap_or_default()
        }
    }
}

/// A result as it is stored.
#[derive(serde::Serialize, serde::Deserialize)]
struct StoredResult {
    name: String,
    record: Record,
}

impl Experiments {
    /// Adds the result `record`. Its name consists of the name of the experiment and the first free
    /// number: `fig7 #2`.
    pub fn add(&mut self, record: Arc<Record>) {
        self.last_number += 1;
        let base = record.experiment.clone();
        let is_free = |name: &String| self.results.iter().all(|result| result.name != *name);
        let name = (1..).map(|n| format!("{base} #{n}")).find(is_free).unwrap_or(base);
        let number = self.last_number;
        self.results.push(NamedResult { number, name, record, entry: None });
    }

    /// The result with this number.
    #[must_use]
    pub fn result(&self, number: u64) -> Option<&NamedResult> {
        self.results.iter().find(|result| result.number == number)
    }
}

/// Runs experiments and stores their results.
#[derive(Default)]
pub(crate) struct ExperimentRunner {
    /// The thread of the running experiment.
    job: Option<Job<Result<Record, ExperimentError>>>,
    /// The stored results; `None` if results are lost when the program ends.
    store: Option<Store>,
    merger: Merger,
}

impl ExperimentRunner {
    /// Opens the store in `folder` and adds its results to `experiments`.
    ///
    /// # Errors
    /// If the folder cannot be created or read, or the operating system cannot start a thread.
    pub(crate) fn open(folder: &Path, experiments: &mut Experiments) -> std::io::Result<Self> {
        let (store, entries) = Store::open(folder)?;
        for entry in entries {
            // Skip files that cannot be read, but keep them: another version of the program may
            // have written them.
            let stored = serde_json::from_slice(&entry.content);
            let Ok(StoredResult { name, record }) = stored else { continue };
            if record.is_readable() {
                experiments.last_number += 1;
                experiments.results.push(NamedResult {
                    number: experiments.last_number,
                    name,
                    record: Arc::new(record),
                    entry: Some(entry.id),
                });
            }
        }
        Ok(Self { store: Some(store), ..Self::default() })
    }

    /// Checks that results can be written to the folder of the store.
    ///
    /// # Errors
    /// If a file cannot be written there.
    pub(crate) fn check_writable(&self) -> std::io::Result<()> {
        self.store.as_ref().map_or(Ok(()), Store::check_writable)
    }

    /// Why a result could not be written or removed, if that has happened since the last call.
    pub(crate) fn take_error(&self) -> Option<String> {
        self.store.as_ref().and_then(Store::take_error)
    }

    /// Applies `command`.
    pub(crate) fn apply(
        &mut self,
        experiments: &mut Experiments,
        session: &Session,
        notices: &mut Notices,
        command: ExperimentCommand,
    ) {
        match command {
            ExperimentCommand::Run(request) => self.run(experiments, session, *request),
            ExperimentCommand::Cancel => {
                self.job = None;
                experiments.running = None;
            }
            ExperimentCommand::RenameResult(number, name) => {
                let mut results = experiments.results.iter_mut();
                if let Some(result) = results.find(|result| result.number == number) {
                    result.name = name;
                    if let (Some(store), Some(entry)) = (&self.store, &result.entry) {
                        store.write(entry, result.content());
                    }
                }
            }
            ExperimentCommand::RemoveResult(number) => {
                let is_removed = |result: &mut NamedResult| result.number == number;
                for removed in experiments.results.extract_if(.., is_removed) {
                    if let (Some(store), Some(entry)) = (&self.store, &removed.entry) {
                        store.remove(entry);
                    }
                }
            }
            ExperimentCommand::ExportResult(number, folder) => {
                let Some(result) = experiments.result(number) else { return };
                // The notice shows the paths, so make them absolute.
                let folder = std::path::absolute(&folder).unwrap_or(folder);
                match export(result, &folder) {
                    Ok(files) => {
                        let files: Vec<String> =
                            files.iter().map(|path| path.display().to_string()).collect();
                        notices.success(&format!("Written:\n{}", files.join("\n")));
                    }
                    Err(message) => notices.error(&message),
                }
            }
            ExperimentCommand::OpenResult(path) => match read_result(&path) {
                Ok(record) => {
                    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
                    self.add(experiments, Arc::new(record), name);
                }
                Err(message) => notices.error(&message),
            },
            ExperimentCommand::Merge(request) => self.merger.ask(session, request),
        }
    }

    /// Starts an experiment, and cancels the running one if there is one.
    fn run(
        &mut self,
        experiments: &mut Experiments,
        session: &Session,
        request: ExperimentRequest,
    ) {
        self.job = None;
        experiments.last_number += 1;
        experiments.failure = None;
        let number = experiments.last_number;
        let title =
            by_name(&request.experiment).map_or("", |experiment| experiment.title).to_owned();
        let (cancel, wake) = (CancelToken::new(), session.waker());
        let progress = Arc::new(Progress::new(cancel.clone()).with_listener(move |_| wake()));
        experiments.running =
            Some(RunningExperiment { number, title, progress: Arc::clone(&progress) });
        let run = move || request.run(&progress);
        self.job = Some(session.start_measuring_job("experiment", cancel, run));
    }

    /// Receives the outcome of the running experiment, if the experiment has ended, and the tree
    /// that was merged, if there is a new one. Forgets merged trees of any network but `open`.
    pub(crate) fn receive(
        &mut self,
        experiments: &mut Experiments,
        session: &Session,
        open: Option<&Arc<CompiledNetwork>>,
    ) {
        let last = experiments.merged.take();
        let last = last.filter(|last| {
            open.is_some_and(|compiled| Arc::ptr_eq(&last.request.original, compiled))
        });
        experiments.merged = self.merger.receive(session, open).or(last);
        let Some(outcome) = self.job.as_ref().and_then(Job::take_outcome) else { return };
        self.job = None;
        experiments.running = None;
        match outcome {
            Ok(Ok(record)) => self.add(experiments, Arc::new(record), None),
            Ok(Err(ExperimentError::Cancelled(_))) => {}
            Ok(Err(error)) => experiments.failure = Some(error.to_string()),
            Err(failure) => experiments.failure = Some(failure),
        }
    }

    /// Adds a result to the list and stores it. Its name is `name`, or else as in
    /// [`Experiments::add`].
    fn add(&mut self, experiments: &mut Experiments, record: Arc<Record>, name: Option<String>) {
        experiments.add(record);
        let Some(result) = experiments.results.last_mut() else { return };
        result.name = name.unwrap_or_else(|| result.name.clone());
        if let Some(store) = &mut self.store {
            result.entry = Some(store.add(result.content()));
        }
    }
}

/// Reads the result of an experiment.
///
/// # Errors
/// If the file at `path` cannot be read, is a pipe or a device, or is not such a result; the error
/// is a message for the user.
fn read_result(path: &Path) -> Result<Record, String> {
    check_not_special(path).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| Record::read(&text))
        .map_err(|message| format!("{}: {message}", path.display()))
}

/// A file name without extension: `name` with a hyphen in place of each sequence of
/// characters that are neither letters nor digits, and without hyphens at either end. `result` if
/// nothing is left.
fn file_stem(name: &str) -> String {
    let letter_or_hyphen = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let with_hyphens = name.chars().map(letter_or_hyphen).collect::<String>();
    let parts: Vec<&str> = with_hyphens.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "result".to_owned() } else { parts.join("-") }
}

/// Writes the files of a result into `folder`, and returns their paths. Never replaces a file that
/// has other content: if there is such a file, all new files get the same number in their names.
///
/// # Errors
/// If the folder cannot be created, if a file cannot be read or written, or if a pipe or a device
/// has the name of one of the files; the error is a message for the user.
fn export(result: &NamedResult, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let to_message = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    std::fs::create_dir_all(folder).map_err(to_message(folder))?;
    let has_other_content = |(name, content): &(String, String)| {
        let path = folder.join(name);
        check_not_special(&path).map_err(|error| error.to_string())?;
        match std::fs::read(&path) {
            Ok(existing) => Ok(existing != content.as_bytes()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(to_message(&path)(error)),
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
        write_atomically(&path, content.as_bytes()).map_err(to_message(&path))?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_made_of_letters_digits_and_single_hyphens() {
        assert_eq!(file_stem("fig7 #2"), "fig7-2");
        assert_eq!(file_stem("../etc/passwd: Überlauf"), "etc-passwd-Überlauf");
        assert_eq!(file_stem("???"), "result");
    }
}
