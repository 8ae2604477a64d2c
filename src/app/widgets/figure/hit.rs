//! What is under the pointer in a panel.

use eframe::egui::{Pos2, Rect, Ui};

use super::legend::named;
use crate::experiment::{Axis, Panel, Scale};
use crate::numbers;

/// How near the pointer has to come to a point, in points of the screen.
const REACH: f32 = 9.0;

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Place of the series in its panel.
    pub series: usize,
    /// Place of the point in its series.
    pub point: usize,
}

/// Where a point was drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spot {
    /// As a dot.
    Dot(Pos2),
    /// As a bar.
    Bar(Rect),
}

/// What of `spots` is under `pointer`: the bar around it, or the nearest dot.
pub(super) fn under(pointer: Pos2, spots: &[(Hit, Spot)]) -> Option<Hit> {
    let distance = |spot: &Spot| match spot {
        Spot::Dot(at) => at.distance(pointer),
        // A low bar can be pointed at as well as a high one.
        Spot::Bar(rect) => rect.expand2(eframe::egui::vec2(0.0, 3.0)).distance_to_pos(pointer),
    };
    let reached = |spot: &Spot| match spot {
        Spot::Dot(_) => distance(spot) <= REACH,
        Spot::Bar(_) => distance(spot) <= 0.0,
    };
    let near = spots.iter().filter(|(_, spot)| reached(spot));
    near.min_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1))).map(|(hit, _)| *hit)
}

/// Says what the point is and where its numbers come from.
pub fn describe(ui: &mut Ui, panel: &Panel, hit: Hit) {
    let Some(series) = panel.series.get(hit.series) else { return };
    let Some(point) = series.points.get(hit.point) else { return };
    ui.strong(named(&series.label, series.origin));
    if !point.label.is_empty() {
        ui.label(&point.label);
    }
    ui.label(value(&panel.x, point.x));
    ui.label(value(&panel.y, point.y));
}

/// `Time, µs: 12.3`.
fn value(axis: &Axis, value: f64) -> String {
    let text = match &axis.scale {
        Scale::Categories(names) => {
            return names.get(value.round().max(0.0) as usize).cloned().unwrap_or_default();
        }
        _ if value.fract() == 0.0 && (0.0..1e15).contains(&value) => {
            numbers::thousands(value as u64)
        }
        _ if value.abs() >= 1e5 => numbers::thousands(value.round() as u64),
        _ => format!("{}", (value * 1e4).round() / 1e4),
    };
    if axis.label.is_empty() { text } else { format!("{}: {text}", axis.label) }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn the_nearest_dot_in_reach_is_under_the_pointer_and_so_is_a_bar() {
        let hit = |series, point| Hit { series, point };
        let bar = Rect::from_min_max(pos2(100.0, 0.0), pos2(120.0, 50.0));
        let spots = [
            (hit(0, 0), Spot::Dot(pos2(10.0, 10.0))),
            (hit(0, 1), Spot::Dot(pos2(14.0, 10.0))),
            (hit(1, 0), Spot::Bar(bar)),
        ];
        assert_eq!(under(pos2(13.0, 11.0), &spots), Some(hit(0, 1)));
        assert_eq!(under(pos2(40.0, 10.0), &spots), None);
        assert_eq!(under(pos2(110.0, 51.0), &spots), Some(hit(1, 0)));
        assert_eq!(under(pos2(125.0, 20.0), &spots), None);
    }

    #[test]
    fn values_are_said_with_their_axis() {
        assert_eq!(value(&Axis::log("Entries"), 12_000.0), "Entries: 12,000");
        assert_eq!(value(&Axis::linear("Share"), 0.25), "Share: 0.25");
        assert_eq!(value(&Axis::of("", ["asia", "pigs"]), 1.0), "pigs");
    }
}
