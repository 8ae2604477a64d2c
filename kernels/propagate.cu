// A whole propagation in one launch: every message, every posterior and P(e).
//
// All of them are sums of products of the same form, called operations here:
//
//     out[row] = sum over run of  table[row, run] * prod_f message_f[row, run] * prod_v weight_v[state]
//
// The table is a clique's potential, and there is none where nothing of the network is in the clique;
// nothing clique-sized is ever written. (Shafer and Shenoy's form
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
// Posteriors go to the host by items of their own, the reports: each waits for the words of some
// variables as for messages, normalises them, and writes them in a row to memory of the host. The
// sign of each number says which run wrote it: runs take turns.
//
// Launch: grid = number of lists, all of which must be resident; block = 128 threads, no dynamic
// shared memory. Nothing else that waits like this may run beside it.
//
// records    items, list after list
// starts     of each list its first quarter (4 words) in `records`, and the quarters of its first
//            record: none if the list is empty
// evidence   a bit a state: possible or not; then a weight a state, as float bits
// flags      1 if there is evidence, else that is not read; + 2 if the records are larger than the
//            cache; + 4 every other run
// states     of all variables
// messages   all messages and posteriors, not normalised, a word of 64 bits an entry (see `packed`)
// out        P(e), as such a word
// posteriors of all reports, as float bits with the sign of the run
// tag        number of this run, in 1..4095
//
// An item whose rows do not fit into one record goes on in the records that follow. They have no
// sources: the stage is that of the first.
//
// A record, in words, a multiple of four of them; it is followed by what the block does next:
//    0 words of this record, of the next one * 2^16
//    1 chunks of 32 words on the stage: of messages, of findings * 2^16
//    2 steps: entries of a row that one thread takes; threads that take part * 2^16
//    3 passes over these threads, log2(lanes of a row) * 2^16, form * 2^24: 0 dense, 1 listed,
//      2 a report; + 2^26 if it goes on with the item of the record before; + 2^27 if there is no table;
//      + 2^28 if rows are of classes
//    4 pairs of messages, of findings * 2^8, messages * 2^16
//    5 words of the list
//    6 1 if the result is P(e), 0 if a message or posterior; entries of a run * 2^8
//    7 room
//    8 eight states of 16 bits that all rows of the item have; 0xffff: none
//   sources: for each word of the stage which entry of all messages, factor * 2^29; then which weight
//   list, if dense: for each entry of a run and pair, where it stands on the stage
//   rows: for each row of all passes, where its result goes; ~0: nowhere; then, if dense, for each
//   pair and row where it stands on the stage; then, if there are classes, for each row in which word
//   of the stream its entries of the table begin: rows of one class have the same
//   stream: for each pass, step and thread an entry of the table if there is one, as float bits; in
//   listed form followed by the places of each pair, for these threads
//   Places are in bytes, 16 bits each of the two of a pair; in dense form those of a row and of an
//   entry are added. The first word of the stage is one, which pairs are filled up with; that after
//   all others is zero, for products that do not exist in a list without a table.
// A report has its number of variables in word 5, the first place of its results in word 6, and, after
// the sources, for each variable the first of its sources, states * 2^16. Lanes share a variable.

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

// Words for each thread up to which a warp waits by reading all that it lacks. Where there are more it
// reads one word, to leave the memory to those who work.
static const unsigned SPINNING = 2;

// Words for each thread for which there is code of its own, because it is short: this, and one.
static const unsigned MIDDLE = 3;

// Blocks of a multiprocessor.
static const unsigned BLOCKS = 6;

// The kind of an item that brings posteriors to the host.
static const unsigned REPORT = 2;

// Tables have their largest entry near 2^PEAK.
static const int PEAK = 24;

// Words of a record, at most.
static const unsigned MAX_RECORD = 2560;

struct Shared {
    // That of this item and that of the next.
    uint4 record[2][MAX_RECORD / 4];
    float stage[4 + EACH * T];
    // By factor the largest exponent on the stage: of this item, and NOTHING for the next.
    int4 reference[2][MAX_FACTORS / 4];
    unsigned bits[MAX_BITS];
};

#if __CUDA_ARCH__ >= 800
// How the cache is to keep messages: longer than what else there is, which is read once.
__device__ inline unsigned long long policy_of_messages()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    return policy;
}
#endif

__device__ inline unsigned long long load(const unsigned long long *word)
{
    unsigned long long value;
#if __CUDA_ARCH__ >= 800
    asm volatile("ld.relaxed.gpu.global.L2::cache_hint.u64 %0, [%1], %2;"
                 : "=l"(value)
                 : "l"(word), "l"(policy_of_messages())
                 : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
#endif
    return value;
}

__device__ inline void store(unsigned long long *word, unsigned long long value)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("st.relaxed.gpu.global.L2::cache_hint.u64 [%0], %1, %2;" ::"l"(word), "l"(value),
                 "l"(policy_of_messages())
                 : "memory");
#else
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#endif
}

// Writes a result: a message, or for the host to read.
__device__ inline void put(bool is_for_host, unsigned long long *out, unsigned long long *messages,
                           unsigned place, unsigned long long value)
{
    if (is_for_host) {
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(out + place), "l"(value) : "memory");
    } else {
        store(messages + place, value);
    }
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
#pragma unroll
    for (unsigned k = 0; k < MAX_RECORD / 4 / T; ++k) {
        const unsigned i = k * T + threadIdx.x;
        if (i < quarters) {
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

// A record that is to be copied.
struct Next {
    uint4 *to;
    const uint4 *from;
    unsigned quarters;
    unsigned long long policy;
};

__device__ inline void fetch(const Next &next)
{
    fetch(next.to, next.from, next.quarters, next.policy);
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
template <unsigned PAIRS, bool LISTED, bool BARE>
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
#pragma unroll 2
    for (unsigned k = 0; k < steps; ++k) {
        float value = BARE ? 1.0f : __uint_as_float(*stream);
#pragma unroll
        for (unsigned p = 0; p < PAIRS; ++p) {
            const unsigned places = LISTED ? stream[(p + !BARE) * threads] : base[p] + list[p];
            value *= at(stage, places & 0xffff) * at(stage, places >> 16);
        }
        sum += value;
        stream += next;
        list += next_of_list;
    }
    return sum;
}

template <bool LISTED, bool BARE>
__device__ float part_of_sum(unsigned pairs, const char *stage, const unsigned *stream, unsigned next,
                             unsigned steps, unsigned threads, const unsigned *list,
                             unsigned next_of_list, const unsigned *of_row, unsigned rows)
{
#define PART(PAIRS)                                                                                \
    part_of_sum<PAIRS, LISTED, BARE>(stage, stream, next, steps, threads, list, next_of_list, of_row, rows)
    switch (pairs) {
    case 0: return PART(0);
    case 1: return PART(1);
    case 2: return PART(2);
    case 3: return PART(3);
    default: return PART(4);
    }
#undef PART
}

// Whether all rows of a record have a state that the evidence excludes; all of a warp ask.
__device__ inline bool is_excluded(const unsigned *bits, const unsigned *fixed)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned state = reinterpret_cast<const unsigned short *>(fixed)[lane % 8];
    return __any_sync(ALL, state < 32 * MAX_BITS && !(bits[state / 32] >> state % 32 & 1));
}

// Waits for the messages that an item needs, N chunks at most for each warp.
template <unsigned N>
__device__ inline void gather(unsigned (&from)[N], unsigned long long (&word)[N], const unsigned *sources,
                              unsigned chunks, const unsigned long long *messages, unsigned tag,
                              const Next &following)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const unsigned chunk = k * WARPS + warp;
        from[k] = chunk < chunks ? sources[chunk * 32 + lane] : NO_SOURCE;
        // What has no source is a zero of this run.
        word[k] = static_cast<unsigned long long>(tag) << 32;
        if ((from[k] & NO_SOURCE) != NO_SOURCE) {
            word[k] = load(messages + (from[k] & NO_SOURCE));
        }
    }
    fetch(following);
    while (true) {
        bool is_missing = false;
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            is_missing |= tag_of(word[k]) != tag;
        }
        const unsigned who = __ballot_sync(ALL, is_missing);
        if (who == 0) {
            break;
        }
        if (N > SPINNING) {
            unsigned missing = 0;
#pragma unroll
            for (unsigned k = 0; k < N; ++k) {
                if (tag_of(word[k]) != tag) {
                    missing = from[k] & NO_SOURCE;
                }
            }
            // All threads read the same word, so that none is ahead of the others.
            missing = __shfl_sync(ALL, missing, 31 - __clz(who));
            while (tag_of(load(messages + missing)) != tag) {
            }
        }
#pragma unroll
        for (unsigned k = 0; k < N; ++k) {
            if (tag_of(word[k]) != tag) {
                word[k] = load(messages + (from[k] & NO_SOURCE));
            }
        }
    }
}

// Puts the messages that an item needs on the stage, and the largest exponent of each factor in
// `reference`. All threads see them after the next barrier.
template <unsigned N>
__device__ inline void stage_messages(float *stage, int *reference, const unsigned *sources,
                                      unsigned chunks, unsigned factors, int room,
                                      const unsigned long long *messages, unsigned tag,
                                      const Next &following)
{
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned from[N];
    unsigned long long word[N];
    gather<N>(from, word, sources, chunks, messages, tag, following);
    if (N == 1 && chunks == factors) {
        // Each factor is with one warp.
        if (warp < chunks) {
            const int exponent = exponent_of_word(word[0]);
            const int largest = largest_of_warp(exponent);
            if (lane == 0) {
                reference[from[0] >> 29] = largest;
            }
            stage[1 + warp * 32 + lane] =
                exponent == NOTHING ? 0.0f
                                    : with_exponent(static_cast<unsigned>(word[0]), exponent - largest + room);
        }
        return;
    }
    int exponents[N];
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        if (k * WARPS + warp < chunks) {
            exponents[k] = exponent_of_word(word[k]);
            const int largest = largest_of_warp(exponents[k]);
            if (lane == 0) {
                atomicMax(reference + (from[k] >> 29), largest);
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const unsigned chunk = k * WARPS + warp;
        if (chunk < chunks) {
            const int scaled = exponents[k] - reference[from[k] >> 29] + room;
            stage[1 + chunk * 32 + lane] =
                exponents[k] == NOTHING ? 0.0f : with_exponent(static_cast<unsigned>(word[k]), scaled);
        }
    }
}

// Puts the messages that a report needs into `raw` as they are.
template <unsigned N>
__device__ inline void gather_raw(unsigned long long *raw, const unsigned *sources, unsigned chunks,
                                  const unsigned long long *messages, unsigned tag,
                                  const Next &following)
{
    unsigned from[N];
    unsigned long long word[N];
    gather<N>(from, word, sources, chunks, messages, tag, following);
#pragma unroll
    for (unsigned k = 0; k < N; ++k) {
        const unsigned chunk = k * WARPS + threadIdx.x / 32;
        if (chunk < chunks) {
            raw[chunk * 32 + threadIdx.x % 32] = word[k];
        }
    }
}

// Normalises the posteriors of some variables and writes them for the host, with the sign of the
// run. `list`: of each variable its first word, states * 2^16. 2^shift threads take a variable.
__device__ inline void report(unsigned long long *raw, const unsigned *list, unsigned variables,
                              unsigned shift, unsigned chunks, unsigned *out, bool turn)
{
    const unsigned share = 1u << shift;
    const unsigned group = threadIdx.x >> shift, first = threadIdx.x & (share - 1);
    for (unsigned all = 0; all < variables; all += T >> shift) {
        const unsigned variable = all + group < variables ? list[all + group] : 0;
        unsigned long long *words = raw + (variable & 0xffff);
        const unsigned states = variable >> 16;
        int largest = NOTHING;
        for (unsigned i = first; i < states; i += share) {
            largest = max(largest, exponent_of_word(words[i]));
        }
        for (unsigned half = share / 2; half > 0; half /= 2) {
            largest = max(largest, __shfl_xor_sync(ALL, largest, half));
        }
        float sum = 0.0f;
        for (unsigned i = first; i < states; i += share) {
            const int exponent = exponent_of_word(words[i]);
            const float value =
                exponent == NOTHING ? 0.0f
                                    : with_exponent(static_cast<unsigned>(words[i]), exponent - largest);
            sum += value;
            words[i] = __float_as_uint(value);
        }
        for (unsigned half = share / 2; half > 0; half /= 2) {
            sum += __shfl_xor_sync(ALL, sum, half);
        }
        const float scale = sum > 0.0f ? 1.0f / sum : 0.0f;
        for (unsigned i = first; i < states; i += share) {
            words[i] = __float_as_uint(__uint_as_float(static_cast<unsigned>(words[i])) * scale);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 32 * chunks; i += T) {
        const unsigned word = static_cast<unsigned>(raw[i]) & 0x7fffffff;
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(out + i),
                     "r"(word | (turn ? 0x80000000u : 0u))
                     : "memory");
    }
}

// The sum of the references that are some.
__device__ inline int sum_of(int4 of)
{
    return (of.x == NOTHING ? 0 : of.x) + (of.y == NOTHING ? 0 : of.y) +
           (of.z == NOTHING ? 0 : of.z) + (of.w == NOTHING ? 0 : of.w);
}

#define PARAMETERS                                                                                 \
    const uint4 *records, const uint2 *starts, const unsigned *evidence, unsigned flags,           \
        unsigned states, unsigned long long *messages, unsigned long long *out,                    \
        unsigned *posteriors, unsigned tag, const unsigned *first_stamps,                          \
        unsigned long long *stamps

template <bool STAMPED> __device__ void run_list(PARAMETERS)
{
    __shared__ Shared s;
    const bool has_evidence = flags & 1;
    const unsigned long long policy = policy_for(flags & 2);
    const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const uint2 start = __ldg(starts + blockIdx.x);
    if (start.y == 0) {
        return;
    }
    const uint4 *next_record = records + start.x;
    if (STAMPED) {
        stamps += 3ull * first_stamps[blockIdx.x];
    }
    unsigned next_quarters = start.y;
    fetch(s.record[0], next_record, next_quarters, policy);
    if (thread == 0) {
        s.stage[0] = 1.0f;
        s.stage[1 + EACH * T] = 0.0f;
    }
    if (thread < MAX_FACTORS) {
        reinterpret_cast<int *>(s.reference[0])[thread] = NOTHING;
    }
    if (has_evidence) {
        const unsigned bit_words = (states + 31) / 32;
#pragma unroll 1
        for (unsigned i = thread; i < MAX_BITS; i += T) {
            s.bits[i] = i < bit_words ? evidence[i] : ~0u;
        }
        evidence += bit_words;
    }
    // Of the item: what its numbers are to be multiplied by, and whether it is all zero.
    int power = 0;
    bool is_nothing = false;
    for (unsigned turn = 0; next_quarters > 0; turn ^= 1) {
        fetched();
        __syncthreads();
        const unsigned long long began = STAMPED ? now() : 0;
        const unsigned *record = reinterpret_cast<const unsigned *>(s.record[turn]);
        const uint4 head = s.record[turn][0], form = s.record[turn][1];
        next_record += next_quarters;
        next_quarters = (head.x >> 16) / 4;
        const Next following = {s.record[turn ^ 1], next_record, next_quarters, policy};
        if (thread < MAX_FACTORS) {
            reinterpret_cast<int *>(s.reference[turn ^ 1])[thread] = NOTHING;
        }

        const unsigned chunks = head.y & 0xffff;
        const unsigned of_findings = head.y >> 16;
        const unsigned passes = head.w & 0xffff;
        const unsigned shift = head.w >> 16 & 0xff;
        const unsigned kind = head.w >> 24 & 3;
        const bool goes_on = head.w >> 26 & 1;
        const bool is_bare = head.w >> 27 & 1, by_class = head.w >> 28;
        const bool is_listed = kind == 1;
        const unsigned all_pairs = (form.x & 0xff) + (form.x >> 8 & 0xff);
        const unsigned factors = form.x >> 16;
        const bool is_for_host = form.z & 1;
        const int room = static_cast<int>(form.w);

        const unsigned *sources = record + HEADER;
        const unsigned *list = sources + 32 * (chunks + of_findings);
        const unsigned *of_rows = list + form.y;
        const unsigned threads = head.z >> 16;
        const unsigned rows_of_pass = threads >> shift;
        const unsigned rows = passes * rows_of_pass;

        if (kind == REPORT) {
            unsigned long long *raw = reinterpret_cast<unsigned long long *>(
                reinterpret_cast<unsigned *>(s.record[turn]) + (head.x & 0xffff));
            if (chunks <= MIDDLE * WARPS) {
                gather_raw<MIDDLE>(raw, sources, chunks, messages, tag, following);
            } else {
                gather_raw<EACH>(raw, sources, chunks, messages, tag, following);
            }
            __syncthreads();
            const unsigned long long ready = STAMPED ? now() : 0;
            report(raw, sources + 32 * chunks, form.y, shift, chunks, posteriors + form.z, flags & 4);
            if (STAMPED) {
                if (thread == 0) {
                    stamps[0] = began;
                    stamps[1] = ready;
                    stamps[2] = now();
                }
                stamps += 3;
            }
            continue;
        }

        if (STAMPED && goes_on) {
            stamps -= 3;
        }
        if (has_evidence && !goes_on) {
            is_nothing = is_excluded(s.bits, record + 8);
        }
        if (is_nothing || goes_on) {
            fetch(following);
        }
        if (is_nothing) {
            for (unsigned row = thread; row < rows; row += T) {
                if (of_rows[row] != ~0u) {
                    put(is_for_host, out, messages, of_rows[row], packed(0.0f, 0, tag));
                }
            }
            if (STAMPED) {
                if (thread == 0) {
                    stamps[0] = stamps[1] = began;
                    stamps[2] = now();
                }
                stamps += 3;
            }
            continue;
        }

        if (has_evidence) {
#pragma unroll 1
            for (unsigned i = thread; i < 32 * of_findings; i += T) {
                const unsigned which = sources[32 * chunks + i] & NO_SOURCE;
                s.stage[1 + 32 * chunks + i] =
                    which == NO_SOURCE ? 0.0f : __uint_as_float(__ldg(evidence + which));
            }
        }
        if (!goes_on) {
            int *reference = reinterpret_cast<int *>(s.reference[turn]);
            if (chunks <= WARPS) {
                stage_messages<1>(s.stage, reference, sources, chunks, factors, room, messages, tag, following);
            } else if (chunks <= MIDDLE * WARPS) {
                stage_messages<MIDDLE>(s.stage, reference, sources, chunks, factors, room, messages, tag, following);
            } else {
                stage_messages<EACH>(s.stage, reference, sources, chunks, factors, room, messages, tag, following);
            }
            __syncthreads();
            power = sum_of(s.reference[turn][0]) + sum_of(s.reference[turn][1]) -
                    static_cast<int>(factors) * room - (is_bare ? 0 : PEAK);
        }
        const unsigned long long ready = STAMPED ? now() : 0;
        const unsigned pairs = has_evidence ? all_pairs : form.x & 0xff;
        const unsigned steps = head.z & 0xffff;
        const unsigned of_row = thread & ((1u << shift) - 1);
        // Words of the stream from step to step, and those that stay when a pass is done.
        const unsigned next = is_listed ? (all_pairs + !is_bare) * threads : by_class ? 1u << shift : threads;
        const unsigned next_of_pass = is_listed || !(is_bare || by_class) ? steps * next : 0;
        const unsigned of_rows_words = (rows * (is_listed ? 1 : 1 + all_pairs + by_class) + 3) & ~3u;
        const unsigned *stream = of_rows + of_rows_words + (by_class ? of_row : thread);
        const char *stage = reinterpret_cast<const char *>(s.stage);
        for (unsigned row = thread < threads ? thread >> shift : rows; row < rows; row += rows_of_pass) {
            float sum;
            if (is_listed) {
                sum = is_bare ? part_of_sum<true, true>(pairs, stage, stream, next, steps, threads, list, 0, of_rows, 0)
                              : part_of_sum<true, false>(pairs, stage, stream, next, steps, threads, list, 0, of_rows, 0);
            } else {
                const unsigned *entry = list + of_row * all_pairs, *base = of_rows + rows + row;
                const unsigned next_of_list = all_pairs << shift;
                // The last step may not be for all.
                const unsigned own = ((form.z >> 8) + (1u << shift) - 1 - of_row) >> shift;
                sum = is_bare ? part_of_sum<false, true>(pairs, stage, stream, 0, own, threads, entry, next_of_list, base, rows)
                              : part_of_sum<false, false>(pairs, stage, by_class ? stream + base[all_pairs * rows] : stream, next, steps, threads, entry, next_of_list, base, rows);
            }
            stream += next_of_pass;
            for (unsigned half = (1u << shift) / 2; half > 0; half /= 2) {
                sum += __shfl_xor_sync(ALL, sum, half);
            }
            const unsigned place = of_rows[row];
            if (of_row == 0 && place != ~0u) {
                put(is_for_host, out, messages, place, packed(sum, power, tag));
            }
        }
        if (STAMPED) {
            if (thread == 0) {
                if (!goes_on) {
                    stamps[0] = began;
                    stamps[1] = ready;
                }
                stamps[2] = now();
            }
            stamps += 3;
        }
    }
}

extern "C" __global__ void __launch_bounds__(T, BLOCKS) propagate(PARAMETERS)
{
    run_list<false>(records, starts, evidence, flags, states, messages, out, posteriors,
                    tag, first_stamps, stamps);
}

extern "C" __global__ void __launch_bounds__(T, BLOCKS) propagate_stamped(PARAMETERS)
{
    run_list<true>(records, starts, evidence, flags, states, messages, out, posteriors,
                   tag, first_stamps, stamps);
}

// One word, so that who waits for results sees the end.
extern "C" __global__ void propagate_empty(PARAMETERS)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        store(out, packed(0.0f, 0, tag));
    }
}
