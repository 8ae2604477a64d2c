//! Launches `kernels/persistent.cu`.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, PushKernelArg};

use super::interval::Unnormalised;
use super::schedule::Schedule;
use super::words::{MAX_EPOCH, Results};
use super::work_items::{THREADS, WorkItems};
use super::{Executor, MAX_BLOCKS, Program, Timestamps, Variant};
use crate::clock::Instant;
use crate::engine::RunError;
use crate::engine::cuda::device::{Device, Pinned, grid, is_done, upload};
use crate::engine::cuda::semiring::Semiring;
use crate::statistics::median_duration;

/// The buffers of one network on the GPU, and the kernels.
pub(super) struct Gpu {
    device: &'static Device,
    stream: Arc<CudaStream>,
    /// The kernel without timestamps.
    plain: CudaFunction,
    timestamped: CudaFunction,
    empty: CudaFunction,
    /// Number of blocks of a launch.
    blocks: usize,
    /// Whether kernels of other processes may run at the same time.
    is_shared: bool,
    /// As [`Schedule::items`].
    list_items: Vec<usize>,
    /// As [`Schedule::starts`].
    list_starts: Vec<u32>,
    report_order: Vec<usize>,
    /// Total number of states of all variables.
    states: u32,
    records: Records,
    /// For each block the position of its first work item in `timestamps`: a copy of `list_starts`,
    /// padded with zeros.
    first_timestamps: CudaSlice<u32>,
    evidence: CudaSlice<u32>,
    messages: CudaSlice<u64>,
    timestamps: CudaSlice<u64>,
    /// Packed evidence, to be copied to `evidence`.
    packed: Pinned<u32>,
    /// P(e), which the GPU writes.
    p_evidence: Pinned<u64>,
    /// The words of all reports, which the GPU writes.
    posteriors: Pinned<u32>,
    /// The unnormalised posteriors of an ordinary and of a raised run.
    unnormalised: [Pinned<u64>; 2],
    /// The epoch of the last launch.
    epoch: u32,
    /// The parity of the last run that wrote posteriors. The parity alternates between such runs.
    parity: bool,
    /// Whether results of an earlier run may still arrive, because the host has not read all of
    /// them.
    is_unread: bool,
}

/// If the records of a network are longer than this number of words, they are marked to be evicted
/// first from the GPU's L2 cache, because they would push out messages. This many words are 40 MiB;
/// the L2 cache of an H200 has 50 MiB. This affects only speed.
const LARGE_RECORDS: usize = 10 << 20;

/// Minimum number of words of records that are copied to the GPU at once: 1 MiB. Smaller pieces are
/// copied more slowly; larger ones take more memory of the host.
pub(super) const PIECE_WORDS: usize = 1 << 18;

/// Maximum number of buffers that the records are divided into, see [`Records`]. While they are
/// copied, host and GPU together hold at most one buffer more than all records. More buffers take
/// more time to allocate.
pub(super) const RECORD_BUFFERS: usize = 8;

/// The records of all lists on the GPU.
struct Records {
    /// Each buffer has the records of consecutive lists, as [`Schedule::write_records`] writes
    /// them.
    buffers: Vec<CudaSlice<u32>>,
    /// The lowest address of a buffer.
    address: u64,
    /// Where the records of each list begin, as [`Schedule::record_starts`] returns it, but counted
    /// from `address`.
    starts: CudaSlice<u32>,
}

/// The kernels, compiled for a GPU.
pub(super) struct Kernels {
    plain: CudaFunction,
    timestamped: CudaFunction,
    empty: CudaFunction,
}

impl Kernels {
    /// Compiles the kernels of `semiring` for `device`.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn load(device: &Device, semiring: Semiring) -> Result<Self, DriverError> {
        let ptx = semiring.persistent_kernels(device.capability()?);
        let names = ["propagate", "propagate_timestamped", "propagate_empty"];
        let [plain, timestamped, empty] = device.load(ptx, names)?;
        Ok(Self { plain, timestamped, empty })
    }
}

impl Gpu {
    /// Copies `program` to the GPU, and frees its records.
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    pub fn load(
        device: &'static Device,
        kernels: Kernels,
        program: &mut Program,
    ) -> Result<Self, DriverError> {
        let stream = device.stream()?;
        let Kernels { plain, timestamped, empty } = kernels;
        let items = &program.items;
        // All blocks must be resident at once for both kernels. The empty kernel needs less.
        let resident = device.resident_blocks(&plain, THREADS as u32)?;
        let resident = resident.min(device.resident_blocks(&timestamped, THREADS as u32)?);
        // Without work items there is one block with an empty list.
        let blocks = resident.min(MAX_BLOCKS).min(items.len()).max(1);
        let schedule = Schedule::new(items, blocks);
        // All other buffers are allocated after this, when the host has freed the records.
        let records = Records::upload(device, &stream, &schedule, &mut program.items)?;
        let items = &program.items;
        let mut first_timestamps = schedule.starts.clone();
        first_timestamps.resize(MAX_BLOCKS + 1, 0);
        let posterior_words = items.posterior_words.max(1);
        let gpu = Self {
            device,
            plain,
            timestamped,
            empty,
            blocks,
            is_shared: device.is_shared(),
            states: program.states.states() as u32,
            records,
            first_timestamps: upload(&stream, &first_timestamps)?,
            evidence: stream.alloc_zeros(program.states.evidence_words().max(1))?,
            messages: stream.alloc_zeros(items.messages.max(1))?,
            timestamps: stream.alloc_zeros(3 * items.len().max(1))?,
            packed: device.pinned(program.states.evidence_words().max(1))?,
            p_evidence: device.pinned(1)?,
            posteriors: device.pinned(items.result_words.max(1))?,
            unnormalised: [device.pinned(posterior_words)?, device.pinned(posterior_words)?],
            report_order: schedule.report_order(items),
            list_items: schedule.items,
            list_starts: schedule.starts,
            epoch: 0,
            parity: false,
            is_unread: false,
            stream,
        };
        gpu.stream.synchronize()?;
        Ok(gpu)
    }

    /// Launches a kernel.
    ///
    /// If two propagations ran at the same time, each could keep blocks of the other from becoming
    /// resident, and both would wait forever. Within this process, callers prevent this: they hold
    /// [`Executor::lock`], except for the empty kernel, which does not wait. If kernels of other
    /// processes can run at the same time, the launch is cooperative: the driver then guarantees
    /// that all blocks become resident. An ordinary launch is faster.
    fn launch(&mut self, has_evidence: bool, variant: Variant) -> Result<(), DriverError> {
        // A raised run follows an ordinary one, which has copied the same evidence.
        if has_evidence && variant != Variant::Raised {
            self.stream.memcpy_htod(self.packed.as_slice(), &mut self.evidence)?;
        }
        if self.is_unread {
            self.stream.synchronize()?;
        }
        if self.epoch == MAX_EPOCH {
            // Epochs start again at 1: words of earlier runs must not be taken for new ones.
            self.stream.synchronize()?;
            self.stream.memset_zeros(&mut self.messages)?;
            self.p_evidence.as_mut_slice().fill(0);
            self.epoch = 0;
        }
        self.epoch += 1;
        let writes_results = variant != Variant::Empty;
        self.is_unread |= writes_results;
        let parity = self.parity != writes_results;
        // Bits 0 to 3, which kernels/persistent.cu describes.
        let is_large = self.records.words() > LARGE_RECORDS;
        let flags = [has_evidence, is_large, parity, variant == Variant::Raised];
        let flags = flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u32::from(flag));
        let kernel = match variant {
            Variant::Plain | Variant::Raised => &self.plain,
            Variant::Timestamped => &self.timestamped,
            Variant::Empty => &self.empty,
        };
        let p_evidence = self.p_evidence.device_address();
        let posteriors = self.posteriors.device_address();
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&self.records.address).arg(&self.records.starts);
        launch.arg(&self.evidence).arg(&flags).arg(&self.states);
        launch.arg(&mut self.messages).arg(&p_evidence).arg(&posteriors).arg(&self.epoch);
        launch.arg(&self.first_timestamps).arg(&mut self.timestamps);
        let config = grid((self.blocks as u32, 1), THREADS as u32);
        // SAFETY: kernels/persistent.cu declares these arguments. The records stay within the
        // buffers and do not wait for each other in a cycle, as the twin and the tests show. All
        // blocks become resident: there are no more than fit, and no other waiting kernel runs at
        // the same time.
        unsafe {
            match self.is_shared {
                true => launch.launch_cooperative(config)?,
                false => launch.launch(config)?,
            }
        };
        // The parity changes only after a successful launch. Otherwise the run after a failed
        // launch would have the parity of the old results, and could take them for its own.
        self.parity = parity;
        Ok(())
    }

    /// Copies the first `words` words of the buffer `messages` to `unnormalised[run]`, after all
    /// work enqueued so far.
    fn keep_posteriors(&mut self, run: usize, words: usize) -> Result<(), DriverError> {
        if words == 0 {
            return Ok(());
        }
        let kept = &mut self.unnormalised[run].as_mut_slice()[..words];
        self.stream.memcpy_dtoh(&self.messages.slice(..words), kept)
    }

    /// The three timestamps of each work item, list after list, as the kernel wrote them.
    fn read_timestamps(&mut self) -> Result<Vec<u64>, DriverError> {
        let timestamps = self.stream.clone_dtoh(&self.timestamps)?;
        self.stream.synchronize()?;
        Ok(timestamps)
    }
}

impl Records {
    /// Copies the records of all lists to the GPU, and frees them on the host. The records of a
    /// buffer are freed before the next buffer is allocated, so there is no time at which host and
    /// GPU both hold all records.
    ///
    /// Copies them in pieces: while the GPU copies a piece, the host prepares the next one.
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    fn upload(
        device: &Device,
        stream: &Arc<CudaStream>,
        schedule: &Schedule,
        items: &mut WorkItems,
    ) -> Result<Self, DriverError> {
        let starts = schedule.record_starts(items);
        let of_buffer = items.record_words().div_ceil(RECORD_BUFFERS).max(PIECE_WORDS);
        let lists: Vec<Range<usize>> = schedule
            .pieces(items, 0..schedule.lists(), of_buffer)
            .into_iter()
            .map(|(lists, _)| lists)
            .collect();
        let pieces: Vec<Vec<(Range<usize>, usize)>> =
            lists.iter().map(|lists| schedule.pieces(items, lists.clone(), PIECE_WORDS)).collect();
        let longest = pieces.iter().flatten().map(|(_, words)| *words).max().unwrap_or(0).max(1);
        let mut staging = [device.pinned(longest)?, device.pinned(longest)?];
        let (mut buffers, mut copied) = (Vec::new(), 0);
        for pieces in pieces {
            let words: usize = pieces.iter().map(|(_, words)| words).sum();
            let mut buffer = stream.alloc_zeros(words.max(1))?;
            let mut first = 0;
            for (lists, words) in pieces {
                let piece = &mut staging[copied % 2].as_mut_slice()[..words];
                schedule.write_records(items, lists.clone(), piece);
                lists.flat_map(|list| schedule.list(list)).for_each(|&item| {
                    items.records[item] = Vec::new();
                });
                // Waits for the copy of the previous piece: the next piece will be written to the
                // memory from which that piece is copied.
                stream.synchronize()?;
                stream.memcpy_htod(&*piece, &mut buffer.slice_mut(first..first + words))?;
                first += words;
                copied += 1;
            }
            // If the next buffer cannot be allocated, no copy may still read the pinned memory.
            stream.synchronize()?;
            buffers.push(buffer);
        }
        items.records = Vec::new();
        let address = |buffer: &CudaSlice<u32>| buffer.device_ptr(stream).0;
        let addresses: Vec<u64> = buffers.iter().map(address).collect();
        let (address, mut starts) = match starts_in_buffers(&starts, &lists, &addresses) {
            Some(found) => found,
            None => {
                // The buffers are too far apart for the kernel.
                let mut all = stream.alloc_zeros(buffers.iter().map(CudaSlice::len).sum())?;
                let mut first = 0;
                for buffer in &buffers {
                    let end = first + buffer.len();
                    stream.memcpy_dtod(buffer, &mut all.slice_mut(first..end))?;
                    first = end;
                }
                buffers = vec![all];
                (address(&buffers[0]), starts)
            }
        };
        starts.resize(2 * MAX_BLOCKS, 0);
        Ok(Self { buffers, address, starts: upload(stream, &starts)? })
    }

    /// Number of words of all records.
    fn words(&self) -> usize {
        self.buffers.iter().map(CudaSlice::len).sum()
    }
}

/// The lowest address of a buffer, and `starts` (as [`Schedule::record_starts`] returns them)
/// counted from there; `None` if a position does not fit into a word. For each buffer, `lists` has
/// the lists whose records it holds, and `addresses` its address.
fn starts_in_buffers(
    starts: &[u32],
    lists: &[Range<usize>],
    addresses: &[u64],
) -> Option<(u64, Vec<u32>)> {
    let lowest = addresses.iter().copied().min()?;
    let mut moved = starts.to_vec();
    for (lists, address) in lists.iter().zip(addresses) {
        let first = u32::try_from((address - lowest) / 16).ok()?;
        for list in lists.clone() {
            let in_buffer = starts[2 * list] - starts[2 * lists.start];
            moved[2 * list] = first.checked_add(in_buffer)?;
        }
    }
    Some((lowest, moved))
}

impl Executor for Gpu {
    fn lock(&self) -> Option<MutexGuard<'static, ()>> {
        static LOCK: Mutex<()> = Mutex::new(());
        Some(LOCK.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn evidence(&mut self) -> &mut [u32] {
        self.packed.as_mut_slice()
    }

    fn start(&mut self, _: &Program, has_evidence: bool, variant: Variant) -> Result<(), RunError> {
        self.launch(has_evidence, variant)?;
        Ok(())
    }

    fn raise(
        &mut self,
        program: &Program,
        has_evidence: bool,
    ) -> Result<[Unnormalised<'_>; 2], RunError> {
        let words = program.items.posterior_words;
        let p_ordinary = self.results().p_evidence().unwrap_or_default();
        self.keep_posteriors(0, words)?;
        self.start(program, has_evidence, Variant::Raised)?;
        self.keep_posteriors(1, words)?;
        self.stream.synchronize()?;
        self.finish_reading();
        let p_raised = self.results().p_evidence().unwrap_or_default();
        let kept = self.unnormalised.each_ref().map(|kept| &kept.as_slice()[..words]);
        let [ordinary, raised] = kept.map(bytemuck::cast_slice);
        Ok([
            Unnormalised { p_evidence: p_ordinary, posteriors: ordinary },
            Unnormalised { p_evidence: p_raised, posteriors: raised },
        ])
    }

    fn results(&self) -> Results<'_> {
        Results {
            words: self.posteriors.as_atomics(),
            parity: self.parity,
            p_evidence: &self.p_evidence.as_atomics()[0],
            epoch: self.epoch,
        }
    }

    fn finish_reading(&mut self) {
        self.is_unread = false;
    }

    fn report_order(&self) -> &[usize] {
        &self.report_order
    }

    fn is_running(&self) -> Result<bool, RunError> {
        Ok(!is_done(&self.stream)?)
    }

    fn timestamps(&mut self, program: &Program) -> Result<Vec<Timestamps>, RunError> {
        let times = self.read_timestamps()?;
        let mut timestamps = vec![Timestamps::default(); program.items.len()];
        for (block, list) in self.list_starts.windows(2).enumerate() {
            for position in list[0] as usize..list[1] as usize {
                let &[began, ready, end] = &times[3 * position..][..3] else { unreachable!() };
                let block = block as u32;
                timestamps[self.list_items[position]] = Timestamps { began, ready, end, block };
            }
        }
        Ok(timestamps)
    }

    fn blocks(&self) -> usize {
        self.blocks
    }

    fn empty_run(&mut self, repeat: u32) -> Option<Duration> {
        let mut times = Vec::new();
        for round in 0..=repeat.max(1) {
            let started = Instant::now();
            self.launch(false, Variant::Empty).ok()?;
            while self.results().p_evidence().is_none() && self.is_running().ok()? {}
            // The first run warms up.
            if round > 0 {
                times.push(started.elapsed());
            }
        }
        median_duration(times)
    }

    fn kernel_times(&mut self, repeat: u32) -> Option<[Duration; 2]> {
        let (start, end) = (self.device.timer().ok()?, self.device.timer().ok()?);
        let mut times = [Variant::Plain, Variant::Timestamped].map(|variant| (variant, Vec::new()));
        for round in 0..=repeat.max(1) {
            for (variant, times) in &mut times {
                start.record(&self.stream).ok()?;
                self.launch(false, *variant).ok()?;
                end.record(&self.stream).ok()?;
                let time = start.elapsed_ms(&end).ok()?;
                // The first run warms up.
                if round > 0 {
                    times.push(Duration::from_secs_f64(f64::from(time) / 1e3));
                }
            }
        }
        let [(_, plain), (_, timestamped)] = times;
        Some([median_duration(plain)?, median_duration(timestamped)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_counted_from_the_lowest_buffer() {
        let (starts, lists) = ([0, 5, 10, 5, 20, 1, 30, 0], [0..2, 2..4]);
        let moved = vec![0x400, 5, 0x40a, 5, 0, 1, 10, 0];
        assert_eq!(starts_in_buffers(&starts, &lists, &[0x5000, 0x1000]), Some((0x1000, moved)));
        let far = 0x1000 + (16 << 32);
        assert_eq!(starts_in_buffers(&starts, &lists, &[0x1000, far]), None);
        assert_eq!(starts_in_buffers(&starts, &lists, &[far - 16, 0x1000]), None);
        assert!(starts_in_buffers(&starts, &lists, &[0x1000, far - 16 * 11]).is_some());
    }
}
