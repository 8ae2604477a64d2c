//! The support of the joint distribution: which configurations are possible without evidence.
//!
//! A configuration of some variables, that is, a state for each of them, is *possible* if its
//! probability without evidence is not zero. Evidence only removes states, so a configuration that
//! is not possible has probability zero given any evidence, and every engine with tables leaves it
//! out. This is where all of them find out about it.
//!
//! An entry of a clique's table can be positive although its configuration is not possible:
//! whatever the states of the other variables, the table of some other clique is zero. Therefore
//! the whole [program](crate::lowering) is run once, with [`Possible`] in place of numbers. A
//! factor then says where it is not zero, so no product can underflow. The result is the support of
//! each separator. It determines the support of each clique: a configuration of a clique is
//! possible if and only if none of the clique's factors is zero and its part on each of the
//! clique's separators is possible.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{AddAssign, Mul, MulAssign};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::buffers::Buffers;
use super::execute::{Input, Resources, run_step};
use super::number::Semiring;
use crate::cancel::CancelToken;
use crate::engine::bounds::Bounds;
use crate::engine::factors::restricted;
use crate::graph::SeparatorId;
use crate::lowering::{Operand, Optimisations, PlannedStep, Program};
use crate::network::{Evidence, VariableId};
use crate::potential::{Scope, write_mapping};
use crate::propagation::CompiledNetwork;

/// Whether something is possible. A product is possible if all its factors are, and a sum if any of
/// its terms is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Possible(bool);

impl Mul for Possible {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl MulAssign for Possible {
    #[inline(always)]
    fn mul_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

impl AddAssign for Possible {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl Semiring for Possible {
    const ZERO: Self = Self(false);
    const ONE: Self = Self(true);

    fn rescale(table: &mut [Self], _: bool) -> Option<(i32, Bounds)> {
        table.contains(&Self::ONE).then_some((0, Bounds::ONE))
    }
}

/// The supports of the separators of a compiled network.
pub struct Supports {
    /// By separator: its support; `None` if all its configurations are possible.
    separators: Vec<Option<Support>>,
    /// The peak of the memory in use while the supports were found, in bytes.
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
    /// The supports of the separators of `compiled`. `program`: its contractions without evidence,
    /// if they were planned. With `forks`, threads of the caller's pool share the work.
    pub fn find(compiled: &CompiledNetwork, program: Option<&Program>, forks: bool) -> Self {
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
        let resources = Resources { forks, cancel: &cancel };
        let contract = |planned: &PlannedStep, messages: &[Vec<Possible>]| {
            let input = |&(operand, _): &(Operand, _)| -> Input<'_, Possible> {
                let table = match operand {
                    Operand::Factor(factor) => &factors[factor.index()],
                    Operand::Message(number) => &messages[number],
                    Operand::Likelihood(_) => unreachable!("there are no findings"),
                };
                (table, Bounds::ONE)
            };
            let inputs: Vec<_> = planned.inputs.iter().map(input).collect();
            let outputs = run_step(&planned.step, &inputs, &mut Buffers::new(0, false), resources);
            outputs.expect("nobody cancels it").tables
        };
        // The outputs of the given contractions of some cliques that do not depend on one another.
        let contract_all = |cliques: &[usize], planned: &[Option<PlannedStep>], messages: &[_]| {
            let outputs = |number: usize| {
                let tables = contract(planned[number].as_ref()?, messages);
                Some((number, tables))
            };
            if forks {
                cliques.par_iter().filter_map(|&number| outputs(number)).collect::<Vec<_>>()
            } else {
                cliques.iter().filter_map(|&number| outputs(number)).collect()
            }
        };
        // By clique: the message to its parent, and later the support of the separator between
        // them, which serves as the message from the parent.
        let mut messages: Vec<Vec<Possible>> = vec![Vec::new(); tree.len()];
        let levels = tree.levels();
        for level in levels.iter().skip(1).rev() {
            for (number, tables) in contract_all(level, &program.collect, &messages) {
                messages[number] = tables.into_iter().next().unwrap_or_default();
            }
        }
        for mut level in levels {
            level.retain(|&number| !tree[number].children.is_empty());
            for (number, tables) in contract_all(&level, &program.distribute, &messages) {
                for (&child, table) in tree[number].children.iter().zip(tables) {
                    messages[child] = table;
                }
            }
        }
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

    /// The support of `separator`; `None` if all its configurations are possible.
    pub fn get(&self, separator: SeparatorId) -> Option<&Support> {
        self.separators[separator.index()].as_ref()
    }

    /// Bytes of all supports.
    pub fn bytes(&self) -> usize {
        self.separators.iter().flatten().map(|support| support.possible.len()).sum()
    }

    /// The supports, each listed under the first of its variables. Of separators with the same
    /// variables, only one is listed.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu calls it.
    pub fn by_first_variable(&self) -> HashMap<VariableId, Vec<&Support>> {
        let mut found: HashMap<VariableId, Vec<&Support>> = HashMap::new();
        for support in self.separators.iter().flatten() {
            let Some(first) = support.scope.variables().iter().min() else { continue };
            let listed = found.entry(*first).or_default();
            // Variables have the same order in all separators.
            if listed.iter().all(|other| other.scope != support.scope) {
                listed.push(support);
            }
        }
        found
    }
}

impl Support {
    /// By entry of a table over `scope`, which has the variables of the separator among others:
    /// whether its part on the separator is possible.
    pub fn by_entry(&self, scope: &Scope) -> Vec<bool> {
        let mut entries = Vec::new();
        write_mapping(scope, &self.scope, &mut entries);
        entries.into_iter().map(|entry| self.possible[entry as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::network::{Factor, Network, Variable};
    use crate::potential::Odometer;
    use crate::propagation::{CompileOptions, compile};

    /// A Markov network with factors over random neighbours, of whose values a `share` is zero.
    fn random_network(rng: &mut Pcg64Mcg, share: f64) -> Arc<Network> {
        let variables: Vec<Variable> = (0..8)
            .map(|v| {
                let states = rng.random_range(1..4);
                Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
            })
            .collect();
        let factors = (1..variables.len()).map(|v| {
            let mut scope = vec![rng.random_range(0..v), v];
            scope.extend(
                (0..v).filter(|other| *other != scope[0]).max_by_key(|_| rng.random::<u8>()),
            );
            let entries = scope.iter().map(|&v| variables[v].cardinality()).product();
            let value = |_| if rng.random_bool(share) { 0.0 } else { rng.random_range(0.1..1.0) };
            let values = (0..entries).map(value).collect();
            Factor::new(scope.into_iter().map(VariableId::new).collect(), values)
        });
        let factors = factors.collect();
        Arc::new(Network::markov("random", variables, factors).expect("it is valid"))
    }

    #[test]
    fn a_configuration_is_possible_if_the_joint_distribution_is_positive_for_it() {
        let mut rng = Pcg64Mcg::seed_from_u64(5);
        let (mut restricted, mut impossible) = (0, 0);
        for round in 0..60 {
            let network = random_network(&mut rng, 0.05 * f64::from(round % 10));
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
            let supports = Supports::find(&compiled, None, false);
            for id in tree.separator_ids() {
                let mut order = tree[id].variables.clone();
                order.sort_by_key(|_| rng.random::<u8>());
                let scope = Scope::of(compiled.network(), order);
                let mut expected = vec![false; scope.entries()];
                for (&joint, at) in joint.iter().zip(Odometer::new(&all, &scope)) {
                    expected[at] |= joint;
                }
                match supports.get(id) {
                    Some(support) => assert_eq!(support.by_entry(&scope), expected),
                    None => assert!(!expected.contains(&false)),
                }
                restricted += usize::from(expected.contains(&false));
            }
        }
        assert!(
            restricted > 50 && impossible > 0,
            "{restricted} separators, {impossible} networks"
        );
    }
}
