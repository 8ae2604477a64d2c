//! The loops over terms, for all lanes at once.
//!
//! An entry of a message is a row of [`CASES_PER_GROUP`] numbers, one of each case, so every step is the same
//! on a few vector registers and reads no index but those of the terms. `kernels/lanes.cu` does the
//! same on a GPU, with the threads of a warp as lanes.

use crate::engine::simd::simd_dispatch;
use crate::potential::Real;

use super::plan::{Kind, Operation, Plan};

/// Cases that are computed together.
pub const CASES_PER_GROUP: usize = 8;

/// A number of each case.
pub type Numbers<T> = [T; CASES_PER_GROUP];

/// What the factors of an operation are multiplied by.
pub struct Scales<T> {
    pub first: Numbers<T>,
    pub second: Numbers<T>,
}

simd_dispatch!(
    /// Computes the rows of `operation` from the entries of its `factors` into `result`, and the
    /// largest of each lane into `largest`.
    pub compute<Real>, compute_rows,
    (
        plan: &Plan<T>,
        operation: &Operation,
        scales: &Scales<T>,
        factors: [&[Numbers<T>]; 2],
        result: &mut [Numbers<T>],
        largest: &mut Numbers<T>
    )
);

#[inline(always)]
#[allow(clippy::needless_range_loop)] // Loops over lanes of several arrays read best by lane.
fn compute_rows<T: Real>(
    plan: &Plan<T>,
    operation: &Operation,
    scales: &Scales<T>,
    factors: [&[Numbers<T>]; 2],
    result: &mut [Numbers<T>],
    largest: &mut Numbers<T>,
) {
    let [first, second] = factors;
    let rows = &plan.rows[operation.rows.clone()];
    let mut most = [T::ZERO; CASES_PER_GROUP];
    let mut keep = |entry: u32, sum: Numbers<T>| {
        for lane in 0..CASES_PER_GROUP {
            most[lane] = if sum[lane] > most[lane] { sum[lane] } else { most[lane] };
        }
        result[entry as usize] = sum;
    };
    match operation.kind {
        Kind::Constant => {
            for row in rows {
                let mut sum = T::ZERO;
                for term in &plan.singles[row.first as usize..row.end as usize] {
                    sum += term.value;
                }
                keep(row.entry, [sum; CASES_PER_GROUP]);
            }
        }
        Kind::One | Kind::OneAndRow => {
            for row in rows {
                let mut sum = [T::ZERO; CASES_PER_GROUP];
                for term in &plan.singles[row.first as usize..row.end as usize] {
                    let x = &first[term.entry as usize];
                    for lane in 0..CASES_PER_GROUP {
                        sum[lane] += term.value * x[lane];
                    }
                }
                for lane in 0..CASES_PER_GROUP {
                    sum[lane] *= scales.first[lane];
                }
                if operation.kind == Kind::OneAndRow {
                    let y = &second[row.factor as usize];
                    for lane in 0..CASES_PER_GROUP {
                        sum[lane] *= y[lane] * scales.second[lane];
                    }
                }
                keep(row.entry, sum);
            }
        }
        Kind::Two => {
            for row in rows {
                let mut sum = [T::ZERO; CASES_PER_GROUP];
                for term in &plan.pairs[row.first as usize..row.end as usize] {
                    let x = &first[term.entries[0] as usize];
                    let y = &second[term.entries[1] as usize];
                    for lane in 0..CASES_PER_GROUP {
                        sum[lane] += term.value * (x[lane] * scales.first[lane]) * y[lane];
                    }
                }
                for lane in 0..CASES_PER_GROUP {
                    sum[lane] *= scales.second[lane];
                }
                keep(row.entry, sum);
            }
        }
    }
    *largest = most;
}
