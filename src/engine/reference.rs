//! Engine `reference`: variable elimination, to compare the others with.
//!
//! For every variable anew: take all probability tables and findings, sum out one other variable
//! after another, and what is left is a function of this variable alone. It works from the network
//! and does not look at the junction tree, so that it cannot be wrong in the same way. Nothing is
//! reused between variables; it is for tests and small networks.
//!
//! Reference: Zhang and Poole, A simple approach to Bayesian network computations (1994).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::f64::consts::LN_2;
use std::sync::Arc;

use super::factors::FactorProduct;
use super::{Engine, EngineInfo, LoadError, LoadOptions, Propagator, REFERENCE, RunError};
use crate::graph::table_entries;
use crate::network::{Evidence, Network, VariableId};
use crate::potential::{Potential, Precision, Scope};
use crate::propagation::{CompiledNetwork, Forecast, Posteriors, Stage, Watch};

/// Variables up to which the forecast follows the elimination for each of them; beyond, where this
/// would take seconds, it is a bound that holds for all of them together.
const FOLLOWED: usize = 500;

/// See the module.
pub(super) struct Reference;

impl Engine for Reference {
    fn info(&self) -> &'static EngineInfo {
        &REFERENCE
    }

    fn forecast(&self, compiled: &CompiledNetwork, precision: Precision) -> Forecast {
        let network = compiled.network();
        let order = elimination_order(network);
        let counted = if order.len() <= FOLLOWED { peak_entries } else { peak_bound };
        let bytes = counted(network, &order).saturating_mul(8);
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
        let (network, order) = (&*self.network, &self.order);
        watch.check()?;
        let (factors, taken) = watch.stage(Stage::Initialise, || factors(network, evidence));
        watch.stage(Stage::Read, || {
            // ln P(e) is what is left when every variable is summed out.
            let nothing = Scope::default();
            let (total, exponent) = eliminate(factors.clone(), order, &nothing, watch)?;
            let ln_p_evidence = total.values()[0].ln() + (exponent + taken) as f64 * LN_2;
            let mut marginals = Vec::with_capacity(order.len());
            for variable in network.ids() {
                let onto = Scope::of(network, [variable]);
                marginals.push(eliminate(factors.clone(), order, &onto, watch)?.0);
            }
            Ok(Posteriors::new(network, ln_p_evidence, |variable, states| {
                states.copy_from_slice(marginals[variable.index()].values());
            }))
        })
    }

    fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }
}

/// The tables of `network` and the findings of `evidence`, each with a largest value in [1, 2), and the
/// power of two that their product must be multiplied by.
fn factors(network: &Network, evidence: &Evidence) -> (Vec<Potential>, i64) {
    let tables = network.factors().map(|factor| Potential::of_factor(network, factor));
    let findings = evidence.iter().map(|(v, finding)| Potential::of_finding(network, v, finding));
    let all = tables.chain(findings).chain(bare_variables(network).map(Potential::one));
    let mut factors: Vec<Potential> = all.collect();
    // What is zero everywhere stays so, and is found to be impossible.
    let taken = factors.iter_mut().map(|factor| i64::from(factor.rescale().unwrap_or(0)));
    let exponent = -taken.sum::<i64>();
    (factors, exponent)
}

/// The product of `factors` with every variable of `order` summed out that is not in `onto`,
/// times two to the power of the exponent that comes with it.
///
/// Products are rescaled as they are made, so that many small numbers do not end at zero.
fn eliminate(
    mut factors: Vec<Potential>,
    order: &[VariableId],
    onto: &Scope,
    watch: &Watch,
) -> Result<(Potential, i64), RunError> {
    let mut exponent = 0_i64;
    for &variable in order.iter().filter(|variable| !onto.contains(**variable)) {
        watch.check()?;
        let (with, without): (Vec<_>, Vec<_>) =
            factors.into_iter().partition(|factor| factor.scope().contains(variable));
        let product = product(&with, &mut exponent)?;
        drop(with);
        factors = without;
        factors.push(product.marginal(&product.scope().without(variable)));
    }
    let result = product(&factors, &mut exponent)?;
    debug_assert_eq!(result.scope(), onto, "all other variables were summed out");
    Ok((result, exponent))
}

/// The product of `factors`, brought to a largest value in [1, 2); the powers of two that this took are
/// added to `exponent`.
fn product(factors: &[Potential], exponent: &mut i64) -> Result<Potential, RunError> {
    let scope = Scope::union(factors.iter().map(Potential::scope));
    let tables = factors.iter().map(|factor| (factor.values(), factor.scope().clone()));
    let (values, power) = FactorProduct::of_tables(&scope, tables.collect()).table();
    let mut product = Potential::new(scope, values);
    let by = product.rescale().ok_or(RunError::Impossible)?;
    *exponent += i64::from(power) - i64::from(by);
    Ok(product)
}

/// All variables, each time one whose elimination makes the smallest table.
fn elimination_order(network: &Network) -> Vec<VariableId> {
    let mut scopes = family_scopes(network);
    // The scopes that hold each variable, as their places in `scopes`.
    let mut holding: Vec<Vec<usize>> = vec![Vec::new(); network.ids().len()];
    let hold = |holding: &mut Vec<Vec<usize>>, at: usize, scope: &Scope| {
        scope.variables().iter().for_each(|v| holding[v.index()].push(at));
    };
    scopes.iter().enumerate().for_each(|(at, scope)| hold(&mut holding, at, scope));
    let joint = |scopes: &[Scope], at: &[usize]| Scope::union(at.iter().map(|&at| &scopes[at]));
    let mut costs: Vec<u64> = holding.iter().map(|at| entries(&joint(&scopes, at))).collect();
    let mut left: BTreeSet<_> = network.ids().map(|v| (costs[v.index()], v)).collect();
    let mut order = Vec::with_capacity(left.len());
    while let Some((_, next)) = left.pop_first() {
        let gone = std::mem::take(&mut holding[next.index()]);
        let rest = joint(&scopes, &gone).without(next);
        for neighbour in rest.variables() {
            holding[neighbour.index()].retain(|at| !gone.contains(at));
        }
        hold(&mut holding, scopes.len(), &rest);
        scopes.push(rest.clone());
        for &neighbour in rest.variables() {
            let cost = &mut costs[neighbour.index()];
            left.remove(&(*cost, neighbour));
            *cost = entries(&joint(&scopes, &holding[neighbour.index()]));
            left.insert((*cost, neighbour));
        }
        order.push(next);
    }
    order
}

/// Entries that [`eliminate`] holds at most, over all the variables it is asked for: the factors
/// it starts from, those it works on, the product and the marginal.
///
/// Findings are counted on every variable, so that no evidence needs more.
fn peak_entries(network: &Network, order: &[VariableId]) -> u64 {
    let start = scopes_at_first(network);
    let (kept, results) = (total(&start), states(network));
    let peak_for = |target: Option<VariableId>| {
        let (mut live, mut peak) = (kept, 0);
        products(&start, order, target, |consumed, product, rest| {
            // The product beside its factors, or beside the marginal once these are gone.
            let beside = consumed.max(rest);
            live = live.saturating_sub(consumed);
            peak = peak.max(live.saturating_add(product).saturating_add(beside));
            live = live.saturating_add(rest);
        });
        peak.max(live.saturating_add(target.map_or(1, |v| network[v].cardinality() as u64)))
    };
    let targets = network.ids().map(Some).chain([None]);
    let working = targets.map(peak_for).max().unwrap_or(0);
    kept.saturating_add(working).saturating_add(results)
}

/// At least [`peak_entries`], from one elimination of all variables.
///
/// Where a variable is left out of it, each table may hold this one more. Nothing is ever there but
/// what it starts from, what is left of products, and one product.
fn peak_bound(network: &Network, order: &[VariableId]) -> u64 {
    let start = scopes_at_first(network);
    let (mut left, mut largest) = (0_u64, 0);
    products(&start, order, None, |_, product, rest| {
        left = left.saturating_add(rest);
        largest = largest.max(product);
    });
    let most = network.ids().map(|v| network[v].cardinality() as u64).max().unwrap_or(1);
    // One more for the number that is left when all variables are gone.
    let working = left.saturating_add(largest).saturating_mul(most).saturating_add(1);
    let starts = total(&start).saturating_mul(2);
    starts.saturating_add(working).saturating_add(states(network))
}

/// Goes through the elimination of all variables of `order` but `target`, and says of each product
/// how many entries its factors have, how many it has itself, and how many are left of it.
fn products(
    start: &[Scope],
    order: &[VariableId],
    target: Option<VariableId>,
    mut product: impl FnMut(u64, u64, u64),
) {
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, v)| position[v.index()] = place);
    // The variable of a scope that goes first, as its place in the order.
    let first = |scope: &Scope| {
        let going = scope.variables().iter().filter(|v| Some(**v) != target);
        going.map(|v| position[v.index()]).min()
    };
    let mut waiting: Vec<Vec<Cow<'_, Scope>>> = vec![Vec::new(); order.len()];
    for scope in start {
        first(scope).into_iter().for_each(|at| waiting[at].push(Cow::Borrowed(scope)));
    }
    for (place, &variable) in order.iter().enumerate().filter(|(_, v)| Some(**v) != target) {
        let with = std::mem::take(&mut waiting[place]);
        let joint = Scope::union(with.iter().map(|scope| &**scope));
        let rest = joint.without(variable);
        let consumed = with.iter().map(|scope| entries(scope)).fold(0, u64::saturating_add);
        product(consumed, entries(&joint), entries(&rest));
        if let Some(at) = first(&rest) {
            waiting[at].push(Cow::Owned(rest));
        }
    }
}

/// The scopes of what an elimination starts from, with a finding on every variable.
fn scopes_at_first(network: &Network) -> Vec<Scope> {
    let findings = network.ids().map(|variable| Scope::of(network, [variable]));
    family_scopes(network).into_iter().chain(findings).collect()
}

fn total(scopes: &[Scope]) -> u64 {
    scopes.iter().map(entries).fold(0, u64::saturating_add)
}

/// The states of all variables.
fn states(network: &Network) -> u64 {
    network.ids().map(|variable| network[variable].cardinality() as u64).sum()
}

/// The scopes of the variables that a Markov network may have in no factor.
fn bare_variables(network: &Network) -> impl Iterator<Item = Scope> {
    let variables = network.ids().filter(|_| !network.is_bayesian());
    variables.map(|variable| Scope::of(network, [variable]))
}

fn family_scopes(network: &Network) -> Vec<Scope> {
    let factors =
        network.factors().map(|factor| Scope::of(network, factor.scope().iter().copied()));
    factors.chain(bare_variables(network)).collect()
}

fn entries(scope: &Scope) -> u64 {
    table_entries(scope.cardinalities().iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::network::{Cpt, Variable};

    /// A -> B <- C, all tables by hand.
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
    fn numbers_that_can_be_checked_by_hand() {
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
    fn the_forecast_counts_what_elimination_holds() {
        // Eliminating the collider makes one table of 8 entries beside the factors it came from.
        // Kept: 2 + 8 + 2 in tables and 2 for each of 3 findings, once to start from and once to
        // work on; results: 6.
        let network = collider();
        let peak = peak_entries(&network, &elimination_order(&network));
        assert_eq!(peak, 18 + (18 + 8) + 6);
    }

    #[test]
    fn the_bound_is_never_less_than_what_is_counted() {
        for (compiled, _) in crate::engine::fixtures::networks() {
            let network = compiled.network();
            let order = elimination_order(network);
            let (counted, bound) = (peak_entries(network, &order), peak_bound(network, &order));
            assert!(bound >= counted, "{}: {bound} and {counted}", network.name());
        }
    }

    #[test]
    fn what_cannot_be_is_impossible() {
        let network = collider();
        let mut evidence = Evidence::none();
        for (variable, state) in [("A", "no"), ("B", "yes"), ("C", "no")] {
            evidence.observe_named(&network, variable, state).unwrap();
        }
        assert_eq!(run(&network, &evidence), Err(RunError::Impossible));
    }
}
