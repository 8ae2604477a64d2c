//! The propagator of engine `cpu`.
//!
//! A batch of cases goes to the batch runner if the runner is forecast to be faster. Otherwise each
//! case is propagated by itself, several cases at a time if there are threads.

use std::sync::Arc;

use rayon::ThreadPool;

use crate::allocate;
use crate::cancel::Cancelled;
use crate::engine::batch::{BatchRunner, CASES_PER_GROUP};
use crate::engine::cpu::TABLES_BYTES_PER_CLIQUE;
use crate::engine::cpu::context::{ExecutionContext, TableInputs};
use crate::engine::cpu::memory::Footprint;
use crate::engine::cpu::parallel_cases;
use crate::engine::cpu::pass::report::Messages;
use crate::engine::cpu::propagate::{Shared, ThreadState};
use crate::engine::cpu::tables::sparsity::TreePlan;
use crate::engine::factors::smallest_exponents;
use crate::engine::simd::Baseline;
use crate::engine::threads::Threads;
use crate::engine::{BatchAnswers, Propagator, RunError, one_at_a_time, rerun_out_of_range};
use crate::lowering::{Optimisation, Optimisations, Program};
use crate::network::Evidence;
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Form, Posteriors, Watch};

/// Maximum number of sample cases, spread over a batch, for which the time of a single propagation
/// is forecast. The average is used for all cases; if the cases differ much, the batch may take
/// longer than necessary.
const FORECAST_SAMPLES: usize = 4;

/// Forecast time to make a batch runner, in nanoseconds per entry of the cliques' tables. A rough
/// figure from the paper's eight networks; if it is wrong, a batch may take longer than necessary.
const MAKE_RUNNER_PER_ENTRY: f64 = 50.0;

/// Stored messages from parents take at most a share of the memory that is not for reduced trees
/// and for the messages of further threads: one divided by this. The batch runner gets the rest. If
/// it is wrong, only speed and memory change.
const STORED_DIVISOR: u64 = 4;

/// The propagator: a compiled network with its tables in one precision.
pub struct Loaded<T> {
    shared: Shared<T>,
    /// The state of one thread, or of several after a batch that was propagated in parallel.
    thread_states: Vec<ThreadState<T>>,
    /// The thread pool; `None` if the calling thread does all the work.
    threads: Option<Threads>,
    batch: Batch<T>,
    /// The forecast memory of the network, of the full tree and of one propagation in it, in bytes.
    bytes: u64,
    /// Maximum memory of reduced trees, of the messages of further threads and of stored messages
    /// from parents so far, in bytes.
    spare_peak: u64,
    /// Keeps vector instructions switched off if they are not among the optimisations.
    _baseline: Option<Baseline>,
}

/// The batch runner, and what is known about its cost.
struct Batch<T> {
    /// The runner, unless it was never needed or was forecast to be slower.
    runner: Option<BatchRunner<T>>,
    /// Forecast time of the runner for one case, in nanoseconds. `None` if no runner was made yet;
    /// infinite if it could not be made.
    case_cost: Option<f64>,
    /// Maximum size of the runner, in bytes.
    max_bytes: u64,
    /// Maximum memory of runners so far, in bytes.
    peak_bytes: u64,
    /// Forecast time, case by case, of all batches for which making a runner was considered, in
    /// nanoseconds. A runner is made once this is at least the forecast time to make it.
    waited: f64,
}

impl<T: Real> Loaded<T> {
    /// Makes the tables of `compiled`, within a memory limit of `limit` bytes. `program`: the
    /// contractions of `compiled` without evidence, if they were planned before.
    ///
    /// If the machine refuses to start `threads`, the propagator works on the calling thread alone.
    pub fn new(
        compiled: Arc<CompiledNetwork>,
        program: Option<Program>,
        threads: usize,
        limit: u64,
        optimisations: Optimisations,
    ) -> Self {
        let _baseline = Baseline::unless(optimisations.has(Optimisation::VectorInstructions));
        // Only the search for zeros needs it. Otherwise its memory is freed before a tree is made.
        let searches = optimisations.has(Optimisation::Sparsity) && compiled.network().has_zeros();
        let program = program.filter(|_| searches);
        let network = compiled.network();
        let observed = vec![None; network.variables().len()];
        let threads = (threads > 1).then(|| Threads::new(threads)).flatten();
        let structure = super::structure(&compiled, optimisations, threads.as_deref());
        let (smallest, pool) = (smallest_exponents(network), threads.as_deref());
        let observed = &*observed;
        let inputs =
            TableInputs { network, observed, smallest: &smallest, threads: pool, optimisations };
        let plan = TreePlan::new(&compiled, program.as_ref(), &structure, inputs);
        drop(program);
        let bytes = plan.bytes(&structure, T::PRECISION.bytes() as usize) as u64;
        let mut full_tree = plan.fill(&structure, inputs);
        let messages = Messages::new(&full_tree.tree, &structure.shape);
        let of_structure = compiled.structure_bytes(TABLES_BYTES_PER_CLIQUE);
        let bytes = bytes.saturating_add(of_structure);
        // The structure is subtracted twice, because reduced trees have one too.
        let unused = limit.saturating_sub(bytes.saturating_add(of_structure));
        let of_full_tree = Footprint::new(&structure, T::PRECISION.bytes() as usize, None).bytes();
        let spare_bytes = (of_full_tree as u64).min(unused);
        let max_stored = ((unused - spare_bytes) / STORED_DIVISOR) as usize;
        full_tree.tree.store_messages(max_stored / size_of::<f64>());
        let batch_bytes = unused - spare_bytes - full_tree.tree.stored_bytes() as u64;
        let shared =
            Shared { compiled, structure, full_tree, messages, spare_bytes, optimisations };
        let thread_state = shared.thread_state();
        let held = shared.full_tree.bytes() + thread_state.full_tree_state.bytes();
        debug_assert!(held as u64 <= bytes, "the forecast is an upper bound");
        let batch = Batch {
            runner: None,
            case_cost: None,
            max_bytes: batch_bytes,
            peak_bytes: 0,
            waited: 0.0,
        };
        Self {
            shared,
            thread_states: vec![thread_state],
            threads,
            batch,
            bytes,
            spare_peak: 0,
            _baseline,
        }
    }

    /// Whether the batch runner is forecast to answer `cases` sooner than one propagation per case.
    ///
    /// The cost of a runner is known only after it was made, so the first one is made if that is
    /// forecast to take no longer than propagating this and all earlier batches case by case. A
    /// runner that is forecast to be slower is dropped, and is made again when its known cost is
    /// low enough. A batch that does not fill two groups is always propagated case by case. It
    /// leaves the runner as it is, and does not count as an earlier batch.
    ///
    /// The choice depends on the cases and on earlier batches, but on no measured time. So the same
    /// sequence of batches has the same answers, to the last bit, every time.
    fn prefers_runner(&mut self, cases: &[Evidence], watch: &Watch) -> bool {
        let is_allowed = self.shared.optimisations.has(Optimisation::BatchedCases);
        if cases.len() < 2 * CASES_PER_GROUP || !is_allowed {
            return false;
        }
        let single_cost = self.forecast_single(cases, watch);
        // The runner takes as long for a partly filled group as for a full one.
        let is_faster = |case_cost: f64| {
            let filled = cases.len() as f64 / cases.len().next_multiple_of(CASES_PER_GROUP) as f64;
            case_cost < single_cost * filled
        };
        if self.batch.runner.is_none() && self.batch.case_cost.is_none_or(is_faster) {
            let entries = self.shared.compiled.statistics().total_clique_entries;
            self.batch.waited += single_cost * cases.len() as f64;
            if entries as f64 * MAKE_RUNNER_PER_ENTRY > self.batch.waited {
                return false;
            }
            let (threads, bytes) = (self.threads(), self.batch.max_bytes);
            // Without the memory for a runner, the cases are propagated one by one.
            let new = || BatchRunner::new(&self.shared.compiled, threads, bytes);
            let runner = allocate::attempt(new).flatten();
            let case_cost =
                runner.as_ref().map_or(f64::INFINITY, BatchRunner::nanoseconds_per_case);
            let peak_bytes = runner.as_ref().map_or(0, BatchRunner::peak_bytes);
            self.batch.peak_bytes = self.batch.peak_bytes.max(peak_bytes);
            (self.batch.runner, self.batch.case_cost) = (runner, Some(case_cost));
        }
        if !self.batch.case_cost.is_some_and(is_faster) {
            self.batch.runner = None;
        }
        self.batch.runner.is_some()
    }

    /// The average forecast time of propagating one of `cases` by itself, on one thread, in
    /// nanoseconds.
    fn forecast_single(&mut self, cases: &[Evidence], watch: &Watch) -> f64 {
        let build_share = parallel_cases::average_build_share(cases);
        let reduced_tree_bytes = self.shared.reduced_tree_bytes(1);
        let optimisations = self.shared.optimisations;
        let context =
            ExecutionContext { threads: None, reduced_tree_bytes, build_share, optimisations };
        let samples = cases.iter().step_by(cases.len().div_ceil(FORECAST_SAMPLES));
        let thread_state = &mut self.thread_states[0];
        let forecast = |case| self.shared.forecast(thread_state, case, context, watch);
        let forecasts: Vec<f64> = samples.map(forecast).collect();
        // A forecast may have built a reduced tree.
        self.note_peak();
        forecasts.iter().sum::<f64>() / forecasts.len() as f64
    }
}

impl<T: Real> Loaded<T> {
    /// See [`Propagator::run_batch`].
    fn propagate_batch(
        &mut self,
        cases: &[Evidence],
        watch: &Watch,
    ) -> Result<BatchAnswers, Cancelled> {
        watch.check()?;
        if self.prefers_runner(cases, watch)
            && let Some(runner) = &mut self.batch.runner
        {
            let answers = runner.run(self.threads.as_deref(), cases, watch)?;
            return rerun_out_of_range(answers, cases, watch, |case, watch| {
                self.forget();
                self.run(case, watch)
            });
        }
        let count = self.shared.thread_count(self.threads().min(cases.len()));
        match &self.threads {
            Some(threads) if count > 1 => {
                self.thread_states.resize_with(count, || self.shared.thread_state());
                let (shared, states) = (&self.shared, &mut self.thread_states);
                let answers =
                    threads.install(|| parallel_cases::propagate(shared, states, cases, watch));
                self.note_peak();
                answers
            }
            _ => one_at_a_time(cases, watch, |case, watch| self.run(case, watch)),
        }
    }

    /// Takes the memory of the last propagation or batch into account.
    fn note_peak(&mut self) {
        let states = &self.thread_states;
        let further = states.iter().skip(1).map(|state| state.full_tree_state.bytes());
        let stored = states.iter().map(|state| state.full_tree_state.stored_bytes());
        let reduced = states.iter().map(ThreadState::reduced_tree_peak);
        let bytes = further.chain(stored).chain(reduced).sum::<usize>() as u64;
        self.spare_peak = self.spare_peak.max(bytes);
    }
}

impl<T: Real> Propagator for Loaded<T> {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        self.thread_states.truncate(1);
        let threads = self.threads.as_deref();
        let reduced_tree_bytes = self.shared.reduced_tree_bytes(1);
        let optimisations = self.shared.optimisations;
        let context =
            ExecutionContext { threads, reduced_tree_bytes, build_share: 1.0, optimisations };
        let state = &mut self.thread_states[0];
        let answer = allocate::or_error(|| self.shared.propagate(state, evidence, context, watch))?;
        self.note_peak();
        answer
    }

    fn run_batch(&mut self, cases: &[Evidence], watch: &Watch) -> Result<BatchAnswers, Cancelled> {
        match allocate::or_error(|| self.propagate_batch(cases, watch)) {
            Ok(answers) => answers,
            Err(error) => Ok(cases.iter().map(|_| Err(error.into())).collect()),
        }
    }

    fn forget(&mut self) {
        self.thread_states.iter_mut().for_each(ThreadState::forget);
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Tables)
    }

    fn peak_bytes(&self) -> u64 {
        self.bytes + self.spare_peak + self.batch.peak_bytes
    }

    fn threads(&self) -> usize {
        self.threads.as_deref().map_or(1, ThreadPool::current_num_threads)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cpu::vector::sum;
    use crate::engine::fixtures::network;
    use crate::network::{Factor, Network, Variable, VariableId};
    use crate::propagation::{CompileOptions, compile};

    /// The propagator of a Markov network of binary variables after a run without evidence, and its
    /// answer. Each factor is over two variables.
    fn run(variables: usize, factors: Vec<([usize; 2], [f64; 4])>) -> (Loaded<f64>, Posteriors) {
        let binary = |v: usize| Variable::new(format!("V{v}"), ["first", "second"]);
        let factor = |(scope, values): ([usize; 2], [f64; 4])| {
            Factor::new(scope.map(VariableId::new).into(), values.into())
        };
        let factors = factors.into_iter().map(factor).collect();
        let network = Network::markov("test", (0..variables).map(binary).collect(), factors);
        let network = Arc::new(network.expect("it is valid"));
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
        let compiled = Arc::new(compiled.expect("it is small"));
        let mut loaded = Loaded::new(compiled, None, 1, 1 << 30, Optimisations::default());
        let watch = Watch::untimed(CancelToken::new());
        let posteriors = loaded.run(&Evidence::none(), &watch).expect("it is possible");
        (loaded, posteriors)
    }

    /// A Markov network whose junction tree has two cliques that share four variables of 16 states,
    /// and small cliques below both. With `zeros`, most observations of variable 6 make most
    /// entries of a message between the two zero.
    fn markov_network(zeros: bool) -> Arc<Network> {
        let states = [16, 16, 16, 16, 2, 3, 16, 4, 3, 5, 2, 3, 2];
        let variables = states.into_iter().enumerate().map(|(v, states)| {
            Variable::new(format!("V{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        let mut factor = |scope: &[usize]| {
            let entries = scope.iter().map(|&v| states[v]).product();
            let values = (0..entries).map(|_| rng.random_range(0.1..1.0)).collect();
            Factor::new(scope.iter().map(|&v| VariableId::new(v)).collect(), values)
        };
        let threes = [[0, 3, 4], [1, 2, 4], [2, 3, 5], [0, 1, 5], [4, 7, 8]];
        let pairs = [[5, 6], [8, 9], [1, 10], [2, 11], [3, 12]];
        let mut factors: Vec<Factor> = threes.iter().map(|scope| factor(scope)).collect();
        factors.extend(pairs.iter().map(|scope| factor(scope)));
        factors.push(factor(&[0, 1, 2, 3]));
        // Variable 6 is in the state of variable 0, or in one of two other states.
        let says = |entry: usize| f64::from(!zeros || entry / 16 == entry % 16 || entry % 16 > 13);
        let scope = [0, 6].map(VariableId::new);
        factors.push(Factor::new(scope.into(), (0..256).map(says).collect()));
        let network = Network::markov("test", variables.collect(), factors);
        Arc::new(network.expect("it is valid"))
    }

    /// Changes the findings on up to three variables.
    fn change(evidence: &mut Evidence, network: &Network, rng: &mut Pcg64Mcg) {
        for _ in 0..[1, 1, 1, 2, 3][rng.random_range(0..5)] {
            let variable = VariableId::new(rng.random_range(0..network.variables().len()));
            let states = network[variable].cardinality();
            match rng.random_range(0..4) {
                0 | 1 => _ = evidence.retract(variable),
                2 => evidence.observe(network, variable, rng.random_range(0..states)),
                _ => {
                    let weights: Vec<f64> =
                        (0..states).map(|_| rng.random_range(0.01..1.0)).collect();
                    evidence.set_likelihood(network, variable, weights).expect("it is valid");
                }
            }
        }
    }

    #[test]
    fn stored_messages_from_parents_change_no_answer() {
        let watch = Watch::untimed(CancelToken::new());
        let cancelled = CancelToken::new();
        cancelled.cancel();
        let cancelled = Watch::untimed(cancelled);
        let optimisations = Optimisations::default().without(Optimisation::ReducedTrees);
        let without = optimisations.without(Optimisation::MessagesFromParents);
        let load = |network: &Arc<Network>, threads, optimisations| {
            let compiled =
                compile(Arc::clone(network), &CompileOptions::default(), &CancelToken::new());
            let compiled = Arc::new(compiled.expect("it is small"));
            Loaded::<f64>::new(compiled, None, threads, 1 << 30, optimisations)
        };
        // Two common effects of four variables, and effects of all of these.
        let states = [16, 16, 16, 16, 2, 2, 3, 3, 3, 3, 3, 3];
        let causes = &[0, 1, 2, 3][..];
        let parents = [&[][..], &[], &[], &[], causes, causes, &[0], &[1], &[2], &[3], &[4], &[5]];
        let bayesian = network(&states, &parents);
        let networks = [markov_network(false), markov_network(true), bayesian];
        let counts = networks.map(|network| {
            let [mut one, mut several] =
                [1, 3].map(|threads| load(&network, threads, optimisations));
            let mut plain = load(&network, 1, without);
            assert_eq!(plain.shared.full_tree.tree.stored, 0);
            assert_eq!(one.shared.full_tree.tree.stored, 16 * 16 * 16 * 16);
            let mut rng = Pcg64Mcg::seed_from_u64(5);
            let mut evidence = Evidence::none();
            let (mut stored, mut impossible) = (0, 0);
            for step in 1..=80 {
                change(&mut evidence, &network, &mut rng);
                if step % 20 == 10 {
                    // Where variable 6 says which state variable 0 has, this is impossible.
                    evidence.observe(&network, VariableId::new(0), 1);
                    evidence.observe(&network, VariableId::new(6), 2);
                }
                if step % 20 == 0 {
                    assert!(one.run(&evidence, &cancelled).is_err());
                    assert!(several.run(&evidence, &cancelled).is_err());
                }
                plain.forget();
                let expected = plain.run(&evidence, &watch);
                let found = one.run(&evidence, &watch);
                assert_eq!(several.run(&evidence, &watch), found);
                match (expected, found) {
                    (Ok(expected), Ok(found)) => {
                        let ln = [&expected, &found].map(|answer| answer.ln_p_evidence());
                        assert!((ln[0] - ln[1]).abs() < 1e-11, "{ln:?}");
                        let mut pairs = found.values().iter().zip(expected.values());
                        assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-12), "{evidence:?}");
                    }
                    (expected, found) => {
                        assert_eq!((&expected, &found), (&Err(RunError::Impossible), &expected));
                        impossible += 1;
                        evidence = Evidence::none();
                    }
                }
                let cliques = &one.thread_states[0].full_tree_state.cliques;
                stored += usize::from(cliques.iter().any(|clique| clique.is_stored));
            }
            let cliques = &one.thread_states[0].full_tree_state.cliques;
            assert!(cliques[1..].iter().any(|clique| clique.total != 0.0), "none was used");
            (stored, impossible)
        });
        let [(markov, _), (with_zeros, impossible), (bayesian, _)] = counts;
        assert!(with_zeros < markov.min(bayesian), "stored after {counts:?} changes");
        assert!(impossible > 0, "no evidence was impossible");
    }

    /// Whether the beliefs of all cliques sum to a number near one if they are multiplied by the
    /// power of two that is known for them.
    fn beliefs_are_near_one(loaded: &Loaded<f64>) -> bool {
        let (tree, state) =
            (&loaded.shared.full_tree.tree, &loaded.thread_states[0].full_tree_state);
        tree.nodes.iter().zip(&state.cliques).all(|(node, clique)| {
            let tables = node.tables.iter().cloned();
            let mut totals = tables.map(|table| sum(&state.beliefs[node.below.clone()][table]));
            totals.all(|total| (-17..17).contains(&(total.log2() as i32 + clique.belief_scale)))
        })
    }

    #[test]
    fn a_message_from_a_parent_that_is_far_from_one_is_rescaled() {
        // Two factors favour the first state of variable 0, and one favours the second.
        let factor = |other: usize, [first, second]: [f64; 2]| {
            ([0, other], [first, 2.0 * first, second, 2.0 * second])
        };
        let weights = [[1.0, 1e-25], [1.0, 1e-25], [1e-60, 1.0]];
        let factors = (1..).zip(weights).map(|(other, weights)| factor(other, weights));
        let (loaded, posteriors) = run(4, factors.collect());
        let cliques = &loaded.thread_states[0].full_tree_state.cliques;
        assert!(cliques[1..].iter().any(|clique| clique.belief_scale != 0), "none was rescaled");
        assert!(beliefs_are_near_one(&loaded));
        let first = 1e-60 / (1e-60 + 1e-50);
        assert!((posteriors.of(VariableId::new(0))[0] / first - 1.0).abs() < 1e-12);
        for other in 1..4 {
            assert!((posteriors.of(VariableId::new(other))[0] * 3.0 - 1.0).abs() < 1e-12);
        }
        let p = 27.0 * (1e-60_f64 + 1e-50);
        assert!((posteriors.ln_p_evidence() - p.ln()).abs() < 1e-12);
    }

    #[test]
    fn beliefs_stay_near_one_though_messages_to_parents_are_rescaled() {
        // The sums of the messages along the chain double at each clique.
        const VARIABLES: usize = 3_000;
        let factors = (1..VARIABLES).map(|v| ([v - 1, v], [1.0; 4]));
        let (loaded, posteriors) = run(VARIABLES, factors.collect());
        let cliques = &loaded.thread_states[0].full_tree_state.cliques;
        let scale: i32 = cliques.iter().map(|clique| clique.sent_scale.abs()).sum();
        assert!(scale > 1_000, "messages were multiplied by 2^{scale} in all");
        assert!(beliefs_are_near_one(&loaded));
        assert_eq!(posteriors.of(VariableId::new(7)), [0.5; 2]);
        let ln_states = VARIABLES as f64 * std::f64::consts::LN_2;
        assert!((posteriors.ln_p_evidence() - ln_states).abs() < 1e-9 * ln_states);
    }
}
