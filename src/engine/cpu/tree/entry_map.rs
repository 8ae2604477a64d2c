//! Maps from the entries of a full table to the entries that a compressed table holds.
//!
//! If zeros are left out of a clique's table, the rest of the table may belong to only a few
//! entries of the clique's separators. The other entries of the separators are then left out too
//! (see [`compress`](crate::engine::cpu::tables::compress)). The entries that remain are *held*.
//! Held entries keep their order, so the held entries of a run are consecutive.

use std::ops::Range;

use crate::allocate;
use crate::engine::cpu::vector::{sum, sum_lanes};
use crate::engine::simd::simd_dispatch;
use crate::potential::Axis;

/// A *round* is one pass through all states of an axis. It has stride times cardinality entries. If
/// all entries are held and a round has at most this many, [`EntryMap::add_marginal`] first adds
/// all rounds to one another, entry by entry, and then sums the entries of each state. If the
/// maximum is wrong, only speed changes (and last bits of results).
const MAX_ROUND: usize = 256;

/// The position in a compressed table of each entry of the full table.
#[derive(Debug, Default)]
pub struct EntryMap {
    /// For each entry of the full table and for its end, the number of held entries before it;
    /// `None` if all entries are held.
    before: Option<Box<[u32]>>,
    /// For some axes, the state of each held entry along the axis.
    states: Vec<(Axis, Box<[u8]>)>,
}

impl EntryMap {
    /// The map of a table that holds the entries for which `is_held`.
    pub fn new(is_held: &[bool]) -> Self {
        let count = |count: &mut u32, held: Option<&bool>| {
            let before = *count;
            *count += u32::from(held.copied().unwrap_or(false));
            Some(before)
        };
        let entries_and_end = is_held.iter().map(Some).chain([None]);
        // The length is known in advance. If the list grew instead, it could keep a block of twice
        // its size: mimalloc does not move a list that is shrunk to more than half of its block.
        let positions = || {
            let mut before = allocate::with_capacity(is_held.len() + 1);
            before.extend(entries_and_end.scan(0, count));
            before.into()
        };
        let are_all = is_held.iter().all(|&held| held);
        let before = (!are_all).then(positions);
        Self { before, states: Vec::new() }
    }

    /// Lists the state of each held entry along `axis`, so that the entries with a given state are
    /// found faster. Does nothing if there are more states than a byte can hold, or if more than a
    /// quarter of the entries are held, so that looking at the full table takes little longer.
    pub fn list_states(&mut self, axis: Axis) {
        let Some(before) = &self.before else { return };
        let full = before.len() - 1;
        let is_sparse = before[full] as usize <= full / 4;
        if !is_sparse || axis.cardinality > 256 || self.listed(axis).is_some() {
            return;
        }
        let mut states = allocate::with_capacity(before[full] as usize);
        let entries = (0..full).filter(|&entry| self.holds(entry));
        states.extend(entries.map(|entry| (entry / axis.stride % axis.cardinality) as u8));
        self.states.push((axis, states.into()));
    }

    /// The states of the held entries along `axis`, if they are listed.
    fn listed(&self, axis: Axis) -> Option<&[u8]> {
        let found = self.states.iter().find(|(other, _)| *other == axis);
        found.map(|(_, states)| &**states)
    }

    /// Whether some entries are left out.
    pub fn is_compressed(&self) -> bool {
        self.before.is_some()
    }

    /// The position of entry number `entry` of the full table if it is held, and otherwise of the
    /// next held entry.
    pub fn position(&self, entry: usize) -> usize {
        self.before.as_ref().map_or(entry, |before| before[entry] as usize)
    }

    /// Whether entry number `entry` of the full table is held.
    pub fn holds(&self, entry: usize) -> bool {
        self.before.as_ref().is_none_or(|before| before[entry] < before[entry + 1])
    }

    /// Number of entries of the full table. `entries` is the number of held entries.
    fn full_entries(&self, entries: usize) -> usize {
        self.before.as_ref().map_or(entries, |before| before.len() - 1)
    }

    /// The runs of held entries in which the variable along `axis` has one state, each with that
    /// state. As [`Axis::runs`], but for a compressed table, which holds `entries` entries.
    pub fn runs(&self, axis: Axis, entries: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let starts = (0..self.full_entries(entries)).step_by(axis.stride);
        let run = move |start| self.position(start)..self.position(start + axis.stride);
        (0..axis.cardinality).cycle().zip(starts).map(move |(state, start)| (state, run(start)))
    }

    /// Adds to each of `states` the sum of those `entries` in which the variable along `axis` is in
    /// this state. A dummy entry at the end of a compressed table is ignored.
    pub fn add_marginal(&self, axis: Axis, entries: &[f64], states: &mut [f64]) {
        let runs = self.full_entries(entries.len()) / axis.stride;
        if let Some(own) = self.listed(axis)
            && axis.cardinality * own.len() <= ENTRIES_PER_RUN * runs
        {
            return add_by_state(entries, own, states);
        }
        let round = axis.stride * axis.cardinality;
        if self.is_compressed() || round > MAX_ROUND {
            for (state, run) in self.runs(axis, entries.len()) {
                states[state] += sum(&entries[run]);
            }
            return;
        }
        // Runs are short: first add up all rounds through the states, then sum each run once.
        let mut sums = [0.0; MAX_ROUND];
        for part in entries.chunks_exact(round) {
            sums.iter_mut().zip(part).for_each(|(sum, entry)| *sum += entry);
        }
        let runs = sums.chunks_exact(axis.stride);
        states.iter_mut().zip(runs).for_each(|(state, run)| *state += sum(run));
    }

    /// Writes one into the entries of `table` that have the given state along every axis, and zero
    /// into the others. The axes must be in descending order of their strides; of axes with the
    /// same stride, those with one state must come last.
    pub fn write_mask(&self, states: &[(Axis, usize)], table: &mut [f64]) {
        if states.iter().all(|&(axis, _)| self.listed(axis).is_some()) {
            table.fill(1.0);
            for &(axis, state) in states {
                let own = self.listed(axis).expect("this was just checked");
                let state = u8::try_from(state).expect("states that are listed fit in a byte");
                retain_state(own, state, table);
            }
        } else {
            table.fill(0.0);
            let full = 0..self.full_entries(table.len());
            self.for_runs_within(states, full, &mut |run| table[run].fill(1.0));
        }
    }

    /// Calls `each` with the runs of held entries, in the range `full` of the full table, that have
    /// the given state along every axis. The axes are ordered as for
    /// [`write_mask`](Self::write_mask).
    fn for_runs_within(
        &self,
        states: &[(Axis, usize)],
        full: Range<usize>,
        each: &mut impl FnMut(Range<usize>),
    ) {
        let Some(((axis, state), rest)) = states.split_first() else {
            return each(self.position(full.start)..self.position(full.end));
        };
        for start in full.step_by(axis.stride * axis.cardinality) {
            let start = start + axis.stride * state;
            self.for_runs_within(rest, start..start + axis.stride, each);
        }
    }

    /// Bytes of the map and of the listed states.
    pub fn bytes(&self) -> usize {
        let states: usize = self.states.iter().map(|(_, states)| states.len()).sum();
        self.before.as_ref().map_or(0, |before| size_of_val::<[u32]>(before)) + states
    }
}

/// Number of entries of one state that [`add_by_state`] adds in the time of one lookup of a run: a
/// rough figure. If it is wrong, only speed changes (and last bits of results).
const ENTRIES_PER_RUN: usize = 16;

/// Number of partial sums of [`add_by_state`]. Changing it changes the last bits of results.
const LANES: usize = 16;

simd_dispatch!(
    /// Adds each of `entries` to the sum of its state: entry i to sum number `states[i]`. Entries
    /// beyond the end of `states` are ignored.
    add_by_state, add_entries_by_state, (entries: &[f64], states: &[u8], sums: &mut [f64])
);

#[inline(always)]
fn add_entries_by_state(entries: &[f64], states: &[u8], sums: &mut [f64]) {
    let entries = &entries[..states.len()];
    for (state, sum) in (0..=u8::MAX).zip(sums) {
        let mut lanes = [0.0; LANES];
        for (entries, states) in entries.chunks(LANES).zip(states.chunks(LANES)) {
            for (lane, (entry, own)) in lanes.iter_mut().zip(entries.iter().zip(states)) {
                *lane += if *own == state { *entry } else { 0.0 };
            }
        }
        *sum += sum_lanes(lanes);
    }
}

simd_dispatch!(
    /// Sets to zero the entries of `table` whose state in `states` is not `state`.
    retain_state, retain_state_entries, (states: &[u8], state: u8, table: &mut [f64])
);

#[inline(always)]
fn retain_state_entries(states: &[u8], state: u8, table: &mut [f64]) {
    table.iter_mut().zip(states).for_each(|(entry, &own)| *entry *= f64::from(own == state));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marginal_sums_the_held_entries_of_each_state() {
        // The variable is the second of three. Rounds have 3, 12 and 300 entries; a round of 300 is
        // longer than `MAX_ROUND`.
        for stride in [1, 4, 100] {
            let axis = Axis { stride, cardinality: 3 };
            let full = 4 * 3 * stride;
            let is_held: Vec<bool> = (0..full).map(|entry| entry % 7 != 3).collect();
            let few: Vec<bool> = (0..full).map(|entry| entry % 7 == 3).collect();
            let mut listed = EntryMap::new(&few);
            listed.list_states(axis);
            assert!(listed.listed(axis).is_some());
            for map in [EntryMap::default(), EntryMap::new(&is_held), EntryMap::new(&few), listed] {
                let held: Vec<usize> = (0..full).filter(|&entry| map.holds(entry)).collect();
                // As in the table at a parent, there may be a dummy entry at the end.
                let dummy = map.is_compressed().then_some(1e9);
                let entries: Vec<f64> = held.iter().map(|&e| e as f64).chain(dummy).collect();
                let mut states = [0.5; 3];
                map.add_marginal(axis, &entries, &mut states);
                let expected = |state: usize| {
                    let own = held.iter().filter(|&entry| entry / stride % 3 == state);
                    0.5 + own.sum::<usize>() as f64
                };
                assert_eq!(states, [expected(0), expected(1), expected(2)], "stride {stride}");
            }
        }
    }

    #[test]
    fn a_mask_is_one_at_the_entries_with_the_given_states() {
        // Variables with 3, 2 and 4 states. One table lacks every fifth entry, one has only these
        // entries, and one is full.
        let axis = |stride, cardinality| Axis { stride, cardinality };
        let axes = [axis(8, 3), axis(4, 2), axis(1, 4)];
        let most: Vec<bool> = (0..24).map(|entry| entry % 5 != 2).collect();
        let few: Vec<bool> = (0..24).map(|entry| entry % 5 == 2).collect();
        for mut map in [EntryMap::new(&most), EntryMap::new(&few), EntryMap::default()] {
            for listed in 0..=axes.len() {
                for chosen in
                    [&[][..], &[(0, 1)], &[(2, 3)], &[(0, 2), (2, 0)], &[(0, 0), (1, 1), (2, 2)]]
                {
                    let states: Vec<_> =
                        chosen.iter().map(|&(v, state)| (axes[v], state)).collect();
                    let agrees = |entry: &usize| {
                        let state = |axis: Axis| entry / axis.stride % axis.cardinality;
                        states.iter().all(|&(axis, chosen)| state(axis) == chosen)
                    };
                    let held = (0..24).filter(|&entry| map.holds(entry));
                    let expected: Vec<f64> =
                        held.map(|entry| f64::from(u8::from(agrees(&entry)))).collect();
                    let mut table = vec![f64::NAN; map.position(24)];
                    map.write_mask(&states, &mut table);
                    assert_eq!(table, expected, "{chosen:?}, {listed}");
                }
                axes.get(listed).into_iter().for_each(|&axis| map.list_states(axis));
            }
            // Only the second table holds few entries.
            assert_eq!(map.states.len(), if map.holds(0) { 0 } else { 3 });
        }
    }
}
