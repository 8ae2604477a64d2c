//! Engine `reference`: variable elimination, against which the other engines are checked.
//!
//! For each variable separately, all other variables are summed out of the product of all factors
//! and findings. The engine uses the network and not its junction tree, so an error in the junction
//! tree does not affect it. It is slow and meant for tests and small networks.
//!
//! Its numbers have an exponent of their own ([`Wide`]), so products neither underflow nor
//! overflow.
//!
//! The method is that of Zhang and Poole, A simple approach to Bayesian network computations
//! (1994).

use std::borrow::Cow;
use std::sync::Arc;

use super::wide::Wide;
use super::{Engine, EngineInfo, LoadError, LoadOptions, Propagator, REFERENCE, RunError};
use crate::allocate;
use crate::cancel::CancelToken;
use crate::graph::{self, Heuristic, MoralGraph, table_entries};
use crate::network::{Evidence, Network, VariableId};
use crate::potential::{Odometer, Precision, Scope};
use crate::propagation::{CompiledNetwork, Forecast, Posteriors, Stage, Watch};

/// Maximum number of variables for an exact forecast of memory, which simulates one elimination for
/// each variable. With more variables, these simulations would take seconds, so the forecast is an
/// upper bound.
const MAX_EXACT_FORECAST: usize = 500;

/// Engine `reference`.
pub(super) struct Reference;

impl Engine for Reference {
    fn info(&self) -> &'static EngineInfo {
        &REFERENCE
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let network = compiled.network();
        let order = elimination_order(network);
        let peak = if order.len() <= MAX_EXACT_FORECAST { peak_entries } else { peak_bound };
        let bytes = peak(network, &order).saturating_mul(size_of::<Wide>() as u64);
        Forecast::new(self.name(), precision, compiled, bytes)
    }

    fn load(
        &self,
        compiled: &Arc<CompiledNetwork>,
        options: &LoadOptions,
    ) -> Result<Box<dyn Propagator>, LoadError> {
        let peak_bytes = super::admit(self, compiled, options)?;
        let network = Arc::clone(compiled.network());
        Ok(Box::new(Loaded { order: elimination_order(&network), network, peak_bytes }))
    }
}

/// A network and the order in which its variables are summed out.
struct Loaded {
    network: Arc<Network>,
    order: Vec<VariableId>,
    peak_bytes: u64,
}

impl Propagator for Loaded {
    fn run(&mut self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        allocate::or_error(|| self.eliminate_all(evidence, watch))?
    }

    fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}

impl Loaded {
    /// Computes P(e) and each posterior, each by a variable elimination of its own.
    fn eliminate_all(&self, evidence: &Evidence, watch: &Watch) -> Result<Posteriors, RunError> {
        let (network, order) = (&*self.network, &self.order);
        watch.check()?;
        let factors = watch.stage(Stage::Initialise, || factors(network, evidence));
        watch.stage(Stage::Read, || {
            // P(e) is the result of summing out all variables.
            let total = eliminate(factors.clone(), order, &Scope::default(), watch)?.values[0];
            if total.is_zero() {
                return Err(RunError::Impossible);
            }
            let mut marginals = Vec::with_capacity(order.len());
            for variable in network.ids() {
                let onto = Scope::of(network, [variable]);
                marginals.push(eliminate(factors.clone(), order, &onto, watch)?.values);
            }
            Ok(Posteriors::new(network, total.ln(), |variable, states| {
                Wide::write_proportional(&marginals[variable.index()], states);
            }))
        })
    }
}

/// A table of numbers of any magnitude; the state of the last variable varies fastest.
#[derive(Clone, Debug)]
struct Table {
    scope: Scope,
    values: Vec<Wide>,
}

impl Table {
    fn new(scope: Scope, values: impl Iterator<Item = f64>) -> Self {
        Self { scope, values: values.map(Wide::new).collect() }
    }

    /// The sum over the states of `variable`.
    fn without(&self, variable: VariableId) -> Self {
        let scope = self.scope.without(variable);
        let mut sums = allocate::with_capacity(scope.entries());
        sums.resize(scope.entries(), Wide::ZERO);
        for (&value, entry) in self.values.iter().zip(Odometer::new(&self.scope, &scope)) {
            sums[entry] += value;
        }
        sums.iter_mut().for_each(|sum| *sum = sum.normalised());
        Self { scope, values: sums }
    }
}

/// The factors of `network` and the findings of `evidence`. Every variable of a Markov network also
/// has a factor of ones, because it may be in no other factor.
fn factors(network: &Network, evidence: &Evidence) -> Vec<Table> {
    let tables = network.factors().map(|factor| {
        let scope = Scope::of(network, factor.scope().iter().copied());
        Table::new(scope, factor.values().iter().copied())
    });
    let findings = evidence.iter().map(|(variable, finding)| {
        let states = 0..network[variable].cardinality();
        Table::new(Scope::of(network, [variable]), states.map(|state| finding.weight(state)))
    });
    let ones = variable_scopes(network).map(|scope| {
        let entries = scope.entries();
        Table::new(scope, std::iter::repeat_n(1.0, entries))
    });
    tables.chain(findings).chain(ones).collect()
}

/// The product of `factors`, with all variables of `order` summed out except those in `onto`.
fn eliminate(
    mut factors: Vec<Table>,
    order: &[VariableId],
    onto: &Scope,
    watch: &Watch,
) -> Result<Table, RunError> {
    for &variable in order.iter().filter(|variable| !onto.contains(**variable)) {
        watch.check()?;
        let (with, without): (Vec<_>, Vec<_>) =
            factors.into_iter().partition(|factor| factor.scope.contains(variable));
        let product = product(&with);
        drop(with);
        factors = without;
        factors.push(product.without(variable));
    }
    let result = product(&factors);
    debug_assert_eq!(result.scope, *onto, "all other variables were summed out");
    Ok(result)
}

/// The product of `factors`.
fn product(factors: &[Table]) -> Table {
    let scope = Scope::union(factors.iter().map(|factor| &factor.scope));
    let mut entries: Vec<(&Table, Odometer)> =
        factors.iter().map(|factor| (factor, Odometer::new(&scope, &factor.scope))).collect();
    let mut values = allocate::with_capacity(scope.entries());
    for _ in 0..scope.entries() {
        let mut product = Wide::ONE;
        for (factor, entries) in &mut entries {
            let entry = entries.next().expect("an odometer does not end before its scope");
            product *= factor.values[entry];
        }
        values.push(product.normalised());
    }
    Table { scope, values }
}

/// All variables in greedy order: each is a remaining variable whose elimination needs the smallest
/// product. Any order gives the same posteriors.
fn elimination_order(network: &Network) -> Vec<VariableId> {
    let graph = MoralGraph::of_network(network);
    let eliminated = graph::eliminate(&graph, Heuristic::MinWeight, 0, &CancelToken::new());
    eliminated.expect("nothing limits or cancels this").order
}

/// Maximum number of entries held at any time while computing all posteriors: the initial factors,
/// the copy of these factors that an elimination works on, a product and a marginal, and the
/// results.
///
/// A finding on every variable is counted, so the maximum holds for any evidence.
fn peak_entries(network: &Network, order: &[VariableId]) -> u64 {
    let start = initial_scopes(network);
    let (initial, results) = (total(&start), states(network));
    let peak_for = |target: Option<VariableId>| {
        let (mut live, mut peak) = (initial, 0);
        products(&start, order, target, |consumed, product, marginal| {
            // The product is held together first with its factors, then with its marginal.
            let other = consumed.max(marginal);
            live = live.saturating_sub(consumed);
            peak = peak.max(live.saturating_add(product).saturating_add(other));
            live = live.saturating_add(marginal);
        });
        peak.max(live.saturating_add(target.map_or(1, |v| network[v].cardinality() as u64)))
    };
    // Keeping a variable makes no product smaller. So if the first peak saturates, all others do.
    let mut working = peak_for(None);
    if working < u64::MAX {
        working = network.ids().map(|v| peak_for(Some(v))).fold(working, u64::max);
    }
    initial.saturating_add(working).saturating_add(results)
}

/// An upper bound of [`peak_entries`], computed from a single elimination of all variables.
///
/// Keeping one variable of k states instead of eliminating it makes the tables at most k times as
/// large. Every table is an initial one, the marginal of a product, or the current product.
fn peak_bound(network: &Network, order: &[VariableId]) -> u64 {
    let start = initial_scopes(network);
    let (mut marginals, mut largest) = (0_u64, 0);
    products(&start, order, None, |_, product, marginal| {
        marginals = marginals.saturating_add(marginal);
        largest = largest.max(product);
    });
    let max_states = network.ids().map(|v| network[v].cardinality() as u64).max().unwrap_or(1);
    // One more for the number that remains when all variables are summed out.
    let working = marginals.saturating_add(largest).saturating_mul(max_states).saturating_add(1);
    let initial = total(&start).saturating_mul(2);
    initial.saturating_add(working).saturating_add(states(network))
}

/// Simulates the elimination of all variables of `order` except `target`. For each product, calls
/// `report` with three numbers of entries: of the factors, of the product, and of its marginal.
fn products(
    start: &[Scope],
    order: &[VariableId],
    target: Option<VariableId>,
    mut report: impl FnMut(u64, u64, u64),
) {
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, v)| position[v.index()] = at);
    // The position in `order` at which the first variable of a scope is eliminated.
    let first_position = |scope: &Scope| {
        let eliminated = scope.variables().iter().filter(|v| Some(**v) != target);
        eliminated.map(|v| position[v.index()]).min()
    };
    let mut waiting: Vec<Vec<Cow<'_, Scope>>> = vec![Vec::new(); order.len()];
    for scope in start {
        first_position(scope).into_iter().for_each(|at| waiting[at].push(Cow::Borrowed(scope)));
    }
    for (at, &variable) in order.iter().enumerate().filter(|(_, v)| Some(**v) != target) {
        let with = std::mem::take(&mut waiting[at]);
        let joint = Scope::union(with.iter().map(|scope| &**scope));
        let marginal = joint.without(variable);
        let consumed = with.iter().map(|scope| entries(scope)).fold(0, u64::saturating_add);
        report(consumed, entries(&joint), entries(&marginal));
        if let Some(at) = first_position(&marginal) {
            waiting[at].push(Cow::Owned(marginal));
        }
    }
}

/// The scopes of all factors, and of a finding on every variable.
fn initial_scopes(network: &Network) -> Vec<Scope> {
    let findings = network.ids().map(|variable| Scope::of(network, [variable]));
    family_scopes(network).into_iter().chain(findings).collect()
}

fn total(scopes: &[Scope]) -> u64 {
    scopes.iter().map(entries).fold(0, u64::saturating_add)
}

/// Total number of states of all variables.
fn states(network: &Network) -> u64 {
    network.ids().map(|variable| network[variable].cardinality() as u64).sum()
}

/// The scope of each variable alone for a Markov network, in which a variable may be in no factor;
/// nothing for a Bayesian network.
fn variable_scopes(network: &Network) -> impl Iterator<Item = Scope> {
    let variables = network.ids().filter(|_| !network.is_bayesian());
    variables.map(|variable| Scope::of(network, [variable]))
}

/// The scopes of all factors, and [`variable_scopes`].
fn family_scopes(network: &Network) -> Vec<Scope> {
    let factors =
        network.factors().map(|factor| Scope::of(network, factor.scope().iter().copied()));
    factors.chain(variable_scopes(network)).collect()
}

fn entries(scope: &Scope) -> u64 {
    table_entries(scope.cardinalities().iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Cpt, Variable};

    /// The network A -> B <- C with three small tables.
    fn collider() -> Network {
        let id = VariableId::new;
        let coin = |name: &str| Variable::new(name, ["no", "yes"]);
        let cpts = vec![
            Cpt::new(id(0), vec![], vec![0.75, 0.25]),
            Cpt::new(id(1), vec![id(0), id(2)], vec![1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0]),
            Cpt::new(id(2), vec![], vec![0.5, 0.5]),
        ];
        Network::new("collider", vec![coin("A"), coin("B"), coin("C")], cpts).unwrap()
    }

    fn run(network: &Network, evidence: &Evidence) -> Result<Posteriors, RunError> {
        let network = Arc::new(network.clone());
        let order = elimination_order(&network);
        Loaded { network, order, peak_bytes: 0 }.run(evidence, &Watch::untimed(CancelToken::new()))
    }

    #[test]
    fn a_collider_has_the_posteriors_computed_by_hand() {
        let network = collider();
        let mut evidence = Evidence::none();
        evidence.observe_named(&network, "B", "yes").unwrap();
        let posteriors = run(&network, &evidence).unwrap();
        // P(B=yes) = 3/8 * 0 + 3/8 * 1/2 + 1/8 * 1/2 + 1/8 * 1 = 3/8.
        assert!((posteriors.ln_p_evidence() - 0.375_f64.ln()).abs() < 1e-15);
        assert!((posteriors.of(VariableId::new(0))[1] - 0.5).abs() < 1e-15);
        assert!((posteriors.of(VariableId::new(2))[1] - 5.0 / 6.0).abs() < 1e-15);
        assert_eq!(posteriors.of(VariableId::new(1)), [0.0, 1.0]);
    }

    #[test]
    fn the_forecast_counts_all_tables_held_at_once() {
        // The factors have 2 + 8 + 2 entries and the three findings have 2 each: 18, held twice.
        // The largest product has 8 entries, and the results have 6.
        let network = collider();
        let peak = peak_entries(&network, &elimination_order(&network));
        assert_eq!(peak, 18 + (18 + 8) + 6);
    }

    #[test]
    fn the_bound_is_never_below_the_exact_forecast() {
        for (compiled, _) in crate::engine::fixtures::networks() {
            let network = compiled.network();
            let order = elimination_order(network);
            let (exact, bound) = (peak_entries(network, &order), peak_bound(network, &order));
            assert!(bound >= exact, "{}: {bound} and {exact}", network.name());
        }
    }

    #[test]
    fn contradictory_evidence_is_impossible() {
        let network = collider();
        let mut evidence = Evidence::none();
        for (variable, state) in [("A", "no"), ("B", "yes"), ("C", "no")] {
            evidence.observe_named(&network, variable, state).unwrap();
        }
        assert_eq!(run(&network, &evidence), Err(RunError::Impossible));
    }
}
