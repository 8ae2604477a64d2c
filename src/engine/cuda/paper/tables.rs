//! The flat buffers of a network and the records of all launches, the same for GPU and twin.

use super::records::{Chunk, Message, Reading};
use crate::engine::factors::FactorProduct;
use crate::engine::{MappingLayout, PaperOptions};
use crate::graph::{CliqueId, JunctionTree};
use crate::network::{Evidence, VariableId};
use crate::potential::{IndexMapping, Real, Scope};
use crate::propagation::{CompiledNetwork, Home, Phase};

/// Cliques' tables are kept with their largest entry near two to this power, as in the kernels.
pub(super) const PEAK: i32 = 96;

/// Entries that one block sets up.
const CHUNK: u64 = 4096;

/// Threads of the kernels whose block size nobody chooses.
pub(super) const THREADS: u32 = 256;

/// See the module.
pub(super) struct Tables {
    /// Threads of a block of the message kernel.
    pub block_size: u32,
    pub cliques: usize,
    pub variables: usize,
    /// The products of probability tables, and the power of two of each clique.
    pub prior: Vec<f32>,
    exponents: Vec<i32>,
    pub chunks: Vec<Chunk>,
    /// Entries of all separators.
    pub separator_entries: usize,
    pub mappings: Vec<u32>,
    /// One record a message of the plan, in its order.
    pub messages: Vec<Message>,
    /// One record a variable, and the sum for P(e).
    pub readings: Vec<Reading>,
    /// States of all variables and 1; their sums, the sum for P(e) and its exponent are read.
    pub states: usize,
    /// Where the exponent of that sum stands.
    pub total_exponent: Exponent,
    /// Where findings on each variable are entered: clique, stride and states.
    entry_points: Vec<(CliqueId, u32, u32)>,
    /// First weight of each variable.
    first_weights: Vec<u32>,
}

/// Where the power of two of a table stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exponent {
    /// Of a clique, by slot.
    Clique(usize),
    /// Of a separator, by the message that wrote it.
    Separator(usize),
}

/// Bytes of all buffers on the GPU.
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
        cliques.saturating_mul(8),
        // Buffers of nothing hold one.
        separators.max(1).saturating_mul(8),
        mapped.max(1).saturating_mul(4),
        chunks.saturating_mul(size_of::<Chunk>() as u64),
        (2 * n + 1 + 3 * variables + states) * 4,
        (n + messages) * 8 + messages.max(1) * 4,
        (variables + 1) * size_of::<Reading>() as u64,
        (states + 2) * 8,
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

impl Tables {
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
        let (readings, total_exponent) =
            readings(compiled, &scopes, &separator_scopes, &clique_starts, &separator_starts);
        let smallest = tree.smallest_cliques(network.variables().len());
        let entry_points = network.ids().zip(smallest).map(|(variable, clique)| {
            let axis = scopes[clique.index()].axis(variable).expect("it holds the variable");
            (clique, axis.stride as u32, axis.cardinality as u32)
        });
        let first_weights = starts(&mut network.variables().iter().map(|v| v.cardinality() as u64));
        let (prior, exponents) = prior(compiled, &scopes);
        let mut tables = Self {
            block_size: 0,
            cliques: tree.cliques().len(),
            variables: network.variables().len(),
            prior,
            exponents,
            chunks: chunks(tree, &clique_starts),
            separator_entries: separator_starts[separator_starts.len() - 1] as usize,
            mappings,
            messages,
            states: readings[readings.len() - 1].out as usize,
            readings,
            total_exponent,
            entry_points: entry_points.collect(),
            first_weights: first_weights.into_iter().map(|first| first as u32).collect(),
        };
        tables.set_block_size(options.block_size);
        tables
    }

    /// Has the message kernel run with so many threads a block, or the nearest number it can have.
    pub fn set_block_size(&mut self, threads: u32) {
        self.block_size = threads.clamp(16, 1024);
    }

    /// The evidence as the words that `initialise` reads.
    pub fn pack(&self, evidence: &Evidence) -> Vec<u32> {
        let mut words = vec![0; self.evidence_words()];
        let mut exponents = self.exponents.clone();
        let mut findings: Vec<Vec<[u32; 3]>> = vec![Vec::new(); self.cliques];
        let start_of_weights = 2 * self.cliques + 1 + 3 * self.variables;
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
                let at = 2 * self.cliques + 1 + 3 * count as usize;
                words[at..at + 3].copy_from_slice(finding);
                count += 1;
            }
            words[self.cliques + clique + 1] = count;
        }
        words
    }

    /// Words of packed evidence.
    pub fn evidence_words(&self) -> usize {
        let weights = self.first_weights[self.first_weights.len() - 1] as usize;
        2 * self.cliques + 1 + 3 * self.variables + weights
    }
}

/// The products of the probability tables in each clique, and their powers of two.
fn prior(compiled: &CompiledNetwork, scopes: &[Scope]) -> (Vec<f32>, Vec<i32>) {
    let mut prior = Vec::with_capacity(scopes.iter().map(Scope::entries).sum());
    let mut exponents = Vec::with_capacity(scopes.len());
    let one = 1.0.scale(PEAK);
    for product in FactorProduct::for_cliques(compiled, scopes) {
        let power = product.entries(|value| prior.push((value * one) as f32));
        exponents.push(power - PEAK);
    }
    (prior, exponents)
}

fn chunks(tree: &JunctionTree, clique_starts: &[u64]) -> Vec<Chunk> {
    let of_clique = |clique: CliqueId| {
        let (table, entries) = (clique_starts[clique.index()], tree[clique].entries);
        (0..entries).step_by(CHUNK as usize).map(move |first| Chunk {
            table,
            first: first as u32,
            entries: CHUNK.min(entries - first) as u32,
            clique: clique.index() as u32,
            unused: 0,
        })
    };
    tree.clique_ids().flat_map(of_clique).collect()
}

/// The mapping tables of one side of a separator.
#[derive(Clone, Copy)]
struct Side {
    first: u64,
    /// Elements of each.
    count: u32,
    table_stride: u32,
    stride: u32,
}

/// The mapping tables of every separator (section 3.2), and where those of its parent and of its
/// child lie.
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

fn messages(
    compiled: &CompiledNetwork,
    clique_starts: &[u64],
    separator_starts: &[u64],
    sides: &[(Side, Side)],
) -> Vec<Message> {
    let tree = compiled.tree();
    // A clique's scale stands in the slot of the message that changed it last, at first in its own.
    let mut slots: Vec<u32> = (0..tree.cliques().len() as u32).collect();
    let mut written = vec![-1; tree.separators().len()];
    let messages = compiled.plan().messages().iter().enumerate().map(|(index, message)| {
        let edge = message.separator.index();
        let (parent, child) = sides[edge];
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
            before: std::mem::replace(&mut written[edge], index as i32),
            index,
        }
    });
    messages.collect()
}

/// The marginal of each variable from its home, and the sum over the smallest table for P(e):
/// once all messages have been passed, every table sums to it.
fn readings(
    compiled: &CompiledNetwork,
    scopes: &[Scope],
    separators: &[Scope],
    clique_starts: &[u64],
    separator_starts: &[u64],
) -> (Vec<Reading>, Exponent) {
    let (network, tree) = (compiled.network(), compiled.tree());
    let mut readings = Vec::with_capacity(network.variables().len() + 1);
    let mut out = 0;
    for variable in network.ids() {
        let (scope, table, is_separator) = match compiled.variable_home(variable) {
            Home::Clique(clique) => (&scopes[clique.index()], clique_starts[clique.index()], 0),
            Home::Separator(edge) => (&separators[edge.index()], separator_starts[edge.index()], 1),
        };
        let axis = scope.axis(variable).expect("a home holds its variable");
        readings.push(Reading {
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
    let total = |table: u64, entries: u64, is_separator: u32| Reading {
        table,
        entries,
        stride: entries,
        states: 1,
        is_separator,
        out,
        unused: 0,
    };
    let smallest = tree.separator_ids().min_by_key(|&edge| tree[edge].entries);
    let (reading, exponent) = match smallest {
        Some(edge) => {
            let message = compiled.plan().message_over(edge, Phase::Distribute);
            let message = message.expect("a message passes each separator both ways");
            let reading = total(separator_starts[edge.index()], tree[edge].entries, 1);
            (reading, Exponent::Separator(message.index()))
        }
        None => (total(0, tree[tree.root()].entries, 0), Exponent::Clique(0)),
    };
    readings.push(reading);
    (readings, exponent)
}
