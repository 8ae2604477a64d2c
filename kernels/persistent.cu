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
// In the kernels for max-product (semiring.cuh), a sum is the maximum. They compute max-marginals
// in place of posteriors. In place of P(e), they compute the probability of the most probable
// configuration with the evidence.
//
// record.cuh works through an example with two variables of two states.
//
// # How the work is shared
//
// An operation is cut into work items of some rows each. All blocks of the launch are persistent:
// they stay resident, and each works through its own list of work items. The host makes the lists
// before the launch, by simulating the run (src/engine/cuda/persistent/schedule.rs).
//
// Apart from messages and evidence, the records of a work item hold everything that a block needs.
// If the rows do not fit into one record, further records follow, which use the inputs that the
// first record gathered. A record is copied to shared memory while the block works on the previous
// record. On GPUs before compute capability 8.0, and for max-product, the block waits for this
// copy.
//
// Blocks exchange messages through global memory. A message entry is a word of 64 bits: a number,
// its power of two and the epoch, which is the number of the run that wrote the word. A reader
// polls a word until its epoch is the number of the current run, so there are no flags and no
// fences, and one access brings both the signal and the data.
//
// # Why no block waits for ever
//
// 1. A block waits only for words that another work item of the same run writes. Each word that is
//    read is written once in every run, as zero if the evidence excludes its row. A source of an
//    entry that is never computed has no index (NO_SOURCE), and no block waits for it.
// 2. In the order of the simulated start times, every work item waits only for earlier work items,
//    and every list is in this order. So the earliest work item that is not complete is the one
//    that its block works on, and everything it waits for has been written.
// 3. All blocks of the launch are resident, so this block runs. The host launches no more blocks
//    than fit on the GPU, and no other kernel whose blocks wait for each other may run at the same
//    time.
//
// A word of an earlier run is never taken for a new one: after the last epoch, the host clears all
// words before epochs start again at 1.
//
// # Forms of a work item
//
// In a dense work item, the same entries of all rows are summed. A sparse work item lists the
// products of each row. Factors are multiplied in pairs, because a word of a record has room for
// two addresses; messages and findings are paired separately, so that the pairs of findings can be
// skipped if there is no evidence. Neighbouring threads, called the lanes of the row, share the sum
// of a row. In each pass, all threads together compute as many rows as they have groups of lanes.
//
// # Numbers
//
// A work item reads each message entry that it needs once into its staging buffer (shared memory).
// Each message is scaled so that its largest entry in the buffer has exponent `headroom`. The host
// chooses it by the number of messages, so that products of all factors stay within single
// precision. Sums are in single precision, in trees of a fixed shape, so two runs are bit-equal.
//
// A raised run adds to the sum of each row four times the error that underflow can cause in it. Its
// results are upper bounds of the right ones. src/engine/cuda/persistent/interval.rs compares them
// with the results of an ordinary run.
//
// If the evidence excludes a state that all rows of a work item have in common, the rows are zero.
// They are then written without waiting for messages.
//
// # Results
//
// Posteriors are sent to the host by separate work items, the reports. A report reads the
// unnormalised posteriors of some variables, which other work items write like messages. It divides
// those of each variable by their sum (for max-product too) and writes them to consecutive
// addresses of host memory. The sign bit of each number is the parity of the run that wrote the
// number.
//
// # Launch
//
// propagate, propagate_timestamped: grid = number of lists, all blocks resident at the same time;
// block = THREADS threads; no dynamic shared memory. No other kernel whose blocks wait for each
// other may run at the same time. propagate_empty: the same grid and block.
//
// records      u32[], the lowest address of the buffers that hold the records of all lists, in
//              quads of four words; the lists in a buffer follow one another
// starts       uint2[lists]: the first quad of the list, counted from `records`, and the number of
//              quads of its first record, which is 0 if the list is empty
// evidence     u32[(states + 31) / 32 + states]: for each state a bit, 0 if the weight of the state
//              is zero; then for each state a weight as float bits. Read only if there is evidence
// flags        bit 0: there is evidence; bit 1: the records are so long that they would push
//              messages out of the L2 cache; bit 2: the parity of the run; bit 3: whether it is a
//              raised run
// states       number of states of all variables
// messages     u64[], all messages and unnormalised posteriors, one word per entry; see `pack_word`
// p_evidence   u64[1] in host memory: P(e), a word as in `messages`
// posteriors   u32[] in host memory: the words of all reports, float bits whose sign is the parity
// epoch        number of this run, in 1..=4095
// first_timestamps  u32[lists], only for propagate_timestamped: the first work item of each list
// timestamps   u64[work items][3], only for propagate_timestamped: nanoseconds at which a work item
//              began, had filled its staging buffer, and ended
//
// # Versions
//
// What each version of this kernel and of the host code that makes its records brought:
//
//   1  the first with a single launch; blocks wait for flags
//   2  message entries carry their epoch, in place of flags and fences; all that a work item needs
//      is in one record; results are written to host memory
//   3  zeros of the tables are left out; larger work items; the next record is copied in the
//      background; work items that the evidence excludes are skipped
//   4  reports; sizes of work items by the size of the propagation; cache policies
//   5  no table for cliques without factors; rows of a class share their table entries; work items
//      of several records
//   6  shortcuts (src/engine/cuda/persistent/shortcuts); the next record is copied only after the
//      messages of this one were requested; posteriors that can be early are sent early
//
// Median time of a propagation in microseconds, without evidence, trees by weighted-min-fill, in
// recordings made on an NVIDIA H200 after each version (in the git history of assets/recordings):
//
//      Mildew  Diabetes  Barley  Pigs  Munin2  Munin3  Munin4  Water
//   1     200       409     318   123     267     200     313    135
//   2     171       271     413    57     219     125     308    122
//   3      45       212     220    63     121     133     175     36
//   4      41       155     191    42      87      78     116     25
//   5      42       170     128    45      92      86     111     27
//   6      39       158     124    36      63      73     104     23

#include "memory.cuh"
#include "record.cuh"
#include "semiring.cuh"

// A test compares the constants whose comments say "Shared" with src/engine/cuda/persistent.

// Threads of a block. Shared.
static const unsigned THREADS = 128;

static const unsigned WARPS = THREADS / 32;

// Words of the staging buffer, for each thread and in all, without the one and the zero. Shared.
static const unsigned STAGING_PER_THREAD = 6;
static const unsigned STAGING = STAGING_PER_THREAD * THREADS;

// Number of messages that a source can tell apart: 2^(32 - SOURCE_BITS), because in a source the
// number of the message has 32 - SOURCE_BITS bits. An operation multiplies at most 6 messages.
static const unsigned MAX_FACTORS = 8;

// Bits of the epoch in a word of a message, below its power of two. Shared.
static const unsigned EPOCH_BITS = 12;

// Tables are scaled so that their largest entry is near 2^PEAK. Shared.
static const int PEAK = 24;

// A raised run adds to a row two to the power of this times a bound on the largest of the three
// parts of the row's error by underflow, which is at least four times the error; see `raise_of`.
// Shared.
static const int RAISE = 4;

// The error by underflow in the multiplications of a product is at most 2^(-126 - PRODUCT_HEADROOM)
// times the largest product. Shared.
static const int PRODUCT_HEADROOM = 18;

// The exponent of zero, which is below the exponents of all numbers.
static const int NO_EXPONENT = -0x40000000;

// All lanes of a warp.
static const unsigned FULL_MASK = 0xffffffffu;

// Words of evidence bits in shared memory: one bit per state, for the first 16,384 states. A state
// beyond these never lets a block skip a work item. This affects only speed.
static const unsigned EVIDENCE_BIT_WORDS = 512;

// Code compiled for at most this many words per thread (see MEDIUM) polls all missing words of a
// warp while it waits. Other code polls a single word, to leave memory bandwidth to blocks that
// compute. Tuned on the paper's networks, on an H200; it affects only speed.
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
    // Double buffer: for each message the largest exponent in the staging buffer. The half that the
    // next record will use holds NO_EXPONENT.
    int4 largest[2][MAX_FACTORS / 4];
    unsigned evidence_bits[EVIDENCE_BIT_WORDS];
};

// Writes a result: P(e) to host memory, anything else to `messages`.
__device__ inline void store_result(bool is_p_evidence, unsigned long long *p_evidence,
                                    unsigned long long *messages, unsigned index,
                                    unsigned long long value)
{
    if (is_p_evidence) {
        store_to_host(p_evidence + index, value);
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

// The float with these bits, but with exponent e, which is at most 127; zero if e is below -126.
__device__ inline float with_exponent(unsigned bits, int e)
{
    return e < -126 ? 0.0f
                    : __uint_as_float((bits & 0x7fffff) | static_cast<unsigned>(e + 127) << 23);
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
            copy_quad(to + i, from + i, policy);
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

// The number at this byte offset of the staging buffer.
__device__ inline float staged(const char *staging, unsigned address)
{
    return *reinterpret_cast<const float *>(staging + address);
}

// One thread's share of the sum of a row; the semiring says what a sum is.
//
// stream        the thread's table entry in the first step, if there is a table
// stream_step   words of the stream from one step to the next
// steps         products to add
// threads       if sparse, the thread's words in the stream for one step are at this distance
// list          if dense, the addresses of the thread's first entry, pair after pair
// list_step     words of the list from one step to the next
// row_addresses if dense, the addresses of the row for the first pair; the addresses for the other
//               pairs follow at a distance of `rows` words
template <class Semiring, unsigned PAIRS, bool IS_SPARSE, bool HAS_NO_TABLE>
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
        sum = Semiring::add(sum, value);
        stream += stream_step;
        list += list_step;
    }
    return sum;
}

template <class Semiring, bool IS_SPARSE, bool HAS_NO_TABLE>
__device__ float partial_sum(unsigned pairs, const char *staging, const unsigned *stream,
                             unsigned stream_step, unsigned steps, unsigned threads,
                             const unsigned *list, unsigned list_step,
                             const unsigned *row_addresses, unsigned rows)
{
#define PARTIAL_SUM(PAIRS)                                                                         \
    partial_sum<Semiring, PAIRS, IS_SPARSE, HAS_NO_TABLE>(                                         \
        staging, stream, stream_step, steps, threads, list, list_step, row_addresses, rows)
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
// list       for each variable: its first word in the low 16 bits, its number of states above them
// variables  number of variables
// log_lanes  2^log_lanes threads share a variable
// chunks     number of chunks of 32 words in `words`
// out        32 * chunks words of host memory, written: float bits
// parity     the sign bit of all results
__device__ inline void normalise(unsigned long long *words, const unsigned *list,
                                 unsigned variables, unsigned log_lanes, unsigned chunks,
                                 unsigned *out, bool parity)
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
        store_to_host(out + i, bits | (parity ? 0x80000000u : 0u));
    }
}

// The sum of these exponents. NO_EXPONENT counts as 0.
__device__ inline int sum_of_exponents(int4 exponents)
{
    const auto number = [](int exponent) { return exponent == NO_EXPONENT ? 0 : exponent; };
    return number(exponents.x) + number(exponents.y) + number(exponents.z) + number(exponents.w);
}

#define PARAMETERS                                                                                 \
    const uint4 *records, const uint2 *starts, const unsigned *evidence, unsigned flags,           \
        unsigned states, unsigned long long *messages, unsigned long long *p_evidence,             \
        unsigned *posteriors, unsigned epoch, const unsigned *first_timestamps,                    \
        unsigned long long *timestamps

// The arguments of a launch that all work items of this block use.
struct Run {
    const unsigned *weights;         // the weights of all states
    unsigned long long *messages;
    unsigned long long *p_evidence;
    unsigned *posteriors;
    unsigned epoch;
    bool has_evidence;
    bool parity;
    bool raises;
};

// A record in shared memory, and where its parts begin.
struct Record {
    RecordHeader header;
    unsigned *words;
    const unsigned *sources;
    const unsigned *list;
    const unsigned *row_words;
    unsigned rows_per_pass;
    unsigned rows;                   // rows of all passes, including those that are not computed

    __device__ unsigned kind() const { return header.form & KIND; }
    __device__ bool has(unsigned flag) const { return header.form & flag; }
    __device__ unsigned lanes() const { return 1u << header.log_lanes; }
};

// The record that begins at `quads`.
__device__ inline Record record_at(uint4 *quads)
{
    Record record;
    record.header = header_of(quads);
    record.words = reinterpret_cast<unsigned *>(quads);
    record.sources = record.words + HEADER_WORDS;
    const unsigned chunks = record.header.message_chunks + record.header.finding_chunks;
    record.list = record.sources + 32 * chunks;
    record.row_words = record.list + record.header.list_words;
    record.rows_per_pass = record.header.threads >> record.header.log_lanes;
    record.rows = record.header.passes * record.rows_per_pass;
    return record;
}

// Notes when the work items of this block began, had filled their staging buffers, and ended.
// Without TIMESTAMPED it does nothing.
template <bool TIMESTAMPED> struct Stamper {
    unsigned long long *times;       // of the current work item: three numbers
    unsigned long long began, ready;

    __device__ void begin(bool is_continued)
    {
        if (TIMESTAMPED && is_continued) {
            // A further record changes only the end of its work item.
            times -= 3;
        } else if (TIMESTAMPED) {
            began = ready = now();
        }
    }

    __device__ void staged(bool is_continued)
    {
        if (TIMESTAMPED && !is_continued) {
            ready = now();
        }
    }

    __device__ void end()
    {
        if (TIMESTAMPED) {
            if (threadIdx.x == 0) {
                times[0] = began;
                times[1] = ready;
                times[2] = now();
            }
            times += 3;
        }
    }
};

// Waits for the posteriors of a report, normalises them and writes them to host memory. They are
// copied to the words after the record in shared memory.
template <bool TIMESTAMPED>
__device__ inline void report(const Record &record, const Run &run, const NextRecord &next,
                              Stamper<TIMESTAMPED> &stamper)
{
    const unsigned chunks = record.header.message_chunks;
    unsigned long long *words =
        reinterpret_cast<unsigned long long *>(record.words + record.header.words);
    if (chunks <= MEDIUM * WARPS) {
        copy_posteriors<MEDIUM>(words, record.sources, chunks, run.messages, run.epoch, next);
    } else {
        copy_posteriors<STAGING_PER_THREAD>(words, record.sources, chunks, run.messages, run.epoch,
                                            next);
    }
    __syncthreads();
    stamper.staged(false);
    normalise(words, record.list, record.header.list_words, record.header.log_lanes, chunks,
              run.posteriors + record.header.first_posterior, run.parity);
}

// Writes zeros as the results of all rows, because the evidence excludes them.
__device__ inline void store_zeros(const Record &record, const Run &run)
{
    for (unsigned row = threadIdx.x; row < record.rows; row += THREADS) {
        if (record.row_words[row] != ~0u) {
            store_result(record.has(P_EVIDENCE), run.p_evidence, run.messages,
                         record.row_words[row], pack_word(0.0f, 0, run.epoch));
        }
    }
}

// Fills the part of the staging buffer after the messages with the weights of findings.
__device__ inline void stage_findings(float *staging, const Record &record, const Run &run)
{
    const unsigned first = 32 * record.header.message_chunks;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < 32 * record.header.finding_chunks; i += THREADS) {
        const unsigned weight = record.sources[first + i] & NO_SOURCE;
        staging[1 + first + i] =
            weight == NO_SOURCE ? 0.0f : __uint_as_float(__ldg(run.weights + weight));
    }
}

// Fills the staging buffer with messages, and sets `largest` to the largest exponent of each
// message. Returns the exponent of the power of two to multiply the sums by. It undoes the scaling
// of messages to `headroom` and of the table to PEAK.
__device__ inline int stage(float *staging, int4 *largest, const Record &record, const Run &run,
                            const NextRecord &next)
{
    const unsigned chunks = record.header.message_chunks, factors = record.header.messages;
    const int headroom = record.header.headroom;
    int *of_message = reinterpret_cast<int *>(largest);
    if (chunks <= WARPS) {
        stage_messages<1>(staging, of_message, record.sources, chunks, factors, headroom,
                          run.messages, run.epoch, next);
    } else if (chunks <= MEDIUM * WARPS) {
        stage_messages<MEDIUM>(staging, of_message, record.sources, chunks, factors, headroom,
                               run.messages, run.epoch, next);
    } else {
        stage_messages<STAGING_PER_THREAD>(staging, of_message, record.sources, chunks, factors,
                                           headroom, run.messages, run.epoch, next);
    }
    __syncthreads();
    return sum_of_exponents(largest[0]) + sum_of_exponents(largest[1]) -
           static_cast<int>(factors) * headroom - (record.has(NO_TABLE) ? 0 : PEAK);
}

// What a raised run adds to the sum of each row of a record. The largest number of a message is
// below 2^(headroom + 1), and the largest entry of a table is below 2^(PEAK + 1). Staging takes at
// most 2^-126 from each number of a message, whose largest number is at least 2^headroom. In
// `headroom - 2` below, the 2 allows for several messages. The doc of RAISE in
// src/engine/cuda/persistent/interval.rs adds up all errors. A product of the weights of findings
// alone does not underflow, so its row is not raised.
__device__ inline float raise_of(const Record &record)
{
    const RecordHeader &header = record.header;
    if (record.has(NO_TABLE) && header.messages == 0) {
        return 0.0f;
    }
    const int staging = header.messages > 0 ? header.headroom - 2 : PRODUCT_HEADROOM;
    const int messages = header.messages * (header.headroom + 1);
    const int table = record.has(NO_TABLE) ? 0 : PEAK + 1;
    const int entries = 32 - __clz(header.row_entries);
    return with_exponent(0, -126 + RAISE + messages + table + entries -
                                min(staging, PRODUCT_HEADROOM));
}

// Computes the sums of all rows of a record, and stores them times 2^power. The lanes of a row are
// neighbouring threads; `row_lane` is the number of this thread among them.
template <class Semiring>
__device__ inline void sums(const Record &record, const char *staging, int power, const Run &run)
{
    const RecordHeader &header = record.header;
    const bool is_sparse = record.kind() == SPARSE;
    const bool has_no_table = record.has(NO_TABLE), by_class = record.has(BY_CLASS);
    const unsigned all_pairs = header.message_pairs + header.finding_pairs;
    const unsigned pairs = run.has_evidence ? all_pairs : header.message_pairs;
    const unsigned thread = threadIdx.x, threads = header.threads, steps = header.steps;
    const unsigned log_lanes = header.log_lanes, lanes = record.lanes(), rows = record.rows;
    const unsigned row_lane = thread & (lanes - 1);
    const unsigned *row_words = record.row_words, *list = record.list;
    const float raise = run.raises ? raise_of(record) : 0.0f;
    // Words of the stream from one step to the next, and from one pass to the next.
    const unsigned stream_step = is_sparse  ? (all_pairs + !has_no_table) * threads
                                 : by_class ? lanes
                                            : threads;
    const unsigned stream_pass = is_sparse || !(has_no_table || by_class) ? steps * stream_step : 0;
    const unsigned all_row_words = (rows * (is_sparse ? 1 : 1 + all_pairs + by_class) + 3) & ~3u;
    const unsigned *stream = row_words + all_row_words + (by_class ? row_lane : thread);
    for (unsigned row = thread < threads ? thread >> log_lanes : rows; row < rows;
         row += record.rows_per_pass) {
        float sum;
        if (is_sparse) {
            sum = has_no_table
                      ? partial_sum<Semiring, true, true>(pairs, staging, stream, stream_step,
                                                          steps, threads, list, 0, row_words, 0)
                      : partial_sum<Semiring, true, false>(pairs, staging, stream, stream_step,
                                                           steps, threads, list, 0, row_words, 0);
        } else {
            const unsigned *entry = list + row_lane * all_pairs;
            const unsigned *row_addresses = row_words + rows + row;
            const unsigned list_step = all_pairs << log_lanes;
            // The number of entries of this lane. Some lanes have one entry less if the entries of
            // a row are not a multiple of the lanes.
            const unsigned own_steps = (header.row_entries + lanes - 1 - row_lane) >> log_lanes;
            sum = has_no_table
                      ? partial_sum<Semiring, false, true>(pairs, staging, stream, 0, own_steps,
                                                           threads, entry, list_step,
                                                           row_addresses, rows)
                      : partial_sum<Semiring, false, false>(
                            pairs, staging,
                            by_class ? stream + row_addresses[all_pairs * rows] : stream,
                            stream_step, steps, threads, entry, list_step, row_addresses, rows);
        }
        stream += stream_pass;
        for (unsigned half = lanes / 2; half > 0; half /= 2) {
            sum = Semiring::add(sum, __shfl_xor_sync(FULL_MASK, sum, half));
        }
        const unsigned index = row_words[row];
        if (row_lane == 0 && index != ~0u) {
            store_result(record.has(P_EVIDENCE), run.p_evidence, run.messages, index,
                         pack_word(sum + raise, power, run.epoch));
        }
    }
}

// Sets the constants of the staging buffer and the first half of `largest`, and copies the bits of
// the evidence to shared memory.
__device__ inline void prepare(Shared &s, const unsigned *evidence, unsigned bit_words,
                               bool has_evidence)
{
    if (threadIdx.x == 0) {
        s.staging[0] = 1.0f;
        s.staging[1 + STAGING] = 0.0f;
    }
    if (threadIdx.x < MAX_FACTORS) {
        reinterpret_cast<int *>(s.largest[0])[threadIdx.x] = NO_EXPONENT;
    }
    if (has_evidence) {
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < EVIDENCE_BIT_WORDS; i += THREADS) {
            s.evidence_bits[i] = i < bit_words ? evidence[i] : ~0u;
        }
    }
}

// Processes the records of this block's list, one by one.
template <class Semiring, bool TIMESTAMPED> __device__ void run_list(PARAMETERS)
{
    __shared__ Shared s;
    const unsigned bit_words = (states + 31) / 32;
    const Run run = {evidence + bit_words, messages,  p_evidence,         posteriors,
                     epoch,                flags & 1, (flags & 4) != 0, (flags & 8) != 0};
    const unsigned long long policy = record_cache_policy(flags & 2);
    const uint2 start = __ldg(starts + blockIdx.x);
    if (start.y == 0) {
        return;
    }
    const uint4 *next_record = records + start.x;
    unsigned next_quads = start.y;
    prefetch(s.record[0], next_record, next_quads, policy);
    Stamper<TIMESTAMPED> stamper;
    if (TIMESTAMPED) {
        stamper.times = timestamps + 3ull * first_timestamps[blockIdx.x];
    }
    prepare(s, evidence, bit_words, run.has_evidence);
    // The power of two of the sums of a work item, and whether all its rows are zero. Both are kept
    // for the further records of the work item.
    int power = 0;
    bool is_zero = false;
    for (unsigned buffer = 0; next_quads > 0; buffer ^= 1) {
        wait_for_copies();
        // After this barrier this record is complete. No thread uses the other buffer any more, and
        // none still reads the staging buffer for the previous record.
        __syncthreads();
        const Record record = record_at(s.record[buffer]);
        const bool is_continued = record.has(CONTINUED);
        stamper.begin(is_continued);
        next_record += next_quads;
        next_quads = record.header.next_words / 4;
        const NextRecord next = {s.record[buffer ^ 1], next_record, next_quads, policy};
        if (threadIdx.x < MAX_FACTORS) {
            reinterpret_cast<int *>(s.largest[buffer ^ 1])[threadIdx.x] = NO_EXPONENT;
        }
        if (record.kind() == REPORT) {
            report(record, run, next, stamper);
            stamper.end();
            continue;
        }
        if (run.has_evidence && !is_continued) {
            is_zero = is_excluded(s.evidence_bits, record.words + COMMON_STATES_WORD);
        }
        // All other records start this copy when they wait for messages.
        if (is_zero || is_continued) {
            prefetch(next);
        }
        if (is_zero) {
            store_zeros(record, run);
            stamper.end();
            continue;
        }
        if (run.has_evidence) {
            stage_findings(s.staging, record, run);
        }
        if (!is_continued) {
            power = stage(s.staging, s.largest[buffer], record, run, next);
        }
        stamper.staged(is_continued);
        sums<Semiring>(record, reinterpret_cast<const char *>(s.staging), power, run);
        stamper.end();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
propagate(PARAMETERS)
{
    run_list<SEMIRING, false>(records, starts, evidence, flags, states, messages, p_evidence,
                              posteriors, epoch, first_timestamps, timestamps);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_MULTIPROCESSOR)
propagate_timestamped(PARAMETERS)
{
    run_list<SEMIRING, true>(records, starts, evidence, flags, states, messages, p_evidence,
                             posteriors, epoch, first_timestamps, timestamps);
}

// Writes only the word of P(e), because the host waits for this word.
extern "C" __global__ void propagate_empty(PARAMETERS)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        store_to_host(p_evidence, pack_word(0.0f, 0, epoch));
    }
}
