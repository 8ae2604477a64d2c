//! A part of the suite, with each optimisation of engine `cpu` switched off in turn.

use cliquescope::cancel::CancelToken;
use cliquescope::engine::Optimisation;
use cliquescope::network::Evidence;
use cliquescope::potential::Precision;
use cliquescope::propagation::{Form, Savings, Watch};

use crate::fixtures::sample;
use crate::subject::{Subject, probable_evidence};
use crate::{goldens, laws, markov, repeats, small};

/// Defines a test for each optimisation.
macro_rules! switches {
    ($($test:ident: $optimisation:ident;)*) => {
        $(#[test]
        fn $test() {
            assert_passes_without(Optimisation::$optimisation);
        })*

        #[test]
        fn every_optimisation_is_switched_off_once() {
            assert_eq!([$(Optimisation::$optimisation),*], Optimisation::ALL);
        }
    };
}

switches! {
    sparsity: Sparsity;
    compressed_separators: CompressedSeparators;
    entry_states: EntryStates;
    factored_tables: FactoredTables;
    merged_variables: MergedVariables;
    permuted_runs: PermutedRuns;
    skipped_zeros: SkippedZeros;
    messages_of_one: MessagesOfOne;
    vector_instructions: VectorInstructions;
    divided_contractions: DividedContractions;
    parallel_subtrees: ParallelSubtrees;
    awake_threads: AwakeThreads;
    parallel_preparation: ParallelPreparation;
    reduced_trees: ReducedTrees;
    more_heuristics: MoreHeuristics;
    search_limits: SearchLimits;
    reused_cliques: ReusedCliques;
    pooled_memory: PooledMemory;
    kept_messages: KeptMessages;
    messages_from_parents: MessagesFromParents;
    d_connection: DConnection;
    batched_cases: BatchedCases;
    grouped_factors: GroupedFactors;
    tiles: Tiles;
    hoisted_inputs: HoistedInputs;
    constant_rows: ConstantRows;
    kept_factors: KeptFactors;
}

fn subject(form: Form, without: Option<Optimisation>) -> Subject {
    Subject { engine: "cpu", precision: Precision::F64, threads: 2, form: Some(form), without }
}

fn assert_passes_without(optimisation: Optimisation) {
    for form in [Form::Tables, Form::TableFree] {
        let subject = subject(form, Some(optimisation));
        small::zeros(&subject);
        small::deterministic(&subject);
        small::disconnected_parts(&subject);
        small::random_networks(&subject);
        laws::chain_rule(&subject);
        markov::a_grid(&subject);
        goldens::insurance(&subject);
        goldens::water(&subject);
        repeats::a_batch_agrees_with_single_runs(&subject);
    }
}

/// What is saved by a first propagation of `name` given probable evidence, and by a second one
/// after one finding was retracted.
fn savings(name: &str, without: Option<Optimisation>) -> [Savings; 2] {
    let (subject, compiled) = (subject(Form::Tables, without), sample(name));
    let evidence = probable_evidence(&subject, &compiled);
    let (first, _) = evidence.iter().next().expect("a variable is observed");
    let mut changed = evidence.clone();
    changed.retract(first);
    let mut propagator = subject.load(&compiled);
    [evidence, changed].map(|evidence: Evidence| {
        let watch = Watch::untimed(CancelToken::new());
        propagator.run(&evidence, &watch).expect("the evidence is possible");
        watch.trace().savings
    })
}

#[test]
fn switching_off_sparsity_or_kept_messages_reduces_the_savings() {
    let [full, changed] = savings("water", None);
    assert!(full.entries_zero > 0 && changed.messages_skipped > 0, "{full:?} {changed:?}");
    let without = |optimisation| savings("water", Some(optimisation));
    assert!(without(Optimisation::Sparsity)[0].entries_zero == 0);
    assert!(without(Optimisation::KeptMessages)[1].messages_skipped < changed.messages_skipped);
}
