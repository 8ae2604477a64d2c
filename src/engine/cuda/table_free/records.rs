//! The records that the kernels of `kernels/table_free.cu` read, and the constants that both share.

use bytemuck::{Pod, Zeroable};

/// Number of threads of a block. Affects only speed (and last bits of results).
pub const THREADS: u32 = 256;

/// Maximum number of rows that a thread computes. Their sums are in shared memory. Affects only
/// speed.
pub const ROWS_PER_THREAD: usize = 8;

/// Maximum number of inputs of a contraction, whose positions are in shared memory. A network that
/// needs more has no [`Plan`](super::plan::Plan).
pub const MAX_INPUTS: usize = 64;

/// Maximum number of run offsets of all inputs of a contraction together, which are in shared
/// memory. Inner runs are kept so short that this suffices.
pub const MAX_RUN_OFFSETS: usize = 4096;

/// A contraction. `kernels/table_free.cu` describes rows, tiles, steps and inner runs, and the
/// lists that a contraction refers to.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Contraction {
    /// First entry of the output.
    pub output: u64,
    /// Index of the lists of this contraction in [`Plan::numbers`](super::plan::Plan::numbers).
    pub numbers: u32,
    /// Number of inputs.
    pub inputs: u32,
    /// Inputs below this number vary within the inner run.
    pub varying: u32,
    /// Inputs from `varying` to this number vary only between steps.
    pub summed: u32,
    /// Number of row digits. A tile's number has one digit for each variable of the output that is
    /// not in the tile.
    pub row_digits: u32,
    /// Number of run digits. A step's number has one digit for each summed variable that is not in
    /// the inner run.
    pub run_digits: u32,
    /// Number of rows of a tile.
    pub rows: u32,
    /// Maximum number of rows that a block computes.
    pub part: u32,
    /// Number of steps.
    pub steps: u32,
    /// Number of entries of the inner run.
    pub run: u32,
    /// The number of the output among all tables.
    pub result: u32,
    /// Exponent of the power of two with which products begin.
    pub head: i32,
}

/// A sum of the entries of a table for one state of a variable.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Reading {
    /// First entry of the table.
    pub table: u64,
    /// Distance between consecutive states of the variable.
    pub stride: u64,
    /// First of the entries for this state that are summed, counted among the entries for this
    /// state.
    pub begin: u64,
    /// One past the last of these entries, counted in the same way.
    pub end: u64,
    /// Number of states of the variable.
    pub states: u32,
    /// The state.
    pub state: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cuda::kernel_source::{assert_constants, assert_layouts, layout};

    #[test]
    fn constants_are_those_of_the_kernel() {
        let expected = [
            ("THREADS", f64::from(THREADS)),
            ("ROWS_PER_THREAD", ROWS_PER_THREAD as f64),
            ("MAX_INPUTS", MAX_INPUTS as f64),
            ("MAX_RUN_OFFSETS", MAX_RUN_OFFSETS as f64),
        ];
        assert_constants("table_free", &expected);
    }

    #[test]
    fn records_have_the_layout_of_the_kernel() {
        let contraction = layout!(Contraction {
            output,
            numbers,
            inputs,
            varying,
            summed,
            row_digits,
            run_digits,
            rows,
            part,
            steps,
            run,
            result,
            head
        });
        let reading = layout!(Reading { table, stride, begin, end, states, state });
        assert_layouts("table_free", vec![contraction, reading]);
    }
}
