//! Names on a horizontal axis: in one row if they fit, otherwise alternately in two rows.

use crate::app::widgets::short_text::shortened;
use crate::experiment::chart::Tick;

/// Gap between two names, in points.
const GAP: f32 = 6.0;

/// Average width of a letter in the axis font in points, estimated. If it is too small, names
/// overlap; if it is too large, names are shortened without need.
const LETTER_WIDTH: f32 = 6.5;

/// Number of rows in which names are written if they do not fit in one.
const ROWS: usize = 2;

/// How the names of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NameLayout {
    /// Number of rows.
    pub rows: usize,
    /// Maximum number of letters of a name; longer ones are shortened.
    max_letters: usize,
}

impl NameLayout {
    /// The layout of `names` on an axis that is `width` points wide.
    pub fn new(names: &[String], width: f32) -> Self {
        let letters = |rows: usize| {
            let room = rows as f32 * width / names.len().max(1) as f32;
            ((room - GAP) / LETTER_WIDTH).max(3.0) as usize
        };
        let rows = if longest(names) <= letters(1) { 1 } else { ROWS };
        Self { rows, max_letters: letters(rows) }
    }

    /// Shortens the labels of `ticks`, moves them to their rows, and sets the spacing of each tick
    /// to the distance of the next name in the same row.
    pub fn apply(self, ticks: &mut [Tick]) {
        for (index, tick) in ticks.iter_mut().enumerate() {
            let name = shortened(&tick.label, self.max_letters as f32, |_| 1.0);
            tick.label = "\n".repeat(index % self.rows) + &name;
            tick.spacing = self.rows as f64;
        }
    }
}

/// Width in points at which an axis has room for `names` in full.
pub(super) fn width_for(names: &[String]) -> f32 {
    names.len() as f32 * (longest(names) as f32 * LETTER_WIDTH + GAP) / ROWS as f32
}

/// The number of letters of the longest name.
fn longest(names: &[String]) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Axis;
    use crate::experiment::chart::AxisRange;

    /// The labels of an axis with four names on `width` points.
    fn labels(width: f32) -> Vec<String> {
        let names = ["diabetes", "pigs", "mildew", "munin2"].map(str::to_owned);
        let axis = Axis::categories("", names.clone());
        let mut ticks = AxisRange::new(&axis, -0.5, 3.5).ticks();
        NameLayout::new(&names, width).apply(&mut ticks);
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn names_are_in_one_row_or_alternate_between_two_rows_or_are_shortened_in_the_middle() {
        assert_eq!(labels(300.0), ["diabetes", "pigs", "mildew", "munin2"]);
        let names = ["diabetes", "pigs", "mildew", "munin2"].map(str::to_owned);
        assert_eq!(labels(width_for(&names)), ["diabetes", "\npigs", "mildew", "\nmunin2"]);
        let narrow = labels(80.0);
        assert_eq!(narrow[1], "\npigs");
        assert!(narrow[0].starts_with('d') && narrow[0].ends_with('s') && narrow[0].contains('…'));
    }
}
