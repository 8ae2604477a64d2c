//! Splits a text into rows of cells with their byte offsets.

use std::borrow::Cow;

use memchr::memchr;

use crate::format::FormatError;
use crate::format::source::SourceText;

/// The separator between cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// This character. There is an empty cell between two consecutive separators.
    Character(char),
    /// Any amount of white space.
    Space,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell<'t> {
    /// The content: without the quotes if the cell is quoted, else trimmed.
    pub text: Cow<'t, str>,
    /// The byte offset of the cell.
    pub offset: usize,
}

/// Reads the rows of a text. Empty lines and comments are skipped.
pub(super) struct Rows<'t> {
    source: SourceText<'t>,
    separator: Separator,
    /// The text that starts a line comment, if the format has comments.
    comment: Option<&'static str>,
    offset: usize,
    /// The byte offset of the line feed that ends the current line, or of the end of the text.
    line_end: usize,
    /// Closing brackets that the rest of the current line does not have. Without this list, a line
    /// of opening brackets would take quadratic time.
    unclosed: Vec<char>,
}

/// Why a row cannot be split into cells.
#[derive(Debug)]
pub(super) enum RowError {
    /// A quote is open at the end of the text.
    Unclosed(FormatError),
    /// Another mistake.
    Malformed(FormatError),
}

impl<'t> Rows<'t> {
    /// The rows of `source`.
    pub fn new(
        source: SourceText<'t>,
        separator: Separator,
        comment: Option<&'static str>,
    ) -> Self {
        Self { source, separator, comment, offset: 0, line_end: 0, unclosed: Vec::new() }
    }

    /// The next row, of at least one cell; `None` at the end. A quoted cell may span several lines.
    ///
    /// # Errors
    /// If a quote is not closed. With [`Separator::Character`], also if something other than a
    /// separator follows a closing quote.
    pub fn next_row(&mut self) -> Result<Option<Vec<Cell<'t>>>, RowError> {
        loop {
            self.find_line_end();
            if is_skipped(self.line(), self.comment) {
                if self.line_end >= self.source.text.len() {
                    return Ok(None);
                }
                self.offset = self.line_end + 1;
                continue;
            }
            return self.row().map(Some);
        }
    }

    /// The byte offset after the row that was read last; after a malformed row, the offset after
    /// the line with the mistake.
    pub fn end_of_row(&self) -> usize {
        (self.line_end + 1).min(self.source.text.len())
    }

    /// The row that begins here.
    fn row(&mut self) -> Result<Vec<Cell<'t>>, RowError> {
        let mut cells = Vec::new();
        loop {
            self.skip_blanks();
            if self.separator == Separator::Space && self.at_end_of_row() {
                break;
            }
            cells.push(if self.rest().starts_with('"') { self.quoted()? } else { self.plain() });
            self.skip_blanks();
            match self.separator {
                Separator::Character(c) if self.rest().starts_with(c) => {
                    self.offset += c.len_utf8()
                }
                Separator::Character(_) => break,
                Separator::Space => {}
            }
        }
        if !self.at_end_of_row() {
            let found: String = self.rest().chars().take(1).collect();
            let message = format!(
                "expected a separator or the end of the row after a closing quote, found '{found}'"
            );
            return Err(RowError::Malformed(self.source.error(self.offset, message)));
        }
        self.offset = self.end_of_row();
        Ok(cells)
    }

    /// A cell in double quotes. Two consecutive quotes inside it stand for one.
    fn quoted(&mut self) -> Result<Cell<'t>, RowError> {
        let start = self.offset;
        let inside = start + 1;
        let mut end = inside;
        loop {
            match self.source.text[end..].find('"') {
                None => {
                    let error = self.source.error(start, "this quote is not closed");
                    return Err(RowError::Unclosed(error));
                }
                Some(quote) => end += quote,
            }
            if !self.source.text[end + 1..].starts_with('"') {
                break;
            }
            end += 2;
        }
        self.offset = end + 1;
        if self.offset > self.line_end {
            self.find_line_end();
        }
        let text = &self.source.text[inside..end];
        let text = if text.contains('"') { text.replace("\"\"", "\"").into() } else { text.into() };
        Ok(Cell { text, offset: start })
    }

    /// A cell without quotes. Separators in braces at the start of the cell do not end the cell. If
    /// white space separates the cells, the same holds for parentheses and square brackets.
    fn plain(&mut self) -> Cell<'t> {
        let line = self.line();
        let opens = |bracket: &str| line.starts_with(bracket);
        let close = match self.separator {
            _ if opens("{") || opens("~{") => Some('}'),
            Separator::Space if opens("(") => Some(')'),
            Separator::Space if opens("[") => Some(']'),
            _ => None,
        };
        let close = close.filter(|close| !self.unclosed.contains(close));
        let closed = close.and_then(|close| line.find(close));
        self.unclosed.extend(close.filter(|_| closed.is_none()));
        let group_end = closed.map_or(0, |end| end + 1);
        let after = &line[group_end..];
        let length = match self.separator {
            Separator::Character(separator) => after.find(separator),
            Separator::Space => after.find(char::is_whitespace),
        };
        let mut end = group_end + length.unwrap_or(after.len());
        if let Some(start) = self.comment.and_then(|comment| line[group_end..end].find(comment)) {
            end = group_end + start;
        }
        let cell = Cell { text: line[..end].trim_end().into(), offset: self.offset };
        self.offset += end;
        cell
    }

    /// Whether the rest of the line is white space or a comment.
    fn at_end_of_row(&self) -> bool {
        let line = self.line();
        line.trim().is_empty() || self.comment.is_some_and(|comment| line.starts_with(comment))
    }

    /// Skips white space, but no line feed. With [`Separator::Character`], skips only spaces and
    /// tabs, and not the separator if it is one of them.
    fn skip_blanks(&mut self) {
        let blank = |c: char| match self.separator {
            Separator::Character(separator) => (c == ' ' || c == '\t') && c != separator,
            Separator::Space => c.is_whitespace() && c != '\n',
        };
        let line = self.line();
        self.offset += line.len() - line.trim_start_matches(blank).len();
    }

    fn rest(&self) -> &'t str {
        &self.source.text[self.offset..]
    }

    /// The rest of the line, without the line feed.
    fn line(&self) -> &'t str {
        &self.source.text[self.offset..self.line_end]
    }

    fn find_line_end(&mut self) {
        let rest = self.rest();
        self.line_end = self.offset + memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.unclosed.clear();
    }
}

/// Whether `line` holds no row: it is empty or a comment.
pub(super) fn is_skipped(line: &str, comment: Option<&str>) -> bool {
    let start = line.trim_start();
    start.is_empty() || comment.is_some_and(|comment| start.starts_with(comment))
}

/// `text` as a cell, in quotes if it might otherwise not be read back unchanged.
pub(super) fn quote_where_needed(
    text: &str,
    separator: Separator,
    comment: Option<&str>,
) -> String {
    let plain = !text.is_empty()
        && text.trim() == text
        && !text.contains(['"', '\n', '\r'])
        && comment.is_none_or(|comment| !text.contains(comment))
        && match separator {
            Separator::Character(separator) => {
                !text.contains(separator) && !text.starts_with('{') && !text.starts_with("~{")
            }
            Separator::Space => {
                !text.contains(char::is_whitespace) && !text.starts_with(['(', '[', '{', '~'])
            }
        };
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, separator: Separator, comment: Option<&'static str>) -> Vec<Vec<String>> {
        let mut rows = Rows::new(SourceText { file: "f", text }, separator, comment);
        let mut all = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            all.push(row.into_iter().map(|cell| cell.text.into_owned()).collect());
        }
        all
    }

    #[test]
    fn separators_split_cells_unless_quoted() {
        let comma = Separator::Character(',');
        let text = "a, b ,\"c,\"\"d\"\"\ne\"\r\n\r\n,,\n{x 1, y 2},~{x, z},(1,2)\nlast,";
        assert_eq!(
            rows(text, comma, None),
            [
                vec!["a", "b", "c,\"d\"\ne"],
                vec!["", "", ""],
                vec!["{x 1, y 2}", "~{x, z}", "(1", "2)"],
                vec!["last", ""],
            ]
        );
        assert_eq!(rows("a\t\tb c", Separator::Character('\t'), None), [["a", "", "b c"]]);
        assert!(rows("", comma, None).is_empty() && rows("\n \r\n", comma, None).is_empty());
    }

    #[test]
    fn white_space_splits_cells_and_comments_end_lines() {
        let text = "// one\n a \t b // two\n(0.5 0.5) {x, y} [a, b] {open\n\"two words\" c\r\n";
        assert_eq!(
            rows(text, Separator::Space, Some("//")),
            [
                vec!["a", "b"],
                vec!["(0.5 0.5)", "{x, y}", "[a, b]", "{open"],
                vec!["two words", "c"],
            ]
        );
        let unusual_spaces = "a\u{2001}b\u{b}c\rd\u{a0}\n";
        assert_eq!(rows(unusual_spaces, Separator::Space, None), [["a", "b", "c", "d"]]);
    }

    #[test]
    fn errors_have_a_position() {
        let error = |text: &str| {
            let source = SourceText { file: "f", text };
            let mut rows = Rows::new(source, Separator::Character(','), None);
            loop {
                match rows.next_row() {
                    Ok(row) => assert!(row.is_some(), "no mistake in {text}"),
                    Err(RowError::Unclosed(error) | RowError::Malformed(error)) => {
                        return error.to_string();
                    }
                }
            }
        };
        assert_eq!(error("a\nb,\"c"), "f:2:3: this quote is not closed");
        assert_eq!(
            error("\"a\" b"),
            "f:1:5: expected a separator or the end of the row after a closing quote, found 'b'"
        );
    }

    #[test]
    fn quoted_cells_are_read_back() {
        for text in
            ["a", "", " a", "a b", "a,b", "a\"b", "a\nb", "{a", "~{a", "(a", "//a", "a%b", "*"]
        {
            for (separator, comment) in [
                (Separator::Character(','), None),
                (Separator::Character(','), Some("%")),
                (Separator::Space, Some("//")),
            ] {
                let cell = quote_where_needed(text, separator, comment);
                assert_eq!(rows(&cell, separator, comment), [[text]], "{cell}");
                if let Separator::Character(character) = separator {
                    let row = format!("{cell}{character}b}}");
                    assert_eq!(rows(&row, separator, comment), [[text, "b}"]], "{row}");
                }
            }
        }
    }

    #[test]
    fn brackets_that_are_not_closed_in_their_line_are_part_of_a_cell() {
        let text = "(a [b {c (d [e {f\n(g h) [i j] {k (l\n(m n)";
        assert_eq!(
            rows(text, Separator::Space, None),
            [
                vec!["(a", "[b", "{c", "(d", "[e", "{f"],
                vec!["(g h)", "[i j]", "{k", "(l"],
                vec!["(m n)"],
            ]
        );
        // In quadratic time, this would take minutes.
        let brackets = "( [ {x ".repeat(500_000);
        assert_eq!(rows(&brackets, Separator::Space, None)[0].len(), 1_500_000);
    }
}
