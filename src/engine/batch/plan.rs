//! All messages of a propagation as lists of terms.
//!
//! A message is computed row by row. A row computes one entry of the message as a sum of terms.
//! Each term is the product of a constant and of entries of at most two other messages, here called
//! *factors*. Rows and terms hold the indices of these entries, so a kernel only reads, multiplies
//! and adds, in the same way for all cases. Configurations that are impossible whatever the
//! evidence have no term.

use std::ops::Range;

use crate::allocate;
use crate::network::VariableId;
use crate::potential::{Real, Scope};

use super::join_tree::{JoinTree, Link, Vertex};
use super::order::{self, Order, Step};
use super::tiles::Tiles;

/// The messages of a propagation: those from variables, which hold the findings, and the computed
/// messages.
pub struct Plan<T> {
    /// The operations, one per computed message. Each comes after the operations that compute its
    /// inputs.
    pub operations: Vec<Operation>,
    /// Ranges of consecutive operations of one level, which do not depend on one another.
    pub levels: Vec<Range<usize>>,
    /// The rows of all operations, except those in `tiles`.
    pub rows: Vec<Row>,
    /// The terms of all rows with at most one factor per term.
    pub singles: Vec<Single<T>>,
    /// The terms of all rows with two factors per term, unless they are in `products` or `tiles`.
    pub pairs: Vec<Pair<T>>,
    /// The terms of all operations with [`Operation::is_product`]: the entries of the first and the
    /// second factor.
    pub products: Vec<[u16; 2]>,
    /// The rows and terms of each operation with [`Operation::tiles`]. Empty in
    /// [`Order::DepthFirst`]: engine `cpu` does not compute tiles.
    pub tiles: Vec<Tiles>,
    /// By variable: the messages from and to it.
    pub variables: Vec<Ends>,
    /// Number of messages.
    pub messages: usize,
    /// The exponent of the power of two by which P(e) must be multiplied.
    pub exponent: i64,
    /// Maximum memory in bytes of the tree and the plan while they were made.
    pub max_bytes: usize,
}

/// The computation of one message.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The form of the rows.
    pub kind: Kind,
    /// Whether the kind is [`Kind::Two`], all constants are one, and the numbers of all entries of
    /// the factors fit into 16 bits. Such a term takes a quarter of the memory of a [`Pair`] in
    /// double precision; most terms of the plans of Munin4 and Diabetes are of this kind.
    /// Always false in [`Order::Levels`], because the kernels of engine `gpu` read constants.
    pub is_product: bool,
    /// The range of the operation's rows in [`Plan::rows`]; empty if the rows are in tiles.
    pub rows: Range<usize>,
    /// If the rows are in tiles: where in [`Plan::tiles`].
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu computes tiles.
    pub tiles: Option<usize>,
    /// The message that is computed.
    pub result: Message,
    /// Number of entries of the message.
    pub entries: usize,
    /// The messages that are multiplied: zero, one or two, depending on the kind.
    pub factors: Vec<Message>,
    /// Number of terms of all rows; zero if they are in tiles.
    pub terms: usize,
    /// Number of terms of the longest row; zero if the rows are in tiles.
    pub longest: usize,
    /// The smallest constant of all terms; at most one. One if the rows are in tiles.
    pub smallest: f64,
}

/// The number of a message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Twice the number of the message's edge, plus the number of the end that sends the message.
    pub number: u32,
}

impl Message {
    /// The message that end number `end` of `edge` sends.
    fn new(edge: usize, end: usize) -> Self {
        Self { number: (2 * edge + end) as u32 }
    }
}

/// The form of an operation's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sums of constants.
    Constant,
    /// Sums of constants, each times an entry of the only factor.
    One,
    /// Sums of constants, each times an entry of the first factor. The whole sum is multiplied by
    /// one entry of the second factor.
    OneAndRow,
    /// Sums of constants, each times one entry of each factor.
    Two,
}

/// One entry of a computed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The row's first term, in [`Plan::products`] if [`Operation::is_product`], else in
    /// [`Plan::pairs`] if the kind is [`Kind::Two`], otherwise in [`Plan::singles`].
    pub first: u32,
    /// One past the row's last term.
    pub end: u32,
    /// The entry of the result that the row computes, counted from the first entry of the result.
    pub entry: u32,
    /// The entry of the second factor by which the whole sum is multiplied if the kind is
    /// [`Kind::OneAndRow`]; otherwise zero.
    pub factor: u32,
}

/// A term with at most one factor. Packed, because a plan may have millions of these.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Single<T> {
    /// The constant.
    pub value: T,
    /// The entry of the first factor; zero if there is none.
    pub entry: u32,
}

/// A term with two factors.
#[derive(Clone, Copy, Debug)]
pub struct Pair<T> {
    /// The constant.
    pub value: T,
    /// The entries of the first and the second factor.
    pub entries: [u32; 2],
}

/// The two messages between a variable and its vertex, which have an entry per state.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// From the variable: the weights of its finding.
    pub weights: Message,
    /// To the variable: its posterior given the other variables' findings, up to a common factor.
    pub others: Message,
    /// Number of states of the variable.
    pub states: u32,
}

impl Operation {
    /// How many times entries of messages are read, for one case. Not for an operation whose rows
    /// are in tiles, for which this is zero.
    pub fn loads(&self) -> usize {
        match self.kind {
            Kind::Constant => 0,
            Kind::One => self.terms,
            Kind::OneAndRow => self.terms + self.rows.len(),
            Kind::Two => 2 * self.terms,
        }
    }
}

impl<T: Real> Plan<T> {
    /// The plan of all messages of `tree`, in `order`. Drops the configurations of each vertex
    /// after its last message.
    pub fn new(mut tree: JoinTree<'_>, order: Order) -> Self {
        let steps = order::steps(&tree, order);
        let mut plan = Self::empty(&tree, &steps, order);
        let mut steps_left: Vec<usize> =
            tree.vertices.iter().map(|vertex| vertex.links.len()).collect();
        let mut tree_bytes = tree.bytes();
        for (number, step) in steps.iter().enumerate() {
            let operation = plan.add_rows(&tree, step, order);
            plan.operations.push(operation);
            plan.max_bytes = plan.max_bytes.max(tree_bytes + plan.bytes());
            steps_left[step.vertex] -= 1;
            if steps_left[step.vertex] == 0 {
                let configurations = &mut tree.vertices[step.vertex].configurations;
                tree_bytes -= std::mem::take(configurations).bytes();
            }
            match plan.levels.last_mut() {
                Some(level) if steps[level.start].level == step.level => level.end = number + 1,
                _ => plan.levels.push(number..number + 1),
            }
        }
        let variables = tree.by_variable.iter().map(|&edge| Ends {
            weights: Message::new(edge, 1),
            others: Message::new(edge, 0),
            states: tree.edges[edge].entries as u32,
        });
        plan.variables = variables.collect();
        plan
    }

    /// A plan without operations, with memory for the operations of `steps`. Vectors that grow
    /// would be copied, and meanwhile take half as much memory again. The parts of `rows` and
    /// `pairs` for operations that get tiles are never written, so they take no memory.
    fn empty(tree: &JoinTree<'_>, steps: &[Step], order: Order) -> Self {
        let (mut rows, mut singles, mut pairs, mut products) = (0, 0, 0, 0);
        for step in steps {
            rows += tree.edges[step.edge].entries;
            let source = MessageSource::new(tree, step);
            let count = match source.kind {
                Kind::Two if source.is_product(tree, order) => &mut products,
                Kind::Two => &mut pairs,
                _ => &mut singles,
            };
            *count += source.vertex.configurations.codes.len();
        }
        Self {
            operations: Vec::with_capacity(steps.len()),
            levels: Vec::new(),
            rows: allocate::with_capacity(rows),
            singles: allocate::with_capacity(singles),
            pairs: allocate::with_capacity(pairs),
            products: allocate::with_capacity(products),
            tiles: Vec::new(),
            variables: Vec::new(),
            messages: 2 * tree.edges.len(),
            exponent: tree.exponent,
            max_bytes: tree.max_bytes,
        }
    }

    /// Adds the rows and terms of the message that `step` computes.
    fn add_rows(&mut self, tree: &JoinTree<'_>, step: &Step, order: Order) -> Operation {
        let source = MessageSource::new(tree, step);
        let is_product = source.is_product(tree, order);
        let factors = source.factor_entries(tree, step.vertex);
        let row_of = tree.entries(step.vertex, step.edge);
        let entries = tree.edges[step.edge].entries;
        let incoming = |link: &&Link| Message::new(link.edge, 1 - link.end);
        let mut operation = Operation {
            kind: source.kind,
            is_product,
            rows: self.rows.len()..self.rows.len(),
            tiles: None,
            result: Message::new(step.edge, step.end),
            entries,
            factors: source.others.iter().map(incoming).collect(),
            terms: 0,
            longest: 0,
            smallest: 1.0,
        };
        if order == Order::Levels
            && source.kind == Kind::Two
            && let Some(tiles) = Tiles::new(tree, &source, &factors, &row_of, entries)
        {
            operation.tiles = Some(self.tiles.len());
            self.tiles.push(tiles);
            return operation;
        }
        let (configurations, starts) = by_row(&row_of, entries);
        drop(row_of);
        let configurations_of_row =
            |row: usize| &configurations[starts[row] as usize..starts[row + 1] as usize];
        // Rows that read nearby entries of the first factor are computed one after another.
        let first_read = |row: usize| {
            let entries = configurations_of_row(row).iter().map(|&at| factors[0][at as usize]);
            entries.min().unwrap_or(0)
        };
        let mut rows: Vec<(u32, usize)> =
            (0..starts.len() - 1).map(|row| (first_read(row), row)).collect();
        rows.sort_unstable();
        let merges = source.may_repeat_terms(tree);
        let mut terms: Vec<Term> = Vec::new();
        for (_, row) in rows {
            terms.clear();
            terms.extend(configurations_of_row(row).iter().map(|&at| {
                let at = at as usize;
                Term { entries: [factors[0][at], factors[1][at]], value: source.value(at) }
            }));
            if merges {
                merge_equal(&mut terms);
            }
            operation.terms += terms.len();
            operation.longest = operation.longest.max(terms.len());
            operation.smallest =
                terms.iter().map(|term| term.value).fold(operation.smallest, f64::min);
            self.add_row(source.kind, is_product, row, &terms);
        }
        operation.rows.end = self.rows.len();
        operation
    }

    /// Adds a row with its terms.
    fn add_row(&mut self, kind: Kind, is_product: bool, row: usize, terms: &[Term]) {
        let first = match kind {
            Kind::Two if is_product => {
                let first = self.products.len();
                self.products.extend(terms.iter().map(|term| term.entries.map(|at| at as u16)));
                first
            }
            Kind::Two => {
                let first = self.pairs.len();
                let pair =
                    |term: &Term| Pair { value: T::from_f64(term.value), entries: term.entries };
                self.pairs.extend(terms.iter().map(pair));
                first
            }
            _ => {
                let first = self.singles.len();
                let single =
                    |term: &Term| Single { value: T::from_f64(term.value), entry: term.entries[0] };
                self.singles.extend(terms.iter().map(single));
                first
            }
        } as u32;
        let factor =
            if kind == Kind::OneAndRow { terms.first().map_or(0, |t| t.entries[1]) } else { 0 };
        self.rows.push(Row { first, end: first + terms.len() as u32, entry: row as u32, factor });
    }

    /// Bytes of the plan.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rows)
            + size_of_val(&*self.singles)
            + size_of_val(&*self.pairs)
            + size_of_val(&*self.products)
            + self.tiles.iter().map(Tiles::bytes).sum::<usize>()
            + self.operations.len() * (size_of::<Operation>() + 2 * size_of::<Message>())
            + size_of_val(&*self.levels)
            + size_of_val(&*self.variables)
    }
}

/// A term of a row before it is stored: the entries of the two factors, and the constant. The entry
/// of a missing factor is zero.
struct Term {
    entries: [u32; 2],
    value: f64,
}

/// Adds up the values of terms with the same entries.
fn merge_equal(terms: &mut Vec<Term>) {
    terms.sort_by_key(|term| term.entries);
    terms.dedup_by(|next, merged| {
        let is_same = next.entries == merged.entries;
        if is_same {
            merged.value += next.value;
        }
        is_same
    });
}

/// The inputs of a message: the vertex that sends it, and the messages from the vertex's other
/// neighbours.
pub struct MessageSource<'a> {
    pub vertex: &'a Vertex,
    /// The link over which the message is sent.
    out: &'a Link,
    /// The other links, from which the factors come. A factor that is the same for a whole row
    /// comes last.
    others: Vec<&'a Link>,
    kind: Kind,
}

impl<'a> MessageSource<'a> {
    /// The inputs of the message that `step` computes.
    fn new(tree: &'a JoinTree<'_>, step: &Step) -> Self {
        let vertex = &tree.vertices[step.vertex];
        let out = vertex
            .links
            .iter()
            .find(|link| link.edge == step.edge)
            .expect("the vertex has this edge");
        let mut others: Vec<&Link> = vertex.links.iter().filter(|l| l.edge != step.edge).collect();
        let onto = &tree.edges[step.edge].scope;
        let is_fixed_by_row = |edge: usize| {
            tree.edges[edge].scope.variables().iter().all(|variable| onto.contains(*variable))
        };
        others.sort_by_key(|link| is_fixed_by_row(link.edge));
        let kind = match &others[..] {
            [] => Kind::Constant,
            [_] => Kind::One,
            [first, second] if is_fixed_by_row(second.edge) && !is_fixed_by_row(first.edge) => {
                Kind::OneAndRow
            }
            [_, _] => Kind::Two,
            _ => unreachable!("a vertex has at most three neighbours"),
        };
        Self { vertex, out, others, kind }
    }

    /// The variables of the message.
    pub fn result_scope<'t>(&self, tree: &'t JoinTree<'_>) -> &'t Scope {
        &tree.edges[self.out.edge].scope
    }

    /// The variables of the two factors of a message of [`Kind::Two`].
    pub fn factor_scopes<'t>(&self, tree: &'t JoinTree<'_>) -> [&'t Scope; 2] {
        [0, 1].map(|which: usize| &tree.edges[self.others[which].edge].scope)
    }

    /// The potential of a configuration of the sending vertex.
    pub fn value(&self, configuration: usize) -> f64 {
        self.vertex.configurations.values.get(configuration).copied().unwrap_or(1.0)
    }

    /// By factor, then by configuration of the sending vertex, whose number is `vertex`: the entry
    /// of the factor; zero if there is no such factor.
    fn factor_entries(&self, tree: &JoinTree<'_>, vertex: usize) -> [Vec<u32>; 2] {
        let count = self.vertex.configurations.codes.len();
        [0, 1].map(|which: usize| match self.others.get(which) {
            Some(link) => tree.entries(vertex, link.edge),
            None => vec![0; count],
        })
    }

    /// See [`Operation::is_product`].
    fn is_product(&self, tree: &JoinTree<'_>, order: Order) -> bool {
        const MAX_ENTRIES: usize = 1 << u16::BITS;
        order == Order::DepthFirst
            && self.kind == Kind::Two
            && self.others.iter().all(|link| tree.edges[link.edge].entries <= MAX_ENTRIES)
            && self.vertex.configurations.values.iter().all(|&value| value == 1.0)
            && !self.may_repeat_terms(tree)
    }

    /// Whether two configurations of the vertex may belong to the same entry at every edge, because
    /// some variable of the vertex is in no edge.
    fn may_repeat_terms(&self, tree: &JoinTree<'_>) -> bool {
        let links = self.others.iter().copied().chain([self.out]);
        let edges: Vec<usize> = links.map(|link| link.edge).collect();
        let is_in_edge = |variable: VariableId| {
            edges.iter().any(|&edge| tree.edges[edge].scope.contains(variable))
        };
        !self.vertex.scope.variables().iter().all(|&variable| is_in_edge(variable))
    }
}

/// The numbers of all configurations, sorted by row; and by row, the position in this list of the
/// row's first configuration. One more position marks the end of the list. `row_of` has the row of
/// each configuration.
pub fn by_row(row_of: &[u32], rows: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; rows + 1];
    row_of.iter().for_each(|&row| starts[row as usize + 1] += 1);
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let mut order = vec![0; row_of.len()];
    for (at, &row) in (0..).zip(row_of) {
        order[next[row as usize] as usize] = at;
        next[row as usize] += 1;
    }
    (order, starts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tiles::{NONE, Quad};
    use super::*;
    use crate::cancel::CancelToken;
    use crate::format;
    use crate::propagation::{CompileOptions, compile};

    /// A row: its entry of the second factor, if it has one, and the entries and the constant of
    /// each of its terms, in ascending order.
    type RowTerms = (u32, Vec<([u32; 2], f32)>);

    /// The rows of an operation, by their entry of the result.
    fn rows(plan: &Plan<f32>, operation: &Operation) -> BTreeMap<u32, RowTerms> {
        let mut found = BTreeMap::new();
        for row in &plan.rows[operation.rows.clone()] {
            let range = row.first as usize..row.end as usize;
            let terms: Vec<_> = match operation.kind {
                Kind::Two if operation.is_product => {
                    plan.products[range].iter().map(|at| (at.map(u32::from), 1.0)).collect()
                }
                Kind::Two => plan.pairs[range].iter().map(|t| (t.entries, t.value)).collect(),
                _ => plan.singles[range].iter().map(|t| ([t.entry, 0], t.value)).collect(),
            };
            assert_eq!(found.insert(row.entry, (row.factor, terms)), None);
        }
        if let Some(number) = operation.tiles {
            let Tiles { tiles, quads } = &plan.tiles[number];
            for tile in tiles {
                let quads = &quads[tile.first as usize..tile.end as usize];
                for row in (0..4).filter(|&row| tile.rows[row] != NONE) {
                    let term = |quad: &Quad| {
                        let entries = [quad.first[row / 2], quad.second[row % 2]];
                        (entries, quad.values[row])
                    };
                    let terms = quads.iter().map(term).filter(|(_, value)| *value != 0.0);
                    assert_eq!(found.insert(tile.rows[row], (0, terms.collect())), None);
                }
            }
        }
        found.values_mut().for_each(|(_, terms)| terms.sort_by_key(|(entries, _)| *entries));
        found
    }

    #[test]
    fn both_orders_have_the_same_terms_and_products_take_less_memory() {
        for name in ["pigs", "munin4"] {
            let network = format::sample(name).expect("a sample of this name").open().network;
            let compiled =
                compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
            let tree = || JoinTree::new(&compiled, u64::MAX).unwrap();
            let by_level = Plan::<f32>::new(tree(), Order::Levels);
            let plan = Plan::<f32>::new(tree(), Order::DepthFirst);
            let mut terms_of_two = 0;
            for operation in &plan.operations {
                let of_same = |other: &&Operation| other.result.number == operation.result.number;
                let other = by_level.operations.iter().find(of_same).unwrap();
                assert_eq!(rows(&plan, operation), rows(&by_level, other));
                assert_eq!(operation.entries, other.entries);
                assert_eq!(operation.tiles, None);
                terms_of_two += if operation.kind == Kind::Two { operation.terms } else { 0 };
            }
            assert!(by_level.products.is_empty() && plan.products.len() > plan.pairs.len());
            let in_products = size_of_val(&*plan.products) + size_of_val(&*plan.pairs);
            let all = terms_of_two * size_of::<Pair<f32>>();
            assert!(in_products < all * 3 / 4, "{name}: {in_products} bytes of {all}");
            assert!(
                by_level.tiles.len() > 10,
                "{name}: {} messages in tiles",
                by_level.tiles.len()
            );
        }
    }
}
