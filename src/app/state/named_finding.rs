//! Findings by name. They can be stored, and entered again when their network has been read again.

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

    /// The evidence on `network` that consists of `findings`, each with the name of its variable.
    ///
    /// # Errors
    /// If a variable or state does not exist, or a likelihood does not fit its variable.
    pub(crate) fn enter_all(
        findings: &[(String, Self)],
        network: &Network,
    ) -> Result<Evidence, EvidenceError> {
        let mut evidence = Evidence::none();
        for (variable, finding) in findings {
            finding.enter(&mut evidence, network, variable)?;
        }
        Ok(evidence)
    }

    /// Enters this finding on `variable` of `network` into `evidence`.
    ///
    /// # Errors
    /// If the variable or the state does not exist, or the likelihood does not fit the variable.
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
