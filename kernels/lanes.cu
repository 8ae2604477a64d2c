// Many cases at once: the lanes of a warp are cases, and all do the same.
//
// A message is computed row by row, and a row is a sum of terms: a constant times an entry of one or
// two other messages (src/engine/batch/plan.rs). Evidence is weights, so rows and terms are those of
// all cases: whatever is not a number of a case is read once for a whole warp, and the numbers of
// the cases lie side by side. Cases come in groups of 32 V, of which a thread has V; messages of a
// group are arrays [entry][case].
//
// For the range of single precision every message has for each case its largest entry, found by an
// atomic maximum, which is the same in whatever order it comes. Who reads the message scales by the
// power of two that brings that near 2^NORMAL (the first factor) or near one (the second), and adds
// up the exponents. Sums are in the order of the terms, so that two runs are bit-equal.
//
// Version: V = 2; with one case a thread it was a fifth slower, with four as fast. A launch a level, a warp an item, the groups one after another, so that blocks that run
// together read the same rows and terms and the messages of few groups.
//
// Launch: lanes_V: grid = (items / 4 rounded up, groups), block = 128 threads.
//         enter_V: grid = (variables / 4 rounded up, groups), block = 128 threads.
//         read_V: grid = (states / 32 rounded up, groups * V), block = 256 threads.
// No dynamic shared memory.
//
// items      an item is some rows of a message: the kind, the first row and the end of the last, 1
//            if it is the message's first item; then the messages, each its first entry and its
//            number: the result, the first factor, the second factor
// rows       first term and end of the last, entry of the result, entry of the second factor
// singles    terms with one factor: constant, entry
// pairs      terms with two factors: constant, entry of the first, entry of the second, unused
// messages   [group][entry][case]
// largest    [group][message][case], as float bits, zero before the first launch
// exponents  [group][message][case]: messages must be multiplied by two to these powers

#include "numbers.cuh"

static const int NORMAL = 32;

struct Item {
    unsigned kind, first, end, begins;
    unsigned result, result_number;
    unsigned factor, factor_number;
    unsigned second, second_number;
    unsigned unused[2];
};

// 2^e for e in -126..127.
__device__ inline float float_power_of_two(int e)
{
    return __int_as_float((127 + e) << 23);
}

template <unsigned V> struct Numbers {
    float of[V];
};

__device__ inline Numbers<2> load(const float *from)
{
    const float2 x = *reinterpret_cast<const float2 *>(from);
    return {{x.x, x.y}};
}

__device__ inline void store(float *to, Numbers<2> x)
{
    *reinterpret_cast<float2 *>(to) = make_float2(x.of[0], x.of[1]);
}

#define PARAMETERS                                                                                 \
    const Item *items, unsigned count, const uint4 *rows, const uint2 *singles,                    \
        const uint4 *pairs, float *messages, unsigned long long entries, unsigned *largest,        \
        int *exponents, unsigned numbers
#define ARGUMENTS                                                                                  \
    items, count, rows, singles, pairs, messages, entries, largest, exponents, numbers

template <unsigned V> __device__ void run(PARAMETERS)
{
    const unsigned L = 32 * V;
    const unsigned number = blockIdx.x * 4 + threadIdx.x / 32;
    if (number >= count) {
        return;
    }
    const unsigned lane = threadIdx.x % 32 * V;
    const Item item = items[number];
    messages += blockIdx.y * entries * L + lane;
    const unsigned long long of_group = static_cast<unsigned long long>(blockIdx.y) * numbers;
    largest += of_group * L + lane;
    exponents += of_group * L + lane;

    Numbers<V> scale, second_scale;
    int exponent[V];
#pragma unroll
    for (unsigned v = 0; v < V; ++v) {
        exponent[v] = 0;
        scale.of[v] = second_scale.of[v] = 1.0f;
        if (item.kind > 0) {
            const unsigned long long at = static_cast<unsigned long long>(item.factor_number) * L;
            const int shift = min(NORMAL - exponent_of(largest[at + v]), 127);
            scale.of[v] = float_power_of_two(shift);
            exponent[v] += exponents[at + v] - shift;
        }
        if (item.kind > 1) {
            const unsigned long long at = static_cast<unsigned long long>(item.second_number) * L;
            const int shift = min(-exponent_of(largest[at + v]), 127);
            second_scale.of[v] = float_power_of_two(shift);
            exponent[v] += exponents[at + v] - shift;
        }
    }
    const float *first = messages + static_cast<unsigned long long>(item.factor) * L;
    const float *second = messages + static_cast<unsigned long long>(item.second) * L;
    float *result = messages + static_cast<unsigned long long>(item.result) * L;
    Numbers<V> most;
#pragma unroll
    for (unsigned v = 0; v < V; ++v) {
        most.of[v] = 0.0f;
    }
    for (unsigned r = item.first; r < item.end; ++r) {
        const uint4 row = rows[r];
        Numbers<V> sum;
#pragma unroll
        for (unsigned v = 0; v < V; ++v) {
            sum.of[v] = 0.0f;
        }
        if (item.kind == 3) {
#pragma unroll 4
            for (unsigned t = row.x; t < row.y; ++t) {
                const uint4 term = pairs[t];
                const float value = __uint_as_float(term.x);
                const Numbers<V> x = load(first + static_cast<unsigned long long>(term.y) * L);
                const Numbers<V> y = load(second + static_cast<unsigned long long>(term.z) * L);
#pragma unroll
                for (unsigned v = 0; v < V; ++v) {
                    sum.of[v] += value * (x.of[v] * scale.of[v]) * y.of[v];
                }
            }
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                sum.of[v] *= second_scale.of[v];
            }
        } else if (item.kind == 0) {
            for (unsigned t = row.x; t < row.y; ++t) {
                const float value = __uint_as_float(singles[t].x);
#pragma unroll
                for (unsigned v = 0; v < V; ++v) {
                    sum.of[v] += value;
                }
            }
        } else {
            Numbers<V> y;
            if (item.kind == 2) {
                y = load(second + static_cast<unsigned long long>(row.w) * L);
            }
#pragma unroll 4
            for (unsigned t = row.x; t < row.y; ++t) {
                const uint2 term = singles[t];
                const float value = __uint_as_float(term.x);
                const Numbers<V> x = load(first + static_cast<unsigned long long>(term.y) * L);
#pragma unroll
                for (unsigned v = 0; v < V; ++v) {
                    sum.of[v] += value * x.of[v];
                }
            }
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                sum.of[v] *= scale.of[v];
                if (item.kind == 2) {
                    sum.of[v] *= y.of[v] * second_scale.of[v];
                }
            }
        }
        store(result + static_cast<unsigned long long>(row.z) * L, sum);
#pragma unroll
        for (unsigned v = 0; v < V; ++v) {
            most.of[v] = fmaxf(most.of[v], sum.of[v]);
        }
    }
    const unsigned long long at = static_cast<unsigned long long>(item.result_number) * L;
#pragma unroll
    for (unsigned v = 0; v < V; ++v) {
        // Numbers of at least zero are in the order of their bits.
        if (most.of[v] > 0.0f) {
            atomicMax(largest + at + v, __float_as_uint(most.of[v]));
        }
        if (item.begins) {
            exponents[at + v] = exponent[v];
        }
    }
}

// Enters the findings.
//
// variables  first entry of the variable's weights, number of that message, states, first state
// packed     [case][variable], zero for nothing, else one and the state; or, if is_soft, as float
//            bits [case][state], weights that are not above one
template <unsigned V>
__device__ void enter(const uint4 *variables, unsigned count, const unsigned *packed,
                      unsigned is_soft, unsigned states, unsigned cases, float *messages,
                      unsigned long long entries, unsigned *largest, int *exponents,
                      unsigned numbers)
{
    const unsigned L = 32 * V;
    const unsigned number = blockIdx.x * 4 + threadIdx.x / 32;
    if (number >= count) {
        return;
    }
    const uint4 variable = variables[number];
    for (unsigned v = 0; v < V; ++v) {
        const unsigned lane = v * 32 + threadIdx.x % 32;
        const unsigned long long c = blockIdx.y * L + lane;
        const bool is_case = c < cases;
        const unsigned code = is_case && !is_soft ? packed[c * count + number] : 0;
        float *to = messages + (blockIdx.y * entries + variable.x) * L + lane;
        for (unsigned s = 0; s < variable.z; ++s) {
            float weight = code == 0 || code == 1 + s ? 1.0f : 0.0f;
            if (is_case && is_soft) {
                weight = __uint_as_float(packed[c * states + variable.w + s]);
            }
            to[static_cast<unsigned long long>(s) * L] = weight;
        }
        const unsigned long long at =
            (static_cast<unsigned long long>(blockIdx.y) * numbers + variable.y) * L + lane;
        largest[at] = __float_as_uint(1.0f);
        exponents[at] = 0;
    }
}

// Reads the posteriors, not normalised, and the power of two of the first variable's.
//
// reads  for each state of each variable the entry of its weight, and that of the others' share
// first  number of the message to the first variable
// out    [case][state], and then the power of two
template <unsigned V>
__device__ void read(const uint2 *reads, unsigned states, const float *messages,
                     unsigned long long entries, const int *exponents, unsigned numbers,
                     unsigned first, unsigned cases, float *out)
{
    const unsigned L = 32 * V;
    __shared__ float tile[32][33];
    const unsigned group = blockIdx.y / V;
    const unsigned lanes = blockIdx.y % V * 32;
    const unsigned column = threadIdx.x % 32;
    messages += group * entries * L + lanes + column;
    for (unsigned s = threadIdx.x / 32; s < 32; s += 8) {
        const unsigned state = blockIdx.x * 32 + s;
        if (state < states) {
            const uint2 at = reads[state];
            tile[s][column] = messages[static_cast<unsigned long long>(at.x) * L] *
                              messages[static_cast<unsigned long long>(at.y) * L];
        }
    }
    __syncthreads();
    const unsigned long long of_case = states + 1;
    for (unsigned lane = threadIdx.x / 32; lane < 32; lane += 8) {
        const unsigned long long c = group * L + lanes + lane;
        if (c >= cases) {
            continue;
        }
        const unsigned state = blockIdx.x * 32 + column;
        if (state < states) {
            out[c * of_case + state] = tile[column][lane];
        }
        if (blockIdx.x == 0 && column == 0) {
            const unsigned long long at =
                (static_cast<unsigned long long>(group) * numbers + first) * L + lanes + lane;
            out[c * of_case + states] = __int_as_float(exponents[at]);
        }
    }
}

#define KERNELS(V)                                                                                 \
    extern "C" __global__ void __launch_bounds__(128) lanes_##V(PARAMETERS) { run<V>(ARGUMENTS); } \
    extern "C" __global__ void enter_##V(                                                          \
        const uint4 *variables, unsigned count, const unsigned *packed, unsigned is_soft,          \
        unsigned states, unsigned cases, float *messages, unsigned long long entries,              \
        unsigned *largest, int *exponents, unsigned numbers)                                       \
    {                                                                                              \
        enter<V>(variables, count, packed, is_soft, states, cases, messages, entries, largest,      \
                 exponents, numbers);                                                              \
    }                                                                                              \
    extern "C" __global__ void read_##V(const uint2 *reads, unsigned states,                       \
                                        const float *messages, unsigned long long entries,         \
                                        const int *exponents, unsigned numbers, unsigned first,    \
                                        unsigned cases, float *out)                                \
    {                                                                                              \
        read<V>(reads, states, messages, entries, exponents, numbers, first, cases, out);          \
    }

KERNELS(2)
