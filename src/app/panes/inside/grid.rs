//! A table of any length that computes only its visible rows.

use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    Align2, Color32, FontId, Id, Rect, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, WidgetType,
    pos2,
};

use crate::app::theme::{self, Palette};
use crate::palette::SEPARATOR_ENTRIES;

/// Height of a row in points.
pub const ROW_HEIGHT: f32 = 18.0;
/// Height of the title and the column names in points.
const HEAD_HEIGHT: f32 = 36.0;
/// Size of the letters in the rows and of the column names, in points.
const TEXT_SIZE: f32 = 12.0;
/// Space before the first column in points.
const MARGIN: f32 = 8.0;
/// Space between the text of a column and the next column in points.
const COLUMN_GAP: f32 = 4.0;
/// Width of the scroll bar in points.
const BAR_WIDTH: f32 = 9.0;

/// The scroll position in rows. In pixels an `f32` would be too coarse for millions of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scroll {
    /// The row at the top edge. The fraction is the part of this row that is scrolled out of view.
    first: f64,
    /// The row that [`Grid::show`] was asked to follow in the last frame.
    followed: Option<usize>,
}

/// The visible part of a table.
#[derive(Clone, Copy, Debug)]
pub struct VisibleRows {
    /// Where the rows are on the screen.
    pub rect: Rect,
    /// As [`Scroll::first`].
    first: f64,
    /// Number of all rows of the table.
    count: usize,
}

impl VisibleRows {
    /// The vertical centre of a row; `None` if the centre is out of view.
    pub fn y_of(&self, row: usize) -> Option<f32> {
        let y = self.rect.top() + (row as f64 - self.first) as f32 * ROW_HEIGHT + 0.5 * ROW_HEIGHT;
        (row < self.count && self.rect.y_range().contains(y)).then_some(y)
    }

    /// The rows that are at least partly visible, and often the one after them.
    pub fn range(&self) -> std::ops::Range<usize> {
        let from = self.first.floor() as usize;
        let count = (self.rect.height() / ROW_HEIGHT).ceil() as usize + 1;
        from..(from + count).min(self.count)
    }
}

/// A column.
pub struct GridColumn {
    /// The name.
    pub title: String,
    /// If above 1, the width in points. Otherwise a share of the width that the columns with a
    /// width in points leave over.
    pub width: f32,
    /// Whether the text is right-aligned, as for numbers.
    pub right: bool,
}

/// One row.
pub struct GridRow {
    /// The text of each column.
    pub cells: Vec<String>,
    /// The colour of the separator entry that the row belongs to.
    pub colour: Color32,
    /// Whether the step of the row has been done.
    pub done: bool,
    /// Whether the row is part of the current step.
    pub current: bool,
    /// Whether the row belongs to the separator entry of the current step.
    pub related: bool,
    /// What a screen reader says.
    pub label: String,
}

/// A table that is drawn in one frame.
pub struct Grid<'a> {
    /// Unique in the pane.
    pub name: &'static str,
    /// The title.
    pub title: String,
    /// The columns.
    pub columns: Vec<GridColumn>,
    /// The number of rows.
    pub count: usize,
    /// Computes a row.
    pub row: Box<dyn Fn(usize) -> GridRow + 'a>,
}

impl Grid<'_> {
    /// Height of the table with all of its rows, in points.
    pub fn full_height(&self) -> f32 {
        HEAD_HEIGHT + ROW_HEIGHT * self.count as f32
    }

    /// Width, in points, in which all column names and the texts of the first row fit.
    pub fn full_width(&self, ui: &Ui) -> f32 {
        let first = (self.count > 0).then(|| (self.row)(0));
        let width = |text: &str| {
            let font = FontId::proportional(TEXT_SIZE);
            ui.painter().layout_no_wrap(text.to_owned(), font, Color32::WHITE).size().x
        };
        let column = |(index, column): (usize, &GridColumn)| {
            if column.width > 1.0 {
                return column.width;
            }
            let cell = first.as_ref().map_or(0.0, |row| width(&row.cells[index]));
            width(&column.title).max(cell) + 2.0 * COLUMN_GAP
        };
        let columns: f32 = self.columns.iter().enumerate().map(column).sum();
        (MARGIN + columns + BAR_WIDTH + COLUMN_GAP).ceil()
    }

    /// Draws the table at `rect`. When `follow` changes, scrolls until row `follow` is visible.
    /// Returns the visible rows, and the row that was clicked.
    pub fn show(
        &self,
        ui: &mut Ui,
        rect: Rect,
        scroll: &mut Scroll,
        follow: Option<usize>,
    ) -> (VisibleRows, Option<usize>) {
        let rows = Rect::from_min_max(pos2(rect.left(), rect.top() + HEAD_HEIGHT), rect.max);
        let fit = f64::from(rows.height() / ROW_HEIGHT);
        let max_first = (self.count as f64 - fit).max(0.0);
        self.scroll(ui, rows, scroll, (fit, max_first), follow);
        let visible = VisibleRows { rect: rows, first: scroll.first, count: self.count };
        let extents = self.column_extents(rect.width() - BAR_WIDTH - COLUMN_GAP);
        self.head(ui, rect, &extents);
        let mut clicked = None;
        for index in visible.range() {
            let top = rows.top() + (index as f64 - scroll.first) as f32 * ROW_HEIGHT;
            let size = Vec2::new(rect.width() - BAR_WIDTH - 2.0, ROW_HEIGHT);
            let row_rect = Rect::from_min_size(pos2(rect.left(), top), size);
            if self.row(ui, index, row_rect, rows, &extents) {
                clicked = Some(index);
            }
        }
        let frame = ui.visuals().widgets.noninteractive.bg_stroke;
        ui.painter_at(rect).rect_stroke(rect, 2, frame, StrokeKind::Inside);
        self.bar(ui, rows, scroll, (fit, max_first));
        (visible, clicked)
    }

    /// Draws the title and the column names at the top of `rect`.
    fn head(&self, ui: &Ui, rect: Rect, extents: &[(f32, f32)]) {
        let clip = Rect::from_min_size(rect.min, Vec2::new(rect.width(), HEAD_HEIGHT));
        let at = pos2(rect.left() + 4.0, rect.top());
        let (font, ink) = (FontId::proportional(13.0), ui.visuals().strong_text_color());
        ui.painter_at(clip).text(at, Align2::LEFT_TOP, &self.title, font, ink);
        let ink = ui.visuals().weak_text_color();
        for (column, &(left, width)) in self.columns.iter().zip(extents) {
            let cell = Cell { left: rect.left() + left, width, y: clip.bottom() - 9.0, clip };
            cell.write(ui, column, &column.title, ink);
        }
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title.as_str()).collect();
        let response = ui.interact(clip, Id::new(("inside", self.name, "head")), Sense::hover());
        response.on_hover_text_at_pointer(format!("{}\n{}", self.title, titles.join(" · ")));
    }

    /// Draws row `index` at `row_rect`, clipped to `rows`. Returns whether it was clicked.
    fn row(
        &self,
        ui: &Ui,
        index: usize,
        row_rect: Rect,
        rows: Rect,
        extents: &[(f32, f32)],
    ) -> bool {
        let row = (self.row)(index);
        let (visuals, palette) = (ui.visuals(), Palette::of(ui));
        let painter = ui.painter_at(rows);
        let strength = if row.related || row.current { 0.45 } else { 0.22 };
        let fill = visuals.extreme_bg_color.lerp_to_gamma(row.colour, strength);
        painter.rect_filled(row_rect.shrink2(Vec2::new(0.0, 0.5)), 0, fill);
        let swatch = Rect::from_min_size(row_rect.min, Vec2::new(4.0, ROW_HEIGHT));
        painter.rect_filled(swatch.shrink2(Vec2::new(0.0, 0.5)), 0, row.colour);
        let ink = if row.done { visuals.strong_text_color() } else { visuals.weak_text_color() };
        for ((column, &(left, width)), text) in self.columns.iter().zip(extents).zip(&row.cells) {
            let cell =
                Cell { left: row_rect.left() + left, width, y: row_rect.center().y, clip: rows };
            cell.write(ui, column, text, ink);
        }
        if row.current {
            painter.rect_stroke(row_rect, 1, Stroke::new(2.0, palette.active), StrokeKind::Inside);
        }
        let visible_part = row_rect.intersect(rows);
        if visible_part.height() <= 2.0 {
            return false;
        }
        let id = Id::new(("inside", self.name, index));
        let response = ui.interact(visible_part, id, Sense::click());
        response.widget_info(|| {
            let label = row.label.clone();
            WidgetInfo::selected(WidgetType::SelectableLabel, true, row.current, label)
        });
        if response.hovered() {
            painter.rect_stroke(row_rect, 1, Stroke::new(1.0, palette.hovered), StrokeKind::Inside);
        }
        let clicked = response.clicked();
        response.on_hover_text_at_pointer(row.label);
        clicked
    }

    /// Scrolls by the mouse wheel and, if `follow` is a new row that is not visible, to this row.
    /// `fit` rows are visible at once; `max_first` is the last position that can be scrolled to.
    fn scroll(
        &self,
        ui: &Ui,
        rows: Rect,
        scroll: &mut Scroll,
        (fit, max_first): (f64, f64),
        follow: Option<usize>,
    ) {
        if max_first > 0.0 && ui.rect_contains_pointer(rows) {
            let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
            scroll.first -= f64::from(wheel / ROW_HEIGHT);
        }
        if scroll.followed != follow {
            scroll.followed = follow;
            let is_visible =
                |row: usize| row as f64 >= scroll.first && (row + 1) as f64 <= scroll.first + fit;
            if let Some(row) = follow.filter(|row| !is_visible(*row)) {
                scroll.first = (row as f64 - 0.4 * fit).floor();
            }
        }
        scroll.first = scroll.first.clamp(0.0, max_first);
    }

    /// Draws the scroll bar and lets it be dragged.
    fn bar(&self, ui: &mut Ui, rows: Rect, scroll: &mut Scroll, (fit, max_first): (f64, f64)) {
        if max_first <= 0.0 {
            return;
        }
        let track = Rect::from_min_max(pos2(rows.right() - BAR_WIDTH, rows.top()), rows.max);
        let height = ((fit / self.count as f64) as f32 * track.height()).max(18.0);
        let room = track.height() - height;
        let top = track.top() + (scroll.first / max_first) as f32 * room;
        let handle = Rect::from_min_size(pos2(track.left(), top), Vec2::new(BAR_WIDTH, height));
        let id = Id::new(("inside", self.name, "bar"));
        // Keys do nothing here, so the Tab key skips the bar.
        let response = ui.interact(track, id, Sense::CLICK | Sense::DRAG);
        if let Some(pos) = response.interact_pointer_pos() {
            let share = f64::from((pos.y - track.top() - 0.5 * height) / room.max(1.0));
            scroll.first = (share * max_first).clamp(0.0, max_first);
        }
        let colour = ui.visuals().widgets.style(&response).fg_stroke.color;
        ui.painter().rect_filled(handle.shrink(1.5), 3, colour.gamma_multiply(0.6));
    }

    /// Left edge, relative to the table, and width of every column, in points, if the table has
    /// `width` points for columns.
    fn column_extents(&self, width: f32) -> Vec<(f32, f32)> {
        let fixed: f32 = self.columns.iter().map(|c| c.width).filter(|w| *w > 1.0).sum();
        let room = (width - MARGIN - fixed).max(20.0);
        let mut left = MARGIN;
        let extent = |column: &GridColumn| {
            let width = if column.width > 1.0 { column.width } else { column.width * room };
            left += width;
            (left - width, width)
        };
        self.columns.iter().map(extent).collect()
    }
}

/// Where one cell is on the screen.
struct Cell {
    left: f32,
    width: f32,
    /// Vertical centre.
    y: f32,
    clip: Rect,
}

impl Cell {
    /// Writes `text`, aligned as in `column`, with an ellipsis if it does not fit.
    fn write(&self, ui: &Ui, column: &GridColumn, text: &str, ink: Color32) {
        let right = self.left + self.width - COLUMN_GAP;
        let rect =
            Rect::from_min_max(pos2(self.left, self.clip.top()), pos2(right, self.clip.bottom()));
        let painter = ui.painter_at(rect.intersect(self.clip));
        let (at, align) = if column.right {
            (pos2(right, self.y), Align2::RIGHT_CENTER)
        } else {
            (pos2(self.left, self.y), Align2::LEFT_CENTER)
        };
        let mut job =
            LayoutJob::simple_singleline(text.to_owned(), FontId::proportional(TEXT_SIZE), ink);
        job.wrap = TextWrapping::truncate_at_width((self.width - COLUMN_GAP).max(1.0));
        let galley = painter.layout_job(job);
        painter.galley(align.anchor_size(at, galley.size()).min, galley, ink);
    }
}

/// The colour of separator entry `j`. Entries with consecutive numbers have different colours.
pub fn entry_colour(j: usize) -> Color32 {
    theme::colour(SEPARATOR_ENTRIES[j % SEPARATOR_ENTRIES.len()])
}
