//! The plan of a batch as the kernels read it, and the format of evidence and results.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::engine::batch::{Kind, Operation, Plan, Row, weight_scale};
use crate::engine::cuda::underflow::{TINY_WEIGHT, has_tiny_weight};
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

// The constants below were tuned on the paper's networks, and affect only speed. The unit of work
// is a term: the work of a row is the number of its terms plus ROW_OVERHEAD.

/// Minimum work of a work item, except the last one of an operation. With smaller work items, more
/// run in parallel, but the overhead grows.
const MIN_WORK: usize = 128;

/// A work item takes no further row once it has this much work. In larger work items, more of the
/// entries that the rows read are in the cache, but fewer work items run in parallel.
const MAX_WORK: usize = 1024;

/// An operation is cut into about this many work items, as far as `MIN_WORK` and `MAX_WORK` allow.
const ITEMS_PER_OPERATION: usize = 4096;

/// The work of a row that does not depend on the number of its terms.
const ROW_OVERHEAD: usize = 4;

/// Some rows of one message. `kernels/batch.cu` declares the same struct; a test compares both.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct WorkItem {
    /// The kind of the rows: one of [`CONSTANT`] to [`TWO_FACTORS`].
    pub kind: u32,
    /// The first row.
    pub first_row: u32,
    /// One past the last row.
    pub end_row: u32,
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
    /// largest of these products.
    pub log_terms: u32,
    /// The binary logarithm, rounded up, of the number of rows of the message.
    pub log_rows: u32,
}

/// Length of a [`WorkItem`] in words.
pub const ITEM_WORDS: usize = size_of::<WorkItem>() / 4;

/// Kinds of work items, see [`Kind`]. Shared with the kernel.
pub const CONSTANT: u32 = 0;
pub const ONE_FACTOR: u32 = 1;
pub const FACTOR_AND_ROW: u32 = 2;
pub const TWO_FACTORS: u32 = 3;

/// Everything that the kernels read and that does not depend on the case. `kernels/batch.cu`
/// describes the words of each element.
pub struct Buffers {
    pub items: Vec<WorkItem>,
    /// For each launch its range of work items. There is one launch per level of the plan.
    pub launches: Vec<Range<usize>>,
    pub rows: Vec<[u32; 4]>,
    pub singles: Vec<[u32; 2]>,
    pub pairs: Vec<[u32; 4]>,
    pub variables: Vec<[u32; 4]>,
    pub reads: Vec<[u32; 2]>,
    /// Total number of entries of all messages of one case.
    pub entries: usize,
    /// Number of messages.
    pub messages: usize,
    /// The number of the message to the first variable. The unnormalised posterior of this variable
    /// sums to P(e).
    pub first_message: u32,
    /// The exponent of the power of two to multiply P(e) by, to undo the scaling of factors.
    pub exponent: i64,
    /// First state of each variable in the numbering of all states, then the total number of
    /// states.
    pub offsets: Arc<[usize]>,
    /// The natural logarithm of the scale that the network removed from its factors.
    pub ln_scale: f64,
}

impl Buffers {
    /// The buffers for `plan`, a plan for `network`.
    pub fn new(network: &Network, plan: Plan<f32>) -> Self {
        let (items, launches) = work_items(&plan);
        let mut offsets = vec![0];
        let (mut variables, mut reads) = (Vec::new(), Vec::new());
        for ends in &plan.variables {
            let first = offsets[offsets.len() - 1];
            variables.push([ends.weights.start, ends.weights.number, ends.states, first as u32]);
            let states = 0..ends.states;
            reads.extend(states.map(|s| [ends.weights.start + s, ends.others.start + s]));
            offsets.push(first + ends.states as usize);
        }
        Self {
            items,
            launches,
            rows: plan.rows.iter().map(|r| [r.first, r.end, r.entry, r.factor]).collect(),
            singles: plan.singles.iter().map(|t| [t.value.to_bits(), t.entry]).collect(),
            pairs: plan
                .pairs
                .iter()
                .map(|t| [t.value.to_bits(), t.entries[0], t.entries[1], 0])
                .collect(),
            variables,
            reads,
            entries: plan.entries,
            messages: plan.messages,
            first_message: plan.variables[0].others.number,
            exponent: plan.exponent,
            offsets: offsets.into(),
            ln_scale: network.ln_scale(),
        }
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Total number of states of all variables.
    pub fn states(&self) -> usize {
        self.offsets[self.variables()]
    }

    /// Length of the packed evidence of a case in words: one per variable, or one per state if
    /// `is_soft`.
    pub fn packed_words(&self, is_soft: bool) -> usize {
        if is_soft { self.states() } else { self.variables() }
    }

    /// Length of the result of a case in words: the posteriors, an exponent, and the share of P(e)
    /// that raising may have added.
    pub fn result_words(&self) -> usize {
        self.states() + 2
    }

    /// Size of the lists that the kernels read, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.items)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.singles)
            + size_of_val(&*self.pairs)
            + size_of_val(&*self.variables)
            + size_of_val(&*self.reads)
    }

    /// Packs the evidence of a case into `words`, and returns the exponent of the power of two to
    /// multiply P(e) by, to undo the scaling of weights; `None` if a weight is so small, compared
    /// with the largest of its finding, that it may underflow in single precision. `is_soft`:
    /// whether some case of the launch has a likelihood. If so, the evidence of all cases of the
    /// launch must be packed as weights.
    pub fn pack(&self, case: &Evidence, is_soft: bool, words: &mut [u32]) -> Option<i64> {
        words.fill(if is_soft { 1.0_f32.to_bits() } else { 0 });
        let (mut exponent, mut has_tiny) = (0, false);
        for (variable, finding) in case.iter() {
            match finding {
                Finding::Observed(state) if !is_soft => words[variable.index()] = 1 + *state as u32,
                finding => {
                    has_tiny |= has_tiny_weight(finding, TINY_WEIGHT);
                    let (scale, power) = weight_scale(finding);
                    exponent += power;
                    let states = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
                    for (state, word) in words[states].iter_mut().enumerate() {
                        *word = (finding.weight(state).scale(scale) as f32).to_bits();
                    }
                }
            }
        }
        (!has_tiny).then_some(exponent)
    }
}

/// The work items of all operations, and the range of work items of each launch.
fn work_items(plan: &Plan<f32>) -> (Vec<WorkItem>, Vec<Range<usize>>) {
    let mut items = Vec::new();
    let mut launches = Vec::with_capacity(plan.levels.len());
    for level in &plan.levels {
        let first = items.len();
        for operation in &plan.operations[level.clone()] {
            let kind = match operation.kind {
                Kind::Constant => CONSTANT,
                Kind::One => ONE_FACTOR,
                Kind::OneAndRow => FACTOR_AND_ROW,
                Kind::Two => TWO_FACTORS,
            };
            let factor = |which: usize| operation.factors.get(which).copied().unwrap_or_default();
            let (result, one, other) = (operation.result, factor(0), factor(1));
            let (log_terms, log_rows) = logarithms(plan, operation);
            for (number, rows) in pieces(plan, operation.rows.clone()).enumerate() {
                items.push(WorkItem {
                    kind,
                    first_row: rows.start as u32,
                    end_row: rows.end as u32,
                    is_first: u32::from(number == 0),
                    result: result.start,
                    result_message: result.number,
                    factor: one.start,
                    factor_message: one.number,
                    second: other.start,
                    second_message: other.number,
                    log_terms,
                    log_rows,
                });
            }
        }
        launches.push(first..items.len());
    }
    (items, launches)
}

/// [`WorkItem::log_terms`] and [`WorkItem::log_rows`] of all work items of an operation.
fn logarithms(plan: &Plan<f32>, operation: &Operation) -> (u32, u32) {
    let rows = &plan.rows[operation.rows.clone()];
    let largest = |row: &Row| {
        let terms = row.first as usize..row.end as usize;
        let constants: f32 = match operation.kind {
            Kind::Two => plan.pairs[terms].iter().map(|term| term.value).fold(1.0, f32::max),
            _ => plan.singles[terms].iter().map(|term| term.value).fold(1.0, f32::max),
        };
        (row.end - row.first) as f32 * constants
    };
    let longest = rows.iter().map(largest).fold(1.0, f32::max);
    (longest.log2().ceil() as u32, rows.len().next_power_of_two().ilog2())
}

/// Divides the rows of an operation into pieces of about equal work.
fn pieces(plan: &Plan<f32>, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let row_work = |row: usize| ROW_OVERHEAD + (plan.rows[row].end - plan.rows[row].first) as usize;
    let all: usize = rows.clone().map(row_work).sum();
    let target = (all / ITEMS_PER_OPERATION).clamp(MIN_WORK, MAX_WORK);
    let mut next = rows.start;
    std::iter::from_fn(move || {
        let start = next;
        let mut work = 0;
        while next < rows.end && work < target {
            work += row_work(next);
            next += 1;
        }
        (start < next).then_some(start..next)
    })
}

#[cfg(test)]
mod tests {
    use super::super::twin::{NOT_RAISED, PEAK, RAISE};
    use super::*;
    use crate::engine::batch::BLOCK;
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layout, layout};

    #[test]
    fn the_kernel_has_the_same_work_items_and_constants() {
        assert_layout(
            "batch",
            layout!(WorkItem {
                kind,
                first_row,
                end_row,
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
                ("BLOCK", BLOCK as f64),
                ("NOT_RAISED", f64::from(NOT_RAISED)),
                ("CONSTANT", f64::from(CONSTANT)),
                ("ONE_FACTOR", f64::from(ONE_FACTOR)),
                ("FACTOR_AND_ROW", f64::from(FACTOR_AND_ROW)),
                ("TWO_FACTORS", f64::from(TWO_FACTORS)),
            ],
        );
    }
}
