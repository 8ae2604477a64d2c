//! Words of 64 bits: a number, its power of two, and the run that wrote it; as in
//! `kernels/propagate.cu`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Runs are numbered round from 1 to this.
pub(super) const MAX_TAG: u32 = 4095;

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
        Some((self.in_units_of(self.exponent()?), self.exponent()?))
    }

    /// The number divided by 2^e, which is not far below it; what is far smaller is zero.
    #[inline]
    fn in_units_of(self, e: i32) -> f64 {
        match self.exponent() {
            Some(exponent) if e - exponent < 1000 => {
                let mantissa = (self.0 & 0x007f_ffff) << 29;
                f64::from_bits(((1023 + exponent - e) as u64) << 52 | mantissa)
            }
            _ => 0.0,
        }
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

/// The words of a result, some of which are yet to come.
#[derive(Clone, Copy)]
pub(super) struct Results<'a> {
    pub words: &'a [AtomicU64],
    pub tag: u32,
}

impl Results<'_> {
    /// Word `at`, if it is there.
    #[inline]
    pub fn get(self, at: usize) -> Option<Word> {
        let word = Word(self.words[at].load(Ordering::Acquire));
        (word.tag() == self.tag).then_some(word)
    }
}

/// Fills `values` with a distribution, which `word` gives up to a factor by state. Zeros only, if
/// that is what it is.
pub(super) fn distribution(values: &mut [f64], mut word: impl FnMut(usize) -> Word) {
    // Most often all have the same power of two.
    let (mut sum, mut power) = (0.0, None);
    let mut is_same = true;
    for (state, value) in values.iter_mut().enumerate() {
        let word = word(state);
        let number = f32::from_bits(word.0 as u32);
        is_same &= number == 0.0 || *power.get_or_insert(word.power()) == word.power();
        *value = f64::from(number);
        sum += *value;
    }
    if is_same && sum > 1e-20 {
        let scale = 1.0 / sum;
        return values.iter_mut().for_each(|value| *value *= scale);
    }
    let words: Vec<Word> = (0..values.len()).map(word).collect();
    let largest = words.iter().filter_map(|word| word.exponent()).max();
    let Some(largest) = largest else { return values.fill(0.0) };
    let mut sum = 0.0;
    for (value, word) in values.iter_mut().zip(words) {
        *value = word.in_units_of(largest);
        sum += *value;
    }
    let scale = 1.0 / sum;
    values.iter_mut().for_each(|value| *value *= scale);
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
    fn numbers_of_different_powers_stand_to_each_other_as_they_are() {
        let words = [(1.0, -3000), (1.0, -3001), (0.0, 0), (4.0, -3001), (1.0, -5000)];
        let words = words.map(|(value, power)| Word::new(value, power, 1));
        let mut values = [0.0; 5];
        distribution(&mut values, |state| words[state]);
        let expected = [2.0 / 7.0, 1.0 / 7.0, 0.0, 4.0 / 7.0, 0.0];
        assert!(
            values.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15)
        );
        let words = [(1.0, 9), (0.0, 0), (4.0, 9), (1e-9, 9), (3.0, 9)];
        let words = words.map(|(value, power)| Word::new(value, power, 1));
        distribution(&mut values, |state| words[state]);
        let expected = [0.125, 0.0, 0.5, 1.25e-10, 0.375];
        assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9 * b.max(0.1)));
        distribution(&mut values, |_| Word::new(0.0, 3, 1));
        assert_eq!(values, [0.0; 5]);
    }
}
