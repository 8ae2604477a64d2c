//! Evidence: what is known about some variables.

use std::collections::BTreeMap;

use crate::network::{Network, VariableId};
use crate::numbers::counted;

/// What is known about one variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The variable is in this state (hard evidence).
    Observed(usize),
    /// A non-negative weight for each state, in file order (virtual evidence).
    ///
    /// Multiplying all weights by a positive number leaves the posteriors unchanged and adds the
    /// logarithm of that number to ln P(e).
    Likelihood(Box<[f64]>),
}

impl Finding {
    /// The weight that the finding gives to `state`: for an observation, one or zero.
    ///
    /// # Panics
    /// If this is a likelihood without a weight for `state`.
    #[must_use]
    pub fn weight(&self, state: usize) -> f64 {
        match self {
            Self::Observed(observed) => f64::from(u8::from(*observed == state)),
            Self::Likelihood(weights) => weights[state],
        }
    }
}

/// Why a finding cannot be entered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvidenceError {
    /// The network has no variable of this name.
    #[error("there is no variable '{name}'{}", hint(.similar))]
    UnknownVariable {
        /// The name.
        name: String,
        /// Up to three names of variables that begin with this name, or that this name begins
        /// with, ignoring case.
        similar: Vec<String>,
    },
    /// The variable has no state with this label.
    #[error("variable '{variable}' has no state '{state}'; its states are {}", .states.join(", "))]
    UnknownState {
        /// The variable.
        variable: String,
        /// The label.
        state: String,
        /// The labels of the variable.
        states: Vec<String>,
    },
    /// A likelihood has the wrong number of weights.
    #[error(
        "the likelihood of '{variable}' has {}, expected {expected}, one for each state",
        counted(*found, "number", "numbers")
    )]
    LikelihoodLength {
        /// The variable.
        variable: String,
        /// Number of states.
        expected: usize,
        /// Number of weights given.
        found: usize,
    },
    /// A weight is negative or not finite, or all weights are zero.
    #[error("the likelihood of '{variable}' needs finite weights, none negative and not all zero")]
    LikelihoodValues {
        /// The variable.
        variable: String,
    },
}

/// The end of a message that suggests `similar` names; empty if there are none.
fn hint(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// Findings on some of a network's variables, at most one per variable.
///
/// The findings are kept in the order of the variables, so the order in which they were entered
/// does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    findings: BTreeMap<VariableId, Finding>,
}

impl Evidence {
    /// No evidence.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Observes `variable` in the state at position `state`, replacing any earlier finding.
    ///
    /// # Panics
    /// If the network has no such variable, or the variable no such state.
    pub fn observe(&mut self, network: &Network, variable: VariableId, state: usize) {
        assert!(
            state < network[variable].cardinality(),
            "variable '{}' has no state {state}",
            network[variable].name()
        );
        self.findings.insert(variable, Finding::Observed(state));
    }

    /// Observes the variable called `variable` in the state labelled `state`, replacing any earlier
    /// finding.
    ///
    /// # Errors
    /// If there is no such variable or state.
    pub fn observe_named(
        &mut self,
        network: &Network,
        variable: &str,
        state: &str,
    ) -> Result<(), EvidenceError> {
        let id = find_variable(network, variable)?;
        let index = network[id].state_index(state).ok_or_else(|| EvidenceError::UnknownState {
            variable: variable.to_owned(),
            state: state.to_owned(),
            states: network[id].states().to_vec(),
        })?;
        self.findings.insert(id, Finding::Observed(index));
        Ok(())
    }

    /// Enters a weight for each state of `variable`, replacing any earlier finding.
    ///
    /// # Errors
    /// If the number of weights is wrong, a weight is negative or not finite, or all are zero.
    ///
    /// # Panics
    /// If the network has no such variable.
    pub fn set_likelihood(
        &mut self,
        network: &Network,
        variable: VariableId,
        weights: impl Into<Box<[f64]>>,
    ) -> Result<(), EvidenceError> {
        let weights = weights.into();
        let name = || network[variable].name().to_owned();
        let expected = network[variable].cardinality();
        if weights.len() != expected {
            return Err(EvidenceError::LikelihoodLength {
                variable: name(),
                expected,
                found: weights.len(),
            });
        }
        let valid = weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        if !valid || weights.iter().all(|w| *w == 0.0) {
            return Err(EvidenceError::LikelihoodValues { variable: name() });
        }
        self.findings.insert(variable, Finding::Likelihood(weights));
        Ok(())
    }

    /// [`set_likelihood`](Self::set_likelihood) for the variable called `variable`.
    ///
    /// # Errors
    /// As [`set_likelihood`](Self::set_likelihood), and if there is no such variable.
    pub fn set_likelihood_named(
        &mut self,
        network: &Network,
        variable: &str,
        weights: impl Into<Box<[f64]>>,
    ) -> Result<(), EvidenceError> {
        self.set_likelihood(network, find_variable(network, variable)?, weights)
    }

    /// Removes and returns the finding on `variable`.
    pub fn retract(&mut self, variable: VariableId) -> Option<Finding> {
        self.findings.remove(&variable)
    }

    /// Enters `finding` on `variable`, replacing any earlier finding. Does not check that it is a
    /// valid finding on this variable.
    pub fn insert(&mut self, variable: VariableId, finding: Finding) {
        self.findings.insert(variable, finding);
    }

    /// Removes all findings.
    pub fn clear(&mut self) {
        self.findings.clear();
    }

    /// The finding on `variable`.
    #[must_use]
    pub fn get(&self, variable: VariableId) -> Option<&Finding> {
        self.findings.get(&variable)
    }

    /// The state in which `variable` is observed; `None` if it has no finding or a likelihood.
    #[must_use]
    pub fn observed(&self, variable: VariableId) -> Option<usize> {
        match self.findings.get(&variable) {
            Some(Finding::Observed(state)) => Some(*state),
            _ => None,
        }
    }

    /// The variables that are observed, ascending.
    #[must_use]
    pub fn observed_variables(&self) -> Vec<VariableId> {
        let is_observed = |finding: &Finding| matches!(finding, Finding::Observed(_));
        let observed = self.findings.iter().filter(|(_, finding)| is_observed(finding));
        observed.map(|(&variable, _)| variable).collect()
    }

    /// The findings, in variable order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (VariableId, &Finding)> {
        self.findings.iter().map(|(&variable, finding)| (variable, finding))
    }

    /// Number of findings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// Whether there are no findings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The findings on `variables`.
    #[must_use]
    pub fn restricted_to(&self, variables: &[VariableId]) -> Self {
        let keep = |v: &VariableId| self.findings.get(v).map(|finding| (*v, finding.clone()));
        Self { findings: variables.iter().filter_map(keep).collect() }
    }
}

/// The variable called `name`; otherwise an error that lists similar names.
fn find_variable(network: &Network, name: &str) -> Result<VariableId, EvidenceError> {
    network.find(name).ok_or_else(|| {
        let wanted = name.to_lowercase();
        let is_similar = |candidate: &str| {
            let candidate = candidate.to_lowercase();
            !wanted.is_empty() && (candidate.starts_with(&wanted) || wanted.starts_with(&candidate))
        };
        let names = network.variables().iter().map(|variable| variable.name());
        let similar =
            names.filter(|candidate| is_similar(candidate)).take(3).map(str::to_owned).collect();
        EvidenceError::UnknownVariable { name: name.to_owned(), similar }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable};

    fn rain() -> Network {
        let rain = Variable::new("Rain", ["no", "yes"]);
        let cpt = Cpt::new(VariableId::new(0), vec![], vec![0.8, 0.2]);
        Network::new("rain", vec![rain], vec![cpt]).unwrap()
    }

    #[test]
    fn a_second_finding_replaces_the_first() {
        let (network, mut evidence) = (rain(), Evidence::none());
        evidence.observe_named(&network, "Rain", "yes").unwrap();
        let rain = network.find("Rain").unwrap();
        evidence.set_likelihood(&network, rain, [2.0, 1.0]).unwrap();
        assert_eq!(evidence.len(), 1);
        assert_eq!(evidence.observed(rain), None);
        assert_eq!(evidence.get(rain).unwrap().weight(0), 2.0);
        evidence.retract(rain);
        assert!(evidence.is_empty());
    }

    #[test]
    fn unknown_names_are_refused_with_alternatives() {
        let (network, mut evidence) = (rain(), Evidence::none());
        let error = evidence.observe_named(&network, "rain", "yes").unwrap_err();
        assert_eq!(error.to_string(), "there is no variable 'rain'; did you mean Rain?");
        let error = evidence.observe_named(&network, "Rain", "snow").unwrap_err();
        assert_eq!(
            error.to_string(),
            "variable 'Rain' has no state 'snow'; its states are no, yes"
        );
    }

    #[test]
    fn invalid_likelihoods_are_refused() {
        let (network, mut evidence) = (rain(), Evidence::none());
        for weights in [vec![0.0, 0.0], vec![-1.0, 1.0], vec![f64::NAN, 1.0]] {
            let error = evidence.set_likelihood_named(&network, "Rain", weights).unwrap_err();
            assert!(matches!(error, EvidenceError::LikelihoodValues { .. }));
        }
        let error = evidence.set_likelihood_named(&network, "Rain", [1.0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the likelihood of 'Rain' has 1 number, expected 2, one for each state"
        );
    }
}
