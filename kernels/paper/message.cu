// One message between two neighbouring cliques: Algorithm 1 of Zheng, Mengshoel and Chong.
//
// Called by engine `gpu-paper` (src/engine/cuda/paper/gpu.rs) once for each message, one launch
// after another in one stream. The twin of this kernel (src/engine/cuda/paper/twin.rs) does the
// same on the CPU over the same buffers.
//
// Each thread computes one entry of the separator. It sums the entries of the sender that map to
// the separator entry (equation 2), and multiplies the entries of the receiver that map to the
// separator entry by the ratio of the new to the old separator entry (equation 3, with 0/0 = 0).
// The mapping tables of section 3.2 list these entries: for each separator entry, one table lists
// entries of the sender, and one lists entries of the receiver.
//
// Three things are added to the algorithm as printed. The new separator entry is stored; otherwise
// the message in the other direction would divide by an outdated entry. Sums and ratios are in
// double precision. Tables are scaled by powers of two, to stay within the range of single
// precision.
//
// Each message finds the largest entry of the table that it writes, so the next message needs no
// extra pass to scale this table. The sender's table is scaled to a largest entry in [1, 2) when it
// is read. The receiver's table is scaled to a largest entry near 2^PEAK before it is multiplied.
// The exponents of the powers of two are kept as integers. A new entry of the receiver is at most
// 2^97 times the new separator entry, and the new separator entry is at most twice the number of
// entries summed. So nothing overflows, unless a separator entry is the sum of 2^30 entries or
// more.
//
// Versions: the mapping tables are stored one after another (naive) or interleaved element by
// element (section 4.5). The kernel is the same for both; only the strides in the record differ.
//
// Launch: block = 16 to 1024 threads, grid = separator entries / block, rounded up; no dynamic
// shared memory.
//
// cliques              float[], all clique tables
// separators           double[], all separator tables
// mappings             unsigned[], entries within a clique table
// largest, exponents   unsigned[slots], int[slots]: bits of the largest entry of a table, and the
//                      exponent of the power of two by which the table is to be multiplied. A
//                      message reads the slots of its two cliques and writes its own slot, which is
//                      the slot of the receiver from then on. The host sets `largest` to zero at
//                      the start of each propagation
// separator_exponents  int[messages]: after each message, the exponent of the power of two by which
//                      the separator table is to be multiplied

#include "numbers.cuh"

// Shared with src/engine/cuda/paper/records.rs.
struct Message {
    unsigned long long from;          // first entry of the sender's table
    unsigned long long to;            // first entry of the receiver's table
    unsigned long long from_mapping;  // first element of the sender's mapping tables
    unsigned long long to_mapping;    // first element of the receiver's mapping tables
    unsigned long long separator;     // first entry of the separator table
    unsigned entries;                 // entries of the separator table
    unsigned from_count;              // elements of each of the sender's mapping tables
    unsigned to_count;                // elements of each of the receiver's mapping tables
    unsigned from_table_stride;       // from one mapping table of the sender to the next
    unsigned from_stride;             // from one element of such a table to the next
    unsigned to_table_stride;         // from one mapping table of the receiver to the next
    unsigned to_stride;               // from one element of such a table to the next
    unsigned from_slot;               // slot of the sender
    unsigned to_slot;                 // slot of the receiver before the message
    unsigned out_slot;                // slot of the receiver after the message
    int previous;                     // the last message that wrote the separator; -1 if it still
                                      // has only ones
    unsigned index;                   // number of this message
};
static_assert(sizeof(Message) == 88, "as in Rust");

// A receiver's table is scaled so that its largest entry is near 2^PEAK. Shared with
// src/engine/cuda/paper/buffers.rs.
static const int PEAK = 96;

// Separator entries below this count as zero, so that every ratio is finite. Shared with
// src/engine/cuda/paper/buffers.rs.
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
        double ratio = old == 0.0 ? 0.0 : separator / old;
        separators[m.separator + j] = separator;

        double factor = ratio * power_of_two(PEAK - to_power);
        unsigned thread_largest = 0;
        for (unsigned n = 0; n < m.to_count; ++n) {
            unsigned entry = to_mapping[static_cast<unsigned long long>(n) * m.to_stride];
            float value = static_cast<float>(to[entry] * factor);
            to[entry] = value;
            thread_largest = max(thread_largest, __float_as_uint(value));
        }
        atomicMax(&block_largest, thread_largest);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(&largest[m.out_slot], block_largest);
        if (blockIdx.x == 0) {
            int exponent = exponents[m.from_slot] + from_power;
            int previous = m.previous < 0 ? 0 : separator_exponents[m.previous];
            separator_exponents[m.index] = exponent;
            exponents[m.out_slot] = exponents[m.to_slot] + to_power - PEAK + exponent - previous;
        }
    }
}

extern "C" __global__ void message_empty(float *, double *, const unsigned *, unsigned *, int *,
                                         int *, Message)
{
}
