//! XML as a tree that knows where everything stands.
//!
//! Document types are skipped, and no entity but the five of XML itself and character references
//! is known: nothing is fetched, and nothing can grow. Comments are skipped wherever they stand.

mod read;
mod write;

use std::borrow::Cow;

use crate::format::FormatError;
use crate::format::limits::max_entries;
use crate::format::nodes::{Number, number};
use crate::format::source::SourceText;

pub(super) use read::{parse, root_name, without_half_comments};
pub(super) use write::{can_hold, escape, push_numbers};

/// An element with all that it holds.
#[derive(Debug)]
pub(super) struct Element<'t> {
    pub name: &'t str,
    /// The byte of its `<`.
    pub at: usize,
    /// The byte after its closing `>`.
    pub end: usize,
    pub attributes: Vec<XmlAttribute<'t>>,
    pub children: Vec<Content<'t>>,
}

/// `name="value"`.
#[derive(Debug)]
pub(super) struct XmlAttribute<'t> {
    pub name: &'t str,
    pub value: Cow<'t, str>,
    /// The byte at which the value stands.
    pub at: usize,
}

/// What stands in an element.
#[derive(Debug)]
pub(super) enum Content<'t> {
    Element(Element<'t>),
    Text(Cow<'t, str>, usize),
}

impl<'t> Element<'t> {
    /// The elements in it.
    pub fn elements(&self) -> impl Iterator<Item = &Element<'t>> {
        self.children.iter().filter_map(|child| match child {
            Content::Element(element) => Some(element),
            Content::Text(..) => None,
        })
    }

    /// The first element in it called `name`; capital letters make no difference.
    pub fn element(&self, name: &str) -> Option<&Element<'t>> {
        self.elements().find(|element| element.is(name))
    }

    /// Whether it is called `name`, with the prefix of a name space or without; capital letters make
    /// no difference.
    pub fn is(&self, name: &str) -> bool {
        local(self.name).eq_ignore_ascii_case(name)
    }

    /// The attribute called `name`; capital letters make no difference.
    pub fn attribute(&self, name: &str) -> Option<&XmlAttribute<'t>> {
        self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }

    /// The text right in it, without white space at either end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for child in &self.children {
            if let Content::Text(part, _) = child {
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
            Content::Text(text, at) => Some((text.as_ref(), *at)),
            Content::Element(_) => None,
        });
        texts.flat_map(|(text, at)| {
            let start = text.as_ptr().addr();
            text.split_whitespace().map(move |word| (word, at + word.as_ptr().addr() - start))
        })
    }
}

/// `name` without the prefix of a name space.
fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

impl Content<'_> {
    /// The byte at which it begins.
    pub fn at(&self) -> usize {
        match self {
            Self::Element(element) => element.at,
            Self::Text(_, at) => *at,
        }
    }
}

/// The numbers in an element, with or without commas between them.
pub(super) fn numbers(
    source: SourceText<'_>,
    element: &Element<'_>,
) -> Result<Vec<Number>, FormatError> {
    let limit = max_entries(source);
    let mut numbers = Vec::new();
    for (words, at) in element.words() {
        let mut at = at;
        for word in words.split(',') {
            match number(word) {
                Some(_) if numbers.len() == limit => {
                    let message = format!("more than {limit} numbers, the maximum");
                    return Err(source.error(at, message));
                }
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
