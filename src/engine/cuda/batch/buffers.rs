//! The plan of a batch as the kernels read it, and the format of evidence and results.

use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use super::{MAX_SETS, steps};
use crate::allocate;
use crate::engine::batch::{Kind, Message, Operation, Plan, Row, Tile, Tiles, weight_scale};
use crate::engine::cuda::underflow::{TINY_WEIGHT, has_tiny_weight};
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

// The next five constants were tuned on the paper's networks, and affect only speed. The unit of
// work is a term: the work of a row is the number of its terms plus ROW_OVERHEAD.

/// Minimum work of a work item, except the last one of an operation. With smaller work items, more
/// run in parallel, but the overhead grows.
const MIN_WORK: usize = 512;

/// A work item takes no further row once it has this much work. In larger work items, more of the
/// entries that the rows read are in the cache, but fewer work items run in parallel.
const MAX_WORK: usize = 1024;

/// An operation is cut into about this many work items, as far as `MIN_WORK` and `MAX_WORK` allow.
const ITEMS_PER_OPERATION: usize = 4096;

/// The work of a row that does not depend on the number of its terms.
const ROW_OVERHEAD: usize = 4;

/// The work of a quad: four terms, which share the entries that they read.
const QUAD_WORK: usize = 3;

/// Number of cases in a group: the cases that the 32 threads of a warp compute together. A buffer
/// set has room for a whole number of groups.
pub const GROUP: usize = 32 * CASES_PER_THREAD;

/// Cases per thread: V in `kernels/batch.cu`, and the number at the end of the kernels' names.
pub const CASES_PER_THREAD: usize = 2;

/// Maximum number of cases in all buffer sets of a GPU together. With a smaller number, starting the
/// kernels of a small network would take longer than running them. This affects only speed and
/// memory.
const MAX_CASES: usize = 8192;

/// Maximum memory on a GPU for the evidence, messages and results of cases, in bytes. One group of
/// cases in each buffer set may take more. It suffices for 2048 cases of Munin3 and 512 of Barley.
/// With less memory, a launch has fewer cases and uses the GPU less well.
const MAX_CASE_BYTES: u64 = 6000 << 20;

/// Maximum number of messages that may share memory with others; large ones come first. The time to
/// find places for them is proportional to the square of this number. With a smaller number, a case
/// of a network with many messages takes more memory.
const MAX_SHARING: usize = 8192;

/// Some rows of one message. `kernels/batch.cu` declares the same struct; a test compares both.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct WorkItem {
    /// The kind of the rows: one of [`CONSTANT`] to [`TILES`].
    pub kind: u32,
    /// The position of the first step in [`Buffers::steps`].
    pub first_step: u32,
    /// Number of steps.
    pub steps: u32,
    /// 1 if this is the first work item of its message.
    pub is_first: u32,
    /// First entry of the message that is computed.
    pub result: u32,
    /// Number of the message that is computed.
    pub result_message: u32,
    /// First entry of the message that is the first factor, if there is one.
    pub factor: u32,
    /// Number of the message that is the first factor.
    pub factor_message: u32,
    /// First entry of the message that is the second factor, if there is one.
    pub second: u32,
    /// Number of the message that is the second factor.
    pub second_message: u32,
    /// For each row of the message, take the number of its terms times its largest constant, or
    /// times one if all constants are smaller. This is the binary logarithm, rounded up, of the
    /// largest of these products, or of an upper bound for tiles.
    pub log_terms: u32,
    /// The binary logarithm, rounded up, of the number of rows of the message.
    pub log_rows: u32,
}

/// Length of a [`WorkItem`] in words.
pub const ITEM_WORDS: usize = size_of::<WorkItem>() / 4;

/// Kinds of work items: what the terms of a row are. Shared with the kernel.
///
/// Constants.
pub const CONSTANT: u32 = 0;
/// Constants times an entry of the first factor.
pub const ONE_FACTOR: u32 = 1;
/// Constants times an entry of each factor.
pub const TWO_FACTORS: u32 = 2;
/// As [`TWO_FACTORS`], for four rows at a time.
pub const TILES: u32 = 3;

/// Everything that the kernels read and that does not depend on the case.
pub struct Buffers {
    pub items: Vec<WorkItem>,
    /// For each launch its range of work items. There is one launch per level of the plan.
    pub launches: Vec<Range<usize>>,
    /// The records of the steps of all work items; see [`steps`](super::steps).
    pub steps: Vec<[u32; 4]>,
    /// By variable: the first entry and the number of the message from the variable, its number of
    /// states, and its first state in the numbering of all states.
    pub variables: Vec<[u32; 4]>,
    /// By state of all variables: the position in the memory of a case of the state's entry in the
    /// message from its variable, and of its entry in the message to its variable. The posterior,
    /// not normalised, is the product of these entries.
    pub reads: Vec<[u32; 2]>,
    /// Number of entries for the messages of one case; see [`Places`].
    pub entries: usize,
    /// Number of messages.
    pub messages: usize,
    /// The number of the message to the first variable. The unnormalised posterior of this variable
    /// sums to P(e).
    pub first_message: u32,
    /// The exponent of the power of two to multiply P(e) by, to undo the scaling of factors.
    pub exponent: i64,
    /// First state of each variable in the numbering of all states, then the total number of
    /// states.
    pub offsets: Arc<[usize]>,
    /// The natural logarithm of the scale that the network removed from its factors.
    pub ln_scale: f64,
    /// Maximum memory on the host while the plan and these lists were made, in bytes.
    pub host_bytes: usize,
}

impl Buffers {
    /// The buffers for `plan`, a plan for `network`.
    pub fn new(network: &Network, plan: Plan<f32>) -> Self {
        let places = Places::new(&plan);
        let Lists { items, launches, steps } = Lists::new(&plan, &places);
        // Other new lists are not counted.
        let stored = size_of_val(&*items) + size_of_val(&*steps);
        let host_bytes = plan.max_bytes.max(plan.bytes() + stored);
        let mut offsets = vec![0];
        let (mut variables, mut reads) = (Vec::new(), Vec::new());
        for ends in &plan.variables {
            let first = offsets[offsets.len() - 1];
            let (weights, others) = (places.start(ends.weights), places.start(ends.others));
            variables.push([weights, ends.weights.number, ends.states, first as u32]);
            reads.extend((0..ends.states).map(|state| [weights + state, others + state]));
            offsets.push(first + ends.states as usize);
        }
        Self {
            items,
            launches,
            steps,
            variables,
            reads,
            entries: places.entries,
            messages: plan.messages,
            first_message: plan.variables[0].others.number,
            exponent: plan.exponent,
            offsets: offsets.into(),
            ln_scale: network.ln_scale(),
            host_bytes,
        }
    }

    /// Frees the lists of which every GPU has a copy by now.
    pub fn drop_lists(&mut self) {
        (self.items, self.steps) = (Vec::new(), Vec::new());
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Total number of states of all variables.
    pub fn states(&self) -> usize {
        self.offsets[self.variables()]
    }

    /// Length of the packed evidence of a case in words: one per variable, or one per state if
    /// `is_soft`.
    pub fn packed_words(&self, is_soft: bool) -> usize {
        if is_soft { self.states() } else { self.variables() }
    }

    /// Length of the result of a case in words: the posteriors, an exponent, and the share of P(e)
    /// that raising may have added.
    pub fn result_words(&self) -> usize {
        self.states() + 2
    }

    /// Size of evidence and results of a case in a buffer set, in bytes, whichever way the evidence
    /// is packed.
    pub fn set_bytes(&self) -> usize {
        4 * (self.max_packed_words() + self.result_words())
    }

    /// Maximum length of the packed evidence of a case in words.
    pub fn max_packed_words(&self) -> usize {
        self.packed_words(true).max(self.packed_words(false))
    }

    /// Memory of a case in a buffer set on a GPU, in bytes: its messages, with three numbers for
    /// each, its evidence and its results.
    pub fn case_bytes(&self) -> usize {
        4 * (self.entries + 3 * self.messages) + self.set_bytes()
    }

    /// How many buffer sets a GPU has, and for how many cases each has room, a multiple of
    /// [`GROUP`], if all together may use `available` bytes; `None` if that is too little for one
    /// group. There are fewer than [`MAX_SETS`] only if there is too little memory.
    pub fn capacity(&self, available: u64) -> Option<(usize, usize)> {
        let group_bytes = (GROUP * self.case_bytes()) as u64;
        let sets = (available / group_bytes).min(MAX_SETS as u64);
        let groups = (available.min(MAX_CASE_BYTES) / group_bytes).checked_div(sets)?;
        let groups = groups.clamp(1, (MAX_CASES / MAX_SETS / GROUP) as u64);
        Some((sets as usize, groups as usize * GROUP))
    }

    /// Size of the lists that the kernels read, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.items)
            + size_of_val(&*self.steps)
            + size_of_val(&*self.variables)
            + size_of_val(&*self.reads)
    }

    /// Packs the evidence of a case into `words`, and returns the exponent of the power of two to
    /// multiply P(e) by, to undo the scaling of weights; `None` if a weight is so small, compared
    /// with the largest of its finding, that it may underflow in single precision. `is_soft`:
    /// whether some case of the launch has a likelihood. If so, the evidence of all cases of the
    /// launch must be packed as weights.
    pub fn pack(&self, case: &Evidence, is_soft: bool, words: &mut [u32]) -> Option<i64> {
        words.fill(if is_soft { 1.0_f32.to_bits() } else { 0 });
        let (mut exponent, mut has_tiny) = (0, false);
        for (variable, finding) in case.iter() {
            match finding {
                Finding::Observed(state) if !is_soft => words[variable.index()] = 1 + *state as u32,
                finding => {
                    has_tiny |= has_tiny_weight(finding, TINY_WEIGHT);
                    let (scale, power) = weight_scale(finding);
                    exponent += power;
                    let states = self.offsets[variable.index()]..self.offsets[variable.index() + 1];
                    for (state, word) in words[states].iter_mut().enumerate() {
                        *word = (finding.weight(state).scale(scale) as f32).to_bits();
                    }
                }
            }
        }
        (!has_tiny).then_some(exponent)
    }
}

/// Where the messages of a case are in memory.
///
/// A message is needed from the launch that computes it to the last launch that reads it. Messages
/// that are not needed at the same time may share memory.
struct Places {
    /// By message: its first entry.
    starts: Vec<u32>,
    /// Number of entries of all messages together, where shared entries count once.
    entries: usize,
}

/// The entries of a message, and the levels from the first to the last that needs it.
struct Place {
    entries: Range<usize>,
    needed: RangeInclusive<usize>,
}

impl Places {
    /// Places the messages for `plan` in several orders, and keeps the result with the fewest
    /// entries. Large messages come first, and messages of a similar size in the order in which
    /// they are computed. The orders differ in which sizes are similar.
    fn new(plan: &Plan<f32>) -> Self {
        // By message: its number of entries, and the first and the last level that needs it.
        let mut messages = vec![(0, 0, 0); plan.messages];
        for (level, operations) in plan.levels.iter().enumerate() {
            for operation in &plan.operations[operations.clone()] {
                messages[operation.result.number as usize] = (operation.entries, level, level);
                for factor in &operation.factors {
                    messages[factor.number as usize].2 = level;
                }
            }
        }
        // The posteriors are read from these messages after the last level.
        for ends in &plan.variables {
            for message in [ends.weights, ends.others] {
                messages[message.number as usize] = (ends.states as usize, 0, usize::MAX);
            }
        }
        let orders = [1, 2, 3, 4, u32::BITS].map(|bits| {
            let mut order: Vec<usize> = (0..messages.len()).collect();
            order.sort_by_key(|&message| {
                let (entries, first, _) = messages[message];
                (Reverse((entries as u32).max(1).ilog2() / bits), first)
            });
            Self::in_order(&messages, &order)
        });
        orders.into_iter().min_by_key(|places| places.entries).expect("there are several orders")
    }

    /// Places `messages` in this order, each as far to the front as it can be. `messages` has, by
    /// message, its number of entries, and the first and the last level that needs it.
    fn in_order(messages: &[(usize, usize, usize)], order: &[usize]) -> Self {
        let mut starts = vec![0; messages.len()];
        // Sorted by their first entries.
        let mut places: Vec<Place> = Vec::new();
        let mut end = 0;
        for (number, &message) in order.iter().enumerate() {
            let (entries, first, last) = messages[message];
            if number >= MAX_SHARING {
                starts[message] = end as u32;
                end += entries;
                continue;
            }
            let mut start = 0;
            for place in &places {
                if place.entries.start >= start + entries {
                    break;
                }
                if first <= *place.needed.end() && *place.needed.start() <= last {
                    start = start.max(place.entries.end);
                }
            }
            starts[message] = start as u32;
            end = end.max(start + entries);
            let at = places.partition_point(|place| place.entries.start < start);
            let entries = start..start + entries;
            places.insert(at, Place { entries, needed: first..=last });
        }
        Self { starts, entries: end }
    }

    /// The first entry of `message`.
    fn start(&self, message: Message) -> u32 {
        self.starts[message.number as usize]
    }
}

/// What the kernels read, except for variables.
#[derive(Default)]
struct Lists {
    items: Vec<WorkItem>,
    launches: Vec<Range<usize>>,
    steps: Vec<[u32; 4]>,
}

impl Lists {
    /// The work items of all operations, with their steps.
    fn new(plan: &Plan<f32>, places: &Places) -> Self {
        let lengths = plan.operations.iter().map(|operation| max_length(plan, operation));
        let mut lists = Self { steps: allocate::with_capacity(lengths.sum()), ..Self::default() };
        for level in &plan.levels {
            let first = lists.items.len();
            for operation in &plan.operations[level.clone()] {
                lists.add_items(plan, places, operation);
            }
            lists.launches.push(first..lists.items.len());
        }
        lists
    }

    /// Adds the work items of an operation.
    fn add_items(&mut self, plan: &Plan<f32>, places: &Places, operation: &Operation) {
        // The first entry and the number of a factor; zeros if there is no such factor.
        let factor = |which: usize| match operation.factors.get(which) {
            Some(&message) => (places.start(message), message.number),
            None => (0, 0),
        };
        let (second, second_message) = factor(1);
        let (result, (factor, factor_message)) = (operation.result, factor(0));
        let whole = WorkItem {
            kind: match operation.kind {
                Kind::Constant => CONSTANT,
                Kind::One => ONE_FACTOR,
                Kind::OneAndRow => TWO_FACTORS,
                Kind::Two if operation.tiles.is_some() => TILES,
                Kind::Two => TWO_FACTORS,
            },
            first_step: 0,
            steps: 0,
            is_first: 1,
            result: places.start(result),
            result_message: result.number,
            factor,
            factor_message,
            second,
            second_message,
            log_terms: log_terms(plan, operation),
            log_rows: operation.entries.next_power_of_two().ilog2(),
        };
        let before = self.items.len();
        if let Some(number) = operation.tiles {
            let Tiles { tiles, quads } = &plan.tiles[number];
            let work =
                |tile: &Tile| 4 * ROW_OVERHEAD + QUAD_WORK * (tile.end - tile.first) as usize;
            for piece in pieces(tiles, work) {
                let terms = piece.iter().flat_map(|tile| steps::of_tile(*tile, quads));
                self.add_item(whole, &terms.collect::<Vec<_>>());
            }
        } else {
            let rows = &plan.rows[operation.rows.clone()];
            let (zeros, rows): (Vec<Row>, Vec<Row>) =
                rows.iter().partition(|row| row.first == row.end);
            let work = |row: &Row| ROW_OVERHEAD + (row.end - row.first) as usize;
            for piece in pieces(&rows, work) {
                let terms = piece.iter().flat_map(|row| steps::of_row(plan, operation.kind, *row));
                self.add_item(whole, &terms.collect::<Vec<_>>());
            }
            // Rows without terms are exactly zero and must not be raised, so they are computed as
            // sums of constants.
            let constants = WorkItem { kind: CONSTANT, ..whole };
            for piece in pieces(&zeros, work) {
                let terms = piece.iter().map(|row| steps::zero(row.entry));
                self.add_item(constants, &terms.collect::<Vec<_>>());
            }
        }
        self.items[before + 1..].iter_mut().for_each(|item| item.is_first = 0);
    }

    /// Adds a work item with these terms, which is otherwise like `whole`.
    fn add_item<const E: usize, const R: usize>(
        &mut self,
        whole: WorkItem,
        terms: &[steps::Term<E, R>],
    ) {
        let first_step = self.steps.len();
        steps::add(&mut self.steps, whole.kind, terms);
        let vectors = self.steps.len() - first_step;
        let steps = (vectors / steps::length(whole.kind)) as u32;
        self.items.push(WorkItem { first_step: first_step as u32, steps, ..whole });
    }
}

/// An upper bound on the length of the steps of an operation, in vectors of four words. A vector that
/// grows would be copied, and meanwhile take half as much memory again.
fn max_length(plan: &Plan<f32>, operation: &Operation) -> usize {
    let (kind, rows, terms) = if let Some(number) = operation.tiles {
        let Tiles { tiles, quads } = &plan.tiles[number];
        (TILES, tiles.len(), quads.len())
    } else {
        let rows = &plan.rows[operation.rows.clone()];
        // A row without terms becomes a term.
        let terms = rows.iter().map(|row| (row.end - row.first).max(1) as usize).sum();
        let has_two = matches!(operation.kind, Kind::Two | Kind::OneAndRow);
        (if has_two { TWO_FACTORS } else { ONE_FACTOR }, rows.len(), terms)
    };
    // Every work item but the last has at least this much work; see `pieces`.
    let items = (QUAD_WORK * terms + 4 * ROW_OVERHEAD * rows) / MIN_WORK + 2;
    (terms / steps::terms(kind) + items) * steps::length(ONE_FACTOR)
}

/// [`WorkItem::log_terms`] of all work items of an operation.
fn log_terms(plan: &Plan<f32>, operation: &Operation) -> u32 {
    let largest = |row: &Row| {
        let terms = row.first as usize..row.end as usize;
        let constants: f32 = match operation.kind {
            Kind::Two => plan.pairs[terms].iter().map(|term| term.value).fold(1.0, f32::max),
            _ => plan.singles[terms].iter().map(|term| term.value).fold(1.0, f32::max),
        };
        (row.end - row.first) as f32 * constants
    };
    let largest = match operation.tiles {
        Some(number) => plan.tiles[number].terms_bound(),
        None => plan.rows[operation.rows.clone()].iter().map(largest).fold(1.0, f32::max),
    };
    largest.log2().ceil() as u32
}

/// Divides `rows`, each with this `work`, into pieces of about equal work.
fn pieces<R>(rows: &[R], work: impl Fn(&R) -> usize) -> impl Iterator<Item = &[R]> {
    let all: usize = rows.iter().map(&work).sum();
    let target = (all / ITEMS_PER_OPERATION).clamp(MIN_WORK, MAX_WORK);
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut so_far = 0;
        let is_full = |row: &R| {
            so_far += work(row);
            so_far >= target
        };
        let length = rest.iter().position(is_full).map_or(rest.len(), |last| last + 1);
        let piece = rest.split_off(..length)?;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::super::twin::{NOT_RAISED, PEAK, RAISE};
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::batch::{JoinTree, Order};
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layout, layout};
    use crate::format;
    use crate::propagation::{CompileOptions, compile};

    fn plan(sample: &str, check: impl FnOnce(&Network, Plan<f32>)) {
        let network = format::sample(sample).expect("a sample of this name").open().network;
        let compiled = compile(network, &CompileOptions::default(), &CancelToken::new()).unwrap();
        let tree = JoinTree::new(&compiled, 1 << 40).expect("the network has a join tree");
        check(compiled.network(), Plan::new(tree, Order::Levels));
    }

    #[test]
    fn messages_that_are_needed_at_the_same_time_do_not_overlap() {
        plan("munin3", |_, plan| {
            let places = Places::new(&plan);
            // By message: its entries, and from which level it is needed to which.
            let mut needed = vec![(0, usize::MAX, 0); plan.messages];
            for (number, level) in plan.levels.iter().enumerate() {
                for operation in &plan.operations[level.clone()] {
                    needed[operation.result.number as usize] = (operation.entries, number, number);
                    for factor in &operation.factors {
                        needed[factor.number as usize].2 = number;
                    }
                }
            }
            for ends in &plan.variables {
                for message in [ends.weights, ends.others] {
                    needed[message.number as usize] = (ends.states as usize, 0, usize::MAX);
                }
            }
            let all: usize = needed.iter().map(|(entries, ..)| entries).sum();
            let mut most = 0;
            for level in 0..plan.levels.len() {
                let mut used: Vec<(u32, usize)> = (needed.iter().zip(&places.starts))
                    .filter(|((_, first, last), _)| (*first..=*last).contains(&level))
                    .map(|((entries, ..), start)| (*start, *entries))
                    .collect();
                used.sort_unstable();
                for pair in used.windows(2) {
                    assert!(pair[0].0 as usize + pair[0].1 <= pair[1].0 as usize);
                }
                let &(start, entries) = used.last().unwrap();
                assert!(start as usize + entries <= places.entries);
                most = most.max(used.iter().map(|(_, entries)| entries).sum());
            }
            assert!(places.entries <= most + most / 8, "{} entries for {most}", places.entries);
            assert!(places.entries < all * 6 / 10, "{} entries of {all}", places.entries);
        });
    }

    /// The number of cases in a buffer set, and the bytes on GPU and host together, for a batch that
    /// needs several launches on a GPU with enough memory.
    fn large_batch(sample: &str) -> (usize, usize) {
        let mut found = (0, 0);
        plan(sample, |network, plan| {
            let buffers = Buffers::new(network, plan);
            let (sets, capacity) = buffers.capacity(1 << 40).unwrap();
            assert_eq!(sets, MAX_SETS);
            let device = buffers.bytes() + sets * capacity * buffers.case_bytes();
            let host = buffers.host_bytes + sets * capacity * buffers.set_bytes();
            found = (capacity, device + host);
        });
        found
    }

    #[test]
    fn a_batch_of_4096_cases_takes_less_than_8_gib() {
        for (sample, cases, gib) in [("barley", 128, 6.75), ("munin3", 512, 6.5)] {
            let (capacity, bytes) = large_batch(sample);
            assert_eq!(capacity, cases, "{sample}");
            assert!((bytes as f64) < gib * f64::from(1 << 30), "{sample}: {bytes} bytes");
        }
    }

    #[test]
    fn with_less_memory_a_launch_has_fewer_cases() {
        plan("asia", |network, plan| {
            let buffers = Buffers::new(network, plan);
            let group = (GROUP * buffers.case_bytes()) as u64;
            let sets = MAX_SETS as u64;
            assert_eq!(buffers.capacity(group - 1), None);
            assert_eq!(buffers.capacity(group), Some((1, GROUP)));
            assert_eq!(buffers.capacity(3 * group - 1), Some((2, GROUP)));
            assert_eq!(buffers.capacity(3 * sets * group + 1), Some((MAX_SETS, 3 * GROUP)));
            assert_eq!(buffers.capacity(u64::MAX), Some((MAX_SETS, MAX_CASES / MAX_SETS)));
        });
    }

    #[test]
    fn the_kernel_has_the_same_work_items_and_constants() {
        assert_layout(
            "batch",
            layout!(WorkItem {
                kind,
                first_step,
                steps,
                is_first,
                result,
                result_message,
                factor,
                factor_message,
                second,
                second_message,
                log_terms,
                log_rows
            }),
        );
        assert_constants(
            "batch",
            &[
                ("PEAK", f64::from(PEAK)),
                ("RAISE", f64::from(RAISE)),
                ("NOT_RAISED", f64::from(NOT_RAISED)),
                ("CONSTANT", f64::from(CONSTANT)),
                ("ONE_FACTOR", f64::from(ONE_FACTOR)),
                ("TWO_FACTORS", f64::from(TWO_FACTORS)),
                ("TILES", f64::from(TILES)),
                ("STEP_ENTRIES", steps::STEP_ENTRIES as f64),
                ("NONE", f64::from(steps::NONE)),
                ("END_OF_BLOCK", f64::from(steps::END_OF_BLOCK)),
            ],
        );
    }
}
