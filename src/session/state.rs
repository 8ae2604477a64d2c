//! The results that the worker has, and the next step for a request.

use std::sync::Arc;

use crate::engine::{LoadError, Propagator};
use crate::format::ReadNetwork;
use crate::network::Evidence;
use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit};
use crate::session::{EngineChoice, Propagation, Request, Step};

/// The results of the steps, each with the part of the request for which it was computed.
///
/// A result is dropped as soon as an earlier result on which it depends changes. So the results
/// always fit each other, but not always the newest request.
#[derive(Default)]
pub(super) struct State {
    pub(super) opened: Option<(u64, Arc<ReadNetwork>)>,
    pub(super) compiled: Option<(CompileOptions, Arc<CompiledNetwork>)>,
    pub(super) loaded: Option<LoadedEngine>,
    /// The refusal of the whole network, if it is too large for the engine.
    pub(super) refusal: Option<Refusal>,
    /// Whether the tree that was reported last is a tree given the evidence.
    pub(super) reported_given_evidence: bool,
    /// The engine that failed with the current network, if one did.
    pub(super) engine_failure: Option<EngineFailure>,
    pub(super) prior: Option<Arc<Propagation>>,
    /// The evidence and the run serial of the last propagation.
    pub(super) propagated: Option<(Evidence, u64)>,
    /// The run serial of the last propagation of the network, even if its result was dropped, or of
    /// a later request that was given up. `None` before the first propagation.
    pub(super) last_run: Option<u64>,
    /// The last propagation if a GPU computed it, until its time without tracing has been measured.
    pub(super) traced: Option<Arc<Propagation>>,
    /// The requested cases that were answered since the whole network was last loaded or refused.
    pub(super) answered: Vec<Evidence>,
}

/// An engine with its tables.
pub(super) struct LoadedEngine {
    /// The engine that was requested.
    pub(super) requested: EngineChoice,
    pub(super) memory: Option<MemoryLimit>,
    /// The engine that was loaded: the requested one or its fallback.
    pub(super) engine: EngineChoice,
    /// For a fallback: the serial of the run that last tried the requested engine.
    pub(super) fallback_since: Option<u64>,
    /// The network that was loaded: the whole network, or one with a tree given the evidence.
    pub(super) compiled: Arc<CompiledNetwork>,
    pub(super) propagator: Box<dyn Propagator>,
}

/// The whole network is too large for the engine. With a tree given the evidence it may fit.
pub(super) struct Refusal {
    pub(super) requested: EngineChoice,
    pub(super) memory: Option<MemoryLimit>,
    /// The serial of the run in which the network was refused. Another run tries to load the whole
    /// network again.
    pub(super) run_serial: u64,
    pub(super) error: LoadError,
}

/// An engine that could not load the network or whose device failed.
pub(super) struct EngineFailure {
    pub(super) engine: EngineChoice,
    /// The serial of the run in which the engine failed. Another run tries the engine again.
    pub(super) run_serial: u64,
    pub(super) reason: String,
    /// Whether the window was told that the fallback replaces the engine.
    pub(super) is_reported: bool,
}

impl State {
    /// The first step whose result is missing or outdated for `request`. If only cases are left to
    /// answer, forgets the answered cases that `request` no longer contains.
    pub(super) fn next_step(&mut self, request: &Request) -> Option<Step> {
        if self.opened.as_ref().is_none_or(|(serial, _)| *serial != request.source_serial) {
            return Some(Step::Open);
        }
        if self.compiled.as_ref().is_none_or(|(options, _)| *options != request.compile) {
            return Some(Step::Compile);
        }
        let is_outdated = |loaded: &LoadedEngine| {
            loaded.requested != request.engine
                || loaded.memory != request.memory
                || loaded.fallback_since.is_some_and(|run_serial| run_serial != request.run_serial)
        };
        if self.is_refused(request) {
            if request.evidence.observed_variables().is_empty() {
                // Reports the refusal again.
                return Some(Step::Load);
            }
            let is_unsuitable = |loaded: &LoadedEngine| {
                is_outdated(loaded) || !loaded.compiled.admits(&request.evidence)
            };
            if self.loaded.as_ref().is_none_or(is_unsuitable) {
                return Some(Step::Reduce);
            }
        } else {
            if self.refusal.is_some() || self.loaded.as_ref().is_none_or(is_outdated) {
                return Some(Step::Load);
            }
            if self.prior.is_none() {
                return Some(Step::Prior);
            }
        }
        let is_propagated = self.propagated.as_ref().is_some_and(|(evidence, run)| {
            *evidence == request.evidence && *run == request.run_serial
        });
        if !is_propagated {
            return Some(Step::Propagate);
        }
        if self.traced.is_some() {
            return Some(Step::Untraced);
        }
        self.answered.retain(|answered| request.cases.contains(answered));
        self.first_unanswered(request).map(|_| Step::Compare)
    }

    /// Whether the whole network is known to be too large for the engine of `request`.
    pub(super) fn is_refused(&self, request: &Request) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| {
            refusal.requested == request.engine
                && refusal.memory == request.memory
                && refusal.run_serial == request.run_serial
        })
    }

    /// Whether `request` asks for another run than the last one, and for more than one propagation.
    pub(super) fn asks_for_several_runs(&self, request: &Request) -> bool {
        request.runs > 1 && self.is_another_run(request)
    }

    /// Whether `request` asks for another run than the last one of the network.
    pub(super) fn is_another_run(&self, request: &Request) -> bool {
        self.last_run.is_some_and(|serial| serial != request.run_serial)
    }

    /// The first case of `request` that was not answered.
    pub(super) fn first_unanswered<'a>(&self, request: &'a Request) -> Option<&'a Evidence> {
        request.cases.iter().find(|case| !self.answered.contains(case))
    }

    /// Drops the result of `step` and all results that depend on it.
    pub(super) fn forget_from(&mut self, step: Step) {
        if step <= Step::Open {
            self.opened = None;
            self.last_run = None;
        }
        if step <= Step::Compile {
            self.compiled = None;
            self.reported_given_evidence = false;
            // An engine that failed with one network may work with another.
            self.engine_failure = None;
        }
        if step <= Step::Load {
            self.loaded = None;
            self.refusal = None;
        }
        if step <= Step::Prior {
            self.prior = None;
            self.answered.clear();
        }
        if step == Step::Reduce {
            self.loaded = None;
        }
        self.propagated = None;
        self.traced = None;
    }
}
