// Sets every clique's table to the product of its probability tables and of the findings entered
// in it, and finds each table's largest entry.
//
// Version: one. A block does one chunk of one clique's table, so that a clique is shared by as many
// blocks as its size asks for; findings are few a clique, and each costs a division an entry.
//
// Launch: grid = number of chunks, block = 256 threads, no dynamic shared memory.
//
// cliques_total  entries of all clique tables
// prior          float[cliques_total], the product of the probability tables, 2^96 standing for one
// cliques        float[cliques_total], written
// chunks         one record a block
// evidence       words, written by the host for each propagation:
//                  exponent[clique_count]         the power of two that each table starts with
//                  start[clique_count + 1]        where a clique's findings begin
//                  finding[variables][3]          stride, states, first weight
//                  weight[states of all]          float bits, largest of a finding in [1, 2)
// largest        bits of each clique's largest entry, zero before; slot = clique
// exponents      power of two of each clique's table, written; slot = clique
// separators     double[separator_entries], set to one

#include "numbers.cuh"

struct Chunk {
    unsigned long long table;  // first entry of the clique's table
    unsigned first;            // first entry of the chunk within the table
    unsigned entries;
    unsigned clique;
    unsigned unused;
};

__device__ float entered(float prior, unsigned entry, unsigned clique, const unsigned *evidence,
                         unsigned clique_count, unsigned variables)
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
    for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
         i < separator_entries; i += static_cast<unsigned long long>(gridDim.x) * blockDim.x) {
        separators[i] = 1.0;
    }
    unsigned of_thread = 0;
    for (unsigned i = threadIdx.x; i < chunk.entries; i += blockDim.x) {
        unsigned entry = chunk.first + i;
        float value = entered(prior[chunk.table + entry], entry, chunk.clique, evidence,
                              clique_count, variables);
        cliques[chunk.table + entry] = value;
        of_thread = max(of_thread, __float_as_uint(value));
    }
    atomicMax(&block_largest, of_thread);
    __syncthreads();
    if (threadIdx.x == 0) {
        // The order of bits is the order of numbers, for floats that are not negative.
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
