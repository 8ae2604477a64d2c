//! Tables as CSV (RFC 4180, except that lines end with a line feed alone).

use super::{Cell, Provenance, Record, Table};
use crate::safe_text::csv_cell;

impl Table {
    /// The table as CSV: a line of headings, then a line for each row.
    ///
    /// If all numbers of a column have the same origin, the heading names this origin, as in
    /// `median_us (recorded)`. Exact numbers need no origin.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let headings = self.columns.iter().map(|column| match column.origin {
            None | Some(super::Origin::Exact) => column.name.clone(),
            Some(origin) => format!("{} ({})", column.name, origin.name()),
        });
        push_line(&mut text, headings);
        for row in 0..self.rows() {
            let cells = self.columns.iter().map(|column| match column.cells.cell(row) {
                Cell::Text(text) => text,
                Cell::Count(count) => count.to_string(),
                Cell::Number(number) => number.to_string(),
                Cell::Empty => String::new(),
            });
            push_line(&mut text, cells);
        }
        text
    }
}

impl Record {
    /// A table of names and values that says how the record was made: program, machine, settings,
    /// notes.
    #[must_use]
    pub fn about(&self) -> Table {
        let Provenance { version, commit, date, machine } = &self.provenance;
        let mut rows = vec![
            ("experiment", self.experiment.clone()),
            ("title", self.title.clone()),
            ("version", version.clone()),
            ("commit", commit.clone().unwrap_or_default()),
            ("date", date.clone()),
        ];
        if self.is_live() {
            rows.extend([
                ("cpu", machine.cpu.clone()),
                ("threads", machine.threads.to_string()),
                ("gpu", machine.gpu.as_ref().map_or_else(String::new, |gpu| gpu.name.clone())),
            ]);
        }
        rows.extend(self.recorded.iter().map(|credit| ("recorded", credit.clone())));
        rows.extend(self.settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
        rows.extend(self.notes.iter().map(|note| ("note", note.clone())));
        let (names, values): (Vec<&str>, Vec<String>) = rows.into_iter().unzip();
        Table::new("about").text("what", names).text("value", values)
    }
}

/// Appends a line of comma-separated cells.
fn push_line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&csv_cell(&cell));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Origin;

    #[test]
    fn cells_are_quoted_and_formulas_neutralised() {
        let table = Table::new("t")
            .text("network", ["=a", "b, \"c\""])
            .count("n", Origin::Exact, [Some(1), None])
            .number("us", Origin::Recorded, [None, Some(0.5)]);
        assert_eq!(table.csv(), "network,n,us (recorded)\n'=a,1,\n\"b, \"\"c\"\"\",,0.5\n");
    }
}
