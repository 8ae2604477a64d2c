//! Does on the CPU what the kernels of `kernels/table_free.cu` do on the GPU, over the same buffers
//! and records. Sums over steps are in double precision instead of compensated, and sums over the
//! threads of a block are in another order.

use std::time::Duration;

use super::plan::{Launch, Plan, Table};
use super::records::{Contraction, Reading};
use super::{Executor, RunError};
use crate::engine::cuda::semiring::Semiring;

/// The buffers that the kernels read and write.
pub(super) struct Twin {
    semiring: Semiring,
    records: Vec<Contraction>,
    numbers: Vec<u64>,
    offsets: Vec<u32>,
    readings: Vec<Reading>,
    tables: Vec<f32>,
    ranges: Vec<[u32; 2]>,
    sums: Vec<f64>,
    /// Number of marks since they were last taken.
    marks: usize,
}

impl Twin {
    /// A twin for `plan`.
    pub fn new(plan: &Plan, semiring: Semiring) -> Self {
        // If an entry is read before it is written, the result is NaN and the test fails.
        Self {
            semiring,
            records: plan.records.clone(),
            numbers: plan.numbers.clone(),
            offsets: plan.offsets.clone(),
            readings: plan.readings.clone(),
            tables: vec![f32::NAN; plan.entries as usize],
            ranges: vec![[0; 2]; plan.sources.len()],
            sums: vec![f64::NAN; plan.readings.len()],
            marks: 0,
        }
    }

    /// The row digits and the run digits of contraction `c`, as [`offset_of`] reads them: the
    /// digits of the numbers of tiles and of steps.
    fn digits(&self, c: &Contraction) -> [&[u64]; 2] {
        let first = (c.numbers + 2 * c.inputs) as usize;
        let length = |digits: u32| (digits * (1 + c.inputs)) as usize;
        let (rows, runs) = (length(c.row_digits), length(c.run_digits));
        [&self.numbers[first..first + rows], &self.numbers[first + rows..first + rows + runs]]
    }

    /// The index in `tables` of the entry of an input for a tile, a row of the tile, a step and a
    /// place in the inner run.
    fn entry(&self, c: &Contraction, input: u32, at: [u32; 4]) -> usize {
        let [tile, row, step, place] = at;
        let lists = self.numbers[(c.numbers + c.inputs + input) as usize];
        let [row_digits, run_digits] = self.digits(c);
        let mut entry = self.numbers[(c.numbers + input) as usize];
        entry += offset_of(tile, row_digits, c.inputs, input);
        entry += u64::from(self.offsets[lists as u32 as usize + row as usize]);
        entry += offset_of(step, run_digits, c.inputs, input);
        if input < c.varying {
            entry += u64::from(self.offsets[(lists >> 32) as usize + place as usize]);
        }
        entry as usize
    }

    /// As the kernel `contract`.
    fn contract(&mut self, record: u32, blocks: u32) {
        let c = self.records[record as usize];
        let parts = c.rows.div_ceil(c.part);
        assert!(c.part <= super::records::THREADS * super::records::ROWS_PER_THREAD as u32);
        assert!(c.varying * c.run <= super::records::MAX_RUN_OFFSETS as u32);
        for tile in 0..blocks / parts {
            for row in 0..c.rows {
                let mut sum = 0.0_f64;
                for step in 0..c.steps {
                    let mut inner = 0.0_f32;
                    for place in 0..c.run {
                        let mut product = 2_f32.powi(c.head);
                        for input in 0..c.varying {
                            product *= self.tables[self.entry(&c, input, [tile, row, step, place])];
                        }
                        inner = self.semiring.add(inner, product);
                    }
                    for input in c.varying..c.summed {
                        inner *= self.tables[self.entry(&c, input, [tile, row, step, 0])];
                    }
                    sum = self.semiring.add(sum, f64::from(inner));
                }
                let mut sum = sum as f32;
                for input in c.summed..c.inputs {
                    sum *= self.tables[self.entry(&c, input, [tile, row, 0, 0])];
                }
                self.put(&c, u64::from(tile) * u64::from(c.rows) + u64::from(row), sum);
            }
        }
    }

    /// As the kernel `sum_rows`.
    fn sum_rows(&mut self, record: u32, blocks: u32) {
        let c = self.records[record as usize];
        assert_eq!(c.inputs, 1);
        for block in 0..blocks {
            let (tile, row) = (block / c.rows, block % c.rows);
            let places = (0..c.steps).flat_map(|step| (0..c.run).map(move |place| (step, place)));
            let entry = |(step, place)| self.tables[self.entry(&c, 0, [tile, row, step, place])];
            let sum = self.semiring.total(places.map(|at| f64::from(entry(at))));
            self.put(&c, u64::from(block), sum as f32);
        }
    }

    /// Sets an entry of the output of contraction `c`.
    fn put(&mut self, c: &Contraction, row: u64, sum: f32) {
        assert!(sum < 2_f32.powi(126), "the head of products is too large");
        self.tables[(c.output + row) as usize] = sum;
        self.note_range(c.result, sum);
    }

    /// As the function `note_range` of the kernels, for one entry.
    fn note_range(&mut self, number: u32, entry: f32) {
        if entry > 0.0 {
            let [largest, complement] = &mut self.ranges[number as usize];
            *largest = entry.to_bits().max(*largest);
            *complement = (f32::INFINITY.to_bits() - entry.to_bits()).max(*complement);
        }
    }

    /// As the kernel `rescale`.
    fn rescale(&mut self, table: Table) {
        let largest = self.ranges[table.number as usize][0];
        if largest > 0 {
            let exponent = (largest >> 23).max(1) as i32 - 127;
            for entry in &mut self.tables[table.first as usize..][..table.entries as usize] {
                *entry *= 2_f32.powi(-exponent);
            }
        }
    }

    /// As the kernel `divide`.
    fn divide(&mut self, belief: Table, message: Table, has_message: bool) {
        assert_eq!(belief.entries, message.entries);
        for entry in 0..message.entries {
            let mut quotient = self.tables[(belief.first + entry) as usize];
            let before = self.tables[(message.first + entry) as usize];
            if has_message {
                quotient = if before < f32::MIN_POSITIVE { 0.0 } else { quotient / before };
            }
            self.tables[(message.first + entry) as usize] = quotient;
            self.note_range(message.number, quotient);
        }
    }

    /// As the kernel `read`, for one reading.
    fn read(&mut self, number: usize) {
        let r = self.readings[number];
        let entry = |i: u64| {
            let at = i / r.stride * r.stride * u64::from(r.states)
                + u64::from(r.state) * r.stride
                + i % r.stride;
            f64::from(self.tables[(r.table + at) as usize])
        };
        self.sums[number] = self.semiring.total((r.begin..r.end).map(entry));
    }
}

impl Executor for Twin {
    fn set_plan(&mut self, plan: &Plan) -> Result<(), RunError> {
        *self = Self::new(plan, self.semiring);
        Ok(())
    }

    fn set_operands(&mut self, operands: &[f32]) -> Result<(), RunError> {
        self.tables[..operands.len()].copy_from_slice(operands);
        Ok(())
    }

    fn start(&mut self) -> Result<(), RunError> {
        self.ranges.fill([0; 2]);
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), RunError> {
        match *launch {
            Launch::Contract { record, varying, blocks } => {
                assert_eq!(varying, self.records[record as usize].varying);
                self.contract(record, blocks);
            }
            Launch::SumRows { record, blocks } => self.sum_rows(record, blocks),
            Launch::Rescale { table } => self.rescale(table),
            Launch::Divide { belief, message, has_message } => {
                self.divide(belief, message, has_message);
            }
            Launch::Read { first, count } => {
                (first..first + count).for_each(|number| self.read(number as usize));
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn results(&mut self) -> Result<(Vec<[u32; 2]>, Vec<f64>), RunError> {
        Ok((self.ranges.clone(), self.sums.clone()))
    }

    fn mark(&mut self) -> Result<(), RunError> {
        self.marks += 1;
        Ok(())
    }

    fn take_marks(&mut self) -> Result<Vec<Duration>, RunError> {
        let marks = std::mem::take(&mut self.marks);
        Ok((0..marks).map(|mark| Duration::from_micros(mark as u64)).collect())
    }

    fn empty_run(&mut self, _: &Plan) -> Option<Duration> {
        None
    }
}

/// The offset of an input for the tile or step with this number. Each of `digits` is the number of
/// states of the digit, followed by the distance between consecutive states for each input.
fn offset_of(mut number: u32, digits: &[u64], inputs: u32, input: u32) -> u64 {
    let mut offset = 0;
    for digit in digits.chunks_exact(1 + inputs as usize) {
        let states = digit[0] as u32;
        offset += u64::from(number % states) * digit[1 + input as usize];
        number /= states;
    }
    offset
}
