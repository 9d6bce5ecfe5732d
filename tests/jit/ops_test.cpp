// Every operation in every type against the op table's meaning, and the same bits wherever an element stands.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "jit/kernels.hpp"
#include "sdg/ops.hpp"

using namespace tempo;
using tempo::test::Run;

namespace {

constexpr int64_t kPoints = 131;  // two wide vectors, single vectors, a tail

template <class T>
std::vector<T> samples(int which) {
  std::vector<double> v;
  if constexpr (std::is_floating_point_v<T>) {
    const double inf = std::numeric_limits<double>::infinity();
    v = {0.0,  -0.0, 1,     -1,    0.5,   -0.5, 2,     -2,    3,      -3,    1e-40, -1e-40, 1e-30, 100, -100, inf,
         -inf, NAN,  0.625, 0.624, 87.33, 88.7, -87.5, -103.9, 1.5e-8, 7.5,   -7.5,  2.5,    3.5,   1e6, 1e20, 3e38};
  } else {
    v = {0, 1, -1, 2, -2, 3, -3, 7, -7, 100, -100, 127, -128, 255, 2147483647, -2147483648.0, 1e15, -1e15};
  }
  std::vector<T> out;
  // A walk that meets every pair: the second operand moves at another pace.
  for (int64_t i = 0; i < kPoints; ++i) {
    const auto n = static_cast<int64_t>(v.size());
    const double base = v[static_cast<size_t>((which ? i / 4 + i * 5 : i) % n)];
    const double spread = std::is_floating_point_v<T> && i >= n && std::isfinite(base) ? base * (1 + 0.01 * static_cast<double>(i % 11)) : base;
    if constexpr (std::is_floating_point_v<T>) {
      out.push_back(static_cast<T>(spread));
    } else {
      out.push_back(static_cast<T>(static_cast<int64_t>(base)));
    }
  }
  return out;
}

std::string opText(Op op, const std::string& a, const std::string& b) {
  const std::string text = info(op).text;
  if (info(op).arity == 1) return text + "(" + a + ")";
  return std::isalpha(static_cast<unsigned char>(text[0])) ? text + "(" + a + ", " + b + ")" : a + " " + text + " " + b;
}

std::vector<Op> opsOf(DType t) {
  std::vector<Op> out;
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    if (accepts(op, t)) out.push_back(op);
  }
  return out;
}

// One kernel per op over [lo, hi); `which` picks it.
std::string programFor(DType t, const std::vector<Op>& ops) {
  const std::string ty = name(t);
  std::string s = "sizes lo, hi, which\nbuffer a: " + ty + "[hi] input\nbuffer b: " + ty + "[hi] input\n";
  s += "buffer y: " + ty + "[hi] output\nbuffer p: bool[hi] output\n";
  std::string host;
  for (size_t k = 0; k < ops.size(); ++k) {
    const bool pred = resultType(ops[k], t) == DType::Bool && t != DType::Bool;
    const std::string out = pred ? "p" : "y";
    s += "kernel f" + std::to_string(k) + "(lo, hi) {\n  buffer a: " + ty + "\n  buffer b: " + ty + "\n  buffer " + out + ": " +
         (pred ? "bool" : ty) + " written\n  grid(i in lo .. hi) {\n    " + out + "[i] = " + opText(ops[k], "a[i]", "b[i]") +
         "\n  }\n}\n";
    host += "  if which == " + std::to_string(k) + " {\n    launch f" + std::to_string(k) + "(lo, hi)\n  }\n";
  }
  return s + "host {\n" + host + "}\n";
}

template <class T>
double distance(T got, double want) {  // in units of the last place of `want`
  if (std::isnan(want) || std::isnan(static_cast<double>(got))) return std::isnan(want) && std::isnan(static_cast<double>(got)) ? 0 : 1e9;
  if (static_cast<double>(got) == want) return 0;
  if constexpr (!std::is_floating_point_v<T>) return 1e9;
  const T w = static_cast<T>(want);
  if (got == w) return 0.5;
  if (std::isinf(w) != std::isinf(got)) return 1e9;
  const double unit = std::abs(static_cast<double>(std::nextafter(w, std::numeric_limits<T>::infinity())) - static_cast<double>(w));
  return std::abs(static_cast<double>(got) - want) / unit;
}

double bound(Op op, DType t) {
  switch (info(op).rule) {
    case TypeRule::Cmp:
    case TypeRule::Pred:
    case TypeRule::Logic:
    case TypeRule::Int: return 0;
    default: break;
  }
  if (!isFloat(t)) return 0;
  if (op == Op::Exp || op == Op::Log || op == Op::Tanh || op == Op::Rsqrt) return 2;  // two roundings and more
  return 1;
}

bool sameBits(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)); }

template <class T>
void checkType(DType t) {
  const auto ops = opsOf(t);
  REQUIRE(!ops.empty());
  Run r(programFor(t, ops));
  const auto a = samples<T>(0), b = samples<T>(1);
  r.set<T>("a", a);
  r.set<T>("b", b);
  r.alloc<T>("y", kPoints);
  r.alloc<uint8_t>("p", kPoints);
  for (size_t k = 0; k < ops.size(); ++k) {
    const bool pred = resultType(ops[k], t) == DType::Bool && t != DType::Bool;
    auto got = [&](int64_t i) { return pred ? static_cast<double>(r.get<uint8_t>("p")[i]) : static_cast<double>(r.get<T>("y")[i]); };
    std::vector<double> alone;
    for (int64_t i = 0; i < kPoints; ++i) {
      r({i, i + 1, static_cast<int64_t>(k)});
      alone.push_back(got(i));
      const double args[2] = {static_cast<double>(a[static_cast<size_t>(i)]), static_cast<double>(b[static_cast<size_t>(i)])};
      const double want = evalOp(ops[k], t, args);
      const double off = pred ? std::abs(alone.back() - want) : distance<T>(static_cast<T>(alone.back()), want);
      INFO(name(t) << " " << info(ops[k]).text << "(" << args[0] << ", " << args[1] << ") = " << alone.back() << ", want " << want);
      CHECK(off <= bound(ops[k], t));
    }
    bool same = true;
    for (int64_t len = 1; len <= 67; ++len) {
      const int64_t from = len % 17;
      r({from, from + len, static_cast<int64_t>(k)});
      for (int64_t i = from; i < from + len; ++i) same = same && sameBits(got(i), alone[static_cast<size_t>(i)]);
    }
    r({0, kPoints, static_cast<int64_t>(k)});
    for (int64_t i = 0; i < kPoints; ++i) same = same && sameBits(got(i), alone[static_cast<size_t>(i)]);
    INFO(name(t) << " " << info(ops[k]).text);
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("every operation in f32") { checkType<float>(DType::F32); }
TEST_CASE("every operation in f64") { checkType<double>(DType::F64); }
TEST_CASE("every operation in i64") { checkType<int64_t>(DType::I64); }
TEST_CASE("every operation in i32") { checkType<int32_t>(DType::I32); }
TEST_CASE("every operation in i8") { checkType<int8_t>(DType::I8); }
TEST_CASE("every operation in u8") { checkType<uint8_t>(DType::U8); }

TEST_CASE("every operation on bools") {
  const auto ops = opsOf(DType::Bool);
  Run r(programFor(DType::Bool, ops));
  const std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  r.set("a", a);
  r.set("b", b);
  r.alloc<uint8_t>("y", 4);
  r.alloc<uint8_t>("p", 4);
  for (size_t k = 0; k < ops.size(); ++k) {
    r({0, 4, static_cast<int64_t>(k)});
    for (size_t i = 0; i < 4; ++i) {
      const double args[2] = {static_cast<double>(a[i]), static_cast<double>(b[i])};
      INFO(info(ops[k]).text << " " << args[0] << " " << args[1]);
      CHECK(r.get<uint8_t>("y")[i] == evalOp(ops[k], DType::Bool, args));
    }
  }
}

namespace {

// Largest error of f over every `step`-th float, in units of the last place of the exact result.
double worst(const char* f, double (*exact)(double), uint64_t step, float& where) {
  Run r(std::string("sizes N\nbuffer x: f32[N] input\nbuffer y: f32[N] output\nkernel map(N) {\n  buffer x: f32\n  buffer y: f32 "
                    "written\n  grid(i in 0 .. N) {\n    y[i] = ") +
        f + "(x[i])\n  }\n}\nhost {\n  launch map(N)\n}\n");
  const int64_t n = 1 << 16;
  float* x = r.alloc<float>("x", n);
  float* y = r.alloc<float>("y", n);
  double most = 0;
  for (uint64_t at = 0; at < (uint64_t{1} << 32);) {
    for (int64_t i = 0; i < n; ++i, at += step) {
      const auto bits = static_cast<uint32_t>(at);
      std::memcpy(&x[i], &bits, 4);
    }
    r({n});
    for (int64_t i = 0; i < n; ++i) {
      const double d = distance<float>(y[i], exact(static_cast<double>(x[i])));
      if (d > most) most = d, where = x[i];
    }
  }
  return most;
}

}  // namespace

TEST_CASE("functions in f32 over the whole range") {
  struct Row {
    const char* name;
    double (*exact)(double);
    double bound;
  };
  // exp, log and tanh compute in f32, the rest in f64.
  const Row rows[] = {{"exp", std::exp, 1.5},   {"log", std::log, 1.5},   {"tanh", std::tanh, 2},       {"sin", std::sin, 0.51},
                      {"cos", std::cos, 0.51},  {"tan", std::tan, 0.51},  {"erf", std::erf, 0.51},      {"atan", std::atan, 0.51},
                      {"log1p", std::log1p, 0.51}, {"expm1", std::expm1, 0.51}};
  for (const auto& row : rows) {
    float where = 0;
    const double most = worst(row.name, row.exact, 9973, where);
    INFO(row.name << ": " << most << " ulp at " << where);
    CHECK(most <= row.bound);
  }
}
