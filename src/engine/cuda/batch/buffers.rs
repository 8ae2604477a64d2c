//! The lists of the plan as the kernel reads them.

use std::ops::Range;
use std::sync::Arc;

use crate::engine::batch::{Kind, Plan, weight_scale};
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

/// Work of an item at least, in terms; a row counts as some. Short items run side by side.
const LEAST_WORK: usize = 128;

/// Work of an item at most. In a long one, rows that read the same entries find them in the cache.
const MOST_WORK: usize = 1024;

/// Items that a long operation is cut into, about.
const ITEMS: usize = 4096;

/// Terms that a row costs beside its own.
const OF_ROW: usize = 4;

/// Words of an item, see `kernels/batch.cu`.
pub const ITEM: usize = 12;

/// All that the kernel reads and that is the same for all cases.
pub struct Buffers {
    pub items: Vec<u32>,
    /// The items of each launch.
    pub levels: Vec<Range<usize>>,
    pub rows: Vec<u32>,
    pub singles: Vec<u32>,
    pub pairs: Vec<u32>,
    pub variables: Vec<u32>,
    pub reads: Vec<u32>,
    /// Entries of all messages, of one case.
    pub entries: usize,
    pub messages: usize,
    /// Number of the message whose sum is P(e).
    pub first: u32,
    /// What comes out must be multiplied by two to this power.
    pub exponent: i64,
    /// First state of each variable, and the end of the last.
    pub offsets: Arc<[usize]>,
    /// What the network took out of its factors.
    pub ln_scale: f64,
}

impl Buffers {
    pub fn new(network: &Network, plan: Plan<f32>) -> Self {
        let mut items = Vec::new();
        let mut levels = Vec::with_capacity(plan.levels.len());
        for level in &plan.levels {
            let first = items.len() / ITEM;
            for operation in &plan.operations[level.clone()] {
                let kind = match operation.kind {
                    Kind::Constant => 0,
                    Kind::One => 1,
                    Kind::OneAndRow => 2,
                    Kind::Two => 3,
                };
                let factor =
                    |which: usize| operation.factors.get(which).copied().unwrap_or_default();
                let (result, one, other) = (operation.result, factor(0), factor(1));
                for (number, rows) in pieces(&plan, operation.rows.clone()).enumerate() {
                    let begins = u32::from(number == 0);
                    items.extend([kind, rows.start as u32, rows.end as u32, begins]);
                    items.extend([result.start, result.number, one.start, one.number]);
                    items.extend([other.start, other.number, 0, 0]);
                }
            }
            levels.push(first..items.len() / ITEM);
        }
        let mut offsets = vec![0];
        let (mut variables, mut reads) = (Vec::new(), Vec::new());
        for ends in &plan.variables {
            let first = offsets[offsets.len() - 1];
            variables.extend([ends.weights.start, ends.weights.number, ends.states, first as u32]);
            let states = 0..ends.states;
            reads.extend(states.flat_map(|s| [ends.weights.start + s, ends.others.start + s]));
            offsets.push(first + ends.states as usize);
        }
        Self {
            items,
            levels,
            rows: plan.rows.iter().flat_map(|r| [r.first, r.end, r.entry, r.factor]).collect(),
            singles: plan.singles.iter().flat_map(|t| [t.value.to_bits(), t.entry]).collect(),
            pairs: plan
                .pairs
                .iter()
                .flat_map(|t| [t.value.to_bits(), t.entries[0], t.entries[1], 0])
                .collect(),
            variables,
            reads,
            entries: plan.entries,
            messages: plan.messages,
            first: plan.variables[0].others.number,
            exponent: plan.exponent,
            offsets: offsets.into(),
            ln_scale: network.ln_scale(),
        }
    }

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.offsets.len() - 1
    }

    /// States of all variables.
    pub fn states(&self) -> usize {
        self.offsets[self.variables()]
    }

    /// Words of the packed findings of a case.
    pub fn packed_words(&self, is_soft: bool) -> usize {
        if is_soft { self.states() } else { self.variables() }
    }

    /// Words of the result of a case: the posteriors and a power of two.
    pub fn result_words(&self) -> usize {
        self.states() + 1
    }

    /// Bytes of all this.
    pub fn bytes(&self) -> usize {
        let lists =
            [&self.items, &self.rows, &self.singles, &self.pairs, &self.variables, &self.reads];
        lists.into_iter().map(|list| size_of_val(&**list)).sum()
    }

    /// Packs the findings of a case, and gives the power of two that was taken out of them.
    pub fn pack(&self, case: &Evidence, is_soft: bool, words: &mut [u32]) -> i64 {
        words.fill(if is_soft { 1.0_f32.to_bits() } else { 0 });
        let mut exponent = 0;
        for (variable, finding) in case.iter() {
            match finding {
                Finding::Observed(state) if !is_soft => words[variable.index()] = 1 + *state as u32,
                finding => {
                    let (scale, taken) = weight_scale(finding);
                    exponent += taken;
                    let states = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
                    for (state, word) in words[states].iter_mut().enumerate() {
                        *word = (finding.weight(state).scale(scale) as f32).to_bits();
                    }
                }
            }
        }
        exponent
    }
}

/// The rows of an operation in pieces of about equal work.
fn pieces(plan: &Plan<f32>, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let of_row = |row: usize| OF_ROW + (plan.rows[row].end - plan.rows[row].first) as usize;
    let all: usize = rows.clone().map(of_row).sum();
    let enough = (all / ITEMS).clamp(LEAST_WORK, MOST_WORK);
    let mut next = rows.start;
    std::iter::from_fn(move || {
        let start = next;
        let mut work = 0;
        while next < rows.end && work < enough {
            work += of_row(next);
            next += 1;
        }
        (start < next).then_some(start..next)
    })
}
