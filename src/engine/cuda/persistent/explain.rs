//! Where the time of a propagation goes, from the stamps of all items. On a machine with a GPU:
//!
//! ```text
//! cargo test --release --lib -- --ignored --nocapture where_the_time_goes
//! ```

use super::tests::{OF_THE_PAPER, flow, sample};
use super::*;
use crate::engine::cuda::device::tests::on_the_gpu;

/// Runs of which the shortest is told of.
const RUNS: usize = 20;

#[test]
#[ignore = "prints, and checks nothing"]
fn where_the_time_goes() {
    if !on_the_gpu("where_the_time_goes") {
        return;
    }
    for name in OF_THE_PAPER {
        let (flow, _) = flow(&sample(name));
        let mut gpu = Gpu::load(device().unwrap(), &flow).unwrap();
        let mut run = || {
            gpu.start(&flow, false, true).unwrap();
            gpu.stamps(&flow).unwrap()
        };
        let runs = (0..RUNS).map(|_| run());
        let shortest = runs.min_by_key(|stamps| length(stamps)).unwrap();
        println!("{name}, no evidence: {} items", flow.items.len());
        tell(&flow, &shortest, gpu.lists());
    }
}

/// When the first item was taken up.
fn start(stamps: &[Stamp]) -> u64 {
    stamps.iter().map(|stamp| stamp.began).min().unwrap_or(0)
}

/// From the first item to the end of the last.
fn length(stamps: &[Stamp]) -> u64 {
    stamps.iter().map(|stamp| stamp.end).max().unwrap_or(0) - start(stamps)
}

/// Prints what all blocks do and the items on which the end depends: of what an item waited for, each
/// time what ended last.
fn tell(flow: &Flow, stamps: &[Stamp], lists: usize) {
    let items = &flow.items;
    let (length, start) = (length(stamps), start(stamps));
    let all = (lists as u64 * length) as f64 / 100.0;
    let waiting: u64 = stamps.iter().map(|stamp| stamp.ready - stamp.began).sum();
    let working: u64 = stamps.iter().map(|stamp| stamp.end - stamp.ready).sum();
    println!(
        "  {length} ns; of the time of {lists} blocks {:.0}% until messages are on the stage, {:.0}% in sums",
        waiting as f64 / all,
        working as f64 / all
    );
    let operations = items.first.windows(2).enumerate();
    let operation: Vec<usize> =
        operations.flat_map(|(operation, of)| (of[0]..of[1]).map(move |_| operation)).collect();
    // Of items of so many words a thread, and whether they came later than the item was taken up: how many,
    // and nanoseconds until they were there, on the stage, and summed.
    let mut classes = std::collections::BTreeMap::<_, [u64; 4]>::new();
    for (item, stamp) in stamps.iter().enumerate().take(items.first[flow.operations.all.len()]) {
        let needs = items.needs[operation[item]].iter();
        let needs = needs.flat_map(|&operation| items.first[operation]..items.first[operation + 1]);
        let there = needs.map(|item| stamps[item].end).max().unwrap_or(0).min(stamp.ready);
        let words = (items.records[item][1] & 0xffff).div_ceil(4);
        let class = classes.entry((words, there > stamp.began)).or_default();
        let waited = there.saturating_sub(stamp.began);
        let staged = stamp.ready - stamp.began - waited;
        for (sum, of_item) in class.iter_mut().zip([1, waited, staged, stamp.end - stamp.ready]) {
            *sum += of_item;
        }
    }
    for ((words, waits), [count, waited, staged, summed]) in classes {
        println!(
            "  {count:>5} items of {words} words a thread, {}: {:>5} ns until they are there, {:>4} on the stage, {:>4} summed",
            if waits { "which come later" } else { "which are there " },
            waited / count,
            staged / count,
            summed / count
        );
    }
    // The item before each in its block.
    let mut before = vec![None; items.len()];
    let mut in_time: Vec<usize> = (0..items.len()).collect();
    in_time.sort_by_key(|&item| stamps[item].began);
    let mut last_of_block = vec![None; lists];
    for &item in &in_time {
        before[item] = last_of_block[stamps[item].lane as usize].replace(item);
    }
    let mut item = (0..items.len()).max_by_key(|&item| stamps[item].end);
    while let Some(this) = item {
        let record = &items.records[this];
        let Stamp { began, ready, end, lane } = stamps[this];
        println!(
            "  {:>7} to {:>7}, ready {:>7}, block {lane:>4}: operation {}, {} chunks, {} steps in {} passes",
            began - start,
            end - start,
            ready - start,
            operation[this],
            record[1] & 0xffff,
            record[2] & 0xffff,
            record[3] & 0xffff
        );
        let needs = items.needs[operation[this]].iter();
        let needs = needs.flat_map(|&operation| items.first[operation]..items.first[operation + 1]);
        item = needs.chain(before[this]).max_by_key(|&item| stamps[item].end);
    }
}
