//! What every engine must do, in every precision that it knows.
//!
//! The cases know nothing of engines. `stamp!` makes a module of tests out of them for each
//! subject in its list; a new engine is one more line there, and one test fails if it is missing.
//! What an engine need not do stands in [`subject::EXEMPTIONS`], with the reason.

mod brute_force;
mod extremes;
mod failures;
mod fixtures;
mod goldens;
mod laws;
mod markov;
mod repeats;
mod small;
mod subject;

/// Makes a test of each case for each subject.
macro_rules! stamp {
    ($($(#[$attribute:meta])* $module:ident: $engine:literal in $precision:ident on $threads:literal;)*) => {
        $($(#[$attribute])* mod $module {
            const SUBJECT: crate::subject::Subject = crate::subject::Subject {
                engine: $engine,
                precision: cliquescope::potential::Precision::$precision,
                threads: $threads,
            };
            cases!();
        })*

        #[test]
        fn every_engine_is_held_to_this_in_every_precision() {
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

/// The cases, by module.
macro_rules! cases {
    () => {
        cases! {
            small: chain, zeros, deterministic, one_state_variables, disconnected_parts,
                isolated_variables, single_variable, parents_with_many_states, star, empty_network,
                what_is_unlikely_remains_possible, random_networks;
            laws: invariance_to_the_root, invariance_to_the_triangulation, chain_rule,
                total_probability, likelihoods_are_free_of_scale, one_hot_likelihoods,
                many_findings_do_not_underflow, opposed_findings_do_not_underflow, opposed_findings_in_the_worst_order, long_chains_do_not_underflow,
                extreme_likelihoods;
            markov: a_grid, odd_factors, many_factors, zero_everywhere, no_factors,
                many_states_in_no_factor, a_bayesian_network_as_factors;
            extremes: many_variables_of_one_state, a_class_against_all_its_effects,
                effects_that_are_unlikely_in_every_class,
                likelihoods_near_the_least_and_the_largest_number;
            goldens: asia, cancer, child, insurance, alarm, water, mildew, barley, pigs, diabetes,
                munin2, munin3, munin4;
            failures: contradictions_are_named, a_culprit_is_named, impossible_likelihoods_are_named,
                the_side_runs_of_a_diagnosis_leave_the_trace_alone,
                too_little_memory_is_refused,
                what_has_no_number_is_refused_however_much_memory_there_is,
                an_unknown_precision_is_refused,
                cancelled_before_the_start, cancelled_on_the_way;
            repeats: two_runs_are_equal, two_loads_are_equal, a_batch_answers_as_single_runs_do,
                the_forecast_is_what_is_held, everything_is_reported;
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

stamp! {
    sequential_f64: "sequential" in F64 on 2;
    sequential_f32: "sequential" in F32 on 2;
    cpu_f64: "cpu" in F64 on 2;
    cpu_f32: "cpu" in F32 on 2;
    cpu_f64_on_1: "cpu" in F64 on 1;
    cpu_f32_on_1: "cpu" in F32 on 1;
    cpu_f64_on_16: "cpu" in F64 on 16;
    cpu_f32_on_16: "cpu" in F32 on 16;
    reference_f64: "reference" in F64 on 2;
    #[cfg(feature = "cuda")]
    gpu_f32: "gpu" in F32 on 2;
    #[cfg(feature = "cuda")]
    gpu_paper_f32: "gpu-paper" in F32 on 2;
}
