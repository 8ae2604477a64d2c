//! The legend: what the colours of cliques mean.

use eframe::egui::{Align2, Color32, CornerRadius, FontId, Mesh, Rect, Shape, Ui, pos2, vec2};

use crate::app::theme::{log_share, ramp};
use crate::app::widgets::targets;
use crate::numbers::short_size;

/// Size of the colour scale in points.
const STRIP: eframe::egui::Vec2 = vec2(150.0, 9.0);

/// Where the legend is drawn in a corner of `pane`; `None` if the pane is too small for it.
pub fn area(pane: Rect, corner: Align2) -> Option<Rect> {
    let size = STRIP + vec2(34.0, 36.0);
    let fits = pane.width() > size.x + 40.0 && pane.height() > 160.0;
    fits.then(|| corner.align_size_within_rect(size, pane))
}

/// Draws the colour scale with its ticks into a corner of `pane`, for tables of up to `largest`
/// entries.
pub fn show(ui: &Ui, pane: Rect, corner: Align2, largest: u64) {
    let Some(legend) = area(pane, corner) else { return };
    targets::mark_rect(ui.ctx(), legend, "legend");
    let painter = ui.painter().with_clip_rect(pane);
    let visuals = ui.visuals();
    painter.rect_filled(legend, CornerRadius::same(4), visuals.panel_fill.gamma_multiply(0.85));
    let strip = Rect::from_min_size(legend.min + vec2(8.0, 17.0), STRIP);
    let font = FontId::proportional(10.0);
    let (ink, weak) = (visuals.text_color(), visuals.weak_text_color());
    painter.text(legend.min + vec2(8.0, 2.0), Align2::LEFT_TOP, "table entries", font.clone(), ink);
    painter.add(gradient(strip));
    // The smallest x coordinate at which the next label may begin.
    let mut free_from = strip.left() - 20.0;
    for entries in ticks(largest) {
        let x = strip.left() + strip.width() * log_share(entries, largest);
        painter.vline(x, strip.bottom()..=strip.bottom() + 3.0, (1.0, weak));
        let galley = painter.layout_no_wrap(short_size(entries), font.clone(), weak);
        let left = x - galley.size().x / 2.0;
        let is_last = entries == largest;
        // Other labels leave room for the label of the largest table.
        let has_room = is_last || x < strip.right() - 30.0;
        if left >= free_from && has_room {
            free_from = left + galley.size().x + 5.0;
            painter.galley(pos2(left, strip.bottom() + 3.0), galley, weak);
        }
    }
}

/// The powers of ten below `largest`, and `largest` itself, but at least 1.
fn ticks(largest: u64) -> Vec<u64> {
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    let mut ticks: Vec<u64> = powers.take_while(|&power| power < largest).collect();
    ticks.push(largest.max(1));
    ticks
}

/// The colour scale as a mesh.
fn gradient(strip: Rect) -> Shape {
    const STEPS: usize = 40;
    let mut mesh = Mesh::default();
    for step in 0..STEPS {
        let at = |step: usize| step as f32 / STEPS as f32;
        let x = |step: usize| strip.left() + strip.width() * at(step);
        let cell =
            Rect::from_min_max(pos2(x(step), strip.top()), pos2(x(step + 1), strip.bottom()));
        let colour: Color32 = ramp(at(step) + 0.5 / STEPS as f32);
        mesh.add_colored_rect(cell, colour);
    }
    Shape::mesh(mesh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_powers_of_ten_and_the_size_of_the_largest_table() {
        assert_eq!(ticks(4_372), [1, 10, 100, 1000, 4_372]);
        assert_eq!(ticks(100), [1, 10, 100]);
        assert_eq!(ticks(0), [1]);
        assert_eq!(ticks(u64::MAX).len(), 21);
    }
}
