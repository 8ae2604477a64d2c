//! One variable: the rows of its states. `heading.rs` draws the heading.

use eframe::egui::{Color32, Rect, Ui, pos2, vec2};

use super::keyboard::Row;
use crate::app::panes::common::StateRow;
use crate::app::state::command::Commands;
use crate::app::state::document::Document;
use crate::app::state::model::Model;
use crate::app::widgets::state_bar::{BarColours, RowLayout, faded};
use crate::app::widgets::targets;
use crate::network::VariableId;

/// Height of a heading in points.
pub(super) const HEADING_HEIGHT: f32 = 24.0;
/// Height of the row of a state in points.
pub(super) const STATE_HEIGHT: f32 = 20.0;

/// One variable to draw.
pub(super) struct VariableRow<'a> {
    pub(super) model: &'a Model,
    pub(super) document: &'a Document,
    pub(super) variable: VariableId,
    /// Whether the states are listed.
    pub(super) expanded: bool,
    /// The row of the list that the Tab key stops at.
    pub(super) stop: Option<Row>,
}

/// Actions that the pane carries out for a row.
#[derive(Default)]
pub(super) struct RowActions {
    /// Expand the variable, or collapse it.
    pub(super) toggle_expanded: bool,
    /// The keyboard continues at this row, which was clicked.
    pub(super) clicked: Option<Row>,
}

impl VariableRow<'_> {
    /// Draws the variable into `rect`.
    pub(super) fn show(&self, ui: &mut Ui, rect: Rect, commands: &mut Commands) -> RowActions {
        let mut actions = RowActions::default();
        let heading = Rect::from_min_size(rect.min, vec2(rect.width(), HEADING_HEIGHT));
        self.heading(ui, heading, &mut actions, commands);
        if self.expanded {
            let clip = ui.clip_rect();
            for state in 0..self.document.network()[self.variable].cardinality() {
                let top = heading.bottom() + state as f32 * STATE_HEIGHT;
                let row =
                    Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), STATE_HEIGHT));
                if row.intersects(clip) {
                    self.state(ui, row, state, &mut actions, commands);
                }
            }
        }
        actions
    }

    /// The probability of each state: posterior or belief so far; `None` if there is none yet.
    pub(super) fn posterior(&self) -> Option<&[f64]> {
        self.model.belief(self.variable)
    }

    /// Draws the row of a state, and enters evidence when the row is clicked.
    fn state(
        &self,
        ui: &mut Ui,
        rect: Rect,
        state: usize,
        actions: &mut RowActions,
        commands: &mut Commands,
    ) {
        let Self { model, document, variable, .. } = *self;
        let place = Row { variable, state: Some(state) };
        let row = StateRow { model, document, variable, state };
        let response = ui.interact(rect, place.id(ui), place.sense(self.stop));
        row.name(&response, "");
        if response.clicked() {
            actions.clicked = Some(place);
        }
        row.respond(ui, &response, targets::STATE, commands);
        let response = response.on_hover_ui(|ui| row.hover_card(ui));
        let painter = ui.painter_at(rect);
        if response.hovered() || response.has_focus() {
            painter.rect_filled(rect, 3.0, ui.style().interact(&response).weak_bg_fill);
        }
        let mut shapes = Vec::new();
        let layout = RowLayout::in_list(ui, rect);
        row.bar().paint(&painter, &layout, &BarColours::of(ui), &mut shapes);
        painter.extend(shapes);
    }

    /// `colour`, dimmed if the posteriors are out of date.
    pub(super) fn dimmed(&self, colour: Color32) -> Color32 {
        if self.document.is_stale() { faded(colour) } else { colour }
    }
}
