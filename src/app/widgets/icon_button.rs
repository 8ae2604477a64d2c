//! Buttons with a symbol for a label.

use eframe::egui::{Button, Ui, Vec2, WidgetInfo, WidgetType};

/// Minimum width of a button in points. Most symbols are narrower.
const MIN_WIDTH: f32 = 24.0;

/// Draws a button that shows `symbol` and is called `name`, with `hint` (such as a key) in the
/// tooltip. Returns whether it was clicked.
pub fn icon_button(ui: &mut Ui, symbol: &str, name: &str, hint: &str) -> bool {
    let button = ui.add(Button::new(symbol).min_size(Vec2::new(MIN_WIDTH, 0.0)));
    button.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, name));
    let tooltip = if hint.is_empty() { name.to_owned() } else { format!("{name} ({hint})") };
    button.on_hover_text(tooltip).clicked()
}
