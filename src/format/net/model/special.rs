//! Distribution functions of the gamma, beta and normal distributions.
//!
//! `statrs` computes the incomplete gamma and beta functions only on the support of these
//! distributions. This module extends the results to all real numbers and to infinity.

use statrs::function::beta::beta_reg;
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// The cumulative distribution function at `x` of the gamma distribution with this `shape` > 0 and
/// scale 1.
pub(super) fn gamma_cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x == f64::INFINITY {
        1.0
    } else {
        gamma_lr(shape, x)
    }
}

/// The cumulative distribution function at `x` of the standard normal distribution.
///
/// It uses the incomplete gamma function, because `erfc` of `statrs` 0.19 is accurate to eleven
/// digits only.
pub(super) fn normal_cdf(x: f64) -> f64 {
    let square = x * x / 2.0;
    let tail = if square == 0.0 {
        0.5
    } else if square == f64::INFINITY {
        0.0
    } else {
        0.5 * gamma_ur(0.5, square)
    };
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// The cumulative distribution function at `x` of the beta distribution with shapes `a`, `b` > 0.
/// NaN if `x` is NaN.
pub(super) fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x.is_nan() { x } else { beta_reg(a, b, x.clamp(0.0, 1.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{found} {expected}");
    }

    #[test]
    fn the_normal_distribution_has_its_tabulated_values() {
        assert_close(normal_cdf(0.0), 0.5);
        assert_close(normal_cdf(1.0), 0.841_344_746_068_542_9);
        assert_close(normal_cdf(-1.96), 0.024_997_895_148_220_435);
        assert!((normal_cdf(-8.0) / 6.220_960_574_271_785e-16 - 1.0).abs() <= 1e-10);
        assert_close(normal_cdf(f64::INFINITY), 1.0);
        assert_eq!(normal_cdf(f64::NEG_INFINITY), 0.0);
        assert_close(normal_cdf(1.7) + normal_cdf(-1.7), 1.0);
    }

    /// Integer shapes have closed forms: sums of Poisson and of binomial probabilities.
    #[test]
    fn gamma_and_beta_of_integer_shapes_match_their_closed_forms() {
        for (a, x) in [(1_u32, 0.5), (3, 2.0), (3, 7.5), (40, 30.0), (200, 230.0)] {
            let mut term = f64::exp(-x);
            let mut below = 0.0;
            for k in 0..a {
                below += term;
                term *= x / f64::from(k + 1);
            }
            assert_close(gamma_cdf(f64::from(a), x), 1.0 - below);
        }
        for (a, b, x) in [(2_u32, 1_u32, 0.5), (3, 4, 0.2), (3, 4, 0.9), (50, 30, 0.6)] {
            let n = a + b - 1;
            let mut above = 0.0;
            for k in a..=n {
                let choices: f64 = (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product();
                above +=
                    choices * f64::powf(x, f64::from(k)) * f64::powf(1.0 - x, f64::from(n - k));
            }
            assert_close(beta_cdf(f64::from(a), f64::from(b), x), above);
        }
        assert_close(beta_cdf(0.5, 0.5, 0.25), 1.0 / 3.0);
        assert_close(beta_cdf(1000.0, 1000.0, 0.5), 0.5);
        assert_eq!((beta_cdf(2.0, 3.0, 0.0), beta_cdf(2.0, 3.0, 1.0)), (0.0, 1.0));
        assert_eq!((gamma_cdf(2.0, 0.0), gamma_cdf(2.0, f64::INFINITY)), (0.0, 1.0));
    }
}
