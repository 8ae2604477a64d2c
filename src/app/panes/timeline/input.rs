//! Pointer and keys over the timeline: zoom, pan, select, sum a range.

use eframe::egui::{EventFilter, Key, PointerButton, Rect, Response, Ui};

use super::axis::View;
use super::draw::Drawing;
use super::rows::Span;
use super::{TimelinePane, TimelineScene};
use crate::app::state::command::{Commands, ViewCommand};
use crate::app::state::highlight::Item;
use crate::propagation::MessageId;

impl TimelinePane {
    /// Zooms, moves the view, marks a range or selects a message, as the user asks with the
    /// pointer.
    pub(super) fn handle_pointer(
        &mut self,
        ui: &Ui,
        response: &Response,
        scene: &TimelineScene<'_>,
        drawing: &Drawing,
        pointed: Option<Span>,
        commands: &mut Commands,
    ) {
        let shift = ui.input(|input| input.modifiers.shift);
        let wheeled = drawing.view.wheeled(ui, response, drawing.across(), scene.total);
        if wheeled != drawing.view {
            self.set_view(wheeled, scene.total);
        }
        if response.drag_started_by(PointerButton::Primary) && shift {
            let from = ui.input(|input| input.pointer.press_origin());
            self.range = from.map(|pos| (drawing.time_at(pos.x), drawing.time_at(pos.x)));
        } else if response.dragged_by(PointerButton::Primary) && shift {
            if let (Some((_, to)), Some(pos)) = (&mut self.range, response.interact_pointer_pos()) {
                *to = drawing.time_at(pos.x).clamp(0.0, scene.total);
            }
        } else if response.dragged() {
            let later = -drawing.time_across(response.drag_delta().x);
            if later != 0.0 {
                self.set_view(drawing.view.moved(later, scene.total), scene.total);
            }
        }
        if response.double_clicked() {
            self.view = None;
        } else if response.clicked() {
            response.request_focus();
            self.range = None;
            commands.push(ViewCommand::Select(pointed.map(|span| Item::Message(span.message))));
        }
    }

    /// Handles keys if the timeline has the focus, or if the pointer is over the timeline and no
    /// other widget has the focus. `rect` is the timeline, which is scrolled into view when a key
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
        let focus_elsewhere =
            !response.has_focus() && ui.memory(|memory| memory.focused().is_some());
        if focus_elsewhere {
            return;
        }
        // Escape and F are also global shortcuts, whose key presses may be consumed before this
        // runs. `key_down` and `fit` still see them.
        if ui.input(|input| input.key_down(Key::Escape)) {
            self.range = None;
        }
        if fit || ui.input(|input| input.key_pressed(Key::F)) {
            self.view = None;
        }
        let step = ui.input(|input| {
            i64::from(input.key_pressed(Key::ArrowRight))
                - i64::from(input.key_pressed(Key::ArrowLeft))
        });
        if step != 0
            && let Some(next) = neighbour(scene, step)
        {
            commands.push(ViewCommand::Select(Some(Item::Message(next.message))));
            if let Some(view) = self.view {
                self.set_view(view.revealing(next.start, next.end, scene.total), scene.total);
            }
            ui.scroll_to_rect(rect, None);
        }
    }

    /// Shows `view`. If that is everything, the chart follows the whole propagation again.
    fn set_view(&mut self, view: View, total: f64) {
        self.view = view.unless_all(total);
    }
}

/// The message `step` positions after the selected one, in the order of the trace; the first
/// message if no message of the trace is selected. `None` beyond the first or the last message.
fn neighbour(scene: &TimelineScene<'_>, step: i64) -> Option<Span> {
    let messages = &scene.trace.messages;
    let selected = match scene.model.selected() {
        Some(Item::Message(message)) => {
            messages.iter().position(|timing| timing.message == *message)
        }
        _ => None,
    };
    let next = match selected {
        None => 0,
        Some(index) => usize::try_from(index as i64 + step).ok()?,
    };
    span_of(scene, messages.get(next)?.message)
}

/// The span of `message`, if a row has one.
fn span_of(scene: &TimelineScene<'_>, message: MessageId) -> Option<Span> {
    let mut spans = scene.rows.iter().flat_map(|row| &row.spans);
    spans.find(|span| span.message == message).copied()
}
