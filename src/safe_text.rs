//! Text from files, such as names, made safe for a terminal, a picture or a spreadsheet.

use std::borrow::Cow;

/// `text` with an escape in place of each character that changes how other text is shown, such as
/// `\n` for a line end and `\u{1b}` for the escape character. These characters are control
/// characters, separators of lines, and marks of the direction of writing.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_disruptive) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_disruptive(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// As [`visible`], but `\n` stays as it is.
#[must_use]
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c != '\n' && is_disruptive(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// `text`, which is JSON, made safe for a terminal. JSON allows control characters from U+007F on,
/// separators of lines and marks of the direction of writing in strings, but a terminal would obey
/// them, so each is replaced by its JSON escape.
#[must_use]
pub fn json_for_terminal(text: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| c >= '\u{7f}' && is_disruptive(c);
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// `text`, or its beginning and its end with an ellipsis between them if it has more than
/// `max_chars` characters. Laying out a very long text would take the window seconds.
#[must_use]
pub fn shortened(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.char_indices().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    let (first, last) = (max_chars / 2, max_chars.saturating_sub(1) / 2);
    let start = text.char_indices().nth(first).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().rev().take(last).last().map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}\u{2026}{}", &text[..start], &text[end..]))
}

/// Whether a character changes how other text is shown.
fn is_disruptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` as the content of a cell of a CSV file, [`visible`] and quoted where needed. An
/// apostrophe is put before text that a spreadsheet would take for a formula, unless it is a
/// number.
#[must_use]
pub fn csv_cell(text: &str) -> String {
    let text = visible(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    let cell = if is_formula { Cow::Owned(format!("'{text}")) } else { text };
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_disrupt_the_terminal_are_escaped() {
        assert_eq!(visible("plain \u{e9} \u{4e2d}"), "plain \u{e9} \u{4e2d}");
        assert_eq!(visible("a\u{1b}[31mb\nc\u{9b}2J"), "a\\u{1b}[31mb\\nc\\u{9b}2J");
        assert_eq!(visible("\u{202e}txt"), "\\u{202e}txt");
        assert_eq!(visible_lines("a\nb\rc\n"), "a\nb\\rc\n");
        assert_eq!(json_for_terminal("{\"a\u{9b}\": 1}\n"), "{\"a\\u009b\": 1}\n");
    }

    #[test]
    fn only_a_long_text_is_shortened_and_keeps_both_ends() {
        assert_eq!(shortened("\u{e9}bcde", 5), "\u{e9}bcde");
        assert_eq!(shortened("\u{e9}bcdef", 5), "\u{e9}b\u{2026}ef");
        assert_eq!(shortened("abc", 2), "a\u{2026}");
    }

    #[test]
    fn formulas_are_neutralised_and_numbers_are_not() {
        assert_eq!(csv_cell("=1+2"), "'=1+2");
        assert_eq!(csv_cell("@cmd,x"), "\"'@cmd,x\"");
        assert_eq!(csv_cell("-1.5e3"), "-1.5e3");
        assert_eq!(csv_cell("-x"), "'-x");
        assert_eq!(csv_cell("b, \"c\""), "\"b, \"\"c\"\"\"");
        assert_eq!(csv_cell("a=b"), "a=b");
        assert_eq!(csv_cell("a\n\u{1b}[2J\t"), "a\\n\\u{1b}[2J\\t");
    }
}
