//! Undo and redo of evidence.

use crate::network::Evidence;

/// How many changes can be taken back.
const DEPTH: usize = 200;

/// Evidence as it was before each change, and after each change that was taken back.
#[derive(Clone, Debug, Default)]
pub struct History {
    before: Vec<Evidence>,
    after: Vec<Evidence>,
}

impl History {
    /// Notes that `now` is about to be replaced.
    pub fn record(&mut self, now: &Evidence) {
        self.after.clear();
        self.before.push(now.clone());
        if self.before.len() > DEPTH {
            self.before.remove(0);
        }
    }

    /// The evidence before the last change, with which `now` is to be replaced.
    pub fn undo(&mut self, now: &Evidence) -> Option<Evidence> {
        let evidence = self.before.pop()?;
        self.after.push(now.clone());
        Some(evidence)
    }

    /// The evidence after the last change that was taken back.
    pub fn redo(&mut self, now: &Evidence) -> Option<Evidence> {
        let evidence = self.after.pop()?;
        self.before.push(now.clone());
        Some(evidence)
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

    #[test]
    fn changes_are_taken_back_and_done_again() {
        let mut history = History::default();
        history.record(&Evidence::none());
        history.record(&observed(0));
        assert_eq!(history.undo(&observed(1)), Some(observed(0)));
        assert_eq!(history.undo(&observed(0)), Some(Evidence::none()));
        assert_eq!(history.undo(&Evidence::none()), None);
        assert_eq!(history.redo(&Evidence::none()), Some(observed(0)));
        history.record(&observed(0));
        assert_eq!(history.redo(&observed(3)), None, "a new change ends what could be redone");
    }
}
