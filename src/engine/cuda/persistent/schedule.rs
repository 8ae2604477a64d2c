//! Assigns work items to blocks, and orders the work items of each block.
//!
//! The method is list scheduling: the run is simulated with the estimated costs of work items.
//! Whenever a block is free, it takes a work item from the operation that is ready and has the
//! longest remaining path to the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::costs::{HOST_READ_PER_VARIABLE, PREPARATION_LEAD};
use super::work_items::{WorkItems, split};

/// A list of work items for each block.
pub(super) struct Schedule {
    /// All work items, list after list.
    pub items: Vec<usize>,
    /// Where each list begins in `items`, then the total number of work items.
    pub starts: Vec<u32>,
    /// All work items in the order of their simulated starts. Each list is in this order, and each
    /// work item comes after those that it waits for, so blocks that are all resident cannot
    /// deadlock.
    pub start_order: Vec<usize>,
}

/// Which operations and reports wait for each operation, and for how many inputs each of them
/// waits. Operations without work items are left out.
struct Dependencies {
    /// For each operation the operations and reports that read its result. Reports are numbered
    /// after the operations.
    consumers: Vec<Vec<usize>>,
    /// For each operation and report the number of inputs that are not complete yet.
    pending: Vec<usize>,
}

impl Dependencies {
    fn new(items: &WorkItems) -> Self {
        let count = items.inputs.len();
        let mut consumers = vec![Vec::new(); count];
        let mut pending = vec![0; count];
        for (consumer, inputs) in items.inputs.iter().enumerate() {
            for producer in inputs {
                if has_items(items, *producer) {
                    consumers[*producer].push(consumer);
                    pending[consumer] += 1;
                }
            }
        }
        Self { consumers, pending }
    }
}

fn has_items(items: &WorkItems, operation: usize) -> bool {
    items.offsets[operation] < items.offsets[operation + 1]
}

impl Schedule {
    /// The schedule for a launch of `blocks` blocks.
    pub fn new(items: &WorkItems, blocks: usize) -> Self {
        let count = items.inputs.len();
        let Dependencies { consumers, mut pending } = Dependencies::new(items);
        let remaining = remaining_times(items, &consumers);

        let mut lists = vec![Vec::new(); blocks];
        let mut start_order = Vec::with_capacity(items.len());
        // When all inputs of an operation are complete, and when all of its work items are.
        let mut ready_at = vec![0_u64; count];
        let mut done_at = vec![0_u64; count];
        // Operations that can be started later, with the time at which they can; and operations
        // that can be started now, with the remaining time as priority. Both include reports.
        let mut later: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut ready: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
        // All blocks, with the time at which each becomes free.
        let mut free: BinaryHeap<Reverse<(u64, usize)>> =
            (0..blocks).map(|block| Reverse((0, block))).collect();
        let without_inputs = (0..count).filter(|&op| pending[op] == 0 && has_items(items, op));
        later.extend(without_inputs.map(|op| Reverse((0, op))));
        let mut next = items.offsets.clone();
        while let Some(Reverse((time, block))) = free.pop() {
            while let Some(&Reverse((at, operation))) = later.peek() {
                if at > time {
                    break;
                }
                later.pop();
                ready.push((remaining[operation], Reverse(operation)));
            }
            let Some(&(_, Reverse(operation))) = ready.peek() else {
                let Some(&Reverse((at, _))) = later.peek() else { break };
                free.push(Reverse((at, block)));
                continue;
            };
            let item = next[operation];
            next[operation] += 1;
            lists[block].push(item);
            start_order.push(item);
            let cost = items.costs[item];
            let staged = (time + cost.time_to_stage())
                .max(ready_at[operation] + cost.time_to_stage_after_wait());
            let end = staged + u64::from(cost.sum_time);
            free.push(Reverse((end, block)));
            done_at[operation] = done_at[operation].max(end);
            if next[operation] == items.offsets[operation + 1] {
                ready.pop();
                for &consumer in &consumers[operation] {
                    ready_at[consumer] = ready_at[consumer].max(done_at[operation]);
                    pending[consumer] -= 1;
                    if pending[consumer] == 0 {
                        let at = ready_at[consumer].saturating_sub(PREPARATION_LEAD);
                        later.push(Reverse((at.max(time), consumer)));
                    }
                }
            }
        }
        debug_assert_eq!(start_order.len(), items.len(), "operations have no cyclic dependencies");
        let mut starts = vec![0];
        for list in &lists {
            starts.push(starts[starts.len() - 1] + list.len() as u32);
        }
        Self { items: lists.concat(), starts, start_order }
    }

    /// The records of all lists as the kernel reads them, one list after another, and two words per
    /// list: the position and the length of the list's first record, in units of four words.
    ///
    /// The upper half of the first word of each record is the length of the next record in words,
    /// or zero at the end of a list.
    pub fn records(&self, items: &WorkItems) -> (Vec<u32>, Vec<u32>) {
        let mut records = Vec::with_capacity(items.record_words());
        let mut starts = Vec::with_capacity(2 * self.starts.len());
        for list in self.starts.windows(2) {
            let list = &self.items[list[0] as usize..list[1] as usize];
            let first = list.first().map_or(0, |&first| items.records[first][0] / 4);
            starts.extend([(records.len() / 4) as u32, first]);
            for (n, &item) in list.iter().enumerate() {
                let next = list.get(n + 1).map_or(0, |&next| items.records[next][0]);
                let mut item_records = split(&items.records[item]).peekable();
                while let Some(record) = item_records.next() {
                    let next = item_records.peek().map_or(next, |record| record[0]);
                    records.push(record[0] | next << 16);
                    records.extend(&record[1..]);
                }
            }
        }
        (records, starts)
    }

    /// For each operation and report the last position of its work items in `start_order`; 0 if
    /// there are none.
    fn last_positions(&self, items: &WorkItems) -> Vec<usize> {
        let mut position = vec![0; items.len()];
        for (at, &item) in self.start_order.iter().enumerate() {
            position[item] = at;
        }
        let last =
            |range: &[usize]| position[range[0]..range[1]].iter().copied().max().unwrap_or(0);
        items.offsets.windows(2).map(last).collect()
    }

    /// The reports in the order in which they are expected to arrive.
    pub fn report_order(&self, items: &WorkItems) -> Vec<usize> {
        let positions = self.last_positions(items);
        let positions = &positions[positions.len() - items.reports.len()..];
        let mut reports: Vec<usize> = (0..items.reports.len()).collect();
        reports.sort_by_key(|&report| positions[report]);
        reports
    }
}

/// The latency of the slowest work item of an operation in nanoseconds; 0 if there are no work
/// items.
fn latency(items: &WorkItems, operation: usize) -> u64 {
    let costs = &items.costs[items.offsets[operation]..items.offsets[operation + 1]];
    costs.iter().map(|cost| cost.latency()).max().unwrap_or(0)
}

/// When each operation would end, in nanoseconds, if there were a block for every work item.
pub(super) fn earliest_ends(items: &WorkItems) -> Vec<u64> {
    let mut ends: Vec<u64> = Vec::with_capacity(items.inputs.len());
    for (operation, inputs) in items.inputs.iter().enumerate() {
        let last = inputs.iter().map(|&input| ends[input]).max().unwrap_or(0);
        ends.push(last + latency(items, operation));
    }
    ends
}

/// For each operation and report the nanoseconds from the end of its last input until everything
/// that depends on it has been computed and read by the host.
fn remaining_times(items: &WorkItems, consumers: &[Vec<usize>]) -> Vec<u64> {
    let mut remaining = vec![0; consumers.len()];
    // The host reads one report after another. The later a report, the less the host has to read
    // afterwards, so late reports are less urgent.
    let (mut reading, operations) = (0, consumers.len() - items.reports.len());
    for (report, remaining) in items.reports.iter().zip(&mut remaining[operations..]).rev() {
        reading += HOST_READ_PER_VARIABLE * report.variables.len() as u64;
        *remaining = reading;
    }
    for operation in (0..consumers.len()).rev() {
        let after = consumers[operation].iter().map(|&consumer| remaining[consumer]).max();
        remaining[operation] += after.unwrap_or(0) + latency(items, operation);
    }
    remaining
}
