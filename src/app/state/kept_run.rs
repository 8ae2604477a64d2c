//! A run that is kept to be compared with later runs.

use std::sync::Arc;

use crate::app::state::document::Document;
use crate::app::state::run_kind::RunKind;
use crate::propagation::{CompiledNetwork, MessageTrace};

/// A run that is kept to be compared with later runs of the same network, on the same tree or on
/// others.
#[derive(Clone, Debug)]
pub struct KeptRun {
    /// The engine and the tree, such as `cpu f64, min-fill`.
    pub title: String,
    /// How it was computed.
    pub kind: RunKind,
    /// When each message was computed.
    pub trace: MessageTrace,
    /// The compiled network, whose plan has the messages.
    pub compiled: Arc<CompiledNetwork>,
}

impl KeptRun {
    /// The finished run of `document` whose trace is drawn; `None` if there is none.
    #[must_use]
    pub fn of(document: &Document) -> Option<Arc<Self>> {
        if document.running.is_some() && document.shown.is_none() {
            return None;
        }
        let compiled = Arc::clone(document.compiled.as_ref()?);
        let (title, kind) = (document.run_title(), RunKind::of(document));
        let trace = document.trace()?.clone();
        Some(Arc::new(Self { title, kind, trace, compiled }))
    }
}
