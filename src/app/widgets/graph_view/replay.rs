//! The shapes of the last live frame, to be shown again while nothing changes.

use eframe::egui::epaint::ClippedShape;
use eframe::egui::{Painter, Ui};

/// Recorded shapes.
#[derive(Default)]
pub struct Recording {
    shapes: Vec<ClippedShape>,
    /// How full the font's texture was: when egui starts a new one, recorded text is void.
    atlas_fill: f32,
}

impl Recording {
    /// Runs `draw`, and keeps what it painted on the layer of `ui`.
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

    /// Whether the recorded text can still be shown.
    #[must_use]
    pub fn is_valid(&self, ui: &Ui) -> bool {
        ui.fonts(|fonts| fonts.font_atlas_fill_ratio()) >= self.atlas_fill
    }

    /// Paints what was recorded.
    pub fn play(&self, painter: &Painter) {
        for ClippedShape { clip_rect, shape } in &self.shapes {
            painter.with_clip_rect(*clip_rect).add(shape.clone());
        }
    }
}
