//! Asking the worker in a test, and hearing it out.
#![allow(dead_code, reason = "no test needs all of it")]

use std::sync::Arc;

use cliquescope::engine::{self, Engine, PaperOptions};
use cliquescope::network::{Evidence, Network};
use cliquescope::potential::Precision;
use cliquescope::propagation::CompileOptions;
use cliquescope::session::{EngineChoice, Propagation, Request, Session, Source, Step, Update};

/// `engine` in double precision on one thread.
pub fn choice(engine: &'static dyn Engine) -> EngineChoice {
    EngineChoice { engine, precision: Precision::F64, threads: 1, paper: PaperOptions::default() }
}

/// The default engine on one thread.
pub fn default_choice() -> EngineChoice {
    choice(engine::default_engine())
}

/// For the posteriors of a sample without evidence.
pub fn request(network: &str, serial: u64) -> Request {
    Request {
        source: Source::Named(network.to_owned()),
        source_serial: serial,
        compile: CompileOptions::default(),
        engine: default_choice(),
        memory: None,
        evidence: Evidence::none(),
        cases: [].into(),
        run_serial: 0,
    }
}

/// The network of a sample.
pub fn sample(name: &str) -> Arc<Network> {
    cliquescope::format::open(name).expect("a sample opens").network
}

/// Findings by name.
pub fn observing(network: &Network, findings: &[(&str, &str)]) -> Evidence {
    let mut evidence = Evidence::none();
    for (variable, state) in findings {
        evidence.observe_named(network, variable, state).expect("the names are right");
    }
    evidence
}

/// Everything that is told until the worker rests.
pub fn until_rest(session: &Session) -> Vec<Update> {
    let mut updates = Vec::new();
    while let Some((_, update)) = session.wait() {
        let rests = matches!(update, Update::Idle | Update::Failed(..) | Update::Cancelled(_));
        updates.push(update);
        if rests {
            return updates;
        }
    }
    panic!("the worker is gone");
}

/// The steps that were begun.
pub fn steps(updates: &[Update]) -> Vec<Step> {
    let started = |update: &Update| match update {
        Update::Started(step) => Some(*step),
        _ => None,
    };
    updates.iter().filter_map(started).collect()
}

/// The last posteriors.
pub fn result(updates: &[Update]) -> Option<Arc<Propagation>> {
    updates.iter().rev().find_map(|update| match update {
        Update::Propagated(propagation) | Update::Untraced(propagation) => {
            Some(Arc::clone(propagation))
        }
        _ => None,
    })
}
