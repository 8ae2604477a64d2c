// Many cases at once: neighbouring threads compute the same message for different cases.
//
// Called for batches by engine `gpu` (src/engine/cuda/batch/gpu.rs). The twin of these kernels
// (src/engine/cuda/batch/twin.rs) does the same on the CPU over the same buffers.
//
// A message is computed row by row. A row is a sum of terms. A term is a constant, which may be
// multiplied by one entry of another message, or by one entry of each of two other messages
// (src/engine/batch/plan.rs). If all terms of a row have the same entry of the second message, the
// sum is multiplied by it instead. Evidence consists of weights, so rows and terms are the same for
// all cases: a warp reads them once, and the numbers of neighbouring cases are consecutive in
// memory. Each thread computes V cases. Cases come in groups of 32 V, the cases of a warp, and the
// messages of a group are arrays [entry][case].
//
// To stay within the range of single precision, messages are scaled. The largest entry of each
// message is found for each case by an atomic maximum, which does not depend on the order of the
// threads. A reader multiplies the message by the power of two that brings this entry near 2^PEAK
// (first factor) or near one (second factor), and adds up the exponents. Sums are in the order of
// the terms, so two runs are bit-equal.
//
// The terms of a row are added up BLOCK at a time. These partial sums are then added up with a
// correction for rounding, so that long sums are as accurate as short ones.
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
// Versions: at first, each row loaded its own terms, four at a time. But half of the rows of Munin3
// have a single term, and a warp waited for the loads of one row after those of another. In the
// second version, the factors of four terms are loaded together, whichever rows the terms belong
// to. On an H200, it computes 1.12 times as many cases per second for Munin3, and 1.05 to 1.07
// times as many for Barley, Diabetes and Munin4. In this third version, the next terms are loaded
// while the factors of these are on their way, and copies between host and GPU overlap with the
// kernels of the other buffer set. On an H100, it computes 1.09 times as many cases per second as
// the second for Munin3, 1.04 for Munin4, 1.11 for Diabetes and 1.15 for Barley. The launch bound
// of 6 blocks leaves a thread 80 registers; with 8 blocks and 64 registers, this version was slower
// than the second.
//
// Only V = 2 is compiled. V = 1 took a fifth longer when this kernel was first measured. V = 4 with
// 128 registers, measured on an H200 against the second version: 0.93 times as many cases per
// second for Munin4, 1.00 for Munin3, 1.10 for Diabetes and 1.21 for Barley.
//
// Launch, with groups = cases / (32 V), rounded up; no dynamic shared memory:
//   propagate_batch_V  grid = (work items / 4, groups), block = 128 threads; one launch per level
//   enter_findings_V   grid = (variables / 4, groups), block = 128 threads
//   read_posteriors_V  grid = (states / 32, groups * V), block = 256 threads
//   bound_loss_V       grid = (1, groups * V), block = 256 threads
// All quotients are rounded up.
//
// items      WorkItem[count], the work items of one level
// rows       uint4: first term, one past the last term, entry of the result, entry of the second
//            factor if the kind is FACTOR_AND_ROW. The terms of the rows of a work item are
//            consecutive; a row without terms begins and ends where the row before it ends. Entries
//            of rows and terms are counted from the first entry of their message.
// singles    uint2, terms with at most one factor: constant as float bits, entry of the factor
// pairs      uint4, terms with two factors: constant as float bits, entry of the first factor,
//            entry of the second factor, unused
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

#include "numbers.cuh"

// The first factor is scaled so that its largest entry is near 2^PEAK. Shared with
// src/engine/cuda/batch.
static const int PEAK = 32;

// A raised row gets what underflow can have taken from it, times two to the power of this. Shared
// with src/engine/cuda/batch.
static const int RAISE = 2;

// Number of terms that are added up without a correction for rounding. Shared with
// src/engine/batch.
static const unsigned BLOCK = 16;

// Number of terms whose factors are loaded at the same time. With a larger number, a thread needs
// more registers, and fewer threads run at the same time.
static const unsigned TOGETHER = 4;

// The level of messages that are not raised. Shared with src/engine/cuda/batch.
static const int NOT_RAISED = -16777216;

// Some rows of one message. Shared with src/engine/cuda/batch.
struct WorkItem {
    unsigned kind;  // one of CONSTANT to TWO_FACTORS
    unsigned first_row;
    unsigned end_row;         // one past the last row
    unsigned is_first;        // 1 in the first work item of a message, which writes its exponents
    unsigned result;          // first entry of the message that is computed
    unsigned result_message;  // number of the message that is computed
    unsigned factor;          // first entry of the message that is the first factor
    unsigned factor_message;  // number of the message that is the first factor
    unsigned second;          // first entry of the message that is the second factor
    unsigned second_message;  // number of the message that is the second factor
    // The binary logarithm, rounded up, of the number of terms of a row times its largest constant
    // (at least one); the maximum over all rows of the message.
    unsigned log_terms;
    unsigned log_rows;  // the binary logarithm of the number of rows of the message, rounded up
};
static_assert(sizeof(WorkItem) == 48, "as in Rust");

// Kinds of work items: what the terms of a row are. Shared with src/engine/cuda/batch.
static const unsigned CONSTANT = 0;    // constants
static const unsigned ONE_FACTOR = 1;  // constants times an entry of the first factor
// As ONE_FACTOR, and the sum is multiplied by an entry of the second factor.
static const unsigned FACTOR_AND_ROW = 2;
static const unsigned TWO_FACTORS = 3;  // constants times an entry of each factor

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
    const WorkItem *items, unsigned count, const uint4 *rows, const uint2 *singles,                \
        const uint4 *pairs, float *messages, unsigned long long entries, unsigned *largest,        \
        int *exponents, int *levels, unsigned message_count
#define ARGUMENTS                                                                                  \
    items, count, rows, singles, pairs, messages, entries, largest, exponents, levels,             \
        message_count

// The exponent of what is added to each row. A multiplication loses at most half of 2^-149, the
// smallest number of single precision. The loss of a row grows with the number of its terms and
// with their constants (`log_terms`), and with what a product is still multiplied by (`largest`).
// The factors are scaled by two to the power of `shift` and `second_shift`, and are then below
// 2^(PEAK + 1) and 2. One scale is multiplied in only after the terms are summed, so it enlarges
// their loss: that of the second factor with TWO_FACTORS, otherwise that of the first.
__device__ inline int raise_exponent(const WorkItem &item, int shift, int second_shift)
{
    const int scaled = item.kind == TWO_FACTORS ? second_shift : shift + 1;
    const int largest = max(scaled, PEAK + 2);
    return -149 + RAISE + static_cast<int>(item.log_terms) + largest;
}

// TOGETHER consecutive terms. Entries of factors that the kind does not have are undefined.
struct Terms {
    float value[TOGETHER];
    unsigned first[TOGETHER];   // entry of the first factor
    unsigned second[TOGETHER];  // entry of the second factor
};

// Loads the terms from number `t` on; the last term of the work item, `end` - 1, in place of those
// behind it.
template <unsigned KIND>
__device__ inline Terms load_terms(const uint2 *singles, const uint4 *pairs, unsigned t,
                                   unsigned end)
{
    Terms terms;
#pragma unroll
    for (unsigned n = 0; n < TOGETHER; ++n) {
        const unsigned at = min(t + n, end - 1);
        if (KIND == TWO_FACTORS) {
            const uint4 term = pairs[at];
            terms.value[n] = __uint_as_float(term.x);
            terms.first[n] = term.y;
            terms.second[n] = term.z;
        } else {
            const uint2 term = singles[at];
            terms.value[n] = __uint_as_float(term.x);
            terms.first[n] = term.y;
        }
    }
    return terms;
}

// Computes the rows of a work item of this kind, and returns the largest result of each case. The
// factors and the result are those of the first case of the thread.
//
// Most rows have only a few terms, and the terms of consecutive rows are consecutive. So the
// factors of TOGETHER terms are loaded at the same time, whichever rows they belong to.
template <unsigned V, unsigned KIND>
__device__ Numbers<V> compute_rows(const WorkItem &item, const uint4 *rows, const uint2 *singles,
                                   const uint4 *pairs, const float *first, const float *second,
                                   float *result, const Numbers<V> &scale,
                                   const Numbers<V> &second_scale, const Numbers<V> &raise)
{
    const unsigned GROUP = 32 * V;
    const unsigned last_row = item.end_row - 1;
    const unsigned end = rows[last_row].y;
    unsigned r = item.first_row;
    // Each row is loaded while the row before it is computed.
    uint4 row = rows[r], next_row = rows[min(r + 1, last_row)];
    Numbers<V> largest = {}, sum = {}, lost = {}, block = {};
    // Stores the sum, and zeros for the rows without terms that follow, and goes to the next row
    // that has terms. Returns whether there is none.
    const auto finish_rows = [&] {
        do {
            Numbers<V> factor;
            if (KIND == FACTOR_AND_ROW) {
                factor = load(second + static_cast<unsigned long long>(row.w) * GROUP);
            }
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                if (KIND == TWO_FACTORS) {
                    sum.by_case[v] *= second_scale.by_case[v];
                } else if (KIND != CONSTANT) {
                    sum.by_case[v] *= scale.by_case[v];
                }
                if (KIND == FACTOR_AND_ROW) {
                    sum.by_case[v] *= factor.by_case[v] * second_scale.by_case[v];
                }
                if (KIND != CONSTANT && row.x < row.y) {
                    sum.by_case[v] += raise.by_case[v];
                }
                largest.by_case[v] = fmaxf(largest.by_case[v], sum.by_case[v]);
            }
            store(result + static_cast<unsigned long long>(row.z) * GROUP, sum);
            if (r == last_row) {
                return true;
            }
            ++r;
            row = next_row;
            next_row = rows[min(r + 1, last_row)];
            sum = lost = {};
        } while (row.x == row.y);
        return false;
    };
    // A row without any term is zero.
    if (row.x == row.y && finish_rows()) {
        return largest;
    }
    // One past the last of the at most BLOCK terms that are added up without a correction.
    unsigned end_of_block = min(row.x + BLOCK, row.y);
    Terms terms = load_terms<KIND>(singles, pairs, row.x, end);
    for (unsigned t = row.x;; t += TOGETHER) {
        Numbers<V> x[TOGETHER], y[TOGETHER];
        float value[TOGETHER];
#pragma unroll
        for (unsigned n = 0; n < TOGETHER; ++n) {
            value[n] = terms.value[n];
            if (KIND != CONSTANT) {
                x[n] = load(first + static_cast<unsigned long long>(terms.first[n]) * GROUP);
            }
            if (KIND == TWO_FACTORS) {
                y[n] = load(second + static_cast<unsigned long long>(terms.second[n]) * GROUP);
            }
        }
        // The next terms are loaded while the factors of these are on their way.
        terms = load_terms<KIND>(singles, pairs, t + TOGETHER, end);
#pragma unroll
        for (unsigned n = 0; n < TOGETHER; ++n) {
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                if (KIND == TWO_FACTORS) {
                    block.by_case[v] +=
                        value[n] * (x[n].by_case[v] * scale.by_case[v]) * y[n].by_case[v];
                } else if (KIND == CONSTANT) {
                    block.by_case[v] += value[n];
                } else {
                    block.by_case[v] += value[n] * x[n].by_case[v];
                }
            }
            if (t + n + 1 == end_of_block) {
#pragma unroll
                for (unsigned v = 0; v < V; ++v) {
                    add_compensated(sum.by_case[v], lost.by_case[v], block.by_case[v]);
                }
                block = {};
                if (end_of_block == row.y && finish_rows()) {
                    return largest;
                }
                end_of_block = min(t + n + 1 + BLOCK, row.y);
            }
        }
    }
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
    messages += blockIdx.y * entries * GROUP + first_case;
    const unsigned long long group_messages =
        static_cast<unsigned long long>(blockIdx.y) * message_count;
    largest += group_messages * GROUP + first_case;
    exponents += group_messages * GROUP + first_case;
    levels += group_messages * GROUP + first_case;

    Numbers<V> scale, second_scale, raise;
    int exponent[V], raised[V];
#pragma unroll
    for (unsigned v = 0; v < V; ++v) {
        exponent[v] = 0;
        scale.by_case[v] = second_scale.by_case[v] = 1.0f;
        int shift = 0, second_shift = 0;
        if (item.kind > CONSTANT) {
            const unsigned long long at =
                static_cast<unsigned long long>(item.factor_message) * GROUP;
            shift = min(PEAK - exponent_of(largest[at + v]), 127);
            scale.by_case[v] = float_power_of_two(shift);
            exponent[v] += exponents[at + v] - shift;
        }
        if (item.kind > ONE_FACTOR) {
            const unsigned long long at =
                static_cast<unsigned long long>(item.second_message) * GROUP;
            second_shift = min(-exponent_of(largest[at + v]), 127);
            second_scale.by_case[v] = float_power_of_two(second_shift);
            exponent[v] += exponents[at + v] - second_shift;
        }
        raised[v] = raise_exponent(item, shift, second_shift);
        raise.by_case[v] = float_power_of_two(raised[v]);
    }
    const float *first = messages + static_cast<unsigned long long>(item.factor) * GROUP;
    const float *second = messages + static_cast<unsigned long long>(item.second) * GROUP;
    float *result = messages + static_cast<unsigned long long>(item.result) * GROUP;
    Numbers<V> largest_sum = {};
#define COMPUTE_ROWS(KIND)                                                                         \
    largest_sum = compute_rows<V, KIND>(item, rows, singles, pairs, first, second, result, scale,  \
                                        second_scale, raise)
    switch (item.kind) {
    case CONSTANT:
        COMPUTE_ROWS(CONSTANT);
        break;
    case ONE_FACTOR:
        COMPUTE_ROWS(ONE_FACTOR);
        break;
    case FACTOR_AND_ROW:
        COMPUTE_ROWS(FACTOR_AND_ROW);
        break;
    case TWO_FACTORS:
        COMPUTE_ROWS(TWO_FACTORS);
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
