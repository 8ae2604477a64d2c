//! The tables that operations read: copies of the potentials. There is one copy of a potential for
//! each index order in which operations read it.

use super::operations::Potential;
use crate::engine::factors::FactorProduct;
use crate::network::Network;
use crate::potential::{Odometer, Real, Scope};

/// Copies of potentials are scaled so that their largest entry is near two to this power. The
/// kernel has the same constant.
pub(super) const PEAK: i32 = 24;

/// Fills all copies, and returns an array that holds one copy after another. Also returns the
/// exponent of the power of two to multiply the product of all potentials by, to undo their
/// scaling.
///
/// Potentials are scaled to a largest entry in [1, 2). Copies are also multiplied by 2^[`PEAK`],
/// which the kernel undoes itself. `copies`: for each copy the number of the potential, and the
/// scope of the copy. The scope may have variables that the potential does not depend on.
pub(super) fn fill(
    network: &Network,
    potentials: &[Potential],
    copies: &[(usize, Scope)],
) -> (Vec<f32>, i64) {
    let mut potential_copies = vec![Vec::new(); potentials.len()];
    let mut start = 0;
    for (potential, scope) in copies {
        potential_copies[*potential].push((start, scope));
        start += scope.entries();
    }
    let mut tables = vec![0.0; start];
    let mut exponent = 0;
    for (potential, copies) in potentials.iter().zip(potential_copies) {
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
