//! The ring around the widget that has the keyboard focus.

use eframe::egui::{Context, Event, Id, InputState, Key, LayerId, Order, Stroke, StrokeKind};

use crate::app::theme::Palette;

/// Whether a key that makes the toolkit move the focus was pressed.
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

/// What is remembered between frames.
#[derive(Clone, Copy, Default)]
struct Ring {
    is_shown: bool,
    /// The widget that had the focus.
    focused: Option<Id>,
    /// Whether an arrow key was pressed.
    arrow: bool,
}

/// Draws the ring, from the first use of a key that moves the focus until the next click. Such keys
/// are Tab, the arrow keys, and E, the shortcut to the states of a variable. Without the ring, most
/// widgets hardly change when they get the focus.
pub(crate) fn show(ctx: &Context) {
    let id = Id::new("focus by keyboard");
    let before: Ring = ctx.data(|data| data.get_temp(id)).unwrap_or_default();
    let focused = ctx.memory(|memory| memory.focused());
    let mut ring = Ring { focused, arrow: false, ..before };
    // The letter E moves the focus only if no text field has it. Its event was consumed as a
    // shortcut earlier in this frame, but the raw events still contain it.
    let is_typing = ctx.text_edit_focused();
    ctx.input(|input| {
        for event in &input.raw.events {
            match event {
                Event::Key { key: Key::Tab, pressed: true, .. } => ring.is_shown = true,
                Event::Key { key: Key::E, pressed: true, .. } if !is_typing => ring.is_shown = true,
                Event::Key { key, pressed: true, .. } if is_focus_key(*key) => ring.arrow = true,
                Event::PointerButton { pressed: true, .. } => ring.is_shown = false,
                _ => {}
            }
        }
    });
    // Arrow keys also step through messages and move the cursor in text. The toolkit moves the
    // focus at the end of a frame, so that the change is seen in the next one.
    ring.is_shown |= (ring.arrow || before.arrow) && focused != before.focused;
    ctx.data_mut(|data| data.insert_temp(id, ring));
    if !ring.is_shown {
        return;
    }
    let Some(response) = focused.and_then(|id| ctx.read_response(id)) else { return };
    let colour = Palette::of_theme(ctx.global_style().visuals.dark_mode).selected;
    let layer = LayerId::new(Order::Foreground, id);
    let clip = ctx.content_rect().shrink(1.0);
    let rect = response.interact_rect.expand(2.0).intersect(clip);
    ctx.layer_painter(layer).rect_stroke(rect, 3, Stroke::new(2.0, colour), StrokeKind::Middle);
}

#[cfg(test)]
mod tests {
    use eframe::egui::Shape;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::app::{Settings, Workbench};
    use crate::format::NetworkSource;

    fn has_ring<S>(harness: &Harness<'_, S>) -> bool {
        let dark = harness.ctx.global_style().visuals.dark_mode;
        let stroke = Stroke::new(2.0, Palette::of_theme(dark).selected);
        let is_ring = |shape: &Shape| matches!(shape, Shape::Rect(rect) if rect.stroke == stroke && rect.fill.a() == 0);
        harness.output().shapes.iter().any(|clipped| is_ring(&clipped.shape))
    }

    fn press<S>(harness: &mut Harness<'_, S>, key: Key) {
        harness.key_press(key);
        harness.run_steps(3);
    }

    #[test]
    fn an_arrow_key_that_steps_through_messages_shows_no_ring() {
        let mut workbench = Workbench::new(Settings::default(), || {});
        workbench.open(NetworkSource::Named("asia".to_owned()), Vec::new());
        let mut harness = Harness::builder()
            .build_ui_state(|ui, workbench: &mut Workbench| workbench.show(ui), workbench);
        while !harness.state().is_settled() {
            harness.step();
        }
        harness.get_by_label("Step through").focus();
        harness.run_steps(3);
        harness.get_by_label("Step through").click();
        harness.run_steps(3);
        assert!(harness.state().model().stepping.is_some());
        press(&mut harness, Key::ArrowRight);
        assert!(!has_ring(&harness));
        press(&mut harness, Key::Tab);
        assert!(has_ring(&harness));
    }

    #[test]
    fn an_arrow_key_that_moves_the_focus_shows_the_ring_until_a_click() {
        let mut harness = Harness::new_ui(|ui| {
            let (one, _) = (ui.button("one"), ui.button("two"));
            if ui.memory(|memory| memory.focused().is_none()) {
                one.request_focus();
            }
            show(ui.ctx());
        });
        harness.run_steps(2);
        assert!(!has_ring(&harness));
        press(&mut harness, Key::ArrowDown);
        assert!(harness.get_by_label("two").is_focused());
        assert!(has_ring(&harness));
        harness.get_by_label("two").click();
        harness.run_steps(3);
        assert!(!has_ring(&harness));
    }
}
