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
    /// The first entry of the sender's table, and of the receiver's.
    pub from: u64,
    pub to: u64,
    /// The first element of the sender's mapping tables, and of the receiver's.
    pub from_mapping: u64,
    pub to_mapping: u64,
    /// First entry of the separator table.
    pub separator: u64,
    /// Number of entries of the separator.
    pub entries: u32,
    /// Number of entries per separator entry of the sender, and of the receiver.
    pub from_count: u32,
    pub to_count: u32,
    /// Distance between two mapping tables, and between two elements of a mapping table.
    pub from_table_stride: u32,
    pub from_stride: u32,
    pub to_table_stride: u32,
    pub to_stride: u32,
    /// Slots of the scales of sender and receiver before the message, and of the receiver after it.
    pub from_slot: u32,
    pub to_slot: u32,
    pub out_slot: u32,
    /// The last message that wrote the separator; -1 if its entries are still ones.
    pub previous: i32,
    /// Index of this message in the plan.
    pub index: u32,
}

/// One marginal.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Marginal {
    /// The first entry of the table, its number of entries, and the stride of the variable in it.
    pub table: u64,
    pub entries: u64,
    pub stride: u64,
    /// Number of states of the variable.
    pub states: u32,
    /// 1 for the table of a separator, 0 for the table of a clique.
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
    fn constants_equal_those_of_the_kernels() {
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
