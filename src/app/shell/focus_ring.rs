//! The ring around the widget that has the keyboard focus.

use eframe::egui::{Context, Event, Id, Key, LayerId, Order, Stroke, StrokeKind};

use crate::app::theme::Palette;

/// Draws the ring, from the first use of a key that moves the focus until the next click: Tab, an
/// arrow key, or E, which goes to the states of a variable. Without the ring, most widgets hardly
/// change when they get the focus.
pub(crate) fn show(ctx: &Context) {
    let id = Id::new("focus by keyboard");
    let was_moved = ctx.data(|data| data.get_temp(id).unwrap_or(false));
    // The letter E moves the focus only if no text field has it. By now, its event is consumed.
    let is_typing = ctx.text_edit_focused();
    let moves_focus = |key: &Key| match key {
        Key::Tab | Key::ArrowUp | Key::ArrowDown | Key::ArrowLeft | Key::ArrowRight => true,
        Key::E => !is_typing,
        _ => false,
    };
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
