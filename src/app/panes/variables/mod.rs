//! Variables with their posteriors. Evidence is entered here.
//!
//! A variable has a heading and, when expanded, a row for each state. Only visible rows are laid
//! out and drawn, so that a network with a thousand variables takes little more time than a small
//! one.

mod evidence;
mod heading;
mod keyboard;
mod likelihood;
mod rows;
mod text;

use std::collections::BTreeSet;

use eframe::egui::{self, ScrollArea, Ui};

use crate::app::panes::common::{bars_label, empty_state};
use crate::app::state::command::{Commands, EvidenceCommand};
use crate::app::state::document::Document;
use crate::app::state::highlight::Item;
use crate::app::state::model::Model;
use crate::network::{Network, VariableId};
use crate::numbers;

use keyboard::{Listed, Row};
use likelihood::LikelihoodSliders;
use rows::{HEADING_HEIGHT, STATE_HEIGHT};

/// Maximum total number of states for which all variables are expanded when a network is opened.
/// With more states, only the variables with a finding are expanded.
const MAX_STATES_EXPANDED: usize = 60;

/// Minimum width in points of the search field. If less is left next to the buttons, the field gets
/// a row of its own.
const MIN_SEARCH_WIDTH: f32 = 90.0;

/// Minimum height of the list in points, however much evidence there is.
const MIN_LIST_HEIGHT: f32 = 60.0;

/// The list of variables and its view state.
#[derive(Default)]
pub struct VariablesPane {
    search: String,
    /// The variables whose states are listed.
    expanded: BTreeSet<VariableId>,
    /// Serial number of the document that `expanded` belongs to.
    serial: Option<u64>,
    sliders: LikelihoodSliders,
    /// The row that was last reached by a key or clicked. Keys continue from it while it is in
    /// view.
    current: Option<Row>,
    /// Whether the current row gets the focus as soon as it is in view.
    takes_focus: bool,
    /// The variable that was selected in the last frame; a new selection is scrolled into view.
    last_selected: Option<VariableId>,
    /// The state that a lesson asked the user to observe in the last frame. A new one is scrolled
    /// into view.
    last_pointed: Option<(VariableId, usize)>,
    /// The last value of [`Model::focus_serial`] that was seen; the focus moves when it changes.
    focus_serial: u64,
    /// Whether to scroll to the top, because another network was opened.
    scroll_to_top: bool,
    /// Height of the sliders and the evidence below the list in the last frame, in points.
    evidence_height: f32,
}

impl VariablesPane {
    /// Draws the pane.
    pub fn show(&mut self, ui: &mut Ui, model: &Model, commands: &mut Commands) {
        let Some(document) = &model.document else {
            empty_state(ui, "Open a network to see its variables.");
            return;
        };
        self.reset_for_another_document(document);
        if bars_label(ui, model).is_none() {
            ui.weak("Click a state to observe or retract it.");
        }
        self.toolbar(ui, document.network());
        let shown = self.matching(document.network());
        if shown.is_empty() {
            ui.weak(format!("No variable or state matches '{}'.", self.search.trim()));
        }
        // The evidence grows at the bottom, so that states do not move when they are clicked.
        let height = (ui.available_height() - self.evidence_height).max(MIN_LIST_HEIGHT);
        self.list(ui, model, document, &shown, height, commands);
        let top = ui.cursor().top();
        if let Some(variable) = model.likelihood {
            self.sliders.show(ui, document, variable, commands);
        }
        evidence::show(ui, document, commands);
        let evidence_height = ui.cursor().top() - top;
        if evidence_height != self.evidence_height {
            self.evidence_height = evidence_height;
            ui.ctx().request_discard("the height of the area below the list changed");
        }
    }

    /// Resets the view state when another network was opened.
    fn reset_for_another_document(&mut self, document: &Document) {
        if self.serial == Some(document.serial) {
            return;
        }
        let network = document.network();
        let states: usize = network.cardinalities().iter().sum();
        let focus_serial = self.focus_serial;
        *self = Self {
            serial: Some(document.serial),
            scroll_to_top: true,
            focus_serial,
            ..Self::default()
        };
        if states <= MAX_STATES_EXPANDED {
            self.expanded = network.ids().collect();
        } else {
            self.expanded = document.evidence.iter().map(|(variable, _)| variable).collect();
        }
    }

    /// Draws the buttons and the search field above the list.
    fn toolbar(&mut self, ui: &mut Ui, network: &Network) {
        let mut has_search_field = false;
        ui.horizontal(|ui| {
            if ui.button("Expand all").on_hover_text("Show the states of all variables").clicked() {
                self.expanded = network.ids().collect();
            }
            if ui.button("Collapse all").clicked() {
                self.expanded.clear();
            }
            if ui.available_width() >= MIN_SEARCH_WIDTH {
                self.search_field(ui, network);
                has_search_field = true;
            }
        });
        if !has_search_field {
            self.search_field(ui, network);
        }
        ui.add_space(2.0);
    }

    /// Draws the search field into the rest of the row.
    fn search_field(&mut self, ui: &mut Ui, network: &Network) {
        let size = [ui.available_width(), ui.spacing().interact_size.y];
        let count = network.variables().len();
        let hint = format!("Search {}", numbers::counted(count, "variable", "variables"));
        let edit = egui::TextEdit::singleline(&mut self.search).hint_text(hint);
        ui.add_sized(size, edit).widget_info(|| {
            egui::WidgetInfo::labeled(egui::WidgetType::TextEdit, true, "Search variables")
        });
    }

    /// The variables for which the name, or the name of a state, contains the search text.
    fn matching(&self, network: &Network) -> Vec<VariableId> {
        let text = self.search.trim().to_lowercase();
        let contains = |name: &str| name.to_lowercase().contains(&text);
        let matches = |variable: &VariableId| {
            let variable = &network[*variable];
            text.is_empty()
                || contains(variable.name())
                || variable.states().iter().any(|state| contains(state))
        };
        network.ids().filter(matches).collect()
    }

    /// Draws the visible part of the list.
    fn list(
        &mut self,
        ui: &mut Ui,
        model: &Model,
        document: &Document,
        shown: &[VariableId],
        height: f32,
        commands: &mut Commands,
    ) {
        let focused = self.take_focus(model, shown);
        self.expand_pointed(model);
        let network = document.network();
        let listed = Listed { network, variables: shown, tops: self.tops(network, shown) };
        let tops = &listed.tops;
        let mut area = ScrollArea::vertical().auto_shrink(false).max_height(height);
        if let Some(index) = focused {
            area = area.vertical_scroll_offset((tops[index] - HEADING_HEIGHT).max(0.0));
        } else if let Some(offset) = self.scroll_target(model, shown, tops) {
            area = area.vertical_scroll_offset(offset);
        } else if std::mem::take(&mut self.scroll_to_top) {
            area = area.vertical_scroll_offset(0.0);
        }
        let mut toggled = None;
        area.show_viewport(ui, |ui, viewport| {
            ui.set_height(tops[shown.len()]);
            let origin = ui.max_rect().min;
            let width = ui.available_width();
            toggled = self.follow_keys(ui, &listed, viewport);
            let stop = self.tab_stop(&listed, viewport);
            let first = tops.partition_point(|&top| top <= viewport.top()).saturating_sub(1);
            for (index, &variable) in shown.iter().enumerate().skip(first) {
                if tops[index] > viewport.bottom() {
                    break;
                }
                let at = origin + egui::vec2(0.0, tops[index]);
                let size = egui::vec2(width, tops[index + 1] - tops[index]);
                let rect = egui::Rect::from_min_size(at, size);
                let expanded = self.expanded.contains(&variable);
                let row = rows::VariableRow { model, document, variable, expanded, stop };
                let actions = row.show(ui, rect, commands);
                if actions.toggle_expanded {
                    toggled = Some(variable);
                }
                self.current = actions.clicked.or(self.current);
            }
            if self.takes_focus && stop.is_some() && stop == self.current {
                self.takes_focus = false;
                let id = stop.map(|row| row.id(ui));
                ui.memory_mut(|memory| id.into_iter().for_each(|id| memory.request_focus(id)));
            }
        });
        if let Some(variable) = toggled
            && !self.expanded.remove(&variable)
        {
            self.expanded.insert(variable);
        }
    }

    /// The index in `shown` of the variable whose first state gets the keyboard focus, if the user
    /// asked for that: the selected variable or else the first. The states of this variable become
    /// visible.
    fn take_focus(&mut self, model: &Model, shown: &[VariableId]) -> Option<usize> {
        if self.focus_serial == model.focus_serial {
            return None;
        }
        self.focus_serial = model.focus_serial;
        let is_selected =
            |variable: &VariableId| model.selected() == Some(&Item::Variable(*variable));
        let index = shown.iter().position(is_selected).unwrap_or(0);
        let variable = *shown.get(index)?;
        self.expanded.insert(variable);
        self.current = Some(Row { variable, state: Some(0) });
        self.takes_focus = true;
        Some(index)
    }

    /// The row that the Tab key stops at: the current row if it is in view, or else the first
    /// heading in view. If no heading is in view either, the first state in view.
    fn tab_stop(&self, listed: &Listed<'_>, viewport: egui::Rect) -> Option<Row> {
        let is_listed = |row: &Row| row.state.is_none() || self.expanded.contains(&row.variable);
        let is_visible = |row: &Row| {
            let range = row.range(listed);
            range.is_some_and(|(top, bottom)| top < viewport.bottom() && bottom > viewport.top())
        };
        let current = self.current.filter(|row| is_listed(row) && is_visible(row));
        current.or_else(|| {
            let first = listed.tops.partition_point(|&top| top < viewport.top());
            let variable = listed.variables.get(first).or_else(|| listed.variables.last());
            let heading = variable.copied().map(Row::heading);
            heading
                .filter(&is_visible)
                .or_else(|| self.first_state_in_view(listed, viewport, first))
        })
    }

    /// The first row in view if no heading begins in view: a state of the last variable that begins
    /// above the view, or the heading of this variable if it is collapsed. `below` is the index of
    /// the next variable.
    fn first_state_in_view(
        &self,
        listed: &Listed<'_>,
        viewport: egui::Rect,
        below: usize,
    ) -> Option<Row> {
        let index = below.checked_sub(1)?;
        let variable = *listed.variables.get(index)?;
        let above = viewport.top() - listed.tops[index] - HEADING_HEIGHT;
        let state = (above / STATE_HEIGHT).ceil().max(0.0) as usize;
        let last = listed.network[variable].cardinality() - 1;
        let is_expanded = self.expanded.contains(&variable);
        Some(Row { variable, state: is_expanded.then_some(state.min(last)) })
    }

    /// Moves the current row by the keys that were pressed, if the list has the focus, and scrolls
    /// it into view. Returns the variable to expand or to collapse.
    fn follow_keys(
        &mut self,
        ui: &Ui,
        listed: &Listed<'_>,
        viewport: egui::Rect,
    ) -> Option<VariableId> {
        let stop = self.tab_stop(listed, viewport)?;
        // After a move to a row out of view, no widget has the focus until that row is drawn.
        let is_awaited = self.takes_focus && self.current == Some(stop);
        let has_focus = ui.memory(|memory| {
            memory.has_focus(stop.id(ui)) || (is_awaited && memory.focused().is_none())
        });
        if !has_focus {
            return None;
        }
        let (row, toggled) =
            stop.follow_keys(ui, listed, |variable| self.expanded.contains(&variable));
        self.current = Some(row);
        if row != stop {
            self.takes_focus = true;
            if let Some((top, bottom)) = row.range(listed) {
                let left_top = ui.max_rect().min + egui::vec2(0.0, top);
                let rect = egui::Rect::from_min_size(left_top, egui::vec2(1.0, bottom - top));
                ui.scroll_to_rect_animation(rect, None, egui::style::ScrollAnimation::none());
            }
        }
        toggled
    }

    /// The upper edge of each variable in the list, and the lower edge of the last one, in points.
    fn tops(&self, network: &Network, shown: &[VariableId]) -> Vec<f32> {
        let height_of = |variable: VariableId| {
            let states = network[variable].cardinality() as f32 * STATE_HEIGHT;
            HEADING_HEIGHT + if self.expanded.contains(&variable) { states } else { 0.0 }
        };
        let mut tops = vec![0.0];
        let mut top = 0.0;
        for &variable in shown {
            top += height_of(variable);
            tops.push(top);
        }
        tops
    }

    /// The scroll offset at which a newly selected variable is in view; `None` if the selection has
    /// not changed or is not in the list.
    fn scroll_target(&mut self, model: &Model, shown: &[VariableId], tops: &[f32]) -> Option<f32> {
        let selected = match model.selected() {
            Some(Item::Variable(variable)) => Some(*variable),
            _ => None,
        };
        let pointed = model.pointed.filter(|_| self.last_pointed != model.pointed);
        self.last_pointed = model.pointed;
        let wanted = match pointed {
            Some((variable, _)) => Some(variable),
            None if self.last_selected == selected => return None,
            None => selected,
        };
        self.last_selected = selected;
        let index = shown.iter().position(|variable| Some(*variable) == wanted)?;
        Some((tops[index] - 3.0 * HEADING_HEIGHT).max(0.0))
    }

    /// Lists the states of the variable that a lesson newly asks the user to observe.
    fn expand_pointed(&mut self, model: &Model) {
        if let Some((variable, _)) = model.pointed.filter(|_| self.last_pointed != model.pointed) {
            self.expanded.insert(variable);
        }
    }
}

/// Draws a button that retracts all findings.
fn clear_button(ui: &mut Ui, commands: &mut Commands) {
    if ui.button("Clear all").on_hover_text("Retract all findings").clicked() {
        commands.push(EvidenceCommand::Clear);
    }
}
