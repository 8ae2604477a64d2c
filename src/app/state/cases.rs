//! The named cases of the open network, as the Cases pane lists them.
//!
//! Every change of the list is also made in the `CaseStore`, which keeps the cases of all
//! networks.

use std::sync::Arc;

use crate::app::state::case::Case;
use crate::app::state::case_store::{CaseStore, StoredCase};
use crate::app::state::core::Core;
use crate::app::state::document::Document;
use crate::app::state::evidence;
use crate::app::state::history::{History, ReplacedValue};
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::app::state::pane::Pane;
use crate::engine::QueryError;
use crate::network::Evidence;
use crate::numbers;
use crate::propagation::Posteriors;

/// Maximum number of cases of a network: no more can be added, but undoing a removal can exceed the
/// limit. All cases of a network are propagated while the Cases pane is visible, so a larger limit
/// costs time and memory.
pub(crate) const MAX_CASES: usize = 200;

/// A command about the named cases of the open network. Cases are identified by their number.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseCommand {
    /// Add the current evidence as a case of this name. The user cannot undo this.
    Add(String),
    /// Replace the current evidence by the evidence of a case.
    Enter(u64),
    /// Rename a case.
    Rename(u64, String),
    /// Replace the evidence of a case by the current evidence.
    Replace(u64),
    /// Remove a case.
    Remove(u64),
}

/// Applies `command` to the open document.
pub(crate) fn apply(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    command: CaseCommand,
) {
    match command {
        CaseCommand::Add(name) => add_evidence(core, store, &name),
        CaseCommand::Enter(number) => {
            let case = core.model.document.as_ref().and_then(|document| document.case(number));
            let Some(evidence) = case.map(|case| case.evidence.clone()) else { return };
            evidence::change(core, history, |current| *current = evidence);
        }
        CaseCommand::Rename(number, name) => {
            let Some(document) = &core.model.document else { return };
            let Some(case) = document.case(number).filter(|case| case.name != name) else { return };
            let renamed = Case { name, ..case.clone() };
            change(core, history, store, number, Some(renamed));
        }
        CaseCommand::Replace(number) => {
            let Some(document) = &core.model.document else { return };
            let Some(case) = document.case(number) else { return };
            if case.evidence != document.evidence {
                let evidence = document.evidence.clone();
                let changed = Case { evidence, answer: None, ..case.clone() };
                change(core, history, store, number, Some(changed));
            }
        }
        CaseCommand::Remove(number) => change(core, history, store, number, None),
    }
}

/// Adds the current evidence as a case called `name`. If `name` is empty or taken, the case is
/// named as [`unused_name`] says.
fn add_evidence(core: &mut Core, store: &mut CaseStore, name: &str) {
    let Some(document) = &core.model.document else { return };
    let (evidence, count) = (document.evidence.clone(), document.cases.len());
    add(core, store, vec![(name.trim().to_owned(), evidence)]);
    let added = core.document().and_then(|document| document.cases.get(count));
    if let Some(name) = added.map(|case| case.name.clone())
        && !core.is_visible(Pane::Cases)
    {
        core.notices.info(&format!("The evidence is now case '{name}': see Cases"));
    }
}

/// Adds named cases to the open network, which can have at most [`MAX_CASES`]. Tells the user how
/// many did not fit. A name that is taken gets a number.
pub(crate) fn add(core: &mut Core, store: &mut CaseStore, cases: Vec<(String, Evidence)>) {
    let Some(document) = &mut core.model.document else { return };
    let free = MAX_CASES.saturating_sub(document.cases.len());
    let dropped = cases.len().saturating_sub(free);
    let network = NetworkLocation::of(&document.source);
    let mut taken: Vec<String> = document.cases.iter().map(|case| case.name.clone()).collect();
    for (name, evidence) in cases.into_iter().take(free) {
        let name = unused_name(&name, &taken);
        taken.push(name.clone());
        let number = store.add(StoredCase {
            network: network.clone(),
            name: name.clone(),
            evidence: NamedFinding::all(document.network(), &evidence),
        });
        document.cases.push(Case { number, name, evidence, answer: None });
    }
    if dropped > 0 {
        let dropped = numbers::counted(dropped, "case", "cases");
        core.notices.warning(&format!(
            "Not added: {dropped}. A network can have at most {MAX_CASES} cases."
        ));
    }
}

/// Lists the stored cases of the open network. Listed cases whose evidence stays the same keep
/// their answers.
pub(crate) fn list(core: &mut Core, store: &CaseStore) {
    let Some(document) = &mut core.model.document else { return };
    let Some(location) = NetworkLocation::of(&document.source) else { return };
    let (mut listed, mut unreadable) = (Vec::new(), 0);
    for (number, case) in store.of_network(&location) {
        let Ok(evidence) = NamedFinding::enter_all(&case.evidence, document.network()) else {
            // The network file was changed. The case stays stored, because the file may be changed
            // back.
            unreadable += 1;
            continue;
        };
        let is_same = |earlier: &&Case| earlier.number == number && earlier.evidence == evidence;
        let answer = document.cases.iter().find(is_same).and_then(|earlier| earlier.answer.clone());
        listed.push(Case { number, name: case.name.clone(), evidence, answer });
    }
    document.cases = listed;
    if unreadable > 0 {
        core.notices.warning(&format!(
            "Stored cases that are not shown because their evidence no longer fits this network: \
             {unreadable}"
        ));
    }
}

/// Replaces a listed case by `case`, or removes it if `case` is `None`. The user can undo this.
fn change(
    core: &mut Core,
    history: &mut History,
    store: &mut CaseStore,
    number: u64,
    case: Option<Case>,
) {
    let Some(document) = &core.model.document else { return };
    let index = document.cases.iter().position(|case| case.number == number);
    let Some(index) = index else { return };
    let replaced = set(core, store, number, index, case);
    history.record(ReplacedValue::Case { number, index, case: replaced });
}

/// Makes `case` the case with this number, in the list and in the store; `None` removes that case.
/// If no case with this number is listed, inserts `case` at `index` of the list. Returns the case
/// that was listed before, if there was one.
pub(crate) fn set(
    core: &mut Core,
    store: &mut CaseStore,
    number: u64,
    index: usize,
    case: Option<Case>,
) -> Option<Case> {
    let document = core.model.document.as_mut()?;
    let listed_at = document.cases.iter().position(|case| case.number == number);
    match (listed_at, &case) {
        (_, None) => store.remove(number),
        (None, Some(case)) => {
            let network = NetworkLocation::of(&document.source);
            let evidence = NamedFinding::all(document.network(), &case.evidence);
            store.insert(number, StoredCase { network, name: case.name.clone(), evidence });
        }
        (Some(_), Some(case)) => store.change(number, |stored| {
            stored.name.clone_from(&case.name);
            stored.evidence = NamedFinding::all(document.network(), &case.evidence);
        }),
    }
    let cases = &mut document.cases;
    let before = listed_at.map(|index| cases.remove(index));
    if let Some(mut case) = case {
        // The answer that is listed is the newer one, and the session does not report it again.
        if let Some(before) = before.as_ref().filter(|before| before.evidence == case.evidence) {
            case.answer.clone_from(&before.answer);
        }
        cases.insert(listed_at.unwrap_or(index).min(cases.len()), case);
    }
    before
}

/// Requests the posteriors of all listed cases while the Cases pane is visible and automatic
/// propagation is on, and of no case otherwise. Call this once per frame.
pub(crate) fn request_visible(core: &mut Core) {
    let are_wanted = core.is_visible(Pane::Cases) && core.model.settings.auto_propagate;
    let wanted: &[Case] = match &core.model.document {
        Some(document) if are_wanted => &document.cases,
        _ => &[],
    };
    let wanted = wanted.iter().map(|case| &case.evidence);
    if !core.requests.cases.iter().eq(wanted.clone()) {
        core.requests.cases = wanted.cloned().collect();
        if let Some(document) = core.document() {
            share_answers(document);
        }
        core.submit();
    }
}

/// Gives each unanswered case the answer of a case with the same evidence, if there is one. The
/// session does not report an answer again when another case with the same evidence is requested.
fn share_answers(document: &mut Document) {
    for index in 0..document.cases.len() {
        let Case { evidence, answer: None, .. } = &document.cases[index] else { continue };
        let is_answered = |case: &&Case| case.evidence == *evidence && case.answer.is_some();
        let answer = document.cases.iter().find(is_answered).and_then(|case| case.answer.clone());
        document.cases[index].answer = answer;
    }
}

/// Sets the answer of all cases with this evidence.
pub(crate) fn receive_answer(
    document: &mut Document,
    evidence: &Evidence,
    answer: &Result<Arc<Posteriors>, QueryError>,
) {
    for case in document.cases.iter_mut().filter(|case| case.evidence == *evidence) {
        case.answer = Some(answer.clone());
    }
}

/// A name that is not among `taken`: `wanted`, if possible, or else `wanted` and a number from 2
/// up. If `wanted` is empty, the name is `case` and a number from 1 up.
fn unused_name(wanted: &str, taken: &[String]) -> String {
    let is_free = |name: &String| !taken.contains(name);
    let plain = Some(wanted.to_owned()).filter(|name| !name.is_empty() && is_free(name));
    let (base, first) = if wanted.is_empty() { ("case", 1) } else { (wanted, 2) };
    let numbered = || (first..).map(|number| format!("{base} {number}")).find(is_free);
    plain.or_else(numbered).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::unused_name;

    #[test]
    fn a_taken_or_missing_name_of_a_case_gets_a_number() {
        let taken = ["case 1", "smoker", "smoker 2"].map(str::to_owned);
        assert_eq!(unused_name("", &taken), "case 2");
        assert_eq!(unused_name("smoker", &taken), "smoker 3");
        assert_eq!(unused_name("other", &taken), "other");
    }
}
