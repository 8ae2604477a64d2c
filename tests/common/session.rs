//! Helpers for tests of a session: requests, and the updates that answer them.

use std::sync::Arc;

use cliquescope::engine::{self, Engine, PaperOptions};
use cliquescope::format::NetworkSource;
use cliquescope::network::{Evidence, Network};
use cliquescope::potential::Precision;
use cliquescope::propagation::CompileOptions;
use cliquescope::session::{EngineChoice, Propagation, Request, Session, Step, Update};

/// Selects `engine` in double precision on one thread.
pub fn engine_choice(engine: &'static dyn Engine) -> EngineChoice {
    EngineChoice { engine, precision: Precision::F64, threads: 1, paper: PaperOptions::default() }
}

/// Selects the default engine in double precision on one thread.
pub fn default_choice() -> EngineChoice {
    engine_choice(engine::default_engine())
}

/// A request for the posteriors of the sample `network` without evidence.
pub fn request(network: &str, serial: u64) -> Request {
    Request {
        source: NetworkSource::Named(network.to_owned()),
        read: None,
        source_serial: serial,
        compile: CompileOptions::default(),
        engine: default_choice(),
        memory: None,
        evidence: Evidence::none(),
        cases: [].into(),
        runs: 1,
        run_serial: 0,
    }
}

/// The network of the sample called `name`.
pub fn sample(name: &str) -> Arc<Network> {
    cliquescope::format::open(name).expect("a sample opens").network
}

/// Evidence given by the names of variables and states.
pub fn evidence_of(network: &Network, findings: &[(&str, &str)]) -> Evidence {
    let mut evidence = Evidence::none();
    for (variable, state) in findings {
        evidence.observe_named(network, variable, state).expect("the names are right");
    }
    evidence
}

/// Waits until the worker is idle, or until a step fails or is cancelled. Returns all updates,
/// including the one that ended the wait.
pub fn updates_until_idle(session: &Session) -> Vec<Update> {
    let mut updates = Vec::new();
    loop {
        let (_, update) = session.wait();
        let is_last = matches!(update, Update::Idle | Update::Failed(..) | Update::Cancelled(_));
        updates.push(update);
        if is_last {
            return updates;
        }
    }
}

/// The steps that `updates` report as started, in order.
pub fn started_steps(updates: &[Update]) -> Vec<Step> {
    let started = |update: &Update| match update {
        Update::Started(step) => Some(*step),
        _ => None,
    };
    updates.iter().filter_map(started).collect()
}

/// The newest propagation in `updates`.
pub fn last_propagation(updates: &[Update]) -> Option<Arc<Propagation>> {
    updates.iter().rev().find_map(|update| match update {
        Update::Propagated(propagation) | Update::Untraced(propagation) => {
            Some(Arc::clone(propagation))
        }
        _ => None,
    })
}
