//! Inside a message: its three tables, its steps one by one, and the memory that the steps read.

mod entry_text;
mod grid;
mod links;
mod memory;
mod player;
mod scene;

use std::sync::Arc;

use eframe::egui::{self, Rect, ScrollArea, Ui, Vec2, pos2};

use crate::app::panes::common::{Equations, MAX_NAME_CHARACTERS, empty_state};
use crate::app::state::command::{Commands, StepCommand, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::{equation, naming, targets};
use crate::engine::MessageDetail;
use crate::propagation::{CompiledNetwork, MessageId};

use grid::{Grid, Scroll};
use player::StepPlayer;
use scene::MessageScene;

/// Minimum height of the tables in points. In a pane with less, the tables and the memory view
/// scroll.
const MIN_TABLE_HEIGHT: f32 = 150.0;
/// Height of the memory view when it is below the tables, in points.
const MEMORY_HEIGHT: f32 = 84.0;
/// Minimum width of the pane, in points, at which the memory view is to the right of the tables.
const MIN_WIDTH_FOR_COLUMNS: f32 = 1050.0;
/// Minimum width of the tables together, in points, at which they have the additional columns that
/// [`MessageScene::new`] names.
const MIN_WIDE_TABLES: f32 = 840.0;

/// Space between the two equations of a message, in points.
const EQUATION_GAP: f32 = 18.0;
/// Maximum width of the tooltip with both equations, in points. In the tooltip, the limit for the
/// variable names of each table is [`MAX_NAME_CHARACTERS`].
const TOOLTIP_WIDTH: f32 = 520.0;

/// The message and its view state.
#[derive(Default)]
pub struct InsidePane {
    /// The message that is shown. It stays until the answer for the next message arrives.
    shown: Option<Arc<MessageDetail>>,
    /// The network to which this message belongs.
    compiled: Option<Arc<CompiledNetwork>>,
    player: StepPlayer,
    /// How far each of the three tables is scrolled.
    scrolls: [Scroll; 3],
}

impl InsidePane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(compiled) = model.compiled() else {
            empty_state(ui, "Open a network to see how its messages are computed.");
            return;
        };
        let Some(message) = message_of(model, compiled) else {
            self.show_invitation(ui, compiled, commands);
            return;
        };
        commands.push(ViewCommand::Explain(message));
        if !self.compiled.as_ref().is_some_and(|of_shown| Arc::ptr_eq(of_shown, compiled)) {
            (self.shown, self.compiled) = (None, Some(Arc::clone(compiled)));
        }
        match &model.explained {
            Some((question, Ok(explanation))) if Arc::ptr_eq(&question.compiled, compiled) => {
                self.set_message(&explanation.detail);
            }
            Some((question, Err(reason))) if question.message == message => {
                self.shown = None;
                empty_state(ui, reason);
                return;
            }
            _ => {}
        }
        let Some(detail) = self.shown.clone().filter(|_| model.explained.is_some()) else {
            empty_state(ui, "The tables are being computed.");
            return;
        };
        let full_width = ui.available_width();
        let in_columns = full_width >= MIN_WIDTH_FOR_COLUMNS;
        let width = if in_columns { 0.7 * full_width } else { full_width };
        let scene = MessageScene::new(compiled, &detail, width >= MIN_WIDE_TABLES);
        self.player.handle_keys(ui, &detail);
        self.player.advance(ui, &detail);
        header(ui, compiled, &scene);
        self.player.controls(ui, &detail);
        // Always the same height, so that the tables do not move at every step.
        let rows = if in_columns { 1.0 } else { 2.0 };
        let height = rows * ui.text_style_height(&egui::TextStyle::Body);
        ui.allocate_ui(Vec2::new(full_width, height), |ui| {
            ui.set_min_height(height);
            ui.add(egui::Label::new(scene.sentence(&self.player)).wrap());
        });
        let area = ScrollArea::vertical().id_salt("inside a message").auto_shrink(false);
        area.show(ui, |ui| {
            let height = ui.available_height();
            let height = if in_columns { height } else { height - MEMORY_HEIGHT };
            let size = Vec2::new(width, height.max(MIN_TABLE_HEIGHT));
            ui.horizontal_top(|ui| {
                let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
                let tables = self.tables(ui, rect, &scene);
                targets::mark_rect(ui, tables, "tables of a message");
                if in_columns {
                    ui.vertical(|ui| memory::show(ui, &scene, &self.player, Some(size.y)));
                }
            });
            if !in_columns {
                memory::show(ui, &scene, &self.player, None);
            }
        });
    }

    /// Shows `detail`, unless it is already shown.
    fn set_message(&mut self, detail: &Arc<MessageDetail>) {
        if self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, detail)) {
            return;
        }
        self.player.begin(detail);
        self.scrolls = Default::default();
        self.shown = Some(Arc::clone(detail));
    }

    /// Draws the three tables and the lines between them into `rect`. Returns the part of `rect`
    /// that they take up: they are no higher than the longest of them.
    fn tables(&mut self, ui: &mut Ui, rect: Rect, scene: &MessageScene<'_>) -> Rect {
        // Room for the lines between the tables.
        let gap = 34.0_f32.min(0.04 * rect.width());
        let width = rect.width() - 2.0 * gap;
        let grids = scene.grids(&self.player);
        let highest = grids.iter().map(Grid::full_height).fold(0.0, f32::max);
        let rect = rect.with_max_y(rect.bottom().min(rect.top() + highest));
        let wanted = grids.each_ref().map(|grid| grid.full_width(ui));
        let mut left = rect.left();
        let table_rects = table_widths(wanted, width).map(|width| {
            let table_rect =
                Rect::from_min_size(pos2(left, rect.top()), Vec2::new(width, rect.height()));
            left = table_rect.right() + gap;
            table_rect
        });
        let follow = self.player.rows_to_follow(scene.detail);
        let mut clicked = None;
        let mut visible_rows = Vec::new();
        for (index, (grid, table_rect)) in grids.into_iter().zip(table_rects).enumerate() {
            let scroll = &mut self.scrolls[index];
            let (visible, click) = grid.show(ui, table_rect, scroll, follow[index]);
            visible_rows.push(visible);
            clicked = clicked.or(click.map(|entry| (index, entry)));
        }
        scene.links(ui, &self.player, &visible_rows);
        if let Some((table, entry)) = clicked {
            self.player.jump_to_entry(scene.detail, table, entry);
        }
        rect
    }

    /// Says how to choose a message, or that there are none.
    fn show_invitation(&self, ui: &mut Ui, compiled: &CompiledNetwork, commands: &mut Commands) {
        if compiled.plan().messages().is_empty() {
            empty_state(ui, "The junction tree is a single clique: there are no messages to pass.");
            return;
        }
        ui.vertical_centered(|ui| {
            ui.add_space(0.3 * ui.available_height());
            ui.weak("Select a message to see how it is computed, or step through all of them.");
            if ui.button("Step through the messages").on_hover_text("F8").clicked() {
                commands.push(StepCommand::Begin);
            }
        });
    }
}

/// The widths of the tables of the sender, the separator and the receiver, which take up `width`
/// points together. They stay the same from message to message unless a table needs more: `wanted`
/// says how much each needs.
fn table_widths(wanted: [f32; 3], width: f32) -> [f32; 3] {
    let usual = [0.32, 0.34, 0.34].map(|share| share * width);
    let sum: f32 = wanted.iter().sum();
    let fit = wanted.iter().zip(usual).all(|(wanted, usual)| *wanted <= usual);
    if fit { usual } else { wanted.map(|wanted| wanted / sum * width) }
}

/// The message to show: the one that the user has stepped to, or else the selected one.
fn message_of(model: &Model, compiled: &CompiledNetwork) -> Option<MessageId> {
    let current = model.stepping.as_ref().and_then(|stepping| stepping.current_message(compiled));
    let selected = match model.selected() {
        Some(&Item::Message(message)) => Some(message),
        _ => None,
    };
    let message = current.or(selected)?;
    (message.index() < compiled.plan().messages().len()).then_some(message)
}

/// Draws the number, the ends and the equations of the message in one line.
fn header(ui: &mut Ui, compiled: &CompiledNetwork, scene: &MessageScene<'_>) {
    let id = scene.detail.message;
    let message = compiled.plan()[id];
    ui.horizontal(|ui| {
        ui.strong(format!("Message {}", id.index()));
        ui.label(format!("{}, {}", naming::message_ends(compiled, id), message.phase.name()));
        ui.separator();
        let equations = fitting_equations(ui, compiled, id);
        for math in [&equations.marginalise, &equations.scatter] {
            equation::show(ui, math).on_hover_ui(|ui| {
                ui.set_max_width(TOOLTIP_WIDTH);
                let equations = Equations::of(compiled, id, Some(MAX_NAME_CHARACTERS));
                equation::show(ui, &equations.marginalise);
                ui.label(equations.summed_out);
                equation::show(ui, &equations.scatter);
                ui.label("with 0/0 = 0");
            });
            ui.add_space(EQUATION_GAP);
        }
    });
}

/// The equations of message `id`, if possible short enough for both to fit in one line: with the
/// largest limit for the names of each table for which they fit, or else without names.
fn fitting_equations(ui: &Ui, compiled: &CompiledNetwork, id: MessageId) -> Equations {
    /// Limits for the names of one table, in characters, from the most to the fewest names.
    const LIMITS: [usize; 4] = [MAX_NAME_CHARACTERS, 60, 30, 16];
    let room = ui.available_width() - EQUATION_GAP - 2.0 * ui.spacing().item_spacing.x;
    let width = |equations: &Equations| {
        equation::width(ui, &equations.marginalise) + equation::width(ui, &equations.scatter)
    };
    let mut candidates = LIMITS.iter().map(|limit| Equations::of(compiled, id, Some(*limit)));
    let fitting = candidates.find(|equations| width(equations) <= room);
    fitting.unwrap_or_else(|| Equations::of(compiled, id, None))
}

#[cfg(test)]
mod tests;
