//! Which finished propagation a pane shows, to know when a cached drawing of it is out of date.

use std::sync::Arc;

use crate::app::state::document::{Document, PlayedTrace};
use crate::app::state::recordings::RecordedRunRef;
use crate::session::Propagation;

/// A finished propagation whose messages can be shown. Two are equal if they are the same run.
#[derive(Clone, Debug)]
pub(in crate::app::panes) enum FinishedRun {
    /// The last propagation on this machine.
    OnThisMachine(Arc<Propagation>),
    /// A recorded run.
    Recorded(RecordedRunRef),
}

impl FinishedRun {
    /// The run whose messages are drawn. `None` if no run is shown, or if the run shown is one on
    /// this machine that has not ended yet.
    pub fn of(document: &Document) -> Option<Self> {
        match (document.shown, &document.running, &document.result) {
            (Some(recorded), ..) => Some(Self::Recorded(recorded)),
            (None, None, Some(result)) => Some(Self::OnThisMachine(Arc::clone(result))),
            _ => None,
        }
    }

    /// The run of `played`, one of the [traces to compare](Document::traces_to_compare).
    pub fn of_played(document: &Document, played: &PlayedTrace<'_>) -> Option<Self> {
        match played.recorded {
            Some(recorded) => Some(Self::Recorded(recorded)),
            None => document.result.clone().map(Self::OnThisMachine),
        }
    }
}

impl PartialEq for FinishedRun {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OnThisMachine(one), Self::OnThisMachine(other)) => Arc::ptr_eq(one, other),
            (Self::Recorded(one), Self::Recorded(other)) => one == other,
            _ => false,
        }
    }
}
