//! The loop over rows on the way down, for all kinds of tables.
//!
//! Along a row, the product at entry i is
//!
//! ```text
//! product[i] = factor * values[i] * stream_1[i] * ... * stream_n[i]
//! ```
//!
//! A *stream* is the numbers that the row meets in a table, one for each entry of the row. `factor`
//! is the product of everything that is constant along the row. The product is added to each table
//! onto which the row is summed. The loop is compiled separately for zero to three streams, and for
//! zero to three such tables that the row meets in several entries. So the products stay in
//! registers, and each entry of a stream or a table is read once.

use crate::engine::cpu::pass::kernel::RowBuffer;
use crate::engine::cpu::tree::rows::{SumWord, SumWords};
use crate::engine::cpu::vector::{add, sum_lanes};
use crate::potential::Entry;

/// Number of products that are computed at a time. Changing it changes the last bits of sums.
const LANES: usize = 8;

/// Number of products that are computed at a time at the end of a row, where fewer than [`LANES`]
/// are left. Changing it changes the last bits of sums.
const LAST_LANES: usize = 4;

/// A table, and the position in a row of the word that points into it.
pub type Column<'a, T = f64> = (&'a [T], usize);

/// The tables to which the products of a row are added.
#[derive(Clone, Copy)]
pub struct Onto<'a> {
    /// The words of a row that point into the tables.
    pub words: &'a SumWords,
    /// Whether the products stay in registers while they are added to the tables. Otherwise they
    /// are written into a buffer, which is read again for each table.
    pub fuses_sums: bool,
}

/// Rows, and the columns that vary along them.
pub struct Columns<'a, T> {
    /// The words of all rows, `stride` each.
    pub words: &'a [u32],
    pub stride: usize,
    /// The column of `values` in the product: the clique's table or, if that is factored, the first
    /// column that varies along a row.
    pub values: Column<'a, T>,
    /// The columns of the streams.
    pub streams: &'a [Column<'a>],
}

impl<T: Entry> Columns<'_, T> {
    /// Adds the products of all rows to `sums`, which `onto` points into. `factor` gives the
    /// product of everything that is constant along a row; `None` to skip the row.
    #[inline(always)]
    pub fn distribute(
        &self,
        factor: impl Fn(&[u32]) -> Option<f64>,
        onto: Onto<'_>,
        buffer: &mut RowBuffer,
        sums: &mut [f64],
    ) {
        match *self.streams {
            _ if !onto.fuses_sums => self.distribute_buffered(factor, onto.words, buffer, sums),
            [] => self.distribute_streams([], factor, onto.words, buffer, sums),
            [a] => self.distribute_streams([a], factor, onto.words, buffer, sums),
            [a, b] => self.distribute_streams([a, b], factor, onto.words, buffer, sums),
            [a, b, c] => self.distribute_streams([a, b, c], factor, onto.words, buffer, sums),
            _ => self.distribute_buffered(factor, onto.words, buffer, sums),
        }
    }

    /// As [`distribute`](Self::distribute), for `N` streams.
    #[inline(always)]
    fn distribute_streams<const N: usize>(
        &self,
        streams: [Column<'_>; N],
        factor: impl Fn(&[u32]) -> Option<f64>,
        onto: &SumWords,
        buffer: &mut RowBuffer,
        sums: &mut [f64],
    ) {
        let scalars = &*onto.scalars;
        match *onto.vectors {
            [] => self.distribute_onto(streams, factor, (scalars, []), sums),
            [a] => self.distribute_onto(streams, factor, (scalars, [a]), sums),
            [a, b] => self.distribute_onto(streams, factor, (scalars, [a, b]), sums),
            [a, b, c] => self.distribute_onto(streams, factor, (scalars, [a, b, c]), sums),
            _ => self.distribute_buffered(factor, onto, buffer, sums),
        }
    }

    /// As [`distribute`](Self::distribute), for `N` streams and `V` tables that a row meets in
    /// several entries.
    #[inline(always)]
    fn distribute_onto<const N: usize, const V: usize>(
        &self,
        streams: [Column<'_>; N],
        factor: impl Fn(&[u32]) -> Option<f64>,
        (scalars, vectors): (&[SumWord], [SumWord; V]),
        sums: &mut [f64],
    ) {
        for row in self.words.chunks_exact(self.stride) {
            let Some(factor) = factor(row) else { continue };
            let values = stream(self.values, row);
            let streams = row_streams(streams, row);
            let mut met = [const { 0..0 }; V];
            for (met, word) in met.iter_mut().zip(&vectors) {
                let start = word.at(row);
                *met = start..start + values.len();
            }
            let onto = sums.get_disjoint_mut(met).expect("ports have tables of their own");
            let sum = add_products(values, streams, factor, onto);
            scalars.iter().for_each(|word| sums[word.at(row)] += sum);
        }
    }

    /// As [`distribute`](Self::distribute), for any number of streams and of tables. The products
    /// of a row are written into `buffer`.
    #[inline(always)]
    fn distribute_buffered(
        &self,
        factor: impl Fn(&[u32]) -> Option<f64>,
        onto: &SumWords,
        buffer: &mut RowBuffer,
        sums: &mut [f64],
    ) {
        for row in self.words.chunks_exact(self.stride) {
            let Some(factor) = factor(row) else { continue };
            let values = stream(self.values, row);
            let buffer = &mut buffer[..values.len()];
            buffer.iter_mut().zip(values).for_each(|(b, value)| *b = factor * value.to_f64());
            for &column in self.streams {
                buffer.iter_mut().zip(stream(column, row)).for_each(|(b, x)| *b *= x);
            }
            for &word in &onto.vectors {
                let at = word.at(row);
                add(&mut sums[at..at + buffer.len()], buffer);
            }
            if !onto.scalars.is_empty() {
                let sum = add_products(&*buffer, [], 1.0, []);
                onto.scalars.iter().for_each(|word| sums[word.at(row)] += sum);
            }
        }
    }
}

/// The streams of `columns` along `row`. This is a loop because the compiler does not inline the
/// method `map` of arrays here, and calling it takes as long as a short row.
#[inline(always)]
pub fn row_streams<'a, const N: usize>(columns: [Column<'a>; N], row: &[u32]) -> [&'a [f64]; N] {
    let mut streams: [&[f64]; N] = [&[]; N];
    streams.iter_mut().zip(&columns).for_each(|(found, &column)| *found = stream(column, row));
    streams
}

/// The numbers of a column that `row` meets: one for each entry of the row. Word 1 of a row is its
/// number of entries.
#[inline(always)]
pub fn stream<'a, T>((table, word): Column<'a, T>, row: &[u32]) -> &'a [T] {
    &table[row[word] as usize..][..row[1] as usize]
}

/// Adds the products of a row to all tables `onto`, and returns their sum. All slices have the same
/// length.
#[inline(always)]
fn add_products<T: Entry, const N: usize, const V: usize>(
    values: &[T],
    streams: [&[f64]; N],
    factor: f64,
    onto: [&mut [f64]; V],
) -> f64 {
    let (blocks, values) = values.as_chunks::<LANES>();
    let count = blocks.len();
    // The lengths are the same, but the compiler only knows what is sliced here.
    let stream_blocks = streams.map(|stream| &stream.as_chunks::<LANES>().0[..count]);
    let streams = streams.map(|stream| &stream[count * LANES..][..values.len()]);
    let mut onto = onto.map(|table| {
        let (blocks, last) = table.as_chunks_mut::<LANES>();
        (&mut blocks[..count], &mut last[..values.len()])
    });
    let mut sums = [0.0; LANES];
    for (block, values) in blocks.iter().enumerate() {
        let onto = onto.each_mut().map(|(blocks, _)| &mut blocks[block]);
        let streams = stream_blocks.map(|blocks| &blocks[block]);
        add_block(values, streams, factor, onto, &mut sums);
    }
    let mut total = sum_lanes(sums);
    let mut done = 0;
    if let Some(values) = values.first_chunk() {
        let mut sums = [0.0; LAST_LANES];
        let onto = onto.each_mut().map(|(_, last)| first_chunk_mut(last));
        let streams = streams.map(first_chunk);
        add_block::<T, LAST_LANES, N, V>(values, streams, factor, onto, &mut sums);
        total += sum_lanes(sums);
        done = LAST_LANES;
    }
    for at in done..values.len() {
        let product = streams.iter().fold(factor * values[at].to_f64(), |p, stream| p * stream[at]);
        onto.iter_mut().for_each(|(_, last)| last[at] += product);
        total += product;
    }
    total
}

/// Adds `L` products to all tables `onto`, and to `sums` lane by lane.
#[inline(always)]
fn add_block<T: Entry, const L: usize, const N: usize, const V: usize>(
    values: &[T; L],
    streams: [&[f64; L]; N],
    factor: f64,
    onto: [&mut [f64; L]; V],
    sums: &mut [f64; L],
) {
    let mut products = [0.0; L];
    products.iter_mut().zip(values).for_each(|(p, value)| *p = factor * value.to_f64());
    for stream in streams {
        products.iter_mut().zip(stream).for_each(|(p, x)| *p *= x);
    }
    for table in onto {
        table.iter_mut().zip(&products).for_each(|(entry, p)| *entry += p);
    }
    sums.iter_mut().zip(&products).for_each(|(sum, p)| *sum += p);
}

/// The first [`LAST_LANES`] numbers of `values`.
#[inline(always)]
fn first_chunk(values: &[f64]) -> &[f64; LAST_LANES] {
    values.first_chunk().expect("all slices of a row have the same length")
}

/// As [`first_chunk`], but mutable.
#[inline(always)]
fn first_chunk_mut(values: &mut [f64]) -> &mut [f64; LAST_LANES] {
    values.first_chunk_mut().expect("all slices of a row have the same length")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of entries of each table onto which rows are summed.
    const TABLE_ENTRIES: usize = 64;

    /// Distributes one row of `length` entries with `streams` streams onto `vectors` tables that it
    /// meets in several entries, and then onto one that it meets in a single entry. All products
    /// are halved. All entries of the tables are one at first. Returns the tables afterwards, and
    /// the expected tables.
    fn distribute_row(
        tables: &[Vec<f64>],
        (length, streams, vectors): (usize, usize, usize),
        fuses_sums: bool,
    ) -> (Vec<f64>, Vec<f64>) {
        // The first word points at the values and at all streams.
        let starts = (0..=vectors).map(|target| (TABLE_ENTRIES * target) as u32);
        let row: Vec<u32> = [0, length as u32].into_iter().chain(starts).collect();
        let mut words = SumWords::default();
        for target in 0..=vectors {
            words.push(SumWord { word: 2 + target as u32, shift: 0 }, target < vectors);
        }
        let columns: Vec<Column<'_>> =
            tables[1..=streams].iter().map(|table| (&**table, 0)).collect();
        let values = (&*tables[0], 0);
        let rows = Columns { words: &row, stride: row.len(), values, streams: &columns };
        let mut sums = vec![1.0; TABLE_ENTRIES * (vectors + 1)];
        let onto = Onto { words: &words, fuses_sums };
        rows.distribute(|_| Some(0.5), onto, &mut [0.0; 1024], &mut sums);
        let products: Vec<f64> = (0..length)
            .map(|at| 0.5 * tables[..=streams].iter().map(|table| table[at]).product::<f64>())
            .collect();
        let mut expected = vec![1.0; sums.len()];
        for target in expected.chunks_exact_mut(TABLE_ENTRIES).take(vectors) {
            add(&mut target[..length], &products);
        }
        expected[TABLE_ENTRIES * vectors] += products.iter().sum::<f64>();
        (sums, expected)
    }

    #[test]
    fn a_row_of_any_length_is_added_to_all_tables_that_it_meets() {
        // Sums of such products are exact in any order.
        let entry = |table: usize, at: usize| (1 + (at * 7 + table * 3) % 5) as f64;
        let tables: Vec<Vec<f64>> =
            (0..6).map(|table| (0..50).map(|at| entry(table, at)).collect()).collect();
        for length in 1..50 {
            for (streams, vectors) in (0..6).flat_map(|streams| (0..5).map(move |v| (streams, v))) {
                for fuses_sums in [true, false] {
                    let row = (length, streams, vectors);
                    let (sums, expected) = distribute_row(&tables, row, fuses_sums);
                    assert_eq!(sums, expected, "{row:?}, {fuses_sums}");
                }
            }
        }
    }
}
