//! Items of rows that list their products.

use super::layout::{Layout, Numbers, Stage, most, sort};
use super::source::Source;
use super::{NOWHERE, RECORD, STAGE, THREADS};

/// The place of the zero on the stage.
const ZERO: u32 = 4 * (1 + STAGE as u32);

impl Source<'_> {
    /// Items of rows that list their products.
    pub(super) fn sparse(&self) -> Vec<(Vec<u32>, u32)> {
        let all = &self.part.rows;
        let (_, wanted) = self.wanted(self.part.products as usize);
        let steps = (wanted / THREADS).max(1);
        let (pairs, of_findings) = self.pairs();
        let of_table = self.of_table();
        let width = of_table + pairs + of_findings;
        let messages = self.factors.len();
        let sizes = self.operation.factors.iter().map(|(_, scope)| scope.entries());
        let sizes =
            sizes.chain(self.findings.iter().map(|(_, at)| most(&at.of_rows) + most(&at.of_run)));
        let mut numbers: Vec<Numbers> = sizes.map(Numbers::new).collect();
        let mut made = Vec::new();
        let mut next = 0;
        while next < all.len() {
            let first = next;
            numbers.iter_mut().for_each(Numbers::clear);
            let mut distinct: Vec<Vec<u32>> = vec![vec![]; numbers.len()];
            let mut entries: Vec<(Vec<u32>, Vec<Vec<u32>>)> = Vec::new();
            let (mut longest, mut total) = (0, 0);
            while next < all.len() && next - first < 4 * THREADS {
                let row = all[next] as usize;
                let before: Vec<usize> = distinct.iter().map(Vec::len).collect();
                let mut of_row: (Vec<u32>, Vec<Vec<u32>>) = (vec![], vec![vec![]; numbers.len()]);
                self.products(row, |entry| {
                    of_row.0.push(entry as u32);
                    for (f, at) in self.offsets().enumerate() {
                        let at = at.at(row, entry);
                        let (number, is_new) = numbers[f].number(at);
                        if is_new {
                            distinct[f].push(at as u32);
                        }
                        of_row.1[f].push(number as u32);
                    }
                });
                let of_messages = distinct[..messages].iter();
                let words: usize = of_messages.map(|d| d.len().next_multiple_of(32)).sum();
                let of_findings: usize = distinct[messages..].iter().map(Vec::len).sum();
                let padded = longest.max(of_row.0.len()) * (entries.len() + 1);
                let on_stage = words + of_findings.next_multiple_of(32);
                let layout = Layout::new(longest.max(of_row.0.len()), next - first + 1, steps);
                let is_full = on_stage > STAGE
                    || layout.words(1, width) + on_stage + 4 > RECORD
                    || padded > wanted.max(2 * (total + of_row.0.len()))
                    || total + of_row.0.len() > wanted;
                if next > first && is_full {
                    for (distinct, before) in distinct.iter_mut().zip(before) {
                        distinct.truncate(before);
                    }
                    break;
                }
                longest = longest.max(of_row.0.len());
                total += of_row.0.len();
                entries.push(of_row);
                next += 1;
            }
            for (f, distinct) in distinct.iter_mut().enumerate() {
                let number = sort(distinct);
                for of_row in &mut entries {
                    of_row.1[f].iter_mut().for_each(|n| *n = number[*n as usize]);
                }
            }
            let mut stage = Stage::default();
            for (f, distinct) in distinct.iter().enumerate() {
                stage.begin(f, messages);
                for &at in distinct {
                    stage.push(self.source(f, at as usize));
                }
            }
            stage.end(messages);
            let rows = &all[first..next];
            let layout = Layout::new(longest, rows.len(), steps);
            let mut of_slots: Vec<u32> =
                rows.iter().map(|&row| self.places[row as usize]).collect();
            of_slots.resize(layout.slots(), NOWHERE);
            let no_product = if of_table == 0 { ZERO } else { 0 };
            let mut stream =
                vec![no_product; layout.passes * layout.steps * width * layout.threads];
            for (slot, (&row, of_row)) in rows.iter().zip(&entries).enumerate() {
                for (i, &entry) in of_row.0.iter().enumerate() {
                    let at = layout.at(slot, i, width);
                    if let Some(table) = self.table {
                        stream[at] = self.value(table, row, entry);
                    }
                    for n in 0..pairs + of_findings {
                        let (slot, end) = match n.checked_sub(pairs) {
                            None => (2 * n, messages),
                            Some(n) => (messages + 2 * n, numbers.len()),
                        };
                        let place = |f: usize| match f < end {
                            true => 4 * (1 + stage.starts[f] as u32 + of_row.1[f][i]),
                            false => 0,
                        };
                        stream[at + (of_table + n) * layout.threads] =
                            place(slot) | place(slot + 1) << 16;
                    }
                }
            }
            made.push(self.record(&self.fixed(rows), Some(&stage), layout, None, of_slots, stream));
        }
        made
    }
}
