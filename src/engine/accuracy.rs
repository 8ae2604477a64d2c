//! How far answers may be from the exact ones.

use super::bounds::tolerance;
use crate::network::Network;
use crate::potential::Precision;

/// A bound on the error of the answers that every engine gives in one precision. It covers
/// underflow and rounding together; `tests/conformance` compares every engine with it.
///
/// What underflow may add is the same in every network, because a case in which it might add more
/// is computed again. What rounding may add grows with the network: a joint probability is a
/// product with one number of each factor, and each of these numbers is rounded. In most networks
/// the rounding errors have random signs and are far below this bound. But in a long chain of equal
/// tables they all have the same sign, so no smaller bound holds for all networks.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ErrorBound {
    /// The precision in which the engine computes.
    pub precision: Precision,
    /// What underflow may add to the error of a posterior, and to the relative error of P(e).
    pub underflow: f64,
    /// What rounding may add to the error of a posterior for each factor of the network. It may add
    /// twice this to the relative error of P(e). In a Bayesian network, each variable has one
    /// factor.
    pub rounding_per_factor: f64,
}

/// Relative error of ln P(e) from computing the logarithm itself, which is the sum of an integer
/// multiple of ln 2 and a smaller number: a few roundings in double precision.
const LOGARITHM: f64 = 4.0 * f64::EPSILON;

/// Rounding per factor in double precision. It allows about a thousand roundings of 2^-53 each: in
/// the products that make up an entry, and in the longest sums, whose terms are added in many
/// partial sums.
const DOUBLE: f64 = 1e-13;

/// One rounding to single precision.
const SINGLE: f64 = 6e-8;

/// Roundings to single precision per factor: the number of the factor is rounded once, and so are a
/// finding, a message, and the product with this message. Engine `cpu` rounds only the number of
/// the factor, except in batches. Long sums are in double precision or compensated, except in two
/// places that add up few terms: a block of terms in a batch (`BLOCK` in `batch/kernel.rs`), and a
/// thread of engine `gpu`.
const ROUNDINGS: f64 = 4.0;

impl ErrorBound {
    /// The bound that all engines keep in `precision`.
    #[must_use]
    pub fn of(precision: Precision) -> Self {
        let rounding_per_factor = match precision {
            Precision::F64 => DOUBLE,
            Precision::F32 => ROUNDINGS * SINGLE,
        };
        Self { precision, underflow: tolerance(precision), rounding_per_factor }
    }

    /// Maximum absolute error of a posterior of `network`.
    #[must_use]
    pub fn posterior(&self, network: &Network) -> f64 {
        self.underflow + self.rounding(network)
    }

    /// Maximum absolute error of ln P(e) of `network` if ln P(e) is `ln_p_evidence`.
    #[must_use]
    pub fn ln_p_evidence(&self, network: &Network, ln_p_evidence: f64) -> f64 {
        self.underflow + 2.0 * self.rounding(network) + LOGARITHM * ln_p_evidence.abs()
    }

    /// What rounding may add to the error of a posterior of `network`.
    fn rounding(&self, network: &Network) -> f64 {
        // A variable without a factor may have a likelihood, whose product adds roundings too.
        let factors = network.factor_ids().count().max(network.variables().len());
        self.rounding_per_factor * factors as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::open;

    #[test]
    fn the_bound_grows_with_the_network_and_with_fewer_digits() {
        let [asia, munin] = ["asia", "munin4"].map(|name| open(name).expect("a sample").network);
        let [single, double] = [Precision::F32, Precision::F64].map(ErrorBound::of);
        assert!((single.posterior(&asia) - (1e-6 + 8.0 * 2.4e-7)).abs() < 1e-15);
        assert!(single.posterior(&munin) > single.posterior(&asia));
        assert!(double.posterior(&munin) < 1e-9);
        assert!(double.ln_p_evidence(&asia, -1e6) > double.ln_p_evidence(&asia, -1.0));
    }
}
