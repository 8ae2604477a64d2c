//! Launches the kernels of `kernels/paper`.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{
    CudaEvent, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};

use super::Executor;
use super::buffers::{Buffers, Exponent, THREADS};
use super::records::Message;
use crate::clock::Instant;
use crate::engine::RunError;
use crate::engine::cuda::device::{Device, grid, upload, upload_records};
use crate::engine::cuda::kernels;
use crate::statistics::median_duration;

/// The buffers of one network on the GPU, and the kernels.
pub(super) struct Gpu {
    device: &'static Device,
    stream: Arc<CudaStream>,
    kernels: Kernels,
    /// The same kernels with empty bodies.
    empty: Kernels,
    prior: CudaSlice<f32>,
    cliques: CudaSlice<f32>,
    chunks: CudaSlice<u32>,
    separators: CudaSlice<f64>,
    mappings: CudaSlice<u32>,
    evidence: CudaSlice<u32>,
    largest: CudaSlice<u32>,
    exponents: CudaSlice<i32>,
    separator_exponents: CudaSlice<i32>,
    marginals: CudaSlice<u32>,
    out: CudaSlice<f64>,
    /// A copy of `out` on the host.
    out_on_host: Vec<f64>,
    /// Events, which are created as needed and reused.
    marks: Vec<CudaEvent>,
    /// Number of events that were recorded in this run: the first ones of `marks`.
    marked: usize,
}

/// The three kernels of a propagation.
struct Kernels {
    initialise: CudaFunction,
    message: CudaFunction,
    marginals: CudaFunction,
}

/// Which of the two versions of each kernel is launched.
#[derive(Clone, Copy)]
enum Body {
    /// The kernel itself.
    Full,
    /// Its counterpart with an empty body.
    Empty,
}

impl Kernels {
    /// The kernels, and their counterparts with empty bodies.
    fn load(device: &Device) -> Result<[Self; 2], DriverError> {
        let [initialise, initialise_empty] =
            device.load(kernels::PAPER_INITIALISE, ["initialise", "initialise_empty"])?;
        let [message, message_empty] =
            device.load(kernels::PAPER_MESSAGE, ["message", "message_empty"])?;
        let [marginals, marginals_empty] =
            device.load(kernels::PAPER_MARGINALS, ["marginals", "marginals_empty"])?;
        Ok([
            Self { initialise, message, marginals },
            Self {
                initialise: initialise_empty,
                message: message_empty,
                marginals: marginals_empty,
            },
        ])
    }
}

impl Gpu {
    /// Loads the kernels, and copies `buffers` to the GPU.
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    pub fn load(device: &'static Device, buffers: &Buffers) -> Result<Self, DriverError> {
        let stream = device.stream()?;
        let [kernels, empty] = Kernels::load(device)?;
        let slots = buffers.cliques + buffers.messages.len();
        let at_least_one = |count: usize| count.max(1);
        let gpu = Self {
            device,
            kernels,
            empty,
            prior: upload(&stream, &buffers.prior)?,
            cliques: stream.alloc_zeros(buffers.prior.len())?,
            chunks: upload_records(&stream, &buffers.chunks)?,
            separators: stream.alloc_zeros(at_least_one(buffers.separator_entries))?,
            mappings: upload(&stream, &buffers.mappings)?,
            evidence: stream.alloc_zeros(buffers.evidence_words())?,
            largest: stream.alloc_zeros(slots)?,
            exponents: stream.alloc_zeros(slots)?,
            separator_exponents: stream.alloc_zeros(at_least_one(buffers.messages.len()))?,
            marginals: upload_records(&stream, &buffers.marginals)?,
            out: stream.alloc_zeros(buffers.states + 2)?,
            out_on_host: vec![0.0; buffers.states + 2],
            marks: Vec::new(),
            marked: 0,
            stream,
        };
        gpu.stream.synchronize()?;
        Ok(gpu)
    }

    /// Copies `evidence` to the GPU and launches `initialise`.
    fn launch_initialise(
        &mut self,
        buffers: &Buffers,
        evidence: &[u32],
        body: Body,
    ) -> Result<(), DriverError> {
        self.stream.memcpy_htod(evidence, &mut self.evidence)?;
        self.stream.memset_zeros(&mut self.largest)?;
        let kernel = match body {
            Body::Full => &self.kernels.initialise,
            Body::Empty => &self.empty.initialise,
        };
        let (cliques, variables) = (buffers.cliques as u32, buffers.variables as u32);
        let separators = buffers.separator_entries as u64;
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&self.prior).arg(&mut self.cliques).arg(&self.chunks).arg(&self.evidence);
        launch.arg(&cliques).arg(&variables).arg(&mut self.largest).arg(&mut self.exponents);
        launch.arg(&mut self.separators).arg(&separators);
        // SAFETY: kernels/paper/initialise.cu declares these arguments, and the records stay within
        // the buffers, as the twin shows.
        unsafe { launch.launch(grid((buffers.chunks.len() as u32, 1), THREADS)) }.map(|_| ())
    }

    /// Launches `message` for message number `index` of the plan.
    fn launch_message(
        &mut self,
        buffers: &Buffers,
        index: usize,
        body: Body,
    ) -> Result<(), DriverError> {
        let message = &buffers.messages[index];
        let kernel = match body {
            Body::Full => &self.kernels.message,
            Body::Empty => &self.empty.message,
        };
        let config: LaunchConfig =
            grid((message.entries.div_ceil(buffers.block_size), 1), buffers.block_size);
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&mut self.cliques).arg(&mut self.separators).arg(&self.mappings);
        launch.arg(&mut self.largest).arg(&mut self.exponents);
        // The kernel takes this struct by value. cudarc needs it as an array of words of 8 bytes.
        let message: [u64; size_of::<Message>() / 8] = bytemuck::cast(*message);
        launch.arg(&mut self.separator_exponents).arg(&message);
        // SAFETY: kernels/paper/message.cu declares these arguments, and the record stays within
        // the buffers, as the twin shows.
        unsafe { launch.launch(config) }.map(|_| ())
    }

    /// Launches `marginals`, copies the result to the host and waits for the copy.
    fn launch_marginals(&mut self, buffers: &Buffers, body: Body) -> Result<(), DriverError> {
        let kernel = match body {
            Body::Full => &self.kernels.marginals,
            Body::Empty => &self.empty.marginals,
        };
        let exponent = match buffers.total_exponent {
            Exponent::Clique(slot) => self.exponents.slice(slot..=slot),
            Exponent::Separator(message) => self.separator_exponents.slice(message..=message),
        };
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&self.cliques).arg(&self.separators).arg(&self.marginals);
        launch.arg(&exponent).arg(&mut self.out);
        // SAFETY: kernels/paper/marginals.cu declares these arguments, and the records stay within
        // the buffers, as the twin shows.
        unsafe { launch.launch(grid((buffers.marginals.len() as u32, 1), THREADS)) }?;
        self.stream.memcpy_dtoh(&self.out, &mut self.out_on_host)?;
        self.stream.synchronize()
    }

    /// Records an event on the stream.
    fn record(&mut self) -> Result<(), DriverError> {
        if self.marked == self.marks.len() {
            self.marks.push(self.device.timer()?);
        }
        self.marks[self.marked].record(&self.stream)?;
        self.marked += 1;
        Ok(())
    }
}

impl Executor for Gpu {
    fn initialise(&mut self, buffers: &Buffers, evidence: &[u32]) -> Result<(), RunError> {
        Ok(self.launch_initialise(buffers, evidence, Body::Full)?)
    }

    fn message(&mut self, buffers: &Buffers, index: usize) -> Result<(), RunError> {
        Ok(self.launch_message(buffers, index, Body::Full)?)
    }

    fn mark(&mut self) -> Result<(), RunError> {
        Ok(self.record()?)
    }

    fn read(&mut self, buffers: &Buffers) -> Result<&[f64], RunError> {
        self.launch_marginals(buffers, Body::Full)?;
        Ok(&self.out_on_host)
    }

    fn wait(&mut self) -> Result<(), RunError> {
        Ok(self.stream.synchronize()?)
    }

    fn take_marks(&mut self) -> Result<Vec<Duration>, RunError> {
        let marks = &self.marks[..std::mem::take(&mut self.marked)];
        let since_first = |mark: &CudaEvent| {
            Ok(Duration::from_secs_f64(f64::from(marks[0].elapsed_ms(mark)?) / 1e3))
        };
        marks.iter().map(since_first).collect()
    }

    fn empty_run(&mut self, buffers: &Buffers, evidence: &[u32], repeat: u32) -> Option<Duration> {
        let mut run = || -> Result<Duration, DriverError> {
            let started = Instant::now();
            self.launch_initialise(buffers, evidence, Body::Empty)?;
            for index in 0..buffers.messages.len() {
                self.launch_message(buffers, index, Body::Empty)?;
            }
            self.launch_marginals(buffers, Body::Empty)?;
            Ok(started.elapsed())
        };
        let mut times: Vec<Duration> = Vec::new();
        for round in 0..=repeat.max(1) {
            let time = run().ok()?;
            // The first run warms up.
            if round > 0 {
                times.push(time);
            }
        }
        median_duration(times)
    }
}
