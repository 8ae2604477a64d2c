//! The tables that operations read: the potentials, in single precision.

use rayon::prelude::*;

use super::operations::Potential;
use crate::allocate;
use crate::engine::factors::{FactorProduct, may_underflow, smallest_exponents};
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
    /// Whether a nonzero entry may have become zero when its factors were multiplied.
    pub has_tiny_entries: bool,
}

/// The tables of all potentials. Entries that are not zero are at least the smallest normal number
/// of single precision, so rounding to single precision makes none of them zero. Also returns the
/// exponent of the power of two to multiply the product of all potentials by, to undo their
/// scaling.
///
/// Potentials are scaled to a largest entry in [1, 2). The tables are also multiplied by
/// 2^[`PEAK`], which the kernel undoes itself.
pub(super) fn fill(network: &Network, potentials: &[Potential]) -> (Vec<PotentialTable>, i64) {
    let smallest = smallest_exponents(network);
    let fill = |potential: &Potential| {
        let scope = Scope::of(network, potential.variables.iter().copied());
        let factors = potential.factors.iter().copied();
        let (product, power) = FactorProduct::new(network, &scope, factors).table();
        let largest = product.iter().copied().fold(0.0, f64::max);
        let scale = largest.scale_exponent().unwrap_or(0);
        let scaled = product.iter().map(|value| match value.scale(scale + PEAK) as f32 {
            small if *value > 0.0 => small.max(f32::MIN_POSITIVE),
            zero => zero,
        });
        let mut values = allocate::with_capacity(product.len());
        values.extend(scaled);
        let has_zeros = values.contains(&0.0);
        let has_tiny_entries = may_underflow(&smallest, &potential.factors);
        let table = PotentialTable { scope, values, has_zeros, has_tiny_entries };
        (table, i64::from(power) - i64::from(scale))
    };
    let (tables, exponents): (Vec<_>, Vec<_>) = potentials.par_iter().map(fill).unzip();
    (tables, exponents.into_iter().sum())
}
