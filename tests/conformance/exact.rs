//! Posteriors by definition, without underflow.
//!
//! All numbers are non-negative and have an exponent of their own. So each product and each sum is
//! right within a few units of the last place of f64, whatever the magnitudes.

use cliquescope::network::{Evidence, Finding, Network, VariableId};

/// `mantissa` times two to the power of `exponent`. The mantissa is in [1, 2), or zero.
#[derive(Clone, Copy, Debug, Default)]
struct Number {
    mantissa: f64,
    exponent: i64,
}

impl Number {
    /// `mantissa` times two to the power of `exponent`, for any mantissa that is not negative.
    fn new(mantissa: f64, exponent: i64) -> Self {
        if mantissa == 0.0 {
            return Self::default();
        }
        let power = mantissa.log2().floor() as i64;
        // In three steps, because two to the power of `power` may be out of range.
        let third = (power / 3) as i32;
        let scaled = mantissa / 2_f64.powi(third) / 2_f64.powi(third);
        Self { mantissa: scaled / 2_f64.powi(power as i32 - 2 * third), exponent: exponent + power }
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
        let cardinalities = network.cardinalities();
        let mut offsets = vec![0];
        offsets.extend(cardinalities.iter().scan(0, |end, states| {
            *end += states;
            Some(*end)
        }));
        let likelihoods = || evidence.iter().filter(|(_, f)| matches!(f, Finding::Likelihood(_)));
        let mut sums = vec![Number::default(); offsets[cardinalities.len()]];
        let mut total = Number::default();
        let mut states: Vec<usize> =
            network.ids().map(|v| evidence.observed(v).unwrap_or(0)).collect();
        loop {
            let values = network.factors().map(|factor| {
                let index = factor.scope().iter().fold(0, |index, &variable| {
                    index * network[variable].cardinality() + states[variable.index()]
                });
                factor.values()[index]
            });
            let weights = likelihoods().map(|(v, finding)| finding.weight(states[v.index()]));
            let one = Number { mantissa: 1.0, exponent: 0 };
            let product = values.chain(weights).fold(one, Number::times);
            total = total.plus(product);
            for (offset, state) in offsets.iter().zip(&states) {
                sums[offset + state] = sums[offset + state].plus(product);
            }
            let is_free = |&v: &VariableId| evidence.observed(v).is_none();
            let mut free = network.ids().filter(is_free).map(VariableId::index);
            let next = free.find(|&v| {
                states[v] = (states[v] + 1) % cardinalities[v];
                states[v] != 0
            });
            if next.is_none() {
                break;
            }
        }
        Self { total, sums, offsets, ln_scale: network.ln_scale() }
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
