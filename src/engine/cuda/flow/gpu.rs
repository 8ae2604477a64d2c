//! The launch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::items::{THREADS, offsets};
use super::schedule::Schedule;
use super::{Executor, Flow, MAX_LISTS, Stamp};
use crate::engine::PropagationFailure;
use crate::engine::cuda::device::{Device, Pinned, grid, upload};
use crate::engine::cuda::kernels;

/// The buffers of one network on the GPU, and the kernels.
pub(super) struct Gpu {
    stream: Arc<CudaStream>,
    plain: CudaFunction,
    stamped: CudaFunction,
    empty: CudaFunction,
    lists: usize,
    /// Whether kernels of other processes may run at the same time.
    shared: bool,
    /// The item at each place of the lists.
    order: Vec<usize>,
    starts_of_lists: Vec<u32>,
    record_words: u32,
    variables: u32,
    records: CudaSlice<u32>,
    starts: CudaSlice<u32>,
    tables: CudaSlice<f32>,
    offsets: CudaSlice<u32>,
    evidence: CudaSlice<u32>,
    messages: CudaSlice<f32>,
    partials: CudaSlice<f32>,
    arrived: CudaSlice<u32>,
    slots: CudaSlice<u64>,
    out: CudaSlice<f32>,
    stamps: CudaSlice<u64>,
    packed: Pinned<u32>,
    read: Pinned<f32>,
    run_number: u32,
}

/// Which kernel a run is with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Stamped,
    Empty,
}

impl Gpu {
    pub fn load(device: &'static Device, flow: &Flow, tables: &[f32]) -> Result<Self, DriverError> {
        let stream = device.stream()?;
        let [plain, stamped, empty] = device
            .load(kernels::PROPAGATE, ["propagate", "propagate_stamped", "propagate_empty"])?;
        let items = &flow.items;
        // All blocks must be running at once. The other two kernels need no more than these.
        let resident = device.resident_blocks(&plain, THREADS)?;
        let resident = resident.min(device.resident_blocks(&stamped, THREADS)?);
        let lists = resident.min(MAX_LISTS).min(items.len());
        let schedule = Schedule::new(&flow.operations, items, lists);
        let records: Vec<u32> =
            schedule.items.iter().flat_map(|&item| items.record(item)).copied().collect();
        let mut starts = schedule.starts.clone();
        starts.resize(MAX_LISTS + 1, 0);
        let gpu = Self {
            plain,
            stamped,
            empty,
            lists,
            shared: device.is_shared(),
            record_words: items.record_words as u32,
            variables: flow.variables as u32,
            records: upload(&stream, &records)?,
            starts: upload(&stream, &starts)?,
            tables: upload(&stream, tables)?,
            offsets: upload(&stream, &offsets(&flow.operations))?,
            evidence: stream.alloc_zeros(flow.evidence_words().max(1))?,
            messages: stream.alloc_zeros(items.messages.max(1))?,
            partials: stream.alloc_zeros(items.partials.max(1))?,
            arrived: stream.alloc_zeros(flow.operations.all.len())?,
            slots: stream.alloc_zeros(items.len())?,
            out: stream.alloc_zeros(flow.result_words())?,
            stamps: stream.alloc_zeros(3 * items.len())?,
            packed: device.pinned(flow.evidence_words().max(1))?,
            read: device.pinned(flow.result_words())?,
            order: schedule.items,
            starts_of_lists: schedule.starts,
            run_number: 0,
            stream,
        };
        gpu.stream.synchronize()?;
        Ok(gpu)
    }

    /// Launches and waits. A plain launch is the faster one. Two of them at a time could each keep
    /// the other's blocks from running, so there is one at a time in this process; where other
    /// processes run beside it rather than in turns, the driver is asked to see to it.
    fn launch(&mut self, has_evidence: bool, kind: Kind) -> Result<(), DriverError> {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        if has_evidence {
            self.stream.memcpy_htod(self.packed.as_slice(), &mut self.evidence)?;
        }
        let has_evidence = u32::from(has_evidence);
        let kernel = match kind {
            Kind::Plain => &self.plain,
            Kind::Stamped => &self.stamped,
            Kind::Empty => &self.empty,
        };
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&self.records).arg(&self.record_words).arg(&self.starts).arg(&self.tables);
        launch.arg(&self.offsets);
        launch.arg(&self.evidence).arg(&has_evidence).arg(&self.variables);
        launch.arg(&mut self.messages).arg(&mut self.partials).arg(&mut self.arrived);
        launch.arg(&mut self.slots).arg(&mut self.out).arg(&self.run_number).arg(&mut self.stamps);
        let config = grid(self.lists as u32, THREADS);
        // SAFETY: the arguments are those that kernels/propagate.cu declares, the records stay
        // within the buffers and wait for each other in no circle, as twin and tests show, and all
        // blocks get to run: there are no more than fit, and nothing that waits is beside them.
        unsafe {
            match self.shared {
                true => launch.launch_cooperative(config)?,
                false => launch.launch(config)?,
            }
        };
        self.stream.memcpy_dtoh(&self.out, self.read.as_mut_slice())?;
        self.stream.synchronize()
    }

    fn read_stamps(&mut self) -> Result<Vec<u64>, DriverError> {
        let stamps = self.stream.clone_dtoh(&self.stamps)?;
        self.stream.synchronize()?;
        Ok(stamps)
    }
}

impl Executor for Gpu {
    fn evidence(&mut self) -> &mut [u32] {
        self.packed.as_mut_slice()
    }

    fn run(
        &mut self,
        _: &Flow,
        has_evidence: bool,
        stamped: bool,
    ) -> Result<(), PropagationFailure> {
        self.run_number += 1;
        let kind = if stamped { Kind::Stamped } else { Kind::Plain };
        Ok(self.launch(has_evidence, kind)?)
    }

    fn result(&self) -> &[f32] {
        self.read.as_slice()
    }

    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, PropagationFailure> {
        let times = self.read_stamps()?;
        let mut stamps = vec![Stamp::default(); flow.items.len()];
        for (lane, list) in self.starts_of_lists.windows(2).enumerate() {
            for place in list[0] as usize..list[1] as usize {
                let &[began, ready, end] = &times[3 * place..][..3] else { unreachable!() };
                stamps[self.order[place]] = Stamp { began, ready, end, lane: lane as u32 };
            }
        }
        Ok(stamps)
    }

    fn lists(&self) -> usize {
        self.lists
    }

    fn empty_run(&mut self, _: &Flow, repeat: u32) -> Option<Duration> {
        let mut times = Vec::new();
        for round in 0..=repeat.max(1) {
            let started = Instant::now();
            self.launch(false, Kind::Empty).ok()?;
            // The first one warms up.
            if round > 0 {
                times.push(started.elapsed());
            }
        }
        times.sort_unstable();
        Some(times[times.len() / 2])
    }
}
