//! An engine as the suite tests it, and the networks that it may skip.

use std::fmt::Display;
use std::sync::Arc;

use cliquescope::cancel::CancelToken;
use cliquescope::engine::{
    self, Engine, ErrorBound, LoadOptions, Optimisation, PropagationError, Propagator,
};
use cliquescope::network::{Evidence, Network};
use cliquescope::potential::Precision;
use cliquescope::propagation::{CompiledNetwork, Form, MemoryLimit, Posteriors, Watch};

/// Each entry names an engine, a network that the engine may skip, and the reason. Empty while
/// every engine passes all tests.
pub const EXEMPTIONS: &[(&str, &str, &str)] = &[];

/// An engine in one precision, with a number of threads and a form.
#[derive(Debug)]
pub struct Subject {
    pub engine: &'static str,
    pub precision: Precision,
    /// The number of threads that the engine may use.
    pub threads: usize,
    /// The form in which the engine holds the network; `None` to let the engine choose.
    pub form: Option<Form>,
    /// The optimisation that is switched off; `None` if all are applied.
    pub without: Option<Optimisation>,
}

/// `form!()` is `None`, and `form!(Tables)` is `Some(Form::Tables)`.
macro_rules! form {
    () => {
        None
    };
    ($form:ident) => {
        Some(cliquescope::propagation::Form::$form)
    };
}
pub(crate) use form;

impl Subject {
    pub fn engine(&self) -> &'static dyn Engine {
        engine::by_name(self.engine).expect("an engine of this name")
    }

    /// Whether the engine can run on this machine; prints a note if it cannot. Panics instead if
    /// `REQUIRE_CUDA=1` is in the environment.
    pub fn runs_here(&self) -> bool {
        let Err(reason) = self.engine().availability() else { return true };
        let required = std::env::var_os("REQUIRE_CUDA").is_some_and(|value| value == "1");
        assert!(!required, "{} cannot run: {reason}", self.engine);
        eprintln!("{} is SKIPPED: {reason}", self.engine);
        false
    }

    /// Whether the engine may skip `network`.
    pub fn is_exempt(&self, network: &str) -> bool {
        EXEMPTIONS.iter().any(|(engine, exempt, _)| (*engine, *exempt) == (self.engine, network))
    }

    /// `networks` without those that the engine may skip.
    pub fn required<'a>(&self, networks: &[&'a str]) -> impl Iterator<Item = &'a str> {
        networks.iter().copied().filter(|network| !self.is_exempt(network))
    }

    pub fn load_options(&self) -> LoadOptions {
        let options = LoadOptions {
            precision: self.precision,
            threads: self.threads,
            memory: MemoryLimit::from_bytes(4 << 30),
            form: self.form,
            ..LoadOptions::default()
        };
        self.without.into_iter().fold(options, LoadOptions::without)
    }

    /// The forecast memory in bytes, for the subject's form, or for the form that the engine
    /// chooses.
    pub fn forecast_bytes(&self, compiled: &CompiledNetwork) -> u64 {
        let forecast = self.engine().forecast(compiled, self.precision);
        let options = self.load_options();
        let chosen = forecast.fastest_form(options.memory, options.runs);
        let wanted = forecast.forms.iter().find(|found| Some(found.form) == self.form).copied();
        wanted.or(chosen).map_or(forecast.bytes, |form| form.bytes)
    }

    pub fn load(&self, compiled: &Arc<CompiledNetwork>) -> Box<dyn Propagator> {
        self.engine().load(compiled, &self.load_options()).expect("the network is loaded")
    }

    /// Loads and propagates once.
    pub fn propagate(
        &self,
        compiled: &Arc<CompiledNetwork>,
        evidence: &Evidence,
    ) -> Result<Posteriors, PropagationError> {
        propagate(&mut *self.load(compiled), compiled, evidence)
    }

    /// The bound that the engine states for the error of its answers.
    fn error_bound(&self) -> ErrorBound {
        ErrorBound::of(self.precision)
    }

    /// Checks that posteriors of `network` are within the engine's bound.
    pub fn assert_close(
        &self,
        network: &Network,
        found: &[f64],
        expected: &[f64],
        context: impl Display,
    ) {
        assert_eq!(found.len(), expected.len(), "{context}");
        let allowed = self.error_bound().posterior(network);
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let deviation = (found - expected).abs();
            // This form of the condition is false for NaN.
            assert!(
                deviation <= allowed,
                "{context}: {found} at {index}, expected {expected} within {allowed:e}"
            );
        }
    }

    /// Checks that ln P(e) of `network` is within the engine's bound.
    pub fn assert_close_ln(
        &self,
        network: &Network,
        found: f64,
        expected: f64,
        context: impl Display,
    ) {
        let allowed = self.error_bound().ln_p_evidence(network, expected);
        let deviation = (found - expected).abs();
        assert!(
            deviation <= allowed,
            "{context}: ln P(e) is {found}, expected {expected} within {allowed:e}"
        );
    }
}

/// Propagates once, without a trace.
pub fn propagate(
    propagator: &mut dyn Propagator,
    compiled: &CompiledNetwork,
    evidence: &Evidence,
) -> Result<Posteriors, PropagationError> {
    let watch = Watch::untimed(CancelToken::new());
    engine::propagate(propagator, compiled, evidence, &watch)
}

/// Possible evidence on every eighth variable from the fourth, up to twelve of them. Each is
/// observed in its most probable state given the previous observations.
pub fn probable_evidence(subject: &Subject, compiled: &Arc<CompiledNetwork>) -> Evidence {
    let mut evidence = Evidence::none();
    let mut propagator = subject.load(compiled);
    for variable in compiled.network().ids().skip(3).step_by(8).take(12) {
        let found = propagate(&mut *propagator, compiled, &evidence).unwrap();
        evidence.observe(compiled.network(), variable, most_probable(found.of(variable)));
    }
    evidence
}

/// The most probable state.
pub fn most_probable(posterior: &[f64]) -> usize {
    (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b])).unwrap()
}
