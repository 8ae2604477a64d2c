//! Launches `kernels/table_free.cu`.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::plan::{Launch, Plan, Table};
use super::records::THREADS;
use super::{Executor, RunError};
use crate::clock::Instant;
use crate::engine::cuda::device::{Device, grid, upload, upload_records};
use crate::engine::cuda::kernels;
use crate::engine::cuda::semiring::Semiring;

/// `kernels/table_free.cu` has a version of kernel `contract` for each number of varying inputs up
/// to this. An input varies if it contains a variable of the inner run: one of the fastest of the
/// variables that are summed out. The version for three varying inputs is named `contract_3`.
const MAX_VARYING: usize = 8;

/// Maximum number of blocks of a kernel whose threads each loop over several entries of a table. It
/// is more than an H200 can run at the same time. Affects only speed.
const MAX_BLOCKS: u64 = 2048;

/// The buffers of one network on the GPU, and the kernels.
pub(super) struct Gpu {
    device: &'static Device,
    stream: Arc<CudaStream>,
    /// The version of kernel `contract` for each number of varying inputs, from zero; the last is
    /// for any larger number.
    contract: [CudaFunction; MAX_VARYING + 2],
    sum_rows: CudaFunction,
    rescale: CudaFunction,
    divide: CudaFunction,
    read: CudaFunction,
    empty: CudaFunction,
    buffers: PlanBuffers,
    /// All tables.
    tables: CudaSlice<f32>,
    marks: Vec<CudaEvent>,
}

/// The lists of one plan, as [`Plan`] describes them, and its results.
struct PlanBuffers {
    records: CudaSlice<u32>,
    numbers: CudaSlice<u64>,
    offsets: CudaSlice<u32>,
    readings: CudaSlice<u32>,
    /// By number of a table: the bits of its range, which the kernels note. The first part of
    /// [`Executor::results`].
    ranges: CudaSlice<[u32; 2]>,
    /// The sum of each reading: the second part of [`Executor::results`].
    sums: CudaSlice<f64>,
}

impl PlanBuffers {
    fn new(stream: &Arc<CudaStream>, plan: &Plan) -> Result<Self, DriverError> {
        Ok(Self {
            records: upload_records(stream, &plan.records)?,
            numbers: upload(stream, &plan.numbers)?,
            offsets: upload(stream, &plan.offsets)?,
            readings: upload_records(stream, &plan.readings)?,
            ranges: stream.alloc_zeros(plan.sources.len().max(1))?,
            sums: stream.alloc_zeros(plan.readings.len().max(1))?,
        })
    }
}

impl Gpu {
    /// Loads the kernels, and allocates the tables of `plan`.
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    pub fn load(
        device: &'static Device,
        plan: &Plan,
        semiring: Semiring,
    ) -> Result<Self, DriverError> {
        let stream = device.stream()?;
        let names = [
            "contract_0",
            "contract_1",
            "contract_2",
            "contract_3",
            "contract_4",
            "contract_5",
            "contract_6",
            "contract_7",
            "contract_8",
            "contract_many",
            "sum_rows",
            "rescale",
            "divide",
            "read",
        ];
        let [contract @ .., sum_rows, rescale, divide, read] =
            device.load(semiring.table_free_kernels(), names)?;
        let [empty] = device.load(kernels::EMPTY, ["empty"])?;
        Ok(Self {
            buffers: PlanBuffers::new(&stream, plan)?,
            tables: allocate_tables(&stream, plan)?,
            device,
            contract,
            sum_rows,
            rescale,
            divide,
            read,
            empty,
            marks: Vec::new(),
            stream,
        })
    }

    /// Enqueues `launch`.
    fn enqueue(&mut self, launch: &Launch) -> Result<(), DriverError> {
        let Self { stream, tables, buffers, .. } = self;
        let PlanBuffers { records, numbers, offsets, readings, ranges, sums } = buffers;
        match *launch {
            Launch::Contract { record, varying, blocks } => {
                let kernel = &self.contract[(varying as usize).min(MAX_VARYING + 1)];
                let mut launch = stream.launch_builder(kernel);
                launch.arg(&*records).arg(&record).arg(&*numbers).arg(&*offsets);
                launch.arg(tables).arg(ranges);
                // SAFETY: kernels/table_free.cu declares these arguments. All entries are within
                // the buffers, as the twin shows.
                unsafe { launch.launch(grid((blocks, 1), THREADS))? };
            }
            Launch::SumRows { record, blocks } => {
                let mut launch = stream.launch_builder(&self.sum_rows);
                launch.arg(&*records).arg(&record).arg(&*numbers).arg(&*offsets);
                launch.arg(tables).arg(ranges);
                // SAFETY: as for `contract`.
                unsafe { launch.launch(grid((blocks, 1), THREADS))? };
            }
            Launch::Rescale { table } => {
                let mut launch = stream.launch_builder(&self.rescale);
                launch.arg(tables).arg(&table.first).arg(&table.entries);
                launch.arg(&*ranges).arg(&table.number);
                // SAFETY: as for `contract`.
                unsafe { launch.launch(grid((blocks_for(table), 1), THREADS))? };
            }
            Launch::Divide { belief, message, has_message } => {
                let has_message = u32::from(has_message);
                let mut launch = stream.launch_builder(&self.divide);
                launch.arg(tables).arg(&belief.first).arg(&message.first).arg(&message.entries);
                launch.arg(&has_message).arg(ranges).arg(&message.number);
                // SAFETY: as for `contract`. The belief has as many entries as the message.
                unsafe { launch.launch(grid((blocks_for(message), 1), THREADS))? };
            }
            Launch::Read { first, count } => {
                let mut launch = stream.launch_builder(&self.read);
                launch.arg(&*readings).arg(&first).arg(&*tables).arg(sums);
                // SAFETY: as for `contract`.
                unsafe { launch.launch(grid((count, 1), THREADS))? };
            }
        }
        Ok(())
    }

    /// See [`Executor::empty_run`].
    fn time_empty_run(&mut self, plan: &Plan) -> Result<Duration, DriverError> {
        let started = Instant::now();
        self.stream.memset_zeros(&mut self.buffers.ranges)?;
        for _ in &plan.launches {
            // SAFETY: the kernel has no parameters and accesses no memory.
            unsafe { self.stream.launch_builder(&self.empty).launch(grid((1, 1), THREADS))? };
        }
        self.stream.clone_dtoh(&self.buffers.ranges)?;
        self.stream.clone_dtoh(&self.buffers.sums)?;
        self.stream.synchronize()?;
        Ok(started.elapsed())
    }
}

/// Memory for the tables of `plan`.
fn allocate_tables(stream: &Arc<CudaStream>, plan: &Plan) -> Result<CudaSlice<f32>, DriverError> {
    // SAFETY: every entry is written before it is read, as the twin shows.
    unsafe { stream.alloc(usize::try_from(plan.entries).unwrap_or(usize::MAX).max(1)) }
}

/// Number of blocks for the entries of `table`.
fn blocks_for(table: Table) -> u32 {
    table.entries.div_ceil(u64::from(THREADS)).clamp(1, MAX_BLOCKS) as u32
}

impl Executor for Gpu {
    fn set_plan(&mut self, plan: &Plan) -> Result<(), RunError> {
        self.buffers = PlanBuffers::new(&self.stream, plan)?;
        if plan.entries > self.tables.len() as u64 {
            // The old tables are freed first, so that both do not exist at the same time.
            self.tables = self.stream.alloc_zeros(1)?;
            self.tables = allocate_tables(&self.stream, plan)?;
        }
        Ok(())
    }

    fn set_operands(&mut self, operands: &[f32]) -> Result<(), RunError> {
        if !operands.is_empty() {
            self.stream.memcpy_htod(operands, &mut self.tables.slice_mut(..operands.len()))?;
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), RunError> {
        Ok(self.stream.memset_zeros(&mut self.buffers.ranges)?)
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), RunError> {
        Ok(self.enqueue(launch)?)
    }

    fn wait(&mut self) -> Result<(), RunError> {
        Ok(self.stream.synchronize()?)
    }

    fn results(&mut self) -> Result<(Vec<[u32; 2]>, Vec<f64>), RunError> {
        let ranges = self.stream.clone_dtoh(&self.buffers.ranges)?;
        let sums = self.stream.clone_dtoh(&self.buffers.sums)?;
        self.stream.synchronize()?;
        Ok((ranges, sums))
    }

    fn mark(&mut self) -> Result<(), RunError> {
        let mark = self.device.timer()?;
        mark.record(&self.stream)?;
        self.marks.push(mark);
        Ok(())
    }

    fn take_marks(&mut self) -> Result<Vec<Duration>, RunError> {
        let marks = std::mem::take(&mut self.marks);
        let Some(first) = marks.first() else { return Ok(Vec::new()) };
        let since = |mark: &CudaEvent| -> Result<Duration, RunError> {
            Ok(Duration::from_secs_f64(f64::from(first.elapsed_ms(mark)?) / 1e3))
        };
        marks.iter().map(since).collect()
    }

    fn empty_run(&mut self, plan: &Plan) -> Option<Duration> {
        self.time_empty_run(plan).ok()
    }
}
