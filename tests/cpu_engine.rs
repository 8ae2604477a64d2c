//! What engine `cpu` promises beyond what every engine must do.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, LoadOptions, PaperOptions};
use cliquescope::format::open;
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{
    CompileOptions, CompiledNetwork, MemoryLimit, Posteriors, Watch, compile,
};

fn sample(name: &str) -> Arc<CompiledNetwork> {
    let network = Arc::clone(&open(name).expect("it is shipped").network);
    let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
    Arc::new(compiled.expect("nobody cancels"))
}

/// Propagates the cases one after another on so many threads.
fn run(
    compiled: &Arc<CompiledNetwork>,
    precision: Precision,
    threads: usize,
    cases: &[Evidence],
) -> Vec<Posteriors> {
    let memory = MemoryLimit::of_bytes(4 << 30);
    let options = LoadOptions { precision, threads, memory, paper: PaperOptions::default() };
    let engine = engine::by_name("cpu").expect("it is one of the engines");
    let mut propagator = engine.load(compiled, &options).expect("it fits");
    assert_eq!(propagator.threads(), threads);
    let mut propagate = |case: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let found = engine::propagate(&mut *propagator, compiled, case, &watch);
        assert!(watch.trace().messages.iter().all(|timing| (timing.lane as usize) < threads));
        found.expect("the evidence is possible")
    };
    cases.iter().map(&mut propagate).collect()
}

/// Evidence that every `step`th variable is in its most probable state given those before.
fn probable(compiled: &Arc<CompiledNetwork>, step: usize, count: usize) -> Evidence {
    let network = compiled.network();
    let mut evidence = Evidence::none();
    for variable in network.ids().step_by(step).take(count) {
        let found = &run(compiled, Precision::F64, 1, std::slice::from_ref(&evidence))[0];
        let posterior = found.of(variable);
        let best = (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b]));
        evidence.observe(network, variable, best.expect("a variable has states"));
    }
    evidence
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for name in ["alarm", "water", "mildew", "pigs", "munin3"] {
        let compiled = sample(name);
        let cases = [Evidence::none(), probable(&compiled, 7, 3), probable(&compiled, 5, 12)];
        for precision in Precision::ALL {
            let expected = run(&compiled, precision, 1, &cases);
            for threads in [2, 16] {
                assert_eq!(run(&compiled, precision, threads, &cases), expected, "{name}");
            }
        }
    }
}

#[test]
fn what_was_asked_before_changes_no_bit() {
    for name in ["alarm", "mildew", "pigs"] {
        let compiled = sample(name);
        let cases = [Evidence::none(), probable(&compiled, 7, 3), probable(&compiled, 3, 11)];
        let [nothing, few, many] = &cases;
        let order = [nothing, few, few, many, few, many, many, nothing].map(Clone::clone);
        let alone = cases
            .each_ref()
            .map(|case| run(&compiled, Precision::F32, 1, std::slice::from_ref(case)).remove(0));
        let found = run(&compiled, Precision::F32, 1, &order);
        for (case, found) in order.iter().zip(found) {
            let which = cases.iter().position(|other| other == case).expect("it is one of them");
            assert_eq!(found, alone[which], "{name}");
        }
    }
}

#[test]
fn what_was_saved_is_told() {
    let compiled = sample("mildew");
    let entries = compiled.statistics().total_clique_entries;
    let memory = MemoryLimit::of_bytes(4 << 30);
    let paper = PaperOptions::default();
    let options = LoadOptions { precision: Precision::F64, threads: 1, memory, paper };
    let engine = engine::by_name("cpu").expect("it is one of the engines");
    let mut propagator = engine.load(&compiled, &options).expect("it fits");
    let mut savings = |evidence: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        engine::propagate(&mut *propagator, &compiled, evidence, &watch).expect("it is possible");
        watch.trace().savings
    };
    // Mildew keeps 14% of its entries, and without evidence tables without news sum out.
    let nothing = savings(&Evidence::none());
    assert!(nothing.entries_left < entries / 4);
    assert_eq!((nothing.entries_left + nothing.entries_zero, nothing.entries_sliced), (entries, 0));
    assert!(nothing.messages_skipped > 0);
    let much = savings(&probable(&compiled, 2, 17));
    assert_eq!((much.entries_left + much.entries_sliced, much.entries_zero), (entries, 0));
    assert!(much.entries_left < nothing.entries_left);
}
