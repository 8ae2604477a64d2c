//! Distributions that a file gives apart from the declarations of its variables.

use std::collections::HashMap;

use super::{Definition, Node, Role, Word};
use crate::format::FormatError;
use crate::format::source::SourceText;
use crate::network::Annotation;

/// A probability block: the distribution of one variable. Names in it are not looked up.
#[derive(Debug)]
pub(in crate::format) struct Distribution<'s> {
    pub child: Word<'s>,
    pub parents: Vec<Word<'s>>,
    pub definition: Definition<'s>,
    /// The byte offset of the block or, in BIF, of the child's name in it.
    pub block_at: usize,
    /// The byte offset for errors about the definition: `block_at` or, in some formats, the offset
    /// of the table.
    pub offset: usize,
    /// The annotation of the block. Only its attributes are used.
    pub note: Annotation,
}

/// Gives every distribution to the node that it defines. If the node is not a chance node, only the
/// attributes of the distribution are used.
///
/// # Errors
/// If a distribution is for an unknown node, or for a chance node that already has one with a
/// table.
pub(in crate::format) fn assign<'s>(
    source: SourceText<'_>,
    nodes: &mut [Node<'s>],
    distributions: Vec<Distribution<'s>>,
) -> Result<(), FormatError> {
    let by_name: HashMap<String, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.text.to_string(), index)).collect();
    let mut first_block = vec![None; nodes.len()];
    for distribution in distributions {
        let child = &distribution.child;
        let name = child.text.as_ref();
        let Some(&index) = by_name.get(name) else {
            return Err(source.error(child.offset, format!("there is no variable '{name}'")));
        };
        let node = &mut nodes[index];
        node.note.attributes.extend(distribution.note.attributes);
        if node.role != Role::Chance {
            continue;
        }
        if let Some(first) = first_block[index] {
            let line = source.line(first);
            let message =
                format!("'{name}' has a second distribution; the first is on line {line}");
            return Err(source.error(distribution.block_at, message));
        }
        if !matches!(distribution.definition, Definition::Missing) {
            first_block[index] = Some(distribution.block_at);
        }
        (node.parents, node.definition, node.offset) =
            (distribution.parents, distribution.definition, distribution.offset);
    }
    Ok(())
}
