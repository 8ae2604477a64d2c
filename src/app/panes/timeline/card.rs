//! The card shown at the pointer over a message.

use eframe::egui::{self, RichText, Ui};

use super::rows::Span;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::numbers;
use crate::propagation::{CompiledNetwork, Phase};

/// Draws the card of the message `span`.
pub(super) fn show(ui: &mut Ui, compiled: &CompiledNetwork, span: Span) {
    ui.set_max_width(420.0);
    let palette = Palette::of(ui);
    let message = compiled.plan()[span.message];
    let separator = &compiled.tree()[message.separator];
    let colour = match message.phase {
        Phase::Collect => palette.collect,
        Phase::Distribute => palette.distribute,
    };
    let title = format!("Message {}, {}", span.message.index(), message.phase.name());
    ui.label(RichText::new(title).strong().color(colour));
    let touched = naming::entries_touched(compiled, span.message);
    let length = span.end - span.start;
    egui::Grid::new("message card").num_columns(2).show(ui, |ui| {
        let mut line = |name: &str, value: String| {
            ui.weak(name);
            ui.label(value);
            ui.end_row();
        };
        line("from", naming::clique(compiled, message.from));
        line("to", naming::clique(compiled, message.to));
        line("over", naming::separator(compiled, message.separator));
        line("separator", numbers::counted(separator.entries as usize, "entry", "entries"));
        line("touched", format!("{} entries of both cliques", numbers::thousands(touched)));
        if span.wait_start < span.start {
            line("waited", numbers::nanoseconds(span.start - span.wait_start));
        }
        line("start", numbers::nanoseconds(span.start));
        line("duration", numbers::nanoseconds(length));
        line("per entry", numbers::nanoseconds(length / touched.max(1) as f64));
    });
    if let Some(text) = naming::timed_together(span.shared_with) {
        ui.weak(text);
    }
}
