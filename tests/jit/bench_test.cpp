// Figures, not verdicts: `test_jit "[.bench]"` prints what this machine does.
#include <chrono>
#include <cstdio>
#include <functional>

#include "catch.hpp"
#include "jit/kernels.hpp"

using namespace tempo;
using tempo::test::Run;

namespace {

double bestSeconds(int repeats, const std::function<void()>& f) {
  double best = 1e9;
  for (int k = 0; k < repeats; ++k) {
    const auto t0 = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
  }
  return best;
}

__attribute__((noinline, optimize("O3"))) void recurrence(float* h, const float* x, int64_t n) {
  for (int64_t t = 0; t < n; ++t) h[t + 1] = 0.99F * h[t] + x[t];
}

volatile uint64_t sink;

}  // namespace

TEST_CASE("launch overhead and compile time", "[.bench]") {
  const char* text = R"(sizes N, T
buffer y: f32[N] output
kernel tick(N, t) {
  buffer y: f32 written
  grid() {
    y[0] = f32(t)
  }
}
host {
  for t in 0 .. T {
    launch tick(N, t)
  }
}
)";
  Run r(text);
  r.alloc<float>("y", 16);
  for (int threads : {0, 2}) {
    r.prepare({16, 1'000'000}, threads);
    const double s = bestSeconds(5, [&] { r.module->host()(&r.context); });
    std::printf("host loop, %s: %.2f ns per launch\n", threads ? "2 threads, small work" : "serial", s * 1e3);
  }
  const auto program = kir::parseProgram(text);
  std::printf("compile, one trivial kernel: %.2f ms\n", bestSeconds(5, [&] { compileCpu(program, {}); }) * 1e3);
}

TEST_CASE("matvec and dot", "[.bench]") {
  Run r(R"(sizes N, K
buffer w: f32[N * K] input
buffer x: f32[K] input
buffer y: f32[N] output
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
host {
  launch matvec(N, K)
}
)");
  std::printf("compile, matvec: %.2f ms\n", bestSeconds(3, [&] { compileCpu(r.program, {}); }) * 1e3);
  const int64_t n = 8192, k = 8192;
  float* w = r.alloc<float>("w", n * k);
  r.alloc<float>("x", k);
  r.alloc<float>("y", n);
  for (int64_t i = 0; i < n * k; ++i) w[i] = static_cast<float>(i & 7);
  const double bytes = static_cast<double>(n * k) * 4;
  for (int threads : {0, 2}) {
    r.prepare({n, k}, threads);
    const double s = bestSeconds(7, [&] { r.module->host()(&r.context); });
    const double read = bestSeconds(7, [&] {
      uint64_t a = 0, b = 0, c = 0, d = 0;
      const auto* p = reinterpret_cast<const uint64_t*>(w);
      for (int64_t i = 0; i < n * k / 2; i += 32) {
        a ^= p[i];
        b ^= p[i + 8];
        c ^= p[i + 16];
        d ^= p[i + 24];
      }
      sink = a ^ b ^ c ^ d;
    });
    std::printf("matvec %ldx%ld, %d threads: %.1f GB/s; touching every line, 1 thread: %.1f GB/s\n", n, k, threads ? threads : 1,
                bytes / s * 1e-9, bytes / read * 1e-9);
  }
  for (int64_t len : {64, 256, 1024, 4096}) {
    const int64_t rows = 1024 * 64 / len;
    r.prepare({rows, len}, 0);
    const double s = bestSeconds(200, [&] { r.module->host()(&r.context); });
    std::printf("dot of %ld: %.1f ns, %.1f GB/s of w\n", len, s * 1e9 / static_cast<double>(rows),
                static_cast<double>(rows * len) * 4 / s * 1e-9);
  }
}

TEST_CASE("recurrence against C", "[.bench]") {
  Run r(R"(sizes T
buffer x: f32[T] input
buffer h: f32[T + 1] output
kernel scan(T) {
  buffer x: f32
  buffer h: f32 written
  grid() {
    for t in 0 .. T {
      h[t + 1] = (0.99:f32 * h[t]) + x[t]
    }
  }
}
host {
  launch scan(T)
}
)");
  const int64_t n = 1'000'000;
  float* x = r.alloc<float>("x", n);
  float* h = r.alloc<float>("h", n + 1);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i & 3);
  r.prepare({n});
  const double ours = bestSeconds(7, [&] { r.module->host()(&r.context); });
  const double c = bestSeconds(7, [&] { recurrence(h, x, n); });
  std::printf("recurrence: %.2f ns per step; the same loop by this binary's compiler: %.2f ns\n", ours * 1e3, c * 1e3);
}

TEST_CASE("elementwise functions", "[.bench]") {
  for (const char* f : {"exp", "log", "tanh", "sin", "erf", "log1p"}) {
    Run r(std::string(R"(sizes N
buffer x: f32[N] input
buffer y: f32[N] output
kernel map(N) {
  buffer x: f32
  buffer y: f32 written
  grid(i in 0 .. N) {
    y[i] = )") + f + R"((x[i])
  }
}
host {
  launch map(N)
}
)");
    const double compile = bestSeconds(3, [&] { compileCpu(r.program, {}); }) * 1e3;
    const int64_t n = 4096;
    float* x = r.alloc<float>("x", n);
    r.alloc<float>("y", n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 100) * 0.05F + 0.1F;
    r.prepare({n});
    const double s = bestSeconds(500, [&] { r.module->host()(&r.context); });
    std::printf("%s: %.3f ns per element, compile %.2f ms\n", f, s * 1e9 / static_cast<double>(n), compile);
  }
}

TEST_CASE("matmul", "[.bench]") {
  Run r(R"(sizes M, N, K
buffer a: f32[M * K] input
buffer b: f32[K * N] input
buffer c: f32[M * N] output
kernel matmul(M, N, K) {
  buffer a: f32
  buffer b: f32
  buffer c: f32 written
  grid(i in 0 .. M) {
    par j in 0 .. N {
      reduce k in 0 .. K {
        sum s: f32 = a[(i * K) + k] * b[(k * N) + j]
      }
      c[(i * N) + j] = s
    }
  }
}
host {
  launch matmul(M, N, K)
}
)");
  std::printf("compile, matmul: %.2f ms\n", bestSeconds(3, [&] { compileCpu(r.program, {}); }) * 1e3);
  const int64_t m = 512, n = 64, k = 64;
  r.alloc<float>("a", m * k);
  r.alloc<float>("b", k * n);
  r.alloc<float>("c", m * n);
  r.prepare({m, n, k});
  const double s = bestSeconds(200, [&] { r.module->host()(&r.context); });
  std::printf("matmul 512x64x64: %.1f GFLOP/s\n", 2.0 * static_cast<double>(m * n * k) / s * 1e-9);
}
