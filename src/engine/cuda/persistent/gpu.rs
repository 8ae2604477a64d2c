//! The launch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::items::THREADS;
use super::schedule::Schedule;
use super::words::{MAX_TAG, Results};
use super::{Executor, Flow, MAX_LISTS, Stamp};
use crate::clock::Instant;
use crate::engine::RunError;
use crate::engine::cuda::device::{Device, Pinned, grid, is_done, upload};
use crate::engine::cuda::kernels;
use crate::statistics::median_duration;

/// The buffers of one network on the GPU, and the kernels.
pub(super) struct Gpu {
    device: &'static Device,
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
    reports: Vec<usize>,
    states: u32,
    records: CudaSlice<u32>,
    starts: CudaSlice<u32>,
    /// The first item of each list.
    firsts: CudaSlice<u32>,
    evidence: CudaSlice<u32>,
    messages: CudaSlice<u64>,
    stamps: CudaSlice<u64>,
    packed: Pinned<u32>,
    /// Written by the GPU: P(e), and the posteriors.
    p_evidence: Pinned<u64>,
    out: Pinned<u32>,
    tag: u32,
    turn: bool,
    /// Whether there may be results that were not waited for.
    is_unread: bool,
}

/// Words of records that push messages out of the GPU's cache.
const LARGE: usize = 10 << 20;

/// Which kernel a run is with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Stamped,
    Empty,
}

impl Gpu {
    pub fn load(device: &'static Device, flow: &Flow) -> Result<Self, DriverError> {
        let stream = device.stream()?;
        let is_new = device.capability()? >= (8, 0);
        let ptx = if is_new { kernels::PERSISTENT_80 } else { kernels::PERSISTENT };
        let names = ["propagate", "propagate_timestamped", "propagate_empty"];
        let [plain, stamped, empty] = device.load(ptx, names)?;
        let items = &flow.items;
        // All blocks must be running at once, whichever of the kernels runs; the empty one needs less.
        let resident = device.resident_blocks(&plain, THREADS as u32)?;
        let resident = resident.min(device.resident_blocks(&stamped, THREADS as u32)?);
        // Where everything is zero there are no items, and one block that has nothing to do.
        let lists = resident.min(MAX_LISTS).min(items.len()).max(1);
        let schedule = Schedule::new(items, lists);
        let (records, mut starts) = schedule.records(items);
        starts.resize(2 * MAX_LISTS, 0);
        let mut firsts = schedule.starts.clone();
        firsts.resize(MAX_LISTS + 1, 0);
        let gpu = Self {
            device,
            plain,
            stamped,
            empty,
            lists,
            shared: device.is_shared(),
            states: flow.shape.states() as u32,
            records: upload(&stream, &records)?,
            starts: upload(&stream, &starts)?,
            firsts: upload(&stream, &firsts)?,
            evidence: stream.alloc_zeros(flow.shape.evidence_words().max(1))?,
            messages: stream.alloc_zeros(items.messages.max(1))?,
            stamps: stream.alloc_zeros(3 * items.len().max(1))?,
            packed: device.pinned(flow.shape.evidence_words().max(1))?,
            p_evidence: device.pinned(1)?,
            out: device.pinned(items.result_words.max(1))?,
            reports: schedule.reports(items),
            order: schedule.items,
            starts_of_lists: schedule.starts,
            tag: 0,
            turn: false,
            is_unread: false,
            stream,
        };
        gpu.stream.synchronize()?;
        Ok(gpu)
    }

    /// Launches. A plain launch is the faster one. Two of them at a time could each keep the
    /// other's blocks from running; in this process that is seen to by whoever calls, and where
    /// other processes run beside it rather than in turns, the driver is asked to.
    fn launch(&mut self, has_evidence: bool, kind: Kind) -> Result<(), DriverError> {
        if has_evidence {
            self.stream.memcpy_htod(self.packed.as_slice(), &mut self.evidence)?;
        }
        if self.is_unread {
            self.stream.synchronize()?;
        }
        if self.tag == MAX_TAG {
            // Words of long ago must not pass for new ones.
            self.stream.synchronize()?;
            self.stream.memset_zeros(&mut self.messages)?;
            self.p_evidence.as_mut_slice().fill(0);
            self.tag = 0;
        }
        self.tag += 1;
        self.is_unread |= kind != Kind::Empty;
        let turn = self.turn != (kind != Kind::Empty);
        let flags = [has_evidence, self.records.len() > LARGE, turn];
        let flags = flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u32::from(flag));
        let kernel = match kind {
            Kind::Plain => &self.plain,
            Kind::Stamped => &self.stamped,
            Kind::Empty => &self.empty,
        };
        let (p_evidence, out) = (self.p_evidence.device_address(), self.out.device_address());
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&self.records).arg(&self.starts);
        launch.arg(&self.evidence).arg(&flags).arg(&self.states);
        launch.arg(&mut self.messages).arg(&p_evidence).arg(&out).arg(&self.tag);
        launch.arg(&self.firsts).arg(&mut self.stamps);
        let config = grid((self.lists as u32, 1), THREADS as u32);
        // SAFETY: the arguments are those that kernels/persistent.cu declares, the records stay
        // within the buffers and wait for each other in no circle, as twin and tests show, and all
        // blocks get to run: there are no more than fit, and nothing that waits is beside them.
        unsafe {
            match self.shared {
                true => launch.launch_cooperative(config)?,
                false => launch.launch(config)?,
            }
        };
        // Not before: where nothing was launched, what is there must not pass for the next run's.
        self.turn = turn;
        Ok(())
    }

    fn read_stamps(&mut self) -> Result<Vec<u64>, DriverError> {
        let stamps = self.stream.clone_dtoh(&self.stamps)?;
        self.stream.synchronize()?;
        Ok(stamps)
    }
}

impl Executor for Gpu {
    fn alone(&self) -> Option<MutexGuard<'static, ()>> {
        static ALONE: Mutex<()> = Mutex::new(());
        Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn evidence(&mut self) -> &mut [u32] {
        self.packed.as_mut_slice()
    }

    fn start(&mut self, _: &Flow, has_evidence: bool, stamped: bool) -> Result<(), RunError> {
        let kind = if stamped { Kind::Stamped } else { Kind::Plain };
        self.launch(has_evidence, kind)?;
        Ok(())
    }

    fn results(&self) -> Results<'_> {
        Results {
            words: self.out.as_atomics(),
            turn: self.turn,
            p_evidence: &self.p_evidence.as_atomics()[0],
            tag: self.tag,
        }
    }

    fn have_been_read(&mut self) {
        self.is_unread = false;
    }

    fn reports(&self) -> &[usize] {
        &self.reports
    }

    fn may_come(&self) -> Result<bool, RunError> {
        Ok(!is_done(&self.stream)?)
    }

    fn stamps(&mut self, flow: &Flow) -> Result<Vec<Stamp>, RunError> {
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

    fn empty_run(&mut self, repeat: u32) -> Option<Duration> {
        let mut times = Vec::new();
        for round in 0..=repeat.max(1) {
            let started = Instant::now();
            self.launch(false, Kind::Empty).ok()?;
            while self.results().p_evidence().is_none() && self.may_come().ok()? {}
            // The first one warms up.
            if round > 0 {
                times.push(started.elapsed());
            }
        }
        median_duration(times)
    }

    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]> {
        let (start, end) = (self.device.timer().ok()?, self.device.timer().ok()?);
        let mut times = [Kind::Plain, Kind::Stamped].map(|kind| (kind, Vec::new()));
        for round in 0..=repeat.max(1) {
            for (kind, times) in &mut times {
                start.record(&self.stream).ok()?;
                self.launch(false, *kind).ok()?;
                end.record(&self.stream).ok()?;
                let time = start.elapsed_ms(&end).ok()?;
                // The first one warms up.
                if round > 0 {
                    times.push(Duration::from_secs_f64(f64::from(time) / 1e3));
                }
            }
        }
        let [(_, plain), (_, stamped)] = times;
        Some([median_duration(plain)?, median_duration(stamped)?])
    }
}
