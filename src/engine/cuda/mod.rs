//! Engines on an NVIDIA GPU.
//!
//! The driver is loaded when it is first needed, and nothing is linked against it, so one binary
//! runs on machines with and without a GPU. The kernels are CUDA C++ in `kernels/`, compiled ahead
//! of time to PTX, which the driver compiles for the GPU. Each kernel that computes something has a
//! twin here, which does the same on the CPU over the same buffers. The twins exist only in tests,
//! to check packing, indices and order without a GPU.
//!
//! Nothing outside this module uses CUDA, and all `unsafe` code for CUDA is here. Kernels take raw
//! device pointers, so a launch is safe only if the records that the kernel reads are correct. The
//! twins check the records: they index the same buffers with bounds checks.
#![allow(unsafe_code, reason = "kernels take raw device pointers")]

mod batch;
mod device;
mod engine;
#[cfg(test)]
mod kernel_source;
mod kernels;
mod paper;
mod persistent;
mod semiring;
mod table_free;
mod underflow;

#[cfg(test)]
use super::fixtures;
pub use device::GpuInfo;
pub use engine::GpuEngine;
pub use paper::GpuPaper;

/// The time of one kernel launch on this machine's GPU, which is τ in section 3.4 of Zheng,
/// Mengshoel and Chong; `None` if no GPU can be used, or if the driver reports an error.
#[must_use]
pub fn launch_time() -> Option<std::time::Duration> {
    device::device().ok()?.launch_time().ok()
}

/// The first GPU, which the engines use (only batches use the others too); `None` if it cannot be
/// used, or if the driver reports an error.
#[must_use]
pub fn gpu_info() -> Option<GpuInfo> {
    device::device().ok()?.info().ok()
}
