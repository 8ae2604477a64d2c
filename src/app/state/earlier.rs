//! What was known of a network when it was left for another one, or when the window was closed: it is
//! kept, and Undo enters it again once the network is open.

use crate::app::state::history::Past;
use crate::app::state::model::Document;
use crate::app::state::recovery::NetworkLocation;
use crate::app::updates::enter;
use crate::app::workbench::{NamedFinding, Workbench};
use crate::network::Evidence;
use crate::numbers;

/// Networks of which it is kept.
const MOST: usize = 12;

/// What was known of the networks that were left last, newest first.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Earlier(Vec<Left>);

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Left {
    network: NetworkLocation,
    evidence: Vec<(String, NamedFinding)>,
}

impl Earlier {
    /// Notes what is known of `document`. Knowing nothing counts where the user made it so (`touched`).
    fn note(&mut self, document: &Document, touched: bool) {
        let Some(network) = NetworkLocation::of(&document.source) else { return };
        let nothing = document.evidence.is_empty();
        if nothing && !touched {
            return;
        }
        self.0.retain(|left| left.network != network);
        if !nothing {
            let evidence = NamedFinding::all(document.network(), &document.evidence);
            self.0.insert(0, Left { network, evidence });
            self.0.truncate(MOST);
        }
    }

    /// What was known of `document`, if all of it still means something.
    fn of(&self, document: &Document) -> Option<Evidence> {
        let network = NetworkLocation::of(&document.source)?;
        let left = self.0.iter().find(|left| left.network == network)?;
        let mut evidence = Evidence::none();
        for (variable, finding) in &left.evidence {
            enter(&mut evidence, document.network(), variable, finding).ok()?;
        }
        Some(evidence)
    }
}

impl Workbench {
    /// What was known of all networks, the open one included. What a lesson opened is not the user's.
    pub(crate) fn known_by_now(&self) -> Earlier {
        let mut known = self.settings.earlier.clone();
        let (document, history) = match &self.course {
            Some(course) => course.put_aside(),
            None => (self.model.document.as_ref(), &self.history),
        };
        if let Some(document) = document {
            known.note(document, history.is_touched());
        }
        known
    }

    /// The network that was open is `left` for the one that is open now, or for another state of it.
    /// What was known of it can be entered again, and so can what is kept of the other one.
    pub(crate) fn follow_on(&mut self, left: Option<&Document>) {
        let Some(document) = &self.model.document else { return };
        let same = |left: &&Document| {
            NetworkLocation::of(&left.source)
                .is_some_and(|one| NetworkLocation::of(&document.source) == Some(one))
                && left.network().variables() == document.network().variables()
        };
        if let Some(left) = left.filter(same) {
            if left.evidence != document.evidence {
                self.history.record(Past::Evidence(left.evidence.clone()));
            }
            return;
        }
        self.history = Default::default();
        let nothing = document.evidence.is_empty() && self.course.is_none();
        let Some(evidence) = self.settings.earlier.of(document).filter(|_| nothing) else { return };
        let findings = numbers::counted(evidence.len(), "finding", "findings");
        let title = document.title();
        self.history.offer(evidence);
        self.tell(&format!(
            "{title} was left with {findings}. Undo (Ctrl+Z) enters what was known."
        ));
    }
}
