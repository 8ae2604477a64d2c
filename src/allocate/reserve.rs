//! An allocator with a reserve of memory for when the machine has none left.
#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "allocator")]
use std::sync::{Mutex, PoisonError};

use linked_list_allocator::Heap;

use super::{HAS_USED_RESERVE, IS_EXHAUSTED, NOTICES_FAILURE, huge_pages};

/// Size of the reserve in bytes. It must hold what work allocates between two calls of
/// [`check`](super::check), which is at most 3.2 MB while Munin4 is read, compiled and propagated.
/// The operating system provides its pages only when they are written, so an unused reserve takes
/// address space but no memory.
const BYTES: usize = 64 << 20;

/// The allocator `A`, with a reserve of memory for when `A` fails.
///
/// Once the reserve is used, the current work ends and frees what it took. A program has one
/// reserve, because it has one allocator. With mimalloc on Linux, large blocks get huge pages.
pub struct WithReserve<A> {
    allocator: A,
    /// Called if the reserve has too little memory as well.
    if_used_up: fn(),
}

/// The reserve. It consists of zeros and of uninitialised memory, so it takes no space in the
/// program's file.
struct Reserve {
    /// Whether a thread works with `heap`.
    is_locked: AtomicBool,
    /// Divides `memory` into blocks.
    heap: UnsafeCell<Heap>,
    memory: UnsafeCell<Memory>,
}

static RESERVE: Reserve = Reserve {
    is_locked: AtomicBool::new(false),
    heap: UnsafeCell::new(Heap::empty()),
    memory: UnsafeCell::new(Memory { _bytes: MaybeUninit::uninit() }),
};

/// The memory of the reserve.
#[repr(align(4096))]
struct Memory {
    _bytes: MaybeUninit<[u8; BYTES]>,
}

// SAFETY: `heap` is used under the lock, and a block of `memory` belongs to its owner alone.
unsafe impl Sync for Reserve {}

impl<A> WithReserve<A> {
    /// `allocator` with a reserve. `if_used_up` is called if neither has memory for an allocation
    /// whose failure would end the program. `if_used_up` may itself end the program, and must not
    /// allocate.
    pub const fn new(allocator: A, if_used_up: fn()) -> Self {
        Self { allocator, if_used_up }
    }

    /// A block of the reserve, because the allocator has failed. Null if the reserve has too little
    /// memory too, or if this thread is in code that handles a failed allocation itself, so that it
    /// needs no reserve.
    #[cold]
    fn allocate(&self, layout: Layout) -> *mut u8 {
        if NOTICES_FAILURE.get() {
            return null_mut();
        }
        IS_EXHAUSTED.store(true, Ordering::Relaxed);
        HAS_USED_RESERVE.store(true, Ordering::Relaxed);
        let memory = RESERVE.allocate(layout);
        if memory.is_null() {
            (self.if_used_up)();
        }
        memory
    }
}

impl Reserve {
    /// Whether `memory` is a part of the reserve.
    fn contains(&self, memory: *mut u8) -> bool {
        memory.addr().wrapping_sub(self.memory.get().addr()) < BYTES
    }

    /// Calls `work` with the heap, while other threads wait.
    fn with_heap<R>(&self, work: impl FnOnce(&mut Heap) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            spin_loop();
        }
        // SAFETY: the lock makes this the only reference.
        let heap = unsafe { &mut *self.heap.get() };
        if heap.bottom().is_null() {
            // SAFETY: `memory` has this size, lasts as long as the program, and nothing else uses
            // it.
            unsafe { heap.init(self.memory.get().cast(), BYTES) };
        }
        let result = work(heap);
        self.is_locked.store(false, Ordering::Release);
        result
    }

    /// A block, or null if there is too little memory left.
    fn allocate(&self, layout: Layout) -> *mut u8 {
        let block = self.with_heap(|heap| heap.allocate_first_fit(layout));
        block.map_or(null_mut(), NonNull::as_ptr)
    }

    /// Frees `block`.
    ///
    /// # Safety
    /// [`allocate`](Self::allocate) returned it for `layout`, and it was not freed since.
    #[cold]
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller guarantees it.
        self.with_heap(|heap| unsafe { heap.deallocate(block, layout) });
    }
}

// SAFETY: all memory comes from the allocator or is a part of the reserve that no other block
// overlaps, with the alignment of the layout.
unsafe impl<A: GlobalAlloc> GlobalAlloc for WithReserve<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        huge_pages::stop_mimalloc_asking();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        let memory = unsafe { self.allocator.alloc(layout) };
        huge_pages::request(memory, layout.size());
        if memory.is_null() { self.allocate(layout) } else { memory }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        huge_pages::stop_mimalloc_asking();
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        let memory = unsafe { self.allocator.alloc_zeroed(layout) };
        huge_pages::request(memory, layout.size());
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
        let is_in_reserve = RESERVE.contains(memory);
        let moved = if is_in_reserve {
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
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
            // SAFETY: both blocks have at least the number of bytes that is copied, and they do not
            // overlap. The old one is valid until it is freed here.
            unsafe {
                moved.copy_from_nonoverlapping(memory, size.min(layout.size()));
                self.dealloc(memory, layout);
            }
        }
        moved
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match NonNull::new(memory) {
            // SAFETY: the reserve provided this block, and the caller says that it is valid.
            Some(block) if RESERVE.contains(memory) => unsafe { RESERVE.free(block, layout) },
            // SAFETY: the allocator provided this block.
            _ => unsafe { self.allocator.dealloc(memory, layout) },
        }
    }
}

/// Lets the allocator return freed memory to the operating system after 10 ms instead of 1 s,
/// unless the environment variable `MIMALLOC_PURGE_DELAY` sets another time. Much memory is freed
/// by the code that reads a network and by the code that searches for zeros, and the tables that
/// are made next cannot use all of it: with 1 s, the peak memory of the network Diabetes is 1.2
/// times as large as forecast. Returning the memory early takes less than a tenth of the CPU time
/// of a query of Munin4. Does nothing without mimalloc.
pub fn return_freed_memory_early() {
    #[cfg(feature = "allocator")]
    set_purge_delay(10);
}

/// While a value of this type exists, the allocator keeps freed memory for 1 s before it returns it
/// to the operating system; see [`return_freed_memory_early`].
///
/// For batches on GPUs, whose results take gigabytes. The results of the next cases can then use the
/// memory of earlier results. Taking it from the operating system, which clears it, halved the cases
/// per second of two H200 GPUs.
pub struct KeepFreedMemory(());

/// Number of values of [`KeepFreedMemory`], and the time in milliseconds after which freed memory is
/// returned without them.
#[cfg(feature = "allocator")]
static KEEPERS: Mutex<(usize, std::ffi::c_long)> = Mutex::new((0, 0));

impl KeepFreedMemory {
    /// Keeps freed memory from now on.
    #[must_use]
    #[allow(clippy::new_without_default)] // The value is a guard, not data.
    pub fn new() -> Self {
        #[cfg(feature = "allocator")]
        {
            let mut keepers = KEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
            if keepers.0 == 0 {
                // SAFETY: reads a number.
                keepers.1 = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
                set_purge_delay(1000);
            }
            keepers.0 += 1;
        }
        Self(())
    }
}

impl Drop for KeepFreedMemory {
    fn drop(&mut self) {
        #[cfg(feature = "allocator")]
        {
            let mut keepers = KEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
            keepers.0 -= 1;
            if keepers.0 == 0 {
                set_purge_delay(keepers.1);
            }
        }
    }
}

/// `mi_option_purge_delay` of mimalloc.h, in milliseconds.
#[cfg(feature = "allocator")]
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Sets the time after which the allocator returns freed memory, in milliseconds, unless
/// `MIMALLOC_PURGE_DELAY` is set.
#[cfg(feature = "allocator")]
fn set_purge_delay(milliseconds: std::ffi::c_long) {
    // SAFETY: sets a number. Other threads may read it at the same time, and get the old or the new
    // one. The program may even have another allocator.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, milliseconds) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_used_again_while_other_blocks_remain() {
        let layout = Layout::from_size_align(BYTES / 8, 64).expect("a power of two");
        let allocate = || NonNull::new(RESERVE.allocate(layout)).expect("the reserve has memory");
        let kept = allocate();
        let mut older = allocate();
        for _ in 0..100 {
            let newer = allocate();
            assert!(RESERVE.contains(newer.as_ptr()));
            // SAFETY: the block came from the reserve with this layout, and is freed once.
            unsafe { RESERVE.free(older, layout) };
            older = newer;
        }
        assert_eq!(RESERVE.allocate(Layout::new::<[u8; BYTES]>()), null_mut());
        // SAFETY: both blocks came from the reserve with this layout, and each is freed once.
        unsafe {
            RESERVE.free(older, layout);
            RESERVE.free(kept, layout);
        }
    }
}
