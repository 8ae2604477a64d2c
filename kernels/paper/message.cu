// One message between two neighbouring cliques: Algorithm 1 of Zheng, Mengshoel and Chong.
//
// A thread does one entry of the separator: it sums the sender's entries that map to it
// (equation 2), and multiplies the receiver's entries that map to it by the quotient of new and
// old separator entry (equation 3, with 0/0 = 0). Which entries these are is read from the mapping
// tables of section 3.2, one table for each separator entry and side.
//
// Beyond the algorithm as printed: the new separator entry is stored, without which the second
// pass would divide by a wrong one; sums and quotients are in double precision; and tables are
// scaled by powers of two, so that single precision holds them. A table's largest entry is known
// from the message that wrote it, hence a message needs no second pass to scale what it reads:
// the sender's table is read with its largest entry in [1, 2), the receiver's is written with it
// near 2^96, and the powers are kept as integers beside the tables. Nothing overflows: the new
// entry of the receiver is at most the separator's, which is at most twice the number of entries
// summed, times 2^97.
//
// Versions: the mapping tables lie one after another (naive) or element by element in turns
// (interleaved, section 4.5), which is a matter of the two strides in the message's record.
//
// Launch: block = 16 to 1024 threads, grid = separator entries over block, rounded up; no dynamic
// shared memory. Messages run one after another in one stream.
//
// cliques              float, all clique tables
// separators           double, all separator tables
// mappings             entry numbers within a clique's table
// largest, exponents   by slot: bits of a table's largest entry, and its power of two. Each message
//                      reads the slots of its two cliques and writes one of its own, which its
//                      receiver then has; largest is zero before
// separator_exponents  by message: the power of two of the separator's table after it

#include "numbers.cuh"

struct Message {
    unsigned long long from;          // first entry of the sender's table
    unsigned long long to;            // first entry of the receiver's table
    unsigned long long from_mapping;  // first element of the sender's mapping tables
    unsigned long long to_mapping;
    unsigned long long separator;  // first entry of the separator's table
    unsigned entries;              // of the separator
    unsigned from_count;           // sender's entries for each separator entry
    unsigned to_count;
    unsigned from_table_stride;  // distance of two mapping tables
    unsigned from_stride;        // distance of two elements of a mapping table
    unsigned to_table_stride;
    unsigned to_stride;
    unsigned from_slot;
    unsigned to_slot;
    unsigned out_slot;
    int before;      // the message that wrote the separator before, -1 if it is still all ones
    unsigned index;  // this message
};

// What a receiver's largest entry is brought to before it is multiplied, as a power of two.
static const int PEAK = 96;

// Separator entries below this count as zero, so that every quotient is finite.
static const double NEGLIGIBLE = 1e-300;

extern "C" __global__ void message(float *cliques, double *separators, const unsigned *mappings,
                                   unsigned *largest, int *exponents, int *separator_exponents,
                                   Message m)
{
    __shared__ unsigned block_largest;
    if (threadIdx.x == 0) {
        block_largest = 0;
    }
    __syncthreads();
    int from_power = exponent_of(largest[m.from_slot]);
    int to_power = exponent_of(largest[m.to_slot]);
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < m.entries) {
        const float *from = cliques + m.from;
        float *to = cliques + m.to;
        const unsigned *from_mapping =
            mappings + m.from_mapping + static_cast<unsigned long long>(j) * m.from_table_stride;
        const unsigned *to_mapping =
            mappings + m.to_mapping + static_cast<unsigned long long>(j) * m.to_table_stride;

        double sum = 0.0;
        for (unsigned n = 0; n < m.from_count; ++n) {
            sum += from[from_mapping[static_cast<unsigned long long>(n) * m.from_stride]];
        }
        double separator = sum * power_of_two(-from_power);
        if (separator < NEGLIGIBLE) {
            separator = 0.0;
        }
        double old = separators[m.separator + j];
        double quotient = old == 0.0 ? 0.0 : separator / old;
        separators[m.separator + j] = separator;

        double factor = quotient * power_of_two(PEAK - to_power);
        unsigned of_thread = 0;
        for (unsigned n = 0; n < m.to_count; ++n) {
            unsigned entry = to_mapping[static_cast<unsigned long long>(n) * m.to_stride];
            float value = static_cast<float>(to[entry] * factor);
            to[entry] = value;
            of_thread = max(of_thread, __float_as_uint(value));
        }
        atomicMax(&block_largest, of_thread);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(&largest[m.out_slot], block_largest);
        if (blockIdx.x == 0) {
            int after = exponents[m.from_slot] + from_power;
            int before = m.before < 0 ? 0 : separator_exponents[m.before];
            separator_exponents[m.index] = after;
            exponents[m.out_slot] = exponents[m.to_slot] + to_power - PEAK + after - before;
        }
    }
}

extern "C" __global__ void message_empty(float *, double *, const unsigned *, unsigned *, int *,
                                         int *, Message)
{
}
