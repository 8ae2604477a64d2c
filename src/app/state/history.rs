//! The history behind undo and redo.

use crate::app::state::case::Case;
use crate::app::state::document::Document;
use crate::network::{Evidence, VariableId};

/// A command about the history of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryCommand {
    /// Undo the last change.
    Undo,
    /// Redo the change that was undone last.
    Redo,
}

/// Maximum number of changes that can be undone. A larger number takes more memory: for each
/// change, a copy of all evidence or of one case is stored.
const MAX_UNDO: usize = 200;

/// Maximum number of networks to which undo can return. A larger number takes more memory: each of
/// these networks is kept with its factors.
const MAX_NETWORKS: usize = 8;

/// Maximum number of values of all factors of the networks to which undo can return. This many
/// values take 256 MiB. With a larger number, undo can take more memory; with a smaller one, it
/// returns to fewer large networks.
const MAX_VALUES: usize = 1 << 25;

/// A value of the document that a change, an undo or a redo replaced.
#[derive(Clone, Debug)]
pub enum ReplacedValue {
    /// All evidence.
    Evidence(Evidence),
    /// One named case.
    Case {
        /// The number of the case.
        number: u64,
        /// The index of the case in the list.
        index: usize,
        /// The case; `None` if it was not in the list before.
        case: Option<Case>,
    },
    /// The open network.
    Network {
        /// The network with its evidence, and without results.
        document: Box<Document>,
        /// Whether the user changed, undid or redid anything while it was open.
        touched: bool,
    },
}

impl ReplacedValue {
    /// Number of values of all factors of the network; `None` for evidence and cases.
    fn network_values(&self) -> Option<usize> {
        let Self::Network { document, .. } = self else { return None };
        Some(document.network().factors().map(|factor| factor.values().len()).sum())
    }
}

/// The values that changes replaced, for undo, and the values that undo replaced, for redo.
#[derive(Clone, Debug, Default)]
pub struct History {
    undo: Vec<ReplacedValue>,
    redo: Vec<ReplacedValue>,
    /// Whether the user changed, undid or redid anything since the network was opened.
    touched: bool,
    /// The gesture of the last change, if that change belongs to one.
    gesture: Option<(VariableId, u64)>,
}

impl History {
    /// Records `value`, which a change replaces. After that, nothing can be redone.
    pub fn record(&mut self, value: ReplacedValue) {
        self.gesture = None;
        self.touched = true;
        self.redo.clear();
        self.undo.push(value);
        self.drop_oldest();
    }

    /// Drops the oldest changes beyond the limits.
    fn drop_oldest(&mut self) {
        let of_networks: Vec<Option<usize>> =
            self.undo.iter().map(ReplacedValue::network_values).collect();
        let mut networks = of_networks.iter().flatten().count();
        let mut values: usize = of_networks.iter().flatten().sum();
        let mut dropped = 0;
        while self.undo.len() - dropped > MAX_UNDO || networks > MAX_NETWORKS || values > MAX_VALUES
        {
            if let Some(of_network) = of_networks[dropped] {
                networks -= 1;
                values -= of_network;
            }
            dropped += 1;
        }
        self.undo.drain(..dropped);
    }

    /// Records that another network was opened in place of `document`.
    pub fn record_network(&mut self, document: &Document) {
        let document = Box::new(document.without_results());
        let value = ReplacedValue::Network { document, touched: self.touched };
        self.record(value);
        self.touched = false;
    }

    /// Puts `earlier` before this history, and records between the two that this network was opened
    /// in place of `document`. `earlier` is the history up to that moment.
    pub fn follow(&mut self, earlier: Self, document: &Document) {
        let later = std::mem::replace(self, earlier);
        self.record_network(document);
        self.undo.extend(later.undo);
        self.drop_oldest();
        (self.redo, self.touched) = (later.redo, later.touched);
    }

    /// As [`record`](Self::record). If the last change has the same `gesture` (a variable, and the
    /// number of a press on a slider), drops `value`, so that one undo takes back both changes.
    pub fn record_in_gesture(&mut self, value: ReplacedValue, gesture: Option<(VariableId, u64)>) {
        if gesture.is_none() || self.gesture != gesture {
            self.record(value);
            self.gesture = gesture;
        }
    }

    /// Makes the next undo enter `evidence`, which the network had when it was last open. Changes
    /// recorded later are undone before it.
    pub fn offer(&mut self, evidence: Evidence) {
        self.undo.push(ReplacedValue::Evidence(evidence));
    }

    /// Whether the user changed, undid or redid anything since the network was opened.
    #[must_use]
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// Undoes or redoes one change, if there is one. `replace` restores its argument and returns
    /// the value that it replaced.
    pub fn step(
        &mut self,
        command: HistoryCommand,
        replace: impl FnOnce(ReplacedValue) -> ReplacedValue,
    ) {
        let (from, to) = match command {
            HistoryCommand::Undo => (&mut self.undo, &mut self.redo),
            HistoryCommand::Redo => (&mut self.redo, &mut self.undo),
        };
        self.gesture = None;
        if let Some(value) = from.pop() {
            let now_touched = match &value {
                ReplacedValue::Network { touched, .. } => *touched,
                _ => true,
            };
            let mut replaced = replace(value);
            if let ReplacedValue::Network { touched, .. } = &mut replaced {
                *touched = self.touched;
            }
            to.push(replaced);
            self.touched = now_touched;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::model;
    use crate::network::{Finding, VariableId};

    fn observed(state: usize) -> Evidence {
        let mut evidence = Evidence::none();
        evidence.insert(VariableId::new(0), Finding::Observed(state));
        evidence
    }

    /// Undoes or redoes one change of `now`. Returns whether there was one.
    fn step(history: &mut History, command: HistoryCommand, now: &mut Evidence) -> bool {
        let mut stepped = false;
        history.step(command, |value| {
            let ReplacedValue::Evidence(evidence) = value else { panic!("no case was changed") };
            stepped = true;
            ReplacedValue::Evidence(std::mem::replace(now, evidence))
        });
        stepped
    }

    #[test]
    fn changes_are_undone_in_reverse_order_and_redone_until_the_next_change() {
        use HistoryCommand::{Redo, Undo};
        let (mut history, mut now) = (History::default(), observed(1));
        history.record(ReplacedValue::Evidence(Evidence::none()));
        history.record(ReplacedValue::Evidence(observed(0)));
        assert!(step(&mut history, Undo, &mut now) && now == observed(0));
        assert!(step(&mut history, Undo, &mut now) && now == Evidence::none());
        assert!(!step(&mut history, Undo, &mut now));
        assert!(step(&mut history, Redo, &mut now) && now == observed(0));
        history.record(ReplacedValue::Evidence(now.clone()));
        assert!(!step(&mut history, Redo, &mut now), "a new change discards what could be redone");
    }

    #[test]
    fn changes_of_one_gesture_are_undone_together() {
        use HistoryCommand::Undo;
        let (mut history, mut now) = (History::default(), observed(2));
        let drag = |serial| Some((VariableId::new(0), serial));
        history.record_in_gesture(ReplacedValue::Evidence(Evidence::none()), drag(1));
        history.record_in_gesture(ReplacedValue::Evidence(observed(0)), drag(1));
        history.record_in_gesture(ReplacedValue::Evidence(observed(1)), drag(2));
        assert!(step(&mut history, Undo, &mut now) && now == observed(1));
        assert!(step(&mut history, Undo, &mut now) && now == Evidence::none());
        assert!(!step(&mut history, Undo, &mut now));
        history.record_in_gesture(ReplacedValue::Evidence(observed(3)), drag(2));
        assert!(step(&mut history, Undo, &mut now), "an undo ends the gesture");
    }

    /// The serial numbers of the networks to which undo returns, newest first. `None` stands for
    /// another change.
    fn undone(mut history: History) -> Vec<Option<u64>> {
        let mut serials = Vec::new();
        for _ in 0..MAX_UNDO {
            history.step(HistoryCommand::Undo, |value| {
                serials.push(match &value {
                    ReplacedValue::Network { document, .. } => Some(document.serial),
                    _ => None,
                });
                value
            });
        }
        serials
    }

    #[test]
    fn undo_returns_to_networks_with_their_changes_up_to_a_limit() {
        let mut document = model("asia").document.expect("a network is open");
        let (mut history, mut later) = (History::default(), History::default());
        history.record(ReplacedValue::Evidence(Evidence::none()));
        assert!(history.is_touched());
        document.serial = 1;
        history.record_network(&document);
        assert!(!history.is_touched(), "the new network was not changed");
        later.record(ReplacedValue::Evidence(Evidence::none()));
        document.serial = 2;
        later.follow(history, &document);
        assert_eq!(undone(later.clone()), [None, Some(2), Some(1), None]);
        for serial in 3..3 + MAX_NETWORKS as u64 {
            document.serial = serial;
            later.record_network(&document);
        }
        let serials = undone(later);
        assert_eq!(serials.iter().flatten().count(), MAX_NETWORKS);
        assert_eq!(serials.last(), Some(&None), "the change after the dropped networks is kept");
    }

    #[test]
    fn offered_evidence_is_entered_by_the_next_undo() {
        use HistoryCommand::{Redo, Undo};
        let (mut history, mut now) = (History::default(), Evidence::none());
        history.offer(observed(3));
        assert!(!history.is_touched());
        assert!(step(&mut history, Undo, &mut now) && now == observed(3));
        assert!(step(&mut history, Redo, &mut now) && now == Evidence::none());
        assert!(history.is_touched());
    }
}
