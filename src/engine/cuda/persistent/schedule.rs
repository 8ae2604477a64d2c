//! Assigns work items to blocks, and orders the work items of each block.
//!
//! The method is list scheduling: a run is simulated with the estimated costs of the work items.
//! In the simulation, a free block takes a work item of the most urgent task that is ready. A
//! *task* is an operation or a report. The longer the path from a task to the end of the run, the
//! more urgent the task is. Operations come first in the numbering of tasks, as in [`WorkItems`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use rayon::prelude::*;

use super::costs::{HOST_READ_PER_VARIABLE, PREPARATION_LEAD};
use super::work_items::{HEADER_WORDS, RecordHeader, WorkItems, split};

/// A list of work items for each block.
pub(super) struct Schedule {
    /// All work items, list after list.
    pub items: Vec<usize>,
    /// Where each list begins in `items`, then the total number of work items.
    pub starts: Vec<u32>,
    /// All work items in the order of their simulated starts. Each list is in this order, and each
    /// work item comes after the work items that it waits for. Therefore blocks that are all
    /// resident cannot deadlock.
    pub start_order: Vec<usize>,
}

/// The state of a simulated run. All times are in nanoseconds from the start of the run.
struct Simulation<'a> {
    items: &'a WorkItems,
    /// For each task the tasks that read its result. Tasks without work items are left out.
    consumers: Vec<Vec<usize>>,
    /// For each task the number of its inputs that still have work items to start.
    pending: Vec<usize>,
    /// For each task the time that [`remaining_times`] returns. The task with the longest time is
    /// the most urgent.
    remaining: Vec<u64>,
    /// For each task the time at which its inputs are complete, as far as this is known.
    inputs_complete: Vec<u64>,
    /// For each task the latest end of its work items that have started.
    ends: Vec<u64>,
    /// For each task the next work item to start.
    next_item: Vec<usize>,
    /// Tasks that can be started later, each with the time from which it can be started.
    later: BinaryHeap<Reverse<(u64, usize)>>,
    /// Tasks that can be started now, the most urgent on top.
    ready: BinaryHeap<(u64, Reverse<usize>)>,
}

impl<'a> Simulation<'a> {
    /// The state before the first work item starts.
    fn new(items: &'a WorkItems) -> Self {
        let tasks = items.inputs.len();
        let has_items = |task: usize| items.offsets[task] < items.offsets[task + 1];
        let mut consumers = vec![Vec::new(); tasks];
        let mut pending = vec![0; tasks];
        for (consumer, inputs) in items.inputs.iter().enumerate() {
            for &producer in inputs {
                if has_items(producer) && has_items(consumer) {
                    consumers[producer].push(consumer);
                    pending[consumer] += 1;
                }
            }
        }
        let without_inputs = (0..tasks).filter(|&task| pending[task] == 0 && has_items(task));
        let later = without_inputs.map(|task| Reverse((0, task))).collect();
        Self {
            items,
            remaining: remaining_times(items, &consumers),
            consumers,
            pending,
            inputs_complete: vec![0; tasks],
            ends: vec![0; tasks],
            next_item: items.offsets.clone(),
            later,
            ready: BinaryHeap::new(),
        }
    }

    /// The most urgent of the tasks that can be started at `time`.
    fn most_urgent(&mut self, time: u64) -> Option<usize> {
        while let Some(&Reverse((from, task))) = self.later.peek() {
            if from > time {
                break;
            }
            self.later.pop();
            self.ready.push((self.remaining[task], Reverse(task)));
        }
        self.ready.peek().map(|&(_, Reverse(task))| task)
    }

    /// The time from which another task can be started; `None` if there is none.
    fn next_release(&self) -> Option<u64> {
        self.later.peek().map(|&Reverse((from, _))| from)
    }

    /// Starts the next work item of `task`, the most urgent task, at `time`. Returns the work item
    /// and the time at which it ends.
    fn start_item(&mut self, task: usize, time: u64) -> (usize, u64) {
        let item = self.next_item[task];
        self.next_item[task] += 1;
        let cost = self.items.costs[item];
        let staged = (time + cost.time_to_stage())
            .max(self.inputs_complete[task] + cost.time_to_stage_after_wait());
        let end = staged + u64::from(cost.sum_time);
        self.ends[task] = self.ends[task].max(end);
        if self.next_item[task] == self.items.offsets[task + 1] {
            self.ready.pop();
            self.complete(task, time);
        }
        (item, end)
    }

    /// Tells the consumers of `task` when it is complete. Its last work item started at `time`.
    fn complete(&mut self, task: usize, time: u64) {
        for &consumer in &self.consumers[task] {
            let inputs_complete = &mut self.inputs_complete[consumer];
            *inputs_complete = self.ends[task].max(*inputs_complete);
            self.pending[consumer] -= 1;
            if self.pending[consumer] == 0 {
                let from = inputs_complete.saturating_sub(PREPARATION_LEAD);
                self.later.push(Reverse((from.max(time), consumer)));
            }
        }
    }
}

impl Schedule {
    /// The schedule for a launch of `blocks` blocks.
    pub fn new(items: &WorkItems, blocks: usize) -> Self {
        let mut simulation = Simulation::new(items);
        let mut lists = vec![Vec::new(); blocks];
        let mut start_order = Vec::with_capacity(items.len());
        // All blocks, with the time at which each becomes free.
        let mut free: BinaryHeap<Reverse<(u64, usize)>> =
            (0..blocks).map(|block| Reverse((0, block))).collect();
        while let Some(Reverse((time, block))) = free.pop() {
            let Some(task) = simulation.most_urgent(time) else {
                // The block waits until a task can be started.
                let Some(release) = simulation.next_release() else { break };
                free.push(Reverse((release, block)));
                continue;
            };
            let (item, end) = simulation.start_item(task, time);
            lists[block].push(item);
            start_order.push(item);
            free.push(Reverse((end, block)));
        }
        debug_assert_eq!(start_order.len(), items.len(), "tasks have no cyclic dependencies");
        let mut starts = vec![0];
        for list in &lists {
            starts.push(starts[starts.len() - 1] + list.len() as u32);
        }
        Self { items: lists.concat(), starts, start_order }
    }

    /// The work items of list number `list`.
    pub fn list(&self, list: usize) -> &[usize] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.starts.len() - 1
    }

    /// Two words per list: the position and the length of the list's first record, in units of four
    /// words. The records of all lists are stored one list after another.
    pub fn record_starts(&self, items: &WorkItems) -> Vec<u32> {
        let mut starts = Vec::with_capacity(2 * self.lists());
        let mut position = 0;
        for list in (0..self.lists()).map(|list| self.list(list)) {
            let first =
                list.first().map_or(0, |&item| RecordHeader::of(&items.records[item]).words);
            starts.extend([(position / 4) as u32, u32::from(first) / 4]);
            position += list_words(items, list);
        }
        starts
    }

    /// Divides `lists` into pieces whose records have at least `words` words together, except in
    /// the last piece. Returns the lists of each piece, and the number of words of its records.
    pub fn pieces(
        &self,
        items: &WorkItems,
        lists: Range<usize>,
        words: usize,
    ) -> Vec<(Range<usize>, usize)> {
        let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
        for list in lists {
            let of_list = list_words(items, self.list(list));
            match pieces.last_mut() {
                Some((lists, of_piece)) if *of_piece < words => {
                    lists.end += 1;
                    *of_piece += of_list;
                }
                _ => pieces.push((list..list + 1, of_list)),
            }
        }
        pieces
    }

    /// Writes the records of `lists` to `out`, as the kernel reads them. Each record gets the
    /// length of the next one in its list, or zero at the end of the list.
    pub fn write_records(&self, items: &WorkItems, lists: Range<usize>, out: &mut [u32]) {
        let mut rest = out;
        let lists: Vec<(&[usize], &mut [u32])> = lists
            .map(|list| {
                let list = self.list(list);
                (list, rest.split_off_mut(..list_words(items, list)).expect("space for all lists"))
            })
            .collect();
        lists.into_par_iter().for_each(|(list, out)| write_list(items, list, out));
    }

    /// The numbers of the reports in the order in which the reports are expected to arrive.
    pub fn report_order(&self, items: &WorkItems) -> Vec<usize> {
        // The last work items are the reports, one work item each.
        let first_report = items.len() - items.reports.len();
        let report = |&item: &usize| item.checked_sub(first_report);
        self.start_order.iter().filter_map(report).collect()
    }
}

/// Number of words of the records of the work items in `list`.
fn list_words(items: &WorkItems, list: &[usize]) -> usize {
    list.iter().map(|&item| items.records[item].len()).sum()
}

/// Writes the records of the work items in `list` to `out`; see [`Schedule::write_records`].
fn write_list(items: &WorkItems, list: &[usize], out: &mut [u32]) {
    let records = || list.iter().flat_map(|&item| split(&items.records[item]));
    let next_words = records().skip(1).map(|record| RecordHeader::of(record).words).chain([0]);
    let mut first = 0;
    for (record, next_words) in records().zip(next_words) {
        let out = &mut out[first..first + record.len()];
        out.copy_from_slice(record);
        let header = RecordHeader { next_words, ..*RecordHeader::of(record) };
        out[..HEADER_WORDS].copy_from_slice(&header.to_words());
        first += record.len();
    }
}

/// The latency in nanoseconds of the slowest work item of a task; 0 if the task has no work items.
fn latency(items: &WorkItems, task: usize) -> u64 {
    let costs = &items.costs[items.offsets[task]..items.offsets[task + 1]];
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

/// For each task the nanoseconds from the end of its last input until everything that depends on
/// the task has been computed and read by the host.
fn remaining_times(items: &WorkItems, consumers: &[Vec<usize>]) -> Vec<u64> {
    let mut remaining = vec![0; consumers.len()];
    // The host reads one report after another. So when a report has been written, the host still
    // has to read this report and all later ones.
    let first_report = consumers.len() - items.reports.len();
    let mut time_to_read = 0;
    for (report, remaining) in items.reports.iter().zip(&mut remaining[first_report..]).rev() {
        time_to_read += HOST_READ_PER_VARIABLE * report.variables.len() as u64;
        *remaining = time_to_read;
    }
    for task in (0..consumers.len()).rev() {
        let after_task = consumers[task].iter().map(|&consumer| remaining[consumer]).max();
        remaining[task] += after_task.unwrap_or(0) + latency(items, task);
    }
    remaining
}
