//! The time axis: which part of the propagation is in view, and where the ticks are.

use eframe::egui::{Rangef, Response, Ui};

use crate::numbers;

/// Minimum time in view, in nanoseconds, which limits how far the user can zoom in. A shorter
/// propagation does not fill the axis.
const MIN_SPAN: f64 = 100.0;

/// Distance in points by which the wheel must scroll to zoom by a factor of two: a few notches of
/// most mice.
const POINTS_PER_DOUBLING: f64 = 240.0;

/// The part of a propagation that is in view, in nanoseconds since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Left edge.
    pub start: f64,
    /// Right edge, after `start`.
    pub end: f64,
}

impl View {
    /// All of a propagation that took `total` nanoseconds, with a small margin on the right.
    #[must_use]
    pub fn all(total: f64) -> Self {
        Self { start: 0.0, end: (total * 1.01).max(MIN_SPAN) }
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

    /// Where `time` is, as a share of the width. A share outside 0 to 1 is out of view.
    #[must_use]
    pub fn share(self, time: f64) -> f64 {
        (time - self.start) / self.span()
    }

    /// The same part of a propagation that is `factor` times as long.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { start: factor * self.start, end: factor * self.end }
    }

    /// Zoomed in by `factor`. The time at `share` of the width stays where it is, unless the view
    /// would then extend beyond [`all`](Self::all).
    #[must_use]
    pub fn zoomed(self, share: f64, factor: f64, total: f64) -> Self {
        let pivot = self.at(share);
        let span = (self.span() / factor).clamp(MIN_SPAN, Self::all(total).span());
        Self { start: pivot - share * span, end: pivot + (1.0 - share) * span }.clamped(total)
    }

    /// Moved by `shift` nanoseconds, later if positive, but not beyond [`all`](Self::all).
    #[must_use]
    pub fn moved(self, shift: f64, total: f64) -> Self {
        Self { start: self.start + shift, end: self.end + shift }.clamped(total)
    }

    /// Moved only far enough to bring the time from `start` to `end` into view with a margin. If
    /// this time and the margin are longer than the view, `start` comes into view.
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

    /// The view after the mouse wheel and pinch gestures of this frame over `response`. The time
    /// axis covers the horizontal range `across` of the screen.
    #[must_use]
    pub fn wheeled(self, ui: &Ui, response: &Response, across: Rangef, total: f64) -> Self {
        let Some(pointer) = response.hover_pos() else { return self };
        let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta, input.zoom_delta()));
        let mut view = self;
        let factor = f64::from(pinch) * (f64::from(scroll.y) / POINTS_PER_DOUBLING).exp2();
        if factor != 1.0 {
            let share = f64::from(pointer.x - across.min) / f64::from(across.span());
            view = view.zoomed(share.clamp(0.0, 1.0), factor, total);
        }
        // With Shift pressed or the wheel tilted, the wheel scrolls sideways.
        if scroll.x != 0.0 {
            let later = -f64::from(scroll.x) / f64::from(across.span()) * view.span();
            view = view.moved(later, total);
        }
        view
    }

    /// This view, or `None` if it shows (almost) everything. The caller stores `None` so that the
    /// view keeps growing with a running propagation.
    #[must_use]
    pub fn unless_all(self, total: f64) -> Option<Self> {
        (self.span() < Self::all(total).span() * 0.999).then_some(self)
    }

    /// This view, extended to the minimum time in view and kept inside the propagation;
    /// `None` if it shows (almost) everything.
    #[must_use]
    pub fn fitted(self, total: f64) -> Option<Self> {
        let missing = (MIN_SPAN - self.span()).max(0.0);
        let wide = Self { start: self.start - 0.5 * missing, end: self.end + 0.5 * missing };
        wide.clamped(total).unless_all(total)
    }

    /// This view of another run, in a run that takes `total` nanoseconds. `None` if less than half
    /// of it lies within that run, or if it shows (almost) everything: all of the run is shown
    /// then, rather than mostly empty time.
    #[must_use]
    pub fn within(self, total: f64) -> Option<Self> {
        let end = Self::all(total).end;
        if self.end.min(end) - self.start < 0.5 * self.span() {
            return None;
        }
        // A view that suits the run stays exactly as it is.
        if self.end > end { self.clamped(total) } else { self }.unless_all(total)
    }

    /// This view, shortened and moved so that it does not extend beyond [`all`](Self::all).
    fn clamped(self, total: f64) -> Self {
        let all = Self::all(total);
        let span = self.span().min(all.span());
        let start = self.start.clamp(0.0, all.end - span);
        Self { start, end: start + span }
    }
}

/// One tick of the time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Nanoseconds since the start of the propagation.
    pub time: f64,
    /// Its label, such as `0`, `250 µs` or `1.5 ms`.
    pub label: String,
}

/// Ticks in `view` at multiples of 1, 2 or 5 times a power of ten: at most `max_count + 1` of them.
///
/// All labels but `0` have the same unit, and enough decimals to tell them apart.
#[must_use]
pub fn ticks(view: View, max_count: usize) -> Vec<Tick> {
    let step = numbers::round_step(view.span() / max_count.max(1) as f64).max(1.0);
    let (unit, name) = match view.end {
        end if end < 2e3 => (1.0, "ns"),
        end if end < 2e6 => (1e3, "µs"),
        end if end < 2e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let decimals = (-(step / unit).log10().floor()).max(0.0) as usize;
    let first = (view.start / step).ceil() as i64;
    let last = (view.end / step).floor() as i64;
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

    fn labels(view: View, max_count: usize) -> Vec<String> {
        ticks(view, max_count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn tick_labels_are_round_and_distinct() {
        let view = View { start: 0.0, end: 23_000.0 };
        assert_eq!(labels(view, 5), ["0", "5 µs", "10 µs", "15 µs", "20 µs"]);
        let view = View { start: 53_000_400.0, end: 53_002_100.0 };
        assert_eq!(labels(view, 4), ["53.0005 ms", "53.0010 ms", "53.0015 ms", "53.0020 ms"]);
        assert_eq!(labels(View { start: 0.0, end: 900.0 }, 3), ["0", "500 ns"]);
    }

    #[test]
    fn the_number_of_ticks_is_bounded() {
        for power in 2..11 {
            for factor in [1.0, 1.7, 3.3, 9.9] {
                let view = View { start: 0.0, end: factor * 10_f64.powi(power) };
                assert!((2..=9).contains(&ticks(view, 8).len()), "{view:?}");
            }
        }
    }

    #[test]
    fn zooming_keeps_the_time_under_the_pointer() {
        let view = View::all(1e6);
        let zoomed = view.zoomed(0.3, 4.0, 1e6);
        assert!((zoomed.at(0.3) - view.at(0.3)).abs() < 1e-6);
        assert!((zoomed.span() - view.span() / 4.0).abs() < 1e-6);
    }

    #[test]
    fn the_view_stays_inside_the_propagation() {
        let all = View::all(1e6);
        assert_eq!(all.zoomed(0.5, 0.1, 1e6), all);
        assert_eq!(all.zoomed(0.5, 1e12, 1e6).span(), MIN_SPAN);
        let zoomed = all.zoomed(0.5, 10.0, 1e6);
        assert_eq!(zoomed.moved(-1e9, 1e6).start, 0.0);
        assert_eq!(zoomed.moved(1e9, 1e6).end, all.end);
    }

    #[test]
    fn a_view_that_lies_mostly_outside_a_shorter_run_shows_all_of_it() {
        let view = View { start: 600_000.0, end: 800_000.0 };
        assert_eq!(view.within(1e6), Some(view));
        assert_eq!(view.within(500_000.0), None);
        assert_eq!(view.within(650_000.0), None);
        let moved = view.within(750_000.0).expect("most of the view is in the run");
        assert_eq!((moved.end, moved.span()), (View::all(750_000.0).end, view.span()));
        assert_eq!(view.within(0.0), None);
    }

    #[test]
    fn revealing_moves_only_when_needed() {
        let view = View { start: 100_000.0, end: 200_000.0 };
        for (start, end) in [(0.0, 1_000.0), (500_000.0, 501_000.0), (150_000.0, 151_000.0)] {
            let shown = view.revealing(start, end, 1e6);
            assert!(shown.start <= start && end <= shown.end, "{start}");
        }
        assert_eq!(view.revealing(150_000.0, 151_000.0, 1e6), view);
    }
}
