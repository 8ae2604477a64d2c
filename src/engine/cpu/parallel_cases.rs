//! Many cases at once, each on one thread.
//!
//! Cases share nothing but the tables, so they are divided among the threads as they come free.
//! Cases with the same observed variables follow each other on one thread, which makes the tree of
//! what they leave once for all of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::cancel::Cancelled;
use crate::engine::cpu::context::Means;
use crate::engine::cpu::worker::{Lane, Shared};
use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding, VariableId};
use crate::potential::Real;
use crate::propagation::{Posteriors, Watch};

/// Most cases that one thread takes at a time.
const RUN: usize = 32;

/// Answers `cases` in `lanes`, one on a thread, with the threads of the caller.
pub fn run<T: Real>(
    shared: &Shared<T>,
    lanes: &mut [Lane<T>],
    cases: &[Evidence],
    watch: &Watch,
) -> Result<BatchAnswers, Cancelled> {
    type Numbered = Vec<(usize, Result<Posteriors, RunError>)>;
    let bytes = shared.spare_bytes(lanes.len());
    let runs = runs(cases, cases.len().div_ceil(4 * lanes.len()).min(RUN));
    let shares = shares(cases);
    let next = AtomicUsize::new(0);
    let work = |lane: &mut Lane<T>| -> Result<Numbered, Cancelled> {
        let watch = watch.untimed_child();
        let mut answers = Vec::new();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Which thread comes to answer a case changes no bit of the answer.
            lane.forget();
            for &case in run {
                lane.forget_messages();
                let means = Means { threads: None, bytes, making: shares[case] };
                match shared.run(lane, &cases[case], means, &watch) {
                    Err(RunError::Cancelled) => return Err(Cancelled),
                    answer => answers.push((case, answer)),
                }
            }
        }
        Ok(answers)
    };
    let found: Result<Vec<Numbered>, Cancelled> =
        lanes.par_iter_mut().with_max_len(1).map(work).collect();
    let mut answers: Numbered = found?.into_iter().flatten().collect();
    answers.sort_unstable_by_key(|&(case, _)| case);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The share of what making a tree costs that each of `cases` bears.
pub fn making(cases: &[Evidence]) -> f64 {
    runs(cases, RUN).len() as f64 / cases.len() as f64
}

/// The share of what making a tree costs that each of `cases` bears, however many threads there are.
fn shares(cases: &[Evidence]) -> Vec<f64> {
    let mut shares = vec![1.0; cases.len()];
    for run in runs(cases, RUN) {
        run.iter().for_each(|&case| shares[case] = 1.0 / run.len() as f64);
    }
    shares
}

/// The numbers of all cases in runs of at most `longest` that observe the same variables.
fn runs(cases: &[Evidence], longest: usize) -> Vec<Vec<usize>> {
    let mut place: HashMap<Vec<VariableId>, usize> = HashMap::new();
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let observed = case.iter().filter(|(_, finding)| matches!(finding, Finding::Observed(_)));
        let observed = observed.map(|(variable, _)| variable).collect();
        let run = place.entry(observed).or_insert(usize::MAX);
        if runs.get(*run).is_none_or(|run| run.len() >= longest.max(1)) {
            *run = runs.len();
            runs.push(Vec::new());
        }
        runs[*run].push(number);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    #[test]
    fn cases_that_observe_the_same_follow_each_other() {
        let network = format::sample("asia").expect("a sample of this name").open().network;
        let case = |findings: &[(usize, usize)]| {
            let mut evidence = Evidence::none();
            for &(variable, state) in findings {
                evidence.observe(&network, VariableId::new(variable), state);
            }
            evidence
        };
        let (one, other) = (case(&[(0, 0)]), case(&[(0, 1)]));
        let cases = [one.clone(), case(&[]), other.clone(), one, case(&[(0, 0), (1, 1)]), other];
        assert_eq!(runs(&cases, 9), [vec![0, 2, 3, 5], vec![1], vec![4]]);
        assert_eq!(runs(&cases, 3), [vec![0, 2, 3], vec![1], vec![4], vec![5]]);
        assert!(runs(&[], 3).is_empty());
    }
}
