//! Evidence under names: what the user keeps of what is known, recalls and compares.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::state::command::ViewCommand;
use crate::app::state::history::Past;
use crate::app::state::model::{Document, Pane};
use crate::app::state::recovery::NetworkLocation;
use crate::app::updates::enter;
use crate::app::workbench::{NamedFinding, Workbench};
use crate::engine::ImpossibleEvidence;
use crate::format::Origin;
use crate::format::cases::{self, CaseFile, CaseFormat};
use crate::network::Evidence;
use crate::propagation::Posteriors;
use crate::store::{EntryId, Store};

/// Cases of a network that can be kept: all of them are propagated when they are compared.
pub const MOST_CASES: usize = 200;

/// A command about named cases. Cases are identified by their number.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseCommand {
    /// Add the evidence as a case of this name.
    Add(String),
    /// Enter the evidence of a case.
    Enter(u64),
    /// Rename a case.
    Rename(u64, String),
    /// Replace the evidence of a case by the present evidence.
    Replace(u64),
    /// Remove a case.
    Remove(u64),
    /// Add the cases of this file.
    Open(PathBuf),
    /// Save all cases of the open network to this file.
    SaveAll(PathBuf),
}

/// Evidence under a name.
#[derive(Clone, Debug)]
pub struct Case {
    /// Tells it from all others of this run of the program.
    pub number: u64,
    /// What the user calls it.
    pub name: String,
    /// What is known in it.
    pub evidence: Evidence,
    /// What follows from that, once it was computed, or why nothing does.
    pub answer: Option<Result<Arc<Posteriors>, ImpossibleEvidence>>,
}

/// The cases of all networks.
#[derive(Default)]
pub(crate) struct CaseStore {
    /// Where they are kept from one run to the next, if anywhere.
    store: Option<Store>,
    entries: Vec<Entry>,
    count: u64,
}

struct Entry {
    number: u64,
    id: Option<EntryId>,
    kept: Kept,
}

/// A case by names, so that it outlives the network that it was made in.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Kept {
    /// What it is a case of; nothing for what cannot be opened again.
    network: Option<NetworkLocation>,
    name: String,
    evidence: Vec<(String, NamedFinding)>,
}

impl Kept {
    fn json(&self) -> Vec<u8> {
        // Plain data, of which every value can be written.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl CaseStore {
    /// The drawer whose cases are kept in `folder`, with those that are there.
    fn open(folder: &Path) -> std::io::Result<Self> {
        let (store, entries) = Store::open(folder)?;
        let mut drawer = Self { store: Some(store), ..Self::default() };
        for entry in entries {
            // Another version's may mean nothing here, and stay for that version.
            if let Ok(kept) = serde_json::from_slice(&entry.content) {
                drawer.count += 1;
                drawer.entries.push(Entry { number: drawer.count, id: Some(entry.id), kept });
            }
        }
        Ok(drawer)
    }

    fn put(&mut self, kept: Kept) -> u64 {
        self.count += 1;
        self.put_back(self.count, kept);
        self.count
    }

    /// Keeps `kept`, which has this number.
    fn put_back(&mut self, number: u64, kept: Kept) {
        let copy = kept.clone();
        let id = self.store.as_mut().map(|store| store.add(move || copy.json()));
        self.entries.push(Entry { number, id, kept });
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut Kept)) {
        let found = self.entries.iter_mut().find(|entry| entry.number == number);
        let Some(Entry { id, kept, .. }) = found else { return };
        change(kept);
        if let (Some(store), Some(id)) = (&self.store, id) {
            let copy = kept.clone();
            store.write(id, move || copy.json());
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(index) = self.entries.iter().position(|entry| entry.number == number) else {
            return;
        };
        let entry = self.entries.remove(index);
        if let (Some(store), Some(id)) = (&self.store, &entry.id) {
            store.remove(id);
        }
    }
}

impl Workbench {
    /// Keeps the cases of all networks, and the results of experiments, in folders in `folder`, and
    /// brings back those that are there.
    pub fn keep_in(&mut self, folder: &Path) {
        let opened = CaseStore::open(&folder.join("cases")).map(|drawer| self.cases = drawer);
        if let Err(error) = opened.and_then(|()| self.store_results_in(&folder.join("results"))) {
            let folder = folder.display();
            self.complain(&format!("Cases and results are lost at the end: {folder}: {error}"));
        }
    }

    /// Tells of cases that could not be written.
    pub(crate) fn tell_of_the_drawer(&mut self) {
        if let Some(failure) = self.cases.store.as_ref().and_then(Store::take_error) {
            self.complain(&format!("A case could not be kept: {failure}"));
        }
    }

    /// Keeps the evidence under `name`, or under one that is free.
    pub(crate) fn keep_case(&mut self, name: &str) {
        let Some(document) = &self.model.document else { return };
        let (evidence, count) = (document.evidence.clone(), document.cases.len());
        self.add_cases(vec![(name.trim().to_owned(), evidence)]);
        let kept = self.document().and_then(|document| document.cases.get(count));
        if let Some(name) = kept.map(|case| case.name.clone())
            && !self.cases_are_seen()
        {
            self.tell(&format!("The evidence is kept as '{name}': see Cases"));
        }
    }

    /// Adds cases with the names that they came with, as far as they are free.
    fn add_cases(&mut self, cases: Vec<(String, Evidence)>) {
        let Some(document) = &self.model.document else { return };
        let room = MOST_CASES.saturating_sub(document.cases.len());
        let left_out = cases.len().saturating_sub(room);
        let network = NetworkLocation::of(&document.source);
        let mut names: Vec<String> = document.cases.iter().map(|case| case.name.clone()).collect();
        let mut listed = document.cases.clone();
        for (name, evidence) in cases.into_iter().take(room) {
            let name = free_name(&name, &names);
            names.push(name.clone());
            let kept = Kept {
                network: network.clone(),
                name: name.clone(),
                evidence: NamedFinding::all(document.network(), &evidence),
            };
            let number = self.cases.put(kept);
            listed.push(Case { number, name, evidence, answer: None });
        }
        if let Some(document) = self.document() {
            document.cases = listed;
        }
        if left_out > 0 {
            self.warn(&format!(
                "{left_out} cases were left out: a network can have {MOST_CASES} of them"
            ));
        }
    }

    /// The cases that are kept of the network of `document`.
    pub(crate) fn list_cases(&mut self) {
        let Some(document) = &self.model.document else { return };
        let Some(whence) = NetworkLocation::of(&document.source) else { return };
        let (mut listed, mut unknown) = (Vec::new(), 0);
        for entry in &self.cases.entries {
            if entry.kept.network.as_ref() != Some(&whence) {
                continue;
            }
            let mut evidence = Evidence::none();
            let entered = entry.kept.evidence.iter().try_for_each(|(variable, finding)| {
                enter(&mut evidence, document.network(), variable, finding)
            });
            if entered.is_err() {
                // The file was changed, perhaps for a while only: the case stays where it is.
                unknown += 1;
                continue;
            }
            let same = |case: &&Case| case.number == entry.number && case.evidence == evidence;
            let answer = document.cases.iter().find(same).and_then(|case| case.answer.clone());
            let (number, name) = (entry.number, entry.kept.name.clone());
            listed.push(Case { number, name, evidence, answer });
        }
        if let Some(document) = self.document() {
            document.cases = listed;
        }
        if unknown > 0 {
            self.warn(&format!(
                "Cases kept of this network that name variables or states which it no longer has: \
                 {unknown}. They are not shown."
            ));
        }
    }

    pub(crate) fn recall_case(&mut self, number: u64) {
        let case = self.model.document.as_ref().and_then(|document| document.case(number));
        let Some(evidence) = case.map(|case| case.evidence.clone()) else { return };
        self.change_evidence(|now| *now = evidence);
    }

    pub(crate) fn rename_case(&mut self, number: u64, name: &str) {
        self.cases.change(number, |kept| name.clone_into(&mut kept.name));
        if let Some(case) = self.case(number) {
            name.clone_into(&mut case.name);
        }
    }

    /// Puts the evidence in the place of what is known in a case. Undo brings that back.
    pub(crate) fn replace_case(&mut self, number: u64) {
        let Some(document) = &self.model.document else { return };
        let Some(case) = document.case(number).cloned() else { return };
        if case.evidence == document.evidence {
            return;
        }
        let replaced = Case { evidence: document.evidence.clone(), answer: None, ..case };
        self.change_case(number, Some(replaced));
    }

    /// Forgets a case. Undo brings it back.
    pub(crate) fn remove_case(&mut self, number: u64) {
        self.change_case(number, None);
    }

    fn change_case(&mut self, number: u64, to: Option<Case>) {
        let Some(document) = &self.model.document else { return };
        let place = document.cases.iter().position(|case| case.number == number);
        let Some(place) = place else { return };
        let was = self.put_case(number, place, to);
        self.history.record(Past::Case { number, place, was });
    }

    /// Makes the case of this number `to`, at `place` if there is none, and returns what it was.
    pub(crate) fn put_case(&mut self, number: u64, place: usize, to: Option<Case>) -> Option<Case> {
        let document = self.model.document.as_ref()?;
        let now = document.cases.iter().position(|case| case.number == number);
        let network = NetworkLocation::of(&document.source);
        let named = to.as_ref().map(|case| NamedFinding::all(document.network(), &case.evidence));
        match (now, &to, named) {
            (None, Some(case), Some(evidence)) => {
                self.cases.put_back(number, Kept { network, name: case.name.clone(), evidence });
            }
            (Some(_), Some(case), Some(evidence)) => self.cases.change(number, |kept| {
                kept.name.clone_from(&case.name);
                kept.evidence = evidence;
            }),
            _ => self.cases.remove(number),
        }
        let cases = &mut self.document()?.cases;
        let was = now.map(|place| cases.remove(place));
        if let Some(case) = to {
            cases.insert(now.unwrap_or(place).min(cases.len()), case);
        }
        was
    }

    fn case(&mut self, number: u64) -> Option<&mut Case> {
        self.document()?.cases.iter_mut().find(|case| case.number == number)
    }

    /// Takes in what follows from `evidence`.
    pub(crate) fn answered(
        &mut self,
        evidence: &Evidence,
        answer: &Result<Arc<Posteriors>, ImpossibleEvidence>,
    ) {
        let Some(document) = self.document() else { return };
        for case in document.cases.iter_mut().filter(|case| case.evidence == *evidence) {
            case.answer = Some(answer.clone());
        }
    }

    fn cases_are_seen(&self) -> bool {
        let pane = self.layout.tiles.find_pane(&Pane::Cases);
        pane.is_some_and(|pane| self.layout.active_tiles().contains(&pane))
    }

    /// Has the cases propagated while they are on screen, and no longer.
    pub(crate) fn compare_what_is_seen(&mut self) {
        let seen = self.cases_are_seen() && self.model.auto_propagate;
        let wanted: &[Case] = match &self.model.document {
            Some(document) if seen => &document.cases,
            _ => &[],
        };
        let same = self.compared.iter().eq(wanted.iter().map(|case| &case.evidence));
        if !same {
            self.compared = wanted.iter().map(|case| case.evidence.clone()).collect();
            self.share_answers();
            self.submit();
        }
    }

    /// Gives a case that says the same as another its answer, which is told only once.
    fn share_answers(&mut self) {
        let Some(document) = self.document() else { return };
        for index in 0..document.cases.len() {
            let Case { evidence, answer: None, .. } = &document.cases[index] else { continue };
            let same = |case: &&Case| case.evidence == *evidence && case.answer.is_some();
            let answer = document.cases.iter().find(same).and_then(|case| case.answer.clone());
            document.cases[index].answer = answer;
        }
    }

    /// Enters the first of the cases of a file; where there are several, all of them are listed.
    pub(crate) fn load_evidence(&mut self, path: &Path) {
        let Some(read) = self.read_cases(path) else { return };
        let first = read.cases.first().cloned();
        let several = read.cases.len();
        if several > 1 {
            self.add_cases(named(path, read));
            self.commands.push(ViewCommand::Show(Pane::Cases));
            self.toasts.info(format!("The first of {several} cases was entered"));
        }
        if let Some(first) = first {
            self.change_evidence(|evidence| *evidence = first);
        }
    }

    /// Lists the cases of a file.
    pub(crate) fn open_cases(&mut self, path: &Path) {
        if let Some(read) = self.read_cases(path) {
            self.add_cases(named(path, read));
        }
    }

    fn read_cases(&mut self, path: &Path) -> Option<CaseFile> {
        let Some(document) = &self.model.document else {
            self.complain("Open a network before its evidence");
            return None;
        };
        match cases::read_file(path, document.network()) {
            Ok(read) => {
                for warning in &read.warnings {
                    self.warn(warning);
                }
                Some(read)
            }
            Err(error) => {
                self.complain(&error.to_string());
                None
            }
        }
    }

    pub(crate) fn save_evidence(&mut self, path: &Path) {
        let Some(document) = &self.model.document else { return };
        let evidence = document.evidence.clone();
        self.write_cases(path, &[evidence], &[]);
    }

    /// Writes all cases of the open network to a file.
    pub(crate) fn save_cases(&mut self, path: &Path) {
        let Some(document) = &self.model.document else { return };
        let all = document.cases.iter();
        let (names, evidence): (Vec<String>, Vec<Evidence>) =
            all.map(|case| (case.name.clone(), case.evidence.clone())).unzip();
        self.write_cases(path, &evidence, &names);
    }

    /// Writes cases of the open network, but not over the network itself; says what came of it.
    fn write_cases(&mut self, path: &Path, evidence: &[Evidence], names: &[String]) {
        let Some(document) = &self.model.document else { return };
        if is_file_of(document, path) {
            let path = path.display();
            self.complain(&format!("{path} is the open network: save it under another name"));
            return;
        }
        match cases::write_file(path, document.network(), evidence, names) {
            Ok(()) => {
                let shown = path.display();
                match CaseFormat::by_extension(&path.to_string_lossy()) {
                    None => {
                        let json = CaseFormat::Json.name();
                        self.tell(&format!("Saved {shown}; its ending means no format: as {json}"));
                    }
                    Some(format) if format != CaseFormat::Json && !names.is_empty() => {
                        let (format, json) = (format.name(), CaseFormat::Json.name());
                        self.warn(&format!(
                            "Saved {shown}; {format} holds no names of cases, {json} does"
                        ));
                    }
                    Some(_) => _ = self.toasts.success(format!("Saved {shown}")),
                }
            }
            Err(error) => self.complain(&error.to_string()),
        }
    }
}

/// Whether `document` was read from the file at `path`.
fn is_file_of(document: &Document, path: &Path) -> bool {
    let Origin::File(own) = &document.read.origin else { return false };
    matches!((own.canonicalize(), path.canonicalize()), (Ok(own), Ok(path)) if own == path)
}

impl Document {
    /// The case with this number.
    #[must_use]
    pub fn case(&self, number: u64) -> Option<&Case> {
        self.cases.iter().find(|case| case.number == number)
    }
}

/// The cases of a file with their names; those without one are called after the file.
fn named(path: &Path, read: CaseFile) -> Vec<(String, Evidence)> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let several = read.cases.len() > 1;
    let call = |(index, (name, case)): (usize, (Option<String>, Evidence))| {
        let given = || if several { format!("{stem} {}", index + 1) } else { stem.clone() };
        (name.unwrap_or_else(given), case)
    };
    read.names.into_iter().zip(read.cases).enumerate().map(call).collect()
}

/// `wanted`, or with a number if it is among `names`; `case` and a number if it is empty.
fn free_name(wanted: &str, names: &[String]) -> String {
    let is_free = |name: &String| !names.contains(name);
    let base = if wanted.is_empty() { "case" } else { wanted };
    let plain = Some(base.to_owned()).filter(|name| !wanted.is_empty() && is_free(name));
    let first = if wanted.is_empty() { 1 } else { 2 };
    let numbered = || (first..).map(|number| format!("{base} {number}")).find(is_free);
    plain.or_else(numbered).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::free_name;

    #[test]
    fn no_name_is_given_twice() {
        let names = ["case 1", "smoker", "smoker 2"].map(str::to_owned);
        assert_eq!(free_name("", &names), "case 2");
        assert_eq!(free_name("smoker", &names), "smoker 3");
        assert_eq!(free_name("other", &names), "other");
    }
}
