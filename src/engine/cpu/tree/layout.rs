//! The order of the variables in a clique's table.
//!
//! A clique's table has a *port* for each table that it exchanges numbers with: the separator to
//! its parent, the separator to each child, and the table of its private variables, which are in no
//! other clique. Variables that are in the same ports change every index in the same way, so they
//! are merged into one group, whose variables are next to each other in the index order. The
//! largest group is the innermost loop of a pass over the table. Along this loop, the index into a
//! port's table either stays the same or steps by one, so the compiler can use vector instructions
//! whatever the numbers of states. If this loop would be longer than a row, some of the group's
//! variables are moved to outer loops, as long as the loop does not become too short. In a large
//! table, a shorter loop is split too if no other group is in all ports of this group. Otherwise
//! distant rows would meet the same entries of some of these ports, and threads could not share the
//! table.
//!
//! The two ends of a separator may therefore order its variables differently, and messages are
//! permuted when they are sent. This costs one indexed access per separator entry, which is little
//! if the separator is small compared with its cliques. The two ends of a large separator are
//! [aligned](super::structure::Structure), so that messages are permuted by runs of entries.

use std::cmp::Reverse;
use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::lowering::{Optimisation, Optimisations};
use crate::network::{Network, VariableId};
use crate::potential::Scope;

/// Maximum number of entries of a row, so that a row and its inputs fit in the L1 cache. If it is
/// wrong, only speed changes (and last bits of results).
pub const MAX_ROW_ENTRIES: usize = 1024;

/// Minimum number of entries of a row, if variables are taken out of a longer run so that a table
/// can be divided. If it is wrong, only speed changes (and last bits of results).
const MIN_ROW_ENTRIES: usize = 256;

/// Minimum number of entries of a table for which a run is split although it is no longer than a
/// row, because nothing else divides the table. With such splits, Munin4 is 1.2 times as fast on 16
/// threads and as fast on one. Smaller tables are not worth shorter rows. If it is wrong, only
/// speed changes (and last bits of results).
const MIN_SPLIT_ENTRIES: usize = 1 << 17;

/// Minimum number of entries of a row in such a table: a rough figure. If it is wrong, only speed
/// changes (and last bits of results).
const MIN_SPLIT_ROW_ENTRIES: usize = 64;

/// Groups of variables are ordered for [`division`](super::division) until the rows can be cut at
/// this many positions. With fewer, large tables have too few parts to occupy all threads.
const MIN_CUTS: usize = 32;

/// The order of a clique's variables, and of the variables of each of its ports.
#[derive(Debug)]
pub struct Layout {
    /// The slow variables, slowest first.
    pub outer: Scope,
    /// The variables of the fastest group.
    pub inner: Scope,
    /// The port to the parent, if there is one; the ports to the children, in order; and the port
    /// of the private variables, if there are any.
    pub ports: Vec<PortLayout>,
}

/// One port as its clique indexes it.
#[derive(Debug)]
pub struct PortLayout {
    /// The variables in index order.
    pub scope: Scope,
    /// Whether the port holds the fastest group. If so, a row meets consecutive entries of the
    /// port's table, one for each entry of the row; otherwise it meets a single entry.
    pub is_vector: bool,
}

impl Layout {
    /// The layout of a clique of `variables`. Each of `ports` is a subset of these variables; the
    /// port to the parent must come first, if the clique `has_parent`.
    ///
    /// The largest group is the fastest. If it is longer than a row, or if nothing else divides a
    /// large table, its first variables may be split off as another group. Of the other groups,
    /// those in the port to the parent (at the root: in the largest port) are slower than the rest.
    /// The slowest of all are those that are also in the largest other ports. Distant rows then
    /// meet different entries of the separator above and of the largest separators below, as
    /// [`division`](super::division) needs.
    pub fn new(
        network: &Network,
        variables: &[VariableId],
        ports: &[&[VariableId]],
        has_parent: bool,
        optimisations: Optimisations,
    ) -> Self {
        let merges = optimisations.has(Optimisation::MergedVariables);
        let mut groups = groups(network, variables, ports, merges);
        let largest = (0..groups.len()).max_by_key(|&g| (groups[g].entries, g));
        let mut inner = largest.map(|group| groups.remove(group));
        let all_entries = groups.iter().chain(&inner).map(|group| group.entries);
        let entries = all_entries.fold(1, usize::saturating_mul);
        let is_split = |inner: &Group| {
            let holds_all = |group: &Group| inner.ports.iter().all(|port| group.is_in(*port));
            entries >= MIN_SPLIT_ENTRIES
                && inner.entries <= MAX_ROW_ENTRIES
                && !groups.iter().any(holds_all)
        };
        let slow = inner.as_mut().and_then(|inner| {
            let row = if is_split(inner) {
                MIN_SPLIT_ROW_ENTRIES..MIN_ROW_ENTRIES
            } else {
                MIN_ROW_ENTRIES..MAX_ROW_ENTRIES + 1
            };
            inner.split_off_slow(network, row)
        });
        groups.extend(slow);
        let size = |port: &&[VariableId]| -> usize {
            port.iter().map(|&variable| network[variable].cardinality()).product()
        };
        let sizes: Vec<usize> = ports.iter().map(size).collect();
        let largest = || (0..ports.len()).max_by_key(|&port| (sizes[port], Reverse(port)));
        let first = if has_parent { 0 } else { largest().unwrap_or(0) };
        groups.sort_by_key(|group| !group.is_in(first));
        let in_first = groups.partition_point(|group| group.is_in(first));
        // A few groups make enough parts. The order of the others is kept, because it decides how
        // far apart the entries are that consecutive rows meet.
        let held = |group: &Group| -> usize { group.ports.iter().map(|&port| sizes[port]).sum() };
        let mut cuts = 1;
        for slowest in 0..in_first {
            if cuts >= MIN_CUTS {
                break;
            }
            let rest = slowest..in_first;
            let most = rest.max_by_key(|&g| (held(&groups[g]), Reverse(g))).unwrap_or(slowest);
            groups[slowest..=most].rotate_right(1);
            cuts *= groups[slowest].entries;
        }
        let scope = |is_included: &dyn Fn(&Group) -> bool| {
            let included = groups.iter().chain(&inner).filter(|group| is_included(group));
            Scope::of(network, included.flat_map(|group| group.variables.iter().copied()))
        };
        let outer = groups.iter().flat_map(|group| group.variables.iter().copied());
        Self {
            outer: Scope::of(network, outer),
            inner: Scope::of(network, inner.iter().flat_map(|g| g.variables.iter().copied())),
            ports: (0..ports.len())
                .map(|port| PortLayout {
                    scope: scope(&|group| group.is_in(port)),
                    is_vector: inner.as_ref().is_some_and(|group| group.is_in(port)),
                })
                .collect(),
        }
    }

    /// This layout with the variables of the fastest group in the order of `inner`.
    pub fn with_inner(&self, network: &Network, inner: &[VariableId]) -> Self {
        let port = |port: &PortLayout| {
            let scope = port.scope.variables();
            let fast = if port.is_vector { inner } else { &[] };
            let slow = scope.len() - fast.len();
            let scope = Scope::of(network, scope[..slow].iter().chain(fast).copied());
            PortLayout { scope, is_vector: port.is_vector }
        };
        Self {
            outer: self.outer.clone(),
            inner: Scope::of(network, inner.iter().copied()),
            ports: self.ports.iter().map(port).collect(),
        }
    }

    /// Number of entries of the table.
    pub fn entries(&self) -> usize {
        self.outer.entries() * self.run_entries()
    }

    /// Number of rows of the table. Each row has at most [`MAX_ROW_ENTRIES`] entries.
    pub fn row_count(&self) -> usize {
        self.outer.entries() * self.run_entries().div_ceil(MAX_ROW_ENTRIES)
    }

    /// Number of rows of the largest blocks with at most `max_entries` entries, where a block has
    /// all states of the fastest variables and one state of each of the others. If even one run
    /// along the fastest group has more entries, a block is a single row.
    pub fn rows_per_block(&self, max_entries: usize) -> usize {
        let mut entries = self.run_entries();
        if entries > max_entries {
            return 1;
        }
        let mut rows = entries.div_ceil(MAX_ROW_ENTRIES);
        for &states in self.outer.cardinalities().iter().rev() {
            entries *= states;
            if entries > max_entries {
                break;
            }
            rows *= states;
        }
        rows
    }

    /// Number of entries of one run along the fastest group.
    pub fn run_entries(&self) -> usize {
        self.inner.entries()
    }
}

/// Maximum number of variables or ports for which a [`Group`] allocates no memory. If it is wrong,
/// only speed changes.
const INLINE: usize = 8;

/// Variables that are in the same ports.
struct Group {
    variables: SmallVec<[VariableId; INLINE]>,
    /// The product of the numbers of states of the variables.
    entries: usize,
    /// The numbers of the ports, ascending.
    ports: SmallVec<[usize; INLINE]>,
}

impl Group {
    /// Whether the group's variables are in port number `port`.
    fn is_in(&self, port: usize) -> bool {
        self.ports.binary_search(&port).is_ok()
    }

    /// Takes the first variables out of a group with too many entries for `row`, as a group of
    /// their own, as long as enough entries for `row` are left; `None` if there are no such
    /// variables. A long run is cut into rows in any case. If it is cut between the states of these
    /// variables instead, they can be placed among the slowest variables.
    fn split_off_slow(&mut self, network: &Network, row: Range<usize>) -> Option<Self> {
        let (mut count, mut entries) = (0, self.entries);
        for &variable in &self.variables {
            let left = entries / network[variable].cardinality();
            if entries < row.end || left < row.start {
                break;
            }
            (count, entries) = (count + 1, left);
        }
        let variables = self.variables.drain(..count).collect();
        let slow = Self { entries: self.entries / entries, variables, ports: self.ports.clone() };
        self.entries = entries;
        (count > 0).then_some(slow)
    }
}

/// The variables in groups. If `merges`, variables that are in the same ports are in one group;
/// otherwise each variable is a group.
fn groups(
    network: &Network,
    variables: &[VariableId],
    ports: &[&[VariableId]],
    merges: bool,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut own_ports = SmallVec::new();
    for &variable in variables {
        own_ports.clear();
        own_ports.extend((0..ports.len()).filter(|&port| ports[port].contains(&variable)));
        let states = network[variable].cardinality();
        match groups.iter_mut().find(|group| merges && group.ports == own_ports) {
            Some(group) => {
                group.variables.push(variable);
                group.entries *= states;
            }
            None => groups.push(Group {
                variables: smallvec![variable],
                entries: states,
                ports: own_ports.clone(),
            }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Variable;

    /// A network of variables with these numbers of states, and the variables.
    fn network(states: &[usize]) -> (Network, Vec<VariableId>) {
        let variables = states.iter().enumerate().map(|(v, &states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let network = Network::markov("test", variables.collect(), vec![]).expect("it is valid");
        let ids = network.ids().collect();
        (network, ids)
    }

    #[test]
    fn slow_variables_are_taken_out_of_long_runs() {
        // The first four variables are in both ports, the fifth only in the port to the parent.
        let (network, all) = network(&[4, 4, 20, 30, 6]);
        let ports = [&*all, &all[..4]];
        let layout = Layout::new(&network, &all, &ports, true, Optimisations::default());
        assert_eq!(layout.inner.variables(), &all[2..4]);
        assert_eq!(layout.outer.variables(), [all[0], all[1], all[4]]);
        assert!(layout.ports.iter().all(|port| port.is_vector));
        // If the first variable were taken out, rows would have 30 entries, which is too few.
        let (network, all) = self::network(&[60, 30, 2]);
        let ports = [&*all, &all[..2]];
        let layout = Layout::new(&network, &all, &ports, true, Optimisations::default());
        assert_eq!(layout.run_entries(), 60 * 30);
    }

    #[test]
    fn a_short_run_is_split_if_nothing_else_divides_a_large_table() {
        let layout = |states: &[usize], ports: [&[usize]; 3]| {
            let (network, all) = network(states);
            let ports = ports.map(|port| port.iter().map(|&v| all[v]).collect::<Vec<_>>());
            let ports = ports.each_ref().map(|port| &**port);
            Layout::new(&network, &all, &ports, true, Optimisations::default())
        };
        // The last two variables are in all ports, and no other variable is.
        let states = [8, 8, 8, 4, 5, 100];
        let ports: [&[usize]; 3] = [&[0, 1, 4, 5], &[1, 2, 4, 5], &[0, 2, 3, 4, 5]];
        let variable = VariableId::new;
        let split = layout(&states, ports);
        assert_eq!((split.outer.variables()[0], split.run_entries()), (variable(4), 100));
        assert!(split.ports.iter().all(|port| port.scope.variables()[0] == variable(4)));
        let small = layout(&[2, 2, 2, 2, 5, 100], ports);
        assert_eq!(small.run_entries(), 500);
        // They are in two ports, and so is the first variable, which is in the third port too.
        let whole = layout(&states, [&[0, 1, 4, 5], &[0, 2, 4, 5], &[0, 1, 2, 3]]);
        assert_eq!((whole.outer.variables()[0], whole.run_entries()), (variable(0), 500));
    }

    #[test]
    fn the_slowest_variables_of_a_root_are_in_its_largest_port() {
        let (network, all) = network(&[2, 9, 5, 40]);
        let ports = [&all[..1], &all[1..3], &all[2..]];
        let order = |has_parent| {
            let optimisations = Optimisations::default();
            let layout = Layout::new(&network, &all, &ports, has_parent, optimisations);
            layout.outer.variables()[0]
        };
        assert_eq!((order(true), order(false)), (all[0], all[2]));
    }
}
