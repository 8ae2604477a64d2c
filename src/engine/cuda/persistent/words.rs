//! Words of 64 bits: a number, its power of two, and the run that wrote it; as in
//! `kernels/persistent.cu`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Runs are numbered round from 1 to this.
pub(super) const MAX_TAG: u32 = 4095;

/// Powers of two that a word holds, above and below one; there is room for a few more.
pub(super) const POWERS: f64 = 524_000.0;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word(pub u64);

impl Word {
    /// `value` times 2^power, of run `tag`.
    #[cfg(test)]
    pub fn new(value: f32, power: i32, tag: u32) -> Self {
        let high = (power as u32) << 12 | tag;
        Self(u64::from(high) << 32 | u64::from(value.to_bits()))
    }

    #[inline]
    pub fn tag(self) -> u32 {
        (self.0 >> 32) as u32 & 0xfff
    }

    #[inline]
    fn power(self) -> i32 {
        (self.0 >> 32) as i32 >> 12
    }

    /// The exponent of the number, so that it is in [2^e, 2^(e + 1)); `None` for zero. Subnormal
    /// numbers count as zero.
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

    /// The number with exponent `e` instead of its own; what is too small is zero.
    #[cfg(test)]
    pub fn with_exponent(self, e: i32) -> f32 {
        if e < -126 {
            return 0.0;
        }
        f32::from_bits(self.0 as u32 & 0x007f_ffff | ((e + 127) as u32) << 23)
    }
}

/// What a run brings, some of which is yet to come.
#[derive(Clone, Copy)]
pub(super) struct Results<'a> {
    /// Those of all reports: probabilities in single precision. The sign says which run wrote it.
    pub words: &'a [AtomicU32],
    /// The sign of this run: runs take turns.
    pub turn: bool,
    /// A [`Word`].
    pub p_evidence: &'a AtomicU64,
    pub tag: u32,
}

impl Results<'_> {
    /// Probability `at`, if it is there.
    #[inline]
    pub fn get(self, at: usize) -> Option<f32> {
        let bits = self.words[at].load(Ordering::Relaxed);
        (bits >> 31 == u32::from(self.turn)).then_some(f32::from_bits(bits & 0x7fff_ffff))
    }

    /// P(e), if it is there.
    #[inline]
    pub fn p_evidence(self) -> Option<Word> {
        let word = Word(self.p_evidence.load(Ordering::Relaxed));
        (word.tag() == self.tag).then_some(word)
    }

    /// Fills `values` with the distribution whose probabilities begin at `first`, so that they sum to
    /// one as doubles; whether all of them are there.
    #[inline]
    pub fn fill(self, first: usize, values: &mut [f64]) -> bool {
        let turn = u32::from(self.turn) << 31;
        let words = &self.words[first..first + values.len()];
        let (mut signs, mut sum) = (0, 0.0);
        for word in words {
            let bits = word.load(Ordering::Relaxed) ^ turn;
            signs |= bits;
            sum += f64::from(f32::from_bits(bits));
        }
        if signs >> 31 != 0 {
            return false;
        }
        // Where the evidence is impossible there are only zeros.
        let scale = if sum > 0.0 { 1.0 / sum } else { 1.0 };
        // Read again, which is faster than what has just been written.
        for (value, word) in values.iter_mut().zip(words) {
            *value = f64::from(f32::from_bits(word.load(Ordering::Relaxed) ^ turn)) * scale;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::potential::Real;

    #[test]
    fn a_word_holds_a_number_far_beyond_a_float() {
        for (value, power) in [(1.5_f32, 0), (3.0e-30, -500_000), (7.0e30, 500_000)] {
            let word = Word::new(value, power, 4095);
            assert_eq!(word.tag(), 4095);
            let (mantissa, exponent) = word.parts().unwrap();
            assert_eq!(mantissa.scale(exponent - power) as f32, value);
            assert_eq!(word.with_exponent(3), (mantissa * 8.0) as f32);
            assert_eq!(word.with_exponent(-127), 0.0);
        }
        assert!(Word::new(0.0, 7, 1).parts().is_none());
        assert!(Word::new(1e-40, 7, 1).parts().is_none());
    }

    #[test]
    fn what_is_of_another_run_is_not_there() {
        let words = [0.25_f32, 0.5, -0.25, 0.0, -0.0];
        let words = words.map(|value| AtomicU32::new(value.to_bits()));
        let p_evidence = AtomicU64::new(Word::new(0.5, 1, 7).0);
        let results = Results { words: &words, turn: false, p_evidence: &p_evidence, tag: 7 };
        assert_eq!(results.get(1), Some(0.5));
        assert_eq!((results.get(2), results.get(4)), (None, None));
        assert!(results.p_evidence().is_some());
        let mut values = [9.0; 2];
        assert!(results.fill(0, &mut values));
        assert_eq!(values, [1.0 / 3.0, 2.0 / 3.0]);
        assert!(!results.fill(1, &mut values));
        let results = Results { turn: true, tag: 8, ..results };
        assert_eq!(results.get(2), Some(0.25));
        assert_eq!((results.get(0), results.get(4)), (None, Some(0.0)));
        assert!(results.p_evidence().is_none());
        assert!(!results.fill(2, &mut values));
    }
}
