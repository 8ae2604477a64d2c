//! Which findings make evidence impossible.

use std::fmt;

use super::{PropagationError, Propagator, RunError};
use crate::cancel::Cancelled;
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::propagation::Watch;

/// Evidence has probability zero, and these findings are why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct ImpossibleEvidence {
    /// A smallest set of findings that cannot hold together, in variable order: leave any one out
    /// and the others are possible. One variable: its finding is impossible by itself.
    pub conflict: Vec<VariableId>,
    /// What was found of each variable of the conflict, in words: `X=a` or `likelihood of X`.
    pub findings: Vec<String>,
}

impl ImpossibleEvidence {
    fn new(network: &Network, evidence: &Evidence, conflict: Vec<VariableId>) -> Self {
        let in_words = |&variable: &VariableId| {
            let name = network[variable].name();
            match evidence.get(variable) {
                Some(Finding::Observed(state)) => {
                    format!("{name}={}", network[variable].states()[*state])
                }
                _ => format!("likelihood of {name}"),
            }
        };
        Self { findings: conflict.iter().map(in_words).collect(), conflict }
    }

    /// The one finding that is to blame, if one is: it has probability zero by itself.
    #[must_use]
    pub fn culprit(&self) -> Option<VariableId> {
        match *self.conflict {
            [culprit] => Some(culprit),
            _ => None,
        }
    }
}

impl fmt::Display for ImpossibleEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the evidence is impossible: ")?;
        match &*self.findings {
            [] => write!(f, "the factors of the network are zero for all configurations"),
            [finding] => write!(f, "{finding} has probability 0 by itself"),
            [first, second] => write!(f, "{second} contradicts {first}"),
            several => write!(f, "these findings cannot hold together: {}", several.join(", ")),
        }
    }
}

/// Finds the conflict in `evidence`, which `propagator` found impossible.
///
/// Divide and conquer after Junker, QUICKXPLAIN: Preferred explanations and relaxations for
/// over-constrained problems (AAAI 2004). The findings are taken in variable order, so every
/// engine that agrees on what is possible names the same conflict.
///
/// # Complexity
/// At most 2 k log2(n / k) + 2 k propagations for a conflict of k among n findings.
pub(super) fn explain(
    propagator: &mut dyn Propagator,
    network: &Network,
    evidence: &Evidence,
    watch: &Watch,
) -> Result<ImpossibleEvidence, PropagationError> {
    let watch = watch.untimed_child();
    let mut is_possible = |variables: &[VariableId]| match propagator
        .run(&evidence.restricted_to(variables), &watch)
    {
        Ok(_) => Ok(true),
        Err(RunError::Impossible) => Ok(false),
        Err(RunError::Cancelled) => Err(PropagationError::Cancelled(Cancelled)),
        Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
    };
    // The factors of a Markov network may be zero everywhere; the tables of a Bayesian one are not.
    if !network.is_bayesian() && !is_possible(&[])? {
        return Ok(ImpossibleEvidence::new(network, evidence, Vec::new()));
    }
    let candidates: Vec<VariableId> = evidence.iter().map(|(variable, _)| variable).collect();
    let mut conflict = smallest_conflict(&mut Vec::new(), false, &candidates, &mut is_possible)?;
    conflict.sort_unstable();
    Ok(ImpossibleEvidence::new(network, evidence, conflict))
}

/// Those of `candidates` that are needed for a conflict together with all of `background`.
///
/// `background_grew` says whether the background is new, so that it may already be a conflict.
fn smallest_conflict<E>(
    background: &mut Vec<VariableId>,
    background_grew: bool,
    candidates: &[VariableId],
    is_possible: &mut impl FnMut(&[VariableId]) -> Result<bool, E>,
) -> Result<Vec<VariableId>, E> {
    if background_grew && !is_possible(background)? {
        return Ok(Vec::new());
    }
    if candidates.len() <= 1 {
        return Ok(candidates.to_vec());
    }
    let (first, second) = candidates.split_at(candidates.len() / 2);
    let before = background.len();
    background.extend(first);
    let mut conflict = smallest_conflict(background, true, second, is_possible)?;
    background.truncate(before);
    background.extend(&conflict);
    let grew = !conflict.is_empty();
    conflict.extend(smallest_conflict(background, grew, first, is_possible)?);
    background.truncate(before);
    Ok(conflict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable};

    fn ids(indices: &[usize]) -> Vec<VariableId> {
        indices.iter().map(|&index| VariableId::new(index)).collect()
    }

    #[test]
    fn the_conflict_is_found_among_many_in_few_steps() {
        let candidates = ids(&(0..64).collect::<Vec<_>>());
        for conflict in
            [vec![0], vec![63], vec![5, 40], vec![31, 32], vec![0, 1, 63], vec![9, 10, 11]]
        {
            let conflict = ids(&conflict);
            let mut asked = 0;
            let mut is_possible = |variables: &[VariableId]| {
                asked += 1;
                Ok::<_, Cancelled>(!conflict.iter().all(|variable| variables.contains(variable)))
            };
            let found = smallest_conflict(&mut Vec::new(), false, &candidates, &mut is_possible);
            let mut found = found.unwrap();
            found.sort_unstable();
            assert_eq!(found, conflict);
            assert!(asked <= 14 * conflict.len(), "{asked} for {conflict:?}");
        }
    }

    #[test]
    fn of_two_conflicts_one_is_named() {
        let conflicts = [ids(&[1, 6]), ids(&[2, 3])];
        let mut is_possible = |variables: &[VariableId]| {
            Ok::<_, Cancelled>(
                !conflicts.iter().any(|c| c.iter().all(|variable| variables.contains(variable))),
            )
        };
        let candidates = ids(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let found = smallest_conflict(&mut Vec::new(), false, &candidates, &mut is_possible);
        let mut found = found.unwrap();
        found.sort_unstable();
        assert!(conflicts.contains(&found), "{found:?}");
    }

    #[test]
    fn the_search_stops_when_cancelled() {
        let candidates = ids(&[0, 1, 2]);
        let found = smallest_conflict(&mut Vec::new(), false, &candidates, &mut |_| Err(Cancelled));
        assert_eq!(found, Err(Cancelled));
    }

    #[test]
    fn a_conflict_is_told_in_labels() {
        let names = ["tub", "either", "xray"];
        let variables = names.map(|name| Variable::new(name, ["yes", "no"])).to_vec();
        let cpts = ids(&[0, 1, 2]).into_iter().map(|v| Cpt::new(v, vec![], vec![0.5, 0.5]));
        let network = Network::new("three", variables, cpts.collect()).unwrap();
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "tub", "yes").unwrap();
        evidence.observe_named(&network, "either", "no").unwrap();
        evidence.set_likelihood_named(&network, "xray", [0.0, 1.0]).unwrap();
        let told = |conflict: &[usize]| ImpossibleEvidence::new(&network, &evidence, ids(conflict));
        assert_eq!(
            told(&[1]).to_string(),
            "the evidence is impossible: either=no has probability 0 by itself"
        );
        assert_eq!(told(&[1]).culprit(), Some(VariableId::new(1)));
        assert_eq!(
            told(&[0, 1]).to_string(),
            "the evidence is impossible: either=no contradicts tub=yes"
        );
        assert_eq!(told(&[0, 1]).culprit(), None);
        assert_eq!(
            told(&[0, 1, 2]).to_string(),
            "the evidence is impossible: these findings cannot hold together: \
             tub=yes, either=no, likelihood of xray"
        );
    }
}
