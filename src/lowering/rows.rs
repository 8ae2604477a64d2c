//! A contraction onto a single output as rows and runs, for engines on a GPU.
//!
//! Each entry of the output is a *row*. The product of the inputs is summed over the other axes,
//! the *run* of the row. The fastest axes of the output make a *tile* of rows, which one or more
//! blocks of threads compute, and the other axes are digits of the tile's number. The fastest axes
//! of the run make the *inner run*, and the others are digits of the number of a *step*.
//!
//! The position of an entry in the table of an input is the sum of four offsets: those of the tile,
//! of the row in the tile, of the step, and of the place in the inner run. The offsets of tiles
//! and steps are computed from digits. The offsets of rows and places are listed; these lists are
//! short, and many are equal.

use super::{AxisSet, Contraction};

// If one of these constants is wrong, only speed and memory change (and last bits of results).

/// A tile has at most this many rows if the axes allow it: eight for each thread of a block of 256.
const MAX_TILE: usize = 2048;

/// A tile grows beyond [`MAX_TILE`] rather than have fewer rows than this.
const MIN_TILE: usize = 128;

/// Maximum number of entries of an inner run, unless its fastest axis alone has more states. The
/// fixed cost of a step is that of a few entries, so longer inner runs would save little.
const MAX_RUN: usize = 256;

/// The sizes that a kernel allows.
#[derive(Clone, Copy, Debug)]
pub struct RowLimits {
    /// Maximum number of inputs.
    pub inputs: usize,
    /// Maximum number of run offsets of all inputs together.
    pub run_offsets: usize,
}

/// A contraction onto one output as rows and runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowNest {
    /// Number of rows of a tile.
    pub rows: usize,
    /// Number of tiles.
    pub tiles: usize,
    /// Number of entries of the inner run.
    pub run: usize,
    /// Number of steps.
    pub steps: usize,
    /// The number of states of each digit of a tile's number, the fastest first.
    pub row_digits: Vec<usize>,
    /// The number of states of each digit of a step's number, the fastest first.
    pub run_digits: Vec<usize>,
    /// The inputs: first those that vary in the inner run, then those that vary only between steps,
    /// then those that do not vary in the run.
    pub inputs: Vec<RowInput>,
    /// Number of inputs that vary in the inner run.
    pub varying: usize,
    /// Number of inputs that vary in the run: in the inner run or between steps.
    pub summed: usize,
}

/// An input of a [`RowNest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowInput {
    /// The number of the input in the contraction.
    pub number: usize,
    /// By row digit: the distance between consecutive states in the table.
    pub row_strides: Vec<usize>,
    /// By run digit: the distance between consecutive states in the table.
    pub run_strides: Vec<usize>,
    /// By row of a tile: its offset in the table.
    pub row_offsets: Vec<u32>,
    /// By entry of the inner run: its offset in the table. Empty if the input does not vary there.
    pub run_offsets: Vec<u32>,
}

impl RowNest {
    /// Lowers `contraction`. `None` if it does not have exactly one output, has more inputs than
    /// `limits` allow, or has 2^32 or more tiles or steps. The limit on run offsets only shortens
    /// the inner run.
    #[must_use]
    pub fn new(contraction: &Contraction<'_>, limits: RowLimits) -> Option<Self> {
        let &Contraction { states, axes, inputs, outputs } = contraction;
        let &[output] = outputs else { return None };
        if inputs.len() > limits.inputs {
            return None;
        }
        let run_axes: AxisSet = axes.iter().filter(|&axis| !output.contains(axis)).collect();
        let has_short_offsets = |chosen: AxisSet| {
            inputs.iter().all(|&input| u32::try_from(largest_offset(input, chosen, states)).is_ok())
        };
        let in_tile = fastest(output, states, |chosen, entries, grown| {
            (grown <= MAX_TILE || entries < MIN_TILE) && has_short_offsets(chosen)
        });
        let longest = limits.run_offsets / inputs.len().max(1);
        let in_run = fastest(run_axes, states, |chosen, entries, grown| {
            (grown <= MAX_RUN || entries == 1) && grown <= longest && has_short_offsets(chosen)
        });
        let digits = |all: AxisSet, chosen: AxisSet| -> Vec<usize> {
            all.iter().rev().filter(|&axis| !chosen.contains(axis)).collect()
        };
        let (row_digits, run_digits) = (digits(output, in_tile), digits(run_axes, in_run));
        let entries = |digits: &[usize]| {
            digits.iter().try_fold(1_usize, |product, &axis| product.checked_mul(states[axis]))
        };
        let (tiles, steps) = (entries(&row_digits)?, entries(&run_digits)?);
        if u32::try_from(tiles.max(steps)).is_err() {
            return None;
        }
        let meets = |number: &usize, set: AxisSet| set.iter().any(|a| inputs[*number].contains(a));
        let (mut order, others): (Vec<usize>, Vec<usize>) =
            (0..inputs.len()).partition(|number| meets(number, in_run));
        let varying = order.len();
        let (between_steps, constant): (Vec<usize>, Vec<usize>) =
            others.into_iter().partition(|number| meets(number, run_axes));
        order.extend(between_steps);
        let summed = order.len();
        order.extend(constant);
        let lower = |(position, number): (usize, usize)| {
            let stride = |&axis: &usize| inputs[number].stride(axis, states);
            let run_offsets = match position < varying {
                true => offsets(inputs[number], in_run, states),
                false => Vec::new(),
            };
            RowInput {
                number,
                row_strides: row_digits.iter().map(stride).collect(),
                run_strides: run_digits.iter().map(stride).collect(),
                row_offsets: offsets(inputs[number], in_tile, states),
                run_offsets,
            }
        };
        let inputs = order.into_iter().enumerate().map(lower).collect();
        let states_of =
            |digits: &[usize]| -> Vec<usize> { digits.iter().map(|&a| states[a]).collect() };
        Some(Self {
            rows: in_tile.entries(states),
            tiles,
            run: in_run.entries(states),
            steps,
            row_digits: states_of(&row_digits),
            run_digits: states_of(&run_digits),
            inputs,
            varying,
            summed,
        })
    }
}

/// The axes of an intermediate table, so that a contraction over `axes` onto this table has enough
/// rows to occupy a GPU. The table over `output` is then summed from it.
///
/// The axes of `output` are widened by the fastest other axes, one at a time, until the table has
/// at least `wanted` entries, or so many that only about `entries_per_row` entries are summed for
/// each of them. If the output itself is large enough, the result is `output`.
#[must_use]
pub fn widened(
    axes: AxisSet,
    output: AxisSet,
    states: &[usize],
    wanted: usize,
    entries_per_row: usize,
) -> AxisSet {
    let wanted = wanted.min(axes.entries(states) / entries_per_row);
    let mut wide = output;
    for axis in axes.iter().rev().filter(|&axis| !output.contains(axis)) {
        if wide.entries(states) >= wanted {
            break;
        }
        wide = wide.with(axis);
    }
    wide
}

/// The longest set of fastest axes of `all` for which `admits` is true at each growth. `admits`
/// gets the grown set, the number of entries before and the number of entries after.
fn fastest(
    all: AxisSet,
    states: &[usize],
    admits: impl Fn(AxisSet, usize, usize) -> bool,
) -> AxisSet {
    let mut chosen = AxisSet::default();
    let mut entries = 1_usize;
    for axis in all.iter().rev() {
        let grown = entries.saturating_mul(states[axis]);
        if !admits(chosen.with(axis), entries, grown) {
            break;
        }
        (chosen, entries) = (chosen.with(axis), grown);
    }
    chosen
}

/// The offset in a table over `table` of the last states of the axes in `chosen`.
fn largest_offset(table: AxisSet, chosen: AxisSet, states: &[usize]) -> usize {
    chosen.iter().map(|axis| (states[axis] - 1) * table.stride(axis, states)).sum()
}

/// The offset in a table over `table` of each combination of states of the axes in `chosen`, the
/// last of which varies fastest.
fn offsets(table: AxisSet, chosen: AxisSet, states: &[usize]) -> Vec<u32> {
    let mut offsets = vec![0_u32];
    for axis in chosen.iter() {
        let stride = table.stride(axis, states) as u32;
        let next = |&offset: &u32| (0..states[axis] as u32).map(move |s| offset + s * stride);
        offsets = offsets.iter().flat_map(next).collect();
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RowLimits = RowLimits { inputs: 8, run_offsets: 1000 };

    fn set(axes: &[usize]) -> AxisSet {
        axes.iter().copied().collect()
    }

    /// The position in the table of an input for a tile, a row, a step and a place in the inner
    /// run.
    fn entry(nest: &RowNest, input: &RowInput, at: [usize; 4]) -> usize {
        let [mut tile, row, mut step, place] = at;
        let mut entry = input.row_offsets[row] as usize;
        entry += input.run_offsets.get(place).map_or(0, |&offset| offset as usize);
        for (&states, stride) in nest.row_digits.iter().zip(&input.row_strides) {
            entry += tile % states * stride;
            tile /= states;
        }
        for (&states, stride) in nest.run_digits.iter().zip(&input.run_strides) {
            entry += step % states * stride;
            step /= states;
        }
        entry
    }

    #[test]
    fn each_entry_of_an_input_is_read_as_often_as_in_the_product() {
        let states = [3, 2, 40, 5, 60, 2];
        let axes = AxisSet::first(6);
        let inputs = [set(&[0, 2]), set(&[1, 3, 4]), set(&[5]), set(&[4])];
        for output in [set(&[0, 2, 4]), set(&[1, 4, 5]), set(&[]), axes] {
            let outputs = [output];
            let contraction =
                Contraction { states: &states, axes, inputs: &inputs, outputs: &outputs };
            let nest = RowNest::new(&contraction, LIMITS).expect("it is within the limits");
            assert_eq!(nest.tiles * nest.rows, output.entries(&states));
            assert_eq!(nest.steps * nest.run * nest.tiles * nest.rows, axes.entries(&states));
            for (position, input) in nest.inputs.iter().enumerate() {
                let table = inputs[input.number];
                let mut reads = vec![0_usize; table.entries(&states)];
                for tile in 0..nest.tiles {
                    for row in 0..nest.rows {
                        for step in 0..nest.steps {
                            for place in 0..nest.run {
                                reads[entry(&nest, input, [tile, row, step, place])] += 1;
                            }
                        }
                    }
                }
                let expected = axes.entries(&states) / reads.len();
                assert!(reads.iter().all(|&times| times == expected));
                assert_eq!(position < nest.varying, !input.run_offsets.is_empty());
                let varies = table.iter().any(|axis| !output.contains(axis));
                assert_eq!(position < nest.summed, varies);
            }
        }
    }

    #[test]
    fn rows_are_in_the_order_of_the_output() {
        let states = [2, 30, 70];
        let axes = AxisSet::first(3);
        let outputs = [set(&[0, 1, 2])];
        let inputs = [axes];
        let contraction = Contraction { states: &states, axes, inputs: &inputs, outputs: &outputs };
        let nest = RowNest::new(&contraction, LIMITS).expect("it is within the limits");
        assert_eq!((nest.rows, nest.tiles), (30 * 70, 2));
        let entries = (0..2).flat_map(|tile| {
            (0..30 * 70).map({
                let nest = &nest;
                move |row| entry(nest, &nest.inputs[0], [tile, row, 0, 0])
            })
        });
        assert!(entries.eq(0..2 * 30 * 70));
    }

    #[test]
    fn contractions_beyond_the_limits_are_refused() {
        let states = [2; 38];
        let axes = AxisSet::first(38);
        let (inputs, outputs) = ([axes], [AxisSet::default()]);
        let contraction = Contraction { states: &states, axes, inputs: &inputs, outputs: &outputs };
        assert!(RowNest::new(&contraction, LIMITS).is_some());
        let inputs = [set(&[0]); 9];
        assert_eq!(RowNest::new(&Contraction { inputs: &inputs, ..contraction }, LIMITS), None);
        let states = [2; 60];
        let axes = AxisSet::first(60);
        let contraction = Contraction { states: &states, axes, inputs: &[axes], outputs: &[axes] };
        assert_eq!(RowNest::new(&contraction, LIMITS), None, "2^49 tiles");
    }

    #[test]
    fn a_small_output_is_summed_from_a_wider_table() {
        let states = [2; 30];
        let axes = AxisSet::first(30);
        let wide = widened(axes, set(&[0, 29]), &states, 1 << 17, 64);
        assert_eq!(wide, set(&[0]).union(axes.from(14)));
        assert_eq!(widened(axes, axes, &states, 1 << 17, 64), axes);
        let few = AxisSet::first(7);
        assert_eq!(widened(few, set(&[0]), &states, 1 << 17, 64), set(&[0]));
    }
}
