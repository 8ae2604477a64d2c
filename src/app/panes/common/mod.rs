//! Helpers that several panes share. A pane imports from here, never from another pane.

mod bars_label;
mod durations;
mod equations;
mod finding;
mod finished_run;
mod identity;
mod item_link;
mod run_choice;
mod search;
mod states;
mod toolbar_summary;
mod traced_messages;
mod zoom_buttons;

use std::time::Duration;

use eframe::egui::{Label, RichText, Ui};

pub(super) use bars_label::bars_label;
pub(super) use durations::DurationSummary;
pub(super) use equations::{Equations, MAX_NAME_CHARACTERS};
pub(super) use finding::describe_finding;
pub(super) use finished_run::FinishedRun;
pub(super) use identity::Identity;
pub(super) use item_link::item_link;
pub(super) use search::Search;
pub(super) use states::{StateRow, variable_menu};
pub(super) use toolbar_summary::toolbar_summary;
pub(super) use traced_messages::{TracedMessages, choose_messages, chosen_messages};
pub(super) use zoom_buttons::{fit_button, zoom_buttons};

/// Shown in place of the number of entries processed if the engine did not compute the message from
/// a table: all entries of the message are one, the message only says which states of the separator
/// were observed, or it is unchanged since an earlier run.
pub(super) const NOT_COMPUTED: &str =
    "none: the message is known without a table, or unchanged since an earlier run";

/// Time between redraws of a pane that shows a running propagation: about 30 frames a second.
pub(super) const LIVE_INTERVAL: Duration = Duration::from_millis(33);

/// Fills an otherwise empty pane with a centred line of text.
pub(super) fn empty_state(ui: &mut Ui, text: &str) {
    ui.vertical_centered(|ui| {
        ui.add_space(0.4 * ui.available_height());
        ui.add(Label::new(RichText::new(text).weak()).wrap());
    });
}
