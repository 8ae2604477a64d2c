//! Maps from the entries of a full table to the entries that a compressed table holds.
//!
//! If zeros are left out of a clique's table, the rest of the table may belong to only a few
//! entries of the clique's separators. The other entries of the separators are then left out too
//! (see [`compress`](crate::engine::cpu::tables::compress)). The entries that remain are *held*.
//! Held entries keep their order, so the held entries of a run are consecutive.

use std::ops::Range;

use crate::engine::cpu::vector::sum;
use crate::engine::simd::simd_dispatch;
use crate::potential::Axis;

/// A *round* is one pass through all states of an axis. It has stride times cardinality entries. If
/// all entries are held and a round has at most this many, [`EntryMap::add_marginal`] first adds
/// all rounds to one another, entry by entry, and then sums the entries of each state. If the
/// maximum is wrong, only speed changes (and last bits of results).
const MAX_ROUND: usize = 256;

/// The position in a compressed table of each entry of the full table.
///
/// Holds, for each entry of the full table and for its end, the number of held entries before it;
/// `None` if all entries are held.
#[derive(Debug, Default)]
pub struct EntryMap(Option<Box<[u32]>>);

impl EntryMap {
    /// The map of a table that holds the entries for which `is_held`.
    pub fn new(is_held: &[bool]) -> Self {
        if is_held.iter().all(|&held| held) {
            return Self(None);
        }
        let count = |count: &mut u32, held: Option<&bool>| {
            let before = *count;
            *count += u32::from(held.copied().unwrap_or(false));
            Some(before)
        };
        let entries_and_end = is_held.iter().map(Some).chain([None]);
        Self(Some(entries_and_end.scan(0, count).collect()))
    }

    /// Whether some entries are left out.
    pub fn is_compressed(&self) -> bool {
        self.0.is_some()
    }

    /// The position of entry number `entry` of the full table if it is held, and otherwise of the
    /// next held entry.
    pub fn position(&self, entry: usize) -> usize {
        self.0.as_ref().map_or(entry, |before| before[entry] as usize)
    }

    /// Whether entry number `entry` of the full table is held.
    pub fn holds(&self, entry: usize) -> bool {
        self.0.as_ref().is_none_or(|before| before[entry] < before[entry + 1])
    }

    /// Number of entries of the full table. `entries` is the number of held entries.
    fn full_entries(&self, entries: usize) -> usize {
        self.0.as_ref().map_or(entries, |before| before.len() - 1)
    }

    /// The runs of held entries in which the variable along `axis` has one state, each with that
    /// state. As [`Axis::runs`], but for a compressed table, which holds `entries` entries.
    pub fn runs(&self, axis: Axis, entries: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let starts = (0..self.full_entries(entries)).step_by(axis.stride);
        let run = move |start| self.position(start)..self.position(start + axis.stride);
        (0..axis.cardinality).cycle().zip(starts).map(move |(state, start)| (state, run(start)))
    }

    /// Adds to each of `states` the sum of those `entries` in which the variable along `axis` is in
    /// this state.
    pub fn add_marginal(&self, axis: Axis, entries: &[f64], states: &mut [f64]) {
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

    /// Calls `each` with the runs of held entries that have the given state along every axis.
    /// `entries` is the number of held entries. The axes must be in descending order of their
    /// strides; of axes with the same stride, those with one state must come last.
    pub fn for_runs_with(
        &self,
        states: &[(Axis, usize)],
        entries: usize,
        each: &mut impl FnMut(Range<usize>),
    ) {
        self.for_runs_within(states, 0..self.full_entries(entries), each);
    }

    /// As [`for_runs_with`](Self::for_runs_with), for the range `full` of the full table.
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

    /// Bytes of the map.
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |before| size_of_val::<[u32]>(before))
    }

    /// The state of each held entry along `axis`. `None` if there are more states than a byte can
    /// hold, or if more than a quarter of the entries are held: finding the entries with given
    /// states by [`for_runs_with`](Self::for_runs_with) is then as fast as with the result.
    pub fn states(&self, axis: Axis) -> Option<Box<[u8]>> {
        let before = self.0.as_ref()?;
        let full = before.len() - 1;
        if before[full] as usize > full / 4 || axis.cardinality > 256 {
            return None;
        }
        let entries = (0..full).filter(|&entry| self.holds(entry));
        Some(entries.map(|entry| (entry / axis.stride % axis.cardinality) as u8).collect())
    }
}

/// The states of a compressed table's entries, for those axes for which they are known.
#[derive(Debug, Default)]
pub struct EntryStates(Vec<(Axis, Box<[u8]>)>);

impl EntryStates {
    /// Adds the `states` of the entries along `axis`.
    pub fn add(&mut self, axis: Axis, states: Box<[u8]>) {
        self.0.push((axis, states));
    }

    /// Writes one into the entries of `table` that agree with all `states`, and zero into the
    /// others. Returns `false` and leaves `table` unchanged if the states along one of the axes are
    /// unknown.
    pub fn write_mask(&self, states: &[(Axis, usize)], table: &mut [f64]) -> bool {
        let find = |axis: Axis| self.0.iter().find(|(other, _)| *other == axis);
        if !states.iter().all(|&(axis, _)| find(axis).is_some()) {
            return false;
        }
        table.fill(1.0);
        for &(axis, state) in states {
            if let (Some((_, states)), Ok(state)) = (find(axis), u8::try_from(state)) {
                retain_state(states, state, table);
            }
        }
        true
    }

    /// Bytes of the states.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, states)| states.len()).sum()
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
            for map in [EntryMap::default(), EntryMap::new(&is_held)] {
                let held: Vec<usize> = (0..full).filter(|&entry| map.holds(entry)).collect();
                let entries: Vec<f64> = held.iter().map(|&entry| entry as f64).collect();
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
    fn runs_and_masks_cover_the_entries_with_the_given_states() {
        // Variables with 3, 2 and 4 states. One table lacks every fifth entry, one has only these
        // entries, and one is full.
        let axis = |stride, cardinality| Axis { stride, cardinality };
        let axes = [axis(8, 3), axis(4, 2), axis(1, 4)];
        let most: Vec<bool> = (0..24).map(|entry| entry % 5 != 2).collect();
        let few: Vec<bool> = (0..24).map(|entry| entry % 5 == 2).collect();
        let mut written = 0;
        for map in [EntryMap::new(&most), EntryMap::new(&few), EntryMap::default()] {
            for chosen in
                [&[][..], &[(0, 1)], &[(2, 3)], &[(0, 2), (2, 0)], &[(0, 0), (1, 1), (2, 2)]]
            {
                let states: Vec<_> = chosen.iter().map(|&(v, state)| (axes[v], state)).collect();
                let mut found = Vec::new();
                map.for_runs_with(&states, 24, &mut |run| found.extend(run));
                let agrees = |entry: &usize| {
                    states
                        .iter()
                        .all(|(axis, state)| entry / axis.stride % axis.cardinality == *state)
                };
                let expected = (0..24).filter(|&entry| map.holds(entry)).filter(agrees);
                let expected: Vec<usize> = expected.map(|entry| map.position(entry)).collect();
                assert_eq!(found, expected, "{chosen:?}");
                let columns = axes.map(|axis| (axis, map.states(axis)));
                let known = columns.into_iter().filter_map(|(axis, c)| Some((axis, c?)));
                let mut table = vec![f64::NAN; map.position(24)];
                if EntryStates(known.collect()).write_mask(&states, &mut table) {
                    let in_run = |position: usize| f64::from(expected.contains(&position));
                    assert!(table.iter().enumerate().all(|(position, &v)| v == in_run(position)));
                    written += 1;
                }
            }
        }
        // States are known only in the table with few entries. The other tables accept only the
        // empty list of states.
        assert_eq!(written, 5 + 2);
    }
}
