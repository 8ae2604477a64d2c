//! The summary at the end of a toolbar.

use eframe::egui::{Response, RichText, TextStyle, Ui, WidgetText};

/// Draws `text` in a weak colour if the rest of the row has room for all of it. A part, such as
/// `6 clique…`, would say nothing. Returns the response if `text` was drawn.
pub(in crate::app::panes) fn toolbar_summary(ui: &mut Ui, text: String) -> Option<Response> {
    let text = WidgetText::from(RichText::new(text).weak());
    let room = ui.available_size_before_wrap().x;
    let galley = text.into_galley(ui, None, f32::INFINITY, TextStyle::Body);
    (galley.size().x <= room).then(|| ui.label(galley))
}
