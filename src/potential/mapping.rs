//! Index mappings from a table to a table over some of its variables.

use crate::allocate;
use crate::potential::Scope;

/// For every entry of a larger table, the entry of a smaller table with the same states.
///
/// This is the cluster-sepset mapping of Huang and Darwiche; its inverse is in section 3.2 of
/// Zheng, Mengshoel and Chong, see [`MappingTables`](super::MappingTables). An index
/// mapping is computed when a network is loaded. Passing a message then needs no index arithmetic,
/// but reads one more word per entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMapping {
    entries: Box<[u32]>,
}

impl IndexMapping {
    /// The mapping from a table over `from` to a table over `onto`, a subset of the variables of
    /// `from`.
    ///
    /// # Panics
    /// If the smaller table has 2^32 entries or more.
    ///
    /// # Complexity
    /// One addition for each entry of the larger table.
    #[must_use]
    pub fn new(from: &Scope, onto: &Scope) -> Self {
        assert!(u32::try_from(onto.entries()).is_ok(), "indices of a mapping have 32 bits");
        let mut entries = Vec::new();
        write_mapping(from, onto, &mut entries);
        Self { entries: entries.into() }
    }

    /// For each entry of the larger table, in order, the index of the corresponding entry of the
    /// smaller table.
    #[must_use]
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Size of the mapping in bytes: 4 for each entry of the larger table.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        std::mem::size_of_val::<[u32]>(&self.entries) as u64
    }
}

/// Appends to `mapping`, for every entry of a table over `from` in order, the index of the entry of
/// a table over `onto` with the same states. Variables of `onto` that `from` lacks are in state 0.
/// The table over `onto` must have fewer than 2^32 entries.
///
/// This is faster than an [`Odometer`]: the indices for further states of a variable are those for
/// as many earlier states plus a constant.
pub fn write_mapping(from: &Scope, onto: &Scope, mapping: &mut Vec<u32>) {
    let (first, entries) = (mapping.len(), from.entries());
    allocate::reserve(mapping, entries);
    mapping.resize(first + entries, 0);
    let mapping = &mut mapping[first..];
    let mut count = 1;
    for Digit { cardinality, stride, .. } in digits(from, onto) {
        // The number of states whose indices are known doubles with each round, so most rounds are
        // long enough for vector instructions.
        let mut states = 1;
        while states < cardinality {
            let (known, others) = mapping[..count * cardinality].split_at_mut(count * states);
            let step = (states * stride) as u32;
            others.iter_mut().zip(&*known).for_each(|(entry, &before)| *entry = before + step);
            states *= 2;
        }
        count *= cardinality;
    }
}

/// The same mapping as [`write_mapping`] writes, in much less memory for large tables.
///
/// The variables of the larger table are divided into slow and fast ones. The index in the smaller
/// table is the sum of two numbers: one for the states of the slow variables, and one for the
/// states of the fast variables. Two short lists hold these numbers.
#[derive(Clone, Debug)]
pub(crate) struct SplitMapping {
    /// Number of configurations of the fast variables.
    fast: u32,
    /// By configuration of the slow variables: their part of the index.
    by_slow: Vec<u32>,
    /// By configuration of the fast variables: their part of the index.
    by_fast: Vec<u32>,
}

impl SplitMapping {
    /// The mapping from a table over `from` to a table over `onto`. Both must have fewer than 2^32
    /// entries.
    pub fn new(from: &Scope, onto: &Scope) -> Self {
        let (mut fast, mut first) = (1, from.variables().len());
        while first > 0 && fast * fast < from.entries() {
            first -= 1;
            fast *= from.cardinalities()[first];
        }
        let [by_slow, by_fast] = from.split_at(first).map(|variables| {
            let mut parts = Vec::new();
            write_mapping(&variables, onto, &mut parts);
            parts
        });
        Self { fast: fast as u32, by_slow, by_fast }
    }

    /// The index in the smaller table for entry number `entry` of the larger table.
    #[inline]
    pub fn get(&self, entry: u32) -> u32 {
        self.by_slow[(entry / self.fast) as usize] + self.by_fast[(entry % self.fast) as usize]
    }

    /// Number of entries of the larger table.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Only engine gpu calls it.
    pub fn len(&self) -> usize {
        self.by_slow.len() * self.by_fast.len()
    }
}

/// An endless iterator over the entries of one table in order. For each entry, it yields the index
/// of the entry of another table with the same states. After the last entry it starts over.
///
/// It counts through the states like an odometer: the last variable advances with every entry and
/// carries into the one before it.
#[derive(Clone, Debug)]
pub struct Odometer {
    digits: Vec<Digit>,
    index: usize,
}

/// A variable, or several adjacent variables that can be counted as one.
#[derive(Clone, Copy, Debug)]
struct Digit {
    cardinality: usize,
    /// What the next state adds to the other table's index; zero if that table lacks the variable.
    stride: usize,
    state: usize,
}

/// The variables of `from` as digits, the fastest first, with their strides in a table over `onto`.
fn digits(from: &Scope, onto: &Scope) -> impl Iterator<Item = Digit> {
    let variables = from.variables().iter().zip(from.cardinalities()).rev();
    let mut digits =
        variables.filter(|(_, cardinality)| **cardinality > 1).map(|(&variable, &cardinality)| {
            let stride = onto.axis(variable).map_or(0, |axis| axis.stride);
            Digit { cardinality, stride, state: 0 }
        });
    let mut next = digits.next();
    std::iter::from_fn(move || {
        let mut digit = next.take()?;
        next = digits.next();
        // A full turn of this digit adds what one step of the next slower digit adds, so the two
        // count as one.
        while let Some(slower) = next
            && slower.stride == digit.stride * digit.cardinality
        {
            digit.cardinality *= slower.cardinality;
            next = digits.next();
        }
        Some(digit)
    })
}

impl Odometer {
    /// An odometer through a table over `from` that yields indices of a table over `onto`.
    ///
    /// Variables of `onto` that `from` lacks are in state 0.
    #[must_use]
    pub fn new(from: &Scope, onto: &Scope) -> Self {
        let mut digits: Vec<Digit> = digits(from, onto).collect();
        digits.reverse();
        Self { digits, index: 0 }
    }
}

impl Iterator for Odometer {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let current = self.index;
        for digit in self.digits.iter_mut().rev() {
            digit.state += 1;
            self.index += digit.stride;
            if digit.state < digit.cardinality {
                break;
            }
            self.index -= digit.stride * digit.cardinality;
            digit.state = 0;
        }
        Some(current)
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::tests::scope;
    use super::*;

    /// The mapping computed by division and remainder, one entry at a time.
    fn by_division(from: &Scope, onto: &Scope) -> Vec<u32> {
        let entry = |index: usize| -> usize {
            let states = from.variables().iter().map(|&v| {
                let axis = from.axis(v).unwrap();
                index / axis.stride % axis.cardinality
            });
            let assignments = from.variables().iter().zip(states);
            assignments.map(|(&v, state)| onto.axis(v).map_or(0, |axis| axis.stride * state)).sum()
        };
        (0..from.entries()).map(|index| u32::try_from(entry(index)).unwrap()).collect()
    }

    #[test]
    fn the_mappings_of_figure_2_of_the_paper() {
        // X_i = {A, B, D} and X_k = {B, C}, all binary, over the separator {B}.
        let (left, right) = (scope(&[(0, 2), (1, 2), (3, 2)]), scope(&[(1, 2), (2, 2)]));
        let separator = scope(&[(1, 2)]);
        let mapping = IndexMapping::new(&left, &separator);
        assert_eq!(mapping.entries(), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(mapping.bytes(), 32);
        assert_eq!(IndexMapping::new(&right, &separator).entries(), [0, 0, 1, 1]);
    }

    #[test]
    fn a_mapping_agrees_with_division_and_remainder() {
        let all = [(0, 3), (1, 1), (2, 2), (3, 4), (4, 2)];
        let from = scope(&all);
        for subset in 0_usize..32 {
            let chosen: Vec<_> = (0..5).filter(|i| subset >> i & 1 == 1).map(|i| all[i]).collect();
            for onto in [chosen.clone(), chosen.into_iter().rev().collect()] {
                let onto = scope(&onto);
                let mapping = IndexMapping::new(&from, &onto);
                assert_eq!(mapping.entries(), by_division(&from, &onto), "{onto:?}");
                let split = SplitMapping::new(&from, &onto);
                let found: Vec<u32> = (0..split.len()).map(|at| split.get(at as u32)).collect();
                assert_eq!(found, by_division(&from, &onto), "{onto:?}");
            }
        }
    }

    #[test]
    fn everything_maps_to_the_only_entry_of_an_empty_scope() {
        assert_eq!(IndexMapping::new(&scope(&[]), &scope(&[])).entries(), [0]);
        assert_eq!(IndexMapping::new(&scope(&[(0, 3)]), &scope(&[])).entries(), [0, 0, 0]);
    }
}
