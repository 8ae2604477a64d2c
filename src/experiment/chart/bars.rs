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

/// The lines of a hatched rectangle, from the lower left to the upper right. The rectangle is given
/// as left, top, right and bottom, and each line by the coordinates of its ends, x before y; y
/// grows downward. `distance` is the horizontal distance between two lines.
#[must_use]
pub fn hatch_lines([left, top, right, bottom]: [f64; 4], distance: f64) -> Vec<[f64; 4]> {
    let height = bottom - top;
    let mut lines = Vec::new();
    // Where the line crosses the lower edge, as if the rectangle were wider.
    let mut start = left - height + distance / 2.0;
    while start < right {
        let (from, to) = (start.max(left), (start + height).min(right));
        lines.push([from, bottom - (from - start), to, bottom - (to - start)]);
        start += distance;
    }
    lines
}

/// The value of a stack of bars, to be written at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct BarLabel {
    /// The value as text.
    pub text: String,
    /// The last bar of the stack that is not empty, or the first bar if all are empty. The text
    /// belongs at its end.
    pub point: PointRef,
    /// Whether the stack hangs below zero, so that the text belongs below its end.
    pub is_below: bool,
}

/// The labels of all stacks in `bars`, which are the bars of `panel`. Stacks of height zero have a
/// label only if they are differences: an empty bin of a histogram needs none.
pub(super) fn labels(panel: &Panel, bars: &[StackedBar]) -> Vec<BarLabel> {
    let mut ends: Vec<&StackedBar> = Vec::new();
    for bar in bars {
        match ends.iter_mut().find(|end| end.stack == bar.stack) {
            Some(end) if (bar.to - bar.from).abs() > 0.0 => *end = bar,
            Some(_) => {}
            None => ends.push(bar),
        }
    }
    let label = |bar: &StackedBar| BarLabel {
        text: panel.y.value_text(bar.to),
        point: bar.point,
        is_below: bar.to < 0.0,
    };
    let is_labelled = |bar: &&StackedBar| panel.y.signed || bar.to.abs() > 0.0;
    ends.into_iter().filter(is_labelled).map(label).collect()
}

/// A bar whose ends are values, not yet axis coordinates.
pub(super) struct StackedBar {
    point: PointRef,
    /// Number of the stack, and the value on the horizontal axis where the bar stands.
    stack: (usize, f64),
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
                stack: key,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hatch_lines_stay_within_the_rectangle_and_are_parallel() {
        let lines = hatch_lines([10.0, 20.0, 30.0, 70.0], 5.0);
        assert_eq!(lines.len(), 14, "the sum of width and height, divided by the distance");
        for [x0, y0, x1, y1] in lines {
            assert!(x0 >= 10.0 && x1 <= 30.0 && y0 <= 70.0 && y1 >= 20.0);
            assert!((x1 - x0 - (y0 - y1)).abs() < 1e-9 && x1 > x0);
        }
    }
}
