//! A junction tree as a tree in which no vertex has more than three neighbours: the binary join
//! trees of Shenoy (1997).
//!
//! Every variable is a leaf of its own, from which its findings come and where its posterior is
//! read. With few neighbours a message is a sum of products of at most two messages and a
//! potential. Where two neighbours of a clique share few configurations, a vertex between them and
//! the clique multiplies their messages first, and the clique is gone over fewer times.

use crate::network::{Network, VariableId};
use crate::potential::Scope;
use crate::propagation::{CompiledNetwork, Home};

use super::support::{Configurations, Projection, configurations};

/// Sums longer than this are made in two steps, so that there are enough to be made at once.
const LONGEST_SUM: usize = 1024;

/// Bytes that the tree and the lists of a plan take at most for each entry of the cliques' tables.
pub const OF_ENTRY: u64 = 96;

/// Neighbours from which on only some pairs are tried.
const MANY: usize = 32;

/// See the module.
pub struct JoinTree {
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
    /// The edge between each variable and the vertex that it hangs on.
    pub of_variable: Vec<usize>,
    /// The product of all potentials must be multiplied by two to this power.
    pub exponent: i64,
}

/// A clique, or a place where messages are multiplied.
pub struct Vertex {
    pub scope: Scope,
    pub configurations: Configurations,
    pub links: Vec<Link>,
}

/// The way from a vertex to a neighbour.
pub struct Link {
    pub edge: usize,
    /// Which end of the edge the vertex is.
    pub end: usize,
    /// For each configuration of the vertex its entry in the edge's tables.
    pub places: Vec<u32>,
}

/// An edge, on which a message runs either way.
pub struct Edge {
    pub scope: Scope,
    /// Entries of its messages.
    pub entries: usize,
    /// The entry of each configuration; that of others means nothing.
    table: Vec<u32>,
}

impl JoinTree {
    /// `None` if nothing is possible, if making it and a plan of it might take more than so many
    /// bytes, or if there are too many entries for numbers of 32 bits.
    pub fn new(compiled: &CompiledNetwork, bytes: u64) -> Option<Self> {
        let (network, tree) = (compiled.network(), compiled.tree());
        let entries = compiled.statistics().total_clique_entries;
        if entries > (bytes / OF_ENTRY).min(u64::from(u32::MAX) / 8) {
            return None;
        }
        let (left, exponent) = configurations(compiled)?;
        let mut made = Maker { network, tree: Self::empty(network, exponent) };
        for (clique, configurations) in tree.cliques().iter().zip(left) {
            let scope = Scope::of(network, clique.variables.iter().copied());
            made.tree.vertices.push(Vertex { scope, configurations, links: Vec::new() });
        }
        let mut at_separator = vec![Vec::new(); tree.separators().len()];
        for variable in network.ids() {
            match compiled.variable_home(variable) {
                Home::Clique(clique) => made.hang(variable, clique.index()),
                Home::Separator(edge) => at_separator[edge.index()].push(variable),
            }
        }
        for (separator, variables) in tree.separators().iter().zip(at_separator) {
            let scope = Scope::of(network, separator.variables.iter().copied());
            let (parent, child) = (separator.parent.index(), separator.child.index());
            if variables.is_empty() {
                let edge = made.edge(parent, scope);
                made.link(child, edge, 1);
                continue;
            }
            let between = made.between(parent, scope.clone());
            let edge = made.edge(between, scope);
            made.link(child, edge, 1);
            variables.into_iter().for_each(|variable| made.hang(variable, between));
        }
        for vertex in 0..made.tree.vertices.len() {
            made.join_neighbours(vertex);
        }
        for vertex in 0..made.tree.vertices.len() {
            made.shorten_sums(vertex);
        }
        Some(made.tree)
    }

    fn empty(network: &Network, exponent: i64) -> Self {
        let of_variable = vec![usize::MAX; network.variables().len()];
        Self { vertices: Vec::new(), edges: Vec::new(), of_variable, exponent }
    }
}

struct Maker<'a> {
    network: &'a Network,
    tree: JoinTree,
}

impl Maker<'_> {
    /// A new edge from `vertex`, whose other end is still to be linked.
    fn edge(&mut self, vertex: usize, scope: Scope) -> usize {
        let codes = self.codes(vertex, &scope);
        let (mut table, mut entries) = (vec![u32::MAX; scope.entries()], 0);
        codes.iter().for_each(|&code| table[code as usize] = 0);
        for place in table.iter_mut().filter(|place| **place == 0) {
            *place = entries;
            entries += 1;
        }
        let places = codes.iter().map(|&code| table[code as usize]).collect();
        let edge = self.tree.edges.len();
        self.tree.edges.push(Edge { scope, entries: entries as usize, table });
        self.tree.vertices[vertex].links.push(Link { edge, end: 0, places });
        edge
    }

    /// Links `vertex` to `edge` as its end number `end`.
    fn link(&mut self, vertex: usize, edge: usize, end: usize) {
        let Edge { scope, table, .. } = &self.tree.edges[edge];
        let codes = self.codes(vertex, scope);
        let places = codes.into_iter().map(|code| table[code as usize]).collect();
        self.tree.vertices[vertex].links.push(Link { edge, end, places });
    }

    /// The index of each configuration of `vertex` in a table over `onto`.
    fn codes(&self, vertex: usize, onto: &Scope) -> Vec<u32> {
        let Vertex { scope, configurations, .. } = &self.tree.vertices[vertex];
        let projection = Projection::new(self.network, scope, onto);
        configurations.codes.iter().map(|&code| projection.of(code)).collect()
    }

    /// Hangs `variable` on `vertex`. The messages between them have an entry for every state.
    fn hang(&mut self, variable: VariableId, vertex: usize) {
        let edge = self.tree.edges.len();
        let scope = Scope::of(self.network, [variable]);
        let entries = scope.entries();
        let table = (0..entries as u32).collect();
        self.tree.edges.push(Edge { scope, entries, table });
        self.tree.of_variable[variable.index()] = edge;
        self.link(vertex, edge, 0);
    }

    /// A new vertex over `scope` that is linked to `vertex`.
    fn between(&mut self, vertex: usize, scope: Scope) -> usize {
        let edge = self.edge(vertex, scope.clone());
        let table = &self.tree.edges[edge].table;
        let codes = (0..).zip(table).filter(|(_, place)| **place != u32::MAX);
        let codes = codes.map(|(code, _)| code).collect();
        let configurations = Configurations { codes, values: Vec::new() };
        self.tree.vertices.push(Vertex { scope, configurations, links: Vec::new() });
        let between = self.tree.vertices.len() - 1;
        self.link(between, edge, 1);
        between
    }

    /// Moves the end of links of `from` to the vertex `to`, whose scope holds theirs.
    fn move_links(&mut self, from: usize, links: &[usize], to: usize) {
        for &edge in links {
            let links = &mut self.tree.vertices[from].links;
            let at = links.iter().position(|link| link.edge == edge).expect("it is a link");
            let Link { edge, end, .. } = links.swap_remove(at);
            self.link(to, edge, end);
        }
    }

    /// Puts vertices between `vertex` and two of its neighbours at a time, while it has more than
    /// three or that makes it gone over less.
    fn join_neighbours(&mut self, vertex: usize) {
        loop {
            let Vertex { scope, configurations, links } = &self.tree.vertices[vertex];
            let (count, all) = (links.len(), configurations.codes.len());
            if count < 3 {
                return;
            }
            let mut order: Vec<usize> = links.iter().map(|link| link.edge).collect();
            order.sort_by_key(|&edge| {
                let edge = &self.tree.edges[edge];
                (edge.scope.variables(), edge.entries)
            });
            let union = |a: usize, b: usize| {
                Scope::union([&self.tree.edges[a].scope, &self.tree.edges[b].scope])
            };
            let entries = |union: &Scope| match union == scope {
                true => all,
                false => union.entries().min(all),
            };
            let reach = if count > MANY { 1 } else { count };
            let pairs =
                (0..count).flat_map(|a| (a + 1..count.min(a + 1 + reach)).map(move |b| (a, b)));
            let pairs = pairs.map(|(a, b)| (order[a], order[b]));
            let best = pairs.map(|(a, b)| (entries(&union(a, b)), a, b)).min();
            let Some((entries, a, b)) = best else { return };
            if count == 3 && 2 * entries > all {
                return;
            }
            let between = self.between(vertex, union(a, b));
            self.move_links(vertex, &[a, b], between);
        }
    }

    /// Puts a vertex with more variables between `vertex` and neighbours whose messages would be
    /// few long sums.
    fn shorten_sums(&mut self, vertex: usize) {
        let all = self.tree.vertices[vertex].configurations.codes.len();
        let edges: Vec<usize> =
            self.tree.vertices[vertex].links.iter().map(|link| link.edge).collect();
        for &edge in &edges {
            let scope = &self.tree.edges[edge].scope;
            if all <= LONGEST_SUM * scope.entries() {
                continue;
            }
            let is_elsewhere = |variable: &VariableId| {
                let mut others = edges.iter().filter(|other| **other != edge);
                others.any(|&other| self.tree.edges[other].scope.contains(*variable))
            };
            let whole = &self.tree.vertices[vertex].scope;
            let mut rest: Vec<VariableId> =
                whole.variables().iter().copied().filter(|v| !scope.contains(*v)).collect();
            let states = |variable: VariableId| self.network[variable].cardinality();
            rest.sort_by_key(|variable| (is_elsewhere(variable), states(*variable)));
            let mut variables = scope.variables().to_vec();
            let mut entries = scope.entries();
            while all > LONGEST_SUM * entries
                && let Some(more) = rest.pop()
            {
                variables.push(more);
                entries *= states(more);
            }
            variables.sort_unstable();
            let between = self.between(vertex, Scope::of(self.network, variables));
            self.move_links(vertex, &[edge], between);
        }
    }
}
