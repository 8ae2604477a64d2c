//! The messages of the run that the user chose, or the reason why there are none.

use std::sync::Arc;

use eframe::egui::Ui;

use super::empty_state;
use super::run_choice::run_choice;
use crate::app::state::command::Commands;
use crate::app::state::document::Document;
use crate::app::state::model::Model;
use crate::propagation::{CompiledNetwork, MessageTrace};

/// The messages of a propagation on the junction tree of the open network.
pub(in crate::app::panes) struct TracedMessages<'m> {
    pub document: &'m Document,
    pub compiled: &'m Arc<CompiledNetwork>,
    /// The trace. It may be empty while the propagation runs.
    pub trace: &'m MessageTrace,
}

/// Draws the choice of run, and returns the messages of the chosen run. If there are none, fills
/// the pane with the reason and returns `None`.
pub(in crate::app::panes) fn choose_messages<'m>(
    ui: &mut Ui,
    model: &'m Model,
    commands: &mut Commands,
) -> Option<TracedMessages<'m>> {
    run_choice(ui, model, commands);
    chosen_messages(ui, model)
}

/// As [`choose_messages`], without the choice of run.
pub(in crate::app::panes) fn chosen_messages<'m>(
    ui: &mut Ui,
    model: &'m Model,
) -> Option<TracedMessages<'m>> {
    traced_messages(model).map_err(|reason| empty_state(ui, reason)).ok()
}

/// The messages to show.
///
/// # Errors
/// If there are none. The error says why, and what the user can do about it. While a propagation
/// runs, it is no error that there are no messages yet.
fn traced_messages(model: &Model) -> Result<TracedMessages<'_>, &'static str> {
    let Some(document) = &model.document else {
        return Err("Open a network to see the messages of its propagation.");
    };
    let (Some(compiled), Some(trace)) = (&document.compiled, document.trace()) else {
        return Err(reason_without_trace(model, document));
    };
    if trace.messages.is_empty() && document.running.is_none() {
        return Err(reason_without_messages(model, compiled, trace));
    }
    Ok(TracedMessages { document, compiled, trace })
}

/// Why there is no trace, and what the user can do about it.
fn reason_without_trace(model: &Model, document: &Document) -> &'static str {
    if model.working.is_some() {
        "The propagation starts once the network is compiled and loaded."
    } else if document.impossible.is_some() {
        "The evidence is impossible, so the propagation was not finished. Retract a finding."
    } else if model.failure.is_some() {
        "There was no propagation; the message at the bottom of the window says what failed. Press \
         F5 to try again."
    } else {
        "Nothing has been propagated on this junction tree yet. Press F5 to propagate."
    }
}

/// Why `trace` has no messages, and what the user can do about it.
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
