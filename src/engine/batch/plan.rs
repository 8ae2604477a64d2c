//! All messages of a propagation as lists of terms, for many cases at once.
//!
//! A message is computed row by row, and a row is a sum of products of a constant and an entry of
//! one or two other messages. Rows and terms say where those entries stand, so that a kernel only
//! multiplies, adds and reads, the same for all cases. What cannot be, whatever the evidence, is in
//! no list.

use std::ops::Range;

use crate::potential::Real;

use super::join_tree::{JoinTree, Vertex};
use super::order::{self, Order, Step};

/// See the module. Messages lie one after another, in an order in which each comes after those that
/// it is made of; the first are those of the variables, their findings.
pub struct Plan<T> {
    /// Each after those whose results it needs.
    pub operations: Vec<Operation>,
    /// Runs of operations that need nothing of one another.
    pub levels: Vec<Range<usize>>,
    pub rows: Vec<Row>,
    /// Terms with one factor.
    pub singles: Vec<Single<T>>,
    /// Terms with two factors.
    pub pairs: Vec<Pair<T>>,
    /// For each variable where its weights stand, and the message to it.
    pub variables: Vec<Ends>,
    /// Entries of all messages.
    pub entries: usize,
    /// Messages there are.
    pub messages: usize,
    /// What comes out must be multiplied by two to this power.
    pub exponent: i64,
}

/// The computation of one message.
#[derive(Clone, Debug)]
pub struct Operation {
    pub kind: Kind,
    /// Of the plan's rows.
    pub rows: Range<usize>,
    /// The message that it makes.
    pub result: Message,
    /// The messages that are multiplied, as many as the kind says.
    pub factors: Vec<Message>,
    /// Its terms.
    pub terms: usize,
}

/// A message: its number, and where its entries begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message {
    pub number: u32,
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu needs it.
    pub start: u32,
}

/// What the rows of an operation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sums of constants.
    Constant,
    /// Sums of constants times an entry of the factor.
    One,
    /// The same times one entry of a second factor for the whole row.
    OneAndRow,
    /// Sums of constants times an entry of both factors.
    Two,
}

/// One entry of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The first of its terms.
    pub first: u32,
    /// The end of the last.
    pub end: u32,
    /// Which entry of the result it is.
    pub entry: u32,
    /// The entry of the factor that is for the whole row, if there is one.
    pub factor: u32,
}

/// A term with one factor.
#[derive(Clone, Copy, Debug)]
pub struct Single<T> {
    pub value: T,
    pub entry: u32,
}

/// A term with two factors.
#[derive(Clone, Copy, Debug)]
pub struct Pair<T> {
    pub value: T,
    pub entries: [u32; 2],
}

/// The two messages between a variable and its vertex.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The variable's own: a weight for every state.
    pub weights: Message,
    /// All the others' share of its posterior.
    pub others: Message,
    pub states: u32,
}

impl Operation {
    /// Entries of messages that it reads.
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
    pub fn new(tree: &JoinTree, order: Order) -> Self {
        let steps = order::steps(tree, order);
        let mut plan = Self {
            operations: Vec::with_capacity(steps.len()),
            levels: Vec::new(),
            rows: Vec::new(),
            singles: Vec::new(),
            pairs: Vec::new(),
            variables: Vec::new(),
            entries: 0,
            messages: 2 * tree.edges.len(),
            exponent: tree.exponent,
        };
        let mut of_edge = vec![[Message::default(); 2]; tree.edges.len()];
        let mut place = |plan: &mut Self, edge: usize, from: usize| {
            let message = Message { number: (2 * edge + from) as u32, start: plan.entries as u32 };
            plan.entries += tree.edges[edge].entries;
            of_edge[edge][from] = message;
            message
        };
        let leaves: Vec<Message> =
            tree.of_variable.iter().map(|&edge| place(&mut plan, edge, 1)).collect();
        for step in &steps {
            let result = place(&mut plan, step.edge, step.end);
            plan.operations.push(Operation {
                kind: Kind::Constant,
                rows: 0..0,
                result,
                factors: Vec::new(),
                terms: 0,
            });
        }
        for (number, step) in steps.iter().enumerate() {
            plan.add(number, tree, step, &of_edge);
            match plan.levels.last_mut() {
                Some(level) if steps[level.start].level == step.level => level.end = number + 1,
                _ => plan.levels.push(number..number + 1),
            }
        }
        plan.variables = leaves
            .into_iter()
            .zip(&tree.of_variable)
            .map(|(weights, &edge)| Ends {
                weights,
                others: of_edge[edge][0],
                states: tree.edges[edge].entries as u32,
            })
            .collect();
        plan
    }

    /// Makes the rows and terms of a message.
    fn add(&mut self, number: usize, tree: &JoinTree, step: &Step, of_edge: &[[Message; 2]]) {
        let vertex = &tree.vertices[step.vertex];
        let out = vertex.links.iter().find(|link| link.edge == step.edge).expect("its link");
        let mut others: Vec<_> = vertex.links.iter().filter(|l| l.edge != step.edge).collect();
        let onto = &tree.edges[step.edge].scope;
        let is_of_row = |edge: usize| {
            tree.edges[edge].scope.variables().iter().all(|variable| onto.contains(*variable))
        };
        // What is the same for a whole row comes last.
        others.sort_by_key(|link| is_of_row(link.edge));
        let kind = match &others[..] {
            [] => Kind::Constant,
            [_] => Kind::One,
            [first, second] if is_of_row(second.edge) && !is_of_row(first.edge) => Kind::OneAndRow,
            [_, _] => Kind::Two,
            _ => unreachable!("a vertex has at most three neighbours"),
        };
        let factor = |link: usize, at: usize| others.get(link).map_or(0, |link| link.places[at]);
        let factors = [0, 1]
            .map(|which| (0..out.places.len()).map(|at| factor(which, at)).collect::<Vec<u32>>());
        let merges = !is_covered(tree, vertex, others.iter().map(|l| l.edge).chain([step.edge]));
        let (order, starts) = by_row(&out.places, tree.edges[step.edge].entries);
        let of_row = |row: usize| &order[starts[row] as usize..starts[row + 1] as usize];
        let mut rows: Vec<(u32, usize)> = (0..starts.len() - 1)
            .map(|row| (of_row(row).iter().map(|&at| factors[0][at as usize]).min(), row))
            .map(|(first, row)| (first.unwrap_or(0), row))
            .collect();
        // Rows that read the same entries follow each other.
        rows.sort_unstable();
        let first_row = self.rows.len();
        let mut terms: Vec<(u32, u32, f64)> = Vec::new();
        let mut count = 0;
        for (_, row) in rows {
            terms.clear();
            terms.extend(of_row(row).iter().map(|&at| {
                let at = at as usize;
                let value = vertex.configurations.values.get(at).copied().unwrap_or(1.0);
                (factors[0][at], factors[1][at], value)
            }));
            if merges {
                terms.sort_by_key(|&(first, second, _)| (first, second));
                terms.dedup_by(|next, kept| {
                    let is_same = (next.0, next.1) == (kept.0, kept.1);
                    if is_same {
                        kept.2 += next.2;
                    }
                    is_same
                });
            }
            count += terms.len();
            let first =
                if kind == Kind::Two { self.pairs.len() } else { self.singles.len() } as u32;
            self.rows.push(Row {
                first,
                end: first + terms.len() as u32,
                entry: row as u32,
                factor: if kind == Kind::OneAndRow { terms.first().map_or(0, |t| t.1) } else { 0 },
            });
            if kind == Kind::Two {
                let pair = |&(first, second, value): &(u32, u32, f64)| Pair {
                    value: T::from_f64(value),
                    entries: [first, second],
                };
                self.pairs.extend(terms.iter().map(pair));
            } else {
                let single = |&(entry, _, value): &(u32, u32, f64)| Single {
                    value: T::from_f64(value),
                    entry,
                };
                self.singles.extend(terms.iter().map(single));
            }
        }
        let incoming = |edge: usize, end: usize| of_edge[edge][1 - end];
        let operation = &mut self.operations[number];
        operation.kind = kind;
        operation.rows = first_row..self.rows.len();
        operation.factors = others.iter().map(|link| incoming(link.edge, link.end)).collect();
        operation.terms = count;
    }

    /// Bytes of the lists.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rows)
            + size_of_val(&*self.singles)
            + size_of_val(&*self.pairs)
            + self.operations.len() * (size_of::<Operation>() + 2 * size_of::<Message>())
    }
}

/// Whether every variable of `vertex` is in one of `edges`, so that no two of its configurations
/// are the same there.
fn is_covered(tree: &JoinTree, vertex: &Vertex, edges: impl Iterator<Item = usize>) -> bool {
    let edges: Vec<usize> = edges.collect();
    let is_there = |variable| edges.iter().any(|&edge| tree.edges[edge].scope.contains(variable));
    vertex.scope.variables().iter().all(|&variable| is_there(variable))
}

/// The places of configurations ordered by row, and where each of `rows` rows begins; with the end.
fn by_row(row_of: &[u32], rows: usize) -> (Vec<u32>, Vec<u32>) {
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
