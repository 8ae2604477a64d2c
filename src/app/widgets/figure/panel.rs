//! One panel as a plot.

use eframe::egui::{self, Color32, Id, Response, Sense, Stroke, Ui, Vec2b, WidgetInfo, WidgetType};
use egui_plot::{
    AxisHints, Bar, BarChart, HLine, Line, Plot, PlotPoint, PlotPoints, PlotTransform, PlotUi,
    Points, VLine,
};

use super::axis;
use super::hit::{Hit, Spot, under};
use super::legend::{Legend, bar_fill, marker_of, named, style_of};
use crate::experiment::{At, Origin, Panel, Scale, Series, Shape};

/// A point that is drawn larger, with a ring of this colour.
#[derive(Clone, Copy, Debug)]
pub struct Lit {
    /// The point.
    pub hit: Hit,
    /// The colour.
    pub colour: Color32,
}

/// A panel and how it is to be drawn.
pub struct PanelView<'a> {
    /// Tells the panel from all others, in every frame alike.
    pub id: Id,
    /// The panel.
    pub panel: &'a Panel,
    /// The colours of the series.
    pub legend: &'a Legend,
    /// Height of the plot with its axes, in points.
    pub height: f32,
    /// Points that stand out.
    pub lit: &'a [Lit],
}

/// Width of what stands left of the axes, of the gap between names, and of a letter, in points.
const BESIDE: f32 = 60.0;
const GAP: f32 = 6.0;
const LETTER: f32 = 6.5;

/// Width of a panel with so many names of so many letters on its axis, in points.
pub(super) fn width_for(names: usize, letters: usize) -> f32 {
    // As in `bounds`, there is a little room at either end.
    BESIDE + (names as f32 + 0.2) * (letters as f32 * LETTER + GAP)
}

/// A bar on its axes: from left to right, and from its foot to its head.
struct Block {
    hit: Hit,
    centre: f64,
    width: f64,
    foot: f64,
    head: f64,
}

impl PanelView<'_> {
    /// Draws the panel. What is under the pointer, and the response to pointing and clicking.
    pub fn show(&self, ui: &mut Ui) -> (Option<Hit>, Response) {
        let Self { panel, .. } = self;
        if !panel.title.is_empty() {
            ui.vertical_centered(|ui| ui.strong(&panel.title));
        }
        let blocks = self.blocks();
        let (x_view, y_view) = self.views(&blocks);
        let room = self.room(ui, x_view);
        let (x, y) = (&panel.x.scale, &panel.y.scale);
        // Names are shortened to what there is room for, so none need be left out.
        let apart = if matches!(x, Scale::Categories(_)) { 12.0..=16.0 } else { 40.0..=60.0 };
        let across = AxisHints::new_x()
            .label(panel.x.label.as_str())
            .formatter(move |mark, view| axis::label(x, mark.value, view, room))
            .label_spacing(egui::Rangef::from(apart));
        let grid = ui.visuals().weak_text_color().gamma_multiply(0.5);
        let plot = Plot::new(self.id)
            .height(self.height)
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
            .default_x_bounds(x_view.0, x_view.1)
            .default_y_bounds(y_view.0, y_view.1)
            .y_axis_label(panel.y.label.as_str())
            .x_grid_spacer(move |input| axis::marks(x, input.bounds, 8))
            .y_grid_spacer(move |input| axis::marks(y, input.bounds, 5))
            .custom_x_axes(vec![across])
            .y_axis_formatter(move |mark, view| axis::label(y, mark.value, view, room))
            .grid_color(grid)
            .sense(Sense::click())
            .show(ui, |plot| {
                plot.set_plot_bounds_x(x_view.0..=x_view.1);
                plot.set_plot_bounds_y(y_view.0..=y_view.1);
                self.draw(plot, &blocks, x_view);
            });
        let response = plot.response;
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Other, true, self.spoken()));
        let spots = self.spots(&plot.transform, &blocks);
        self.light(ui, response.rect, &spots);
        self.name_marks(ui, response.rect, &plot.transform);
        let hit = response.hover_pos().and_then(|pointer| under(pointer, &spots));
        (hit, response)
    }

    /// What a screen reader says.
    fn spoken(&self) -> String {
        let Panel { title, x, y, series, .. } = self.panel;
        let series: Vec<String> = series.iter().map(|s| named(&s.label, s.origin)).collect();
        format!("Plot {title}: {} against {}; {}", y.label, x.label, series.join(", "))
    }

    /// The bars of all series: those of one stack on one another, stacks side by side.
    fn blocks(&self) -> Vec<Block> {
        let stacks = self.panel.series.iter().filter_map(|series| match series.shape {
            Shape::Bars { stack } => Some(stack),
            _ => None,
        });
        let count = stacks.max().map_or(0, |last| last + 1);
        let width = 0.8 / count.max(1) as f64;
        let floor = self.floor();
        // Heads of the bars so far, on an even scale.
        let mut heads: Vec<((usize, u64), f64)> = Vec::new();
        let mut blocks = Vec::new();
        for (series, of) in self.panel.series.iter().enumerate() {
            let Shape::Bars { stack } = of.shape else { continue };
            for (point, at) in of.points.iter().enumerate() {
                let key = (stack, at.x.to_bits());
                let known = heads.iter().position(|(known, _)| *known == key);
                let index = known.unwrap_or_else(|| {
                    heads.push((key, 0.0));
                    heads.len() - 1
                });
                let from = heads[index].1;
                heads[index].1 += at.y.max(0.0);
                let to_place = |value| axis::place(&self.panel.y.scale, value).unwrap_or(floor);
                let Some(middle) = axis::place(&self.panel.x.scale, at.x) else { continue };
                blocks.push(Block {
                    hit: Hit { series, point },
                    centre: middle + width * (stack as f64 - (count as f64 - 1.0) / 2.0),
                    width: width * 0.94,
                    foot: to_place(from).max(floor),
                    head: to_place(heads[index].1).max(floor),
                });
            }
        }
        blocks
    }

    /// Where bars stand: at zero, or below the least of them where there is no zero.
    fn floor(&self) -> f64 {
        let panel = self.panel;
        match panel.y.scale {
            crate::experiment::Scale::Log => {
                let points = panel.series.iter().flat_map(|series| &series.points);
                let places = points.filter_map(|point| axis::place(&panel.y.scale, point.y));
                places.fold(f64::INFINITY, f64::min).min(1e9).floor()
            }
            _ => 0.0,
        }
    }

    /// What the axes show.
    fn views(&self, blocks: &[Block]) -> ((f64, f64), (f64, f64)) {
        let panel = self.panel;
        let dots = || {
            let dotted = |series: &&Series| !matches!(series.shape, Shape::Bars { .. });
            panel.series.iter().filter(dotted).flat_map(|series| &series.points)
        };
        let marks = || panel.marks.iter().map(|mark| mark.at);
        let of_x = dots().filter_map(|point| axis::place(&panel.x.scale, point.x));
        let of_x = of_x.chain(blocks.iter().flat_map(|block| {
            [block.centre - block.width / 2.0, block.centre + block.width / 2.0]
        }));
        let of_x = of_x.chain(marks().filter_map(|at| match at {
            At::X(x) => axis::place(&panel.x.scale, x),
            _ => None,
        }));
        let of_y = dots().filter_map(|point| axis::place(&panel.y.scale, point.y));
        let of_y = of_y.chain(blocks.iter().flat_map(|block| [block.foot, block.head]));
        let of_y = of_y.chain(marks().filter_map(|at| match at {
            At::Y(y) => axis::place(&panel.y.scale, y),
            _ => None,
        }));
        let x_view = axis::bounds(&panel.x.scale, of_x);
        let (mut low, high) = axis::bounds(&panel.y.scale, of_y);
        if !blocks.is_empty() {
            low = self.floor();
        }
        (x_view, (low, high))
    }

    /// Characters that a name on the horizontal axis may have.
    fn room(&self, ui: &Ui, (low, high): (f64, f64)) -> usize {
        let each = (ui.available_width() - BESIDE) / (high - low).max(1.0) as f32;
        ((each - GAP) / LETTER).max(3.0) as usize
    }

    fn draw(&self, plot: &mut PlotUi<'_>, blocks: &[Block], x_view: (f64, f64)) {
        let bar = |block: &Block| {
            let series = &self.panel.series[block.hit.series];
            let colour = self.legend.colour(&series.label);
            Bar::new(block.centre, block.head - block.foot)
                .base_offset(block.foot)
                .width(block.width)
                .fill(bar_fill(colour, series.origin))
                .stroke(Stroke::new(1.0, colour))
        };
        let bars: Vec<Bar> = blocks.iter().map(bar).collect();
        if !bars.is_empty() {
            plot.bar_chart(BarChart::new("bars", bars).allow_hover(false));
        }
        for series in &self.panel.series {
            self.draw_dots(plot, series);
        }
        let ink = plot.ctx().global_style().visuals.text_color();
        for mark in &self.panel.marks {
            let style = style_of(mark.origin);
            let name = named(&mark.label, mark.origin);
            let (x, y) = (&self.panel.x.scale, &self.panel.y.scale);
            match mark.at {
                At::X(at) => {
                    if let Some(at) = axis::place(x, at) {
                        plot.vline(VLine::new(name, at).color(ink).style(style).allow_hover(false));
                    }
                }
                At::Y(at) => {
                    if let Some(at) = axis::place(y, at) {
                        plot.hline(HLine::new(name, at).color(ink).style(style).allow_hover(false));
                    }
                }
                At::Slope(factor) => {
                    let line = slope(self.panel, factor, x_view);
                    plot.line(Line::new(name, line).color(ink).style(style).allow_hover(false));
                }
            }
        }
    }

    fn draw_dots(&self, plot: &mut PlotUi<'_>, series: &Series) {
        if matches!(series.shape, Shape::Bars { .. }) {
            return;
        }
        let colour = self.legend.colour(&series.label);
        let places: Vec<[f64; 2]> =
            series.points.iter().filter_map(|point| self.place(point.x, point.y)).collect();
        if series.shape == Shape::Line {
            let line = Line::new(series.label.clone(), PlotPoints::from(places.clone()));
            plot.line(
                line.color(colour).width(1.8).style(style_of(series.origin)).allow_hover(false),
            );
        }
        if series.origin == Origin::Paper {
            // They may stand on bars of their colour.
            let ground = plot.ctx().global_style().visuals.extreme_bg_color;
            let around = Points::new(series.label.clone(), PlotPoints::from(places.clone()));
            let around = around.shape(marker_of(series.origin)).radius(5.5).color(ground);
            plot.points(around.allow_hover(false));
        }
        let many = places.len() > 200;
        let dots = Points::new(series.label.clone(), PlotPoints::from(places))
            .shape(marker_of(series.origin))
            .filled(series.origin != Origin::Predicted)
            .radius(if many { 2.5 } else { 4.0 })
            .color(if many { colour.gamma_multiply(0.75) } else { colour });
        plot.points(dots.allow_hover(false));
    }

    fn place(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        Some([axis::place(&self.panel.x.scale, x)?, axis::place(&self.panel.y.scale, y)?])
    }

    /// Where all points are on the screen.
    fn spots(&self, transform: &PlotTransform, blocks: &[Block]) -> Vec<(Hit, Spot)> {
        let mut spots: Vec<(Hit, Spot)> = Vec::new();
        for block in blocks {
            let half = block.width / 2.0;
            let rect = transform.rect_from_values(
                &PlotPoint::new(block.centre - half, block.foot),
                &PlotPoint::new(block.centre + half, block.head),
            );
            spots.push((block.hit, Spot::Bar(rect)));
        }
        for (series, of) in self.panel.series.iter().enumerate() {
            if matches!(of.shape, Shape::Bars { .. }) {
                continue;
            }
            for (point, at) in of.points.iter().enumerate() {
                if let Some([x, y]) = self.place(at.x, at.y) {
                    let at = transform.position_from_point(&PlotPoint::new(x, y));
                    spots.push((Hit { series, point }, Spot::Dot(at)));
                }
            }
        }
        spots
    }

    /// Rings around the points that stand out, and words beside those that have some where there
    /// are few.
    fn light(&self, ui: &Ui, rect: egui::Rect, spots: &[(Hit, Spot)]) {
        let painter = ui.painter_at(rect);
        for lit in self.lit {
            for (_, spot) in spots.iter().filter(|(hit, _)| *hit == lit.hit) {
                match spot {
                    Spot::Dot(at) => {
                        painter.circle_stroke(*at, 6.0, Stroke::new(2.0, lit.colour));
                    }
                    Spot::Bar(bar) => {
                        let inside = egui::StrokeKind::Inside;
                        painter.rect_stroke(*bar, 0, (2.0, lit.colour), inside);
                    }
                }
            }
        }
        self.captions(ui, &painter, rect, spots);
    }

    /// Says at each mark what it marks: those of upright lines one below another, so that neighbours
    /// can be read.
    fn name_marks(&self, ui: &Ui, rect: egui::Rect, transform: &PlotTransform) {
        let painter = ui.painter_at(rect);
        let (font, ink) = (egui::FontId::proportional(11.0), ui.visuals().text_color());
        let bounds = transform.bounds();
        let mut row = 0.0;
        for mark in &self.panel.marks {
            let words = named(&mark.label, mark.origin);
            let galley = painter.layout_no_wrap(words, font.clone(), ink);
            let (x, y) = (&self.panel.x.scale, &self.panel.y.scale);
            let (place, upright) = match mark.at {
                At::X(at) => (axis::place(x, at).map(|at| [at, bounds.max()[1]]), true),
                At::Y(at) => (axis::place(y, at).map(|at| [bounds.max()[0], at]), false),
                At::Slope(factor) => (slope_end(self.panel, factor, bounds.max()), false),
            };
            let Some([x, y]) = place else { continue };
            let mut at = transform.position_from_point(&PlotPoint::new(x, y));
            if upright {
                at.y += row;
                row += galley.size().y;
            }
            let at = caption_at(at, galley.size(), upright, rect);
            let plate = egui::Rect::from_min_size(at, galley.size()).expand(1.0);
            // Points lie thick around the line that is named.
            painter.rect_filled(plate, 2.0, ui.visuals().extreme_bg_color.gamma_multiply(0.8));
            painter.galley(at, galley, ink);
        }
    }

    /// Words beside points, where there is room.
    fn captions(&self, ui: &Ui, painter: &egui::Painter, rect: egui::Rect, spots: &[(Hit, Spot)]) {
        let font = egui::FontId::proportional(11.0);
        let ink = ui.visuals().text_color();
        let mut taken: Vec<egui::Rect> = Vec::new();
        for (hit, spot) in spots {
            let text = &self.panel.series[hit.series].points[hit.point].label;
            let Spot::Dot(at) = spot else { continue };
            if text.is_empty() || spots.len() > 60 {
                continue;
            }
            let galley = painter.layout_no_wrap(text.clone(), font.clone(), ink);
            let size = galley.size();
            let right = *at + egui::vec2(7.0, -size.y / 2.0);
            let left = *at + egui::vec2(-7.0 - size.x, -size.y / 2.0);
            let places = [right, left].map(|min| egui::Rect::from_min_size(min, size));
            let free = places.into_iter().find(|place| {
                rect.contains_rect(*place) && !taken.iter().any(|other| other.intersects(*place))
            });
            if let Some(place) = free {
                taken.push(place);
                painter.galley(place.min, galley, ink);
            }
        }
    }
}

/// Where the words of a mark stand.
fn caption_at(at: egui::Pos2, size: egui::Vec2, upright: bool, rect: egui::Rect) -> egui::Pos2 {
    let beside =
        if upright { egui::vec2(4.0, 2.0) } else { egui::vec2(-size.x - 4.0, -size.y - 1.0) };
    let least = rect.min + egui::vec2(2.0, 2.0);
    let most = (rect.max - size - egui::vec2(2.0, 2.0)).max(least);
    (at + beside).clamp(least, most)
}

/// Where the line on which y is `factor` times x leaves the view at its upper right.
fn slope_end(panel: &Panel, factor: f64, [right, top]: [f64; 2]) -> Option<[f64; 2]> {
    use crate::experiment::Scale;
    let value = |scale: &Scale, place: f64| match scale {
        Scale::Log => 10_f64.powf(place),
        _ => place,
    };
    let x = value(&panel.x.scale, right).min(value(&panel.y.scale, top) / factor);
    Some([axis::place(&panel.x.scale, x)?, axis::place(&panel.y.scale, factor * x)?])
}

/// The line on which y is `factor` times x.
fn slope(panel: &Panel, factor: f64, (from, to): (f64, f64)) -> PlotPoints<'static> {
    use crate::experiment::Scale;
    let steps = 64;
    let points = (0..=steps).filter_map(|step| {
        let place = from + (to - from) * f64::from(step) / f64::from(steps);
        let x = if panel.x.scale == Scale::Log { 10_f64.powf(place) } else { place };
        Some([place, axis::place(&panel.y.scale, factor * x)?])
    });
    PlotPoints::from(points.collect::<Vec<_>>())
}
