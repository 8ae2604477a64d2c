// A whole propagation in one launch: every message, every posterior and P(e); and many of them.
//
// All of them are sums of products of the same form, called operations here:
//
//     out[row] = sum over run of  table[row, run] * findings[row, run] * prod_f message_f[row, run]
//
// The table is a clique's potential, in a copy whose slow digits are the variables of out, so that
// a sum runs over consecutive entries; nothing clique-sized is ever written. (Shafer and Shenoy's
// form of propagation: a message down leaves out the message up that it answers, hence there is no
// division.)
//
// An operation is cut into items of some rows. Each block has a list of items, made ahead by
// simulating the run. A message is written as words of 64 bits that hold a number, its power of two
// and the number of the run. Who needs an entry reads its word until it is of this run: there are
// no flags, no fences and no second trip. In the order of their simulated starts every item only
// waits for earlier ones, and all blocks are resident, so there is always one that can go on. What
// an item needs but for messages is one record, which is on its way while the item before it is
// worked on.
//
// An observed variable may fix a digit: rows and entries of other states are then neither computed
// nor read nor waited for, in any operation. Or it is a likelihood as others are: these are weights in
// the operations of one clique.
//
// An item reads each message entry that it needs once, into shared memory (the stage), scaled so
// that the largest of the item's has exponent `room`. Sums are in single precision in trees of a
// fixed shape, so that two runs are bit-equal.
//
// Version: dataflow with a static schedule, words that carry their own readiness, results written
// to the host's memory. `propagate_stamped` also notes when items begin, have what they wait for, and end.
// `propagate_cases` gives each block whole cases, one after another.
//
// Launch: grid = number of lists, all of which must be resident (`propagate_cases`: any number);
// block = as many threads as the name says, no dynamic shared memory. Nothing else that waits like
// this may run beside it.
//
// records    items, list after list
// starts     first quarter (4 words) of each list in `records`, and the end of the last
// evidence   a word a variable: 0 nothing, 1 likelihoods, else 2 + the state that its digit is
//            fixed at; then a weight a state, as float bits; not read if !has_evidence
// messages   all messages, a word of 64 bits an entry (see `packed`)
// out        posteriors, not normalised, and P(e), as such words
// tag        number of this run, in 1..4095
//
// A record, in words, a multiple of four of them; it is followed by what the block does next:
//    0 rows             1 first row       2 entries of a row       3 entries from row to row
//    4 factors          5 chunks of 32 words on the stage           6 words of this record
//    7 1 if the result is for the host, 0 if a message              8 first word of the result
//    9 digits          10 places from word                         11 table from word
//   12 lanes of a row  13 room            14-15 the factor of each chunk, 4 bits each
//   digits:  variable, first weight, stride, states, 1 if of rows + 2 if likelihoods count here
//   sources: which entry of all messages stands at each word of the stage; ~0: none
//   places:  of 16 bits: where rows stand on the stage, by factor, then entries of a run likewise
//   table:   the item's part of the potential, as float bits, row by row

#include "numbers.cuh"

static const unsigned HEADER = 16;
static const unsigned DIGIT = 5;
static const unsigned MAX_FACTORS = 7;
static const unsigned MAX_DIGITS = 64;
static const int NOTHING = -0x40000000;
static const unsigned ALL = 0xffffffffu;

// Words of the stage for each thread.
static const unsigned EACH = 4;

// Chunks up to which all of a warp waits; where there are more, one thread does, to leave the
// memory to those who work.
static const unsigned FEW = 2;

// Tables have their largest entry near 2^PEAK.
static const int PEAK = 24;

// The memory of a block of T threads.
template <unsigned T> struct Shared {
    uint4 record[3 * T];
    // Messages. Before they are there: weights of rows and of entries.
    float stage[EACH * T];
    int reference[MAX_FACTORS + 1];
    // What the findings leave: rows, entries of a run, words of the stage; and how many.
    unsigned short rows[T];
    unsigned short run[3 * T];
    unsigned needed[EACH * T / 32];
    unsigned observed[MAX_DIGITS];
    unsigned left[2];
    float sums[T / 32];
};

template <unsigned T> __device__ inline void together()
{
    if (T == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

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

__device__ inline int power_of(unsigned long long word)
{
    return static_cast<int>(word >> 32) >> 12;
}

// The largest e with 2^e <= the number of this word; NOTHING for zero. Subnormal numbers count as zero.
__device__ inline int exponent_of_word(unsigned long long word)
{
    int field = static_cast<unsigned>(word) >> 23;
    return field == 0 ? NOTHING : field - 127 + power_of(word);
}

// The number with these bits, with exponent e instead of its own.
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

// The part of one row's sum that falls to one lane.
template <unsigned F>
__device__ float lane_sum(const float *stage, const float *table, const unsigned short *places,
                          unsigned row, unsigned rows, unsigned run, unsigned lane, unsigned lanes)
{
    const float *message[F + 1];
#pragma unroll
    for (unsigned f = 0; f < F; ++f) {
        message[f] = stage + places[f * rows + row];
    }
    places += F * rows;
    float sum = 0.0f;
#pragma unroll 2
    for (unsigned i = lane; i < run; i += lanes) {
        float value = table[i];
#pragma unroll
        for (unsigned f = 0; f < F; ++f) {
            value *= message[f][places[f * run + i]];
        }
        sum += value;
    }
    return sum;
}

__device__ inline float lane_sum(const float *stage, const float *table, const unsigned short *places,
                          unsigned factors, unsigned row, unsigned rows, unsigned run,
                          unsigned lane, unsigned lanes)
{
    switch (factors) {
    case 0: return lane_sum<0>(stage, table, places, row, rows, run, lane, lanes);
    case 1: return lane_sum<1>(stage, table, places, row, rows, run, lane, lanes);
    case 2: return lane_sum<2>(stage, table, places, row, rows, run, lane, lanes);
    case 3: return lane_sum<3>(stage, table, places, row, rows, run, lane, lanes);
    case 4: return lane_sum<4>(stage, table, places, row, rows, run, lane, lanes);
    case 5: return lane_sum<5>(stage, table, places, row, rows, run, lane, lanes);
    case 6: return lane_sum<6>(stage, table, places, row, rows, run, lane, lanes);
    default: return lane_sum<7>(stage, table, places, row, rows, run, lane, lanes);
    }
}

// Writes to `list` which of the `count` rows or entries from `first` on the findings leave, and to
// `weights` their weights. Returns how many there are.
__device__ unsigned select(const unsigned *observed, const unsigned *digit, unsigned digits,
                           unsigned of_rows, unsigned first, unsigned count, unsigned short *list,
                           float *weights, const float *likelihoods)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned kept = 0;
    for (unsigned base = 0; base < count; base += 32) {
        const unsigned i = base + lane;
        bool is_kept = i < count;
        float weight = 1.0f;
        for (unsigned n = 0; n < digits; ++n) {
            const unsigned *d = digit + DIGIT * n;
            const unsigned found = observed[n];
            if (found == 0 || (d[4] & 1) != of_rows) {
                continue;
            }
            const unsigned state = (first + i) / d[2] % d[3];
            if (found > 1) {
                is_kept = is_kept && state == found - 2;
            } else if (d[4] & 2) {
                weight *= likelihoods[d[1] + state];
            }
        }
        const unsigned which = __ballot_sync(ALL, is_kept);
        if (is_kept) {
            const unsigned place = kept + __popc(which & ((1u << lane) - 1));
            list[place] = static_cast<unsigned short>(i);
            weights[place] = weight;
        }
        kept += __popc(which);
    }
    __syncwarp();
    return kept;
}

// Leaves in the record only what the findings leave: places and table, these times the weights.
// How many rows and entries that are goes to s.left. All moves are toward the beginning, 32 at a
// time: this is for one warp.
template <unsigned T>
__device__ void slice(Shared<T> &s, unsigned *record, const float *likelihoods)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned factors = record[4], digits = record[9];
    unsigned rows = record[0], run = record[2];
    const unsigned *digit = record + HEADER;
    float *weights = s.stage;
    const unsigned rows_before = rows, run_before = run, stride_before = record[3];
    rows = select(s.observed, digit, digits, 1, record[1], rows, s.rows, weights, likelihoods);
    if (lane == 0) {
        s.left[0] = rows;
    }
    if (rows == 0) {
        return;
    }
    float *run_weights = weights + rows;
    run = select(s.observed, digit, digits, 0, 0, run, s.run, run_weights, likelihoods);
    if (lane == 0) {
        s.left[1] = run;
    }
    const unsigned stride = run | 1;
    unsigned short *places = reinterpret_cast<unsigned short *>(record + record[10]);
    for (unsigned side = 0; side < 2; ++side) {
        const unsigned count = side == 0 ? rows : run;
        const unsigned short *list = side == 0 ? s.rows : s.run;
        for (unsigned f = 0; f < factors; ++f) {
            const unsigned from = side == 0 ? f * rows_before : factors * rows_before + f * run_before;
            const unsigned to = side == 0 ? f * rows : factors * rows + f * run;
            for (unsigned i = lane; i - lane < count; i += 32) {
                const unsigned short place = i < count ? places[from + list[i]] : 0;
                __syncwarp();
                if (i < count) {
                    places[to + i] = place;
                }
                __syncwarp();
            }
        }
    }
    // Which words of the stage are still needed.
    for (unsigned i = lane; i < EACH * T / 32; i += 32) {
        s.needed[i] = 0;
    }
    __syncwarp();
    for (unsigned i = lane; i < rows * run; i += 32) {
        const unsigned row = i / run, entry = i - row * run;
        for (unsigned f = 0; f < factors; ++f) {
            const unsigned w = places[f * rows + row] + places[factors * rows + f * run + entry];
            atomicOr(&s.needed[w / 32], 1u << w % 32);
        }
    }
    __syncwarp();
    unsigned *sources = record + HEADER + DIGIT * digits;
    for (unsigned chunk = 0; chunk < record[5]; ++chunk) {
        if (!(s.needed[chunk] >> lane & 1)) {
            sources[chunk * 32 + lane] = ~0u;
        }
    }
    float *table = reinterpret_cast<float *>(record + record[11]);
    for (unsigned i = lane; i - lane < rows * run; i += 32) {
        const unsigned row = i / run, entry = i - row * run;
        float value = 0.0f;
        if (i < rows * run) {
            value = table[s.rows[row] * stride_before + s.run[entry]] * weights[row]
                    * run_weights[entry];
        }
        __syncwarp();
        if (i < rows * run) {
            table[row * stride + entry] = value;
        }
        __syncwarp();
    }
}

__device__ inline uint4 quarter(const uint4 *record, const uint4 *end)
{
    return record < end ? __ldg(record) : make_uint4(0, 0, 0, 0);
}

template <unsigned T, bool STAMPED>
__device__ void run_items(Shared<T> &s, const uint4 *next_record, const uint4 *end,
                          const unsigned *evidence, bool has_evidence, unsigned variables,
                          unsigned long long *messages, unsigned long long *out, unsigned tag,
                          unsigned long long *stamps)
{
    const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const unsigned WARPS = T / 32;
    unsigned *record = reinterpret_cast<unsigned *>(s.record);
    uint4 ahead = quarter(next_record + thread, end);
    for (; next_record < end; stamps += STAMPED ? 3 : 0) {
        together<T>();
        s.record[thread] = ahead;
        if (thread < MAX_FACTORS) {
            s.reference[thread] = NOTHING;
        }
        together<T>();
        unsigned long long began = STAMPED ? now() : 0;
        const unsigned quarters = record[6] / 4;
        if (quarters > T) {
            for (unsigned i = T + thread; i < quarters; i += T) {
                s.record[i] = __ldg(next_record + i);
            }
            together<T>();
        }
        next_record += quarters;
        ahead = quarter(next_record + thread, end);
        if (thread % 8 == 0 && next_record + T + thread < end) {
            asm volatile("prefetch.global.L2 [%0];" ::"l"(next_record + T + thread));
        }
        unsigned rows = record[0];
        unsigned run = record[2];
        unsigned stride = record[3];
        unsigned lanes = record[12];
        const unsigned factors = record[4];
        const unsigned chunks = record[5];
        const unsigned digits = record[9];
        const int room = record[13];
        const unsigned long long factor_of =
            static_cast<unsigned long long>(record[15]) << 32 | record[14];

        bool is_sliced = false;
        if (has_evidence) {
            for (unsigned n = thread; n < digits; n += T) {
                const unsigned *digit = record + HEADER + DIGIT * n;
                const unsigned found = evidence[digit[0]];
                s.observed[n] = found;
                is_sliced |= found > 1 || (found == 1 && digit[4] & 2);
            }
            is_sliced = T == 32 ? __any_sync(ALL, is_sliced) : __syncthreads_or(is_sliced);
            if (is_sliced) {
                if (warp == 0) {
                    slice(s, record, reinterpret_cast<const float *>(evidence + variables));
                }
                together<T>();
                rows = s.left[0];
                run = s.left[1];
                stride = run | 1;
                if (rows == 0) {
                    if (STAMPED && thread == 0) {
                        stamps[0] = began;
                        stamps[1] = stamps[2] = now();
                    }
                    continue;
                }
                // A power of two: as many as there are threads for, and entries.
                lanes = rows >= T ? 1 : 1u << (31 - __clz(T / rows));
                lanes = min(lanes, run <= 1 ? 1 : 2u << (31 - __clz(run - 1)));
                lanes = rows > 1 ? min(lanes, 32u) : lanes;
            }
        }

        // The messages, scaled. Each warp has consecutive chunks.
        const unsigned each = (chunks + WARPS - 1) / WARPS;
        const unsigned first = warp * each;
        unsigned from[EACH];
        unsigned long long word[EACH];
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
            from[k] = ~0u;
            word[k] = 0;
            if (k < each && first + k < chunks) {
                from[k] = record[HEADER + DIGIT * digits + (first + k) * 32 + lane];
            }
        }
        while (true) {
            unsigned missing = ~0u;
#pragma unroll
            for (unsigned k = 0; k < EACH; ++k) {
                if (from[k] != ~0u && tag_of(word[k]) != tag) {
                    word[k] = load(messages + from[k]);
                }
            }
#pragma unroll
            for (unsigned k = 0; k < EACH; ++k) {
                if (from[k] != ~0u && tag_of(word[k]) != tag) {
                    missing = from[k];
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
        }
        int largest = NOTHING;
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
            const unsigned chunk = first + k;
            if (k < each && chunk < chunks) {
                largest = max(largest, exponent_of_word(word[k]));
                const unsigned f = factor_of >> 4 * chunk & 15;
                if (k + 1 >= each || chunk + 1 >= chunks || (factor_of >> 4 * (chunk + 1) & 15) != f) {
#pragma unroll
                    for (unsigned half = 16; half > 0; half /= 2) {
                        largest = max(largest, __shfl_xor_sync(ALL, largest, half));
                    }
                    if (lane == 0) {
                        atomicMax(&s.reference[f], largest);
                    }
                    largest = NOTHING;
                }
            }
        }
        together<T>();
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
            const unsigned chunk = first + k;
            if (k < each && chunk < chunks) {
                const int exponent = exponent_of_word(word[k]);
                const int reference = s.reference[factor_of >> 4 * chunk & 15];
                s.stage[chunk * 32 + lane] =
                    exponent == NOTHING
                        ? 0.0f
                        : with_exponent(static_cast<unsigned>(word[k]), exponent - reference + room);
            }
        }
        int power = -PEAK;
        for (unsigned f = 0; f < factors; ++f) {
            power += (s.reference[f] == NOTHING ? 0 : s.reference[f]) - room;
        }
        together<T>();
        unsigned long long ready = STAMPED ? now() : 0;

        unsigned long long *result = (record[7] ? out : messages) + record[8];
        const float *table = reinterpret_cast<const float *>(record + record[11]);
        const unsigned short *places =
            reinterpret_cast<const unsigned short *>(record + record[10]);
        const unsigned of_row = thread & (lanes - 1);
        // Lanes are a power of two.
        const unsigned shift = 31 - __clz(lanes);
        for (unsigned row = thread >> shift; row - (thread >> shift) < rows; row += T >> shift) {
            float sum = 0.0f;
            if (row < rows) {
                sum = lane_sum(s.stage, table + row * stride, places, factors, row, rows, run,
                               of_row, lanes);
            }
            for (unsigned half = min(lanes, 32u) / 2; half > 0; half /= 2) {
                sum += __shfl_xor_sync(ALL, sum, half);
            }
            if (T > 32 && lanes > 32) {
                if (lane == 0) {
                    s.sums[warp] = sum;
                }
                together<T>();
                sum = 0.0f;
                for (unsigned w = 0; w < WARPS; ++w) {
                    sum += s.sums[w];
                }
            }
            if (row < rows && of_row == 0) {
                store(result + (is_sliced ? s.rows[row] : row), packed(sum, power, tag));
            }
        }
        if (STAMPED && thread == 0) {
            stamps[0] = began;
            stamps[1] = ready;
            stamps[2] = now();
        }
    }
}

#define PARAMETERS                                                                                 \
    const uint4 *records, const unsigned *starts, const unsigned *evidence, unsigned has_evidence, \
        unsigned variables, unsigned long long *messages, unsigned long long *out, unsigned tag,   \
        const unsigned *first_stamps, unsigned long long *stamps
#define CASES                                                                                      \
    const uint4 *records, unsigned long long record_quarters, const unsigned *evidence,            \
        unsigned evidence_words, unsigned variables, unsigned long long *messages,                 \
        unsigned message_words, unsigned long long *out, unsigned out_words, unsigned cases,       \
        unsigned tag

template <unsigned T, bool STAMPED> __device__ void run_list(PARAMETERS)
{
    __shared__ Shared<T> s;
    run_items<T, STAMPED>(s, records + starts[blockIdx.x], records + starts[blockIdx.x + 1],
                          evidence, has_evidence, variables, messages, out, tag,
                          STAMPED ? stamps + 3ull * first_stamps[blockIdx.x] : stamps);
}

template <unsigned T> __device__ void run_cases(CASES)
{
    __shared__ Shared<T> s;
    messages += static_cast<unsigned long long>(blockIdx.x) * message_words;
    for (unsigned c = blockIdx.x; c < cases; c += gridDim.x, ++tag) {
        run_items<T, false>(s, records, records + record_quarters,
                            evidence + static_cast<unsigned long long>(c) * evidence_words, true,
                            variables, messages,
                            out + static_cast<unsigned long long>(c) * out_words, tag, nullptr);
    }
}

#define ARGUMENTS                                                                                  \
    records, starts, evidence, has_evidence, variables, messages, out, tag, first_stamps, stamps
#define KERNELS(T, BLOCKS)                                                                         \
    extern "C" __global__ void __launch_bounds__(T, BLOCKS) propagate_##T(PARAMETERS)              \
    {                                                                                              \
        run_list<T, false>(ARGUMENTS);                                                             \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(T, BLOCKS) propagate_stamped_##T(PARAMETERS)      \
    {                                                                                              \
        run_list<T, true>(ARGUMENTS);                                                              \
    }

KERNELS(128, 8)

// Many cases: block b takes cases b, b + blocks, ..., in its own part of `messages`, with tags from
// `tag` on. Evidence and results of case c begin at c * evidence_words and c * out_words.
extern "C" __global__ void __launch_bounds__(64, 16) propagate_cases_64(CASES)
{
    run_cases<64>(records, record_quarters, evidence, evidence_words, variables, messages,
                  message_words, out, out_words, cases, tag);
}

// One word, so that who waits for results sees the end.
extern "C" __global__ void propagate_empty(PARAMETERS)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        store(out, packed(0.0f, 0, tag));
    }
}
