// How the terms of a sum of products are combined: a semiring, the template parameter of the device
// functions in persistent.cu and table_free.cu that add up such terms.
//
// Sum-product adds the terms, which gives posteriors and P(e). Max-product keeps the largest, which
// gives max-marginals: for each state of a variable, the probability of the most probable
// configuration with this state and the evidence. A product of non-negative numbers distributes
// over both, so both use the same plans, records and order. No term is negative, so zero is the
// identity of both: a sum begins with zero, and terms that only fill up a record are zero.
//
// build.py compiles a source with the macro SEMIRING set to the semiring of its kernels. The
// kernels of both semirings have the same names, and are in different .ptx files.
#pragma once

#include "numbers.cuh"

#ifndef SEMIRING
#define SEMIRING SumProduct
#endif

struct SumProduct {
    __device__ static float add(float a, float b) { return a + b; }
    __device__ static double add(double a, double b) { return a + b; }

    // Adds `term` to `sum`; for `lost` see add_compensated.
    __device__ static void add_to(float &sum, float &lost, float term)
    {
        add_compensated(sum, lost, term);
    }
};

struct MaxProduct {
    __device__ static float add(float a, float b) { return fmaxf(a, b); }
    __device__ static double add(double a, double b) { return fmax(a, b); }

    // Adds `term` to `sum`. Nothing is rounded away, so `lost` is not used.
    __device__ static void add_to(float &sum, float &, float term) { sum = fmaxf(sum, term); }
};
