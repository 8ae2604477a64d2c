//! Tables that are never made.
//!
//! The table of a clique is a product of factors that are often far smaller. Where they are, its
//! rows are multiplied anew each time that they are read: the factors stay in a cache, where the
//! table would have to be written and read from farther away. Factors whose product is no larger
//! than they are, or small beside the table, are multiplied once.

use crate::engine::cpu::pass::kernel::ROW_HEAD;
use crate::engine::cpu::tables::fill::Filler;
use crate::engine::cpu::tables::multiply::AT_ONCE;
use crate::engine::cpu::tree::layout::Layout;
use crate::network::{Factor, FactorId, Network, VariableId};
use crate::potential::Scope;

/// Fewer entries than these are as soon made.
const WORTH: usize = 1024;

/// A shorter row takes longer to begin than to multiply.
const SHORTEST_ROW: usize = 24;

/// What is multiplied once has at most this share of the entries of the table.
const SHARE: usize = 3;

/// Factors whose product has at most this share of the entries are multiplied once.
const SMALL: usize = 16;

/// Most tables that run along with a row, of the clique and of messages.
pub const MOST_STREAMS: usize = 8;

/// Most of them of the clique itself.
const MOST_OWN: usize = 3;

/// How the table of a clique is a product.
#[derive(Debug)]
pub struct Plan {
    parts: Vec<PartPlan>,
    /// Entries of all parts.
    entries: usize,
    /// What they are to be in: memory of the thread that plans, whichever makes them, because they
    /// outlast that.
    room: Vec<f64>,
}

/// Factors that are multiplied once.
#[derive(Debug)]
struct PartPlan {
    /// The slow variables of the clique that they hold, in its order.
    slow: Vec<VariableId>,
    /// Whether they hold any of those along a row.
    is_vector: bool,
    factors: Vec<FactorId>,
    entries: usize,
}

/// The table of a clique as a product.
#[derive(Debug, Default)]
pub struct Factored {
    /// Entries that the table would have.
    pub entries: usize,
    /// The tables of all parts, one after another.
    pub values: Vec<f64>,
    /// Words of a row that point at one number of [`values`](Self::values) for the whole row.
    pub scalars: Vec<u32>,
    /// Words of a row that point at as many as the row has entries.
    pub vectors: Vec<u32>,
}

/// One part of the product as the rows of a clique meet it.
pub struct PartPort {
    /// Its variables in index order.
    pub scope: Scope,
    /// Where it begins among the tables of all parts.
    pub start: usize,
    pub is_vector: bool,
}

impl Plan {
    /// How the product of `factors` in `layout` is best left a product; `None` where a table is as
    /// good. Variables that were taken out of the clique have one state.
    pub fn new(network: &Network, layout: &Layout, factors: &[FactorId]) -> Option<Self> {
        let (table, row) = (layout.entries(), layout.row());
        let ports = layout.ports.len();
        let is_fit = table >= WORTH && row >= SHORTEST_ROW && factors.len() <= AT_ONCE;
        if !is_fit || ports + MOST_OWN > MOST_STREAMS {
            return None;
        }
        let entries = |slow: &[VariableId], is_vector: bool| {
            let outer: usize = slow.iter().map(|&v| network[v].cardinality()).product();
            outer * if is_vector { row } else { 1 }
        };
        let mut parts: Vec<PartPlan> = Vec::new();
        for &factor in factors {
            let family = network.factor(factor).scope();
            let is_vector = layout.inner.variables().iter().any(|v| family.contains(v));
            let outer = layout.outer.variables().iter().copied();
            let slow: Vec<VariableId> = outer.clone().filter(|v| family.contains(v)).collect();
            let own = entries(&slow, is_vector);
            let join = |part: &PartPlan| {
                let both = |v: &VariableId| slow.contains(v) || part.slow.contains(v);
                let slow: Vec<VariableId> = outer.clone().filter(both).collect();
                let entries = entries(&slow, is_vector || part.is_vector);
                (entries <= (own + part.entries).max(table / SMALL)).then_some((slow, entries))
            };
            let joined = parts.iter_mut().find_map(|part| join(part).map(|found| (part, found)));
            match joined {
                Some((part, (slow, entries))) => {
                    (part.slow, part.entries) = (slow, entries);
                    part.is_vector |= is_vector;
                    part.factors.push(factor);
                }
                None => {
                    parts.push(PartPlan { slow, is_vector, factors: vec![factor], entries: own });
                }
            }
        }
        let entries: usize = parts.iter().map(|part| part.entries).sum();
        let is_worth = entries <= table / SHARE && parts.len() <= MOST_OWN;
        is_worth.then(|| Self { parts, entries, room: Vec::with_capacity(entries) })
    }

    /// The product with the factors of `network` in the states `observed`;
    /// the exponent of its scale, and how rows meet its parts.
    pub fn make(
        self,
        filler: &mut Filler,
        (network, layout): (&Network, &Layout),
        observed: &[Option<usize>],
    ) -> (Factored, i32, Vec<PartPort>) {
        let mut values = self.room;
        values.resize(self.entries, 0.0);
        let mut product = Factored { entries: layout.entries(), values, ..Factored::default() };
        let mut ports = Vec::with_capacity(self.parts.len());
        let (mut exponent, mut start) = (0, 0);
        for part in &self.parts {
            let factors: Vec<&Factor> = part.factors.iter().map(|&f| network.factor(f)).collect();
            let slow = Scope::of(network, part.slow.iter().copied());
            let table = &mut product.values[start..start + part.entries];
            // One number a row is a table of one run.
            let nothing = Scope::default();
            let runs = if part.is_vector { (&slow, &layout.inner) } else { (&nothing, &slow) };
            exponent += filler.in_runs(network, runs, (&factors, None), observed, table, false);
            let along = if part.is_vector { layout.inner.variables() } else { &[] };
            let scope = Scope::of(network, part.slow.iter().chain(along).copied());
            ports.push(PartPort { scope, start, is_vector: part.is_vector });
            start += part.entries;
        }
        (product, exponent, ports)
    }
}

impl Factored {
    /// The product as rows meet it whose first words are those of so many ports.
    pub fn met_by(mut self, ports: usize, parts: &[PartPort]) -> Self {
        for (word, part) in (ROW_HEAD + ports..).zip(parts) {
            let words = if part.is_vector { &mut self.vectors } else { &mut self.scalars };
            words.push(word as u32);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cpu::pass::report::Report;
    use crate::engine::cpu::pass::state::State;
    use crate::engine::cpu::pass::subtree::Work;
    use crate::engine::cpu::tables::make::{Shelf, Sources};
    use crate::engine::cpu::tree::nodes::Tree;
    use crate::engine::cpu::tree::reduce::reduce;
    use crate::format::open;
    use crate::network::Evidence;
    use crate::propagation::Watch;

    fn messages(network: &Network, tree: &Tree<f64>, evidence: &Evidence) -> Vec<f64> {
        let mut state = State::new(tree);
        state.find_change(network, tree, evidence);
        state.enter(tree, evidence);
        let watch = Watch::untimed(CancelToken::new());
        let report = Report { watch: &watch, messages: None };
        let work = Work { tree, report, forks: false, is_support: false };
        let mut from = watch.worker_clock();
        state.part().collect_all(&work, &mut from).expect("it is possible");
        state.part().distribute_all(&work, &mut from).expect("it is possible");
        state.posteriors(network, tree, evidence, 0.0).values().to_vec()
    }

    #[test]
    fn a_product_gives_the_messages_of_its_table() {
        let mut rng = Pcg64Mcg::seed_from_u64(29);
        let mut products = [0; 2];
        for (number, name) in ["barley", "mildew"].into_iter().enumerate() {
            let network = open(name).expect("it is shipped").network;
            for count in [5, 8, 12] {
                let evidence = Evidence::drawn(&network, count, &mut rng);
                let observed: Vec<_> = network.ids().map(|v| evidence.observed(v)).collect();
                let is_observed: Vec<bool> = observed.iter().map(Option::is_some).collect();
                let found =
                    reduce(&network, &is_observed, u64::MAX, 8, None, None, &CancelToken::new());
                let structure = found.expect("there is no limit").structure;
                let sources = Sources { network: &network, observed: &observed, threads: None };
                let made = structure.build::<f64>(sources, false);
                let tree = structure.rebuild(sources, None, &mut Shelf::<f64>::new());
                products[number] += tree.nodes.iter().filter(|n| n.factored.is_some()).count();
                assert!(made.nodes.iter().all(|node| node.factored.is_none()));
                let expected = messages(&network, &made, &evidence);
                let found = messages(&network, &tree, &evidence);
                let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
                assert!(found.iter().zip(&expected).all(is_near), "{name} without {count}");
            }
        }
        assert!(products.iter().all(|&count| count > 5), "{products:?} products");
    }
}
