//! Launches `kernels/batch.cu`.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::buffers::{Buffers, CASES_PER_THREAD, GROUP, ITEM_WORDS};
use super::{BUFFER_SETS, Executor};
use crate::engine::RunError;
use crate::engine::cuda::device::{Device, Pinned, grid, upload, upload_records};
use crate::engine::cuda::kernels;

/// The buffers of one network on the GPU, and the kernels. `kernels/batch.cu` says what is in the
/// buffers.
pub struct Gpu {
    /// Runs the kernels.
    stream: Arc<CudaStream>,
    /// Copies evidence to the GPU, while the kernels of another launch run.
    uploads: Arc<CudaStream>,
    /// Copies results to the host, while the kernels of another launch run.
    downloads: Arc<CudaStream>,
    propagate: CudaFunction,
    enter_findings: CudaFunction,
    read_posteriors: CudaFunction,
    bound_loss: CudaFunction,
    items: CudaSlice<u32>,
    rows: CudaSlice<[u32; 4]>,
    singles: CudaSlice<[u32; 2]>,
    pairs: CudaSlice<[u32; 4]>,
    variables: CudaSlice<[u32; 4]>,
    reads: CudaSlice<[u32; 2]>,
    messages: CudaSlice<f32>,
    largest: CudaSlice<u32>,
    exponents: CudaSlice<i32>,
    levels: CudaSlice<i32>,
    sets: [BufferSet; BUFFER_SETS],
    /// Maximum number of cases of a launch, a multiple of [`GROUP`].
    capacity: usize,
    /// Size of all buffers on the GPU in bytes.
    bytes: u64,
}

/// Evidence and results of the cases of one launch.
struct BufferSet {
    /// The packed evidence on the host.
    packed: Pinned<u32>,
    /// The copy of `packed` on the GPU.
    evidence: CudaSlice<u32>,
    /// The results on the GPU.
    results: CudaSlice<f32>,
    results_on_host: Pinned<f32>,
    /// Length of the results of the last launch in words.
    words: usize,
    /// Recorded once the results have been copied to the host.
    done: CudaEvent,
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
        let [stream, uploads, downloads] = [device.stream()?, device.stream()?, device.stream()?];
        let names = ["propagate_batch_2", "enter_findings_2", "read_posteriors_2", "bound_loss_2"];
        let [propagate, enter_findings, read_posteriors, bound_loss] =
            device.load(kernels::BATCH, names)?;
        let packed = buffers.max_packed_words();
        let available = bytes.min(device.free_bytes()? / 2).saturating_sub(buffers.bytes() as u64);
        let Some(capacity) = buffers.capacity(available) else { return Ok(None) };
        let set = || -> Result<BufferSet, DriverError> {
            Ok(BufferSet {
                packed: device.pinned(capacity * packed)?,
                evidence: stream.alloc_zeros(capacity * packed)?,
                results: stream.alloc_zeros(capacity * buffers.result_words())?,
                results_on_host: device.pinned(capacity * buffers.result_words())?,
                words: 0,
                done: device.timer()?,
            })
        };
        let gpu = Self {
            propagate,
            enter_findings,
            read_posteriors,
            bound_loss,
            items: upload_records(&stream, &buffers.items)?,
            rows: upload(&stream, &buffers.rows)?,
            singles: upload(&stream, &buffers.singles)?,
            pairs: upload(&stream, &buffers.pairs)?,
            variables: upload(&stream, &buffers.variables)?,
            reads: upload(&stream, &buffers.reads)?,
            messages: stream.alloc_zeros(capacity * buffers.entries)?,
            largest: stream.alloc_zeros(capacity * buffers.messages)?,
            exponents: stream.alloc_zeros(capacity * buffers.messages)?,
            levels: stream.alloc_zeros(capacity * buffers.messages)?,
            sets: [set()?, set()?],
            capacity,
            bytes: (buffers.bytes() + capacity * buffers.case_bytes()) as u64,
            stream,
            uploads,
            downloads,
        };
        // The buffers are allocated in the order of this stream.
        gpu.uploads.join(&gpu.stream)?;
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
        let BufferSet { packed, evidence, results, results_on_host, words, done } =
            &mut self.sets[set];
        let filled = cases * buffers.packed_words(is_soft);
        let stream = &self.stream;
        let packed = &packed.as_slice()[..filled];
        self.uploads.memcpy_htod(packed, &mut evidence.slice_mut(..filled))?;
        stream.join(&self.uploads)?;
        stream.memset_zeros(&mut self.largest)?;
        let groups = cases.div_ceil(GROUP) as u32;
        let (count, states) = (buffers.variables() as u32, buffers.states() as u32);
        let (entries, messages) = (buffers.entries as u64, buffers.messages as u32);
        let (is_soft, cases) = (u32::from(is_soft), cases as u32);
        let mut launch = stream.launch_builder(&self.enter_findings);
        launch.arg(&self.variables).arg(&count).arg(&*evidence).arg(&is_soft);
        launch.arg(&states).arg(&cases).arg(&mut self.messages).arg(&entries);
        launch.arg(&mut self.largest).arg(&mut self.exponents).arg(&mut self.levels).arg(&messages);
        // SAFETY: kernels/batch.cu declares these arguments, and the buffers hold this many groups
        // of cases.
        unsafe { launch.launch(grid((count.div_ceil(4), groups), 128))? };
        for items in &buffers.launches {
            let count = items.len() as u32;
            let items = self.items.slice(items.start * ITEM_WORDS..items.end * ITEM_WORDS);
            let mut launch = stream.launch_builder(&self.propagate);
            launch.arg(&items).arg(&count).arg(&self.rows).arg(&self.singles).arg(&self.pairs);
            launch.arg(&mut self.messages).arg(&entries);
            launch.arg(&mut self.largest).arg(&mut self.exponents);
            launch.arg(&mut self.levels).arg(&messages);
            // SAFETY: kernels/batch.cu declares these arguments. All indices stay within the
            // buffers, and no work item of a launch reads what another writes, as the twin shows.
            unsafe { launch.launch(grid((count.div_ceil(4), groups), 128))? };
        }
        let mut launch = stream.launch_builder(&self.read_posteriors);
        launch.arg(&self.reads).arg(&states).arg(&self.messages).arg(&entries);
        launch.arg(&self.exponents).arg(&messages).arg(&buffers.first_message).arg(&cases);
        launch.arg(&mut *results);
        let rows = groups * CASES_PER_THREAD as u32;
        // SAFETY: kernels/batch.cu declares these arguments, and the results hold this many cases.
        unsafe { launch.launch(grid((states.div_ceil(32), rows), 256))? };
        let first_states = buffers.variables[0][2];
        let mut launch = stream.launch_builder(&self.bound_loss);
        launch.arg(&self.reads).arg(&first_states).arg(&states).arg(&self.messages).arg(&entries);
        launch.arg(&self.largest).arg(&self.exponents).arg(&self.levels).arg(&messages);
        launch.arg(&buffers.first_message).arg(&cases).arg(&mut *results);
        // SAFETY: as for the launch before.
        unsafe { launch.launch(grid((1, rows), 256))? };
        *words = cases as usize * buffers.result_words();
        let on_host = &mut results_on_host.as_mut_slice()[..*words];
        self.downloads.join(stream)?;
        self.downloads.memcpy_dtoh(&results.slice(..*words), on_host)?;
        done.record(&self.downloads)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // The buffers are freed in the order of one stream, which does not wait for the others.
        for stream in [&self.uploads, &self.stream, &self.downloads] {
            let _ = stream.synchronize();
        }
    }
}

impl Executor for Gpu {
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
