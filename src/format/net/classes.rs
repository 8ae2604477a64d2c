//! Unfolds classes and their instances into plain nodes.
//!
//! Source: *The HUGIN API Reference Manual*, chapters "Object-Oriented Belief Networks and LIMIDs"
//! and "The NET language". `instance I : C (input = actual; alias = output) { ... }` is a copy of
//! the nodes of class C, called `I.node`. A bound input is not copied: the actual node replaces it.
//! An unbound input is copied with its own table. An alias is the name by which the surrounding
//! class refers to a node of the instance. The network is the class that has no instance in another
//! class of the file.

use std::borrow::Cow;
use std::collections::HashMap;

use super::blocks::{Class, Instance, NodeBlock};
use crate::format::FormatError;
use crate::format::error::plural;
use crate::format::limits;
use crate::format::nodes::{Definition, Node, Word};
use crate::format::source::SourceText;
use crate::network::Annotation;

/// Maximum depth of nested instances, and length of chains of aliases. It bounds the recursion.
const MAX_DEPTH: usize = 32;

/// Maximum length in bytes of all names, labels and titles of the copies together. A short file
/// could otherwise demand any amount of memory.
const MAX_TEXT: usize = 1 << 25;

/// The classes of a file, with their names, aliases and bindings looked up.
pub(super) struct Classes<'c, 's> {
    source: SourceText<'s>,
    classes: &'c [Class<'s>],
    by_name: HashMap<&'c str, usize>,
    /// For each class, its nodes by name.
    nodes: Vec<HashMap<&'c str, &'c NodeBlock<'s>>>,
    /// For each class, its aliases: the instance and the name of the node in it.
    aliases: Vec<HashMap<&'c str, (&'c Instance<'s>, &'c str)>>,
    /// For each instance, by number, the nodes that its inputs are bound to.
    bindings: HashMap<usize, HashMap<&'c str, &'c Word<'s>>>,
    /// The class that is the network.
    pub network: usize,
}

impl<'c, 's> Classes<'c, 's> {
    /// Looks up names, and determines which of the `classes` is the network.
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
        let mut found = Self {
            source,
            classes,
            by_name,
            nodes: classes.iter().map(nodes).collect(),
            aliases: classes.iter().map(aliases).collect(),
            bindings: bindings.collect(),
            network: 0,
        };
        found.network = found.root()?;
        Ok(found)
    }

    /// The class that has no instance in another class.
    fn root(&self) -> Result<usize, FormatError> {
        let mut used = vec![false; self.classes.len()];
        for (index, class) in self.classes.iter().enumerate() {
            for instance in &class.instances {
                let class = self.class_of(instance)?;
                used[class] |= class != index;
            }
        }
        let mut roots = (0..used.len()).filter(|&class| !used[class]);
        let Some(first) = roots.next() else {
            let offset = self.classes.first().map_or(0, |class| class.offset);
            return Err(self.source.error(
                offset,
                "every class is inside another class, expected one that is the network",
            ));
        };
        match roots.next().map(|second| &self.classes[second]) {
            None => Ok(first),
            Some(second) => {
                let message = format!(
                    "neither of the classes '{}' and '{}' is inside another class; expected only one \
                     such class, the network",
                    self.classes[first].name, second.name
                );
                Err(self.source.error(second.offset, message))
            }
        }
    }

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

    /// The block of the node called `name`, possibly an alias, in class `index`.
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

    /// The nodes of the network with all its instances. `built` has the nodes of each class.
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
        unfolder.copy(&InstanceScope {
            index: self.network,
            instance: None,
            outer: None,
            depth: 0,
        })?;
        Ok(unfolder.unfolded.nodes)
    }

    /// The node that the input `name` of the instance `scope` is bound to.
    fn binding(&self, scope: &InstanceScope<'_, 'c, 's>, name: &str) -> Option<&'c Word<'s>> {
        self.bindings.get(&scope.instance?.number)?.get(name).copied()
    }

    /// Finds the node called `name` in `scope`, through bindings and aliases. Returns its class,
    /// its full name and its name in that class. Takes at most `max_steps` bindings and aliases.
    fn find(
        &self,
        scope: &InstanceScope<'_, 'c, 's>,
        name: &'c str,
        max_steps: usize,
    ) -> Option<(usize, String, &'c str)> {
        let steps_left = max_steps.checked_sub(1)?;
        if let Some(actual) = self.binding(scope, name) {
            return self.find(scope.outer?, &actual.text, steps_left);
        }
        if self.nodes[scope.index].contains_key(name) {
            return Some((scope.index, scope.full_name(name), name));
        }
        let &(instance, inner) = self.aliases[scope.index].get(name)?;
        let index = *self.by_name.get(&*instance.class.text)?;
        let depth = scope.depth + 1;
        self.find(
            &InstanceScope { index, instance: Some(instance), outer: Some(scope), depth },
            inner,
            steps_left,
        )
    }
}

/// An instance of a class in the scope that contains it, or the network itself.
struct InstanceScope<'o, 'c, 's> {
    /// The index of the class.
    index: usize,
    /// `None` for the network.
    instance: Option<&'c Instance<'s>>,
    /// The scope that contains this instance.
    outer: Option<&'o InstanceScope<'o, 'c, 's>>,
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
    fn copy(&mut self, scope: &InstanceScope<'_, 'c, 's>) -> Result<(), FormatError> {
        let (classes, source) = (self.classes, self.classes.source);
        self.check_bindings(scope)?;
        for node in &self.built[scope.index] {
            if classes.binding(scope, &node.name.text).is_some() {
                continue;
            }
            let mut copy = Node {
                name: Word {
                    text: scope.full_name(&node.name.text).into(),
                    offset: node.name.offset,
                },
                role: node.role,
                states: node.states.clone(),
                parents: Vec::with_capacity(node.parents.len()),
                definition: Definition::Missing,
                offset: node.offset,
                note: Annotation { title: node.note.title.clone(), ..Annotation::default() },
            };
            for parent in &node.parents {
                let Some((_, name, _)) = classes.find(scope, &parent.text, MAX_DEPTH) else {
                    let message = format!(
                        "'{}' has the parent '{}', which is neither a node of its class nor of an \
                         instance in it",
                        copy.name.text, parent.text
                    );
                    return Err(source.error(parent.offset, message));
                };
                copy.parents.push(Word { text: name.into(), offset: parent.offset });
            }
            if let Definition::Weights(numbers) = &node.definition {
                self.unfolded.count_numbers(source, numbers.len(), node.offset)?;
                copy.definition = Definition::Weights(numbers.clone());
            }
            self.unfolded.count(source, &copy)?;
            self.unfolded.nodes.push(copy);
        }
        for instance in &classes.classes[scope.index].instances {
            limits::count_states(source, &mut self.unfolded.states, 1, instance.name.offset)?;
            if scope.depth == MAX_DEPTH {
                let message = format!(
                    "instances are nested more than {MAX_DEPTH} deep, or class '{}' contains itself",
                    instance.class.text
                );
                return Err(source.error(instance.name.offset, message));
            }
            let index = classes.class_of(instance)?;
            let depth = scope.depth + 1;
            self.copy(&InstanceScope {
                index,
                instance: Some(instance),
                outer: Some(scope),
                depth,
            })?;
        }
        Ok(())
    }

    /// Checks that each input of the instance `scope` is bound to a node with as many states.
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
            let Some((class, name, inner)) = self.classes.find(outer, &actual.text, MAX_DEPTH)
            else {
                let message = format!(
                    "'{}' is bound to '{}', which is neither a node here nor in an instance",
                    formal.text, actual.text
                );
                return Err(source.error(actual.offset, message));
            };
            let states = self.states[class].get(inner).copied().unwrap_or(0);
            if states != expected {
                let message = format!(
                    "'{}' is bound to '{name}', which has {}, expected {expected}",
                    formal.text,
                    plural(states, "state")
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
    /// The number of numbers in tables.
    numbers: usize,
    /// The total length of names, labels and titles in bytes.
    text: usize,
}

impl<'s> Unfolded<'s> {
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

    fn count(&mut self, source: SourceText<'_>, node: &Node<'s>) -> Result<(), FormatError> {
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
