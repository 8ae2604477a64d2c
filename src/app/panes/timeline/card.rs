//! The card shown at the pointer over a slice.

use eframe::egui::{self, RichText, Ui};

use super::TimelineScene;
use super::slices::{Cause, Slice, SliceKind, Work};
use crate::app::panes::common::NOT_COMPUTED;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::numbers;
use crate::propagation::{MessageId, Phase};

/// Draws the card of `slice`.
pub(super) fn show(ui: &mut Ui, scene: &TimelineScene<'_>, slice: Slice) {
    ui.set_max_width(420.0);
    match slice.kind {
        SliceKind::Message(message, phase) => message_card(ui, scene, slice, message, phase),
        _ => other_card(ui, scene, slice),
    }
}

/// Draws the card of a slice that is not a message.
fn other_card(ui: &mut Ui, scene: &TimelineScene<'_>, slice: Slice) {
    ui.strong(slice.label(scene.compiled));
    let share = numbers::share(slice.length(), scene.trace.elapsed.as_nanos() as f64);
    egui::Grid::new("timeline card").num_columns(2).show(ui, |ui| {
        lines(
            ui,
            [
                ("start", numbers::nanoseconds(slice.start)),
                ("duration", numbers::nanoseconds(slice.length())),
                ("share", format!("{share} of the propagation")),
            ],
        );
    });
    if let Some(explanation) = explanation(slice.kind) {
        ui.weak(explanation);
    }
}

/// What is done, or waited for, if the name does not say it.
fn explanation(kind: SliceKind) -> Option<&'static str> {
    Some(match kind {
        SliceKind::Wait(Cause::Message(_)) => {
            "The next message here needs this message, which was still being computed."
        }
        SliceKind::Wait(Cause::Work(_)) => "Another row does this work.",
        SliceKind::Wait(Cause::NoMore(_)) => "No further message of this phase is computed here.",
        SliceKind::Wait(Cause::PickUp) => {
            "All inputs of the next message were available, but it was not yet picked up."
        }
        SliceKind::Work(Work::Before) => {
            "From the call of the engine to its first stage. In this time engine cpu chooses the \
             tree for the evidence and, for a large network, wakes a thread."
        }
        SliceKind::Work(Work::After) => {
            "From the last stage to the return of the engine. For a large network, engine cpu then \
             wakes the thread that asked for the posteriors; on a busy machine it waits for a core."
        }
        SliceKind::Work(Work::Root) => {
            "The product of all tables and messages at the root. It belongs to no message."
        }
        SliceKind::Work(Work::LaunchOf(_)) => {
            "Estimated: the part of the message's time that the launch of an empty kernel takes."
        }
        SliceKind::Work(Work::ReadTimes) => {
            "The host reads the times that the GPU recorded. A propagation without a trace does \
             not do this."
        }
        _ => return None,
    })
}

/// Draws the card of a message.
fn message_card(ui: &mut Ui, scene: &TimelineScene<'_>, slice: Slice, id: MessageId, phase: Phase) {
    let compiled = scene.compiled;
    let palette = Palette::of(ui);
    let message = compiled.plan()[id];
    let separator = &compiled.tree()[message.separator];
    let colour = match phase {
        Phase::Collect => palette.collect,
        Phase::Distribute => palette.distribute,
    };
    let title = format!("Message {}, {}", id.index(), phase.name());
    ui.label(RichText::new(title).strong().color(colour));
    let touched = naming::entries_touched(compiled, id);
    let length = slice.length();
    let time = |nanoseconds: f64| naming::message_time(nanoseconds, slice.shared_with);
    egui::Grid::new("timeline card").num_columns(2).show(ui, |ui| {
        lines(
            ui,
            [
                ("from", naming::clique(compiled, message.from)),
                ("to", naming::clique(compiled, message.to)),
                ("over", naming::separator(compiled, message.separator)),
                ("separator", numbers::counted(separator.entries as usize, "entry", "entries")),
                ("touched", format!("{} entries of both cliques", numbers::thousands(touched))),
                ("start", time(slice.start)),
                ("duration", time(length)),
                ("per entry touched", time(length / touched.max(1) as f64)),
            ],
        );
        match scene.trace.entries_processed(id) {
            None => {}
            Some(0) => lines(ui, [("processed", NOT_COMPUTED.to_owned())]),
            Some(processed) => {
                let entries = numbers::thousands(processed);
                let per_processed = time(length / processed as f64);
                let processed = format!("{entries} entries by the engine");
                lines(ui, [("processed", processed), ("per entry processed", per_processed)]);
            }
        }
    });
    if scene.layout.critical.contains(id.index()) {
        ui.weak("On the critical path");
    }
    if let Some(text) = naming::timed_together(slice.shared_with) {
        ui.weak(text);
    }
}

/// Draws lines of a grid, each a name and its value.
fn lines<const N: usize>(ui: &mut Ui, lines: [(&str, String); N]) {
    for (name, value) in lines {
        ui.weak(name);
        ui.label(value);
        ui.end_row();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_are_named_by_their_place_alone_are_explained() {
        for work in [Work::Before, Work::After] {
            assert!(explanation(SliceKind::Work(work)).is_some(), "{work:?}");
        }
    }
}
