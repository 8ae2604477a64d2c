//! Ticks of the chart model as grid marks of `egui_plot`, whose own axes are all linear.

use egui_plot::GridMark;

use crate::experiment::chart::Tick;

/// Grid lines at `ticks`.
#[must_use]
pub fn grid_marks(ticks: &[Tick]) -> Vec<GridMark> {
    let mark = |tick: &Tick| GridMark { value: tick.coordinate, step_size: tick.spacing };
    ticks.iter().map(mark).collect()
}

/// The label of the tick at `coordinate`, of at most `max_chars` characters; empty if no tick is
/// there.
#[must_use]
pub fn label_at(ticks: &[Tick], coordinate: f64, max_chars: usize) -> String {
    let tick = ticks.iter().find(|tick| (tick.coordinate - coordinate).abs() < 1e-9);
    tick.map_or_else(String::new, |tick| shortened(&tick.label, max_chars))
}

/// `text`, or its beginning and an ellipsis if it has more than `max_chars` characters.
fn shortened(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let start: String = text.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Scale, chart::AxisRange};

    #[test]
    fn long_names_are_shortened() {
        let names = Scale::Categories(vec!["diabetes".to_owned()]);
        let ticks = AxisRange::new(&names, -0.5, 0.5).ticks();
        let label = |coordinate, max_chars| label_at(&ticks, coordinate, max_chars);
        assert_eq!((label(0.0, 8).as_str(), label(0.0, 4).as_str()), ("diabetes", "dia…"));
        assert_eq!((label(-0.6, 8).as_str(), label(1.0, 8).as_str()), ("", ""));
    }

    #[test]
    fn a_logarithmic_axis_is_labelled_at_the_powers_of_ten() {
        let ticks = AxisRange::new(&Scale::Log, -3.0, 2.0).ticks();
        let labels = [-2.0, -1.7, 0.0, 1.0].map(|coordinate| label_at(&ticks, coordinate, 9));
        assert_eq!(labels, ["0.01", "", "1", "10"]);
        assert!(grid_marks(&ticks).iter().any(|mark| mark.step_size < 1.0));
    }
}
