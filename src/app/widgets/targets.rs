//! Targets: widgets that lessons point at, and where they are on screen.

use std::collections::HashMap;

use eframe::egui::{self, Id, Rect, Response, Ui};

/// In the list of variables, the row of the state that a lesson asks the user to observe.
pub const STATE: &str = "state";
/// In the network pane, the row of the same state. Lessons point at it only if the list does not
/// show the state: the rows in the network pane are so close that the outline drawn around one
/// touches its neighbours.
pub const STATE_IN_NETWORK: &str = "state in the network";

/// The rectangle of each target, and the frame in which it was drawn.
type TargetRects = HashMap<&'static str, (Rect, u64)>;

/// Marks a widget, as far as it is in view, as target `name`.
pub fn mark(response: &Response, name: &'static str) {
    insert(&response.ctx, response.interact_rect, name);
}

/// Marks `rect`, as far as it is in view, as target `name`.
pub fn mark_rect(ui: &Ui, rect: Rect, name: &'static str) {
    insert(ui.ctx(), rect.intersect(ui.clip_rect()), name);
}

fn insert(ctx: &egui::Context, rect: Rect, name: &'static str) {
    let frame = ctx.cumulative_frame_nr();
    ctx.data_mut(|data| {
        let targets: &mut TargetRects = data.get_temp_mut_or_default(Id::new("lesson targets"));
        targets.insert(name, (rect, frame));
    });
}

/// The rectangle of target `name`, as far as it is in view. `None` if it was drawn neither in this
/// frame nor in the one before, or if it was out of view. If [`STATE`] is not found,
/// [`STATE_IN_NETWORK`] is used instead.
#[must_use]
pub fn find(ctx: &egui::Context, name: &str) -> Option<Rect> {
    let found = marked(ctx, name);
    if name == STATE { found.or_else(|| marked(ctx, STATE_IN_NETWORK)) } else { found }
}

/// The part in view of what was marked as target `name` in this frame or in the one before; `None`
/// if there is none.
fn marked(ctx: &egui::Context, name: &str) -> Option<Rect> {
    let frame = ctx.cumulative_frame_nr();
    ctx.data_mut(|data| {
        let targets: &mut TargetRects = data.get_temp_mut_or_default(Id::new("lesson targets"));
        targets
            .get(name)
            .filter(|(rect, seen)| seen + 1 >= frame && rect.is_positive())
            .map(|(rect, _)| *rect)
    })
}
