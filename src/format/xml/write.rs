//! Text for XML files.

/// Escapes `text` for an element or an attribute.
pub(in crate::format) fn escape(text: &str) -> String {
    // A parser would change line ends, and all white space in attributes, unless they are escaped.
    quick_xml::escape::escape(text)
        .replace('\r', "&#13;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

/// Why [`can_hold`] is false, for messages.
pub(in crate::format) const CANNOT_HOLD: &str =
    "XML cannot contain control characters, U+FFFE or U+FFFF";

/// Whether XML can represent `text`. It cannot represent the noncharacters U+FFFE and U+FFFF, nor
/// control characters below U+0020 other than tabs and line ends.
pub(in crate::format) fn can_hold(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => c >= ' ',
    })
}
