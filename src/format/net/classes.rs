//! The classes of a file, and the lookup of nodes by name in them.
//!
//! Source: *The HUGIN API Reference Manual*, chapters "Object-Oriented Belief Networks and LIMIDs"
//! and "The NET language". `instance I : C (input = actual; alias = output) { ... }` copies each
//! node `node` of class C, and calls the copy `I.node`. A bound input is not copied: the actual
//! node replaces it. An unbound input is copied with its own table. An alias is the name by which
//! the surrounding class refers to a node of the instance. The network is the class that has no
//! instance in another class of the file.

use std::collections::HashMap;

use super::blocks::{Class, Instance, NodeBlock};
use crate::format::FormatError;
use crate::format::nodes::Word;
use crate::format::source::SourceText;

/// Maximum depth of nested instances, and maximum number of lookups for one name: following a
/// binding or an alias leads to another lookup. It bounds the recursion.
pub(super) const MAX_DEPTH: usize = 32;

/// The classes of a file, with tables for looking up names.
pub(super) struct Classes<'c, 's> {
    pub source: SourceText<'s>,
    pub classes: &'c [Class<'s>],
    /// The index of each class, by name.
    by_name: HashMap<&'c str, usize>,
    /// For each class, its nodes by name.
    nodes: Vec<HashMap<&'c str, &'c NodeBlock<'s>>>,
    /// For each class, the meaning of its aliases: an instance, and a name in the class of that
    /// instance.
    aliases: Vec<HashMap<&'c str, (&'c Instance<'s>, &'c str)>>,
    /// For each instance, by its number: for each bound input, the actual node.
    bindings: HashMap<usize, HashMap<&'c str, &'c Word<'s>>>,
    /// The index of the class that is the network.
    pub network: usize,
}

/// A node that was found by name.
pub(super) struct FoundNode<'c> {
    /// The index of the class that declares the node.
    pub class: usize,
    /// The name of the node in that class.
    pub name: &'c str,
    /// The name of its copy in the network.
    pub full_name: String,
}

impl<'c, 's> Classes<'c, 's> {
    /// Fills the tables, and determines which of the `classes` is the network.
    ///
    /// # Errors
    /// If two classes have the same name, the class of an instance is unknown, or the number of
    /// classes without an instance in another class is not one.
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
    ///
    /// # Errors
    /// If the file has no such class.
    pub fn class_of(&self, instance: &Instance<'s>) -> Result<usize, FormatError> {
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

    /// The node to which the input `name` of the instance `scope` is bound; `None` if `name` is not
    /// a bound input.
    pub fn binding(&self, scope: &InstanceScope<'_, 'c, 's>, name: &str) -> Option<&'c Word<'s>> {
        self.bindings.get(&scope.instance?.number)?.get(name).copied()
    }

    /// Finds the node that is called `name` in `scope`, following bindings and aliases. `None` if
    /// there is no such node, or it is not found within `max_lookups` lookups.
    pub fn find(
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
pub(super) struct InstanceScope<'o, 'c, 's> {
    /// The index of the class.
    pub index: usize,
    /// `None` for the network.
    pub instance: Option<&'c Instance<'s>>,
    /// The scope that contains this instance; `None` for the network.
    pub outer: Option<&'o InstanceScope<'o, 'c, 's>>,
    /// The depth of nesting; 0 for the network.
    pub depth: usize,
}

impl InstanceScope<'_, '_, '_> {
    /// `name`, prefixed with the names of this instance and of the instances that contain it.
    pub fn full_name(&self, name: &str) -> String {
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
