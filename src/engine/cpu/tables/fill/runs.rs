//! The runs of a table, which [`fill`](super) defines, and how they read each factor.

use std::borrow::Cow;

use super::TableBuilder;
use crate::allocate;
use crate::engine::cpu::context::TableInputs;
use crate::engine::cpu::tables::multiply::{FactorRuns, RunSource};
use crate::engine::cpu::tree::layout::Layout;
use crate::network::{Factor, Network, VariableId};
use crate::potential::{Odometer, Scope, write_mapping};

/// Minimum number of entries of a run, unless the whole table has fewer. Like the constant
/// below, tuned on the paper's eight networks; if it is wrong, only speed changes.
const MIN_RUN: usize = 24;

/// Maximum number of entries of a run, unless the run needs another variable to reach [`MIN_RUN`].
/// The runs of sparse tables and of factor groups have no maximum.
pub const MAX_RUN: usize = 1024;

/// Maximum number of entries of the copy of a factor in the order of runs, so that the copy stays
/// in the L2 cache. If it is wrong, only speed changes.
const MAX_COPIED: usize = 1 << 14;

impl TableBuilder {
    /// Finds how the runs of a table read each of `factors`. Replaces the starts that the previous
    /// call found.
    pub(super) fn factor_runs<'a>(
        &mut self,
        inputs: TableInputs<'_>,
        scopes: (&Scope, &Scope),
        factors: &[&'a Factor],
    ) -> Vec<FactorRuns<'a>> {
        self.starts.clear();
        factors
            .iter()
            .map(|factor| {
                let (values, family) = observed_part(inputs, factor);
                self.runs_of_factor(inputs.network, scopes, &family, values)
            })
            .collect()
    }

    /// Finds how the runs of a table read the factor with scope `family` and the given values.
    fn runs_of_factor<'a>(
        &mut self,
        network: &Network,
        (outer, inner): (&Scope, &Scope),
        family: &Scope,
        values: &'a [f64],
    ) -> FactorRuns<'a> {
        let Self { starts, offsets } = self;
        offsets.clear();
        write_mapping(inner, family, offsets);
        let mut order = Cow::Borrowed(family);
        let source = if offsets.iter().all(|&offset| offset == 0) {
            RunSource::Scalar(values)
        } else if offsets.iter().zip(0..).all(|(&offset, position)| offset == position) {
            RunSource::Run(Cow::Borrowed(values))
        } else {
            let slow = outer.variables().iter().copied().filter(|&v| family.contains(v));
            let slow = Scope::of(network, slow);
            let copied = slow.entries() * inner.entries();
            if copied <= MAX_COPIED && slow.entries() < outer.entries() {
                let slow_and_inner = slow.variables().iter().chain(inner.variables()).copied();
                order = Cow::Owned(Scope::of(network, slow_and_inner));
                RunSource::Run(Cow::Owned(in_order_of_runs(values, family, &slow, offsets)))
            } else {
                RunSource::Scattered(values, offsets.as_slice().into())
            }
        };
        let runs = FactorRuns { starts: starts.len(), source };
        write_mapping(outer, &order, starts);
        runs
    }
}

/// The `values` of a factor with scope `family`, in the order of runs. `slow` are the variables of
/// the factor that are constant along a run. For each combination of their states, the result has
/// the values at the `offsets`.
fn in_order_of_runs(values: &[f64], family: &Scope, slow: &Scope, offsets: &[u32]) -> Vec<f64> {
    let mut copy = allocate::with_capacity(slow.entries() * offsets.len());
    for start in Odometer::new(slow, family).take(slow.entries()) {
        let values = &values[start..];
        copy.extend(offsets.iter().map(|&offset| values[offset as usize]));
    }
    copy
}

/// The values of `factor`, beginning with the first one that agrees with the observed states, and
/// the factor's scope.
///
/// With s(v) the observed state of variable v, these are `values[offset..]`, where offset is the
/// sum over the observed variables v of s(v) times the stride of v. An index in the scope with all
/// observed variables in state 0 is an index into these values.
pub fn observed_part<'a>(inputs: TableInputs<'_>, factor: &'a Factor) -> (&'a [f64], Scope) {
    let family = Scope::of(inputs.network, factor.scope().iter().copied());
    let offset_of = |&v: &VariableId| Some(inputs.observed[v.index()]? * family.axis(v)?.stride);
    let offset: usize = family.variables().iter().filter_map(offset_of).sum();
    (&factor.values()[offset..], family)
}

/// Divides the variables of a layout into outer variables and inner variables, which are those
/// along a run.
///
/// Variables are added to the run, the fastest first, until it has [`MIN_RUN`] entries. Further
/// variables in the layout's `inner` scope are added as long as the run has at most `max_run`
/// entries.
pub fn split_variables(network: &Network, layout: &Layout, max_run: usize) -> (Scope, Scope) {
    let variables = layout.outer.variables().iter().chain(layout.inner.variables());
    let variables: Vec<VariableId> = variables.copied().collect();
    let (mut outer, mut run) = (variables.len(), 1);
    while outer > 0 {
        let longer = run * network[variables[outer - 1]].cardinality();
        let may_grow = outer > layout.outer.variables().len() && longer <= max_run;
        if run >= MIN_RUN && !may_grow {
            break;
        }
        (outer, run) = (outer - 1, longer);
    }
    let (outer, inner) = variables.split_at(outer);
    (Scope::of(network, outer.iter().copied()), Scope::of(network, inner.iter().copied()))
}
