//! The two ends of a separator. A clique and its parent may list the entries of a message in
//! different orders; these functions write messages from either order into the other.

use std::ops::Range;

use crate::engine::cpu::helpers::Helpers;
use crate::engine::cpu::pass::message::{shared_part, shares};
use crate::engine::cpu::tree::nodes::{Node, Permutation};
use crate::engine::cpu::vector::largest;
use crate::engine::simd::simd_dispatch;
use crate::potential::ratio;

/// Runs of entries of one end of a separator, and where they lie at the other end; see
/// [`Permutation`].
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// By run: the position of its first entry at the other end.
    starts: &'a [u32],
    /// Number of entries of a run.
    run: usize,
    /// Number of entries of the first run that are left out.
    skipped: usize,
}

impl<'a> Runs<'a> {
    /// The runs that hold the entries in `range`, if all runs have `run` entries and begin at
    /// `starts` at the other end.
    pub fn of(starts: &'a [u32], run: usize, range: Range<usize>) -> Self {
        let starts = &starts[range.start / run..range.end.div_ceil(run)];
        Self { starts, run, skipped: range.start % run }
    }

    /// Calls `work` with each run of `own`, the table at this end, and with the same entries of
    /// `other`, the table at the other end. `RUN` is the length of the runs if the compiler knows
    /// it, otherwise 0.
    #[inline(always)]
    fn zip<const RUN: usize>(
        self,
        own: &mut [f64],
        other: &[f64],
        mut work: impl FnMut(&mut [f64], &[f64]),
    ) {
        let Self { mut starts, run, skipped } = self;
        let mut rest = own;
        if let Some((&start, after)) = starts.split_first().filter(|_| skipped > 0) {
            let entries = (run - skipped).min(rest.len());
            let (first, others) = rest.split_at_mut(entries);
            work(first, &other[start as usize + skipped..][..entries]);
            (starts, rest) = (after, others);
        }
        let run = if RUN == 0 { run } else { RUN };
        let mut runs = rest.chunks_exact_mut(run);
        let mut starts = starts.iter();
        for (own, &start) in runs.by_ref().zip(starts.by_ref()) {
            work(own, &other[start as usize..][..run]);
        }
        let last = runs.into_remainder();
        if let Some(&start) = starts.next() {
            work(last, &other[start as usize..][..last.len()]);
        }
    }

    /// Copies the entries of `from`, the table at the other end, to `to`, the table at this end.
    #[inline(always)]
    fn copy<const RUN: usize>(self, from: &[f64], to: &mut [f64]) {
        self.zip::<RUN>(to, from, |to, from| to.copy_from_slice(from));
    }

    /// Multiplies each entry of `to`, the table at this end, by the same entry of `from`, the table
    /// at the other end.
    #[inline(always)]
    fn multiply<const RUN: usize>(self, from: &[f64], to: &mut [f64]) {
        self.zip::<RUN>(to, from, |to, from| to.iter_mut().zip(from).for_each(|(t, f)| *t *= f));
    }
}

/// Calls a method or function that is generic over the length of runs, with the length as a
/// constant if it is short, and otherwise with 0. A short run is then copied without a call. If
/// the longest of these lengths is wrong, only speed changes.
macro_rules! with_run_length {
    ($run:expr, $($function:ident).+($($argument:expr),*)) => {
        match $run {
            2 => $($function).+::<2>($($argument),*),
            3 => $($function).+::<3>($($argument),*),
            4 => $($function).+::<4>($($argument),*),
            5 => $($function).+::<5>($($argument),*),
            6 => $($function).+::<6>($($argument),*),
            7 => $($function).+::<7>($($argument),*),
            8 => $($function).+::<8>($($argument),*),
            9 => $($function).+::<9>($($argument),*),
            10 => $($function).+::<10>($($argument),*),
            11 => $($function).+::<11>($($argument),*),
            12 => $($function).+::<12>($($argument),*),
            _ => $($function).+::<0>($($argument),*),
        }
    };
}

/// Writes `mask`, the findings at the separator, into `up` in the parent's order. This is the
/// message to the parent if the unmasked message is one everywhere.
pub fn send_findings(node: &Node, mask: &[f64], up: &mut [f64]) {
    send_permuted(node.permutation.as_ref(), mask, None, up);
}

/// Writes the message to the parent, `unmasked` times `mask`, into `up` in the parent's order.
pub fn send_up(
    node: &Node,
    unmasked: &[f64],
    mask: Option<&[f64]>,
    up: &mut [f64],
    helpers: Helpers<'_>,
) {
    let permutation = node.permutation.as_ref();
    // A thread writes a part of `up`. With a permutation, it needs the inverse to find the entries
    // of this part in the order of the child.
    let can_share = permutation.is_none_or(|permutation| permutation.inverse.is_some());
    if !can_share || !shares(up.len(), helpers) {
        return send_permuted(permutation, unmasked, mask, up);
    }
    let entries = shared_part(up.len());
    helpers.map(up.chunks_mut(entries).enumerate(), |(number, part)| {
        let start = number * entries;
        let range = start..start + part.len();
        match permutation.and_then(|order| Some((order.run, order.inverse.as_ref()?))) {
            None => {
                let mask = mask.map(|mask| &mask[range.clone()]);
                send_permuted(None, &unmasked[range], mask, part);
            }
            Some((run, inverse)) => {
                gather_permuted(Runs::of(inverse, run, range), unmasked, mask, part);
            }
        }
    });
}

simd_dispatch!(
    /// Writes `unmasked` times `mask`, both in the order of the child, into `up`, which is a part
    /// of the message in the order of the parent. `runs` says where the entries of `up` lie in
    /// `unmasked`. If entries are left out there, they become zero in `up`.
    gather_permuted, gather_entries,
    (runs: Runs<'_>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn gather_entries(runs: Runs<'_>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    if runs.run > 1 {
        with_run_length!(runs.run, runs.copy(unmasked, up));
        if let Some(mask) = mask {
            with_run_length!(runs.run, runs.multiply(mask, up));
        }
        return;
    }
    let entries = up.iter_mut().zip(runs.starts);
    let at = |table: &[f64], from: u32| table.get(from as usize).copied().unwrap_or(0.0);
    match mask {
        None => entries.for_each(|(up, &from)| *up = at(unmasked, from)),
        Some(mask) => entries.for_each(|(up, &from)| *up = at(unmasked, from) * at(mask, from)),
    }
}

simd_dispatch!(
    /// Writes `unmasked` times `mask`, both in the order of the child, into `up`, which is in the
    /// order of the parent.
    pub send_permuted, send_entries,
    (permutation: Option<&Permutation>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn send_entries(
    permutation: Option<&Permutation>,
    unmasked: &[f64],
    mask: Option<&[f64]>,
    up: &mut [f64],
) {
    let Some(permutation) = permutation else {
        match mask {
            None => up.copy_from_slice(unmasked),
            Some(mask) => {
                let terms = unmasked.iter().zip(mask);
                up.iter_mut().zip(terms).for_each(|(up, (entry, mask))| *up = entry * mask);
            }
        }
        return;
    };
    let Permutation { run, starts, .. } = permutation;
    if *run > 1 {
        return with_run_length!(*run, send_runs(permutation, unmasked, mask, up));
    }
    match mask {
        None => starts.iter().zip(unmasked).for_each(|(&to, &entry)| up[to as usize] = entry),
        Some(mask) => {
            let terms = unmasked.iter().zip(mask);
            starts.iter().zip(terms).for_each(|(&to, (entry, m))| up[to as usize] = entry * m);
        }
    }
}

/// As [`send_permuted`], for runs of `RUN` entries, or of any length if `RUN` is 0.
#[inline(always)]
fn send_runs<const RUN: usize>(
    permutation: &Permutation,
    unmasked: &[f64],
    mask: Option<&[f64]>,
    up: &mut [f64],
) {
    let run = if RUN == 0 { permutation.run } else { RUN };
    let runs = permutation.starts.iter().zip(unmasked.chunks_exact(run));
    match mask {
        None => {
            for (&to, entries) in runs {
                up[to as usize..][..run].copy_from_slice(entries);
            }
        }
        Some(mask) => {
            for ((&to, entries), mask) in runs.zip(mask.chunks_exact(run)) {
                let terms = entries.iter().zip(mask);
                let up = &mut up[to as usize..][..run];
                up.iter_mut().zip(terms).for_each(|(up, (entry, mask))| *up = entry * mask);
            }
        }
    }
}

simd_dispatch!(
    /// Writes `belief` divided by `unmasked` into `down`, and the largest entry of `down` into
    /// `max_entry`. `down` and `unmasked` are in the order of the child, and `runs` says where
    /// their entries lie in `belief`. Without `runs`, the order is the same everywhere; without
    /// `unmasked`, nothing is divided.
    pub receive_permuted, receive_entries,
    (
        runs: Option<Runs<'_>>,
        belief: &[f64],
        unmasked: Option<&[f64]>,
        down: &mut [f64],
        max_entry: &mut f64
    )
);

#[inline(always)]
fn receive_entries(
    runs: Option<Runs<'_>>,
    belief: &[f64],
    unmasked: Option<&[f64]>,
    down: &mut [f64],
    max_entry: &mut f64,
) {
    match runs {
        None => down.copy_from_slice(belief),
        Some(runs) if runs.run > 1 => with_run_length!(runs.run, runs.copy(belief, down)),
        Some(runs) => {
            let entries = down.iter_mut().zip(runs.starts);
            entries.for_each(|(down, &from)| *down = belief[from as usize]);
        }
    }
    if let Some(unmasked) = unmasked {
        down.iter_mut().zip(unmasked).for_each(|(down, &entry)| *down = ratio(*down, entry));
    }
    *max_entry = largest(down, None);
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
        let mut node = Node { above: 0..entries, in_parent: 0..entries, ..Node::default() };
        node.allocate_permutation(Some(1));
        node.write_permutation(|memory| memory.extend(permutation.map(|entry| entry as u32)));
        let unmasked: Vec<f64> = (1..=entries).map(|entry| entry as f64).collect();
        let mask: Vec<f64> = (0..entries).map(|entry| f64::from(entry % 3 != 0)).collect();
        for mask in [None, Some(&*mask)] {
            let (mut scattered, mut gathered) = (vec![0.0; entries], vec![7.0; entries]);
            send_permuted(node.permutation.as_ref(), &unmasked, mask, &mut scattered);
            let permutation = node.permutation.as_ref().expect("it was allocated");
            let inverse = permutation.inverse.as_ref().expect("threads share large separators");
            gather_permuted(Runs::of(inverse, 1, 0..entries), &unmasked, mask, &mut gathered);
            assert!(scattered.contains(&0.0) && scattered == gathered);
        }
        node.in_parent = 0..entries - 1;
        node.allocate_permutation(Some(1));
        let permutation = node.permutation.expect("it was allocated");
        assert!(permutation.inverse.is_none(), "one thread sends small separators");
    }

    #[test]
    fn runs_of_any_length_are_permuted_like_their_entries() {
        for run in (1..16).chain([100]) {
            // A number of runs that has no factor in common with 7.
            let runs = 4 * MIN_SHARED_ENTRIES / run / 7 * 7 + 3;
            let entries = run * runs;
            let mut node = Node { above: 0..entries, in_parent: 0..entries, ..Node::default() };
            node.allocate_permutation(Some(run));
            let starts = (0..runs).map(|number| (number * 7 % runs * run) as u32);
            node.write_permutation(|memory| memory.extend(starts));
            let permutation = node.permutation.as_ref().expect("it was allocated");
            let inverse = permutation.inverse.as_ref().expect("threads share large separators");
            let above: Vec<f64> = (1..=entries).map(|entry| entry as f64).collect();
            let mask: Vec<f64> = (0..entries).map(|entry| (entry % 3) as f64).collect();
            for mask in [None, Some(&*mask)] {
                let mut expected = vec![0.0; entries];
                for entry in 0..entries {
                    let factor = mask.map_or(1.0, |mask| mask[entry]);
                    expected[permutation.position(entry)] = above[entry] * factor;
                }
                let mut sent = vec![7.0; entries];
                send_permuted(Some(permutation), &above, mask, &mut sent);
                assert!(sent == expected, "runs of {run} are sent");
                // Parts need not begin where a run begins.
                let mut gathered = vec![7.0; entries];
                for (number, part) in gathered.chunks_mut(1_001).enumerate() {
                    let range = number * 1_001..number * 1_001 + part.len();
                    gather_permuted(Runs::of(inverse, run, range), &above, mask, part);
                }
                assert!(gathered == expected, "runs of {run} are gathered");
            }
            let mut received = vec![7.0; entries];
            for (number, part) in received.chunks_mut(13).enumerate() {
                let range = number * 13..number * 13 + part.len();
                let runs = Some(Runs::of(&permutation.starts, run, range));
                let mut largest = 0.0;
                receive_permuted(runs, &above, None, part, &mut largest);
                assert_eq!(largest, part.iter().copied().fold(0.0, f64::max));
            }
            let expected = (0..entries).map(|entry| above[permutation.position(entry)]);
            assert!(received.iter().copied().eq(expected), "runs of {run} are received");
        }
    }
}
