//! Where the parts of the timeline are on the screen.

use eframe::egui::{
    Pos2, Rangef, Rect, ScrollArea, Ui, UiBuilder, containers::scroll_area::ScrollSource, vec2,
};

use super::axis::View;
use super::rows::TimelineRow;

/// Height of the time axis in points.
pub(super) const AXIS_HEIGHT: f32 = 18.0;
/// Height of the row of stages in points.
const STAGES_HEIGHT: f32 = 18.0;
/// Width of the row names in points: enough for `thread 10  idle >99.9%`.
pub(super) const GUTTER: f32 = 128.0;
/// Width in points of the space for the scroll bar.
pub(super) const SCROLL_BAR: f32 = 12.0;
/// Height in points of a row with one track.
const ROW_HEIGHT: f32 = 20.0;
/// Height in points of each track of a row with several tracks.
const TRACK_HEIGHT: f32 = 13.0;
/// Height in points that pinned rows leave for the rows that scroll, if the chart is high enough.
const MIN_SCROLLED: f32 = 40.0;

/// Minimum height in points of a row, or of its visible part, with its name. The names of lower
/// rows would overlap.
pub(super) const MIN_NAME_HEIGHT: f32 = 11.0;

/// Where the name of a row is drawn. `whole` is the place of the row, and `visible` the part of it
/// that is in view. If the visible part has no room for the name, it is drawn in the whole row.
pub(super) fn name_place(whole: Rect, visible: Rect) -> Rect {
    if visible.height() >= MIN_NAME_HEIGHT { visible } else { whole }
}

/// The geometry of the timeline in one frame.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// The part of the propagation in view.
    pub view: View,
    /// The chart: everything but the names of the rows and the scroll bar.
    pub chart: Rect,
    /// The row of stages.
    pub stages: Rect,
    /// The area of the pinned rows.
    pub pinned: Rect,
    /// The area of the rows that scroll: all others.
    pub scrolled: Rect,
    /// By row: its rectangle, which may extend beyond its [area](Self::area_of).
    pub rows: Vec<Rect>,
    /// By row: whether it is pinned.
    pub is_pinned: Vec<bool>,
    /// By row: its number of tracks.
    tracks: Vec<usize>,
    /// Total height in points of the rows that scroll.
    content: f32,
    /// The distance in points by which these rows are scrolled.
    pub scroll: f32,
}

/// The height of a row in points.
fn row_height(row: &TimelineRow) -> f32 {
    match row.tracks.len() {
        0 | 1 => ROW_HEIGHT,
        tracks => tracks as f32 * TRACK_HEIGHT + 2.0,
    }
}

impl Geometry {
    /// The geometry of a timeline in `rect`. `is_pinned` says which rows are pinned. The other rows
    /// are scrolled by `scroll` points, but not further than to the end of the last row.
    pub fn new(
        rect: Rect,
        rows: &[TimelineRow],
        is_pinned: Vec<bool>,
        view: View,
        scroll: f32,
    ) -> Self {
        let mut chart = rect;
        chart.min.x += GUTTER;
        chart.max.x = (chart.max.x - SCROLL_BAR).max(chart.min.x + 1.0);
        let below = |top: f32, height: f32| {
            let top = top.min(chart.bottom());
            Rect::from_x_y_ranges(chart.x_range(), top..=(top + height).min(chart.bottom()))
        };
        let stages = below(chart.top() + AXIS_HEIGHT + 2.0, STAGES_HEIGHT);
        let heights = rows.iter().map(row_height);
        let sum = |pinned: bool| {
            let rows = heights.clone().zip(&is_pinned);
            let rows = rows.filter(move |(_, is_pinned)| **is_pinned == pinned);
            rows.map(|(height, _)| height).sum::<f32>()
        };
        let room = (chart.bottom() - stages.bottom() - 8.0 - MIN_SCROLLED).max(0.0);
        let pinned = below(stages.bottom() + 4.0, sum(true).min(room));
        let gap = if pinned.height() > 0.0 { 4.0 } else { 0.0 };
        let scrolled = below(pinned.bottom() + gap, f32::INFINITY);
        let content = sum(false);
        let scroll = scroll.clamp(0.0, (content - scrolled.height()).max(0.0));
        let mut tops = [scrolled.top() - scroll, pinned.top()];
        let placed = heights.clone().zip(&is_pinned).map(|(height, &is_pinned)| {
            let top = &mut tops[usize::from(is_pinned)];
            let row = Rect::from_x_y_ranges(chart.x_range(), *top..=*top + height);
            *top += height;
            row
        });
        let placed = placed.collect();
        let tracks = rows.iter().map(|row| row.tracks.len().max(1)).collect();
        Self {
            view,
            chart,
            stages,
            pinned,
            scrolled,
            rows: placed,
            is_pinned,
            tracks,
            content,
            scroll,
        }
    }

    /// As [`new`](Self::new), but with rows as low as needed to show all of them.
    pub fn fitted(rect: Rect, rows: &[TimelineRow], view: View) -> Self {
        let mut all = Self::new(rect, rows, vec![false; rows.len()], view, 0.0);
        let (top, room) = (all.scrolled.top(), all.scrolled.height());
        let share = (room / all.content.max(1.0)).min(1.0);
        for row in &mut all.rows {
            let fitted = |y: f32| top + share * (y - top);
            *row = Rect::from_x_y_ranges(row.x_range(), fitted(row.top())..=fitted(row.bottom()));
        }
        all.content *= share;
        all
    }

    /// The time at horizontal position `x`.
    pub fn time_at(&self, x: f32) -> f64 {
        self.view.at(f64::from(x - self.chart.left()) / f64::from(self.chart.width()))
    }

    /// The horizontal position of `time`.
    pub fn x(&self, time: f64) -> f32 {
        self.chart.left() + (self.view.share(time) * f64::from(self.chart.width())) as f32
    }

    /// The time in nanoseconds that a width of `points` shows.
    pub fn time_across(&self, points: f32) -> f64 {
        f64::from(points) / f64::from(self.chart.width()) * self.view.span()
    }

    /// The area in which the row with index `row` is drawn.
    pub fn area_of(&self, row: usize) -> Rect {
        if self.is_pinned[row] { self.pinned } else { self.scrolled }
    }

    /// The indices of the rows that are at least partly visible.
    pub fn visible(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows.len()).filter(|&row| {
            let (rect, area) = (self.rows[row], self.area_of(row));
            rect.bottom() > area.top() && rect.top() < area.bottom()
        })
    }

    /// The indices of the row and of its track at `pos`, if there is one.
    pub fn track_at(&self, pos: Pos2) -> Option<(usize, usize)> {
        let hit = |row: &usize| self.rows[*row].contains(pos) && self.area_of(*row).contains(pos);
        let row = self.visible().find(hit)?;
        let tracks = self.tracks[row];
        let share = (pos.y - self.rows[row].top()) / self.rows[row].height();
        Some((row, ((share * tracks as f32) as usize).min(tracks - 1)))
    }

    /// The vertical range of the bars in `track` of `row`.
    pub fn track_y(&self, row: usize, track: usize) -> Rangef {
        // Low rows have lower gaps, and their bars are at least one point high to be seen.
        let gap = |height: f32| (0.1 * height).min(1.0);
        let rect = self.rows[row];
        let rect = rect.shrink2(vec2(0.0, gap(rect.height())));
        let height = rect.height() / self.tracks[row] as f32;
        let top = rect.top() + track as f32 * height;
        let bottom = top + height - if self.tracks[row] > 1 { gap(height) } else { 0.0 };
        Rangef::new(top, bottom.max(top + 1.0))
    }

    /// The scroll distance at which `row` is visible.
    pub fn scroll_to(&self, row: usize) -> f32 {
        let (rect, area, scroll) = (self.rows[row], self.scrolled, self.scroll);
        if self.is_pinned[row] || area.height() <= 0.0 {
            scroll
        } else if rect.top() < area.top() {
            scroll + rect.top() - area.top()
        } else if rect.bottom() > area.bottom() {
            scroll + (rect.bottom() - area.bottom()).min(rect.top() - area.top())
        } else {
            scroll
        }
    }

    /// Draws the scroll bar if one is needed. Returns the scroll distance for the next frame.
    pub fn scroll_bar(&self, ui: &mut Ui) -> f32 {
        let area = self.scrolled;
        let max_scroll = (self.content - area.height()).max(0.0);
        if max_scroll == 0.0 || area.height() <= 0.0 {
            return 0.0;
        }
        let left = self.chart.right();
        let bar = Rect::from_x_y_ranges(left..=left + SCROLL_BAR, area.y_range());
        let mut child = ui.new_child(UiBuilder::new().max_rect(bar).id_salt("scroll bar"));
        let source = ScrollSource { scroll_bar: true, ..ScrollSource::NONE };
        let output = ScrollArea::vertical()
            .id_salt("timeline rows")
            .auto_shrink(false)
            .scroll_source(source)
            .vertical_scroll_offset(self.scroll)
            .show(&mut child, |ui| ui.allocate_space(vec2(1.0, self.content)));
        output.state.offset.y.clamp(0.0, max_scroll)
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    #[test]
    fn the_name_of_a_cut_row_is_in_its_visible_part() {
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(100.0, 67.0));
        let visible = whole.with_max_y(28.0);
        assert_eq!(name_place(whole, visible), visible);
        // A sliver has no room: the name is cut with its row.
        assert_eq!(name_place(whole, whole.with_max_y(4.0)), whole);
        assert_eq!(name_place(whole, whole), whole);
    }
}
