//! Buttons that fit or zoom a picture.

use eframe::egui::{Button, Ui, Vec2, WidgetInfo, WidgetType};

/// Draws the buttons "Zoom out" and "Zoom in". Returns the zoom factor of a button that was
/// clicked.
pub(in crate::app::panes) fn zoom_buttons(ui: &mut Ui) -> Option<f32> {
    let mut clicked = None;
    for (symbol, name, factor) in [("−", "Zoom out", 0.8), ("+", "Zoom in", 1.25)] {
        let button = ui.add(Button::new(symbol).min_size(Vec2::new(20.0, 0.0)));
        button.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, name));
        if button.on_hover_text(name).clicked() {
            clicked = Some(factor);
        }
    }
    clicked
}

/// Draws the button "Fit" for a picture of `what`. Returns whether it was clicked.
pub(in crate::app::panes) fn fit_button(ui: &mut Ui, what: &str) -> bool {
    let button = ui.button("Fit");
    let name = format!("Fit the {what}");
    button.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, &name));
    button.on_hover_text(format!("Show the whole {what} (F)")).clicked()
}
