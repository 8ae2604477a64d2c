//! The contents of the buffers of a network and the records of all launches, for the GPU and the
//! twin.

use super::records::{Chunk, Marginal, Message};
use crate::allocate;
use crate::engine::factors::FactorProduct;
use crate::engine::{MappingLayout, PaperOptions};
use crate::graph::{CliqueId, JunctionTree};
use crate::network::{Evidence, VariableId};
use crate::potential::{IndexMapping, Real, Scope};
use crate::propagation::{CompiledNetwork, Home, Phase};

/// The product of a clique's factors is stored times two to this power. If the product might be out
/// of range, its largest entry is first scaled to near one. A message scales the receiver's table
/// so that its largest entry is near two to this power, and then multiplies it by the ratios of the
/// separator. Shared with `kernels/paper/message.cu`, which says why nothing overflows.
pub(super) const PEAK: i32 = 96;

/// Separator entries below this become zero. Otherwise a division by such an entry could overflow.
/// Shared with `kernels/paper/message.cu`.
#[cfg(test)]
pub(super) const NEGLIGIBLE: f64 = 1e-300;

/// Maximum number of entries of a clique table that one block of `initialise` fills. This affects
/// only speed.
const CHUNK: u64 = 4096;

/// Threads per block of the kernels `initialise` and `marginals`. The user chooses only the block
/// size of `message`. Shared with `kernels/paper/marginals.cu`.
pub(super) const THREADS: u32 = 256;

/// The block sizes, in threads, that `message` supports: from half a warp to the maximum of a GPU.
const BLOCK_SIZES: std::ops::RangeInclusive<u32> = 16..=1024;

/// The contents of the buffers of a network, and the records of all launches.
pub(super) struct Buffers {
    /// Threads per block of `message`.
    pub block_size: u32,
    /// Number of cliques.
    pub cliques: usize,
    /// Number of variables.
    pub variables: usize,
    /// The product of the factors assigned to each clique, clique after clique.
    pub prior: Vec<f32>,
    /// For each clique the exponent of the power of two to multiply the clique's entries of `prior`
    /// by.
    exponents: Vec<i32>,
    pub chunks: Vec<Chunk>,
    /// Total number of entries of all separators.
    pub separator_entries: usize,
    /// The mapping tables of all separators; each element is the index of an entry of a clique
    /// table.
    pub mappings: Vec<u32>,
    /// One record per message, in the order of the plan.
    pub messages: Vec<Message>,
    /// One record per variable, and one for the sum that gives P(e).
    pub marginals: Vec<Marginal>,
    /// Total number of states of all variables. The result has one number per state, then the sum
    /// that gives P(e) and the exponent of that sum.
    pub states: usize,
    /// Where the exponent of the sum that gives P(e) is stored.
    pub total_exponent: Exponent,
    /// Where findings on each variable are entered: the clique, the variable's stride in the clique
    /// table, and its number of states.
    entry_points: Vec<(CliqueId, u32, u32)>,
    /// The index of the first weight of each variable in packed evidence, counted from the first
    /// weight of all; then the total number of weights.
    first_weights: Vec<u32>,
}

/// Where the exponent of a table's power of two is stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exponent {
    /// In the buffer `exponents` on the GPU, in this slot; see [`records`](super::records). This
    /// buffer is not [`Buffers::exponents`].
    Clique(usize),
    /// In buffer `separator_exponents`, at the index of this message in the plan.
    Separator(usize),
}

/// The size of all buffers on the GPU in bytes.
pub(super) fn bytes(compiled: &CompiledNetwork) -> u64 {
    let tree = compiled.tree();
    let total = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
    let cliques = total(&mut tree.cliques().iter().map(|clique| clique.entries));
    let separators = total(&mut tree.separators().iter().map(|separator| separator.entries));
    let mapped = total(
        &mut tree
            .separators()
            .iter()
            .map(|edge| tree[edge.parent].entries.saturating_add(tree[edge.child].entries)),
    );
    let chunks = total(&mut tree.cliques().iter().map(|clique| clique.entries.div_ceil(CHUNK)));
    let variables = compiled.network().variables().len() as u64;
    let states: u64 = compiled.network().variables().iter().map(|v| v.cardinality() as u64).sum();
    let (n, messages) = (tree.cliques().len() as u64, compiled.plan().messages().len() as u64);
    [
        // The prior and the working table of each clique.
        cliques.saturating_mul(8),
        // The separator tables and the mapping tables. Empty buffers hold one element.
        separators.max(1).saturating_mul(8),
        mapped.max(1).saturating_mul(4),
        chunks.saturating_mul(size_of::<Chunk>() as u64),
        // The packed evidence.
        (2 * n + 1 + 3 * variables + states) * 4,
        // The largest entry and the exponent of each slot, and the exponents of separators.
        (n + messages) * 8 + messages.max(1) * 4,
        // The records of the marginals, and the result.
        (variables + 1) * size_of::<Marginal>() as u64,
        (states + 2) * 8,
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

impl Buffers {
    /// The buffers for `compiled`. Mapping tables have the layout that `options` choose.
    pub fn new(compiled: &CompiledNetwork, options: PaperOptions) -> Self {
        let (network, tree) = (compiled.network(), compiled.tree());
        let scope = |variables: &[VariableId]| Scope::of(network, variables.iter().copied());
        let scopes: Vec<Scope> = tree.cliques().iter().map(|c| scope(&c.variables)).collect();
        let separator_scopes: Vec<Scope> =
            tree.separators().iter().map(|s| scope(&s.variables)).collect();
        let starts = |sizes: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
            let mut starts = vec![0];
            for size in sizes {
                starts.push(starts[starts.len() - 1] + size);
            }
            starts
        };
        let clique_starts = starts(&mut tree.cliques().iter().map(|clique| clique.entries));
        let separator_starts = starts(&mut tree.separators().iter().map(|edge| edge.entries));

        let (mappings, sides) = mappings(tree, &scopes, &separator_scopes, options.layout);
        let messages = messages(compiled, &clique_starts, &separator_starts, &sides);
        let (marginals, total_exponent) =
            marginals(compiled, &scopes, &separator_scopes, &clique_starts, &separator_starts);
        let smallest = tree.smallest_cliques(network.variables().len());
        let entry_points = network.ids().zip(smallest).map(|(variable, clique)| {
            let axis = scopes[clique.index()].axis(variable).expect("the clique has its variable");
            (clique, axis.stride as u32, axis.cardinality as u32)
        });
        let first_weights = starts(&mut network.variables().iter().map(|v| v.cardinality() as u64));
        let (prior, exponents) = prior(compiled, &scopes);
        let mut buffers = Self {
            block_size: 0,
            cliques: tree.cliques().len(),
            variables: network.variables().len(),
            prior,
            exponents,
            chunks: chunks(tree, &clique_starts),
            separator_entries: separator_starts[separator_starts.len() - 1] as usize,
            mappings,
            messages,
            states: marginals[marginals.len() - 1].out as usize,
            marginals,
            total_exponent,
            entry_points: entry_points.collect(),
            first_weights: first_weights.into_iter().map(|first| first as u32).collect(),
        };
        buffers.set_block_size(options.block_size);
        buffers
    }

    /// Sets the number of threads per block of `message`, clamped to the supported block sizes.
    pub fn set_block_size(&mut self, threads: u32) {
        self.block_size = threads.clamp(*BLOCK_SIZES.start(), *BLOCK_SIZES.end());
    }

    /// Packs `evidence` into the words that `initialise` reads; `kernels/paper/initialise.cu`
    /// describes their order.
    pub fn pack(&self, evidence: &Evidence) -> Vec<u32> {
        let mut words = vec![0; self.evidence_words()];
        let mut exponents = self.exponents.clone();
        let mut findings: Vec<Vec<[u32; 3]>> = vec![Vec::new(); self.cliques];
        let start_of_weights = self.finding_start(self.variables);
        for (variable, finding) in evidence.iter() {
            let (clique, stride, states) = self.entry_points[variable.index()];
            let first = self.first_weights[variable.index()];
            let largest = (0..states as usize).map(|s| finding.weight(s)).fold(0.0, f64::max);
            let scale = largest.scale_exponent().unwrap_or(0);
            exponents[clique.index()] -= scale;
            findings[clique.index()].push([stride, states, first]);
            for state in 0..states {
                let weight = finding.weight(state as usize).scale(scale) as f32;
                words[start_of_weights + (first + state) as usize] = weight.to_bits();
            }
        }
        let mut count = 0;
        for (clique, findings) in findings.iter().enumerate() {
            words[clique] = exponents[clique] as u32;
            for finding in findings {
                let at = self.finding_start(count as usize);
                words[at..at + 3].copy_from_slice(finding);
                count += 1;
            }
            words[self.cliques + clique + 1] = count;
        }
        words
    }

    /// Where finding number `number` begins in packed evidence, as an index of words. Before the
    /// findings come the exponents of all cliques and the numbers of their first findings. There is
    /// space for one finding per variable; the weights follow this space.
    fn finding_start(&self, number: usize) -> usize {
        2 * self.cliques + 1 + 3 * number
    }

    /// Length of packed evidence in words.
    pub fn evidence_words(&self) -> usize {
        let weights = self.first_weights[self.first_weights.len() - 1] as usize;
        self.finding_start(self.variables) + weights
    }
}

/// The product of the factors assigned to each clique, clique after clique, and for each clique the
/// exponent of the power of two to multiply the product by.
fn prior(compiled: &CompiledNetwork, scopes: &[Scope]) -> (Vec<f32>, Vec<i32>) {
    let mut prior = allocate::with_capacity(scopes.iter().map(Scope::entries).sum());
    let mut exponents = Vec::with_capacity(scopes.len());
    let one = 1.0.scale(PEAK);
    for product in FactorProduct::for_cliques(compiled, scopes) {
        let power = product.entries(|value| prior.push((value * one) as f32));
        exponents.push(power - PEAK);
    }
    (prior, exponents)
}

/// The chunks of all clique tables.
fn chunks(tree: &JunctionTree, clique_starts: &[u64]) -> Vec<Chunk> {
    let chunks_of = |clique: CliqueId| {
        let (table, entries) = (clique_starts[clique.index()], tree[clique].entries);
        (0..entries).step_by(CHUNK as usize).map(move |first| Chunk {
            table,
            first: first as u32,
            entries: CHUNK.min(entries - first) as u32,
            clique: clique.index() as u32,
            unused: 0,
        })
    };
    tree.clique_ids().flat_map(chunks_of).collect()
}

/// The mapping tables of a separator to one of its two cliques. There is one for each separator
/// entry; it lists the entries of the clique table that belong to the separator entry.
#[derive(Clone, Copy)]
struct Side {
    /// The index of the first element in [`Buffers::mappings`].
    first: u64,
    /// Number of elements of each mapping table.
    count: u32,
    /// Distance between the first elements of two neighbouring mapping tables.
    table_stride: u32,
    /// Distance between two neighbouring elements of a mapping table.
    stride: u32,
}

/// The mapping tables of all separators (section 3.2). Also returns, for each separator, where the
/// mapping tables to the parent clique and to the child clique are stored, in this order.
fn mappings(
    tree: &JunctionTree,
    scopes: &[Scope],
    separators: &[Scope],
    layout: MappingLayout,
) -> (Vec<u32>, Vec<(Side, Side)>) {
    let mut all = Vec::new();
    let mut side = |clique: CliqueId, separator: &Scope| {
        let clique = &scopes[clique.index()];
        let entries = separator.entries();
        let count = clique.entries() / entries;
        let (table_stride, stride) = layout.strides(entries, count);
        let first = all.len();
        all.resize(first + clique.entries(), 0);
        let mut filled = vec![0; entries];
        let mapping = IndexMapping::new(clique, separator);
        for (entry, &j) in mapping.entries().iter().enumerate() {
            let (j, n) = (j as usize, &mut filled[j as usize]);
            all[first + j * table_stride + *n * stride] = entry as u32;
            *n += 1;
        }
        Side {
            first: first as u64,
            count: count as u32,
            table_stride: table_stride as u32,
            stride: stride as u32,
        }
    };
    let edges = tree.separators().iter().zip(separators);
    let sides =
        edges.map(|(edge, scope)| (side(edge.parent, scope), side(edge.child, scope))).collect();
    (all, sides)
}

/// The record of each message of the plan.
fn messages(
    compiled: &CompiledNetwork,
    clique_starts: &[u64],
    separator_starts: &[u64],
    sides: &[(Side, Side)],
) -> Vec<Message> {
    let tree = compiled.tree();
    // The slot that holds the scale of each clique: at first the clique's own slot, then the slot
    // of the last message to the clique.
    let mut slots: Vec<u32> = (0..tree.cliques().len() as u32).collect();
    let mut last_message = vec![-1; tree.separators().len()];
    let messages = compiled.plan().messages().iter().enumerate().map(|(index, message)| {
        let edge = message.separator.index();
        let (parent, child) = sides[edge];
        // The mapping tables to the sender and to the receiver.
        let (from, to) = match message.phase {
            Phase::Collect => (child, parent),
            Phase::Distribute => (parent, child),
        };
        let index = index as u32;
        let out_slot = tree.cliques().len() as u32 + index;
        Message {
            from: clique_starts[message.from.index()],
            to: clique_starts[message.to.index()],
            from_mapping: from.first,
            to_mapping: to.first,
            separator: separator_starts[edge],
            entries: tree[message.separator].entries as u32,
            from_count: from.count,
            to_count: to.count,
            from_table_stride: from.table_stride,
            from_stride: from.stride,
            to_table_stride: to.table_stride,
            to_stride: to.stride,
            from_slot: slots[message.from.index()],
            to_slot: std::mem::replace(&mut slots[message.to.index()], out_slot),
            out_slot,
            previous: std::mem::replace(&mut last_message[edge], index as i32),
            index,
        }
    });
    messages.collect()
}

/// The record of each variable's marginal, followed by the record of the sum that gives P(e); also
/// where the exponent of that sum is stored. A marginal is read from the table of the variable's
/// home. After all messages every table sums to P(e), so the smallest separator is summed, or the
/// only clique if there is no separator.
fn marginals(
    compiled: &CompiledNetwork,
    scopes: &[Scope],
    separators: &[Scope],
    clique_starts: &[u64],
    separator_starts: &[u64],
) -> (Vec<Marginal>, Exponent) {
    let (network, tree) = (compiled.network(), compiled.tree());
    let mut marginals = Vec::with_capacity(network.variables().len() + 1);
    let mut out = 0;
    for variable in network.ids() {
        let (scope, table, is_separator) = match compiled.variable_home(variable) {
            Home::Clique(clique) => (&scopes[clique.index()], clique_starts[clique.index()], 0),
            Home::Separator(edge) => (&separators[edge.index()], separator_starts[edge.index()], 1),
        };
        let axis = scope.axis(variable).expect("a home has its variable");
        marginals.push(Marginal {
            table,
            entries: scope.entries() as u64,
            stride: axis.stride as u64,
            states: axis.cardinality as u32,
            is_separator,
            out,
            unused: 0,
        });
        out += axis.cardinality as u32;
    }
    let sum_of_table = |table: u64, entries: u64, is_separator: u32| Marginal {
        table,
        entries,
        stride: entries,
        states: 1,
        is_separator,
        out,
        unused: 0,
    };
    let smallest = tree.separator_ids().min_by_key(|&edge| tree[edge].entries);
    let (marginal, exponent) = match smallest {
        Some(edge) => {
            let message = compiled.plan().message_over(edge, Phase::Distribute);
            let message = message.expect("a message passes each separator both ways");
            let marginal = sum_of_table(separator_starts[edge.index()], tree[edge].entries, 1);
            (marginal, Exponent::Separator(message.index()))
        }
        None => (sum_of_table(0, tree[tree.root()].entries, 0), Exponent::Clique(0)),
    };
    marginals.push(marginal);
    (marginals, exponent)
}
