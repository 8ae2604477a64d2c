//! Parses XML into a tree of elements.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::{Content, Element, XmlAttribute, local_name};
use crate::allocate;
use crate::format::FormatError;
use crate::format::source::SourceText;

/// Maximum depth of nested elements. Network files nest less than ten deep, not counting submodels.
const MAX_DEPTH: usize = 200;

/// Maximum number of attributes of one element. The parser compares each attribute with all others.
const MAX_ATTRIBUTES: usize = 1000;

/// Maximum number of tags, pieces of text, comments and attributes of a document together. It
/// bounds the memory: the tree takes much more than the file.
const MAX_PARTS: usize = 1 << 23;

/// Replaces malformed comments (`<!- ... ->`, as one program writes them) with as many spaces as
/// bytes. Line ends in the comments are kept.
pub(in crate::format) fn without_malformed_comments(text: &str) -> Cow<'_, str> {
    let mut clean: Option<Vec<u8>> = None;
    let mut end = 0;
    for (start, _) in text.match_indices("<!-") {
        if start < end || text[start + 3..].starts_with('-') {
            continue;
        }
        if let Some(length) = text[start..].find("->") {
            end = start + length + 2;
            let clean = clean.get_or_insert_with(|| text.as_bytes().to_vec());
            for byte in &mut clean[start..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        } else {
            break;
        }
    }
    match clean {
        None => Cow::Borrowed(text),
        // Each replaced range begins and ends with an ASCII character, so the text stays valid
        // UTF-8.
        Some(clean) => String::from_utf8(clean).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// The name of the first element of `text`, without a namespace prefix; `None` if `text` does not
/// begin like XML.
pub(in crate::format) fn root_name(text: &str) -> Option<&str> {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) | Event::Empty(tag) => {
                let start = inside(text, tag.name().into_inner())?;
                return text.get(start..start + tag.name().into_inner().len()).map(local_name);
            }
            Event::Text(blank) if blank.iter().all(u8::is_ascii_whitespace) => {}
            Event::Text(_) | Event::Eof => return None,
            _ => {}
        }
    }
}

/// Reads the root element of a document. Ignores what comes after this element.
///
/// # Errors
/// If there is no root element, if this element or the text before it is malformed, if it contains
/// an unknown entity, or if it exceeds one of the limits above.
pub(in crate::format) fn parse(source: SourceText<'_>) -> Result<Element<'_>, FormatError> {
    let mut reader = Reader::from_str(source.text);
    reader.config_mut().allow_dangling_amp = true;
    let mut open: Vec<Element<'_>> = Vec::new();
    // Whether a comment or another event without text comes between the next text and the text
    // before it.
    let mut separated = false;
    let mut parts = 0;
    loop {
        let offset = position(reader.buffer_position());
        parts += 1;
        allocate::check();
        if parts > MAX_PARTS {
            let message = format!(
                "the file has more than the maximum of {MAX_PARTS} XML tags, texts, comments and \
                 attributes"
            );
            return Err(source.error(offset, message));
        }
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(malformed(source, &reader, &open, &error)),
        };
        let end = position(reader.buffer_position());
        let mut text_at = offset;
        let text = match event {
            Event::Start(tag) => {
                if open.len() == MAX_DEPTH {
                    let message = format!("elements are nested more than {MAX_DEPTH} deep");
                    return Err(source.error(offset, message));
                }
                open.push(element(source, &tag, offset, end)?);
                parts += open[open.len() - 1].attributes.len();
                continue;
            }
            Event::Empty(tag) => {
                let element = element(source, &tag, offset, end)?;
                parts += element.attributes.len();
                match attach(&mut open, element) {
                    None => continue,
                    Some(root) => return Ok(root),
                }
            }
            Event::End(_) => {
                let Some(mut element) = open.pop() else { continue };
                element.end = end;
                match attach(&mut open, element) {
                    None => continue,
                    Some(root) => return Ok(root),
                }
            }
            Event::Text(_) => Cow::Borrowed(&source.text[offset..end]),
            Event::CData(_) => {
                text_at += "<![CDATA[".len();
                Cow::Borrowed(&source.text[text_at..end - "]]>".len()])
            }
            Event::GeneralRef(reference) => reference_text(source, &reference, offset)?,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {
                separated = true;
                continue;
            }
            Event::Eof => {
                return Err(match open.last() {
                    Some(element) => not_closed(source, element),
                    None => {
                        source.error(offset, "expected an XML element, found the end of the file")
                    }
                });
            }
        };
        match open.last_mut() {
            Some(parent) => push_text(parent, text, text_at, std::mem::take(&mut separated)),
            None if text.trim().is_empty() => {}
            None => {
                let offset = text_at + (text.len() - text.trim_start().len());
                return Err(source.error(offset, "expected an XML element, found text"));
            }
        }
    }
}

/// Adds `element`, which is complete, to the innermost of the `open` elements. If none is open, the
/// element is the root and is returned.
fn attach<'t>(open: &mut [Element<'t>], element: Element<'t>) -> Option<Element<'t>> {
    let Some(parent) = open.last_mut() else { return Some(element) };
    parent.content.push(Content::Element(element));
    None
}

/// Appends `text`, which is at byte `offset`, to the content of `parent`. The parser splits a word
/// at an entity; this function joins the parts of the word, unless a comment has `separated` them.
/// The rest of `text` is a piece of its own, so that the offsets of its words are right.
fn push_text<'t>(parent: &mut Element<'t>, text: Cow<'t, str>, offset: usize, separated: bool) {
    let continues = !separated && !text.starts_with(char::is_whitespace);
    match parent.content.last_mut() {
        Some(Content::Text(before, _)) if continues && !before.ends_with(char::is_whitespace) => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            before.to_mut().push_str(&text[..end]);
            let rest = match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[end..]),
                Cow::Owned(text) => Cow::Owned(text[end..].to_owned()),
            };
            if !rest.is_empty() {
                parent.content.push(Content::Text(rest, offset + end));
            }
        }
        _ => parent.content.push(Content::Text(text, offset)),
    }
}

/// The element of the tag from byte `offset` to `end`, still without content.
fn element<'t>(
    source: SourceText<'t>,
    tag: &BytesStart<'_>,
    offset: usize,
    end: usize,
) -> Result<Element<'t>, FormatError> {
    let place = |part: &[u8]| inside(source.text, part);
    let slice = |part: &[u8]| place(part).map_or("", |start| &source.text[start..][..part.len()]);
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        if attributes.len() == MAX_ATTRIBUTES {
            let message = format!("an element has more than {MAX_ATTRIBUTES} attributes");
            return Err(source.error(offset, message));
        }
        let attribute = attribute
            .map_err(|error| source.error(offset, format!("malformed attribute: {error}")))?;
        let raw = slice(&attribute.value);
        let value_at = place(&attribute.value).unwrap_or(offset);
        let value = quick_xml::escape::unescape(raw)
            .map_err(|error| source.error(value_at, error.to_string()))?;
        attributes.push(XmlAttribute {
            name: slice(attribute.key.into_inner()),
            value,
            offset: value_at,
        });
    }
    let name = slice(tag.name().into_inner());
    Ok(Element { name, offset, end, attributes, content: Vec::new() })
}

/// The text that `&name;` stands for.
fn reference_text<'t>(
    source: SourceText<'t>,
    reference: &BytesRef<'_>,
    offset: usize,
) -> Result<Cow<'t, str>, FormatError> {
    let name = String::from_utf8_lossy(reference);
    match reference.resolve_char_ref() {
        Ok(Some(character)) => Ok(Cow::Owned(character.to_string())),
        Ok(None) => resolve_predefined_entity(&name).map(Cow::Borrowed).ok_or_else(|| {
            let expected = "expected 'amp', 'lt', 'gt', 'apos', 'quot' or a character number";
            source.error(offset, format!("there is no entity '{name}'; {expected}"))
        }),
        Err(_) => Err(source.error(offset, format!("'&{name};' is not a character"))),
    }
}

/// The error for malformed XML, while the elements `open` are not closed.
fn malformed(
    source: SourceText<'_>,
    reader: &Reader<&[u8]>,
    open: &[Element<'_>],
    error: &Error,
) -> FormatError {
    let offset = position(reader.error_position());
    match (error, open.last()) {
        (Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }), Some(element)) => {
            let line = source.line(element.offset);
            let message =
                format!("expected </{expected}> for the element on line {line}, found </{found}>");
            source.error(offset, message)
        }
        (Error::IllFormed(IllFormedError::UnmatchedEndTag(found)), _) => {
            source.error(offset, format!("found </{found}>, but no <{found}> is open"))
        }
        _ => source.error(offset, format!("malformed XML: {error}")),
    }
}

fn not_closed(source: SourceText<'_>, element: &Element<'_>) -> FormatError {
    source.error(element.offset, format!("<{}> is not closed", element.name))
}

/// The offset of `part` in `text`; `None` if `part` is not a slice of `text`.
fn inside(text: &str, part: &[u8]) -> Option<usize> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    (start + part.len() <= text.len() && text.is_char_boundary(start)).then_some(start)
}

fn position(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Element<'_>, String> {
        parse(SourceText { file: "f", text }).map_err(|error| error.to_string())
    }

    #[test]
    fn offsets_and_texts_are_kept() {
        let text = "<?xml version='1.0'?>\n<!DOCTYPE a [ <!ELEMENT a (#PCDATA)> ]>\n\
                    <a x='1 &lt; 2'>one<!-- no --> t&amp;o <![CDATA[<3>]]> \
                    &#233;x y<![CDATA[4 z]]><B/></a>";
        let root = read(text).unwrap();
        assert_eq!((root.name, Some(root.offset), root.end), ("a", text.find("<a"), text.len()));
        let x = root.attribute("X").unwrap();
        assert_eq!((x.value.as_ref(), &text[x.offset..x.offset + 1]), ("1 < 2", "1"));
        let words: Vec<_> =
            root.words().map(|(word, offset)| (word, &text[offset..offset + 1])).collect();
        let rest = [("y4", "y"), ("z", "z")];
        assert_eq!(words[..4], [("one", "o"), ("t&o", "t"), ("<3>", "<"), ("\u{e9}x", "&")]);
        assert_eq!(words[4..], rest);
        assert!(root.element("b").is_some());
        assert_eq!(root_name(text), Some("a"));
        assert_eq!(root_name("network x {}"), None);
    }

    #[test]
    fn malformed_comments_become_spaces_of_the_same_length() {
        let text = "<a><!- \u{e9}\n ->1<!-- - -->2</a>";
        let clean = without_malformed_comments(text);
        assert_eq!(clean.len(), text.len());
        let root = parse(SourceText { file: "f", text: &clean }).unwrap();
        assert_eq!(root.words().map(|(word, _)| word).collect::<Vec<_>>(), ["1", "2"]);
        assert!(matches!(without_malformed_comments("<a/>"), Cow::Borrowed(_)));
    }

    #[test]
    fn malformed_xml_is_refused_with_its_place() {
        let deep = "<a>".repeat(100_000);
        let wide: String = (0..100_000).map(|index| format!(" x{index}=''")).collect();
        let wide = format!("<a{wide}/>");
        let cases: &[(&str, &str)] = &[
            ("", "f:1:1: expected an XML element, found the end of the file"),
            ("\n hello <a/>", "f:2:2: expected an XML element, found text"),
            ("<a>\n<b>\n</a>", "f:3:1: expected </b> for the element on line 2, found </a>"),
            ("<a>\n  <b>", "f:2:3: <b> is not closed"),
            ("<a>&lol;</a>", "f:1:4: there is no entity 'lol'; expected 'amp'"),
            ("<a b='&lol;'/>", "f:1:7: "),
            ("<a b='1' b='2'/>", "f:1:1: malformed attribute: "),
            ("<a><b", "f:1:4: malformed XML: "),
            ("<a>&#x110000;</a>", "f:1:4: '&#x110000;' is not a character"),
            (&wide, "f:1:1: an element has more than 1000 attributes"),
            (&deep, "f:1:601: elements are nested more than 200 deep"),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}\nexpected {expected}");
        }
    }
}
