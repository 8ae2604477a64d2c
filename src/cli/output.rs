//! Output to the terminal.

use std::io::{ErrorKind, Write};

use cliquescope::safe_text::{json_for_terminal, visible, visible_lines};
use serde::Serialize;

/// Writes `text` to standard output, with escapes in place of control characters other than line
/// ends. Names may contain line ends, so the caller must escape them with [`visible`]. It is not an
/// error if the reader of a pipe, such as `head`, has closed the pipe.
///
/// # Errors
/// A message for the user if standard output cannot be written.
pub fn print(text: &str) -> Result<(), String> {
    write(&visible_lines(text))
}

fn write(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes `value` to standard output as JSON.
///
/// # Errors
/// A message for the user if standard output cannot be written.
pub fn print_json(value: &impl Serialize) -> Result<(), String> {
    let mut text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    text.push('\n');
    write(&json_for_terminal(&text))
}

/// Writes a line to standard error, with escapes in place of control characters. Errors are
/// ignored: there is nowhere else to report them.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", visible(line));
}

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A text table whose columns are as wide as their widest cells.
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(columns: impl Into<Vec<Align>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row. The cells may contain names from files.
    pub fn row<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(|cell| visible(cell.as_ref()).into_owned()).collect());
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), align) in row.iter().zip(&widths).zip(&self.columns) {
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

/// `duration` in milliseconds.
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
        table.row(["x\n", "10.5"]);
        assert_eq!(table.to_string(), "name    ms\nx\\n   10.5\n");
    }
}
