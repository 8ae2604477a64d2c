// Many cases at once: neighbouring threads compute the same message for different cases.
//
// Called for batches by engine `gpu` (src/engine/cuda/batch/gpu.rs). The twin of these kernels
// (src/engine/cuda/batch/twin.rs) does the same on the CPU over the same buffers.
//
// A message is computed row by row. A row is a sum of terms. A term is a constant, which may be
// multiplied by one entry of another message, or by one entry of each of two other messages
// (src/engine/batch/plan.rs). Evidence consists of weights, so rows and terms are the same for all
// cases: a warp reads them once, and the numbers of neighbouring cases are consecutive in memory.
// Each thread computes V cases. Cases come in groups of 32 V, the cases of a warp, and the messages
// of a group are arrays [entry][case].
//
// A product of two messages is a product of matrices: each entry of a factor is read for many rows.
// So where it pays, four rows are computed together, as a tile. A quad is one term of each of these
// rows. It reads two entries of each factor; four separate terms would read four of each
// (src/engine/batch/tiles.rs).
//
// The terms of a work item come in steps. The factors of a step are copied to shared memory in the
// background, AHEAD steps before they are used, and the record of a step, which says what to copy,
// twice as many steps before. So a warp has several steps on their way at any time, whichever rows
// they belong to, and needs no registers for them. On GPUs below compute capability 8.0, the copies
// are plain loads and stores, for which the warp waits.
//
// To stay within the range of single precision, messages are scaled. The largest entry of each
// message is found for each case by an atomic maximum, which does not depend on the order of the
// threads. A reader multiplies the message by the power of two that brings this entry near 2^PEAK
// (first factor) or near one (second factor), and adds up the exponents. Sums are in the order of
// the terms, so two runs are bit-equal.
//
// The terms of a row are added up in blocks; the records say where a block ends (BLOCK in
// src/engine/batch/kernel.rs). The sums of the blocks are then added up with a correction for
// rounding, so that long sums are as accurate as short ones.
//
// Each row that has terms with factors is raised: it gets an addend that is at least what underflow
// can have taken from the row. So no message is too small, and `bound_loss` bounds what has been
// added to P(e). src/engine/cuda/batch/mod.rs has the argument.
//
// There is one kernel launch per level of the plan: the messages of a level need only messages of
// lower levels. Each warp computes one work item for one group of cases. Groups are the slow index
// of the grid, so blocks that run at the same time read the same rows and terms, and the messages
// of only a few groups.
//
// Versions, with the cases per second of each relative to the one before:
// 1. Each row loaded its own terms, four at a time.
// 2. The factors of four terms were loaded together, even of different rows. On an H200: 1.12 for
//    Munin3, 1.05 to 1.07 for Barley, Diabetes and Munin4.
// 3. The next terms were loaded while the factors of these were on their way. On an H100: 1.04 to
//    1.15. But a warp still waited for loads in more than half of all cycles: of factors, of the
//    next terms and of the next row.
// 4. This one: copies in the background, tiles, no list of rows, larger work items, and four buffer
//    sets, which hide the ends of launches. On an H200: 1.5 for Munin3 and Diabetes, 1.6 for Munin4
//    and Barley. Tiles alone bring 1.03 for Munin3 and 1.4 for Diabetes.
//
// Only V = 2 is compiled: half a warp copies the 64 cases of an entry, 16 bytes in each lane. The
// rings of the 4 warps of a block take 26,496 bytes of shared memory. The launch bound of 6 blocks
// leaves a thread 80 registers; with 5 or 7 blocks it is 1 to 3% slower, with 8 about 10%.
//
// Launch, with groups = cases / (32 V), rounded up; no dynamic shared memory:
//   propagate_batch_V  grid = (work items / 4, groups), block = 128 threads; one launch per level
//   enter_findings_V   grid = (variables / 4, groups), block = 128 threads
//   read_posteriors_V  grid = (states / 32, groups * V), block = 256 threads
//   bound_loss_V       grid = (1, groups * V), block = 256 threads
// All quotients are rounded up.
//
// items      WorkItem[count], the work items of one level
// steps      uint4[], the records of the steps of all work items: the entries of factors that the
//            lower half of a warp copies, those that the upper half copies, the constants of the
//            terms as float bits, and where their rows end (src/engine/cuda/batch/steps.rs). Entries
//            are counted from the first entry of their message.
// messages   float[group][entries][case]
// entries    number of entries for the messages of one case; a message may take the place of others
//            that only the launches for earlier levels read
// largest    unsigned[group][message_count][case]: float bits of the largest entry of each message;
//            for a message from a variable, whose weights are at most one, the float bits of 1.0;
//            zero before the first launch
// exponents  int[group][message_count][case]: a message must be multiplied by two to this power
// levels     int[group][message_count][case], not the levels of the plan: raising has added at most
//            two to this power to all entries of the message together; NOT_RAISED if the message is
//            not raised

#include "memory.cuh"
#include "numbers.cuh"

// The first factor is scaled so that its largest entry is near 2^PEAK. Shared with
// src/engine/cuda/batch.
static const int PEAK = 32;

// A raised row gets what underflow can have taken from it, times two to the power of this. Shared
// with src/engine/cuda/batch.
static const int RAISE = 2;

// The level of messages that are not raised. Shared with src/engine/cuda/batch.
static const int NOT_RAISED = -16777216;

// A record has for each term the entry of the result, if the row ends with this term. Otherwise it
// has END_OF_BLOCK if a block ends with the term, and NONE if not, or if the tile has no such row.
// Shared with src/engine/cuda/batch.
static const unsigned NONE = 4294967295;
static const unsigned END_OF_BLOCK = 4294967294;

// Some rows of one message. Shared with src/engine/cuda/batch.
struct WorkItem {
    unsigned kind;            // one of CONSTANT to TILES
    unsigned first_step;      // position in `steps` of the first step
    unsigned steps;           // number of steps
    unsigned is_first;        // 1 in the first work item of a message, which writes its exponents
    unsigned result;          // first entry of the message that is computed
    unsigned result_message;  // number of the message that is computed
    unsigned factor;          // first entry of the message that is the first factor
    unsigned factor_message;  // number of the message that is the first factor
    unsigned second;          // first entry of the message that is the second factor
    unsigned second_message;  // number of the message that is the second factor
    // The binary logarithm, rounded up, of the number of terms of a row times its largest constant
    // (at least one); the maximum over all rows of the message, or an upper bound for tiles.
    unsigned log_terms;
    unsigned log_rows;  // the binary logarithm of the number of rows of the message, rounded up
};
static_assert(sizeof(WorkItem) == 48, "as in Rust");

// Kinds of work items: what the terms of a row are. Shared with src/engine/cuda/batch.
static const unsigned CONSTANT = 0;     // constants
static const unsigned ONE_FACTOR = 1;   // constants times an entry of the first factor
static const unsigned TWO_FACTORS = 2;  // constants times an entry of each factor
static const unsigned TILES = 3;        // the same, for four rows at a time

// One number for each of the V cases of a thread.
template <unsigned V> struct Numbers {
    float by_case[V];
};

__device__ inline Numbers<2> load(const float *from)
{
    const float2 x = *reinterpret_cast<const float2 *>(from);
    return {{x.x, x.y}};
}

__device__ inline void store(float *to, Numbers<2> x)
{
    *reinterpret_cast<float2 *>(to) = make_float2(x.by_case[0], x.by_case[1]);
}

#define PARAMETERS                                                                                 \
    const WorkItem *items, unsigned count, const uint4 *steps, float *messages,                    \
        unsigned long long entries, unsigned *largest, int *exponents, int *levels,                \
        unsigned message_count
#define ARGUMENTS                                                                                  \
    items, count, steps, messages, entries, largest, exponents, levels, message_count

// The exponent of what is added to each row. A multiplication loses at most half of 2^-149, the
// smallest number of single precision. The loss of a row grows with the number of its terms and
// with their constants (`log_terms`), and with what a product is still multiplied by (`largest`).
// The factors are scaled by two to the power of `shift` and `second_shift`, and are then below
// 2^(PEAK + 1) and 2. One scale is multiplied in only after the terms are summed, so it enlarges
// their loss. If terms have two factors, it is the scale of the second; otherwise that of the first.
__device__ inline int raise_exponent(const WorkItem &item, int shift, int second_shift)
{
    const int scaled = item.kind >= TWO_FACTORS ? second_shift : shift + 1;
    const int largest = max(scaled, PEAK + 2);
    return -149 + RAISE + static_cast<int>(item.log_terms) + largest;
}

// Number of entries of factors in a step. Shared with src/engine/cuda/batch.
static const unsigned STEP_ENTRIES = 8;

// How many steps before its use a step's factors are copied. With 3, the larger rings leave less
// memory to the first-level cache, and the kernel is not faster.
static const unsigned AHEAD = 2;

// Number of steps in the ring of factors and in the ring of records.
static const unsigned FACTOR_SLOTS = AHEAD + 1;
static const unsigned RECORD_SLOTS = 2 * AHEAD + 1;

// Length of the longest record, in uint4.
static const unsigned MAX_RECORD = 6;

// What depends on the kind of a work item. For tiles, a term is a quad.
template <unsigned KIND> struct Shape {
    static const bool HAS_TWO = KIND == TWO_FACTORS || KIND == TILES;
    // Number of entries of each factor that a term has.
    static const unsigned ENTRIES = KIND == TILES ? 2 : 1;
    // Number of rows that are computed together.
    static const unsigned ROWS = ENTRIES * ENTRIES;
    // Number of terms of a step.
    static const unsigned TERMS = STEP_ENTRIES / ENTRIES / (HAS_TWO ? 2 : 1);
    // Number of constants of a step.
    static const unsigned CONSTANTS = TERMS * ROWS;
    // Length of a record, in uint4.
    static const unsigned RECORD = 2 + 2 * (CONSTANTS / 4);
};

// The shared memory of a warp: the records and factors of consecutive steps.
template <unsigned V> struct Rings {
    float factors[FACTOR_SLOTS][STEP_ENTRIES][32 * V];
    uint4 records[RECORD_SLOTS][MAX_RECORD];
};

__device__ inline unsigned component(const uint4 &words, unsigned n)
{
    return n == 0 ? words.x : n == 1 ? words.y : n == 2 ? words.z : words.w;
}

// The slot of a ring of SLOTS slots that comes after `slot`.
template <unsigned SLOTS> __device__ inline unsigned next_slot(unsigned slot)
{
    return slot + 1 == SLOTS ? 0 : slot + 1;
}

// Starts to copy the record of a step, unless the work item has no such step. `length` is the
// length of its records in uint4.
template <unsigned V>
__device__ inline void copy_record(const WorkItem &item, const uint4 *steps, unsigned step,
                                   unsigned length, unsigned slot, Rings<V> &rings)
{
    const unsigned n = threadIdx.x % 32;
    if (step < item.steps && n < length) {
        copy_in_group(&rings.records[slot][n],
                      steps + item.first_step + static_cast<unsigned long long>(step) * length + n);
    }
}

// Starts to copy the records of the first AHEAD steps of a work item of any kind, as one group.
template <unsigned V>
__device__ inline void copy_first_records(const WorkItem &item, const uint4 *steps, Rings<V> &rings)
{
    static_assert(Shape<CONSTANT>::RECORD == MAX_RECORD && Shape<TILES>::RECORD == MAX_RECORD &&
                      Shape<ONE_FACTOR>::RECORD == MAX_RECORD,
                  "only TWO_FACTORS has shorter records");
    const unsigned length = item.kind == TWO_FACTORS ? Shape<TWO_FACTORS>::RECORD : MAX_RECORD;
#pragma unroll
    for (unsigned step = 0; step < AHEAD; ++step) {
        copy_record(item, steps, step, length, step, rings);
    }
    end_group();
}

// Copies the factors and records of a work item of this kind.
template <unsigned V, unsigned KIND> struct Copier {
    static_assert(V == 2, "16 lanes copy the 64 cases of an entry");
    const WorkItem &item;
    const uint4 *steps;
    Rings<V> &rings;
    // The factor that this half of the warp copies, from the first of the four cases that this lane
    // copies of each entry.
    const float *factor;
    // The slots of the next record to be copied, of the record that says which factors are copied
    // next, and of these factors.
    unsigned to_record, from_record, to_factors;

    __device__ Copier(const WorkItem &item, const uint4 *steps, Rings<V> &rings, const float *first,
                      const float *second)
        : item(item), steps(steps), rings(rings), to_record(AHEAD), from_record(0), to_factors(0)
    {
        factor = Shape<KIND>::HAS_TWO && half() == 1 ? second : first;
        factor += threadIdx.x % 16 * 4;
    }

    __device__ static unsigned half() { return threadIdx.x / 16 % 2; }

    // Starts to copy the factors of this step, and the record of the step that is AHEAD steps
    // later, as one group. The record of this step must have been copied.
    __device__ void copy(unsigned step)
    {
        if (KIND != CONSTANT && step < item.steps) {
            const uint4 entries = rings.records[from_record][half()];
#pragma unroll
            for (unsigned n = 0; n < 4; ++n) {
                float *to = rings.factors[to_factors][half() * 4 + n] + threadIdx.x % 16 * 4;
                const unsigned long long entry = component(entries, n);
                copy_in_group(to, factor + entry * 32 * V);
            }
        }
        copy_record(item, steps, step + AHEAD, Shape<KIND>::RECORD, to_record, rings);
        end_group();
        from_record = next_slot<RECORD_SLOTS>(from_record);
        to_factors = next_slot<FACTOR_SLOTS>(to_factors);
        to_record = next_slot<RECORD_SLOTS>(to_record);
    }
};

// The terms of a step. Entries of factors that the kind does not have are undefined.
template <unsigned V, unsigned KIND> struct Terms {
    typedef Shape<KIND> S;
    float constants[S::TERMS][S::ROWS];
    unsigned ends[S::TERMS][S::ROWS];
    Numbers<V> first[S::TERMS][S::ENTRIES], second[S::TERMS][S::ENTRIES];

    // Loads the terms from shared memory.
    __device__ Terms(const uint4 *record, const float (*factors)[32 * V])
    {
        const unsigned first_case = threadIdx.x % 32 * V;
#pragma unroll
        for (unsigned n = 0; n < S::TERMS; ++n) {
#pragma unroll
            for (unsigned i = 0; i < S::ROWS; ++i) {
                const unsigned at = n * S::ROWS + i;
                constants[n][i] = __uint_as_float(component(record[2 + at / 4], at % 4));
                ends[n][i] = component(record[2 + S::CONSTANTS / 4 + at / 4], at % 4);
            }
#pragma unroll
            for (unsigned i = 0; i < S::ENTRIES; ++i) {
                const unsigned at = n * S::ENTRIES + i;
                if (KIND != CONSTANT) {
                    first[n][i] = load(factors[at] + first_case);
                }
                if (S::HAS_TWO) {
                    second[n][i] = load(factors[STEP_ENTRIES / 2 + at] + first_case);
                }
            }
        }
    }
};

// What a warp multiplies its factors by, and what it adds to each row.
template <unsigned V> struct Scales {
    Numbers<V> first, second, raise;
};

// The rows that are computed together: their sums so far.
template <unsigned V, unsigned KIND> struct Sums {
    typedef Shape<KIND> S;
    // Of the terms of this block, and of all blocks before it.
    Numbers<V> block[S::ROWS], sum[S::ROWS];
    // Minus what the additions to `sum` rounded away.
    Numbers<V> lost[S::ROWS];
    // Whether there is a block before this one. Otherwise `sum` and `lost` are zero.
    bool has_blocks;

    // Adds term number `n`.
    __device__ void add(const Terms<V, KIND> &terms, unsigned n, const Scales<V> &scales)
    {
#pragma unroll
        for (unsigned i = 0; i < S::ROWS; ++i) {
            const float constant = terms.constants[n][i];
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                float &total = block[i].by_case[v];
                const float first = terms.first[n][i / S::ENTRIES].by_case[v];
                if (S::HAS_TWO) {
                    total += constant * (first * scales.first.by_case[v]) *
                             terms.second[n][i % S::ENTRIES].by_case[v];
                } else {
                    total += KIND == CONSTANT ? constant : constant * first;
                }
            }
        }
    }

    __device__ void end_block()
    {
#pragma unroll
        for (unsigned i = 0; i < S::ROWS; ++i) {
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                add_compensated(sum[i].by_case[v], lost[i].by_case[v], block[i].by_case[v]);
            }
            block[i] = {};
        }
        has_blocks = true;
    }

    // Stores the rows as the entries `ends` of the result, and starts the next rows. Updates
    // `largest`, the largest entry of each case.
    __device__ void end_rows(const unsigned (&ends)[S::ROWS], float *result,
                             const Scales<V> &scales, Numbers<V> &largest)
    {
        if (has_blocks) {
            end_block();
        }
#pragma unroll
        for (unsigned i = 0; i < S::ROWS; ++i) {
            if (has_blocks) {
                block[i] = sum[i];
                sum[i] = lost[i] = {};
            }
            if (KIND != TILES || ends[i] != NONE) {
#pragma unroll
                for (unsigned v = 0; v < V; ++v) {
                    float &x = block[i].by_case[v];
                    if (KIND != CONSTANT) {
                        x *= S::HAS_TWO ? scales.second.by_case[v] : scales.first.by_case[v];
                        x += scales.raise.by_case[v];
                    }
                    largest.by_case[v] = fmaxf(largest.by_case[v], x);
                }
                store(result + static_cast<unsigned long long>(ends[i]) * 32 * V, block[i]);
            }
            block[i] = {};
        }
        has_blocks = false;
    }
};

// Computes the rows of a work item of this kind, and returns the largest result of each case.
// `first` and `second` are the factors, from the group's first case on; `result` is the message to
// be computed, from the thread's first case on. The copies of the first AHEAD records have been
// started.
template <unsigned V, unsigned KIND>
__device__ Numbers<V> compute_rows(const WorkItem &item, const uint4 *steps, const float *first,
                                   const float *second, float *result, Rings<V> &rings,
                                   const Scales<V> &scales)
{
    typedef Shape<KIND> S;
    Copier<V, KIND> copier(item, steps, rings, first, second);
    wait_for_groups<0>();
    for (unsigned step = 0; step < AHEAD; ++step) {
        copier.copy(step);
    }
    Numbers<V> largest = {};
    Sums<V, KIND> sums = {};
    unsigned record = 0, factors = 0;
    for (unsigned step = 0; step < item.steps; ++step) {
        // Afterwards the factors of this step and the record of step + AHEAD are there, and all
        // lanes have read the step before, whose slots the next copies overwrite.
        wait_for_groups<AHEAD - 1>();
        copier.copy(step + AHEAD);
        const Terms<V, KIND> terms(rings.records[record], rings.factors[factors]);
        record = next_slot<RECORD_SLOTS>(record);
        factors = next_slot<FACTOR_SLOTS>(factors);
#pragma unroll
        for (unsigned n = 0; n < S::TERMS; ++n) {
            sums.add(terms, n, scales);
            unsigned end = NONE;
#pragma unroll
            for (unsigned i = 0; i < S::ROWS; ++i) {
                end = min(end, terms.ends[n][i]);
            }
            if (end == END_OF_BLOCK) {
                sums.end_block();
            } else if (end != NONE) {
                sums.end_rows(terms.ends[n], result, scales, largest);
            }
        }
    }
    return largest;
}

// Computes one work item for one group of cases. Each warp has a work item of its own.
template <unsigned V> __device__ void propagate(PARAMETERS)
{
    const unsigned GROUP = 32 * V;
    const unsigned number = blockIdx.x * 4 + threadIdx.x / 32;
    if (number >= count) {
        return;
    }
    const unsigned first_case = threadIdx.x % 32 * V;
    const WorkItem item = items[number];
    __shared__ Rings<V> rings_of_block[4];
    Rings<V> &rings = rings_of_block[threadIdx.x / 32];
    copy_first_records(item, steps, rings);
    messages += blockIdx.y * entries * GROUP;
    const unsigned long long group_messages =
        static_cast<unsigned long long>(blockIdx.y) * message_count;
    largest += group_messages * GROUP + first_case;
    exponents += group_messages * GROUP + first_case;
    levels += group_messages * GROUP + first_case;

    Scales<V> scales;
    int exponent[V], raised[V];
#pragma unroll
    for (unsigned v = 0; v < V; ++v) {
        exponent[v] = 0;
        scales.first.by_case[v] = scales.second.by_case[v] = 1.0f;
        int shift = 0, second_shift = 0;
        if (item.kind > CONSTANT) {
            const unsigned long long at =
                static_cast<unsigned long long>(item.factor_message) * GROUP;
            shift = min(PEAK - exponent_of(largest[at + v]), 127);
            scales.first.by_case[v] = float_power_of_two(shift);
            exponent[v] += exponents[at + v] - shift;
        }
        if (item.kind > ONE_FACTOR) {
            const unsigned long long at =
                static_cast<unsigned long long>(item.second_message) * GROUP;
            second_shift = min(-exponent_of(largest[at + v]), 127);
            scales.second.by_case[v] = float_power_of_two(second_shift);
            exponent[v] += exponents[at + v] - second_shift;
        }
        raised[v] = raise_exponent(item, shift, second_shift);
        scales.raise.by_case[v] = float_power_of_two(raised[v]);
    }
    const float *first = messages + static_cast<unsigned long long>(item.factor) * GROUP;
    const float *second = messages + static_cast<unsigned long long>(item.second) * GROUP;
    float *result = messages + static_cast<unsigned long long>(item.result) * GROUP + first_case;
    Numbers<V> largest_sum = {};
#define COMPUTE_ROWS(KIND)                                                                         \
    largest_sum = compute_rows<V, KIND>(item, steps, first, second, result, rings, scales)
    switch (item.kind) {
    case CONSTANT:
        COMPUTE_ROWS(CONSTANT);
        break;
    case ONE_FACTOR:
        COMPUTE_ROWS(ONE_FACTOR);
        break;
    case TWO_FACTORS:
        COMPUTE_ROWS(TWO_FACTORS);
        break;
    case TILES:
        COMPUTE_ROWS(TILES);
        break;
    }
#undef COMPUTE_ROWS
    const unsigned long long at = static_cast<unsigned long long>(item.result_message) * GROUP;
#pragma unroll
    for (unsigned v = 0; v < V; ++v) {
        // Non-negative floats are ordered as their bits are.
        if (largest_sum.by_case[v] > 0.0f) {
            atomicMax(largest + at + v, __float_as_uint(largest_sum.by_case[v]));
        }
        if (item.is_first) {
            exponents[at + v] = exponent[v];
            levels[at + v] = item.kind == CONSTANT
                                 ? NOT_RAISED
                                 : raised[v] + 1 + static_cast<int>(item.log_rows);
        }
    }
}

// Enters the findings: writes the message from each variable, which holds a weight per state.
//
// variables  uint4[count]: first entry of the message from the variable, number of this message,
//            states of the variable, first state in the numbering of all states
// packed     [case][variable]: 0 for no finding, 1 + state for an observed state; or, if is_soft,
//            [case][state]: weights of at most one, as float bits
// states     number of states of all variables
template <unsigned V>
__device__ void enter_findings(const uint4 *variables, unsigned count, const unsigned *packed,
                               unsigned is_soft, unsigned states, unsigned cases, float *messages,
                               unsigned long long entries, unsigned *largest, int *exponents,
                               int *levels, unsigned message_count)
{
    const unsigned GROUP = 32 * V;
    const unsigned number = blockIdx.x * 4 + threadIdx.x / 32;
    if (number >= count) {
        return;
    }
    const uint4 variable = variables[number];
    for (unsigned v = 0; v < V; ++v) {
        const unsigned in_group = v * 32 + threadIdx.x % 32;
        const unsigned long long c = blockIdx.y * GROUP + in_group;
        const bool is_case = c < cases;
        const unsigned code = is_case && !is_soft ? packed[c * count + number] : 0;
        float *to = messages + (blockIdx.y * entries + variable.x) * GROUP + in_group;
        for (unsigned s = 0; s < variable.z; ++s) {
            float weight = code == 0 || code == 1 + s ? 1.0f : 0.0f;
            if (is_case && is_soft) {
                weight = __uint_as_float(packed[c * states + variable.w + s]);
            }
            to[static_cast<unsigned long long>(s) * GROUP] = weight;
        }
        const unsigned long long at =
            (static_cast<unsigned long long>(blockIdx.y) * message_count + variable.y) * GROUP +
            in_group;
        largest[at] = __float_as_uint(1.0f);
        exponents[at] = 0;
        levels[at] = NOT_RAISED;
    }
}

// Computes the unnormalised posteriors, and the exponent of the power of two by which the posterior
// of the first variable must be multiplied to sum to P(e), apart from the scales of factors and
// findings, which the host multiplies in. Transposes [state][case] to [case][state] through shared
// memory.
//
// reads          uint2[states]: two message entries, counted from the first one of the case: the
//                weight of the state, and the entry for the state in the message to the variable;
//                the posterior is their product
// first_message  number of the message to the first variable
// out            float[cases][states + 2]; the last but one word of a case is the exponent, as an
//                int
template <unsigned V>
__device__ void read_posteriors(const uint2 *reads, unsigned states, const float *messages,
                                unsigned long long entries, const int *exponents,
                                unsigned message_count, unsigned first_message, unsigned cases,
                                float *out)
{
    const unsigned GROUP = 32 * V;
    __shared__ float tile[32][33];
    const unsigned group = blockIdx.y / V;
    const unsigned first_case = blockIdx.y % V * 32;
    const unsigned column = threadIdx.x % 32;
    messages += group * entries * GROUP + first_case + column;
    for (unsigned s = threadIdx.x / 32; s < 32; s += 8) {
        const unsigned state = blockIdx.x * 32 + s;
        if (state < states) {
            const uint2 at = reads[state];
            tile[s][column] = messages[static_cast<unsigned long long>(at.x) * GROUP] *
                              messages[static_cast<unsigned long long>(at.y) * GROUP];
        }
    }
    __syncthreads();
    const unsigned long long case_words = states + 2;
    for (unsigned in_tile = threadIdx.x / 32; in_tile < 32; in_tile += 8) {
        const unsigned long long c = group * GROUP + first_case + in_tile;
        if (c >= cases) {
            continue;
        }
        const unsigned state = blockIdx.x * 32 + column;
        if (state < states) {
            out[c * case_words + state] = tile[column][in_tile];
        }
        if (blockIdx.x == 0 && column == 0) {
            const unsigned long long at =
                (static_cast<unsigned long long>(group) * message_count + first_message) * GROUP +
                first_case + in_tile;
            out[c * case_words + states] = __int_as_float(exponents[at]);
        }
    }
}

// Bounds the share of P(e) that raising has added. What is added to an entry of a message adds to
// P(e) at most as much, times the largest entry of the message in the other direction.
//
// reads          as for read_posteriors; the states of the first variable come first
// first_states   number of states of the first variable
// first_message  number of the message to the first variable
// out            as for read_posteriors; the last word of a case is the share
template <unsigned V>
__device__ void bound_loss(const uint2 *reads, unsigned first_states, unsigned states,
                           const float *messages, unsigned long long entries,
                           const unsigned *largest, const int *exponents, const int *levels,
                           unsigned message_count, unsigned first_message, unsigned cases,
                           float *out)
{
    const unsigned GROUP = 32 * V;
    __shared__ float shares[8][32];
    const unsigned column = threadIdx.x % 32, slice = threadIdx.x / 32;
    const unsigned group = blockIdx.y / V;
    const unsigned in_group = blockIdx.y % V * 32 + column;
    messages += group * entries * GROUP + in_group;
    const unsigned long long first =
        static_cast<unsigned long long>(group) * message_count * GROUP + in_group;
    largest += first;
    exponents += first;
    levels += first;
    float total = 0.0f;
    for (unsigned state = 0; state < first_states; ++state) {
        const uint2 at = reads[state];
        total += messages[static_cast<unsigned long long>(at.x) * GROUP] *
                 messages[static_cast<unsigned long long>(at.y) * GROUP];
    }
    const int of_total = exponents[static_cast<unsigned long long>(first_message) * GROUP] +
                         exponent_of(__float_as_uint(total));
    float share = 0.0f;
#pragma unroll 4
    for (unsigned message = slice; message < message_count; message += 8) {
        const unsigned long long own = static_cast<unsigned long long>(message) * GROUP;
        // The numbers of the two messages over an edge differ in the lowest bit only.
        const unsigned long long other = static_cast<unsigned long long>(message ^ 1) * GROUP;
        // The largest entry is below two to the power of its exponent plus one.
        const int power = levels[own] + exponents[own] + exponents[other] +
                          exponent_of(largest[other]) + 1 - of_total;
        share += exp2f(static_cast<float>(power));
    }
    shares[slice][column] = share;
    __syncthreads();
    const unsigned long long c = static_cast<unsigned long long>(group) * GROUP + in_group;
    if (slice == 0 && c < cases) {
        for (unsigned s = 1; s < 8; ++s) {
            share += shares[s][column];
        }
        out[c * (states + 2) + states + 1] = share;
    }
}

#define KERNELS(V)                                                                                 \
    extern "C" __global__ void __launch_bounds__(128, 6) propagate_batch_##V(PARAMETERS)           \
    {                                                                                              \
        propagate<V>(ARGUMENTS);                                                                   \
    }                                                                                              \
    extern "C" __global__ void enter_findings_##V(                                                 \
        const uint4 *variables, unsigned count, const unsigned *packed, unsigned is_soft,          \
        unsigned states, unsigned cases, float *messages, unsigned long long entries,              \
        unsigned *largest, int *exponents, int *levels, unsigned message_count)                    \
    {                                                                                              \
        enter_findings<V>(variables, count, packed, is_soft, states, cases, messages, entries,     \
                          largest, exponents, levels, message_count);                              \
    }                                                                                              \
    extern "C" __global__ void read_posteriors_##V(                                                \
        const uint2 *reads, unsigned states, const float *messages, unsigned long long entries,    \
        const int *exponents, unsigned message_count, unsigned first_message, unsigned cases,      \
        float *out)                                                                                \
    {                                                                                              \
        read_posteriors<V>(reads, states, messages, entries, exponents, message_count,             \
                           first_message, cases, out);                                             \
    }                                                                                              \
    extern "C" __global__ void bound_loss_##V(                                                     \
        const uint2 *reads, unsigned first_states, unsigned states, const float *messages,         \
        unsigned long long entries, const unsigned *largest, const int *exponents,                 \
        const int *levels, unsigned message_count, unsigned first_message, unsigned cases,         \
        float *out)                                                                                \
    {                                                                                              \
        bound_loss<V>(reads, first_states, states, messages, entries, largest, exponents, levels,  \
                      message_count, first_message, cases, out);                                   \
    }

KERNELS(2)
