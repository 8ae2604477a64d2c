//! XML as a tree that knows where everything stands.
//!
//! Document types are skipped, and no entity but the five of XML itself and character references
//! is known: nothing is fetched, and nothing can grow. Comments are skipped wherever they stand.

use std::borrow::Cow;
use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::format::FormatError;
use crate::format::nodes::{Number, number};
use crate::format::source::Source;

/// How deep elements may be nested. Files of networks nest less than ten deep, submodels aside.
const MAX_DEPTH: usize = 200;

/// An element with all that it holds.
#[derive(Debug)]
pub(super) struct Element<'t> {
    pub name: &'t str,
    /// The byte of its `<`.
    pub at: usize,
    /// The byte after its closing `>`.
    pub end: usize,
    pub attributes: Vec<Attribute<'t>>,
    pub children: Vec<Child<'t>>,
}

/// `name="value"`.
#[derive(Debug)]
pub(super) struct Attribute<'t> {
    pub name: &'t str,
    pub value: Cow<'t, str>,
    /// The byte at which the value stands.
    pub at: usize,
}

/// What stands in an element.
#[derive(Debug)]
pub(super) enum Child<'t> {
    Element(Element<'t>),
    Text(Cow<'t, str>, usize),
}

impl<'t> Element<'t> {
    /// The elements in it.
    pub fn elements(&self) -> impl Iterator<Item = &Element<'t>> {
        self.children.iter().filter_map(|child| match child {
            Child::Element(element) => Some(element),
            Child::Text(..) => None,
        })
    }

    /// The first element in it called `name`; capital letters make no difference.
    pub fn element(&self, name: &str) -> Option<&Element<'t>> {
        self.elements().find(|element| element.is(name))
    }

    /// Whether it is called `name`; capital letters make no difference.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The attribute called `name`; capital letters make no difference.
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'t>> {
        self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }

    /// The text right in it, without white space at either end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for child in &self.children {
            if let Child::Text(part, _) = child {
                text.push_str(part);
            }
        }
        text.trim().to_owned()
    }

    /// The byte at which its text begins, white space skipped; the element's own if it is empty.
    pub fn text_at(&self) -> usize {
        self.words().next().map_or(self.at, |(_, at)| at)
    }

    /// The words of its text, which white space and comments part, each with its place.
    pub fn words(&self) -> impl Iterator<Item = (&str, usize)> {
        let texts = self.children.iter().filter_map(|child| match child {
            Child::Text(text, at) => Some((text.as_ref(), *at)),
            Child::Element(_) => None,
        });
        texts.flat_map(|(text, at)| {
            let start = text.as_ptr().addr();
            text.split_whitespace().map(move |word| (word, at + word.as_ptr().addr() - start))
        })
    }
}

impl Child<'_> {
    /// The byte at which it begins.
    pub fn at(&self) -> usize {
        match self {
            Self::Element(element) => element.at,
            Self::Text(_, at) => *at,
        }
    }
}

/// The text with comments that are not quite comments (`<!- ... ->`, as one program wrote them)
/// replaced by spaces, everything else in its place.
pub(super) fn without_half_comments(text: &str) -> Cow<'_, str> {
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
        // The spaces stand from one ASCII character to another, so the rest is what it was.
        Some(clean) => String::from_utf8(clean).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// The name of the first element of `text`, if it is XML.
pub(super) fn root_name(text: &str) -> Option<&str> {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) | Event::Empty(tag) => {
                let start = inside(text, tag.name().into_inner())?;
                return text.get(start..start + tag.name().into_inner().len());
            }
            Event::Text(blank) if blank.iter().all(u8::is_ascii_whitespace) => {}
            Event::Text(_) | Event::Eof => return None,
            _ => {}
        }
    }
}

/// Reads the one element that makes up a document.
pub(super) fn parse(source: Source<'_>) -> Result<Element<'_>, FormatError> {
    let mut reader = Reader::from_str(source.text);
    reader.config_mut().allow_dangling_amp = true;
    let mut open: Vec<Element<'_>> = Vec::new();
    let mut parted = false; // by a comment, from the text before
    loop {
        let at = position(reader.buffer_position());
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(malformed(source, &reader, &open, &error)),
        };
        let end = position(reader.buffer_position());
        let text = match event {
            Event::Start(tag) => {
                if open.len() == MAX_DEPTH {
                    let message = format!("elements are nested more than {MAX_DEPTH} deep");
                    return Err(source.error(at, message));
                }
                open.push(element(source, &tag, at, end)?);
                continue;
            }
            Event::Empty(tag) => {
                let element = element(source, &tag, at, end)?;
                match open.last_mut() {
                    Some(parent) => parent.children.push(Child::Element(element)),
                    None => return Ok(element),
                }
                continue;
            }
            Event::End(_) => {
                let Some(mut element) = open.pop() else { continue };
                element.end = end;
                match open.last_mut() {
                    Some(parent) => parent.children.push(Child::Element(element)),
                    None => return Ok(element),
                }
                continue;
            }
            Event::Text(_) => Cow::Borrowed(&source.text[at..end]),
            Event::CData(_) => Cow::Borrowed(&source.text[at + 9..end - 3]),
            Event::GeneralRef(reference) => reference_text(source, &reference, at)?,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {
                parted = true;
                continue;
            }
            Event::Eof => {
                return Err(match open.last() {
                    Some(element) => not_closed(source, element),
                    None => source.error(at, "expected an XML element, found the end of the file"),
                });
            }
        };
        match open.last_mut() {
            Some(parent) => push_text(parent, text, at, std::mem::take(&mut parted)),
            None if text.trim().is_empty() => {}
            None => {
                let at = at + (text.len() - text.trim_start().len());
                return Err(source.error(at, "expected an XML element, found text"));
            }
        }
    }
}

/// The numbers in an element, with or without commas between them.
pub(super) fn numbers(
    source: Source<'_>,
    element: &Element<'_>,
) -> Result<Vec<Number>, FormatError> {
    let mut numbers = Vec::new();
    for (words, at) in element.words() {
        let mut at = at;
        for word in words.split(',') {
            match number(word) {
                Some(value) => numbers.push(Number { value, at }),
                None if word.is_empty() => {}
                None => {
                    let message = format!("expected a number, found '{word}'");
                    return Err(source.error(at, message));
                }
            }
            at += word.len() + 1;
        }
    }
    if let Some(inner) = element.elements().next() {
        let message = format!("expected a number, found <{}>", inner.name);
        return Err(source.error(inner.at, message));
    }
    Ok(numbers)
}

/// Puts `text` behind what stands in `parent`; parts that a reference parted become one word again.
fn push_text<'t>(parent: &mut Element<'t>, text: Cow<'t, str>, at: usize, parted: bool) {
    let begins = !parted && !text.starts_with(char::is_whitespace);
    match parent.children.last_mut() {
        Some(Child::Text(before, _)) if begins && !before.ends_with(char::is_whitespace) => {
            before.to_mut().push_str(&text);
        }
        _ => parent.children.push(Child::Text(text, at)),
    }
}

fn element<'t>(
    source: Source<'t>,
    tag: &BytesStart<'_>,
    at: usize,
    end: usize,
) -> Result<Element<'t>, FormatError> {
    let place = |part: &[u8]| inside(source.text, part);
    let slice = |part: &[u8]| place(part).map_or("", |start| &source.text[start..][..part.len()]);
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute =
            attribute.map_err(|error| source.error(at, format!("malformed attribute: {error}")))?;
        let raw = slice(&attribute.value);
        let value_at = place(&attribute.value).unwrap_or(at);
        let value = quick_xml::escape::unescape(raw)
            .map_err(|error| source.error(value_at, error.to_string()))?;
        attributes.push(Attribute { name: slice(attribute.key.into_inner()), value, at: value_at });
    }
    let name = slice(tag.name().into_inner());
    Ok(Element { name, at, end, attributes, children: Vec::new() })
}

/// What `&name;` stands for.
fn reference_text<'t>(
    source: Source<'t>,
    reference: &BytesRef<'_>,
    at: usize,
) -> Result<Cow<'t, str>, FormatError> {
    let name = String::from_utf8_lossy(reference);
    match reference.resolve_char_ref() {
        Ok(Some(character)) => Ok(Cow::Owned(character.to_string())),
        Ok(None) => resolve_predefined_entity(&name).map(Cow::Borrowed).ok_or_else(|| {
            let expected = "expected 'amp', 'lt', 'gt', 'apos', 'quot' or a number";
            source.error(at, format!("there is no entity '{name}'; {expected}"))
        }),
        Err(_) => Err(source.error(at, format!("'&{name};' is no character"))),
    }
}

fn malformed(
    source: Source<'_>,
    reader: &Reader<&[u8]>,
    open: &[Element<'_>],
    error: &Error,
) -> FormatError {
    let at = position(reader.error_position());
    match (error, open.last()) {
        (Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }), Some(element)) => {
            let line = source.line(element.at);
            source.error(at, format!("expected </{expected}> for line {line}, found </{found}>"))
        }
        (Error::IllFormed(IllFormedError::UnmatchedEndTag(found)), _) => {
            source.error(at, format!("found </{found}>, but no <{found}> is open"))
        }
        _ => source.error(at, format!("malformed XML: {error}")),
    }
}

fn not_closed(source: Source<'_>, element: &Element<'_>) -> FormatError {
    source.error(element.at, format!("<{}> is not closed", element.name))
}

/// `text` as it stands in an element or an attribute.
pub(super) fn escape(text: &str) -> String {
    // A reader may turn a carriage return into the end of a line, and more within an attribute.
    quick_xml::escape::escape(text)
        .replace('\r', "&#13;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

/// Whether XML can hold `text` at all.
pub(super) fn can_hold(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => c >= ' ',
    })
}

/// Puts `numbers` at the end of `text`, spaces between them, so that they read as the same.
pub(super) fn push_numbers(text: &mut String, numbers: &[f64]) {
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

/// Where `part`, a slice of `text`, begins in it.
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
        parse(Source { file: "f", text }).map_err(|error| error.to_string())
    }

    #[test]
    fn places_and_texts_are_kept() {
        let text = "<?xml version='1.0'?>\n<!DOCTYPE a [ <!ELEMENT a (#PCDATA)> ]>\n\
                    <a x='1 &lt; 2'>one<!-- no --> t&amp;o <![CDATA[<3>]]> &#233;x<B/></a>";
        let root = read(text).unwrap();
        assert_eq!((root.name, Some(root.at), root.end), ("a", text.find("<a"), text.len()));
        let x = root.attribute("X").unwrap();
        assert_eq!((x.value.as_ref(), &text[x.at..x.at + 1]), ("1 < 2", "1"));
        let words: Vec<_> = root.words().map(|(word, at)| (word, &text[at..at + 1])).collect();
        assert_eq!(words, [("one", "o"), ("t&o", "t"), ("<3>", "<"), ("\u{e9}x", "&")]);
        assert!(root.element("b").is_some());
        assert_eq!(root_name(text), Some("a"));
        assert_eq!(root_name("network x {}"), None);
    }

    #[test]
    fn half_comments_become_spaces_of_the_same_length() {
        let text = "<a><!- \u{e9}\n ->1<!-- - -->2</a>";
        let clean = without_half_comments(text);
        assert_eq!(clean.len(), text.len());
        let root = parse(Source { file: "f", text: &clean }).unwrap();
        assert_eq!(root.words().map(|(word, _)| word).collect::<Vec<_>>(), ["1", "2"]);
        assert!(matches!(without_half_comments("<a/>"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_malformed_is_refused_with_its_place() {
        let deep = "<a>".repeat(100_000);
        let cases: &[(&str, &str)] = &[
            ("", "f:1:1: expected an XML element, found the end of the file"),
            ("\n hello <a/>", "f:2:2: expected an XML element, found text"),
            ("<a>\n<b>\n</a>", "f:3:1: expected </b> for line 2, found </a>"),
            ("<a>\n  <b>", "f:2:3: <b> is not closed"),
            ("<a>&lol;</a>", "f:1:4: there is no entity 'lol'; expected 'amp'"),
            ("<a b='&lol;'/>", "f:1:7: "),
            ("<a b='1' b='2'/>", "f:1:1: malformed attribute: "),
            ("<a><b", "f:1:4: malformed XML: "),
            ("<a>&#x110000;</a>", "f:1:4: '&#x110000;' is no character"),
            (&deep, "f:1:601: elements are nested more than 200 deep"),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}\nexpected {expected}");
        }
    }
}
