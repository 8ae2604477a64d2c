//! The positions of the states of each variable in packed evidence and in posteriors.

use std::f64::consts::LN_2;
use std::sync::Arc;

use super::words::Word;
use crate::engine::RunError;
use crate::network::{Evidence, Finding};
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors};

/// Returns a p such that every product of [packed](StateLayout::pack) weights, one nonzero weight
/// of each finding, is at least 2^-p.
pub(super) fn smallest_power(evidence: &Evidence) -> f64 {
    let power = |finding: &Finding| match finding {
        Finding::Observed(_) => 1.0,
        Finding::Likelihood(weights) => {
            let largest = weights.iter().copied().fold(0.0, f64::max);
            let nonzero = weights.iter().copied().filter(|&weight| weight > 0.0);
            (largest / nonzero.fold(f64::INFINITY, f64::min)).log2() + 1.0
        }
    };
    evidence.iter().map(|(_, finding)| power(finding)).sum()
}

/// The states of all variables, numbered from 0.
pub(super) struct StateLayout {
    /// Number of variables.
    pub(super) variables: usize,
    /// The natural logarithm of the scale that the network removed from its factors.
    pub(super) ln_scale: f64,
    /// First state of each variable, then the total number of states.
    pub(super) offsets: Arc<[usize]>,
}

impl StateLayout {
    /// The layout for the network of `compiled`.
    pub(super) fn new(compiled: &CompiledNetwork) -> Self {
        Self {
            variables: compiled.network().variables().len(),
            ln_scale: compiled.network().ln_scale(),
            offsets: Posteriors::offsets(compiled.network()),
        }
    }

    /// Total number of states of all variables.
    pub(super) fn states(&self) -> usize {
        self.offsets[self.variables]
    }

    /// Number of words that hold one bit per state.
    pub(super) fn bit_words(&self) -> usize {
        self.states().div_ceil(32)
    }

    /// Length of packed evidence in words. Packed evidence begins with one bit per state, which is
    /// 0 if the weight of the state is zero. The weights of all states follow, as float bits.
    pub(super) fn evidence_words(&self) -> usize {
        self.bit_words() + self.states()
    }

    /// Packs `evidence` for the kernel into `words`, and returns the exponent of the power of two
    /// to multiply P(e) by, to undo the scaling of weights. The weights of each finding are scaled
    /// to a largest weight in [0.5, 1), so that products of many weights do not grow.
    pub(super) fn pack(&self, evidence: &Evidence, words: &mut [u32]) -> i64 {
        let (bits, weights) = words.split_at_mut(self.bit_words());
        bits.fill(u32::MAX);
        weights[..self.states()].fill(1.0_f32.to_bits());
        let mut exponent = 0;
        for (variable, finding) in evidence.iter() {
            let states = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
            let first = states.start;
            if let Finding::Observed(observed) = finding {
                exponent += 1;
                for state in states {
                    let is_observed = state == first + observed;
                    weights[state] = if is_observed { 0.5_f32.to_bits() } else { 0 };
                    if !is_observed {
                        bits[state / 32] &= !(1 << (state % 32));
                    }
                }
                continue;
            }
            let all = states.clone().map(|state| finding.weight(state - first));
            let largest = all.clone().fold(0.0, f64::max);
            let scale = largest.scale_exponent().unwrap_or(0) - 1;
            exponent -= i64::from(scale);
            for (state, weight) in states.zip(all) {
                let weight = weight.scale(scale) as f32;
                weights[state] = weight.to_bits();
                if weight == 0.0 {
                    bits[state / 32] &= !(1 << (state % 32));
                }
            }
        }
        exponent
    }

    /// The posteriors `values`, in the order of all states. P(e) is `p_evidence` times 2^`exponent`
    /// times e^`ln_scale`.
    ///
    /// # Errors
    /// [`RunError::Impossible`] if P(e) is zero.
    pub(super) fn posteriors(
        &self,
        values: Vec<f64>,
        exponent: i64,
        p_evidence: Word,
    ) -> Result<Posteriors, RunError> {
        let (mantissa, power) = p_evidence.parts().ok_or(RunError::Impossible)?;
        let ln = mantissa.ln() + (exponent + i64::from(power)) as f64 * LN_2 + self.ln_scale;
        Ok(Posteriors::from_values(Arc::clone(&self.offsets), values, ln))
    }
}
