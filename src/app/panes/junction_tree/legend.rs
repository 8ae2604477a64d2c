//! The strip below the tree: the colour scale, and the settings that choose what the colours and
//! the sizes of the boxes show.

use eframe::egui::{
    Align2, Color32, ComboBox, FontId, Mesh, Rect, Sense, Shape, Ui, Vec2, pos2, vec2,
};

use super::measure::{Colouring, Measure};
use crate::app::widgets::colour_scale::ColourScale;
use crate::app::widgets::targets;

/// Height of the strip in points.
pub const HEIGHT: f32 = 26.0;

/// Maximum width of the colour scale in points.
const MAX_SCALE_WIDTH: f32 = 260.0;

/// Minimum width of the colour scale in points. If there is less room, the strip has no scale.
const MIN_SCALE_WIDTH: f32 = 90.0;

/// Draws the strip. `by_area` says whether larger tables have larger boxes. Returns whether the
/// user changed it.
pub fn show(ui: &mut Ui, colouring: &mut Colouring, by_area: &mut bool) -> bool {
    let strip = ui.horizontal(|ui| {
        let menu = ComboBox::from_id_salt("colours of cliques")
            .selected_text(colouring.measure.name())
            .width(108.0)
            .show_ui(ui, |ui| {
                for measure in Measure::ALL {
                    ui.selectable_value(&mut colouring.measure, measure, measure.name())
                        .on_hover_text(measure.description());
                }
            });
        menu.response.on_hover_text("What the colours of cliques show");
        ui.checkbox(&mut colouring.is_log, "log")
            .on_hover_text("Whether the colours follow the logarithm of the value");
        let area = ui.checkbox(by_area, "area").on_hover_text(
            "Whether larger tables have larger boxes. The area grows with the logarithm of the \
             number of entries.",
        );
        let room = ui.available_width().min(MAX_SCALE_WIDTH);
        if room >= MIN_SCALE_WIDTH {
            let (rect, _) = ui.allocate_exact_size(vec2(room, HEIGHT - 4.0), Sense::hover());
            scale(ui, rect, colouring.measure, colouring.scale());
        }
        area.changed()
    });
    targets::mark_rect(ui, strip.response.rect, "legend");
    strip.inner
}

/// Draws the colour scale with its ticks.
fn scale(ui: &Ui, rect: Rect, measure: Measure, scale: &ColourScale) {
    let painter = ui.painter();
    let font = FontId::proportional(10.0);
    let weak = ui.visuals().weak_text_color();
    let bar = Rect::from_min_size(rect.min + vec2(14.0, 1.0), Vec2::new(rect.width() - 38.0, 8.0));
    painter.add(gradient(bar, scale));
    let ticks = scale.ticks();
    // The right edge of the last label that was drawn.
    let mut taken = f32::NEG_INFINITY;
    let last = ticks.len() - 1;
    let end = painter.layout_no_wrap(measure.text(scale.high()), font.clone(), weak).size().x;
    for (index, &value) in ticks.iter().enumerate() {
        let x = bar.left() + bar.width() * if last == 0 { 0.5 } else { scale.share(value) };
        painter.vline(x, bar.bottom()..=bar.bottom() + 2.0, (1.0, weak));
        let width = painter.layout_no_wrap(measure.text(value), font.clone(), weak).size().x;
        // Labels between the ends leave room for the label of the largest value.
        let has_room = index == last || x + width / 2.0 + 8.0 < bar.right() - end / 2.0;
        if x - width / 2.0 > taken + 4.0 && has_room {
            taken = x + width / 2.0;
            let below = pos2(x, bar.bottom() + 1.0);
            painter.text(below, Align2::CENTER_TOP, measure.text(value), font.clone(), weak);
        }
    }
}

/// The colour scale as a mesh.
fn gradient(bar: Rect, scale: &ColourScale) -> Shape {
    /// Number of rectangles of one colour each. With fewer, the steps between them are visible.
    const STEPS: usize = 40;
    let mut mesh = Mesh::default();
    for step in 0..STEPS {
        let at = |step: usize| step as f32 / STEPS as f32;
        let x = |step: usize| bar.left() + bar.width() * at(step);
        let cell = Rect::from_min_max(pos2(x(step), bar.top()), pos2(x(step + 1), bar.bottom()));
        // A scale of a single value has one colour.
        let is_one_value = scale.low() >= scale.high();
        let middle = at(step) + 0.5 / STEPS as f32;
        let share = if is_one_value { scale.share(scale.high()) } else { middle };
        let colour: Color32 = scale.colour_at(share);
        mesh.add_colored_rect(cell, colour);
    }
    Shape::mesh(mesh)
}
