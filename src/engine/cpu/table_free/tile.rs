//! The loops over the entries of a tile. A [`Pattern`] says which entry of a table belongs to each
//! entry of the tile.

use super::number::TableEntry;
use crate::engine::simd::simd_dispatch;
use crate::lowering::{Block, Pattern};

simd_dispatch!(
    /// Sets each entry of `tile` to its entry of `table`.
    pub spread<TableEntry>, spread_blocks, (tile: &mut [T], table: &[T], pattern: &Pattern)
);

simd_dispatch!(
    /// Sets each entry of `tile` to the entry of `before` times the entry of `table`.
    pub multiply_into<TableEntry>, multiply_into_blocks,
    (tile: &mut [T], before: &[T], table: &[T], pattern: &Pattern)
);

simd_dispatch!(
    /// Multiplies each entry of `tile` by its entry of `table`.
    pub multiply<TableEntry>, multiply_blocks, (tile: &mut [T], table: &[T], pattern: &Pattern)
);

simd_dispatch!(
    /// Adds each entry of `tile`, times `factor`, to its entry of `table`.
    pub add_sums<TableEntry>, add_sums_of_blocks,
    (table: &mut [T], tile: &[T], factor: T, pattern: &Pattern)
);

// These loops are `for` loops because a closure may become a function of its own, which would not
// be compiled for the chosen instructions.

#[inline(always)]
fn spread_blocks<T: TableEntry>(tile: &mut [T], table: &[T], pattern: &Pattern) {
    let &Pattern { block, row, .. } = pattern;
    for (tile, &start) in tile.chunks_exact_mut(pattern.block_entries()).zip(&pattern.starts) {
        let table = &table[start as usize..];
        match block {
            Block::Run => tile.copy_from_slice(&table[..row]),
            Block::Constant => tile.fill(table[0]),
            Block::ConstantRows => {
                for (tile, &value) in tile.chunks_exact_mut(row).zip(table) {
                    tile.fill(value);
                }
            }
            Block::EqualRows => {
                for tile in tile.chunks_exact_mut(row) {
                    tile.copy_from_slice(&table[..row]);
                }
            }
        }
    }
}

/// Calls a function that is generic over the length of rows, with the length as a constant if it is
/// short, and otherwise with 0. With a constant, a short row takes half the time.
macro_rules! with_row_length {
    ($pattern:expr, $function:ident($($argument:expr),*)) => {
        match ($pattern.block, $pattern.row) {
            (Block::Run | Block::Constant, _) => $function::<_, 0>($($argument),*),
            _ if !$pattern.has_loops_by_length => $function::<_, 0>($($argument),*),
            (_, 2) => $function::<_, 2>($($argument),*),
            (_, 3) => $function::<_, 3>($($argument),*),
            (_, 4) => $function::<_, 4>($($argument),*),
            (_, 5) => $function::<_, 5>($($argument),*),
            (_, 6) => $function::<_, 6>($($argument),*),
            (_, 7) => $function::<_, 7>($($argument),*),
            (_, 8) => $function::<_, 8>($($argument),*),
            (_, 9) => $function::<_, 9>($($argument),*),
            (_, 10) => $function::<_, 10>($($argument),*),
            (_, 11) => $function::<_, 11>($($argument),*),
            (_, 12) => $function::<_, 12>($($argument),*),
            _ => $function::<_, 0>($($argument),*),
        }
    };
}

#[inline(always)]
fn multiply_into_blocks<T: TableEntry>(
    tile: &mut [T],
    before: &[T],
    table: &[T],
    pattern: &Pattern,
) {
    with_row_length!(pattern, multiply_into_rows(tile, before, table, pattern));
}

#[inline(always)]
fn multiply_blocks<T: TableEntry>(tile: &mut [T], table: &[T], pattern: &Pattern) {
    with_row_length!(pattern, multiply_rows(tile, table, pattern));
}

#[inline(always)]
fn add_sums_of_blocks<T: TableEntry>(table: &mut [T], tile: &[T], factor: T, pattern: &Pattern) {
    with_row_length!(pattern, add_row_sums(table, tile, factor, pattern));
}

/// The length of rows: `ROW` if the compiler knows it, otherwise, for `ROW` = 0, what the pattern
/// says.
#[inline(always)]
fn row_length<const ROW: usize>(pattern: &Pattern) -> usize {
    if ROW == 0 { pattern.row } else { ROW }
}

#[inline(always)]
fn multiply_into_rows<T: TableEntry, const ROW: usize>(
    tile: &mut [T],
    before: &[T],
    table: &[T],
    pattern: &Pattern,
) {
    let row = row_length::<ROW>(pattern);
    let entries = pattern.block_entries();
    let blocks = tile.chunks_exact_mut(entries).zip(before.chunks_exact(entries));
    for ((tile, before), &start) in blocks.zip(&pattern.starts) {
        let table = &table[start as usize..];
        match pattern.block {
            Block::Run => products(tile, before, &table[..row]),
            Block::Constant => scaled(tile, before, table[0]),
            Block::ConstantRows => {
                let rows = tile.chunks_exact_mut(row).zip(before.chunks_exact(row));
                for ((tile, before), &value) in rows.zip(table) {
                    scaled(tile, before, value);
                }
            }
            Block::EqualRows => {
                let table = &table[..row];
                let rows = tile.chunks_exact_mut(row).zip(before.chunks_exact(row));
                for (tile, before) in rows {
                    products(tile, before, table);
                }
            }
        }
    }
}

#[inline(always)]
fn multiply_rows<T: TableEntry, const ROW: usize>(tile: &mut [T], table: &[T], pattern: &Pattern) {
    let row = row_length::<ROW>(pattern);
    for (tile, &start) in tile.chunks_exact_mut(pattern.block_entries()).zip(&pattern.starts) {
        let table = &table[start as usize..];
        match pattern.block {
            Block::Run => multiply_all(tile, &table[..row]),
            Block::Constant => scale_all(tile, table[0]),
            Block::ConstantRows => {
                for (tile, &value) in tile.chunks_exact_mut(row).zip(table) {
                    scale_all(tile, value);
                }
            }
            Block::EqualRows => {
                let table = &table[..row];
                for tile in tile.chunks_exact_mut(row) {
                    multiply_all(tile, table);
                }
            }
        }
    }
}

#[inline(always)]
fn add_row_sums<T: TableEntry, const ROW: usize>(
    table: &mut [T],
    tile: &[T],
    factor: T,
    pattern: &Pattern,
) {
    let row = row_length::<ROW>(pattern);
    for (tile, &start) in tile.chunks_exact(pattern.block_entries()).zip(&pattern.starts) {
        let table = &mut table[start as usize..];
        match pattern.block {
            Block::Run => add_scaled(&mut table[..row], tile, factor),
            Block::Constant => table[0] += factor * T::sum(tile),
            Block::ConstantRows => {
                for (value, tile) in table.iter_mut().zip(tile.chunks_exact(row)) {
                    *value += factor * if ROW == 0 { T::sum(tile) } else { sum_few(tile) };
                }
            }
            Block::EqualRows => add_rows::<T, ROW>(&mut table[..row], tile, factor),
        }
    }
}

/// Sets `tile` to the products of `before` and `table`, entry by entry.
#[inline(always)]
fn products<T: TableEntry>(tile: &mut [T], before: &[T], table: &[T]) {
    for ((entry, before), value) in tile.iter_mut().zip(before).zip(table) {
        *entry = *before * *value;
    }
}

/// Sets `tile` to `before` times `factor`.
#[inline(always)]
fn scaled<T: TableEntry>(tile: &mut [T], before: &[T], factor: T) {
    for (entry, before) in tile.iter_mut().zip(before) {
        *entry = *before * factor;
    }
}

/// Multiplies `tile` by `table`, entry by entry.
#[inline(always)]
fn multiply_all<T: TableEntry>(tile: &mut [T], table: &[T]) {
    for (entry, value) in tile.iter_mut().zip(table) {
        *entry *= *value;
    }
}

/// Multiplies `tile` by `factor`.
#[inline(always)]
fn scale_all<T: TableEntry>(tile: &mut [T], factor: T) {
    for entry in tile {
        *entry *= factor;
    }
}

/// Adds `tile` times `factor` to `table`, entry by entry.
#[inline(always)]
fn add_scaled<T: TableEntry>(table: &mut [T], tile: &[T], factor: T) {
    for (sum, entry) in table.iter_mut().zip(tile) {
        *sum += factor * *entry;
    }
}

/// The sum of a handful of entries, in order.
#[inline(always)]
fn sum_few<T: TableEntry>(entries: &[T]) -> T {
    let mut sum = T::ZERO;
    for entry in entries {
        sum += *entry;
    }
    sum
}

/// Adds `factor` times the sum of all rows of `tile` to `table`. If the compiler knows their length
/// `ROW`, the rows are summed first. Rows of up to four entries are added in turn to four partial
/// sums, which are then added up.
#[inline(always)]
fn add_rows<T: TableEntry, const ROW: usize>(table: &mut [T], tile: &[T], factor: T) {
    if ROW > 4 {
        let mut sums = [T::ZERO; ROW];
        for row in tile.as_chunks::<ROW>().0 {
            for (sum, entry) in sums.iter_mut().zip(row) {
                *sum += *entry;
            }
        }
        add_scaled(table, &sums, factor);
        return;
    }
    if ROW == 0 {
        for row in tile.chunks_exact(table.len()) {
            add_scaled(table, row, factor);
        }
        return;
    }
    let (quads, rest) = tile.as_chunks::<ROW>().0.as_chunks::<4>();
    let mut sums = [[T::ZERO; ROW]; 4];
    for quad in quads {
        for (sums, row) in sums.iter_mut().zip(quad) {
            for (sum, entry) in sums.iter_mut().zip(row) {
                *sum += *entry;
            }
        }
    }
    for row in rest {
        for (sum, entry) in sums[0].iter_mut().zip(row) {
            *sum += *entry;
        }
    }
    for (at, value) in table.iter_mut().enumerate() {
        let [mut sum, second, mut third, fourth] = sums.map(|sums| sums[at]);
        sum += second;
        third += fourth;
        sum += third;
        *value += factor * sum;
    }
}
