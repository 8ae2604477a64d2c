//! Finds and reads the cases of a file that may be too long to be read while the window waits. Jobs
//! of the session do this. If the list can hold all cases, they are added to the list. Otherwise
//! the file stays open, and only the cases that were read last are in memory.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::app::state::case_files;
use crate::app::state::case_store::CaseStore;
use crate::app::state::cases::{self, MAX_CASES};
use crate::app::state::core::Core;
use crate::app::state::evidence;
use crate::app::state::history::History;
use crate::app::state::long_case_file::LongCaseFile;
use crate::app::state::pane::Pane;
use crate::cancel::CancelToken;
use crate::format::cases::{CaseError, CaseIndex, ReadCase};
use crate::network::Evidence;
use crate::numbers::{counted, thousands};
use crate::session::Job;

/// Number of cases to read before and after those on screen, so that scrolling a little needs no
/// other read.
const MARGIN: usize = 50;

/// Number of newly found cases after which the window is drawn again. With fewer, the search is
/// slower; with more, the count on screen lags behind.
const CASES_PER_FRAME: usize = 1 << 16;

/// What the user is told about a file without cases.
pub(crate) const NO_CASES: &str = "The file has no cases";

/// What a job finds in a file.
struct Found {
    index: CaseIndex,
    /// The first cases, at most [`MAX_CASES`].
    first: Vec<ReadCase>,
}

/// A job for the document with this serial number.
struct DocumentJob<T> {
    serial: u64,
    job: Job<T>,
}

/// A job that reads some cases.
type PageJob = DocumentJob<Result<Vec<ReadCase>, CaseError>>;

/// Finds and reads the cases of long files.
#[derive(Default)]
pub(crate) struct LongCaseReader {
    /// The job that finds the cases; `None` once it has ended.
    finding: Option<DocumentJob<Result<Option<Found>, CaseError>>>,
    /// Whether to enter the first case once all cases are found.
    enters_first: bool,
    /// The cases that a job is reading, and the job.
    reading: Option<(Range<usize>, PageJob)>,
    /// What to read next.
    wanted: Option<Range<usize>>,
}

impl LongCaseReader {
    /// As [`open`](Self::open), and enters the evidence of the first case once all cases are found.
    pub(crate) fn open_and_enter_first(&mut self, core: &mut Core, path: &Path) {
        self.open(core, path);
        self.enters_first = true;
    }

    /// Starts to find the cases of the file at `path`, for the open document.
    pub(crate) fn open(&mut self, core: &mut Core, path: &Path) {
        let session = &core.requests.session;
        let Some(document) = &mut core.model.document else { return };
        let file = LongCaseFile::new(path);
        let (found, wake) = (Arc::clone(&file.found), session.waker());
        let (network, path) = (Arc::clone(document.network()), path.to_owned());
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let find = move || {
            let report = |count| {
                found.store(count, Ordering::Relaxed);
                if count % CASES_PER_FRAME == 0 {
                    wake();
                }
            };
            let Some(index) = CaseIndex::build(&path, network, &token, report)? else {
                return Ok(None);
            };
            let first = index.read(0..MAX_CASES)?;
            Ok(Some(Found { index, first }))
        };
        *self = Self {
            finding: Some(DocumentJob {
                serial: document.serial,
                job: session.start_job("case file", cancel, find),
            }),
            ..Self::default()
        };
        document.long_case_file = Some(file);
    }

    /// Closes the file of the open document.
    pub(crate) fn close(&mut self, core: &mut Core) {
        *self = Self::default();
        if let Some(document) = core.document() {
            document.long_case_file = None;
        }
    }

    /// Reads the cases in `range`, counted from zero, unless they are being read. If other cases
    /// are being read, reads the cases in `range` next.
    pub(crate) fn read(&mut self, core: &Core, range: Range<usize>) {
        let session = &core.requests.session;
        let Some(document) = &core.model.document else { return };
        let Some(file) = &document.long_case_file else { return };
        let Some(index) = file.index.clone() else { return };
        if let Some((reading, _)) = &self.reading {
            let is_read = reading.start <= range.start && range.end <= reading.end;
            self.wanted = (!is_read).then_some(range);
            return;
        }
        let range = range.start.saturating_sub(MARGIN)..range.end.saturating_add(MARGIN);
        let read_range = range.clone();
        let job =
            session.start_job("case page", CancelToken::new(), move || index.read(read_range));
        self.reading = Some((range, DocumentJob { serial: document.serial, job }));
    }

    /// Enters the evidence of the case at `index`. Does nothing if the case is not among those that
    /// were read last, or if it has a mistake.
    pub(crate) fn enter(core: &mut Core, history: &mut History, index: usize) {
        let Some(document) = &core.model.document else { return };
        let case = document.long_case_file.as_ref().and_then(|file| file.case(index));
        let Some(Ok(new)) = case.map(|case| case.evidence.clone()) else { return };
        evidence::change(core, history, |evidence| *evidence = new);
    }

    /// Adds the case at `index` to the list. Does nothing if the case is not among those that were
    /// read last.
    pub(crate) fn add(core: &mut Core, store: &mut CaseStore, index: usize) {
        let Some(document) = &core.model.document else { return };
        let Some(file) = &document.long_case_file else { return };
        let Some(case) = file.case(index).cloned() else { return };
        let path = file.path.clone();
        let named = without_mistakes(core, &path, &[case]);
        cases::add(core, store, named);
    }

    /// Receives the outcomes of the jobs that have ended.
    pub(crate) fn receive(
        &mut self,
        core: &mut Core,
        history: &mut History,
        store: &mut CaseStore,
    ) {
        if let Some(outcome) = self.finding.as_ref().and_then(|finding| finding.job.take_outcome())
        {
            let serial = self.finding.take().map(|finding| finding.serial);
            if core.model.document.as_ref().map(|document| document.serial) == serial {
                self.receive_found(core, history, store, outcome);
            }
        }
        if let Some(outcome) =
            self.reading.as_ref().and_then(|(_, reading)| reading.job.take_outcome())
        {
            let reading = self.reading.take();
            let document = core.model.document.as_mut();
            let document = document
                .zip(reading)
                .filter(|(document, (_, reading))| document.serial == reading.serial);
            if let Some((document, (range, _))) = document {
                match flattened(outcome) {
                    Err(message) => {
                        document.long_case_file = None;
                        core.notices.error(&message);
                    }
                    Ok(cases) => {
                        if let Some(file) = &mut document.long_case_file {
                            (file.first, file.cases) = (range.start, cases.into());
                        }
                    }
                }
            }
            if let Some(wanted) = self.wanted.take() {
                self.read(core, wanted);
            }
        }
    }

    /// Receives the cases that were found. If a list can hold so many, closes the file and
    /// treats its cases as those of a short file; see
    /// [`CaseFileCommand`](case_files::CaseFileCommand).
    fn receive_found(
        &self,
        core: &mut Core,
        history: &mut History,
        store: &mut CaseStore,
        outcome: Result<Result<Option<Found>, CaseError>, String>,
    ) {
        let Some(document) = &mut core.model.document else { return };
        let file = document.long_case_file.take();
        let found = match flattened(outcome) {
            Ok(found) => found,
            Err(message) => return core.notices.error(&message),
        };
        let Some((mut file, Found { index, first })) = file.zip(found) else { return };
        index.warnings().iter().for_each(|warning| core.notices.warning(warning));
        let count = index.len();
        if count == 0 {
            return core.notices.warning(NO_CASES);
        }
        if count <= MAX_CASES {
            let named = without_mistakes(core, &file.path, &first);
            if self.enters_first {
                case_files::enter_first(core, history, store, named);
            } else {
                cases::add(core, store, named);
            }
            return;
        }
        let without_mistake = first.iter().find(|case| case.evidence.is_ok());
        let entered = without_mistake.map(|case| (case.number, case.evidence.clone()));
        file.cases = first.into();
        file.index = Some(Arc::new(index));
        document.long_case_file = Some(file);
        core.show_pane(Pane::Cases);
        if !self.enters_first {
            return;
        }
        match entered {
            Some((number, Ok(first))) => {
                let text = format!(
                    "Case {} of {} was entered",
                    thousands(number as u64),
                    thousands(count as u64)
                );
                core.notices.info(&text);
                evidence::change(core, history, |evidence| *evidence = first);
            }
            _ => core
                .notices
                .warning(&format!("No case was entered: the first {MAX_CASES} have mistakes")),
        }
    }
}

/// The name and the evidence of each of `cases` that has no mistake. A case without a name is named
/// after the file at `path`. Shows the user the first mistake.
pub(crate) fn without_mistakes(
    core: &mut Core,
    path: &Path,
    cases: &[ReadCase],
) -> Vec<(String, Evidence)> {
    let mut mistakes = cases.iter().filter_map(|case| case.evidence.as_ref().err());
    if let Some(first) = mistakes.next() {
        core.notices.error(&match mistakes.count() {
            0 => first.to_string(),
            more => format!("{first}\nand {}", counted(more, "more mistake", "more mistakes")),
        });
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_single = cases.len() == 1 && cases[0].number == 1;
    let named = |case: &ReadCase| {
        let default = || if is_single { stem.clone() } else { format!("{stem} {}", case.number) };
        let evidence = case.evidence.as_ref().ok()?.clone();
        Some((case.name.clone().unwrap_or_else(default), evidence))
    };
    cases.iter().filter_map(named).collect()
}

/// The outcome of a job, with its errors as text.
fn flattened<T>(outcome: Result<Result<T, CaseError>, String>) -> Result<T, String> {
    outcome?.map_err(|error| error.to_string())
}
