//! Runs loop nests.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use super::buffers::{Buffers, PART};
use super::tile;
use crate::cancel::{CancelToken, Cancelled};
use crate::engine::cpu::vector::{add, keep_in_range, larger, largest};
use crate::lowering::{Group, LoopNest, Step};
use crate::potential::ratio;

/// Whether a contraction may use several threads, and the token that cancels it.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// Whether to share the work with the other threads of the pool in which the caller runs.
    pub forks: bool,
    pub cancel: &'a CancelToken,
}

/// Computes the outputs of `step` from the tables `inputs`, both in the order of the contraction
/// that the step was made for. Also returns the exponent of the power of two by which the outputs
/// must be multiplied. Memory comes from `buffers`.
///
/// # Errors
/// If the propagation was cancelled.
pub fn run_step(
    step: &Step,
    inputs: &[&[f64]],
    buffers: &mut Buffers,
    resources: Resources<'_>,
) -> Result<(Vec<Vec<f64>>, i64), Cancelled> {
    let forks = resources.forks;
    let mut exponent = 0;
    let mut products: Vec<Option<Vec<f64>>> = Vec::with_capacity(step.inputs.len());
    for group in &step.inputs {
        let mut members = &*group.members;
        let mut product: Option<Vec<f64>> = None;
        for nest in &group.nests {
            // All but the first product continue the one before.
            let before = product.take();
            let (now, later) = members.split_at(nest.inputs.len() - usize::from(before.is_some()));
            members = later;
            let factors = now.iter().map(|&number| inputs[number]);
            let factors: Vec<&[f64]> = before.as_deref().into_iter().chain(factors).collect();
            let mut next = buffers.zeros(group.entries, forks);
            run_nest(nest, &factors, &mut [&mut next], buffers, resources)?;
            // If all entries are zero, so are all outputs.
            exponent -= i64::from(rescale(&mut next, forks).unwrap_or(0));
            before.into_iter().for_each(|before| buffers.put(before));
            product = Some(next);
        }
        products.push(product);
    }
    let grouped = step.inputs.iter().zip(&products);
    let grouped: Vec<&[f64]> = grouped
        .map(|(group, product)| product.as_deref().unwrap_or(inputs[group.members[0]]))
        .collect();
    let zeros = |group: &Group| buffers.zeros(group.entries, forks);
    let mut sums: Vec<Vec<f64>> = step.outputs.iter().map(zeros).collect();
    let mut tables: Vec<&mut [f64]> = sums.iter_mut().map(|table| &mut **table).collect();
    run_nest(&step.nest, &grouped, &mut tables, buffers, resources)?;
    products.into_iter().flatten().for_each(|product| buffers.put(product));
    let mut outputs = vec![Vec::new(); step.output_entries.len()];
    for (group, sums) in step.outputs.iter().zip(sums) {
        let Some(nest) = group.nests.first() else {
            outputs[group.members[0]] = sums;
            continue;
        };
        let zeros = |&number: &usize| buffers.zeros(step.output_entries[number], forks);
        let mut members: Vec<Vec<f64>> = group.members.iter().map(zeros).collect();
        let mut tables: Vec<&mut [f64]> = members.iter_mut().map(|table| &mut **table).collect();
        run_nest(nest, &[&sums], &mut tables, buffers, resources)?;
        buffers.put(sums);
        for (&number, table) in group.members.iter().zip(members) {
            outputs[number] = table;
        }
    }
    Ok((outputs, exponent))
}

/// Multiplies `table` by a power of two so that its largest entry is near one, and returns the
/// exponent of the power; `None` if all entries are zero.
pub fn rescale(table: &mut [f64], forks: bool) -> Option<i32> {
    if !forks || table.len() < 2 * PART {
        let largest = largest(table, None);
        return keep_in_range(table, largest);
    }
    let parts = table.par_chunks(PART).with_max_len(1);
    let largest = parts.map(|part| largest(part, None)).reduce(|| 0.0, larger);
    let parts = table.par_chunks_mut(PART).with_max_len(1);
    parts.map(|part| keep_in_range(part, largest)).reduce_with(|one, _| one)?
}

/// Divides each entry of `belief` by its entry of `message`, where 0/0 = 0.
pub fn divide(belief: &mut [f64], message: &[f64], forks: bool) {
    let divide = |(belief, message): (&mut [f64], &[f64])| {
        for (belief, &message) in belief.iter_mut().zip(message) {
            *belief = ratio(*belief, message);
        }
    };
    if forks && belief.len() >= 2 * PART {
        let parts = belief.par_chunks_mut(PART).zip(message.par_chunks(PART));
        parts.with_max_len(1).for_each(divide);
    } else {
        divide((belief, message));
    }
}

/// Adds the sums of the products of `inputs` to `outputs`, which are zero everywhere.
///
/// # Errors
/// If the propagation was cancelled.
fn run_nest(
    nest: &LoopNest,
    inputs: &[&[f64]],
    outputs: &mut [&mut [f64]],
    buffers: &mut Buffers,
    Resources { forks, cancel }: Resources<'_>,
) -> Result<(), Cancelled> {
    let chunks = nest.chunks();
    let mut copies: Vec<Vec<f64>> = Vec::new();
    if chunks > 1 {
        let copied = nest.outputs.iter().filter(|output| !output.is_divided());
        copies.extend(copied.map(|output| buffers.zeros(chunks * output.entries, forks)));
    }
    // By chunk, then by output: the runs that the chunk writes.
    let mut parts: Vec<Vec<Runs<'_>>> = (0..chunks).map(|_| Vec::new()).collect();
    let mut copied = Vec::new();
    let mut unused = copies.iter_mut();
    for (layout, table) in nest.outputs.iter().zip(outputs.iter_mut()) {
        if layout.is_divided() {
            parts.iter_mut().for_each(|part| part.push(Vec::new()));
            for (run, &chunk) in table.chunks_exact_mut(layout.run).zip(&layout.run_chunks) {
                parts[chunk as usize].last_mut().expect("it was added").push(run);
            }
        } else if chunks == 1 {
            parts[0].push(vec![table]);
        } else if let Some(copies) = unused.next() {
            for (part, copy) in parts.iter_mut().zip(copies.chunks_exact_mut(layout.entries)) {
                part.push(vec![copy]);
            }
            copied.push(table);
        }
    }
    let work = |(chunk, mut part): (usize, Vec<Runs<'_>>)| -> Result<(), Cancelled> {
        cancel.check()?;
        Chunk::new(nest, inputs, chunk).visit(0, 1.0, 0, &mut part);
        Ok(())
    };
    if forks && chunks > 1 {
        parts.into_par_iter().enumerate().with_max_len(1).try_for_each(work)?;
    } else {
        parts.into_iter().enumerate().try_for_each(work)?;
    }
    for (table, copies) in copied.into_iter().zip(copies) {
        let entries = table.len();
        let add_up = |(number, part): (usize, &mut [f64])| {
            let range = number * ADDED_PART..number * ADDED_PART + part.len();
            copies.chunks_exact(entries).for_each(|copy| add(part, &copy[range.clone()]));
        };
        if forks && copies.len() >= 2 * PART {
            table.par_chunks_mut(ADDED_PART).enumerate().for_each(add_up);
        } else {
            table.chunks_mut(ADDED_PART).enumerate().for_each(add_up);
        }
        buffers.put(copies);
    }
    Ok(())
}

/// Number of entries of an output for which a thread adds up all copies at a time, so that they stay
/// in its first-level cache. If it is wrong, only speed changes.
const ADDED_PART: usize = 1 << 10;

/// The parts of an output that a chunk writes, in order.
type Runs<'a> = Vec<&'a mut [f64]>;

/// One chunk of a contraction.
struct Chunk<'a> {
    nest: &'a LoopNest,
    inputs: &'a [&'a [f64]],
    /// By loop that makes chunks: its state in this chunk.
    states: Vec<usize>,
    /// By level, then by input: the position in the table at which the tile begins.
    at: Vec<usize>,
    /// By level, then by output: the run in which the tile begins, and the position in the run.
    output_at: Vec<(usize, usize)>,
    /// Tiles of partial products, one after the other.
    tiles: Vec<f64>,
}

impl<'a> Chunk<'a> {
    fn new(nest: &'a LoopNest, inputs: &'a [&'a [f64]], mut chunk: usize) -> Self {
        let mut states = vec![0; nest.chunk_loops];
        for (state, &states) in states.iter_mut().zip(&nest.loops).rev() {
            *state = chunk % states;
            chunk /= states;
        }
        let levels = nest.levels.len();
        let tiles = nest.levels.iter().filter(|level| !level.tables.is_empty()).count();
        let mut tiles = vec![0.0; (tiles + 1) * nest.tile];
        // The empty product.
        tiles[..nest.tile].fill(1.0);
        Self {
            nest,
            inputs,
            states,
            at: vec![0; levels * nest.inputs.len()],
            output_at: vec![(0, 0); levels * nest.outputs.len()],
            tiles,
        }
    }

    /// Multiplies in the inputs of `level` and adds all tiles inside this level to `outputs`. The
    /// product of all numbers that were multiplied in so far is `factor`; the product of the tables
    /// is tile number `tile`.
    fn visit(&mut self, level: usize, mut factor: f64, mut tile: usize, outputs: &mut [Runs<'_>]) {
        let nest = self.nest;
        let at = level * nest.inputs.len();
        let Some(here) = nest.levels.get(level) else { return };
        for &input in &here.scalars {
            factor *= self.inputs[input][self.at[at + input]];
        }
        if factor == 0.0 {
            return;
        }
        for (number, &input) in here.tables.iter().enumerate() {
            let pattern = &nest.inputs[input].pattern;
            let table = &self.inputs[input][self.at[at + input]..];
            if number > 0 {
                tile::multiply(&mut self.tiles[tile * nest.tile..][..nest.tile], table, pattern);
                continue;
            }
            let (before, product) = self.tiles.split_at_mut((tile + 1) * nest.tile);
            let (before, product) = (&before[tile * nest.tile..], &mut product[..nest.tile]);
            if tile == 0 {
                tile::spread(product, table, pattern);
            } else {
                tile::multiply_into(product, before, table, pattern);
            }
            tile += 1;
        }
        let Some(&states) = nest.loops.get(level) else {
            let product = &self.tiles[tile * nest.tile..][..nest.tile];
            let at = level * nest.outputs.len();
            let positions = &self.output_at[at..];
            for ((part, output), &(run, at)) in outputs.iter_mut().zip(&nest.outputs).zip(positions)
            {
                tile::add_sums(&mut part[run][at..], product, factor, &output.pattern);
            }
            return;
        };
        if !here.tables.is_empty() {
            let product = &self.tiles[tile * nest.tile..][..nest.tile];
            if product.iter().all(|&entry| entry == 0.0) {
                return;
            }
        }
        let states = match self.states.get(level) {
            Some(&state) => state..state + 1,
            None => 0..states,
        };
        for state in states {
            self.enter(level, state);
            self.visit(level + 1, factor, tile, outputs);
        }
    }

    /// Sets the positions inside the loop at `level`, which is in `state`.
    fn enter(&mut self, level: usize, state: usize) {
        let inputs = self.nest.inputs.len();
        let (outside, inside) = self.at.split_at_mut((level + 1) * inputs);
        let outside = &outside[level * inputs..];
        for ((at, before), input) in inside.iter_mut().zip(outside).zip(&self.nest.inputs) {
            *at = before + state * input.strides[level];
        }
        let outputs = self.nest.outputs.len();
        let (outside, inside) = self.output_at.split_at_mut((level + 1) * outputs);
        let outside = &outside[level * outputs..];
        for ((at, before), output) in inside.iter_mut().zip(outside).zip(&self.nest.outputs) {
            at.0 = before.0 + state * output.run_strides[level];
            at.1 = before.1 + state * output.strides[level];
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::lowering::{AxisSet, Contraction, Optimisations};

    /// The outputs of `contraction`, entry by entry.
    fn expected(contraction: &Contraction<'_>, inputs: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let states = contraction.states;
        let mut outputs: Vec<Vec<f64>> =
            contraction.outputs.iter().map(|set| vec![0.0; set.entries(states)]).collect();
        for entry in 0..contraction.axes.entries(states) {
            let at = |set: &AxisSet| -> usize {
                let state =
                    |axis: usize| entry / contraction.axes.stride(axis, states) % states[axis];
                set.iter().map(|axis| state(axis) * set.stride(axis, states)).sum()
            };
            let factors = contraction.inputs.iter().zip(inputs).map(|(set, table)| table[at(set)]);
            let product: f64 = factors.product();
            for (set, output) in contraction.outputs.iter().zip(&mut outputs) {
                output[at(set)] += product;
            }
        }
        outputs
    }

    #[test]
    fn random_contractions_agree_with_a_sum_over_all_entries() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        let mut divided = 0;
        for round in 0..120 {
            let count = rng.random_range(0..12);
            let states: Vec<usize> = (0..count).map(|_| rng.random_range(2..5)).collect();
            let axes = AxisSet::first(count);
            if axes.entries(&states) > 1 << 19 {
                continue;
            }
            let mut set =
                |share: f64| -> AxisSet { (0..count).filter(|_| rng.random_bool(share)).collect() };
            let inputs: Vec<AxisSet> = [0.2, 0.2, 0.3, 0.5, 0.9, 0.9].map(&mut set).to_vec();
            let outputs: Vec<AxisSet> = [0.9, 0.8, 0.1, 0.1].map(&mut set).to_vec();
            let (inputs, outputs) = (&inputs[..round % 7], &outputs[..1 + round % 4]);
            let contraction = Contraction { states: &states, axes, inputs, outputs };
            let tables: Vec<Vec<f64>> = inputs
                .iter()
                .map(|set| {
                    let entry = |_| if rng.random_bool(0.1) { 0.0 } else { rng.random::<f64>() };
                    (0..set.entries(&states)).map(entry).collect()
                })
                .collect();
            let slices: Vec<&[f64]> = tables.iter().map(|table| &**table).collect();
            let step = Step::new(&contraction, Optimisations::default());
            divided += usize::from(step.nest.chunks() > 1);
            let cancel = CancelToken::new();
            let run = |forks: bool| {
                let resources = Resources { forks, cancel: &cancel };
                let run = || run_step(&step, &slices, &mut Buffers::new(0, true), resources);
                let run = if forks { threads.install(run) } else { run() };
                let (mut tables, exponent) = run.expect("it is not cancelled");
                let scale = 2_f64.powi(i32::try_from(exponent).expect("a small exponent"));
                tables.iter_mut().flatten().for_each(|entry| *entry *= scale);
                tables
            };
            let found = run(false);
            assert_eq!(found, run(true), "threads change no bit");
            let expected = expected(&contraction, &tables);
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} {expected}");
            }
        }
        assert!(divided > 5, "{divided} contractions were divided into chunks");
    }
}
