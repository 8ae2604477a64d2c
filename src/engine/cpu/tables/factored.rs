//! Factored tables: products that are never multiplied out.
//!
//! A clique's table is a product of factors, which are often far smaller than the table. A factored
//! table keeps the smaller tables:
//!
//! ```text
//! psi(x) = 2^exponent * product over factor groups g of  psi_g(x restricted to the variables of g)
//! ```
//!
//! The table psi_g of a *factor group* is the product of the factors in g. Each factor of the
//! clique is in one group. Multiplying the groups' tables each time a row is read can be faster
//! than reading psi: they stay in a cache, while psi would have to be written to memory and read
//! back.
//!
//! Factors are put into groups one after another. A factor joins the first group whose table does
//! not become too large: the new table must have at most as many entries as the group's table and
//! the factor's table had together, or far fewer entries than psi. Otherwise the factor begins a
//! new group.

use crate::allocate;
use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::fill::TableBuilder;
use crate::engine::cpu::tables::multiply::MAX_FACTORS;
use crate::engine::cpu::tree::layout::Layout;
use crate::engine::cpu::tree::rows::{GroupPort, PortWords, ROW_HEAD};
use crate::lowering::Optimisation;
use crate::network::{Factor, FactorId, Network, VariableId};
use crate::potential::Scope;

// The constants were tuned on the paper's eight networks; if one is wrong, only speed changes (and
// last bits of results).

/// Minimum number of entries for a table to be factored.
const MIN_ENTRIES: usize = 1024;

/// Minimum number of entries of a row for a table to be factored. A shorter row takes longer to set
/// up than to multiply.
const MIN_ROW: usize = 24;

/// A table is factored only if it has at least this many times as many entries as the tables of all
/// its factor groups together.
const MIN_SAVING: usize = 3;

/// A factor may always join a group if the clique's table has at least this many times as many
/// entries as the group's table then has.
const MIN_GROUP_SAVING: usize = 16;

/// Maximum number of tables that may vary along a row of a factored table: factor groups and
/// messages together. Up to this number, the loop over rows needs no allocated list of them.
pub const MAX_STREAMS: usize = 8;

/// Maximum number of factor groups of one table.
const MAX_GROUPS: usize = 3;

/// How a clique's table is factored.
#[derive(Debug)]
pub struct FactoringPlan {
    groups: Vec<GroupPlan>,
    /// Total entries of the groups' tables.
    entries: usize,
}

/// Factors that are multiplied into one table.
#[derive(Debug)]
struct GroupPlan {
    /// The variables of the table that are in the layout's `outer` scope, in the order of this
    /// scope.
    slow: Vec<VariableId>,
    /// Whether any factor varies along a row. If so, the table also has all variables of the
    /// layout's `inner` scope; otherwise none of these.
    is_vector: bool,
    factors: Vec<FactorId>,
    /// Entries of the table.
    entries: usize,
}

/// A clique's table as a product of the tables of factor groups.
#[derive(Debug, Default)]
pub struct FactoredTable {
    /// The tables of all factor groups, consecutively.
    pub values: Vec<f64>,
    /// The words of a row that point into [`values`](Self::values).
    pub words: PortWords,
}

impl GroupPlan {
    /// A group of one factor.
    fn from_factor(network: &Network, layout: &Layout, factor: FactorId) -> Self {
        let family = network.factor(factor).scope();
        let is_vector = layout.inner.variables().iter().any(|v| family.contains(v));
        let slow = layout.outer.variables().iter().copied().filter(|v| family.contains(v));
        let slow: Vec<VariableId> = slow.collect();
        let entries = table_entries(network, layout, &slow, is_vector);
        Self { slow, is_vector, factors: vec![factor], entries }
    }

    /// The group of the factors of both groups; `None` if its table is too large.
    fn joined(&self, other: &Self, network: &Network, layout: &Layout) -> Option<Self> {
        let in_either = |v: &VariableId| self.slow.contains(v) || other.slow.contains(v);
        let slow = layout.outer.variables().iter().copied().filter(in_either);
        let slow: Vec<VariableId> = slow.collect();
        let is_vector = self.is_vector || other.is_vector;
        let entries = table_entries(network, layout, &slow, is_vector);
        let max_entries = (self.entries + other.entries).max(layout.entries() / MIN_GROUP_SAVING);
        (entries <= max_entries).then(|| {
            let factors = self.factors.iter().chain(&other.factors).copied().collect();
            Self { slow, is_vector, factors, entries }
        })
    }
}

/// Number of entries of the table of a group with the given `slow` variables.
fn table_entries(
    network: &Network,
    layout: &Layout,
    slow: &[VariableId],
    is_vector: bool,
) -> usize {
    let rows: usize = slow.iter().map(|&v| network[v].cardinality()).product();
    rows * if is_vector { layout.run_entries() } else { 1 }
}

impl FactoringPlan {
    /// How to factor the product of `factors` in `layout`; `None` if factoring does not pay off.
    /// Ignores the observed variables of the factors, which were removed from the clique.
    pub fn new(inputs: TableInputs<'_>, layout: &Layout, factors: &[FactorId]) -> Option<Self> {
        let (network, table) = (inputs.network, layout.entries());
        if !inputs.optimisations.has(Optimisation::FactoredTables)
            || table < MIN_ENTRIES
            || layout.run_entries() < MIN_ROW
            || factors.len() > MAX_FACTORS
            || layout.ports.len() + MAX_GROUPS > MAX_STREAMS
        {
            return None;
        }
        let mut groups: Vec<GroupPlan> = Vec::new();
        for &factor in factors {
            let own = GroupPlan::from_factor(network, layout, factor);
            let joined = groups
                .iter_mut()
                .find_map(|group| group.joined(&own, network, layout).map(|both| (group, both)));
            match joined {
                Some((group, both)) => *group = both,
                None => groups.push(own),
            }
        }
        let entries: usize = groups.iter().map(|group| group.entries).sum();
        let pays_off = entries <= table / MIN_SAVING && groups.len() <= MAX_GROUPS;
        pays_off.then_some(Self { groups, entries })
    }

    /// Number of factor groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Bytes of the tables of all factor groups.
    pub fn bytes(&self) -> usize {
        self.entries * size_of::<f64>()
    }

    /// Empty memory for the tables of all factor groups. It is allocated by the thread that plans,
    /// even if another thread fills it.
    pub fn memory(&self) -> Vec<f64> {
        allocate::with_capacity(self.entries)
    }

    /// The variables of each group's table, and where it begins among the tables of all groups.
    pub fn ports(&self, network: &Network, layout: &Layout) -> Vec<GroupPort> {
        let mut end = 0;
        let port = |group: &GroupPlan| {
            let inner = if group.is_vector { layout.inner.variables() } else { &[] };
            let scope = Scope::of(network, group.slow.iter().chain(inner).copied());
            let start = end;
            end += group.entries;
            GroupPort { scope, start, is_vector: group.is_vector }
        };
        self.groups.iter().map(port).collect()
    }

    /// Makes the tables of all factor groups in the memory of `values`. Also returns the exponent
    /// of the power of two by which their product must be multiplied.
    pub fn make(
        &self,
        mut values: Vec<f64>,
        builder: &mut TableBuilder,
        inputs: TableInputs<'_>,
        layout: &Layout,
    ) -> (FactoredTable, i32) {
        let network = inputs.network;
        values.resize(self.entries, 0.0);
        let mut factored = FactoredTable { values, words: PortWords::default() };
        let (mut exponent, mut start) = (0, 0);
        for (word, group) in (ROW_HEAD + layout.ports.len()..).zip(&self.groups) {
            let factors: Vec<&Factor> = group.factors.iter().map(|&f| network.factor(f)).collect();
            let slow = Scope::of(network, group.slow.iter().copied());
            let table = &mut factored.values[start..start + group.entries];
            // The table of a group that is constant along rows is filled as a single run.
            let empty = Scope::default();
            let scopes = if group.is_vector { (&slow, &layout.inner) } else { (&empty, &slow) };
            exponent += builder.product_in_runs(inputs, scopes, &factors, None, table, false);
            factored.words.push(word as u32, group.is_vector);
            start += group.entries;
        }
        (factored, exponent)
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
    use crate::engine::cpu::pass::traversal::PassContext;
    use crate::engine::cpu::tables::filled::FilledTree;
    use crate::engine::cpu::tables::pool::ReusePool;
    use crate::engine::cpu::tree::reduce::{Search, reduce};
    use crate::format::open;
    use crate::lowering::Optimisations;
    use crate::network::Evidence;
    use crate::propagation::Watch;

    /// The posteriors of all variables, from a propagation through `filled`.
    fn posteriors(network: &Network, filled: &FilledTree<f64>, evidence: &Evidence) -> Vec<f64> {
        let mut state = State::new(&filled.tree);
        state.find_change(network, &filled.tree, evidence);
        state.enter(&filled.tree, evidence);
        let watch = Watch::untimed(CancelToken::new());
        let report = Report { watch: &watch, messages: None };
        let context = PassContext { filled, report, forks: false };
        let mut from = watch.worker_clock();
        state.whole().collect_all(&context, &mut from).expect("the evidence is possible");
        state.whole().distribute_all(&context, &mut from).expect("the evidence is possible");
        state.posteriors(network, &filled.tree, evidence, 0.0, false).values().to_vec()
    }

    #[test]
    fn a_factored_table_gives_the_posteriors_of_the_full_table() {
        let mut rng = Pcg64Mcg::seed_from_u64(29);
        let mut factored = [0; 2];
        for (number, name) in ["barley", "mildew"].into_iter().enumerate() {
            let network = open(name).expect("a sample of this name").network;
            for count in [5, 8, 12] {
                let evidence = Evidence::drawn(&network, count, &mut rng);
                let observed: Vec<_> = network.ids().map(|v| evidence.observed(v)).collect();
                let is_observed: Vec<bool> = observed.iter().map(Option::is_some).collect();
                let found =
                    reduce(&network, &is_observed, None, Search::unlimited(&CancelToken::new()));
                let structure = found.expect("there is no limit").structure;
                let inputs = TableInputs {
                    network: &network,
                    observed: &observed,
                    smallest: &[],
                    threads: None,
                    optimisations: Optimisations::default(),
                };
                let full = FilledTree::<f64>::build(&structure, inputs);
                let mut pool = ReusePool::<f64>::new();
                let filled = FilledTree::rebuild(&structure, inputs, None, &mut pool);
                let count_factored = |filled: &FilledTree<f64>| {
                    filled.tables.iter().filter(|table| table.factored.is_some()).count()
                };
                factored[number] += count_factored(&filled);
                assert_eq!(count_factored(&full), 0);
                let expected = posteriors(&network, &full, &evidence);
                let found = posteriors(&network, &filled, &evidence);
                let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
                assert!(found.iter().zip(&expected).all(is_near), "{name}, {count} observed");
            }
        }
        assert!(factored.iter().all(|&count| count > 5), "{factored:?} factored tables");
    }
}
