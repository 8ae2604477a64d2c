//! The line at the bottom.

use eframe::egui::{self, RichText, Ui};

use crate::app::command::{Command, Commands};
use crate::app::model::{Document, Model};
use crate::app::numbers;
use crate::app::theme::Palette;
use crate::propagation::human_bytes;
use crate::session::Step;

/// Draws the status line.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    ui.horizontal(|ui| {
        let palette = Palette::of(ui);
        if let Some(failure) = &model.failure {
            let text = RichText::new(failure).color(palette.error);
            ui.add(egui::Label::new(text).truncate()).on_hover_text(failure);
            ui.separator();
        }
        if let Some(step) = model.working {
            progress(ui, model, step, commands);
            ui.separator();
        }
        match &model.document {
            Some(document) => facts(ui, model, document),
            None => {
                ui.weak("Open a network: File > Open, File > Samples, or drop a file here.");
            }
        }
    });
}

fn progress(ui: &mut Ui, model: &Model, step: Step, commands: &mut Commands) {
    let running = model.document.as_ref().and_then(|document| document.running.as_ref());
    match running.map(|watch| watch.progress()) {
        Some((done, total)) if total > 0 => {
            let share = done as f32 / total as f32;
            let bar = egui::ProgressBar::new(share).desired_width(140.0);
            ui.add(bar.text(format!("{done} of {total} messages")));
        }
        _ => {
            ui.spinner();
            ui.label(step.gerund());
        }
    }
    if ui.button("Cancel").clicked() {
        commands.push(Command::Cancel);
    }
}

fn facts(ui: &mut Ui, model: &Model, document: &Document) {
    let engine = model.engine;
    let mut fact = |name: &str, value: String, hover: &str| {
        ui.weak(name);
        let label = ui.strong(value);
        label.on_hover_text(hover);
        ui.separator();
    };
    fact("network", document.title(), "The open network");
    let memory = document.engine_bytes.map(human_bytes).unwrap_or_default();
    let holds = format!("Engine and precision. It holds {memory}");
    fact("engine", format!("{} {}", engine.engine.name(), engine.precision), &holds);
    if let Some(compiled) = &document.compiled {
        let tree = compiled.statistics();
        let largest = numbers::thousands(tree.max_clique_entries);
        fact("largest clique", largest, "Entries of the largest clique's table");
        let total = numbers::thousands(tree.total_clique_entries);
        fact("entries", total, "Entries of all cliques' tables");
    }
    if let Some(result) = &document.result {
        let ln = result.posteriors.ln_p_evidence();
        let stale = if document.is_stale() { " (stale)" } else { "" };
        fact("ln P(e)", format!("{ln:.6}{stale}"), "Logarithm of the probability of the evidence");
        fact("P(e)", numbers::scientific(ln.exp()), "Probability of the evidence");
        let time = numbers::duration(result.elapsed);
        fact("propagation", time, "The last propagation, with the timing of its messages");
    }
}
