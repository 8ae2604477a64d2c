//! The copies of potentials.

use super::operations::Potential;
use crate::engine::factors::FactorProduct;
use crate::network::Network;
use crate::potential::{Odometer, Real, Scope};

/// Potentials have their largest entry near two to this power, as in the kernel.
pub(super) const PEAK: i32 = 24;

/// All copies one after another, each potential scaled to a largest entry near 2^PEAK, and the power
/// of two that must be multiplied by, all of them together, once they have lost 2^PEAK each. `copies`:
/// the number of the potential, and variables, of which it does not need all.
pub(super) fn fill(
    network: &Network,
    potentials: &[Potential],
    copies: &[(usize, Scope)],
) -> (Vec<f32>, i64) {
    let mut of_potential = vec![Vec::new(); potentials.len()];
    let mut start = 0;
    for (potential, scope) in copies {
        of_potential[*potential].push((start, scope));
        start += scope.entries();
    }
    let mut tables = vec![0.0; start];
    let mut exponent = 0;
    for (potential, copies) in potentials.iter().zip(of_potential) {
        let scope = Scope::of(network, potential.variables.iter().copied());
        let factors = potential.factors.iter().copied();
        let (product, power) = FactorProduct::new(network, &scope, factors).table();
        exponent += i64::from(power);
        let largest = product.iter().copied().fold(0.0, f64::max);
        let scale = largest.scale_exponent().unwrap_or(0);
        exponent -= i64::from(scale);
        let scaled = product.iter().map(|value| value.scale(scale + PEAK) as f32);
        let scaled: Vec<f32> = scaled.collect();
        for (start, copy) in copies {
            let values = &mut tables[start..start + copy.entries()];
            for (value, entry) in values.iter_mut().zip(Odometer::new(copy, &scope)) {
                *value = scaled[entry];
            }
        }
    }
    (tables, exponent)
}
