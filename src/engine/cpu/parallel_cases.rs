//! A batch of cases, each propagated on one thread.
//!
//! The cases are divided into *runs*: at most [`MAX_RUN`] cases that observe the same variables.
//! One thread propagates the cases of a run in turn, and searches for their reduced tree only once.
//! Runs share nothing but the tables of the full tree, so a free thread takes the next run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::cancel::Cancelled;
use crate::engine::cpu::context::ExecutionContext;
use crate::engine::cpu::propagate::{Shared, ThreadState};
use crate::engine::{BatchAnswers, RunError};
use crate::network::{Evidence, Finding, VariableId};
use crate::potential::Real;
use crate::propagation::{Posteriors, Watch};

/// Maximum number of cases in a run. In longer runs, more cases share a reduced tree; shorter runs
/// keep all threads busy to the end. If it is wrong, only speed changes (and last bits of results).
const MAX_RUN: usize = 32;

/// Answers `cases`, in order, on as many threads as there are `thread_states`. Must be called in
/// the thread pool.
///
/// # Errors
/// If the batch was cancelled.
pub fn propagate<T: Real>(
    shared: &Shared<T>,
    thread_states: &mut [ThreadState<T>],
    cases: &[Evidence],
    watch: &Watch,
) -> Result<BatchAnswers, Cancelled> {
    type Numbered = Vec<(usize, Result<Posteriors, RunError>)>;
    let reduced_tree_bytes = shared.reduced_tree_bytes(thread_states.len());
    // With enough cases there are about four runs per thread, or more, so that all threads are busy
    // to the end.
    let max_length = cases.len().div_ceil(4 * thread_states.len()).min(MAX_RUN);
    let runs = runs(cases, max_length);
    let build_shares = build_shares(cases);
    let next = AtomicUsize::new(0);
    let work = |thread_state: &mut ThreadState<T>| -> Result<Numbered, Cancelled> {
        let watch = watch.untimed_child();
        let mut answers = Vec::new();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Forget the earlier runs, so that no bit depends on which thread takes this run.
            thread_state.forget();
            for &case in run {
                thread_state.forget_messages();
                let build_share = build_shares[case];
                let optimisations = shared.optimisations;
                let context = ExecutionContext {
                    threads: None,
                    reduced_tree_bytes,
                    build_share,
                    optimisations,
                };
                match shared.propagate(thread_state, &cases[case], context, &watch) {
                    Err(RunError::Cancelled) => return Err(Cancelled),
                    answer => answers.push((case, answer)),
                }
            }
        }
        Ok(answers)
    };
    let found: Result<Vec<Numbered>, Cancelled> =
        thread_states.par_iter_mut().with_max_len(1).map(work).collect();
    let mut answers: Numbered = found?.into_iter().flatten().collect();
    answers.sort_unstable_by_key(|&(case, _)| case);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The average of the shares that [`build_shares`] gives to `cases`.
pub fn average_build_share(cases: &[Evidence]) -> f64 {
    runs(cases, MAX_RUN).len() as f64 / cases.len() as f64
}

/// By case: its share of the cost of finding its reduced tree. The cases of a run share the cost
/// equally. Runs are assumed to have up to [`MAX_RUN`] cases, although [`propagate`] may make
/// shorter ones, so that the shares do not depend on the number of threads.
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
    fn cases_that_observe_the_same_variables_are_in_one_run_until_it_is_full() {
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
