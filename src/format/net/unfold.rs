//! Unfolds the instances of classes into plain nodes.

use std::borrow::Cow;
use std::collections::HashMap;

use super::classes::{Classes, InstanceScope, MAX_DEPTH};
use crate::format::FormatError;
use crate::format::limits;
use crate::format::nodes::{Definition, Node, Word};
use crate::format::source::SourceText;
use crate::network::Annotation;
use crate::numbers::counted;

/// Maximum length in bytes of all names, labels and titles that the copies own. A short file could
/// otherwise demand any amount of memory. Texts that are borrowed from the file do not count.
const MAX_TEXT: usize = 1 << 25;

/// The nodes of the network and of all its instances. `built` has the nodes of each class.
///
/// # Errors
/// If a binding or parent is unknown, a binding joins nodes with different numbers of states, or
/// the network is too deep or too large.
pub(super) fn unfold<'s>(
    classes: &Classes<'_, 's>,
    built: &[Vec<Node<'s>>],
) -> Result<Vec<Node<'s>>, FormatError> {
    let states = |nodes: &Vec<Node<'s>>| {
        nodes.iter().map(|node| (node.name.text.to_string(), node.states.len())).collect()
    };
    let mut unfolder = Unfolder {
        classes,
        built,
        states: built.iter().map(states).collect(),
        unfolded: Unfolded::default(),
    };
    let network = InstanceScope { index: classes.network, instance: None, outer: None, depth: 0 };
    unfolder.copy_scope(&network)?;
    Ok(unfolder.unfolded.nodes)
}

/// Copies the nodes of the network and of all its instances.
struct Unfolder<'k, 'c, 's> {
    classes: &'k Classes<'c, 's>,
    built: &'c [Vec<Node<'s>>],
    /// For each class, the number of states of each node.
    states: Vec<HashMap<String, usize>>,
    unfolded: Unfolded<'s>,
}

impl<'c, 's> Unfolder<'_, 'c, 's> {
    /// Copies the nodes of `scope` except bound inputs, and then the nodes of the instances in it.
    fn copy_scope(&mut self, scope: &InstanceScope<'_, 'c, 's>) -> Result<(), FormatError> {
        self.check_bindings(scope)?;
        for node in &self.built[scope.index] {
            if self.classes.binding(scope, &node.name.text).is_none() {
                self.copy_node(scope, node)?;
            }
        }
        self.copy_instances(scope)
    }

    /// Copies `node` of `scope`, with its full name and the full names of its parents.
    fn copy_node(
        &mut self,
        scope: &InstanceScope<'_, 'c, 's>,
        node: &'c Node<'s>,
    ) -> Result<(), FormatError> {
        let source = self.classes.source;
        let full_name = scope.full_name(&node.name.text);
        let mut parents = Vec::with_capacity(node.parents.len());
        for parent in &node.parents {
            let Some(found) = self.classes.find(scope, &parent.text, MAX_DEPTH) else {
                let message = format!(
                    "'{full_name}' has the parent '{}', which is a node neither of its class nor \
                     of an instance in that class",
                    parent.text
                );
                return Err(source.error(parent.offset, message));
            };
            parents.push(Word { text: found.full_name.into(), offset: parent.offset });
        }
        let definition = match &node.definition {
            Definition::Weights(numbers) => {
                self.unfolded.count_numbers(source, numbers.len(), node.offset)?;
                Definition::Weights(numbers.clone())
            }
            // This format has no other definitions.
            _ => Definition::Missing,
        };
        let copy = Node {
            name: Word { text: full_name.into(), offset: node.name.offset },
            role: node.role,
            states: node.states.clone(),
            parents,
            definition,
            offset: node.offset,
            note: Annotation { title: node.note.title.clone(), ..Annotation::default() },
        };
        self.unfolded.count_node(source, &copy)?;
        self.unfolded.nodes.push(copy);
        Ok(())
    }

    /// Copies the nodes of the instances in `scope`, at any depth.
    fn copy_instances(&mut self, scope: &InstanceScope<'_, 'c, 's>) -> Result<(), FormatError> {
        let (classes, source) = (self.classes, self.classes.source);
        for instance in &classes.classes[scope.index].instances {
            limits::count_states(source, &mut self.unfolded.states, 1, instance.name.offset)?;
            if scope.depth == MAX_DEPTH {
                let message = format!(
                    "instances are nested more than {MAX_DEPTH} deep, or class '{}' contains \
                     itself",
                    instance.class.text
                );
                return Err(source.error(instance.name.offset, message));
            }
            let index = classes.class_of(instance)?;
            let depth = scope.depth + 1;
            self.copy_scope(&InstanceScope {
                index,
                instance: Some(instance),
                outer: Some(scope),
                depth,
            })?;
        }
        Ok(())
    }

    /// Checks that each bound input of the instance `scope` exists, and is bound to a node with the
    /// same number of states.
    fn check_bindings(&mut self, scope: &InstanceScope<'_, 'c, 's>) -> Result<(), FormatError> {
        let (Some(instance), Some(outer)) = (scope.instance, scope.outer) else { return Ok(()) };
        let source = self.classes.source;
        for (formal, actual) in &instance.inputs {
            limits::count_states(source, &mut self.unfolded.states, 1, formal.offset)?;
            let Some(&expected) = self.states[scope.index].get(&*formal.text) else {
                let message =
                    format!("class '{}' has no node '{}'", instance.class.text, formal.text);
                return Err(source.error(formal.offset, message));
            };
            let Some(found) = self.classes.find(outer, &actual.text, MAX_DEPTH) else {
                let message = format!(
                    "'{}' is bound to '{}', which is a node neither of the surrounding class nor \
                     of an instance in that class",
                    formal.text, actual.text
                );
                return Err(source.error(actual.offset, message));
            };
            let states = self.states[found.class].get(found.name).copied().unwrap_or(0);
            if states != expected {
                let message = format!(
                    "'{}' is bound to '{}', which has {}, expected {expected}",
                    formal.text,
                    found.full_name,
                    counted(states, "state", "states")
                );
                return Err(source.error(actual.offset, message));
            }
        }
        Ok(())
    }
}

/// The copies so far, and the counts that are limited to bound the memory.
#[derive(Default)]
struct Unfolded<'s> {
    nodes: Vec<Node<'s>>,
    /// The number of states, plus one for each node, instance and binding.
    states: usize,
    /// The number of table entries.
    numbers: usize,
    /// The total length in bytes of the names, labels and titles that the copies own.
    text: usize,
}

impl<'s> Unfolded<'s> {
    /// Counts `more` table entries.
    ///
    /// # Errors
    /// If there are too many.
    fn count_numbers(
        &mut self,
        source: SourceText<'_>,
        more: usize,
        offset: usize,
    ) -> Result<(), FormatError> {
        self.numbers = self.numbers.saturating_add(more);
        let limit = limits::max_entries(source);
        if self.numbers > limit {
            let message = format!(
                "with the tables of its instances the file has more than the maximum of {limit} \
                 table entries"
            );
            return Err(source.error(offset, message));
        }
        Ok(())
    }

    /// Counts the states and the texts of `node`.
    ///
    /// # Errors
    /// If there are too many states, or the texts are too long.
    fn count_node(&mut self, source: SourceText<'_>, node: &Node<'s>) -> Result<(), FormatError> {
        limits::count_states(source, &mut self.states, node.states.len() + 1, node.name.offset)?;
        let owned = |word: &Word<'_>| match &word.text {
            Cow::Owned(text) => text.len(),
            Cow::Borrowed(_) => 0,
        };
        let words = node.parents.iter().chain(&node.states).chain([&node.name]);
        let title = node.note.title.as_ref().map_or(0, String::len);
        self.text += words.map(owned).sum::<usize>() + title;
        if self.text > MAX_TEXT {
            let message = format!(
                "the names, labels and titles of all nodes have more than the maximum of \
                 {MAX_TEXT} bytes"
            );
            return Err(source.error(node.name.offset, message));
        }
        Ok(())
    }
}
