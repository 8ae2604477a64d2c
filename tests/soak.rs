//! A long random session with changes of evidence, switches of engine and cancellations. The
//! posteriors must stay right and the memory must not grow. `fuzz/long.sh` runs such a session for
//! a given time.

mod common;
#[path = "common/long.rs"]
mod long;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{self, LoadOptions, Propagator};
use cliquescope::network::{Evidence, Finding, Network, VariableId};
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompileOptions, CompiledNetwork, MemoryLimit, Watch, compile};
use cliquescope::session::{EngineChoice, Propagation, Request, Session, Update};
use long::LongRun;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Maximum number of findings at a time.
const MAX_FINDINGS: usize = 12;

/// The engines to draw from. An engine that is listed twice is drawn twice as often.
const ENGINES: [(&str, Precision); 5] = [
    ("cpu", Precision::F64),
    ("cpu", Precision::F32),
    ("sequential", Precision::F64),
    ("cpu", Precision::F64),
    ("sequential", Precision::F32),
];

/// The session, the state of the simulated user, and counters.
struct Soak {
    session: Session,
    request: Request,
    random: Pcg64Mcg,
    /// A possible configuration of all variables. All findings agree with it.
    configuration: Evidence,
    network: std::sync::Arc<Network>,
    /// The network loaded into engine `sequential`, whose posteriors are taken as right.
    checker: (std::sync::Arc<CompiledNetwork>, Box<dyn Propagator>),
    /// Number of propagations that were cancelled.
    cancels: usize,
    /// Number of results that were compared with `checker`.
    checks: usize,
}

/// The engine at `index` of [`ENGINES`].
fn engine_choice(index: usize) -> EngineChoice {
    let (name, precision) = ENGINES[index];
    let engine = engine::by_name(name).expect("an engine of this name");
    EngineChoice { engine, precision, threads: 2, paper: engine::PaperOptions::default() }
}

impl Soak {
    /// Opens the sample called `name` in a session, and waits for its posteriors.
    fn new(name: &str, seed: u64) -> Self {
        let network = cliquescope::format::open(name).expect("a sample opens").network;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let configuration = Evidence::drawn(&network, usize::MAX, &mut random);
        let options = CompileOptions::default();
        let compiled = compile(network.clone(), &options, &CancelToken::new());
        let compiled = std::sync::Arc::new(compiled.expect("it is not cancelled"));
        let load = LoadOptions {
            precision: Precision::F64,
            threads: 1,
            memory: MemoryLimit::from_bytes(1 << 32),
            ..LoadOptions::default()
        };
        let checker = engine::by_name("sequential").expect("an engine of this name");
        let propagator = checker.load(&compiled, &load).expect("the network fits in memory");
        let request = Request { engine: engine_choice(0), ..common::session::request(name, 1) };
        let session = Session::start(|| {});
        session.submit(request.clone());
        let mut soak = Self {
            session,
            request,
            random,
            configuration,
            network,
            checker: (compiled, propagator),
            cancels: 0,
            checks: 0,
        };
        soak.wait_for_posteriors().expect("posteriors without evidence");
        soak
    }

    /// Waits for the posteriors; `None` if the propagation was cancelled.
    fn wait_for_posteriors(&mut self) -> Option<std::sync::Arc<Propagation>> {
        let mut newest: Option<std::sync::Arc<Propagation>> = None;
        loop {
            match self.session.wait().1 {
                Update::Propagated(propagation) => newest = Some(propagation),
                Update::Cancelled(_) => return None,
                Update::Failed(step, failure) => panic!("{step:?}: {failure}"),
                Update::Idle => {
                    // The result of an earlier request may arrive first.
                    newest = newest.filter(|found| found.evidence == self.request.evidence);
                    if newest.is_some() {
                        return newest;
                    }
                }
                _ => {}
            }
        }
    }

    /// Waits until a step has started and cancels it. The step may still finish.
    fn cancel_running_step(&self) {
        while !matches!(self.session.wait().1, Update::Started(_) | Update::Propagating(_)) {}
        self.session.cancel();
    }

    /// Adds, replaces or retracts a finding, or draws another configuration and retracts all
    /// findings. Once in 50 calls on average, also draws another engine.
    fn change(&mut self) {
        let evidence = &mut self.request.evidence;
        let known: Vec<VariableId> = evidence.iter().map(|(variable, _)| variable).collect();
        match self.random.random_range(0..100) {
            0 => {
                self.configuration = Evidence::drawn(&self.network, usize::MAX, &mut self.random);
                evidence.clear();
            }
            1..30 if !known.is_empty() => {
                evidence.retract(known[self.random.random_range(0..known.len())]);
            }
            _ if known.len() >= MAX_FINDINGS => {
                evidence.retract(known[0]);
            }
            number => {
                let variables = self.network.variables().len();
                let variable = VariableId::new(self.random.random_range(0..variables));
                let state = self
                    .configuration
                    .observed(variable)
                    .expect("every variable has a drawn state");
                if number < 40 {
                    let weight = |other| if other == state { 1.0 } else { 0.25 };
                    let states = 0..self.network[variable].cardinality();
                    let weights: Box<[f64]> = states.map(weight).collect();
                    evidence.insert(variable, Finding::Likelihood(weights));
                } else {
                    evidence.insert(variable, Finding::Observed(state));
                }
            }
        }
        if self.random.random_range(0..50) == 0 {
            self.request.engine = engine_choice(self.random.random_range(0..ENGINES.len()));
        }
        // A new serial, so that evidence seen before is propagated again.
        self.request.run_serial += 1;
    }

    /// Compares with the posteriors of engine `sequential`.
    fn check(&mut self, propagation: &Propagation) {
        let (compiled, propagator) = &mut self.checker;
        let watch = Watch::untimed(CancelToken::new());
        let evidence = &propagation.evidence;
        let right = engine::propagate(&mut **propagator, compiled, evidence, &watch);
        let right = right.expect("the evidence is possible");
        let tolerance = if propagation.engine.precision == Precision::F64 { 1e-9 } else { 1e-4 };
        for id in self.network.ids() {
            for (found, expected) in propagation.posteriors.of(id).iter().zip(right.of(id)) {
                assert!((found - expected).abs() < tolerance, "{found}, expected {expected}");
            }
        }
        let far = propagation.posteriors.ln_p_evidence() - right.ln_p_evidence();
        assert!(far.abs() < tolerance * 100.0, "ln P(e) is off by {far}");
        self.checks += 1;
    }

    /// Makes `changes` changes, one after another. Checks the posteriors after every change whose
    /// number is a multiple of `check_every`.
    fn run(&mut self, changes: usize, check_every: usize) {
        for number in 1..=changes {
            self.change();
            self.session.submit(self.request.clone());
            let checked = number % check_every == 0;
            match self.random.random_range(0..20) {
                // The next request interrupts this one.
                0..3 if !checked => continue,
                3 if !checked => self.cancel_running_step(),
                _ => {}
            }
            match self.wait_for_posteriors() {
                Some(propagation) if checked => self.check(&propagation),
                Some(_) => {}
                None => self.cancels += 1,
            }
        }
    }
}

#[test]
fn after_hundreds_of_changes_the_posteriors_are_right() {
    let mut soak = Soak::new("child", 20_260_101);
    soak.run(600, 10);
    assert_eq!(soak.checks, 60);
}

#[test]
#[ignore = "runs for LONG_SECONDS seconds"]
fn after_changes_for_the_given_time_the_posteriors_are_right_and_the_memory_has_not_grown() {
    let mut run = LongRun::from_environment("session");
    let mut soak = Soak::new("munin3", run.seed);
    while run.has_time_left() {
        soak.run(100, 100);
        run.count(100);
    }
    println!("session: {} checks, {} cancels", soak.checks, soak.cancels);
    run.finish();
}
