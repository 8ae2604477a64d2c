//! Lines between table entries that belong together.

use eframe::egui::{Color32, Shape, Stroke, Ui, epaint::CubicBezierShape, pos2};

use super::grid::{VisibleRows, entry_colour};
use super::player::StepPlayer;
use super::scene::MessageScene;
use crate::app::theme::Palette;
use crate::engine::message_steps::Step;

/// Maximum number of rows of the sender, and of the receiver, that can have lines. Without a
/// current step, lines are drawn only if both tables together show at most this many rows.
const MAX_ROWS: usize = 64;

impl MessageScene<'_> {
    /// Draws lines between entries that belong together, as in Figure 2 of the paper: for the
    /// separator entry of the current step or, without a current step, for all visible entries if
    /// they are few.
    pub fn links(&self, ui: &Ui, player: &StepPlayer, visible: &[VisibleRows]) {
        let [sender, separator, receiver] = visible else { return };
        let current = player.current(self.detail);
        let (from, to) = (&self.detail.from, &self.detail.to);
        let show_all = sender.range().len() + receiver.range().len() <= MAX_ROWS;
        for (rows, tables, is_sender) in [(sender, from, true), (receiver, to, false)] {
            for entry in rows.range().take(MAX_ROWS) {
                let (j, _) = tables.place(entry);
                let Some((a, b)) = rows.y_of(entry).zip(separator.y_of(j)) else { continue };
                let is_current = match current {
                    Some(Step::Add { entry: at, .. }) => is_sender && at == entry,
                    Some(Step::Multiply { entry: at, .. }) => !is_sender && at == entry,
                    _ => false,
                };
                let strength = match current {
                    Some(step) if step.j() == j => 1.0,
                    Some(_) => continue,
                    None if show_all => 0.7,
                    None => continue,
                };
                let (x0, x1) = if is_sender {
                    (rows.rect.right(), separator.rect.left())
                } else {
                    (rows.rect.left(), separator.rect.right())
                };
                let stroke = if is_current {
                    Stroke::new(2.5, Palette::of(ui).active)
                } else {
                    Stroke::new(1.2, entry_colour(j).gamma_multiply(strength))
                };
                let bend = 0.5 * (x1 - x0);
                let points = [pos2(x0, a), pos2(x0 + bend, a), pos2(x1 - bend, b), pos2(x1, b)];
                let line = CubicBezierShape::from_points_stroke(
                    points,
                    false,
                    Color32::TRANSPARENT,
                    stroke,
                );
                ui.painter().add(Shape::CubicBezier(line));
            }
        }
    }
}
