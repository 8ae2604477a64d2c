//! The worker does what the newest request needs, and survives the failure of any step.

#[path = "../common/mod.rs"]
mod common;
mod interruption;
mod requests;
mod too_large;

use std::sync::Arc;

use cliquescope::propagation::CompiledNetwork;
use cliquescope::session::{Session, Update};

/// Waits until a propagation starts.
fn wait_for_propagation(session: &Session) {
    while !matches!(session.wait().1, Update::Propagating(_)) {}
}

fn compiled(updates: &[Update]) -> Option<Arc<CompiledNetwork>> {
    updates.iter().find_map(|update| match update {
        Update::Compiled(compiled) => Some(Arc::clone(compiled)),
        _ => None,
    })
}
