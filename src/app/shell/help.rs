//! The list of keys and of actions with the mouse.

use eframe::egui;

use crate::app::shell::actions;

/// Height in points that the title and the margins of the list need. If the list does not fit into
/// the rest of the window, it scrolls.
const TITLE_ROOM: f32 = 80.0;

/// Draws the list while `open` is true. Sets `open` to false when the user closes the list.
pub(crate) fn show(ctx: &egui::Context, open: &mut bool) {
    let window = egui::Window::new("Keys and help").open(open).resizable(false).collapsible(false);
    let height = ctx.content_rect().height() - TITLE_ROOM;
    window.vscroll(true).default_height(height).max_height(height).show(ctx, |ui| {
        egui::Grid::new("keys").num_columns(2).striped(true).show(ui, |ui| {
            let mut row = |key: &str, effect: &str| {
                ui.monospace(key);
                ui.label(effect);
                ui.end_row();
            };
            row("click a state", "observe it; click again to retract it");
            row("Ctrl+click states", "observe that one of these states holds");
            row("Alt+click a state", "exclude it");
            row("right-click", "menu of a state or a variable: likelihoods, exclude, retract");
            row("double-click a tab", "let the pane fill the window, or restore the panes");
            row("Tab, Space", "go to the next widget, and click it");
            row("↑, ↓, ←, →", "in the list of variables: previous row, next row, close, open");
            row("wheel, drag", "zoom and pan the graphs and the timeline");
            row("drop a file", "open it");
            for action in actions::all() {
                if let Some(shortcut) = action.shortcut {
                    row(&ctx.format_shortcut(&shortcut), action.title);
                }
            }
            row(&ctx.format_shortcut(&actions::ALTERNATIVE_REDO), "Redo");
            row("Ctrl++, Ctrl+-, Ctrl+0", "larger, smaller, normal size");
            row("←, →, Home, End", "while stepping: previous message, next message, start, end");
            row("Space, Escape", "while stepping: play or pause; stop stepping");
            row("Page Up, Page Down", "in a lesson: previous step, next step");
            row("Shift+drag", "mark a range of the timeline and show sums over it");
            row("W, S, A, D", "over the timeline: zoom in, zoom out, earlier, later");
            row("comma, full stop", "over the timeline: neighbouring message in the same line");
        });
    });
}
