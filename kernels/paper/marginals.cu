// Reads the posteriors off the tables: for each reading the marginal of one table on one variable,
// not normalised, in double precision.
//
// Version: one. A block does one reading, state by state: threads stride through the entries of
// the state, and their sums are added in a tree of fixed shape, so that two runs are bit-equal.
//
// Launch: grid = number of readings, block = 256 threads, no dynamic shared memory.
//
// cliques     float, all clique tables
// separators  double, all separator tables
// readings    one record a block; the last is the sum over a whole table, for P(e)
// out         double[states of all readings + 1]; the last is the power of two of that sum
// exponent    where that power stands

struct Reading {
    unsigned long long table;  // first entry
    unsigned long long entries;
    unsigned long long stride;  // of the variable in the table
    unsigned states;
    unsigned is_separator;
    unsigned out;  // first of the states in out
    unsigned unused;
};

static const unsigned THREADS = 256;

extern "C" __global__ void marginals(const float *cliques, const double *separators,
                                     const Reading *readings, const int *exponent, double *out)
{
    __shared__ double sums[THREADS];
    Reading reading = readings[blockIdx.x];
    unsigned long long of_state = reading.entries / reading.states;
    for (unsigned state = 0; state < reading.states; ++state) {
        double sum = 0.0;
        for (unsigned long long i = threadIdx.x; i < of_state; i += THREADS) {
            unsigned long long outer = i / reading.stride;
            unsigned long long entry =
                (outer * reading.states + state) * reading.stride + (i - outer * reading.stride);
            sum += reading.is_separator ? separators[reading.table + entry]
                                        : static_cast<double>(cliques[reading.table + entry]);
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
            out[reading.out + state] = sums[0];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) {
        out[reading.out + reading.states] = static_cast<double>(*exponent);
    }
}

extern "C" __global__ void marginals_empty(const float *, const double *, const Reading *,
                                           const int *, double *)
{
}
