//! Launches `kernels/batch.cu`.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::Executor;
use super::buffers::{Buffers, CASES_PER_THREAD, GROUP};
use super::work_items::ITEM_WORDS;
use crate::engine::RunError;
use crate::engine::cuda::device::{Device, Pinned, grid, upload, upload_records};
use crate::engine::cuda::kernels;

/// The buffers of one network on the GPU, and the kernels. `kernels/batch.cu` says what is in the
/// buffers.
pub struct Gpu {
    propagate: CudaFunction,
    enter_findings: CudaFunction,
    read_posteriors: CudaFunction,
    bound_loss: CudaFunction,
    items: CudaSlice<u32>,
    steps: CudaSlice<[u32; 4]>,
    variables: CudaSlice<[u32; 4]>,
    reads: CudaSlice<[u32; 2]>,
    sets: Vec<BufferSet>,
    /// Maximum number of cases in a buffer set, a multiple of [`GROUP`].
    capacity: usize,
    /// Size of all buffers on the GPU in bytes.
    bytes: u64,
}

/// Evidence, messages and results of the cases of one part of a batch.
struct BufferSet {
    /// Runs the kernels and copies of this set of buffers, while other sets run theirs.
    stream: Arc<CudaStream>,
    /// The packed evidence on the host.
    packed: Pinned<u32>,
    /// The copy of `packed` on the GPU.
    evidence: CudaSlice<u32>,
    messages: CudaSlice<f32>,
    largest: CudaSlice<u32>,
    exponents: CudaSlice<i32>,
    levels: CudaSlice<i32>,
    /// The results on the GPU.
    results: CudaSlice<f32>,
    results_on_host: Pinned<f32>,
    /// Length of the results of the last part in words.
    words: usize,
    /// Recorded once the results have been copied to the host.
    done: CudaEvent,
}

impl BufferSet {
    /// A set for `capacity` cases.
    fn new(
        device: &'static Device,
        buffers: &Buffers,
        capacity: usize,
    ) -> Result<Self, DriverError> {
        let stream = device.stream()?;
        let (packed, results) = (buffers.max_packed_words(), buffers.result_words());
        Ok(Self {
            packed: device.pinned(capacity * packed)?,
            evidence: stream.alloc_zeros(capacity * packed)?,
            messages: stream.alloc_zeros(capacity * buffers.entries)?,
            largest: stream.alloc_zeros(capacity * buffers.messages)?,
            exponents: stream.alloc_zeros(capacity * buffers.messages)?,
            levels: stream.alloc_zeros(capacity * buffers.messages)?,
            results: stream.alloc_zeros(capacity * results)?,
            results_on_host: device.pinned(capacity * results)?,
            words: 0,
            done: device.timer()?,
            stream,
        })
    }
}

impl Gpu {
    /// Loads the kernels, and copies `buffers` to the GPU. Allocates at most `bytes` on the GPU,
    /// and at most half of its free memory; `None` if that is too little for one group of cases.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn load(
        device: &'static Device,
        buffers: &Buffers,
        bytes: u64,
    ) -> Result<Option<Self>, DriverError> {
        let names = ["propagate_batch_2", "enter_findings_2", "read_posteriors_2", "bound_loss_2"];
        let ptx = match device.capability()? {
            capability if capability >= (8, 0) => kernels::BATCH_80,
            _ => kernels::BATCH,
        };
        let [propagate, enter_findings, read_posteriors, bound_loss] = device.load(ptx, names)?;
        let available = bytes.min(device.free_bytes()? / 2).saturating_sub(buffers.bytes() as u64);
        let Some((sets, capacity)) = buffers.capacity(available) else { return Ok(None) };
        let stream = device.stream()?;
        let bytes = buffers.bytes() + sets * capacity * buffers.case_bytes();
        let sets = (0..sets).map(|_| BufferSet::new(device, buffers, capacity));
        let gpu = Self {
            propagate,
            enter_findings,
            read_posteriors,
            bound_loss,
            items: upload_records(&stream, &buffers.items)?,
            steps: upload(&stream, &buffers.steps)?,
            variables: upload(&stream, &buffers.variables)?,
            reads: upload(&stream, &buffers.reads)?,
            sets: sets.collect::<Result<_, _>>()?,
            capacity,
            bytes: bytes as u64,
        };
        for set in &gpu.sets {
            set.stream.join(&stream)?;
        }
        Ok(Some(gpu))
    }

    /// Enqueues all work for the first `cases` cases of a buffer set.
    fn launch(
        &mut self,
        buffers: &Buffers,
        set: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), DriverError> {
        let BufferSet {
            stream,
            packed,
            evidence,
            messages,
            largest,
            exponents,
            levels,
            results,
            results_on_host,
            words,
            done,
        } = &mut self.sets[set];
        let filled = cases * buffers.packed_words(is_soft);
        let packed = &packed.as_slice()[..filled];
        stream.memcpy_htod(packed, &mut evidence.slice_mut(..filled))?;
        stream.memset_zeros(largest)?;
        let groups = cases.div_ceil(GROUP) as u32;
        let (count, states) = (buffers.variables() as u32, buffers.states() as u32);
        let (entries, message_count) = (buffers.entries as u64, buffers.messages as u32);
        let (is_soft, cases) = (u32::from(is_soft), cases as u32);
        let mut launch = stream.launch_builder(&self.enter_findings);
        launch.arg(&self.variables).arg(&count).arg(&*evidence).arg(&is_soft);
        launch.arg(&states).arg(&cases).arg(&mut *messages).arg(&entries);
        launch.arg(&mut *largest).arg(&mut *exponents).arg(&mut *levels).arg(&message_count);
        // SAFETY: kernels/batch.cu declares these arguments, and the buffers hold this many groups
        // of cases.
        unsafe { launch.launch(grid((count.div_ceil(4), groups), 128))? };
        for items in &buffers.launches {
            let count = items.len() as u32;
            let items = self.items.slice(items.start * ITEM_WORDS..items.end * ITEM_WORDS);
            let mut launch = stream.launch_builder(&self.propagate);
            launch.arg(&items).arg(&count).arg(&self.steps).arg(&mut *messages).arg(&entries);
            launch.arg(&mut *largest).arg(&mut *exponents);
            launch.arg(&mut *levels).arg(&message_count);
            // SAFETY: kernels/batch.cu declares these arguments. All indices stay within the
            // buffers, and no work item of a launch reads what another writes, as the twin shows.
            unsafe { launch.launch(grid((count.div_ceil(4), groups), 128))? };
        }
        let mut launch = stream.launch_builder(&self.read_posteriors);
        launch.arg(&self.reads).arg(&states).arg(&*messages).arg(&entries);
        launch.arg(&*exponents).arg(&message_count).arg(&buffers.first_message).arg(&cases);
        launch.arg(&mut *results);
        let rows = groups * CASES_PER_THREAD as u32;
        // SAFETY: kernels/batch.cu declares these arguments, and the results hold this many cases.
        unsafe { launch.launch(grid((states.div_ceil(32), rows), 256))? };
        let first_states = buffers.variables[0][2];
        let mut launch = stream.launch_builder(&self.bound_loss);
        launch.arg(&self.reads).arg(&first_states).arg(&states).arg(&*messages).arg(&entries);
        launch.arg(&*largest).arg(&*exponents).arg(&*levels).arg(&message_count);
        launch.arg(&buffers.first_message).arg(&cases).arg(&mut *results);
        // SAFETY: as for the launch before.
        unsafe { launch.launch(grid((1, rows), 256))? };
        *words = cases as usize * buffers.result_words();
        let on_host = &mut results_on_host.as_mut_slice()[..*words];
        stream.memcpy_dtoh(&results.slice(..*words), on_host)?;
        done.record(stream)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // The pinned memory is freed at once, and so must not be in use any more.
        for set in &self.sets {
            let _ = set.stream.synchronize();
        }
    }
}

impl Executor for Gpu {
    fn sets(&self) -> usize {
        self.sets.len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn packed(&mut self, set: usize, words: usize) -> &mut [u32] {
        // A launch may still run if its batch was cancelled. A failure is reported when the next
        // results are read.
        let _ = self.sets[set].done.synchronize();
        &mut self.sets[set].packed.as_mut_slice()[..words]
    }

    fn start(
        &mut self,
        buffers: &Buffers,
        set: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), RunError> {
        Ok(self.launch(buffers, set, cases, is_soft)?)
    }

    fn results(&mut self, set: usize) -> Result<&[f32], RunError> {
        let set = &self.sets[set];
        set.done.synchronize()?;
        Ok(&set.results_on_host.as_slice()[..set.words])
    }
}
