//! Figures as data, and their layout.
//!
//! A [`Figure`] says what to draw: panels with axes, series of points and reference lines. The
//! layout of a panel ([`PanelLayout`]) gives all positions: the range of each axis, its ticks, and
//! the bars and dots. The SVG files (`experiment/svg`) and the window (`app/widgets/figure`) draw
//! the same layout.
//!
//! Positions are in *axis coordinates*: the value itself, or its decimal logarithm on a
//! logarithmic axis. Each renderer maps them to its own pixels.

mod axis;
mod bars;
mod credits;
mod figure;
mod labels;
mod layout;
mod legend;
mod marker;
mod time_unit;

pub use axis::{AxisRange, Tick};
pub use bars::{BarLabel, BarLayout, hatch_lines};
pub use credits::Credit;
pub use figure::{Axis, Figure, Mark, MarkPosition, Panel, Point, Scale, Series, Shape};
pub use labels::{LabelBox, Placement, PointLabel, clear_of_dots, place_labels, place_mark_label};
pub use layout::{DotLayout, PanelLayout, PointRef};
pub use legend::{EXECUTION, Legend, LegendEntry, LineStyle, OVERHEAD, label_with_origin};
pub use marker::{Marker, MarkerForm};
pub use time_unit::TimeUnit;
