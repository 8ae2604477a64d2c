//! The records that the kernels read, as `kernels/paper/*.cu` declare them; a test compares both.
//!
//! The first entry of a table is given as its index in the buffer of all clique tables or of all
//! separator tables, and the first element of mapping tables as its index in the buffer of all
//! mapping tables.
//!
//! A slot is an index into the buffers `largest` and `exponents`. These hold the scale of a table:
//! the bits of its largest entry, and the exponent of the power of two by which it must be
//! multiplied.

use bytemuck::{Pod, Zeroable};

/// What one block of `initialise` fills: a chunk of a clique table.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Chunk {
    /// First entry of the clique table.
    pub table: u64,
    /// First entry of the chunk within the table.
    pub first: u32,
    /// Number of entries of the chunk.
    pub entries: u32,
    /// Number of the clique.
    pub clique: u32,
    pub unused: u32,
}

/// One message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Message {
    /// First entry of the sender's table.
    pub from: u64,
    /// First entry of the receiver's table.
    pub to: u64,
    /// First element of the sender's mapping tables. There is one table for each separator entry;
    /// it lists the entries of the sender that are summed into the separator entry.
    pub from_mapping: u64,
    /// First element of the receiver's mapping tables. There is one table for each separator entry;
    /// it lists the entries of the receiver that the separator entry changes.
    pub to_mapping: u64,
    /// First entry of the separator table.
    pub separator: u64,
    /// Number of entries of the separator.
    pub entries: u32,
    /// Number of elements of each of the sender's mapping tables.
    pub from_count: u32,
    /// Number of elements of each of the receiver's mapping tables.
    pub to_count: u32,
    /// Distance between the first elements of two consecutive mapping tables of the sender.
    pub from_table_stride: u32,
    /// Distance between two consecutive elements of one of these tables.
    pub from_stride: u32,
    /// As `from_table_stride`, for the receiver.
    pub to_table_stride: u32,
    /// As `from_stride`, for the receiver.
    pub to_stride: u32,
    /// Slot of the sender's scale.
    pub from_slot: u32,
    /// Slot of the receiver's scale before the message.
    pub to_slot: u32,
    /// Slot of the receiver's scale after the message.
    pub out_slot: u32,
    /// Index of the last message that wrote the separator; -1 if the separator still has only ones.
    pub previous: i32,
    /// Index of this message in the plan.
    pub index: u32,
}

/// One marginal.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct Marginal {
    /// First entry of the table.
    pub table: u64,
    /// Number of entries of the table.
    pub entries: u64,
    /// Stride of the variable in the table.
    pub stride: u64,
    /// Number of states of the variable.
    pub states: u32,
    /// 1 for the table of a separator, 0 for the table of a clique.
    pub is_separator: u32,
    /// Index of the variable's first state in the result.
    pub out: u32,
    pub unused: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layout, layout};
    use crate::engine::cuda::paper::buffers::{NEGLIGIBLE, PEAK, THREADS};

    #[test]
    fn the_kernels_have_the_same_constants() {
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
