// Reductions: every operator and type, along lanes and in order; ties and NaN of argmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "jit/kernels.hpp"
#include "sdg/ops.hpp"

using namespace tempo;
using tempo::test::Run;

namespace {

constexpr int64_t kLongest = 300;

// Over one row (lanes along the reduction) and over columns (lanes along the parallel loop, in order along the reduction).
std::string programFor(Reduce op, DType t) {
  const std::string ty = name(t), o = info(op).text;
  const bool arg = op == Reduce::ArgMax || op == Reduce::ArgMin;
  const std::string out = arg ? "i64" : ty;
  return "sizes K, N\nbuffer a: " + ty + "[K * N] input\nbuffer row: " + out + "[1] output\nbuffer col: " + out + "[N] output\n" +
         "kernel along(K) {\n  buffer a: " + ty + "\n  buffer row: " + out + " written\n  grid() {\n    reduce k in 0 .. K {\n      " + o +
         " s: " + ty + " = a[k]\n    }\n    row[0] = s\n  }\n}\nkernel down(K, N) {\n  buffer a: " + ty + "\n  buffer col: " + out +
         " written\n  grid(j in 0 .. N) {\n    reduce k in 0 .. K {\n      " + o + " s: " + ty +
         " = a[(k * N) + j]\n    }\n    col[j] = s\n  }\n}\nhost {\n  launch along(K)\n  launch down(K, N)\n}\n";
}

template <class T>
T element(int64_t i) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<T>((i * 7 + 3) % 250);
  return static_cast<T>((i * 37) % 23 - 11);
}

template <class T>
double expected(Reduce op, const std::vector<T>& v) {
  double best = 0;
  size_t at = 0;
  switch (op) {
    case Reduce::Sum: {
      double s = 0;
      for (T x : v) s += static_cast<double>(x);
      if constexpr (std::is_integral_v<T>) return static_cast<double>(static_cast<T>(static_cast<int64_t>(s)));
      return s;
    }
    case Reduce::Prod: {
      if constexpr (std::is_integral_v<T>) {
        uint64_t p = 1;
        for (T x : v) p *= static_cast<uint64_t>(static_cast<int64_t>(x));
        return static_cast<double>(static_cast<T>(p));
      }
      double p = 1;
      for (T x : v) p *= static_cast<double>(x);
      return p;
    }
    default: break;
  }
  const bool max = op == Reduce::Max || op == Reduce::ArgMax;
  best = static_cast<double>(v[0]);
  for (size_t i = 1; i < v.size(); ++i) {
    const auto x = static_cast<double>(v[i]);
    if (max ? x > best : x < best) best = x, at = i;
  }
  return op == Reduce::Max || op == Reduce::Min ? best : static_cast<double>(at);
}

template <class T>
void checkReduce(Reduce op, DType t) {
  Run r(programFor(op, t));
  const bool arg = op == Reduce::ArgMax || op == Reduce::ArgMin;
  for (int64_t k : {1, 2, 7, 15, 16, 17, 31, 64, 65, 67, 127, 300}) {
    for (int64_t n : {1, 5, 16, 67}) {
      std::vector<T> a;
      for (int64_t i = 0; i < k * n; ++i) a.push_back(element<T>(i));
      // Small factors, so that products stay finite: mostly ones.
      if (op == Reduce::Prod && std::is_floating_point_v<T>) {
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 13 == 0 ? 2 : i % 17 == 0 ? 0.5 : 1);
      }
      r.set<T>("a", a);
      r.alloc<int64_t>("row", 1);
      r.alloc<int64_t>("col", static_cast<size_t>(n));
      r({k, n});
      auto got = [&](const char* buffer, int64_t i) {
        return arg ? static_cast<double>(r.get<int64_t>(buffer)[i]) : static_cast<double>(r.get<T>(buffer)[i]);
      };
      INFO(info(op).text << " " << name(t) << " K " << k << " N " << n);
      CHECK(got("row", 0) == expected(op, std::vector<T>(a.begin(), a.begin() + k)));
      for (int64_t j = 0; j < n; ++j) {
        std::vector<T> column;
        for (int64_t q = 0; q < k; ++q) column.push_back(a[static_cast<size_t>(q * n + j)]);
        CHECK(got("col", j) == expected(op, column));
      }
    }
  }
}

template <class T>
void checkReduces(DType t) {
  for (Reduce op : {Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min, Reduce::ArgMax, Reduce::ArgMin}) checkReduce<T>(op, t);
}

}  // namespace

TEST_CASE("reductions in f32") { checkReduces<float>(DType::F32); }
TEST_CASE("reductions in f64") { checkReduces<double>(DType::F64); }
TEST_CASE("reductions in i64") { checkReduces<int64_t>(DType::I64); }
TEST_CASE("reductions in i32") { checkReduces<int32_t>(DType::I32); }
TEST_CASE("reductions in i8") { checkReduces<int8_t>(DType::I8); }
TEST_CASE("reductions in u8") { checkReduces<uint8_t>(DType::U8); }

TEST_CASE("all and any") {
  for (Reduce op : {Reduce::All, Reduce::Any}) {
    Run r(programFor(op, DType::Bool));
    for (int64_t k : {1, 5, 64, 67, 129}) {
      for (int64_t odd : {int64_t{-1}, int64_t{0}, k / 2, k - 1}) {
        const bool all = op == Reduce::All;
        std::vector<uint8_t> a(static_cast<size_t>(k), all ? 1 : 0);
        if (odd >= 0) a[static_cast<size_t>(odd)] = all ? 0 : 1;
        r.set("a", a);
        r.alloc<uint8_t>("row", 1);
        r.alloc<uint8_t>("col", 1);
        r({k, 1});
        CHECK((r.get<uint8_t>("row")[0] != 0) == (all ? odd < 0 : odd >= 0));
        CHECK(r.get<uint8_t>("col")[0] == r.get<uint8_t>("row")[0]);
      }
    }
  }
}

TEST_CASE("empty reductions give the neutral element") {
  Run sum(programFor(Reduce::Sum, DType::F32)), max(programFor(Reduce::Max, DType::F32));
  for (Run* r : {&sum, &max}) {
    r->alloc<float>("a", 4);
    r->alloc<float>("row", 1)[0] = 5;
    r->alloc<float>("col", 3);
    (*r)({0, 3});
  }
  CHECK(sum.get<float>("row")[0] == 0);
  CHECK(sum.get<float>("col")[2] == 0);
  CHECK(max.get<float>("row")[0] == -std::numeric_limits<float>::infinity());
}

TEST_CASE("max and min let NaN through wherever it stands") {
  for (Reduce op : {Reduce::Max, Reduce::Min}) {
    Run r(programFor(op, DType::F32));
    for (int64_t k : {1, 16, 67, 200}) {
      for (int64_t at = 0; at < k; at += 1 + k / 40) {
        std::vector<float> a(static_cast<size_t>(k), 1);
        a[static_cast<size_t>(at)] = NAN;
        r.set("a", a);
        r.alloc<float>("row", 1);
        r.alloc<float>("col", 1);
        r({k, 1});
        CHECK(std::isnan(r.get<float>("row")[0]));
        CHECK(std::isnan(r.get<float>("col")[0]));
      }
    }
  }
}

TEST_CASE("arg reductions: the first of equals, NaN before all else, all infinite") {
  const float inf = std::numeric_limits<float>::infinity();
  for (Reduce op : {Reduce::ArgMax, Reduce::ArgMin}) {
    Run r(programFor(op, DType::F32));
    auto run = [&](const std::vector<float>& a) {
      r.set("a", a);
      r.alloc<int64_t>("row", 1);
      r.alloc<int64_t>("col", 1);
      r({static_cast<int64_t>(a.size()), 1});
      CHECK(r.get<int64_t>("col")[0] == r.get<int64_t>("row")[0]);
      return r.get<int64_t>("row")[0];
    };
    for (size_t k : {1UL, 16UL, 67UL, 200UL}) {
      CHECK(run(std::vector<float>(k, 3)) == 0);
      CHECK(run(std::vector<float>(k, -inf)) == 0);
      CHECK(run(std::vector<float>(k, inf)) == 0);
      std::vector<float> two(k, 0);
      two[k / 3] = two[k - 1] = op == Reduce::ArgMax ? 9 : -9;
      CHECK(run(two) == static_cast<int64_t>(k / 3));
      std::vector<float> nan(k, inf);
      nan[k / 2] = nan[k - 1] = NAN;
      CHECK(run(nan) == static_cast<int64_t>(k / 2));
    }
  }
}

TEST_CASE("positions are counted from the start of the range") {
  Run r(R"(sizes lo, hi
buffer a: f32[hi] input
buffer at: i64[1] output
buffer best: f32[1] output
kernel arg(lo, hi) {
  buffer a: f32
  buffer at: i64 written
  buffer best: f32 written
  grid() {
    reduce k in lo .. hi {
      argmax m: f32 = a[k]
    }
    at[0] = m
    best[0] = m_v
  }
}
host {
  launch arg(lo, hi)
}
)");
  std::vector<float> a(100, 1);
  a[40] = 8;
  r.set("a", a);
  r.alloc<int64_t>("at", 1);
  r.alloc<float>("best", 1);
  r({30, 100});
  CHECK(r.get<int64_t>("at")[0] == 10);
  CHECK(r.get<float>("best")[0] == 8);
}

TEST_CASE("nested and triangular reductions") {
  Run r(R"(sizes N, K
buffer a: f64[N * K] input
buffer y: f64[1] output
buffer z: f64[N] output
kernel nest(N, K) {
  buffer a: f64
  buffer y: f64 written
  buffer z: f64 written
  grid() {
    reduce i in 0 .. N, k in i .. K {
      let v: f64 = a[(i * K) + k]
      sum s: f64 = v * v
      max m: f64 = v
    }
    y[0] = s + m
    par i in 0 .. N {
      reduce k in 0 .. (i + 1) {
        sum p: f64 = a[k]
      }
      z[i] = p
    }
  }
}
host {
  launch nest(N, K)
}
)");
  const int64_t n = 21, k = 53;
  std::vector<double> a;
  for (int64_t i = 0; i < n * k; ++i) a.push_back(static_cast<double>(i * 29 % 19));
  r.set("a", a);
  r.alloc<double>("y", 1);
  r.alloc<double>("z", n);
  r({n, k});
  double s = 0, m = -1e300;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < k; ++j) {
      const double v = a[static_cast<size_t>(i * k + j)];
      s += v * v;
      m = std::max(m, v);
    }
  }
  CHECK(r.get<double>("y")[0] == s + m);
  double p = 0;
  for (int64_t i = 0; i < n; ++i) {
    p += a[static_cast<size_t>(i)];
    CHECK(r.get<double>("z")[i] == p);
  }
}
