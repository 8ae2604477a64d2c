//! The copies of the cliques' potentials.

use crate::graph::CliqueId;
use crate::potential::{Odometer, Real, Scope};
use crate::propagation::CompiledNetwork;

/// Potentials have their largest entry near two to this power, as in the kernel.
pub(super) const PEAK: i32 = 24;

/// All copies one after another, each potential scaled to a largest entry near 2^PEAK, and the power
/// of two that must be multiplied by, all of them together, once they have lost 2^PEAK each.
pub(super) fn fill(compiled: &CompiledNetwork, copies: &[(CliqueId, Scope)]) -> (Vec<f32>, i64) {
    let (network, tree) = (compiled.network(), compiled.tree());
    let mut of_clique = vec![Vec::new(); tree.cliques().len()];
    let mut start = 0;
    for (clique, scope) in copies {
        of_clique[clique.index()].push((start, scope));
        start += scope.entries();
    }
    let mut factors = vec![Vec::new(); tree.cliques().len()];
    for (id, factor) in network.factor_ids().zip(network.factors()) {
        factors[compiled.factor_home(id).index()].push(factor);
    }
    let mut tables = vec![0.0; start];
    let mut exponent = 0;
    for clique in tree.clique_ids() {
        let scope = Scope::of(network, tree[clique].variables.iter().copied());
        let mut product = vec![1.0_f64; scope.entries()];
        for factor in &factors[clique.index()] {
            let family = Scope::of(network, factor.scope().iter().copied());
            for (value, entry) in product.iter_mut().zip(Odometer::new(&scope, &family)) {
                *value *= factor.values()[entry];
            }
        }
        let largest = product.iter().copied().fold(0.0, f64::max);
        let scale = largest.scale_exponent().unwrap_or(0);
        exponent -= i64::from(scale);
        let scaled = product.iter().map(|value| value.scale(scale + PEAK) as f32);
        let scaled: Vec<f32> = scaled.collect();
        for (start, copy) in &of_clique[clique.index()] {
            let values = &mut tables[*start..*start + copy.entries()];
            for (value, entry) in values.iter_mut().zip(Odometer::new(copy, &scope)) {
                *value = scaled[entry];
            }
        }
    }
    (tables, exponent)
}
