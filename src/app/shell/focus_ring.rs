//! The ring around the widget that has the keyboard focus.

use eframe::egui::{Context, Event, Id, InputState, Key, LayerId, Order, Stroke, StrokeKind};

use crate::app::theme::Palette;

/// Whether a key was pressed with which the toolkit moves the focus.
pub(crate) fn moves_focus(input: &InputState) -> bool {
    let moves = |event: &Event| match event {
        Event::Key { key, pressed: true, .. } => is_focus_key(*key),
        _ => false,
    };
    input.raw.events.iter().any(moves)
}

/// Whether the toolkit moves the focus with `key`.
fn is_focus_key(key: Key) -> bool {
    use Key::{ArrowDown, ArrowLeft, ArrowRight, ArrowUp, Tab};
    matches!(key, Tab | ArrowUp | ArrowDown | ArrowLeft | ArrowRight)
}

/// Draws the ring, from the first use of a key that moves the focus (Tab, an arrow key, or E, which
/// goes to the states of a variable) until the next click. Without the ring, most widgets hardly
/// change when they get the focus.
pub(crate) fn show(ctx: &Context) {
    let id = Id::new("focus by keyboard");
    let was_moved = ctx.data(|data| data.get_temp(id).unwrap_or(false));
    // The letter E moves the focus only if no text field has it. Its event was consumed as a
    // shortcut earlier in this frame, but the raw events still contain it.
    let is_typing = ctx.text_edit_focused();
    let moves_focus = |key: &Key| is_focus_key(*key) || (*key == Key::E && !is_typing);
    let is_moved = ctx.input(|input| {
        input.raw.events.iter().fold(was_moved, |moved, event| match event {
            Event::Key { key, pressed: true, .. } if moves_focus(key) => true,
            Event::PointerButton { pressed: true, .. } => false,
            _ => moved,
        })
    });
    ctx.data_mut(|data| data.insert_temp(id, is_moved));
    if !is_moved {
        return;
    }
    let focused = ctx.memory(|memory| memory.focused());
    let Some(response) = focused.and_then(|id| ctx.read_response(id)) else { return };
    let colour = Palette::of_theme(ctx.global_style().visuals.dark_mode).selected;
    let layer = LayerId::new(Order::Foreground, id);
    let clip = ctx.content_rect().shrink(1.0);
    let rect = response.interact_rect.expand(2.0).intersect(clip);
    ctx.layer_painter(layer).rect_stroke(rect, 3, Stroke::new(2.0, colour), StrokeKind::Middle);
}
