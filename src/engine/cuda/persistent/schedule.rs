//! Which block does which items, in which order.
//!
//! List scheduling: the run is simulated with what items are thought to cost; whenever a block is
//! free it takes an item of the operation from which the longest way remains to the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::costs::{AHEAD, READING};
use super::items::{Items, split};

/// A list of items for each block.
pub(super) struct Schedule {
    /// All items, list after list.
    pub items: Vec<usize>,
    /// First of each list in `items`, and the end of the last.
    pub starts: Vec<u32>,
    /// All items in the order in which they begin in the simulation. Each list is in this order,
    /// and each item comes after those it waits for: that is why blocks that are all running never
    /// wait for each other in a circle.
    pub in_time: Vec<usize>,
}

impl Schedule {
    pub fn new(items: &Items, blocks: usize) -> Self {
        let count = items.needs.len();
        let has_items = |operation: usize| items.first[operation] < items.first[operation + 1];
        let mut consumers = vec![Vec::new(); count];
        let mut pending = vec![0; count];
        for (consumer, needs) in items.needs.iter().enumerate() {
            for producer in needs {
                // Of which nothing is needed, nothing is waited for.
                if has_items(*producer) {
                    consumers[*producer].push(consumer);
                    pending[consumer] += 1;
                }
            }
        }
        let way = ways_to_the_end(items, &consumers);

        let mut lists = vec![Vec::new(); blocks];
        let mut begun = Vec::with_capacity(items.len());
        // When all that an operation needs has ended, and when all of its items have.
        let mut ready_at = vec![0_u64; count];
        let mut done_at = vec![0_u64; count];
        // Operations whose items can be taken up, from some time on and now.
        let mut later: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut ready: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::new();
        let mut free: BinaryHeap<Reverse<(u64, usize)>> =
            (0..blocks).map(|block| Reverse((0, block))).collect();
        let at_once = (0..count).filter(|&op| pending[op] == 0 && has_items(op));
        later.extend(at_once.map(|op| Reverse((0, op))));
        let mut next = items.first.clone();
        while let Some(Reverse((time, block))) = free.pop() {
            while let Some(&Reverse((at, operation))) = later.peek() {
                if at > time {
                    break;
                }
                later.pop();
                ready.push((way[operation], Reverse(operation)));
            }
            let Some(&(_, Reverse(operation))) = ready.peek() else {
                let Some(&Reverse((at, _))) = later.peek() else { break };
                free.push(Reverse((at, block)));
                continue;
            };
            let item = next[operation];
            next[operation] += 1;
            lists[block].push(item);
            begun.push(item);
            let cost = items.costs[item];
            let stage = (time + cost.preparation()).max(ready_at[operation] + cost.hand_over());
            let end = stage + u64::from(cost.sums);
            free.push(Reverse((end, block)));
            done_at[operation] = done_at[operation].max(end);
            if next[operation] == items.first[operation + 1] {
                ready.pop();
                for &consumer in &consumers[operation] {
                    ready_at[consumer] = ready_at[consumer].max(done_at[operation]);
                    pending[consumer] -= 1;
                    if pending[consumer] == 0 {
                        // Taken up as early as it can be prepared.
                        let at = ready_at[consumer].saturating_sub(AHEAD);
                        later.push(Reverse((at.max(time), consumer)));
                    }
                }
            }
        }
        debug_assert_eq!(begun.len(), items.len(), "operations are in an order without circles");
        let mut starts = vec![0];
        for list in &lists {
            starts.push(starts[starts.len() - 1] + list.len() as u32);
        }
        Self { items: lists.concat(), starts, in_time: begun }
    }
}

impl Schedule {
    /// The records of all lists, one list after another, as the kernel reads them: the first word of each
    /// has the length of the next in its upper half, zero at the end of a list. And for each list where
    /// its first record begins and how long that is, in units of four words.
    pub fn records(&self, items: &Items) -> (Vec<u32>, Vec<u32>) {
        let mut records = Vec::with_capacity(items.record_words());
        let mut starts = Vec::with_capacity(2 * self.starts.len());
        for list in self.starts.windows(2) {
            let list = &self.items[list[0] as usize..list[1] as usize];
            let first = list.first().map_or(0, |&first| items.records[first][0] / 4);
            starts.extend([(records.len() / 4) as u32, first]);
            for (n, &item) in list.iter().enumerate() {
                let next = list.get(n + 1).map_or(0, |&next| items.records[next][0]);
                let mut of_item = split(&items.records[item]).peekable();
                while let Some(record) = of_item.next() {
                    let next = of_item.peek().map_or(next, |record| record[0]);
                    records.push(record[0] | next << 16);
                    records.extend(&record[1..]);
                }
            }
        }
        (records, starts)
    }

    /// For each operation and report, the last place of its items in time; zero if it has none.
    fn ends(&self, items: &Items) -> Vec<usize> {
        let mut place = vec![0; items.len()];
        for (at, &item) in self.in_time.iter().enumerate() {
            place[item] = at;
        }
        let last = |of: &[usize]| place[of[0]..of[1]].iter().copied().max().unwrap_or(0);
        items.first.windows(2).map(last).collect()
    }

    /// The reports in the order in which they are expected.
    pub fn reports(&self, items: &Items) -> Vec<usize> {
        let ends = self.ends(items);
        let ends = &ends[ends.len() - items.reports.len()..];
        let mut reports: Vec<usize> = (0..items.reports.len()).collect();
        reports.sort_by_key(|&report| ends[report]);
        reports
    }
}

/// What the longest of an operation's items take, in nanoseconds; nothing if it has none.
fn hop(items: &Items, operation: usize) -> u64 {
    let costs = &items.costs[items.first[operation]..items.first[operation + 1]];
    costs.iter().map(|cost| cost.hop()).max().unwrap_or(0)
}

/// When each operation could end if there were a block for every item, in nanoseconds.
pub(super) fn earliest_ends(items: &Items) -> Vec<u64> {
    let mut ends: Vec<u64> = Vec::with_capacity(items.needs.len());
    for (operation, needs) in items.needs.iter().enumerate() {
        let last = needs.iter().map(|&needed| ends[needed]).max().unwrap_or(0);
        ends.push(last + hop(items, operation));
    }
    ends
}

/// Nanoseconds from the start of each operation until all that needs it has ended and been read.
fn ways_to_the_end(items: &Items, consumers: &[Vec<usize>]) -> Vec<u64> {
    let mut way = vec![0; consumers.len()];
    // The host reads one report after another, and while it does, the blocks have time for the next.
    let (mut reading, operations) = (0, consumers.len() - items.reports.len());
    for (report, way) in items.reports.iter().zip(&mut way[operations..]).rev() {
        reading += READING * report.variables.len() as u64;
        *way = reading;
    }
    for operation in (0..consumers.len()).rev() {
        let after = consumers[operation].iter().map(|&consumer| way[consumer]).max();
        way[operation] += after.unwrap_or(0) + hop(items, operation);
    }
    way
}
