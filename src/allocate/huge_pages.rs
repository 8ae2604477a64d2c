//! Huge pages for large blocks of memory only.
//!
//! The operating system provides memory in pages of 4 KiB, or on demand in huge pages of 2 MiB,
//! which cause far fewer page faults. A huge page takes all of its memory as soon as one byte of it
//! is written. mimalloc asks for huge pages everywhere, and places small blocks of different sizes
//! far apart, so a query of Barley took 102 MB instead of 61. Here, only blocks that consist of
//! several huge pages get them.
//!
//! Where a system uses huge pages without being asked, this module does not prevent it.
#![allow(unsafe_code, reason = "calls of mimalloc and of the operating system")]

use std::sync::atomic::{AtomicBool, Ordering};

/// Minimum size of a block for huge pages, in bytes. With a fourth of it, queries of Barley and
/// Munin4 took 1.1 times as much memory, because other blocks later use parts of the huge pages. If
/// it is wrong, only time and memory change.
const MIN_BYTES: usize = 16 << 20;

/// Size of a huge page.
const PAGE: usize = 2 << 20;

/// `mi_option_allow_thp` of mimalloc.h.
const ALLOW_THP: libmimalloc_sys::mi_option_t = 43;

/// Tells mimalloc not to ask for huge pages itself, unless the environment variable
/// `MIMALLOC_ALLOW_THP` is set. The first call must come before the first allocation, and after the
/// program was loaded: then mimalloc does not forbid huge pages for the whole process.
#[inline]
pub fn leave_to_us() {
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if !IS_SET.load(Ordering::Relaxed) {
        IS_SET.store(true, Ordering::Relaxed);
        // SAFETY: sets a number.
        unsafe { libmimalloc_sys::mi_option_set_default(ALLOW_THP, 0) };
    }
}

/// Asks for huge pages for a new block, if it is large.
#[inline]
pub fn ask_for(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES && !block.is_null() {
        let skipped = block.addr().next_multiple_of(PAGE) - block.addr();
        let pages = (bytes - skipped) / PAGE;
        // SAFETY: this range is a part of the block. The call changes no content. If it fails, the
        // block has small pages.
        unsafe { libc::madvise(block.add(skipped).cast(), pages * PAGE, libc::MADV_HUGEPAGE) };
    }
}
