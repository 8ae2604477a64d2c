//! The history behind undo and redo.

use crate::app::state::case::Case;
use crate::network::Evidence;

/// A command about the history of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryCommand {
    /// Undo the last change.
    Undo,
    /// Redo the change that was undone last.
    Redo,
}

/// How many changes can be undone. Each keeps a copy of all evidence, or of one case.
const MAX_UNDO: usize = 200;

/// An earlier (or, for redo, later) value of something that the user can change.
#[derive(Clone, Debug)]
pub enum Past {
    /// All evidence.
    Evidence(Evidence),
    /// One case.
    Case {
        /// Its number.
        number: u64,
        /// Its index in the list.
        index: usize,
        /// The case; `None` if it was not in the list.
        case: Option<Case>,
    },
}

/// The values that changes replaced, for undo, and the values that undo replaced, for redo.
#[derive(Clone, Debug, Default)]
pub struct History {
    undo: Vec<Past>,
    redo: Vec<Past>,
    touched: bool,
}

impl History {
    /// Records `past`, which is about to be replaced.
    pub fn record(&mut self, past: Past) {
        self.touched = true;
        self.redo.clear();
        self.undo.push(past);
        if self.undo.len() > MAX_UNDO {
            self.undo.remove(0);
        }
    }

    /// Lets one more undo, after all changes are undone, enter `evidence`, which the network had
    /// when it was last open.
    pub fn offer(&mut self, evidence: Evidence) {
        self.undo.insert(0, Past::Evidence(evidence));
    }

    /// Whether the user changed or undid anything since the network was opened.
    #[must_use]
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// Undoes or redoes one change, if there is one. `replace` restores its argument and returns
    /// the value that it replaced.
    pub fn step(&mut self, command: HistoryCommand, replace: impl FnOnce(Past) -> Past) {
        let (from, to) = match command {
            HistoryCommand::Undo => (&mut self.undo, &mut self.redo),
            HistoryCommand::Redo => (&mut self.redo, &mut self.undo),
        };
        if let Some(past) = from.pop() {
            to.push(replace(past));
            self.touched = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Finding, VariableId};

    fn observed(state: usize) -> Evidence {
        let mut evidence = Evidence::none();
        evidence.insert(VariableId::new(0), Finding::Observed(state));
        evidence
    }

    /// Undoes or redoes one change of `now`. Returns whether there was one.
    fn step(history: &mut History, command: HistoryCommand, now: &mut Evidence) -> bool {
        let mut stepped = false;
        history.step(command, |past| {
            let Past::Evidence(past) = past else { panic!("no case was changed") };
            stepped = true;
            Past::Evidence(std::mem::replace(now, past))
        });
        stepped
    }

    #[test]
    fn changes_are_undone_and_redone() {
        use HistoryCommand::{Redo, Undo};
        let (mut history, mut now) = (History::default(), observed(1));
        history.record(Past::Evidence(Evidence::none()));
        history.record(Past::Evidence(observed(0)));
        assert!(step(&mut history, Undo, &mut now) && now == observed(0));
        assert!(step(&mut history, Undo, &mut now) && now == Evidence::none());
        assert!(!step(&mut history, Undo, &mut now));
        assert!(step(&mut history, Redo, &mut now) && now == observed(0));
        history.record(Past::Evidence(now.clone()));
        assert!(!step(&mut history, Redo, &mut now), "a new change discards what could be redone");
    }

    #[test]
    fn offered_evidence_is_entered_by_the_last_undo() {
        use HistoryCommand::{Redo, Undo};
        let (mut history, mut now) = (History::default(), Evidence::none());
        history.offer(observed(3));
        assert!(!history.is_touched());
        assert!(step(&mut history, Undo, &mut now) && now == observed(3));
        assert!(step(&mut history, Redo, &mut now) && now == Evidence::none());
        assert!(history.is_touched());
    }
}
