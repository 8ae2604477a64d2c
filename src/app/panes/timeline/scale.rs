//! The time axis: what part of the propagation is in view, and where its ticks are.

use eframe::egui::{Rangef, Response, Ui};

use crate::numbers;

/// The shortest span that can be zoomed to, in nanoseconds; clocks are not finer than this.
const SHORTEST: f64 = 100.0;

/// The part of a propagation that is in view, in nanoseconds since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Left edge.
    pub start: f64,
    /// Right edge, after `start`.
    pub end: f64,
}

impl Window {
    /// All of a propagation that took `total` nanoseconds, with a little room to the right.
    #[must_use]
    pub fn all(total: f64) -> Self {
        Self { start: 0.0, end: (total * 1.01).max(SHORTEST) }
    }

    /// Nanoseconds in view.
    #[must_use]
    pub fn span(self) -> f64 {
        self.end - self.start
    }

    /// The time at `share` of the width.
    #[must_use]
    pub fn at(self, share: f64) -> f64 {
        self.start + share * self.span()
    }

    /// Where `time` is, as a share of the width; outside of 0 to 1 it is not in view.
    #[must_use]
    pub fn share(self, time: f64) -> f64 {
        (time - self.start) / self.span()
    }

    /// Shows `factor` times as little, with what is at `share` of the width staying there.
    #[must_use]
    pub fn zoomed(self, share: f64, factor: f64, total: f64) -> Self {
        let pivot = self.at(share);
        let span = (self.span() / factor).clamp(SHORTEST, Self::all(total).span());
        Self { start: pivot - share * span, end: pivot + (1.0 - share) * span }.kept_inside(total)
    }

    /// Shows what is `shift` nanoseconds later.
    #[must_use]
    pub fn moved(self, shift: f64, total: f64) -> Self {
        Self { start: self.start + shift, end: self.end + shift }.kept_inside(total)
    }

    /// Moved by as little as brings `start` to `end` into view, or its start if it is too long.
    #[must_use]
    pub fn revealing(self, start: f64, end: f64, total: f64) -> Self {
        if start < self.start {
            self.moved(start - self.start - 0.1 * self.span(), total)
        } else if end > self.end {
            let shift = (end - self.end + 0.1 * self.span()).min(start - self.start);
            self.moved(shift, total)
        } else {
            self
        }
    }

    /// What is in view after the wheel and the pinch of this frame, whose time axis in `response` is
    /// `across` the screen.
    #[must_use]
    pub fn wheeled(self, ui: &Ui, response: &Response, across: Rangef, total: f64) -> Self {
        let Some(pointer) = response.hover_pos() else { return self };
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta, input.zoom_delta()));
        let mut window = self;
        // With shift held down the wheel scrolls sideways, and a wheel may tilt by itself.
        let factor = f64::from(pinch) * (f64::from(scroll.y) / 240.0).exp2();
        if factor != 1.0 {
            let share = f64::from(pointer.x - across.min) / f64::from(across.span());
            window = window.zoomed(share.clamp(0.0, 1.0), factor, total);
        }
        if scroll.x != 0.0 {
            let later = -f64::from(scroll.x) / f64::from(across.span()) * window.span();
            window = window.moved(later, total);
        }
        window
    }

    /// Nothing where it is all there is, so that what comes later is in view too.
    #[must_use]
    pub fn unless_all(self, total: f64) -> Option<Self> {
        (self.span() < Self::all(total).span() * 0.999).then_some(self)
    }

    fn kept_inside(self, total: f64) -> Self {
        let all = Self::all(total);
        let span = self.span().min(all.span());
        let start = self.start.clamp(0.0, all.end - span);
        Self { start, end: start + span }
    }
}

/// One tick of the time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// When, in nanoseconds.
    pub time: f64,
    /// What stands beside it: `0`, `250 µs`, `1.5 ms`.
    pub label: String,
}

/// Ticks in `window` at 1, 2 or 5 times a power of ten, at most `most` of them.
///
/// All are written in one unit and with as many decimals as tell them apart.
#[must_use]
pub fn ticks(window: Window, most: usize) -> Vec<Tick> {
    let step = numbers::round_step(window.span() / most.max(1) as f64).max(1.0);
    let (unit, name) = match window.end {
        end if end < 2e3 => (1.0, "ns"),
        end if end < 2e6 => (1e3, "µs"),
        end if end < 2e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let decimals = (-(step / unit).log10().floor()).max(0.0) as usize;
    let first = (window.start / step).ceil() as i64;
    let last = (window.end / step).floor() as i64;
    let tick = |index: i64| {
        let time = index as f64 * step;
        let label =
            if index == 0 { "0".to_owned() } else { format!("{:.decimals$} {name}", time / unit) };
        Tick { time, label }
    };
    (first..=last).map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(window: Window, most: usize) -> Vec<String> {
        ticks(window, most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_told_apart() {
        let window = Window { start: 0.0, end: 23_000.0 };
        assert_eq!(labels(window, 5), ["0", "5 µs", "10 µs", "15 µs", "20 µs"]);
        let window = Window { start: 53_000_400.0, end: 53_002_100.0 };
        assert_eq!(labels(window, 4), ["53.0005 ms", "53.0010 ms", "53.0015 ms", "53.0020 ms"]);
        assert_eq!(labels(Window { start: 0.0, end: 900.0 }, 3), ["0", "500 ns"]);
    }

    #[test]
    fn there_are_never_more_ticks_than_asked_for() {
        for power in 2..11 {
            for factor in [1.0, 1.7, 3.3, 9.9] {
                let window = Window { start: 0.0, end: factor * 10_f64.powi(power) };
                assert!((2..=9).contains(&ticks(window, 8).len()), "{window:?}");
            }
        }
    }

    #[test]
    fn zooming_keeps_the_time_under_the_pointer() {
        let window = Window::all(1e6);
        let zoomed = window.zoomed(0.3, 4.0, 1e6);
        assert!((zoomed.at(0.3) - window.at(0.3)).abs() < 1e-6);
        assert!((zoomed.span() - window.span() / 4.0).abs() < 1e-6);
    }

    #[test]
    fn the_window_stays_inside_the_propagation() {
        let all = Window::all(1e6);
        assert_eq!(all.zoomed(0.5, 0.1, 1e6), all);
        assert_eq!(all.zoomed(0.5, 1e12, 1e6).span(), SHORTEST);
        let zoomed = all.zoomed(0.5, 10.0, 1e6);
        assert_eq!(zoomed.moved(-1e9, 1e6).start, 0.0);
        assert_eq!(zoomed.moved(1e9, 1e6).end, all.end);
    }

    #[test]
    fn what_is_out_of_view_is_brought_into_view() {
        let window = Window { start: 100_000.0, end: 200_000.0 };
        for (start, end) in [(0.0, 1_000.0), (500_000.0, 501_000.0), (150_000.0, 151_000.0)] {
            let shown = window.revealing(start, end, 1e6);
            assert!(shown.start <= start && end <= shown.end, "{start}");
        }
        assert_eq!(window.revealing(150_000.0, 151_000.0, 1e6), window);
    }
}
