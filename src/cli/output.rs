//! Writing to the terminal.

use std::io::{ErrorKind, Write};

use serde::Serialize;

/// Writes `text` to standard output. A reader that has gone away, as `head` does, is no mistake.
pub fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes `value` to standard output as JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), String> {
    let mut text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    text.push('\n');
    print(&text)
}

/// Writes a line to standard error, if anybody reads it.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Which side of its column a cell stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells in columns that are as wide as they need to be.
pub struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a column for each of `align`.
    pub fn new(align: impl Into<Vec<Align>>) -> Self {
        Self { align: align.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.align.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), align) in row.iter().zip(&widths).zip(&self.align) {
                match align {
                    Align::Left => line += &format!("{cell:<width$}  "),
                    Align::Right => line += &format!("{cell:>width$}  "),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Whole milliseconds and their thousandths.
pub fn milliseconds(duration: std::time::Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new([Align::Left, Align::Right]);
        table.row(["name", "ms"]);
        table.row(["x", "10.5"]);
        assert_eq!(table.to_string(), "name    ms\nx     10.5\n");
    }
}
