// Fills each clique table with the product of the clique's factors and of the weights of its
// findings, and finds the largest entry of each table. Fills all separator tables with ones.
//
// Called by engine `gpu-paper` (src/engine/cuda/paper/gpu.rs) at the start of each propagation. The
// twin of this kernel (src/engine/cuda/paper/twin.rs) does the same on the CPU over the same
// buffers.
//
// Versions: one. Each block fills one chunk of one clique table, so many blocks share a large
// table. Each finding costs two divisions per entry of its clique, and a clique has few findings.
//
// Launch: grid = number of chunks, block = 256 threads, no dynamic shared memory.
//
// prior          float[entries of all clique tables]: the products of the factors, scaled by powers
//                of two
// cliques        float[entries of all clique tables], written
// chunks         Chunk[grid]
// evidence       words, written by the host for each propagation:
//                  exponent[clique_count]           the initial power of two of each clique table
//                  start[clique_count + 1]          the first finding of each clique
//                  finding[variables][3]            stride, states, first weight
//                  weight[states of all variables]  float bits; the largest weight of each finding
//                                                   is in [1, 2)
// largest        unsigned[slots], set to zero by the host before the launch: bits of the largest
//                entry of each clique table; the slot is the number of the clique
// exponents      int[slots], written: power of two of each clique table, in the same slots
// separators     double[separator_entries], set to one

#include "numbers.cuh"

// What one block fills. Shared with src/engine/cuda/paper/records.rs.
struct Chunk {
    unsigned long long table;  // first entry of the clique table
    unsigned first;            // first entry of the chunk within the table
    unsigned entries;          // number of entries of the chunk
    unsigned clique;           // number of the clique
    unsigned unused;           // padding
};
static_assert(sizeof(Chunk) == 24, "as in Rust");

// An entry of the prior times the weights of the clique's findings.
__device__ float with_findings(float prior, unsigned entry, unsigned clique,
                               const unsigned *evidence, unsigned clique_count, unsigned variables)
{
    const unsigned *start = evidence + clique_count;
    const unsigned *findings = start + clique_count + 1;
    const float *weights = reinterpret_cast<const float *>(findings + 3 * variables);
    double value = prior;
    for (unsigned f = start[clique]; f < start[clique + 1]; ++f) {
        const unsigned *finding = findings + 3 * f;
        value *= weights[finding[2] + entry / finding[0] % finding[1]];
    }
    return static_cast<float>(value);
}

extern "C" __global__ void initialise(const float *prior, float *cliques, const Chunk *chunks,
                                      const unsigned *evidence, unsigned clique_count,
                                      unsigned variables, unsigned *largest, int *exponents,
                                      double *separators, unsigned long long separator_entries)
{
    __shared__ unsigned block_largest;
    Chunk chunk = chunks[blockIdx.x];
    if (threadIdx.x == 0) {
        block_largest = 0;
    }
    __syncthreads();
    for (unsigned long long i =
             static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < separator_entries; i += static_cast<unsigned long long>(gridDim.x) * blockDim.x) {
        separators[i] = 1.0;
    }
    unsigned thread_largest = 0;
    for (unsigned i = threadIdx.x; i < chunk.entries; i += blockDim.x) {
        unsigned entry = chunk.first + i;
        float value = with_findings(prior[chunk.table + entry], entry, chunk.clique, evidence,
                                    clique_count, variables);
        cliques[chunk.table + entry] = value;
        thread_largest = max(thread_largest, __float_as_uint(value));
    }
    atomicMax(&block_largest, thread_largest);
    __syncthreads();
    if (threadIdx.x == 0) {
        // Non-negative floats are ordered as their bits are.
        atomicMax(&largest[chunk.clique], block_largest);
        if (chunk.first == 0) {
            exponents[chunk.clique] = static_cast<int>(evidence[chunk.clique]);
        }
    }
}

extern "C" __global__ void initialise_empty(const float *, float *, const Chunk *,
                                            const unsigned *, unsigned, unsigned, unsigned *,
                                            int *, double *, unsigned long long)
{
}
