//! Stacking and grouping of bars.

use super::{AxisRange, Panel, PointRef};

/// Total width of the bars at one category, where the distance between categories is 1.
const GROUP_WIDTH: f64 = 0.76;

/// Share of a bar's slot in its group that the bar fills; the rest is the gap to the next bar.
const FILLED: f64 = 0.94;

/// A bar as a rectangle in axis coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarLayout {
    /// The point that the bar shows.
    pub point: PointRef,
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
    /// Upper edge.
    pub top: f64,
}

/// A bar whose ends are values, not yet axis coordinates.
pub(super) struct StackedBar {
    point: PointRef,
    left: f64,
    right: f64,
    /// Values at the lower and the upper end; for a negative bar, at the upper and the lower end.
    from: f64,
    to: f64,
}

/// The bars of `panel`. In each stack, the first bar at an x begins at zero, and each further bar
/// at this x begins where the previous one ends.
pub(super) fn stack(panel: &Panel) -> Vec<StackedBar> {
    let last_stack = panel.series.iter().filter_map(|series| series.stack()).max();
    let stacks = last_stack.map_or(1, |last| last + 1);
    let slot_width = GROUP_WIDTH / stacks as f64;
    // The value that each stack has reached at each x so far.
    let mut ends: Vec<((usize, f64), f64)> = Vec::new();
    let mut bars = Vec::new();
    for (series_index, series) in panel.series.iter().enumerate() {
        let Some(stack) = series.stack() else { continue };
        for (point_index, point) in series.points.iter().enumerate() {
            let Some(x) = panel.x.scale.coordinate(point.x) else { continue };
            let key = (stack, point.x);
            let known = ends.iter().position(|(known, _)| *known == key);
            let index = known.unwrap_or_else(|| {
                ends.push((key, 0.0));
                ends.len() - 1
            });
            let from = ends[index].1;
            ends[index].1 += point.y;
            let left = x - GROUP_WIDTH / 2.0 + stack as f64 * slot_width;
            bars.push(StackedBar {
                point: PointRef { series: series_index, point: point_index },
                left,
                right: left + FILLED * slot_width,
                from,
                to: ends[index].1,
            });
        }
    }
    bars
}

impl StackedBar {
    /// The value at the end of the bar.
    pub fn end(&self) -> f64 {
        self.to
    }

    /// The left and the right edge.
    pub fn edges(&self) -> [f64; 2] {
        [self.left, self.right]
    }

    /// The rectangle of the bar on `y`. An end without a coordinate on `y` is at the base of the
    /// axis.
    pub fn place(&self, y: &AxisRange) -> BarLayout {
        let coordinate = |value| y.scale().coordinate(value).unwrap_or(y.base()).max(y.low);
        let (one, other) = (coordinate(self.from), coordinate(self.to));
        let Self { point, left, right, .. } = *self;
        BarLayout { point, left, right, bottom: one.min(other), top: one.max(other) }
    }
}
