//! One panel: axes, marks and series.

use std::fmt::Write;

use super::legend::{Key, bar, dot, line};
use super::scale::{Range, slanted};
use super::{LEFT, text, text_width};
use crate::experiment::{At, Origin, Panel, Point, Scale, Series, Shape};

/// The rectangle within the axes.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// An area with its ranges.
struct Plot<'p> {
    area: Area,
    across: Range<'p>,
    upright: Range<'p>,
}

impl Plot<'_> {
    fn x(&self, value: f64) -> f64 {
        self.area.x + self.area.width * self.across.place(value).clamp(0.0, 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        self.area.y + self.area.height * (1.0 - self.upright.place(value).clamp(0.0, 1.0))
    }
}

pub(super) fn draw(body: &mut String, panel: &Panel, key: &Key, area: Area) {
    let plot = Plot { area, across: Range::across(panel), upright: Range::upright(panel) };
    let middle = area.x + area.width / 2.0;
    text(body, middle, area.y - 8.0, "middle", "font-size='12'", &panel.title);
    axes(body, panel, &plot);
    draw_bars(body, panel, key, &plot);
    for series in &panel.series {
        let colour = key.colour(&series.label);
        if series.shape == Shape::Line {
            let points: Vec<_> = series.points.iter().map(|p| (plot.x(p.x), plot.y(p.y))).collect();
            line(body, &points, &colour, series.origin);
        }
        if !matches!(series.shape, Shape::Bars { .. }) {
            for point in &series.points {
                dot(body, (plot.x(point.x), plot.y(point.y)), &colour, series.origin);
            }
        }
    }
    draw_marks(body, panel, &plot);
    name_points(body, panel, &plot);
}

fn axes(body: &mut String, panel: &Panel, plot: &Plot) {
    let Area { x, y, width, height } = plot.area;
    let rule = |body: &mut String, from: (f64, f64), to: (f64, f64), colour: &str| {
        let _ = writeln!(
            body,
            "<line x1='{:.1}' y1='{:.1}' x2='{:.1}' y2='{:.1}' stroke='{colour}'/>",
            from.0, from.1, to.0, to.1
        );
    };
    for tick in plot.upright.ticks() {
        let at = plot.y(tick.at);
        rule(body, (x, at), (x + width, at), "#e6e6e6");
        text(body, x - 6.0, at + 4.0, "end", "", &tick.label);
    }
    let names = match &panel.x.scale {
        Scale::Categories(names) => Some(names),
        _ => None,
    };
    // Many names are thinned out.
    let every = names.map_or(1, |n| {
        if slanted(n) { 1 } else { (n.len() as f64 * 22.0 / width).ceil() as usize }
    });
    for (index, tick) in plot.across.ticks().into_iter().enumerate() {
        let at = plot.x(tick.at);
        if names.is_none() {
            rule(body, (at, y), (at, y + height), "#f0f0f0");
        }
        if index % every.max(1) != 0 {
            continue;
        }
        if names.is_some_and(|names| slanted(names)) {
            let (at, below) = (at + 3.0, y + height + 12.0);
            let turn = format!("transform='rotate(-38 {at:.1} {below:.1})'");
            text(body, at, below, "end", &turn, &tick.label);
        } else {
            text(body, at, y + height + 15.0, "middle", "", &tick.label);
        }
    }
    rule(body, (x, y + height), (x + width, y + height), "#444");
    rule(body, (x, y), (x, y + height), "#444");
    if plot.upright.base() == 0.0 {
        let zero = plot.y(0.0);
        rule(body, (x, zero), (x + width, zero), "#444");
    }
    if !panel.x.label.is_empty() {
        let below = y + height + super::scale::label_height(&panel.x) + 12.0;
        text(body, x + width / 2.0, below, "middle", "fill='#444'", &panel.x.label);
    }
    let (left, middle) = (x - LEFT + 12.0, y + height / 2.0);
    let turn = format!("fill='#444' transform='rotate(-90 {left:.1} {middle:.1})'");
    text(body, left, middle, "middle", &turn, &panel.y.label);
}

/// Bars of one stack lie on one another, stacks stand side by side.
fn draw_bars(body: &mut String, panel: &Panel, key: &Key, plot: &Plot) {
    let stack_of = |series: &Series| match series.shape {
        Shape::Bars { stack } => Some(stack),
        _ => None,
    };
    let stacks = panel.series.iter().filter_map(stack_of).max().map_or(0, |stack| stack + 1);
    if stacks == 0 {
        return;
    }
    let slot = (plot.x(1.0) - plot.x(0.0)).abs().min(plot.area.width);
    let thick = 0.76 * slot / stacks as f64;
    let mut tops: Vec<(usize, f64, f64)> = Vec::new();
    for series in &panel.series {
        let Some(stack) = stack_of(series) else { continue };
        for point in &series.points {
            let known = tops.iter().position(|(s, x, _)| (*s, *x) == (stack, point.x));
            let at = known.unwrap_or_else(|| {
                tops.push((stack, point.x, plot.upright.base()));
                tops.len() - 1
            });
            let from = tops[at].2;
            // On an axis that does not begin at zero the first bar ends at its value.
            let to = if known.is_none() { point.y } else { from + point.y };
            tops[at].2 = to;
            let (low, high) = (plot.y(from).max(plot.y(to)), plot.y(from).min(plot.y(to)));
            let left = plot.x(point.x) - 0.38 * slot + stack as f64 * thick;
            let size = (thick * 0.94, low - high);
            bar(body, (left, high), size, &key.colour(&series.label), series.origin);
        }
    }
}

fn draw_marks(body: &mut String, panel: &Panel, plot: &Plot) {
    let Area { x, y, width, height } = plot.area;
    for mark in &panel.marks {
        let (from, to) = match mark.at {
            At::X(at) => ((plot.x(at), y), (plot.x(at), y + height)),
            At::Y(at) => ((x, plot.y(at)), (x + width, plot.y(at))),
            At::Slope(slope) => {
                let Some((low, high)) = both(plot, slope) else { continue };
                ((plot.x(low), plot.y(slope * low)), (plot.x(high), plot.y(slope * high)))
            }
        };
        let colour = if mark.origin == Origin::Paper { "#b00020" } else { "#555" };
        let _ = writeln!(
            body,
            "<line x1='{:.1}' y1='{:.1}' x2='{:.1}' y2='{:.1}' stroke='{colour}' \
             stroke-dasharray='2 3'/>",
            from.0, from.1, to.0, to.1
        );
        let (at, anchor) = match mark.at {
            At::X(_) => ((from.0 + 4.0, y + 12.0), "start"),
            At::Y(_) => ((x + width - 4.0, from.1 - 4.0), "end"),
            At::Slope(_) => ((to.0 - 4.0, to.1 + 22.0), "end"),
        };
        text(body, at.0, at.1, anchor, &format!("fill='{colour}' font-size='10'"), &mark.label);
    }
}

/// The part of the horizontal range where a slope lies within the panel.
fn both(plot: &Plot, slope: f64) -> Option<(f64, f64)> {
    let ends = |range: &Range| match range {
        Range::Linear { low, high } | Range::Log { low, high } => Some((*low, *high)),
        Range::Names(_) => None,
    };
    let ((left, right), (low, high)) = (ends(&plot.across)?, ends(&plot.upright)?);
    let (from, to) = (left.max(low / slope), right.min(high / slope));
    (from < to).then_some((from, to))
}

/// Writes the names of points where there is room beside them.
fn name_points(body: &mut String, panel: &Panel, plot: &Plot) {
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for series in &panel.series {
        if !matches!(series.shape, Shape::Bars { .. }) {
            let around = |p: &Point| {
                let (x, y) = (plot.x(p.x), plot.y(p.y));
                [x - 4.0, y - 4.0, x + 4.0, y + 4.0]
            };
            taken.extend(series.points.iter().map(around));
        }
    }
    let named = panel.series.iter().flat_map(|series| &series.points);
    for point in named.filter(|point| !point.label.is_empty()) {
        let (x, y) = (plot.x(point.x), plot.y(point.y));
        let width = text_width(&point.label, 10.0);
        let beside = [
            (7.0, 3.5),
            (-7.0 - width, 3.5),
            (-width / 2.0, -8.0),
            (-width / 2.0, 15.0),
            (6.0, -6.0),
            (6.0, 13.0),
        ];
        let place = beside.map(|(dx, dy)| [x + dx, y + dy - 8.0, x + dx + width, y + dy + 2.0]);
        let inside = |r: &[f64; 4]| r[0] >= plot.area.x && r[2] <= plot.area.x + plot.area.width;
        let free = |r: &[f64; 4]| {
            inside(r)
                && taken.iter().all(|t| r[2] < t[0] || t[2] < r[0] || r[3] < t[1] || t[3] < r[1])
        };
        let chosen = place.iter().find(|r| free(r)).or_else(|| place.iter().find(|r| inside(r)));
        let chosen = *chosen.unwrap_or(&place[0]);
        taken.push(chosen);
        text(body, chosen[0], chosen[3] - 2.0, "start", "font-size='10' fill='#444'", &point.label);
    }
}
