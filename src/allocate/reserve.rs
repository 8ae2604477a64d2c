//! An allocator with a reserve of memory for when the machine has none left.
#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{IS_EXHAUSTED, NOTICES_FAILURE};

/// Size of the reserve in bytes. It must hold what work allocates between two calls of
/// [`check`](super::check). The operating system provides its pages only when they are written, so
/// an unused reserve takes address space but no memory.
const BYTES: usize = 64 << 20;

/// The allocator `A`, with a reserve of memory for when `A` fails.
///
/// The reserve is used from its beginning to its end. It is whole again once everything in it was
/// freed. Its use ends the current work, so this does not take long. A program has one reserve,
/// because it has one allocator.
pub struct WithReserve<A> {
    allocator: A,
    /// Called if the reserve has too little memory as well.
    if_used_up: fn(),
}

/// The reserve. It consists of zeros and of uninitialised memory, so it takes no space in the
/// program's file.
struct Reserve {
    /// Whether a thread works with the fields below.
    is_locked: AtomicBool,
    used: UnsafeCell<Used>,
    memory: UnsafeCell<Memory>,
}

static RESERVE: Reserve = Reserve {
    is_locked: AtomicBool::new(false),
    used: UnsafeCell::new(Used { bytes: 0, blocks: 0 }),
    memory: UnsafeCell::new(Memory { _bytes: MaybeUninit::uninit() }),
};

/// The part of the reserve that is in use.
struct Used {
    /// Number of bytes from the beginning of the reserve to the end of the last block.
    bytes: usize,
    /// Number of blocks that were not freed yet.
    blocks: usize,
}

/// The memory of the reserve.
#[repr(align(4096))]
struct Memory {
    _bytes: MaybeUninit<[u8; BYTES]>,
}

// SAFETY: `used` and the division of `memory` into blocks are read and written under the lock, and
// a block belongs to its owner alone.
unsafe impl Sync for Reserve {}

impl<A> WithReserve<A> {
    /// `allocator` with a reserve. If neither has the memory for an allocation that would end the
    /// program, `if_used_up` is called: it may end the program in another way, and must not
    /// allocate.
    pub const fn new(allocator: A, if_used_up: fn()) -> Self {
        Self { allocator, if_used_up }
    }

    /// A block of the reserve, because the allocator has failed. Null if the reserve has too little
    /// memory too, or if the caller notices the failure.
    #[cold]
    fn allocate(&self, layout: Layout) -> *mut u8 {
        if NOTICES_FAILURE.get() {
            return null_mut();
        }
        IS_EXHAUSTED.store(true, Ordering::Relaxed);
        let memory = RESERVE.allocate(layout);
        if memory.is_null() {
            (self.if_used_up)();
        }
        memory
    }
}

impl Reserve {
    /// The position of `memory` in the reserve; at least [`BYTES`] if it is outside.
    fn position(&self, memory: *mut u8) -> usize {
        memory.addr().wrapping_sub(self.memory.get().addr())
    }

    /// Calls `work` with what is in use, while other threads wait.
    fn with_lock<R>(&self, work: impl FnOnce(&mut Used) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            spin_loop();
        }
        // SAFETY: the lock makes this the only reference.
        let result = work(unsafe { &mut *self.used.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }

    /// A block, or null if there is too little memory left.
    fn allocate(&self, layout: Layout) -> *mut u8 {
        // The reserve is aligned to a page, which is more than any type of the program needs.
        if layout.align() > align_of::<Memory>() {
            return null_mut();
        }
        let start = self.with_lock(|used| {
            let start = used.bytes.next_multiple_of(layout.align());
            let end = start.checked_add(layout.size()).filter(|&end| end <= BYTES)?;
            (used.bytes, used.blocks) = (end, used.blocks + 1);
            Some(start)
        });
        start.map_or(null_mut(), |start| self.memory.get().cast::<u8>().wrapping_add(start))
    }

    /// Frees the block of `size` bytes at `position`.
    #[cold]
    fn free(&self, position: usize, size: usize) {
        self.with_lock(|used| {
            used.blocks -= 1;
            if used.blocks == 0 {
                used.bytes = 0;
            } else if position + size == used.bytes {
                used.bytes = position;
            }
        });
    }
}

// SAFETY: all memory comes from the allocator or is a part of the reserve that no other block
// overlaps, with the alignment of the layout.
unsafe impl<A: GlobalAlloc> GlobalAlloc for WithReserve<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, here and below.
        let memory = unsafe { self.allocator.alloc(layout) };
        if memory.is_null() { self.allocate(layout) } else { memory }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { self.allocator.alloc_zeroed(layout) };
        if !memory.is_null() {
            return memory;
        }
        let memory = self.allocate(layout);
        if !memory.is_null() {
            // SAFETY: the block has this size.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the new size is valid for the alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let is_in_reserve = RESERVE.position(memory) < BYTES;
        let moved = if is_in_reserve {
            // SAFETY: as above.
            unsafe { self.alloc(new_layout) }
        } else {
            // SAFETY: the allocator provided this block.
            let grown = unsafe { self.allocator.realloc(memory, layout, size) };
            if !grown.is_null() {
                return grown;
            }
            self.allocate(new_layout)
        };
        if !moved.is_null() {
            // SAFETY: both blocks have as many bytes, and they do not overlap. The old one is valid
            // until it is freed here.
            unsafe {
                moved.copy_from_nonoverlapping(memory, size.min(layout.size()));
                self.dealloc(memory, layout);
            }
        }
        moved
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let position = RESERVE.position(memory);
        if position < BYTES {
            RESERVE.free(position, layout.size());
        } else {
            // SAFETY: the allocator provided this block.
            unsafe { self.allocator.dealloc(memory, layout) };
        }
    }
}
