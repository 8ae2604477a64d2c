//! Loads evidence and cases from files, and saves them.

use std::fs::Metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::allocate;
use crate::app::state::case_store::CaseStore;
use crate::app::state::cases::{self, MAX_CASES};
use crate::app::state::core::Core;
use crate::app::state::document::Document;
use crate::app::state::evidence;
use crate::app::state::history::History;
use crate::app::state::long_case_reader::{self, LongCaseReader};
use crate::app::state::pane::Pane;
use crate::format::NetworkOrigin;
use crate::format::cases::{CaseError, CaseFormat, CaseReader, ReadCase, write_file};
use crate::network::{Evidence, Network};

/// A command about files of evidence or cases.
///
/// A file with more cases than the list of the Cases pane can hold is shown in that pane outside
/// the list, as the long file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseFileCommand {
    /// Enter the evidence of the first case without mistakes in this file. If the file has several
    /// cases, also add those without mistakes to the list, or show the long file if it
    /// has too many.
    LoadEvidence(PathBuf),
    /// Save the current evidence to this file.
    SaveEvidence(PathBuf),
    /// Add the cases of this file to the list, or show the long file if it has too many.
    OpenCases(PathBuf),
    /// Read these cases of the long file, counted from zero.
    ReadCases(Range<usize>),
    /// Enter the evidence of the case with this index in the long file.
    EnterCase(usize),
    /// Copy the case with this index from the long file into the list.
    AddCase(usize),
    /// Close the long file.
    CloseFile,
    /// Save all listed cases to this file.
    SaveCases(PathBuf),
}

/// Applies `command` to the open document.
pub(crate) fn apply(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    long_files: &mut LongCaseReader,
    command: CaseFileCommand,
) {
    match command {
        CaseFileCommand::LoadEvidence(path) => {
            load_evidence(core, history, store, long_files, &path);
        }
        CaseFileCommand::OpenCases(path) => match read_short(core, &path) {
            ShortFile::Cases(named) => cases::add(core, store, named),
            ShortFile::TooLong => long_files.open(core, &path),
            ShortFile::Failed => {}
        },
        CaseFileCommand::ReadCases(range) => long_files.read(core, range),
        CaseFileCommand::EnterCase(index) => LongCaseReader::enter(core, history, index),
        CaseFileCommand::AddCase(index) => LongCaseReader::add(core, store, index),
        CaseFileCommand::CloseFile => long_files.close(core),
        CaseFileCommand::SaveEvidence(path) => {
            let Some(document) = &core.model.document else { return };
            let evidence = document.evidence.clone();
            write(core, &path, &[evidence], &[]);
        }
        CaseFileCommand::SaveCases(path) => {
            let Some(document) = &core.model.document else { return };
            let named =
                document.cases.iter().map(|case| (case.name.clone(), case.evidence.clone()));
            let (names, evidence): (Vec<String>, Vec<Evidence>) = named.unzip();
            write(core, &path, &evidence, &names);
        }
    }
}

/// Enters the evidence of the file at `path`, as [`CaseFileCommand::LoadEvidence`] says.
fn load_evidence(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    long_files: &mut LongCaseReader,
    path: &Path,
) {
    let named = match read_short(core, path) {
        ShortFile::Cases(named) => named,
        ShortFile::TooLong => return long_files.open_and_enter_first(core, path),
        ShortFile::Failed => return,
    };
    enter_first(core, history, store, named);
}

/// Enters the evidence of the first of `named`, the cases of a file. If there are several, adds all
/// to the list.
pub(crate) fn enter_first(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    named: Vec<(String, Evidence)>,
) {
    let Some((_, first)) = named.first().cloned() else { return };
    let count = named.len();
    if count > 1 {
        cases::add(core, store, named);
        core.show_pane(Pane::Cases);
        core.notices.info(&format!("The first of {count} cases was entered"));
    }
    evidence::change(core, history, |evidence| *evidence = first);
}

/// Maximum size in bytes of a file that is read while the window waits, which takes less time than
/// a frame. Longer files are read by a job of the session.
const SHORT_BYTES: u64 = 1 << 16;

/// What was read from a file that may be short.
enum ShortFile {
    /// At least one case: all cases without mistakes, and their names.
    Cases(Vec<(String, Evidence)>),
    /// Nothing: the file is compressed or too long to be read while the window waits, or is not a
    /// regular file, or has more cases than the list can hold.
    TooLong,
    /// Nothing: there is no case without mistakes, or the file could not be read. The user was told
    /// why.
    Failed,
}

/// Reads the cases of a file if the file is short. Shows warnings and errors to the user.
fn read_short(core: &mut Core, path: &Path) -> ShortFile {
    let Some(document) = &core.model.document else {
        core.notices.error("Open a network before its evidence");
        return ShortFile::Failed;
    };
    let is_compressed = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
    // Opening a pipe may block forever.
    let is_long = |metadata: Metadata| !metadata.is_file() || metadata.len() > SHORT_BYTES;
    if is_compressed || path.metadata().is_ok_and(is_long) {
        return ShortFile::TooLong;
    }
    let read = allocate::or_error(|| read_cases(path, document.network()));
    let read = match read {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match read {
        Err(message) => {
            core.notices.error(&message);
            ShortFile::Failed
        }
        Ok(None) => ShortFile::TooLong,
        Ok(Some((cases, warnings))) => {
            warnings.iter().for_each(|warning| core.notices.warning(warning));
            if cases.is_empty() {
                core.notices.warning(long_case_reader::NO_CASES);
            }
            let named = long_case_reader::without_mistakes(core, path, &cases);
            if named.is_empty() { ShortFile::Failed } else { ShortFile::Cases(named) }
        }
    }
}

/// The cases of a file, and the warnings of the reader.
type CasesRead = (Vec<ReadCase>, Vec<String>);

/// All cases in the file at `path` with the warnings of the reader; `None` if there are more than
/// [`MAX_CASES`].
fn read_cases(path: &Path, network: &Network) -> Result<Option<CasesRead>, CaseError> {
    let mut reader = CaseReader::open(path, network)?;
    let cases: Vec<ReadCase> =
        reader.by_ref().take(MAX_CASES + 1).collect::<Result<_, CaseError>>()?;
    Ok((cases.len() <= MAX_CASES).then(|| (cases, reader.take_warnings())))
}

/// Writes `evidence`, one element per case, to `path`, unless the open network was read from that
/// file. Tells the user the outcome. `names` are the names of the cases; empty for cases without
/// names.
fn write(core: &mut Core, path: &Path, evidence: &[Evidence], names: &[String]) {
    let Some(document) = &core.model.document else { return };
    let shown = path.display();
    if is_file_of(document, path) {
        core.notices.error(&format!("{shown} is the open network: choose another file name"));
        return;
    }
    if let Err(error) = write_file(path, document.network(), evidence, names) {
        core.notices.error(&error.to_string());
        return;
    }
    let json = CaseFormat::Json.name();
    match CaseFormat::by_extension(&path.to_string_lossy()) {
        None => {
            let text = format!("Saved {shown} as {json}, because its extension is unknown");
            core.notices.info(&text);
        }
        Some(format) if !format.has_names() && !names.is_empty() => {
            let format = format.name();
            core.notices.warning(&format!(
                "Saved {shown} without the names of the cases: {format} cannot store them, \
                 but {json} can"
            ));
        }
        Some(_) => core.notices.success(&format!("Saved {shown}")),
    }
}

/// Whether `document` was read from the file at `path`.
fn is_file_of(document: &Document, path: &Path) -> bool {
    let NetworkOrigin::File(own) = &document.read.origin else { return false };
    // A file that has disappeared since it was read has no canonical path.
    let absolute = (std::path::absolute(own), std::path::absolute(path));
    let canonical = (own.canonicalize(), path.canonicalize());
    matches!(absolute, (Ok(own), Ok(path)) if own == path)
        || matches!(canonical, (Ok(own), Ok(path)) if own == path)
}
