// A whole propagation in one launch: every message, every posterior and P(e).
//
// All of them are sums of products of the same form, called operations here:
//
//     out[row] = sum over run of  table[row, run] * findings[row, run] * prod_f message_f[row, run]
//
// The table is a clique's potential, in a copy whose slow digits are the variables of out, so that
// a sum runs over consecutive entries; nothing clique-sized is ever written. Messages are found by
// offsets of the row and of the entry. (Shafer and Shenoy's form of propagation: a message down leaves out the
// message up that it answers, hence there is no division.)
//
// An operation is cut into items, and each block has a list of items, made ahead by simulating the
// run. Blocks wait for each other's results at slots in global memory.
// In the order of their simulated starts every item only waits for earlier ones, and all blocks are
// resident, so there is always one that can go on. What does not depend on others is done before
// waiting: offsets, findings, and asking for the table.
//
// Sums are in single precision in trees of a fixed shape, so that two runs are bit-equal. Messages
// are scaled to a largest entry in [1, 2) as they are read, by the power of two of their largest
// entry, which stands beside them.
//
// Version: dataflow with a static schedule; tables of long rows lie row by row, those of short rows
// entry by entry, so that threads that run together read side by side. `propagate_stamped` also notes when items begin, have
// what they wait for, and end.
//
// Launch: grid = number of lists, of which as many as there are must be resident; block = 256
// threads, no dynamic shared memory. Nothing else that waits like this may run beside it.
//
// records    items, record_words each, list after list
// starts     first item of each list, and the end of the last
// tables     all copies of the potentials
// offsets    where each row and each entry of a run stands in each factor: by factor, then entry
// evidence   active[variables], then one weight a state, as float bits; not read if !has_evidence
// messages   all messages
// partials   sums of parts of rows
// arrived    parts done by operation, never reset: counted up in every run
// slots      one an item (one an operation whose rows are in parts): what those who wait look at,
//              bits 0-31   bits of the largest entry that the item wrote
//              bits 32-55  power of two that the message must be multiplied by, beside its scale
//              bits 56-63  number of the run, modulo 255, from 1
// out        posteriors, not normalised; P(e); the power of two of P(e)
// run        number of this run, from 1
//
// A record, in words:
//    0 rows             1 first row       2 entries of a row here   3 first of them
//    4-5 table, first entry (all ones: no table)
//    6 out, first row   7 operation       8 factors                 9 run stride
//   10 row stride      11 findings       12 lanes of a row         13 parts of a row (1: whole)
//   14 partial sum     15 items of the operation                   16 rows of the operation
//   17 kind: 0 message, 1 posterior, 2 P(e)                        18 first partial sum
//   19 out, first row of the operation   20 slot                   21 offsets of rows
//   22 offsets of runs                   23 entries of a whole row
//   strides are those of the table
//   factors:  message, first slot, number of slots
//   findings: variable, first weight, stride, states, 1 if a digit of rows

#include "numbers.cuh"

static const unsigned THREADS = 256;
static const unsigned OFFSETS = 6144;
static const unsigned RECORD = 256;
static const unsigned HEADER = 24;
static const unsigned MAX_FACTORS = 7;

// What stands for one where there is no table; tables have their largest entry near it.
static const float ONE = 1099511627776.0f;  // 2^40

struct Shared {
    unsigned record[RECORD];
    unsigned offsets[OFFSETS];
    float scales[MAX_FACTORS];
    unsigned bits[MAX_FACTORS];
    int powers[MAX_FACTORS];
    float sums[THREADS / 32];
    unsigned largest;
    unsigned last;
};

__device__ inline unsigned long long acquire(const unsigned long long *slot)
{
    unsigned long long value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(slot) : "memory");
    return value;
}

__device__ inline void release(unsigned long long *slot, unsigned long long value)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(slot), "l"(value) : "memory");
}

__device__ inline unsigned long long now()
{
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
    return time;
}

// The part of one row's sum that falls to one lane.
template <unsigned F, bool TABLE>
__device__ float lane_sum(const Shared &s, const float *table, const float *messages, unsigned row,
                          unsigned rows, unsigned run, unsigned lane, unsigned lanes)
{
    const float *base[F + 1];
    float scale[F + 1];
    const unsigned *row_offsets = s.offsets + (F + 1) * run;
#pragma unroll
    for (unsigned f = 0; f < F; ++f) {
        base[f] = messages + s.record[HEADER + 3 * f] + row_offsets[f * rows + row];
        scale[f] = s.scales[f];
    }
    const unsigned stride = s.record[9];
    table += row * s.record[10];
    float sum = 0.0f;
#pragma unroll(F <= 2 ? 8 : 4)
    for (unsigned i = lane; i < run; i += lanes) {
        float value = __uint_as_float(s.offsets[F * run + i]) * (TABLE ? __ldg(table + i * stride) : ONE);
#pragma unroll
        for (unsigned f = 0; f < F; ++f) {
            // In this order: a scaled message alone may be too small for a float.
            value = value * base[f][s.offsets[f * run + i]] * scale[f];
        }
        sum += value;
    }
    return sum;
}

__device__ float lane_sum(const Shared &s, const float *table, const float *messages,
                          unsigned factors, unsigned row, unsigned rows, unsigned run,
                          unsigned lane, unsigned lanes)
{
    if (table == nullptr) {
        switch (factors) {
        case 2: return lane_sum<2, false>(s, table, messages, row, rows, run, lane, lanes);
        case 3: return lane_sum<3, false>(s, table, messages, row, rows, run, lane, lanes);
        case 4: return lane_sum<4, false>(s, table, messages, row, rows, run, lane, lanes);
        case 5: return lane_sum<5, false>(s, table, messages, row, rows, run, lane, lanes);
        case 6: return lane_sum<6, false>(s, table, messages, row, rows, run, lane, lanes);
        default: return lane_sum<7, false>(s, table, messages, row, rows, run, lane, lanes);
        }
    }
    switch (factors) {
    case 0: return lane_sum<0, true>(s, table, messages, row, rows, run, lane, lanes);
    case 1: return lane_sum<1, true>(s, table, messages, row, rows, run, lane, lanes);
    case 2: return lane_sum<2, true>(s, table, messages, row, rows, run, lane, lanes);
    case 3: return lane_sum<3, true>(s, table, messages, row, rows, run, lane, lanes);
    case 4: return lane_sum<4, true>(s, table, messages, row, rows, run, lane, lanes);
    case 5: return lane_sum<5, true>(s, table, messages, row, rows, run, lane, lanes);
    case 6: return lane_sum<6, true>(s, table, messages, row, rows, run, lane, lanes);
    default: return lane_sum<7, true>(s, table, messages, row, rows, run, lane, lanes);
    }
}

// Offsets in each factor of rows or of entries of a run, and their weights by the findings.
__device__ void prepare(Shared &s, unsigned at, unsigned count, unsigned first, unsigned whole,
                        const unsigned *offsets, unsigned factors, const unsigned *findings,
                        unsigned finding_count, unsigned of_rows, const unsigned *evidence,
                        const float *weights)
{
    for (unsigned i = threadIdx.x; i < count; i += THREADS) {
#pragma unroll 4
        for (unsigned f = 0; f < factors; ++f) {
            s.offsets[at + f * count + i] = __ldg(offsets + f * whole + first + i);
        }
        float weight = 1.0f;
        for (unsigned n = 0; n < finding_count; ++n) {
            const unsigned *finding = findings + 5 * n;
            if (finding[4] == of_rows && evidence[finding[0]] != 0) {
                weight *= weights[finding[1] + (first + i) / finding[2] % finding[3]];
            }
        }
        s.offsets[at + factors * count + i] = __float_as_uint(weight);
    }
}

__device__ inline void fetch(unsigned *words, const unsigned *records, unsigned record_words,
                             unsigned item, unsigned end)
{
#pragma unroll
    for (unsigned i = 0; i < RECORD / THREADS; ++i) {
        unsigned word = threadIdx.x + i * THREADS;
        words[i] = item < end && word < record_words
                       ? records[static_cast<unsigned long long>(item) * record_words + word]
                       : 0;
    }
}

template <bool STAMPED>
__device__ void run_lists(const unsigned *records, unsigned record_words, const unsigned *starts,
                          const float *tables, const unsigned *offsets, const unsigned *evidence, unsigned has_evidence,
                          unsigned variables, float *messages, float *partials,
                          unsigned *arrived, unsigned long long *slots, float *out,
                          unsigned run_number, unsigned long long *stamps)
{
    __shared__ Shared s;
    const unsigned thread = threadIdx.x;
    const unsigned tag = 1 + run_number % 255;
    const float *weights = reinterpret_cast<const float *>(evidence + variables);
    unsigned item = starts[blockIdx.x];
    const unsigned end = starts[blockIdx.x + 1];
    // Each record is fetched while the one before it is worked on.
    unsigned next[RECORD / THREADS];
    fetch(next, records, record_words, item, end);
    for (; item < end; ++item) {
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < RECORD / THREADS; ++i) {
            s.record[thread + i * THREADS] = next[i];
        }
        if (thread < MAX_FACTORS) {
            s.bits[thread] = 0;
        }
        if (thread == THREADS - 1) {
            s.largest = 0;
        }
        fetch(next, records, record_words, item + 1, end);
        __syncthreads();
        unsigned long long began = STAMPED ? now() : 0;

        const unsigned rows = s.record[0];
        const unsigned first_row = s.record[1];
        const unsigned run = s.record[2];
        const unsigned first = s.record[3];
        const unsigned operation = s.record[7];
        const unsigned factors = s.record[8];
        const unsigned run_stride = s.record[9];
        const unsigned findings = has_evidence ? s.record[11] : 0;
        const unsigned parts = s.record[13];
        const unsigned kind = s.record[17];
        const bool is_message = kind == 0;
        const unsigned *finding = s.record + HEADER + 3 * factors;

        // All that waits for nobody. The table is on its way to the L2 cache meanwhile.
        const unsigned long long start =
            s.record[4] | static_cast<unsigned long long>(s.record[5]) << 32;
        const float *table = start == ~0ull ? nullptr : tables + start;
        if (table != nullptr) {
            const bool by_rows = run_stride == 1;
            const unsigned lines = ((by_rows ? rows * run : rows) + 31) / 32;
            for (unsigned i = thread; i < (by_rows ? 1 : run) * lines; i += THREADS) {
                const float *line = table + i / lines * run_stride + i % lines * 32;
                asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
            }
        }
        prepare(s, 0, run, first, s.record[23], offsets + s.record[22], factors, finding, findings,
                0, evidence, weights);
        const unsigned row_part = (factors + 1) * run;
        prepare(s, row_part, rows, first_row, s.record[16], offsets + s.record[21], factors,
                finding, findings, 1, evidence, weights);

        for (unsigned f = 0; f < factors; ++f) {
            const unsigned *factor = s.record + HEADER + 3 * f;
            for (unsigned i = thread; i < factor[2]; i += THREADS) {
                unsigned long long slot;
                do {
                    slot = acquire(slots + factor[1] + i);
                } while (slot >> 56 != tag);
                atomicMax(&s.bits[f], static_cast<unsigned>(slot));
                if (i == 0) {
                    s.powers[f] = static_cast<int>(slot >> 24) >> 8;
                }
            }
        }
        __syncthreads();
        int power = 0;
        for (unsigned f = 0; f < factors; ++f) {
            power += s.powers[f] + exponent_of(s.bits[f]);
        }
        if (thread < factors) {
            s.scales[thread] = static_cast<float>(power_of_two(-exponent_of(s.bits[thread])));
        }
        __syncthreads();
        unsigned long long ready = STAMPED ? now() : 0;

        const unsigned lanes = s.record[12];
        float *result = is_message ? messages : out;
        result = parts > 1 ? partials + s.record[14] : result + s.record[6];
        const float *row_weights =
            reinterpret_cast<const float *>(s.offsets + row_part + factors * rows);
        unsigned of_thread = 0;
        if (lanes <= 32) {
            const unsigned lane = thread % lanes;
            const unsigned step = THREADS / lanes;
            for (unsigned base = 0; base < rows; base += step) {
                const unsigned row = base + thread / lanes;
                float sum = 0.0f;
                if (row < rows) {
                    sum = lane_sum(s, table, messages, factors, row, rows, run, lane, lanes);
                }
                for (unsigned half = lanes / 2; half > 0; half /= 2) {
                    sum += __shfl_xor_sync(0xffffffffu, sum, half);
                }
                if (row < rows && lane == 0) {
                    sum *= row_weights[row];
                    result[row] = sum;
                    of_thread = max(of_thread, __float_as_uint(sum));
                }
            }
        } else {
            for (unsigned row = 0; row < rows; ++row) {
                float sum = lane_sum(s, table, messages, factors, row, rows, run, thread, THREADS);
                for (unsigned half = 16; half > 0; half /= 2) {
                    sum += __shfl_xor_sync(0xffffffffu, sum, half);
                }
                if (thread % 32 == 0) {
                    s.sums[thread / 32] = sum;
                }
                __syncthreads();
                if (thread == 0) {
                    sum = 0.0f;
                    for (unsigned w = 0; w < THREADS / 32; ++w) {
                        sum += s.sums[w];
                    }
                    sum *= row_weights[row];
                    result[row] = sum;
                    of_thread = max(of_thread, __float_as_uint(sum));
                }
                __syncthreads();
            }
        }
        if (parts == 1 && is_message && of_thread != 0) {
            atomicMax(&s.largest, of_thread);
        }
        __syncthreads();
        bool is_whole = true;
        if (parts > 1) {
            // Whoever arrives last adds up the parts.
            const unsigned items = s.record[15];
            if (thread == 0) {
                __threadfence();
                s.last = atomicAdd(arrived + operation, 1u) + 1 == run_number * items;
                __threadfence();
            }
            __syncthreads();
            is_whole = s.last;
            if (is_whole) {
                const float *of_operation = partials + s.record[18];
                float *whole = (is_message ? messages : out) + s.record[19];
                for (unsigned row = thread; row < s.record[16]; row += THREADS) {
                    float sum = 0.0f;
                    for (unsigned part = 0; part < parts; ++part) {
                        sum += __ldcg(of_operation + row * parts + part);
                    }
                    whole[row] = sum;
                    atomicMax(&s.largest, __float_as_uint(sum));
                }
                __syncthreads();
            }
        }
        if (thread == 0 && is_whole) {
            if (is_message) {
                unsigned long long state = static_cast<unsigned>(power) & 0xffffffu;
                release(slots + s.record[20],
                        static_cast<unsigned long long>(tag) << 56 | state << 32 | s.largest);
            }
            if (kind == 2) {
                out[s.record[19] + 1] = static_cast<float>(power);
            }
        }
        if (STAMPED && thread == 0) {
            stamps[3ull * item] = began;
            stamps[3ull * item + 1] = ready;
            stamps[3ull * item + 2] = now();
        }
    }
}

#define PARAMETERS                                                                                 \
    const unsigned *records, unsigned record_words, const unsigned *starts, const float *tables,   \
        const unsigned *offsets, const unsigned *evidence, unsigned has_evidence, unsigned variables, float *messages,      \
        float *partials, unsigned *arrived, unsigned long long *slots, float *out,                 \
        unsigned run_number, unsigned long long *stamps
#define ARGUMENTS                                                                                  \
    records, record_words, starts, tables, offsets, evidence, has_evidence, variables, messages, partials,  \
        arrived, slots, out, run_number, stamps

extern "C" __global__ void __launch_bounds__(256, 5) propagate(PARAMETERS)
{
    run_lists<false>(ARGUMENTS);
}

extern "C" __global__ void __launch_bounds__(256, 5) propagate_stamped(PARAMETERS)
{
    run_lists<true>(ARGUMENTS);
}

extern "C" __global__ void __launch_bounds__(256, 5) propagate_empty(PARAMETERS)
{
}
