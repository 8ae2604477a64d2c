//! The two ends of a separator. A clique and its parent may list the entries of a message in
//! different orders; these functions write messages from either order into the other.

use crate::engine::cpu::helpers::Helpers;
use crate::engine::cpu::pass::message::{shared_part, shares};
use crate::engine::cpu::tree::nodes::Node;
use crate::engine::cpu::vector::largest;
use crate::engine::simd::simd_dispatch;
use crate::potential::ratio;

/// Writes `mask`, the findings at the separator, into `up` in the parent's order. This is the
/// message to the parent if the unmasked message is one everywhere.
pub fn send_findings(node: &Node, mask: &[f64], up: &mut [f64]) {
    match &node.permutation {
        None => up.copy_from_slice(mask),
        Some(permutation) => permutation.iter().zip(mask).for_each(|(&to, &m)| up[to as usize] = m),
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
        return send_permuted(node.permutation.as_deref(), unmasked, mask, up);
    }
    let entries = shared_part(up.len());
    helpers.map(up.chunks_mut(entries).enumerate(), |(number, part)| {
        let start = number * entries;
        let range = start..start + part.len();
        match &node.inverse {
            None => {
                let mask = mask.map(|mask| &mask[range.clone()]);
                send_permuted(None, &unmasked[range], mask, part);
            }
            Some(inverse) => gather_permuted(&inverse[range], unmasked, mask, part),
        }
    });
}

simd_dispatch!(
    /// Writes `unmasked` times `mask` into `up`, entry i from position `inverse[i]`, or zero if
    /// there is no such position.
    gather_permuted, gather_entries,
    (inverse: &[u32], unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn gather_entries(inverse: &[u32], unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64]) {
    let entries = up.iter_mut().zip(inverse);
    let at = |table: &[f64], from: u32| table.get(from as usize).copied().unwrap_or(0.0);
    match mask {
        None => entries.for_each(|(up, &from)| *up = at(unmasked, from)),
        Some(mask) => entries.for_each(|(up, &from)| *up = at(unmasked, from) * at(mask, from)),
    }
}

simd_dispatch!(
    /// Writes `unmasked` times `mask` into `up`, entry i at position `permutation[i]`.
    pub send_permuted, send_entries,
    (permutation: Option<&[u32]>, unmasked: &[f64], mask: Option<&[f64]>, up: &mut [f64])
);

#[inline(always)]
fn send_entries(
    permutation: Option<&[u32]>,
    unmasked: &[f64],
    mask: Option<&[f64]>,
    up: &mut [f64],
) {
    match (permutation, mask) {
        (None, None) => up.copy_from_slice(unmasked),
        (None, Some(mask)) => {
            let terms = unmasked.iter().zip(mask);
            up.iter_mut().zip(terms).for_each(|(up, (entry, mask))| *up = entry * mask);
        }
        (Some(permutation), None) => {
            permutation.iter().zip(unmasked).for_each(|(&to, &entry)| up[to as usize] = entry);
        }
        (Some(permutation), Some(mask)) => {
            let terms = unmasked.iter().zip(mask);
            permutation.iter().zip(terms).for_each(|(&to, (entry, m))| up[to as usize] = entry * m);
        }
    }
}

simd_dispatch!(
    /// Writes `belief` divided by `unmasked` into `down`, and the largest entry of `down` into
    /// `max_entry`. Entry i of `down` is computed from entry `permutation[i]` of `belief` and entry
    /// i of `unmasked`. Without `permutation` the order is the same; without `unmasked` nothing is
    /// divided.
    pub receive_permuted, receive_entries,
    (
        permutation: Option<&[u32]>,
        belief: &[f64],
        unmasked: Option<&[f64]>,
        down: &mut [f64],
        max_entry: &mut f64
    )
);

#[inline(always)]
fn receive_entries(
    permutation: Option<&[u32]>,
    belief: &[f64],
    unmasked: Option<&[f64]>,
    down: &mut [f64],
    max_entry: &mut f64,
) {
    match permutation {
        None => down.copy_from_slice(belief),
        Some(order) => {
            down.iter_mut().zip(order).for_each(|(down, &from)| *down = belief[from as usize]);
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
        node.allocate_permutation(true);
        node.write_permutation(|memory| memory.extend(permutation.map(|entry| entry as u32)));
        let unmasked: Vec<f64> = (1..=entries).map(|entry| entry as f64).collect();
        let mask: Vec<f64> = (0..entries).map(|entry| f64::from(entry % 3 != 0)).collect();
        for mask in [None, Some(&*mask)] {
            let (mut scattered, mut gathered) = (vec![0.0; entries], vec![7.0; entries]);
            send_permuted(node.permutation.as_deref(), &unmasked, mask, &mut scattered);
            let inverse = node.inverse.as_deref().expect("threads share large separators");
            gather_permuted(inverse, &unmasked, mask, &mut gathered);
            assert!(scattered.contains(&0.0) && scattered == gathered);
        }
        node.in_parent = 0..entries - 1;
        node.allocate_permutation(true);
        assert!(node.inverse.is_none(), "one thread sends small separators");
    }
}
