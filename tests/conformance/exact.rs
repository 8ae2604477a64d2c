//! Posteriors by definition, without underflow.
//!
//! All numbers are non-negative and have an exponent of their own. So each multiplication and each
//! addition is right within a few units of the last place of f64, whatever the magnitudes.

use cliquescope::network::{Evidence, Network, VariableId};

/// `mantissa` times two to the power of `exponent`. The mantissa is in [1, 2), or zero.
#[derive(Clone, Copy, Debug, Default)]
struct Number {
    mantissa: f64,
    exponent: i64,
}

impl Number {
    const ONE: Self = Self { mantissa: 1.0, exponent: 0 };

    /// `mantissa` times two to the power of `exponent`, for any mantissa that is not negative.
    fn new(mantissa: f64, exponent: i64) -> Self {
        /// The bits of the exponent of an f64, and their value for numbers in [1, 2).
        const FIELD: u64 = 0x7ff << 52;
        const ONE: u64 = 0x3ff << 52;
        if mantissa == 0.0 {
            return Self::default();
        }
        // A subnormal number is multiplied by 2^64 to make it normal.
        let (mantissa, exponent) = if mantissa < f64::MIN_POSITIVE {
            (mantissa * 2_f64.powi(64), exponent - 64)
        } else {
            (mantissa, exponent)
        };
        let bits = mantissa.to_bits();
        let power = ((bits & FIELD) >> 52) as i64 - 1023;
        Self { mantissa: f64::from_bits((bits & !FIELD) | ONE), exponent: exponent + power }
    }

    fn times(self, value: f64) -> Self {
        let value = Self::new(value, 0);
        Self::new(self.mantissa * value.mantissa, self.exponent + value.exponent)
    }

    fn plus(self, other: Self) -> Self {
        if self.mantissa == 0.0 || other.mantissa == 0.0 {
            return if self.mantissa == 0.0 { other } else { self };
        }
        let exponent = self.exponent.max(other.exponent);
        let part = |number: Self| number.divided_by(Self { mantissa: 1.0, exponent });
        Self::new(part(self) + part(other), exponent)
    }

    fn divided_by(self, other: Self) -> f64 {
        // Below the lower limit, the quotient is negligible. The upper limit is never reached,
        // because `other` is never much smaller.
        let power = (self.exponent - other.exponent).clamp(-1074, 1000);
        self.mantissa / other.mantissa * 2_f64.powi(power as i32)
    }
}

/// A factor: the indices of its variables, and its values.
pub type Table<'a> = (Vec<usize>, &'a [f64]);

/// The terms of a joint distribution: the possible configurations, each with the product of the
/// factors' values for it.
pub struct Joint {
    terms: Vec<(Vec<usize>, Number)>,
    /// The states of variable v are at `offsets[v]..offsets[v + 1]` of all states.
    offsets: Vec<usize>,
    ln_scale: f64,
}

impl Joint {
    /// The product of all factors of `network`, for the configurations that agree with the
    /// observations of `evidence`. There must be few of them.
    pub fn new(network: &Network, evidence: &Evidence) -> Self {
        let factors = network
            .factors()
            .map(|factor| (factor.scope().iter().map(|v| v.index()).collect(), factor.values()));
        let factors: Vec<Table<'_>> = factors.collect();
        let observed: Vec<Option<usize>> = network.ids().map(|v| evidence.observed(v)).collect();
        let joint = Self::of(&network.cardinalities(), &observed, &factors);
        Self { ln_scale: network.ln_scale(), ..joint }
    }

    /// The product of `factors`, for the configurations that agree with `observed`.
    pub fn of(cardinalities: &[usize], observed: &[Option<usize>], factors: &[Table<'_>]) -> Self {
        let mut offsets = vec![0];
        offsets.extend(cardinalities.iter().scan(0, |end, states| {
            *end += states;
            Some(*end)
        }));
        let mut terms = Vec::new();
        let mut states: Vec<usize> = observed.iter().map(|state| state.unwrap_or(0)).collect();
        loop {
            let values = factors.iter().map(|(scope, values)| {
                let at =
                    |at: usize, &variable: &usize| at * cardinalities[variable] + states[variable];
                values[scope.iter().fold(0, at)]
            });
            let product = values.fold(Number::ONE, Number::times);
            if product.mantissa != 0.0 {
                terms.push((states.clone(), product));
            }
            let mut free = (0..states.len()).filter(|&v| observed[v].is_none());
            let next = free.find(|&v| {
                states[v] = (states[v] + 1) % cardinalities[v];
                states[v] != 0
            });
            if next.is_none() {
                break;
            }
        }
        Self { terms, offsets, ln_scale: 0.0 }
    }

    /// Whether no configuration is possible.
    pub fn is_impossible(&self) -> bool {
        self.terms.is_empty()
    }

    /// The answer given `evidence`.
    pub fn given(&self, evidence: &Evidence) -> Exact {
        let offsets = self.offsets.clone();
        let mut sums = vec![Number::default(); offsets[offsets.len() - 1]];
        let mut total = Number::default();
        for (states, product) in &self.terms {
            let weights = evidence.iter().map(|(v, finding)| finding.weight(states[v.index()]));
            let product = weights.fold(*product, Number::times);
            total = total.plus(product);
            for (offset, state) in offsets.iter().zip(states) {
                sums[offset + state] = sums[offset + state].plus(product);
            }
        }
        Exact { total, sums, offsets, ln_scale: self.ln_scale }
    }
}

/// P(e) and the joint probabilities of each state and the evidence.
pub struct Exact {
    total: Number,
    /// The joint probability of each state and the evidence. The states of variable v are at
    /// `offsets[v]..offsets[v + 1]`.
    sums: Vec<Number>,
    offsets: Vec<usize>,
    ln_scale: f64,
}

impl Exact {
    /// Sums over all configurations that agree with the observations. There must be few of them.
    pub fn new(network: &Network, evidence: &Evidence) -> Self {
        Joint::new(network, evidence).given(evidence)
    }

    /// Whether a zero makes the evidence impossible.
    pub fn is_impossible(&self) -> bool {
        self.total.mantissa == 0.0
    }

    /// ln P(e).
    pub fn ln_p_evidence(&self) -> f64 {
        let Number { mantissa, exponent } = self.total;
        mantissa.ln() + exponent as f64 * std::f64::consts::LN_2 + self.ln_scale
    }

    /// The posterior of `variable`, one probability per state.
    pub fn posterior(&self, variable: VariableId) -> Vec<f64> {
        let range = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
        self.sums[range].iter().map(|sum| sum.divided_by(self.total)).collect()
    }
}
