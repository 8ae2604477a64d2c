//! Tables whose header names variables, with one case per row: CSV, Hugin data, Netica cases.
//!
//! One reader serves all three, because programs mix their conventions: the separator is inferred
//! from the header. Netica's column `IDnum` numbers the cases; Netica's column `NumCases` and
//! Hugin's column `#` count equal cases. A column with one of these names is a variable only if the
//! network has a variable of that name.
//!
//! Sources: "Case File Format" and "Case Files with Uncertain Values" in the Netica manual
//! (norsys.com); "Data files" in the HUGIN API reference manual.

use std::sync::Arc;

use memchr::memchr;

use super::cells::{Cell, RowError, Rows, Separator, is_skipped, quote_where_needed};
use super::input::{Input, Place};
use super::{CaseError, CaseFormat, value};
use crate::format::FormatError;
use crate::format::source::SourceText;
use crate::network::{Evidence, Finding, Network, VariableId};
use crate::numbers::counted;

/// The mark that Netica writes in one of the first three lines of a file.
const NETICA_MARK: &str = "~->[CASE-1]->~";

/// Maximum number of names that a message lists.
const LISTED: usize = 5;

/// Whether `text` begins like a Netica file.
pub(super) fn is_netica(text: &str) -> bool {
    text.starts_with("//") && text.lines().take(3).any(|line| line.contains(NETICA_MARK))
}

/// The line of a row, counted from one, and its case or what is wrong with it.
pub(super) type ReadRow = (usize, Result<Evidence, CaseError>);

/// The content of a column.
enum ColumnKind {
    Variable(VariableId),
    /// How often the case occurred. Holds the name of the column, for a warning.
    Count(String),
    /// Anything else, ignored.
    Other,
}

/// What starts a comment in this format, if it has comments.
fn comment(format: CaseFormat) -> Option<&'static str> {
    match format {
        CaseFormat::Netica => Some("//"),
        CaseFormat::HuginData => Some("%"),
        _ => None,
    }
}

/// A table after its header: how its rows are split and what its columns are.
#[derive(Clone)]
pub(super) struct Table {
    format: CaseFormat,
    separator: Separator,
    columns: Arc<[ColumnKind]>,
    /// Whether a warning about counts was given.
    has_warned: bool,
}

impl Table {
    /// Reads the header of the table in `input`, and adds warnings about ignored columns to
    /// `warnings`.
    ///
    /// # Errors
    /// If reading fails, or the header has a mistake or names no variable.
    pub fn open(
        input: &mut Input,
        format: CaseFormat,
        network: &Network,
        warnings: &mut Vec<String>,
    ) -> Result<Self, CaseError> {
        let separator = separator(input, format, network)?;
        let place = skip_to_row(input, comment(format))?;
        let header = row(input, separator, comment(format), |source, cells| {
            let mut header = cells?;
            split_off_count(&mut header);
            columns(source, format, network, &header, warnings)
        })?;
        let Some(columns) = header else {
            let message = "the file is empty, expected a header with names of variables";
            return Err(CaseError { place: Some((1, 1)), ..input.error(0, message) });
        };
        let columns = columns.map_err(|error| place.absolute(error))?.into();
        Ok(Self { format, separator, columns, has_warned: false })
    }

    /// Reads the next row: its line, and its case or what is wrong with it. `None` at the end of
    /// the table. A count other than one causes a warning, but only once.
    ///
    /// # Errors
    /// If reading fails. A mistake in the row is an error only of its case.
    pub fn next_case(
        &mut self,
        input: &mut Input,
        network: &Network,
        warnings: &mut Vec<String>,
    ) -> Result<Option<ReadRow>, CaseError> {
        let comment = comment(self.format);
        let place = skip_to_row(input, comment)?;
        let mut count_column = None;
        let case = row(input, self.separator, comment, |source, cells| {
            let (format, columns) = (self.format, &self.columns);
            case(source, format, network, columns, &cells?, &mut count_column)
        })?;
        if let Some(name) = count_column
            && !std::mem::replace(&mut self.has_warned, true)
        {
            warnings.push(format!(
                "{}: column '{name}' counts equal cases and was ignored: each row is one case",
                input.file()
            ));
        }
        let absolute = |error| CaseError::from(place.absolute(error));
        Ok(case.map(|case| (place.line, case.map_err(absolute))))
    }

    /// Whether reading a row may add a warning.
    pub fn may_warn(&self) -> bool {
        let is_count = |column: &ColumnKind| matches!(column, ColumnKind::Count(_));
        !self.has_warned && self.columns.iter().any(is_count)
    }

    /// Moves over the next row without reading its cells. `false` at the end of the table.
    ///
    /// # Errors
    /// If reading fails. A mistake in the row, such as a quote that is not closed, is no error.
    pub fn skip_case(&self, input: &mut Input) -> Result<bool, CaseError> {
        let comment = comment(self.format);
        skip_to_row(input, comment)?;
        let end = input.line_end(0)?;
        // Without quotes, a row is a line.
        if memchr(b'"', &input.rest()[..end]).is_none() {
            input.skip(end);
        } else {
            row(input, self.separator, comment, |_, _| ())?;
        }
        Ok(end > 0)
    }
}

/// Skips empty lines and comments. Returns the position of the next row.
fn skip_to_row(input: &mut Input, comment: Option<&str>) -> Result<Place, CaseError> {
    loop {
        let end = input.line_end(0)?;
        // No comment begins with a letter or a digit.
        let is_row = input.rest().first().is_none_or(u8::is_ascii_alphanumeric);
        if is_row || !is_skipped(&input.text(end), comment) {
            return Ok(input.place());
        }
        input.skip(end);
    }
}

/// Size in bytes from which no further lines are added to a row whose quote is still open: the
/// quote was probably never closed, and the following lines are rows of their own.
const MAX_MULTILINE_ROW: usize = 1 << 20;

/// As [`peek_row`], and moves over the row.
fn row<T>(
    input: &mut Input,
    separator: Separator,
    comment: Option<&'static str>,
    read: impl FnMut(SourceText<'_>, Result<Vec<Cell<'_>>, FormatError>) -> T,
) -> Result<Option<T>, CaseError> {
    let Some((value, length)) = peek_row(input, separator, comment, read)? else { return Ok(None) };
    input.skip(length);
    Ok(Some(value))
}

/// Calls `read` with the cells of the row at the beginning of `input`, or with what is wrong with
/// them. Positions are relative to the beginning of the row. Also returns the length of the row in
/// bytes. `None` at the end of the text. If a quote is not closed, the row ends with its first
/// line.
fn peek_row<T>(
    input: &mut Input,
    separator: Separator,
    comment: Option<&'static str>,
    mut read: impl FnMut(SourceText<'_>, Result<Vec<Cell<'_>>, FormatError>) -> T,
) -> Result<Option<(T, usize)>, CaseError> {
    let first_line = input.line_end(0)?;
    let (mut end, mut lines) = (first_line, 1);
    while end > 0 {
        // A quoted cell may continue on further lines. The number of lines to read is doubled each
        // time, so that a long cell is not read again for each of its lines.
        let mut longer = end;
        if end < MAX_MULTILINE_ROW && memchr(b'"', &input.rest()[..end]).is_some() {
            for _ in 0..lines {
                longer = input.line_end(longer)?;
            }
            lines *= 2;
        }
        let text = input.text(end);
        let source = SourceText { file: input.file(), text: &text };
        let mut rows = Rows::new(source, separator, comment);
        let cells = match rows.next_row() {
            Err(RowError::Unclosed(_)) if longer > end => {
                end = longer;
                continue;
            }
            Err(RowError::Unclosed(error)) => {
                return Ok(Some((read(source, Err(error)), first_line)));
            }
            Err(RowError::Malformed(error)) => Err(error),
            Ok(row) => Ok(row.unwrap_or_default()),
        };
        let length = input.byte_length(&text[..rows.end_of_row()]);
        return Ok(Some((read(source, cells), length)));
    }
    Ok(None)
}

/// Infers the separator: the one that finds the largest number of variables in the header.
fn separator(
    input: &mut Input,
    format: CaseFormat,
    network: &Network,
) -> Result<Separator, CaseError> {
    use Separator::{Character, Space};
    let candidates = match format {
        CaseFormat::Csv => [Character(','), Character(';'), Character('\t'), Space],
        _ => [Space, Character('\t'), Character(','), Character(';')],
    };
    skip_to_row(input, comment(format))?;
    let mut best = (candidates[0], 0);
    for separator in candidates {
        let known = peek_row(input, separator, comment(format), |_, cells| {
            let mut cells = cells.unwrap_or_default();
            split_off_count(&mut cells);
            cells.iter().filter(|cell| network.find(&cell.text).is_some()).count()
        })?;
        let known = known.map_or(0, |(known, _)| known);
        if known > best.1 {
            best = (separator, known);
        }
    }
    Ok(best.0)
}

/// Splits a first cell `# name` in two: a space may follow `#` whatever the separator is.
fn split_off_count(header: &mut Vec<Cell<'_>>) {
    let Some(first) = header.first_mut() else { return };
    if let Some(name) = first.text.strip_prefix("# ").map(|name| name.trim_start().to_owned()) {
        let offset = first.offset;
        first.text = name.into();
        header.insert(0, Cell { text: "#".into(), offset });
    }
}

/// The columns of a table with this `header`. Adds a warning about ignored columns to `warnings`.
///
/// # Errors
/// If no column is a variable, or two are the same variable.
fn columns(
    source: SourceText<'_>,
    format: CaseFormat,
    network: &Network,
    header: &[Cell<'_>],
    warnings: &mut Vec<String>,
) -> Result<Vec<ColumnKind>, FormatError> {
    let mut columns = Vec::with_capacity(header.len());
    let mut unknown = Vec::new();
    let mut seen = vec![false; network.variables().len()];
    for cell in header {
        let name = &*cell.text;
        columns.push(match network.find(name) {
            Some(variable) => {
                if std::mem::replace(&mut seen[variable.index()], true) {
                    let message = format!("column '{name}' occurs twice");
                    return Err(source.error(cell.offset, message));
                }
                ColumnKind::Variable(variable)
            }
            None if name == "#" || name == "NumCases" => ColumnKind::Count(name.to_owned()),
            None if name == "IDnum" => ColumnKind::Other,
            None => {
                unknown.push(name);
                ColumnKind::Other
            }
        });
    }
    if !columns.iter().any(|column| matches!(column, ColumnKind::Variable(_))) {
        let message = format!(
            "no column of the header ({}) is a variable; variables are {}",
            listed(header.iter().map(|cell| &*cell.text)),
            listed(network.variables().iter().map(|variable| variable.name()))
        );
        let offset = header.first().map_or(0, |cell| cell.offset);
        return Err(source.error(offset, message));
    }
    // A first column without a name is a row number.
    if format == CaseFormat::Csv && unknown.first() == Some(&"") && header[0].text.is_empty() {
        unknown.remove(0);
    }
    if !unknown.is_empty() {
        let file = source.file;
        let text = match unknown.len() {
            1 => format!("{file}: column '{}' is not a variable and was ignored", unknown[0]),
            count => format!(
                "{file}: {count} columns are not variables and were ignored: {}",
                listed(unknown.into_iter())
            ),
        };
        warnings.push(text);
    }
    Ok(columns)
}

/// The first [`LISTED`] of `names`, separated by commas, and `...` if there are more.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.take(LISTED + 1).collect();
    if names.len() > LISTED {
        names[LISTED] = "...";
    }
    names.join(", ")
}

/// The case in `row`. If a count is not one, sets `count_column` to the name of its column.
fn case(
    source: SourceText<'_>,
    format: CaseFormat,
    network: &Network,
    columns: &[ColumnKind],
    row: &[Cell<'_>],
    count_column: &mut Option<String>,
) -> Result<Evidence, FormatError> {
    if row.len() != columns.len() {
        let message = format!(
            "the row has {}, expected {}",
            counted(row.len(), "cell", "cells"),
            columns.len()
        );
        let offset = row.get(columns.len()).or(row.first()).map_or(0, |cell| cell.offset);
        return Err(source.error(offset, message));
    }
    let mut evidence = Evidence::none();
    for (column, cell) in columns.iter().zip(row) {
        match column {
            ColumnKind::Variable(variable) => {
                let bare_index = format == CaseFormat::Netica;
                value::enter(&mut evidence, network, *variable, &cell.text, bare_index)
                    .map_err(|message| source.error(cell.offset, message))?;
            }
            ColumnKind::Count(name) if cell.text.parse() != Ok(1.0) => {
                count_column.get_or_insert_with(|| name.clone());
            }
            ColumnKind::Count(_) | ColumnKind::Other => {}
        }
    }
    Ok(evidence)
}

/// The content of a file with `cases`: one column for each variable with a finding in any case, or
/// a column for the first variable if there is no finding.
///
/// # Errors
/// If the format is Hugin data and a finding is a likelihood. The error is a sentence for the user.
pub(super) fn write(
    format: CaseFormat,
    network: &Network,
    cases: &[Evidence],
) -> Result<String, String> {
    let (separator, between) = match format {
        CaseFormat::Netica => (Separator::Space, "\t"),
        CaseFormat::HuginData => (Separator::Character(','), ", "),
        _ => (Separator::Character(','), ","),
    };
    let comment = comment(format);
    let has_finding =
        |variable: &VariableId| cases.iter().any(|case| case.get(*variable).is_some());
    let mut columns: Vec<VariableId> = network.ids().filter(has_finding).collect();
    if columns.is_empty() {
        // A table has at least one column.
        columns.extend(network.ids().next());
    }
    // The empty cell of a single column would make an empty line, which readers skip.
    let empty_if_missing = format == CaseFormat::Csv && columns.len() > 1;
    let mut text = match format {
        CaseFormat::Netica => format!("// {NETICA_MARK}\n\n"),
        _ => String::new(),
    };
    let mut row = |number: Option<String>, cells: Vec<String>| {
        let cells: Vec<String> = number.into_iter().chain(cells).collect();
        text.push_str(&cells.join(between));
        text.push('\n');
    };
    let numbered = |text: String| (format == CaseFormat::Netica).then_some(text);
    let quoted = |text: &str| quote_where_needed(text, separator, comment);
    let names = columns.iter().map(|&variable| quoted(network[variable].name())).collect();
    row(numbered("IDnum".to_owned()), names);
    for (index, case) in cases.iter().enumerate() {
        let cell = |&variable: &VariableId| match case.get(variable) {
            None if empty_if_missing => Ok(String::new()),
            None => Ok(value::missing(&network[variable]).to_owned()),
            Some(Finding::Likelihood(_)) if format == CaseFormat::HuginData => Err(format!(
                "case {}: Hugin data cannot hold the likelihood of '{}'; JSON, CSV, Netica cases \
                 and Hugin case can",
                index + 1,
                network[variable].name()
            )),
            Some(finding) => Ok(quoted(&value::text(&network[variable], finding))),
        };
        let cells = columns.iter().map(cell).collect::<Result<Vec<_>, String>>()?;
        row(numbered((index + 1).to_string()), cells);
    }
    Ok(text)
}
