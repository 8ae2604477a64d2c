//! Pointer and keys over the timeline: zoom, pan, scroll, select, mark a range.

use eframe::egui::{EventFilter, Key, PointerButton, Rect, Response, Ui};

use super::axis::View;
use super::geometry::Geometry;
use super::panel::PanelView;
use super::slices::Slice;
use super::sums::GroupBy;
use super::{TimelinePane, TimelineScene};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::propagation::MessageId;

/// Factor by which the keys W and S zoom.
const KEY_ZOOM: f64 = 1.5;
/// Share of the view by which the keys A and D pan.
const KEY_PAN: f64 = 0.15;

impl TimelinePane {
    /// Zooms, pans, scrolls, marks a range or selects a message in response to the pointer.
    pub(super) fn handle_pointer(
        &mut self,
        ui: &Ui,
        response: &Response,
        scene: &TimelineScene<'_>,
        geometry: &Geometry,
        pointed: Option<Slice>,
        commands: &mut Commands,
    ) {
        let shift = ui.input(|input| input.modifiers.shift);
        let view = geometry.view;
        // The names are widgets of their own: while the pointer is over one of them, egui does not
        // report the chart as hovered.
        let pointer = ui.input(|input| input.pointer.latest_pos());
        let over_names =
            response.contains_pointer() && pointer.is_some_and(|pos| pos.x < geometry.chart.left());
        if over_names {
            self.scroll -= ui.input(|input| input.smooth_scroll_delta.y);
        } else {
            let wheeled = view.wheeled(ui, response, geometry.chart.x_range(), scene.total);
            if wheeled != view {
                self.set_view(wheeled, scene.total);
            }
        }
        if response.drag_started() {
            self.is_marking = shift && response.drag_started_by(PointerButton::Primary);
            if self.is_marking {
                let from = ui.input(|input| input.pointer.press_origin());
                let from = from.map(|pos| geometry.time_at(pos.x).clamp(0.0, scene.total));
                self.range = from.map(|time| (time, time));
            }
        }
        if self.is_marking {
            self.mark_range(response, scene, geometry);
        } else if response.dragged() {
            let later = -geometry.time_across(response.drag_delta().x);
            if later != 0.0 {
                self.set_view(view.moved(later, scene.total), scene.total);
            }
            self.scroll -= response.drag_delta().y;
        }
        if response.double_clicked() {
            self.view = None;
        } else if response.clicked() {
            response.request_focus();
            self.range = None;
            let message = pointed.and_then(|slice| slice.related_message());
            commands.push(ViewCommand::Select(message.map(Item::Message)));
        }
    }

    /// Moves the end of the range to the pointer. At the end of the drag, opens the panel with the
    /// table of sums, unless the panel is open.
    fn mark_range(&mut self, response: &Response, scene: &TimelineScene<'_>, geometry: &Geometry) {
        let Some((_, to)) = &mut self.range else { return };
        if let Some(pos) = response.interact_pointer_pos() {
            *to = geometry.time_at(pos.x).clamp(0.0, scene.total);
        }
        if response.drag_stopped() {
            self.is_marking = false;
            // Only now: opening the panel changes the size of the chart under the pointer.
            self.panel.get_or_insert(PanelView::Sums(GroupBy::Kind));
        }
    }

    /// Handles keys if the timeline has the focus, or if the pointer is over the timeline and no
    /// text field has the focus. `rect` is the timeline, which is scrolled into view when a key
    /// selects a message.
    pub(super) fn handle_keys(
        &mut self,
        ui: &Ui,
        response: &Response,
        scene: &TimelineScene<'_>,
        rect: Rect,
        commands: &mut Commands,
    ) {
        // Remember the request to fit even if it is ignored now: a request made while the pointer
        // was over another pane must not fit the timeline later.
        let fit = self.fit_serial != scene.model.fit_serial;
        self.fit_serial = scene.model.fit_serial;
        if !response.contains_pointer() && !response.has_focus() {
            return;
        }
        if response.has_focus() {
            let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        }
        // A text field takes all keys. Other widgets that have the focus take only the arrow keys.
        if ui.ctx().text_edit_focused() {
            return;
        }
        let focus_elsewhere =
            !response.has_focus() && ui.memory(|memory| memory.focused().is_some());
        // Escape and F are also global shortcuts, whose key presses may be consumed before this
        // runs. `key_down` and `fit` still see them.
        if ui.input(|input| input.key_down(Key::Escape)) {
            self.range = None;
        }
        if fit || ui.input(|input| input.key_pressed(Key::F)) {
            self.fit(scene);
        }
        self.zoom_and_pan_by_keys(ui, response, scene, rect);
        let pressed = |back: Key, forth: Key| {
            ui.input(|input| {
                i64::from(input.key_pressed(forth)) - i64::from(input.key_pressed(back))
            })
        };
        let in_order = if focus_elsewhere { 0 } else { pressed(Key::ArrowLeft, Key::ArrowRight) };
        let in_row = pressed(Key::Comma, Key::Period);
        let next = if in_order != 0 {
            next_in_trace(scene, in_order)
        } else if in_row != 0 {
            next_in_row(scene, in_row)
        } else {
            None
        };
        if let Some(message) = next {
            commands.push(ViewCommand::Select(Some(Item::Message(message))));
            if let (Some(view), Some(place)) = (self.view, scene.layout.place(message)) {
                let (start, end) = (place.slice.start, place.slice.end);
                self.set_view(view.revealing(start, end, scene.total), scene.total);
            }
            ui.scroll_to_rect(rect, None);
        }
    }

    /// Zooms and pans if W, S, A or D was pressed. Zooms at the pointer if it is over the timeline,
    /// and at the middle otherwise.
    fn zoom_and_pan_by_keys(
        &mut self,
        ui: &Ui,
        response: &Response,
        scene: &TimelineScene<'_>,
        rect: Rect,
    ) {
        let (zoom, pan) = ui.input(|input| {
            let pressed = |key| input.num_presses(key) as f64;
            // 1 if no modifier key is pressed, otherwise 0.
            let free = f64::from(u8::from(input.modifiers.is_none()));
            (free * (pressed(Key::W) - pressed(Key::S)), free * (pressed(Key::D) - pressed(Key::A)))
        });
        if zoom == 0.0 && pan == 0.0 {
            return;
        }
        let view = self.view.unwrap_or_else(|| View::all(scene.total));
        let left = rect.left() + super::geometry::GUTTER;
        let right = rect.right() - super::geometry::SCROLL_BAR;
        let at = response
            .hover_pos()
            .map_or(0.5, |pos| f64::from((pos.x - left) / (right - left).max(1.0)).clamp(0.0, 1.0));
        let view = view.zoomed(at, KEY_ZOOM.powf(zoom), scene.total);
        let view = view.moved(pan * KEY_PAN * view.span(), scene.total);
        self.set_view(view, scene.total);
    }

    /// Fits the marked range or else the selected messages into the view. If they are fitted
    /// already, or if there are none, shows everything.
    fn fit(&mut self, scene: &TimelineScene<'_>) {
        let range = self.range.map(|(from, to)| (from.min(to), from.max(to)));
        let fitted = range.or_else(|| selected_time(scene)).and_then(|(from, to)| {
            let margin = 0.1 * (to - from);
            View { start: from - margin, end: to + margin }.fitted(scene.total)
        });
        let is_fitted = fitted.is_some() && fitted == self.view;
        self.view = if is_fitted { None } else { fitted };
    }

    /// Shows `view`. If that is everything, the chart follows the whole propagation again.
    pub(super) fn set_view(&mut self, view: View, total: f64) {
        self.view = view.unless_all(total);
    }
}

/// When the first selected message began and when the last one ended.
fn selected_time(scene: &TimelineScene<'_>) -> Option<(f64, f64)> {
    let is_selected = |slice: &Slice| {
        slice.message().is_some_and(|message| scene.model.selection.message(message))
    };
    let selected = scene.layout.places().map(|place| place.slice).filter(is_selected);
    selected.fold(None, |found, slice| {
        let (from, to) = found.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        Some((slice.start.min(from), slice.end.max(to)))
    })
}

/// The message `step` positions after the selected one, in the order of the trace; the first
/// message if no message of the trace is selected. `None` beyond the first or the last message.
fn next_in_trace(scene: &TimelineScene<'_>, step: i64) -> Option<MessageId> {
    let messages = &scene.trace.messages;
    let selected = scene.selected_message();
    let position = |id| messages.iter().position(|timing| timing.message == id);
    let next = match selected.and_then(position) {
        None => 0,
        Some(index) => usize::try_from(index as i64 + step).ok()?,
    };
    Some(messages.get(next)?.message)
}

/// The message `step` messages after the selected one in its track; the first message of the trace
/// if no message of the trace is selected. `None` beyond the first or the last message of the
/// track.
fn next_in_row(scene: &TimelineScene<'_>, step: i64) -> Option<MessageId> {
    let selected = scene.selected_message().and_then(|id| scene.layout.place(id));
    let Some(place) = selected else { return Some(scene.trace.messages.first()?.message) };
    let track = &scene.layout.rows[place.row].tracks[place.track];
    let messages: Vec<MessageId> = track.iter().filter_map(Slice::message).collect();
    let here = messages.iter().position(|id| Some(*id) == place.slice.message())?;
    messages.get(usize::try_from(here as i64 + step).ok()?).copied()
}
