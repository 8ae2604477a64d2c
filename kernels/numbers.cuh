// Powers of two, by which tables and messages are scaled, and sums without much rounding. Scaling
// by a power of two is exact.
#pragma once

// The largest e for which 2^e is at most the non-negative float with these bits. Zero gives 0, so
// that a table of zeros is not scaled. Subnormal numbers count as the smallest normal number.
__device__ inline int exponent_of(unsigned bits)
{
    if (bits == 0) {
        return 0;
    }
    int field = bits >> 23;
    return (field == 0 ? 1 : field) - 127;
}

// 2^e for e in -1022..=1023.
__device__ inline double power_of_two(int e)
{
    return __longlong_as_double(static_cast<long long>(1023 + e) << 52);
}

// 2^e for e in -126..=127.
__device__ inline float float_power_of_two(int e)
{
    return __int_as_float((127 + e) << 23);
}

// Adds `term` to `sum`, where `lost` is minus what earlier additions rounded away (Kahan 1965).
__device__ inline void add_compensated(float &sum, float &lost, float term)
{
    const float wanted = term - lost;
    const float next = sum + wanted;
    lost = (next - sum) - wanted;
    sum = next;
}
