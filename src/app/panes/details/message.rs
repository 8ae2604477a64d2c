//! Details of a message: its ends, its equations and its cost.

use eframe::egui::{Button, Grid, RichText, Ui};

use super::DetailsScene;
use super::beliefs;
use super::links::{Links, facts, section, title};
use crate::app::panes::common::{Equations, MAX_NAME_CHARACTERS, NOT_COMPUTED};
use crate::app::state::command::ViewCommand;
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::{equation, naming};
use crate::numbers::{share, thousands};
use crate::propagation::{CompiledNetwork, MessageId, Phase};

/// Draws the details of message `id`.
pub(super) fn show(ui: &mut Ui, scene: &DetailsScene<'_>, id: MessageId, links: &mut Links<'_>) {
    let compiled = scene.compiled;
    let Some(&message) = compiled.plan().messages().get(id.index()) else { return };
    let palette = Palette::of(ui);
    title(ui, &format!("Message {}", id.index()), &naming::message_ends(compiled, id));
    ui.horizontal(|ui| {
        let colour = match message.phase {
            Phase::Collect => palette.collect,
            Phase::Distribute => palette.distribute,
        };
        ui.label(RichText::new(message.phase.name()).strong().color(colour));
        ui.weak(match message.phase {
            Phase::Collect => "toward the root",
            Phase::Distribute => "away from the root",
        });
    });
    step_buttons(ui, compiled, id, links);
    ui.add_space(4.0);
    Grid::new("message ends").num_columns(2).spacing([14.0, 3.0]).show(ui, |ui| {
        ui.weak("from");
        links.clique(ui, compiled, message.from);
        ui.end_row();
        ui.weak("to");
        links.clique(ui, compiled, message.to);
        ui.end_row();
        ui.weak("over");
        links.separator(ui, compiled, message.separator);
        ui.end_row();
    });
    beliefs::show(ui, scene, message.from, links);
    beliefs::show(ui, scene, message.to, links);
    let equations = Equations::of(compiled, id, Some(MAX_NAME_CHARACTERS));
    section(ui, "Marginalise the sender");
    equation::show(ui, &equations.marginalise);
    ui.weak(equations.summed_out);
    section(ui, "Scatter into the receiver");
    equation::show(ui, &equations.scatter);
    ui.weak("with 0/0 = 0");
    work(ui, scene, id);
}

/// Draws buttons that select the previous and the next message of the plan.
fn step_buttons(ui: &mut Ui, compiled: &CompiledNetwork, id: MessageId, links: &mut Links<'_>) {
    let count = compiled.plan().messages().len();
    ui.horizontal_wrapped(|ui| {
        let mut step = |title: &str, index: Option<usize>| {
            let target = index.filter(|index| *index < count).map(MessageId::new);
            let button = ui.add_enabled(target.is_some(), Button::new(title));
            if let Some(target) = target {
                if button.clicked() {
                    links.commands.push(ViewCommand::Select(Some(Item::Message(target))));
                }
                if button.hovered() {
                    links.commands.push(ViewCommand::Hover(Item::Message(target)));
                }
            }
        };
        step("Previous message", id.index().checked_sub(1));
        step("Next message", Some(id.index() + 1));
    });
}

/// Draws the cost of a message: entries, level and, if it was timed, its times.
fn work(ui: &mut Ui, scene: &DetailsScene<'_>, id: MessageId) {
    let (compiled, tree) = (scene.compiled, scene.compiled.tree());
    let message = compiled.plan()[id];
    let (from, to) = (tree[message.from].entries, tree[message.to].entries);
    let over = tree[message.separator].entries;
    let touched = naming::entries_touched(compiled, id);
    section(ui, "Work");
    let read = from.saturating_add(to).saturating_add(over);
    let mut lines = vec![
        ("entries read", thousands(read)),
        ("entries written", thousands(to.saturating_add(over))),
        ("touched", format!("{} = {} + {}", thousands(touched), thousands(from), thousands(to))),
        ("level", thousands(message.level as u64)),
    ];
    let trace = scene.document.trace();
    let timing =
        trace.as_ref().and_then(|trace| trace.messages.iter().find(|timing| timing.message == id));
    let others = timing.map_or(0, |timing| timing.shared_with);
    let time = |nanoseconds: f64| naming::message_time(nanoseconds, others);
    if let (Some(trace), Some(timing)) = (&trace, timing) {
        let took = timing.duration.as_nanos() as f64;
        let all: f64 = trace.messages.iter().map(|timing| timing.duration.as_nanos() as f64).sum();
        lines.extend([
            ("start", time(timing.start.as_nanos() as f64)),
            ("duration", time(took)),
            ("per entry touched", time(took / touched.max(1) as f64)),
            ("share", format!("{} of all messages' time", share(took, all))),
        ]);
    }
    match trace.as_ref().and_then(|trace| trace.entries_processed(id)) {
        None => {}
        Some(0) => lines.push(("processed", NOT_COMPUTED.to_owned())),
        Some(processed) => {
            lines.push(("processed", format!("{} by the engine", thousands(processed))));
            if let Some(timing) = timing {
                let took = timing.duration.as_nanos() as f64;
                lines.push(("per entry processed", time(took / processed as f64)));
            }
        }
    }
    facts(ui, "message work", lines);
    ui.weak(
        "Touched is counted as in the paper: all entries of both cliques. Processed is what the \
         engine went through: cpu reads the table of at most one of the two cliques, without \
         the entries that are always zero.",
    );
    if let Some(recorded) = scene.document.shown {
        ui.weak(format!("{}, {}", recorded.engine(), recorded.credit()));
    }
    match timing.map(|timing| naming::timed_together(timing.shared_with)) {
        None => _ = ui.weak("No time was measured for this message."),
        Some(Some(text)) => _ = ui.weak(text),
        Some(None) => {}
    }
}
