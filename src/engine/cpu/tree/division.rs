//! Division of a large table's rows into parts that threads sum at the same time.
//!
//! The rows of a part are consecutive. A table onto which rows are summed is either *divided*, if
//! no two parts meet the same entry of it, or *copied*: then each part has a copy of its own, and
//! the copies are added in the order of the parts. Divided tables cost nothing, so as few tables
//! as possible are copied. [`Layout`](super::layout::Layout) orders the variables so that distant
//! rows meet different entries of the largest tables.
//!
//! The division depends on the rows alone, so the number of threads changes no bit of a sum.

use std::cmp::Reverse;
use std::ops::Range;

// If one of these constants is wrong, only speed and memory change (and last bits of results).

/// Minimum number of entries of a part: about 20 microseconds of work, twice as long as waking a
/// thread takes. With parts of a quarter of this size, 16 threads took twice as long on Munin4 and
/// Diabetes. A table with less than twice as many entries is not divided.
const MIN_PART: usize = 32_768;

/// Maximum number of parts. More parts balance the threads better, but each costs a little.
const MAX_PARTS: usize = 64;

/// Maximum number of parts if a table is copied, because each part then takes memory for a copy.
const MAX_COPIES: usize = 16;

/// A part has at least this many times as many entries as its copies of tables, so that adding up
/// the copies costs little.
const MIN_ENTRIES_PER_COPIED: usize = 16;

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
    /// Divides the rows that `words` describe, `stride` words each. They have `entries` entries in
    /// total and are summed onto `tables`. Tables are copied only if `may_copy`.
    pub fn new(
        words: &[u32],
        stride: usize,
        tables: &[TargetTable],
        entries: usize,
        may_copy: bool,
    ) -> Self {
        if entries < 2 * MIN_PART {
            return Self::default();
        }
        let met: Vec<Vec<u32>> =
            tables.iter().map(|table| met_from(words, stride, table)).collect();
        let mut by_size: Vec<usize> = (0..tables.len()).collect();
        by_size.sort_by_key(|&table| Reverse(tables[table].range.len()));
        let mut best: Vec<usize> = Vec::new();
        let mut best_divided = 0;
        let mut divided = tables.len();
        loop {
            let (chosen, copied) = by_size.split_at(divided);
            let copied = copied.iter().map(|&table| tables[table].range.len()).sum();
            let min_part = min_part(entries, copied);
            if copied == 0 || may_copy && entries >= 2 * min_part {
                let chosen = chosen.iter().map(|&table| (&tables[table], &*met[table]));
                let starts = starts(words, stride, &chosen.collect::<Vec<_>>(), entries, min_part);
                if starts.len() > best.len() {
                    (best, best_divided) = (starts, divided);
                }
            }
            // Once there are half as many parts as copies allow, no further table is copied.
            let enough = entries / min_part_with_copies(entries) / 2;
            if divided == 0 || best.len() >= enough.max(2) {
                break;
            }
            // Of many tables, half are tried next, so that few divisions are tried.
            divided = if divided <= 6 { divided - 1 } else { divided / 2 };
        }
        if best.len() < 2 {
            return Self::default();
        }
        let rows = words.len() / stride;
        let ends = best.iter().skip(1).copied().chain([rows]);
        let parts: Vec<Range<usize>> = best.iter().zip(ends).map(|(&a, b)| a..b).collect();
        let divide = |table: usize| {
            if by_size[best_divided..].contains(&table) {
                return TableDivision::Copied;
            }
            let Range { start, end } = tables[table].range;
            let first = |row: usize| if row == 0 { start } else { met[table][row] as usize };
            let next = |row: usize| if row == rows { end } else { first(row) };
            let ranges = parts.iter().map(|part| first(part.start)..next(part.end));
            TableDivision::Divided(ranges.collect())
        };
        let tables = (0..tables.len()).map(divide).collect();
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
/// `targets` entries in total.
pub fn max_copied_entries(entries: usize, targets: usize) -> usize {
    if entries < 2 * MIN_PART {
        return 0;
    }
    (MAX_COPIES * targets).min(entries / MIN_ENTRIES_PER_COPIED)
}

/// Minimum number of entries of a part if tables of `copied` entries in total are copied for each
/// part, and all parts together have `entries` entries.
fn min_part(entries: usize, copied: usize) -> usize {
    if copied == 0 {
        return MIN_PART.max(entries / MAX_PARTS);
    }
    min_part_with_copies(entries).max(MIN_ENTRIES_PER_COPIED * copied)
}

/// Minimum number of entries of a part if any table is copied.
fn min_part_with_copies(entries: usize) -> usize {
    MIN_PART.max(entries.div_ceil(MAX_COPIES))
}

/// The number of entries of `table` that a row meets.
fn met_entries(row: &[u32], table: &TargetTable) -> u32 {
    if table.is_vector { row[1] } else { 1 }
}

/// By row: the first entry of `table` that this row or a later one meets.
fn met_from(words: &[u32], stride: usize, table: &TargetTable) -> Vec<u32> {
    let first = |row: &[u32]| row[table.word];
    let mut met: Vec<u32> = words.chunks_exact(stride).map(first).collect();
    for row in (1..met.len()).rev() {
        met[row - 1] = met[row - 1].min(met[row]);
    }
    met
}

/// The first row of each part, where each part has at least `min_part` of all `entries` and no two
/// parts meet the same entry of `tables`. Each table comes with what [`met_from`] returns for it.
fn starts(
    words: &[u32],
    stride: usize,
    tables: &[(&TargetTable, &[u32])],
    mut entries: usize,
    min_part: usize,
) -> Vec<usize> {
    let mut starts = vec![0];
    let mut ends = vec![0; tables.len()];
    let mut in_part = 0;
    for (number, row) in words.chunks_exact(stride).enumerate() {
        if in_part >= min_part && entries >= min_part {
            let is_clean = |((_, met), end): (&(_, &[u32]), &u32)| *end <= met[number];
            if tables.iter().zip(&ends).all(is_clean) {
                starts.push(number);
                in_part = 0;
            }
        }
        for ((table, _), end) in tables.iter().zip(&mut ends) {
            *end = (*end).max(row[table.word] + met_entries(row, table));
        }
        in_part += row[1] as usize;
        entries = entries.saturating_sub(row[1] as usize);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a table over A, B, C with 8 x 64 x 128 entries, and the targets AC and B.
    fn rows_and_targets() -> (Vec<u32>, Vec<TargetTable>) {
        let row = |a: u32, b: u32| [(a * 64 + b) * 128, 128, a * 128, 1024 + b];
        let words = (0..8).flat_map(|a| (0..64).flat_map(move |b| row(a, b))).collect();
        let ac = TargetTable { word: 2, range: 0..1024, is_vector: true };
        let b = TargetTable { word: 3, range: 1024..1088, is_vector: false };
        (words, vec![ac, b])
    }

    #[test]
    fn large_tables_are_divided_and_small_ones_copied() {
        let (words, targets) = rows_and_targets();
        let division = Division::new(&words, 4, &targets, 1 << 16, true);
        assert_eq!(division.parts, [0..256, 256..512]);
        assert_eq!(division.tables[0], TableDivision::Divided(vec![0..512, 512..1024]));
        assert_eq!(division.tables[1], TableDivision::Copied);
        assert_eq!(division.copied_entries(&[0..1024, 1024..1088]), 64);
        assert!(64 * division.parts.len() <= max_copied_entries(1 << 16, 1088));
        assert_eq!(Division::new(&words, 4, &targets, 1 << 16, false), Division::default());
        let divided = Division::new(&words, 4, &targets[..1], 1 << 16, false);
        assert_eq!(divided.parts, division.parts);
        assert_eq!(Division::new(&words, 4, &targets, 1 << 15, true), Division::default());
    }

    #[test]
    fn no_two_parts_meet_the_same_entry_of_a_divided_table() {
        let (words, mut targets) = rows_and_targets();
        // Four times as many entries in each row, so that more parts are wanted.
        let longer = |row: &[u32]| [row[0] * 4, 512, row[2] * 4, row[3]];
        let words: Vec<u32> = words.chunks(4).flat_map(longer).collect();
        targets[0].range = 0..4096;
        for tables in [&targets[..], &targets[..1], &targets[1..]] {
            let division = Division::new(&words, 4, tables, 1 << 18, true);
            assert!(division.parts.len() > 1);
            let mut row = 0;
            for (number, part) in division.parts.iter().enumerate() {
                assert_eq!(part.start, row);
                row = part.end;
                for (table, division) in tables.iter().zip(&division.tables) {
                    let TableDivision::Divided(ranges) = division else { continue };
                    for row in words[part.start * 4..part.end * 4].chunks(4) {
                        let at = row[table.word] as usize;
                        let end = at + met_entries(row, table) as usize;
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
