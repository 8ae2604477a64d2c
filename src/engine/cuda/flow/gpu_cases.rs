//! The launch for many cases.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, PushKernelArg};

use super::Flow;
use super::cases::{Executor, GRAIN, SLOTS};
use super::words::MAX_TAG;
use crate::engine::PropagationFailure;
use crate::engine::cuda::device::{Device, Pinned, grid, upload};
use crate::engine::cuda::kernels;

/// Cases that a block does in one launch, at most: enough that some are short where others are long.
const EACH: usize = 3;

/// The buffers for many cases of one network.
pub(super) struct GpuCases {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    records: CudaSlice<u32>,
    /// For each block.
    messages: CudaSlice<u64>,
    blocks: usize,
    message_words: u32,
    variables: u32,
    result_words: usize,
    tag: u32,
    slots: [Slot; SLOTS],
}

/// Cases on their way.
struct Slot {
    packed: Pinned<u32>,
    evidence: CudaSlice<u32>,
    results: CudaSlice<u64>,
    read: Pinned<u64>,
    cases: usize,
    done: CudaEvent,
}

impl GpuCases {
    /// `None` if not even a few cases fit in so many bytes.
    pub fn load(
        device: &'static Device,
        flow: &Flow,
        records: &[u32],
        bytes: u64,
    ) -> Result<Option<Self>, DriverError> {
        let stream = device.stream()?;
        let [kernel] = device.load(kernels::PROPAGATE, ["propagate_cases_64"])?;
        let resident = device.resident_blocks(&kernel, GRAIN.threads)?;
        let message_words = flow.items.messages.max(1);
        let of_case = 2 * (4 * flow.evidence_words() + 8 * flow.result_words());
        let of_block = (8 * message_words + EACH * of_case) as u64;
        let room = bytes.min(device.free_bytes()? / 2).saturating_sub(4 * records.len() as u64);
        let blocks = resident.min(usize::try_from(room / of_block).unwrap_or(resident));
        if blocks < 8 {
            return Ok(None);
        }
        let cases = EACH * blocks;
        let slot = || -> Result<Slot, DriverError> {
            Ok(Slot {
                packed: device.pinned(cases * flow.evidence_words().max(1))?,
                evidence: stream.alloc_zeros(cases * flow.evidence_words().max(1))?,
                results: stream.alloc_zeros(cases * flow.result_words())?,
                read: device.pinned(cases * flow.result_words())?,
                cases: 0,
                done: device.timer()?,
            })
        };
        Ok(Some(Self {
            kernel,
            records: upload(&stream, records)?,
            messages: stream.alloc_zeros(blocks * message_words)?,
            blocks,
            message_words: message_words as u32,
            variables: flow.variables as u32,
            result_words: flow.result_words(),
            tag: 0,
            slots: [slot()?, slot()?],
            stream,
        }))
    }

    fn launch(&mut self, slot: usize, cases: usize, words: usize) -> Result<(), DriverError> {
        let Slot { packed, evidence, results, read, cases: of_slot, done } = &mut self.slots[slot];
        *of_slot = cases;
        self.stream.memcpy_htod(
            &packed.as_slice()[..cases * words],
            &mut evidence.slice_mut(..(cases * words).max(1)),
        )?;
        let blocks = self.blocks.min(cases);
        let rounds = cases.div_ceil(blocks) as u32;
        if self.tag + rounds > MAX_TAG {
            // Words of long ago must not pass for new ones.
            self.stream.memset_zeros(&mut self.messages)?;
            self.tag = 0;
        }
        let (first_tag, count, words) = (self.tag + 1, cases as u32, words as u32);
        self.tag += rounds;
        let quarters = (self.records.len() / 4) as u64;
        let result_words = self.result_words as u32;
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&self.records).arg(&quarters).arg(&*evidence).arg(&words).arg(&self.variables);
        launch.arg(&mut self.messages).arg(&self.message_words);
        launch.arg(&mut *results).arg(&result_words).arg(&count).arg(&first_tag);
        // SAFETY: the arguments are those that kernels/propagate.cu declares; the records stay
        // within the buffers of a case and are in an order in which none waits, as the twin shows.
        unsafe { launch.launch(grid(blocks as u32, GRAIN.threads))? };
        let results = results.slice(..cases * self.result_words);
        self.stream.memcpy_dtoh(&results, &mut read.as_mut_slice()[..cases * self.result_words])?;
        done.record(&self.stream)
    }
}

impl Executor for GpuCases {
    fn capacity(&self) -> usize {
        EACH * self.blocks
    }

    fn evidence(&mut self, slot: usize, words: usize) -> &mut [u32] {
        &mut self.slots[slot].packed.as_mut_slice()[..words]
    }

    fn start(
        &mut self,
        _: &Flow,
        slot: usize,
        cases: usize,
        evidence_words: usize,
    ) -> Result<(), PropagationFailure> {
        Ok(self.launch(slot, cases, evidence_words)?)
    }

    fn results(&mut self, slot: usize) -> Result<&[u64], PropagationFailure> {
        let slot = &self.slots[slot];
        slot.done.synchronize()?;
        Ok(&slot.read.as_slice()[..slot.cases * self.result_words])
    }
}
