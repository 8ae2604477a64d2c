//! Escapes in quoted texts.

/// Resolves the escapes in `raw`, the text between double quotes.
pub(super) fn unquote(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

/// `text` in double quotes, escaped so that [`unquote`] restores it.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquote_reverses_quote() {
        for text in ["", "a\"b", "back\\slash", "two\nlines\tand a tab", "\\n", "\u{e6} \u{1f600}"]
        {
            let quoted = quote(text);
            assert_eq!(unquote(&quoted[1..quoted.len() - 1]), text);
        }
    }
}
