//! Findings by name, which outlive the network that they were entered in.

use crate::network::{Evidence, EvidenceError, Finding, Network};

/// A finding by name.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NamedFinding {
    /// The label of the observed state.
    State(String),
    /// One weight per state.
    Likelihood(Box<[f64]>),
}

impl NamedFinding {
    /// All findings of `evidence` on `network`, each with the name of its variable.
    pub(crate) fn all(network: &Network, evidence: &Evidence) -> Vec<(String, Self)> {
        let named = |(variable, finding): (_, &Finding)| {
            let variable = &network[variable];
            let finding = match finding {
                Finding::Observed(state) => Self::State(variable.states()[*state].clone()),
                Finding::Likelihood(weights) => Self::Likelihood(weights.clone()),
            };
            (variable.name().to_owned(), finding)
        };
        evidence.iter().map(named).collect()
    }

    /// Enters this finding on `variable` of `network` into `evidence`.
    pub(crate) fn enter(
        &self,
        evidence: &mut Evidence,
        network: &Network,
        variable: &str,
    ) -> Result<(), EvidenceError> {
        match self {
            Self::State(state) => evidence.observe_named(network, variable, state),
            Self::Likelihood(weights) => {
                evidence.set_likelihood_named(network, variable, weights.clone())
            }
        }
    }
}
