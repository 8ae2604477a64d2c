use std::sync::{Arc, Barrier};
use std::time::Duration;

use super::twin::Twin;
use super::*;
use crate::cancel::CancelToken;
use crate::engine::by_name;
use crate::engine::cuda::device::tests::has_gpu;
use crate::engine::cuda::fixtures::{assert_near, class_given_features, load_options, networks};
use crate::network::VariableId;
use crate::potential::Precision;
use crate::propagation::Posteriors;

/// Enough cases for several groups and several buffer sets; the last group is not full.
const BATCH_CASES: usize = 85;

fn threads() -> Threads {
    Threads::new(2).expect("there is memory for two threads")
}

fn twin(compiled: &CompiledNetwork) -> Option<BatchPropagator> {
    let buffers = buffers(compiled, 1 << 30)?;
    let twin = Twin::new(&buffers, 64);
    Some(BatchPropagator::new(buffers, vec![Box::new(twin)], None, threads()))
}

/// A twin that fails after some launches.
struct Failing {
    twin: Twin,
    starts: usize,
    /// Reached by each GPU when it starts its second part, so that no GPU computes the parts of
    /// another before.
    second_start: Arc<Barrier>,
    launches_left: usize,
    /// How long the twin takes to fail.
    delay: Duration,
    /// Cancelled when the twin fails.
    cancel: CancelToken,
}

impl Executor for Failing {
    fn sets(&self) -> usize {
        self.twin.sets()
    }

    fn capacity(&self) -> usize {
        self.twin.capacity()
    }

    fn bytes(&self) -> u64 {
        self.twin.bytes()
    }

    fn packed(&mut self, set: usize, words: usize) -> &mut [u32] {
        self.twin.packed(set, words)
    }

    fn start(
        &mut self,
        buffers: &Buffers,
        set: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), RunError> {
        self.starts += 1;
        if self.starts == 2 {
            self.second_start.wait();
        }
        self.twin.start(buffers, set, cases, is_soft)
    }

    fn results(&mut self, set: usize) -> Result<&[f32], RunError> {
        let left = self.launches_left.checked_sub(1);
        if left.is_none() {
            std::thread::sleep(self.delay);
            self.cancel.cancel();
        }
        self.launches_left = left.ok_or(RunError::Device("the GPU is lost".to_owned()))?;
        self.twin.results(set)
    }
}

/// Twins of GPUs that fail. GPU number i gives the results of `launches[i]` launches. When the next
/// results are read, it waits for `delay`, cancels `cancel`, and fails.
fn failing_twins(
    compiled: &CompiledNetwork,
    launches: &[usize],
    delay: Duration,
    cancel: &CancelToken,
) -> BatchPropagator {
    let buffers = buffers(compiled, 1 << 30).expect("the network has a plan");
    // Each GPU needs a second part to start.
    assert!(BATCH_CASES.div_ceil(16) >= 2 * launches.len());
    let second_start = Arc::new(Barrier::new(launches.len()));
    let failing = |&launches_left: &usize| -> Box<dyn Executor> {
        let (twin, second_start) = (Twin::new(&buffers, 16), Arc::clone(&second_start));
        let cancel = cancel.clone();
        Box::new(Failing { twin, starts: 0, second_start, launches_left, delay, cancel })
    };
    let executors = launches.iter().map(failing).collect();
    BatchPropagator::new(buffers, executors, None, threads())
}

#[test]
fn the_cases_of_a_gpu_that_fails_are_computed_by_the_others() {
    let (compiled, cases) =
        networks().into_iter().find(|(_, cases)| !cases.is_empty()).expect("a network");
    let watch = Watch::untimed(CancelToken::new());
    let batch: Vec<Evidence> = cases.iter().cycle().take(BATCH_CASES).cloned().collect();
    let expected = twin(&compiled).expect("a plan").run(&batch, &watch).unwrap();
    let mut three_gpus = failing_twins(&compiled, &[99, 1, 0], Duration::ZERO, &CancelToken::new());
    assert_eq!(three_gpus.gpus(), 3);
    assert_eq!(three_gpus.run(&batch, &watch).unwrap(), expected);
    assert_eq!(three_gpus.gpus(), 1, "GPUs that failed are not used again");
    assert_eq!(three_gpus.run(&batch, &watch).unwrap(), expected);

    // The batch is cancelled after a GPU has failed.
    let cancel = CancelToken::new();
    let mut two_gpus = failing_twins(&compiled, &[99, 0], Duration::ZERO, &cancel);
    assert_eq!(two_gpus.run(&batch, &Watch::untimed(cancel)), Err(Cancelled));
    assert_eq!(two_gpus.gpus(), 1, "a GPU that failed is not used again");

    // The last GPU fails in the middle of the batch.
    let mut one_gpu = failing_twins(&compiled, &[2], Duration::ZERO, &CancelToken::new());
    let lost = Err(RunError::Device("the GPU is lost".to_owned()));
    for computed in [32, 0] {
        let found = one_gpu.run(&batch, &watch).unwrap();
        assert_eq!(found[..computed], expected[..computed]);
        assert!(found[computed..].iter().all(|answer| *answer == lost));
        assert_eq!((found.len(), one_gpu.gpus()), (BATCH_CASES, 0));
    }
}

#[test]
fn the_cases_of_a_gpu_that_fails_last_are_computed_too() {
    let (compiled, cases) =
        networks().into_iter().find(|(_, cases)| !cases.is_empty()).expect("a network");
    let watch = Watch::untimed(CancelToken::new());
    let batch: Vec<Evidence> = cases.iter().cycle().take(BATCH_CASES).cloned().collect();
    let expected = twin(&compiled).expect("a plan").run(&batch, &watch).unwrap();
    // Long enough for the other GPU to finish.
    let delay = Duration::from_millis(100);
    let mut two_gpus = failing_twins(&compiled, &[99, 0], delay, &CancelToken::new());
    assert_eq!(two_gpus.run(&batch, &watch).unwrap(), expected);
    assert_eq!(two_gpus.gpus(), 1, "a GPU that failed is not used again");
}

#[test]
fn the_twin_agrees_with_single_runs_of_the_sequential_engine() {
    for (compiled, cases) in networks() {
        let Some(mut twin) = twin(&compiled) else {
            // A network without variables has no plan. Nor has one in which the product of a
            // clique's factors may underflow.
            let network = compiled.network();
            assert!(network.variables().is_empty() || !network.is_bayesian());
            continue;
        };
        let options = load_options(Precision::F64);
        let mut single = by_name("sequential").unwrap().load(&compiled, &options).unwrap();
        let watch = Watch::untimed(CancelToken::new());
        let expected: Vec<_> = cases.iter().map(|case| single.run(case, &watch)).collect();
        let batch: Vec<Evidence> = cases.iter().cycle().take(BATCH_CASES).cloned().collect();
        let found = twin.run(&batch, &watch).unwrap();
        assert_eq!(found.len(), BATCH_CASES);
        // The findings of one network contradict each other so much that its numbers may be out of
        // range.
        let is_extreme = compiled.network().name() == "unlikely";
        for (found, expected) in found.iter().zip(expected.iter().cycle()) {
            if !(is_extreme && *found == Err(RunError::OutOfRange)) {
                assert_near(found, expected);
            }
        }
        // A single case, without and with likelihoods.
        for case in [0, 2] {
            let found = twin.run(&cases[case..=case], &watch).unwrap();
            if !is_extreme {
                assert_near(&found[0], &expected[case]);
            }
        }
        assert_eq!(twin.run(&[], &watch), Ok(Vec::new()));
        watch.cancel();
        assert_eq!(twin.run(&batch, &watch), Err(Cancelled));
    }
}

/// The answer of the twin to the evidence of all features. The other cases of the batch have no
/// evidence.
fn of_features<const STATES: usize>(features: &[[f64; STATES]]) -> Result<Posteriors, RunError> {
    let (compiled, evidence) = class_given_features(features);
    let mut cases = vec![Evidence::none(); 40];
    cases[35] = evidence;
    let watch = Watch::untimed(CancelToken::new());
    let mut found = twin(&compiled).expect("a plan").run(&cases, &watch).unwrap();
    assert!(found.iter().enumerate().all(|(case, answer)| case == 35 || answer.is_ok()));
    found.swap_remove(35)
}

#[test]
fn improbable_evidence_is_accepted_if_nothing_underflows() {
    let rare = of_features(&[[2e-9, 1e-9]; 60]).unwrap();
    assert!((rare.of(VariableId::new(0))[0] - 1.0).abs() < 1e-12);
    let expected = 60.0 * 2e-9_f64.ln() - 2_f64.ln();
    assert!((rare.ln_p_evidence() - expected).abs() < 1e-3);
    let mixed = of_features(&[[0.2, 0.01], [0.01, 0.2]].repeat(35)).unwrap();
    assert!((mixed.of(VariableId::new(0))[0] - 0.5).abs() < 1e-5);
    assert!(mixed.ln_p_evidence() < -200.0);
}

#[test]
fn products_that_matter_are_noticed_if_they_underflow() {
    // Each of the first two classes is improbable given one half of the features, so its product
    // may underflow in single precision. If the product were taken for zero, the third class would
    // have a posterior near one.
    let mut noticed = 0;
    for unlikely in [1e-2, 1e-3, 1e-4, 1e-6, 1e-8] {
        let third = f64::sqrt(0.5 * unlikely);
        let halves = [[unlikely, 0.9, third], [0.9, unlikely, third]].map(|half| [half; 30]);
        match of_features(&halves.concat()) {
            Ok(found) => assert!(found.of(VariableId::new(0))[2] < 1e-6, "{unlikely}"),
            Err(error) => {
                assert_eq!(error, RunError::OutOfRange);
                noticed += 1;
            }
        }
    }
    assert!((1..5).contains(&noticed), "{noticed} of 5");
}

#[test]
fn impossible_states_keep_a_posterior_of_zero() {
    // The second class is impossible only because of the evidence.
    let found = of_features(&[[0.5, 0.0, 0.1], [0.25, 0.5, 0.1]]).unwrap();
    let found = found.of(VariableId::new(0));
    assert!((found[0] - 0.125 / 0.135).abs() < 1e-6 && found[1] == 0.0, "{found:?}");
    assert_eq!(of_features(&[[0.5, 0.0], [0.0, 0.5]]), Err(RunError::OutOfRange));
}

#[test]
fn the_gpu_agrees_with_the_twin() {
    if !has_gpu("batch: the_gpu_agrees_with_the_twin") {
        return;
    }
    for (compiled, cases) in networks() {
        let Some(mut twin) = twin(&compiled) else { continue };
        let mut gpu = BatchPropagator::load(&compiled, 2, 1 << 32).unwrap();
        let watch = Watch::untimed(CancelToken::new());
        for count in [1, 33, 5000] {
            let batch: Vec<Evidence> = cases.iter().cycle().take(count).cloned().collect();
            let found = gpu.run(&batch, &watch).unwrap();
            assert_eq!(found.len(), count);
            let expected = twin.run(&batch[..count.min(BATCH_CASES)], &watch).unwrap();
            expected.iter().zip(&found).for_each(|(expected, found)| assert_near(found, expected));
            // The answer to a case does not depend on the position of the case in the batch.
            let period = cases.len();
            assert!(found.iter().zip(found.iter().skip(period)).all(|(a, b)| a == b));
            assert_eq!(gpu.run(&batch, &watch), Ok(found), "two runs are bit-equal");
        }
    }
}
