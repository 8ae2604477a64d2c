//! One panel as a plot.

use eframe::egui::{
    self, Color32, Id, Rangef, Rect, Response, Sense, Stroke, StrokeKind, Ui, Vec2b, WidgetInfo,
    WidgetType,
};
use egui_plot::{AxisHints, Bar, BarChart, Line, Plot, PlotPoint, PlotTransform, PlotUi};

use super::axis::{grid_marks, label_at};
use super::hit::{ScreenShape, hit};
use super::labels::{show_bar_labels, show_mark_labels, show_point_labels};
use super::legend::{DOT_RADIUS, bar_fill, draw_marker, hatch, line_style, series_colour};
use super::names::NameLayout;
use crate::experiment::chart::{
    BarLabel, BarLayout, Legend, Marker, Panel, PanelLayout, PointRef, Scale, label_with_origin,
};

/// A point with an outline.
#[derive(Clone, Copy, Debug)]
pub struct HighlightedPoint {
    /// The point.
    pub point: PointRef,
    /// The colour of the outline.
    pub colour: Color32,
}

/// A panel and how to draw it.
#[derive(Clone, Copy)]
pub struct PanelView<'a> {
    /// An id that stays the same in every frame and that no other panel has.
    pub id: Id,
    /// The panel.
    pub panel: &'a Panel,
    /// The colours of the series.
    pub legend: &'a Legend,
    /// Height of the plot with its axes, in points.
    pub height: f32,
    /// Points with an outline.
    pub highlighted: &'a [HighlightedPoint],
}

/// Width of the vertical axis with its labels, in points, estimated: egui_plot makes the axis as
/// wide as its labels.
pub(super) const AXIS_WIDTH: f32 = 60.0;

/// Distances between numbers on a horizontal axis, in points: at the minimum, the numbers start to
/// appear; at the maximum, they are fully visible.
const NUMBER_SPACING: Rangef = Rangef { min: 40.0, max: 60.0 };
/// As [`NUMBER_SPACING`], for names. The distances are small, because names are shortened to fit.
const NAME_SPACING: Rangef = Rangef { min: 12.0, max: 16.0 };

/// Number of dots in a series above which the dots are smaller and translucent, so that they hide
/// less of each other.
const MANY_DOTS: usize = 200;
/// Radius of the smaller dots in points.
const SMALL_DOT_RADIUS: f32 = 2.5;
/// Height of a line of text of an axis, in points.
const LINE_HEIGHT: f32 = 14.0;

impl PanelView<'_> {
    /// Draws the panel. Returns the point under the pointer, and the response of the plot.
    pub fn show(&self, ui: &mut Ui) -> (Option<PointRef>, Response) {
        let panel = self.panel;
        if !panel.title.is_empty() {
            ui.vertical_centered(|ui| ui.strong(&panel.title));
        }
        let layout = PanelLayout::new(panel);
        let names = match &panel.x.scale {
            Scale::Categories(names) => {
                Some(NameLayout::new(names, ui.available_width() - AXIS_WIDTH))
            }
            Scale::Linear | Scale::Log => None,
        };
        let (mut x_ticks, y_ticks) = (layout.x.ticks(), layout.y.ticks());
        if let Some(names) = &names {
            names.apply(&mut x_ticks);
        }
        let (x_marks, y_marks) = (grid_marks(&x_ticks), grid_marks(&y_ticks));
        let x_axis = AxisHints::new_x()
            .label(panel.x.label.as_str())
            .min_thickness(
                names.as_ref().map_or(LINE_HEIGHT, |names| names.rows as f32 * LINE_HEIGHT),
            )
            .formatter(move |mark, _| label_at(&x_ticks, mark.value))
            .label_spacing(if names.is_some() { NAME_SPACING } else { NUMBER_SPACING });
        let plot = fixed_plot(self.id, self.height)
            .default_x_bounds(layout.x.low, layout.x.high)
            .default_y_bounds(layout.y.low, layout.y.high)
            .y_axis_label(panel.y.label.as_str())
            .x_grid_spacer(move |_| x_marks.clone())
            .y_grid_spacer(move |_| y_marks.clone())
            .custom_x_axes(vec![x_axis])
            .y_axis_formatter(move |mark, _| label_at(&y_ticks, mark.value))
            .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.5))
            .sense(Sense::click());
        let colours: Vec<Color32> = panel
            .series
            .iter()
            .map(|series| series_colour(ui, self.legend.colour(&series.label)))
            .collect();
        let plot = plot.show(ui, |plot| {
            plot.set_plot_bounds_x(layout.x.low..=layout.x.high);
            plot.set_plot_bounds_y(layout.y.low..=layout.y.high);
            self.draw(plot, &layout, &colours);
        });
        let response = plot.response;
        let description = || self.description(&layout);
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Other, true, description()));
        let shapes = screen_shapes(&layout, &plot.transform);
        self.draw_points(ui, response.rect, &shapes, &colours);
        self.draw_highlights(ui, response.rect, &shapes);
        show_bar_labels(ui, response.rect, &layout, &shapes);
        let rect = response.rect;
        let labels = show_point_labels(ui, rect, panel, &shapes);
        show_mark_labels(ui, rect, panel, &layout, &shapes, &plot.transform, labels);
        let point = response.hover_pos().and_then(|pointer| hit(pointer, &shapes));
        (point, response)
    }

    /// The text for screen readers, with the values of bars and the totals of stacked bars.
    fn description(&self, layout: &PanelLayout) -> String {
        let Panel { title, x, y, series, .. } = self.panel;
        let names = series.iter().map(|s| label_with_origin(&s.label, s.origin));
        let names = names.collect::<Vec<String>>().join(", ");
        let mut text = format!("Plot {title}: {} against {}; {names}", y.label, x.label);
        for BarLabel { text: value, point, .. } in &layout.bar_labels {
            let category = series[point.series].points[point.point].x;
            if let Scale::Categories(names) = &x.scale
                && let Some(name) = names.get(category.round().max(0.0) as usize)
            {
                text.push_str(&format!("; {name} {value}"));
            }
        }
        text
    }

    /// Draws bars, lines and marks in axis coordinates.
    fn draw(&self, plot: &mut PlotUi<'_>, layout: &PanelLayout, colours: &[Color32]) {
        let bar = |bar: &BarLayout| {
            let (series, colour) =
                (&self.panel.series[bar.point.series], colours[bar.point.series]);
            Bar::new(f64::midpoint(bar.left, bar.right), bar.top - bar.bottom)
                .base_offset(bar.bottom)
                .width(bar.right - bar.left)
                .fill(bar_fill(colour, series.origin))
                .stroke(Stroke::new(1.0, colour))
        };
        let bars: Vec<Bar> = layout.bars.iter().map(bar).collect();
        if !bars.is_empty() {
            plot.bar_chart(BarChart::new("bars", bars).allow_hover(false));
        }
        for (index, series) in self.panel.series.iter().enumerate() {
            if series.is_joined(&self.panel.x.scale) {
                let dots: Vec<[f64; 2]> = layout.dots_of(index).map(|dot| [dot.x, dot.y]).collect();
                let line = Line::new(series.label.clone(), dots).color(colours[index]).width(1.8);
                plot.line(line.style(line_style(series.origin)).allow_hover(false));
            }
        }
        let ink = plot.ctx().global_style().visuals.text_color();
        for mark in &self.panel.marks {
            let Some(ends) = layout.mark(mark.position) else { continue };
            let ends: Vec<[f64; 2]> = ends.map(<[f64; 2]>::from).to_vec();
            let line = Line::new(label_with_origin(&mark.label, mark.origin), ends).color(ink);
            plot.line(line.style(line_style(mark.origin)).allow_hover(false));
        }
    }

    /// Draws the dots, and the hatching of all stacks of bars but the first.
    fn draw_points(
        &self,
        ui: &Ui,
        rect: Rect,
        shapes: &[(PointRef, ScreenShape)],
        colours: &[Color32],
    ) {
        let painter = ui.painter_at(rect);
        let markers: Vec<Marker> =
            self.panel.series.iter().map(|series| self.legend.marker(series)).collect();
        for &(point, shape) in shapes {
            let series = &self.panel.series[point.series];
            match shape {
                ScreenShape::Bar(bar) if series.stack().is_some_and(|stack| stack > 0) => {
                    hatch(ui, &painter, bar);
                }
                ScreenShape::Bar(_) => {}
                ScreenShape::Dot(centre) => {
                    let (marker, colour) = (markers[point.series], colours[point.series]);
                    let (radius, colour) = if series.points.len() > MANY_DOTS {
                        (SMALL_DOT_RADIUS, colour.gamma_multiply(0.75))
                    } else {
                        (DOT_RADIUS, colour)
                    };
                    draw_marker(ui, &painter, centre, radius, marker, colour);
                }
            }
        }
    }

    /// Outlines the highlighted points.
    fn draw_highlights(&self, ui: &Ui, rect: Rect, shapes: &[(PointRef, ScreenShape)]) {
        let painter = ui.painter_at(rect);
        for HighlightedPoint { point, colour } in self.highlighted {
            for (_, shape) in shapes.iter().filter(|(shown, _)| shown == point) {
                match shape {
                    ScreenShape::Dot(centre) => {
                        painter.circle_stroke(*centre, 6.0, Stroke::new(2.0, *colour));
                    }
                    ScreenShape::Bar(bar) => {
                        painter.rect_stroke(*bar, 0, (2.0, *colour), StrokeKind::Inside);
                    }
                }
            }
        }
    }
}

/// A plot that cannot be moved or scaled, `height` points high with its axes.
pub fn fixed_plot<'a>(id: impl std::hash::Hash + std::fmt::Debug, height: f32) -> Plot<'a> {
    Plot::new(id)
        .height(height)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_double_click_reset(false)
        .allow_axis_zoom_drag(false)
        .show_x(false)
        .show_y(false)
        .show_crosshair(false)
        .set_margin_fraction(egui::Vec2::ZERO)
        .auto_bounds(Vec2b::FALSE)
}

/// What every point looks like on the screen, and where.
fn screen_shapes(layout: &PanelLayout, transform: &PlotTransform) -> Vec<(PointRef, ScreenShape)> {
    let bars = layout.bars.iter().map(|bar| {
        let (corner, opposite) =
            (PlotPoint::new(bar.left, bar.bottom), PlotPoint::new(bar.right, bar.top));
        (bar.point, ScreenShape::Bar(transform.rect_from_values(&corner, &opposite)))
    });
    let dots = layout.dots.iter().map(|dot| {
        let centre = transform.position_from_point(&PlotPoint::new(dot.x, dot.y));
        (dot.point, ScreenShape::Dot(centre))
    });
    bars.chain(dots).collect()
}
