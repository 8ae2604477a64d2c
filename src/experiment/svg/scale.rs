//! From numbers to places on an axis, and the ticks there.

use super::text_width;
use crate::experiment::{At, Axis, Panel, Scale, Shape};
use crate::numbers::{round_step, short};

/// An axis with its range.
pub(super) enum Range<'a> {
    Linear { low: f64, high: f64 },
    Log { low: f64, high: f64 },
    Names(&'a [String]),
}

/// A tick: where, and what stands there; nothing for a minor one.
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

impl<'a> Range<'a> {
    /// The horizontal range of `panel`.
    pub fn across(panel: &'a Panel) -> Self {
        let points = panel.series.iter().flat_map(|series| series.points.iter().map(|p| p.x));
        let marks = panel.marks.iter().filter_map(|mark| match mark.at {
            At::X(x) => Some(x),
            _ => None,
        });
        Self::of(&panel.x, points.chain(marks))
    }

    /// The vertical range of `panel`, in which stacked bars have room.
    pub fn upright(panel: &'a Panel) -> Self {
        let mut heights: Vec<(usize, f64, f64)> = Vec::new();
        let mut values = Vec::new();
        for series in &panel.series {
            for point in &series.points {
                let Shape::Bars { stack } = series.shape else {
                    values.push(point.y);
                    continue;
                };
                match heights.iter_mut().find(|(s, x, _)| (*s, *x) == (stack, point.x)) {
                    Some((_, _, height)) => *height += point.y,
                    None => heights.push((stack, point.x, point.y)),
                }
            }
        }
        values.extend(heights.iter().map(|(_, _, height)| *height));
        values.extend(panel.marks.iter().filter_map(|mark| match mark.at {
            At::Y(y) => Some(y),
            _ => None,
        }));
        Self::of(&panel.y, values.into_iter())
    }

    fn of(axis: &'a Axis, values: impl Iterator<Item = f64>) -> Self {
        match &axis.scale {
            Scale::Categories(names) => Self::Names(names),
            Scale::Linear => {
                let (low, high) = values.fold((0.0, 0.0), |(low, high): (f64, f64), value| {
                    (low.min(value), high.max(value))
                });
                let step = round_step(((high - low) / 5.0).max(f64::MIN_POSITIVE));
                let up = |value: f64| (value / step - 1e-9).ceil() * step;
                Self::Linear { low: -up(-low), high: if high > low { up(high) } else { 1.0 } }
            }
            Scale::Log => {
                let positive = values.filter(|&value| value > 0.0);
                let (low, high) = positive
                    .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
                        (low.min(value), high.max(value))
                    });
                if high == 0.0 {
                    return Self::Log { low: 1.0, high: 10.0 };
                }
                // Room around the first and the last.
                let room = (high / low).powf(0.06).max(1.15);
                Self::Log { low: low / room, high: high * room }
            }
        }
    }

    /// Where `value` stands: 0 at the beginning, 1 at the end.
    pub fn place(&self, value: f64) -> f64 {
        match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => (value / low).ln() / (high / low).ln(),
            Self::Names(names) => (value + 0.5) / names.len().max(1) as f64,
        }
    }

    /// Where a bar begins.
    pub fn base(&self) -> f64 {
        match self {
            Self::Log { low, .. } => *low,
            _ => 0.0,
        }
    }

    pub fn ticks(&self) -> Vec<Tick> {
        match self {
            Self::Names(names) => {
                let tick =
                    |(at, name): (usize, &String)| Tick { at: at as f64, label: name.clone() };
                names.iter().enumerate().map(tick).collect()
            }
            Self::Linear { low, high } => {
                let step = round_step((high - low) / 5.0);
                let (first, last) = ((low / step).round() as i64, (high / step).round() as i64);
                let tick = |n: i64| Tick { at: n as f64 * step, label: number(n as f64 * step) };
                (first..=last).map(tick).collect()
            }
            Self::Log { low, high } => log_ticks(*low, *high),
        }
    }
}

/// Powers of ten, or 1, 2 and 5 times these where there are few.
fn log_ticks(low: f64, high: f64) -> Vec<Tick> {
    let decades = (high / low).log10();
    let labelled: &[f64] = if decades < 1.0 {
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]
    } else if decades < 2.5 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let every = if decades > 8.0 { 2 } else { 1 };
    let mut ticks = Vec::new();
    for exponent in low.log10().floor() as i32..=high.log10().ceil() as i32 {
        for &factor in labelled {
            let at = factor * 10_f64.powi(exponent);
            if (low..=high).contains(&at) {
                let label = if exponent % every == 0 { number(at) } else { String::new() };
                ticks.push(Tick { at, label });
            }
        }
    }
    ticks
}

fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        return if value < 0.0 { format!("-{}", short(-value)) } else { short(value) };
    }
    // Sums of steps have rounding errors far behind the point.
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Space for the labels of a horizontal axis.
pub(super) fn label_height(axis: &Axis) -> f64 {
    match &axis.scale {
        Scale::Categories(names) if slanted(names) => {
            let widest = names.iter().map(|name| text_width(name, 11.0)).fold(0.0, f64::max);
            14.0 + 0.6 * widest
        }
        _ => 18.0,
    }
}

/// Whether names are too long to stand level.
pub(super) fn slanted(names: &[String]) -> bool {
    names.iter().any(|name| name.chars().count() > 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: &Range) -> Vec<String> {
        range.ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            labels(&Range::Linear { low: 0.0, high: 1.0 }),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(
            labels(&Range::Linear { low: -20.0, high: 20.0 }),
            ["-20", "-10", "0", "10", "20"]
        );
        assert_eq!(labels(&Range::Log { low: 0.5, high: 2e6 })[..3], ["1", "10", "100"]);
        assert_eq!(
            labels(&Range::Log { low: 14.0, high: 1100.0 }),
            ["20", "50", "100", "200", "500", "1 k"]
        );
    }

    #[test]
    fn what_is_drawn_lies_within_the_axes() {
        let axis = Axis::linear("y");
        for values in [vec![], vec![3.0], vec![-1.0, 2.5], vec![-4.0]] {
            let range = Range::of(&axis, values.iter().copied());
            assert!(values.iter().all(|&v| (0.0..=1.0).contains(&range.place(v))), "{values:?}");
            assert!((0.0..=1.0).contains(&range.place(0.0)), "{values:?}");
        }
        let axis = Axis::log("y");
        for values in [vec![], vec![7.0], vec![0.001, 1e6]] {
            let range = Range::of(&axis, values.iter().copied());
            assert!(values.iter().all(|&v| (0.0..=1.0).contains(&range.place(v))), "{values:?}");
            assert!(range.ticks().iter().all(|t| (0.0..=1.0).contains(&range.place(t.at))));
        }
    }
}
