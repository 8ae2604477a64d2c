//! The plan of a batch as the kernels read it, and the format of evidence and results.

use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::MAX_SETS;
use super::work_items::{WorkItem, WorkItems};
use crate::engine::batch::{Message, Plan, weight_scale};
use crate::engine::cuda::underflow::{TINY_WEIGHT, has_tiny_weight};
use crate::network::{Evidence, Finding, Network};
use crate::potential::Real;

/// Number of cases in a group: the cases that the 32 threads of a warp compute together. A buffer
/// set has room for a whole number of groups.
pub const GROUP: usize = 32 * CASES_PER_THREAD;

/// Cases per thread: V in `kernels/batch.cu`, and the number at the end of the kernels' names.
pub const CASES_PER_THREAD: usize = 2;

/// Maximum number of cases in all buffer sets of a GPU together. With a smaller number, starting
/// the kernels of a small network would take longer than running them. This affects only speed and
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
        let WorkItems { items, launches, steps } = WorkItems::new(&plan, &places);
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
pub struct Places {
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
    pub fn start(&self, message: Message) -> u32 {
        self.starts[message.number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::engine::batch::{JoinTree, Order};
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

    /// The number of cases in a buffer set, and the bytes on GPU and host together, for a batch
    /// that needs several launches on a GPU with enough memory.
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
}
