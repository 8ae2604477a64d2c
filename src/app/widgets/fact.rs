//! A name with its value, in one piece: a line that wraps does not separate them.

use eframe::egui::text::LayoutJob;
use eframe::egui::{
    Align2, Color32, FontSelection, Label, Rect, Response, TextFormat, TextStyle, Ui, vec2,
};

/// Space between the coloured square, if any, the name and the value, in points.
const GAP: f32 = 5.0;

/// Side of the coloured square before a name, in points.
const SWATCH: f32 = 10.0;

/// A name with its value.
#[derive(Clone, Copy, Debug)]
pub struct Fact<'a> {
    name: &'a str,
    value: &'a str,
    colour: Option<Color32>,
    swatch: Option<Color32>,
}

impl<'a> Fact<'a> {
    /// `name`, with `value` in strong text after it.
    #[must_use]
    pub fn new(name: &'a str, value: &'a str) -> Self {
        Self { name, value, colour: None, swatch: None }
    }

    /// The same fact, with the value in `colour`.
    #[must_use]
    pub fn coloured(self, colour: Color32) -> Self {
        Self { colour: Some(colour), ..self }
    }

    /// The same fact, with a square of `colour` before the name, as in a legend.
    #[must_use]
    pub fn with_swatch(self, colour: Color32) -> Self {
        Self { swatch: Some(colour), ..self }
    }

    /// Draws the fact as one label.
    pub fn show(self, ui: &mut Ui) -> Response {
        let font = FontSelection::from(TextStyle::Body).resolve(ui.style());
        let visuals = ui.visuals();
        let weak = visuals.weak_text_color();
        let strong = self.colour.unwrap_or_else(|| visuals.strong_text_color());
        let indent = self.swatch.map_or(0.0, |_| SWATCH + GAP);
        let mut job = LayoutJob::default();
        job.append(self.name, indent, TextFormat::simple(font.clone(), weak));
        job.append(" ", 0.0, TextFormat::simple(font.clone(), weak));
        // The space character takes about 3 points of the gap.
        job.append(self.value, GAP - 3.0, TextFormat::simple(font, strong));
        let response = ui.add(Label::new(job).extend());
        if let Some(colour) = self.swatch {
            let size = vec2(SWATCH, SWATCH);
            let square = Align2::LEFT_CENTER.anchor_size(response.rect.left_center(), size);
            ui.painter().rect_filled(Rect::from_min_size(square.min, size), 2, colour);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::vec2;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn a_fact_that_does_not_fit_the_line_moves_to_the_next_line_as_a_whole() {
        let mut harness = Harness::builder().with_size(vec2(230.0, 100.0)).build_ui(|ui| {
            ui.horizontal_wrapped(|ui| {
                Fact::new("total", "12.3 ms").show(ui);
                Fact::new("propagation", "14.6 ms live, recorded").show(ui);
            });
        });
        harness.run();
        let first = harness.get_by_label("total 12.3 ms").rect();
        let second = harness.get_by_label("propagation 14.6 ms live, recorded").rect();
        assert!(second.top() >= first.bottom(), "{first:?} {second:?}");
        assert!(second.height() < 1.5 * first.height(), "one line: {second:?}");
    }
}
