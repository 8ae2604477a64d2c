//! Details of several cliques, separators or messages, such as those counted by a bar of a
//! histogram.

use eframe::egui::{ScrollArea, TextStyle, Ui};
use fixedbitset::FixedBitSet;

use super::DetailsScene;
use super::links::{Links, facts, section, text_width, title};
use crate::app::state::highlight::Item;
use crate::app::widgets::naming;
use crate::graph::{CliqueId, SeparatorId};
use crate::numbers::{counted, nanoseconds as nanoseconds_text, share, thousands};
use crate::propagation::{MessageId, MessageTiming};

/// Maximum height of the list in points. A longer list scrolls.
const MAX_HEIGHT: f32 = 420.0;

/// Draws the cliques `ids`.
pub(super) fn cliques(
    ui: &mut Ui,
    scene: &DetailsScene<'_>,
    ids: &[CliqueId],
    links: &mut Links<'_>,
) {
    let (compiled, tree) = (scene.compiled, scene.compiled.tree());
    let existing = ids.iter().copied().filter(|id| id.index() < tree.cliques().len());
    let mut rows: Vec<(u64, CliqueId)> = existing.map(|id| (tree[id].entries, id)).collect();
    title(ui, &counted(rows.len(), "clique", "cliques"), "selected");
    let total = compiled.statistics().total_clique_entries;
    list(ui, &mut rows, total, "Cliques", |ui, id, reserved| {
        links.fitted_link(ui, &naming::clique(compiled, id), Item::Clique(id), reserved);
    });
}

/// Draws the separators `ids`.
pub(super) fn separators(
    ui: &mut Ui,
    scene: &DetailsScene<'_>,
    ids: &[SeparatorId],
    links: &mut Links<'_>,
) {
    let (compiled, tree) = (scene.compiled, scene.compiled.tree());
    let existing = ids.iter().copied().filter(|id| id.index() < tree.separators().len());
    let mut rows: Vec<(u64, SeparatorId)> = existing.map(|id| (tree[id].entries, id)).collect();
    title(ui, &counted(rows.len(), "separator", "separators"), "selected");
    let total = compiled.statistics().total_separator_entries;
    list(ui, &mut rows, total, "Separators", |ui, id, reserved| {
        links.fitted_link(ui, &naming::separator(compiled, id), Item::Separator(id), reserved);
    });
}

/// Draws the messages `ids`: how many there are, and those that were timed, longest first.
pub(super) fn messages(
    ui: &mut Ui,
    scene: &DetailsScene<'_>,
    ids: &[MessageId],
    links: &mut Links<'_>,
) {
    let timings = scene.document.trace().map_or(&[][..], |trace| &trace.messages);
    let nanoseconds = |timing: &MessageTiming| timing.duration.as_nanos() as f64;
    let all: f64 = timings.iter().map(nanoseconds).sum();
    let ids: FixedBitSet = ids.iter().map(|id| id.index()).collect();
    let chosen = timings.iter().filter(|timing| ids.contains(timing.message.index()));
    let mut rows: Vec<(f64, MessageId)> =
        chosen.map(|timing| (nanoseconds(timing), timing.message)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    title(ui, &counted(ids.count_ones(..), "message", "messages"), "selected");
    let sum: f64 = rows.iter().map(|row| row.0).sum();
    let share = format!("{} of all messages' time", share(sum, all));
    facts(ui, "set facts", [("time", nanoseconds_text(sum)), ("share", share)]);
    section(ui, "Messages");
    scrolled(ui, &rows, |ui, &(time, id)| {
        links.link(ui, naming::message_ends(scene.compiled, id), Item::Message(id));
        ui.weak(nanoseconds_text(time));
    });
}

/// Lists `rows`, each a number of entries and an id, by descending number of entries; `name` draws
/// the name and leaves as many points to its right as it is given. `heading` is "Cliques" or
/// "Separators", and `total_of_all` is the number of entries of all cliques, or of all separators,
/// of the tree.
fn list<I: Copy>(
    ui: &mut Ui,
    rows: &mut [(u64, I)],
    total_of_all: u64,
    heading: &str,
    mut name: impl FnMut(&mut Ui, I, f32),
) {
    let sum = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.0));
    let of_all = share(sum as f64, total_of_all as f64);
    let of_all = format!("{of_all} of the entries of all {}", heading.to_lowercase());
    facts(ui, "set facts", [("entries", thousands(sum)), ("share", of_all)]);
    section(ui, heading);
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    scrolled(ui, rows, |ui, &(entries, id)| {
        let entries = thousands(entries);
        let reserved = ui.spacing().item_spacing.x + text_width(ui, &entries);
        name(ui, id, reserved);
        ui.weak(entries);
    });
}

/// Draws `rows` in an area that scrolls, each in a line of its own. Only the rows in view are
/// drawn.
fn scrolled<T>(ui: &mut Ui, rows: &[T], mut draw: impl FnMut(&mut Ui, &T)) {
    // A horizontal layout is at least as high as a button.
    let height = ui.text_style_height(&TextStyle::Body).max(ui.spacing().interact_size.y);
    ScrollArea::vertical()
        .id_salt("set")
        .max_height(MAX_HEIGHT)
        .auto_shrink([false, true])
        .show_rows(ui, height, rows.len(), |ui, range| {
            for row in &rows[range] {
                ui.horizontal(|ui| draw(ui, row));
            }
        });
}
