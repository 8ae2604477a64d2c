//! A batch of cases, each propagated on one thread.
//!
//! Cases share nothing but the tables of the full tree, so a thread that is free takes the next run
//! of cases. A *run* is a number of cases that observe the same variables, up to [`MAX_RUN`]. One
//! thread propagates them in turn, and searches for their reduced tree only once.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::cancel::Cancelled;
use crate::engine::cpu::context::ExecutionContext;
use crate::engine::cpu::worker::{Shared, Worker};
use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding, VariableId};
use crate::potential::Real;
use crate::propagation::{Posteriors, Watch};

/// Maximum number of cases in a run. Longer runs share a reduced tree between more cases; shorter
/// runs keep all threads busy to the end. If it is wrong, only speed changes (and last bits of
/// results).
const MAX_RUN: usize = 32;

/// Answers `cases`, in order, with one worker per thread. Must be called in the thread pool.
///
/// # Errors
/// If the propagation was cancelled.
pub fn run<T: Real>(
    shared: &Shared<T>,
    workers: &mut [Worker<T>],
    cases: &[Evidence],
    watch: &Watch,
) -> Result<BatchAnswers, Cancelled> {
    type Numbered = Vec<(usize, Result<Posteriors, RunError>)>;
    let reduced_tree_bytes = shared.reduced_tree_bytes(workers.len());
    let runs = runs(cases, cases.len().div_ceil(4 * workers.len()).min(MAX_RUN));
    let build_shares = build_shares(cases);
    let next = AtomicUsize::new(0);
    let work = |worker: &mut Worker<T>| -> Result<Numbered, Cancelled> {
        let watch = watch.untimed_child();
        let mut answers = Vec::new();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Forget the earlier runs, so that no bit depends on which thread takes this run.
            worker.forget();
            for &case in run {
                worker.forget_messages();
                let build_share = build_shares[case];
                let context = ExecutionContext { threads: None, reduced_tree_bytes, build_share };
                match shared.run(worker, &cases[case], context, &watch) {
                    Err(RunError::Cancelled) => return Err(Cancelled),
                    answer => answers.push((case, answer)),
                }
            }
        }
        Ok(answers)
    };
    let found: Result<Vec<Numbered>, Cancelled> =
        workers.par_iter_mut().with_max_len(1).map(work).collect();
    let mut answers: Numbered = found?.into_iter().flatten().collect();
    answers.sort_unstable_by_key(|&(case, _)| case);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The average of the shares that [`build_shares`] gives to `cases`.
pub fn average_build_share(cases: &[Evidence]) -> f64 {
    runs(cases, MAX_RUN).len() as f64 / cases.len() as f64
}

/// By case: its share of the cost of finding its reduced tree, which is shared equally in a run.
/// Does not depend on the number of threads.
fn build_shares(cases: &[Evidence]) -> Vec<f64> {
    let mut shares = vec![1.0; cases.len()];
    for run in runs(cases, MAX_RUN) {
        run.iter().for_each(|&case| shares[case] = 1.0 / run.len() as f64);
    }
    shares
}

/// Divides the cases, given by number, into runs of at most `max_length` cases that observe the
/// same variables.
fn runs(cases: &[Evidence], max_length: usize) -> Vec<Vec<usize>> {
    // The last run of each set of variables.
    let mut last: HashMap<Vec<VariableId>, usize> = HashMap::new();
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let observed = case.iter().filter(|(_, finding)| matches!(finding, Finding::Observed(_)));
        let observed = observed.map(|(variable, _)| variable).collect();
        let run = last.entry(observed).or_insert(usize::MAX);
        if runs.get(*run).is_none_or(|run| run.len() >= max_length.max(1)) {
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
    fn cases_that_observe_the_same_variables_are_in_one_run() {
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
