//! Axes of plots: places of values, lines across, and what stands beside them.
//!
//! `egui_plot` knows no logarithmic axes; they are drawn from logarithms to the base ten.

use std::ops::RangeInclusive;

use egui_plot::GridMark;

use crate::experiment::Scale;
use crate::numbers;

/// Where `value` stands on an axis; nowhere if it has no logarithm and needs one.
#[must_use]
pub fn place(scale: &Scale, value: f64) -> Option<f64> {
    match scale {
        Scale::Log => (value > 0.0).then(|| value.log10()),
        Scale::Linear | Scale::Categories(_) => value.is_finite().then_some(value),
    }
}

/// The part of an axis that shows all of `places`, with a little room around them.
#[must_use]
pub fn bounds(scale: &Scale, places: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
        (low.min(place), high.max(place))
    });
    match scale {
        Scale::Categories(names) => (-0.6, names.len().max(1) as f64 - 0.4),
        _ if low > high => (0.0, 1.0),
        Scale::Linear => {
            let (low, high) = (low.min(0.0), high.max(0.0));
            let span = if high > low { high - low } else { 1.0 };
            (if low < 0.0 { low - 0.05 * span } else { 0.0 }, high + 0.08 * span)
        }
        Scale::Log => {
            let room = (0.06 * (high - low)).max(0.15);
            (low - room, high + room)
        }
    }
}

/// The lines across the axis in `view`, at most about `most` that are written at.
#[must_use]
pub fn marks(scale: &Scale, view: (f64, f64), most: usize) -> Vec<GridMark> {
    match scale {
        Scale::Log => decade_marks(view),
        Scale::Linear => linear_marks(view, most),
        Scale::Categories(names) => {
            let mark = |index| GridMark { value: index as f64, step_size: 1.0 };
            (0..names.len()).map(mark).collect()
        }
    }
}

/// What stands at `value` where `view` is shown and a name may have `room` characters.
#[must_use]
pub fn label(scale: &Scale, value: f64, view: &RangeInclusive<f64>, room: usize) -> String {
    match scale {
        Scale::Log if value < -1e-9 => below_one(value),
        Scale::Log => decade_label(value, view.end() - view.start()),
        Scale::Linear => numbers::short(value),
        Scale::Categories(names) => {
            let name = (value >= 0.0).then(|| names.get(value.round() as usize)).flatten();
            name.map_or_else(String::new, |name| shortened(name, room))
        }
    }
}

/// `0.1`, `0.01` at the powers of ten.
fn below_one(value: f64) -> String {
    let power = value.round();
    if (value - power).abs() < 1e-6 {
        format!("{}", 10_f64.powi(power as i32))
    } else {
        String::new()
    }
}

/// `name`, or its beginning where it has more than `room` characters.
fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    let start: String = name.chars().take(room.saturating_sub(1)).collect();
    format!("{start}…")
}

/// Lines at 1, 2 or 5 times a power of ten.
fn linear_marks((low, high): (f64, f64), most: usize) -> Vec<GridMark> {
    let step = numbers::round_step((high - low) / most.max(1) as f64);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// A line at every power of ten, and a fainter one at every other whole multiple.
#[must_use]
pub fn decade_marks((low, high): (f64, f64)) -> Vec<GridMark> {
    let mut marks = Vec::new();
    for decade in low.floor() as i32..=high.ceil() as i32 {
        for multiple in 1..10 {
            let value = f64::from(decade) + f64::from(multiple).log10();
            let step_size = if multiple == 1 { 1.0 } else { 0.1 };
            marks.push(GridMark { value, step_size });
        }
    }
    marks.retain(|mark| (low..=high).contains(&mark.value));
    marks
}

/// `1`, `10`, `100`, `1 k` at the powers of ten; where fewer than two decades are in view (`span`),
/// also at two and five times them.
#[must_use]
pub fn decade_label(value: f64, span: f64) -> String {
    let size = 10_f64.powf(value).round();
    let digit = size / 10_f64.powf((value + 1e-9).floor());
    let written: &[f64] = if span < 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let is_written = written.iter().any(|wanted| (digit - wanted).abs() < 1e-6);
    if is_written && value > -1e-9 { numbers::short(size) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_read_as_powers_of_ten() {
        let labels: Vec<String> = decade_marks((-0.1, 4.3))
            .iter()
            .map(|mark| decade_label(mark.value, 4.4))
            .filter(|label| !label.is_empty())
            .collect();
        assert_eq!(labels, ["1", "10", "100", "1 k", "10 k"]);
        let labels: Vec<String> = decade_marks((0.3, 1.1))
            .iter()
            .map(|mark| decade_label(mark.value, 0.8))
            .filter(|label| !label.is_empty())
            .collect();
        assert_eq!(labels, ["2", "5", "10"]);
    }

    #[test]
    fn everything_is_in_view_with_room_around() {
        let (low, high) = bounds(&Scale::Linear, [3.0, 10.0].into_iter());
        assert_eq!(low, 0.0, "an even axis begins at zero");
        assert!(high > 10.0 && high < 12.0);
        let (low, high) = bounds(&Scale::Log, [2.0, 4.0].into_iter());
        assert!(low < 2.0 && high > 4.0);
        let names = Scale::Categories(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(bounds(&names, std::iter::empty()), (-0.6, 1.6));
        assert_eq!(bounds(&Scale::Log, std::iter::empty()), (0.0, 1.0));
    }

    #[test]
    fn names_are_shortened_where_there_is_no_room() {
        let names = Scale::Categories(vec!["diabetes".to_owned()]);
        let at = |value, room| label(&names, value, &(0.0..=1.0), room);
        assert_eq!((at(0.0, 8).as_str(), at(0.0, 4).as_str()), ("diabetes", "dia…"));
        assert_eq!((at(-0.6, 8).as_str(), at(1.0, 8).as_str()), ("", ""));
    }

    #[test]
    fn times_below_one_are_written_at_the_powers_of_ten() {
        let at = |value| label(&Scale::Log, value, &(-3.0..=2.0), 9);
        assert_eq!(
            ["0.01", "", "1", "10"],
            [at(-2.0), at(-1.7), at(0.0), at(1.0)].each_ref().map(|s| s.as_str())
        );
    }

    #[test]
    fn only_what_has_a_logarithm_stands_on_a_logarithmic_axis() {
        assert_eq!(place(&Scale::Log, 100.0), Some(2.0));
        assert_eq!(place(&Scale::Log, 0.0), None);
        assert_eq!(place(&Scale::Linear, 0.0), Some(0.0));
    }
}
