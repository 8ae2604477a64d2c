//! Blocks in braces, as Netica, MSBN and older versions of GeNIe write them: fields, which are
//! written `name = value;`, lists in parentheses, and nested blocks.

mod tree;

pub(super) use tree::{Block, Field, FieldValue, ListEntry, Parser, begins_with};
