// Reference loops, compiled by the C++ compiler at -O3 for this machine.
#pragma once

#include <cstdint>

namespace tempo::bench {

/// s[i + 1] = 0.999 s[i] + x[i], all of s kept.
void recurrenceWhole(const float* x, float* s, int64_t n);
/// s = 0.999 s + x[i]; the last value.
float recurrenceLast(const float* x, int64_t n);
/// Sum of `n` floats, several vectors in flight: as fast as memory delivers.
float pureRead(const float* x, int64_t n);
/// y[i] = iterations of a * y + b from x[i]: bound by arithmetic.
void polynomial(const float* x, float* y, int64_t n, int steps);
/// Runs independent FMAs on 512-bit vectors where the machine has them; returns their floating-point operations.
double fmaPeak(int64_t rounds, float* sink);

}  // namespace tempo::bench
