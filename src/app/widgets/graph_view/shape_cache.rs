//! The shapes of the last redrawn frame, shown again while nothing changes.

use eframe::egui::epaint::ClippedShape;
use eframe::egui::{Painter, Ui};

/// Cached shapes.
#[derive(Default)]
pub struct ShapeCache {
    shapes: Vec<ClippedShape>,
    /// How full the font texture was when the shapes were cached, from 0 to 1. The share falls only
    /// when egui starts a new texture, which makes cached text invalid.
    atlas_fill: f32,
}

impl ShapeCache {
    /// Runs `draw`, and caches what it painted on the layer of `ui`.
    pub fn record<R>(&mut self, ui: &mut Ui, draw: impl FnOnce(&mut Ui) -> R) -> R {
        let layer = ui.layer_id();
        let count = |ui: &Ui| {
            ui.ctx().graphics(|graphics| graphics.get(layer).map_or(0, |list| list.next_idx().0))
        };
        let before = count(ui);
        let result = draw(ui);
        self.shapes.clear();
        ui.ctx().graphics(|graphics| {
            if let Some(list) = graphics.get(layer) {
                self.shapes.extend(list.all_entries().skip(before).cloned());
            }
        });
        self.atlas_fill = ui.fonts(|fonts| fonts.font_atlas_fill_ratio());
        result
    }

    /// Whether the cached text can still be shown.
    #[must_use]
    pub fn is_valid(&self, ui: &Ui) -> bool {
        ui.fonts(|fonts| fonts.font_atlas_fill_ratio()) >= self.atlas_fill
    }

    /// Paints the cached shapes.
    pub fn paint(&self, painter: &Painter) {
        for ClippedShape { clip_rect, shape } in &self.shapes {
            painter.with_clip_rect(*clip_rect).add(shape.clone());
        }
    }
}
