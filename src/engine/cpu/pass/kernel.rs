//! The loop over the rows of a clique, in both passes and for all kinds of tables.
//!
//! The rows point into *columns*: the clique's table or, if that is
//! [factored](crate::engine::cpu::tables::factored), the tables of its factor groups; the messages;
//! and the weights. Along a row, a column is either constant or has one number for each entry of
//! the row. These numbers are a *stream*. The product at entry i of a row is
//!
//! ```text
//! product[i] = factor * values[i] * stream_1[i] * ... * stream_n[i]
//! ```
//!
//! `factor` is the product of the constant columns. `values` are the row's entries in the clique's
//! table; if the table is factored, they are the first stream. The products are added to each table
//! onto which the row is summed.
//!
//! The loop is compiled separately for zero to four streams, and for zero to three tables that the
//! row meets in several entries. So the products stay in registers, and each entry of a stream or a
//! table is read once. For more streams or tables there is a slower loop.
//!
//! Consecutive rows often meet the same entries of the largest separator. A loop that summed up to
//! 16 such rows block by block, so that these entries were read and written once, was slower: it
//! took 1.2 times as long on Barley, Mildew and Diabetes (one thread).
//!
//! See [`tree`](crate::engine::cpu::tree) for what a port is, [`rows`](crate::engine::cpu::tree::rows)
//! for the words of a row, and [`lanes`](crate::engine::lanes) for the instructions.

use std::any::Any;

use crate::engine::cpu::tables::factored::MAX_STREAMS;
use crate::engine::cpu::tables::table::CliqueTable;
use crate::engine::cpu::tree::rows::{ParentPort, PortWords, SumWord};
use crate::engine::cpu::vector::sum_lanes;
use crate::engine::lanes::{LANES, Lanes};
use crate::engine::simd::simd_dispatch;
use crate::potential::Entry;

/// Number of products that are computed at a time at the end of a row, where fewer than [`LANES`]
/// are left. Changing it changes the last bits of sums.
const LAST_LANES: usize = 4;

/// A table, and the position in a row of the word that points into it.
type Column<'a, T = f64> = (&'a [T], usize);

/// Columns that lie in one table, one after another.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub table: &'a [f64],
    /// The words of a row that point into the table.
    pub words: &'a PortWords,
}

/// Rows of a clique, and what their entries are multiplied by.
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    /// The words of all rows, `stride` each.
    pub words: &'a [u32],
    pub stride: usize,
    pub table: &'a CliqueTable<T>,
    /// The messages from children and the weights of private variables, which are in no other
    /// clique.
    pub messages: Inputs<'a>,
    /// The parent's port and the message from the parent; `None` at the root, and on the way up.
    pub from_parent: Option<(ParentPort, &'a [f64])>,
    /// A table that each row meets in a single entry, and the word that points into it. Rows that
    /// meet a zero are skipped.
    pub mask: Option<(&'a [f64], SumWord)>,
    /// Whether rows are skipped whose products are zero.
    pub skips_zeros: bool,
}

/// The words of a row that point into the tables to which the products of a row are added.
#[derive(Clone, Copy)]
pub struct Onto<'a> {
    /// As [`PortWords::scalars`].
    pub scalars: &'a [SumWord],
    /// As [`PortWords::vectors`].
    pub vectors: &'a [SumWord],
}

simd_dispatch!(
    /// Adds the products of `rows` to the tables in `sums`, which the words of `onto` point into:
    ///
    /// ```text
    /// sums[t] += sum over the entries x of the rows that agree with t of
    ///            table[x] * message from the parent at x * product of the messages at x
    /// ```
    pub sum_rows<Entry>, sum_rows_in with lanes,
    (rows: Rows<'_, T>, onto: Onto<'_>, sums: &mut [f64])
);

impl<'a> Inputs<'a> {
    /// The columns that vary along a row.
    #[inline(always)]
    fn varying(self) -> impl Iterator<Item = Column<'a>> + Clone {
        self.words.vectors.iter().map(move |&word| (self.table, word as usize))
    }

    /// `start` times the numbers of the columns that are constant along `row`.
    #[inline(always)]
    fn constant(self, row: &[u32], start: f64) -> f64 {
        let number = |&word: &u32| self.table[row[word as usize] as usize];
        self.words.scalars.iter().map(number).fold(start, |a, b| a * b)
    }
}

#[inline(always)]
fn sum_rows_in<L: Lanes, T: Entry>(lanes: L, rows: Rows<'_, T>, onto: Onto<'_>, sums: &mut [f64]) {
    let Rows { words, stride, table, messages, from_parent, mask, skips_zeros } = rows;
    let column = |(port, table): (ParentPort, _)| (table, port.word);
    let varying = from_parent.filter(|(port, _)| port.is_vector).map(column);
    let constant = from_parent.filter(|(port, _)| !port.is_vector).map(column);
    let groups = table.factored.as_ref().map(|t| Inputs { table: &t.values, words: &t.words });
    let factor = RowFactor { mask, from_parent: constant, groups, messages, skips_zeros };
    let of_groups = groups.into_iter().flat_map(Inputs::varying);
    let varying = of_groups.chain(varying).chain(messages.varying());
    let count = varying.clone().count();
    let mut few: [Column<'_>; MAX_STREAMS] = [(&[], 0); MAX_STREAMS];
    let many: Vec<Column<'_>>;
    let streams = if count <= MAX_STREAMS {
        few.iter_mut().zip(varying).for_each(|(place, column)| *place = column);
        &few[..count]
    } else {
        many = varying.collect();
        &many
    };
    if groups.is_none() {
        let columns = Columns { words, stride, values: (&table.values, 0), streams };
        columns.sum(lanes, factor, onto, sums);
    } else if let Some((&values, streams)) = streams.split_first() {
        Columns { words, stride, values, streams }.sum(lanes, factor, onto, sums);
    } else {
        sum_constant_rows(words, stride, factor, onto, sums);
    }
}

/// What is constant along a row.
#[derive(Clone, Copy)]
struct RowFactor<'a> {
    mask: Option<(&'a [f64], SumWord)>,
    /// The message from the parent, if it is constant along a row.
    from_parent: Option<Column<'a>>,
    groups: Option<Inputs<'a>>,
    messages: Inputs<'a>,
    skips_zeros: bool,
}

impl RowFactor<'_> {
    /// The product of all columns that are constant along `row`; `None` to skip the row.
    #[inline(always)]
    fn of(self, row: &[u32]) -> Option<f64> {
        if let Some((mask, word)) = self.mask
            && mask[word.at(row)] == 0.0
        {
            return None;
        }
        let mut factor = self.from_parent.map_or(1.0, |(table, word)| table[row[word] as usize]);
        if let Some(groups) = self.groups {
            factor = groups.constant(row, factor);
        }
        factor = self.messages.constant(row, factor);
        (factor != 0.0 || !self.skips_zeros).then_some(factor)
    }
}

/// Adds the products of rows to `sums` if all columns are constant along a row.
#[inline(always)]
fn sum_constant_rows(
    words: &[u32],
    stride: usize,
    factor: RowFactor<'_>,
    onto: Onto<'_>,
    sums: &mut [f64],
) {
    for row in words.chunks_exact(stride) {
        let Some(factor) = factor.of(row) else { continue };
        let length = row[1] as usize;
        for word in onto.vectors {
            let at = word.at(row);
            sums[at..at + length].iter_mut().for_each(|sum| *sum += factor);
        }
        let sum = factor * length as f64;
        onto.scalars.iter().for_each(|word| sums[word.at(row)] += sum);
    }
}

/// Rows, and the columns that vary along them.
struct Columns<'a, T> {
    /// The words of all rows, `stride` each.
    words: &'a [u32],
    stride: usize,
    /// The column of `values` in the product.
    values: Column<'a, T>,
    /// The columns of the streams.
    streams: &'a [Column<'a>],
}

impl<T: Entry> Columns<'_, T> {
    /// Adds the products of all rows to `sums`, which `onto` points into.
    #[inline(always)]
    fn sum(&self, lanes: impl Lanes, factor: RowFactor<'_>, onto: Onto<'_>, sums: &mut [f64]) {
        if onto.vectors.len() > 3 {
            return self.sum_many(lanes, factor, onto, sums);
        }
        match *self.streams {
            [] => self.sum_streams(lanes, [], factor, onto, sums),
            [a] => self.sum_streams(lanes, [a], factor, onto, sums),
            [a, b] => self.sum_streams(lanes, [a, b], factor, onto, sums),
            [a, b, c] => self.sum_streams(lanes, [a, b, c], factor, onto, sums),
            [a, b, c, d] => self.sum_streams(lanes, [a, b, c, d], factor, onto, sums),
            _ => self.sum_many(lanes, factor, onto, sums),
        }
    }

    /// As [`sum`](Self::sum), for `N` streams and at most three tables that a row meets in several
    /// entries.
    #[inline(always)]
    fn sum_streams<const N: usize>(
        &self,
        lanes: impl Lanes,
        streams: [Column<'_>; N],
        factor: RowFactor<'_>,
        onto: Onto<'_>,
        sums: &mut [f64],
    ) {
        let scalars = onto.scalars;
        match *onto.vectors {
            [] => self.sum_onto(lanes, streams, factor, (scalars, []), sums),
            [a] => self.sum_onto(lanes, streams, factor, (scalars, [a]), sums),
            [a, b] => self.sum_onto(lanes, streams, factor, (scalars, [a, b]), sums),
            [a, b, c] => self.sum_onto(lanes, streams, factor, (scalars, [a, b, c]), sums),
            _ => unreachable!("there is another loop for more tables"),
        }
    }

    /// As [`sum`](Self::sum), for `N` streams and `V` tables that a row meets in several entries.
    #[inline(always)]
    fn sum_onto<const N: usize, const V: usize>(
        &self,
        lanes: impl Lanes,
        streams: [Column<'_>; N],
        factor: RowFactor<'_>,
        (scalars, vectors): (&[SumWord], [SumWord; V]),
        sums: &mut [f64],
    ) {
        for row in self.words.chunks_exact(self.stride) {
            let Some(factor) = factor.of(row) else { continue };
            let values = stream(self.values, row);
            let streams = row_streams(streams, row);
            let mut met = [const { 0..0 }; V];
            for (met, word) in met.iter_mut().zip(&vectors) {
                let start = word.at(row);
                *met = start..start + values.len();
            }
            let onto = sums.get_disjoint_mut(met).expect("ports have tables of their own");
            let sum = add_products(lanes, values, streams, factor, onto);
            scalars.iter().for_each(|word| sums[word.at(row)] += sum);
        }
    }

    /// As [`sum`](Self::sum), for any number of streams and of tables. Each block of products stays
    /// in registers until it was added to all tables, but the loops over streams and tables are not
    /// unrolled.
    #[inline(always)]
    fn sum_many(&self, lanes: impl Lanes, factor: RowFactor<'_>, onto: Onto<'_>, sums: &mut [f64]) {
        for row in self.words.chunks_exact(self.stride) {
            let Some(factor) = factor.of(row) else { continue };
            let (blocks, last) = stream(self.values, row).as_chunks();
            let (factors, mut block_sums) = (lanes.splat(factor), lanes.splat(0.0));
            let mut at = 0;
            for values in blocks {
                let mut products = lanes.multiply(factors, load(lanes, values));
                for &(table, word) in self.streams {
                    let stream = &table[row[word] as usize + at..];
                    products = lanes.multiply(products, lanes.load(first_chunk(stream)));
                }
                for word in onto.vectors {
                    let table = first_chunk_mut(&mut sums[word.at(row) + at..]);
                    lanes.store(lanes.add(lanes.load(table), products), table);
                }
                block_sums = lanes.add(block_sums, products);
                at += LANES;
            }
            let mut sum = sum_lanes(lanes.to_array(block_sums));
            for value in last {
                let mut product = factor * value.to_f64();
                for &(table, word) in self.streams {
                    product *= table[row[word] as usize + at];
                }
                onto.vectors.iter().for_each(|word| sums[word.at(row) + at] += product);
                sum += product;
                at += 1;
            }
            onto.scalars.iter().for_each(|word| sums[word.at(row)] += sum);
        }
    }
}

/// The streams of `columns` along `row`. This is a loop because the compiler does not inline the
/// method `map` of arrays here, and calling it takes as long as a short row.
#[inline(always)]
fn row_streams<'a, const N: usize>(columns: [Column<'a>; N], row: &[u32]) -> [&'a [f64]; N] {
    let mut streams: [&[f64]; N] = [&[]; N];
    streams.iter_mut().zip(&columns).for_each(|(found, &column)| *found = stream(column, row));
    streams
}

/// The numbers of a column that `row` meets: one for each entry of the row. Word 1 of a row is its
/// number of entries.
#[inline(always)]
fn stream<'a, T>((table, word): Column<'a, T>, row: &[u32]) -> &'a [T] {
    &table[row[word] as usize..][..row[1] as usize]
}

/// Adds the products of a row to all tables `onto`, and returns their sum. All slices have the same
/// length.
///
/// Blocks of [`LANES`] products are added to two sums per lane by turns, so that an addition need
/// not wait for the one before it.
#[inline(always)]
fn add_products<L: Lanes, T: Entry, const N: usize, const V: usize>(
    lanes: L,
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
    let mut total = 0.0;
    if count > 0 {
        let splat = lanes.splat(factor);
        let (mut even, mut odd) = (lanes.splat(0.0), lanes.splat(0.0));
        let blocks = Blocks { lanes, values: blocks, streams: stream_blocks, factor: splat };
        let mut onto = onto.each_mut().map(|(blocks, _)| &mut **blocks);
        for pair in 0..count / 2 {
            even = blocks.add(2 * pair, &mut onto, even);
            odd = blocks.add(2 * pair + 1, &mut onto, odd);
        }
        if count % 2 == 1 {
            even = blocks.add(count - 1, &mut onto, even);
        }
        total = sum_lanes(lanes.to_array(lanes.add(even, odd)));
    }
    let mut done = 0;
    if let Some(values) = values.first_chunk() {
        let onto = onto.each_mut().map(|(_, last)| first_chunk_mut(last));
        total += add_last(values, streams.map(first_chunk), factor, onto);
        done = LAST_LANES;
    }
    for at in done..values.len() {
        let product = streams.iter().fold(factor * values[at].to_f64(), |p, stream| p * stream[at]);
        onto.iter_mut().for_each(|(_, last)| last[at] += product);
        total += product;
    }
    total
}

/// The blocks of a row.
struct Blocks<'a, L: Lanes, T, const N: usize> {
    lanes: L,
    values: &'a [[T; LANES]],
    streams: [&'a [[f64; LANES]]; N],
    /// The factor in each lane.
    factor: L::Numbers,
}

impl<L: Lanes, T: Entry, const N: usize> Blocks<'_, L, T, N> {
    /// Adds the products of block number `at` to the tables `onto`, and to `sums`, which it
    /// returns.
    #[inline(always)]
    fn add<const V: usize>(
        &self,
        at: usize,
        onto: &mut [&mut [[f64; LANES]]; V],
        sums: L::Numbers,
    ) -> L::Numbers {
        let Self { lanes, values, streams, factor } = *self;
        let mut products = lanes.multiply(factor, load(lanes, &values[at]));
        for stream in streams {
            products = lanes.multiply(products, lanes.load(&stream[at]));
        }
        for table in onto {
            let table = &mut table[at];
            lanes.store(lanes.add(lanes.load(table), products), table);
        }
        lanes.add(sums, products)
    }
}

/// Adds the products of the last entries of a row to all tables `onto`, and returns their sum.
#[inline(always)]
fn add_last<T: Entry, const N: usize, const V: usize>(
    values: &[T; LAST_LANES],
    streams: [&[f64; LAST_LANES]; N],
    factor: f64,
    onto: [&mut [f64; LAST_LANES]; V],
) -> f64 {
    let mut products = [0.0; LAST_LANES];
    products.iter_mut().zip(values).for_each(|(p, value)| *p = factor * value.to_f64());
    for stream in streams {
        products.iter_mut().zip(stream).for_each(|(p, x)| *p *= x);
    }
    for table in onto {
        table.iter_mut().zip(&products).for_each(|(entry, p)| *entry += p);
    }
    sum_lanes(products)
}

/// The numbers of `values`. If `T` is f64, they are loaded without conversion: the compiler decides
/// this.
#[inline(always)]
fn load<L: Lanes, T: Entry>(lanes: L, values: &[T; LANES]) -> L::Numbers {
    match (values as &dyn Any).downcast_ref() {
        Some(values) => lanes.load(values),
        None => {
            let mut converted = [0.0; LANES];
            converted.iter_mut().zip(values).for_each(|(c, value)| *c = value.to_f64());
            lanes.load(&converted)
        }
    }
}

/// The first `N` numbers of `values`.
#[inline(always)]
fn first_chunk<const N: usize>(values: &[f64]) -> &[f64; N] {
    values.first_chunk().expect("a row lies within its tables")
}

/// As [`first_chunk`], but mutable.
#[inline(always)]
fn first_chunk_mut<const N: usize>(values: &mut [f64]) -> &mut [f64; N] {
    values.first_chunk_mut().expect("a row lies within its tables")
}

#[cfg(test)]
mod tests;
