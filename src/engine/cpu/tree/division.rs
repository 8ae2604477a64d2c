//! Division of a large table's rows into parts that threads sum at the same time.
//!
//! The rows of a part are consecutive. A table onto which rows are summed is either *divided*, if
//! no two parts meet the same entry of it, or *copied*: then each part has a copy of its own, and
//! the copies are added in the order of the parts. Divided tables cost nothing. Copies cost time
//! and memory, so tables are copied, the smallest first, only as long as there are too few parts.
//! [`Layout`](super::layout::Layout) orders the variables so that distant rows meet different
//! entries of the largest tables.
//!
//! The division depends on the rows alone, so the number of threads changes no bit of a sum.

use std::cmp::Reverse;
use std::ops::Range;

// If one of these constants is wrong, only speed and memory change (and last bits of results).

/// Minimum number of entries of a part: a few microseconds of work, several times as long as it
/// takes a thread to find it. With parts of half this size, 16 threads were 1.1 times as fast on
/// Mildew and Pigs, 1.05 on Munin3, and as fast on Diabetes, Barley and Munin4, but one and two
/// threads took 1.02 to 1.04 times as long on Mildew, Pigs and Diabetes. With parts of twice this
/// size, 16 threads took 1.1 times as long on Munin2 and Mildew. A table with less than twice as
/// many entries is not divided.
const MIN_PART: usize = 8_192;

/// Maximum number of entries of a block, which is not divided: a small share of a part, so that
/// parts differ little.
pub const MAX_BLOCK: usize = MIN_PART / 8;

/// Maximum number of parts. More parts balance the threads better, but each costs a little.
const MAX_PARTS: usize = 64;

/// Maximum number of parts if a table is copied, because each part then takes memory for a copy.
const MAX_COPIES: usize = 16;

/// A part has at least this many times as many entries as its copies of tables, so that the copies
/// cost little time and memory. With a minimum of 6, and 4 for sparse tables, Diabetes took 1.15
/// times as long on two threads and 1.02 on 16, and no other network changed.
pub const MIN_ENTRIES_PER_COPIED: usize = 16;

/// As [`MIN_ENTRIES_PER_COPIED`], for a tree from which zeros are left out. There, some large
/// tables have separators that are almost as large as the table. With
/// [`MIN_ENTRIES_PER_COPIED`], 16 threads took 1.2 to 1.35 times as long on Link.
pub const MIN_SPARSE_ENTRIES_PER_COPIED: usize = 8;

/// A table onto which rows are summed.
#[derive(Clone, Debug)]
pub struct TargetTable {
    /// The position in a row of the word that points into the table.
    pub word: usize,
    /// The range of the table, in offsets as the word gives them.
    pub range: Range<usize>,
    /// Whether a row meets one entry of the table for each of its own entries, rather than a single
    /// one.
    pub is_vector: bool,
}

/// The rows of a table, in blocks that are not divided.
///
/// The rows have consecutive entries of their own table, from its first entry to its last. In the
/// table of every port, the first row of a block meets the first entry that the block meets, and
/// the last row meets the last. So only these two rows are looked at.
#[derive(Clone, Copy)]
pub struct RowBlocks<'a> {
    /// The words of all rows.
    pub words: &'a [u32],
    /// Number of words of one row.
    pub stride: usize,
    /// Number of rows of a block; the last block may have fewer.
    pub rows: usize,
}

impl<'a> RowBlocks<'a> {
    /// The blocks of `rows`, which begin and end with a block.
    pub fn part(self, rows: &Range<usize>) -> Self {
        Self { words: &self.words[rows.start * self.stride..rows.end * self.stride], ..self }
    }

    /// The first and the last row of each block.
    pub fn ends(self) -> impl Iterator<Item = (&'a [u32], &'a [u32])> {
        let blocks = self.words.chunks(self.rows * self.stride);
        blocks.map(move |block| (&block[..self.stride], &block[block.len() - self.stride..]))
    }
}

/// How the rows of a table are divided into parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Division {
    /// By part: its rows. Empty if the rows are not divided.
    pub parts: Vec<Range<usize>>,
    /// By target table: how it is divided. Empty if the rows are not divided.
    pub tables: Vec<TableDivision>,
}

/// How a table is divided between the parts.
#[derive(Debug, PartialEq, Eq)]
pub enum TableDivision {
    /// By part: the only entries that rows of the part may meet, in offsets as words give them. The
    /// ranges are consecutive and cover the table.
    Divided(Vec<Range<usize>>),
    /// Every part has a copy of the table.
    Copied,
}

impl Division {
    /// Divides the rows in `blocks`. They have `entries` entries in total and are summed onto
    /// `tables`. A part has at least `per_copied` times as many entries as its copies of tables;
    /// without this number, no table is copied.
    pub fn new(
        blocks: RowBlocks<'_>,
        tables: &[TargetTable],
        entries: usize,
        per_copied: Option<usize>,
    ) -> Self {
        if entries < 2 * MIN_PART {
            return Self::default();
        }
        let met: Vec<Vec<u32>> = tables.iter().map(|table| met_from(blocks, table)).collect();
        let mut by_size: Vec<usize> = (0..tables.len()).collect();
        by_size.sort_by_key(|&table| Reverse(tables[table].range.len()));
        let largest = by_size.iter().map(|&table| (&tables[table], &*met[table]));
        let block_starts = BlockStarts::new(blocks, largest);
        // Number of tables that must be divided: if one more were copied, there would be fewer than
        // two parts.
        let mut least_divided = tables.len();
        if let Some(per_copied) = per_copied {
            let mut copied = 0;
            for &table in by_size.iter().rev() {
                copied += tables[table].range.len();
                if entries < 2 * min_part(entries, copied * per_copied) {
                    break;
                }
                least_divided -= 1;
            }
        }
        let mut best: Vec<usize> = Vec::new();
        let mut best_divided = 0;
        let mut divided = tables.len();
        loop {
            let copied = by_size[divided..].iter().map(|&table| tables[table].range.len());
            let min_part = min_part(entries, copied.sum::<usize>() * per_copied.unwrap_or(0));
            let starts = block_starts.parts(divided, entries, min_part);
            if starts.len() > best.len() {
                (best, best_divided) = (starts, divided);
            }
            // Once there are half as many parts as copies allow, no further table is copied.
            let enough = entries / min_part_with_copies(entries) / 2;
            if divided == least_divided || best.len() >= enough.max(2) {
                break;
            }
            // If many of the divided tables can be copied, the next try copies half of these, so
            // that there are few tries.
            let more = divided - least_divided;
            divided = if more <= 6 { divided - 1 } else { least_divided + more / 2 };
        }
        if best.len() < 2 {
            return Self::default();
        }
        let rows = blocks.words.len() / blocks.stride;
        let row = |block: usize| (block * blocks.rows).min(rows);
        best.push(rows.div_ceil(blocks.rows));
        let divide = |table: usize| {
            if by_size[best_divided..].contains(&table) {
                return TableDivision::Copied;
            }
            let Range { start, end } = tables[table].range;
            let met = &met[table];
            let first = |block: usize| if block == 0 { start } else { met[block] as usize };
            let next = |block: usize| if block == met.len() { end } else { first(block) };
            let ranges = best.windows(2).map(|part| first(part[0])..next(part[1]));
            TableDivision::Divided(ranges.collect())
        };
        let tables = (0..tables.len()).map(divide).collect();
        let parts = best.windows(2).map(|part| row(part[0])..row(part[1])).collect();
        Self { parts, tables }
    }

    /// Total number of entries of the copied tables. `tables` are the ranges of all tables.
    pub fn copied_entries(&self, tables: &[Range<usize>]) -> usize {
        let divisions = self.tables.iter().zip(tables);
        let copied = divisions.filter(|(division, _)| **division == TableDivision::Copied);
        copied.map(|(_, table)| table.len()).sum()
    }
}

/// Maximum number of entries of all copies, if a table of `entries` is summed onto tables of
/// `targets` entries in total, and a part has at least `per_copied` times as many entries as its
/// copies.
pub fn max_copied_entries(entries: usize, targets: usize, per_copied: usize) -> usize {
    if entries < 2 * MIN_PART {
        return 0;
    }
    (MAX_COPIES * targets).min(entries / per_copied)
}

/// Minimum number of entries of a part. All parts together have `entries` entries. `for_copies` is
/// the minimum that pays for the part's copies of tables; it is zero if no table is copied.
fn min_part(entries: usize, for_copies: usize) -> usize {
    if for_copies == 0 {
        return MIN_PART.max(entries / MAX_PARTS);
    }
    min_part_with_copies(entries).max(for_copies)
}

/// Minimum number of entries of a part if any table is copied.
fn min_part_with_copies(entries: usize) -> usize {
    MIN_PART.max(entries.div_ceil(MAX_COPIES))
}

/// The number of entries of a table that `row` meets. `is_vector` is as in [`TargetTable`].
pub fn met_entries(row: &[u32], is_vector: bool) -> u32 {
    if is_vector { row[1] } else { 1 }
}

/// By block: the first entry of `table` that this block or a later one meets.
fn met_from(blocks: RowBlocks<'_>, table: &TargetTable) -> Vec<u32> {
    let mut met: Vec<u32> = blocks.ends().map(|(first, _)| first[table.word]).collect();
    for block in (1..met.len()).rev() {
        met[block - 1] = met[block - 1].min(met[block]);
    }
    met
}

/// Where a part may begin.
struct BlockStarts {
    /// By block: its first entry.
    entries: Vec<u32>,
    /// By block: how many tables, counted from the first, have no entry that is met both before
    /// this block and from it on.
    separated: Vec<usize>,
}

impl BlockStarts {
    /// The starts of `blocks`. Each of `tables` comes with what [`met_from`] returns for it.
    fn new<'a>(
        blocks: RowBlocks<'_>,
        tables: impl Iterator<Item = (&'a TargetTable, &'a [u32])>,
    ) -> Self {
        let entries: Vec<u32> = blocks.ends().map(|(first, _)| first[0]).collect();
        let mut separated = vec![usize::MAX; entries.len()];
        for (number, (table, met)) in tables.enumerate() {
            let mut end = 0;
            for ((separated, &met), (_, last)) in separated.iter_mut().zip(met).zip(blocks.ends()) {
                if met < end {
                    *separated = number.min(*separated);
                }
                end = end.max(last[table.word] + met_entries(last, table.is_vector));
            }
        }
        Self { entries, separated }
    }

    /// The first block of each part, where each part has at least `min_part` of all `entries`, and
    /// no two parts meet the same entry of the first `divided` tables.
    fn parts(&self, divided: usize, entries: usize, min_part: usize) -> Vec<usize> {
        let (mut starts, mut begin) = (vec![0], 0);
        for (block, (&first, &separated)) in self.entries.iter().zip(&self.separated).enumerate() {
            let first = first as usize;
            let is_long = first - begin >= min_part && first + min_part <= entries;
            if separated >= divided && is_long {
                starts.push(block);
                begin = first;
            }
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::engine::cpu::tree::layout::Layout;
    use crate::engine::cpu::tree::rows::{ROW_HEAD, write_rows};
    use crate::lowering::Optimisations;
    use crate::network::{Network, Variable, VariableId};

    /// The rows of a table over A, B, C with 8 x 64 x 128 entries, and the targets AC and B.
    fn rows_and_targets() -> (Vec<u32>, Vec<TargetTable>) {
        let row = |a: u32, b: u32| [(a * 64 + b) * 128, 128, a * 128, 1024 + b];
        let words = (0..8).flat_map(|a| (0..64).flat_map(move |b| row(a, b))).collect();
        let ac = TargetTable { word: 2, range: 0..1024, is_vector: true };
        let b = TargetTable { word: 3, range: 1024..1088, is_vector: false };
        (words, vec![ac, b])
    }

    #[test]
    fn parts_begin_where_the_divided_tables_are_separated() {
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        let mut cuts = 0;
        for _ in 0..300 {
            // Rows of ten entries, each a block. Each word mostly grows from row to row.
            let count = rng.random_range(1..60);
            let mut words = Vec::new();
            for row in 0..count {
                words.extend([row * 10, 10]);
                words.extend([0; 3].map(|_| row * 4 + rng.random_range(0..12)));
            }
            let blocks = RowBlocks { words: &words, stride: 5, rows: 1 };
            let table = |word| TargetTable { word, range: 0..1_000, is_vector: word == 3 };
            let tables = [3, 4, 2].map(table);
            let met = tables.each_ref().map(|table| met_from(blocks, table));
            let starts = BlockStarts::new(blocks, tables.iter().zip(met.iter().map(Vec::as_slice)));
            let rows: Vec<&[u32]> = words.chunks(5).collect();
            let separates = |row: usize, table: &TargetTable| {
                let end = |row: &&[u32]| row[table.word] + met_entries(row, table.is_vector);
                let end = rows[..row].iter().map(end).max();
                end <= rows[row..].iter().map(|row| row[table.word]).min()
            };
            let (entries, min_part) = (count as usize * 10, rng.random_range(1..100));
            for divided in 0..=3 {
                let mut expected = vec![0];
                for row in 1..count as usize {
                    let begin = expected[expected.len() - 1];
                    let is_long = (row - begin) * 10 >= min_part && entries - row * 10 >= min_part;
                    if is_long && tables[..divided].iter().all(|table| separates(row, table)) {
                        expected.push(row);
                    }
                }
                assert_eq!(starts.parts(divided, entries, min_part), expected);
                cuts += if divided == 3 { expected.len() - 1 } else { 0 };
            }
        }
        assert!(cuts > 30, "all three tables were separated {cuts} times");
    }

    #[test]
    fn the_first_and_last_row_of_a_block_meet_its_first_and_last_entries() {
        let variables = [3, 2, 40, 1, 4, 300].into_iter().enumerate().map(|(v, states)| {
            Variable::new(format!("v{v}"), (0..states).map(|state| format!("s{state}")))
        });
        let network = Network::markov("test", variables.collect(), vec![]).expect("it is valid");
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        for _ in 0..40 {
            let mut order: Vec<VariableId> = network.ids().collect();
            order.sort_by_cached_key(|_| rng.random_range(0..1_000));
            order.truncate(5);
            let mut port = || order.iter().copied().filter(|_| rng.random_bool(0.5)).collect();
            let ports: [Vec<VariableId>; 3] = std::array::from_fn(|_| port());
            let ports = ports.each_ref().map(Vec::as_slice);
            let layout = Layout::new(&network, &order, &ports, true, Optimisations::default());
            let mut words = Vec::new();
            write_rows(&layout, true, &[], &mut words);
            let stride = ROW_HEAD + layout.ports.len();
            for max_entries in [1, 100, MAX_BLOCK] {
                let rows = layout.rows_per_block(max_entries);
                for block in words.chunks(rows * stride) {
                    let rows: Vec<&[u32]> = block.chunks(stride).collect();
                    for (port, word) in layout.ports.iter().zip(ROW_HEAD..) {
                        let is_vector = port.is_vector;
                        let table = TargetTable { word, range: 0..0, is_vector };
                        let end = |row: &&[u32]| row[word] + met_entries(row, table.is_vector);
                        assert_eq!(rows.iter().map(|row| row[word]).min(), Some(rows[0][word]));
                        assert_eq!(rows.iter().map(end).max(), rows.last().map(end));
                    }
                }
            }
        }
    }

    #[test]
    fn large_tables_are_divided_and_small_ones_copied() {
        let (words, targets) = rows_and_targets();
        let rows = |rows| RowBlocks { words: &words, stride: 4, rows };
        let division = Division::new(rows(1), &targets, 1 << 16, Some(16));
        // A part for each state of A.
        let each = |length: usize| (0..8).map(|part| part * length..(part + 1) * length).collect();
        assert_eq!(division.parts, each(64) as Vec<Range<usize>>);
        assert_eq!(division.tables[0], TableDivision::Divided(each(128)));
        assert_eq!(division.tables[1], TableDivision::Copied);
        assert_eq!(division.copied_entries(&[0..1024, 1024..1088]), 64);
        assert!(64 * division.parts.len() <= max_copied_entries(1 << 16, 1088, 16));
        assert_eq!(Division::new(rows(1), &targets, 1 << 16, None), Division::default());
        let divided = Division::new(rows(1), &targets[..1], 1 << 16, None);
        assert_eq!(divided.parts, division.parts);
        let too_few = 2 * MIN_PART - 1;
        assert_eq!(Division::new(rows(1), &targets, too_few, Some(16)), Division::default());
        for block in [2, 64] {
            assert_eq!(Division::new(rows(block), &targets, 1 << 16, Some(16)), division);
        }
        let halves = Division::new(rows(256), &targets, 1 << 16, Some(16));
        assert_eq!(halves.parts, [0..256, 256..512]);
        assert_eq!(Division::new(rows(512), &targets, 1 << 16, Some(16)), Division::default());
    }

    #[test]
    fn small_tables_are_copied_even_if_there_are_many_large_ones() {
        // A table over A, B, C with 8 x 64 x 128 entries is summed onto `large` tables over AC, and
        // onto `small` tables over B, which all parts meet.
        for (large, small, expected) in [(8, 1, 8), (3, 20, 2)] {
            let row = |a: u32, b: u32| {
                let onto_large = (0..large).map(move |table| table * 1024 + a * 128);
                let onto_small = (0..small).map(move |table| large * 1024 + table * 64 + b);
                [(a * 64 + b) * 128, 128].into_iter().chain(onto_large).chain(onto_small)
            };
            let rows = (0..8).flat_map(|a| (0..64).map(move |b| (a, b)));
            let words: Vec<u32> = rows.flat_map(|(a, b)| row(a, b)).collect();
            let (large, small) = (large as usize, small as usize);
            let target = |table: usize| {
                let is_vector = table < large;
                let start = table.min(large) * 1024 + table.saturating_sub(large) * 64;
                let range = start..start + if is_vector { 1024 } else { 64 };
                TargetTable { word: 2 + table, range, is_vector }
            };
            let targets: Vec<TargetTable> = (0..large + small).map(target).collect();
            let blocks = RowBlocks { words: &words, stride: 2 + large + small, rows: 1 };
            let division = Division::new(blocks, &targets, 1 << 16, Some(16));
            assert_eq!(division.parts.len(), expected);
            let is_copied = |table: &TableDivision| *table == TableDivision::Copied;
            assert!(!division.tables[..large].iter().any(is_copied));
            assert!(division.tables[large..].iter().all(is_copied));
            let copies = 64 * small * expected;
            let total = 1024 * large + 64 * small;
            assert!(copies <= max_copied_entries(1 << 16, total, 16));
        }
    }

    #[test]
    fn a_lower_minimum_of_entries_per_copied_entry_allows_more_copies() {
        // A table over A, B, C with 8 x 64 x 128 entries is summed onto BC, which every state of A
        // meets.
        let row = |a: u32, b: u32| [(a * 64 + b) * 128, 128, b * 128];
        let words: Vec<u32> = (0..8).flat_map(|a| (0..64).flat_map(move |b| row(a, b))).collect();
        let blocks = RowBlocks { words: &words, stride: 3, rows: 1 };
        let (entries, target) = (1 << 16, 64 * 128);
        let tables = [TargetTable { word: 2, range: 0..target, is_vector: true }];
        assert_eq!(Division::new(blocks, &tables, entries, Some(16)), Division::default());
        let division = Division::new(blocks, &tables, entries, Some(4));
        assert_eq!(division.tables, [TableDivision::Copied]);
        let copies = target * division.parts.len();
        assert!(division.parts.len() == 2 && copies <= max_copied_entries(entries, target, 4));
    }

    #[test]
    fn no_two_parts_meet_the_same_entry_of_a_divided_table() {
        let (words, mut targets) = rows_and_targets();
        // Four times as many entries in each row, so that more parts are wanted.
        let longer = |row: &[u32]| [row[0] * 4, 512, row[2] * 4, row[3]];
        let words: Vec<u32> = words.chunks(4).flat_map(longer).collect();
        targets[0].range = 0..4096;
        for tables in [&targets[..], &targets[..1], &targets[1..]] {
            let blocks = RowBlocks { words: &words, stride: 4, rows: 1 };
            let division = Division::new(blocks, tables, 1 << 18, Some(16));
            assert!(division.parts.len() > 1);
            let mut row = 0;
            for (number, part) in division.parts.iter().enumerate() {
                assert_eq!(part.start, row);
                row = part.end;
                for (table, division) in tables.iter().zip(&division.tables) {
                    let TableDivision::Divided(ranges) = division else { continue };
                    for row in words[part.start * 4..part.end * 4].chunks(4) {
                        let at = row[table.word] as usize;
                        let end = at + met_entries(row, table.is_vector) as usize;
                        assert!(ranges[number].start <= at && end <= ranges[number].end);
                    }
                    assert_eq!(ranges[0].start, table.range.start);
                    assert_eq!(ranges[ranges.len() - 1].end, table.range.end);
                    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
                }
            }
            assert_eq!(row, 512);
        }
    }
}
