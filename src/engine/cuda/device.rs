//! Finds the GPU, and provides what all GPU engines share: streams, kernels, buffers and launches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use bytemuck::{NoUninit, Pod};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DeviceRepr, DriverError, LaunchConfig,
    ValidAsZeroBits, result, sys,
};
use cudarc::nvrtc::Ptx;

use super::kernels;
use crate::allocate::start_thread;
use crate::clock::Instant;
use crate::engine::{LoadError, RunError};

/// A GPU of this machine.
pub(super) struct Device {
    context: Arc<CudaContext>,
}

/// Name and size of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    /// The name of the GPU, as the driver gives it.
    pub name: String,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Maximum number of threads resident on each multiprocessor at the same time.
    pub threads_per_multiprocessor: u32,
}

/// Maximum number of GPUs that are used. It is the size of a table; further GPUs stay idle.
const MAX_DEVICES: usize = 32;

/// By number: the GPU, or why it cannot be used; unset before the first call that asks for it.
static DEVICES: [OnceLock<Result<Device, String>>; MAX_DEVICES] =
    [const { OnceLock::new() }; MAX_DEVICES];

/// The first GPU. Only the first call in a process looks for it.
///
/// # Errors
/// The reason why no GPU can be used, phrased for the user.
pub(super) fn device() -> Result<&'static Device, String> {
    numbered_device(0)
}

/// The GPU with this number, counted from zero; see [`device`]. `number` is less than
/// [`device_count`], or 0.
///
/// # Errors
/// The reason why this GPU cannot be used, phrased for the user.
pub(super) fn numbered_device(number: usize) -> Result<&'static Device, String> {
    DEVICES[number].get_or_init(|| find(number)).as_ref().map_err(Clone::clone)
}

/// What [`device`] returns, without waiting for the start of CUDA: `None` while a thread starts it,
/// which the first call starts.
pub(super) fn known_device() -> Option<Result<&'static Device, String>> {
    static SEARCH: Once = Once::new();
    let is_known = || DEVICES[0].get().is_some();
    let takes_long = !is_known() && has_driver();
    if takes_long {
        SEARCH.call_once(|| {
            let thread = start_thread("GPU check", || _ = device());
            // If no thread can be started, this one waits.
            if thread.is_err() {
                _ = device();
            }
        });
    }
    (!takes_long || is_known()).then(device)
}

fn has_driver() -> bool {
    // SAFETY: loads the driver's library, whose initialisers are safe to run at any time.
    unsafe { sys::is_culib_present() }
}

/// Number of GPUs that the driver finds, including GPUs that cannot be used, but at most
/// [`MAX_DEVICES`]; 0 if [`device`] returns an error.
pub(super) fn device_count() -> usize {
    let count = || CudaContext::device_count().ok().and_then(|count| usize::try_from(count).ok());
    let count = device().ok().and_then(|_| catch_panic(count).flatten());
    count.unwrap_or(0).min(MAX_DEVICES)
}

/// Looks for the GPU with this number.
fn find(number: usize) -> Result<Device, String> {
    if !has_driver() {
        return Err("there is no NVIDIA driver on this machine".to_owned());
    }
    // cudarc panics if it calls a function that the driver is too old to have.
    let found = catch_panic(|| {
        if CudaContext::device_count().map_err(|error| describe(&error))? == 0 {
            return Err("the NVIDIA driver finds no GPU".to_owned());
        }
        let context = CudaContext::new(number).map_err(|error| describe(&error))?;
        let capability = context.compute_capability().map_err(|error| describe(&error))?;
        if capability < (7, 0) {
            let (major, minor) = capability;
            return Err(format!(
                "the GPU has compute capability {major}.{minor}; the minimum is 7.0"
            ));
        }
        // SAFETY: each buffer is used on one stream, or on streams that are made to wait for each
        // other, as those of a batch. So cudarc need not track the order between streams.
        unsafe { context.disable_event_tracking() };
        Ok(Device { context })
    });
    found.unwrap_or_else(|| Err("the NVIDIA driver is too old".to_owned()))
}

/// The result of `work`; `None` if `work` panicked.
fn catch_panic<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// The driver's message, phrased for the user.
pub(super) fn describe(error: &DriverError) -> String {
    match catch_panic(|| error.error_string().ok().map(|text| text.to_string_lossy().into_owned()))
    {
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
    /// A new stream. Work on it runs in the order in which it is enqueued.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn stream(&self) -> Result<Arc<CudaStream>, DriverError> {
        self.context.new_stream()
    }

    /// Compiles `ptx` for this GPU and returns the kernels with these `names`.
    ///
    /// # Errors
    /// If the driver reports an error.
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

    /// The compute capability: major and minor version.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn capability(&self) -> Result<(i32, i32), DriverError> {
        self.context.compute_capability()
    }

    /// The number of blocks of `kernel`, with `threads` threads each, that can be resident at the
    /// same time.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn resident_blocks(
        &self,
        kernel: &CudaFunction,
        threads: u32,
    ) -> Result<usize, DriverError> {
        let per_multiprocessor =
            kernel.occupancy_max_active_blocks_per_multiprocessor(threads, 0, None)?;
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = self.context.attribute(attribute)?;
        Ok(per_multiprocessor as usize * usize::try_from(multiprocessors).unwrap_or(1))
    }

    /// Name and size of the GPU.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn info(&self) -> Result<GpuInfo, DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let number = |attribute| -> Result<u32, DriverError> {
            Ok(u32::try_from(self.context.attribute(attribute)?).unwrap_or(0))
        };
        let threads = Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        Ok(GpuInfo {
            name: self.context.name()?,
            multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_multiprocessor: number(threads)?,
        })
    }

    /// Whether kernels of several processes can run at the same time, which the multi-process
    /// service (MPS) makes possible.
    pub fn is_shared(&self) -> bool {
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MPS_ENABLED;
        // If the driver is too old to answer, assume that the service runs.
        self.context.attribute(attribute) != Ok(0)
    }

    /// Pinned host memory for `len` elements, whose bytes are zero.
    ///
    /// # Errors
    /// If the driver reports an error, for example because memory is short.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<Pinned<T>, DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the driver allocates this many bytes, aligned to a page, or fails. Only
        // `Pinned::drop` frees them. Zero bytes are a valid `T`, because `T` is `Pod`.
        let start = unsafe {
            let start = result::malloc_host(len * size_of::<T>(), MAPPED)?.cast::<T>();
            start.write_bytes(0, len);
            start
        };
        Ok(Pinned { start, len, context: Arc::clone(&self.context) })
    }

    /// Free memory of the GPU in bytes.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn free_bytes(&self) -> Result<u64, DriverError> {
        Ok(self.context.mem_get_info()?.0 as u64)
    }

    /// An event that records the time.
    ///
    /// # Errors
    /// If the driver reports an error.
    pub fn timer(&self) -> Result<cudarc::driver::CudaEvent, DriverError> {
        self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
    }

    /// The error for a network that needs `needed` bytes of GPU memory and could not be loaded.
    pub fn refusal(&self, engine: &'static str, needed: u64, error: &DriverError) -> LoadError {
        let free = self.context.mem_get_info().map_or(0, |(free, _)| free as u64);
        LoadError::Device { engine, needed, free, reason: describe(error) }
    }

    /// The time of one launch in a sequence of launches: the difference between the times of 1000
    /// and of 200 launches of an empty kernel, divided by 800. Each of these times is the shortest
    /// of seven measurements. Only the first call in a process measures.
    ///
    /// # Errors
    /// The message of the driver, phrased for the user.
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
                        // SAFETY: the kernel has no parameters and accesses no memory.
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

/// Whether all work on `stream` has ended.
///
/// # Errors
/// If the driver reports an error.
pub(super) fn is_done(stream: &CudaStream) -> Result<bool, DriverError> {
    // SAFETY: `stream` is borrowed, so its handle is valid.
    match unsafe { sys::cuStreamQuery(stream.cu_stream()) } {
        sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        other => other.result().map(|()| true),
    }
}

/// The flag for host memory that kernels can access.
const MAPPED: u32 = sys::CU_MEMHOSTALLOC_DEVICEMAP;

/// Pinned host memory: the GPU copies it without a buffer in between, and kernels can access it.
pub(super) struct Pinned<T: Pod> {
    start: *mut T,
    len: usize,
    context: Arc<CudaContext>,
}

// SAFETY: a `Pinned` owns its memory, as a `Box<[T]>` does.
unsafe impl<T: Pod + Send> Send for Pinned<T> {}

impl<T: Pod> Pinned<T> {
    /// The elements. Call this only while no kernel or copy writes them.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: `start` points to `len` elements, and any bits are a valid `T`. Memory that the
        // GPU writes is read either after waiting for the GPU or through `as_atomics`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// The elements, for writing. Call this only while no kernel or copy uses them.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`; `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The address of the memory for kernels. Host and GPU share one address space on every GPU of
    /// compute capability 7.0 or higher.
    pub fn device_address(&self) -> u64 {
        self.start as u64
    }
}

impl Pinned<u64> {
    /// The numbers, which a kernel may be writing.
    pub fn as_atomics(&self) -> &[AtomicU64] {
        // SAFETY: `start` points to `len` numbers, which are aligned to a page and have the layout
        // of atomics. The kernel's writes are atomic too.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl Pinned<u32> {
    /// The numbers, which a kernel may be writing.
    pub fn as_atomics(&self) -> &[AtomicU32] {
        // SAFETY: as for `Pinned<u64>`.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl<T: Pod> Drop for Pinned<T> {
    fn drop(&mut self) {
        // Failures are ignored, because `drop` cannot return them.
        let _ = self.context.bind_to_thread();
        // SAFETY: `start` was allocated by `malloc_host`, and no borrow of it is left.
        let _ = unsafe { result::free_host(self.start.cast()) };
    }
}

/// A launch of `x` times `y` blocks of `threads` threads.
pub(super) fn grid((x, y): (u32, u32), threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (x, y, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

/// Copies `data` to a new buffer on the GPU. If `data` is empty, the buffer holds one zero, because
/// the driver does not allocate empty buffers.
///
/// # Errors
/// If the driver reports an error, for example because memory is short.
pub(super) fn upload<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    data: &[T],
) -> Result<CudaSlice<T>, DriverError> {
    if data.is_empty() { stream.alloc_zeros(1) } else { stream.clone_htod(data) }
}

/// Copies records to a new buffer on the GPU, as words of 32 bits; see [`upload`].
///
/// # Errors
/// If the driver reports an error, for example because memory is short.
pub(super) fn upload_records<T: NoUninit>(
    stream: &Arc<CudaStream>,
    records: &[T],
) -> Result<CudaSlice<u32>, DriverError> {
    upload(stream, bytemuck::cast_slice(records))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Whether a test that needs a GPU can run. Without a GPU this prints the reason, or panics if
    /// `REQUIRE_CUDA=1` is in the environment. `test`: the name of the test.
    pub(in crate::engine::cuda) fn has_gpu(test: &str) -> bool {
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
    fn the_launch_time_is_measured() {
        if has_gpu("the_launch_time_is_measured") {
            let time = device().unwrap().launch_time().unwrap();
            eprintln!("a launch takes {time:?}");
            assert!(time > Duration::ZERO);
        }
    }

    #[test]
    fn what_is_known_of_the_gpu_is_what_a_check_finds() {
        let found = device().map(|_| ());
        assert_eq!(known_device().map(|known| known.map(|_| ())), Some(found));
    }
}
