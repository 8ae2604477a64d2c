//! Finding the GPU, and what all engines on it need.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DeviceRepr, DriverError, LaunchConfig,
    ValidAsZeroBits, result, sys,
};
use cudarc::nvrtc::Ptx;

use super::kernels;
use crate::clock::Instant;
use crate::engine::{LoadError, RunError};

/// The first GPU of this machine.
pub(super) struct Device {
    context: Arc<CudaContext>,
}

/// A GPU in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads that are resident on each of them at once.
    pub threads_per_multiprocessor: u32,
}

/// The GPU, or the reason why there is none. Looked for once: a driver does not come and go.
pub(super) fn device() -> Result<&'static Device, String> {
    static DEVICE: OnceLock<Result<Device, String>> = OnceLock::new();
    DEVICE.get_or_init(find).as_ref().map_err(Clone::clone)
}

fn find() -> Result<Device, String> {
    // SAFETY: loads the driver's library if there is one, as the loader would.
    if !unsafe { sys::is_culib_present() } {
        return Err("there is no NVIDIA driver on this machine".to_owned());
    }
    // A driver that is too old lacks functions, and asking for one of these panics.
    let found = quietly(|| {
        if CudaContext::device_count().map_err(|error| describe(&error))? == 0 {
            return Err("the NVIDIA driver finds no GPU".to_owned());
        }
        let context = CudaContext::new(0).map_err(|error| describe(&error))?;
        let capability = context.compute_capability().map_err(|error| describe(&error))?;
        if capability < (7, 0) {
            let (major, minor) = capability;
            return Err(format!(
                "the GPU has compute capability {major}.{minor}, and 7.0 is needed"
            ));
        }
        // SAFETY: every buffer is used on the one stream of its propagator, so there is nothing
        // between streams to be put in order.
        unsafe { context.disable_event_tracking() };
        Ok(Device { context })
    });
    found.unwrap_or_else(|| Err("the NVIDIA driver is too old".to_owned()))
}

/// Runs `work`; `None` if it panicked.
fn quietly<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// What the driver says.
pub(super) fn describe(error: &DriverError) -> String {
    match quietly(|| error.error_string().ok().map(|text| text.to_string_lossy().into_owned())) {
        Some(Some(text)) => format!("the NVIDIA driver says: {text}"),
        _ => format!("the NVIDIA driver says: {error:?}"),
    }
}

impl From<DriverError> for RunError {
    fn from(error: DriverError) -> Self {
        Self::Device(describe(&error))
    }
}

impl Device {
    /// A new stream, on which work runs in the order in which it is given.
    pub fn stream(&self) -> Result<Arc<CudaStream>, DriverError> {
        self.context.new_stream()
    }

    /// The kernels called `names` in `ptx`.
    pub fn load<const N: usize>(
        &self,
        ptx: &'static str,
        names: [&str; N],
    ) -> Result<[CudaFunction; N], DriverError> {
        let module = self.context.load_module(Ptx::from_src(ptx))?;
        let functions = names.map(|name| module.load_function(name));
        let mut loaded = Vec::with_capacity(N);
        for function in functions {
            loaded.push(function?);
        }
        Ok(loaded.try_into().unwrap_or_else(|_| unreachable!("one function for each name")))
    }

    /// The compute capability.
    pub fn capability(&self) -> Result<(i32, i32), DriverError> {
        self.context.compute_capability()
    }

    /// How many blocks of `threads` threads of `kernel` run at the same time.
    pub fn resident_blocks(
        &self,
        kernel: &CudaFunction,
        threads: u32,
    ) -> Result<usize, DriverError> {
        let each = kernel.occupancy_max_active_blocks_per_multiprocessor(threads, 0, None)?;
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = self.context.attribute(attribute)?;
        Ok(each as usize * usize::try_from(multiprocessors).unwrap_or(1))
    }

    /// What there is to tell of the GPU.
    pub fn card(&self) -> Result<Card, DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let number = |attribute| -> Result<u32, DriverError> {
            Ok(u32::try_from(self.context.attribute(attribute)?).unwrap_or(0))
        };
        let threads = Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        Ok(Card {
            name: self.context.name()?,
            multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_multiprocessor: number(threads)?,
        })
    }

    /// Whether kernels of several processes run at the same time, as under the multi-process service.
    pub fn is_shared(&self) -> bool {
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MPS_ENABLED;
        // A driver too old to know has to be taken for one that does it.
        self.context.attribute(attribute) != Ok(0)
    }

    /// Memory of the host that the GPU copies from and to without a detour, all zeros.
    pub fn pinned<T: ValidAsZeroBits>(&self, len: usize) -> Result<Pinned<T>, DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: plain memory of this size, freed when dropped; zeros are valid numbers.
        let start = unsafe {
            let start = result::malloc_host(len * size_of::<T>(), MAPPED)?.cast::<T>();
            start.write_bytes(0, len);
            start
        };
        Ok(Pinned { start, len, context: Arc::clone(&self.context) })
    }

    /// Bytes of its memory that are free.
    pub fn free_bytes(&self) -> Result<u64, DriverError> {
        Ok(self.context.mem_get_info()?.0 as u64)
    }

    /// An event that notes the time.
    pub fn timer(&self) -> Result<cudarc::driver::CudaEvent, DriverError> {
        self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
    }

    /// The refusal of a network that needs `needed` bytes and could not be loaded.
    pub fn refusal(&self, engine: &'static str, needed: u64, error: &DriverError) -> LoadError {
        let free = self.context.mem_get_info().map_or(0, |(free, _)| free as u64);
        LoadError::Device { engine, needed, free, reason: describe(error) }
    }

    /// What one launch costs, back to back with others: the slope between 200 and 1000 launches of
    /// an empty kernel. Measured once.
    ///
    /// # Errors
    /// What the driver says.
    pub fn launch_time(&self) -> Result<Duration, String> {
        static MEASURED: OnceLock<Result<Duration, String>> = OnceLock::new();
        let measure = || -> Result<Duration, DriverError> {
            let stream = self.stream()?;
            let [empty] = self.load(kernels::EMPTY, ["empty"])?;
            let time = |launches: u32| -> Result<Duration, DriverError> {
                let mut fastest = Duration::MAX;
                for _ in 0..7 {
                    let started = Instant::now();
                    for _ in 0..launches {
                        // SAFETY: the kernel has no parameters and touches nothing.
                        unsafe { stream.launch_builder(&empty).launch(grid((1, 1), 128))? };
                    }
                    stream.synchronize()?;
                    fastest = fastest.min(started.elapsed());
                }
                Ok(fastest)
            };
            time(200)?;
            let (few, many) = (time(200)?, time(1000)?);
            Ok(many.saturating_sub(few) / 800)
        };
        MEASURED.get_or_init(|| measure().map_err(|error| describe(&error))).clone()
    }
}

/// Whether all that was asked for on `stream` is done.
pub(super) fn is_done(stream: &CudaStream) -> Result<bool, DriverError> {
    // SAFETY: the stream is there as long as the reference.
    match unsafe { sys::cuStreamQuery(stream.cu_stream()) } {
        sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        other => other.result().map(|()| true),
    }
}

/// Memory of the host that kernels can write to.
const MAPPED: u32 = sys::CU_MEMHOSTALLOC_DEVICEMAP;

/// Numbers in memory that stays where it is, for the GPU to copy from and to.
pub(super) struct Pinned<T> {
    start: *mut T,
    len: usize,
    context: Arc<CudaContext>,
}

// SAFETY: owns its memory, as a box of numbers does.
unsafe impl<T: Send> Send for Pinned<T> {}

impl<T> Pinned<T> {
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: as many valid numbers as were allocated. Copies by the GPU are waited for in the
        // call that asks for them.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T> Pinned<T> {
    /// Where kernels find it.
    pub fn device_address(&self) -> u64 {
        // All addresses are of one space, on every GPU that is not refused.
        self.start as u64
    }
}

impl Pinned<u64> {
    /// The numbers, which a kernel may be about to write.
    pub fn as_atomics(&self) -> &[AtomicU64] {
        // SAFETY: as many aligned numbers as were allocated; atomic, as the kernel's writes are.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl Pinned<u32> {
    /// The numbers, which a kernel may be about to write.
    pub fn as_atomics(&self) -> &[AtomicU32] {
        // SAFETY: as many aligned numbers as were allocated; atomic, as the kernel's writes are.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        // A driver that fails here has failed before, and said so.
        let _ = self.context.bind_to_thread();
        // SAFETY: allocated by the driver, and not used any more.
        let _ = unsafe { result::free_host(self.start.cast()) };
    }
}

/// `x` times `y` blocks of `threads` threads.
pub(super) fn grid((x, y): (u32, u32), threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (x, y, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// Copies `data` to a new buffer on the GPU; where there is nothing, to a buffer of one zero,
/// because the driver allocates no empty ones.
pub(super) fn upload<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    data: &[T],
) -> Result<CudaSlice<T>, DriverError> {
    if data.is_empty() { stream.alloc_zeros(1) } else { stream.clone_htod(data) }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Whether tests on the GPU run here. Says on stderr why not; with `REQUIRE_CUDA=1` in the
    /// environment it is a failure.
    pub(in crate::engine::cuda) fn on_the_gpu(test: &str) -> bool {
        match device() {
            Ok(_) => true,
            Err(reason) if std::env::var_os("REQUIRE_CUDA").is_some_and(|v| v == "1") => {
                panic!("{test}: {reason}")
            }
            Err(reason) => {
                eprintln!("{test} is SKIPPED: {reason}");
                false
            }
        }
    }

    #[test]
    fn a_launch_has_a_price() {
        if on_the_gpu("a_launch_has_a_price") {
            let time = device().unwrap().launch_time().unwrap();
            eprintln!("a launch takes {time:?}");
            assert!(time > Duration::ZERO);
        }
    }
}
