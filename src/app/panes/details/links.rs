//! Parts that several kinds of details share: headings, tables of facts, links and bars.

use eframe::egui::{
    self, Color32, Grid, Rect, Response, RichText, Sense, TextStyle, Ui, WidgetInfo, WidgetType,
};

use crate::app::panes::common::item_link;
use crate::app::state::command::Commands;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::app::widgets::naming;
use crate::app::widgets::short_text::shortened;
use crate::graph::{CliqueId, SeparatorId};
use crate::network::{Network, VariableId};
use crate::propagation::{CompiledNetwork, MessageId};

/// Maximum number of links in a list; further ones are only counted. A longer list would push what
/// comes after it out of view.
const MAX_LINKS: usize = 80;

/// Approximate width of the names in a table of facts with the gap after them, in points. If it is
/// too small, long values are cut off at the edge of the pane.
const NAME_WIDTH: f32 = 124.0;

/// Height of a bar in points.
const BAR_HEIGHT: f32 = 12.0;

/// Draws links that select an item.
pub(super) struct Links<'a> {
    pub model: &'a Model,
    pub network: &'a Network,
    pub commands: &'a mut Commands,
    /// The right edge of the pane. A `Ui` does not know it any more once something in it was wider
    /// than the pane.
    pub right: f32,
}

impl Links<'_> {
    /// Draws a link to `item` with the text `text`, which is underlined while the item is hovered
    /// in any pane.
    pub fn link(&mut self, ui: &mut Ui, text: impl Into<String>, item: Item) -> Response {
        let hovered = self.model.hovered() == Some(&item);
        let text = RichText::new(text);
        item_link(ui, if hovered { text.underline() } else { text }, item, self.commands)
    }

    /// As [`link`](Self::link), but shortens `text` in its middle so that at least `reserved`
    /// points are left to its right in the pane. The whole text is then a tooltip, and the label
    /// for screen readers. In a wrapping line, a text that does not fit in the rest of the line
    /// begins a new one.
    pub fn fitted_link(&mut self, ui: &mut Ui, text: &str, item: Item, reserved: f32) -> Response {
        let room = |ui: &Ui| {
            let right = self.right.min(ui.clip_rect().right());
            // Half a point for the rounding of positions.
            right - ui.cursor().left() - reserved - 0.5
        };
        if ui.layout().main_wrap() && text_width(ui, text) > room(ui) {
            ui.end_row();
        }
        let (width, font) = (room(ui), TextStyle::Body.resolve(ui.style()));
        let shown = ui.fonts_mut(|fonts| {
            shortened(text, width, |letter| fonts.glyph_width(&font, letter)).into_owned()
        });
        let is_whole = shown == text;
        let response = self.link(ui, shown, item);
        if is_whole {
            return response;
        }
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Link, ui.is_enabled(), text));
        response.on_hover_text(text)
    }

    /// Draws a link to `variable` with its name, shortened to the rest of the line.
    pub fn variable(&mut self, ui: &mut Ui, variable: VariableId) -> Response {
        self.fitted_link(ui, self.network[variable].name(), Item::Variable(variable), 0.0)
    }

    /// Draws a link to a clique with its name, shortened to the rest of the line.
    pub fn clique(&mut self, ui: &mut Ui, compiled: &CompiledNetwork, id: CliqueId) -> Response {
        self.fitted_link(ui, &naming::clique(compiled, id), Item::Clique(id), 0.0)
    }

    /// Draws a link to a separator with its name, shortened to the rest of the line.
    pub fn separator(
        &mut self,
        ui: &mut Ui,
        compiled: &CompiledNetwork,
        id: SeparatorId,
    ) -> Response {
        self.fitted_link(ui, &naming::separator(compiled, id), Item::Separator(id), 0.0)
    }

    /// Draws a link to a message with its number, sender and receiver.
    pub fn message(&mut self, ui: &mut Ui, compiled: &CompiledNetwork, id: MessageId) -> Response {
        let text = format!("{}  {}", id.index(), naming::message_ends(compiled, id));
        self.link(ui, text, Item::Message(id))
    }

    /// Draws links to `variables` in rows, or "none".
    pub fn variables(&mut self, ui: &mut Ui, variables: &[VariableId]) {
        if variables.is_empty() {
            ui.weak("none");
            return;
        }
        ui.horizontal_wrapped(|ui| {
            for &variable in variables.iter().take(MAX_LINKS) {
                self.variable(ui, variable);
            }
            show_rest(ui, variables.len());
        });
    }

    /// Draws links to `cliques`, one per line.
    pub fn cliques(&mut self, ui: &mut Ui, compiled: &CompiledNetwork, cliques: &[CliqueId]) {
        for &clique in cliques.iter().take(MAX_LINKS) {
            self.clique(ui, compiled, clique);
        }
        show_rest(ui, cliques.len());
    }
}

/// The width of `text` in points.
pub(super) fn text_width(ui: &Ui, text: &str) -> f32 {
    let font = TextStyle::Body.resolve(ui.style());
    ui.fonts_mut(|fonts| text.chars().map(|letter| fonts.glyph_width(&font, letter)).sum())
}

/// Says how many of `count` links are left out, if any.
fn show_rest(ui: &mut Ui, count: usize) {
    if count > MAX_LINKS {
        ui.weak(format!("and {} more", count - MAX_LINKS));
    }
}

/// Draws the heading: the name of an item, and its kind.
pub(super) fn title(ui: &mut Ui, text: &str, kind: &str) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(text).heading().strong());
        ui.weak(kind);
    });
    ui.add_space(2.0);
}

/// Draws the heading of a section.
pub(super) fn section(ui: &mut Ui, text: &str) {
    ui.add_space(8.0);
    ui.label(RichText::new(text).strong());
}

/// Draws a table of names and values. `id` is unique in the pane.
pub(super) fn facts<'f>(ui: &mut Ui, id: &str, facts: impl IntoIterator<Item = (&'f str, String)>) {
    // Longer values, such as the names of recorded runs, are wrapped.
    let value_width = (ui.available_width() - NAME_WIDTH).max(NAME_WIDTH);
    let grid = Grid::new(id).num_columns(2).spacing([14.0, 3.0]).max_col_width(value_width);
    grid.show(ui, |ui| {
        for (name, value) in facts {
            ui.weak(name);
            ui.label(value);
            ui.end_row();
        }
    });
}

/// Draws a bar of `width` points that is filled up to `share`. `mark` is the position and the
/// colour of a line across the bar. `share` and the position are from 0 to 1.
pub(super) fn bar(
    ui: &mut Ui,
    width: f32,
    share: f32,
    colour: Color32,
    mark: Option<(f32, Color32)>,
) {
    let (rect, _) = ui.allocate_exact_size(egui::vec2(width, BAR_HEIGHT), Sense::hover());
    let painter = ui.painter();
    painter.rect_filled(rect, 2, ui.visuals().faint_bg_color);
    let filled =
        Rect::from_min_size(rect.min, egui::vec2(width * share.clamp(0.0, 1.0), BAR_HEIGHT));
    painter.rect_filled(filled, 2, colour);
    if let Some((mark, colour)) = mark {
        let x = rect.left() + width * mark.clamp(0.0, 1.0);
        painter.vline(x, rect.y_range(), (2.0, colour));
    }
}
