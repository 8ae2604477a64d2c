//! Unfolds classes and their instances into plain nodes.
//!
//! Source: *The HUGIN API Reference Manual*, chapters "Object-Oriented Belief Networks and LIMIDs"
//! and "The NET language". `instance I : C (input = actual; alias = output) { ... }` copies each
//! node `node` of class C, and calls the copy `I.node`. A bound input is not copied: the actual
//! node replaces it. An unbound input is copied with its own table. An alias is the name by which
//! the surrounding class refers to a node of the instance. The network is the class that has no
//! instance in another class of the file.

use std::borrow::Cow;
use std::collections::HashMap;

use super::blocks::{Class, Instance, NodeBlock};
use crate::format::FormatError;
use crate::format::limits;
use crate::format::nodes::{Definition, Node, Word};
use crate::format::source::SourceText;
use crate::network::Annotation;
use crate::numbers::counted;

/// Maximum depth of nested instances, and maximum number of lookups for one name: following a
/// binding or an alias leads to another lookup. It bounds the recursion.
const MAX_DEPTH: usize = 32;

/// Maximum length in bytes of all names, labels and titles that the copies own. A short file could
/// otherwise demand any amount of memory. Texts that are borrowed from the file do not count.
const MAX_TEXT: usize = 1 << 25;

/// The classes of a file, with tables for looking up names.
pub(super) struct Classes<'c, 's> {
    source: SourceText<'s>,
    classes: &'c [Class<'s>],
    /// The index of each class, by name.
    by_name: HashMap<&'c str, usize>,
    /// For each class, its nodes by name.
    nodes: Vec<HashMap<&'c str, &'c NodeBlock<'s>>>,
    /// For each class, the meaning of its aliases: an instance, and a name in its class.
    aliases: Vec<HashMap<&'c str, (&'c Instance<'s>, &'c str)>>,
    /// For each instance, by its number: for each bound input, the actual node.
    bindings: HashMap<usize, HashMap<&'c str, &'c Word<'s>>>,
    /// The index of the class that is the network.
    pub network: usize,
}

/// A node that was found by name.
struct FoundNode<'c> {
    /// The index of the class that declares the node.
    class: usize,
    /// The name of the node in that class.
    name: &'c str,
    /// The name of its copy in the network.
    full_name: String,
}

impl<'c, 's> Classes<'c, 's> {
    /// Fills the tables, and determines which of the `classes` is the network.
    ///
    /// # Errors
    /// If two classes have the same name, the class of an instance is unknown, or not exactly one
    /// class has no instance in another class.
    pub fn new(source: SourceText<'s>, classes: &'c [Class<'s>]) -> Result<Self, FormatError> {
        let mut by_name = HashMap::with_capacity(classes.len());
        for (index, class) in classes.iter().enumerate() {
            if by_name.insert(class.name, index).is_some() {
                let message = format!("class '{}' is defined a second time", class.name);
                return Err(source.error(class.offset, message));
            }
        }
        let nodes = |class: &'c Class<'s>| {
            class.nodes.iter().map(|block| (&*block.name.text, block)).collect()
        };
        let aliases = |class: &'c Class<'s>| {
            let of_instance = |instance: &'c Instance<'s>| {
                let outputs = instance.outputs.iter();
                outputs.map(move |(alias, inner)| (&*alias.text, (instance, &*inner.text)))
            };
            class.instances.iter().flat_map(of_instance).collect()
        };
        let bindings = classes.iter().flat_map(|class| &class.instances).map(|instance| {
            let inputs = instance.inputs.iter();
            (instance.number, inputs.map(|(formal, actual)| (&*formal.text, actual)).collect())
        });
        let mut lookup = Self {
            source,
            classes,
            by_name,
            nodes: classes.iter().map(nodes).collect(),
            aliases: classes.iter().map(aliases).collect(),
            bindings: bindings.collect(),
            network: 0,
        };
        lookup.network = lookup.root()?;
        Ok(lookup)
    }

    /// The index of the class that has no instance in another class.
    fn root(&self) -> Result<usize, FormatError> {
        let mut used = vec![false; self.classes.len()];
        for (surrounding, class) in self.classes.iter().enumerate() {
            for instance in &class.instances {
                let inner = self.class_of(instance)?;
                used[inner] |= inner != surrounding;
            }
        }
        let mut roots = (0..used.len()).filter(|&class| !used[class]);
        let Some(first) = roots.next() else {
            let offset = self.classes.first().map_or(0, |class| class.offset);
            return Err(self.source.error(
                offset,
                "every class is inside another class; expected one that is not, the network",
            ));
        };
        match roots.next().map(|second| &self.classes[second]) {
            None => Ok(first),
            Some(second) => {
                let message = format!(
                    "neither of the classes '{}' and '{}' is inside another class; expected only \
                     one such class, the network",
                    self.classes[first].name, second.name
                );
                Err(self.source.error(second.offset, message))
            }
        }
    }

    /// The index of the class of `instance`.
    fn class_of(&self, instance: &Instance<'s>) -> Result<usize, FormatError> {
        let class = &instance.class;
        self.by_name.get(&*class.text).copied().ok_or_else(|| {
            let message = format!(
                "'{}' is an instance of class '{}', which is not in this file",
                instance.name.text, class.text
            );
            self.source.error(class.offset, message)
        })
    }

    /// The block of the node that is called `name` in class `index`. The name may be an alias.
    pub fn block(&self, index: usize, name: &str) -> Option<&'c NodeBlock<'s>> {
        let (mut index, mut name) = (index, name);
        for _ in 0..MAX_DEPTH {
            if let Some(block) = self.nodes[index].get(name) {
                return Some(block);
            }
            let &(instance, inner) = self.aliases[index].get(name)?;
            (index, name) = (*self.by_name.get(&*instance.class.text)?, inner);
        }
        None
    }

    /// The nodes of the network and of all its instances. `built` has the nodes of each class.
    ///
    /// # Errors
    /// If a binding or parent is unknown, a binding joins nodes with different numbers of states,
    /// or the network is too deep or too large.
    pub fn unfold(&self, built: &[Vec<Node<'s>>]) -> Result<Vec<Node<'s>>, FormatError> {
        let states = |nodes: &Vec<Node<'s>>| {
            nodes.iter().map(|node| (node.name.text.to_string(), node.states.len())).collect()
        };
        let mut unfolder = Unfolder {
            classes: self,
            built,
            states: built.iter().map(states).collect(),
            unfolded: Unfolded::default(),
        };
        unfolder.copy_scope(&InstanceScope {
            index: self.network,
            instance: None,
            outer: None,
            depth: 0,
        })?;
        Ok(unfolder.unfolded.nodes)
    }

    /// The node to which the input `name` of the instance `scope` is bound; `None` if `name` is not
    /// a bound input.
    fn binding(&self, scope: &InstanceScope<'_, 'c, 's>, name: &str) -> Option<&'c Word<'s>> {
        self.bindings.get(&scope.instance?.number)?.get(name).copied()
    }

    /// Finds the node that is called `name` in `scope`, following bindings and aliases. `None` if
    /// there is no such node, or it is not found within `max_lookups` lookups.
    fn find(
        &self,
        scope: &InstanceScope<'_, 'c, 's>,
        name: &'c str,
        max_lookups: usize,
    ) -> Option<FoundNode<'c>> {
        let lookups_left = max_lookups.checked_sub(1)?;
        if let Some(actual) = self.binding(scope, name) {
            return self.find(scope.outer?, &actual.text, lookups_left);
        }
        if self.nodes[scope.index].contains_key(name) {
            return Some(FoundNode { class: scope.index, name, full_name: scope.full_name(name) });
        }
        let &(instance, inner) = self.aliases[scope.index].get(name)?;
        let index = *self.by_name.get(&*instance.class.text)?;
        let depth = scope.depth + 1;
        self.find(
            &InstanceScope { index, instance: Some(instance), outer: Some(scope), depth },
            inner,
            lookups_left,
        )
    }
}

/// An instance of a class in the scope that contains it, or the network itself.
struct InstanceScope<'o, 'c, 's> {
    /// The index of the class.
    index: usize,
    /// `None` for the network.
    instance: Option<&'c Instance<'s>>,
    /// The scope that contains this instance; `None` for the network.
    outer: Option<&'o InstanceScope<'o, 'c, 's>>,
    /// The depth of nesting; 0 for the network.
    depth: usize,
}

impl InstanceScope<'_, '_, '_> {
    /// `name`, prefixed with the names of this instance and of the instances that contain it.
    fn full_name(&self, name: &str) -> String {
        let mut parts = vec![name];
        let mut scope = Some(self);
        while let Some(InstanceScope { instance, outer, .. }) = scope {
            parts.extend(instance.map(|instance| &*instance.name.text));
            scope = *outer;
        }
        parts.reverse();
        parts.join(".")
    }
}

/// Copies the nodes of all instances.
struct Unfolder<'k, 'c, 's> {
    classes: &'k Classes<'c, 's>,
    built: &'c [Vec<Node<'s>>],
    /// For each class, the number of states of each node.
    states: Vec<HashMap<String, usize>>,
    unfolded: Unfolded<'s>,
}

impl<'c, 's> Unfolder<'_, 'c, 's> {
    /// Copies the nodes of `scope`, and then those of the instances in it.
    fn copy_scope(&mut self, scope: &InstanceScope<'_, 'c, 's>) -> Result<(), FormatError> {
        self.check_bindings(scope)?;
        for node in &self.built[scope.index] {
            if self.classes.binding(scope, &node.name.text).is_none() {
                self.copy_node(scope, node)?;
            }
        }
        self.copy_instances(scope)
    }

    /// Copies `node` of `scope`, with its full name and those of its parents.
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
                "the names and labels in instances have more than the maximum of {MAX_TEXT} bytes"
            );
            return Err(source.error(node.name.offset, message));
        }
        Ok(())
    }
}
