#include <cmath>

#include "catch.hpp"
#include "jit/kernels.hpp"

using namespace tempo;
using tempo::test::Run;

TEST_CASE("elementwise, matvec, matmul and a recurrence run") {
  Run r(R"(sizes N, K
buffer w: f32[N * K] input
buffer x: f32[K] input
buffer y: f32[N] output
buffer z: f32[N] output
buffer h: f32[K + 1] output
kernel matvec(N, K) {
  buffer w: f32
  buffer x: f32
  buffer y: f32 written
  grid(i in 0 .. N) {
    reduce k in 0 .. K {
      sum s: f32 = w[(i * K) + k] * x[k]
    }
    y[i] = s
  }
}
kernel map(N) {
  buffer y: f32
  buffer z: f32 written
  grid() {
    par i in 0 .. N {
      z[i] = (y[i] * 2:f32) + 1:f32
    }
  }
}
kernel scan(K) {
  buffer x: f32
  buffer h: f32 written
  grid() {
    for t in 0 .. K {
      h[t + 1] = (h[t] * 0.5:f32) + x[t]
    }
  }
}
host {
  launch matvec(N, K)
  launch map(N)
  launch scan(K)
}
)");
  const int64_t n = 37, k = 101;
  float* w = r.alloc<float>("w", n * k);
  float* x = r.alloc<float>("x", k);
  float* y = r.alloc<float>("y", n);
  float* z = r.alloc<float>("z", n);
  float* h = r.alloc<float>("h", k + 1);
  for (int64_t i = 0; i < n * k; ++i) w[i] = static_cast<float>(i % 17) - 8;
  for (int64_t i = 0; i < k; ++i) x[i] = static_cast<float>(i % 5) - 2;
  r({n, k});
  float carried = 0;
  for (int64_t t = 0; t < k; ++t) {
    carried = carried * 0.5F + x[t];
    CHECK(h[t + 1] == carried);
  }
  for (int64_t i = 0; i < n; ++i) {
    float s = 0;  // small integers: exact in any order
    for (int64_t j = 0; j < k; ++j) s += w[i * k + j] * x[j];
    CHECK(y[i] == s);
    CHECK(z[i] == s * 2 + 1);
  }
}
