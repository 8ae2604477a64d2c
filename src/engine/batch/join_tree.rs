//! The binary join tree: a junction tree in which no vertex has more than three neighbours (Shenoy,
//! Binary join trees for computing marginals, 1997).
//!
//! Every variable is a leaf, at which its finding is entered and its posterior is read. With at
//! most three neighbours, a message is a sum of products of a potential and at most two messages.
//! If a clique has more neighbours, or if the scopes of the edges to two neighbours together have
//! few configurations, a vertex is put between two neighbours and the clique. The new vertex
//! multiplies the messages of these neighbours, so the potentials of the clique are read fewer
//! times.

use crate::lowering::Shape;
use crate::network::{Network, VariableId};
use crate::potential::{Scope, SplitMapping};
use crate::propagation::{CompiledNetwork, Home};

use super::sparsity::{Configurations, possible_configurations};

/// Maximum average length of a message's sums: the number of configurations of the sending vertex,
/// divided by the number of entries of a full table over the message's variables. A message with
/// longer sums is computed in two steps, so that there are enough sums to compute in parallel.
/// Tuned on a GPU with the paper's eight networks; if it is wrong, only speed changes (and last
/// bits of results).
const MAX_TERMS: usize = 1024;

/// Assumed upper bound on the bytes of the tree and its plan, per entry of the cliques' tables. A
/// test of the runner compares the plan of Alarm with it. If it is too small, a tree may take more
/// memory than the limit.
pub const BYTES_PER_ENTRY: u64 = 96;

/// If a vertex has at most this many neighbours, all pairs of them are considered for joining.
/// Otherwise the neighbours are sorted by their edges' scopes, and only pairs that are adjacent in
/// this order are considered. If the number is wrong, only speed changes (and last bits of
/// results).
const MAX_ALL_PAIRS: usize = 32;

/// A binary join tree.
pub struct JoinTree<'a> {
    pub network: &'a Network,
    pub vertices: Vec<Vertex>,
    pub edges: Vec<Edge>,
    /// By variable: the edge between it and its vertex.
    pub by_variable: Vec<usize>,
    /// The exponent of the power of two by which the product of all potentials must be multiplied.
    pub exponent: i64,
    /// The peak of the memory in use while the configurations were found, in bytes.
    pub max_bytes: usize,
}

/// A clique, or a vertex that was added between neighbours. All potentials of an added vertex are
/// one. Variables are not vertices, although they are ends of edges.
pub struct Vertex {
    pub scope: Scope,
    /// The possible configurations, with their potentials.
    pub configurations: Configurations,
    /// The edges of the vertex.
    pub links: Vec<Link>,
}

/// An edge as one of its vertices sees it.
pub struct Link {
    pub edge: usize,
    /// Which end of the edge the vertex is, 0 or 1.
    pub end: usize,
}

/// An edge, with a message in either direction.
pub struct Edge {
    /// The variables of its messages.
    pub scope: Scope,
    /// Number of entries of each message: one for each configuration of `scope` that some evidence
    /// allows. If the edge leads to a variable, there is an entry for every state.
    pub entries: usize,
    /// By configuration of `scope`, indexed by its code: its entry in the messages; `u32::MAX` if
    /// it has no entry.
    table: Vec<u32>,
}

impl<'a> JoinTree<'a> {
    /// The join tree of a compiled network. `None` if the network is impossible, if a potential
    /// might underflow, if the tree and its plan might take more than `bytes`, or if there are too
    /// many entries for 32-bit numbers.
    pub fn new(compiled: &'a CompiledNetwork, bytes: u64) -> Option<Self> {
        let network = compiled.network();
        let entries = compiled.statistics().total_clique_entries;
        if entries > (bytes / BYTES_PER_ENTRY).min(u64::from(u32::MAX) / 8) {
            return None;
        }
        let shape = Shape::of(compiled);
        let (cliques, exponent, max_bytes) = possible_configurations(compiled, &shape)?;
        let mut builder = Builder { network, tree: Self::empty(network, exponent, max_bytes) };
        for (variables, configurations) in shape.cliques.iter().zip(cliques) {
            let scope = Scope::of(network, variables.iter().copied());
            builder.tree.vertices.push(Vertex { scope, configurations, links: Vec::new() });
        }
        builder.add_variables_and_separators(compiled, &shape);
        // Freed before the tree grows.
        drop(shape);
        for vertex in 0..builder.tree.vertices.len() {
            builder.join_equal_neighbours(vertex);
            builder.join_neighbours(vertex);
        }
        for vertex in 0..builder.tree.vertices.len() {
            builder.shorten_sums(vertex);
        }
        Some(builder.tree)
    }

    /// A tree without vertices and edges.
    fn empty(network: &'a Network, exponent: i64, max_bytes: usize) -> Self {
        let by_variable = vec![usize::MAX; network.variables().len()];
        let (vertices, edges) = (Vec::new(), Vec::new());
        Self { network, vertices, edges, by_variable, exponent, max_bytes }
    }

    /// By configuration of `vertex`: the entry that the configuration belongs to in the messages
    /// over `edge`.
    ///
    /// These lists are larger than the tree, so they are made when they are needed.
    pub fn entries(&self, vertex: usize, edge: usize) -> Vec<u32> {
        let Edge { scope, table, .. } = &self.edges[edge];
        let codes = self.codes(vertex, scope);
        codes.map(|code| table[code as usize]).collect()
    }

    /// By configuration of `vertex`: the code of its projection onto the variables of `onto`.
    fn codes(&self, vertex: usize, onto: &Scope) -> impl Iterator<Item = u32> {
        let Vertex { scope, configurations, .. } = &self.vertices[vertex];
        let mapping = SplitMapping::new(scope, onto);
        configurations.codes.iter().map(move |&code| mapping.get(code))
    }

    /// Bytes of the tree.
    pub fn bytes(&self) -> usize {
        let vertices = self.vertices.iter().map(|vertex| vertex.configurations.bytes());
        let tables = self.edges.iter().map(|edge| size_of_val(&*edge.table));
        vertices.chain(tables).sum()
    }
}

/// A join tree while it is built.
struct Builder<'a> {
    network: &'a Network,
    tree: JoinTree<'a>,
}

impl Builder<'_> {
    /// Attaches every variable to the clique or separator where its posterior is read, and joins
    /// neighbouring cliques: by an edge, or, if variables are attached to their separator, by a
    /// vertex with an edge on either side. The vertices must be exactly the cliques of `shape`.
    fn add_variables_and_separators(&mut self, compiled: &CompiledNetwork, shape: &Shape) {
        let (network, tree) = (compiled.network(), compiled.tree());
        let numbers = shape.clique_numbers();
        let mut at_separator = vec![Vec::new(); tree.separators().len()];
        for variable in network.ids() {
            match compiled.variable_home(variable) {
                Home::Clique(clique) => self.attach(variable, numbers[clique.index()]),
                Home::Separator(separator) => at_separator[separator.index()].push(variable),
            }
        }
        for (clique, origin) in shape.origins.iter().enumerate() {
            let origin = origin.expect("every clique is in the compiled tree");
            let Some((parent, separator)) = shape.parents[clique].zip(origin.separator) else {
                continue;
            };
            let scope = Scope::of(network, shape.separator(clique));
            let variables = std::mem::take(&mut at_separator[separator.index()]);
            let mut above = parent;
            if !variables.is_empty() {
                above = self.add_vertex(parent, scope.clone());
            }
            let edge = self.add_edge(above, scope);
            self.link(clique, edge, 1);
            variables.into_iter().for_each(|variable| self.attach(variable, above));
        }
    }

    /// Adds an edge over `scope` with `vertex` at end 0. End 1 must be linked next.
    fn add_edge(&mut self, vertex: usize, scope: Scope) -> usize {
        let (mut table, mut entries) = (vec![u32::MAX; scope.entries()], 0);
        // Mark the entries of the messages, then number them.
        self.tree.codes(vertex, &scope).for_each(|code| table[code as usize] = 0);
        for entry in table.iter_mut().filter(|entry| **entry == 0) {
            *entry = entries;
            entries += 1;
        }
        let edge = self.tree.edges.len();
        self.tree.edges.push(Edge { scope, entries: entries as usize, table });
        self.link(vertex, edge, 0);
        edge
    }

    /// Links `vertex` to `edge` as its end number `end`.
    fn link(&mut self, vertex: usize, edge: usize, end: usize) {
        self.tree.vertices[vertex].links.push(Link { edge, end });
    }

    /// Attaches `variable` to `vertex`. The messages between them have an entry for every state.
    fn attach(&mut self, variable: VariableId, vertex: usize) {
        let edge = self.tree.edges.len();
        let scope = Scope::of(self.network, [variable]);
        let entries = scope.entries();
        let table = (0..entries as u32).collect();
        self.tree.edges.push(Edge { scope, entries, table });
        self.tree.by_variable[variable.index()] = edge;
        self.link(vertex, edge, 0);
    }

    /// Adds a vertex over `scope` that is linked to `vertex`.
    fn add_vertex(&mut self, vertex: usize, scope: Scope) -> usize {
        let edge = self.add_edge(vertex, scope.clone());
        let table = &self.tree.edges[edge].table;
        let codes = (0..).zip(table).filter(|(_, entry)| **entry != u32::MAX);
        let codes = codes.map(|(code, _)| code).collect();
        let configurations = Configurations { codes, values: Vec::new() };
        self.tree.vertices.push(Vertex { scope, configurations, links: Vec::new() });
        let between = self.tree.vertices.len() - 1;
        self.link(between, edge, 1);
        between
    }

    /// Moves the ends of `edges` at the vertex `from` to the vertex `to`. The scope of this vertex
    /// must contain the scopes of the edges.
    fn move_links(&mut self, from: usize, edges: &[usize], to: usize) {
        for &edge in edges {
            let links = &mut self.tree.vertices[from].links;
            let at =
                links.iter().position(|link| link.edge == edge).expect("the vertex has this link");
            let Link { edge, end } = links.swap_remove(at);
            self.link(to, edge, end);
        }
    }

    /// Puts vertices between `vertex` and two neighbours whose edges have the same scope, as long
    /// as there are such neighbours and `vertex` has more than [`MAX_ALL_PAIRS`] neighbours.
    ///
    /// # Complexity
    /// O(n log^2 n) for n neighbours, where [`Self::join_neighbours`] would take O(n^2 log n).
    fn join_equal_neighbours(&mut self, vertex: usize) {
        loop {
            let count = self.tree.vertices[vertex].links.len();
            if count <= MAX_ALL_PAIRS {
                return;
            }
            let mut links = std::mem::take(&mut self.tree.vertices[vertex].links);
            let variables = |link: &Link| self.tree.edges[link.edge].scope.variables();
            links.sort_by(|a, b| variables(a).cmp(variables(b)).then(a.edge.cmp(&b.edge)));
            let mut links = links.into_iter().peekable();
            while let Some(link) = links.next() {
                let scope = &self.tree.edges[link.edge].scope;
                let same = |other: &Link| self.tree.edges[other.edge].scope == *scope;
                let Some(other) = links.next_if(same) else {
                    self.tree.vertices[vertex].links.push(link);
                    continue;
                };
                let between = self.add_vertex(vertex, scope.clone());
                self.tree.vertices[between].links.extend([link, other]);
            }
            if self.tree.vertices[vertex].links.len() == count {
                return;
            }
        }
    }

    /// Puts vertices between `vertex` and two of its neighbours at a time, as long as `vertex` has
    /// more than three neighbours. With three neighbours, does so once more if the new vertex is
    /// forecast to have at most half as many configurations as `vertex`. Chooses the two neighbours
    /// for which this forecast, an upper bound, is smallest.
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
            let max_configurations = |union: &Scope| match union == scope {
                true => all,
                false => union.entries().min(all),
            };
            let max_distance = if count > MAX_ALL_PAIRS { 1 } else { count };
            let pairs = (0..count)
                .flat_map(|a| (a + 1..count.min(a + 1 + max_distance)).map(move |b| (a, b)));
            let pairs = pairs.map(|(a, b)| (order[a], order[b]));
            let best = pairs.map(|(a, b)| (max_configurations(&union(a, b)), a, b)).min();
            let Some((configurations, a, b)) = best else { return };
            if count == 3 && 2 * configurations > all {
                return;
            }
            let between = self.add_vertex(vertex, union(a, b));
            self.move_links(vertex, &[a, b], between);
        }
    }

    /// Puts a vertex between `vertex` and each neighbour for which the sums of the message to this
    /// neighbour would be longer than [`MAX_TERMS`] allows. The new vertex has the variables of the
    /// message and as many others as it takes to keep the sums of the message to the new vertex
    /// within this limit. The sums from there to the neighbour may be longer.
    fn shorten_sums(&mut self, vertex: usize) {
        let all = self.tree.vertices[vertex].configurations.codes.len();
        let edges: Vec<usize> =
            self.tree.vertices[vertex].links.iter().map(|link| link.edge).collect();
        for &edge in &edges {
            let scope = &self.tree.edges[edge].scope;
            if all <= MAX_TERMS * scope.entries() {
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
            while all > MAX_TERMS * entries
                && let Some(more) = rest.pop()
            {
                variables.push(more);
                entries *= states(more);
            }
            variables.sort_unstable();
            let between = self.add_vertex(vertex, Scope::of(self.network, variables));
            self.move_links(vertex, &[edge], between);
        }
    }
}
