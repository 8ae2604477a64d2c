//! Runs groups of cliques and the steps of each. `lowering/schedule.rs` explains groups of cliques,
//! `lowering/step.rs` steps and groups of tables, and `lowering/nest.rs` the levels, tiles, chunks
//! and runs of a nest.

use super::buffers::{Buffers, PART};
use super::number::{Number, TableEntry};
use super::tile;
use crate::allocate;
use crate::cancel::{CancelToken, Cancelled};
use crate::engine::bounds::Bounds;
use crate::engine::cpu::helpers::Helpers;
use crate::engine::threads::map_dynamic;
use crate::lowering::{CliqueGroup, Group, LoopNest, Step};

/// The threads that share a contraction, and the token that cancels it.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    pub helpers: Helpers<'a>,
    pub cancel: &'a CancelToken,
}

/// Minimum number of multiplications and additions of a group of cliques that threads contract at
/// the same time: about ten microseconds of work, several times as long as handing it out. If it is
/// wrong, only speed changes.
const MIN_GROUP_WORK: f64 = 16_384.0;

/// Contracts each clique of `group`, and keeps the results in `state`. With `forks`, threads of the
/// caller's pool contract several cliques at the same time, and the results are kept afterwards, in
/// order; otherwise each result is kept before the next clique is contracted.
///
/// # Errors
/// The first error of `contract`, in the order of the group.
pub fn contract_group<S: Sync, R: Send, E: Send>(
    state: &mut S,
    group: CliqueGroup<'_>,
    forks: bool,
    contract: impl Fn(&S, usize) -> Result<R, E> + Sync,
    keep: impl Fn(&mut S, usize, R),
) -> Result<(), E> {
    let cliques = group.cliques.iter().copied();
    if forks && group.cliques.len() > 1 && group.work >= MIN_GROUP_WORK {
        let results = map_dynamic(cliques.clone(), |clique| contract(state, clique));
        for (clique, result) in cliques.zip(results) {
            keep(state, clique, result?);
        }
    } else {
        for clique in cliques {
            let result = contract(state, clique)?;
            keep(state, clique, result);
        }
    }
    Ok(())
}

/// An input of a step: its table, and bounds on the entries.
pub type Input<'a, T> = (&'a [T], Bounds);

/// What a step computes.
pub struct Outputs<T> {
    /// The outputs, in the order of the contraction.
    pub tables: Vec<Vec<T>>,
    /// The exponent of the power of two by which the outputs must be multiplied.
    pub exponent: i64,
    /// The bounds of the products that were summed, without this power of two.
    pub products: Bounds,
}

/// Computes the outputs of `step` from the tables `inputs`, which are in the order of the
/// contraction that the step was made for. Memory comes from `buffers`.
///
/// # Errors
/// If the propagation was cancelled.
pub fn run_step<T: TableEntry>(
    step: &Step,
    inputs: &[Input<'_, T>],
    buffers: &Buffers<T>,
    resources: Resources<'_>,
) -> Result<Outputs<T>, Cancelled> {
    let helpers = resources.helpers;
    let mut exponent = 0;
    let mut products: Vec<Option<(Vec<T>, Bounds)>> = Vec::with_capacity(step.inputs.len());
    for group in &step.inputs {
        let mut members = &*group.members;
        let mut product: Option<(Vec<T>, Bounds)> = None;
        for nest in &group.nests {
            // Every nest but the first has the product of the nest before as its first input.
            let before = product.take();
            let (now, later) = members.split_at(nest.inputs.len() - usize::from(before.is_some()));
            members = later;
            let factors = now.iter().map(|&number| inputs[number]);
            let before_input = before.as_ref().map(|(table, bounds)| (&**table, *bounds));
            let factors: Vec<Input<'_, T>> = before_input.into_iter().chain(factors).collect();
            let mut next = buffers.zeros(group.entries, helpers);
            run_nest(nest, &factors, &mut [&mut next], buffers, resources)?;
            let error = T::product_bounds(bounds_of(&factors)).error;
            // If all entries are zero, so are all outputs.
            let (scale, scaled) = T::rescale(&mut next, helpers).unwrap_or((0, Bounds::ONE));
            exponent -= i64::from(scale);
            let error = error.map(|error| error + scale).max(scaled.error);
            before.into_iter().for_each(|(before, _)| buffers.put(before));
            product = Some((next, Bounds { error, ..scaled }));
        }
        products.push(product);
    }
    let grouped = step.inputs.iter().zip(&products).map(|(group, product)| match product {
        Some((table, bounds)) => (&**table, *bounds),
        None => inputs[group.members[0]],
    });
    let grouped: Vec<Input<'_, T>> = grouped.collect();
    let zeros = |group: &Group| buffers.zeros(group.entries, helpers);
    let mut sums: Vec<Vec<T>> = step.outputs.iter().map(zeros).collect();
    let mut tables: Vec<&mut [T]> = sums.iter_mut().map(|table| &mut **table).collect();
    run_nest(&step.nest, &grouped, &mut tables, buffers, resources)?;
    let bounds = T::product_bounds(bounds_of(&grouped));
    products.into_iter().flatten().for_each(|(product, _)| buffers.put(product));
    let mut outputs = vec![Vec::new(); step.output_entries.len()];
    for (group, sums) in step.outputs.iter().zip(sums) {
        let Some(nest) = group.nests.first() else {
            outputs[group.members[0]] = sums;
            continue;
        };
        let zeros = |&number: &usize| buffers.zeros(step.output_entries[number], helpers);
        let mut members: Vec<Vec<T>> = group.members.iter().map(zeros).collect();
        let mut tables: Vec<&mut [T]> = members.iter_mut().map(|table| &mut **table).collect();
        run_nest(nest, &[(&*sums, bounds)], &mut tables, buffers, resources)?;
        buffers.put(sums);
        for (&number, table) in group.members.iter().zip(members) {
            outputs[number] = table;
        }
    }
    Ok(Outputs { tables: outputs, exponent, products: bounds })
}

/// The bounds of all `inputs`.
fn bounds_of<T>(inputs: &[Input<'_, T>]) -> impl Iterator<Item = Bounds> {
    inputs.iter().map(|&(_, bounds)| bounds)
}

/// Divides each entry of `belief` by its entry of `message`, where 0/0 = 0. Threads share the work
/// if the tables are large.
pub fn divide<T: Number>(belief: &mut [T], message: &[T], helpers: Helpers<'_>) {
    helpers.map(belief.chunks_mut(PART).zip(message.chunks(PART)), |(belief, message)| {
        for (belief, &message) in belief.iter_mut().zip(message) {
            *belief = belief.ratio(message);
        }
    });
}

/// Adds the sums of the products of `inputs` to `outputs`, which are zero everywhere.
///
/// # Errors
/// If the propagation was cancelled.
fn run_nest<T: TableEntry>(
    nest: &LoopNest,
    inputs: &[Input<'_, T>],
    outputs: &mut [&mut [T]],
    buffers: &Buffers<T>,
    Resources { helpers, cancel }: Resources<'_>,
) -> Result<(), Cancelled> {
    let chunks = nest.chunks();
    let mut copies: Vec<Vec<T>> = Vec::new();
    if chunks > 1 {
        let copied = nest.outputs.iter().filter(|output| !output.is_divided());
        // A chunk writes only the part of its copy that its products belong to.
        copies.extend(copied.map(|output| {
            let entries = chunks * output.entries;
            buffers.zeros_on_demand(entries, helpers)
        }));
    }
    // By chunk, then by output: the runs that the chunk writes.
    let mut parts: Vec<Vec<Runs<'_, T>>> = (0..chunks).map(|_| Vec::new()).collect();
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
    let work = |(chunk, mut part): (usize, Vec<Runs<'_, T>>)| -> Result<(), Cancelled> {
        cancel.check()?;
        Chunk::new(nest, inputs, chunk).visit(0, T::ONE, 0, &mut part);
        Ok(())
    };
    if chunks == 1 {
        // Saves the list of results.
        parts.into_iter().enumerate().try_for_each(work)?;
    } else {
        helpers.map(parts.into_iter().enumerate(), work).into_iter().collect::<Result<(), _>>()?;
    }
    for (table, copies) in copied.into_iter().zip(copies) {
        let entries = table.len();
        let add_up = |(number, part): (usize, &mut [T])| {
            let range = number * ADDED_PART..number * ADDED_PART + part.len();
            for copy in copies.chunks_exact(entries) {
                part.iter_mut().zip(&copy[range.clone()]).for_each(|(sum, &term)| *sum += term);
            }
        };
        // Adding up a few copies takes less time than handing the work out.
        let helpers = if copies.len() >= 2 * PART { helpers } else { Helpers::none() };
        helpers.map(table.chunks_mut(ADDED_PART).enumerate(), add_up);
        buffers.put(copies);
    }
    Ok(())
}

/// A thread adds up this many entries of all copies of an output before it continues with the next
/// entries, so that the sums stay in its first-level cache. If it is wrong, only speed changes.
const ADDED_PART: usize = 1 << 10;

/// The parts of an output that a chunk writes, in order.
type Runs<'a, T> = Vec<&'a mut [T]>;

/// One chunk of a contraction.
struct Chunk<'a, T> {
    nest: &'a LoopNest,
    inputs: &'a [Input<'a, T>],
    /// For each of the outermost loops, which are divided among chunks: its state in this chunk.
    states: Vec<usize>,
    /// By level, then by input: the position in the input at which the tile begins.
    at: Vec<usize>,
    /// By level, then by output: the run in which the tile begins, and the position in the run.
    output_at: Vec<(usize, usize)>,
    /// Tiles of partial products, one after another. The first is the empty product: all ones.
    tiles: Vec<T>,
}

impl<'a, T: TableEntry> Chunk<'a, T> {
    /// Chunk number `chunk` of `nest`, before its first tile.
    fn new(nest: &'a LoopNest, inputs: &'a [Input<'a, T>], mut chunk: usize) -> Self {
        let mut states = vec![0; nest.chunk_loops];
        for (state, &states) in states.iter_mut().zip(&nest.loops).rev() {
            *state = chunk % states;
            chunk /= states;
        }
        let levels = nest.levels.len();
        let tiles = nest.levels.iter().filter(|level| !level.tables.is_empty()).count();
        let entries = (tiles + 1) * nest.tile;
        let mut tiles = allocate::with_capacity(entries);
        tiles.resize(entries, T::ZERO);
        // The empty product.
        tiles[..nest.tile].fill(T::ONE);
        Self {
            nest,
            inputs,
            states,
            at: vec![0; levels * nest.inputs.len()],
            output_at: vec![(0, 0); levels * nest.outputs.len()],
            tiles,
        }
    }

    /// Multiplies the product by the inputs of `level`, and adds the sums of all tiles inside this
    /// level to `outputs`. The product so far is `factor` times tile number `tile`: `factor` is the
    /// product of the inputs that are single numbers, and the tile is the product of the others.
    fn visit(&mut self, level: usize, mut factor: T, mut tile: usize, outputs: &mut [Runs<'_, T>]) {
        let nest = self.nest;
        let at = level * nest.inputs.len();
        let Some(here) = nest.levels.get(level) else { return };
        for &input in &here.scalars {
            factor *= self.inputs[input].0[self.at[at + input]];
        }
        if factor == T::ZERO {
            return;
        }
        for (number, &input) in here.tables.iter().enumerate() {
            let pattern = &nest.inputs[input].pattern;
            let table = &self.inputs[input].0[self.at[at + input]..];
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
            if product.iter().all(|&entry| entry == T::ZERO) {
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
    use crate::engine::threads::Threads;
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
    fn results_are_kept_in_order_until_the_first_error() {
        let cliques = [2, 0, 3, 1];
        let group = CliqueGroup { cliques: &cliques, work: 2.0 * MIN_GROUP_WORK };
        let threads = Threads::new(3).expect("three threads");
        for (failing, expected) in [(&[][..], &cliques[..]), (&[1, 3], &[2, 0])] {
            for forks in [false, true] {
                let contract = |_: &Vec<_>, clique: usize| {
                    if failing.contains(&clique) { Err(clique) } else { Ok(10 * clique) }
                };
                let mut kept = Vec::new();
                let result = threads.install(|| {
                    contract_group(&mut kept, group, forks, contract, |kept, clique, result| {
                        assert_eq!(result, 10 * clique);
                        kept.push(clique);
                    })
                });
                assert_eq!(kept, expected);
                // The first error in the order of the group.
                assert_eq!(result.err(), failing.last().copied());
            }
        }
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
            let slices = tables.iter().map(|table| (&**table, Bounds::of(table.iter().copied())));
            let slices: Vec<Input<'_, f64>> = slices.collect();
            let step = Step::new(&contraction, Optimisations::default());
            divided += usize::from(step.nest.chunks() > 1);
            let cancel = CancelToken::new();
            let run = |forks: bool| {
                let resources = Resources { helpers: Helpers::unreported(forks), cancel: &cancel };
                let run = || run_step(&step, &slices, &Buffers::new(0, true), resources);
                let run = if forks { threads.install(run) } else { run() };
                let Outputs { mut tables, exponent, .. } = run.expect("it is not cancelled");
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
