// Propagation without tables of cliques, for junction trees of any size.
//
// Called by engine `gpu` for large trees (src/engine/cuda/table_free/gpu.rs). The twin of these
// kernels (src/engine/cuda/table_free/twin.rs) does the same on the CPU over the same buffers.
//
// Every message is a contraction: a product of factors and messages, summed onto a separator. The
// table of the clique, which is the product before the sum, is never stored. `contract` computes a
// contraction. If the output has too few entries to occupy the GPU, `contract` computes a larger
// table, which `sum_rows` then sums onto the output. In the kernels for max-product (semiring.cuh),
// a sum is the maximum. For both kernels, src/lowering/rows.rs divides the variables:
//
//   row    the states of the output's variables; each row is one entry of the output. The fastest
//          variables make a tile of up to about 2048 rows; the others are digits of the tile's
//          number.
//   run    the states of the other variables, over which the product is summed. The fastest make
//          the inner run of up to about 256 entries; the others are digits of a step's number.
//
// The position of an entry in the table of an input is the sum of four offsets: those of the tile,
// of the row in the tile, of the step, and of the place in the inner run. The offsets of the tile
// and of the step are the same for all threads of a block, so the block computes them once, from
// digits; they have 64 bits. The offsets of the row and of the place come from lists.
//
// Example: output over a variable B with 2 states, summed over a variable A with 2 states, inputs
// P(A) and P(B|A) stored as [A][B]. A tile has 2 rows, for B = 0 and 1; the inner run has 2
// entries, for A = 0 and 1. Row offsets are 0, 0 for P(A) and 0, 1 for P(B|A); run offsets are 0, 1
// and 0, 2. Thread b computes P(A=0) P(b|A=0) + P(A=1) P(b|A=1).
//
// Numbers are in single precision. All inputs are scaled by powers of two so that their largest
// entry is in [1, 2). Products begin with 2^head, which the host chooses so that the largest
// possible sum is just below 2^126; then a product that is 2^-200 of the largest possible one is
// still a normal number. Each kernel that computes a table finds its largest and its smallest
// nonzero entry by atomic maxima, which do not depend on the order of the threads. `rescale` then
// scales the table. From the two entries, the host bounds the error of products that were rounded
// to zero. All sums are in a fixed order, so two runs are bit-equal.

#include "numbers.cuh"
#include "semiring.cuh"

// Number of threads of a block. Shared with src/engine/cuda/table_free.
static const int THREADS = 256;

// Maximum number of rows that a thread computes. Shared with src/engine/cuda/table_free.
static const int ROWS_PER_THREAD = 8;

// Maximum number of inputs of a contraction. Shared with src/engine/cuda/table_free.
static const int MAX_INPUTS = 64;

// Maximum number of run offsets of all inputs of a contraction together; they are in shared memory.
// Shared with src/engine/cuda/table_free.
static const int MAX_RUN_OFFSETS = 4096;

// A contraction. Shared with src/engine/cuda/table_free.
struct Contraction {
    unsigned long long output;  // first entry of the output
    unsigned numbers;           // index in `numbers` of four lists of this contraction: for each
                                // input its first entry; for each input the indices in `offsets` of
                                // its row offsets (low half) and of its run offsets (high half);
                                // the row digits; the run digits. A digit is its number of states,
                                // then for each input the distance between consecutive states. The
                                // fastest digit comes first.
    unsigned inputs;            // number of inputs
    unsigned varying;           // inputs below this number vary within the inner run
    unsigned summed;            // inputs below this number vary within the run; those from
                                // `varying` on vary only between steps
    unsigned row_digits;        // number of row digits, the digits of a tile's number
    unsigned run_digits;        // number of run digits, the digits of a step's number
    unsigned rows;              // number of rows of a tile
    unsigned part;              // maximum number of rows that a block computes
    unsigned steps;             // number of steps
    unsigned run;               // number of entries of the inner run
    unsigned result;            // number of the output in `ranges`
    int head;                   // exponent of the power of two with which products begin
};
static_assert(sizeof(Contraction) == 56, "as in Rust");

// A sum of the entries of a table for one state of a variable. Shared with
// src/engine/cuda/table_free.
struct Reading {
    unsigned long long table;   // first entry of the table
    unsigned long long stride;  // distance between consecutive states of the variable
    unsigned long long begin;   // first entry that is summed, counted among the entries for this
                                // state
    unsigned long long end;     // one past the last entry that is summed, counted in the same way
    unsigned states;            // number of states of the variable
    unsigned state;             // the state
};
static_assert(sizeof(Reading) == 40, "as in Rust");

// The offset of input number `input` for a tile or step of this `number`, which has `count` digits.
// `inputs`: the number of inputs.
__device__ inline unsigned long long offset_of(unsigned number, const unsigned long long *digits,
                                               unsigned count, unsigned inputs, unsigned input)
{
    unsigned long long offset = 0;
    for (unsigned d = 0; d < count; ++d, digits += 1 + inputs) {
        const unsigned states = static_cast<unsigned>(digits[0]);
        offset += number % states * digits[1 + input];
        number /= states;
    }
    return offset;
}

// The bits of infinity. All other non-negative floats have smaller bits.
static const unsigned INFINITY_BITS = 0x7f800000;

// Notes the largest and the smallest nonzero entry of a thread in `ranges`, for table number
// `result`. `smallest`: infinity if all entries of the thread are zero. All threads of the block
// call this.
__device__ inline void note_range(float largest, float smallest, unsigned *ranges, unsigned result)
{
    // Non-negative floats are ordered as their bits are.
    unsigned bits = __float_as_uint(largest);
    unsigned complement = INFINITY_BITS - __float_as_uint(smallest);
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, lanes));
        complement = max(complement, __shfl_xor_sync(0xffffffffu, complement, lanes));
    }
    if (threadIdx.x % 32 == 0 && bits > 0) {
        atomicMax(ranges + 2 * result, bits);
        atomicMax(ranges + 2 * result + 1, complement);
    }
}

// The smaller of two entries, where a zero does not count.
__device__ inline float smaller_nonzero(float smallest, float entry)
{
    return entry > 0.0f ? fminf(smallest, entry) : smallest;
}

// The sum of a value of each thread of the block, in the first thread. All threads call this.
template <class Semiring, class Number> __device__ inline Number block_sum(Number value)
{
    __shared__ Number sums[THREADS / 32];
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        value = Semiring::add(value, __shfl_down_sync(0xffffffffu, value, lanes));
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = 0;
    if (threadIdx.x == 0) {
        for (int warp = 0; warp < THREADS / 32; ++warp) {
            value = Semiring::add(value, sums[warp]);
        }
    }
    return value;
}

// Where a block reads the inputs of a contraction.
struct Places {
    unsigned long long tile[MAX_INPUTS];  // by input: its first entry for the block's tile
    unsigned long long step[MAX_INPUTS];  // by input: its first entry for this tile and the step
    const unsigned *rows[MAX_INPUTS];     // by input: its row offsets
    unsigned run[MAX_RUN_OFFSETS];        // run offsets of the varying inputs, input after input
};

// The sum of the products over the inner run, for a row of the tile. VARYING: the number of inputs
// that vary in the inner run, or -1 if there are too many for a version of their own.
template <class Semiring, int VARYING>
__device__ inline float inner_sum(const Contraction &c, const Places &places, const float *tables,
                                  unsigned row)
{
    const float head = float_power_of_two(c.head);
    float sum = 0.0f;
    if (VARYING >= 0) {
        const float *from[VARYING > 0 ? VARYING : 1];
#pragma unroll
        for (int i = 0; i < VARYING; ++i) {
            from[i] = tables + (places.step[i] + places.rows[i][row]);
        }
#pragma unroll 4
        for (unsigned at = 0; at < c.run; ++at) {
            float product = head;
#pragma unroll
            for (int i = 0; i < VARYING; ++i) {
                product *= __ldg(from[i] + places.run[i * c.run + at]);
            }
            sum = Semiring::add(sum, product);
        }
    } else {
        for (unsigned at = 0; at < c.run; ++at) {
            float product = head;
            for (unsigned i = 0; i < c.varying; ++i) {
                const float *from = tables + (places.step[i] + places.rows[i][row]);
                product *= __ldg(from + places.run[i * c.run + at]);
            }
            sum = Semiring::add(sum, product);
        }
    }
    for (unsigned i = c.varying; i < c.summed; ++i) {
        sum *= __ldg(tables + (places.step[i] + places.rows[i][row]));
    }
    return sum;
}

// Each block computes a part of a tile, each thread up to ROWS_PER_THREAD rows of the part.
//
// Launch: as many blocks as tiles times parts of a tile, THREADS threads; no dynamic shared memory.
template <class Semiring, int VARYING>
__device__ inline void contract(const Contraction &c, const unsigned long long *numbers,
                                const unsigned *offsets, float *tables, unsigned *ranges)
{
    __shared__ Places places;
    // By row of the part: the sum so far, and minus what its additions rounded away. Only one
    // thread uses each entry.
    __shared__ float sums[ROWS_PER_THREAD * THREADS], lost[ROWS_PER_THREAD * THREADS];
    const unsigned parts = (c.rows + c.part - 1) / c.part;
    const unsigned tile = blockIdx.x / parts;
    const unsigned first_row = blockIdx.x % parts * c.part;
    const unsigned end_row = min(first_row + c.part, c.rows);
    const unsigned long long *lists = numbers + c.numbers + c.inputs;
    const unsigned long long *row_digits = lists + c.inputs;
    const unsigned long long *run_digits = row_digits + c.row_digits * (1 + c.inputs);
    const unsigned input = threadIdx.x;
    if (input < c.inputs) {
        places.tile[input] = numbers[c.numbers + input] +
                             offset_of(tile, row_digits, c.row_digits, c.inputs, input);
        places.rows[input] = offsets + static_cast<unsigned>(lists[input]);
    }
    for (unsigned i = threadIdx.x; i < c.varying * c.run; i += THREADS) {
        const unsigned list = static_cast<unsigned>(lists[i / c.run] >> 32);
        places.run[i] = offsets[list + i % c.run];
    }
    for (unsigned step = 0; step < c.steps; ++step) {
        __syncthreads();
        if (input < c.inputs) {
            places.step[input] = places.tile[input] +
                                 offset_of(step, run_digits, c.run_digits, c.inputs, input);
        }
        __syncthreads();
        for (unsigned row = first_row + threadIdx.x; row < end_row; row += THREADS) {
            const float sum = inner_sum<Semiring, VARYING>(c, places, tables, row);
            if (step == 0) {
                sums[row - first_row] = sum;
                lost[row - first_row] = 0.0f;
            } else {
                Semiring::add_to(sums[row - first_row], lost[row - first_row], sum);
            }
        }
    }
    float *output = tables + c.output + static_cast<unsigned long long>(tile) * c.rows;
    float largest = 0.0f, smallest = __uint_as_float(INFINITY_BITS);
    for (unsigned row = first_row + threadIdx.x; row < end_row; row += THREADS) {
        float sum = sums[row - first_row];
        // These inputs do not vary in the run.
        for (unsigned i = c.summed; i < c.inputs; ++i) {
            sum *= __ldg(tables + (places.tile[i] + places.rows[i][row]));
        }
        output[row] = sum;
        largest = fmaxf(largest, sum);
        smallest = smaller_nonzero(smallest, sum);
    }
    note_range(largest, smallest, ranges, c.result);
}

// Contraction number `record`. `numbers`, `offsets`: lists that the record refers to. `tables`: the
// entries of all tables. `ranges`: by number of a table, the bits of its largest entry, and the
// difference between the bits of infinity and of its smallest nonzero entry; both are zero if all
// entries are zero. A launch does not write its inputs, so they may be read through the read-only
// cache.
#define CONTRACT(NAME, VARYING)                                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS)                                          \
        NAME(const Contraction *records, unsigned record, const unsigned long long *numbers,       \
             const unsigned *offsets, float *tables, unsigned *ranges)                            \
    {                                                                                              \
        contract<SEMIRING, VARYING>(records[record], numbers, offsets, tables, ranges);           \
    }

CONTRACT(contract_0, 0)
CONTRACT(contract_1, 1)
CONTRACT(contract_2, 2)
CONTRACT(contract_3, 3)
CONTRACT(contract_4, 4)
CONTRACT(contract_5, 5)
CONTRACT(contract_6, 6)
CONTRACT(contract_7, 7)
CONTRACT(contract_8, 8)
CONTRACT(contract_many, -1)

// A contraction with a single input, in which each block computes one row. The arguments are those
// of `contract`. The record's `head` is not used.
//
// Launch: as many blocks as rows, THREADS threads; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_rows(const Contraction *records, unsigned record, const unsigned long long *numbers,
             const unsigned *offsets, float *tables, unsigned *ranges)
{
    const Contraction c = records[record];
    const unsigned tile = blockIdx.x / c.rows;
    const unsigned row = blockIdx.x % c.rows;
    const unsigned long long lists = numbers[c.numbers + 1];
    const unsigned long long *row_digits = numbers + c.numbers + 2;
    const unsigned long long *run_digits = row_digits + c.row_digits * 2;
    const float *from = tables + numbers[c.numbers] +
                        offset_of(tile, row_digits, c.row_digits, 1, 0) +
                        offsets[static_cast<unsigned>(lists) + row];
    const unsigned *run_offsets = offsets + static_cast<unsigned>(lists >> 32);
    const unsigned long long entries = static_cast<unsigned long long>(c.steps) * c.run;
    double sum = 0.0;
    for (unsigned long long i = threadIdx.x; i < entries; i += THREADS) {
        const unsigned step = static_cast<unsigned>(i / c.run);
        const unsigned at = static_cast<unsigned>(i % c.run);
        const float entry = from[offset_of(step, run_digits, c.run_digits, 1, 0) + run_offsets[at]];
        sum = SEMIRING::add(sum, static_cast<double>(entry));
    }
    const float total = static_cast<float>(block_sum<SEMIRING>(sum));
    if (threadIdx.x == 0) {
        tables[c.output + blockIdx.x] = total;
    }
    const float no_entry = __uint_as_float(INFINITY_BITS);
    const bool is_entry = threadIdx.x == 0 && total > 0.0f;
    note_range(is_entry ? total : 0.0f, is_entry ? total : no_entry, ranges, c.result);
}

// Multiplies a table by the power of two that brings its largest entry into [1, 2). `table`: its
// first entry. `number`: its number in `ranges`, which stay as they were before scaling.
//
// Launch: any number of blocks, THREADS threads; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    rescale(float *tables, unsigned long long table, unsigned long long entries,
            const unsigned *ranges, unsigned number)
{
    const int exponent = exponent_of(ranges[2 * number]);
    if (exponent == 0) {
        return;
    }
    const float scale = float_power_of_two(-exponent);
    const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * THREADS;
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * THREADS + threadIdx.x;
    for (; i < entries; i += stride) {
        tables[table + i] *= scale;
    }
}

// Replaces the message from a child by the message to the child: the belief over the separator
// divided by the message from the child, where 0/0 = 0. If `has_message` is 0, the message from the
// child is one everywhere. `belief`, `message`: first entries. `number`: the number of the message
// to the child in `ranges`.
//
// Launch: any number of blocks, THREADS threads; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    divide(float *tables, unsigned long long belief, unsigned long long message,
           unsigned long long entries, unsigned has_message, unsigned *ranges,
           unsigned number)
{
    // Smaller numbers have lost digits. They count as zero, so that quotients stay in range.
    const float SMALLEST = 1.17549435e-38f;
    const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * THREADS;
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * THREADS + threadIdx.x;
    float largest = 0.0f, smallest = __uint_as_float(INFINITY_BITS);
    for (; i < entries; i += stride) {
        float quotient = tables[belief + i];
        if (has_message) {
            const float before = tables[message + i];
            quotient = before < SMALLEST ? 0.0f : quotient / before;
        }
        tables[message + i] = quotient;
        largest = fmaxf(largest, quotient);
        smallest = smaller_nonzero(smallest, quotient);
    }
    note_range(largest, smallest, ranges, number);
}

// Adds up the entries of readings: block b adds up those of reading number `first` + b.
//
// Launch: as many blocks as readings, THREADS threads; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(THREADS)
    read(const Reading *readings, unsigned first, const float *tables, double *sums)
{
    const unsigned number = first + blockIdx.x;
    const Reading reading = readings[number];
    const unsigned long long run = reading.stride * reading.states;
    double sum = 0.0;
    for (unsigned long long i = reading.begin + threadIdx.x; i < reading.end; i += THREADS) {
        const unsigned long long at =
            i / reading.stride * run + reading.state * reading.stride + i % reading.stride;
        sum = SEMIRING::add(sum, static_cast<double>(tables[reading.table + at]));
    }
    sum = block_sum<SEMIRING>(sum);
    if (threadIdx.x == 0) {
        sums[number] = sum;
    }
}
