//! Engines on an NVIDIA GPU.
//!
//! The driver is looked for when it is first asked for, and nothing is linked to it, so one binary
//! runs with and without. Kernels are CUDA C++ in `kernels/`, compiled ahead to PTX that the driver
//! finishes; each has a twin here that does the same on the CPU over the same buffers, by which
//! packing, indices and order are tested where there is no GPU.
//!
//! Nothing outside this module knows of CUDA, and all of its `unsafe` is here: kernels take raw
//! device pointers, so a launch is as safe as the records it is given are right, which the twins show.
#![allow(unsafe_code, reason = "kernels take raw device pointers")]

mod batch;
mod device;
mod kernels;
mod paper;
mod persistent;

#[cfg(test)]
use super::fixtures;
pub use device::Card;
pub use paper::GpuPaper;
pub use persistent::GpuPersistent;

/// What one kernel launch costs on this machine's GPU, the τ of section 3.4 of Zheng, Mengshoel
/// and Chong; `None` where there is no GPU.
#[must_use]
pub fn launch_time() -> Option<std::time::Duration> {
    device::device().ok()?.launch_time().ok()
}

/// The GPU that is computed on; `None` where there is none.
#[must_use]
pub fn card() -> Option<Card> {
    device::device().ok()?.card().ok()
}
