//! Shares a list of work between threads.

use rayon::ThreadPool;

use crate::engine::cpu::context::MIN_PARALLEL_ENTRIES;
use crate::engine::threads::map_dynamic;

/// Minimum cost of the items that a thread takes at a time, in table entries: about two
/// microseconds of work. With four times this value, Barley with a fifth of the variables observed
/// took 1.02 times as long on two threads. If it is wrong, only speed changes.
const MIN_TAKEN: usize = 4_096;

/// Calls `work` with consecutive parts of `items`, which together are all items. `cost` is the cost
/// of an item, in table entries. All items are one part if they cost little, or without `threads`.
pub fn in_parts<T: Send>(
    threads: Option<&ThreadPool>,
    items: &mut [T],
    cost: impl Fn(&T) -> usize,
    work: impl Fn(&mut [T]) + Sync,
) {
    let total: usize = items.iter().map(&cost).sum();
    let Some(threads) = threads.filter(|_| total >= MIN_PARALLEL_ENTRIES) else {
        return work(items);
    };
    let (mut parts, mut rest, mut rest_cost) = (Vec::new(), items, total);
    while rest_cost > 0 {
        let (mut count, mut taken) = (0, 0);
        // A part takes all that is left if that would be too little for another part.
        while taken < MIN_TAKEN || rest_cost - taken < MIN_TAKEN {
            let Some(item) = rest.get(count) else { break };
            (count, taken) = (count + 1, taken + cost(item));
        }
        let (part, after) = rest.split_at_mut(count);
        parts.push(part);
        (rest, rest_cost) = (after, rest_cost - taken);
    }
    threads.install(|| map_dynamic(parts, &work));
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
            // One item costs a thousand times as much as each of the others, and the last three
            // cost nothing.
            let item = |number| (number, if number == largest { 1_000_000 } else { 1_000 });
            let free = (count..count + 3).map(|number| (number, 0));
            let mut items: Vec<_> = (0..count).map(item).chain(free).collect();
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
                assert!(total >= MIN_TAKEN, "{count} items: {parts:?}");
            }
            assert_eq!(end, count + 3);
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
