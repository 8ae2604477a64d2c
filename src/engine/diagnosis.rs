//! Finds the conflict in impossible evidence.

use std::fmt;
use std::sync::Arc;

use super::{LoadOptions, PropagationError, Propagator, RunError, default_engine};
use crate::cancel::Cancelled;
use crate::graph::{Heuristic, Triangulation, TriangulationError, TriangulationOptions};
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::potential::Precision;
use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, Watch, compile};

/// Evidence has probability zero because these findings contradict each other.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct ImpossibleEvidence {
    /// The variables of a minimal set of conflicting findings, in variable order. If any one of
    /// these findings is removed, the others are possible together. A single variable means that
    /// its finding is impossible on its own. Empty if the product of all factors is zero
    /// everywhere, which happens only in a Markov network.
    ///
    /// The set may not be minimal if the network was compiled without
    /// [observed](CompiledNetwork::observed) variables: the tree for fewer findings may be too
    /// large to check whether these are possible.
    pub conflict: Vec<VariableId>,
    /// The finding on each variable of the conflict as text: `X=a` or `likelihood of X`.
    pub findings: Vec<String>,
}

impl ImpossibleEvidence {
    fn new(network: &Network, evidence: &Evidence, conflict: Vec<VariableId>) -> Self {
        let describe = |&variable: &VariableId| {
            let name = network[variable].name();
            match evidence.get(variable) {
                Some(Finding::Observed(state)) => {
                    format!("{name}={}", network[variable].states()[*state])
                }
                _ => format!("likelihood of {name}"),
            }
        };
        Self { findings: conflict.iter().map(describe).collect(), conflict }
    }

    /// The variable whose finding is impossible on its own, if the conflict is a single finding.
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
            [] => write!(f, "the product of the network's factors is zero for every configuration"),
            [finding] => write!(f, "{finding} has probability 0 by itself"),
            [first, second] => write!(f, "{second} contradicts {first}"),
            several => write!(f, "these findings cannot hold together: {}", several.join(", ")),
        }
    }
}

/// Finds a minimal set of conflicting findings in `evidence`, which `propagator` found impossible.
///
/// The method is divide and conquer after Junker, QUICKXPLAIN: Preferred explanations and
/// relaxations for over-constrained problems (AAAI 2004). Findings are tried in variable order, so
/// all engines name the same conflict. A network that was compiled for given observations may be an
/// exception: findings that do not suit its tree are propagated in another tree, and how large that
/// tree may be depends on the memory that the engine takes.
///
/// # Errors
/// If a propagation is cancelled, or fails for another reason than impossible evidence.
///
/// # Complexity
/// At most 2 k log2(n / k) + 2 k propagations for a conflict of k among n findings, and one more in
/// a Markov network.
pub(super) fn explain(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
    watch: &Watch,
) -> Result<ImpossibleEvidence, PropagationError> {
    let (watch, network) = (watch.untimed_child(), compiled.network());
    let mut is_possible = |variables: &[VariableId]| {
        let part = evidence.restricted_to(variables);
        let outcome = if compiled.admits(&part) {
            propagator.run(&part, &watch).map(|_| ())
        } else {
            run_in_tree_of_its_own(compiled.network(), &part, propagator, &watch)
        };
        match outcome {
            Ok(()) => Ok(true),
            Err(RunError::Impossible) => Ok(false),
            Err(RunError::Cancelled) => Err(PropagationError::Cancelled(Cancelled)),
            Err(RunError::OutOfRange) => Err(PropagationError::OutOfRange),
            Err(RunError::Device(reason)) => Err(PropagationError::Device(reason)),
            Err(RunError::OutOfMemory(error)) => Err(error.into()),
        }
    };
    // The product of a Markov network's factors may be zero everywhere; the product of CPTs is not.
    if !network.is_bayesian() && !is_possible(&[])? {
        return Ok(ImpossibleEvidence::new(network, evidence, Vec::new()));
    }
    let candidates: Vec<VariableId> = evidence.iter().map(|(variable, _)| variable).collect();
    let mut conflict = minimal_conflict(&mut Vec::new(), false, &candidates, &mut is_possible)?;
    conflict.sort_unstable();
    Ok(ImpossibleEvidence::new(network, evidence, conflict))
}

/// A propagation in a tree of its own may take this much memory, in bytes, or as much as the
/// propagator that found the evidence impossible, if that takes more. A smaller limit, like a
/// smaller [`MAX_NS`], saves time or memory, but more conflicts are not minimal.
const MIN_MEMORY_LIMIT: u64 = 256 << 20;

/// A propagation in a tree of its own is not run if loading this tree and propagating are forecast
/// to take longer than this on one thread, in nanoseconds. A conflict may take dozens of
/// propagations.
const MAX_NS: f64 = 2e8;

/// Propagates `evidence` in a tree of its own. `propagator` cannot do it: its network was compiled
/// without variables that `evidence` does not observe. If a tree of its own would need too much
/// memory or time, the evidence counts as possible.
///
/// # Errors
/// As [`Propagator::run`].
fn run_in_tree_of_its_own(
    network: &Arc<Network>,
    evidence: &Evidence,
    propagator: &dyn Propagator,
    watch: &Watch,
) -> Result<(), RunError> {
    let memory = MemoryLimit::from_bytes(propagator.peak_bytes().max(MIN_MEMORY_LIMIT));
    let options = CompileOptions {
        triangulation: TriangulationOptions {
            method: Triangulation::By(Heuristic::WeightedMinFill),
            max_bytes: memory.bytes(),
            ..TriangulationOptions::default()
        },
        observed: evidence.observed_variables(),
    };
    let compiled = match compile(Arc::clone(network), &options, watch.cancel_token()) {
        Ok(compiled) => Arc::new(compiled),
        Err(TriangulationError::Cancelled(cancelled)) => return Err(cancelled.into()),
        Err(TriangulationError::TooLarge(_)) => return Ok(()),
    };
    let engine = default_engine();
    let form = engine.forecast(&compiled, Precision::F64).fastest_form(memory, 1);
    if form.is_none_or(|form| form.total_ns(1) > MAX_NS) {
        return Ok(());
    }
    let options =
        LoadOptions { threads: propagator.threads(), memory, runs: 1, ..LoadOptions::default() };
    match engine.load(&compiled, &options) {
        Ok(mut part) => part.run(evidence, watch).map(|_| ()),
        Err(_) => Ok(()),
    }
}

/// A minimal subset of `candidates` that is impossible together with `background`.
///
/// `background_grew` says whether findings were added to the background since it was last found
/// possible. If so, the background may be impossible by itself, and the subset is then empty.
fn minimal_conflict<E>(
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
    let mut conflict = minimal_conflict(background, true, second, is_possible)?;
    background.truncate(before);
    background.extend(&conflict);
    let grew = !conflict.is_empty();
    conflict.extend(minimal_conflict(background, grew, first, is_possible)?);
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
    fn a_conflict_among_many_findings_takes_few_propagations() {
        let candidates = ids(&(0..64).collect::<Vec<_>>());
        for conflict in
            [vec![0], vec![63], vec![5, 40], vec![31, 32], vec![0, 1, 63], vec![9, 10, 11]]
        {
            let conflict = ids(&conflict);
            let mut propagations = 0;
            let mut is_possible = |variables: &[VariableId]| {
                propagations += 1;
                Ok::<_, Cancelled>(!conflict.iter().all(|variable| variables.contains(variable)))
            };
            let found = minimal_conflict(&mut Vec::new(), false, &candidates, &mut is_possible);
            let mut found = found.unwrap();
            found.sort_unstable();
            assert_eq!(found, conflict);
            assert!(propagations <= 14 * conflict.len(), "{propagations} for {conflict:?}");
        }
    }

    #[test]
    fn one_of_two_conflicts_is_found() {
        let conflicts = [ids(&[1, 6]), ids(&[2, 3])];
        let mut is_possible = |variables: &[VariableId]| {
            Ok::<_, Cancelled>(
                !conflicts.iter().any(|c| c.iter().all(|variable| variables.contains(variable))),
            )
        };
        let candidates = ids(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let found = minimal_conflict(&mut Vec::new(), false, &candidates, &mut is_possible);
        let mut found = found.unwrap();
        found.sort_unstable();
        assert!(conflicts.contains(&found), "{found:?}");
    }

    #[test]
    fn the_search_stops_when_cancelled() {
        let candidates = ids(&[0, 1, 2]);
        let found = minimal_conflict(&mut Vec::new(), false, &candidates, &mut |_| Err(Cancelled));
        assert_eq!(found, Err(Cancelled));
    }

    #[test]
    fn a_conflict_is_described_by_names_and_states() {
        let names = ["tub", "either", "xray"];
        let variables = names.map(|name| Variable::new(name, ["yes", "no"])).to_vec();
        let cpts = ids(&[0, 1, 2]).into_iter().map(|v| Cpt::new(v, vec![], vec![0.5, 0.5]));
        let network = Network::new("three", variables, cpts.collect()).unwrap();
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "tub", "yes").unwrap();
        evidence.observe_named(&network, "either", "no").unwrap();
        evidence.set_likelihood_named(&network, "xray", [0.0, 1.0]).unwrap();
        let error =
            |conflict: &[usize]| ImpossibleEvidence::new(&network, &evidence, ids(conflict));
        assert_eq!(
            error(&[1]).to_string(),
            "the evidence is impossible: either=no has probability 0 by itself"
        );
        assert_eq!(error(&[1]).culprit(), Some(VariableId::new(1)));
        assert_eq!(
            error(&[0, 1]).to_string(),
            "the evidence is impossible: either=no contradicts tub=yes"
        );
        assert_eq!(error(&[0, 1]).culprit(), None);
        assert_eq!(
            error(&[0, 1, 2]).to_string(),
            "the evidence is impossible: these findings cannot hold together: \
             tub=yes, either=no, likelihood of xray"
        );
    }
}
