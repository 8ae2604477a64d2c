//! Where the entries of a separator's table at one end are in its table at the other end.
//!
//! The two tables may have their variables in different orders. If the fastest variables are the
//! same, consecutive entries of one table are consecutive in the other too. Only the first entry of
//! such a *run* needs an index.

use std::ops::Range;

use crate::potential::{Scope, write_mapping};

/// Runs of fewer entries, which is one vector register of `f64`, are divided into single entries: a
/// loop over so short a run takes as long as a lookup of each entry. If the number is wrong, only
/// speed and memory change.
const MIN_RUN: usize = 8;

/// Stands for an entry that the other table does not hold.
const NO_ENTRY: u32 = u32::MAX;

/// For each entry of one table, the position of the entry with the same states in another table.
#[derive(Clone, Debug)]
pub struct Permutation {
    /// Number of entries of a run.
    run: usize,
    /// By run: the position of its first entry, or [`NO_ENTRY`].
    starts: Box<[u32]>,
}

/// Some consecutive runs of a [`Permutation`].
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// Number of entries of a run.
    pub entries: usize,
    /// By run: the position of its first entry. If the other table does not hold an entry, which
    /// happens only in runs of one entry, the position is beyond the end of that table.
    pub starts: &'a [u32],
}

impl Permutation {
    /// The permutation from a table over `from` to a table over the same variables in the order of
    /// `onto`.
    pub fn of_scopes(from: &Scope, onto: &Scope) -> Self {
        let run = Self::run_entries(from, onto);
        let (mut slow, mut entries) = (from.clone(), 1);
        for &variable in from.variables().iter().rev() {
            if entries == run {
                break;
            }
            slow = slow.without(variable);
            entries = from.entries() / slow.entries();
        }
        let mut starts = Vec::new();
        write_mapping(&slow, onto, &mut starts);
        Self { run, starts: starts.into() }
    }

    /// The permutation with these positions.
    pub fn of_entries(positions: Box<[u32]>) -> Self {
        Self { run: 1, starts: positions }
    }

    /// The number of entries of a run of [`of_scopes`](Self::of_scopes).
    pub fn run_entries(from: &Scope, onto: &Scope) -> usize {
        let same = from.variables().iter().zip(from.cardinalities()).rev();
        let same = same.zip(onto.variables().iter().rev());
        let same = same.take_while(|((variable, _), other)| variable == other);
        let run: usize = same.map(|((_, states), _)| states).product();
        if run < MIN_RUN { 1 } else { run }
    }

    /// The position of entry number `entry`, which the other table must hold.
    pub fn position(&self, entry: usize) -> usize {
        self.starts[entry / self.run] as usize + entry % self.run
    }

    /// The permutation from the other table, which has `entries` entries, to this one.
    pub fn inverse(&self, entries: usize) -> Self {
        let mut starts = vec![NO_ENTRY; entries / self.run].into_boxed_slice();
        for (number, &start) in self.starts.iter().enumerate() {
            starts[start as usize / self.run] = (number * self.run) as u32;
        }
        Self { run: self.run, starts }
    }

    /// All runs.
    pub fn all(&self) -> Runs<'_> {
        Runs { entries: self.run, starts: &self.starts }
    }

    /// Bytes of the positions.
    pub fn bytes(&self) -> usize {
        size_of_val::<[u32]>(&self.starts)
    }
}

impl<'a> Runs<'a> {
    /// The largest number of entries that is at most `entries` and makes whole runs; if a single
    /// run has more, the entries of a run.
    pub fn whole(self, entries: usize) -> usize {
        (entries / self.entries).max(1) * self.entries
    }

    /// The runs of the entries in `range`, which must begin and end where runs do.
    pub fn part(self, range: Range<usize>) -> Self {
        let starts = &self.starts[range.start / self.entries..range.end / self.entries];
        Self { starts, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Network, Variable, VariableId};
    use crate::potential::Odometer;

    #[test]
    fn a_permutation_and_its_inverse_find_the_same_states() {
        let variables = [3, 2, 5, 4].iter().enumerate().map(|(v, &states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let network = Network::markov("test", variables.collect(), vec![]).expect("it is valid");
        let scope = |order: [usize; 4]| Scope::of(&network, order.map(VariableId::new));
        let from = scope([0, 1, 2, 3]);
        // The number of entries of a run: of variables 2 and 3, of variable 3 alone, which is too
        // short, and of all variables.
        for (order, run) in [([1, 0, 2, 3], 20), ([2, 0, 1, 3], 1), ([0, 1, 2, 3], 120)] {
            let onto = scope(order);
            let permutation = Permutation::of_scopes(&from, &onto);
            assert_eq!((permutation.run, permutation.starts.len()), (run, 120 / run));
            let inverse = permutation.inverse(120);
            for (entry, expected) in Odometer::new(&from, &onto).take(120).enumerate() {
                assert_eq!(permutation.position(entry), expected);
                assert_eq!(inverse.position(expected), entry);
            }
        }
    }

    #[test]
    fn an_inverse_marks_entries_that_only_the_other_table_holds() {
        let inverse = Permutation::of_entries([4, 1].into()).inverse(5);
        assert_eq!(*inverse.starts, [NO_ENTRY, 1, NO_ENTRY, NO_ENTRY, 0]);
    }
}
