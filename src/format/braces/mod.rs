//! Blocks in braces, as Netica, MSBN and older versions of GeNIe write them. A block has fields,
//! `name = value;` or `name labels { ... };`. The labels are the words between the name and the
//! nested block, such as `Asia` in `node Asia { ... };`. A value is a word, a list in parentheses,
//! or a nested block.

mod tree;

pub(super) use tree::{Block, Field, FieldValue, ListEntry, Parser, begins_with};
