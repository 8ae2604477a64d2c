//! The words of messages, as in `kernels/persistent.cu`. A word has 64 bits: a number, the exponent
//! of its power of two, and an epoch, the number of the run that wrote the word.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};

/// Number of bits of the epoch in a word. The kernel has the same constant.
pub(super) const EPOCH_BITS: u32 = 12;

/// The last epoch. After it, epochs start again at 1.
pub(super) const MAX_EPOCH: u32 = (1 << EPOCH_BITS) - 1;

/// Numbers between 2^-`MAX_POWER` and 2^`MAX_POWER` are supported, also when weights of evidence
/// are multiplied in. The exponent in a word has 20 bits, and can be from -2^19 to 2^19 - 1
/// (524,287). The difference is headroom for the sums in a work item.
pub(super) const MAX_POWER: f64 = 524_000.0;

/// A number, the exponent of its power of two, and the epoch of the word.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Word(pub u64);

impl Word {
    /// `value` times 2^`power`, written in run `epoch`.
    #[cfg(test)]
    pub fn new(value: f32, power: i32, epoch: u32) -> Self {
        let high = (power as u32) << EPOCH_BITS | epoch;
        Self(u64::from(high) << 32 | u64::from(value.to_bits()))
    }

    /// The epoch: the number of the run that wrote the word.
    #[inline]
    pub fn epoch(self) -> u32 {
        (self.0 >> 32) as u32 & MAX_EPOCH
    }

    #[inline]
    fn power(self) -> i32 {
        (self.0 >> 32) as i32 >> EPOCH_BITS
    }

    /// Whether `other` holds the same value and power, in whatever epoch. The same number may also
    /// be written with another power.
    #[inline]
    pub fn is_same(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(u64::from(MAX_EPOCH) << 32) == 0
    }

    /// The largest e for which 2^e is at most the number; `None` for zero. A subnormal number
    /// counts as zero.
    #[inline]
    pub fn exponent(self) -> Option<i32> {
        match (self.0 as u32) >> 23 {
            0 => None,
            field => Some(field as i32 - 127 + self.power()),
        }
    }

    /// The number as a value in [1, 2) and its exponent; `None` for zero.
    pub fn parts(self) -> Option<(f64, i32)> {
        let mantissa = (self.0 & 0x007f_ffff) << 29;
        Some((f64::from_bits(1023 << 52 | mantissa), self.exponent()?))
    }

    /// The number divided by 2^`exponent`; zero if the quotient is below the smallest normal number
    /// of double precision. `exponent` must be at least the exponent of the number.
    #[inline]
    pub fn relative_to(self, exponent: i32) -> f64 {
        let field = self.exponent().map_or(0, |own| own - exponent + 1023);
        if field <= 0 {
            return 0.0;
        }
        f64::from_bits((field as u64) << 52 | (self.0 & 0x007f_ffff) << 29)
    }

    /// The number, which must not be zero, with exponent `e` in place of its own; zero if `e` is
    /// too small.
    #[cfg(test)]
    pub fn with_exponent(self, e: i32) -> f32 {
        if e < -126 {
            return 0.0;
        }
        f32::from_bits(self.0 as u32 & 0x007f_ffff | ((e + 127) as u32) << 23)
    }
}

/// The results of a run, some of which may not have arrived yet.
#[derive(Clone, Copy)]
pub(super) struct Results<'a> {
    /// The words of all reports: probabilities in single precision. The sign bit of each is the
    /// parity of the run that wrote it.
    pub words: &'a [AtomicU32],
    /// The parity of this run. It alternates from run to run.
    pub parity: bool,
    /// P(e), as a [`Word`].
    pub p_evidence: &'a AtomicU64,
    /// The epoch of this run.
    pub epoch: u32,
}

impl Results<'_> {
    /// Probability number `index`; `None` if it has not arrived.
    #[inline]
    pub fn get(self, index: usize) -> Option<f32> {
        let bits = self.words[index].load(Ordering::Relaxed);
        (bits >> 31 == u32::from(self.parity)).then_some(f32::from_bits(bits & 0x7fff_ffff))
    }

    /// P(e); `None` if it has not arrived.
    #[inline]
    pub fn p_evidence(self) -> Option<Word> {
        let word = Word(self.p_evidence.load(Ordering::Relaxed));
        (word.epoch() == self.epoch).then_some(word)
    }

    /// Fills `values` with consecutive probabilities from number `first` on, scaled to sum to one
    /// in double precision. Returns false if some of them have not arrived; the content of `values`
    /// is then unspecified.
    #[inline]
    pub fn fill(self, first: usize, values: &mut [f64]) -> bool {
        let sign = u32::from(self.parity) << 31;
        let words = &self.words[first..first + values.len()];
        let (mut signs, mut sum) = (0, 0.0);
        for word in words {
            let bits = word.load(Ordering::Relaxed) ^ sign;
            signs |= bits;
            sum += f64::from(f32::from_bits(bits));
        }
        if signs >> 31 != 0 {
            return false;
        }
        // If the evidence is impossible, all probabilities are zeros.
        let scale = if sum > 0.0 { 1.0 / sum } else { 1.0 };
        // Reading the words again is faster than reading back `values`.
        for (value, word) in values.iter_mut().zip(words) {
            *value = f64::from(f32::from_bits(word.load(Ordering::Relaxed) ^ sign)) * scale;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::potential::Real;

    #[test]
    fn a_word_holds_numbers_far_outside_the_range_of_a_float() {
        for (value, power) in [(1.5_f32, 0), (3.0e-30, -500_000), (7.0e30, 500_000)] {
            let word = Word::new(value, power, 4095);
            assert_eq!(word.epoch(), 4095);
            let (mantissa, exponent) = word.parts().unwrap();
            assert_eq!(mantissa.scale(exponent - power) as f32, value);
            assert_eq!(word.with_exponent(3), (mantissa * 8.0) as f32);
            assert_eq!(word.with_exponent(-127), 0.0);
            assert_eq!(word.relative_to(exponent + 3), mantissa / 8.0);
            assert_eq!(word.relative_to(exponent + 1023), 0.0);
            assert!(word.is_same(Word::new(value, power, 1)));
            assert!(!word.is_same(Word::new(value, power + 1, 4095)));
        }
        assert!(Word::new(0.0, 7, 1).parts().is_none());
        assert_eq!(Word::new(0.0, 7, 1).relative_to(0), 0.0);
        assert!(Word::new(1e-40, 7, 1).parts().is_none());
    }

    #[test]
    fn results_of_another_run_do_not_count_as_arrived() {
        let words = [0.25_f32, 0.5, -0.25, 0.0, -0.0];
        let words = words.map(|value| AtomicU32::new(value.to_bits()));
        let p_evidence = AtomicU64::new(Word::new(0.5, 1, 7).0);
        let results = Results { words: &words, parity: false, p_evidence: &p_evidence, epoch: 7 };
        assert_eq!(results.get(1), Some(0.5));
        assert_eq!((results.get(2), results.get(4)), (None, None));
        assert!(results.p_evidence().is_some());
        let mut values = [9.0; 2];
        assert!(results.fill(0, &mut values));
        assert_eq!(values, [1.0 / 3.0, 2.0 / 3.0]);
        assert!(!results.fill(1, &mut values));
        let results = Results { parity: true, epoch: 8, ..results };
        assert_eq!(results.get(2), Some(0.25));
        assert_eq!((results.get(0), results.get(4)), (None, Some(0.0)));
        assert!(results.p_evidence().is_none());
        assert!(!results.fill(2, &mut values));
    }
}
