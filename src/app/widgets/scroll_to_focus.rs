//! Scrolling to the widget that gets the keyboard focus.

use eframe::egui::{Id, Memory, Ui};

/// Scrolls to the widget of `ui` that has got the keyboard focus since the last frame, if a part of
/// it is out of view: otherwise the user would not see where the focus is. Call this at the end of
/// the content of a scroll area.
pub fn scroll_to_focus(ui: &Ui) {
    let focused = ui.memory(Memory::focused);
    let key = ui.id().with("focus");
    let before = ui.data_mut(|data| {
        let before: Option<Id> = data.get_temp(key).flatten();
        data.insert_temp(key, focused);
        before
    });
    if before == focused {
        return;
    }
    let response = focused.and_then(|id| ui.ctx().read_response(id));
    let Some(response) = response else { return };
    let (rect, in_view) = (response.rect, response.interact_rect);
    if in_view.is_positive() && !ui.clip_rect().contains_rect(in_view) {
        // It is in another part of the window, into which this content would extend if it were not
        // clipped.
        return;
    }
    if ui.min_rect().contains_rect(rect) && !ui.clip_rect().contains_rect(rect) {
        ui.scroll_to_rect(rect, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Key, ScrollArea};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    #[test]
    fn a_button_below_the_area_that_gets_the_focus_does_not_scroll_it() {
        let mut harness = Harness::builder().with_size([200.0, 200.0]).build_ui(|ui| {
            ScrollArea::vertical().max_height(100.0).show(ui, |ui| {
                for number in 1..=20 {
                    ui.label(format!("line {number}"));
                }
                scroll_to_focus(ui);
            });
            _ = ui.button("below");
        });
        let before = harness.get_by_label("line 1").rect();
        harness.get_by_label("below").focus();
        harness.run_steps(6);
        assert!(harness.get_by_label("below").is_focused());
        assert_eq!(harness.get_by_label("line 1").rect(), before);
    }

    #[test]
    fn a_button_that_gets_the_focus_by_keyboard_is_scrolled_into_view() {
        let mut harness = Harness::builder().with_size([200.0, 100.0]).build_ui(|ui| {
            ScrollArea::vertical().show(ui, |ui| {
                for number in 1..=20 {
                    _ = ui.button(format!("button {number}"));
                }
                scroll_to_focus(ui);
            });
        });
        let window = harness.ctx.content_rect();
        assert!(!window.contains_rect(harness.get_by_label("button 12").rect()));
        for _ in 0..12 {
            harness.key_press(Key::Tab);
            harness.run_steps(6);
        }
        let button = harness.get_by_label("button 12");
        assert!(button.is_focused() && window.contains_rect(button.rect()), "{:?}", button.rect());
    }
}
