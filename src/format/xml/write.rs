//! Text for XML files.

/// Escapes `text` for an element or an attribute.
pub(in crate::format) fn escape(text: &str) -> String {
    // A parser normalises line ends, and all white space in attributes.
    quick_xml::escape::escape(text)
        .replace('\r', "&#13;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

/// Whether XML can represent `text`: it has no control characters but tabs and line ends.
pub(in crate::format) fn can_hold(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => c >= ' ',
    })
}
