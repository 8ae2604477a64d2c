//! What the worker has, and what is still to be done for a request.

use std::sync::Arc;

use crate::engine::Propagator;
use crate::format::ReadNetwork;
use crate::network::Evidence;
use crate::propagation::{CompileOptions, CompiledNetwork, MemoryLimit};
use crate::session::{EngineChoice, Propagation, Request, Step};

/// What the worker has, each with what it was made from. A part is dropped when what it was made
/// from changes, so that a part that is there is right.
#[derive(Default)]
pub(super) struct State {
    pub(super) opened: Option<(u64, Arc<ReadNetwork>)>,
    pub(super) compiled: Option<(CompileOptions, Arc<CompiledNetwork>)>,
    pub(super) loaded: Option<Loaded>,
    /// The engine that does not do, for the network that is compiled.
    pub(super) lost: Option<Lost>,
    pub(super) prior: Option<Arc<Propagation>>,
    pub(super) propagated: Option<(Evidence, u64)>,
    /// What was propagated, while it is not known yet what it takes untraced.
    pub(super) traced: Option<Arc<Propagation>>,
    /// The other cases that were told of since the engine was loaded.
    pub(super) answered: Vec<Evidence>,
}

/// An engine with its tables.
pub(super) struct Loaded {
    /// What was asked for.
    pub(super) wanted: EngineChoice,
    pub(super) memory: Option<MemoryLimit>,
    /// What it is: what was asked for, or what stands in for it.
    pub(super) engine: EngineChoice,
    /// If it stands in: the run at which what was asked for was tried last.
    pub(super) tried: Option<u64>,
    /// Whether it computes on a device, where the timing of messages takes time of its own.
    pub(super) on_device: bool,
    pub(super) propagator: Box<dyn Propagator>,
}

/// An engine whose device failed.
pub(super) struct Lost {
    pub(super) engine: EngineChoice,
    /// The run at which it failed. With another it is tried again.
    pub(super) run_serial: u64,
    pub(super) reason: String,
}

impl State {
    /// The first step that is still to be done for `request`, after dropping what is outdated.
    pub(super) fn next_step(&mut self, request: &Request) -> Option<Step> {
        if self.opened.as_ref().is_none_or(|(serial, _)| *serial != request.source_serial) {
            return Some(Step::Open);
        }
        if self.compiled.as_ref().is_none_or(|(options, _)| *options != request.compile) {
            return Some(Step::Compile);
        }
        let outdated = |loaded: &Loaded| {
            loaded.wanted != request.engine
                || loaded.memory != request.memory
                || loaded.tried.is_some_and(|run_serial| run_serial != request.run_serial)
        };
        if self.loaded.as_ref().is_none_or(outdated) {
            return Some(Step::Load);
        }
        if self.prior.is_none() {
            return Some(Step::Prior);
        }
        let done = self.propagated.as_ref().is_some_and(|(evidence, run)| {
            *evidence == request.evidence && *run == request.run_serial
        });
        if !done {
            return Some(Step::Propagate);
        }
        if self.traced.is_some() {
            return Some(Step::Untraced);
        }
        self.answered.retain(|known| request.cases.contains(known));
        self.unanswered(request).map(|_| Step::Compare)
    }

    /// The first of the other cases that was not told of.
    pub(super) fn unanswered<'a>(&self, request: &'a Request) -> Option<&'a Evidence> {
        request.cases.iter().find(|case| !self.answered.contains(case))
    }

    /// Forgets the results of `step` and all that was made from them.
    pub(super) fn forget_from(&mut self, step: Step) {
        if step <= Step::Open {
            self.opened = None;
        }
        if step <= Step::Compile {
            self.compiled = None;
            // What one network is too much for may do for another.
            self.lost = None;
        }
        if step <= Step::Load {
            self.loaded = None;
        }
        if step <= Step::Prior {
            self.prior = None;
            self.answered.clear();
        }
        self.propagated = None;
        self.traced = None;
    }
}
