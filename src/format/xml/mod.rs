//! XML as a tree of elements, attributes and texts, each with its byte offset.
//!
//! Declarations, document types, processing instructions and comments are skipped. The only known
//! entities are character references and the five that XML predefines, so nothing is fetched and no
//! entity expands to more than a character.

mod read;
mod write;

use std::borrow::Cow;

use crate::format::FormatError;
use crate::format::limits::max_entries;
use crate::format::nodes::{Number, number};
use crate::format::source::SourceText;

pub(super) use read::{parse, root_name, without_malformed_comments};
pub(super) use write::{CANNOT_HOLD, can_hold, escape};

/// An element with its content.
#[derive(Debug)]
pub(super) struct Element<'t> {
    pub name: &'t str,
    /// The byte offset of the `<` of the opening tag.
    pub offset: usize,
    /// The byte offset after the closing tag.
    pub end: usize,
    pub attributes: Vec<XmlAttribute<'t>>,
    pub content: Vec<Content<'t>>,
}

/// `name="value"`.
#[derive(Debug)]
pub(super) struct XmlAttribute<'t> {
    pub name: &'t str,
    pub value: Cow<'t, str>,
    /// The byte offset of the value.
    pub offset: usize,
}

/// One piece of the content of an element.
#[derive(Debug)]
pub(super) enum Content<'t> {
    Element(Element<'t>),
    /// Text and its byte offset.
    Text(Cow<'t, str>, usize),
}

impl<'t> Element<'t> {
    /// The child elements.
    pub fn elements(&self) -> impl Iterator<Item = &Element<'t>> {
        self.content.iter().filter_map(|part| match part {
            Content::Element(element) => Some(element),
            Content::Text(..) => None,
        })
    }

    /// The first child element called `name`, ignoring ASCII case and a namespace prefix.
    pub fn element(&self, name: &str) -> Option<&Element<'t>> {
        self.elements().find(|element| element.is(name))
    }

    /// Whether this element is called `name`, ignoring ASCII case and a namespace prefix.
    pub fn is(&self, name: &str) -> bool {
        local_name(self.name).eq_ignore_ascii_case(name)
    }

    /// The attribute called `name`, ignoring ASCII case.
    pub fn attribute(&self, name: &str) -> Option<&XmlAttribute<'t>> {
        self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }

    /// The text directly inside this element, trimmed.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for child in &self.content {
            if let Content::Text(part, _) = child {
                text.push_str(part);
            }
        }
        text.trim().to_owned()
    }

    /// The byte offset of the first word of the text, or of the element if it has no text.
    pub fn text_at(&self) -> usize {
        self.words().next().map_or(self.offset, |(_, offset)| offset)
    }

    /// The words of the text directly inside this element, with their byte offsets. White space,
    /// comments and child elements separate words.
    pub fn words(&self) -> impl Iterator<Item = (&str, usize)> {
        let texts = self.content.iter().filter_map(|part| match part {
            Content::Text(text, offset) => Some((text.as_ref(), *offset)),
            Content::Element(_) => None,
        });
        texts.flat_map(|(text, offset)| {
            let start = text.as_ptr().addr();
            text.split_whitespace().map(move |word| (word, offset + word.as_ptr().addr() - start))
        })
    }
}

/// `name` without a namespace prefix.
fn local_name(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local_name)| local_name)
}

impl Content<'_> {
    /// The byte offset of this piece.
    pub fn offset(&self) -> usize {
        match self {
            Self::Element(element) => element.offset,
            Self::Text(_, offset) => *offset,
        }
    }
}

/// The numbers in an element. Commas between them are optional.
///
/// # Errors
/// If the element contains anything else, or more numbers than a file may have table entries.
pub(super) fn numbers(
    source: SourceText<'_>,
    element: &Element<'_>,
) -> Result<Vec<Number>, FormatError> {
    let limit = max_entries(source);
    let mut numbers = Vec::new();
    for (words, offset) in element.words() {
        let mut offset = offset;
        for word in words.split(',') {
            match number(word) {
                Some(_) if numbers.len() == limit => {
                    let message = format!("expected at most {limit} numbers, found more");
                    return Err(source.error(offset, message));
                }
                Some(value) => numbers.push(Number { value, offset }),
                None if word.is_empty() => {}
                None => {
                    let message = format!("expected a number, found '{word}'");
                    return Err(source.error(offset, message));
                }
            }
            offset += word.len() + 1;
        }
    }
    if let Some(inner) = element.elements().next() {
        let message = format!("expected a number, found <{}>", inner.name);
        return Err(source.error(inner.offset, message));
    }
    Ok(numbers)
}
