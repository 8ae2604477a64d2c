//! The bar with the controls for stepping through a propagation.

use eframe::egui::{Button, RichText, Slider, Ui};

use crate::app::state::command::Commands;
use crate::app::state::document::Document;
use crate::app::state::model::Model;
use crate::app::state::stepping::{PACES, SLOWDOWNS, StepCommand, Stepping, SteppingMode};
use crate::app::theme::Palette;
use crate::app::widgets::icon_button::icon_button;
use crate::app::widgets::{naming, targets};
use crate::numbers;
use crate::propagation::{CompiledNetwork, MessageId};

/// Draws the bar, if the user is stepping.
pub(crate) fn show(ui: &mut Ui, model: &Model, commands: &mut Commands) {
    let Some((stepping, compiled)) = model.stepping.as_ref().zip(model.compiled()) else { return };
    let total = model.document.as_ref().map_or(0.0, Document::traced_nanoseconds);
    let response = ui.horizontal_wrapped(|ui| {
        mode_choice(ui, stepping.mode, model.document.as_ref(), commands);
        ui.separator();
        buttons(ui, stepping, commands);
        match stepping.mode {
            SteppingMode::Plan => plan_controls(ui, compiled, stepping, commands),
            SteppingMode::SlowMotion => {
                slow_motion_controls(ui, stepping, total, commands);
                skipped_time(ui, stepping, model.document.as_ref());
            }
        }
        ui.separator();
        if ui.button("Leave").on_hover_text("Stop stepping (Esc)").clicked() {
            commands.push(StepCommand::End);
        }
    });
    targets::mark(&response.response, "stepping");
}

/// Draws the choice between stepping message by message, slow motion, and slow motion of two
/// recorded runs. Slow motion needs measured times, of this machine or of a recorded run.
fn mode_choice(
    ui: &mut Ui,
    mode: SteppingMode,
    document: Option<&Document>,
    commands: &mut Commands,
) {
    let has_trace = document.is_some_and(|document| document.traced_nanoseconds() > 0.0);
    let plays_recorded = document.is_some_and(|document| document.second_shown.is_some());
    let along_plan = mode == SteppingMode::Plan;
    let is_slow = !along_plan && !plays_recorded;
    if ui.selectable_label(along_plan, "Message by message").clicked() && !along_plan {
        commands.push(StepCommand::Begin);
    }
    let slow = ui.add_enabled(has_trace, Button::selectable(is_slow, "Slow motion"));
    targets::mark(&slow, "slow motion");
    let hint = "Play the propagation slowly, with the measured times of its messages";
    if slow.on_hover_text(hint).clicked() && !is_slow {
        commands.push(StepCommand::SlowMotion);
    }
    if document.and_then(Document::recorded_gpu_runs).is_some() {
        let recorded = ui.selectable_label(!along_plan && plays_recorded, "Recorded GPU runs");
        targets::mark(&recorded, "recorded runs");
        let hint = "The recorded runs of gpu-paper and gpu together, each on its own time scale";
        if recorded.on_hover_text(hint).clicked() && !plays_recorded {
            commands.push(StepCommand::RecordedRuns);
        }
    }
}

/// Draws the buttons that move the position, and the button that plays or pauses.
fn buttons(ui: &mut Ui, stepping: &Stepping, commands: &mut Commands) {
    let playing = stepping.player.is_playing();
    let (play_symbol, play) = if playing { ("⏸", "Pause") } else { ("⏵", "Play") };
    let (back, forward) = match stepping.mode {
        SteppingMode::Plan => ("Previous message", "Next message"),
        SteppingMode::SlowMotion => ("Back by 1% of the time", "Forward by 1% of the time"),
    };
    for (symbol, name, key, command) in [
        ("⏮", "Go to the start", "Home", StepCommand::First),
        ("⏴", back, "Left arrow", StepCommand::Back),
        (play_symbol, play, "Space", StepCommand::Play(!playing)),
        ("⏵|", forward, "Right arrow", StepCommand::Forward),
        ("⏭", "Go to the end", "End", StepCommand::Last),
    ] {
        if icon_button(ui, symbol, name, key) {
            commands.push(command);
        }
    }
}

/// Draws the position in the plan, the current message, and the pace.
fn plan_controls(
    ui: &mut Ui,
    compiled: &CompiledNetwork,
    stepping: &Stepping,
    commands: &mut Commands,
) {
    let messages = compiled.plan().messages().len();
    let mut passed = stepping.player.step();
    let slider = Slider::new(&mut passed, 0..=messages).show_value(false);
    if ui.add(slider).on_hover_text("Messages passed").changed() {
        commands.push(StepCommand::Seek(passed as f64));
    }
    let passed = stepping.player.step();
    let text = match compiled.plan().messages().get(passed) {
        Some(message) => format!(
            "Next: message {passed} ({} of {}), {}, {}",
            numbers::thousands(passed as u64 + 1),
            numbers::thousands(messages as u64),
            message.phase.name(),
            naming::message_ends(compiled, MessageId::new(passed))
        ),
        None => format!("All {} messages passed", numbers::thousands(messages as u64)),
    };
    ui.strong(text);
    ui.separator();
    let mut pace = stepping.player.rate();
    let slider =
        Slider::new(&mut pace, PACES).logarithmic(true).max_decimals(1).suffix(" per second");
    if ui.add(slider).on_hover_text("Messages per second while playing").changed() {
        commands.push(StepCommand::Pace(pace));
    }
}

/// While slow motion skips time without messages, says how much time is skipped.
fn skipped_time(ui: &mut Ui, stepping: &Stepping, document: Option<&Document>) {
    let Some(gap) = stepping.skipped(document).filter(|_| stepping.player.is_playing()) else {
        return;
    };
    let length = numbers::nanoseconds((gap.end - gap.start).round());
    let text = RichText::new(format!("▶▶ skipping {length} without messages"));
    ui.label(text.strong().color(Palette::of(ui).active)).on_hover_text(
        "No message is computed in this time. For example, tables are initialised or threads \
         start; the timeline shows what happens. Slow motion passes this time in less than a \
         second.",
    );
}

/// Draws the position in a trace of `total` nanoseconds, and the slowdown.
fn slow_motion_controls(ui: &mut Ui, stepping: &Stepping, total: f64, commands: &mut Commands) {
    let now = stepping.player.position();
    let mut time = now;
    let slider = Slider::new(&mut time, 0.0..=total.max(1.0)).show_value(false);
    if ui.add(slider).on_hover_text("Time since the start of the propagation").changed() {
        commands.push(StepCommand::Seek(time));
    }
    ui.strong(format!(
        "{} of {}",
        numbers::nanoseconds(now.round()),
        numbers::nanoseconds(total.round())
    ));
    ui.separator();
    let mut slowdown = stepping.slowdown();
    let slider = Slider::new(&mut slowdown, SLOWDOWNS)
        .logarithmic(true)
        .custom_formatter(|value, _| format!("{} times slower", numbers::short(value)));
    if ui
        .add(slider)
        .on_hover_text("Slow motion plays this many times slower than the propagation ran")
        .changed()
    {
        commands.push(StepCommand::Slowdown(slowdown));
    }
}
