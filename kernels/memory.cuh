// Access to global memory: words that blocks and the host share (persistent.cu), and copies to
// shared memory (persistent.cu and batch.cu). If compiled for compute capability 8.0 or higher, the
// copies run in the background, and `load`, `store` and `copy_quad` carry hints for the L2 cache.
// Otherwise (for older GPUs, and for max-product on all GPUs), copies are plain loads and stores,
// and there are no hints.
//
// `load`, `store` and `store_to_host` have relaxed order: each word of a message or result holds a
// number and an epoch or a parity, which shows that it is new. So the order of different words does
// not matter.
#pragma once

#if __CUDA_ARCH__ >= 800
// Keeps messages in the L2 cache longer than records, because a record is read only once.
__device__ inline unsigned long long message_cache_policy()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    return policy;
}
#endif

// The L2 cache policy of records. If the records are so long that they would push out messages
// (`is_large`), it makes the cache evict records first; otherwise it is the normal policy.
__device__ inline unsigned long long record_cache_policy(bool is_large)
{
    unsigned long long policy = 0;
#if __CUDA_ARCH__ >= 800
    if (is_large) {
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    } else {
        asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(policy));
    }
#endif
    return policy;
}

// Reads a word of a message, which another block may be writing.
__device__ inline unsigned long long load(const unsigned long long *word)
{
    unsigned long long value;
#if __CUDA_ARCH__ >= 800
    asm volatile("ld.relaxed.gpu.global.L2::cache_hint.u64 %0, [%1], %2;"
                 : "=l"(value)
                 : "l"(word), "l"(message_cache_policy())
                 : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
#endif
    return value;
}

// Writes a word of a message.
__device__ inline void store(unsigned long long *word, unsigned long long value)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("st.relaxed.gpu.global.L2::cache_hint.u64 [%0], %1, %2;" ::"l"(word), "l"(value),
                 "l"(message_cache_policy())
                 : "memory");
#else
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#endif
}

// Writes a word of host memory, which the host polls.
__device__ inline void store_to_host(unsigned long long *word, unsigned long long value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ inline void store_to_host(unsigned *word, unsigned value)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

// Starts to copy 16 bytes to shared memory.
__device__ inline void copy_quad(uint4 *to, const uint4 *from, unsigned long long policy)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "l"(policy)
                 : "memory");
#else
    *to = __ldg(from);
#endif
}

// Waits until the copies that this thread started are complete.
__device__ inline void wait_for_copies()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Starts to copy 16 bytes to shared memory, through the first-level cache, where other rows and other
// warps may read them again. The copy belongs to this thread's current group (`end_group`).
__device__ inline void copy_in_group(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
#else
    *static_cast<uint4 *>(to) = *static_cast<const uint4 *>(from);
#endif
}

// Ends the current group of copies, which may be empty.
__device__ inline void end_group()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all but the last N groups of copies of every thread of the warp are complete.
template <unsigned N> __device__ inline void wait_for_groups()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
    __syncwarp();
}

// The GPU's clock, in nanoseconds.
__device__ inline unsigned long long now()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
    return time;
}
