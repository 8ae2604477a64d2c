//! A random search for wrong answers: small networks with numbers of all magnitudes, given random
//! evidence. Answers are compared with sums over all configurations. The sums are computed from the
//! numbers as they were drawn, before the network scales them.
//!
//! A failure prints the subject, the network in UAI format and the case as JSON. To repeat it, save
//! the network and the case as two files and choose the subject's engine, precision and form:
//! `cliquescope query NETWORK.uai --evidence-file CASE.json --engine ENGINE --precision PRECISION
//! --form FORM`. FORM is `tables` or `table-free`; leave out `--form` if the subject's form is
//! `None`. This cannot repeat a failure that needs a batch or the cases before.

use std::borrow::Borrow;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, RunError};
use cliquescope::network::{Cpt, Evidence, Factor, Finding, Network, Variable, VariableId};
use cliquescope::propagation::{CompiledNetwork, Form, Posteriors, Watch};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::exact::{Exact, Joint};
use crate::fixtures::{compiled, rng};
use crate::long::LongRun;
use crate::magnitudes::check;
use crate::subject::Subject;

/// How the numbers of a network are drawn.
#[derive(Clone, Copy)]
struct Spread {
    /// Numbers are at least 10 to the power of this.
    lowest: f64,
    /// Numbers are at most 10 to the power of this.
    highest: f64,
    /// The share of zeros.
    zeros: f64,
}

impl Spread {
    /// A number whose logarithm is uniformly distributed, or zero.
    fn draw(self, rng: &mut Pcg64Mcg) -> f64 {
        if rng.random_bool(self.zeros) {
            return 0.0;
        }
        10_f64.powf(rng.random_range(self.lowest..=self.highest))
    }

    /// `count` numbers, not all of them zero.
    fn draw_some(self, rng: &mut Pcg64Mcg, count: usize) -> Vec<f64> {
        let mut values: Vec<f64> = (0..count).map(|_| self.draw(rng)).collect();
        if values.iter().all(|value| *value == 0.0) {
            values[rng.random_range(0..count)] = 1.0;
        }
        values
    }
}

/// One of `choices`.
fn choose<T: Copy>(rng: &mut Pcg64Mcg, choices: &[T]) -> T {
    choices[rng.random_range(0..choices.len())]
}

/// A network as it was drawn. Its variables are called x0, x1, ... and their states 0, 1, ..., as
/// in a UAI file.
struct Drawn {
    is_bayesian: bool,
    /// The number of states of each variable.
    states: Vec<usize>,
    /// The scope and the values of each factor. In a Bayesian network, factor v is the table of
    /// variable v, which comes last in its scope.
    factors: Vec<(Vec<usize>, Vec<f64>)>,
    spread: Spread,
}

impl Drawn {
    /// A network of 3 to 9 variables, each with 2 or 3 states.
    fn new(rng: &mut Pcg64Mcg) -> Self {
        let count = rng.random_range(3..=9);
        let states: Vec<usize> = (0..count).map(|_| choose(rng, &[2, 2, 2, 3])).collect();
        let lowest = -choose(rng, &[6.0, 30.0, 30.0, 100.0, 300.0, 300.0, 323.0]);
        let zeros = choose(rng, &[0.05, 0.05, 0.3, 0.6]);
        let spread = Spread { lowest, highest: 0.0, zeros };
        if rng.random_bool(0.6) {
            Self::bayesian(rng, states, spread)
        } else {
            let highest = choose(rng, &[0.0, 0.0, 300.0]);
            Self::markov(rng, states, Spread { highest, ..spread })
        }
    }

    /// A Bayesian network with these numbers of states.
    fn bayesian(rng: &mut Pcg64Mcg, states: Vec<usize>, spread: Spread) -> Self {
        let shape = rng.random_range(0..4);
        let factors = (0..states.len()).map(|v| {
            let mut scope: Vec<usize> = match shape {
                0 => (0..v.min(1)).collect(),
                1 => (v.saturating_sub(1)..v).collect(),
                _ => (0..v).filter(|_| rng.random_bool(0.4)).collect(),
            };
            while scope.len() > 3 {
                scope.remove(rng.random_range(0..scope.len()));
            }
            let rows: usize = scope.iter().map(|&parent| states[parent]).product();
            scope.push(v);
            // In some tables, one state of each row has weight one, the largest weight.
            let has_certain = rng.random_bool(0.7);
            let mut row = || {
                let mut row = spread.draw_some(rng, states[v]);
                // If the sum were subnormal, it would have too few digits.
                if has_certain || row.iter().sum::<f64>() < 1e-290 {
                    row[rng.random_range(0..states[v])] = 1.0;
                }
                let sum: f64 = row.iter().sum();
                row.into_iter().map(move |value| value / sum)
            };
            let values = (0..rows).flat_map(|_| row()).collect();
            (scope, values)
        });
        let factors = factors.collect();
        Self { is_bayesian: true, states, factors, spread }
    }

    /// A Markov network with these numbers of states, and factors of up to three variables.
    fn markov(rng: &mut Pcg64Mcg, states: Vec<usize>, spread: Spread) -> Self {
        let count = states.len();
        let factors = (0..rng.random_range(count - 1..=count + 4)).map(|_| {
            let mut scope: Vec<usize> = (0..count).collect();
            let variables = choose(rng, &[1, 2, 2, 2, 3]);
            while scope.len() > variables {
                scope.remove(rng.random_range(0..scope.len()));
            }
            let entries = scope.iter().map(|&v| states[v]).product();
            (scope, spread.draw_some(rng, entries))
        });
        let factors = factors.collect();
        Self { is_bayesian: false, states, factors, spread }
    }

    fn network(&self) -> Arc<Network> {
        let variables = self.states.iter().enumerate();
        let variables = variables.map(|(v, &states)| {
            Variable::new(format!("x{v}"), (0..states).map(|state| state.to_string()))
        });
        let variables = variables.collect();
        let id = VariableId::new;
        let ids = |scope: &[usize]| scope.iter().map(|&v| id(v)).collect::<Vec<_>>();
        let network = if self.is_bayesian {
            let cpts = self.factors.iter().enumerate();
            let cpts = cpts.map(|(v, (scope, values))| {
                Cpt::new(id(v), ids(&scope[..scope.len() - 1]), values.clone())
            });
            Network::new("drawn", variables, cpts.collect()).map_err(|error| error.to_string())
        } else {
            let factors = self.factors.iter();
            let factors = factors.map(|(scope, values)| Factor::new(ids(scope), values.clone()));
            Network::markov("drawn", variables, factors.collect())
                .map_err(|error| error.to_string())
        };
        Arc::new(network.expect("a valid network"))
    }

    fn joint(&self) -> Joint {
        let factors = self.factors.iter().map(|(scope, values)| (scope.clone(), &**values));
        let factors: Vec<_> = factors.collect();
        Joint::of(&self.states, &vec![None; self.states.len()], &factors)
    }

    /// Random observations on about 40% of the variables, and likelihoods on about 10%.
    fn evidence(&self, rng: &mut Pcg64Mcg, network: &Network) -> Evidence {
        let spread = Spread { lowest: self.spread.lowest.max(-300.0), ..self.spread };
        let mut evidence = Evidence::none();
        for variable in network.ids() {
            let states = self.states[variable.index()];
            let share: f64 = rng.random();
            if share < 0.4 {
                evidence.observe(network, variable, rng.random_range(0..states));
            } else if share < 0.5 {
                let weights = spread.draw_some(rng, states);
                evidence.set_likelihood(network, variable, weights).unwrap();
            }
        }
        evidence
    }
}

/// Numbers in the shortest form that gives the same number when it is read.
fn exactly(values: &[f64], separator: &str) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:e}")).collect();
    values.join(separator)
}

/// A UAI file.
impl Display for Drawn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let join = |values: &[usize]| {
            let values: Vec<String> = values.iter().map(usize::to_string).collect();
            values.join(" ")
        };
        let kind = if self.is_bayesian { "BAYES" } else { "MARKOV" };
        writeln!(f, "{kind}\n{}\n{}", self.states.len(), join(&self.states))?;
        writeln!(f, "{}", self.factors.len())?;
        for (scope, _) in &self.factors {
            writeln!(f, "{} {}", scope.len(), join(scope))?;
        }
        for (_, values) in &self.factors {
            writeln!(f, "{}\n{}", values.len(), exactly(values, " "))?;
        }
        Ok(())
    }
}

/// What failed, and how to repeat it.
struct Failure<'a> {
    subject: &'a Subject,
    drawn: &'a Drawn,
    evidence: &'a Evidence,
    /// The number of the case, and whether it was one of a batch.
    case: (usize, bool),
}

impl Display for Failure<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (number, in_batch) = self.case;
        let batch = if in_batch { " of a batch" } else { "" };
        let (mut observed, mut likelihoods) = (Vec::new(), Vec::new());
        for (variable, finding) in self.evidence.iter() {
            let v = variable.index();
            match finding {
                Finding::Observed(state) => observed.push(format!("\"x{v}\": \"{state}\"")),
                Finding::Likelihood(weights) => {
                    likelihoods.push(format!("\"x{v}\": [{}]", exactly(weights, ", ")));
                }
            }
        }
        let (observed, likelihoods) = (observed.join(", "), likelihoods.join(", "));
        writeln!(f, "{:?}, case {number}{batch}\n{}", self.subject, self.drawn)?;
        writeln!(f, "{{\"evidence\": {{{observed}}}, \"likelihood\": {{{likelihoods}}}}}")
    }
}

/// The posteriors in an answer; `None` for impossible evidence.
fn possible(answer: Result<Posteriors, RunError>, failure: &Failure<'_>) -> Option<Posteriors> {
    match answer {
        Ok(posteriors) => Some(posteriors),
        Err(RunError::Impossible) => None,
        Err(error) => panic!("{failure}: {error:?}"),
    }
}

/// Checks `subject` on one network with each case alone, one after another in the same propagator,
/// and on all cases in a batch.
fn check_subject(
    subject: &Subject,
    drawn: &Drawn,
    compiled: &Arc<CompiledNetwork>,
    cases: &[(Evidence, Exact)],
) {
    let network = compiled.network();
    let watch = Watch::untimed(CancelToken::new());
    let mut propagator = subject.load(compiled);
    let check_answer = |case: (usize, bool), answer| {
        let (evidence, exact) = &cases[case.0];
        let failure = Failure { subject, drawn, evidence, case };
        let found = possible(answer, &failure);
        check(subject, network, exact, found.as_ref(), &failure);
    };
    for (number, (evidence, _)) in cases.iter().enumerate() {
        check_answer((number, false), propagator.run(evidence, &watch));
    }
    let batch: Vec<Evidence> = cases.iter().map(|(evidence, _)| evidence.clone()).collect();
    let answers = subject.load(compiled).run_batch(&batch, &watch).expect("it was not cancelled");
    for (number, answer) in answers.into_iter().enumerate() {
        check_answer((number, true), answer);
    }
}

/// Checks the network that `seed` gives, with up to `max_cases` cases, on the subjects that
/// `subjects` returns for it. Returns the number of answers that were checked.
fn check_network<S: Borrow<Subject>>(
    seed: u64,
    max_cases: usize,
    subjects: impl FnOnce(&CompiledNetwork) -> Vec<S>,
) -> usize {
    let mut rng = rng(seed);
    let drawn = Drawn::new(&mut rng);
    let joint = drawn.joint();
    if joint.is_impossible() {
        return 0;
    }
    let compiled = compiled(drawn.network());
    // Engines may use another algorithm for many cases.
    let count = choose(&mut rng, &[1, 3, 40, 127]).min(max_cases);
    let case = |_| {
        let evidence = drawn.evidence(&mut rng, compiled.network());
        let exact = joint.given(&evidence);
        (evidence, exact)
    };
    let cases: Vec<(Evidence, Exact)> = (0..count).map(case).collect();
    let subjects = subjects(&compiled);
    subjects.iter().for_each(|subject| check_subject(subject.borrow(), &drawn, &compiled, &cases));
    2 * subjects.len() * count
}

/// The engines that can run here, in each precision and form.
fn all_subjects(compiled: &CompiledNetwork) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for engine in engine::all().iter().filter(|engine| engine.availability().is_ok()) {
        for &precision in engine.precisions() {
            let forms = engine.forecast(compiled, precision).forms;
            let forms = forms.iter().map(|forecast| Some(forecast.form));
            let forms: Vec<Option<Form>> = std::iter::once(None).chain(forms).collect();
            let engine = engine.name();
            subjects.extend(forms.into_iter().map(|form| Subject {
                engine,
                precision,
                threads: 2,
                form,
                without: None,
            }));
        }
    }
    subjects
}

pub fn a_few_networks_with_numbers_of_all_magnitudes(subject: &Subject) {
    let checked: usize = (1..=25).map(|seed| check_network(seed, 40, |_| vec![subject])).sum();
    assert!(checked > 200, "{checked} answers");
}

#[test]
#[ignore = "takes as long as LONG_SECONDS says"]
fn numbers_of_all_magnitudes_for_the_given_time() {
    let mut run = LongRun::from_environment("numbers");
    let mut seed = run.seed;
    while run.has_time_left() {
        let cause = format!("seed {seed}: LONG_SECONDS=1 LONG_SEED={seed} repeats it");
        let mut checked = 0;
        run.catch(&cause, || checked = check_network(seed, usize::MAX, all_subjects));
        run.count(checked as u64);
        seed = seed.wrapping_add(1);
    }
    run.finish();
}
