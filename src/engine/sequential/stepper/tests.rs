use super::*;
use crate::engine::LoadOptions;
use crate::network::{Cpt, Network, Variable, VariableId};
use crate::propagation::{CompileOptions, Home, Watch, compile};

fn asia() -> (Arc<CompiledNetwork>, Evidence) {
    let network = crate::format::open("asia").unwrap().network;
    let mut evidence = Evidence::none();
    evidence.observe_named(&network, "xray", "yes").unwrap();
    let options = CompileOptions::default();
    (Arc::new(compile(network, &options, &CancelToken::new()).unwrap()), evidence)
}

fn stepper(compiled: &Arc<CompiledNetwork>, evidence: &Evidence) -> Stepper {
    Stepper::new(compiled, evidence.clone(), MemoryLimit::from_bytes(1 << 30)).unwrap()
}

fn numbers(stepper: &mut Stepper, message: usize) -> Vec<f64> {
    let detail = stepper.message(MessageId::new(message), &CancelToken::new()).unwrap();
    let tables = [&detail.sender_values, &detail.receiver_values, &detail.before];
    tables.into_iter().chain([&detail.after]).flat_map(|table| table.iter().copied()).collect()
}

#[test]
fn stepping_back_and_forth_shows_the_same_numbers() {
    let (compiled, evidence) = asia();
    let messages = compiled.plan().messages().len();
    let expected: Vec<Vec<f64>> =
        (0..messages).map(|message| numbers(&mut stepper(&compiled, &evidence), message)).collect();
    let mut stepper = stepper(&compiled, &evidence);
    for message in (0..messages).chain((0..messages).rev()).chain([messages - 1, 2, 5, 1]) {
        assert_eq!(numbers(&mut stepper, message), expected[message], "message {message}");
    }
    // Steps back without stored tables.
    (stepper.undo, stepper.undo_bytes) = (VecDeque::new(), 0);
    assert_eq!(numbers(&mut stepper, 0), expected[0]);
}

#[test]
fn beliefs_do_not_depend_on_the_way_there_and_end_as_the_posteriors() {
    let (compiled, evidence) = asia();
    let network = compiled.network();
    let messages = compiled.plan().messages().len();
    let cancel = CancelToken::new();
    let after = |position: usize| stepper(&compiled, &evidence).beliefs(position, &cancel).unwrap();
    let mut stepper = stepper(&compiled, &evidence);
    for position in (0..=messages).chain((0..messages).rev()).chain([messages, 2, 5]) {
        let beliefs = stepper.beliefs(position, &cancel).unwrap();
        let fresh = after(position);
        assert_eq!((beliefs.passed(), beliefs.is_final()), (position, position == messages));
        for clique in compiled.tree().clique_ids() {
            assert!(beliefs.of_clique(clique).eq(fresh.of_clique(clique)), "{position}");
            for (_, states) in beliefs.of_clique(clique) {
                assert!((states.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
    }
    // Before the first message, both states of smoke are still equally likely, and the X-ray is
    // observed.
    let belief = |position: usize, variable: &str, state: &str| {
        let id = network.find(variable).unwrap();
        after(position).of(id)[network[id].state_index(state).unwrap()]
    };
    assert!((belief(0, "smoke", "yes") - 0.5).abs() < 1e-12);
    assert!((belief(0, "xray", "yes") - 1.0).abs() < 1e-12);
    assert!((belief(messages, "lung", "yes") - 0.488_711_29).abs() < 1e-6);
    // In the end all cliques agree.
    for clique in compiled.tree().clique_ids() {
        for (variable, states) in after(messages).of_clique(clique) {
            for (one, other) in states.iter().zip(after(messages).of(variable)) {
                assert!((one - other).abs() < 1e-12);
            }
        }
    }
    stepper.set_evidence(Evidence::none());
    let prior = stepper.beliefs(messages, &cancel).unwrap();
    assert!((prior.of(network.find("lung").unwrap())[0] - 0.055).abs() < 1e-12);
}

#[test]
fn message_details_count_as_memory_and_undo_uses_the_rest() {
    let (compiled, evidence) = asia();
    let tables = Sequential.forecast(&compiled, Precision::F64).bytes;
    let needed = tables + detail_bytes(&compiled);
    // The largest message of Asia goes between two cliques of eight entries over a separator of
    // four entries. A message detail holds both tables of the cliques, and the separator's table
    // before and after the message. Two details are counted, with eight bytes per entry.
    assert_eq!(detail_bytes(&compiled), 2 * 8 * (8 + 8 + 2 * 4));
    let stepper_within =
        |bytes| Stepper::new(&compiled, evidence.clone(), MemoryLimit::from_bytes(bytes));
    assert!(matches!(stepper_within(needed - 1), Err(LoadError::TooLarge(_))));
    let last = compiled.plan().messages().len() - 1;
    let mut tight = stepper_within(needed + 300).unwrap();
    let expected = numbers(&mut stepper(&compiled, &evidence), 0);
    numbers(&mut tight, last);
    assert!(tight.undo_bytes <= 300 && !tight.undo.is_empty(), "{}", tight.undo_bytes);
    assert_eq!(
        numbers(&mut tight, 0),
        expected,
        "without stored tables the propagation is repeated"
    );
}

/// Checks that the result of each message of the propagation is the receiver's table after it.
/// Returns the exponents that the results have.
fn check_results(compiled: &Arc<CompiledNetwork>, evidence: &Evidence) -> Vec<i64> {
    let mut stepper = stepper(compiled, evidence);
    let check = |id: MessageId| {
        let detail = stepper.message(id, &CancelToken::new()).unwrap();
        stepper.seek(id.index() + 1, &CancelToken::new()).unwrap();
        let to = compiled.plan()[id].to.index();
        let cliques = &stepper.loaded.cliques;
        let exponent = cliques.exponents[to] - detail.received_exponent();
        for (entry, value) in cliques.table(to).iter().enumerate() {
            let found = value.scale(i32::try_from(exponent).unwrap());
            let expected = detail.received(entry);
            assert!((found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
        }
        detail.received_exponent()
    };
    compiled.plan().ids().map(check).collect()
}

#[test]
fn the_result_of_a_message_is_what_the_next_position_shows() {
    let (compiled, evidence) = asia();
    assert!(check_results(&compiled, &evidence).iter().all(|exponent| *exponent == 0));
}

/// A variable with `count` children. Each child is in its first state with a probability of 0.001,
/// or never if the parent is in its third state.
fn star(count: usize) -> Arc<CompiledNetwork> {
    let mut variables = vec![Variable::new("parent", ["a", "b", "c"])];
    variables.extend((0..count).map(|child| Variable::new(format!("x{child}"), ["yes", "no"])));
    let parent = VariableId::new(0);
    let mut cpts = vec![Cpt::new(parent, vec![], vec![0.25, 0.25, 0.5])];
    let rows = vec![0.001, 0.999, 0.001, 0.999, 0.0, 1.0];
    let child = |child| Cpt::new(VariableId::new(child), vec![parent], rows.clone());
    cpts.extend((1..=count).map(child));
    let network = Arc::new(Network::new("star", variables, cpts).unwrap());
    Arc::new(compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap())
}

#[test]
fn the_numbers_of_a_message_are_right_with_very_improbable_evidence() {
    let compiled = star(400);
    let mut evidence = Evidence::none();
    for child in 1..=400 {
        evidence.observe(compiled.network(), VariableId::new(child), 0);
    }
    let exponents = check_results(&compiled, &evidence);
    // P(e) is 0.001^400 / 2, which is 2^-3987.
    assert!(exponents.contains(&0) && exponents.iter().any(|exponent| *exponent < -3900));
}

#[test]
fn after_the_last_message_the_home_of_each_variable_gives_its_posterior() {
    let (compiled, evidence) = asia();
    let mut stepper = stepper(&compiled, &evidence);
    stepper.seek(usize::MAX, &CancelToken::new()).unwrap();
    let options = LoadOptions {
        precision: Precision::F64,
        threads: 1,
        memory: MemoryLimit::from_bytes(1 << 30),
        ..LoadOptions::default()
    };
    let mut engine = Sequential.load(&compiled, &options).unwrap();
    let posteriors = engine.run(&evidence, &Watch::untimed(CancelToken::new())).unwrap();
    for variable in compiled.network().ids() {
        let (home, axis) = stepper.loaded.homes[variable.index()];
        let table = match home {
            Home::Clique(clique) => stepper.loaded.cliques.table(clique.index()),
            Home::Separator(edge) => stepper.loaded.separators.table(edge.index()),
        };
        let mut states = vec![0.0; axis.cardinality];
        message::marginal(table, axis, &mut states);
        let total: f64 = states.iter().sum();
        for (state, expected) in states.iter().zip(posteriors.of(variable)) {
            assert!((state / total - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn a_stepper_is_usable_after_impossible_evidence_and_cancelling() {
    let (compiled, possible) = asia();
    let mut evidence = Evidence::none();
    evidence.observe_named(compiled.network(), "tub", "yes").unwrap();
    evidence.observe_named(compiled.network(), "either", "no").unwrap();
    let mut reused = stepper(&compiled, &evidence);
    let end = reused.seek(usize::MAX, &CancelToken::new());
    assert_eq!(end, Err(RunError::Impossible));
    reused.set_evidence(possible.clone());
    let cancelled = CancelToken::new();
    cancelled.cancel();
    assert_eq!(reused.seek(3, &cancelled), Err(RunError::Cancelled));
    assert_eq!(numbers(&mut reused, 3), numbers(&mut stepper(&compiled, &possible), 3));
}

#[test]
fn too_little_memory_is_refused() {
    let (compiled, evidence) = asia();
    let refused = Stepper::new(&compiled, evidence, MemoryLimit::from_bytes(10));
    assert!(matches!(refused.err(), Some(LoadError::TooLarge(_))));
}
