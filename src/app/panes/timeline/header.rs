//! The line above the timeline: durations of the propagation, and what the colours mean.

use std::time::Duration;

use eframe::egui::{self, Color32, RichText, Sense, Ui};

use super::TimelineScene;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::numbers;
use crate::propagation::Stage;

/// Draws the line of durations.
pub(super) fn show(ui: &mut Ui, scene: &TimelineScene<'_>, commands: &mut Commands) {
    let palette = Palette::of(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let title = if scene.live { "so far" } else { "total" };
        fact(ui, title, &numbers::duration(scene.trace.elapsed));
        if let Some(untraced) = scene.untraced {
            fact(ui, "untraced", &numbers::duration(untraced));
        }
        for (stage, colour) in
            [(Stage::Collect, palette.collect), (Stage::Distribute, palette.distribute)]
        {
            let time = stage_time(scene, stage).map_or("…".to_owned(), numbers::duration);
            swatch(ui, colour);
            fact(ui, stage.name(), &time);
        }
        let waits: f64 = scene.trace.messages.iter().map(|m| m.wait.as_nanos() as f64).sum();
        if waits > 0.0 {
            swatch(ui, palette.wait);
            fact(ui, "waits", &numbers::nanoseconds(waits));
        }
        if !scene.launches.is_empty() {
            swatch(ui, palette.copy);
            let time: f64 = scene.launches.iter().map(|(from, to)| to - from).sum();
            fact(ui, "launch and copy", &numbers::nanoseconds(time));
        }
        let (done, all) = (scene.trace.messages.len(), scene.compiled.plan().messages().len());
        let count = numbers::thousands(done as u64);
        fact(
            ui,
            "messages",
            &if done == all {
                count
            } else {
                format!("{count} of {}", numbers::thousands(all as u64))
            },
        );
        let summary = super::summary(&scene.rows);
        fact(ui, "sum", &numbers::nanoseconds(summary.total));
        fact(ui, "median", &numbers::nanoseconds(summary.median));
        if let Some(slowest) = scene.trace.messages.iter().max_by_key(|timing| timing.duration) {
            let ends = naming::message_ends(scene.compiled, slowest.message);
            let text = format!("{ends}  {}", numbers::duration(slowest.duration));
            ui.weak("slowest");
            let link = ui.link(text).on_hover_text("Select the slowest message");
            if link.clicked() {
                commands.push(ViewCommand::Select(Some(Item::Message(slowest.message))));
            }
            if link.hovered() {
                commands.push(ViewCommand::Hover(Item::Message(slowest.message)));
            }
        }
        ui.weak("(?)").on_hover_text(
            "Wheel: zoom at the pointer\nDrag: pan\nShift+drag: sum over a range\n\
             Double click or F: show everything\nLeft and right: previous and next message\n\
             Esc: clear the selection",
        );
    });
}

fn fact(ui: &mut Ui, name: &str, value: &str) {
    ui.weak(name);
    ui.label(RichText::new(value).strong());
    ui.add_space(6.0);
}

fn swatch(ui: &mut Ui, colour: Color32) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), Sense::hover());
    ui.painter().rect_filled(rect, 2, colour);
}

/// How long a stage took; `None` while it has not ended.
fn stage_time(scene: &TimelineScene<'_>, stage: Stage) -> Option<Duration> {
    let timing = scene.trace.stages.iter().find(|timing| timing.stage == stage)?;
    Some(timing.end.saturating_sub(timing.start))
}
