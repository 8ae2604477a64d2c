//! The messages of a plan as work items, each with some rows of one message.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::buffers::Places;
use super::steps;
use crate::allocate;
use crate::engine::batch::{Kind, Operation, Plan, Row, Tile, Tiles};

// The next five constants were tuned on the paper's networks, and affect only speed. The unit of
// work is a term: the work of a row is the number of its terms plus ROW_OVERHEAD.

/// Minimum work of a work item, except the last one of an operation. With smaller work items, more
/// run in parallel, but the overhead grows.
const MIN_WORK: usize = 512;

/// A work item takes no further row once it has this much work. In larger work items, more of the
/// entries that the rows read are in the cache, but fewer work items run in parallel.
const MAX_WORK: usize = 1024;

/// An operation is cut into about this many work items, as far as `MIN_WORK` and `MAX_WORK` allow.
const ITEMS_PER_OPERATION: usize = 4096;

/// The work of a row that does not depend on the number of its terms.
const ROW_OVERHEAD: usize = 4;

/// The work of a quad: four terms, which share the entries that they read.
const QUAD_WORK: usize = 3;

/// Some rows of one message. `kernels/batch.cu` declares the same struct; a test compares both.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct WorkItem {
    /// The kind of the rows: one of [`CONSTANT`] to [`TILES`].
    pub kind: u32,
    /// The position of the first step in [`WorkItems::steps`].
    pub first_step: u32,
    /// Number of steps.
    pub steps: u32,
    /// 1 if this is the first work item of its message.
    pub is_first: u32,
    /// First entry of the message that is computed.
    pub result: u32,
    /// Number of the message that is computed.
    pub result_message: u32,
    /// First entry of the message that is the first factor, if there is one.
    pub factor: u32,
    /// Number of the message that is the first factor.
    pub factor_message: u32,
    /// First entry of the message that is the second factor, if there is one.
    pub second: u32,
    /// Number of the message that is the second factor.
    pub second_message: u32,
    /// For each row of the message, take the number of its terms times its largest constant, or
    /// times one if all constants are smaller. This is the binary logarithm, rounded up, of the
    /// largest of these products, or of an upper bound for tiles.
    pub log_terms: u32,
    /// The binary logarithm, rounded up, of the number of rows of the message.
    pub log_rows: u32,
}

/// Length of a [`WorkItem`] in words.
pub const ITEM_WORDS: usize = size_of::<WorkItem>() / 4;

/// Kinds of work items: what the terms of a row are. Shared with the kernel.
///
/// Constants.
pub const CONSTANT: u32 = 0;
/// Constants times an entry of the first factor.
pub const ONE_FACTOR: u32 = 1;
/// Constants times an entry of each factor.
pub const TWO_FACTORS: u32 = 2;
/// As [`TWO_FACTORS`], for four rows at a time.
pub const TILES: u32 = 3;

/// The work items of all messages.
#[derive(Default)]
pub struct WorkItems {
    pub items: Vec<WorkItem>,
    /// For each launch its range of work items. There is one launch per level of the plan.
    pub launches: Vec<Range<usize>>,
    /// The records of the steps of all work items; see [`steps`].
    pub steps: Vec<[u32; 4]>,
}

impl WorkItems {
    /// The work items of all operations, with their steps.
    pub fn new(plan: &Plan<f32>, places: &Places) -> Self {
        let lengths = plan.operations.iter().map(|operation| max_length(plan, operation));
        let mut lists = Self { steps: allocate::with_capacity(lengths.sum()), ..Self::default() };
        for level in &plan.levels {
            let first = lists.items.len();
            for operation in &plan.operations[level.clone()] {
                lists.add_items(plan, places, operation);
            }
            lists.launches.push(first..lists.items.len());
        }
        lists
    }

    /// Adds the work items of an operation.
    fn add_items(&mut self, plan: &Plan<f32>, places: &Places, operation: &Operation) {
        // The first entry and the number of a factor; zeros if there is no such factor.
        let factor = |which: usize| match operation.factors.get(which) {
            Some(&message) => (places.start(message), message.number),
            None => (0, 0),
        };
        let (second, second_message) = factor(1);
        let (result, (factor, factor_message)) = (operation.result, factor(0));
        let whole = WorkItem {
            kind: match operation.kind {
                Kind::Constant => CONSTANT,
                Kind::One => ONE_FACTOR,
                Kind::OneAndRow => TWO_FACTORS,
                Kind::Two if operation.tiles.is_some() => TILES,
                Kind::Two => TWO_FACTORS,
            },
            first_step: 0,
            steps: 0,
            is_first: 1,
            result: places.start(result),
            result_message: result.number,
            factor,
            factor_message,
            second,
            second_message,
            log_terms: log_terms(plan, operation),
            log_rows: operation.entries.next_power_of_two().ilog2(),
        };
        let before = self.items.len();
        if let Some(number) = operation.tiles {
            let Tiles { tiles, quads } = &plan.tiles[number];
            let work =
                |tile: &Tile| 4 * ROW_OVERHEAD + QUAD_WORK * (tile.end - tile.first) as usize;
            for piece in pieces(tiles, work) {
                let terms = piece.iter().flat_map(|tile| steps::of_tile(*tile, quads));
                self.add_item(whole, &terms.collect::<Vec<_>>());
            }
        } else {
            let rows = &plan.rows[operation.rows.clone()];
            let (zeros, rows): (Vec<Row>, Vec<Row>) =
                rows.iter().partition(|row| row.first == row.end);
            let work = |row: &Row| ROW_OVERHEAD + (row.end - row.first) as usize;
            for piece in pieces(&rows, work) {
                let terms = piece.iter().flat_map(|row| steps::of_row(plan, operation.kind, *row));
                self.add_item(whole, &terms.collect::<Vec<_>>());
            }
            // Rows without terms are exactly zero and must not be raised, so they are computed as
            // sums of constants.
            let constants = WorkItem { kind: CONSTANT, ..whole };
            for piece in pieces(&zeros, work) {
                let terms = piece.iter().map(|row| steps::zero(row.entry));
                self.add_item(constants, &terms.collect::<Vec<_>>());
            }
        }
        self.items[before + 1..].iter_mut().for_each(|item| item.is_first = 0);
    }

    /// Adds a work item with these terms, which is otherwise like `whole`.
    fn add_item<const E: usize, const R: usize>(
        &mut self,
        whole: WorkItem,
        terms: &[steps::Term<E, R>],
    ) {
        let first_step = self.steps.len();
        steps::add(&mut self.steps, whole.kind, terms);
        let vectors = self.steps.len() - first_step;
        let steps = (vectors / steps::length(whole.kind)) as u32;
        self.items.push(WorkItem { first_step: first_step as u32, steps, ..whole });
    }
}

/// An upper bound on the length of the steps of an operation, in vectors of four words. A vector
/// that grows would be copied, and meanwhile take half as much memory again.
fn max_length(plan: &Plan<f32>, operation: &Operation) -> usize {
    let (kind, rows, terms) = if let Some(number) = operation.tiles {
        let Tiles { tiles, quads } = &plan.tiles[number];
        (TILES, tiles.len(), quads.len())
    } else {
        let rows = &plan.rows[operation.rows.clone()];
        // A row without terms becomes a term.
        let terms = rows.iter().map(|row| (row.end - row.first).max(1) as usize).sum();
        let has_two = matches!(operation.kind, Kind::Two | Kind::OneAndRow);
        (if has_two { TWO_FACTORS } else { ONE_FACTOR }, rows.len(), terms)
    };
    // Every work item but the last has at least this much work; see `pieces`.
    let items = (QUAD_WORK * terms + 4 * ROW_OVERHEAD * rows) / MIN_WORK + 2;
    (terms / steps::terms(kind) + items) * steps::length(ONE_FACTOR)
}

/// [`WorkItem::log_terms`] of all work items of an operation.
fn log_terms(plan: &Plan<f32>, operation: &Operation) -> u32 {
    let largest = |row: &Row| {
        let terms = row.first as usize..row.end as usize;
        let constants: f32 = match operation.kind {
            Kind::Two => plan.pairs[terms].iter().map(|term| term.value).fold(1.0, f32::max),
            _ => plan.singles[terms].iter().map(|term| term.value).fold(1.0, f32::max),
        };
        (row.end - row.first) as f32 * constants
    };
    let largest = match operation.tiles {
        Some(number) => plan.tiles[number].terms_bound(),
        None => plan.rows[operation.rows.clone()].iter().map(largest).fold(1.0, f32::max),
    };
    largest.log2().ceil() as u32
}

/// Divides `rows`, each with this `work`, into pieces of about equal work.
fn pieces<R>(rows: &[R], work: impl Fn(&R) -> usize) -> impl Iterator<Item = &[R]> {
    let all: usize = rows.iter().map(&work).sum();
    let target = (all / ITEMS_PER_OPERATION).clamp(MIN_WORK, MAX_WORK);
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut so_far = 0;
        let is_full = |row: &R| {
            so_far += work(row);
            so_far >= target
        };
        let length = rest.iter().position(is_full).map_or(rest.len(), |last| last + 1);
        let piece = rest.split_off(..length)?;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::super::twin::{NOT_RAISED, PEAK, RAISE};
    use super::*;
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layout, layout};

    #[test]
    fn the_kernel_has_the_same_work_items_and_constants() {
        assert_layout(
            "batch",
            layout!(WorkItem {
                kind,
                first_step,
                steps,
                is_first,
                result,
                result_message,
                factor,
                factor_message,
                second,
                second_message,
                log_terms,
                log_rows
            }),
        );
        assert_constants(
            "batch",
            &[
                ("PEAK", f64::from(PEAK)),
                ("RAISE", f64::from(RAISE)),
                ("NOT_RAISED", f64::from(NOT_RAISED)),
                ("CONSTANT", f64::from(CONSTANT)),
                ("ONE_FACTOR", f64::from(ONE_FACTOR)),
                ("TWO_FACTORS", f64::from(TWO_FACTORS)),
                ("TILES", f64::from(TILES)),
                ("STEP_ENTRIES", steps::STEP_ENTRIES as f64),
                ("NONE", f64::from(steps::NONE)),
                ("END_OF_BLOCK", f64::from(steps::END_OF_BLOCK)),
            ],
        );
    }
}
