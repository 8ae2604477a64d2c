//! The work at one clique, on the way up and on the way down.
//!
//! The clique's table psi is only read. `up` and `down` are the messages through a separator, and
//! `mask` is the product of the findings that are entered at this separator:
//!
//! ```text
//! unmasked[s] = sum over the clique's other variables of  psi * product of up[children]
//! up[s]       = unmasked[s] * mask[s]
//! down[s]     = belief[s] / unmasked[s]              (0/0 = 0)
//! belief of a child's separator
//!             = sum over the clique's other variables of  psi * down * product of up[children]
//! ```
//!
//! `up[children]` includes the weights of the clique's private variables. `belief` contains all
//! findings and `unmasked` lacks those in `mask`, so `down` brings the findings in `mask` to the
//! clique itself. Messages are in double precision even if the tables are in single precision. They
//! are scaled by powers of two: messages to parents so that the largest entry is near one, and
//! messages from parents so that the beliefs sum to a number near one.

use std::ops::Range;

use crate::engine::RunError;
use crate::engine::bounds::{Bounds, Loss, belief_in_raised, no_message, raise};
use crate::engine::cpu::context::MIN_SHARED_ENTRIES;
use crate::engine::cpu::helpers::Helpers;
use crate::engine::cpu::pass::exchange::{Runs, receive_permuted, send_up};
use crate::engine::cpu::pass::kernel::{Inputs, Onto, Rows, sum_rows};
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::division::TableDivision;
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::rows::{PortWords, SumWord};
use crate::engine::cpu::vector::{
    self, NEAR_ONE, keep_in_range, larger, largest, smallest_nonzero, sum,
};
use crate::engine::simd::simd_dispatch;
use crate::potential::{self, Entry, Real};

/// Number of parts of a shared table for each thread. With more parts, threads finish at about the
/// same time. With fewer, more neighbouring entries, which share cache lines, are permuted by the
/// same thread. If it is wrong, only speed changes.
const PARTS_PER_THREAD: usize = 4;

/// Number of entries whose sum is computed at a time. Changing it changes the last bits of ln P(e)
/// and of the bound of what underflow took.
const SUMMED_PART: usize = 1 << 13;

/// A clique and its table.
#[derive(Debug)]
pub struct Clique<'a, T> {
    pub node: &'a Node,
    pub table: &'a CliqueTable<T>,
    /// Whether rows are skipped whose products are zero.
    pub skips_zeros: bool,
}

impl<T> Clone for Clique<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Clique<'_, T> {}

impl<'a, T> Clique<'a, T> {
    /// Some rows of the clique, multiplied by `messages` from children and weights.
    pub fn rows(self, range: Range<usize>, messages: Inputs<'a>) -> Rows<'a, T> {
        let Self { node, table, skips_zeros } = self;
        let stride = node.stride;
        let words = &node.words[range.start * stride..range.end * stride];
        Rows { words, stride, table, messages, from_parent: None, mask: None, skips_zeros }
    }
}

/// Computes `unmasked` from the messages in `below`, in the order of the clique. It is zero where
/// `mask` is zero, but not yet rescaled. Returns the largest entry of its product with `mask`.
/// `ports` are the active ports.
///
/// # Panics
/// If the clique is the root.
pub fn collect<T: Entry>(
    clique: Clique<'_, T>,
    ports: &PortWords,
    below: &[f64],
    mask: Option<&[f64]>,
    unmasked: &mut [f64],
    helpers: Helpers<'_>,
) -> f64 {
    let node = clique.node;
    let port = node.port.expect("the root sends no message up");
    // Sums `rows` onto the entries of the separator from `start` on, and returns the largest entry
    // of the message.
    let sum = |rows: Range<usize>, start: usize, unmasked: &mut [f64]| {
        let mask = mask.map(|mask| &mask[start..start + unmasked.len()]);
        let word = SumWord { word: port.word as u32, shift: start as u32 };
        let skipped = mask.filter(|_| clique.skips_zeros && !port.is_vector);
        let messages = Inputs { table: below, words: ports };
        let rows = Rows { mask: skipped.map(|mask| (mask, word)), ..clique.rows(rows, messages) };
        let words = std::slice::from_ref(&word);
        let (scalars, vectors) = if port.is_vector { (&[][..], words) } else { (words, &[][..]) };
        unmasked.fill(0.0);
        let onto = Onto { scalars, vectors };
        sum_rows(rows, onto, unmasked);
        let mut largest = 0.0;
        remove_impossible(mask, unmasked, &mut largest);
        largest
    };
    match &*node.parts_up.tables {
        [TableDivision::Divided(ranges)] if helpers.forks => {
            let tables = split(unmasked, ranges);
            let parts = node.parts_up.parts.iter().zip(ranges).zip(tables);
            let largest =
                helpers.map(parts, |((rows, range), table)| sum(rows.clone(), range.start, table));
            largest.into_iter().fold(0.0, larger)
        }
        _ => sum(0..node.row_count(), 0, unmasked),
    }
}

/// What is known about a message that was sent to a parent.
pub struct Sent {
    /// The exponent of the power of two by which the message was multiplied.
    pub scale: i32,
    /// The bounds of the message.
    pub bounds: Bounds,
    /// The level to which entries were raised; see [`bounds`](crate::engine::bounds).
    pub raised: Option<i32>,
}

/// If the product of all likelihoods that are entered at a clique may be below two to the power of
/// this, raising counts as out of range: `unmasked`, which is scaled so that its product with the
/// likelihoods is near one, might overflow. A lower limit would not prevent this; with a higher
/// one, more cases would be computed again.
const MIN_LIKELIHOODS: i32 = -600;

/// Computes the message to the parent, `up`, from `unmasked`, which is rescaled and raised. `up` is
/// in the order of the parent; everything else is in the order of the clique.
///
/// The scale makes the largest entry of `up` near one. If likelihoods are small, entries of the
/// scaled `unmasked` may be far larger. The error of `unmasked` is multiplied by the scale too.
///
/// `largest` is the largest entry of the message. `products` are the bounds of the products that
/// were summed, including `mask`, and `likelihoods` the bounds of the product of all likelihoods
/// that are entered at the clique, in `mask` or as weights.
///
/// # Errors
/// If the message is zero everywhere, or out of range.
pub fn send(
    node: &Node,
    (largest, products, likelihoods): (f64, Bounds, Bounds),
    mask: Option<&[f64]>,
    unmasked: &mut [f64],
    up: &mut [f64],
    helpers: Helpers<'_>,
) -> Result<Sent, RunError> {
    let error = products.sum(node.entries).error;
    let bounds = message_bounds(unmasked, mask, largest, products.known_min(), helpers);
    let scale = rescale(unmasked, largest, helpers).ok_or_else(|| no_message(error))?;
    // The lower bound must hold for `unmasked` too, and likelihoods may be above one.
    let bounds = Bounds { min: bounds.min - likelihoods.max, ..bounds };
    let mut bounds = bounds.scaled::<f64>(scale);
    bounds.error = error.map(|error| error + scale).max(bounds.error);
    let raised = bounds.raised_level()?;
    if let Some(level) = raised {
        if likelihoods.min < MIN_LIKELIHOODS {
            return Err(RunError::OutOfRange);
        }
        bounds = raise(unmasked, level, bounds);
        bounds.min += likelihoods.min;
        bounds.max = bounds.max.max(level + 1 + likelihoods.max);
    }
    send_up(node, unmasked, mask, up, helpers);
    Ok(Sent { scale, bounds, raised })
}

/// Maximum difference between the exponents of the largest entry of a message and of the known
/// lower bound of its entries. Above it, the message is read to find its smallest nonzero entry.
/// With a larger number, bounds of products of many messages get too low, and more messages are
/// raised; with a smaller one, more messages are read once more.
const MAX_SPREAD: i32 = 128;

/// The bounds of a message before it is scaled: the product of `values` with `mask`, whose largest
/// entry is `largest`. No entry other than zero is below two to the power of `known_min`, if that
/// is known.
fn message_bounds(
    values: &[f64],
    mask: Option<&[f64]>,
    largest: f64,
    known_min: Option<i32>,
    helpers: Helpers<'_>,
) -> Bounds {
    let bounds = Bounds::new(largest, largest);
    if let Some(min) = known_min.filter(|min| bounds.max - min <= MAX_SPREAD) {
        return Bounds { min, ..bounds };
    }
    let smallest = |start: usize, values: &[f64]| {
        let mut smallest = f64::INFINITY;
        find_smallest(values, mask.map(|mask| &mask[start..start + values.len()]), &mut smallest);
        smallest
    };
    let smallest = if shares(values.len(), helpers) {
        let entries = shared_part(values.len());
        let parts = values.chunks(entries).enumerate();
        let smallest = helpers.map(parts, |(number, part)| smallest(number * entries, part));
        smallest.into_iter().fold(f64::INFINITY, f64::min)
    } else {
        smallest(0, values)
    };
    Bounds::new(largest, smallest)
}

simd_dispatch!(
    /// Writes the smallest nonzero product of an entry of `values` with its entry of `mask` into
    /// `found`; infinity if there is none.
    find_smallest, find_smallest_entry, (values: &[f64], mask: Option<&[f64]>, found: &mut f64)
);

#[inline(always)]
fn find_smallest_entry(values: &[f64], mask: Option<&[f64]>, found: &mut f64) {
    *found = smallest_nonzero(values, mask);
}

/// The consecutive slices of `table` with the lengths of `ranges`.
pub fn split<'a>(mut table: &'a mut [f64], ranges: &[Range<usize>]) -> Vec<&'a mut [f64]> {
    let slice = |range: &Range<usize>| {
        let (slice, rest) = std::mem::take(&mut table).split_at_mut(range.len());
        table = rest;
        slice
    };
    ranges.iter().map(slice).collect()
}

/// Whether threads share the work at the entries of a table.
pub fn shares(entries: usize, helpers: Helpers<'_>) -> bool {
    helpers.forks && entries >= MIN_SHARED_ENTRIES
}

/// Number of entries of a table of `entries` that a thread takes at a time, if threads share them.
pub fn shared_part(entries: usize) -> usize {
    let parts = PARTS_PER_THREAD * rayon::current_num_threads();
    entries.div_ceil(parts).max(MIN_SHARED_ENTRIES / 2)
}

/// The sum of `values`, on several threads if that pays off. The parts, whose sums are added in
/// order, do not depend on the number of threads.
pub fn total(values: &[f64], helpers: Helpers<'_>) -> f64 {
    let parts = values.chunks(SUMMED_PART);
    if shares(values.len(), helpers) {
        helpers.map(parts, sum).into_iter().sum()
    } else {
        parts.map(sum).sum()
    }
}

/// As [`keep_in_range`], on several threads if that pays off.
fn rescale(values: &mut [f64], largest: f64, helpers: Helpers<'_>) -> Option<i32> {
    let scale = largest.scale_exponent()?;
    if NEAR_ONE.contains(&scale) || !shares(values.len(), helpers) {
        return keep_in_range(values, largest);
    }
    let parts = values.chunks_mut(shared_part(values.len()));
    helpers.map(parts, |part| keep_in_range(part, largest));
    Some(scale)
}

simd_dispatch!(
    /// Sets `unmasked` to zero where `mask` is zero: the parent's belief is zero there too, so
    /// `down` becomes 0/0 = 0. Writes the largest entry of the message to the parent into
    /// `max_entry`.
    remove_impossible, remove_impossible_entries,
    (mask: Option<&[f64]>, unmasked: &mut [f64], max_entry: &mut f64)
);

#[inline(always)]
fn remove_impossible_entries(mask: Option<&[f64]>, unmasked: &mut [f64], max_entry: &mut f64) {
    if let Some(mask) = mask {
        unmasked
            .iter_mut()
            .zip(mask)
            .for_each(|(entry, &mask)| *entry = if mask == 0.0 { 0.0 } else { *entry });
    }
    *max_entry = largest(unmasked, mask);
}

/// What the message from the parent, `down`, is computed from. This is done part by part where the
/// message is needed, so that it stays in the cache. Unless the message is stored, it takes memory
/// for one part at a time.
#[derive(Clone, Copy)]
pub struct ParentMessage<'a> {
    /// The parent's belief over the separator, in the order of the parent.
    pub belief: &'a [f64],
    /// The message to the parent without the mask; `None` if it is one everywhere.
    pub unmasked: Option<&'a [f64]>,
    /// The mask of the separator, in the order of the clique; `None` if it is one everywhere.
    pub mask: Option<&'a [f64]>,
    /// The exponent of the power of two by which the message is multiplied.
    pub scale: i32,
    /// Whether the smallest nonzero entry is found too.
    pub finds_smallest: bool,
}

/// A message from a parent is used as it is if the exponent of its largest entry is at most this,
/// or minus this. Otherwise the message is rescaled and the beliefs are computed again, which is
/// rare, because beliefs sum to a number near one. With a larger number, more beliefs have an error
/// and are not kept; with a smaller one, more beliefs are computed twice.
const MAX_UNSCALED: i32 = 64;

impl ParentMessage<'_> {
    /// Writes the entries in `range` into `message`. Returns the largest and, if it is wanted, the
    /// smallest nonzero entry before the message is multiplied by the power of two.
    pub fn write(&self, node: &Node, range: Range<usize>, message: &mut [f64]) -> vector::Range {
        let permutation = node.permutation.as_ref();
        let belief = if permutation.is_some() { self.belief } else { &self.belief[range.clone()] };
        let runs = permutation.map(|order| Runs::of(&order.starts, order.run, range.clone()));
        let unmasked = self.unmasked.map(|unmasked| &unmasked[range]);
        let mut found = vector::Range::default();
        receive_permuted(runs, belief, unmasked, message, &mut found.largest);
        if self.finds_smallest {
            find_smallest(message, None, &mut found.smallest);
        }
        if self.scale != 0 {
            potential::rescale(message, self.scale);
        }
        found
    }

    /// What [`scale`](Self::scale) must be if the largest entry is `largest` before the message is
    /// multiplied: the same as now, unless the message is too large or too small.
    ///
    /// Returns `None` if the message is zero everywhere or beyond the range of f64.
    pub fn needed_scale(&self, largest: f64) -> Option<i32> {
        let near_one = largest.scale_exponent()?;
        let is_near = (near_one - self.scale).abs() <= MAX_UNSCALED;
        Some(if is_near { self.scale } else { near_one })
    }

    /// Whether the smallest entry must be found to know the bounds of the message, if it is
    /// multiplied by two to the power of `scale` and no entry other than zero is below two to the
    /// power of `known_min` before.
    pub fn needs_smallest(scale: i32, known_min: Option<i32>) -> bool {
        known_min.is_none_or(|min| min + scale < MAX_UNSCALED + 1 - MAX_SPREAD)
    }

    /// The bounds of the message. `found` is what [`write`](Self::write) returned for all entries,
    /// and `known_min` is as for [`needs_smallest`](Self::needs_smallest).
    pub fn bounds(&self, found: vector::Range, known_min: Option<i32>) -> Bounds {
        let mut bounds = found.bounds();
        if !self.finds_smallest {
            bounds.min = known_min.expect("without it, the smallest entry was found");
        }
        // A quotient may have underflowed, unless it is known to be zero or a normal number.
        if known_min.is_none_or(|min| min < f64::LIMITS.normal) {
            bounds.error = Some(f64::LIMITS.smallest);
        }
        bounds.scaled::<f64>(self.scale)
    }
}

/// The share of the belief over a separator that rests on entries of `unmasked` that were raised
/// to `level`. `belief` has the belief for an entry of the table above.
pub fn raised_share(unmasked: &[f64], level: i32, belief: impl Fn(usize) -> f64) -> Loss {
    let belief = (0..unmasked.len()).map(belief);
    let (raised, total) = belief_in_raised(belief, unmasked.iter().copied(), level);
    let mut loss = Loss::default();
    loss.add(raised, total);
    loss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::cpu::pass::report::Report;
    use crate::engine::threads::Threads;
    use crate::propagation::{Phase, Watch};

    #[test]
    fn a_total_has_the_same_bits_on_any_number_of_threads() {
        let values: Vec<f64> = (0..3 * SUMMED_PART + 100).map(|n| 1.0 / (n + 1) as f64).collect();
        let watch = Watch::untimed(CancelToken::new());
        let report = Report { watch: &watch, messages: None };
        let alone = total(&values, report.helpers(0, Phase::Distribute, false));
        let threads = Threads::new(3).expect("three threads");
        let shared = threads.install(|| {
            let helpers = report.helpers(0, Phase::Distribute, true);
            assert!(shares(values.len(), helpers));
            total(&values, helpers)
        });
        assert_eq!(alone.to_bits(), shared.to_bits());
        let expected: f64 = values.iter().sum();
        assert!((alone - expected).abs() < 1e-9);
    }
}
