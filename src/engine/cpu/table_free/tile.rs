//! The loops over the entries of a tile.

use crate::engine::cpu::vector::sum;
use crate::engine::simd::simd_dispatch;
use crate::lowering::{Block, Pattern};

simd_dispatch!(
    /// Sets each entry of `tile` to its entry of `table`.
    pub spread, spread_blocks, (tile: &mut [f64], table: &[f64], pattern: &Pattern)
);

simd_dispatch!(
    /// Sets each entry of `tile` to the entry of `before` times the entry of `table`.
    pub multiply_into, multiply_into_blocks,
    (tile: &mut [f64], before: &[f64], table: &[f64], pattern: &Pattern)
);

simd_dispatch!(
    /// Multiplies each entry of `tile` by its entry of `table`.
    pub multiply, multiply_blocks, (tile: &mut [f64], table: &[f64], pattern: &Pattern)
);

simd_dispatch!(
    /// Adds `factor` times the sums of the entries of `tile` to their entries of `table`.
    pub add_sums, add_sums_of_blocks,
    (table: &mut [f64], tile: &[f64], factor: f64, pattern: &Pattern)
);

#[inline(always)]
fn spread_blocks(tile: &mut [f64], table: &[f64], pattern: &Pattern) {
    let blocks = tile.chunks_exact_mut(pattern.block_entries()).zip(&pattern.starts);
    match pattern.block {
        Block::Run => blocks.for_each(|(block, &start)| {
            block.copy_from_slice(&table[start as usize..][..pattern.row]);
        }),
        Block::Constant => blocks.for_each(|(block, &start)| block.fill(table[start as usize])),
        Block::ConstantRows => blocks.for_each(|(block, &start)| {
            let rows = block.chunks_exact_mut(pattern.row).zip(&table[start as usize..]);
            rows.for_each(|(row, &value)| row.fill(value));
        }),
        Block::EqualRows => blocks.for_each(|(block, &start)| {
            let values = &table[start as usize..][..pattern.row];
            block.chunks_exact_mut(pattern.row).for_each(|row| row.copy_from_slice(values));
        }),
    }
}

#[inline(always)]
fn multiply_into_blocks(tile: &mut [f64], before: &[f64], table: &[f64], pattern: &Pattern) {
    let entries = pattern.block_entries();
    let blocks = tile.chunks_exact_mut(entries).zip(before.chunks_exact(entries));
    let blocks = blocks
        .zip(&pattern.starts)
        .map(|((tile, before), &start)| (tile, before, &table[start as usize..]));
    match (pattern.block, pattern.row) {
        (Block::Run, row) => {
            blocks.for_each(|(tile, before, table)| products(tile, before, &table[..row]));
        }
        (Block::Constant, _) => {
            blocks.for_each(|(tile, before, table)| scaled(tile, before, table[0]));
        }
        (Block::ConstantRows, 2) => blocks.for_each(constant_rows_of::<2>),
        (Block::ConstantRows, 3) => blocks.for_each(constant_rows_of::<3>),
        (Block::ConstantRows, 4) => blocks.for_each(constant_rows_of::<4>),
        (Block::ConstantRows, row) => blocks.for_each(|(tile, before, table)| {
            let rows = tile.chunks_exact_mut(row).zip(before.chunks_exact(row));
            rows.zip(table).for_each(|((tile, before), &value)| scaled(tile, before, value));
        }),
        (Block::EqualRows, 2) => blocks.for_each(equal_rows_of::<2>),
        (Block::EqualRows, 3) => blocks.for_each(equal_rows_of::<3>),
        (Block::EqualRows, 4) => blocks.for_each(equal_rows_of::<4>),
        (Block::EqualRows, row) => blocks.for_each(|(tile, before, table)| {
            let rows = tile.chunks_exact_mut(row).zip(before.chunks_exact(row));
            rows.for_each(|(tile, before)| products(tile, before, &table[..row]));
        }),
    }
}

#[inline(always)]
fn multiply_blocks(tile: &mut [f64], table: &[f64], pattern: &Pattern) {
    let blocks = tile.chunks_exact_mut(pattern.block_entries()).zip(&pattern.starts);
    let blocks = blocks.map(|(tile, &start)| (tile, &table[start as usize..]));
    match (pattern.block, pattern.row) {
        (Block::Run, row) => blocks.for_each(|(tile, table)| multiply_all(tile, &table[..row])),
        (Block::Constant, _) => blocks.for_each(|(tile, table)| scale_all(tile, table[0])),
        (Block::ConstantRows, 2) => blocks.for_each(scale_rows_of::<2>),
        (Block::ConstantRows, 3) => blocks.for_each(scale_rows_of::<3>),
        (Block::ConstantRows, 4) => blocks.for_each(scale_rows_of::<4>),
        (Block::ConstantRows, row) => blocks.for_each(|(tile, table)| {
            tile.chunks_exact_mut(row).zip(table).for_each(|(tile, &value)| scale_all(tile, value));
        }),
        (Block::EqualRows, 2) => blocks.for_each(multiply_rows_of::<2>),
        (Block::EqualRows, 3) => blocks.for_each(multiply_rows_of::<3>),
        (Block::EqualRows, 4) => blocks.for_each(multiply_rows_of::<4>),
        (Block::EqualRows, row) => blocks.for_each(|(tile, table)| {
            tile.chunks_exact_mut(row).for_each(|tile| multiply_all(tile, &table[..row]));
        }),
    }
}

#[inline(always)]
fn add_sums_of_blocks(table: &mut [f64], tile: &[f64], factor: f64, pattern: &Pattern) {
    let blocks = tile.chunks_exact(pattern.block_entries()).zip(&pattern.starts);
    match (pattern.block, pattern.row) {
        (Block::Run, row) => blocks.for_each(|(tile, &start)| {
            add_scaled(&mut table[start as usize..][..row], tile, factor);
        }),
        (Block::Constant, _) => {
            blocks.for_each(|(tile, &start)| table[start as usize] += factor * sum(tile));
        }
        (Block::ConstantRows, 2) => blocks.for_each(|(tile, &start)| {
            add_row_sums::<2>(&mut table[start as usize..], tile, factor);
        }),
        (Block::ConstantRows, 3) => blocks.for_each(|(tile, &start)| {
            add_row_sums::<3>(&mut table[start as usize..], tile, factor);
        }),
        (Block::ConstantRows, 4) => blocks.for_each(|(tile, &start)| {
            add_row_sums::<4>(&mut table[start as usize..], tile, factor);
        }),
        (Block::ConstantRows, row) => blocks.for_each(|(tile, &start)| {
            let rows = table[start as usize..].iter_mut().zip(tile.chunks_exact(row));
            rows.for_each(|(value, row)| *value += factor * sum(row));
        }),
        (Block::EqualRows, 2) => blocks.for_each(|(tile, &start)| {
            add_rows::<2>(&mut table[start as usize..], tile, factor);
        }),
        (Block::EqualRows, 3) => blocks.for_each(|(tile, &start)| {
            add_rows::<3>(&mut table[start as usize..], tile, factor);
        }),
        (Block::EqualRows, 4) => blocks.for_each(|(tile, &start)| {
            add_rows::<4>(&mut table[start as usize..], tile, factor);
        }),
        (Block::EqualRows, row) => blocks.for_each(|(tile, &start)| {
            let table = &mut table[start as usize..][..row];
            tile.chunks_exact(row).for_each(|row| add_scaled(table, row, factor));
        }),
    }
}

#[inline(always)]
fn products(tile: &mut [f64], before: &[f64], table: &[f64]) {
    let entries = tile.iter_mut().zip(before).zip(table);
    entries.for_each(|((entry, before), value)| *entry = before * value);
}

#[inline(always)]
fn scaled(tile: &mut [f64], before: &[f64], factor: f64) {
    tile.iter_mut().zip(before).for_each(|(entry, before)| *entry = before * factor);
}

#[inline(always)]
fn multiply_all(tile: &mut [f64], table: &[f64]) {
    tile.iter_mut().zip(table).for_each(|(entry, value)| *entry *= value);
}

#[inline(always)]
fn scale_all(tile: &mut [f64], factor: f64) {
    tile.iter_mut().for_each(|entry| *entry *= factor);
}

#[inline(always)]
fn add_scaled(table: &mut [f64], tile: &[f64], factor: f64) {
    table.iter_mut().zip(tile).for_each(|(sum, entry)| *sum += factor * entry);
}

#[inline(always)]
fn constant_rows_of<const ROW: usize>((tile, before, table): (&mut [f64], &[f64], &[f64])) {
    let rows = tile.as_chunks_mut::<ROW>().0.iter_mut().zip(before.as_chunks::<ROW>().0);
    for ((tile, before), value) in rows.zip(table) {
        (0..ROW).for_each(|at| tile[at] = before[at] * value);
    }
}

#[inline(always)]
fn equal_rows_of<const ROW: usize>((tile, before, table): (&mut [f64], &[f64], &[f64])) {
    let Some(values) = table.first_chunk::<ROW>() else { return };
    let rows = tile.as_chunks_mut::<ROW>().0.iter_mut().zip(before.as_chunks::<ROW>().0);
    for (tile, before) in rows {
        (0..ROW).for_each(|at| tile[at] = before[at] * values[at]);
    }
}

#[inline(always)]
fn scale_rows_of<const ROW: usize>((tile, table): (&mut [f64], &[f64])) {
    for (tile, value) in tile.as_chunks_mut::<ROW>().0.iter_mut().zip(table) {
        (0..ROW).for_each(|at| tile[at] *= value);
    }
}

#[inline(always)]
fn multiply_rows_of<const ROW: usize>((tile, table): (&mut [f64], &[f64])) {
    let Some(values) = table.first_chunk::<ROW>() else { return };
    for tile in tile.as_chunks_mut::<ROW>().0 {
        (0..ROW).for_each(|at| tile[at] *= values[at]);
    }
}

/// Adds `factor` times the sum of row i of `tile` to entry i of `table`.
#[inline(always)]
fn add_row_sums<const ROW: usize>(table: &mut [f64], tile: &[f64], factor: f64) {
    for (value, row) in table.iter_mut().zip(tile.as_chunks::<ROW>().0) {
        *value += factor * row.iter().sum::<f64>();
    }
}

/// Adds `factor` times the sum of all rows of `tile` to `table`. Four rows are added at a time, in
/// partial sums of their own.
#[inline(always)]
fn add_rows<const ROW: usize>(table: &mut [f64], tile: &[f64], factor: f64) {
    let rows = tile.as_chunks::<ROW>().0;
    let (quads, rest) = rows.as_chunks::<4>();
    let mut sums = [[0.0; ROW]; 4];
    for quad in quads {
        for (sums, row) in sums.iter_mut().zip(quad) {
            (0..ROW).for_each(|at| sums[at] += row[at]);
        }
    }
    for row in rest {
        (0..ROW).for_each(|at| sums[0][at] += row[at]);
    }
    for (at, value) in table.iter_mut().take(ROW).enumerate() {
        *value += factor * ((sums[0][at] + sums[1][at]) + (sums[2][at] + sums[3][at]));
    }
}
