//! Long heavy paths folded into rows: chains, and chains with short branches.
//!
//! The path runs from left to right, turns round at the end of the row and runs back on the next
//! row. Each vertex of the path is at the top of a cell, with its other children below it.

use eframe::egui::{Pos2, Vec2, pos2, vec2};
use fixedbitset::FixedBitSet;

use super::{Block, Form, Packer, Packing, best_within, limits, rounded};
use crate::app::layout::tree::TreeShape;

/// Minimum number of vertices of a path that is folded. A shorter path fits in one row.
const MIN_PATH: usize = 5;

/// Gap between rows in points.
const ROW_GAP: f32 = 18.0;

/// Maximum number of row heights that are tried for one path. Trying more
/// takes longer and hardly makes the drawing more compact.
const MAX_HEIGHTS: usize = 5;

/// Maximum ratio between the two sides of a folded path. With a larger ratio, more row lengths are
/// tried.
const MAX_SHAPE: f32 = 24.0;

/// Maximum number of vertices of a path for which many row lengths are tried. In a longer path, the
/// rows are filled about equally well with any length.
const MAX_FINE_PATH: usize = 100;

/// Maximum number of vertices of a path, in addition to the first two, from which folding is tried.
/// Each attempt takes time in proportion to the length of the path.
const MAX_LATE_FOLDS: usize = 16;

/// Where folding is tried.
pub(super) struct Folds {
    /// The vertices on paths that may be folded.
    cells: FixedBitSet,
    /// The vertices at which a folded path may start.
    tops: FixedBitSet,
}

impl Folds {
    /// Finds the paths that may be folded, and where folding may start: at the first and the second
    /// vertex of a path, and after some of its vertices with three children or more. `heavy` is the
    /// heavy child of each vertex.
    pub(super) fn new(tree: &TreeShape, heavy: &[Option<usize>]) -> Self {
        let n = tree.children.len();
        let mut folds =
            Self { cells: FixedBitSet::with_capacity(n), tops: FixedBitSet::with_capacity(n) };
        let mut is_heavy = FixedBitSet::with_capacity(n);
        is_heavy.extend(heavy.iter().flatten().copied());
        for &first in tree.order.iter().filter(|&&vertex| !is_heavy.contains(vertex)) {
            let path: Vec<usize> = path_from(first, heavy).collect();
            if path.len() < MIN_PATH {
                continue;
            }
            folds.cells.extend(path.iter().copied());
            let stride = path.len().div_ceil(MAX_LATE_FOLDS);
            for (position, &vertex) in path[..=path.len() - MIN_PATH].iter().enumerate() {
                let after_branches = position > 0 && tree.children[path[position - 1]].len() > 2;
                if position < 2 || (after_branches && position % stride == 0) {
                    folds.tops.insert(vertex);
                }
            }
        }
        folds
    }

    /// Whether the vertex is on a path that may be folded.
    pub(super) fn is_cell(&self, vertex: usize) -> bool {
        self.cells.contains(vertex)
    }

    /// Whether a folded path may start at the vertex.
    pub(super) fn is_top(&self, vertex: usize) -> bool {
        self.tops.contains(vertex)
    }
}

/// The heavy path that starts at `first`.
fn path_from(first: usize, heavy: &[Option<usize>]) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first), |&vertex| heavy[vertex])
}

/// A vertex of a folded path, with the packing of its cell.
struct Cell {
    vertex: usize,
    packing: Packing,
    /// The upper left corner, relative to the corner of the folded path.
    corner: Vec2,
    /// Index of the row.
    row: usize,
}

impl Packer<'_> {
    /// The packings in which the heavy path from `vertex` is folded.
    pub(super) fn folded(&self, vertex: usize) -> Vec<Packing> {
        let path: Vec<usize> = path_from(vertex, &self.heavy).collect();
        let mut found = Vec::new();
        let lists = path.iter().map(|&vertex| &self.cells[vertex]);
        for limit in limits(lists, true, MAX_HEIGHTS) {
            for length in self.fold_lengths(&path, limit) {
                let (cells, size) = self.fold(&path, limit, length);
                found.push(Packing {
                    size,
                    root: cells[0].corner + cells[0].packing.root,
                    form: Form::Fold { limit, length },
                    without_heavy: false,
                });
            }
        }
        found
    }

    /// Candidate lengths of the rows of a folded path.
    fn fold_lengths(&self, path: &[usize], limit: f32) -> Vec<f32> {
        let sizes = path.iter().map(|&vertex| self.cell(vertex, limit).size);
        let (mut total, mut largest) = (0.0, Vec2::ZERO);
        for size in sizes {
            total += size.x + self.gaps.levels;
            largest = largest.max(size);
        }
        let height = largest.y + ROW_GAP;
        // Try numbers of rows for shapes from a wide strip to a column. These numbers need not be
        // integers, since rows are not filled completely.
        let mut rows = (total / (MAX_SHAPE * height)).sqrt().max(1.0);
        let max_rows = (total * MAX_SHAPE / height).sqrt().min(path.len() as f32);
        // The factor between two numbers of rows that are tried one after the other.
        let step = if path.len() > MAX_FINE_PATH { 1.15 } else { 1.05 };
        let mut lengths = Vec::new();
        while rows <= max_rows {
            // A little longer than needed, so that rounding does not add a row.
            lengths.push((total / rows * 1.001).max(largest.x + self.gaps.levels));
            rows *= step;
        }
        lengths.dedup();
        lengths
    }

    /// The narrowest cell of a vertex that is at most `limit` high.
    fn cell(&self, vertex: usize, limit: f32) -> Packing {
        best_within(&self.cells[vertex], true, limit)
    }

    /// Folds `path` into rows of cells that are at most `limit` high. A row is about `length` long.
    /// Returns the cells along the path, and the size of all rows.
    fn fold(&self, path: &[usize], limit: f32, length: f32) -> (Vec<Cell>, Vec2) {
        let mut cells: Vec<Cell> = Vec::with_capacity(path.len());
        let (mut row, mut end, mut width) = (0, 0.0, 0.0_f32);
        for &vertex in path {
            let packing = self.cell(vertex, limit);
            let advance = packing.size.x + self.gaps.levels;
            if end > 0.0 && end + advance > length {
                (row, end) = (row + 1, 0.0);
            }
            cells.push(Cell { vertex, packing, corner: vec2(end, 0.0), row });
            end += advance;
            width = width.max(end - self.gaps.levels);
        }
        let left = if row > 1 { self.gaps.turns } else { 0.0 };
        let right = if row > 0 { self.gaps.turns } else { 0.0 };
        let mut top = 0.0;
        for row in cells.chunk_by_mut(|a, b| a.row == b.row) {
            // The vertices of the path have their centres on one line.
            let line = row.iter().map(|cell| cell.packing.root.y).fold(0.0, f32::max);
            let mut bottom = top;
            for cell in row {
                let size = cell.packing.size;
                let from_left = cell.corner.x;
                let x = if runs_right(cell.row) { from_left } else { width - from_left - size.x };
                cell.corner = vec2(left + x, top + line - cell.packing.root.y);
                bottom = f32::max(bottom, cell.corner.y + size.y);
            }
            top = bottom + ROW_GAP;
        }
        (cells, vec2(left + width + right, top - ROW_GAP))
    }

    /// Places the cells of the heavy path from `vertex`.
    pub(super) fn fold_blocks(&self, vertex: usize, limit: f32, length: f32) -> Vec<Block> {
        let path: Vec<usize> = path_from(vertex, &self.heavy).collect();
        let (cells, size) = self.fold(&path, limit, length);
        let links: Vec<Vec<Pos2>> =
            cells.windows(2).map(|pair| self.fold_link(&pair[0], &pair[1], size.x)).collect();
        let links = std::iter::once(Vec::new()).chain(links);
        let block = |(cell, link): (Cell, Vec<Pos2>)| {
            let Cell { vertex, packing, corner, .. } = cell;
            Block { vertex, corner, packing, link }
        };
        cells.into_iter().zip(links).map(block).collect()
    }

    /// The line between two neighbours on a folded path that is `width` wide.
    fn fold_link(&self, from: &Cell, to: &Cell, width: f32) -> Vec<Pos2> {
        let centre = |cell: &Cell| (cell.corner + cell.packing.root).to_pos2();
        let half = |cell: &Cell| {
            let half = self.sizes[cell.vertex].x / 2.0;
            if runs_right(cell.row) { half } else { -half }
        };
        let (start, end) = (centre(from), centre(to));
        let (start, end) = (pos2(start.x + half(from), start.y), pos2(end.x - half(to), end.y));
        if from.row == to.row {
            return vec![start, end];
        }
        // The path turns round in the room at the end of the row.
        let room = self.gaps.turns / 2.0;
        let turn = if runs_right(from.row) { width - room } else { room };
        rounded(&[start, pos2(turn, start.y), pos2(turn, end.y), end])
    }
}

/// Whether a folded path runs to the right in this row.
fn runs_right(row: usize) -> bool {
    row.is_multiple_of(2)
}
