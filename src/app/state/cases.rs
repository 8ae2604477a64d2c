//! Named cases: a store with the cases of all networks, and a list of the open network's cases.

use std::path::Path;
use std::sync::Arc;

use crate::app::state::case::Case;
use crate::app::state::core::Core;
use crate::app::state::document::Document;
use crate::app::state::evidence;
use crate::app::state::history::{History, ReplacedValue};
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::app::state::pane::Pane;
use crate::app::state::pane_layout;
use crate::engine::ImpossibleEvidence;
use crate::network::Evidence;
use crate::numbers;
use crate::propagation::Posteriors;
use crate::store::{EntryId, Store};

/// Maximum number of cases of one network. All of them are propagated while they are compared, so
/// a larger limit costs time and memory.
const MAX_CASES: usize = 200;

/// A command about named cases. Cases are identified by their number.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseCommand {
    /// Add the current evidence as a case of this name.
    Add(String),
    /// Enter the evidence of a case.
    Enter(u64),
    /// Rename a case.
    Rename(u64, String),
    /// Replace the evidence of a case with the current evidence.
    Replace(u64),
    /// Remove a case.
    Remove(u64),
}

/// The cases of all networks.
#[derive(Default)]
pub(crate) struct CaseStore {
    /// The files of the cases; `None` if cases are lost at the end of the run.
    store: Option<Store>,
    entries: Vec<Entry>,
    /// The highest number given to a case so far.
    last_number: u64,
}

struct Entry {
    number: u64,
    /// The file of the case; `None` if the case is not stored.
    id: Option<EntryId>,
    case: StoredCase,
}

/// A case as it is stored.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct StoredCase {
    /// Where its network can be read again; `None` if it cannot.
    network: Option<NetworkLocation>,
    name: String,
    evidence: Vec<(String, NamedFinding)>,
}

impl StoredCase {
    fn json(&self) -> Vec<u8> {
        // Serialising plain data to memory cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The stored entries.
impl CaseStore {
    /// Opens the store in `folder` and reads its cases.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        let (store, entries) = Store::open(folder)?;
        let mut cases = Self { store: Some(store), ..Self::default() };
        for entry in entries {
            // Files that cannot be read stay: another version of the program may have written them.
            if let Ok(case) = serde_json::from_slice(&entry.content) {
                cases.last_number += 1;
                cases.entries.push(Entry { number: cases.last_number, id: Some(entry.id), case });
            }
        }
        Ok(cases)
    }

    /// Why a case could not be written, if that has happened since the last call.
    pub(crate) fn take_error(&self) -> Option<String> {
        self.store.as_ref().and_then(Store::take_error)
    }

    fn insert(&mut self, number: u64, case: StoredCase) {
        let copy = case.clone();
        let id = self.store.as_mut().map(|store| store.add(move || copy.json()));
        self.entries.push(Entry { number, id, case });
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut StoredCase)) {
        let found = self.entries.iter_mut().find(|entry| entry.number == number);
        let Some(Entry { id, case, .. }) = found else { return };
        change(case);
        if let (Some(store), Some(id)) = (&self.store, id) {
            let copy = case.clone();
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

/// The list of the open network's cases. A change of the list also changes the entries.
impl CaseStore {
    /// Applies `command` to the open document.
    pub(crate) fn apply(&mut self, core: &mut Core, history: &mut History, command: CaseCommand) {
        match command {
            CaseCommand::Add(name) => self.add_evidence(core, &name),
            CaseCommand::Enter(number) => {
                let case = core.model.document.as_ref().and_then(|document| document.case(number));
                let Some(evidence) = case.map(|case| case.evidence.clone()) else { return };
                evidence::change(core, history, |now| *now = evidence);
            }
            CaseCommand::Rename(number, name) => {
                self.change(number, |case| case.name.clone_from(&name));
                let mut cases = core.document().into_iter().flat_map(|open| &mut open.cases);
                if let Some(case) = cases.find(|case| case.number == number) {
                    case.name = name;
                }
            }
            CaseCommand::Replace(number) => {
                let Some(document) = &core.model.document else { return };
                let Some(case) = document.case(number) else { return };
                if case.evidence != document.evidence {
                    let evidence = document.evidence.clone();
                    let replaced = Case { evidence, answer: None, ..case.clone() };
                    self.change_listed(core, history, number, Some(replaced));
                }
            }
            CaseCommand::Remove(number) => self.change_listed(core, history, number, None),
        }
    }

    /// Adds the current evidence as a case called `name`, followed by a number if that name is
    /// taken.
    fn add_evidence(&mut self, core: &mut Core, name: &str) {
        let Some(document) = &core.model.document else { return };
        let (evidence, count) = (document.evidence.clone(), document.cases.len());
        self.add(core, vec![(name.trim().to_owned(), evidence)]);
        let added = core.document().and_then(|document| document.cases.get(count));
        if let Some(name) = added.map(|case| case.name.clone())
            && !pane_layout::is_visible(&core.layout, Pane::Cases)
        {
            core.notices.info(&format!("The evidence is now case '{name}': see Cases"));
        }
    }

    /// Adds cases to the open network. Names that are taken get a number.
    pub(crate) fn add(&mut self, core: &mut Core, cases: Vec<(String, Evidence)>) {
        let Some(document) = &mut core.model.document else { return };
        let free = MAX_CASES.saturating_sub(document.cases.len());
        let dropped = cases.len().saturating_sub(free);
        let network = NetworkLocation::of(&document.source);
        let mut names: Vec<String> = document.cases.iter().map(|case| case.name.clone()).collect();
        for (name, evidence) in cases.into_iter().take(free) {
            let name = unused_name(&name, &names);
            names.push(name.clone());
            self.last_number += 1;
            let stored = StoredCase {
                network: network.clone(),
                name: name.clone(),
                evidence: NamedFinding::all(document.network(), &evidence),
            };
            self.insert(self.last_number, stored);
            document.cases.push(Case { number: self.last_number, name, evidence, answer: None });
        }
        if dropped > 0 {
            let dropped = numbers::counted(dropped, "case", "cases");
            core.notices.warning(&format!(
                "Not added: {dropped}. A network can have at most {MAX_CASES} cases."
            ));
        }
    }

    /// Lists the stored cases of the open network. Cases that were listed already keep their
    /// answers.
    pub(crate) fn list(&self, core: &mut Core) {
        let Some(document) = &mut core.model.document else { return };
        let Some(location) = NetworkLocation::of(&document.source) else { return };
        let (mut listed, mut unreadable) = (Vec::new(), 0);
        for Entry { number, case, .. } in &self.entries {
            if case.network.as_ref() != Some(&location) {
                continue;
            }
            let mut evidence = Evidence::none();
            let entered = case.evidence.iter().try_for_each(|(variable, finding)| {
                finding.enter(&mut evidence, document.network(), variable)
            });
            if entered.is_err() {
                // The network file was changed, perhaps only for a while: the case stays stored.
                unreadable += 1;
                continue;
            }
            let same = |other: &&Case| other.number == *number && other.evidence == evidence;
            let answer = document.cases.iter().find(same).and_then(|other| other.answer.clone());
            listed.push(Case { number: *number, name: case.name.clone(), evidence, answer });
        }
        document.cases = listed;
        if unreadable > 0 {
            core.notices.warning(&format!(
                "Stored cases of this network that are not shown because they name variables or \
                 states that it no longer has: {unreadable}"
            ));
        }
    }

    /// Replaces a listed case by `case`, or removes it if `case` is `None`. The user can undo this.
    fn change_listed(
        &mut self,
        core: &mut Core,
        history: &mut History,
        number: u64,
        case: Option<Case>,
    ) {
        let Some(document) = &core.model.document else { return };
        let index = document.cases.iter().position(|case| case.number == number);
        let Some(index) = index else { return };
        let case = self.replace_listed(core, number, index, case);
        history.record(ReplacedValue::Case { number, index, case });
    }

    /// Replaces the case with this number by `case`, or removes it if `case` is `None`. Returns the
    /// old case; `None` if it was not listed. A case that was not listed is inserted at `index`.
    pub(crate) fn replace_listed(
        &mut self,
        core: &mut Core,
        number: u64,
        index: usize,
        case: Option<Case>,
    ) -> Option<Case> {
        let document = core.model.document.as_mut()?;
        let listed = document.cases.iter().position(|case| case.number == number);
        match (listed, &case) {
            (_, None) => self.remove(number),
            (None, Some(case)) => {
                let network = NetworkLocation::of(&document.source);
                let evidence = NamedFinding::all(document.network(), &case.evidence);
                self.insert(number, StoredCase { network, name: case.name.clone(), evidence });
            }
            (Some(_), Some(case)) => self.change(number, |stored| {
                stored.name.clone_from(&case.name);
                stored.evidence = NamedFinding::all(document.network(), &case.evidence);
            }),
        }
        let cases = &mut document.cases;
        let before = listed.map(|index| cases.remove(index));
        if let Some(case) = case {
            cases.insert(listed.unwrap_or(index).min(cases.len()), case);
        }
        before
    }
}

/// Requests the posteriors of the cases while their pane is visible and automatic propagation is
/// on, and only then. Call this once a frame.
pub(crate) fn request_visible(core: &mut Core) {
    let visible =
        pane_layout::is_visible(&core.layout, Pane::Cases) && core.model.settings.auto_propagate;
    let wanted: &[Case] = match &core.model.document {
        Some(document) if visible => &document.cases,
        _ => &[],
    };
    let same = core.requests.cases.iter().eq(wanted.iter().map(|case| &case.evidence));
    if !same {
        core.requests.cases = wanted.iter().map(|case| case.evidence.clone()).collect();
        if let Some(document) = core.document() {
            share_answers(document);
        }
        core.submit();
    }
}

/// Copies answers to cases with the same evidence, for which the session sends only one answer.
fn share_answers(document: &mut Document) {
    for index in 0..document.cases.len() {
        let Case { evidence, answer: None, .. } = &document.cases[index] else { continue };
        let same = |case: &&Case| case.evidence == *evidence && case.answer.is_some();
        let answer = document.cases.iter().find(same).and_then(|case| case.answer.clone());
        document.cases[index].answer = answer;
    }
}

/// Sets the answer of all cases with this evidence.
pub(crate) fn receive_answer(
    document: &mut Document,
    evidence: &Evidence,
    answer: &Result<Arc<Posteriors>, ImpossibleEvidence>,
) {
    for case in document.cases.iter_mut().filter(|case| case.evidence == *evidence) {
        case.answer = Some(answer.clone());
    }
}

/// `wanted`, followed by a number if that name is among `names`. If `wanted` is empty, the name is
/// `case` and a number.
fn unused_name(wanted: &str, names: &[String]) -> String {
    let is_free = |name: &String| !names.contains(name);
    let base = if wanted.is_empty() { "case" } else { wanted };
    let plain = Some(base.to_owned()).filter(|name| !wanted.is_empty() && is_free(name));
    let first = if wanted.is_empty() { 1 } else { 2 };
    let numbered = || (first..).map(|number| format!("{base} {number}")).find(is_free);
    plain.or_else(numbered).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::unused_name;

    #[test]
    fn names_of_cases_are_unique() {
        let names = ["case 1", "smoker", "smoker 2"].map(str::to_owned);
        assert_eq!(unused_name("", &names), "case 2");
        assert_eq!(unused_name("smoker", &names), "smoker 3");
        assert_eq!(unused_name("other", &names), "other");
    }
}
