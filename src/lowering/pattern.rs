//! How the entries of a table are spread over a tile.
//!
//! A tile has an entry for each combination of states of its axes. A table has some of these axes.
//! Adjacent axes that the table has are merged into one, and so are adjacent axes that it lacks.
//! The two fastest of the merged axes form a *block*, so a tile is a sequence of blocks, and all
//! blocks of a tile are of the same kind. If [`Optimisation::MergedVariables`] is switched off, no
//! axes are merged, and the fastest axis alone forms a block.

use super::{Optimisation, Optimisations};

/// How the entries of a block correspond to entries of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Entry i belongs to entry i of a run of the table.
    Run,
    /// All entries belong to one entry of the table.
    Constant,
    /// The block has rows, and all entries of row i belong to entry i of a run of the table.
    ConstantRows,
    /// The block has rows, and entry j of every row belongs to entry j of a run of the table.
    EqualRows,
}

/// How the entries of a table are spread over a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The kind of all blocks.
    pub block: Block,
    /// Number of rows of a block; 1 for [`Block::Run`] and [`Block::Constant`].
    pub rows: usize,
    /// Number of entries of a row.
    pub row: usize,
    /// Whether to use a loop that was compiled for the length of a row.
    pub has_loops_by_length: bool,
    /// By block: its first entry in the table.
    pub starts: Box<[u32]>,
    /// Number of entries of the table that the tile touches. They are consecutive.
    pub entries: usize,
}

impl Pattern {
    /// The pattern of a table in a tile. `axes` has, for each axis of the tile, the slowest first,
    /// its number of states and whether the table has it.
    #[must_use]
    pub fn new(
        axes: impl IntoIterator<Item = (usize, bool)>,
        optimisations: Optimisations,
    ) -> Self {
        let merges = optimisations.has(Optimisation::MergedVariables);
        let mut merged: Vec<(usize, bool)> = Vec::new();
        for (states, is_in_table) in axes {
            match merged.last_mut() {
                Some(last) if merges && last.1 == is_in_table => last.0 *= states,
                _ => merged.push((states, is_in_table)),
            }
        }
        let entries = merged.iter().filter(|axis| axis.1).map(|axis| axis.0).product();
        let (row, is_row_in_table) = merged.pop().unwrap_or((1, true));
        // Only merged axes alternate between those that the table has and those that it lacks.
        let rows = if merges { merged.pop().map_or(1, |(rows, _)| rows) } else { 1 };
        let block = match (rows, is_row_in_table) {
            (1, true) => Block::Run,
            (1, false) => Block::Constant,
            (_, true) => Block::EqualRows,
            (_, false) => Block::ConstantRows,
        };
        let mut stride = match block {
            Block::Run | Block::EqualRows => row,
            Block::Constant => 1,
            Block::ConstantRows => rows,
        };
        // From the fastest of the remaining axes to the slowest.
        let mut starts = vec![0];
        for &(states, is_in_table) in merged.iter().rev() {
            let step = if is_in_table { stride } else { 0 };
            let faster = starts.clone();
            starts.clear();
            for state in 0..states {
                starts.extend(faster.iter().map(|start| start + (state * step) as u32));
            }
            stride *= if is_in_table { states } else { 1 };
        }
        let has_loops_by_length = optimisations.has(Optimisation::ConstantRows);
        Self { block, rows, row, has_loops_by_length, starts: starts.into(), entries }
    }

    /// Number of entries of a block.
    #[must_use]
    pub fn block_entries(&self) -> usize {
        self.rows * self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By entry of the tile: its entry in the table.
    fn expand(pattern: &Pattern) -> Vec<usize> {
        let in_block = |at: usize| match pattern.block {
            Block::Run => at,
            Block::Constant => 0,
            Block::ConstantRows => at / pattern.row,
            Block::EqualRows => at % pattern.row,
        };
        let entries = |&start: &u32| {
            let in_block = &in_block;
            (0..pattern.block_entries()).map(move |at| start as usize + in_block(at))
        };
        pattern.starts.iter().flat_map(entries).collect()
    }

    #[test]
    fn a_pattern_maps_each_entry_of_the_tile_to_the_entry_with_the_same_states() {
        let all = Optimisations::default();
        let settings = [all, all.without(Optimisation::MergedVariables)];
        for (present, optimisations) in (0..32_usize).flat_map(|p| settings.map(|s| (p, s))) {
            let states = [2, 3, 2, 4, 3];
            let axes = || states.iter().enumerate().map(|(a, &n)| (n, present >> a & 1 == 1));
            let mut expected = vec![0];
            for (states, is_in_table) in axes() {
                let next = |entry: usize| {
                    (0..states).map(move |s| if is_in_table { entry * states + s } else { entry })
                };
                expected = expected.into_iter().flat_map(next).collect();
            }
            let pattern = Pattern::new(axes(), optimisations);
            assert_eq!(expand(&pattern), expected, "{present:b}");
            assert_eq!(pattern.entries, expected[expected.len() - 1] + 1);
        }
        assert_eq!(expand(&Pattern::new([], all)), [0]);
    }
}
