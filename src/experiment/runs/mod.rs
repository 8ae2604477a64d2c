//! The experiments, one per file.

mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod ladder;
mod merging;
mod model;
mod table1;

use super::{Experiment, Origin, Series, Shape};

/// All experiments, in the order in which they are listed.
pub(super) static ALL: &[Experiment] = &[
    table1::EXPERIMENT,
    fig4::EXPERIMENT,
    fig5::EXPERIMENT,
    fig6::EXPERIMENT,
    fig7::EXPERIMENT,
    fig8::EXPERIMENT,
    model::EXPERIMENT,
    merging::EXPERIMENT,
    ladder::EXPERIMENT,
];

/// A series of dots with labels. Points are x, y and label.
fn labelled_dots(
    label: impl Into<String>,
    origin: Origin,
    points: impl IntoIterator<Item = (f64, f64, String)>,
) -> Series {
    let mut series = Series::new(label, origin, Shape::Points, []);
    series.points.extend(points.into_iter().map(|(x, y, label)| super::Point { x, y, label }));
    series
}

/// A series with a bar, in stack number `stack`, for each category that has a value; `values` is in
/// the order of the categories.
fn bars(
    label: impl Into<String>,
    origin: Origin,
    stack: usize,
    values: impl IntoIterator<Item = Option<f64>>,
) -> Series {
    let values = values.into_iter().enumerate();
    let points = values.filter_map(|(index, value)| Some((index as f64, value?)));
    Series::new(label, origin, Shape::Bars { stack }, points)
}

/// A series with a dot for each category that has a value; `values` is in the order of the
/// categories.
fn dots(
    label: impl Into<String>,
    origin: Origin,
    values: impl IntoIterator<Item = Option<f64>>,
) -> Series {
    let values = values.into_iter().enumerate();
    let points = values.filter_map(|(index, value)| Some((index as f64, value?)));
    Series::new(label, origin, Shape::Points, points)
}
