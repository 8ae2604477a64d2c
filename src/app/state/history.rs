//! Undo and redo of what the user enters and throws away.

use crate::app::state::cases::Case;
use crate::network::Evidence;

/// A command about the history of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryCommand {
    /// Undo the last change.
    Undo,
    /// Redo the change that was undone last.
    Redo,
}

/// How many changes can be taken back.
const DEPTH: usize = 200;

/// Something as it was before a change, or as it was before that was taken back.
#[derive(Clone, Debug)]
pub enum Past {
    /// All that was known.
    Evidence(Evidence),
    /// A case of this number, which stood at this place of the list; `None` where there was none.
    Case {
        /// Its number.
        number: u64,
        /// Its place in the list.
        place: usize,
        /// The case itself.
        was: Option<Case>,
    },
}

/// What was before each change, and after each change that was taken back.
#[derive(Clone, Debug, Default)]
pub struct History {
    before: Vec<Past>,
    after: Vec<Past>,
    touched: bool,
}

impl History {
    /// Notes `past`, which is about to be replaced.
    pub fn record(&mut self, past: Past) {
        self.touched = true;
        self.after.clear();
        self.before.push(past);
        if self.before.len() > DEPTH {
            self.before.remove(0);
        }
    }

    /// Lets undo enter `evidence`, which was known when the network was open before.
    pub fn offer(&mut self, evidence: Evidence) {
        self.before.insert(0, Past::Evidence(evidence));
    }

    /// Whether anything was changed, or taken back, since the network was opened.
    #[must_use]
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// Takes back the last change, or does again what was taken back last. `replace` puts what it is
    /// given in its place and returns what was there.
    pub fn step(&mut self, back: bool, replace: impl FnOnce(Past) -> Past) {
        let (from, to) = match back {
            true => (&mut self.before, &mut self.after),
            false => (&mut self.after, &mut self.before),
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

    /// Steps through changes of `now`; whether there was anything to step to.
    fn step(history: &mut History, back: bool, now: &mut Evidence) -> bool {
        let mut stepped = false;
        history.step(back, |past| {
            let Past::Evidence(past) = past else { panic!("no case was changed") };
            stepped = true;
            Past::Evidence(std::mem::replace(now, past))
        });
        stepped
    }

    #[test]
    fn changes_are_taken_back_and_done_again() {
        let (mut history, mut now) = (History::default(), observed(1));
        history.record(Past::Evidence(Evidence::none()));
        history.record(Past::Evidence(observed(0)));
        assert!(step(&mut history, true, &mut now) && now == observed(0));
        assert!(step(&mut history, true, &mut now) && now == Evidence::none());
        assert!(!step(&mut history, true, &mut now));
        assert!(step(&mut history, false, &mut now) && now == observed(0));
        history.record(Past::Evidence(now.clone()));
        assert!(!step(&mut history, false, &mut now), "a new change ends what could be redone");
    }

    #[test]
    fn what_was_known_before_is_offered_behind_everything_else() {
        let (mut history, mut now) = (History::default(), Evidence::none());
        history.offer(observed(3));
        assert!(!history.is_touched());
        assert!(step(&mut history, true, &mut now) && now == observed(3));
        assert!(step(&mut history, false, &mut now) && now == Evidence::none());
        assert!(history.is_touched());
    }
}
