//! The rows of work items as the kernel reads them: as steps, whose factors are copied to shared
//! memory together.
//!
//! A step is some consecutive terms of a work item, or quads if its kind is [`TILES`]; a quad is a
//! term of each of four rows. Its record is a sequence of vectors of four words:
//!
//! * the entries of factors that the lower half of a warp copies,
//! * the entries that the upper half copies,
//! * the constants, as float bits,
//! * for each constant, where its row ends: the entry of the result if this is the last term of the
//!   row, [`END_OF_BLOCK`] if the sum so far is to be added up with a correction for rounding, and
//!   otherwise [`NONE`].
//!
//! | kind | terms | lower half | upper half | constants |
//! |---|---|---|---|---|
//! | [`CONSTANT`], [`ONE_FACTOR`] | 8 | terms 0 to 3 | terms 4 to 7 | 8 |
//! | [`TWO_FACTORS`] | 4 | first factor | second factor | 4 |
//! | [`TILES`] | 2 quads | first factor, 2 of each quad | second factor, likewise | 4 of each quad |
//!
//! The last step of a work item may have fewer terms. It is filled up with copies of the last term,
//! with the constant zero.
//!
//! [`CONSTANT`]: super::work_items::CONSTANT
//! [`ONE_FACTOR`]: super::work_items::ONE_FACTOR

use super::work_items::{TILES, TWO_FACTORS};
use crate::engine::batch::{self, BLOCK, Kind, Plan, Quad, Row, Tile};

/// The row goes on after this term; or there is no such row. Shared with the kernel.
pub const NONE: u32 = u32::MAX;

/// The row goes on after this term, which is the last of a [`BLOCK`]. Shared with the kernel.
pub const END_OF_BLOCK: u32 = NONE - 1;

/// Number of entries of factors that a step of any kind has. Shared with the kernel.
pub const STEP_ENTRIES: usize = 8;

/// A term of each of R rows that are computed together, with E entries of each factor.
#[derive(Clone, Copy)]
pub struct Term<const E: usize, const R: usize> {
    /// The entries of the first factor. If there is no first factor, all are zero.
    first: [u32; E],
    /// The entries of the second factor. If there is no second factor, all are zero.
    second: [u32; E],
    values: [f32; R],
    /// What comes after the term in each row: the entry of the result, [`END_OF_BLOCK`] or
    /// [`NONE`].
    ends: [u32; R],
}

/// Number of terms of a step.
pub fn terms(kind: u32) -> usize {
    match kind {
        TILES => STEP_ENTRIES / 4,
        TWO_FACTORS => STEP_ENTRIES / 2,
        _ => STEP_ENTRIES,
    }
}

/// Length of the record of a step, in vectors of four words.
pub fn length(kind: u32) -> usize {
    if kind == TWO_FACTORS { 4 } else { 6 }
}

/// What comes after term number `at` of the terms `first..end` of a row that computes `entry`.
fn end_after(at: u32, first: u32, end: u32, entry: u32) -> u32 {
    if at + 1 == end {
        entry
    } else if ((at + 1 - first) as usize).is_multiple_of(BLOCK) {
        END_OF_BLOCK
    } else {
        NONE
    }
}

/// The terms of a row that is in no tile. It has at least one term.
pub fn of_row(plan: &Plan<f32>, kind: Kind, row: Row) -> impl Iterator<Item = Term<1, 1>> {
    (row.first..row.end).map(move |at| {
        let (value, [first, second]) = if kind == Kind::Two {
            let pair = plan.pairs[at as usize];
            (pair.value, pair.entries)
        } else {
            let single = plan.singles[at as usize];
            (single.value, [single.entry, row.factor])
        };
        let end = end_after(at, row.first, row.end, row.entry);
        Term { first: [first], second: [second], values: [value], ends: [end] }
    })
}

/// The only term of a row that is zero.
pub fn zero(entry: u32) -> Term<1, 1> {
    Term { first: [0], second: [0], values: [0.0], ends: [entry] }
}

/// The terms of the rows of a tile. `quads` has the quads of all tiles of the message.
pub fn of_tile(tile: Tile, quads: &[Quad]) -> impl Iterator<Item = Term<2, 4>> {
    (tile.first..tile.end).map(move |at| {
        let Quad { first, second, values } = quads[at as usize];
        let end = |row: u32| match row {
            batch::NONE => NONE,
            entry => end_after(at, tile.first, tile.end, entry),
        };
        Term { first, second, values, ends: tile.rows.map(end) }
    })
}

/// Adds the steps of a work item of this kind that has these terms.
pub fn add<const E: usize, const R: usize>(
    steps: &mut Vec<[u32; 4]>,
    kind: u32,
    terms: &[Term<E, R>],
) {
    let count = self::terms(kind);
    for own in terms.chunks(count) {
        let padding = Term { values: [0.0; R], ends: [NONE; R], ..own[own.len() - 1] };
        let term = |n: usize| own.get(n).unwrap_or(&padding);
        let first = (0..count).flat_map(|n| term(n).first);
        let second = (0..count).flat_map(|n| term(n).second);
        let second = second.take(if kind >= TWO_FACTORS { STEP_ENTRIES } else { 0 });
        let values = (0..count).flat_map(|n| term(n).values.map(f32::to_bits));
        let ends = (0..count).flat_map(|n| term(n).ends);
        let words: Vec<u32> = first.chain(second).chain(values).chain(ends).collect();
        steps.extend(words.as_chunks().0);
    }
}
