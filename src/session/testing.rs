//! Networks at which the worker of a session panics, for tests.
//!
//! An engine that panics can test only the steps that use an engine. To test a panic in any step,
//! the name of the network says at which step the worker itself panics.

use std::sync::Arc;

use crate::format::NetworkSource;
use crate::session::{Request, Step};

/// The message of the panic.
pub(crate) const MESSAGE: &str = "a defect for a test";

/// A network of one variable with which the worker panics at `step`.
pub(crate) fn source_that_panics_at(step: Step) -> NetworkSource {
    let text = "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { table 0.5 0.5; }";
    let name = format!("{}.bif", title(step));
    NetworkSource::Bytes { name, bytes: Arc::from(text.as_bytes()) }
}

fn title(step: Step) -> String {
    format!("panics at {step:?}")
}

/// Panics if [`source_that_panics_at`] made the network of `request` for this `step`.
pub(super) fn panic_if_wanted(step: Step, request: &Request) {
    if let NetworkSource::Bytes { name, .. } = &request.source {
        assert!(name.strip_suffix(".bif") != Some(&title(step)), "{MESSAGE}");
    }
}

#[test]
fn a_panic_in_a_step_becomes_an_update_and_the_worker_continues() {
    use super::update::{Failure, Update};
    use crate::network::Evidence;
    use crate::propagation::CompileOptions;
    use crate::session::{EngineChoice, Session};

    let engine = EngineChoice {
        engine: crate::engine::default_engine(),
        precision: crate::potential::Precision::F64,
        threads: 1,
        paper: crate::engine::PaperOptions::default(),
    };
    let request = |source, source_serial| Request {
        source,
        read: None,
        source_serial,
        compile: CompileOptions::default(),
        engine,
        memory: None,
        evidence: Evidence::none(),
        cases: [].into(),
        runs: 1,
        run_serial: 0,
    };
    let last = |session: &Session| loop {
        if let update @ (Update::Idle | Update::Failed(..)) = session.wait().1 {
            return update;
        }
    };
    let session = Session::start(|| {});
    for (serial, step) in (0..).zip([Step::Open, Step::Compile, Step::Load, Step::Prior]) {
        session.submit(request(source_that_panics_at(step), 2 * serial));
        let update = last(&session);
        let Update::Failed(found, Failure::Panicked(message)) = update else {
            panic!("{step:?}: {update:?}");
        };
        assert_eq!((found, message.as_str()), (step, MESSAGE));
        session.submit(request(NetworkSource::Named("asia".to_owned()), 2 * serial + 1));
        assert!(matches!(last(&session), Update::Idle));
    }
}
