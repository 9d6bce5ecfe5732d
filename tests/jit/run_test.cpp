// Running: conversions, guarded reads, scratch, faults, stopping, threads, loading and unloading.
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "catch.hpp"
#include "jit/kernels.hpp"
#include "sdg/float_bits.hpp"
#include "sdg/ops.hpp"

using namespace tempo;
using tempo::test::Run;

namespace {

std::string castProgram(DType from, DType to) {
  const std::string a = name(from), b = name(to);
  return "sizes N\nbuffer x: " + a + "[N] input\nbuffer y: " + b + "[N] output\nkernel map(N) {\n  buffer x: " + a + "\n  buffer y: " + b +
         " written\n  grid(i in 0 .. N) {\n    y[i] = " + b + "(x[i])\n  }\n}\nhost {\n  launch map(N)\n}\n";
}

template <class A, class B>
std::vector<B> castAll(DType from, DType to, const std::vector<A>& x) {
  Run r(castProgram(from, to));
  r.set("x", x);
  r.alloc<B>("y", x.size());
  r({static_cast<int64_t>(x.size())});
  return r.values<B>("y", x.size());
}

int64_t residentPages() {
  std::ifstream f("/proc/self/statm");
  int64_t size = 0, resident = 0;
  f >> size >> resident;
  return resident;
}

}  // namespace

TEST_CASE("f32 to bf16 and f16 round to nearest even") {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 60'013) {
    const auto b = static_cast<uint32_t>(bits);
    float f = 0;
    std::memcpy(&f, &b, 4);
    x.push_back(f);
  }
  // Ties exactly between two bf16 and two f16 values, on both sides of even.
  for (float t : {1.00390625F, 1.01171875F, 1.00048828125F, 1.00146484375F, 65519.F, 65520.F, 5.96e-8F, 2.98e-8F, 2.99e-8F}) x.push_back(t);
  const auto b = castAll<float, uint16_t>(DType::F32, DType::BF16, x);
  const auto h = castAll<float, uint16_t>(DType::F32, DType::F16, x);
  bool same = true;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      same = same && std::isnan(bf16ToFloat(b[i])) && std::isnan(f16ToFloat(h[i]));
    } else {
      same = same && b[i] == toBf16(static_cast<double>(x[i])) && h[i] == toF16(static_cast<double>(x[i]));
    }
  }
  CHECK(same);
}

TEST_CASE("f64 to the short formats rounds once") {
  // Just above a tie in the short format, by less than f32 can hold: rounding twice would lose it.
  const double above = 1 + 0x1p-8 + 0x1p-40, half = 1 + 0x1p-11 + 0x1p-45;
  const std::vector<double> x = {above, -above, half, -half, 1 + 0x1p-8, 1 + 0x1p-11, 1e300, -1e300, 0x1p-140, 0x1.8p-25, 3e-8};
  const auto b = castAll<double, uint16_t>(DType::F64, DType::BF16, x);
  const auto h = castAll<double, uint16_t>(DType::F64, DType::F16, x);
  for (size_t i = 0; i < x.size(); ++i) {
    INFO(x[i]);
    CHECK(b[i] == toBf16(x[i]));
    CHECK(h[i] == toF16(x[i]));
  }
}

TEST_CASE("every bf16 and f16 value widens exactly") {
  std::vector<uint16_t> all;
  for (int k = 0; k < 65536; ++k) all.push_back(static_cast<uint16_t>(k));
  const auto b = castAll<uint16_t, float>(DType::BF16, DType::F32, all);
  const auto h = castAll<uint16_t, double>(DType::F16, DType::F64, all);
  bool same = true;
  for (size_t k = 0; k < all.size(); ++k) {
    const float wb = bf16ToFloat(all[k]), wh = f16ToFloat(all[k]);
    same = same && (std::isnan(wb) ? std::isnan(b[k]) : wb == b[k]) && (std::isnan(wh) ? std::isnan(h[k]) : static_cast<double>(wh) == h[k]);
  }
  CHECK(same);
}

TEST_CASE("floats become integers by saturation") {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, 1.9F, -1.9F, 300, -300, 1e10F, -1e10F, 1e20F, inf, -inf, NAN, 127.5F, 255.9F};
  while (x.size() < 40) x.push_back(static_cast<float>(x.size()) * 9.7F);  // past one vector
  const auto b = castAll<float, int8_t>(DType::F32, DType::I8, x);
  const auto u = castAll<float, uint8_t>(DType::F32, DType::U8, x);
  const auto i = castAll<float, int32_t>(DType::F32, DType::I32, x);
  const auto l = castAll<float, int64_t>(DType::F32, DType::I64, x);
  auto clamp = [](double v, double lo, double hi) { return std::isnan(v) ? 0 : std::trunc(std::min(std::max(v, lo), hi)); };
  for (size_t k = 0; k < x.size(); ++k) {
    INFO(x[k]);
    const auto v = static_cast<double>(x[k]);
    CHECK(b[k] == clamp(v, -128, 127));
    CHECK(u[k] == clamp(v, 0, 255));
    CHECK(i[k] == clamp(v, -2147483648.0, 2147483647.0));
    CHECK(l[k] == (v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : std::isnan(v) ? 0 : static_cast<int64_t>(v)));
  }
}

TEST_CASE("integers wrap among themselves, and bools are 0 and 1") {
  const std::vector<int64_t> x = {0, 1, -1, 255, 256, 300, int64_t{1} << 40, INT64_MIN};
  const auto b = castAll<int64_t, int8_t>(DType::I64, DType::I8, x);
  const auto u = castAll<int64_t, uint8_t>(DType::I64, DType::U8, x);
  const auto t = castAll<int64_t, uint8_t>(DType::I64, DType::Bool, x);
  const auto f = castAll<int64_t, float>(DType::I64, DType::F32, x);
  for (size_t k = 0; k < x.size(); ++k) {
    CHECK(b[k] == static_cast<int8_t>(x[k]));
    CHECK(u[k] == static_cast<uint8_t>(x[k]));
    CHECK(t[k] == (x[k] != 0 ? 1 : 0));
    CHECK(f[k] == static_cast<float>(x[k]));
  }
  const std::vector<uint8_t> bytes = {0, 1, 200, 255};
  const auto g = castAll<uint8_t, double>(DType::U8, DType::F64, bytes);
  const auto w = castAll<uint8_t, int32_t>(DType::U8, DType::I32, bytes);
  for (size_t k = 0; k < bytes.size(); ++k) CHECK((g[k] == bytes[k] && w[k] == bytes[k]));
}

TEST_CASE("a guarded read does not touch what its guard forbids") {
  Run r(R"(sizes N
buffer x: f32[N] input
buffer y: f32[N] output
kernel shift(N) {
  buffer x: f32
  buffer y: f32 written
  grid(i in 0 .. N) {
    y[i] = if((i >= 1) == (i < N), if(i >= 3, x[(i - 3) * 100000000], 7:f32), 0:f32)
  }
}
host {
  launch shift(N)
}
)");
  // Elements past 3 would be far outside; only i = 3 itself reads, at 0.
  r.set<float>("x", {5});
  r.alloc<float>("y", 4);
  r({4});
  CHECK(r.values<float>("y", 4) == std::vector<float>{0, 7, 7, 5});
}

TEST_CASE("scratch is private to an instance, of constant or computed size") {
  const char* text = R"(sizes N, M
buffer x: f32[N * M] input
buffer y: f32[N * M] output
kernel twice(N, M) {
  buffer x: f32
  buffer y: f32 written
  scratch a: f32[M]
  scratch c: i64[4]
  scratch b: f64[M * 2]
  grid(i in 0 .. N) {
    par k in 0 .. M {
      a[k] = x[(i * M) + k]
      b[(k * 2) + 1] = f64(k)
    }
    par k in 0 .. 4 {
      c[k] = k * i
    }
    par k in 0 .. M {
      y[(i * M) + k] = (a[(M - 1) - k] + f32(b[(k * 2) + 1])) + f32(c[k % 4])
    }
  }
}
host {
  launch twice(N, M)
}
)";
  Run r(text);
  const int64_t n = 100, m = 333;
  float* x = r.alloc<float>("x", static_cast<size_t>(n * m));
  float* y = r.alloc<float>("y", static_cast<size_t>(n * m));
  for (int64_t i = 0; i < n * m; ++i) x[i] = static_cast<float>(i % 1000);
  for (int threads : {0, 1, 2, 3, 8}) {
    std::fill(y, y + n * m, 0.F);
    r({n, m}, threads);
    bool same = true;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < m; ++k) {
        same = same && y[i * m + k] == x[i * m + m - 1 - k] + static_cast<float>(k) + static_cast<float>(k % 4 * i);
      }
    }
    CHECK(same);
  }
}

TEST_CASE("a failed check stops the run and says where") {
  const char* text = R"(sizes N, limit
buffer x: i64[N] input
buffer y: i64[N] output
buffer z: i64[1] output
kernel look(N, limit) {
  buffer x: i64
  buffer y: i64 written
  grid(i in 0 .. N) {
    let v: i64 = x[i]
    check v < limit site 42(i, v)
    y[i] = v
  }
}
kernel after() {
  buffer z: i64 written
  grid() {
    z[0] = 1
  }
}
host {
  launch look(N, limit)
  launch after()
}
)";
  Run r(text);
  for (int64_t bad : {0, 5, 17, 66}) {
    std::vector<int64_t> x(67, 1);
    x[static_cast<size_t>(bad)] = 100;
    r.set("x", x);
    r.alloc<int64_t>("y", 67);
    r.alloc<int64_t>("z", 1);
    r({67, 50});
    CHECK(r.fault.site == 42);
    CHECK(r.fault.count == 2);
    CHECK(r.fault.values[0] == bad);
    CHECK(r.fault.values[1] == 100);
    CHECK(r.get<int64_t>("z")[0] == 0);
  }
  r.set("x", std::vector<int64_t>(67, 1));
  r.alloc<int64_t>("y", 67);
  r({67, 50});
  CHECK(r.fault.site == -1);
  CHECK(r.get<int64_t>("z")[0] == 1);
}

TEST_CASE("the stop flag ends host loops and polling kernels within 100 ms") {
  const char* text = R"(sizes T, inside
buffer y: f64[1] output
kernel spin(T) {
  buffer y: f64 written
  grid() {
    for t in 0 .. T {
      poll
      y[0] = y[0] + 1:f64
    }
  }
}
kernel tick(t) {
  buffer y: f64 written
  grid() {
    y[0] = f64(t)
  }
}
host {
  if inside == 1 {
    launch spin(T)
  } else {
    for t in 0 .. T {
      launch tick(t)
    }
  }
}
)";
  Run r(text);
  r.alloc<double>("y", 1);
  for (int64_t inside : {0, 1}) {
    r.prepare({int64_t{1} << 60, inside});
    std::thread runner([&] { r.module->host()(&r.context); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto t0 = std::chrono::steady_clock::now();
    r.stop = 1;
    runner.join();
    CHECK(std::chrono::steady_clock::now() - t0 < std::chrono::milliseconds(100));
    CHECK(r.get<double>("y")[0] > 0);
  }
}

TEST_CASE("effects and progress reach their callbacks in order, and what they throw stops the run") {
  Run r(R"(sizes T
buffer y: i64[1] output
kernel tick(t) {
  buffer y: i64 written
  grid() {
    y[0] = t
  }
}
host {
  for t in 0 .. T {
    launch tick(t)
    if (t % 3) == 0 {
      effect 2(t, t * 10)
    }
    progress(t + 1, T)
  }
}
)");
  r.alloc<int64_t>("y", 1);
  std::vector<int64_t> seen, steps;
  r.runtime.onEffect = [&](int32_t e, const int64_t* p) {
    CHECK(e == 2);
    CHECK(p[1] == p[0] * 10);
    CHECK(r.get<int64_t>("y")[0] == p[0]);
    seen.push_back(p[0]);
  };
  r.runtime.onProgress = [&](int64_t done, int64_t total) {
    CHECK(total == 8);
    steps.push_back(done);
  };
  r({8});
  CHECK(seen == std::vector<int64_t>{0, 3, 6});
  CHECK(steps == std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
  r.runtime.onEffect = [&](int32_t, const int64_t* p) {
    if (p[0] == 3) throw std::runtime_error("enough");
  };
  r({8});
  CHECK(r.runtime.error != nullptr);
  CHECK(r.get<int64_t>("y")[0] == 3);
}

TEST_CASE("any number of threads computes the same bits") {
  Run r(R"(sizes N, M, K
buffer w: f32[(N * M) * K] input
buffer y: f32[N * M] output
kernel rows(N, M, K) {
  buffer w: f32
  buffer y: f32 written
  grid(i in 0 .. N, j in 0 .. M) {
    reduce k in 0 .. K {
      sum s: f32 = exp(w[(((i * M) + j) * K) + k]) * 0.1:f32
    }
    y[(i * M) + j] = tanh(s)
  }
}
host {
  launch rows(N, M, K)
}
)");
  const int64_t n = 13, m = 11, k = 157;
  float* w = r.alloc<float>("w", static_cast<size_t>(n * m * k));
  r.alloc<float>("y", static_cast<size_t>(n * m));
  for (int64_t i = 0; i < n * m * k; ++i) w[i] = static_cast<float>((i * 7919) % 1000) * 0.004F - 6;
  std::vector<float> first;
  for (int threads : {0, 1, 2, 3, 8}) {
    std::fill_n(r.get<float>("y"), n * m, 0.F);
    r({n, m, k}, threads);
    const auto y = r.values<float>("y", static_cast<size_t>(n * m));
    if (first.empty()) first = y;
    CHECK(std::memcmp(first.data(), y.data(), first.size() * 4) == 0);
  }
  double s = 0;
  for (int64_t q = 0; q < k; ++q) s += std::exp(static_cast<double>(w[q])) * 0.1;
  CHECK(std::abs(static_cast<double>(first[0]) - std::tanh(s)) < 1e-5);
  CHECK(first[0] != first[1]);
}

TEST_CASE("host control: conditions on data, reversed loops, lets") {
  Run r(R"(sizes T
buffer y: i64[T + 1] output
kernel put(t, v) {
  buffer y: i64 written
  grid() {
    y[t] = (y[t] + v)
  }
}
host {
  for t in 0 .. T reverse {
    let v: i64 = (t * 2) - 7
    launch put(t, v)
    if y[t] < 0 {
      launch put(T, 1)
    } else {
      launch put(T, 100)
    }
  }
}
)");
  r.alloc<int64_t>("y", 11);
  r({10});
  for (int64_t t = 0; t < 10; ++t) CHECK(r.get<int64_t>("y")[t] == t * 2 - 7);
  CHECK(r.get<int64_t>("y")[10] == 4 * 1 + 6 * 100);
}

TEST_CASE("an object loads again and computes the same") {
  const std::string text = castProgram(DType::I32, DType::F32);
  Run r(text);
  const auto object = r.module->object();
  CHECK(object.size() > 100);
  r.module = loadCpuObject(object, r.program);
  r.set<int32_t>("x", {1, -5, 1 << 20});
  r.alloc<float>("y", 3);
  r({3});
  CHECK(r.values<float>("y", 3) == std::vector<float>{1, -5, 1 << 20});
}

TEST_CASE("unloading frees code") {
  const auto program = kir::parseProgram(castProgram(DType::F32, DType::BF16));
  const auto object = compileCpu(program, {})->object();
  auto cycle = [&](int n) {
    for (int i = 0; i < n; ++i) loadCpuObject(object, program);
  };
  cycle(200);
  const int64_t before = residentPages();
  cycle(2000);
  const int64_t grown = residentPages() - before;
  INFO(grown << " pages");
  CHECK(grown < 500);  // a leak of one page per module would be 2000
}

TEST_CASE("assembly and LLVM IR on request") {
  CpuOptions o;
  CHECK(compileCpu(kir::parseProgram(castProgram(DType::F32, DType::F64)), o)->assembly().empty());
  o.wantAsm = o.wantIr = true;
  const auto m = compileCpu(kir::parseProgram(castProgram(DType::F32, DType::F64)), o);
  CHECK(m->assembly().find("k0_map") != std::string::npos);
  CHECK(m->llvmIr().find("define void @tempo_host") != std::string::npos);
}

TEST_CASE("windows kept in rings read the right elements around the seam") {
  Run r(R"(sizes R, t, W
buffer x: f32[R] input
buffer y: f32[W] output
buffer s: f32[1] output
kernel window(R, t, W) {
  buffer x: f32
  buffer y: f32 written
  buffer s: f32 written
  grid() {
    par k in 0 .. W {
      y[k] = x[((t + k) - 3) % R] * 2:f32
    }
    reduce k in t .. (t + W) {
      sum a: f32 = x[k % R] * y[k - t]
    }
    s[0] = a
  }
}
host {
  launch window(R, t, W)
}
)");
  for (int64_t ring : {1, 7, 16, 64, 100, 131}) {
    std::vector<float> x;
    for (int64_t i = 0; i < ring; ++i) x.push_back(static_cast<float>(i * 3 % 8));
    r.set("x", x);
    for (int64_t w : {1, 15, 64, 90}) {
      for (int64_t t : {0, 2, 50, 99, 1000}) {
        r.alloc<float>("y", static_cast<size_t>(w));
        r.alloc<float>("s", 1);
        r({ring, t, w});
        float sum = 0;  // small integers: exact in any order
        bool same = true;
        for (int64_t k = 0; k < w; ++k) {
          const float y = 2 * x[static_cast<size_t>(((t + k - 3) % ring + ring) % ring)];
          same = same && r.get<float>("y")[k] == y;
          sum += x[static_cast<size_t>((t + k) % ring)] * y;
        }
        INFO("ring " << ring << " window " << w << " t " << t);
        CHECK(same);
        CHECK(r.get<float>("s")[0] == sum);
      }
    }
  }
}
