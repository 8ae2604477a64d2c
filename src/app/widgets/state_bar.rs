//! The row of a state: its name, a bar for its probability, and the probability as a number.
//!
//! The list of variables, the boxes of the network and the details of a variable all draw these
//! rows, so that evidence and posteriors look the same everywhere.

use std::sync::Arc;

use eframe::egui::{
    Align2, Color32, CornerRadius, FontId, Painter, Rect, Shape, Stroke, StrokeKind, TextStyle, Ui,
    Vec2, pos2, vec2,
};

use crate::app::theme::{self, Palette};
use crate::app::widgets::short_text::one_line;

/// Opacity of faded bars and numbers.
const FADED_OPACITY: f32 = 0.4;
/// Opacity of the fill of an outlined bar.
const OUTLINED_OPACITY: f32 = 0.35;
/// Share of the width of a row in a list for the mark of a finding and the name of the state.
const LABEL_SHARE: f32 = 0.38;
/// Width in points of the number in a row of a list.
pub const NUMBER_WIDTH: f32 = 58.0;
/// Width in points that the mark of a finding needs at the left of a row of a list.
const MARK_WIDTH: f32 = 22.0;

/// What a finding says about a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    None,
    /// The state is observed: a dot.
    Observed,
    /// The state has a weight above zero in a likelihood: a circle.
    Possible,
    /// The state is excluded: a cross.
    Excluded,
}

/// How a bar is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarStyle {
    /// Filled.
    #[default]
    Filled,
    /// Faded, for numbers that are out of date.
    Faded,
    /// Outlined and weakly filled, for numbers that are not final.
    Outlined,
}

/// What the row of a state shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateBar {
    /// The name of the state.
    pub label: Arc<str>,
    /// The probability; `None` if there is none yet.
    pub probability: Option<f64>,
    /// The prior, drawn as a tick on the bar.
    pub prior: Option<f64>,
    /// What the finding says about this state.
    pub mark: Mark,
    /// Whether the variable has a finding.
    pub has_finding: bool,
    /// How the bar is drawn.
    pub style: BarStyle,
}

/// The colours of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarColours {
    /// Text.
    pub ink: Color32,
    /// The part of the row that the bar fills at probability one.
    pub track: Color32,
    /// The bar of a variable without a finding.
    pub posterior: Color32,
    /// The bar of a variable with a finding, and the mark of the finding.
    pub evidence: Color32,
    /// The tick of the prior.
    pub prior: Color32,
}

impl BarColours {
    /// The colours in the theme of `ui`.
    #[must_use]
    pub fn of(ui: &Ui) -> Self {
        let palette = Palette::of(ui);
        Self {
            ink: ui.visuals().text_color(),
            track: theme::track(ui.visuals().dark_mode),
            posterior: palette.posterior,
            evidence: palette.evidence,
            prior: palette.prior,
        }
    }

    /// These colours, mixed with `share` of `background`.
    #[must_use]
    pub fn towards(&self, background: Color32, share: f32) -> Self {
        let mix = |colour: Color32| colour.lerp_to_gamma(background, share);
        Self {
            ink: mix(self.ink),
            track: mix(self.track),
            posterior: mix(self.posterior),
            evidence: mix(self.evidence),
            prior: mix(self.prior),
        }
    }
}

/// Where the parts of a row are.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLayout {
    /// The whole row.
    pub row: Rect,
    /// The font; `None` if text would be too small to read.
    pub font: Option<FontId>,
    /// The room for the mark of a finding.
    mark: Rect,
    /// The room for the name.
    label: Rect,
    /// The bar at probability one.
    track: Rect,
    /// Number of decimals of the probability in percent.
    decimals: usize,
}

impl RowLayout {
    /// A row of a list in `row`, in the small font of `ui`.
    #[must_use]
    pub fn in_list(ui: &Ui, row: Rect) -> Self {
        let split = row.left() + row.width() * LABEL_SHARE;
        Self {
            font: Some(small_font(ui)),
            mark: row.with_max_x(row.left() + MARK_WIDTH),
            label: row.with_min_x(row.left() + MARK_WIDTH).with_max_x(split - 6.0),
            track: Rect::from_min_max(
                pos2(split, row.top() + 3.0),
                pos2(row.right() - NUMBER_WIDTH, row.bottom() - 3.0),
            ),
            decimals: 2,
            row,
        }
    }

    /// A row of a picture in `row`, in `font`. The widths are in points; if there is no font, the
    /// bar fills the row.
    #[must_use]
    pub fn in_picture(
        row: Rect,
        font: Option<FontId>,
        label_width: f32,
        number_width: f32,
    ) -> Self {
        let (label_width, number_width) =
            if font.is_some() { (label_width, number_width) } else { (0.0, 0.0) };
        let split = row.left() + label_width;
        let mark_width = (0.6 * row.height()).min(0.25 * label_width);
        let gap = (row.height() * 0.14).max(0.1);
        Self {
            font,
            mark: row.with_max_x(row.left() + mark_width),
            label: row.with_min_x(row.left() + mark_width + 1.0).with_max_x(split - 2.0),
            track: Rect::from_min_max(
                pos2(split, row.top() + gap),
                pos2(row.right() - number_width, row.bottom() - gap),
            ),
            decimals: 1,
            row,
        }
    }
}

/// The font of states and numbers in a list: one point smaller than the body font.
#[must_use]
pub fn small_font(ui: &Ui) -> FontId {
    let body = TextStyle::Body.resolve(ui.style());
    FontId { size: body.size - 1.0, ..body }
}

/// A percentage with `decimals` decimals, never rounded to 0% or 100%: with two decimals `<0.01%`
/// is shown for a small positive probability, and `>99.99%` for one just below 1.
#[must_use]
pub fn percent(p: f64, decimals: usize) -> String {
    let hundred = 100.0 * p;
    let unit = 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    if p > 0.0 && hundred < unit / 2.0 {
        format!("<{unit:.decimals$}%")
    } else if p < 1.0 && hundred >= 100.0 - unit / 2.0 {
        format!(">{:.decimals$}%", 100.0 - unit)
    } else {
        format!("{hundred:.decimals$}%")
    }
}

impl StateBar {
    /// Adds the shapes of the row to `shapes`.
    pub fn paint(
        &self,
        painter: &Painter,
        layout: &RowLayout,
        colours: &BarColours,
        shapes: &mut Vec<Shape>,
    ) {
        let ink = if self.mark == Mark::Observed { colours.evidence } else { colours.ink };
        self.paint_bar(layout, colours, shapes);
        let Some(font) = &layout.font else { return };
        self.paint_mark(layout, colours, shapes);
        let galley = one_line(painter, &self.label, font.clone(), ink, layout.label.width());
        let at = layout.label.left_center() - vec2(0.0, galley.size().y / 2.0);
        shapes.push(Shape::galley(at, galley, ink));
        if let Some(p) = self.probability {
            let ink = if self.style == BarStyle::Faded { faded(ink) } else { ink };
            let text = percent(p, layout.decimals);
            let galley = painter.layout_no_wrap(text, font.clone(), ink);
            let margin = if layout.decimals > 1 { 4.0 } else { 0.0 };
            let end = layout.row.right_center() - vec2(margin, 0.0);
            let at = Align2::RIGHT_CENTER.anchor_size(end, galley.size()).min;
            shapes.push(Shape::galley(at, galley, ink));
        }
    }

    /// Adds the bar, the part that it does not fill, and the tick of the prior.
    pub fn paint_bar(&self, layout: &RowLayout, colours: &BarColours, shapes: &mut Vec<Shape>) {
        let track = layout.track;
        let radius = CornerRadius::same(if track.height() > 10.0 { 2 } else { 0 });
        shapes.push(Shape::rect_filled(track, radius, colours.track));
        if let Some(p) = self.probability {
            let width = track.width() * p.clamp(0.0, 1.0) as f32;
            let bar = Rect::from_min_size(track.min, Vec2::new(width, track.height()));
            let colour = if self.has_finding { colours.evidence } else { colours.posterior };
            let fill = match self.style {
                BarStyle::Filled => colour,
                BarStyle::Faded => faded(colour),
                BarStyle::Outlined => colour.gamma_multiply(OUTLINED_OPACITY),
            };
            shapes.push(Shape::rect_filled(bar, radius, fill));
            if self.style == BarStyle::Outlined && width > 2.0 {
                let stroke = Stroke::new(1.0, colour);
                shapes.push(Shape::rect_stroke(bar, radius, stroke, StrokeKind::Inside));
            }
        }
        if let Some(p) = self.prior {
            let x = track.left() + track.width() * p.clamp(0.0, 1.0) as f32;
            let overhang = (track.height() * 0.12).min(1.5);
            let y = track.y_range().expand(overhang);
            let width = (track.height() / 7.0).clamp(1.0, 2.0);
            shapes.push(Shape::vline(x, y, Stroke::new(width, colours.prior)));
        }
    }

    /// Adds the mark of the finding.
    fn paint_mark(&self, layout: &RowLayout, colours: &BarColours, shapes: &mut Vec<Shape>) {
        let centre = layout.mark.center();
        let radius = (layout.row.height() * 0.18).clamp(1.5, 3.5);
        match self.mark {
            Mark::None => {}
            Mark::Observed => shapes.push(Shape::circle_filled(centre, radius, colours.evidence)),
            Mark::Possible => {
                let stroke = Stroke::new(1.2, colours.evidence);
                shapes.push(Shape::circle_stroke(centre, radius, stroke));
            }
            Mark::Excluded => {
                let stroke = Stroke::new(1.5, colours.evidence);
                for arm in [vec2(radius, radius), vec2(radius, -radius)] {
                    shapes.push(Shape::line_segment([centre - arm, centre + arm], stroke));
                }
            }
        }
    }
}

/// `colour` as it is drawn in faded bars and numbers.
#[must_use]
pub fn faded(colour: Color32) -> Color32 {
    colour.gamma_multiply(FADED_OPACITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certain_and_impossible_states_have_100_and_0_percent() {
        assert_eq!(percent(0.5, 1), "50.0%");
        assert_eq!(percent(0.9995, 1), ">99.9%");
        assert_eq!((percent(0.0, 1), percent(1.0, 1)), ("0.0%".to_owned(), "100.0%".to_owned()));
        assert_eq!((percent(1e-9, 1), percent(1e-9, 2)), ("<0.1%".to_owned(), "<0.01%".to_owned()));
        assert_eq!(
            (percent(0.9999, 1), percent(1.0 - 1e-9, 2)),
            (">99.9%".into(), ">99.99%".into())
        );
    }
}
