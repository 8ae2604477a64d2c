// A whole propagation in one launch: every message, every posterior and P(e).
//
// All of them are sums of products of the same form, called operations here:
//
//     out[row] = sum over run of  table[row, run] * prod_f message_f[row, run] * prod_v weight_v[state]
//
// The table is a clique's potential; nothing clique-sized is ever written. (Shafer and Shenoy's form
// of propagation: a message down leaves out the message up that it answers, hence there is no
// division.) The weights are those of findings, in the operations of one clique a variable; without
// evidence they are left out. What is zero because of tables alone is neither computed, nor stored,
// nor read.
//
// An operation is cut into items of some rows. Each block has a list of items, made ahead by
// simulating the run. A message is written as words of 64 bits that hold a number, its power of two
// and the number of the run. Who needs an entry reads its word until it is of this run: there are
// no flags, no fences and no second trip. In the order of their simulated starts every item only
// waits for earlier ones, and all blocks are resident, so there is always one that can go on. What
// an item needs but for messages is one record, which is on its way to shared memory while the item
// before it is worked on (on GPUs before compute capability 8.0 it is waited for).
//
// An item reads each message entry that it needs once, into shared memory (the stage), scaled so
// that the largest of the item's has exponent `room`. Sums are in single precision in trees of a fixed
// shape, so that two runs are bit-equal.
//
// All rows of an item may have a state that the evidence excludes: then they are zero, and written
// at once.
//
// Launch: grid = number of lists, all of which must be resident; block = 128 threads, no dynamic
// shared memory. Nothing else that waits like this may run beside it.
//
// records    items, list after list
// starts     first quarter (4 words) of each list in `records`, and the end of the last
// evidence   a bit a state: possible or not; then a weight a state, as float bits
// flags      1 if there is evidence, else that is not read; + 2 if the records are larger than the
//            cache
// states     of all variables
// messages   all messages, a word of 64 bits an entry (see `packed`)
// out        posteriors, not normalised, and P(e), as such words
// tag        number of this run, in 1..4095
//
// A record, in words, a multiple of four of them; it is followed by what the block does next:
//    0 words of this record, of the next one * 2^16
//    1 chunks of 32 words on the stage: of messages, of findings * 2^16
//    2 steps: entries of a row that one thread takes; threads that take part * 2^16
//    3 passes over these threads, log2(lanes of a row) * 2^16, form * 2^24: 0 dense, 1 listed
//    4 pairs of messages, of findings * 2^8, messages * 2^16
//    5 words of the list
//    6 1 if the result is for the host, 0 if a message
//    7 room
//    8 eight states of 16 bits that all rows have; 0xffff: none
//   sources: for each word of the stage which entry of all messages, factor * 2^29; then which weight
//   list, if dense: for each entry of a run and pair, where it stands on the stage
//   rows: for each row of all passes, where its result goes; ~0: nowhere; then, if dense, for each
//   pair and row where it stands on the stage
//   stream: for each pass, step and thread an entry of the table, as float bits; in listed form
//   followed by the places of each pair, for these threads
//   Places are in bytes, 16 bits each of the two of a pair; in dense form those of a row and of an
//   entry are added. The first word of the stage is one, which pairs are filled up with.

#include "numbers.cuh"

static const unsigned HEADER = 12;
static const unsigned MAX_FACTORS = 8;
static const unsigned MAX_BITS = 512;
static const unsigned NO_SOURCE = 0x1fffffff;
static const int NOTHING = -0x40000000;
static const unsigned ALL = 0xffffffffu;
static const unsigned T = 128;
static const unsigned WARPS = T / 32;

// Words of the stage for each thread.
static const unsigned EACH = 6;

// Chunks up to which all of a warp waits; where there are more, one thread does, to leave the
// memory to those who work.
static const unsigned FEW = 4;

// Tables have their largest entry near 2^PEAK.
static const int PEAK = 24;

// Words of a record, at most.
static const unsigned MAX_RECORD = 2560;

struct Shared {
    // That of this item and that of the next.
    uint4 record[2][MAX_RECORD / 4];
    float stage[4 + EACH * T];
    int reference[MAX_FACTORS];
    unsigned bits[MAX_BITS];
};

__device__ inline unsigned long long load(const unsigned long long *word)
{
    unsigned long long value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ inline void store(unsigned long long *word, unsigned long long value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// A number times 2^power, of run `tag`.
__device__ inline unsigned long long packed(float value, int power, unsigned tag)
{
    unsigned high = static_cast<unsigned>(power) << 12 | tag;
    return static_cast<unsigned long long>(high) << 32 | __float_as_uint(value);
}

__device__ inline unsigned tag_of(unsigned long long word)
{
    return static_cast<unsigned>(word >> 32) & 0xfff;
}

// The largest e with 2^e <= the number of this word; NOTHING for zero. Subnormal numbers count as zero.
__device__ inline int exponent_of_word(unsigned long long word)
{
    int field = static_cast<unsigned>(word) >> 23;
    return field == 0 ? NOTHING : field - 127 + (static_cast<int>(word >> 32) >> 12);
}

// The number with these bits, with exponent e instead of its own; zero if that is too small.
__device__ inline float with_exponent(unsigned bits, int e)
{
    return e < -126 ? 0.0f : __uint_as_float((bits & 0x7fffff) | static_cast<unsigned>(e + 127) << 23);
}

__device__ inline unsigned long long now()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
    return time;
}

__device__ inline int largest_of_warp(int value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(ALL, value);
#else
#pragma unroll
    for (unsigned half = 16; half > 0; half /= 2) {
        value = max(value, __shfl_xor_sync(ALL, value, half));
    }
    return value;
#endif
}

// Starts to copy a record to shared memory.
__device__ inline void fetch(uint4 *to, const uint4 *from, unsigned quarters, unsigned long long policy)
{
    for (unsigned i = threadIdx.x; i < quarters; i += T) {
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

// How the cache is to keep records: as other things, or, where they would push messages out of it, shorter.
__device__ inline unsigned long long policy_for(bool is_large)
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

// Waits until all that this thread has fetched is there.
__device__ inline void fetched()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

__device__ inline float at(const char *stage, unsigned place)
{
    return *reinterpret_cast<const float *>(stage + place);
}

// One thread's part of a row's sum. `next`: words from step to step; `list`: the thread's first.
template <unsigned PAIRS, bool LISTED>
__device__ float part_of_sum(const char *stage, const unsigned *stream, unsigned next, unsigned steps,
                             unsigned threads, const unsigned *list, unsigned next_of_list,
                             const unsigned *of_row, unsigned rows)
{
    unsigned base[PAIRS + 1];
    if (!LISTED) {
#pragma unroll
        for (unsigned p = 0; p < PAIRS; ++p) {
            base[p] = of_row[p * rows];
        }
    }
    float sum = 0.0f;
#pragma unroll 4
    for (unsigned k = 0; k < steps; ++k) {
        float value = __uint_as_float(*stream);
#pragma unroll
        for (unsigned p = 0; p < PAIRS; ++p) {
            const unsigned places = LISTED ? stream[(1 + p) * threads] : base[p] + list[p];
            value *= at(stage, places & 0xffff) * at(stage, places >> 16);
        }
        sum += value;
        stream += next;
        list += next_of_list;
    }
    return sum;
}

template <bool LISTED>
__device__ float part_of_sum(unsigned pairs, const char *stage, const unsigned *stream, unsigned next,
                             unsigned steps, unsigned threads, const unsigned *list,
                             unsigned next_of_list, const unsigned *of_row, unsigned rows)
{
    switch (pairs) {
    case 0: return part_of_sum<0, LISTED>(stage, stream, next, steps, threads, list, next_of_list, of_row, rows);
    case 1: return part_of_sum<1, LISTED>(stage, stream, next, steps, threads, list, next_of_list, of_row, rows);
    case 2: return part_of_sum<2, LISTED>(stage, stream, next, steps, threads, list, next_of_list, of_row, rows);
    case 3: return part_of_sum<3, LISTED>(stage, stream, next, steps, threads, list, next_of_list, of_row, rows);
    default: return part_of_sum<4, LISTED>(stage, stream, next, steps, threads, list, next_of_list, of_row, rows);
    }
}

// Whether all rows of a record have a state that the evidence excludes.
__device__ inline bool is_excluded(const unsigned *bits, const unsigned *fixed)
{
    bool is = false;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned a = fixed[i] & 0xffff, b = fixed[i] >> 16;
        is |= a < 32 * MAX_BITS && !(bits[a / 32] >> a % 32 & 1);
        is |= b < 32 * MAX_BITS && !(bits[b / 32] >> b % 32 & 1);
    }
    return is;
}

#define PARAMETERS                                                                                 \
    const uint4 *records, const unsigned *starts, const unsigned *evidence, unsigned flags,        \
        unsigned states, unsigned long long *messages, unsigned long long *out, unsigned tag,      \
        const unsigned *first_stamps, unsigned long long *stamps

template <bool STAMPED> __device__ void run_list(PARAMETERS)
{
    __shared__ Shared s;
    const bool has_evidence = flags & 1;
    const unsigned long long policy = policy_for(flags & 2);
    const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const uint4 *next_record = records + starts[blockIdx.x];
    if (starts[blockIdx.x] == starts[blockIdx.x + 1]) {
        return;
    }
    if (STAMPED) {
        stamps += 3ull * first_stamps[blockIdx.x];
    }
    unsigned next_quarters = (__ldg(reinterpret_cast<const unsigned *>(next_record)) & 0xffff) / 4;
    fetch(s.record[0], next_record, next_quarters, policy);
    if (thread == 0) {
        s.stage[0] = 1.0f;
    }
    if (thread < MAX_FACTORS) {
        s.reference[thread] = NOTHING;
    }
    if (has_evidence) {
        const unsigned bit_words = (states + 31) / 32;
        for (unsigned i = thread; i < MAX_BITS; i += T) {
            s.bits[i] = i < bit_words ? evidence[i] : ~0u;
        }
        evidence += bit_words;
    }
    for (unsigned turn = 0; next_quarters > 0; turn ^= 1, stamps += STAMPED ? 3 : 0) {
        fetched();
        __syncthreads();
        const unsigned long long began = STAMPED ? now() : 0;
        const unsigned *record = reinterpret_cast<const unsigned *>(s.record[turn]);
        next_record += next_quarters;
        next_quarters = (record[0] >> 16) / 4;
        fetch(s.record[turn ^ 1], next_record, next_quarters, policy);

        const unsigned chunks = record[1] & 0xffff;
        const unsigned of_findings = record[1] >> 16;
        const unsigned passes = record[3] & 0xffff;
        const unsigned shift = record[3] >> 16 & 0xff;
        const bool is_listed = record[3] >> 24;
        const unsigned all_pairs = (record[4] & 0xff) + (record[4] >> 8 & 0xff);
        unsigned long long *result = record[6] ? out : messages;
        const int room = static_cast<int>(record[7]);

        const unsigned *sources = record + HEADER;
        const unsigned *list = sources + 32 * (chunks + of_findings);
        const unsigned *of_rows = list + record[5];
        const unsigned threads = record[2] >> 16;
        const unsigned rows_of_pass = threads >> shift;
        const unsigned rows = passes * rows_of_pass;

        if (has_evidence && is_excluded(s.bits, record + 8)) {
            for (unsigned row = thread; row < rows; row += T) {
                if (of_rows[row] != ~0u) {
                    store(result + of_rows[row], packed(0.0f, 0, tag));
                }
            }
            if (STAMPED && thread == 0) {
                stamps[0] = stamps[1] = began;
                stamps[2] = now();
            }
            continue;
        }

        unsigned from[EACH];
        unsigned long long word[EACH];
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
            const unsigned chunk = k * WARPS + warp;
            from[k] = chunk < chunks ? sources[chunk * 32 + lane] : NO_SOURCE;
            word[k] = 0;
            if ((from[k] & NO_SOURCE) != NO_SOURCE) {
                word[k] = load(messages + (from[k] & NO_SOURCE));
            }
        }
        if (has_evidence) {
            for (unsigned i = thread; i < 32 * of_findings; i += T) {
                const unsigned which = sources[32 * chunks + i] & NO_SOURCE;
                s.stage[1 + 32 * chunks + i] =
                    which == NO_SOURCE ? 0.0f : __uint_as_float(__ldg(evidence + which));
            }
        }
        while (true) {
            unsigned missing = ~0u;
#pragma unroll
            for (unsigned k = 0; k < EACH; ++k) {
                if ((from[k] & NO_SOURCE) != NO_SOURCE && tag_of(word[k]) != tag) {
                    missing = from[k] & NO_SOURCE;
                }
            }
            const unsigned who = __ballot_sync(ALL, missing != ~0u);
            if (who == 0) {
                break;
            }
            if (chunks > FEW) {
                if (lane == 31 - __clz(who)) {
                    while (tag_of(load(messages + missing)) != tag) {
                    }
                }
                __syncwarp();
            }
#pragma unroll
            for (unsigned k = 0; k < EACH; ++k) {
                if ((from[k] & NO_SOURCE) != NO_SOURCE && tag_of(word[k]) != tag) {
                    word[k] = load(messages + (from[k] & NO_SOURCE));
                }
            }
        }
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
            if (k * WARPS + warp < chunks) {
                const int largest = largest_of_warp(exponent_of_word(word[k]));
                if (lane == 0) {
                    atomicMax(&s.reference[from[k] >> 29], largest);
                }
            }
        }
        __syncthreads();
        int power = -PEAK;
        for (unsigned f = 0; f < record[4] >> 16; ++f) {
            const int reference = s.reference[f];
            power += (reference == NOTHING ? 0 : reference) - room;
        }
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
            const unsigned chunk = k * WARPS + warp;
            if (chunk < chunks) {
                const int exponent = exponent_of_word(word[k]);
                const int scaled = exponent - s.reference[from[k] >> 29] + room;
                s.stage[1 + chunk * 32 + lane] =
                    exponent == NOTHING ? 0.0f
                                        : with_exponent(static_cast<unsigned>(word[k]), scaled);
            }
        }
        __syncthreads();
        const unsigned long long ready = STAMPED ? now() : 0;
        if (thread < MAX_FACTORS) {
            s.reference[thread] = NOTHING;
        }

        const unsigned pairs = has_evidence ? all_pairs : record[4] & 0xff;
        const unsigned steps = record[2] & 0xffff;
        const unsigned of_row = thread & ((1u << shift) - 1);
        const unsigned next = is_listed ? (1 + all_pairs) * threads : threads;
        const unsigned of_rows_words = (rows * (is_listed ? 1 : 1 + all_pairs) + 3) & ~3u;
        const unsigned *stream = of_rows + of_rows_words + thread;
        const char *stage = reinterpret_cast<const char *>(s.stage);
        for (unsigned row = thread < threads ? thread >> shift : rows; row < rows; row += rows_of_pass) {
            float sum;
            if (is_listed) {
                sum = part_of_sum<true>(pairs, stage, stream, next, steps, threads, list, 0, of_rows, 0);
            } else {
                sum = part_of_sum<false>(pairs, stage, stream, next, steps, threads,
                                         list + of_row * all_pairs, all_pairs << shift, of_rows + rows + row, rows);
            }
            stream += steps * next;
            for (unsigned half = (1u << shift) / 2; half > 0; half /= 2) {
                sum += __shfl_xor_sync(ALL, sum, half);
            }
            const unsigned place = of_rows[row];
            if (of_row == 0 && place != ~0u) {
                store(result + place, packed(sum, power, tag));
            }
        }
        if (STAMPED && thread == 0) {
            stamps[0] = began;
            stamps[1] = ready;
            stamps[2] = now();
        }
    }
}

extern "C" __global__ void __launch_bounds__(T, 8) propagate(PARAMETERS)
{
    run_list<false>(records, starts, evidence, flags, states, messages, out, tag,
                    first_stamps, stamps);
}

extern "C" __global__ void __launch_bounds__(T, 8) propagate_stamped(PARAMETERS)
{
    run_list<true>(records, starts, evidence, flags, states, messages, out, tag,
                   first_stamps, stamps);
}

// One word, so that who waits for results sees the end.
extern "C" __global__ void propagate_empty(PARAMETERS)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        store(out, packed(0.0f, 0, tag));
    }
}
