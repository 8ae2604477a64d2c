//! The support of the joint distribution: which configurations are possible without evidence.
//!
//! A configuration of some variables, that is, a state for each of them, is *possible* if its
//! probability without evidence is not zero. Evidence only removes states, so a configuration that
//! is not possible has probability zero given any evidence. Engine `cpu`, the batch engine and the
//! persistent kernel leave such configurations out; all three find them here.
//!
//! An entry of a clique's table can be positive although its configuration is not possible:
//! whatever the states of the other variables, the table of some other clique is zero. Therefore
//! the whole [program](crate::lowering) is run once, with [`Possible`] in place of numbers. A
//! factor then says where it is not zero, so no product can underflow. The result is the support of
//! each separator. It determines the support of each clique: a configuration of a clique is
//! possible if and only if none of the clique's factors is zero and its part on each of the
//! clique's separators is possible.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::{AddAssign, Mul, MulAssign};

use super::buffers::Buffers;
use super::execute::{Input, Resources, contract_group, run_step};
use super::number::TableEntry;
use crate::cancel::CancelToken;
use crate::engine::bounds::Bounds;
use crate::engine::cpu::helpers::Helpers;
use crate::engine::factors::restricted;
use crate::graph::SeparatorId;
use crate::lowering::{Operand, Optimisations, PlannedStep, Program};
use crate::network::{Evidence, VariableId};
use crate::potential::{Odometer, Scope, SplitMapping};
use crate::propagation::CompiledNetwork;

/// Whether something is possible. A product is possible if all its factors are, and a sum if any of
/// its terms is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Possible(bool);

impl Mul for Possible {
    type Output = Self;

    #[inline(always)]
    #[allow(clippy::suspicious_arithmetic_impl, reason = "`and` is the product of booleans")]
    fn mul(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl MulAssign for Possible {
    #[inline(always)]
    #[allow(clippy::suspicious_op_assign_impl, reason = "`and` is the product of booleans")]
    fn mul_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

impl AddAssign for Possible {
    #[inline(always)]
    #[allow(clippy::suspicious_op_assign_impl, reason = "`or` is the sum of booleans")]
    fn add_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl TableEntry for Possible {
    const ZERO: Self = Self(false);
    const ONE: Self = Self(true);

    fn rescale(table: &mut [Self], _: Helpers<'_>) -> Option<(i32, Bounds)> {
        table.contains(&Self::ONE).then_some((0, Bounds::ONE))
    }
}

/// The supports of the separators of a compiled network: the configurations that are possible. This
/// means that their probability without evidence is not zero.
pub struct Supports {
    /// By separator: its support; `None` if all its configurations are possible.
    separators: Vec<Option<Support>>,
    /// The peak of the memory in use while the supports were found, in bytes, without the program.
    pub peak_bytes: usize,
}

/// The support of a separator.
pub struct Support {
    /// The variables with more than one state.
    pub scope: Scope,
    /// By configuration of `scope`: whether it is possible.
    pub possible: Vec<bool>,
}

impl Supports {
    /// The supports of the separators of `compiled`, which must be compiled for any evidence.
    /// `program`: its contractions without evidence, if they were planned. With `forks`, threads of
    /// the caller's pool share the work.
    pub fn find(compiled: &CompiledNetwork, program: Option<&Program>, forks: bool) -> Self {
        debug_assert!(compiled.observed().is_empty(), "no variable must be observed");
        let (network, plan) = (compiled.network(), compiled.plan());
        let mut separators = Vec::new();
        separators.resize_with(compiled.tree().separators().len(), || None);
        if !network.has_zeros() {
            return Self { separators, peak_bytes: 0 };
        }
        let none = Evidence::none();
        let plan_program = || Cow::Owned(Program::new(compiled, &none, Optimisations::default()));
        let program = program.map_or_else(plan_program, Cow::Borrowed);
        let tree = &program.tree;
        let mut factors = vec![Vec::new(); network.factor_count()];
        for clique in tree.iter() {
            for &(operand, axes) in &clique.operands {
                let Operand::Factor(factor) = operand else { continue };
                let variables = axes.iter().map(|axis| clique.variables[axis]);
                let values = restricted(network, network.factor(factor), variables, &none);
                factors[factor.index()] = values.map(|value| Possible(value != 0.0)).collect();
            }
        }
        let cancel = CancelToken::new();
        let buffers = Buffers::new(0, false);
        let resources = Resources { helpers: Helpers::unreported(forks), cancel: &cancel };
        let contract = |planned: &Option<PlannedStep>, messages: &[Vec<Possible>]| {
            let Some(planned) = planned else { return Ok(Vec::new()) };
            let input = |&(operand, _): &(Operand, _)| -> Input<'_, Possible> {
                let table = match operand {
                    Operand::Factor(factor) => &factors[factor.index()],
                    Operand::Message(number) => &messages[number],
                    Operand::Likelihood(_) => unreachable!("there are no findings"),
                };
                (table, Bounds::ONE)
            };
            let inputs: Vec<_> = planned.inputs.iter().map(input).collect();
            run_step(&planned.step, &inputs, &buffers, resources).map(|outputs| outputs.tables)
        };
        let toward_root = |messages: &Vec<Vec<Possible>>, number: usize| {
            contract(&program.collect[number], messages)
        };
        let keep_message =
            |messages: &mut Vec<Vec<Possible>>, number: usize, mut tables: Vec<_>| {
                messages[number] = tables.pop().unwrap_or_default();
            };
        let away_from_root = |messages: &Vec<Vec<Possible>>, number: usize| {
            // A leaf has no separator below it.
            let is_leaf = tree[number].children.is_empty();
            if is_leaf { Ok(Vec::new()) } else { contract(&program.distribute[number], messages) }
        };
        let keep_supports = |messages: &mut Vec<Vec<Possible>>, number: usize, tables: Vec<_>| {
            for (&child, table) in tree[number].children.iter().zip(tables) {
                messages[child] = table;
            }
        };
        // By clique: the message to its parent, and later the support of the separator between
        // them, which serves as the message from the parent.
        let mut messages: Vec<Vec<Possible>> = vec![Vec::new(); tree.len()];
        let collect = program.collect_schedule.groups().try_for_each(|group| {
            contract_group(&mut messages, group, forks, toward_root, keep_message)
        });
        collect.expect("the token is never cancelled");
        let distribute = program.distribute_schedule.groups().try_for_each(|group| {
            contract_group(&mut messages, group, forks, away_from_root, keep_supports)
        });
        distribute.expect("the token is never cancelled");
        for (clique, possible) in tree.iter().zip(messages) {
            let Some((collect, _)) = clique.messages else { continue };
            let variables = clique.separator.iter().map(|axis| clique.variables[axis]);
            let possible: Vec<bool> = possible.into_iter().map(|Possible(flag)| flag).collect();
            separators[plan[collect].separator.index()] = possible
                .contains(&false)
                .then(|| Support { scope: Scope::of(network, variables), possible });
        }
        Self { separators, peak_bytes: program.peak_entries() }
    }

    /// As if all configurations of all separators were possible.
    #[cfg(all(test, feature = "cuda"))]
    pub fn all(compiled: &CompiledNetwork) -> Self {
        let separators = compiled.tree().separators().iter().map(|_| None).collect();
        Self { separators, peak_bytes: 0 }
    }

    /// The support of `separator`; `None` if all its configurations are possible.
    pub fn get(&self, separator: SeparatorId) -> Option<&Support> {
        self.separators[separator.index()].as_ref()
    }

    /// Bytes of all supports.
    pub fn bytes(&self) -> usize {
        self.separators.iter().flatten().map(|support| support.possible.len()).sum()
    }

    /// The supports, each listed under one of its variables: the one that is in the fewest
    /// supports. Of separators with the same variables, only one is listed.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu calls it.
    pub fn by_rarest_variable(&self) -> HashMap<VariableId, Vec<&Support>> {
        // Variables have the same order in all separators.
        let mut known: HashSet<&[VariableId]> = HashSet::new();
        let supports = self.separators.iter().flatten();
        let supports: Vec<&Support> =
            supports.filter(|support| known.insert(support.scope.variables())).collect();
        let mut counts: HashMap<VariableId, usize> = HashMap::new();
        for &variable in supports.iter().flat_map(|support| support.scope.variables()) {
            *counts.entry(variable).or_default() += 1;
        }
        let mut found: HashMap<VariableId, Vec<&Support>> = HashMap::new();
        for support in supports {
            // Without variables, the network is impossible, and its tables show that too.
            let rarest = support.scope.variables().iter().min_by_key(|v| (counts[v], **v));
            rarest.into_iter().for_each(|v| found.entry(*v).or_default().push(support));
        }
        found
    }
}

/// Which entries of a table are possible, as far as the supports of some separators say.
pub struct PossibleEntries<'a> {
    /// For each support: where the entries of the table are in it, and its flags.
    supports: Vec<(SplitMapping, &'a [bool])>,
}

impl<'a> PossibleEntries<'a> {
    /// The entries of a table over `scope` according to `supports`, whose scopes are parts of
    /// `scope`.
    pub fn new(scope: &Scope, supports: impl IntoIterator<Item = &'a Support>) -> Self {
        let flags =
            |support: &'a Support| (SplitMapping::new(scope, &support.scope), &*support.possible);
        Self { supports: supports.into_iter().map(flags).collect() }
    }

    /// Whether no support restricts the table.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu calls it.
    pub fn allows_all(&self) -> bool {
        self.supports.is_empty()
    }

    /// Whether `entry` is possible.
    pub fn contains(&self, entry: u32) -> bool {
        self.supports.iter().all(|(mapping, possible)| possible[mapping.get(entry) as usize])
    }
}

impl Support {
    /// By entry of a table over `scope`, which has the variables of the separator among others:
    /// whether its part on the separator is possible.
    pub fn by_entry(&self, scope: &Scope) -> Vec<bool> {
        let entries = Odometer::new(scope, &self.scope).take(scope.entries());
        entries.map(|entry| self.possible[entry]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::network::{Cpt, Factor, Network, Variable};
    use crate::propagation::{CompileOptions, compile};

    /// A network in which each variable has up to two random parents. A value is zero with
    /// probability `share`. It is a Bayesian network if `is_bayesian`; otherwise rows may have no
    /// positive value.
    fn random_network(rng: &mut Pcg64Mcg, share: f64, is_bayesian: bool) -> Arc<Network> {
        let variables: Vec<Variable> = (0..8)
            .map(|v| {
                let states = rng.random_range(1..4);
                Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
            })
            .collect();
        let ids = |numbers: Vec<usize>| numbers.into_iter().map(VariableId::new).collect();
        let (mut cpts, mut factors) = (Vec::new(), Vec::new());
        for child in 0..variables.len() {
            let mut parents: Vec<usize> =
                (0..child).filter(|_| rng.random_bool((1.5 / child as f64).min(1.0))).collect();
            parents.truncate(2);
            let states = variables[child].cardinality();
            let rows: usize = parents.iter().map(|&p| variables[p].cardinality()).product();
            let mut values = Vec::new();
            for _ in 0..rows {
                let value =
                    |_| if rng.random_bool(share) { 0.0 } else { rng.random_range(0.1..1.0) };
                let mut row: Vec<f64> = (0..states).map(value).collect();
                if is_bayesian {
                    let sum: f64 = row.iter().sum();
                    row.iter_mut().for_each(|v| *v = if sum == 0.0 { 0.0 } else { *v / sum });
                    row[0] = if sum == 0.0 { 1.0 } else { row[0] };
                }
                values.extend(row);
            }
            if is_bayesian {
                cpts.push(Cpt::new(VariableId::new(child), ids(parents), values));
            } else {
                let scope = ids(parents.into_iter().chain([child]).collect());
                factors.push(Factor::new(scope, values));
            }
        }
        let network = if is_bayesian {
            Network::new("random", variables, cpts)
        } else {
            Network::markov("random", variables, factors)
        };
        Arc::new(network.expect("it is valid"))
    }

    #[test]
    fn a_configuration_is_possible_if_the_joint_distribution_is_positive_for_it() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let (mut restricted, mut impossible, mut empty) = (0, 0, 0);
        for round in 0..90 {
            let network = random_network(&mut rng, 0.05 * f64::from(round % 10), round % 3 == 0);
            let all = Scope::of(&network, network.ids());
            let mut joint = vec![true; all.entries()];
            for factor in network.factors() {
                let scope = Scope::of(&network, factor.scope().iter().copied());
                for (joint, at) in joint.iter_mut().zip(Odometer::new(&all, &scope)) {
                    *joint &= factor.values()[at] != 0.0;
                }
            }
            impossible += usize::from(!joint.contains(&true));
            let compiled = compile(network, &CompileOptions::default(), &CancelToken::new());
            let compiled = compiled.expect("it is small");
            let tree = compiled.tree();
            let program = Program::new(&compiled, &Evidence::none(), Optimisations::default());
            let found = [(None, false), (Some(&program), true)]
                .map(|(program, forks)| Supports::find(&compiled, program, forks));
            for id in tree.separator_ids() {
                let mut order = tree[id].variables.clone();
                order.sort_by_key(|_| rng.random::<u8>());
                let scope = Scope::of(compiled.network(), order);
                let mut expected = vec![false; scope.entries()];
                for (&joint, at) in joint.iter().zip(Odometer::new(&all, &scope)) {
                    expected[at] |= joint;
                }
                for supports in &found {
                    match supports.get(id) {
                        Some(support) => {
                            assert_eq!(support.by_entry(&scope), expected);
                            let possible = PossibleEntries::new(&scope, [support]);
                            let entries = 0..expected.len() as u32;
                            let flags: Vec<bool> = entries.map(|e| possible.contains(e)).collect();
                            assert!(flags == expected && !possible.allows_all());
                        }
                        None => assert!(!expected.contains(&false)),
                    }
                }
                restricted += usize::from(expected.contains(&false));
                empty += usize::from(scope.variables().is_empty());
            }
            let listed: usize = found[0].by_rarest_variable().values().map(Vec::len).sum();
            assert!(listed <= found[0].separators.iter().flatten().count());
        }
        assert!(
            restricted > 50 && impossible > 0,
            "{restricted} separators, {impossible} networks"
        );
        assert!(empty > 0, "no network had two components");
    }
}
