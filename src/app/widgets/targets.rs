//! Where the things are that a lesson points at.

use std::collections::HashMap;

use eframe::egui::{self, Id, Rect, Response};

/// Where each target was drawn, and in which frame.
type Places = HashMap<&'static str, (Rect, u64)>;

/// Notes that `response` is what lessons call `name`.
pub fn mark(response: &Response, name: &'static str) {
    mark_rect(&response.ctx, response.rect, name);
}

/// Notes that what lessons call `name` is at `rect`.
pub fn mark_rect(ctx: &egui::Context, rect: Rect, name: &'static str) {
    let frame = ctx.cumulative_frame_nr();
    ctx.data_mut(|data| {
        let places: &mut Places = data.get_temp_mut_or_default(Id::new("lesson targets"));
        places.insert(name, (rect, frame));
    });
}

/// Where `name` was drawn in this frame or the one before; `None` if it was not.
#[must_use]
pub fn find(ctx: &egui::Context, name: &str) -> Option<Rect> {
    let frame = ctx.cumulative_frame_nr();
    ctx.data_mut(|data| {
        let places: &mut Places = data.get_temp_mut_or_default(Id::new("lesson targets"));
        places.get(name).filter(|(_, seen)| seen + 1 >= frame).map(|(rect, _)| *rect)
    })
}
