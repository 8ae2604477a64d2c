// A whole propagation in one launch: every message, every posterior and P(e).
//
// Called by engine `gpu` (src/engine/cuda/persistent/gpu.rs). The twin of this kernel
// (src/engine/cuda/persistent/twin.rs) does the same on the CPU over the same records.
//
// # What is computed
//
// Each message, each posterior and P(e) are computed by operations. An operation is a sum of
// products:
//
//     out[row] = sum over e of  table[row, e] * prod_f message_f[row, e] * prod_v weight_v[state]
//
// `row` is an index over the variables of the result, and `e`, an entry of the row, is an index
// over the variables that are summed out. The table is the product of the factors in a clique; an
// operation has no table if its clique has no factors. Tables are only read, never updated. This is
// the Shafer-Shenoy form of propagation: the message from a clique to a neighbour leaves out the
// message from this neighbour, so there is no division. The weights come from the findings. The
// finding on a variable is multiplied in one clique only, and weights are skipped when there is no
// evidence. Message entries that are zero because of tables alone are neither computed, stored nor
// read.
//
// # How the work is shared
//
// An operation is cut into work items of some rows each. All blocks of the launch are persistent:
// they stay resident, and each works through its own list of work items. The host makes the lists
// by simulating the run. Blocks exchange messages through global memory. A message entry is a word
// of 64 bits: a number, its power of two and the epoch, which is the number of the run that wrote
// the word. A reader polls a word until its epoch is the number of the current run, so there are no
// flags and no fences, and one access brings both the signal and the data.
//
// There is no deadlock. In the order of the simulated start times, every work item waits only for
// earlier work items. Every list is in this order, and all blocks are resident. Therefore at least
// one block can always proceed.
//
// A work item is described by one or more records. Apart from messages and evidence, a record holds
// everything that a block needs. The record is copied to shared memory while the block works on the
// previous record. On GPUs before compute capability 8.0, the block waits for this copy.
//
// # Numbers
//
// A work item reads each message entry that it needs once into its staging buffer (shared memory).
// Each message is scaled so that its largest entry in the buffer has exponent `headroom`: products
// of all factors then stay within single precision. Sums are in single precision, in trees of a
// fixed shape, so two runs are bit-equal.
//
// If the evidence excludes a state that all rows of a work item have in common, the rows are zero.
// They are then written without waiting for messages.
//
// # Results
//
// Posteriors are sent to the host by separate work items, the reports. A report reads the
// unnormalised posteriors of some variables, which other work items write like messages. It
// normalises them and writes them to consecutive addresses of host memory. The sign bit of each
// number is the parity of the run that wrote the number.
//
// # Launch
//
// propagate, propagate_timestamped: grid = number of lists, all blocks resident at the same time;
// block = THREADS threads; no dynamic shared memory. No other kernel whose blocks wait for each
// other may run at the same time. propagate_empty: the same grid and block.
//
// records      u32[], the records of all lists, one list after another, in quads of four words
// starts       uint2[lists]: the first quad of the list in `records`, and the number of quads of
//              its first record, which is 0 if the list is empty
// evidence     u32[(states + 31) / 32 + states]: for each state a bit, 0 if the weight of the state
//              is zero; then for each state a weight as float bits. Read only if there is evidence
// flags        bit 0: there is evidence; bit 1: the records are so long that they would push
//              messages out of the L2 cache; bit 2: the parity of the run
// states       number of states of all variables
// messages     u64[], all messages and unnormalised posteriors, one word per entry; see `pack_word`
// p_evidence   u64[1] in host memory: P(e), a word as in `messages`
// posteriors   u32[] in host memory: the words of all reports, float bits whose sign is the parity
// epoch        number of this run, in 1..=4095
// first_timestamps  u32[lists], only for propagate_timestamped: the first work item of each list
// timestamps   u64[work items][3], only for propagate_timestamped: nanoseconds at which a work item
//              began, had filled its staging buffer, and ended
//
// # Records
//
// If the rows of a work item do not fit into one record, further records follow. These have no
// sources: all records of a work item use the staging buffer that its first record fills.
//
// In a dense work item, the same entries of all rows are summed. A sparse work item lists the
// products of each row. Factors are multiplied in pairs, and the messages and the findings are
// paired separately. A row is computed by neighbouring threads, here called lanes, and all threads
// together compute the rows of one pass after another.
//
// A record is a multiple of four words. Below, "a, b * 2^16" describes a word with a in its lower
// half and b in its upper half. The words are:
//    0 words of this record, words of the next record in this list * 2^16
//    1 chunks of messages in the staging buffer, chunks of findings * 2^16; a chunk has 32 words
//    2 steps, threads that take part * 2^16; a thread sums at most `steps` entries of a row
//    3 passes, log2(lanes) * 2^16, kind * 2^24 (DENSE, SPARSE or REPORT), and the flags CONTINUED,
//      NO_TABLE and BY_CLASS
//    4 pairs of messages, pairs of findings * 2^8, messages * 2^16; there are at most 4 pairs
//    5 words of the list
//    6 1 if the result is P(e), 0 if it is a message or posterior; entries of the longest row * 2^8
//    7 headroom
//    8 (to 11) eight 16-bit states that all rows of the work item have in common; 0xffff: unused
//   sources: for each word of the staging buffer either the index of a message entry, with the
//     number of the message among the factors * 2^29, or the index of a weight
//   list, only if dense: for each entry of a row, and each pair, two addresses
//   rows: for each row of all passes, the index of its result (~0: the row is not computed). Then,
//     only if dense, for each pair and each row two addresses. Then, only if BY_CLASS, for each row
//     the word of the stream at which its table entries begin
//   stream: for each pass, step and thread the table entry as float bits, if there is a table. If
//     sparse, the table entries of a step are followed by two addresses for each pair and thread.
//     If BY_CLASS, the stream has instead for each class the table entries that its rows share
//
// An address is an offset in bytes in the staging buffer. It has 16 bits, so one word holds the
// addresses of both factors of a pair. In a dense work item, the address of the row is added to the
// address of the entry. Before its STAGING words, the staging buffer holds a one, for pairs with a
// single factor. After these words it holds a zero, for unused products of a sparse work item
// without a table.
//
// A report has the number of its variables in word 5, and the index in `posteriors` of its first
// result in word 6. Its sources are followed by one word per variable: first source, states * 2^16.
// The lanes share a variable.

// A test compares the constants whose comments say "Shared" with src/engine/cuda/persistent.

// Threads of a block. Shared.
static const unsigned THREADS = 128;

static const unsigned WARPS = THREADS / 32;

// Words of a record before its sources: words 0 to 11 above. Shared.
static const unsigned HEADER = 12;

// Maximum length of a record in words. Shared.
static const unsigned MAX_RECORD = 2560;

// Words of the staging buffer, for each thread and in all, without the one and the zero. Shared.
static const unsigned STAGING_PER_THREAD = 6;
static const unsigned STAGING = STAGING_PER_THREAD * THREADS;

// This index in a source means that the word is not loaded. It is also the mask that selects the
// index in a source. Shared.
static const unsigned NO_SOURCE = 0x1fffffff;

// Bits of the index in a source. The bits above are the number of the message. Shared.
static const unsigned SOURCE_BITS = 29;

// Maximum number of messages that an operation multiplies: in a source, the number of the message
// has 32 - SOURCE_BITS bits.
static const unsigned MAX_FACTORS = 8;

// Bits of the epoch in a word of a message, below its power of two. Shared.
static const unsigned EPOCH_BITS = 12;

// Kinds of work items, and the position of the kind in word 3. Shared.
static const unsigned DENSE = 0;
static const unsigned SPARSE = 1;
static const unsigned REPORT = 2;
static const unsigned KIND_SHIFT = 24;

// Flags: bits of word 3. The record continues the work item of the previous record; the operation
// has no table; rows of a class share table entries. Shared.
static const unsigned CONTINUED_BIT = 26;
static const unsigned NO_TABLE_BIT = 27;
static const unsigned BY_CLASS_BIT = 28;

// Tables are scaled so that their largest entry is near 2^PEAK. Shared.
static const int PEAK = 24;

// The exponent of zero, which is below the exponents of all numbers.
static const int NO_EXPONENT = -0x40000000;

// All lanes of a warp.
static const unsigned FULL_MASK = 0xffffffffu;

// Words of evidence bits in shared memory. Only the first 32 times as many states can let a block
// skip work items. This affects only speed.
static const unsigned EVIDENCE_BIT_WORDS = 512;

// If each thread of a warp has at most this many words, the warp polls all missing words while it
// waits. With more words it polls a single word, to leave memory bandwidth to blocks that compute.
// Tuned on the paper's networks; it affects only speed.
static const unsigned POLL_ALL_MAX = 2;

// Code that stages messages is compiled for three maximum numbers of words per thread: 1, this and
// STAGING_PER_THREAD. It affects only speed.
static const unsigned MEDIUM = 3;

// The compiler limits registers so that this many blocks fit on a multiprocessor. It affects only
// speed.
static const unsigned BLOCKS_PER_MULTIPROCESSOR = 6;

struct Shared {
    // Double buffer: the record in use and the next one.
    uint4 record[2][MAX_RECORD / 4];
    // A one, the staged words, a zero, and padding.
    float staging[4 + STAGING];
    // Double buffer: for each message the largest exponent in the staging buffer. The half for the
    // next record holds NO_EXPONENT.
    int4 largest[2][MAX_FACTORS / 4];
    unsigned evidence_bits[EVIDENCE_BIT_WORDS];
};

#if __CUDA_ARCH__ >= 800
// Keeps messages in the L2 cache longer than records, because a record is read only once.
__device__ inline unsigned long long message_cache_policy()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    return policy;
}
#endif

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

// Writes a result: P(e) to host memory, anything else to `messages`.
__device__ inline void store_result(bool is_p_evidence, unsigned long long *p_evidence,
                                    unsigned long long *messages, unsigned index,
                                    unsigned long long value)
{
    if (is_p_evidence) {
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p_evidence + index), "l"(value)
                     : "memory");
    } else {
        store(messages + index, value);
    }
}

// The word for value * 2^power, written in run `epoch`. From bit 0 it has 32 float bits, EPOCH_BITS
// bits of the epoch, and 20 bits of the signed power.
__device__ inline unsigned long long pack_word(float value, int power, unsigned epoch)
{
    unsigned high = static_cast<unsigned>(power) << EPOCH_BITS | epoch;
    return static_cast<unsigned long long>(high) << 32 | __float_as_uint(value);
}

__device__ inline unsigned epoch_of(unsigned long long word)
{
    return static_cast<unsigned>(word >> 32) & ((1 << EPOCH_BITS) - 1);
}

// The largest e for which 2^e is at most the number of this word; NO_EXPONENT for zero. A subnormal
// number counts as zero.
__device__ inline int exponent_of_word(unsigned long long word)
{
    int field = static_cast<unsigned>(word) >> 23;
    return field == 0 ? NO_EXPONENT : field - 127 + (static_cast<int>(word >> 32) >> EPOCH_BITS);
}

// The float with these bits, but with exponent e; zero if e is too small.
__device__ inline float with_exponent(unsigned bits, int e)
{
    return e < -126 ? 0.0f
                    : __uint_as_float((bits & 0x7fffff) | static_cast<unsigned>(e + 127) << 23);
}

// The GPU's clock, in nanoseconds.
__device__ inline unsigned long long now()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
    return time;
}

__device__ inline int max_of_warp(int value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(FULL_MASK, value);
#else
#pragma unroll
    for (unsigned half = 16; half > 0; half /= 2) {
        value = max(value, __shfl_xor_sync(FULL_MASK, value, half));
    }
    return value;
#endif
}

// Starts to copy a record of `quads` * 4 words to shared memory. Each thread copies some quads.
__device__ inline void prefetch(uint4 *to, const uint4 *from, unsigned quads,
                                unsigned long long policy)
{
#pragma unroll
    for (unsigned k = 0; k < MAX_RECORD / 4 / THREADS; ++k) {
        const unsigned i = k * THREADS + threadIdx.x;
        if (i < quads) {
#if __CUDA_ARCH__ >= 800
            asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                             static_cast<unsigned>(__cvta_generic_to_shared(to + i))),
                         "l"(from + i), "l"(policy)
                         : "memory");
#else
            to[i] = __ldg(from + i);
#endif
        }
    }
}

// A record to copy: the arguments of `prefetch`.
struct NextRecord {
    uint4 *to;
    const uint4 *from;
    unsigned quads;
    unsigned long long policy;
};

__device__ inline void prefetch(const NextRecord &next)
{
    prefetch(next.to, next.from, next.quads, next.policy);
}

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

// Waits until the copies that this thread started are complete.
__device__ inline void wait_for_prefetch()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// The number at this byte offset of the staging buffer.
__device__ inline float staged(const char *staging, unsigned address)
{
    return *reinterpret_cast<const float *>(staging + address);
}

// One thread's share of the sum of a row.
//
// stream        the thread's table entry in the first step, if there is a table
// stream_step   words of the stream from one step to the next
// steps         products to add
// threads       if sparse, the thread's words in the stream for one step are at this distance
// list          if dense, the addresses of the thread's first entry, pair after pair
// list_step     words of the list from one step to the next
// row_addresses if dense, the addresses of the row for the first pair; the addresses for the other
//               pairs follow at a distance of `rows` words
template <unsigned PAIRS, bool IS_SPARSE, bool HAS_NO_TABLE>
__device__ float partial_sum(const char *staging, const unsigned *stream, unsigned stream_step,
                             unsigned steps, unsigned threads, const unsigned *list,
                             unsigned list_step, const unsigned *row_addresses, unsigned rows)
{
    unsigned base[PAIRS + 1];
    if (!IS_SPARSE) {
#pragma unroll
        for (unsigned p = 0; p < PAIRS; ++p) {
            base[p] = row_addresses[p * rows];
        }
    }
    float sum = 0.0f;
#pragma unroll 2
    for (unsigned k = 0; k < steps; ++k) {
        float value = HAS_NO_TABLE ? 1.0f : __uint_as_float(*stream);
#pragma unroll
        for (unsigned p = 0; p < PAIRS; ++p) {
            const unsigned pair =
                IS_SPARSE ? stream[(p + !HAS_NO_TABLE) * threads] : base[p] + list[p];
            value *= staged(staging, pair & 0xffff) * staged(staging, pair >> 16);
        }
        sum += value;
        stream += stream_step;
        list += list_step;
    }
    return sum;
}

template <bool IS_SPARSE, bool HAS_NO_TABLE>
__device__ float partial_sum(unsigned pairs, const char *staging, const unsigned *stream,
                             unsigned stream_step, unsigned steps, unsigned threads,
                             const unsigned *list, unsigned list_step,
                             const unsigned *row_addresses, unsigned rows)
{
#define PARTIAL_SUM(PAIRS)                                                                         \
    partial_sum<PAIRS, IS_SPARSE, HAS_NO_TABLE>(staging, stream, stream_step, steps, threads,      \
                                                list, list_step, row_addresses, rows)
    switch (pairs) {
    case 0: return PARTIAL_SUM(0);
    case 1: return PARTIAL_SUM(1);
    case 2: return PARTIAL_SUM(2);
    case 3: return PARTIAL_SUM(3);
    default: return PARTIAL_SUM(4);
    }
#undef PARTIAL_SUM
}

// Whether the evidence excludes one of the eight 16-bit states `common` that all rows have in
// common. All threads of a warp must call this.
__device__ inline bool is_excluded(const unsigned *evidence_bits, const unsigned *common)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned state = reinterpret_cast<const unsigned short *>(common)[lane % 8];
    return __any_sync(FULL_MASK, state < 32 * EVIDENCE_BIT_WORDS &&
                                     !(evidence_bits[state / 32] >> state % 32 & 1));
}

// Waits for the message entries that a work item needs, in chunks of 32 entries, at most N chunks
// per warp. Sets `from` to the sources of this thread, and `word` to the words that it reads.
// Starts to copy the next record after the first attempt, when the warp would only wait.
template <unsigned N>
__device__ inline void wait_for_messages(unsigned (&from)[N], unsigned long long (&word)[N],
                                         const unsigned *sources, unsigned chunks,
                                         const unsigned long long *messages, unsigned epoch,
                                         const NextRecord &next)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const unsigned chunk = k * WARPS + warp;
        from[k] = chunk < chunks ? sources[chunk * 32 + lane] : NO_SOURCE;
        // A word without a source is zero, and counts as written in this run.
        word[k] = static_cast<unsigned long long>(epoch) << 32;
        if ((from[k] & NO_SOURCE) != NO_SOURCE) {
            word[k] = load(messages + (from[k] & NO_SOURCE));
        }
    }
    prefetch(next);
    while (true) {
        bool is_missing = false;
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            is_missing |= epoch_of(word[k]) != epoch;
        }
        const unsigned waiting_lanes = __ballot_sync(FULL_MASK, is_missing);
        if (waiting_lanes == 0) {
            break;
        }
        if (N > POLL_ALL_MAX) {
            unsigned missing = 0;
#pragma unroll
            for (unsigned k = 0; k < N; ++k) {
                if (epoch_of(word[k]) != epoch) {
                    missing = from[k] & NO_SOURCE;
                }
            }
            // All lanes poll the same word, so that they stay converged.
            missing = __shfl_sync(FULL_MASK, missing, 31 - __clz(waiting_lanes));
            while (epoch_of(load(messages + missing)) != epoch) {
            }
        }
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            if (epoch_of(word[k]) != epoch) {
                word[k] = load(messages + (from[k] & NO_SOURCE));
            }
        }
    }
}

// Fills the staging buffer with the messages that a work item needs, each scaled by its own power
// of two, and sets `largest` to the largest exponent of each message. All threads see both after
// the next barrier.
template <unsigned N>
__device__ inline void stage_messages(float *staging, int *largest, const unsigned *sources,
                                      unsigned chunks, unsigned factors, int headroom,
                                      const unsigned long long *messages, unsigned epoch,
                                      const NextRecord &next)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned from[N];
    unsigned long long word[N];
    wait_for_messages<N>(from, word, sources, chunks, messages, epoch, next);
    if (N == 1 && chunks == factors) {
        // Each message is in a single warp, so no barrier is needed.
        if (warp < chunks) {
            const int exponent = exponent_of_word(word[0]);
            const int largest_of_factor = max_of_warp(exponent);
            if (lane == 0) {
                largest[from[0] >> SOURCE_BITS] = largest_of_factor;
            }
            staging[1 + warp * 32 + lane] =
                exponent == NO_EXPONENT ? 0.0f
                                        : with_exponent(static_cast<unsigned>(word[0]),
                                                        exponent - largest_of_factor + headroom);
        }
        return;
    }
    int exponents[N];
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        if (k * WARPS + warp < chunks) {
            exponents[k] = exponent_of_word(word[k]);
            const int largest_of_chunk = max_of_warp(exponents[k]);
            if (lane == 0) {
                atomicMax(largest + (from[k] >> SOURCE_BITS), largest_of_chunk);
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const unsigned chunk = k * WARPS + warp;
        if (chunk < chunks) {
            const int scaled = exponents[k] - largest[from[k] >> SOURCE_BITS] + headroom;
            staging[1 + chunk * 32 + lane] =
                exponents[k] == NO_EXPONENT ? 0.0f
                                            : with_exponent(static_cast<unsigned>(word[k]), scaled);
        }
    }
}

// Waits for the posteriors of a report, and copies them to `words`.
template <unsigned N>
__device__ inline void copy_posteriors(unsigned long long *words, const unsigned *sources,
                                       unsigned chunks, const unsigned long long *messages,
                                       unsigned epoch, const NextRecord &next)
{
    unsigned from[N];
    unsigned long long word[N];
    wait_for_messages<N>(from, word, sources, chunks, messages, epoch, next);
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const unsigned chunk = k * WARPS + threadIdx.x / 32;
        if (chunk < chunks) {
            words[chunk * 32 + threadIdx.x % 32] = word[k];
        }
    }
}

// Normalises the posteriors of some variables and writes them to host memory. Their sign bits are
// the parity of the run.
//
// words      the unnormalised posteriors; overwritten
// list       for each variable: first word, states * 2^16
// variables  number of variables
// log_lanes  2^log_lanes threads share a variable
// out        32 * chunks words of host memory, written: float bits
__device__ inline void report(unsigned long long *words, const unsigned *list, unsigned variables,
                              unsigned log_lanes, unsigned chunks, unsigned *out, bool parity)
{
    const unsigned lanes = 1u << log_lanes;
    const unsigned group = threadIdx.x >> log_lanes, first = threadIdx.x & (lanes - 1);
    for (unsigned done = 0; done < variables; done += THREADS >> log_lanes) {
        const unsigned variable = done + group < variables ? list[done + group] : 0;
        unsigned long long *of_variable = words + (variable & 0xffff);
        const unsigned states = variable >> 16;
        int largest = NO_EXPONENT;
        for (unsigned i = first; i < states; i += lanes) {
            largest = max(largest, exponent_of_word(of_variable[i]));
        }
        for (unsigned half = lanes / 2; half > 0; half /= 2) {
            largest = max(largest, __shfl_xor_sync(FULL_MASK, largest, half));
        }
        float sum = 0.0f;
        for (unsigned i = first; i < states; i += lanes) {
            const int exponent = exponent_of_word(of_variable[i]);
            const float value =
                exponent == NO_EXPONENT
                    ? 0.0f
                    : with_exponent(static_cast<unsigned>(of_variable[i]), exponent - largest);
            sum += value;
            of_variable[i] = __float_as_uint(value);
        }
        for (unsigned half = lanes / 2; half > 0; half /= 2) {
            sum += __shfl_xor_sync(FULL_MASK, sum, half);
        }
        const float scale = sum > 0.0f ? 1.0f / sum : 0.0f;
        for (unsigned i = first; i < states; i += lanes) {
            of_variable[i] =
                __float_as_uint(__uint_as_float(static_cast<unsigned>(of_variable[i])) * scale);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 32 * chunks; i += THREADS) {
        const unsigned bits = static_cast<unsigned>(words[i]) & 0x7fffffff;
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(out + i),
                     "r"(bits | (parity ? 0x80000000u : 0u))
                     : "memory");
    }
}

// The sum of these exponents. NO_EXPONENT counts as 0.
__device__ inline int sum_of_exponents(int4 of)
{
    return (of.x == NO_EXPONENT ? 0 : of.x) + (of.y == NO_EXPONENT ? 0 : of.y) +
           (of.z == NO_EXPONENT ? 0 : of.z) + (of.w == NO_EXPONENT ? 0 : of.w);
}

#define PARAMETERS                                                                                 \
    const uint4 *records, const uint2 *starts, const unsigned *evidence, unsigned flags,           \
        unsigned states, unsigned long long *messages, unsigned long long *p_evidence,             \
        unsigned *posteriors, unsigned epoch, const unsigned *first_timestamps,                    \
        unsigned long long *timestamps

// Processes the records of this block's list, one by one.
template <bool TIMESTAMPED> __device__ void run_list(PARAMETERS)
{
    __shared__ Shared s;
    const bool has_evidence = flags & 1;
    const unsigned long long policy = record_cache_policy(flags & 2);
    const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const uint2 start = __ldg(starts + blockIdx.x);
    if (start.y == 0) {
        return;
    }
    const uint4 *next_record = records + start.x;
    if (TIMESTAMPED) {
        timestamps += 3ull * first_timestamps[blockIdx.x];
    }
    unsigned next_quads = start.y;
    prefetch(s.record[0], next_record, next_quads, policy);
    if (thread == 0) {
        s.staging[0] = 1.0f;
        s.staging[1 + STAGING] = 0.0f;
    }
    if (thread < MAX_FACTORS) {
        reinterpret_cast<int *>(s.largest[0])[thread] = NO_EXPONENT;
    }
    if (has_evidence) {
        const unsigned bit_words = (states + 31) / 32;
#pragma unroll 1
        for (unsigned i = thread; i < EVIDENCE_BIT_WORDS; i += THREADS) {
            s.evidence_bits[i] = i < bit_words ? evidence[i] : ~0u;
        }
        evidence += bit_words;
    }
    // The power of two of the sums of a work item, and whether all its rows are zero. Both are kept
    // for the further records of the work item.
    int power = 0;
    bool is_zero = false;
    for (unsigned buffer = 0; next_quads > 0; buffer ^= 1) {
        wait_for_prefetch();
        __syncthreads();
        const unsigned long long began = TIMESTAMPED ? now() : 0;
        const unsigned *record = reinterpret_cast<const unsigned *>(s.record[buffer]);
        // Words 0 to 3 and 4 to 7 of the header.
        const uint4 head = s.record[buffer][0], form = s.record[buffer][1];
        next_record += next_quads;
        next_quads = (head.x >> 16) / 4;
        const NextRecord next = {s.record[buffer ^ 1], next_record, next_quads, policy};
        if (thread < MAX_FACTORS) {
            reinterpret_cast<int *>(s.largest[buffer ^ 1])[thread] = NO_EXPONENT;
        }

        const unsigned chunks = head.y & 0xffff;
        const unsigned finding_chunks = head.y >> 16;
        const unsigned passes = head.w & 0xffff;
        const unsigned log_lanes = head.w >> 16 & 0xff;
        const unsigned kind = head.w >> KIND_SHIFT & 3;
        const bool is_continued = head.w >> CONTINUED_BIT & 1;
        const bool has_no_table = head.w >> NO_TABLE_BIT & 1, by_class = head.w >> BY_CLASS_BIT;
        const bool is_sparse = kind == SPARSE;
        const unsigned all_pairs = (form.x & 0xff) + (form.x >> 8 & 0xff);
        const unsigned factors = form.x >> 16;
        const bool is_p_evidence = form.z & 1;
        const int headroom = static_cast<int>(form.w);

        const unsigned *sources = record + HEADER;
        const unsigned *list = sources + 32 * (chunks + finding_chunks);
        const unsigned *row_words = list + form.y;
        const unsigned threads = head.z >> 16;
        const unsigned rows_per_pass = threads >> log_lanes;
        const unsigned rows = passes * rows_per_pass;

        // The posteriors of a report are copied to the words after its record in shared memory.
        if (kind == REPORT) {
            unsigned long long *words = reinterpret_cast<unsigned long long *>(
                reinterpret_cast<unsigned *>(s.record[buffer]) + (head.x & 0xffff));
            if (chunks <= MEDIUM * WARPS) {
                copy_posteriors<MEDIUM>(words, sources, chunks, messages, epoch, next);
            } else {
                copy_posteriors<STAGING_PER_THREAD>(words, sources, chunks, messages, epoch, next);
            }
            __syncthreads();
            const unsigned long long ready = TIMESTAMPED ? now() : 0;
            report(words, sources + 32 * chunks, form.y, log_lanes, chunks, posteriors + form.z,
                   flags & 4);
            if (TIMESTAMPED) {
                if (thread == 0) {
                    timestamps[0] = began;
                    timestamps[1] = ready;
                    timestamps[2] = now();
                }
                timestamps += 3;
            }
            continue;
        }

        if (TIMESTAMPED && is_continued) {
            timestamps -= 3;
        }
        if (has_evidence && !is_continued) {
            is_zero = is_excluded(s.evidence_bits, record + 8);
        }
        // All other records start this copy when they wait for messages.
        if (is_zero || is_continued) {
            prefetch(next);
        }
        if (is_zero) {
            for (unsigned row = thread; row < rows; row += THREADS) {
                if (row_words[row] != ~0u) {
                    store_result(is_p_evidence, p_evidence, messages, row_words[row],
                                 pack_word(0.0f, 0, epoch));
                }
            }
            if (TIMESTAMPED) {
                if (thread == 0) {
                    timestamps[0] = timestamps[1] = began;
                    timestamps[2] = now();
                }
                timestamps += 3;
            }
            continue;
        }

        // Fill the staging buffer. The weights of findings follow the messages.
        if (has_evidence) {
#pragma unroll 1
            for (unsigned i = thread; i < 32 * finding_chunks; i += THREADS) {
                const unsigned weight = sources[32 * chunks + i] & NO_SOURCE;
                s.staging[1 + 32 * chunks + i] =
                    weight == NO_SOURCE ? 0.0f : __uint_as_float(__ldg(evidence + weight));
            }
        }
        if (!is_continued) {
            int *largest = reinterpret_cast<int *>(s.largest[buffer]);
            if (chunks <= WARPS) {
                stage_messages<1>(s.staging, largest, sources, chunks, factors, headroom, messages,
                                  epoch, next);
            } else if (chunks <= MEDIUM * WARPS) {
                stage_messages<MEDIUM>(s.staging, largest, sources, chunks, factors, headroom,
                                       messages, epoch, next);
            } else {
                stage_messages<STAGING_PER_THREAD>(s.staging, largest, sources, chunks, factors,
                                                   headroom, messages, epoch, next);
            }
            __syncthreads();
            power = sum_of_exponents(s.largest[buffer][0]) +
                    sum_of_exponents(s.largest[buffer][1]) -
                    static_cast<int>(factors) * headroom - (has_no_table ? 0 : PEAK);
        }
        const unsigned long long ready = TIMESTAMPED ? now() : 0;

        // Compute the sums. 2^log_lanes neighbouring threads share a row, and `row_lane` is the
        // number of this thread among them.
        const unsigned pairs = has_evidence ? all_pairs : form.x & 0xff;
        const unsigned steps = head.z & 0xffff;
        const unsigned row_lane = thread & ((1u << log_lanes) - 1);
        // Words of the stream from one step to the next, and from one pass to the next.
        const unsigned stream_step = is_sparse  ? (all_pairs + !has_no_table) * threads
                                     : by_class ? 1u << log_lanes
                                                : threads;
        const unsigned stream_pass =
            is_sparse || !(has_no_table || by_class) ? steps * stream_step : 0;
        const unsigned all_row_words =
            (rows * (is_sparse ? 1 : 1 + all_pairs + by_class) + 3) & ~3u;
        const unsigned *stream = row_words + all_row_words + (by_class ? row_lane : thread);
        const char *staging = reinterpret_cast<const char *>(s.staging);
        for (unsigned row = thread < threads ? thread >> log_lanes : rows; row < rows;
             row += rows_per_pass) {
            float sum;
            if (is_sparse) {
                sum = has_no_table
                          ? partial_sum<true, true>(pairs, staging, stream, stream_step, steps,
                                                    threads, list, 0, row_words, 0)
                          : partial_sum<true, false>(pairs, staging, stream, stream_step, steps,
                                                     threads, list, 0, row_words, 0);
            } else {
                const unsigned *entry = list + row_lane * all_pairs;
                const unsigned *row_addresses = row_words + rows + row;
                const unsigned list_step = all_pairs << log_lanes;
                // The number of entries of this lane. Some lanes have one entry less if the entries
                // of a row are not a multiple of the lanes.
                const unsigned own_steps =
                    ((form.z >> 8) + (1u << log_lanes) - 1 - row_lane) >> log_lanes;
                sum = has_no_table
                          ? partial_sum<false, true>(pairs, staging, stream, 0, own_steps, threads,
                                                     entry, list_step, row_addresses, rows)
                          : partial_sum<false, false>(
                                pairs, staging,
                                by_class ? stream + row_addresses[all_pairs * rows] : stream,
                                stream_step, steps, threads, entry, list_step, row_addresses, rows);
            }
            stream += stream_pass;
            for (unsigned half = (1u << log_lanes) / 2; half > 0; half /= 2) {
                sum += __shfl_xor_sync(FULL_MASK, sum, half);
            }
            const unsigned index = row_words[row];
            if (row_lane == 0 && index != ~0u) {
                store_result(is_p_evidence, p_evidence, messages, index,
                             pack_word(sum, power, epoch));
            }
        }
        if (TIMESTAMPED) {
            if (thread == 0) {
                if (!is_continued) {
                    timestamps[0] = began;
                    timestamps[1] = ready;
                }
                timestamps[2] = now();
            }
            timestamps += 3;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
propagate(PARAMETERS)
{
    run_list<false>(records, starts, evidence, flags, states, messages, p_evidence, posteriors,
                    epoch, first_timestamps, timestamps);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
propagate_timestamped(PARAMETERS)
{
    run_list<true>(records, starts, evidence, flags, states, messages, p_evidence, posteriors,
                   epoch, first_timestamps, timestamps);
}

// Writes only the word of P(e), because the host waits for this word.
extern "C" __global__ void propagate_empty(PARAMETERS)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        store(p_evidence, pack_word(0.0f, 0, epoch));
    }
}
