//! Loads evidence and cases from files, and saves them.

use std::path::{Path, PathBuf};

use crate::app::state::case_store::CaseStore;
use crate::app::state::cases;
use crate::app::state::core::Core;
use crate::app::state::document::Document;
use crate::app::state::evidence;
use crate::app::state::history::History;
use crate::app::state::pane::Pane;
use crate::app::state::pane_layout;
use crate::format::NetworkOrigin;
use crate::format::cases::{CaseFile, CaseFormat, read_file, write_file};
use crate::network::Evidence;

/// A command about files of evidence or cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseFileCommand {
    /// Enter the evidence of this file. If the file has several cases, enter the first and add all
    /// to the list.
    LoadEvidence(PathBuf),
    /// Save the current evidence to this file.
    SaveEvidence(PathBuf),
    /// Add the cases of this file to the list.
    OpenCases(PathBuf),
    /// Save all listed cases to this file.
    SaveCases(PathBuf),
}

/// Applies `command` to the open document.
pub(crate) fn apply(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    command: CaseFileCommand,
) {
    match command {
        CaseFileCommand::LoadEvidence(path) => load_evidence(core, history, store, &path),
        CaseFileCommand::OpenCases(path) => {
            if let Some(file) = read(core, &path) {
                cases::add(core, store, with_names(&path, file));
            }
        }
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

fn load_evidence(core: &mut Core, history: &mut History, store: &mut CaseStore, path: &Path) {
    let Some(file) = read(core, path) else { return };
    let Some(first) = file.cases.first().cloned() else { return };
    let count = file.cases.len();
    if count > 1 {
        cases::add(core, store, with_names(path, file));
        pane_layout::show_pane(&mut core.layout, Pane::Cases);
        core.notices.info(&format!("The first of {count} cases was entered"));
    }
    evidence::change(core, history, |evidence| *evidence = first);
}

/// Reads the cases of a file, and shows warnings and errors to the user. `None` after an error.
fn read(core: &mut Core, path: &Path) -> Option<CaseFile> {
    let Some(document) = &core.model.document else {
        core.notices.error("Open a network before its evidence");
        return None;
    };
    match read_file(path, document.network()) {
        Ok(file) => {
            file.warnings.iter().for_each(|warning| core.notices.warning(warning));
            Some(file)
        }
        Err(error) => {
            core.notices.error(&error.to_string());
            None
        }
    }
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
        Some(format) if format != CaseFormat::Json && !names.is_empty() => {
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
    matches!((own.canonicalize(), path.canonicalize()), (Ok(own), Ok(path)) if own == path)
}

/// The cases of the file at `path`, each with a name. Cases without a name are named after the
/// file.
fn with_names(path: &Path, file: CaseFile) -> Vec<(String, Evidence)> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let has_several = file.cases.len() > 1;
    let with_name = |(index, (name, case)): (usize, (Option<String>, Evidence))| {
        let default = || if has_several { format!("{stem} {}", index + 1) } else { stem.clone() };
        (name.unwrap_or_else(default), case)
    };
    file.names.into_iter().zip(file.cases).enumerate().map(with_name).collect()
}
