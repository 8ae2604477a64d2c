//! Tiles: rows that are computed together because they read the same entries.
//!
//! The product of two messages is a product of matrices. Let A be the variables that the result has
//! in common with the first factor only, B those that it has in common with the second only, and C
//! the variables over which the vertex sums:
//!
//! ```text
//! result[a, b] = sum over c of  value(a, b, c) * first[a, c] * second[b, c]
//! ```
//!
//! Each entry of the first factor is read for every b, and each entry of the second for every a. A
//! *tile* computes four rows, for two states of A and two of B. For each c, each row has one term,
//! but the four terms together, a *quad*, read only four entries instead of eight.
//!
//! Here A, B and C are sets of variables, and a state of a set has a state of each of its
//! variables. The other variables of the result, which are in both factors or in neither, have the
//! same state in all rows of a tile. Configurations that agree in these variables form a *block*.
//!
//! Tiles can have gaps: rows that do not exist, because a number of states is odd or because
//! configurations are impossible, and terms that are missing in some rows. A missing term has the
//! constant zero.

use crate::network::VariableId;
use crate::potential::{Scope, SplitMapping};

use super::join_tree::JoinTree;
use super::plan::{MessageSource, by_row};

/// The cost of a missing term of a tile, in units of reading one entry. Tuned on a GPU with the
/// paper's eight networks; if it is wrong, only speed changes (and last bits of results).
const COST_OF_GAP: f64 = 0.6;

/// Used instead of the number of a row or an entry that does not exist.
pub const NONE: u32 = u32::MAX;

/// Four rows that are computed together. Row 2i + j reads entry i of the two entries of the first
/// factor in each quad, and entry j of the second.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// The first quad.
    pub first: u32,
    /// One past the last quad.
    pub end: u32,
    /// By row: the entry of the result that it computes; [`NONE`] if there is no such row.
    pub rows: [u32; 4],
}

/// One term of each row of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Quad {
    /// Two entries of the first factor.
    pub first: [u32; 2],
    /// Two entries of the second factor.
    pub second: [u32; 2],
    /// By row: the constant; zero if the row has no such term.
    pub values: [f32; 4],
}

/// The tiles of a message.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    /// Their quads are numbered from 0.
    pub tiles: Vec<Tile>,
    pub quads: Vec<Quad>,
}

/// A term of a tile.
struct Term {
    /// The state of C.
    summed: u32,
    /// The row of the tile.
    row: usize,
    /// The number of the configuration.
    configuration: usize,
}

impl Tiles {
    /// The tiles of the message of `source`, a product of two messages. `factors` has, for each of
    /// these, the entry of each configuration; `row_of` has the row of each configuration.
    ///
    /// `None` if the rows by themselves are estimated to be faster, or if some of the `rows` rows
    /// have no term.
    pub fn new(
        tree: &JoinTree<'_>,
        source: &MessageSource<'_>,
        factors: &[Vec<u32>; 2],
        row_of: &[u32],
        rows: usize,
    ) -> Option<Self> {
        let mut has_term = vec![false; rows];
        row_of.iter().for_each(|&row| has_term[row as usize] = true);
        if has_term.contains(&false) {
            return None;
        }
        let (summed, places, count) = places(tree, source);
        let tile_of: Vec<u32> = places.iter().map(|place| place.tile).collect();
        let (configurations, starts) = by_row(&tile_of, count);
        let mut found = Self::default();
        let (mut reads, mut reads_in_tiles, mut gaps) = (0, 0, 0);
        let mut terms: Vec<Term> = Vec::new();
        for range in starts.windows(2).filter(|range| range[0] < range[1]) {
            let own = &configurations[range[0] as usize..range[1] as usize];
            terms.clear();
            terms.extend(own.iter().map(|&configuration| {
                let configuration = configuration as usize;
                let row = usize::from(places[configuration].row);
                Term { summed: summed[configuration], row, configuration }
            }));
            terms.sort_unstable_by_key(|term| (term.summed, term.row));
            let mut tile = Tile { first: found.quads.len() as u32, end: 0, rows: [NONE; 4] };
            for terms in terms.chunk_by(|a, b| a.summed == b.summed) {
                let mut entries = [[NONE; 2]; 2];
                let mut values = [0.0; 4];
                for &Term { row, configuration, .. } in terms {
                    tile.rows[row] = row_of[configuration];
                    entries[0][row / 2] = factors[0][configuration];
                    entries[1][row % 2] = factors[1][configuration];
                    values[row] += source.value(configuration);
                }
                let row_terms = terms.chunk_by(|a, b| a.row == b.row).count();
                reads += 2 * row_terms;
                reads_in_tiles += entries.iter().flatten().filter(|&&entry| entry != NONE).count();
                gaps += 4 - row_terms;
                // An entry that is missing is read where its neighbour is.
                let [first, second] = entries
                    .map(|[a, b]| [if a == NONE { b } else { a }, if b == NONE { a } else { b }]);
                found.quads.push(Quad { first, second, values: values.map(|value| value as f32) });
            }
            tile.end = found.quads.len() as u32;
            found.tiles.push(tile);
        }
        let cost = reads_in_tiles as f64 + COST_OF_GAP * gaps as f64;
        found.tiles.shrink_to_fit();
        found.quads.shrink_to_fit();
        (cost < reads as f64).then_some(found)
    }

    /// An upper bound, for every row, on its number of terms times the larger of its largest
    /// constant and one.
    pub fn terms_bound(&self) -> f32 {
        let of_tile = |tile: &Tile| {
            let quads = &self.quads[tile.first as usize..tile.end as usize];
            let constants = quads.iter().flat_map(|quad| quad.values).fold(1.0, f32::max);
            quads.len() as f32 * constants
        };
        self.tiles.iter().map(of_tile).fold(1.0, f32::max)
    }

    /// Bytes of the tiles and quads.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.tiles) + size_of_val(&*self.quads)
    }
}

/// The place of the term of a configuration.
#[derive(Clone, Copy)]
struct Place {
    tile: u32,
    /// The row of the tile.
    row: u8,
}

/// First the state of C of each configuration of the vertex of `source`, then the place of its
/// term, and last the number of tiles. A tile may be without terms.
fn places(tree: &JoinTree<'_>, source: &MessageSource<'_>) -> (Vec<u32>, Vec<Place>, usize) {
    let result = source.result_scope(tree);
    let [first, second] = source.factor_scopes(tree);
    let scope_of = |belongs: &dyn Fn(VariableId) -> bool| {
        let variables = source.vertex.scope.variables().iter().copied();
        Scope::of(tree.network, variables.filter(|&variable| belongs(variable)))
    };
    let is_alone = |variable, own: &Scope, other: &Scope| {
        result.contains(variable) && own.contains(variable) && !other.contains(variable)
    };
    let a = scope_of(&|variable| is_alone(variable, first, second));
    let b = scope_of(&|variable| is_alone(variable, second, first));
    let rest = scope_of(&|v| result.contains(v) && !a.contains(v) && !b.contains(v));
    // Configurations that differ only in other variables have the same entries.
    let summed = scope_of(&|v| !result.contains(v) && (first.contains(v) || second.contains(v)));
    let codes = |onto: &Scope| -> Vec<u32> {
        let mapping = SplitMapping::new(&source.vertex.scope, onto);
        source.vertex.configurations.codes.iter().map(|&code| mapping.get(code)).collect()
    };
    let block = codes(&rest);
    let a = Numbering::new(&block, rest.entries(), &codes(&a), a.entries());
    let b = Numbering::new(&block, rest.entries(), &codes(&b), b.entries());
    // By block: the number of tiles of the blocks before it.
    let mut tiles = 0;
    let before: Vec<usize> = (0..rest.entries())
        .map(|block| {
            let pairs = [&a, &b].map(|numbers| numbers.counts[block].div_ceil(2) as usize);
            let before = tiles;
            tiles += pairs[0] * pairs[1];
            before
        })
        .collect();
    let places = block.iter().enumerate().map(|(configuration, &block)| {
        let (a_number, b_number) = (a.numbers[configuration], b.numbers[configuration]);
        let columns = b.counts[block as usize].div_ceil(2);
        let tile = before[block as usize] as u32 + a_number / 2 * columns + b_number / 2;
        Place { tile, row: (a_number % 2 * 2 + b_number % 2) as u8 }
    });
    let places = places.collect();
    (codes(&summed), places, tiles)
}

/// The states of a set of variables that occur in each block, numbered without gaps.
struct Numbering {
    /// By configuration: the number of its state in its block.
    numbers: Vec<u32>,
    /// By block: how many states occur.
    counts: Vec<u32>,
}

impl Numbering {
    /// `block` and `codes` have the block and the state of each configuration.
    fn new(block: &[u32], blocks: usize, codes: &[u32], states: usize) -> Self {
        let at = |configuration: usize| {
            block[configuration] as usize * states + codes[configuration] as usize
        };
        let mut number = vec![NONE; blocks * states];
        (0..block.len()).for_each(|configuration| number[at(configuration)] = 0);
        let count = |states: &mut [u32]| {
            let mut next = 0;
            for number in states.iter_mut().filter(|number| **number == 0) {
                *number = next;
                next += 1;
            }
            next
        };
        let counts = number.chunks_mut(states).map(count).collect();
        let numbers = (0..block.len()).map(|configuration| number[at(configuration)]).collect();
        Self { numbers, counts }
    }
}
