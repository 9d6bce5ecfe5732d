#include "sdg/ops.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "array.hpp"
#include "catch.hpp"
#include "sdg/float_bits.hpp"

using namespace tempo;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

double eval(Op op, DType t, double a, double b = 0) {
  double args[2] = {a, b};
  return evalOp(op, t, args);
}

/// The nearest value of a 16-bit format by search over all its finite values; ties to the even code.
double nearest(double v, float (*decode)(uint16_t)) {
  double best = 0, distance = kInf;
  bool evenBest = true;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double x = decode(uint16_t(bits));
    if (!std::isfinite(x) || std::signbit(x) != std::signbit(v)) continue;
    double d = std::fabs(x - v);
    bool even = bits % 2 == 0;
    if (d < distance || (d == distance && even && !evenBest)) {
      best = x;
      distance = d;
      evenBest = even;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("element types: names, sizes, promotion", "[dtype]") {
  for (int i = 0; i < kDTypeCount; ++i) {
    CHECK(parseDType(name(DType(i))) == DType(i));
    CHECK(promote(DType(i), DType(i)) == DType(i));
  }
  CHECK_FALSE(parseDType("float"));
  CHECK(bytes(DType::BF16) == 2);
  CHECK(promote(DType::I64, DType::F16) == DType::F16);
  CHECK(promote(DType::F32, DType::BF16) == DType::F32);
  CHECK(promote(DType::I8, DType::I32) == DType::I32);
  CHECK_FALSE(promote(DType::BF16, DType::F16));
  CHECK_FALSE(promote(DType::Bool, DType::I32));
  CHECK(accumulator(DType::BF16) == DType::F32);
  CHECK(accumulator(DType::I8) == DType::I64);
  CHECK(accumulator(DType::F64) == DType::F64);
}

TEST_CASE("bf16 keeps eight significant bits, ties to even", "[dtype]") {
  CHECK(roundTo(DType::BF16, 257) == 256);  // between 256 and 258: the even significand
  CHECK(roundTo(DType::BF16, 259) == 260);  // between 258 and 260
  CHECK(roundTo(DType::BF16, 257.01) == 258);
  CHECK(roundTo(DType::BF16, 5000) == 4992);  // FC-43: the step is 32 there
  CHECK(roundTo(DType::BF16, 1e39) == kInf);
  CHECK(roundTo(DType::BF16, 0x1p-133) == 0x1p-133);  // the least subnormal
  CHECK(roundTo(DType::BF16, 0x1p-134) == 0);         // halfway to zero
  CHECK(roundTo(DType::BF16, 0x1.8p-134) == 0x1p-133);
}

TEST_CASE("f16 keeps eleven significant bits, subnormals and infinity", "[dtype]") {
  CHECK(roundTo(DType::F16, 2049) == 2048);
  CHECK(roundTo(DType::F16, 2051) == 2052);
  CHECK(roundTo(DType::F16, 65504) == 65504);
  CHECK(roundTo(DType::F16, 65519.9) == 65504);
  CHECK(roundTo(DType::F16, 65520) == kInf);
  CHECK(roundTo(DType::F16, -65520) == -kInf);
  CHECK(roundTo(DType::F16, 0x1p-24) == 0x1p-24);
  CHECK(roundTo(DType::F16, 0x1p-25) == 0);
  CHECK(std::signbit(roundTo(DType::F16, -0x1p-30)));
  CHECK(std::isnan(roundTo(DType::F16, kNan)));
}

TEST_CASE("16-bit rounding is the nearest representable value", "[dtype]") {
  double v = 1.0e-8;
  for (int i = 0; i < 60; ++i, v *= -1.6180339887) {
    if (std::fabs(v) < 65504) CHECK(roundTo(DType::F16, v) == nearest(v, f16ToFloat));
    CHECK(roundTo(DType::BF16, v) == nearest(v, bf16ToFloat));
  }
}

TEST_CASE("16-bit codes decode to what they encode", "[dtype]") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float half = f16ToFloat(uint16_t(bits)), brain = bf16ToFloat(uint16_t(bits));
    if (!std::isnan(half) && toF16(half) != bits) FAIL("f16 code " << bits);
    if (!std::isnan(brain) && toBf16(brain) != bits) FAIL("bf16 code " << bits);
  }
  CHECK(f16ToFloat(0x3C00) == 1.0f);
  CHECK(f16ToFloat(0x7BFF) == 65504.0f);
  CHECK(bf16ToFloat(0x3F80) == 1.0f);
  CHECK(std::isnan(f16ToFloat(toF16(kNan))));
  CHECK(std::isnan(bf16ToFloat(toBf16(kNan))));
}

TEST_CASE("conversion to integers truncates and saturates", "[dtype]") {
  CHECK(roundTo(DType::I32, -2.9) == -2);
  CHECK(roundTo(DType::I32, 1e12) == 2147483647.0);
  CHECK(roundTo(DType::I8, -300) == -128);
  CHECK(roundTo(DType::U8, -1) == 0);
  CHECK(roundTo(DType::U8, kInf) == 255);
  CHECK(roundTo(DType::I64, kNan) == 0);
  CHECK(roundTo(DType::Bool, 0.5) == 1);
}

TEST_CASE("the op table is consistent", "[ops]") {
  std::set<std::pair<std::string, int>> spellings;
  for (int i = 0; i < kOpCount; ++i) {
    const OpInfo& o = info(Op(i));
    INFO(o.text);
    CHECK(o.op == Op(i));
    CHECK(findOp(o.text, o.arity) == o.op);
    CHECK(spellings.emplace(o.text, o.arity).second);
    bool any = false;
    for (int d = 0; d < kDTypeCount; ++d) {
      if (!accepts(o.op, DType(d))) continue;
      any = true;
      double v = eval(o.op, DType(d), 1, 1);  // every accepted type has a meaning
      DType r = resultType(o.op, DType(d));
      if (isInt(r) || r == DType::Bool) CHECK(roundTo(r, v) == v);
    }
    CHECK(any);
  }
  CHECK_FALSE(findOp("nothing", 1));
  for (int i = 0; i < kReduceCount; ++i) CHECK(findReduce(info(Reduce(i)).text) == Reduce(i));
}

TEST_CASE("float operations", "[ops]") {
  const DType f = DType::F64;
  const double x = 0.3;
  CHECK(eval(Op::Neg, f, x) == -0.3);
  CHECK(eval(Op::Abs, f, -x) == 0.3);
  CHECK(eval(Op::Sign, f, -x) == -1);
  CHECK(eval(Op::Sign, f, 0) == 0);
  CHECK(eval(Op::Exp, f, 1) == Approx(2.718281828459045));
  CHECK(eval(Op::Log, f, eval(Op::Exp, f, x)) == Approx(x));
  CHECK(eval(Op::Log, f, 0) == -kInf);
  CHECK(std::isnan(eval(Op::Log, f, -1)));
  CHECK(eval(Op::Log1p, f, 1e-18) == 1e-18);
  CHECK(eval(Op::Expm1, f, 1e-18) == 1e-18);
  CHECK(eval(Op::Sqrt, f, 6.25) == 2.5);
  CHECK(eval(Op::Rsqrt, f, 4) == 0.5);
  CHECK(std::pow(eval(Op::Sin, f, x), 2) + std::pow(eval(Op::Cos, f, x), 2) == Approx(1));
  CHECK(eval(Op::Tan, f, x) == Approx(eval(Op::Sin, f, x) / eval(Op::Cos, f, x)));
  double e2 = eval(Op::Exp, f, 2 * x);
  CHECK(eval(Op::Tanh, f, x) == Approx((e2 - 1) / (e2 + 1)));
  CHECK(eval(Op::Erf, f, 0) == 0);
  CHECK(eval(Op::Erf, f, 10) == 1);
  CHECK(eval(Op::Atan, f, 1) * 4 == Approx(3.14159265358979));
  CHECK(eval(Op::Floor, f, -0.5) == -1);
  CHECK(eval(Op::Ceil, f, 0.5) == 1);
  CHECK(eval(Op::Round, f, 2.5) == 2);
  CHECK(eval(Op::Round, f, 3.5) == 4);
  CHECK(eval(Op::IsNan, f, kNan) == 1);
  CHECK(eval(Op::IsInf, f, -kInf) == 1);
  CHECK(eval(Op::IsFinite, f, kInf) == 0);
  CHECK(eval(Op::Add, f, 1, 2) == 3);
  CHECK(eval(Op::Sub, f, 1, 2) == -1);
  CHECK(eval(Op::Mul, f, 3, 2) == 6);
  CHECK(eval(Op::Div, f, 1, 0) == kInf);
  CHECK(eval(Op::FloorDiv, f, -7, 2) == -4);
  CHECK(eval(Op::Mod, f, -7, 2) == 1);
  CHECK(eval(Op::Mod, f, 7, -2) == -1);
  CHECK(eval(Op::Pow, f, 2, 10) == 1024);
  CHECK(eval(Op::Min, f, 1, 2) == 1);
  CHECK(std::isnan(eval(Op::Min, f, kNan, 1)));
  CHECK(std::isnan(eval(Op::Max, f, 1, kNan)));
  CHECK(eval(Op::Atan2, f, 1, 0) == Approx(std::acos(0.0)));
  CHECK(eval(Op::Lt, f, 1, 2) == 1);
  CHECK(eval(Op::Le, f, 2, 2) == 1);
  CHECK(eval(Op::Gt, f, 1, 2) == 0);
  CHECK(eval(Op::Ge, f, 1, 2) == 0);
  CHECK(eval(Op::Eq, f, kNan, kNan) == 0);
  CHECK(eval(Op::Ne, f, kNan, kNan) == 1);
}

TEST_CASE("integer operations wrap, division by zero is zero", "[ops]") {
  CHECK(eval(Op::Add, DType::I8, 127, 1) == -128);
  CHECK(eval(Op::Sub, DType::U8, 0, 1) == 255);
  CHECK(eval(Op::Mul, DType::I32, 65536, 65536) == 0);
  CHECK(eval(Op::Neg, DType::I8, -128) == -128);
  CHECK(eval(Op::Abs, DType::I8, -128) == -128);
  CHECK(eval(Op::FloorDiv, DType::I32, -7, 2) == -4);
  CHECK(eval(Op::Mod, DType::I32, -7, 2) == 1);
  CHECK(eval(Op::Mod, DType::I32, 7, -2) == -1);
  CHECK(eval(Op::FloorDiv, DType::I32, 7, 0) == 0);
  CHECK(eval(Op::Mod, DType::I32, 7, 0) == 0);
  CHECK(eval(Op::BitXor, DType::I32, 6, 3) == 5);
  CHECK(eval(Op::And, DType::Bool, 1, 0) == 0);
  CHECK(eval(Op::Or, DType::Bool, 1, 0) == 1);
  CHECK(eval(Op::Not, DType::Bool, 1) == 0);
}

TEST_CASE("arrays hold their type", "[array]") {
  for (int d = 0; d < kDTypeCount; ++d) {
    Array a = Array::zeros(DType(d), {2, 3});
    CHECK(a.count() == 6);
    CHECK(reinterpret_cast<uintptr_t>(a.data.get()) % 64 == 0);
    CHECK(a.get(5) == 0);
    a.set(5, 1);
    CHECK(a.get(5) == 1);
    CHECK(a.get(4) == 0);
  }
  Array b = Array::zeros(DType::BF16, {1});
  b.set(0, 257);
  CHECK(b.get(0) == 256);
  Array i = Array::zeros(DType::I8, {1});
  i.set(0, 1000);
  CHECK(i.get(0) == 127);
  CHECK(Array::zeros(DType::F32, {0, 4}).count() == 0);
  CHECK(Array::zeros(DType::F32, {}).count() == 1);
  CHECK(shapeString({3, 4}) == "[3, 4]");
}
