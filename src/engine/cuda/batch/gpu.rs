//! The launches.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::buffers::{Buffers, ITEM};
use super::{Executor, SLOTS};
use crate::engine::RunError;
use crate::engine::cuda::device::{Device, Pinned, grid, upload};
use crate::engine::cuda::kernels;

/// Cases of a group for each of the 32 threads of a warp, as in the names of the kernels.
const OF_THREAD: usize = 2;

/// Most cases on their way in a slot: enough to fill a large GPU, few enough that packing and
/// reading the next ones go on beside it.
const MOST: usize = 2048;

/// The buffers of one network on the GPU, and the kernels.
pub struct Gpu {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    enter: CudaFunction,
    read: CudaFunction,
    items: CudaSlice<u32>,
    rows: CudaSlice<u32>,
    singles: CudaSlice<u32>,
    pairs: CudaSlice<u32>,
    variables: CudaSlice<u32>,
    reads: CudaSlice<u32>,
    messages: CudaSlice<f32>,
    largest: CudaSlice<u32>,
    exponents: CudaSlice<i32>,
    slots: [Slot; SLOTS],
    capacity: usize,
    bytes: u64,
}

/// Cases on their way.
struct Slot {
    packed: Pinned<u32>,
    evidence: CudaSlice<u32>,
    results: CudaSlice<f32>,
    read: Pinned<f32>,
    words: usize,
    done: CudaEvent,
}

impl Gpu {
    /// Takes at most so many bytes, and at most half of what is free on the GPU. `None` if not even
    /// one group of cases fits.
    pub fn load(
        device: &'static Device,
        buffers: &Buffers,
        bytes: u64,
    ) -> Result<Option<Self>, DriverError> {
        let stream = device.stream()?;
        let [kernel, enter, read] = device
            .load(kernels::BATCH, ["propagate_batch_2", "enter_findings_2", "read_posteriors_2"])?;
        let lanes = 32 * OF_THREAD;
        let packed = buffers.packed_words(true).max(buffers.packed_words(false));
        let of_slot = 4 * (packed + buffers.result_words());
        let of_case = 4 * (buffers.entries + 2 * buffers.messages) + SLOTS * of_slot;
        let room = bytes.min(device.free_bytes()? / 2).saturating_sub(buffers.bytes() as u64);
        let groups = (room / (lanes * of_case) as u64).min((MOST / lanes) as u64) as usize;
        if groups == 0 {
            return Ok(None);
        }
        let capacity = groups * lanes;
        let slot = || -> Result<Slot, DriverError> {
            Ok(Slot {
                packed: device.pinned(capacity * packed)?,
                evidence: stream.alloc_zeros(capacity * packed)?,
                results: stream.alloc_zeros(capacity * buffers.result_words())?,
                read: device.pinned(capacity * buffers.result_words())?,
                words: 0,
                done: device.timer()?,
            })
        };
        Ok(Some(Self {
            kernel,
            enter,
            read,
            items: upload(&stream, &buffers.items)?,
            rows: upload(&stream, &buffers.rows)?,
            singles: upload(&stream, &buffers.singles)?,
            pairs: upload(&stream, &buffers.pairs)?,
            variables: upload(&stream, &buffers.variables)?,
            reads: upload(&stream, &buffers.reads)?,
            messages: stream.alloc_zeros(capacity * buffers.entries)?,
            largest: stream.alloc_zeros(capacity * buffers.messages)?,
            exponents: stream.alloc_zeros(capacity * buffers.messages)?,
            slots: [slot()?, slot()?],
            capacity,
            bytes: (buffers.bytes() + capacity * of_case) as u64,
            stream,
        }))
    }

    fn launch(
        &mut self,
        buffers: &Buffers,
        slot: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), DriverError> {
        let Slot { packed, evidence, results, read, words, done } = &mut self.slots[slot];
        let of_case = buffers.packed_words(is_soft);
        let filled = cases * of_case;
        let stream = &self.stream;
        stream.memcpy_htod(&packed.as_slice()[..filled], &mut evidence.slice_mut(..filled))?;
        stream.memset_zeros(&mut self.largest)?;
        let groups = cases.div_ceil(32 * OF_THREAD) as u32;
        let (count, states) = (buffers.variables() as u32, buffers.states() as u32);
        let (entries, numbers) = (buffers.entries as u64, buffers.messages as u32);
        let (is_soft, cases) = (u32::from(is_soft), cases as u32);
        let mut launch = stream.launch_builder(&self.enter);
        launch.arg(&self.variables).arg(&count).arg(&*evidence).arg(&is_soft);
        launch.arg(&states).arg(&cases).arg(&mut self.messages).arg(&entries);
        launch.arg(&mut self.largest).arg(&mut self.exponents).arg(&numbers);
        // SAFETY: the arguments are those that kernels/batch.cu declares, and there is room for as
        // many groups.
        unsafe { launch.launch(grid((count.div_ceil(4), groups), 128))? };
        for level in &buffers.levels {
            let items = self.items.slice(level.start * ITEM..level.end * ITEM);
            let count = level.len() as u32;
            let mut launch = stream.launch_builder(&self.kernel);
            launch.arg(&items).arg(&count).arg(&self.rows).arg(&self.singles).arg(&self.pairs);
            launch.arg(&mut self.messages).arg(&entries);
            launch.arg(&mut self.largest).arg(&mut self.exponents).arg(&numbers);
            // SAFETY: as above; the lists stay within the messages, and no item of a launch reads
            // what another writes, as the twin shows.
            unsafe { launch.launch(grid((count.div_ceil(4), groups), 128))? };
        }
        let mut launch = stream.launch_builder(&self.read);
        launch.arg(&self.reads).arg(&states).arg(&self.messages).arg(&entries);
        launch.arg(&self.exponents).arg(&numbers).arg(&buffers.first).arg(&cases);
        launch.arg(&mut *results);
        // SAFETY: as above, and the results hold as many cases.
        unsafe { launch.launch(grid((states.div_ceil(32), groups * OF_THREAD as u32), 256))? };
        *words = cases as usize * buffers.result_words();
        stream.memcpy_dtoh(&results.slice(..*words), &mut read.as_mut_slice()[..*words])?;
        done.record(stream)
    }
}

impl Executor for Gpu {
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn packed(&mut self, slot: usize, words: usize) -> &mut [u32] {
        &mut self.slots[slot].packed.as_mut_slice()[..words]
    }

    fn start(
        &mut self,
        buffers: &Buffers,
        slot: usize,
        cases: usize,
        is_soft: bool,
    ) -> Result<(), RunError> {
        Ok(self.launch(buffers, slot, cases, is_soft)?)
    }

    fn results(&mut self, slot: usize) -> Result<&[f32], RunError> {
        let slot = &self.slots[slot];
        slot.done.synchronize()?;
        Ok(&slot.read.as_slice()[..slot.words])
    }
}
