//! Huge pages for large blocks of memory only.
//!
//! The operating system usually provides memory in pages of 4 KiB, or on demand in huge pages of
//! 2 MiB, which cause far fewer page faults. A huge page takes all of its memory as soon as one
//! byte of it is written. mimalloc asks for huge pages everywhere, and places small blocks of
//! different sizes far apart, so a query of Barley took 102 MB instead of 61. Here, only new blocks
//! of at least [`MIN_BYTES`] ask for them. Blocks that grow to this size do not. After a block with
//! huge pages is freed, smaller blocks in its place may have them.
//!
//! Where a system uses huge pages without being asked, this module does not prevent it.
#![allow(unsafe_code, reason = "calls of mimalloc and of the operating system")]

use std::sync::atomic::{AtomicBool, Ordering};

/// Minimum size of a block for huge pages, in bytes. With a fourth of it, queries of Barley and
/// Munin4 took 1.1 times as much memory, because other blocks later use parts of the huge pages. If
/// it is wrong, only time and memory change.
const MIN_BYTES: usize = 16 << 20;

/// Size of a huge page in bytes, on most processors. If it is wrong, only time and memory change.
const PAGE: usize = 2 << 20;

/// `mi_option_allow_thp` of mimalloc.h.
const ALLOW_THP: libmimalloc_sys::mi_option_t = 43;

const _: () = assert!(libmimalloc_sys::_mi_option_last == 47, "the number above must be checked");

/// Stops mimalloc from asking for huge pages itself, unless the environment variable
/// `MIMALLOC_ALLOW_THP` is set. Call this before each allocation; all calls but the first do
/// nothing.
///
/// If the option were off when mimalloc starts, which is when the program is loaded, mimalloc would
/// forbid huge pages for the whole process.
#[inline]
pub fn stop_mimalloc_asking() {
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if !IS_SET.load(Ordering::Relaxed) {
        IS_SET.store(true, Ordering::Relaxed);
        // SAFETY: sets a number. Other threads may read it at the same time, and get the old or the
        // new one.
        unsafe { libmimalloc_sys::mi_option_set_default(ALLOW_THP, 0) };
    }
}

/// Asks for huge pages for a new block, if it is large.
#[inline]
pub fn request(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES && !block.is_null() {
        let skipped = block.addr().next_multiple_of(PAGE) - block.addr();
        let pages = (bytes - skipped) / PAGE;
        let start = block.wrapping_add(skipped);
        // SAFETY: this advice changes no content, whatever the range is. If the call fails, the
        // block has small pages.
        unsafe { libc::madvise(start.cast(), pages * PAGE, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether the system gives huge pages to memory at `address` if it can; `None` if the system
    /// has no huge pages.
    fn is_advised(address: usize) -> Option<bool> {
        fs::metadata("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
        let text = fs::read_to_string("/proc/self/smaps").ok()?;
        let mut is_own = false;
        for line in text.lines() {
            let (word, rest) = line.split_once(' ')?;
            if let Some((start, end)) = word.split_once('-') {
                let number = |text| usize::from_str_radix(text, 16).ok();
                is_own = (number(start)?..number(end)?).contains(&address);
            } else if is_own && word == "VmFlags:" {
                return Some(rest.split_whitespace().any(|flag| flag == "hg"));
            }
        }
        None
    }

    #[test]
    fn only_large_blocks_ask_for_huge_pages() {
        for (bytes, expected) in [(MIN_BYTES - 1, false), (MIN_BYTES, true)] {
            // Tests run with the allocator of the C library, which asks for no huge pages.
            let mut block: Vec<u8> = Vec::with_capacity(bytes);
            request(block.as_mut_ptr(), bytes);
            match is_advised(block.as_ptr().addr() + bytes / 2) {
                Some(found) => assert_eq!(found, expected, "{bytes} bytes"),
                None => println!("SKIPPED: the system has no huge pages"),
            }
        }
    }
}
