//! The records that the kernels read, as `kernels/paper/*.cu` declare them; a test compares both.
//!
//! A slot is an index into the buffers `largest` and `exponents`, which hold the scale of a table:
//! the bits of its largest entry, and its power of two.

use bytemuck::{Pod, Zeroable};

/// What one block of `initialise` fills: a chunk of a clique table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Chunk {
    /// First entry of the clique table.
    pub table: u64,
    /// First entry of the chunk within the table.
    pub first: u32,
    pub entries: u32,
    pub clique: u32,
    pub unused: u32,
}

/// One message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Message {
    /// First entries of the tables of sender and receiver.
    pub from: u64,
    pub to: u64,
    /// First elements of their mapping tables.
    pub from_mapping: u64,
    pub to_mapping: u64,
    /// First entry of the separator table.
    pub separator: u64,
    /// Entries of the separator.
    pub entries: u32,
    /// Entries of sender and receiver per separator entry.
    pub from_count: u32,
    pub to_count: u32,
    /// Distances between two mapping tables, and between two elements of one.
    pub from_table_stride: u32,
    pub from_stride: u32,
    pub to_table_stride: u32,
    pub to_stride: u32,
    /// Slots of the scales of sender and receiver before the message, and of the receiver after it.
    pub from_slot: u32,
    pub to_slot: u32,
    pub out_slot: u32,
    /// The message that wrote the separator last, -1 if it is still all ones.
    pub previous: i32,
    /// Index of this message in the plan.
    pub index: u32,
}

/// One marginal.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Marginal {
    /// First entry of the table, its entries, and the stride of the variable in it.
    pub table: u64,
    pub entries: u64,
    pub stride: u64,
    /// States of the variable.
    pub states: u32,
    /// 1 if the table is a separator's, 0 if a clique's.
    pub is_separator: u32,
    /// Index of the first state in the result.
    pub out: u32,
    pub unused: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layout, layout};
    use crate::engine::cuda::paper::buffers::{NEGLIGIBLE, PEAK, THREADS};

    #[test]
    fn constants_are_those_of_the_kernels() {
        assert_constants("paper/initialise", &[]);
        assert_constants("paper/message", &[("PEAK", f64::from(PEAK)), ("NEGLIGIBLE", NEGLIGIBLE)]);
        assert_constants("paper/marginals", &[("THREADS", f64::from(THREADS))]);
    }

    #[test]
    fn records_have_the_layout_of_the_kernels() {
        assert_layout("paper/initialise", layout!(Chunk { table, first, entries, clique, unused }));
        assert_layout(
            "paper/message",
            layout!(Message {
                from,
                to,
                from_mapping,
                to_mapping,
                separator,
                entries,
                from_count,
                to_count,
                from_table_stride,
                from_stride,
                to_table_stride,
                to_stride,
                from_slot,
                to_slot,
                out_slot,
                previous,
                index
            }),
        );
        assert_layout(
            "paper/marginals",
            layout!(Marginal { table, entries, stride, states, is_separator, out, unused }),
        );
    }
}
