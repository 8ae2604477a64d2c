//! A table of a record.

use eframe::egui::{Align, Layout, RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

use crate::app::widgets::table::{ROW_HEIGHT, cell, number};
use crate::experiment::{Cell, Cells, Table};
use crate::numbers;

/// Draws `table` with its name. Wide tables scroll horizontally.
pub(super) fn show(ui: &mut Ui, number_of_result: u64, table: &Table) {
    ui.strong(&table.name);
    ui.push_id((number_of_result, &table.name), |ui| {
        ScrollArea::horizontal().show(ui, |ui| {
            let mut builder = TableBuilder::new(ui).striped(true).vscroll(false).auto_shrink(true);
            for column in &table.columns {
                builder = builder.column(Column::initial(width(column)).resizable(true).clip(true));
            }
            let filled = builder.header(ROW_HEIGHT, |mut header| {
                for column in &table.columns {
                    header.col(|ui| heading(ui, column));
                }
            });
            filled.body(|body| {
                body.rows(ROW_HEIGHT, table.rows(), |mut row| {
                    let index = row.index();
                    for column in &table.columns {
                        match column.cells.cell(index) {
                            Cell::Text(text) => cell(&mut row, text),
                            Cell::Count(count) => number(&mut row, numbers::thousands(count)),
                            Cell::Number(value) => number(&mut row, number_text(value)),
                            Cell::Empty => number(&mut row, "–"),
                        }
                    }
                });
            });
        });
    });
}

fn heading(ui: &mut Ui, column: &crate::experiment::Column) {
    let origin = column.origin.map(crate::experiment::Origin::name).unwrap_or_default();
    let words = column.name.replace('_', " ");
    let words = words.strip_suffix(" us").map_or(words.clone(), |name| format!("{name} µs"));
    let text = RichText::new(words).strong().small();
    let layout = match column.cells {
        Cells::Text(_) => Layout::left_to_right(Align::Center),
        Cells::Count(_) | Cells::Number(_) => Layout::right_to_left(Align::Center),
    };
    ui.with_layout(layout, |ui| {
        let label = ui.label(text);
        if !origin.is_empty() {
            label.on_hover_text(origin);
        }
    });
}

/// Initial width of a column in points: room for the heading and for most cells, up to 40
/// characters.
fn width(column: &crate::experiment::Column) -> f32 {
    let longest = match &column.cells {
        Cells::Text(words) => words.iter().map(|word| word.chars().count()).max().unwrap_or(0),
        Cells::Count(_) => 11,
        Cells::Number(_) => 8,
    };
    let characters = column.name.chars().count().max(longest).min(40);
    6.6 * characters as f32 + 12.0
}

/// `value` as text. If its absolute value is at least 1, the text has at least four significant
/// digits and all digits before the decimal point; below 1, it has three decimals; below 0.001, it
/// is in scientific notation, unless it is zero.
fn number_text(value: f64) -> String {
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
            assert_eq!(number_text(value), text);
        }
    }
}
