//! The evidence that each network had when the user left it, by opening another network or closing
//! the window. When the network is opened again, undo can enter that evidence.

use crate::app::state::document::Document;
use crate::app::state::history::History;
use crate::app::state::named_finding::NamedFinding;
use crate::app::state::network_location::NetworkLocation;
use crate::network::Evidence;

/// Maximum number of networks with stored evidence. Beyond it, the evidence of the network that the
/// user left longest ago is dropped.
pub(crate) const MAX_NETWORKS: usize = 12;

/// The evidence of networks that the user left, most recent first.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct LeftEvidence(Vec<LeftNetwork>);

/// A network that the user left.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct LeftNetwork {
    network: NetworkLocation,
    /// Each finding with the name of its variable.
    evidence: Vec<(String, NamedFinding)>,
}

impl LeftEvidence {
    /// This list after the user left `document`: the evidence of `document` replaces the evidence
    /// stored for its network. If `document` has no evidence, the stored evidence is removed,
    /// unless `history` shows that the user changed nothing while the network was open.
    #[must_use]
    pub fn after_leaving(&self, document: Option<&Document>, history: &History) -> Self {
        let mut left = self.clone();
        if let Some(document) = document {
            left.store(document, history.is_touched());
        }
        left
    }

    /// Changes this list as [`after_leaving`](Self::after_leaving) says. `touched` is whether the
    /// user changed anything while the network was open.
    fn store(&mut self, document: &Document, touched: bool) {
        let Some(network) = NetworkLocation::of(&document.source) else { return };
        let is_empty = document.evidence.is_empty();
        if is_empty && !touched {
            return;
        }
        self.0.retain(|left| left.network != network);
        if !is_empty {
            let evidence = NamedFinding::all(document.network(), &document.evidence);
            self.0.insert(0, LeftNetwork { network, evidence });
            self.0.truncate(MAX_NETWORKS);
        }
    }

    /// The evidence that the network of `document` was left with, if all of it can still be
    /// entered.
    #[must_use]
    pub fn of(&self, document: &Document) -> Option<Evidence> {
        let network = NetworkLocation::of(&document.source)?;
        let left = self.0.iter().find(|left| left.network == network)?;
        NamedFinding::enter_all(&left.evidence, document.network()).ok()
    }
}
