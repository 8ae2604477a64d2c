//! Eight numbers at a time, in the vector registers of the processor.
//!
//! Most loops that [`simd_dispatch!`](super::simd) compiles become good vector instructions by
//! themselves. Two kinds do not. For a loop that adds products to tables and also sums them, the
//! compiler used registers of only two numbers; for a loop that multiplies and also looks for the
//! largest product, it used one number at a time. Such loops are written with the operations of
//! [`Lanes`], which give the same bits on every processor.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256d, __m512d, _mm256_add_pd, _mm256_loadu_pd, _mm256_max_pd, _mm256_mul_pd, _mm256_set1_pd,
    _mm256_storeu_pd, _mm512_add_pd, _mm512_loadu_pd, _mm512_max_pd, _mm512_mul_pd, _mm512_set1_pd,
    _mm512_storeu_pd,
};

/// The number of lanes: as many numbers as a register of AVX-512 holds.
pub const LANES: usize = 8;

// The loads and stores below rely on this.
#[cfg(target_arch = "x86_64")]
const _: () = assert!(
    size_of::<__m512d>() == LANES * size_of::<f64>()
        && size_of::<[__m256d; 2]>() == LANES * size_of::<f64>()
);

/// Instructions for [`LANES`] numbers in double precision. A value of a type with this trait exists
/// only where the processor has the instructions.
pub trait Lanes: Copy {
    /// [`LANES`] numbers, one per lane, in one register or several.
    type Numbers: Copy;

    /// `value` in all lanes.
    fn splat(self, value: f64) -> Self::Numbers;

    /// The numbers of `values`.
    fn load(self, values: &[f64; LANES]) -> Self::Numbers;

    /// Writes `numbers` into `values`.
    fn store(self, numbers: Self::Numbers, values: &mut [f64; LANES]);

    /// The sums, lane by lane.
    fn add(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    /// The products, lane by lane.
    fn multiply(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    /// The larger of the two numbers in each lane. Where they are equal or one is NaN, this is the
    /// number of `a`.
    fn larger(self, a: Self::Numbers, b: Self::Numbers) -> Self::Numbers;

    /// The numbers as an array.
    #[inline(always)]
    fn to_array(self, numbers: Self::Numbers) -> [f64; LANES] {
        let mut values = [0.0; LANES];
        self.store(numbers, &mut values);
        values
    }
}

/// Operations on arrays, for which the compiler chooses the instructions of the target.
#[derive(Clone, Copy)]
pub struct Portable;

impl Lanes for Portable {
    type Numbers = [f64; LANES];

    #[inline(always)]
    fn splat(self, value: f64) -> [f64; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, values: &[f64; LANES]) -> [f64; LANES] {
        *values
    }

    #[inline(always)]
    fn store(self, numbers: [f64; LANES], values: &mut [f64; LANES]) {
        *values = numbers;
    }

    #[inline(always)]
    fn add(self, mut a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    }

    #[inline(always)]
    fn multiply(self, mut a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
        a.iter_mut().zip(b).for_each(|(a, b)| *a *= b);
        a
    }

    #[inline(always)]
    fn larger(self, mut a: [f64; LANES], b: [f64; LANES]) -> [f64; LANES] {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = if b > *a { b } else { *a });
        a
    }
}

/// The instructions of AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(());

/// The instructions of AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx512(());

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the value says that the processor has the instructions")]
impl Avx2 {
    /// A value that allows the use of these instructions.
    ///
    /// # Safety
    /// The processor must have AVX2.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }

    /// The value, if the processor has AVX2.
    #[cfg(test)]
    pub fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the value says that the processor has the instructions")]
impl Avx512 {
    /// A value that allows the use of these instructions.
    ///
    /// # Safety
    /// The processor must have AVX-512F.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }

    /// The value, if the processor has AVX-512F.
    #[cfg(test)]
    pub fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx512f").then_some(Self(()))
    }
}

// SAFETY, for all blocks below: a value of the type exists, so the processor has the instructions.
// Each load and store covers exactly one array of `LANES` numbers or one half of it, as asserted
// above, and needs no alignment.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the value says that the processor has the instructions")]
impl Lanes for Avx2 {
    type Numbers = [__m256d; 2];

    #[inline(always)]
    fn splat(self, value: f64) -> [__m256d; 2] {
        unsafe { [_mm256_set1_pd(value); 2] }
    }

    #[inline(always)]
    fn load(self, values: &[f64; LANES]) -> [__m256d; 2] {
        let (low, high) = values.split_at(LANES / 2);
        unsafe { [_mm256_loadu_pd(low.as_ptr()), _mm256_loadu_pd(high.as_ptr())] }
    }

    #[inline(always)]
    fn store(self, [a, b]: [__m256d; 2], values: &mut [f64; LANES]) {
        let (low, high) = values.split_at_mut(LANES / 2);
        unsafe {
            _mm256_storeu_pd(low.as_mut_ptr(), a);
            _mm256_storeu_pd(high.as_mut_ptr(), b);
        }
    }

    #[inline(always)]
    fn add(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        unsafe { [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])] }
    }

    #[inline(always)]
    fn multiply(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        unsafe { [_mm256_mul_pd(a[0], b[0]), _mm256_mul_pd(a[1], b[1])] }
    }

    #[inline(always)]
    fn larger(self, a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        unsafe { [_mm256_max_pd(b[0], a[0]), _mm256_max_pd(b[1], a[1])] }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the value says that the processor has the instructions")]
impl Lanes for Avx512 {
    type Numbers = __m512d;

    #[inline(always)]
    fn splat(self, value: f64) -> __m512d {
        unsafe { _mm512_set1_pd(value) }
    }

    #[inline(always)]
    fn load(self, values: &[f64; LANES]) -> __m512d {
        unsafe { _mm512_loadu_pd(values.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, numbers: __m512d, values: &mut [f64; LANES]) {
        unsafe { _mm512_storeu_pd(values.as_mut_ptr(), numbers) }
    }

    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_add_pd(a, b) }
    }

    #[inline(always)]
    fn multiply(self, a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_mul_pd(a, b) }
    }

    #[inline(always)]
    fn larger(self, a: __m512d, b: __m512d) -> __m512d {
        unsafe { _mm512_max_pd(b, a) }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The results of all operations on `a` and `b`.
    fn results<L: Lanes>(lanes: L, a: &[f64; LANES], b: &[f64; LANES]) -> [[f64; LANES]; 4] {
        let numbers = (lanes.load(a), lanes.load(b));
        let results = [
            lanes.splat(a[0]),
            lanes.add(numbers.0, numbers.1),
            lanes.multiply(numbers.0, numbers.1),
            lanes.larger(numbers.0, numbers.1),
        ];
        results.map(|numbers| lanes.to_array(numbers))
    }

    #[test]
    fn all_instructions_do_the_same() {
        let a = [0.1, 2.0, 0.0, 1e300, 5.0, 6e-308, 7.0, -0.0];
        let b = [3.0, 0.7, -0.0, 1e10, f64::INFINITY, 1e-20, f64::NAN, 0.0];
        let each = |of: fn(f64, f64) -> f64| std::array::from_fn(|lane| of(a[lane], b[lane]));
        let expected = [
            [a[0]; LANES],
            each(|a, b| a + b),
            each(|a, b| a * b),
            each(|a, b| if b > a { b } else { a }),
        ];
        // Minus zero is not zero here, and NaN equals itself.
        let bits = |results: [[f64; LANES]; 4]| results.map(|numbers| numbers.map(f64::to_bits));
        assert_eq!(bits(results(Portable, &a, &b)), bits(expected));
        if let Some(lanes) = Avx2::detect() {
            assert_eq!(bits(results(lanes, &a, &b)), bits(expected), "AVX2");
        }
        if let Some(lanes) = Avx512::detect() {
            assert_eq!(bits(results(lanes, &a, &b)), bits(expected), "AVX-512");
        }
    }
}
