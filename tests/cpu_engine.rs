//! Tests of engine `cpu` beyond the conformance suite: bit-for-bit reproducibility, timings,
//! savings, incremental runs and batches.

use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{
    self, BatchAnswers, LoadOptions, Optimisation, Optimisations, Propagator, RunError,
};
use cliquescope::format::open;
use cliquescope::network::{Evidence, Network, VariableId};
use cliquescope::potential::Precision;
use cliquescope::propagation::{
    Activity, CompileOptions, CompiledNetwork, Form, MemoryLimit, MessageTiming, Posteriors, Stage,
    Watch, compile,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn sample(name: &str) -> Arc<CompiledNetwork> {
    let network = Arc::clone(&open(name).expect("a shipped network").network);
    let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
    Arc::new(compiled.expect("it is not cancelled"))
}

/// Loads `compiled` into engine `cpu`, in the given form or in the one that the engine chooses.
fn load_as(
    compiled: &Arc<CompiledNetwork>,
    precision: Precision,
    threads: usize,
    form: Option<Form>,
) -> Box<dyn Propagator> {
    let memory = MemoryLimit::from_bytes(4 << 30);
    let options = LoadOptions { precision, threads, memory, form, ..LoadOptions::default() };
    let engine = engine::by_name("cpu").expect("an engine of this name");
    engine.load(compiled, &options).expect("the network fits in memory")
}

/// Loads `compiled` into engine `cpu`.
fn load(
    compiled: &Arc<CompiledNetwork>,
    precision: Precision,
    threads: usize,
) -> Box<dyn Propagator> {
    load_as(compiled, precision, threads, None)
}

/// Propagates the cases one after another on `threads` threads, with tables.
fn run(
    compiled: &Arc<CompiledNetwork>,
    precision: Precision,
    threads: usize,
    cases: &[Evidence],
) -> Vec<Posteriors> {
    run_as(compiled, precision, threads, Form::Tables, cases)
}

/// Propagates the cases one after another on `threads` threads, in the given form.
fn run_as(
    compiled: &Arc<CompiledNetwork>,
    precision: Precision,
    threads: usize,
    form: Form,
    cases: &[Evidence],
) -> Vec<Posteriors> {
    let mut propagator = load_as(compiled, precision, threads, Some(form));
    assert_eq!(propagator.threads(), threads);
    let mut propagate = |case: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        let found = engine::propagate(&mut *propagator, compiled, case, &watch);
        assert!(watch.trace().messages.iter().all(|timing| (timing.worker as usize) < threads));
        found.expect("the evidence is possible")
    };
    cases.iter().map(&mut propagate).collect()
}

/// Evidence on every `step`th variable, on at most `count` of them. Each is observed in its most
/// probable state given the previous findings.
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
fn messages_are_timed_in_groups_in_small_networks_and_alone_in_large_ones() {
    for (name, is_small) in
        [("asia", true), ("alarm", true), ("mildew", false), ("diabetes", false)]
    {
        let compiled = sample(name);
        for threads in [1, 2] {
            let mut propagator = load(&compiled, Precision::F64, threads);
            let watch = Watch::timed(compiled.plan(), CancelToken::new());
            propagator.run(&Evidence::none(), &watch).expect("the evidence is possible");
            let trace = watch.trace();
            let ids = trace.messages.iter().map(|timing| timing.message);
            assert!(ids.eq(compiled.plan().ids()), "{name}: every message once, in order");
            let is_shared = |timing: &&MessageTiming| timing.shared_with > 0;
            let shared = trace.messages.iter().filter(is_shared).count();
            assert_eq!(
                shared > 0,
                is_small,
                "{name}: {shared} messages were timed together with others"
            );
            // The messages of one worker do not overlap, and none starts before collect begins.
            let mut timings = trace.messages.clone();
            timings.sort_by_key(|timing| (timing.worker, timing.start, timing.duration));
            let follow = |pair: &[MessageTiming]| {
                pair[0].worker != pair[1].worker
                    || pair[0].start + pair[0].duration <= pair[1].start
            };
            assert!(timings.windows(2).all(follow), "{name}: {timings:?}");
            let collect = trace.stages.iter().find(|timing| timing.stage == Stage::Collect);
            let begun = collect.expect("collect was timed").start;
            assert!(timings.iter().all(|timing| timing.start >= begun));
        }
    }
}

#[test]
fn the_product_at_the_root_and_the_start_of_threads_are_in_the_trace() {
    let compiled = sample("mildew");
    for form in [Form::Tables, Form::TableFree] {
        for threads in [1, 3] {
            let mut propagator = load_as(&compiled, Precision::F64, threads, Some(form));
            let watch = Watch::timed(compiled.plan(), CancelToken::new());
            propagator.run(&Evidence::none(), &watch).expect("the evidence is possible");
            let trace = watch.trace();
            let of = |wanted| trace.activities.iter().filter(move |a| a.activity == wanted);
            assert_eq!(of(Activity::Root).count(), 1, "{form}, {threads} threads");
            let distribute = trace.stages.iter().find(|timing| timing.stage == Stage::Distribute);
            let distribute = distribute.expect("distribute was timed");
            let root = of(Activity::Root).next().expect("it was counted");
            assert!(root.start >= distribute.start);
            assert!(root.start + root.duration <= distribute.end);
            assert_eq!(of(Activity::Start).count() > 0, threads > 1, "{form}, {threads} threads");
            assert!(trace.activities.iter().all(|a| (a.worker as usize) < threads));
        }
    }
}

#[test]
fn only_a_long_propagation_enters_the_pool() {
    let compiled = sample("mildew");
    let mut propagator = load_as(&compiled, Precision::F64, 2, Some(Form::Tables));
    // Every second variable is observed. The reduced tree that is found for this is small.
    let many = probable(&compiled, 2, usize::MAX);
    let mut starts_thread = |evidence: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        propagator.forget();
        propagator.run(evidence, &watch).expect("the evidence is possible");
        let trace = watch.trace();
        let stage = trace.stages.iter().find(|timing| timing.stage == Stage::Initialise);
        let begun = stage.expect("this stage was timed").start;
        let mut starts = trace.activities.iter().filter(|a| a.activity == Activity::Start);
        starts.next().map(|start| assert!(start.start >= begun)).is_some()
    };
    assert!(starts_thread(&Evidence::none()), "through the full tree");
    assert!(starts_thread(&many), "before any search, a long propagation is expected");
    assert!(!starts_thread(&many), "the last tree that was found is small");
    assert!(starts_thread(&Evidence::none()), "a short propagation was expected, but it is long");
}

#[test]
fn what_helping_threads_do_is_in_the_trace() {
    let compiled = sample("barley");
    for form in [Form::Tables, Form::TableFree] {
        let mut propagator = load_as(&compiled, Precision::F64, 2, Some(form));
        let mut is_helped = || {
            propagator.forget();
            let watch = Watch::timed(compiled.plan(), CancelToken::new());
            propagator.run(&Evidence::none(), &watch).expect("the evidence is possible");
            let activities = watch.trace().activities;
            activities.iter().any(|timing| matches!(timing.activity, Activity::Help(_)))
        };
        // On a busy machine, the other thread may come too late to help.
        assert!((0..100).any(|_| is_helped()), "{form}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_propagation() {
    for name in ["alarm", "water", "mildew", "pigs", "munin3"] {
        let compiled = sample(name);
        let cases = [Evidence::none(), probable(&compiled, 7, 3), probable(&compiled, 5, 12)];
        for (precision, form) in [
            (Precision::F32, Form::Tables),
            (Precision::F64, Form::Tables),
            (Precision::F64, Form::TableFree),
        ] {
            let expected = run_as(&compiled, precision, 1, form, &cases);
            for threads in [2, 16] {
                let found = run_as(&compiled, precision, threads, form, &cases);
                assert!(found == expected, "{name}, {precision}, {form}, {threads} threads");
            }
        }
    }
}

/// Without tables, threads contract several cliques at the same time. Which of them is the first to
/// find an error must not matter.
#[test]
fn the_number_of_threads_changes_no_answer_to_impossible_evidence() {
    let compiled = sample("pigs");
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let network = compiled.network();
    let cases: Vec<Evidence> = (0..30)
        .map(|case| {
            let share = 0.01 * f64::from(case);
            let mut evidence = Evidence::none();
            for variable in network.ids() {
                if rng.random_bool(share) {
                    let state = rng.random_range(0..network[variable].cardinality());
                    evidence.observe(network, variable, state);
                }
            }
            evidence
        })
        .collect();
    let answers = |threads: usize| -> Vec<Result<Posteriors, RunError>> {
        let mut propagator = load_as(&compiled, Precision::F64, threads, Some(Form::TableFree));
        let watch = || Watch::untimed(CancelToken::new());
        cases.iter().map(|case| propagator.run(case, &watch())).collect()
    };
    let alone = answers(1);
    assert!(alone.iter().any(Result::is_ok) && alone.iter().any(Result::is_err));
    assert!(alone == answers(16));
}

/// The largest difference between two answers, which must agree on whether the case is possible.
fn deviation(one: &Result<Posteriors, RunError>, other: &Result<Posteriors, RunError>) -> f64 {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            let pairs = one.values().iter().zip(other.values());
            let (a, b) = (one.ln_p_evidence(), other.ln_p_evidence());
            // Keeps a NaN, which f64::max would ignore.
            let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
            pairs.map(|(a, b)| (a - b).abs()).fold((a - b).abs() / (1.0 + b.abs()), larger)
        }
        (one, other) => {
            assert_eq!(one.as_ref().err(), other.as_ref().err());
            0.0
        }
    }
}

/// Sets, changes or retracts one finding, or sometimes several. Rarely replaces all findings.
fn change(evidence: &mut Evidence, network: &Network, rng: &mut Pcg64Mcg) {
    if rng.random_bool(0.02) {
        *evidence = Evidence::drawn(network, network.variables().len() / 5, rng);
        return;
    }
    let count = if rng.random_bool(0.9) { 1 } else { rng.random_range(2..6) };
    for _ in 0..count {
        let known: Vec<_> = evidence.iter().map(|(variable, _)| variable).collect();
        let any = VariableId::new(rng.random_range(0..network.variables().len()));
        // In the long run about a fifth of the variables have findings.
        let crowded = known.len() > network.variables().len() / 5;
        let is_known = !known.is_empty() && rng.random_bool(if crowded { 0.7 } else { 0.4 });
        let variable = if is_known { known[rng.random_range(0..known.len())] } else { any };
        let states = network[variable].cardinality();
        if is_known && rng.random_bool(0.6) {
            evidence.retract(variable);
        } else if rng.random_bool(0.25) {
            let weights: Vec<f64> = (0..states).map(|_| rng.random_range(0.01..2.0)).collect();
            evidence.set_likelihood(network, variable, weights).expect("weights above zero");
        } else {
            evidence.observe(network, variable, rng.random_range(0..states));
        }
    }
}

#[test]
fn an_incremental_run_gives_the_answer_of_a_fresh_one() {
    let steps = [
        ("asia", 400),
        ("child", 300),
        ("insurance", 300),
        ("alarm", 300),
        ("water", 100),
        ("mildew", 40),
        ("pigs", 60),
        ("munin2", 25),
    ];
    for (name, steps) in steps {
        let compiled = sample(name);
        let network = compiled.network();
        for (precision, tolerance) in [(Precision::F64, 1e-12), (Precision::F32, 2e-6)] {
            let mut incremental = load(&compiled, precision, 2);
            let mut fresh = load(&compiled, precision, 1);
            let mut rng = Pcg64Mcg::seed_from_u64(41);
            let mut evidence = Evidence::none();
            let (mut possible, mut impossible) = (0, 0);
            for step in 0..steps {
                let before = evidence.clone();
                change(&mut evidence, network, &mut rng);
                let watch = Watch::untimed(CancelToken::new());
                let found = incremental.run(&evidence, &watch);
                fresh.forget();
                let expected = fresh.run(&evidence, &watch);
                let deviation = deviation(&found, &expected);
                // This condition is false for NaN.
                assert!(deviation <= tolerance, "{name}, step {step}: {deviation:e} off");
                if found.is_ok() {
                    possible += 1;
                } else {
                    impossible += 1;
                    evidence = before;
                }
            }
            assert!(possible > steps / 2, "{name}: {impossible} of {steps} impossible");
        }
    }
}

#[test]
fn after_one_more_finding_fewer_messages_are_computed() {
    let compiled = sample("pigs");
    let mut propagator = load(&compiled, Precision::F64, 1);
    let mut skipped = |evidence: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        engine::propagate(&mut *propagator, &compiled, evidence, &watch)
            .expect("the evidence is possible");
        watch.trace().savings.messages_skipped
    };
    let few = probable(&compiled, 40, 11);
    let before = skipped(&few);
    let mut more = few.clone();
    let last = compiled.network().ids().last().expect("pigs has variables");
    more.observe(compiled.network(), last, 0);
    assert!(skipped(&more) > before);
    assert_eq!(skipped(&more), compiled.plan().messages().len(), "nothing changed");
}

#[test]
fn a_message_processes_entries_only_if_it_is_computed_from_a_table() {
    let compiled = sample("child");
    let mut propagator = load(&compiled, Precision::F64, 1);
    let mut computed = || {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        engine::propagate(&mut *propagator, &compiled, &Evidence::none(), &watch)
            .expect("nothing is observed");
        let trace = watch.trace();
        let entries = compiled.plan().ids().map(|id| trace.entries_processed(id));
        let computed = entries.filter(|entries| entries.expect("it is reported") > 0).count();
        assert_eq!(computed, compiled.plan().messages().len() - trace.savings.messages_skipped);
        computed
    };
    let first = computed();
    assert!(0 < first && first < compiled.plan().messages().len(), "{first}");
    assert_eq!(computed(), 0, "nothing changed");
}

#[test]
fn a_reduced_tree_for_other_states_stays_within_the_memory_limit() {
    let compiled = sample("barley");
    let network = compiled.network();
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let first = Evidence::drawn(network, 20, &mut rng);
    let changed = first.observed_variables()[0];
    let state = first.observed(changed).expect("it is observed");
    let mut second = first.clone();
    second.observe(network, changed, (state + 1) % network[changed].cardinality());
    // The peak memory of a propagator within this limit that runs `cases` one after another.
    let peak = |limit: u64, cases: &[&Evidence]| {
        let memory = MemoryLimit::from_bytes(limit);
        let form = Some(Form::Tables);
        let options = LoadOptions { threads: 1, memory, form, ..LoadOptions::default() };
        let engine = engine::by_name("cpu").expect("an engine of this name");
        let mut propagator = engine.load(&compiled, &options).expect("it fits");
        for case in cases {
            let _ = propagator.run(case, &Watch::untimed(CancelToken::new()));
        }
        propagator.peak_bytes()
    };
    let (one, both) = (peak(4 << 30, &[&first]), peak(4 << 30, &[&first, &second]));
    assert!(peak(4 << 30, &[]) < one && one < both, "both use reduced trees: {one}, {both}");
    let limit = one.midpoint(both);
    assert!((one..=limit).contains(&peak(limit, &[&first, &second])));
}

#[test]
fn forgetting_earlier_results_changes_no_bit() {
    for name in ["alarm", "mildew", "pigs"] {
        let compiled = sample(name);
        let cases = [Evidence::none(), probable(&compiled, 7, 3), probable(&compiled, 3, 11)];
        let [none, three, eleven] = &cases;
        let order = [none, three, three, eleven, three, eleven, eleven, none].map(Clone::clone);
        let alone = cases
            .each_ref()
            .map(|case| run(&compiled, Precision::F32, 1, std::slice::from_ref(case)).remove(0));
        let mut propagator = load(&compiled, Precision::F32, 1);
        for case in &order {
            propagator.forget();
            let found = propagator.run(case, &Watch::untimed(CancelToken::new()));
            let which = cases.iter().position(|other| other == case).expect("it is one of them");
            assert_eq!(found.as_ref(), Ok(&alone[which]), "{name}");
        }
    }
}

/// Answers a batch of 13 cases on `threads` threads. The last four cases repeat the first four.
fn batch_answers(compiled: &Arc<CompiledNetwork>, threads: usize) -> BatchAnswers {
    let network = compiled.network();
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let count = network.variables().len() / 5;
    let mut cases: Vec<Evidence> =
        (0..9).map(|_| Evidence::drawn(network, count, &mut rng)).collect();
    cases.extend(cases[..4].to_vec());
    let watch = Watch::untimed(CancelToken::new());
    let answers = load(compiled, Precision::F64, threads).run_batch(&cases, &watch);
    let answers = answers.expect("it is not cancelled");
    assert_eq!(answers.len(), cases.len());
    answers
}

/// The loops give the same bits with the machine's vector instructions and without them.
#[test]
fn vector_instructions_change_no_bit() {
    let baseline = Optimisations::default().without(Optimisation::VectorInstructions);
    for (name, precision, form) in [
        ("barley", Precision::F64, Form::Tables),
        ("mildew", Precision::F64, Form::Tables),
        ("mildew", Precision::F32, Form::Tables),
        ("munin3", Precision::F64, Form::Tables),
        ("barley", Precision::F64, Form::TableFree),
        ("mildew", Precision::F32, Form::TableFree),
    ] {
        let compiled = sample(name);
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let cases = [Evidence::none(), Evidence::drawn(compiled.network(), 3, &mut rng)];
        let answers = |optimisations: Optimisations| {
            let memory = MemoryLimit::from_bytes(4 << 30);
            let options = LoadOptions { precision, threads: 1, memory, ..LoadOptions::default() };
            let options = LoadOptions { form: Some(form), optimisations, ..options };
            let engine = engine::by_name("cpu").expect("an engine of this name");
            let mut propagator = engine.load(&compiled, &options).expect("it fits in memory");
            cases.each_ref().map(|case| {
                let watch = Watch::untimed(CancelToken::new());
                propagator.run(case, &watch).expect("the evidence is possible")
            })
        };
        let is_same = answers(baseline) == answers(Optimisations::default());
        assert!(is_same, "{name}, {precision}, {form:?}");
    }
}

/// No bit of an answer may depend on which thread propagates the case.
#[test]
fn a_repeated_batch_has_the_same_bits() {
    for name in ["alarm", "water", "pigs"] {
        let compiled = sample(name);
        for threads in [1, 2, 16] {
            let answers = batch_answers(&compiled, threads);
            assert_eq!(batch_answers(&compiled, threads), answers, "{name} on {threads} threads");
        }
    }
}

/// The number of threads determines which cases share a reduced tree.
#[test]
fn the_number_of_threads_changes_only_the_last_digits_of_a_batch() {
    for name in ["alarm", "water", "pigs"] {
        let compiled = sample(name);
        let expected = batch_answers(&compiled, 1);
        for threads in [2, 3, 16] {
            for (answer, expected) in batch_answers(&compiled, threads).iter().zip(&expected) {
                let deviation = deviation(answer, expected);
                assert!(deviation <= 1e-12, "{name} on {threads} threads: {deviation:e} off");
            }
        }
    }
}

#[test]
fn entries_that_zeros_and_observed_states_save_are_reported() {
    let compiled = sample("mildew");
    let entries = compiled.statistics().total_clique_entries;
    let mut propagator = load(&compiled, Precision::F64, 1);
    let mut savings = |evidence: &Evidence| {
        let watch = Watch::timed(compiled.plan(), CancelToken::new());
        engine::propagate(&mut *propagator, &compiled, evidence, &watch)
            .expect("the evidence is possible");
        watch.trace().savings
    };
    // 14% of the entries of Mildew can be nonzero. Without evidence, a subtree that sums out to one
    // needs no message.
    let without_evidence = savings(&Evidence::none());
    assert!(without_evidence.entries_used < entries / 4);
    assert_eq!(
        (
            without_evidence.entries_used + without_evidence.entries_zero,
            without_evidence.entries_sliced
        ),
        (entries, 0)
    );
    assert!(without_evidence.messages_skipped > 0);
    let with_evidence = savings(&probable(&compiled, 2, 17));
    assert_eq!(
        (with_evidence.entries_used + with_evidence.entries_sliced, with_evidence.entries_zero),
        (entries, 0)
    );
    assert!(with_evidence.entries_used < without_evidence.entries_used);
}

#[test]
fn many_cases_are_propagated_together_and_agree_with_single_runs() {
    let compiled = sample("alarm");
    let network = compiled.network();
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let count = network.variables().len() / 5;
    let cases: Vec<Evidence> =
        (0..500).map(|_| Evidence::drawn(network, count, &mut rng)).collect();
    let watch = Watch::untimed(CancelToken::new());
    let mut first = None;
    for threads in [1, 2, 16] {
        let mut propagator = load(&compiled, Precision::F64, threads);
        for case in &cases[..4] {
            propagator.run(case, &watch).expect("it is possible");
        }
        let single = propagator.peak_bytes();
        propagator.run_batch(&cases[..4], &watch).expect("it is not cancelled");
        let before = propagator.peak_bytes();
        // Several threads propagate the cases in parallel, and each thread has tables of its own.
        assert!(before == single || threads > 1, "a small batch is propagated case by case");
        let answers = propagator.run_batch(&cases, &watch).expect("it is not cancelled");
        assert!(propagator.peak_bytes() > before, "the memory of the batch is counted");
        for (case, answer) in cases.iter().zip(&answers).step_by(50) {
            let (answer, alone) = (answer.as_ref().unwrap(), propagator.run(case, &watch).unwrap());
            let pairs = answer.values().iter().zip(alone.values());
            assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12));
            assert!((answer.ln_p_evidence() - alone.ln_p_evidence()).abs() < 1e-9);
        }
        assert_eq!(first.get_or_insert_with(|| answers.clone()), &answers, "{threads} threads");
    }
}
