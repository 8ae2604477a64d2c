//! The heading of a variable: name, title, menu and, when collapsed, a summary of its posterior.

use eframe::egui::{self, Align2, Rect, Response, Sense, Stroke, Ui, pos2, vec2};

use super::keyboard::Row;
use super::rows::{RowActions, VariableRow};
use super::text::{name_font, write_elided};
use crate::app::panes::common::variable_menu;
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::app::theme::Palette;
use crate::app::widgets::naming;
use crate::app::widgets::state_bar::{NUMBER_WIDTH, percent, small_font};

/// Share of the width for the name of a collapsed variable.
const NAME_SHARE: f32 = 0.52;
/// Width in points, not counting the probability at the right, above which a summary names the most
/// probable state.
const MIN_MODE_WIDTH: f32 = 120.0;

impl VariableRow<'_> {
    /// Draws the heading into `rect`.
    pub(super) fn heading(
        &self,
        ui: &mut Ui,
        rect: Rect,
        actions: &mut RowActions,
        commands: &mut Commands,
    ) {
        let network = self.document.network();
        let name = network[self.variable].name();
        let arrow_rect = Rect::from_min_size(rect.min, vec2(22.0, rect.height()));
        let title_rect = Rect::from_min_max(pos2(arrow_rect.right(), rect.top()), rect.max);
        let place = Row::heading(self.variable);
        let id = place.id(ui);

        let title = ui.interact(title_rect, id, place.sense(self.stop));
        title.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, name));
        let toggle = ui.interact(arrow_rect, id.with("toggle"), Sense::CLICK);
        let verb = if self.expanded { "Collapse" } else { "Expand" };
        toggle.widget_info(|| {
            egui::WidgetInfo::labeled(egui::WidgetType::Button, true, format!("{verb} {name}"))
        });
        if toggle.clicked() || title.double_clicked() {
            actions.toggle_expanded = true;
        }
        if title.clicked() {
            actions.clicked = Some(place);
            commands.push(ViewCommand::Select(Some(Item::Variable(self.variable))));
        }
        if title.hovered() {
            commands.push(ViewCommand::Hover(Item::Variable(self.variable)));
        }
        title.context_menu(|ui| variable_menu(ui, self.document, self.variable, commands));

        self.paint_background(ui, rect, &title);
        self.paint_text(ui, rect, arrow_rect, title_rect);
        if let Some(title_text) = naming::title(network, self.variable) {
            title.on_hover_text(title_text);
        }
    }

    /// Paints the arrow, the name and the title and, if the variable is collapsed, the summary.
    fn paint_text(&self, ui: &Ui, rect: Rect, arrow_rect: Rect, title_rect: Rect) {
        let network = self.document.network();
        let painter = ui.painter_at(rect);
        let ink = ui.visuals().text_color();
        let arrow = if self.expanded { "⏷" } else { "⏵" };
        painter.text(arrow_rect.center(), Align2::CENTER_CENTER, arrow, small_font(ui), ink);
        let has_evidence = self.document.evidence.get(self.variable).is_some();
        let colour =
            if has_evidence { Palette::of(ui).evidence } else { ui.visuals().strong_text_color() };
        let split = rect.left() + rect.width() * if self.expanded { 1.0 } else { NAME_SHARE };
        let room = Rect::from_min_max(title_rect.min, pos2(split - 6.0, rect.bottom()));
        let end = write_elided(ui, room, network[self.variable].name(), name_font(ui), colour);
        if let Some(title_text) = naming::title(network, self.variable) {
            let room = room.with_min_x((end + 8.0).min(room.right()));
            write_elided(ui, room, title_text, small_font(ui), ui.visuals().weak_text_color());
        }
        if !self.expanded {
            self.paint_summary(ui, Rect::from_min_max(pos2(split, rect.top()), rect.max));
        }
    }

    /// Paints the background, which shows whether the variable is selected or hovered.
    fn paint_background(&self, ui: &Ui, rect: Rect, response: &Response) {
        let hovered = self.model.hover.variable(self.variable) || response.has_focus();
        let selected = self.model.selection.variable(self.variable);
        let visuals = ui.visuals();
        if selected {
            ui.painter().rect_filled(rect, 3.0, visuals.selection.bg_fill.gamma_multiply(0.45));
        } else if hovered {
            ui.painter().rect_filled(rect, 3.0, visuals.widgets.hovered.weak_bg_fill);
        } else {
            ui.painter().rect_filled(rect.shrink2(vec2(0.0, 1.0)), 3.0, visuals.faint_bg_color);
        }
    }

    /// Draws the posterior of a collapsed variable: a bar for each state, and the most probable
    /// state with its probability.
    fn paint_summary(&self, ui: &Ui, rect: Rect) {
        let Some(posterior) = self.posterior() else { return };
        let palette = Palette::of(ui);
        let room = rect.width() - NUMBER_WIDTH;
        let width = if room > MIN_MODE_WIDTH { room * 0.5 } else { room };
        let bars = Rect::from_min_max(rect.min, pos2(rect.left() + width, rect.bottom()));
        let bars = bars.shrink2(vec2(4.0, 4.0));
        let colour = self.dimmed(if self.document.evidence.get(self.variable).is_some() {
            palette.evidence
        } else {
            palette.posterior
        });
        let painter = ui.painter_at(rect);
        let step = bars.width() / posterior.len() as f32;
        let highest = posterior.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for (state, &p) in posterior.iter().enumerate() {
            let left = bars.left() + state as f32 * step;
            let gap = if step > 4.0 { 1.0 } else { 0.0 };
            let top = bars.bottom() - bars.height() * (p / highest) as f32;
            let bar = Rect::from_min_max(pos2(left, top), pos2(left + step - gap, bars.bottom()));
            painter.rect_filled(bar, 0.0, colour);
        }
        painter.hline(bars.x_range(), bars.bottom(), Stroke::new(1.0, palette.line));
        let best = (0..posterior.len()).max_by(|&a, &b| posterior[a].total_cmp(&posterior[b]));
        let Some(best) = best else { return };
        let label = &self.document.network()[self.variable].states()[best];
        let number = percent(posterior[best], 2);
        let ink = self.dimmed(ui.visuals().text_color());
        painter.text(
            rect.right_center() - vec2(4.0, 0.0),
            Align2::RIGHT_CENTER,
            number,
            small_font(ui),
            ink,
        );
        let room = Rect::from_min_max(
            pos2(bars.right() + 6.0, rect.top()),
            pos2(rect.right() - NUMBER_WIDTH, rect.bottom()),
        );
        write_elided(ui, room, label, small_font(ui), ink);
    }
}
