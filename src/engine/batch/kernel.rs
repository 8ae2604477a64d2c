//! The loops that sum the terms of messages, for a group of cases together.
//!
//! An entry of a message is an array of [`CASES_PER_GROUP`] numbers, one per case. So every
//! instruction works on whole vector registers, and the only indices are those of rows and terms.
//! `kernels/batch.cu` does the same on a GPU, where each lane of a warp computes two cases.

use crate::engine::simd::simd_dispatch;
use crate::potential::{Precision, Real};

use super::plan::{Kind, Operation, Pair, Plan};

/// Number of cases that are computed together. They fill an AVX-512 register in double precision.
pub const CASES_PER_GROUP: usize = 8;

/// Maximum number of terms of a sum in single precision that is added up without a correction for
/// rounding. A longer sum is added up in blocks of this many terms, and only the addition of the
/// sums of the blocks is corrected. The error of a block is largest if all its terms are equal: 4.5
/// roundings for 16 terms, and 8.5 for 32. For P(e),
/// [`ErrorBound`](crate::engine::ErrorBound) allows 8 roundings for each factor. With a smaller
/// number, long sums take more time; with this one, sums of hundreds of terms take 6 to 11% more
/// instructions than without a correction. Engine `gpu` marks the ends of blocks in its steps.
pub const BLOCK: usize = 16;

/// A number for each case of a group.
pub type PerCase<T> = [T; CASES_PER_GROUP];

/// Powers of two by which the first and the second input of an operation are multiplied.
pub struct Scales<T> {
    pub first: PerCase<T>,
    pub second: PerCase<T>,
}

simd_dispatch!(
    /// Computes the rows of `operation` from the messages `inputs`, each multiplied by its scale.
    /// An input that the kind of the operation does not have is an empty slice. Writes the entries
    /// into `result`. Writes the largest entry of each case into `range[0]`, and the smallest entry
    /// other than zero, or infinity, into `range[1]`.
    pub compute<Real>, compute_rows,
    (
        plan: &Plan<T>,
        operation: &Operation,
        scales: &Scales<T>,
        inputs: [&[PerCase<T>]; 2],
        result: &mut [PerCase<T>],
        range: &mut [PerCase<T>; 2]
    )
);

#[inline(always)]
fn compute_rows<T: Real>(
    plan: &Plan<T>,
    operation: &Operation,
    scales: &Scales<T>,
    inputs: [&[PerCase<T>]; 2],
    result: &mut [PerCase<T>],
    range: &mut [PerCase<T>; 2],
) {
    // Most operations have only short rows. They pay nothing for the correction of long sums. In
    // double precision, no sum is long enough to need it.
    if T::PRECISION == Precision::F32 && operation.longest > BLOCK {
        compute_rows_of::<T, true>(plan, operation, scales, inputs, result, range);
    } else {
        compute_rows_of::<T, false>(plan, operation, scales, inputs, result, range);
    }
}

/// Computes the rows of `operation`. If `LONG`, sums of more terms than a [`BLOCK`] are corrected
/// for rounding.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Clearer than zipping several arrays.
fn compute_rows_of<T: Real, const LONG: bool>(
    plan: &Plan<T>,
    operation: &Operation,
    scales: &Scales<T>,
    inputs: [&[PerCase<T>]; 2],
    result: &mut [PerCase<T>],
    range: &mut [PerCase<T>; 2],
) {
    let [first, second] = inputs;
    let rows = &plan.rows[operation.rows.clone()];
    let infinity = T::from_f64(f64::INFINITY);
    let mut max = [T::ZERO; CASES_PER_GROUP];
    let mut min = [infinity; CASES_PER_GROUP];
    let mut write = |entry: u32, sum: PerCase<T>| {
        for case in 0..CASES_PER_GROUP {
            max[case] = if sum[case] > max[case] { sum[case] } else { max[case] };
            let nonzero = if sum[case] > T::ZERO { sum[case] } else { infinity };
            min[case] = if nonzero < min[case] { nonzero } else { min[case] };
        }
        result[entry as usize] = sum;
    };
    match operation.kind {
        Kind::Constant => {
            for row in rows {
                let terms = &plan.singles[row.first as usize..row.end as usize];
                let [sum] =
                    add_up::<T, _, _, LONG>(terms, |term, sum: &mut [T; 1]| sum[0] += term.value);
                write(row.entry, [sum; CASES_PER_GROUP]);
            }
        }
        Kind::One | Kind::OneAndRow => {
            for row in rows {
                let terms = &plan.singles[row.first as usize..row.end as usize];
                let mut sum = add_up::<T, _, _, LONG>(terms, |term, sum: &mut PerCase<T>| {
                    let x = &first[term.entry as usize];
                    for case in 0..CASES_PER_GROUP {
                        sum[case] += term.value * x[case];
                    }
                });
                for case in 0..CASES_PER_GROUP {
                    sum[case] *= scales.first[case];
                }
                if operation.kind == Kind::OneAndRow {
                    let y = &second[row.factor as usize];
                    for case in 0..CASES_PER_GROUP {
                        sum[case] *= y[case] * scales.second[case];
                    }
                }
                write(row.entry, sum);
            }
        }
        Kind::Two => {
            for row in rows {
                let range = row.first as usize..row.end as usize;
                let mut sum = if operation.is_product {
                    let terms = &plan.products[range];
                    let split = |&[x, y]: &[u16; 2]| (T::ONE, [usize::from(x), usize::from(y)]);
                    add_up_pairs::<T, _, LONG>(terms, inputs, &scales.first, split)
                } else {
                    let split = |pair: &Pair<T>| (pair.value, pair.entries.map(|at| at as usize));
                    add_up_pairs::<T, _, LONG>(&plan.pairs[range], inputs, &scales.first, split)
                };
                for case in 0..CASES_PER_GROUP {
                    sum[case] *= scales.second[case];
                }
                write(row.entry, sum);
            }
        }
    }
    *range = [max, min];
}

/// The sum of `terms`, each a constant times an entry of the first of the `inputs`, scaled, times an
/// entry of the second. `split` returns the constant and the two entries of a term.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Clearer than zipping several arrays.
fn add_up_pairs<T: Real, Term, const LONG: bool>(
    terms: &[Term],
    [first, second]: [&[PerCase<T>]; 2],
    scale: &PerCase<T>,
    split: impl Fn(&Term) -> (T, [usize; 2]),
) -> PerCase<T> {
    add_up::<T, _, _, LONG>(terms, |term, sum: &mut PerCase<T>| {
        let (value, [x, y]) = split(term);
        let (x, y) = (&first[x], &second[y]);
        for case in 0..CASES_PER_GROUP {
            sum[case] += value * (x[case] * scale[case]) * y[case];
        }
    })
}

/// The sum of `terms`; `add` adds one term to a sum. If `LONG` and there are more terms than a
/// [`BLOCK`], the sums of blocks are added up by compensated summation (Kahan, Further remarks on
/// reducing truncation errors, 1965).
#[inline(always)]
pub fn add_up<T: Real, Term, const N: usize, const LONG: bool>(
    terms: &[Term],
    add: impl Fn(&Term, &mut [T; N]),
) -> [T; N] {
    let in_order = |terms: &[Term]| {
        let mut sum = [T::ZERO; N];
        terms.iter().for_each(|term| add(term, &mut sum));
        sum
    };
    if !LONG || terms.len() <= BLOCK {
        return in_order(terms);
    }
    let mut sum = [T::ZERO; N];
    // Minus what earlier additions rounded away.
    let mut lost = [T::ZERO; N];
    for block in terms.chunks(BLOCK) {
        let term = in_order(block);
        for i in 0..N {
            let wanted = term[i] - lost[i];
            let next = sum[i] + wanted;
            lost[i] = (next - sum[i]) - wanted;
            sum[i] = next;
        }
    }
    sum
}
