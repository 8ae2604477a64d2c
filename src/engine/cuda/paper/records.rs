//! The records that the kernels read, as `kernels/paper/*.cu` declare them.

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

/// One block's part in setting up the tables.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunk {
    /// First entry of the clique's table.
    pub table: u64,
    /// First entry of the chunk within the table.
    pub first: u32,
    pub entries: u32,
    pub clique: u32,
    pub unused: u32,
}

/// One message.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message {
    /// First entries of the tables of sender and receiver.
    pub from: u64,
    pub to: u64,
    /// First elements of their mapping tables.
    pub from_mapping: u64,
    pub to_mapping: u64,
    /// First entry of the separator's table.
    pub separator: u64,
    /// Entries of the separator.
    pub entries: u32,
    /// Entries of sender and receiver for each of them.
    pub from_count: u32,
    pub to_count: u32,
    /// Distance of two mapping tables, and of two elements of one.
    pub from_table_stride: u32,
    pub from_stride: u32,
    pub to_table_stride: u32,
    pub to_stride: u32,
    /// Slots of the scales of sender and receiver before, and of the receiver after.
    pub from_slot: u32,
    pub to_slot: u32,
    pub out_slot: u32,
    /// The message that wrote the separator before, -1 if none has.
    pub before: i32,
    /// This message.
    pub index: u32,
}

/// One marginal.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// First entry of the table, its entries, and the stride of the variable in it.
    pub table: u64,
    pub entries: u64,
    pub stride: u64,
    /// States of the variable.
    pub states: u32,
    /// 1 if the table is a separator's, 0 if a clique's.
    pub is_separator: u32,
    /// First of the states in the result.
    pub out: u32,
    pub unused: u32,
}

// SAFETY: plain numbers in C's layout, as the kernels declare them, for which zeros are valid.
unsafe impl DeviceRepr for Chunk {}
// SAFETY: as above.
unsafe impl DeviceRepr for Message {}
// SAFETY: as above.
unsafe impl DeviceRepr for Reading {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Chunk {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Message {}
// SAFETY: as above.
unsafe impl ValidAsZeroBits for Reading {}
