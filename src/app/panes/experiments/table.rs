//! A table of a record.

use eframe::egui::{Align, Align2, Layout, Rect, RichText, ScrollArea, TextStyle, Ui, Vec2};
use egui_extras::{Column, TableBuilder};

use crate::app::widgets::table::{ROW_HEIGHT, cell, number};
use crate::experiment::chart::TimeUnit;
use crate::experiment::{Cell, Cells, Table};
use crate::numbers;

/// Draws `table` with its name. Wide tables scroll horizontally. While the top of the table is
/// scrolled out of view, its headings stay at the upper edge.
pub(super) fn show(ui: &mut Ui, number_of_result: u64, table: &Table) {
    ui.strong(&table.name);
    let units: Vec<Option<TimeUnit>> = table.columns.iter().map(time_unit).collect();
    ui.push_id((number_of_result, &table.name), |ui| {
        ScrollArea::horizontal().show(ui, |ui| {
            let mut builder = TableBuilder::new(ui).striped(true).vscroll(false).auto_shrink(true);
            for column in &table.columns {
                // Without a minimum, a table that is out of view when it is first laid out shrinks
                // its columns to the headings.
                let width = width(column);
                let column = Column::initial(width).at_least(width).resizable(true).clip(true);
                builder = builder.column(column);
            }
            let mut headings = Vec::new();
            let filled = builder.header(ROW_HEIGHT, |mut header| {
                for (column, unit) in table.columns.iter().zip(&units) {
                    let heading = Heading::new(column, *unit);
                    let (rect, _) = header.col(|ui| heading.show(ui));
                    headings.push((rect, heading));
                }
            });
            filled.body(|body| {
                body.rows(ROW_HEIGHT, table.rows(), |mut row| {
                    let index = row.index();
                    for (column, unit) in table.columns.iter().zip(&units) {
                        match column.cells.cell(index) {
                            Cell::Text(text) => cell(&mut row, text),
                            Cell::Count(count) => number(&mut row, numbers::thousands(count)),
                            Cell::Number(value) => {
                                let value = value / unit.map_or(1.0, |unit| unit.us);
                                number(&mut row, number_text(value, column.signed));
                            }
                            Cell::Empty => number(&mut row, "–"),
                        }
                    }
                });
            });
            show_sticky(ui, &headings);
        });
    });
}

/// The unit in which a column of times in microseconds is shown; `None` for other columns.
fn time_unit(column: &crate::experiment::Column) -> Option<TimeUnit> {
    match &column.cells {
        Cells::Number(cells) if column.name.ends_with(TIME_SUFFIX) => {
            Some(TimeUnit::of(cells.iter().copied().flatten()))
        }
        _ => None,
    }
}

/// The end of the name of a column of times in microseconds.
const TIME_SUFFIX: &str = "_us";

/// The heading of a column.
struct Heading {
    text: String,
    /// The origin of the numbers in one word, or nothing.
    origin: &'static str,
    /// Whether the column holds text, which begins at its left edge.
    is_text: bool,
}

impl Heading {
    fn new(column: &crate::experiment::Column, unit: Option<TimeUnit>) -> Self {
        let name = match unit {
            Some(unit) => {
                let name = column.name.strip_suffix(TIME_SUFFIX).unwrap_or(&column.name);
                format!("{name}, {}", unit.name)
            }
            None => column
                .name
                .strip_suffix("_ns")
                .map_or_else(|| column.name.clone(), |name| format!("{name}, ns")),
        };
        Self {
            text: name.replace('_', " "),
            origin: column.origin.map(crate::experiment::Origin::name).unwrap_or_default(),
            is_text: matches!(column.cells, Cells::Text(_)),
        }
    }

    fn show(&self, ui: &mut Ui) {
        let layout = if self.is_text {
            Layout::left_to_right(Align::Center)
        } else {
            Layout::right_to_left(Align::Center)
        };
        ui.with_layout(layout, |ui| {
            let label = ui.label(RichText::new(&self.text).strong().small());
            if !self.origin.is_empty() {
                label.on_hover_text(self.origin);
            }
        });
    }
}

/// Draws the headings again at the upper edge of what is visible, if this edge cuts the table of
/// `ui`. `headings` are the headings with their places.
fn show_sticky(ui: &Ui, headings: &[(Rect, Heading)]) {
    let Some((first, _)) = headings.first() else { return };
    let visible = ui.clip_rect();
    let bottom = ui.min_rect().bottom();
    if first.top() >= visible.top() || bottom < visible.top() + 2.0 * first.height() {
        return;
    }
    let painter = ui.painter();
    let down = Vec2::new(0.0, visible.top() - first.top());
    let bar = Rect::from_x_y_ranges(visible.x_range(), first.y_range()).translate(down);
    painter.rect_filled(bar, 0, ui.visuals().panel_fill);
    painter.hline(bar.x_range(), bar.bottom(), ui.visuals().widgets.noninteractive.bg_stroke);
    let font = TextStyle::Small.resolve(ui.style());
    for (place, Heading { text, is_text, .. }) in headings {
        let place = place.translate(down);
        let (at, align) = if *is_text {
            (place.left_center(), Align2::LEFT_CENTER)
        } else {
            (place.right_center(), Align2::RIGHT_CENTER)
        };
        let column = painter.with_clip_rect(place.intersect(visible));
        column.text(at, align, text, font.clone(), ui.visuals().strong_text_color());
    }
}

/// Assumed width of a character in points: that of a digit. Most letters are narrower.
const CHARACTER_WIDTH: f32 = 7.4;

/// Minimum width of a column in points: room for the heading and for all cells, up to 60
/// characters, and a margin.
fn width(column: &crate::experiment::Column) -> f32 {
    let longest = match &column.cells {
        Cells::Text(texts) => texts.iter().map(|text| text.chars().count()).max().unwrap_or(0),
        Cells::Count(counts) => {
            let longest = counts.iter().flatten().max().copied().unwrap_or(0);
            numbers::thousands(longest).len()
        }
        Cells::Number(values) => {
            let unit = time_unit(column).map_or(1.0, |unit| unit.us);
            let lengths = values.iter().flatten().map(|value| {
                let text = number_text(value / unit, column.signed);
                text.chars().count()
            });
            lengths.max().unwrap_or(0)
        }
    };
    let characters = column.name.chars().count().max(longest).min(60);
    CHARACTER_WIDTH * characters as f32 + 12.0
}

/// `value` as text, with its sign if it is a difference. If its absolute value is at least 1, the
/// text has at least four significant digits and all digits before the decimal point; below 1, it
/// has three decimals; below 0.001, it is in scientific notation, unless it is zero.
fn number_text(value: f64, signed: bool) -> String {
    if signed && value > 0.0 {
        return format!("+{}", number_text(value, false));
    }
    let size = value.abs();
    if (1000.0..1e15).contains(&size) {
        let whole = numbers::thousands(size.round() as u64);
        return if value < 0.0 { format!("-{whole}") } else { whole };
    }
    let digits = if size >= 100.0 {
        1
    } else if size >= 10.0 {
        2
    } else {
        3
    };
    if value != 0.0 && size < 1e-3 { format!("{value:.3e}") } else { format!("{value:.digits$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_digits_depends_on_the_size_of_the_value() {
        let cases = [
            (0.0, "0.000"),
            (1.5, "1.500"),
            (12.345, "12.35"),
            (123.45, "123.5"),
            (123_456.7, "123,457"),
            (-2000.0, "-2,000"),
            (0.000_12, "1.200e-4"),
        ];
        for (value, text) in cases {
            assert_eq!(number_text(value, false), text);
        }
        assert_eq!([0.25, 0.0, -0.25].map(|v| number_text(v, true)), ["+0.250", "0.000", "-0.250"]);
    }

    #[test]
    fn columns_have_room_for_their_largest_number() {
        let table = Table::new("networks").count("entries", None, [110_641_152]).number(
            "mean",
            None,
            [Some(110_641_152.0)],
        );
        let needed = |count: usize| CHARACTER_WIDTH * count as f32;
        for column in &table.columns {
            assert!(width(column) >= needed("110,641,152".len()), "{}", column.name);
        }
    }

    #[test]
    fn long_times_are_in_milliseconds() {
        let table = Table::new("times")
            .number("naive_us", None, [Some(5_320.0), None])
            .number("gpu_us", None, [Some(36.0), None])
            .number("entry_ns", None, [Some(1.4), None])
            .number("gain", None, [Some(2_000.0), None]);
        let heading = |column| Heading::new(column, time_unit(column)).text;
        let headings: Vec<String> = table.columns.iter().map(heading).collect();
        assert_eq!(headings, ["naive, ms", "gpu, µs", "entry, ns", "gain"]);
    }
}
