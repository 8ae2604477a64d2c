//! Shares a list of work between threads.

use rayon::ThreadPool;

use crate::engine::cpu::context::MIN_PARALLEL_ENTRIES;

/// A list of items that together cost at least twice this, in table entries, is divided between two
/// threads, unless one thread would get less than half of this. This is about ten microseconds of
/// work. If it is wrong, only speed changes.
const MIN_TAKEN: usize = 16_384;

/// Calls `work` with consecutive parts of `items`, which together are all items. `cost` is the cost
/// of an item, in table entries. All items are one part if they cost little, or without `threads`.
pub fn in_parts<T: Send>(
    threads: Option<&ThreadPool>,
    items: &mut [T],
    cost: impl Fn(&T) -> usize + Sync,
    work: impl Fn(&mut [T]) + Sync,
) {
    let total: usize = items.iter().map(&cost).sum();
    match threads.filter(|_| total >= MIN_PARALLEL_ENTRIES) {
        Some(threads) => threads.install(|| divide(items, total, &cost, &work)),
        None => work(items),
    }
}

/// Divides `items`, which cost `total`, into halves of about the same cost, for two threads. If one
/// item costs nearly everything, they stay one part.
fn divide<T: Send>(
    items: &mut [T],
    total: usize,
    cost: &(impl Fn(&T) -> usize + Sync),
    work: &(impl Fn(&mut [T]) + Sync),
) {
    if items.len() < 2 || total < 2 * MIN_TAKEN {
        return work(items);
    }
    let (mut middle, mut before) = (0, 0);
    while middle == 0 || (before < total / 2 && middle + 1 < items.len()) {
        before += cost(&items[middle]);
        middle += 1;
    }
    // The cut before the item that crosses the middle may be more even than the one after it.
    let last = cost(&items[middle - 1]);
    if before - last > total - before {
        (middle, before) = (middle - 1, before - last);
    }
    if before.min(total - before) < MIN_TAKEN / 2 {
        return work(items);
    }
    let (left, right) = items.split_at_mut(middle);
    rayon::join(|| divide(left, before, cost, work), || divide(right, total - before, cost, work));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::engine::threads::Threads;

    #[test]
    fn parts_cover_all_items_and_none_is_small() {
        let threads = Threads::new(3).expect("three threads start");
        let cost = |item: &(usize, usize)| item.1;
        for (count, largest) in
            [(1, 0), (2, 1), (1_000, 0), (1_000, 500), (1_000, 998), (1_000, 999)]
        {
            // One item costs a thousand times as much as each of the others.
            let item = |number| (number, if number == largest { 1_000_000 } else { 1_000 });
            let mut items: Vec<_> = (0..count).map(item).collect();
            let parts = Mutex::new(Vec::new());
            in_parts(Some(&threads), &mut items, cost, |part: &mut [(usize, usize)]| {
                let total: usize = part.iter().map(cost).sum();
                parts.lock().expect("no thread panics").push((part[0].0, part.len(), total));
            });
            let mut parts = parts.into_inner().expect("no thread panics");
            parts.sort_unstable();
            let mut end = 0;
            for &(first, length, total) in &parts {
                assert_eq!(first, end);
                end += length;
                assert!(total >= MIN_TAKEN / 2, "{count} items: {parts:?}");
            }
            assert_eq!(end, count);
            assert_eq!(parts.len() > 10, count > 2);
            let mut alone = 0;
            let count_part = Mutex::new(&mut alone);
            in_parts(None, &mut items, cost, |_: &mut [(usize, usize)]| {
                **count_part.lock().expect("no thread panics") += 1;
            });
            assert_eq!(alone, 1, "without threads there is one part");
        }
    }
}
