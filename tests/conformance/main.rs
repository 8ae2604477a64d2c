//! Tests that every engine must pass, in every precision it supports.
//!
//! The test cases do not depend on the engine. A *subject* is an engine in one precision, with a
//! number of threads and a form. `subjects!` turns the test cases into a module of tests for each
//! subject in its list. A new engine needs a line in that list; a test fails if the line is
//! missing. [`subject::EXEMPTIONS`] lists the networks that an engine may skip, with the reasons.

mod brute_force;
mod exact;
mod extremes;
mod failures;
mod fixtures;
mod goldens;
mod large;
mod laws;
mod magnitudes;
mod markov;
mod repeats;
mod search;
mod small;
mod subject;
mod switches;

#[path = "../common/long.rs"]
mod long;

/// Defines a test for each subject and test case.
macro_rules! subjects {
    ($(
        $(#[$attribute:meta])*
        $module:ident: $engine:literal in $precision:ident on $threads:literal
            $(as $form:ident)?;
    )*) => {
        $($(#[$attribute])* mod $module {
            const SUBJECT: crate::subject::Subject = crate::subject::Subject {
                engine: $engine,
                precision: cliquescope::potential::Precision::$precision,
                threads: $threads,
                form: crate::subject::form!($($form)?),
                without: None,
            };
            cases!();
        })*

        #[test]
        fn every_engine_is_tested_in_every_precision() {
            use cliquescope::potential::Precision;
            let listed = [$($(#[$attribute])* ($engine, Precision::$precision)),*];
            for engine in cliquescope::engine::all() {
                for &precision in engine.precisions() {
                    let subject = (engine.name(), precision);
                    assert!(listed.contains(&subject), "{subject:?} is not in the list");
                }
            }
        }
    };
}

/// The test cases, by module.
macro_rules! cases {
    () => {
        cases! {
            small: chain, zeros, deterministic, one_state_variables, disconnected_parts,
                isolated_variables, single_variable, parents_with_many_states, star, empty_network,
                very_unlikely_evidence_is_possible, random_networks;
            laws: invariance_to_the_root, invariance_to_the_triangulation, chain_rule,
                total_probability, a_scaled_likelihood_gives_the_same_posteriors,
                a_one_hot_likelihood_equals_an_observation, many_findings_do_not_underflow,
                opposed_findings_do_not_underflow, opposed_findings_in_the_worst_order,
                long_chains_do_not_underflow, extreme_likelihoods;
            markov: a_grid, overlapping_and_empty_scopes,
                products_of_many_factors_do_not_underflow, zero_everywhere, no_factors,
                many_states_in_no_factor, a_bayesian_network_as_factors;
            extremes: many_single_state_variables, variables_of_many_states,
                a_cause_contradicted_by_all_its_effects, effects_unlikely_under_every_cause,
                likelihoods_near_the_limits_of_f64, a_long_chain;
            magnitudes: entries_down_to_1e_6, entries_down_to_1e_30, entries_down_to_1e_100,
                entries_down_to_1e_300, entries_down_to_1e_300_among_zeros,
                entries_down_to_the_smallest_numbers, products_too_small_for_double_precision,
                factor_values_whose_ratio_overflows_f64, weights_whose_ratio_overflows_f64,
                sums_below_the_normal_numbers, quotients_below_the_smallest_number,
                likelihoods_that_favour_what_underflowed,
                underflow_that_may_leave_a_clique_all_zero,
                hundreds_of_features_for_and_against_a_class,
                moderate_entries_that_underflow_together,
                a_case_among_many_has_its_own_answer, a_chain_of_10_000_variables;
            search: a_few_networks_with_numbers_of_all_magnitudes;
            goldens: asia, cancer, child, insurance, alarm, water, mildew, barley, pigs, diabetes,
                munin2, munin3, munin4;
            large: a_chain_of_100_000_variables, a_star_of_100_000_variables;
            failures: the_conflicting_findings_are_named,
                a_finding_impossible_on_its_own_is_named, a_conflicting_likelihood_is_named,
                explaining_a_conflict_does_not_change_the_trace,
                too_little_memory_is_refused,
                a_table_beyond_the_index_range_is_refused_whatever_the_memory,
                an_unsupported_precision_is_refused,
                a_run_can_be_cancelled_before_it_starts, a_run_can_be_cancelled_while_it_runs;
            repeats: a_repeated_run_has_the_same_bits, a_repeated_load_has_the_same_bits,
                a_batch_agrees_with_single_runs,
                the_forecast_suffices_and_is_exact_on_the_cpu, stages_and_messages_are_timed;
        }
    };
    ($($module:ident: $($case:ident),*;)*) => {
        $($(#[test]
        fn $case() {
            if SUBJECT.runs_here() {
                crate::$module::$case(&SUBJECT);
            }
        })*)*
    };
}

subjects! {
    sequential_f64: "sequential" in F64 on 2;
    sequential_f32: "sequential" in F32 on 2;
    cpu_f64: "cpu" in F64 on 2;
    cpu_f32: "cpu" in F32 on 2;
    cpu_f64_tables: "cpu" in F64 on 2 as Tables;
    cpu_f32_tables: "cpu" in F32 on 2 as Tables;
    cpu_f64_on_1: "cpu" in F64 on 1;
    cpu_f32_on_1: "cpu" in F32 on 1;
    cpu_f64_on_16: "cpu" in F64 on 16;
    cpu_f32_on_16: "cpu" in F32 on 16;
    cpu_f64_table_free: "cpu" in F64 on 2 as TableFree;
    cpu_f64_table_free_on_1: "cpu" in F64 on 1 as TableFree;
    reference_f64: "reference" in F64 on 2;
    #[cfg(feature = "cuda")]
    gpu_f32: "gpu" in F32 on 2;
    #[cfg(feature = "cuda")]
    gpu_f32_table_free: "gpu" in F32 on 2 as TableFree;
    #[cfg(feature = "cuda")]
    gpu_paper_f32: "gpu-paper" in F32 on 2;
}
