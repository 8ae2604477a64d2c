//! Adds single launches and readings to the plan, with their records, lists and digits. Functions
//! that plan a contraction return `None` if it has more tables or entries than the kernels can
//! number.

use std::ops::Range;

use super::{Input, Planner};
use crate::engine::cuda::table_free::plan::{Launch, Sources, Table, TableReadings};
use crate::engine::cuda::table_free::records::{
    Contraction as Record, MAX_INPUTS, MAX_RUN_OFFSETS, ROWS_PER_THREAD, Reading, THREADS,
};
use crate::lowering::{AxisSet, Contraction, LoweredClique, RowLimits, RowNest};
use crate::network::VariableId;

// If one of the first two constants is wrong, only speed and memory change (and last bits of
// results).

/// A thread gets more than one row only if at least this many blocks remain. An H200 runs about
/// 800 blocks at the same time.
const WANTED_BLOCKS: usize = 1024;

/// Maximum number of entries of a reading, which one block adds up. A longer sum is divided into
/// several readings.
const READING_ENTRIES: u64 = 1 << 18;

/// All sums of products are below 2 to this power, which is in the range of single precision.
const BOUND: i32 = 126;

impl Planner<'_> {
    /// Plans a contraction over `axes` in which a thread computes each row.
    pub(super) fn contract_rows(
        &mut self,
        clique: &LoweredClique,
        inputs: &[Input],
        axes: AxisSet,
        output: AxisSet,
        result: Table,
    ) -> Option<()> {
        let (nest, record) = self.record(clique, inputs, axes, output, result)?;
        let parts = nest.rows.div_ceil(self.plan.records[record as usize].part as usize);
        let blocks = u32::try_from(nest.tiles.checked_mul(parts)?).ok()?;
        let varying = nest.varying as u32;
        self.plan.launches.push(Launch::Contract { record, varying, blocks });
        self.plan.launches.push(Launch::Rescale { table: result });
        Some(())
    }

    /// Plans the sum of `input` onto the axes `output`, in which a block computes each row.
    pub(super) fn sum_rows(
        &mut self,
        clique: &LoweredClique,
        input: Input,
        output: AxisSet,
        result: Table,
    ) -> Option<()> {
        let (nest, record) = self.record(clique, &[input], input.axes, output, result)?;
        let blocks = u32::try_from(nest.tiles.checked_mul(nest.rows)?).ok()?;
        // Kernel `sum_rows` does not multiply entries by 2 to the power of `head`: they are below
        // two, so their sum is in range.
        let head = std::mem::take(&mut self.plan.records[record as usize].head);
        let sources = &mut self.plan.sources[result.number as usize];
        sources.head -= head;
        sources.bound -= head;
        self.plan.launches.push(Launch::SumRows { record, blocks });
        self.plan.launches.push(Launch::Rescale { table: result });
        Some(())
    }

    /// Lowers a contraction and adds its record, whose index is returned.
    fn record(
        &mut self,
        clique: &LoweredClique,
        inputs: &[Input],
        axes: AxisSet,
        output: AxisSet,
        result: Table,
    ) -> Option<(RowNest, u32)> {
        const LIMITS: RowLimits = RowLimits { inputs: MAX_INPUTS, run_offsets: MAX_RUN_OFFSETS };
        let states = &*clique.states;
        let sets: Vec<AxisSet> = inputs.iter().map(|input| input.axes).collect();
        let contraction = Contraction { states, axes, inputs: &sets, outputs: &[output] };
        let nest = RowNest::new(&contraction, LIMITS)?;
        let head = head(inputs.len(), nest.steps.checked_mul(nest.run)?);
        let (threads, rows) = (THREADS as usize, nest.tiles.saturating_mul(nest.rows));
        let per_thread = (rows / (threads * WANTED_BLOCKS)).clamp(1, ROWS_PER_THREAD);
        let numbers = u32::try_from(self.plan.numbers.len()).ok()?;
        let firsts = nest.inputs.iter().map(|input| inputs[input.number].table.first);
        self.plan.numbers.extend(firsts);
        for input in &nest.inputs {
            let rows = self.offsets(&input.row_offsets)?;
            // `sum_rows` reads run offsets even of an input that does not vary in the inner run.
            let run = match &*input.run_offsets {
                [] => self.offsets(&vec![0; nest.run])?,
                offsets => self.offsets(offsets)?,
            };
            self.plan.numbers.push(u64::from(rows) | u64::from(run) << 32);
        }
        for (digit, &states) in nest.row_digits.iter().enumerate() {
            self.plan.numbers.push(states as u64);
            self.plan.numbers.extend(nest.inputs.iter().map(|i| i.row_strides[digit] as u64));
        }
        for (digit, &states) in nest.run_digits.iter().enumerate() {
            self.plan.numbers.push(states as u64);
            self.plan.numbers.extend(nest.inputs.iter().map(|i| i.run_strides[digit] as u64));
        }
        let record = self.plan.records.len() as u32;
        self.plan.records.push(Record {
            output: result.first,
            numbers,
            inputs: inputs.len() as u32,
            varying: nest.varying as u32,
            summed: nest.summed as u32,
            row_digits: nest.row_digits.len() as u32,
            run_digits: nest.run_digits.len() as u32,
            rows: u32::try_from(nest.rows).ok()?,
            part: (per_thread * threads) as u32,
            steps: nest.steps as u32,
            run: nest.run as u32,
            result: result.number,
            head,
        });
        let sources = inputs.iter().map(|input| input.table.number).collect();
        self.plan.computed.push(result.number);
        self.plan.sources[result.number as usize] =
            Sources { inputs: sources, head, bound: BOUND, is_quotient: false };
        Some((nest, record))
    }

    /// The index of a list of offsets, which is added if it is new; `None` if the index does not
    /// fit into 32 bits.
    fn offsets(&mut self, list: &[u32]) -> Option<u32> {
        if let Some(&index) = self.known_offsets.get(list) {
            return Some(index);
        }
        let index = u32::try_from(self.plan.offsets.len()).ok()?;
        self.plan.offsets.extend_from_slice(list);
        self.known_offsets.insert(list.to_vec(), index);
        Some(index)
    }

    /// Plans the reading of the posterior of `variable` from `table`, whose axes are of `clique`.
    pub(super) fn read(&mut self, clique: &LoweredClique, table: Input, variable: VariableId) {
        let axis = clique.variables.iter().position(|&v| v == variable);
        let axis = axis.expect("the variable is read from its clique");
        let stride = table.axes.stride(axis, &clique.states) as u64;
        let readings = self.readings(table.table, stride, clique.states[axis]);
        let readings = TableReadings { readings, table: table.table.number };
        self.plan.posteriors.push((variable, readings));
    }

    /// Plans the sums of the entries of `table` for each of the `states` of a variable whose
    /// consecutive states are at a distance of `stride`. Returns their numbers.
    pub(super) fn readings(&mut self, table: Table, stride: u64, states: usize) -> Range<usize> {
        let first = self.plan.readings.len();
        let entries = table.entries / states as u64;
        for state in 0..states as u32 {
            let mut begin = 0;
            while begin < entries {
                let end = entries.min(begin + READING_ENTRIES);
                self.plan.readings.push(Reading {
                    table: table.first,
                    stride,
                    begin,
                    end,
                    states: states as u32,
                    state,
                });
                begin = end;
            }
        }
        let count = self.plan.readings.len() - first;
        self.plan.launches.push(Launch::Read { first: first as u32, count: count as u32 });
        first..first + count
    }
}

/// An exponent such that the sum of this many `products` is below 2^[`BOUND`] if each product
/// starts as 2 to this power and is multiplied by this many `inputs`, each below two.
fn head(inputs: usize, products: usize) -> i32 {
    let bits = usize::BITS - products.leading_zeros();
    BOUND - bits as i32 - inputs as i32
}
