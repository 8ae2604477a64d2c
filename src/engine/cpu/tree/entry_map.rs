//! Which entries of a table were kept.

use std::ops::Range;

use crate::engine::cpu::pass::kernel::sum;
use crate::engine::simd::simd_dispatch;
use crate::potential::Axis;

/// Entries that are summed side by side.
const LONGEST_ROUND: usize = 256;

/// Which entries of a table were kept: for each entry of the full table, and for its end, how many
/// before it were; `None` for all.
#[derive(Debug, Default)]
pub struct Kept(pub Option<Box<[u32]>>);

impl Kept {
    pub fn new(touched: &[bool]) -> Self {
        if touched.iter().all(|&is| is) {
            return Self(None);
        }
        let count = |count: &mut u32, is: Option<&bool>| {
            let before = *count;
            *count += u32::from(is.copied().unwrap_or(false));
            Some(before)
        };
        let ends = touched.iter().map(Some).chain([None]);
        Self(Some(ends.scan(0, count).collect()))
    }

    /// The place of entry number `entry` of the full table, if it was kept, and otherwise of the
    /// next that was.
    pub fn place(&self, entry: usize) -> usize {
        self.0.as_ref().map_or(entry, |before| before[entry] as usize)
    }

    pub fn has(&self, entry: usize) -> bool {
        self.0.as_ref().is_none_or(|before| before[entry] < before[entry + 1])
    }

    /// The runs of entries that have one state each of a variable, as [`Axis::runs`], of a full
    /// table of `entries` where all were kept.
    pub fn runs(&self, axis: Axis, entries: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let full = self.0.as_ref().map_or(entries, |before| before.len() - 1);
        let starts = (0..full).step_by(axis.stride);
        (0..axis.cardinality)
            .cycle()
            .zip(starts)
            .map(move |(state, start)| (state, self.place(start)..self.place(start + axis.stride)))
    }

    /// Adds to `states` the sums of the `entries` that have each state of the variable along `axis`.
    pub fn marginal(&self, axis: Axis, entries: &[f64], states: &mut [f64]) {
        // Where runs are short, first the sum of all that count through the states once.
        let round = axis.stride * axis.cardinality;
        if self.0.is_some() || round > LONGEST_ROUND {
            for (state, run) in self.runs(axis, entries.len()) {
                states[state] += sum(&entries[run]);
            }
            return;
        }
        let mut sums = [0.0; LONGEST_ROUND];
        for part in entries.chunks_exact(round) {
            sums.iter_mut().zip(part).for_each(|(sum, entry)| *sum += entry);
        }
        let runs = sums.chunks_exact(axis.stride);
        states.iter_mut().zip(runs).for_each(|(state, run)| *state += sum(run));
    }

    /// The runs of entries that have the given state of every variable, each as axis and state, the
    /// one with the longest stride first; of a full table of `entries` where all were kept.
    pub fn runs_of(
        &self,
        states: &[(Axis, usize)],
        entries: usize,
        each: &mut impl FnMut(Range<usize>),
    ) {
        let full = self.0.as_ref().map_or(entries, |before| before.len() - 1);
        self.runs_within(states, 0..full, each);
    }

    fn runs_within(
        &self,
        states: &[(Axis, usize)],
        full: Range<usize>,
        each: &mut impl FnMut(Range<usize>),
    ) {
        let Some(((axis, state), rest)) = states.split_first() else {
            return each(self.place(full.start)..self.place(full.end));
        };
        for start in full.step_by(axis.stride * axis.cardinality) {
            let start = start + axis.stride * state;
            self.runs_within(rest, start..start + axis.stride, each);
        }
    }

    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |before| size_of_val::<[u32]>(before))
    }

    /// The state that each entry that was kept has along `axis`; `None` where so many were kept that
    /// they are found in [`runs_of`](Self::runs_of) as soon.
    pub fn states(&self, axis: Axis) -> Option<Box<[u8]>> {
        let before = self.0.as_ref()?;
        let full = before.len() - 1;
        if before[full] as usize > full / 4 || axis.cardinality > 256 {
            return None;
        }
        let entries = (0..full).filter(|&entry| self.has(entry));
        Some(entries.map(|entry| (entry / axis.stride % axis.cardinality) as u8).collect())
    }
}

/// For some axes of a table the state that each entry has.
#[derive(Debug, Default)]
pub struct States(pub Vec<(Axis, Box<[u8]>)>);

impl States {
    /// Writes into `table` one where all `states` agree and zero elsewhere, and says whether that is
    /// known here.
    pub fn write(&self, states: &[(Axis, usize)], table: &mut [f64]) -> bool {
        let find = |axis: Axis| self.0.iter().find(|(other, _)| *other == axis);
        if !states.iter().all(|&(axis, _)| find(axis).is_some()) {
            return false;
        }
        table.fill(1.0);
        for &(axis, state) in states {
            if let (Some((_, states)), Ok(state)) = (find(axis), u8::try_from(state)) {
                leave_state(states, state, table);
            }
        }
        true
    }

    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(_, states)| states.len()).sum()
    }
}

simd_dispatch!(
    /// Leaves of `table` only where the entry of `states` is `state`.
    leave_state, leave_state_entries, (states: &[u8], state: u8, table: &mut [f64])
);

#[inline(always)]
fn leave_state_entries(states: &[u8], state: u8, table: &mut [f64]) {
    table.iter_mut().zip(states).for_each(|(entry, &own)| *entry *= f64::from(own == state));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marginal_sums_what_was_kept_of_each_state() {
        // The second of three variables, in rounds of 12 and of more than are summed side by side.
        for stride in [1, 4, 100] {
            let axis = Axis { stride, cardinality: 3 };
            let full = 4 * 3 * stride;
            let touched: Vec<bool> = (0..full).map(|entry| entry % 7 != 3).collect();
            for kept in [Kept::default(), Kept::new(&touched)] {
                let places: Vec<usize> = (0..full).filter(|&entry| kept.has(entry)).collect();
                let entries: Vec<f64> = places.iter().map(|&entry| entry as f64).collect();
                let mut states = [0.5; 3];
                kept.marginal(axis, &entries, &mut states);
                let of = |state: usize| {
                    let own = places.iter().filter(|&entry| entry / stride % 3 == state);
                    0.5 + own.sum::<usize>() as f64
                };
                assert_eq!(states, [of(0), of(1), of(2)], "stride {stride}");
            }
        }
    }

    #[test]
    fn runs_of_states_are_the_entries_that_agree() {
        // Variables with 3, 2 and 4 states, of which every fifth entry was left out.
        let axis = |stride, cardinality| Axis { stride, cardinality };
        let axes = [axis(8, 3), axis(4, 2), axis(1, 4)];
        let touched: Vec<bool> = (0..24).map(|entry| entry % 5 != 2).collect();
        let few: Vec<bool> = (0..24).map(|entry| entry % 5 == 2).collect();
        let mut written = 0;
        for kept in [Kept::new(&touched), Kept::new(&few), Kept::default()] {
            for chosen in
                [&[][..], &[(0, 1)], &[(2, 3)], &[(0, 2), (2, 0)], &[(0, 0), (1, 1), (2, 2)]]
            {
                let states: Vec<_> = chosen.iter().map(|&(v, state)| (axes[v], state)).collect();
                let mut found = Vec::new();
                kept.runs_of(&states, 24, &mut |run| found.extend(run));
                let agrees = |entry: &usize| {
                    states
                        .iter()
                        .all(|(axis, state)| entry / axis.stride % axis.cardinality == *state)
                };
                let expected = (0..24).filter(|&entry| kept.has(entry)).filter(agrees);
                let expected: Vec<usize> = expected.map(|entry| kept.place(entry)).collect();
                assert_eq!(found, expected, "{chosen:?}");
                let columns = axes.map(|axis| (axis, kept.states(axis)));
                let known = columns.into_iter().filter_map(|(axis, c)| Some((axis, c?)));
                let mut table = vec![f64::NAN; kept.place(24)];
                if States(known.collect()).write(&states, &mut table) {
                    let is_found = |place: usize| f64::from(expected.contains(&place));
                    assert!(table.iter().enumerate().all(|(place, &v)| v == is_found(place)));
                    written += 1;
                }
            }
        }
        assert_eq!(written, 7, "states are known where few entries were kept");
    }
}
