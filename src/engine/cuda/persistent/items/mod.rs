//! Operations cut into items of work, as the records that the kernel reads.
//!
//! [`source`] gathers what an operation is and decides on the form of its items: [`dense`], of which
//! [`records`] writes the records, or [`sparse`]. [`report`] makes those that bring posteriors to the host. [`needs`] forecasts them.

mod dense;
mod layout;
mod needs;
mod records;
mod report;
mod source;
mod sparse;

use rayon::prelude::*;

pub(super) use self::needs::{needs, takes};
#[cfg(test)]
pub(super) use self::report::REPORT;
pub(super) use self::report::Report;
use self::source::Source;
use crate::network::{Network, VariableId};
use crate::potential::{Odometer, Scope};
use crate::propagation::{CompiledNetwork, Posteriors};

use super::costs::Cost;
use super::operations::{Operation, Operations, Role};
use super::schedule::earliest_ends;
use super::support::{Support, states_of, table};

/// As in `kernels/persistent.cu`.
pub(super) const THREADS: usize = 128;
pub(super) const HEADER: usize = 12;
pub(super) const STAGE: usize = 6 * THREADS;
const RECORD: usize = 2560;
pub(super) const NO_SOURCE: u32 = (1 << 29) - 1;
pub(super) const NO_STATE: u32 = 0xffff;

/// In word 3 of a record that goes on with the item of the one before.
pub(super) const GOES_ON: u32 = 1 << 26;

/// In word 3 of a record whose operation has no table.
pub(super) const BARE: u32 = 1 << 27;

/// In word 3 of a record whose rows are of classes.
pub(super) const BY_CLASS: u32 = 1 << 28;

/// Rows of a class that are worth it to have classes.
const CLASS: usize = 4;

/// Words between the starts of two messages are a multiple of this, that of a sector of the cache.
const ALIGNMENT: usize = 4;

/// Lanes that share a row, at most.
const LANES: usize = 32;

/// Whether one row with a run of this many entries and these distinct parts of factors can be an item.
pub(super) fn is_short(run: usize, parts: impl Iterator<Item = usize>) -> bool {
    let (mut on_stage, mut factors) = (0, 0);
    for entries in parts {
        on_stage += entries.next_multiple_of(32);
        factors += 1;
    }
    // In pairs, of messages and of findings apart.
    let pairs = (factors + 2) / 2;
    on_stage <= STAGE && run.next_multiple_of(LANES) * (1 + pairs) + on_stage + 256 <= RECORD
}

/// Products of a propagation from twice as many of which on items are larger still.
const MANY: u64 = 1 << 23;

/// How large items are made.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// Items that a large operation is cut into at least, so that it is shared by many blocks.
    pub shares: usize,
    /// Entries below which an item is not made smaller for that, and those that a record has at most.
    pub entries: (usize, usize),
    /// How much larger items may be that go on in several records, or that need little of a table.
    pub times: usize,
}

impl Grain {
    /// The finest there is.
    pub const FINEST: Self = Self { shares: 1056, entries: (512, 1024), times: 1 };

    /// For so many products in all: the more there is to do at once, the less it matters how long one
    /// item takes, and the more what its rows have in common.
    pub fn of(products: u64) -> Self {
        let (finest, most) = Self::FINEST.entries;
        let least = (products.isqrt() as usize / 2).clamp(finest, 3 * finest);
        let times = (products / MANY).clamp(1, 8) as usize;
        Self {
            shares: Self::FINEST.shares * 2 / times.max(2),
            entries: (least, (2 * least).clamp(most, 2 * most)),
            times,
        }
    }
}

/// All items of a propagation and where everything lies.
pub(super) struct Items {
    /// The records of each item, operation after operation, then those of reports; see [`split`].
    pub records: Vec<Vec<u32>>,
    /// First item of each operation and report, and the end of the last.
    pub first: Vec<usize>,
    /// The operations whose results each operation and report needs.
    pub needs: Vec<Vec<usize>>,
    pub costs: Vec<Cost>,
    /// Words of all messages.
    pub messages: usize,
    /// What brings the posteriors of all variables to the host.
    pub reports: Vec<Report>,
    /// Words of all reports.
    pub result_words: usize,
    /// Whether there is evidence that is possible.
    pub is_possible: bool,
}

/// The copies of potentials that there must be: of which, and in which order of variables; and where
/// that of each operation begins.
pub(super) fn copies(
    network: &Network,
    operations: &Operations,
) -> (Vec<(usize, Scope)>, Vec<Option<usize>>) {
    let mut known = std::collections::HashMap::new();
    let (mut copies, mut entries) = (Vec::new(), 0);
    let start = |operation: &Operation| {
        let potential = operation.potential?;
        let (of_rows, of_run) = (operation.rows.variables(), operation.run.variables());
        let order: Vec<VariableId> = of_rows.iter().chain(of_run).copied().collect();
        Some(*known.entry((potential, order.clone())).or_insert_with(|| {
            let scope = Scope::of(network, order);
            let start = entries;
            entries += scope.entries();
            copies.push((potential, scope));
            start
        }))
    };
    let starts = operations.all.iter().map(start).collect();
    (copies, starts)
}

/// The place of a row that is not computed.
const NOWHERE: u32 = u32::MAX;

impl Items {
    /// `None` if something is too large for the numbers that records are made of.
    pub fn new(
        compiled: &CompiledNetwork,
        operations: &Operations,
        starts: &[Option<usize>],
        tables: &[f32],
    ) -> Option<Self> {
        let support = Support::new(operations, starts, tables);
        let grain = Grain::of(support.parts.iter().map(|part| part.products).sum());
        let first_states = Posteriors::offsets(compiled.network());
        let states = *first_states.last().unwrap_or(&0);
        let mut messages = 0;
        let mut is_possible = false;
        let mut places = Vec::new();
        for (operation, part) in operations.all.iter().zip(&support.parts) {
            let mut of_row = vec![NOWHERE; operation.rows.entries()];
            if operation.result == Role::Evidence {
                is_possible = !part.rows.is_empty();
                of_row[..part.rows.len()].fill(0);
            } else {
                for (n, &row) in part.rows.iter().enumerate() {
                    of_row[row as usize] = word(messages + n)?;
                }
                messages += part.rows.len().next_multiple_of(ALIGNMENT);
            }
            places.push(of_row);
        }
        if messages >= NO_SOURCE as usize || states >= NO_SOURCE as usize {
            return None;
        }
        let of_operation = |index: usize| -> Vec<(Vec<u32>, u32)> {
            let operation = &operations.all[index];
            let findings = operation.findings.iter();
            let findings = findings.map(|&v| (first_states[v.index()], states_of(operation, v)));
            let source = Source {
                operation,
                part: &support.parts[index],
                table: table(starts[index], operation, tables),
                factors: operation.factors.iter().map(|(f, _)| places[*f].as_slice()).collect(),
                classes: classes(compiled.network(), operations, operation),
                findings: findings.collect(),
                places: &places[index],
                grain,
                first_states: &first_states,
            };
            source.items()
        };
        let made: Vec<_> = (0..operations.all.len()).into_par_iter().map(of_operation).collect();
        let needs = |operation: &Operation| operation.factors.iter().map(|(f, _)| *f).collect();
        let mut items = Self {
            records: vec![],
            first: vec![0],
            needs: operations.all.iter().map(needs).collect(),
            costs: vec![],
            messages,
            reports: vec![],
            result_words: 0,
            is_possible,
        };
        for made in made {
            for (record, sums) in made {
                items.push(record, sums);
            }
            items.first.push(items.records.len());
        }
        let ends = earliest_ends(&items);
        let posterior = |(index, operation): (usize, &Operation)| match operation.result {
            Role::Posterior(variable) => Some((ends[index], (index, variable.index()))),
            _ => None,
        };
        let mut posteriors: Vec<_> =
            operations.all.iter().enumerate().filter_map(posterior).collect();
        posteriors.sort_unstable();
        let posteriors: Vec<_> = posteriors.into_iter().map(|(_, posterior)| posterior).collect();
        items.add_reports(&posteriors, &places);
        word(items.record_words())?;
        Some(items)
    }

    /// Adds an item, whose sums are thought to take so many nanoseconds.
    fn push(&mut self, record: Vec<u32>, sums: u32) {
        self.costs.push(Cost { words: 32 * (record[1] & 0xffff), sums });
        self.records.push(record);
    }

    /// Words of all records.
    pub fn record_words(&self) -> usize {
        self.records.iter().map(Vec::len).sum()
    }

    pub fn len(&self) -> usize {
        self.costs.len()
    }
}

/// The class of each row of `operation`, if there are much fewer: of those on which the potential
/// depends in the same way.
fn classes(network: &Network, operations: &Operations, operation: &Operation) -> Option<Vec<u32>> {
    let variables = operations.potentials[operation.potential?].variables.iter().copied();
    let scope = Scope::of(network, variables);
    let rows = operation.rows.entries();
    let of_rows = operation.rows.variables().iter().zip(operation.rows.cardinalities());
    let seen = of_rows.filter(|(variable, _)| scope.contains(**variable));
    let classes: usize = seen.map(|(_, &states)| states).product();
    let all = Odometer::new(&operation.rows, &scope).take(rows);
    (CLASS * classes <= rows).then(|| all.map(|at| at as u32).collect())
}

/// The records of an item one by one.
pub(super) fn split(records: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let (this, after) = rest.split_at_checked((*rest.first()? & 0xffff) as usize)?;
        rest = after;
        Some(this)
    })
}

fn word(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}
