//! The status line, and the message of the last failure above it.

use std::time::Duration;

use eframe::egui::{self, Align, Layout, RichText, Ui};

use crate::app::shell::tree_menu;
use crate::app::state::command::{Commands, EngineCommand};
use crate::app::state::document::Document;
use crate::app::state::model::Model;
use crate::app::theme::Palette;
use crate::app::widgets::fact::Fact;
use crate::network::Finding;
use crate::numbers;
use crate::session::{Propagation, RunTimes, Step};

/// Tooltip of ln P(e).
const LN_P_TOOLTIP: &str =
    "Natural logarithm of the probability of the evidence, with likelihoods as they were entered";
/// Tooltip of ln Z(e).
const LN_Z_TOOLTIP: &str = "Natural logarithm of the partition function: the product of all \
    factors, summed over the configurations that agree with the evidence";
/// Tooltip of P(e) if weights of likelihoods are above one.
const SCALED_TOOLTIP: &str = "Probability of the evidence, with the weights of likelihoods as they \
    were entered. Some weights are above one, so this value can exceed one, and only ratios of \
    such values have a meaning.";

/// Draws the status line.
pub fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    ui.horizontal_wrapped(|ui| {
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

/// Draws the message of the last failure in full. Draw it at the bottom of the window, where its
/// appearance does not move what is under the pointer.
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

/// Draws the progress of the running step, and a button that cancels the step.
fn progress(ui: &mut Ui, model: &Model, step: Step, commands: &mut Commands) {
    let running = model.document.as_ref().and_then(|document| document.running.as_ref());
    match running.map(|watch| watch.progress()) {
        // An engine may report messages late, or never.
        Some((done, total)) if done > 0 => {
            let share = done as f32 / total as f32;
            let bar = egui::ProgressBar::new(share).desired_width(140.0);
            ui.add(bar.text(format!("{done} of {total} messages")));
        }
        // The messages of repeated runs are not reported. No spinner is shown either: it is drawn
        // anew in every frame, which would take processor time from the runs.
        None if step == Step::Propagate => _ = ui.label("propagating several times"),
        _ => {
            ui.spinner();
            ui.label(step.gerund());
        }
    }
    if ui.button("Cancel").clicked() {
        commands.push(EngineCommand::Cancel);
    }
}

/// Draws the number of warnings of the reader, with their texts as a tooltip.
fn warnings(ui: &mut Ui, document: &Document) {
    let warnings = &document.read.warnings;
    if warnings.is_empty() {
        return;
    }
    let text = numbers::counted(warnings.len(), "warning", "warnings");
    ui.label(RichText::new(text).color(Palette::of(ui).warning)).on_hover_ui(|ui| {
        warnings.iter().for_each(|warning| {
            ui.label(warning.to_string());
        });
    });
    ui.separator();
}

/// Draws the facts about the open network, its tree and its newest result.
fn facts(ui: &mut Ui, model: &Model, document: &Document) {
    fact(ui, "network", document.title(), "The open network");
    engine_fact(ui, model, document);
    warnings(ui, document);
    if let Some(compiled) = &document.compiled {
        let tree = compiled.statistics();
        let given = if compiled.observed().is_empty() { "" } else { ", given the evidence" };
        let largest = numbers::thousands(tree.max_clique_entries);
        fact(ui, "largest clique", largest, &format!("Entries of the largest clique table{given}"));
        let total = numbers::thousands(tree.total_clique_entries);
        fact(ui, "entries", total, &format!("Total entries of all clique tables{given}"));
    }
    if let Some(result) = &document.result {
        evidence_facts(ui, document, result);
        let time = numbers::duration(result.took());
        let traced = numbers::duration(result.trace.elapsed);
        let hover = match result.untraced {
            Some(_) => {
                format!("Time of a run without message timing. With message timing: {traced}")
            }
            None => "Time of the last propagation, including message timing".to_owned(),
        };
        let hover = match result.trace.recomputed {
            Some(time) => format!(
                "{hover}. The numbers were out of the engine's range, and computing again with \
                 numbers of a wider range took {}",
                numbers::duration(time)
            ),
            None => hover,
        };
        let (time, hover) = result.times.map_or((time, hover), times_text);
        if let Some(recorded) = document.shown {
            let median = Duration::from_secs_f64(recorded.run.propagate_us.median / 1e6);
            let recorded_time = format!("{} recorded", numbers::duration(median));
            fact(ui, "propagation", format!("{time} live, {recorded_time}"), &recorded.credit());
        } else {
            fact(ui, "propagation", time, &hover);
        }
    }
}

/// The median, the shortest and the longest time of several propagations, and what they are.
fn times_text(times: RunTimes) -> (String, String) {
    let [min, median, max] = [times.min, times.median, times.max].map(numbers::duration);
    let hover = format!("Median, minimum and maximum of {} propagations (F6)", times.runs);
    let runs = times.runs;
    (format!("{median} ({min} to {max}, {runs} runs)"), hover)
}

/// Draws the chosen engine, or the engine that replaces it and why. If a recorded run is shown and
/// no engine is replaced, draws instead what computed the posteriors and what measured the times.
fn engine_fact(ui: &mut Ui, model: &Model, document: &Document) {
    let chosen = model.compute.engine;
    match &document.fallback {
        None => {
            let uses = match document.engine_bytes {
                Some(bytes) => {
                    format!("Engine and precision. Memory: at most {}", numbers::human_bytes(bytes))
                }
                None => "Engine and precision".to_owned(),
            };
            match document.shown {
                None => {
                    let name = format!("{} {}", chosen.engine.name(), chosen.precision);
                    fact(ui, "engine", name, &uses);
                }
                Some(recorded) => {
                    fact(ui, "posteriors of", document.posterior_source(), &uses);
                    let colour = Palette::of(ui).warning;
                    Fact::new("times of", &document.time_source())
                        .coloured(colour)
                        .show(ui)
                        .on_hover_text(format!("{}, without evidence", recorded.credit()));
                    ui.separator();
                }
            }
        }
        Some((used, reason)) => {
            let (used, chosen) = (used.engine.name(), chosen.engine.name());
            Fact::new("engine", &format!("{used} instead of {chosen}"))
                .coloured(Palette::of(ui).warning)
                .show(ui)
                .on_hover_text(format!("{reason}. Propagate (F5) tries {chosen} again."));
            ui.separator();
        }
    }
}

/// Draws the probability of the evidence of `result` and its logarithm, or for a Markov network the
/// logarithm of the partition function.
fn evidence_facts(ui: &mut Ui, document: &Document, result: &Propagation) {
    let ln = result.posteriors.ln_p_evidence();
    // Rounding can give a tiny negative number, which would read "-0.000000".
    let ln = if ln.abs() < 5e-7 { 0.0 } else { ln };
    // If the current evidence is impossible, the result is of earlier evidence.
    let (ln, p) = if document.impossible.is_some() {
        ("-∞".to_owned(), "0".to_owned())
    } else {
        let stale = if document.is_stale() { " (stale)" } else { "" };
        (format!("{ln:.6}{stale}"), format!("{}{stale}", numbers::scientific_exp(ln)))
    };
    if !document.network().is_bayesian() {
        fact(ui, "ln Z(e)", ln, LN_Z_TOOLTIP);
        return;
    }
    fact(ui, "ln P(e)", ln, LN_P_TOOLTIP);
    let is_scaled = document.evidence.iter().any(|(_, finding)| match finding {
        Finding::Likelihood(weights) => weights.iter().any(|&weight| weight > 1.0),
        Finding::Observed(_) => false,
    });
    // With weights above one, this number can exceed one and is not a probability.
    if is_scaled {
        fact(ui, "P(e) scaled", p, SCALED_TOOLTIP);
    } else {
        fact(ui, "P(e)", p, "Probability of the evidence");
    }
}

/// Draws a name, its value, and a tooltip.
fn fact(ui: &mut Ui, name: &str, value: String, hover: &str) {
    Fact::new(name, &value).show(ui).on_hover_text(hover);
    ui.separator();
}
