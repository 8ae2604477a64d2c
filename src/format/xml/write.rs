//! Texts and numbers as XML holds them.

use std::fmt::Write as _;

/// `text` as it stands in an element or an attribute.
pub(in crate::format) fn escape(text: &str) -> String {
    // A reader may turn a carriage return into the end of a line, and more within an attribute.
    quick_xml::escape::escape(text)
        .replace('\r', "&#13;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

/// Whether XML can hold `text` at all.
pub(in crate::format) fn can_hold(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => c >= ' ',
    })
}

/// Puts `numbers` at the end of `text`, spaces between them, so that they read as the same.
pub(in crate::format) fn push_numbers(text: &mut String, numbers: &[f64]) {
    for (index, number) in numbers.iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        // The shortest digits that read as the number, with a power of ten where it is small.
        let written = if *number == 0.0 || *number >= 1e-5 {
            write!(text, "{space}{number}")
        } else {
            write!(text, "{space}{number:e}")
        };
        written.expect("a string takes all");
    }
}
