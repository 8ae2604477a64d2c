//! Which entries of a factor the products of an operation read, and which products are live, as
//! [`sparsity`](super::sparsity) defines it.
//!
//! A row of an operation is one entry of its result: a sum of products, one for each combination of
//! states of the variables that are summed out. Each such combination is an entry of the row.

use rayon::prelude::*;

use super::operations::Operation;
use crate::network::Network;
use crate::potential::{Scope, SplitMapping, write_mapping};

/// Minimum number of rows or parts for a task on another thread to pay off;
/// [`LiveProducts::restrict`] counts entries of parts instead. It affects only speed.
pub(super) const MIN_PARALLEL: usize = 1 << 12;

/// How the products of an operation read a factor: a message, a table, or the weights of a finding.
///
/// The entries of the factor that a row reads are the row's *part* of the factor. Rows that agree
/// in the variables of the factor have the same part, so what depends only on the part is computed
/// once for each part.
pub(super) struct FactorParts {
    /// For each row the number of its part.
    rows: SplitMapping,
    /// For each part the index in the factor that its entries are counted from.
    offsets: SplitMapping,
    /// For each entry of a row the distance of the factor's entry from the offset of the part.
    pub entries: Vec<u32>,
}

impl FactorParts {
    /// How `operation` reads a factor with the scope `factor`.
    pub fn new(network: &Network, operation: &Operation, factor: &Scope) -> Self {
        let mut entries = Vec::new();
        write_mapping(&operation.summed, factor, &mut entries);
        let of_rows = operation.rows.variables().iter().copied();
        let parts = Scope::of(network, of_rows.filter(|variable| factor.contains(*variable)));
        Self {
            rows: SplitMapping::new(&operation.rows, &parts),
            offsets: SplitMapping::new(&parts, factor),
            entries,
        }
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// The number of the part of `row`.
    pub fn part(&self, row: u32) -> usize {
        self.rows.get(row) as usize
    }

    /// The index in the factor that the entries of part number `part` are counted from.
    pub fn part_offset(&self, part: usize) -> u32 {
        self.offsets.get(part as u32)
    }

    /// The index in the factor that the entries of the part of `row` are counted from.
    pub fn offset(&self, row: u32) -> u32 {
        self.offsets.get(self.rows.get(row))
    }
}

/// The live products of each row of an operation, one bit per entry of the row;
/// [`sparsity`](super::sparsity) defines them.
pub(super) struct LiveProducts<'a> {
    /// Number of entries of a row.
    entries: usize,
    /// Number of words of bits per row.
    words: usize,
    /// A mask for each factor that restricts the products. A product is live if it is in all masks.
    masks: Vec<Mask<'a>>,
}

/// The products that one factor does not exclude.
struct Mask<'a> {
    factor: &'a FactorParts,
    /// The words of bits of each part.
    words: Vec<u64>,
}

impl<'a> LiveProducts<'a> {
    /// Every product of rows of `entries` entries is live.
    pub fn all(entries: usize) -> Self {
        Self { entries, words: entries.div_ceil(64), masks: Vec::new() }
    }

    /// Excludes the products for which `is_live` returns false for the entry of `factor` that they
    /// read.
    pub fn restrict(&mut self, factor: &'a FactorParts, is_live: impl Fn(usize) -> bool + Sync) {
        let mut words = vec![0; factor.len() * self.words];
        let parts = words.par_chunks_mut(self.words).enumerate();
        parts.with_min_len(1 + MIN_PARALLEL / self.entries).for_each(|(part, words)| {
            let offset = factor.part_offset(part);
            for (word, entries) in words.iter_mut().zip(factor.entries.chunks(64)) {
                for (bit, &entry) in entries.iter().enumerate() {
                    *word |= u64::from(is_live((offset + entry) as usize)) << bit;
                }
            }
        });
        self.masks.push(Mask { factor, words });
    }

    /// Whether every product is live.
    pub fn are_all(&self) -> bool {
        self.masks.is_empty()
    }

    /// Number of bytes of all masks.
    pub fn bytes(&self) -> usize {
        self.masks.iter().map(|mask| size_of_val(&*mask.words)).sum()
    }

    /// Number of words of bits per row.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The bits of entries `64 n` to `64 n + 63` of `row`.
    pub fn word(&self, row: u32, n: usize) -> u64 {
        let rest = self.entries - 64 * n;
        let all = if rest < 64 { (1 << rest) - 1 } else { u64::MAX };
        let masks = self.masks.iter();
        masks.fold(all, |bits, mask| bits & mask.words[mask.factor.part(row) * self.words + n])
    }

    /// Writes the bits of `row` to `words`, and returns the number of its live products.
    pub fn read_row(&self, row: u32, words: &mut [u64]) -> usize {
        let mut count = 0;
        for (n, word) in words.iter_mut().enumerate() {
            *word = self.word(row, n);
            count += word.count_ones() as usize;
        }
        count
    }

    /// Calls `visit` with the entry of each live product of `row`, in ascending order.
    pub fn for_each(&self, row: u32, mut visit: impl FnMut(usize)) {
        for n in 0..self.words {
            for_each_bit(self.word(row, n), |bit| visit(64 * n + bit));
        }
    }
}

/// Calls `visit` with the position of each bit of `word` that is set, lowest first.
pub(super) fn for_each_bit(mut word: u64, mut visit: impl FnMut(usize)) {
    while word != 0 {
        visit(word.trailing_zeros() as usize);
        word &= word - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cuda::persistent::operations::Role;
    use crate::network::{Factor, Variable, VariableId};
    use crate::potential::Odometer;

    #[test]
    fn products_are_live_unless_a_factor_excludes_them() {
        let variables = [("a", 2), ("b", 3), ("c", 70)].map(|(name, states)| {
            Variable::new(name, (0..states).map(|state: usize| state.to_string()))
        });
        let factor = Factor::new(vec![VariableId::new(0)], vec![0.5, 0.5]);
        let network = Network::markov("m", variables.into(), vec![factor]).unwrap();
        let scope = |numbers: &[usize]| {
            Scope::of(&network, numbers.iter().map(|&number| VariableId::new(number)))
        };
        let operation = Operation {
            rows: scope(&[1, 0]),
            summed: scope(&[2]),
            potential: None,
            factors: vec![],
            findings: vec![],
            result: Role::Message,
        };
        let scopes = [scope(&[2, 1]), scope(&[0]), scope(&[0, 2])];
        let is_live = |f: usize, at: usize| f == 1 || !(at + f).is_multiple_of(3);
        let parts = scopes.each_ref().map(|scope| FactorParts::new(&network, &operation, scope));
        assert_eq!(parts.each_ref().map(FactorParts::len), [3, 2, 2]);
        let mut live = LiveProducts::all(70);
        assert!(live.are_all());
        for (f, parts) in parts.iter().enumerate() {
            live.restrict(parts, |at| is_live(f, at));
        }
        let all = scope(&[1, 0, 2]);
        let mut read = scopes.each_ref().map(|scope| Odometer::new(&all, scope));
        for row in 0..6 {
            let mut expected = Vec::new();
            for entry in 0..70 {
                let at = read.each_mut().map(|read| read.next().unwrap());
                let indices = parts
                    .each_ref()
                    .map(|parts| (parts.offset(row) + parts.entries[entry]) as usize);
                assert_eq!(indices, at);
                if at.iter().enumerate().all(|(f, &at)| is_live(f, at)) {
                    expected.push(entry);
                }
            }
            let mut found = Vec::new();
            live.for_each(row, |entry| found.push(entry));
            assert_eq!(found, expected);
            let mut words = [0; 2];
            assert_eq!(live.read_row(row, &mut words), found.len());
            assert_eq!(words, [live.word(row, 0), live.word(row, 1)]);
        }
    }
}
