//! How the variables of a clique are ordered, seen from the clique alone.
//!
//! A clique's table has a *port* for each table that it exchanges numbers with: the separator to
//! its parent, the separator to each child, and one for the variables that occur in no other
//! clique. Variables that the same ports hold move every index alike, so they are merged into one
//! group, and a table of ten variables is a nest of two to five loops. The largest group runs
//! fastest: along it every port either stands still or steps by one, which a compiler turns into
//! vector instructions, whatever the numbers of states are.
//!
//! The order of a separator's table therefore differs between its two ends. Messages are permuted
//! on the way, which costs one indexed store for each entry of a separator, and separators are
//! small beside their cliques.

use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// Longest run along the fastest group that is one row: what a row needs fits in the L1 cache.
pub const LONGEST_ROW: usize = 1024;

/// The order of a clique's variables, and of the variables at each of its ports.
#[derive(Debug)]
pub struct Layout {
    /// The slow variables, slowest first.
    pub outer: Scope,
    /// The variables of the fastest group.
    pub inner: Scope,
    /// Each port in the order in which this clique indexes it.
    pub ports: Vec<PortLayout>,
}

/// One port as a clique indexes it.
#[derive(Debug)]
pub struct PortLayout {
    /// The variables in index order.
    pub scope: Scope,
    /// Whether it holds the fastest group, and so is read or written by vectors.
    pub is_vector: bool,
}

impl Layout {
    /// The layout of a clique of `variables` with `ports`, each a set of some of the variables.
    ///
    /// Groups that the first port holds are slower than others among the slow ones.
    pub fn new(network: &Network, variables: &[VariableId], ports: &[&[VariableId]]) -> Self {
        let mut groups = groups(network, variables, ports);
        let largest = (0..groups.len()).max_by_key(|&g| (groups[g].entries, g));
        let inner = largest.map(|group| groups.remove(group));
        groups.sort_by_key(|group| group.ports.first().is_none_or(|&port| port != 0));
        let scope = |chosen: &dyn Fn(&Group) -> bool| {
            let chosen = groups.iter().chain(&inner).filter(|group| chosen(group));
            Scope::of(network, chosen.flat_map(|group| group.variables.iter().copied()))
        };
        let holds = |group: &Group, port: usize| group.ports.binary_search(&port).is_ok();
        let outer = groups.iter().flat_map(|group| group.variables.iter().copied());
        Self {
            outer: Scope::of(network, outer),
            inner: Scope::of(network, inner.iter().flat_map(|g| g.variables.iter().copied())),
            ports: (0..ports.len())
                .map(|port| PortLayout {
                    scope: scope(&|group| holds(group, port)),
                    is_vector: inner.as_ref().is_some_and(|group| holds(group, port)),
                })
                .collect(),
        }
    }

    /// Entries of the table.
    pub fn entries(&self) -> usize {
        self.outer.entries() * self.row()
    }

    /// Rows of the table, each so long that what it needs fits in the L1 cache.
    pub fn rows(&self) -> usize {
        self.outer.entries() * self.row().div_ceil(LONGEST_ROW)
    }

    /// Entries of the fastest group.
    pub fn row(&self) -> usize {
        self.inner.entries()
    }
}

/// Variables that the same ports hold.
struct Group {
    variables: Vec<VariableId>,
    entries: usize,
    ports: Vec<usize>,
}

fn groups(network: &Network, variables: &[VariableId], ports: &[&[VariableId]]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut held = Vec::with_capacity(ports.len());
    for &variable in variables {
        held.clear();
        held.extend((0..ports.len()).filter(|&port| ports[port].contains(&variable)));
        let states = network[variable].cardinality();
        match groups.iter_mut().find(|group| group.ports == held) {
            Some(group) => {
                group.variables.push(variable);
                group.entries *= states;
            }
            None => groups.push(Group {
                variables: vec![variable],
                entries: states,
                ports: held.clone(),
            }),
        }
    }
    groups
}
