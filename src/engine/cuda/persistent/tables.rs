//! The tables that operations read: the potentials, in single precision.

use rayon::prelude::*;

use super::operations::Potential;
use crate::engine::factors::FactorProduct;
use crate::network::Network;
use crate::potential::{Real, Scope};

/// Potentials are scaled so that their largest entry is near two to this power. The kernel has the
/// same constant.
pub(super) const PEAK: i32 = 24;

/// A potential as operations read it.
pub(super) struct PotentialTable {
    pub scope: Scope,
    /// The entries in the order of `scope`, multiplied by a power of two.
    pub values: Vec<f32>,
    /// Whether an entry is zero.
    pub has_zeros: bool,
}

/// The tables of all potentials. Also returns the exponent of the power of two to multiply the
/// product of all potentials by, to undo their scaling.
///
/// Potentials are scaled to a largest entry in [1, 2). The tables are also multiplied by
/// 2^[`PEAK`], which the kernel undoes itself.
pub(super) fn fill(network: &Network, potentials: &[Potential]) -> (Vec<PotentialTable>, i64) {
    let fill = |potential: &Potential| {
        let scope = Scope::of(network, potential.variables.iter().copied());
        let factors = potential.factors.iter().copied();
        let (product, power) = FactorProduct::new(network, &scope, factors).table();
        let largest = product.iter().copied().fold(0.0, f64::max);
        let scale = largest.scale_exponent().unwrap_or(0);
        let scaled = product.iter().map(|value| value.scale(scale + PEAK) as f32);
        let values: Vec<f32> = scaled.collect();
        let has_zeros = values.contains(&0.0);
        (PotentialTable { scope, values, has_zeros }, i64::from(power) - i64::from(scale))
    };
    let (tables, exponents): (Vec<_>, Vec<_>) = potentials.par_iter().map(fill).unzip();
    (tables, exponents.into_iter().sum())
}
