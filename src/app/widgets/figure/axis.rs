//! Ticks of the chart model as grid marks of `egui_plot`, whose own axes are all linear.

use egui_plot::GridMark;

use crate::experiment::chart::Tick;

/// Grid lines at `ticks`.
#[must_use]
pub fn grid_marks(ticks: &[Tick]) -> Vec<GridMark> {
    let mark = |tick: &Tick| GridMark { value: tick.coordinate, step_size: tick.spacing };
    ticks.iter().map(mark).collect()
}

/// The label of the tick at `coordinate`; empty if no tick is there.
#[must_use]
pub fn label_at(ticks: &[Tick], coordinate: f64) -> String {
    let tick = ticks.iter().find(|tick| (tick.coordinate - coordinate).abs() < 1e-9);
    tick.map_or_else(String::new, |tick| tick.label.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, chart::AxisRange};

    #[test]
    fn a_logarithmic_axis_is_labelled_at_the_powers_of_ten() {
        let log = Axis::log("");
        let ticks = AxisRange::new(&log, -3.0, 2.0).ticks();
        let labels = [-2.0, -1.7, 0.0, 1.0].map(|coordinate| label_at(&ticks, coordinate));
        assert_eq!(labels, ["0.01", "", "1", "10"]);
        assert!(grid_marks(&ticks).iter().any(|mark| mark.step_size < 1.0));
    }
}
