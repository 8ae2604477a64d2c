//! One operation with all that its items are made of.

use super::layout::{Layout, Stage};
use super::{
    BARE, BY_CLASS, GOES_ON, Grain, HEADER, NO_SOURCE, NO_STATE, NOWHERE, RECORD, STAGE, split,
};
use crate::engine::cuda::persistent::costs::Cost;
use crate::engine::cuda::persistent::operations::{Operation, Role};
use crate::engine::cuda::persistent::support::{Offsets, Part};
use crate::engine::cuda::persistent::tables::PEAK;

/// One operation with all that its records are made of.
pub(super) struct Source<'a> {
    pub(super) operation: &'a Operation,
    pub(super) part: &'a Part,
    pub(super) table: Option<&'a [f32]>,
    /// For each factor, where its rows are.
    pub(super) factors: Vec<&'a [u32]>,
    /// The class of each row, if there are much fewer: rows of one class have the same numbers in the
    /// table, because what is in the clique has fewer variables.
    pub(super) classes: Option<Vec<u32>>,
    /// For each finding, its first weight and the offsets of states.
    pub(super) findings: Vec<(usize, Offsets)>,
    pub(super) places: &'a [u32],
    pub(super) grain: Grain,
    /// First state of each variable.
    pub(super) first_states: &'a [usize],
}

/// The entries of runs and their distinct places in each factor and finding.
pub(super) struct Run {
    pub(super) entries: Vec<u32>,
    /// By factor and finding: number of each entry, and the distinct offsets.
    pub(super) numbers: Vec<Vec<u32>>,
    pub(super) offsets: Vec<Vec<u32>>,
}

impl Source<'_> {
    pub(super) fn live(&self, f: usize, at: usize) -> bool {
        self.factors[f][at] != NOWHERE
    }

    pub(super) fn run_entries(&self) -> usize {
        self.operation.run.entries()
    }

    /// Offsets in messages, then in findings.
    pub(super) fn offsets(&self) -> impl Iterator<Item = &Offsets> {
        self.part.factors.iter().chain(self.findings.iter().map(|(_, offsets)| offsets))
    }

    pub(super) fn products(&self, row: usize, found: impl FnMut(usize)) {
        let mut found = found;
        if self.part.is_full {
            (0..self.run_entries()).for_each(found);
        } else {
            let live = |f: usize, at: usize| self.live(f, at);
            self.part.products(row, self.run_entries(), self.table, live, |entry| {
                found(entry);
                true
            });
        }
    }

    pub(super) fn items(&self) -> Vec<(Vec<u32>, u32)> {
        if self.part.rows.is_empty() {
            return vec![];
        }
        let run = self.run();
        let (rows, width) = (self.part.rows.len(), run.entries.len());
        let pairs = self.pairs();
        let pairs = pairs.0 + pairs.1;
        // Words that are read, and instructions, of both forms.
        let (of_pairs, of_table) = (pairs as u64, self.of_table() as u64);
        let dense = (rows * width) as u64 * (3 + of_table + of_pairs);
        let sparse = self.part.products * (4 + of_table + 3 * of_pairs) * 9 / 8;
        let one_row: usize =
            run.offsets.iter().map(|distinct| distinct.len().next_multiple_of(32)).sum();
        let words = width.next_power_of_two().max(32) * (self.of_table() + pairs) + one_row + 256;
        if dense > sparse || one_row > STAGE || words > RECORD {
            return self.sparse();
        }
        // Words that are read from messages, and the price of an item.
        let price = |items: &Vec<(Vec<u32>, u32)>| -> u32 {
            let of_item = |records: &[u32]| 280 + 120 * split(records).count() as u32;
            items.iter().map(|(records, _)| 32 * (records[1] & 0xffff) + of_item(records)).sum()
        };
        let natural = self.dense(&run, None, self.part.rows.clone());
        match self.tiled(&run) {
            None => natural,
            Some((tiles, rows)) => {
                let tiled = self.dense(&run, Some(tiles), rows);
                if price(&tiled) < price(&natural) { tiled } else { natural }
            }
        }
    }

    /// The entries of runs that are live in some row.
    pub(super) fn run(&self) -> Run {
        let width = self.run_entries();
        let mut used = vec![self.part.is_full; width];
        if !self.part.is_full {
            for &row in &self.part.rows {
                self.products(row as usize, |entry| used[entry] = true);
            }
        }
        let entries: Vec<u32> = (0..width as u32).filter(|&i| used[i as usize]).collect();
        let (mut numbers, mut offsets) = (Vec::new(), Vec::new());
        for at in self.offsets() {
            let all: Vec<u32> = entries.iter().map(|&i| at.of_run[i as usize]).collect();
            let mut distinct = all.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let number = |offset| distinct.binary_search(offset).expect("one of them") as u32;
            numbers.push(all.iter().map(number).collect());
            offsets.push(distinct);
        }
        Run { entries, numbers, offsets }
    }

    /// Entries that an item and that a record is to have, of so many in all.
    pub(super) fn wanted(&self, entries: usize) -> (usize, usize) {
        let (least, most) = self.grain.entries;
        let share = entries.div_ceil(self.grain.shares);
        let of_item = share.clamp(least, most * self.grain.times);
        (of_item, if self.has_own_entries() { share.clamp(least, most) } else { of_item })
    }

    /// Pairs of messages and of findings.
    pub(super) fn pairs(&self) -> (usize, usize) {
        (self.factors.len().div_ceil(2), self.findings.len().div_ceil(2))
    }

    /// The word that is put on the stage for entry `at` of factor or finding `f`.
    pub(super) fn source(&self, f: usize, at: usize) -> u32 {
        match f.checked_sub(self.factors.len()) {
            None => match self.factors[f][at] {
                NOWHERE => NO_SOURCE | (f as u32) << 29,
                place => place | (f as u32) << 29,
            },
            Some(f) => (self.findings[f].0 + at) as u32,
        }
    }

    /// The bits of an entry of the table.
    pub(super) fn value(&self, table: &[f32], row: u32, entry: u32) -> u32 {
        table[row as usize * self.run_entries() + entry as usize].to_bits()
    }

    /// Whether each row has entries of the table for itself.
    pub(super) fn has_own_entries(&self) -> bool {
        self.table.is_some() && self.classes.is_none()
    }

    /// Words of the stream that are entries of the table, for each product.
    pub(super) fn of_table(&self) -> usize {
        usize::from(self.table.is_some())
    }

    /// A record of some rows, and what its sums cost. With a stage it is the first of its item, whose rows have
    /// the states `fixed` in common; without it goes on.
    pub(super) fn record(
        &self,
        fixed: &[u32],
        stage: Option<&Stage>,
        layout: Layout,
        list: Option<Vec<u32>>,
        of_slots: Vec<u32>,
        stream: Vec<u32>,
    ) -> (Vec<u32>, u32) {
        let pairs = self.pairs();
        let factors = self.factors.len();
        let room = if factors == 0 { 0 } else { (126 - 12 - PEAK) / factors as i32 - 1 };
        let list_words = list.as_ref().map_or(0, Vec::len);
        let shift = layout.lanes.ilog2();
        let (on_stage, of_messages) =
            stage.map_or((&[][..], 0), |stage| (stage.words.as_slice(), stage.messages));
        let goes_on = if stage.is_none() { GOES_ON } else { 0 };
        let is_bare = if self.table.is_none() { BARE } else { 0 };
        let by_class = if self.classes.is_some() && list.is_some() { BY_CLASS } else { 0 };
        let mut record = vec![
            0,
            (of_messages / 32 + (((on_stage.len() - of_messages) / 32) << 16)) as u32,
            (layout.steps | layout.threads << 16) as u32,
            layout.passes as u32
                | shift << 16
                | u32::from(list.is_none()) << 24
                | goes_on
                | is_bare
                | by_class,
            (pairs.0 | pairs.1 << 8 | factors << 16) as u32,
            list_words as u32,
            u32::from(self.operation.result == Role::Evidence) | (layout.run as u32) << 8,
            room as u32,
        ];
        let mut fixed = fixed.to_vec();
        fixed.resize(8, NO_STATE);
        record.extend(fixed.chunks(2).map(|pair| pair[0] | pair[1] << 16));
        debug_assert_eq!(record.len(), HEADER);
        record.extend(on_stage);
        record.extend(list.unwrap_or_default());
        record.extend(of_slots);
        record.resize(record.len().next_multiple_of(4), 0);
        record.extend(stream);
        record.resize(record.len().next_multiple_of(4), 0);
        debug_assert!(record.len() <= RECORD);
        record[0] = record.len() as u32;
        let cost = Cost::of_sums(layout.passes * layout.steps, pairs.0 + pairs.1);
        (record, cost)
    }

    /// The states that are the same in all `rows`, as numbers among all states: up to eight of them.
    pub(super) fn fixed(&self, rows: &[u32]) -> Vec<u32> {
        let mut fixed = Vec::new();
        for &variable in self.operation.rows.variables() {
            let Some(axis) = self.operation.rows.axis(variable) else { continue };
            let mut states = rows.iter().map(|&row| row as usize / axis.stride % axis.cardinality);
            let first = states.next().unwrap_or(0);
            let state = self.first_states[variable.index()] + first;
            let is_known = axis.cardinality > 1 && state < NO_STATE as usize && fixed.len() < 8;
            if is_known && states.all(|state| state == first) {
                fixed.push(state as u32);
            }
        }
        fixed
    }
}
