//! A contraction as a nest of loops around a tile.
//!
//! The fastest axes of a contraction form the *tile*. A loop runs over each of the other axes.
//! *Level* `l` is the place inside the first `l` loops and outside the others. An input is
//! multiplied in at the first level at which all its axes outside the tile have a state: an input
//! without an axis of the tile is then a single number, and any other is spread over the tile. So
//! an input costs time at its own level, not at every tile. Inside the last loop, the product is
//! summed onto each output.
//!
//! The first loops may be divided into *chunks* that run on different threads. Chunks write to
//! different entries of an output that has the axes of these loops. Of any other output each chunk
//! writes a copy of its own, and the copies are added in the order of the chunks. The chunks depend
//! on the contraction alone, so the number of threads changes no bit of the result.

use super::{AxisSet, Optimisation, Optimisations, Pattern};

/// Tiles have at most this many entries, if the axes allow it. A tile of products in double
/// precision then takes half of a first-level cache of 32 KiB. If it is wrong, only speed changes
/// (and last bits of results).
const MAX_TILE: usize = 2048;

/// A tile grows beyond [`MAX_TILE`] rather than have fewer entries than this, because the fixed
/// cost of a tile equals the cost of about a hundred entries.
const MIN_TILE: usize = 128;

/// A further loop is divided into chunks only while each chunk has more multiplications and
/// additions than this; a contraction with less than twice as many is not divided. This many take
/// about a tenth of a millisecond, ten times as long as waking a thread. If it is wrong, only speed
/// and memory change (and last bits of results).
const MIN_CHUNK: usize = 1 << 17;

/// No further loop is divided into chunks once there are this many chunks. More chunks balance
/// threads better; fewer chunks need fewer copies of outputs.
const MAX_CHUNKS: usize = 64;

/// Minimum number of multiplications and additions per entry of all copies of outputs, so that
/// adding up the copies costs little. If it is larger, there are fewer chunks, and threads may have
/// no work. If it is wrong, only speed and memory change (and last bits of results).
const MIN_WORK_PER_COPIED_ENTRY: usize = 16;

/// Minimum number of entries of the runs into which chunks divide an output. If an eighth of the
/// output has fewer entries, that is the minimum instead. With shorter runs, chunks would write to
/// the same lines of a cache. If it is wrong, only speed and memory change (and last bits of
/// results).
const MIN_RUN: usize = 64;

/// A sum of products of tables.
#[derive(Clone, Debug)]
pub struct Contraction<'a> {
    /// By axis: its number of states, at least two.
    pub states: &'a [usize],
    /// The axes that the product ranges over. All inputs and outputs are subsets.
    pub axes: AxisSet,
    /// The axes of each input.
    pub inputs: &'a [AxisSet],
    /// The axes of each output.
    pub outputs: &'a [AxisSet],
}

/// A contraction as a nest of loops around a tile.
#[derive(Clone, Debug)]
pub struct LoopNest {
    /// The number of states of each loop, the outermost first.
    pub loops: Vec<usize>,
    /// Number of loops, from the outermost, whose states make the chunks.
    pub chunk_loops: usize,
    /// Number of entries of the tile.
    pub tile: usize,
    /// By level, from outside all loops to inside all: what is multiplied in there.
    pub levels: Vec<Level>,
    /// By input: where its entries are.
    pub inputs: Vec<Input>,
    /// By output: where its entries are.
    pub outputs: Vec<Output>,
}

/// The inputs that are multiplied in at one level, by number.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// Inputs that are one number for the whole tile.
    pub scalars: Vec<usize>,
    /// Inputs that vary in the tile.
    pub tables: Vec<usize>,
}

/// Where the entries of an input are.
#[derive(Clone, Debug)]
pub struct Input {
    /// By loop: the distance between consecutive states in the table.
    pub strides: Vec<usize>,
    /// How the entries are spread over the tile.
    pub pattern: Pattern,
}

/// Where the entries of an output are.
#[derive(Clone, Debug)]
pub struct Output {
    /// Number of entries.
    pub entries: usize,
    /// Number of consecutive entries that belong to one chunk; all entries if
    /// [`run_chunks`](Self::run_chunks) is empty.
    pub run: usize,
    /// By run: the chunk that it belongs to. Empty if each chunk writes a copy, and if the
    /// contraction is not divided.
    pub run_chunks: Vec<u32>,
    /// By loop: the distance between consecutive states, counted in runs. Only runs of the same
    /// chunk count.
    pub run_strides: Vec<usize>,
    /// By loop: the distance between consecutive states within a run, counted in entries.
    pub strides: Vec<usize>,
    /// How the tile is summed onto the entries.
    pub pattern: Pattern,
}

impl LoopNest {
    /// Lowers `contraction`.
    #[must_use]
    pub fn new(contraction: &Contraction<'_>, optimisations: Optimisations) -> Self {
        let &Contraction { states, axes, inputs, outputs } = contraction;
        let first_in_tile = first_in_tile(axes, states, optimisations);
        let (outer, inner) = (axes.below(first_in_tile), axes.from(first_in_tile));
        let has_chunks = optimisations.has(Optimisation::DividedContractions);
        let chunked = if has_chunks { chunk_axes(contraction, outer) } else { Vec::new() };
        let hoists = optimisations.has(Optimisation::HoistedInputs);
        // The axes in the fewest tables get the innermost loops, so that most inputs are multiplied
        // in further out.
        let tables = || inputs.iter().filter(|set| !set.from(first_in_tile).is_empty());
        let uses = |axis: &usize| tables().chain(outputs).filter(|set| set.contains(*axis)).count();
        let mut order: Vec<usize> = outer.iter().filter(|axis| !chunked.contains(axis)).collect();
        if hoists {
            order.sort_by_key(|axis| std::cmp::Reverse(uses(axis)));
        }
        let order: Vec<usize> = chunked.iter().copied().chain(order).collect();
        let pattern = |set: AxisSet| {
            let axes = inner.iter().map(|axis| (states[axis], set.contains(axis)));
            Pattern::new(axes, optimisations)
        };
        let mut levels = vec![Level::default(); order.len() + 1];
        for (number, set) in inputs.iter().enumerate() {
            let last = order.iter().rposition(|&axis| set.contains(axis));
            let level = if hoists { last.map_or(0, |last| last + 1) } else { order.len() };
            let level = &mut levels[level];
            let is_scalar = set.from(first_in_tile).is_empty();
            if is_scalar { &mut level.scalars } else { &mut level.tables }.push(number);
        }
        let input = |set: &AxisSet| Input {
            strides: order.iter().map(|&axis| set.stride(axis, states)).collect(),
            pattern: pattern(*set),
        };
        let output = |set: &AxisSet| {
            let pattern = pattern(*set);
            Output::new(*set, states, &order, &chunked, pattern)
        };
        Self {
            loops: order.iter().map(|&axis| states[axis]).collect(),
            chunk_loops: chunked.len(),
            tile: inner.entries(states),
            levels,
            inputs: inputs.iter().map(input).collect(),
            outputs: outputs.iter().map(output).collect(),
        }
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.loops[..self.chunk_loops].iter().product()
    }

    /// Number of multiplications and additions.
    #[must_use]
    pub fn work(&self) -> f64 {
        let mut visits = 1.0;
        let mut work = 0.0;
        for (level, inputs) in self.levels.iter().enumerate() {
            work += visits * (inputs.tables.len() * self.tile + inputs.scalars.len()) as f64;
            if let Some(&states) = self.loops.get(level) {
                visits *= states as f64;
            }
        }
        work + visits * (self.outputs.len() * self.tile) as f64
    }

    /// Number of entries of the copies of outputs that all chunks write.
    #[must_use]
    pub fn copied_entries(&self) -> usize {
        let copied = self.outputs.iter().filter(|output| !output.is_divided());
        if self.chunk_loops == 0 {
            return 0;
        }
        copied.map(|output| output.entries * self.chunks()).sum()
    }
}

impl Output {
    /// The output over the axes `set`. `order`: the axes of the loops, the outermost first.
    /// `chunked`: those of them whose loops are divided into chunks.
    fn new(
        set: AxisSet,
        states: &[usize],
        order: &[usize],
        chunked: &[usize],
        pattern: Pattern,
    ) -> Self {
        let entries = set.entries(states);
        let last = chunked.iter().copied().max();
        let last = last.filter(|_| chunked.iter().all(|&axis| set.contains(axis)));
        let Some(last) = last else {
            let strides = order.iter().map(|&axis| set.stride(axis, states)).collect();
            let run_strides = vec![0; order.len()];
            return Self {
                entries,
                run: entries,
                run_chunks: vec![],
                run_strides,
                strides,
                pattern,
            };
        };
        let slow = set.below(last + 1);
        let in_chunk: AxisSet = slow.iter().filter(|axis| !chunked.contains(axis)).collect();
        let of_chunks = |axis: usize| {
            let position = chunked.iter().position(|&chunk| chunk == axis);
            let faster = |position: usize| chunked[position + 1..].iter().map(|&a| states[a]);
            position.map_or(0, |position| faster(position).product())
        };
        let mut run_chunks = vec![0];
        for axis in slow.iter() {
            let next = |chunk: &u32| {
                let (chunk, step) = (*chunk, of_chunks(axis) as u32);
                (0..states[axis] as u32).map(move |state| chunk + state * step)
            };
            run_chunks = run_chunks.iter().flat_map(next).collect();
        }
        let run_stride = |&axis: &usize| in_chunk.stride(axis, states);
        let stride = |&axis: &usize| set.from(last + 1).stride(axis, states);
        Self {
            entries,
            run: set.from(last + 1).entries(states),
            run_chunks,
            run_strides: order.iter().map(run_stride).collect(),
            strides: order.iter().map(stride).collect(),
            pattern,
        }
    }

    /// Whether chunks write to different entries.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        !self.run_chunks.is_empty()
    }
}

/// The first axis of the tile, which consists of this and all faster `axes`.
fn first_in_tile(axes: AxisSet, states: &[usize], optimisations: Optimisations) -> usize {
    let mut first = AxisSet::MAX_AXES;
    let mut entries = 1_usize;
    let may_have_several_axes = optimisations.has(Optimisation::Tiles);
    for axis in axes.iter().rev() {
        if !may_have_several_axes && first < AxisSet::MAX_AXES {
            break;
        }
        if entries >= MIN_TILE && entries.saturating_mul(states[axis]) > MAX_TILE {
            break;
        }
        entries *= states[axis];
        first = axis;
    }
    first
}

/// The axes of the loops that make chunks, outermost first; empty if the contraction is small, or
/// if the chunks would need too many copies of outputs or write runs that are too short. Only
/// `outer` axes have loops.
fn chunk_axes(contraction: &Contraction<'_>, outer: AxisSet) -> Vec<usize> {
    let &Contraction { states, axes, inputs, outputs } = contraction;
    let entries = axes.entries(states);
    let work = entries.saturating_mul(inputs.len() + outputs.len());
    let wanted = (work / MIN_CHUNK).min(MAX_CHUNKS);
    let mut chosen: Vec<usize> = Vec::new();
    let mut chunks = 1;
    while chunks < wanted {
        // By axis: the number of entries of all copies of outputs if this axis is added.
        let copied = |axis: usize| {
            let has_all = |set: &AxisSet| {
                set.contains(axis) && chosen.iter().all(|&other| set.contains(other))
            };
            let copied = outputs.iter().filter(|set| !has_all(set));
            let copies = chunks.saturating_mul(states[axis]);
            copied.fold(0, |sum: usize, set| {
                sum.saturating_add(set.entries(states).saturating_mul(copies))
            })
        };
        let has_long_runs = |axis: usize| {
            let mut with_axis = outputs.iter().filter(|set| set.contains(axis));
            with_axis.all(|set| set.stride(axis, states) >= MIN_RUN.min(set.entries(states) / 8))
        };
        let candidates = outer.iter().filter(|axis| !chosen.contains(axis));
        let candidates = candidates.filter(|&axis| has_long_runs(axis));
        let best = candidates.min_by_key(|&axis| copied(axis));
        let Some(axis) = best.filter(|&axis| copied(axis) <= work / MIN_WORK_PER_COPIED_ENTRY)
        else {
            break;
        };
        chosen.push(axis);
        chunks *= states[axis];
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(axes: &[usize]) -> AxisSet {
        axes.iter().copied().collect()
    }

    #[test]
    fn inputs_are_multiplied_in_outside_the_loops_that_they_do_not_depend_on() {
        let states = [2; 20];
        let axes = AxisSet::first(20);
        let inputs = [set(&[0, 1]), set(&[3, 19]), set(&[18, 19]), axes];
        let outputs = [set(&[0, 1, 2, 3])];
        let nest = LoopNest::new(
            &Contraction { states: &states, axes, inputs: &inputs, outputs: &outputs },
            Optimisations::default(),
        );
        assert_eq!((nest.tile, nest.loops.len()), (2048, 9));
        assert_eq!(nest.levels[0].tables, [2]);
        assert_eq!(nest.levels[9].tables, [3]);
        let scalar = nest.levels.iter().position(|level| level.scalars == [0]);
        assert!(scalar.is_some_and(|level| level < 9), "the scalar is not in the innermost loop");
        assert!(nest.work() > 2.0 * f64::from(1 << 20));
    }

    #[test]
    fn every_chunk_writes_equally_many_runs_of_a_divided_output() {
        let states = [3, 4, 2, 5, 6, 7, 8];
        let axes = AxisSet::first(7);
        let outputs = [set(&[0, 1, 3, 4, 5, 6])];
        let nest = LoopNest::new(
            &Contraction {
                states: &states,
                axes,
                inputs: &[axes, axes, axes, axes, axes, axes, axes],
                outputs: &outputs,
            },
            Optimisations::default(),
        );
        let output = &nest.outputs[0];
        assert!(nest.chunk_loops > 0 && output.is_divided());
        assert_eq!(output.run * output.run_chunks.len(), output.entries);
        let per_chunk = output.run_chunks.len() / nest.chunks();
        for chunk in 0..nest.chunks() as u32 {
            let runs = output.run_chunks.iter().filter(|&&c| c == chunk).count();
            assert_eq!(runs, per_chunk);
        }
    }

    #[test]
    fn a_small_contraction_is_one_tile() {
        let states = [2, 3];
        let axes = AxisSet::first(2);
        let nest = LoopNest::new(
            &Contraction { states: &states, axes, inputs: &[axes], outputs: &[set(&[1])] },
            Optimisations::default(),
        );
        assert_eq!((nest.tile, nest.loops.len(), nest.chunks()), (6, 0, 1));
    }
}
