//! The status line, and the last failure above it.

use eframe::egui::{self, Align, Layout, RichText, Ui};

use crate::app::shell::tree_menu;
use crate::app::state::command::{Commands, EngineCommand};
use crate::app::state::document::Document;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::network::Finding;
use crate::numbers;
use crate::propagation::human_bytes;
use crate::session::Step;

const LN_P_TOOLTIP: &str =
    "Natural logarithm of the probability of the evidence, with likelihoods as they were entered";
const SCALED_TOOLTIP: &str = "Probability of the evidence times the scale of its likelihoods. \
    Some of the likelihoods' weights are above one, so only ratios of such values have a meaning.";

/// Draws the status line.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    ui.horizontal(|ui| {
        if let Some(step) = model.working {
            progress(ui, model, step, commands);
            ui.separator();
        }
        tree_menu::status(ui, model, commands);
        match &model.document {
            Some(document) => facts(ui, model, document),
            None => {
                ui.weak("Open a network: File > Open, File > Samples, or drop a file here.");
            }
        }
    });
}

/// Draws the whole message of the last failure. Call this at the bottom of the window, so that the
/// message does not move what is under the pointer when it appears.
pub fn failure(ui: &mut Ui, failure: &str, commands: &mut Commands) {
    ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
        if ui.button("Dismiss").clicked() {
            commands.push(EngineCommand::DismissFailure);
        }
        if ui.button("Copy").clicked() {
            ui.ctx().copy_text(failure.to_owned());
        }
        ui.with_layout(Layout::left_to_right(Align::TOP), |ui| {
            let text = RichText::new(failure).color(Palette::of(ui).error);
            ui.add(egui::Label::new(text).wrap());
        });
    });
}

fn progress(ui: &mut Ui, model: &Model, step: Step, commands: &mut Commands) {
    let running = model.document.as_ref().and_then(|document| document.running.as_ref());
    match running.map(|watch| watch.progress()) {
        // An engine may report messages late, or never.
        Some((done, total)) if done > 0 => {
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
        commands.push(EngineCommand::Cancel);
    }
}

/// The number of warnings of the reader, with their texts as a tooltip.
fn warnings(ui: &mut Ui, document: &Document) {
    let warnings = &document.read.warnings;
    if warnings.is_empty() {
        return;
    }
    let text = match warnings.len() {
        1 => "1 warning".to_owned(),
        many => format!("{many} warnings"),
    };
    ui.label(RichText::new(text).color(Palette::of(ui).warning)).on_hover_ui(|ui| {
        warnings.iter().for_each(|warning| {
            ui.label(warning.to_string());
        });
    });
    ui.separator();
}

fn facts(ui: &mut Ui, model: &Model, document: &Document) {
    let engine = model.compute.engine;
    fact(ui, "network", document.title(), "The open network");
    let uses = match document.engine_bytes {
        Some(bytes) => format!("Engine and precision. The engine uses {}", human_bytes(bytes)),
        None => "Engine and precision".to_owned(),
    };
    match &document.fallback {
        None => {
            fact(ui, "engine", format!("{} {}", engine.engine.name(), engine.precision), &uses);
        }
        Some((used, reason)) => {
            let (used, wanted) = (used.engine.name(), engine.engine.name());
            ui.weak("engine");
            let text = RichText::new(format!("{used} instead of {wanted}"));
            ui.label(text.color(Palette::of(ui).warning).strong())
                .on_hover_text(format!("{reason}. Propagate (F5) tries {wanted} again."));
            ui.separator();
        }
    }
    warnings(ui, document);
    if let Some(compiled) = &document.compiled {
        let tree = compiled.statistics();
        let largest = numbers::thousands(tree.max_clique_entries);
        fact(ui, "largest clique", largest, "Entries of the largest clique table");
        let total = numbers::thousands(tree.total_clique_entries);
        fact(ui, "entries", total, "Total entries of all clique tables");
    }
    if let Some(result) = &document.result {
        // Without evidence, rounding can give a tiny negative number, which would read "-0.000000".
        let ln = result.posteriors.ln_p_evidence();
        let ln = if ln.abs() < 5e-7 { 0.0 } else { ln };
        let is_bayesian = document.network().is_bayesian();
        let stale = if document.is_stale() { " (stale)" } else { "" };
        // If the current evidence is impossible, the result belongs to earlier evidence.
        let (ln, p) = match document.impossible {
            Some(_) => ("-∞".to_owned(), "0".to_owned()),
            None => {
                (format!("{ln:.6}{stale}"), format!("{}{stale}", numbers::scientific(ln.exp())))
            }
        };
        fact(
            ui,
            if is_bayesian { "ln P(e)" } else { "ln Z(e)" },
            ln,
            if is_bayesian {
                LN_P_TOOLTIP
            } else {
                "Natural logarithm of the partition function: the product of all factors, summed over \
                 the configurations that agree with the evidence"
            },
        );
        if is_bayesian {
            let is_scaled = document.evidence.iter().any(|(_, finding)| match finding {
                Finding::Likelihood(weights) => weights.iter().any(|&weight| weight > 1.0),
                Finding::Observed(_) => false,
            });
            // With weights above one, this number can exceed one and is not a probability.
            match is_scaled {
                false => fact(ui, "P(e)", p, "Probability of the evidence"),
                true => fact(ui, "P(e) scaled", p, SCALED_TOOLTIP),
            }
        }
        let time = numbers::duration(result.took());
        let traced = numbers::duration(result.trace.elapsed);
        let hover = match result.untraced {
            Some(_) => format!("The last propagation. With the timing of its messages: {traced}"),
            None => "The last propagation, with the timing of its messages".to_owned(),
        };
        fact(ui, "propagation", time, &hover);
    }
}

/// A name with a value and a tooltip.
fn fact(ui: &mut Ui, name: &str, value: String, hover: &str) {
    ui.weak(name);
    ui.strong(value).on_hover_text(hover);
    ui.separator();
}
