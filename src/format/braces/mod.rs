//! Blocks in braces, as Netica, the older GeNIe and MSBN write them: `name = value;`, lists in
//! parentheses, blocks within blocks.

mod tree;

pub(super) use tree::{Block, Field, FieldValue, ListEntry, Parser, begins_with};
