//! Networks of 100,000 variables, on a thread whose stack is too small for recursion over them.

use std::sync::{Arc, OnceLock};

use cliquescope::cancel::CancelToken;
use cliquescope::network::{Evidence, Network};
use cliquescope::propagation::{CompiledNetwork, Posteriors, Watch};

use crate::fixtures::{compiled, network, observed};
use crate::subject::Subject;

/// Number of variables.
const VARIABLES: usize = 100_000;

/// Number of cases of the batch, enough for engine `gpu` to compute them together.
const BATCH: usize = 16;

/// Stack of the thread that loads and propagates, in bytes. Recursion would need at least 50 bytes
/// a level, 5 MB in all.
const STACK: usize = 1 << 20;

/// The name under which an engine may skip these networks.
const LARGE: &str = "100,000 variables";

/// The probability of state 1 given state 0 of the parent, and given state 1.
const GIVEN: [f64; 2] = [0.25, 0.625];

/// A network of binary variables: the first is a fair coin, and each other one has the parent that
/// `parent` gives.
fn large(parent: fn(usize) -> usize) -> Arc<CompiledNetwork> {
    let row = |p: f64| [1.0 - p, p];
    let (coin, table) = (row(0.5), GIVEN.map(row).concat());
    let parents: Vec<[usize; 1]> = (1..VARIABLES).map(|v| [parent(v)]).collect();
    let others = parents.iter().map(|parents| (2, &parents[..], &table[..]));
    let all: Vec<_> = std::iter::once((2, &[][..], &coin[..])).chain(others).collect();
    compiled(network(&all))
}

fn on_small_stack(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        builder.spawn_scoped(scope, test).unwrap().join().unwrap();
    });
}

/// Propagates without evidence and with the last variable observed in state 1, each alone and then
/// as a batch. Compares with `last`, the prior probability of state 1 of the last variable, and
/// `first`, the probability of state 1 of the first variable given this evidence.
fn check(subject: &Subject, compiled: &Arc<CompiledNetwork>, last: f64, first: f64) {
    on_small_stack(|| {
        let network: &Network = compiled.network();
        let mut propagator = subject.load(compiled);
        let cases = [Evidence::none(), observed(network, &[(VARIABLES - 1, 1)])];
        let ends = [0, VARIABLES - 1].map(|v| network.ids().nth(v).expect("a variable"));
        let is_right = |number: usize, answer: &Posteriors| match number % 2 {
            0 => {
                subject.assert_close(network, answer.of(ends[0]), &[0.5, 0.5], "the first");
                let expected = [1.0 - last, last];
                subject.assert_close(network, answer.of(ends[1]), &expected, "the last");
            }
            _ => {
                subject.assert_close_ln(network, answer.ln_p_evidence(), last.ln(), "ln P(e)");
                let expected = [1.0 - first, first];
                subject.assert_close(network, answer.of(ends[0]), &expected, "given the last");
            }
        };
        for (number, case) in cases.iter().enumerate() {
            let alone = crate::subject::propagate(&mut *propagator, compiled, case);
            is_right(number, &alone.expect("it is possible"));
        }
        // One subject of each engine and precision is enough: a batch takes seconds.
        if subject.threads != 2 || subject.form.is_some() {
            return;
        }
        let batch: Vec<Evidence> = cases.into_iter().cycle().take(BATCH).collect();
        let watch = Watch::untimed(CancelToken::new());
        let answers = propagator.run_batch(&batch, &watch).expect("it is not cancelled");
        for (number, answer) in answers.iter().enumerate() {
            is_right(number, answer.as_ref().expect("it is possible"));
        }
    });
}

/// A chain: each variable depends on the one before.
pub fn a_chain_of_100_000_variables(subject: &Subject) {
    static CHAIN: OnceLock<Arc<CompiledNetwork>> = OnceLock::new();
    if subject.is_exempt(LARGE) {
        return;
    }
    let compiled = CHAIN.get_or_init(|| large(|v| v - 1));
    // In the stationary distribution, state 1 has probability p = 0.25 (1 - p) + 0.625 p, so p is
    // 0.4. The ends are nearly independent.
    check(subject, compiled, 0.4, 0.5);
}

/// A star: all variables depend on the first one.
pub fn a_star_of_100_000_variables(subject: &Subject) {
    static STAR: OnceLock<Arc<CompiledNetwork>> = OnceLock::new();
    if subject.is_exempt(LARGE) {
        return;
    }
    let compiled = STAR.get_or_init(|| large(|_| 0));
    let last = (GIVEN[0] + GIVEN[1]) / 2.0;
    check(subject, compiled, last, 0.5 * GIVEN[1] / last);
}
