//! The two ends of a separator. A clique and its parent may list the entries of a message in
//! different orders; these functions write messages from either order into the other.

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::engine::cpu::pass::message::{SHARED_PART, shares};
use crate::engine::cpu::pass::report::Helpers;
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::tree::permutation::{Permutation, Runs};
use crate::engine::cpu::vector::{larger, largest};
use crate::engine::simd::simd_dispatch;
use crate::potential::ratio;

/// Writes `mask`, the findings at the separator, into `up` in the parent's order. This is the
/// message to the parent if the unmasked message is one everywhere.
pub fn send_findings(node: &Node, mask: &[f64], up: &mut [f64]) {
    match &node.permutation {
        None => up.copy_from_slice(mask),
        Some(permutation) => send_permuted(Some(permutation.all()), mask, None, up),
    }
}

/// Writes the message to the parent, `unmasked` times `mask`, into `up` in the parent's order.
pub fn send_up(
    node: &Node,
    unmasked: &[f64],
    mask: Option<&[f64]>,
    up: &mut [f64],
    helpers: Helpers<'_>,
) {
    // A thread writes a part of `up`. With a permutation, it needs the inverse to find the entries
    // of this part in the order of the child.
    let can_share = node.permutation.is_some() == node.inverse.is_some();
    if !can_share || !shares(up.len(), helpers) {
        let runs = node.permutation.as_ref().map(Permutation::all);
        return send_permuted(runs, unmasked, mask, up);
    }
    let inverse = node.inverse.as_ref().map(Permutation::all);
    let entries = inverse.map_or(SHARED_PART, |inverse| inverse.whole(SHARED_PART));
    let parts = up.par_chunks_mut(entries).enumerate();
    parts.for_each(|(number, part)| {
        let start = number * entries;
        let range = start..start + part.len();
        helpers.part(|| match inverse {
            None => {
                let mask = mask.map(|mask| &mask[range.clone()]);
                send_permuted(None, &unmasked[range], mask, part);
            }
            Some(inverse) => gather_permuted(inverse.part(range), unmasked, mask, part),
        });
    });
}

simd_dispatch!(
    /// Writes `unmasked` times `mask` into `up`. Each run of `up` is computed from the entries that
    /// begin at the position given in `inverse`; it is zero if there are no such entries.
    gather_permuted, gather_runs,
    (inverse: Runs<'_>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn gather_runs(inverse: Runs<'_>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    let Runs { entries, starts } = inverse;
    if entries == 1 {
        let runs = up.iter_mut().zip(starts);
        let at = |table: &[f64], from: u32| table.get(from as usize).copied().unwrap_or(0.0);
        return match mask {
            None => runs.for_each(|(up, &from)| *up = at(unmasked, from)),
            Some(mask) => runs.for_each(|(up, &from)| *up = at(unmasked, from) * at(mask, from)),
        };
    }
    for (up, &from) in up.chunks_exact_mut(entries).zip(starts) {
        let range = from as usize..from as usize + entries;
        masked(&unmasked[range.clone()], mask.map(|mask| &mask[range]), up);
    }
}

simd_dispatch!(
    /// Writes `unmasked` times `mask` into `up`. Each run is written to the entries that begin at
    /// the position given in `runs`; without `runs`, the order is the same.
    pub send_permuted, send_runs,
    (runs: Option<Runs<'_>>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn send_runs(runs: Option<Runs<'_>>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    let Some(Runs { entries, starts }) = runs else { return masked(unmasked, mask, up) };
    match mask {
        None if entries == 1 => {
            starts.iter().zip(unmasked).for_each(|(&to, &entry)| up[to as usize] = entry);
        }
        Some(mask) if entries == 1 => {
            let terms = unmasked.iter().zip(mask);
            starts.iter().zip(terms).for_each(|(&to, (entry, m))| up[to as usize] = entry * m);
        }
        _ => {
            for (number, (run, &to)) in unmasked.chunks_exact(entries).zip(starts).enumerate() {
                let mask = mask.map(|mask| &mask[number * entries..][..entries]);
                masked(run, mask, &mut up[to as usize..][..entries]);
            }
        }
    }
}

/// Writes `unmasked` times `mask` into `up`.
#[inline(always)]
fn masked(unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    match mask {
        None => up.copy_from_slice(unmasked),
        Some(mask) => {
            let terms = unmasked.iter().zip(mask);
            up.iter_mut().zip(terms).for_each(|(up, (entry, mask))| *up = entry * mask);
        }
    }
}

/// Number of entries of a message from a parent that are computed at a time, so that they stay in
/// the first-level cache (16 KiB) until they are divided and compared. If it is wrong, only speed
/// changes.
const BLOCK: usize = 2048;

simd_dispatch!(
    /// Writes `belief` divided by `unmasked` into `down`, and the largest entry of `down` into
    /// `max_entry`. Each run of `down` is computed from the entries of `belief` that begin at the
    /// position given in `runs`, and from entries of `unmasked` in the same order. Without `runs`
    /// the order is the same; without `unmasked` nothing is divided.
    pub receive_permuted, receive_runs,
    (
        runs: Option<Runs<'_>>,
        belief: &[f64],
        unmasked: Option<&[f64]>,
        down: &mut [f64],
        max_entry: &mut f64
    )
);

#[inline(always)]
fn receive_runs(
    runs: Option<Runs<'_>>,
    belief: &[f64],
    unmasked: Option<&[f64]>,
    down: &mut [f64],
    max_entry: &mut f64,
) {
    *max_entry = 0.0;
    let block = runs.map_or(BLOCK, |runs| runs.whole(BLOCK));
    for (number, down) in down.chunks_mut(block).enumerate() {
        let range = number * block..number * block + down.len();
        match runs.map(|runs| runs.part(range.clone())) {
            None => down.copy_from_slice(&belief[range.clone()]),
            Some(Runs { entries: 1, starts }) => {
                down.iter_mut().zip(starts).for_each(|(down, &from)| *down = belief[from as usize]);
            }
            Some(Runs { entries, starts }) => {
                for (run, &from) in down.chunks_exact_mut(entries).zip(starts) {
                    run.copy_from_slice(&belief[from as usize..][..entries]);
                }
            }
        }
        if let Some(unmasked) = unmasked {
            let unmasked = &unmasked[range];
            down.iter_mut().zip(unmasked).for_each(|(down, &entry)| *down = ratio(*down, entry));
        }
        *max_entry = larger(*max_entry, largest(down, None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cpu::context::MIN_SHARED_ENTRIES;

    #[test]
    fn threads_gather_what_one_thread_scatters() {
        // The parent's table lacks every fifth entry of the child's table, which the dummy entry at
        // the end receives, and begins with entries that the child's table lacks.
        let entries = MIN_SHARED_ENTRIES;
        let permutation = (0..entries).map(|entry| match entry {
            entry if entry % 5 == 4 => entries - 1,
            entry => entries - 2 - entry / 5 * 4 - entry % 5,
        });
        let mut node = Node { in_parent: 0..entries, ..Node::default() };
        let positions = permutation.map(|entry| entry as u32).collect();
        node.set_permutation(Some(Permutation::of_entries(positions)));
        let unmasked: Vec<f64> = (1..=entries).map(|entry| entry as f64).collect();
        let mask: Vec<f64> = (0..entries).map(|entry| f64::from(entry % 3 != 0)).collect();
        for mask in [None, Some(&*mask)] {
            let (mut scattered, mut gathered) = (vec![0.0; entries], vec![7.0; entries]);
            let runs = node.permutation.as_ref().map(Permutation::all);
            send_permuted(runs, &unmasked, mask, &mut scattered);
            let inverse = node.inverse.as_ref().expect("threads share large separators");
            gather_permuted(inverse.all(), &unmasked, mask, &mut gathered);
            assert!(scattered.contains(&0.0) && scattered == gathered);
        }
        node.in_parent = 0..entries - 1;
        let permutation = node.permutation.take();
        node.set_permutation(permutation);
        assert!(node.inverse.is_none(), "one thread sends small separators");
    }
}
