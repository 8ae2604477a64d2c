// Computes the unnormalised posteriors. Each is the marginal of one table over one variable, in
// double precision.
//
// Called by engine `gpu-paper` (src/engine/cuda/paper/gpu.rs) at the end of each propagation. The
// twin of this kernel (src/engine/cuda/paper/twin.rs) does the same on the CPU over the same
// buffers.
//
// Versions: one. Each block computes one marginal, state by state. The threads of the block divide
// the entries of the state among them, and their sums are added in a tree of a fixed shape, so two
// runs are bit-equal.
//
// Launch: grid = number of marginals, block = THREADS threads, no dynamic shared memory.
//
// cliques     float[], all clique tables
// separators  double[], all separator tables
// records     Marginal[grid]; the last one has a single state: the sum of a whole table, for P(e)
// exponent    int[1], the exponent of the power of two by which this sum must be multiplied
// out         double[states of all marginals + 1]; the last element is `exponent`

// Shared with src/engine/cuda/paper/records.rs.
struct Marginal {
    unsigned long long table;    // first entry of the table
    unsigned long long entries;  // number of entries of the table
    unsigned long long stride;   // stride of the variable in the table
    unsigned states;             // number of states of the variable
    unsigned is_separator;       // 1 for the table of a separator, 0 for the table of a clique
    unsigned out;                // index in `out` of the variable's first state
    unsigned unused;             // padding
};
static_assert(sizeof(Marginal) == 40, "as in Rust");

// Threads of a block. Shared with src/engine/cuda/paper/buffers.rs.
static const unsigned THREADS = 256;

extern "C" __global__ void marginals(const float *cliques, const double *separators,
                                     const Marginal *records, const int *exponent, double *out)
{
    __shared__ double sums[THREADS];
    Marginal marginal = records[blockIdx.x];
    unsigned long long entries_per_state = marginal.entries / marginal.states;
    for (unsigned state = 0; state < marginal.states; ++state) {
        double sum = 0.0;
        for (unsigned long long i = threadIdx.x; i < entries_per_state; i += THREADS) {
            unsigned long long outer = i / marginal.stride;
            unsigned long long entry =
                (outer * marginal.states + state) * marginal.stride + (i - outer * marginal.stride);
            sum += marginal.is_separator ? separators[marginal.table + entry]
                                         : static_cast<double>(cliques[marginal.table + entry]);
        }
        sums[threadIdx.x] = sum;
        __syncthreads();
        for (unsigned half = THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                sums[threadIdx.x] += sums[threadIdx.x + half];
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            out[marginal.out + state] = sums[0];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) {
        out[marginal.out + marginal.states] = static_cast<double>(*exponent);
    }
}

extern "C" __global__ void marginals_empty(const float *, const double *, const Marginal *,
                                           const int *, double *)
{
}
