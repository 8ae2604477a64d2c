// Powers of two, by which tables and messages are scaled: they change no digit.

// The largest e with 2^e <= x for a positive float x with these bits; 0 for zero, so that what is
// zero is left alone. Subnormal numbers count as the smallest normal one.
__device__ inline int exponent_of(unsigned bits)
{
    if (bits == 0) {
        return 0;
    }
    int field = bits >> 23;
    return (field == 0 ? 1 : field) - 127;
}

// 2^e for e in -1022..1023.
__device__ inline double power_of_two(int e)
{
    return __longlong_as_double(static_cast<long long>(1023 + e) << 52);
}
