//! The functions that distributions are computed by.
//!
//! Source: W. H. Press, S. A. Teukolsky, W. T. Vetterling, B. P. Flannery, *Numerical Recipes*, third
//! edition, sections 6.1 to 6.4: series, and continued fractions by Lentz's method. Shapes of up to
//! a thousand are computed to about twelve digits.

/// The most terms of a series or fraction; those of the shapes that are let in take far fewer.
const MAX_TERMS: u32 = 5000;

/// Terms smaller than this change nothing.
const SMALL: f64 = 1e-16;

/// Stands in for zero where it would be divided by.
const TINY: f64 = 1e-300;

/// The logarithm of the gamma function of `x` > 0 (Lanczos, nine terms).
pub(super) fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Of the reflection, as the terms are those for larger numbers.
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (index, term) in (1..).zip(TERMS) {
        sum += term / (x + f64::from(index));
    }
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete gamma function P(a, x) for a > 0 and x of at least zero.
pub(super) fn gamma_up_to(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x == f64::INFINITY {
        return 1.0;
    }
    if x < a + 1.0 { gamma_series(a, x) } else { 1.0 - gamma_fraction(a, x) }
}

/// The share of the standard normal distribution below `x`.
pub(super) fn normal_up_to(x: f64) -> f64 {
    let square = x * x / 2.0;
    // Half of what lies beyond x on both sides.
    let beyond = if square == f64::INFINITY {
        0.0
    } else if square < 1.5 {
        0.5 * (1.0 - gamma_up_to(0.5, square))
    } else {
        0.5 * gamma_fraction(0.5, square)
    };
    if x > 0.0 { 1.0 - beyond } else { beyond }
}

/// P(a, x) by its series, for x < a + 1.
fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for index in 1..MAX_TERMS {
        term *= x / (a + f64::from(index));
        sum += term;
        if term < sum * SMALL {
            break;
        }
    }
    sum * gamma_front(a, x)
}

/// 1 - P(a, x) by its continued fraction, for x of at least a + 1.
fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let first = 1.0 / b;
    let steps = (1..MAX_TERMS).map(|index| {
        let index = f64::from(index);
        b += 2.0;
        (-index * (index - a), b)
    });
    lentz(first, steps) * gamma_front(a, x)
}

fn gamma_front(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - ln_gamma(a)).exp()
}

/// The regularised incomplete beta function of `a`, `b` > 0 at `x` from 0 to 1.
pub(super) fn beta_up_to(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let first = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let steps = (1..MAX_TERMS).flat_map(|m| {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        [(even, 1.0), (odd, 1.0)]
    });
    lentz_from(first, 1.0, steps)
}

fn nonzero(x: f64) -> f64 {
    if x.abs() < TINY { TINY } else { x }
}

fn lentz(first: f64, steps: impl Iterator<Item = (f64, f64)>) -> f64 {
    lentz_from(first, 1.0 / TINY, steps)
}

/// Goes on with a continued fraction whose denominators so far come to `1 / first` and whose ratio of
/// numerators is `c`; each step is a numerator and what is added to it.
fn lentz_from(first: f64, mut c: f64, steps: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut d, mut value) = (first, first);
    for (numerator, added) in steps {
        d = 1.0 / nonzero(numerator * d + added);
        c = nonzero(added + numerator / c);
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{found} {expected}");
    }

    #[test]
    fn factorials_and_halves() {
        let mut factorial = 1.0_f64;
        for n in 1..30_u32 {
            close(ln_gamma(f64::from(n)), factorial.ln());
            factorial *= f64::from(n);
        }
        close(ln_gamma(0.5), 0.5 * std::f64::consts::PI.ln());
        close(ln_gamma(0.001), 6.907_178_885_383_853);
    }

    #[test]
    fn the_normal_distribution() {
        close(normal_up_to(0.0), 0.5);
        close(normal_up_to(1.0), 0.841_344_746_068_542_9);
        close(normal_up_to(-1.96), 0.024_997_895_148_220_435);
        close(normal_up_to(-8.0), 6.220_960_574_271_785e-16);
        close(normal_up_to(f64::INFINITY), 1.0);
        assert_eq!(normal_up_to(f64::NEG_INFINITY), 0.0);
        close(normal_up_to(1.7) + normal_up_to(-1.7), 1.0);
    }

    /// Whole shapes have closed forms: sums of Poisson and of binomial chances.
    #[test]
    fn gamma_and_beta_of_whole_shapes() {
        for (a, x) in [(1_u32, 0.5), (3, 2.0), (3, 7.5), (40, 30.0), (200, 230.0)] {
            let mut term = f64::exp(-x);
            let mut below = 0.0;
            for k in 0..a {
                below += term;
                term *= x / f64::from(k + 1);
            }
            close(gamma_up_to(f64::from(a), x), 1.0 - below);
        }
        for (a, b, x) in [(2_u32, 1_u32, 0.5), (3, 4, 0.2), (3, 4, 0.9), (50, 30, 0.6)] {
            let n = a + b - 1;
            let mut above = 0.0;
            for k in a..=n {
                let choices: f64 = (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product();
                above +=
                    choices * f64::powf(x, f64::from(k)) * f64::powf(1.0 - x, f64::from(n - k));
            }
            close(beta_up_to(f64::from(a), f64::from(b), x), above);
        }
        close(beta_up_to(0.5, 0.5, 0.25), 1.0 / 3.0);
        close(beta_up_to(1000.0, 1000.0, 0.5), 0.5);
        assert_eq!((beta_up_to(2.0, 3.0, 0.0), beta_up_to(2.0, 3.0, 1.0)), (0.0, 1.0));
        assert_eq!((gamma_up_to(2.0, 0.0), gamma_up_to(2.0, f64::INFINITY)), (0.0, 1.0));
    }
}
