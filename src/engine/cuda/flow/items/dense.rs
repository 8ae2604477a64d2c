//! Items of rows that all have the same entries.

use super::layout::{Layout, Numbers, Stage, most, sort};
use super::source::{Run, Source};
use super::{ALIGNMENT, HEADER, NOWHERE, RECORD, STAGE, THREADS};
use crate::network::VariableId;

impl Source<'_> {
    /// The rows tile by tile, and for each the number of its tile; `None` if there is no good tile.
    ///
    /// The last variables of rows are in the same factors, and so are those before them: a tile takes
    /// some states of both.
    pub(super) fn tiled(&self, run: &Run) -> Option<(Vec<usize>, Vec<u32>)> {
        let wanted = self.wanted(self.part.rows.len() * run.entries.len());
        let holds = |variable: VariableId| -> Vec<bool> {
            let factors = self.operation.factors.iter().map(|(_, scope)| scope.contains(variable));
            factors.chain(self.operation.findings.iter().map(|v| *v == variable)).collect()
        };
        let scope = &self.operation.rows;
        let mut groups: Vec<(Vec<bool>, usize)> = Vec::new();
        for (&variable, &states) in scope.variables().iter().zip(scope.cardinalities()).rev() {
            let holds = holds(variable);
            let count = groups.len();
            match groups.last_mut() {
                Some((same, size)) if *same == holds => *size *= states,
                _ if count == 2 => break,
                _ => groups.push((holds, states)),
            }
        }
        let [(of_b, b), (of_a, a)] = groups.as_slice() else { return None };
        let words = |ta: usize, tb: usize| -> usize {
            let widths = run.offsets.iter().map(Vec::len).enumerate();
            let words = widths.map(|(f, width)| {
                let rows = if of_a[f] { ta } else { 1 } * if of_b[f] { tb } else { 1 };
                (width * rows).next_multiple_of(32)
            });
            words.sum()
        };
        let width = run.entries.len();
        let (mut best, mut least) = (None, f64::INFINITY);
        for tb in 1..=*b {
            for ta in 1..=*a {
                let (rows, words) = (ta * tb, words(ta, tb));
                let is_too_large = rows * width > wanted.max(width)
                    || words > STAGE
                    || HEADER + rows * (width + width / 8 + 4) + words + 4 * width + 128 > RECORD;
                if is_too_large {
                    break;
                }
                // Words that are read from messages, and the price of an item, by entry.
                let price = (words + 400) as f64 / (rows * width) as f64;
                if price < least {
                    (best, least) = (Some((ta, tb)), price);
                }
            }
        }
        let (ta, tb) = best.filter(|&(ta, tb)| ta > 1 && tb < *b)?;
        let key = |row: u32| {
            let (rest, of_b) = (row as usize / b, row as usize % b);
            (rest / a, rest % a / ta, of_b / tb)
        };
        let mut rows: Vec<_> = self.part.rows.iter().map(|&row| (key(row), row)).collect();
        rows.sort_unstable();
        let mut tile = 0;
        let mut tiles = Vec::with_capacity(rows.len());
        for n in 0..rows.len() {
            tile += usize::from(n > 0 && rows[n].0 != rows[n - 1].0);
            tiles.push(tile);
        }
        Some((tiles, rows.into_iter().map(|(_, row)| row).collect()))
    }

    /// Items of rows with all entries of runs.
    pub(super) fn dense(
        &self,
        run: &Run,
        tiles: Option<Vec<usize>>,
        all: Vec<u32>,
    ) -> Vec<(Vec<u32>, u32)> {
        let width = run.entries.len();
        let wanted = self.wanted(all.len() * width);
        let steps = (wanted / THREADS).max(1);
        let (pairs, of_findings) = self.pairs();
        let all_pairs = pairs + of_findings;
        let messages = self.factors.len();
        let mut numbers: Vec<Numbers> =
            self.offsets().map(|at| Numbers::new(most(&at.of_rows))).collect();
        let mut made = Vec::new();
        let mut next = 0;
        while next < all.len() {
            let most = Layout::new(width, all.len() - next, steps);
            let passes = (wanted / (THREADS * most.steps)).max(1);
            let first = next;
            numbers.iter_mut().for_each(Numbers::clear);
            let mut distinct_rows: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let mut of_rows: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let is_near = |next: usize| match &tiles {
                Some(tiles) => tiles[next] == tiles[first],
                None => next - first < passes * most.rows(),
            };
            while next < all.len() && is_near(next) {
                let row = all[next] as usize;
                let mut chunks = [0, 0];
                let mut added = Vec::new();
                for (f, at) in self.offsets().enumerate() {
                    let (number, is_new) = numbers[f].number(at.of_rows[row] as usize);
                    added.push((number, is_new));
                    let count = numbers[f].count * run.offsets[f].len();
                    chunks[usize::from(f >= messages)] +=
                        if f >= messages { count } else { count.next_multiple_of(32) };
                }
                let on_stage = chunks[0] + chunks[1].next_multiple_of(32);
                let layout = Layout::new(width, next - first + 1, steps);
                let list = layout.lanes * layout.steps * all_pairs + 4;
                let words = layout.words(1 + all_pairs, 1) + list + on_stage + 4;
                if next > first && (on_stage > STAGE || words > RECORD) {
                    break;
                }
                for (f, at) in self.offsets().enumerate() {
                    of_rows[f].push(added[f].0 as u32);
                    if added[f].1 {
                        distinct_rows[f].push(at.of_rows[row]);
                    }
                }
                next += 1;
            }
            for (distinct, of_rows) in distinct_rows.iter_mut().zip(&mut of_rows) {
                let number = sort(distinct);
                of_rows.iter_mut().for_each(|n| *n = number[*n as usize]);
            }
            // Distances on the stage between rows and between entries of a run.
            let mut strides = Vec::new();
            let mut stage = Stage::default();
            for (f, rows) in distinct_rows.iter().enumerate() {
                stage.begin(f, messages);
                let entries = &run.offsets[f];
                let by_row: Vec<u32> = rows
                    .iter()
                    .flat_map(|row| {
                        entries.iter().map(move |entry| self.source(f, (row + entry) as usize))
                    })
                    .collect();
                let by_entry: Vec<u32> = entries
                    .iter()
                    .flat_map(|entry| {
                        rows.iter().map(move |row| self.source(f, (row + entry) as usize))
                    })
                    .collect();
                // Whichever reads fewer sectors of the cache.
                if sectors(&by_entry) < sectors(&by_row) {
                    strides.push((1, rows.len()));
                    by_entry.into_iter().for_each(|source| stage.push(source));
                } else {
                    strides.push((entries.len(), 1));
                    by_row.into_iter().for_each(|source| stage.push(source));
                }
            }
            stage.end(messages);
            let rows = &all[first..next];
            let layout = Layout::new(width, rows.len(), steps);
            let slot = |n: usize| if n < pairs { 2 * n } else { messages + 2 * (n - pairs) };
            let end = |n: usize| if n < pairs { messages } else { numbers.len() };
            let pair = |n: usize, place: &dyn Fn(usize) -> usize| -> u32 {
                let of = |f: usize| if f < end(n) { place(f) as u32 } else { 0 };
                of(slot(n)) | of(slot(n) + 1) << 16
            };
            let mut list = vec![0; (layout.lanes * layout.steps * all_pairs).next_multiple_of(4)];
            for i in 0..width {
                for n in 0..all_pairs {
                    list[i * all_pairs + n] =
                        pair(n, &|f| 4 * run.numbers[f][i] as usize * strides[f].1);
                }
            }
            let mut of_slots: Vec<u32> =
                rows.iter().map(|&row| self.places[row as usize]).collect();
            of_slots.resize(layout.slots(), NOWHERE);
            for n in 0..all_pairs {
                let place = |slot: usize| {
                    pair(n, &|f| {
                        let number = of_rows[f][slot] as usize;
                        4 * (1 + stage.starts[f] + number * strides[f].0)
                    })
                };
                of_slots.extend((0..rows.len()).map(place));
                of_slots.resize((2 + n) * layout.slots(), 0);
            }
            let mut stream = vec![0; layout.passes * layout.steps * layout.threads];
            for (slot, &row) in rows.iter().enumerate() {
                for (i, &entry) in run.entries.iter().enumerate() {
                    stream[layout.at(slot, i, 1)] = self.value(row, entry);
                }
            }
            made.push(self.record(rows, &stage, layout, Some(list), of_slots, stream));
        }
        made
    }
}

/// Sectors of the cache that warps read for these words of the stage.
fn sectors(sources: &[u32]) -> usize {
    let of_warp = |sources: &[u32]| {
        sources
            .windows(2)
            .filter(|pair| pair[0] / ALIGNMENT as u32 != pair[1] / ALIGNMENT as u32)
            .count()
    };
    sources.chunks(32).map(of_warp).sum()
}
