#include "peers.hpp"

namespace tempo::bench {

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
using Vector __attribute__((vector_size(kLanes * sizeof(float)))) = float;
using Loose __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias)) = float;

template <int N>
float total(Vector (&sums)[N]) {
  float t = 0;
  for (const Vector& v : sums) {
    for (int i = 0; i < kLanes; ++i) t += v[i];
  }
  return t;
}

}  // namespace

// Tempo rounds every operation, so the same loop in C must not fuse a multiplication with an addition either.
__attribute__((optimize("fp-contract=off"))) void recurrenceWhole(const float* __restrict x, float* __restrict s, int64_t n) {
  s[0] = 0;
  for (int64_t i = 0; i < n; ++i) s[i + 1] = 0.999f * s[i] + x[i];
}

__attribute__((optimize("fp-contract=off"))) float recurrenceLast(const float* x, int64_t n) {
  float s = 0;
  for (int64_t i = 0; i < n; ++i) s = 0.999f * s + x[i];
  return s;
}

float pureRead(const float* x, int64_t n) {
  Vector sums[8] = {};
  const int64_t step = 8 * kLanes;
  int64_t i = 0;
  for (; i + step <= n; i += step) {
    for (int k = 0; k < 8; ++k) sums[k] += *reinterpret_cast<const Loose*>(x + i + k * kLanes);
  }
  float t = total(sums);
  for (; i < n; ++i) t += x[i];
  return t;
}

void polynomial(const float* __restrict x, float* __restrict y, int64_t n, int steps) {
  for (int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < steps; ++k) v = v * 0.5f + 0.25f;
    y[i] = v;
  }
}

double fmaPeak(int64_t rounds, float* sink) {
  constexpr int kSums = 14;
  Vector sums[kSums];
  Vector a, b;
  for (int i = 0; i < kLanes; ++i) a[i] = 0.999f + sink[0], b[i] = 1e-3f;
  for (auto& s : sums) s = b;
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 14
    for (int k = 0; k < kSums; ++k) {
      sums[k] = sums[k] * a + b;
    }
  }
  *sink = total(sums) * 0.0f;
  return 2.0 * kSums * kLanes * static_cast<double>(rounds);
}

}  // namespace tempo::bench
