//! Why there are no messages to show.

use crate::app::state::document::Document;
use crate::app::state::model::Model;
use crate::propagation::{CompiledNetwork, MessageTrace};

/// Why there are no messages to show, and what the user can do about it. `None` if there are
/// messages or a running propagation may still report some.
pub(in crate::app::panes) fn no_messages_reason(model: &Model) -> Option<&str> {
    let Some(document) = &model.document else {
        return Some("Open a network to see the messages of its propagation on a time axis.");
    };
    let (Some(compiled), Some(trace)) = (&document.compiled, document.trace()) else {
        return Some(reason_without_trace(model, document));
    };
    let empty = trace.messages.is_empty() && document.running.is_none();
    empty.then(|| reason_without_messages(model, compiled, trace))
}

fn reason_without_trace(model: &Model, document: &Document) -> &'static str {
    if model.working.is_some() {
        "The propagation starts once the network is compiled and loaded."
    } else if document.impossible.is_some() {
        "The evidence is impossible, so the propagation was not finished. Retract a finding."
    } else if model.failure.is_some() {
        "There was no propagation; the status bar says what failed. Press F5 to try again."
    } else {
        "Nothing has been propagated on this junction tree yet. Press F5 to propagate."
    }
}

fn reason_without_messages(
    model: &Model,
    compiled: &CompiledNetwork,
    trace: &MessageTrace,
) -> &'static str {
    if trace.savings.entries_sliced > 0 {
        "The engine used a smaller junction tree, reduced by the evidence, and passed no messages \
         through this one. Choose engine sequential to see the messages of this tree."
    } else if compiled.plan().messages().is_empty() {
        "The junction tree is a single clique: there are no messages to pass."
    } else if !model.compute.engine.engine.info().capabilities.traces_messages {
        "This engine passes no messages: it eliminates variables instead. \
         Choose engine sequential to see messages."
    } else {
        "This propagation reported no messages. Press F5 to propagate again."
    }
}
