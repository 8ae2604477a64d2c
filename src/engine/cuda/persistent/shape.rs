//! What evidence and results of a network look like in memory that the GPU shares.

use std::f64::consts::LN_2;
use std::sync::Arc;

use super::words::Word;
use crate::engine::RunError;
use crate::network::{Evidence, Finding};
use crate::potential::Real;
use crate::propagation::{CompiledNetwork, Posteriors};

/// What evidence and results of a network look like.
pub(super) struct Shape {
    pub(super) variables: usize,
    /// What the network took out of its factors.
    pub(super) ln_scale: f64,
    /// First state of each variable, and the end of the last.
    pub(super) offsets: Arc<[usize]>,
}

impl Shape {
    pub(super) fn new(compiled: &CompiledNetwork) -> Self {
        Self {
            variables: compiled.network().variables().len(),
            ln_scale: compiled.network().ln_scale(),
            offsets: Posteriors::offsets(compiled.network()),
        }
    }

    /// States of all variables.
    pub(super) fn states(&self) -> usize {
        self.offsets[self.variables]
    }

    /// Words of bits of which there is one for each state.
    pub(super) fn bit_words(&self) -> usize {
        self.states().div_ceil(32)
    }

    /// Words of packed evidence: a bit for each state that it leaves possible, and a weight for each.
    pub(super) fn evidence_words(&self) -> usize {
        self.bit_words() + self.states()
    }

    /// The evidence as the words that the kernel reads, and the exponent that it takes out.
    pub(super) fn pack(&self, evidence: &Evidence, words: &mut [u32]) -> i64 {
        let (bits, weights) = words.split_at_mut(self.bit_words());
        bits.fill(u32::MAX);
        weights[..self.states()].fill(1.0_f32.to_bits());
        let mut exponent = 0;
        for (variable, finding) in evidence.iter() {
            let states = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
            let first = states.start;
            if let Finding::Observed(state) = finding {
                exponent += 1;
                for at in states {
                    weights[at] = if at == first + state { 0.5_f32.to_bits() } else { 0 };
                    if at != first + state {
                        bits[at / 32] &= !(1 << (at % 32));
                    }
                }
                continue;
            }
            let all = states.clone().map(|state| finding.weight(state - first));
            let largest = all.clone().fold(0.0, f64::max);
            // Below one, so that products of many do not grow.
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

    pub(super) fn finish(
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
