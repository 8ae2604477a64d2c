//! Where the parts of a panel are drawn.

use super::bars;
use super::{AxisRange, BarLabel, BarLayout, MarkPosition, Panel, Scale};

/// Free space for a value beyond the end of its bar, as a share of the value at this end. On a
/// logarithmic axis, the margin of the axis serves instead.
const HEADROOM: f64 = 0.12;
/// As [`HEADROOM`], if there are so many bars that values are written upward.
const UPRIGHT_HEADROOM: f64 = 0.22;
/// Number of bar labels in a panel above which they are expected to be written upward. With a wrong
/// number, labels at the upper edge may be cut off, or there is unused space.
const MANY_BARS: usize = 12;

/// A point of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointRef {
    /// Index of the series in the panel.
    pub series: usize,
    /// Index of the point in the series.
    pub point: usize,
}

/// A dot in axis coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DotLayout {
    /// The point that the dot shows.
    pub point: PointRef,
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate.
    pub y: f64,
}

/// Where the parts of a panel are drawn, in axis coordinates.
#[derive(Clone, Debug)]
pub struct PanelLayout<'a> {
    /// The horizontal axis.
    pub x: AxisRange<'a>,
    /// The vertical axis.
    pub y: AxisRange<'a>,
    /// All bars, series by series.
    pub bars: Vec<BarLayout>,
    /// The values of the bars.
    pub bar_labels: Vec<BarLabel>,
    /// All dots, series by series. Points that have no position on an axis are left out.
    pub dots: Vec<DotLayout>,
}

impl<'a> PanelLayout<'a> {
    /// The layout of `panel`. The axes show all points, with room for the values of bars, and all
    /// vertical and horizontal marks that have a position on them. A slope may lie outside.
    #[must_use]
    pub fn new(panel: &'a Panel) -> Self {
        let (x_scale, y_scale) = (&panel.x.scale, &panel.y.scale);
        let stacked = bars::stack(panel);
        let dots = dots(panel);
        let x_marks = panel.marks.iter().filter_map(|mark| match mark.position {
            MarkPosition::X(x) => x_scale.coordinate(x),
            _ => None,
        });
        let y_marks = panel.marks.iter().filter_map(|mark| match mark.position {
            MarkPosition::Y(y) => y_scale.coordinate(y),
            _ => None,
        });
        let edges = stacked.iter().flat_map(bars::StackedBar::edges);
        let bar_labels = bars::labels(panel, &stacked);
        let room = if bar_labels.len() > MANY_BARS { UPRIGHT_HEADROOM } else { HEADROOM };
        let end_with_label = |bar: &bars::StackedBar| match y_scale {
            Scale::Log => bar.end(),
            Scale::Linear | Scale::Categories(_) => (1.0 + room) * bar.end(),
        };
        let ends = stacked.iter().filter_map(|bar| y_scale.coordinate(end_with_label(bar)));
        let xs = dots.iter().map(|dot| dot.x).chain(edges).chain(x_marks);
        let x = AxisRange::around(&panel.x, xs);
        let ys = dots.iter().map(|dot| dot.y).chain(ends).chain(y_marks);
        let y = AxisRange::around(&panel.y, ys);
        let bars = stacked.iter().map(|bar| bar.place(&y)).collect();
        Self { x, y, bars, bar_labels, dots }
    }

    /// The dots of a series.
    pub fn dots_of(&self, series: usize) -> impl Iterator<Item = &DotLayout> {
        self.dots.iter().filter(move |dot| dot.point.series == series)
    }

    /// The two ends of the panel's mark at `position`, in axis coordinates. Both are at edges of
    /// the panel. `None` if the mark has no position on these axes, or if it is a slope that does
    /// not cross the panel.
    #[must_use]
    pub fn mark(&self, position: MarkPosition) -> Option<[(f64, f64); 2]> {
        let (x, y) = (&self.x, &self.y);
        match position {
            MarkPosition::X(value) => {
                let at = x.scale().coordinate(value)?;
                Some([(at, y.low), (at, y.high)])
            }
            MarkPosition::Y(value) => {
                let at = y.scale().coordinate(value)?;
                Some([(x.low, at), (x.high, at)])
            }
            MarkPosition::Slope(factor) => {
                // In coordinates the line is y = slope · x + offset.
                let (slope, offset) = match (x.scale(), y.scale()) {
                    (Scale::Linear, Scale::Linear) if factor > 0.0 => (factor, 0.0),
                    (Scale::Log, Scale::Log) if factor > 0.0 => (1.0, factor.log10()),
                    _ => return None,
                };
                let from = x.low.max((y.low - offset) / slope);
                let to = x.high.min((y.high - offset) / slope);
                let point = |x: f64| (x, slope * x + offset);
                (from < to).then(|| [point(from), point(to)])
            }
        }
    }
}

/// The dots of all series that are not bars.
fn dots(panel: &Panel) -> Vec<DotLayout> {
    let mut dots = Vec::new();
    for (series_index, series) in panel.series.iter().enumerate() {
        if series.stack().is_some() {
            continue;
        }
        for (point_index, point) in series.points.iter().enumerate() {
            let x = panel.x.scale.coordinate(point.x);
            let y = panel.y.scale.coordinate(point.y);
            if let Some((x, y)) = x.zip(y) {
                let point = PointRef { series: series_index, point: point_index };
                dots.push(DotLayout { point, x, y });
            }
        }
    }
    dots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Origin, Series, Shape};

    fn panel(x: Axis, y: Axis, series: Vec<Series>) -> Panel {
        Panel { title: String::new(), x, y, series, marks: Vec::new() }
    }

    fn bars(stack: usize, points: &[(f64, f64)]) -> Series {
        Series::new("s", Origin::Live, Shape::Bars { stack }, points.iter().copied())
    }

    #[test]
    fn bars_of_a_stack_are_on_top_of_each_other_and_stacks_side_by_side() {
        let x = Axis::categories("", ["a", "b"]);
        let series = vec![
            bars(0, &[(0.0, 2.0), (1.0, 5.0)]),
            bars(0, &[(0.0, 3.0)]),
            bars(1, &[(0.0, 4.0)]),
        ];
        let panel = panel(x, Axis::linear("ms"), series);
        let layout = PanelLayout::new(&panel);
        let vertical: Vec<_> = layout.bars.iter().map(|bar| (bar.bottom, bar.top)).collect();
        assert_eq!(vertical, [(0.0, 2.0), (0.0, 5.0), (2.0, 5.0), (0.0, 4.0)]);
        assert_eq!(layout.bars[0].left, layout.bars[2].left);
        assert!(layout.bars[0].right < layout.bars[3].left);
        assert_eq!((layout.y.low, layout.y.high), (0.0, 6.0), "with room for the value 5");
    }

    #[test]
    fn every_stack_has_one_label_with_its_value() {
        let x = Axis::categories("", ["a", "b"]);
        let series = vec![
            bars(0, &[(0.0, 2.0), (1.0, -5.0)]),
            bars(0, &[(0.0, 3.25), (1.0, 0.0)]),
            bars(1, &[(0.0, 400.0)]),
        ];
        let panel = panel(x, Axis::linear("ms"), series);
        let labels = PanelLayout::new(&panel).bar_labels;
        let texts: Vec<_> = labels.iter().map(|l| (l.text.as_str(), l.is_below)).collect();
        assert_eq!(texts, [("5.25", false), ("-5", true), ("400", false)]);
        assert_eq!(labels[0].point, PointRef { series: 1, point: 0 }, "the upper bar");
        assert_eq!(labels[1].point, PointRef { series: 0, point: 1 }, "the other bar is empty");
    }

    #[test]
    fn negative_bars_hang_below_zero() {
        let x = Axis::categories("", ["a", "b"]);
        let panel = panel(x, Axis::linear("%"), vec![bars(0, &[(0.0, -4.0), (1.0, 20.0)])]);
        let layout = PanelLayout::new(&panel);
        assert_eq!((layout.bars[0].bottom, layout.bars[0].top), (-4.0, 0.0));
        assert!(layout.y.low <= -4.0);
    }

    #[test]
    fn bars_on_a_logarithmic_axis_begin_at_its_lower_end() {
        let x = Axis::categories("", ["a", "b"]);
        let panel = panel(x, Axis::log("ms"), vec![bars(0, &[(0.0, 1.0), (1.0, 100.0)])]);
        let layout = PanelLayout::new(&panel);
        assert!(layout.bars.iter().all(|bar| bar.bottom == layout.y.low && bar.bottom < bar.top));
    }

    #[test]
    fn a_slope_is_cut_off_at_the_edges_of_the_panel() {
        let points = Series::new("s", Origin::Live, Shape::Points, [(1.0, 10.0), (100.0, 1000.0)]);
        let panel = panel(Axis::log("x"), Axis::log("y"), vec![points]);
        let layout = PanelLayout::new(&panel);
        let [(x0, y0), (x1, y1)] = layout.mark(MarkPosition::Slope(1.0)).unwrap();
        assert_eq!((x0, y0), (layout.y.low, layout.y.low));
        assert_eq!((x1, y1), (layout.x.high, layout.x.high));
        assert_eq!(layout.mark(MarkPosition::Slope(1e9)), None);
        assert_eq!(layout.mark(MarkPosition::Y(0.0)), None);
    }
}
