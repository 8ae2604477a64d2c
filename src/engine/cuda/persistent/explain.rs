//! Prints how the time of a propagation is spent, from the timestamps of all work items. To run it
//! on a machine with a GPU:
//!
//! ```text
//! cargo test --release --lib -- --ignored --nocapture where_the_time_goes
//! ```

use super::tests::{PAPER_NETWORKS, program, sample};
use super::work_items::RecordHeader;
use super::*;
use crate::engine::cuda::device::device;
use crate::engine::cuda::device::tests::has_gpu;

/// Number of runs per network; the shortest is printed.
const RUNS: usize = 20;

#[test]
#[ignore = "prints, and checks nothing"]
fn where_the_time_goes() {
    if !has_gpu("where_the_time_goes") {
        return;
    }
    for name in PAPER_NETWORKS {
        let (mut program, _) = program(&sample(name));
        let records = program.items.records.clone();
        let device = device().unwrap();
        let kernels = Kernels::load(device, program.semiring).unwrap();
        let mut gpu = Gpu::load(device, kernels, &mut program).unwrap();
        // Loading freed them.
        program.items.records = records;
        let mut run = || {
            let _lock = gpu.lock();
            gpu.start(&program, false, Variant::Timestamped).unwrap();
            gpu.timestamps(&program).unwrap()
        };
        let runs = (0..RUNS).map(|_| run());
        let shortest = runs.min_by_key(|timestamps| length(timestamps)).unwrap();
        println!("{name}, no evidence: {} work items", program.items.len());
        print_shares(&shortest, gpu.blocks());
        print_costs(&program.items, &shortest, program.operations.all.len());
        print_critical_path(&program.items, &shortest, gpu.blocks());
    }
}

/// The time at which the first work item began.
fn start(timestamps: &[Timestamps]) -> u64 {
    timestamps.iter().map(|times| times.began).min().unwrap_or(0)
}

/// The time from the start of the first work item to the end of the last, in nanoseconds.
fn length(timestamps: &[Timestamps]) -> u64 {
    timestamps.iter().map(|times| times.end).max().unwrap_or(0) - start(timestamps)
}

/// For each work item the number of its operation or report.
fn operations_of_items(items: &WorkItems) -> Vec<usize> {
    let ranges = items.offsets.windows(2).enumerate();
    ranges.flat_map(|(operation, range)| (range[0]..range[1]).map(move |_| operation)).collect()
}

/// The work items that compute the inputs of `operation`.
fn input_items(items: &WorkItems, operation: usize) -> impl Iterator<Item = usize> {
    let inputs = items.inputs[operation].iter();
    inputs.flat_map(|&input| items.offsets[input]..items.offsets[input + 1])
}

/// Prints how the time of the blocks divides into waiting and staging, and summing.
fn print_shares(timestamps: &[Timestamps], blocks: usize) {
    let length = length(timestamps);
    let percent = (blocks as u64 * length) as f64 / 100.0;
    let staging: u64 = timestamps.iter().map(|times| times.ready - times.began).sum();
    let summing: u64 = timestamps.iter().map(|times| times.end - times.ready).sum();
    println!(
        "  {length} ns; {blocks} blocks: {:.0}% waiting and staging, {:.0}% summing",
        staging as f64 / percent,
        summing as f64 / percent
    );
}

/// Prints mean times of the work items of operations. Work items are grouped by the number of
/// message words that each thread stages, and by whether an input was completed after the work item
/// began.
fn print_costs(items: &WorkItems, timestamps: &[Timestamps], operations: usize) {
    let operation = operations_of_items(items);
    // For each group the number of work items, and the total times of waiting, staging and summing.
    let mut groups = std::collections::BTreeMap::<_, [u64; 4]>::new();
    for (item, times) in timestamps.iter().enumerate().take(items.offsets[operations]) {
        let inputs = input_items(items, operation[item]);
        let last_input = inputs.map(|input| timestamps[input].end).max().unwrap_or(0);
        let complete = last_input.min(times.ready);
        // Each of the four warps of a block stages every fourth chunk, a word per thread and chunk.
        let words = RecordHeader::of(&items.records[item]).message_chunks.div_ceil(4);
        let group = groups.entry((words, complete > times.began)).or_default();
        let waited = complete.saturating_sub(times.began);
        let staged = times.ready - times.began - waited;
        for (sum, time) in group.iter_mut().zip([1, waited, staged, times.end - times.ready]) {
            *sum += time;
        }
    }
    for ((words, waits), [count, waited, staged, summed]) in groups {
        println!(
            "  {count:>5} work items of {words} words per thread, inputs {}: {:>5} ns waiting, \
             {:>4} ns staging, {:>4} ns summing",
            if waits { "late " } else { "early" },
            waited / count,
            staged / count,
            summed / count
        );
    }
}

/// Prints the critical path backwards from the last work item. The predecessor of a work item is
/// the one that ended last among its inputs and the previous work item of its block.
fn print_critical_path(items: &WorkItems, timestamps: &[Timestamps], blocks: usize) {
    let (operation, start) = (operations_of_items(items), start(timestamps));
    let mut previous = vec![None; items.len()];
    let mut start_order: Vec<usize> = (0..items.len()).collect();
    start_order.sort_by_key(|&item| timestamps[item].began);
    let mut last_of_block = vec![None; blocks];
    for &item in &start_order {
        previous[item] = last_of_block[timestamps[item].block as usize].replace(item);
    }
    let mut item = (0..items.len()).max_by_key(|&item| timestamps[item].end);
    while let Some(this) = item {
        let record = RecordHeader::of(&items.records[this]);
        let Timestamps { began, ready, end, block } = timestamps[this];
        println!(
            "  {:>7} to {:>7} ns, ready {:>7}, block {block:>4}: operation {}, {} chunks, \
             {} steps, {} passes",
            began - start,
            end - start,
            ready - start,
            operation[this],
            record.message_chunks,
            record.steps,
            record.passes
        );
        let inputs = input_items(items, operation[this]);
        item = inputs.chain(previous[this]).max_by_key(|&item| timestamps[item].end);
    }
}
