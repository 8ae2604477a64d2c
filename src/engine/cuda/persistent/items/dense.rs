//! Items of rows that all have the same entries: which rows go together. [`records`](super::records)
//! writes them.

use super::layout::{Numbers, Stage, most, sort};
use super::records::Form;
use super::source::{Run, Source};
use super::{ALIGNMENT, HEADER, RECORD, STAGE};
use crate::network::VariableId;

/// Rows that are one item, and their stage.
pub(super) struct Tile<'a> {
    pub(super) rows: &'a [u32],
    /// Of each factor and finding, which of its parts on the stage each row needs.
    pub(super) of_rows: Vec<Vec<u32>>,
    /// Of each factor and finding, the distances on the stage between parts of rows and between
    /// entries of a run.
    pub(super) strides: Vec<(usize, usize)>,
    pub(super) stage: Stage,
}

impl Source<'_> {
    /// The rows tile by tile, and for each the number of its tile; `None` if there is no good tile.
    ///
    /// The last variables of rows are in the same factors, and so are those before them: a tile takes
    /// some states of both.
    pub(super) fn tiled(&self, run: &Run) -> Option<(Vec<usize>, Vec<u32>)> {
        let (wanted, _) = self.wanted(self.part.rows.len() * run.entries.len());
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
        let form = Form::new(self, run, self.part.rows.len());
        let of_stream = usize::from(self.has_own_entries()) * (width + width / 8);
        let (mut best, mut least) = (None, f64::INFINITY);
        for tb in 1..=*b {
            for ta in 1..=*a {
                let (rows, words) = (ta * tb, words(ta, tb));
                let all_words = HEADER + rows * (of_stream + 4) + words + 4 * width + 128;
                let is_too_large = rows * width > wanted.max(width)
                    || words > STAGE
                    || (!form.splits && all_words > RECORD);
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
        let form = Form::new(self, run, all.len());
        let messages = self.factors.len();
        let mut numbers: Vec<Numbers> =
            self.offsets().map(|at| Numbers::new(most(&at.of_rows))).collect();
        let mut made = Vec::new();
        let mut next = 0;
        while next < all.len() {
            let first = next;
            let at_most = form.rows_of_item(all.len() - first);
            numbers.iter_mut().for_each(Numbers::clear);
            let mut distinct_rows: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let mut of_rows: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let is_near = |next: usize| match &tiles {
                Some(tiles) => tiles[next] == tiles[first],
                None => next - first < at_most,
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
                let in_first = if form.splits { 1 } else { next - first + 1 };
                let is_full = on_stage > STAGE || form.words(in_first, 1, on_stage) > RECORD;
                if next > first && is_full {
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
            let tile = Tile { rows: &all[first..next], of_rows, strides, stage };
            made.push(self.records(run, &form, &tile));
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
