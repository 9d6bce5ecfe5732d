#include "sdg/dtype.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "sdg/float_bits.hpp"
#include "sdg/ops.hpp"

namespace tempo {

namespace {

struct Row {
  const char* name;
  int bytes;
  DType accumulator;
};

constexpr std::array<Row, kDTypeCount> kRows{{{"f64", 8, DType::F64},
                                              {"f32", 4, DType::F32},
                                              {"bf16", 2, DType::F32},
                                              {"f16", 2, DType::F32},
                                              {"i64", 8, DType::I64},
                                              {"i32", 4, DType::I64},
                                              {"i8", 1, DType::I64},
                                              {"u8", 1, DType::I64},
                                              {"bool", 1, DType::Bool}}};

/// A binary float format narrower than double.
struct Format {
  int fraction;     // stored bits of the significand
  int minExponent;  // of the smallest normal number
  int maxExponent;
};

/// v rounded to the format, ties to even; beyond the largest finite value, infinity. Exact in double.
double roundToFormat(double v, Format f) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = std::max(std::ilogb(v), f.minExponent);
  double ulp = std::ldexp(1.0, exponent - f.fraction);
  double r = std::nearbyint(v / ulp) * ulp;  // the division is by a power of two: exact, v / ulp < 2^53
  double largest = std::ldexp(2.0 - std::ldexp(1.0, -f.fraction), f.maxExponent);
  if (std::fabs(r) > largest) return std::copysign(std::numeric_limits<double>::infinity(), v);
  return std::copysign(r, v);
}

constexpr Format kBf16{7, -126, 127};
constexpr Format kF16{10, -14, 15};

/// The bits of a value that the format holds.
uint16_t encode(double v, Format f, int exponentBits) {
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const uint16_t exponentMask = uint16_t(((1u << exponentBits) - 1) << f.fraction);
  if (std::isnan(v)) return sign | exponentMask | uint16_t(1u << (f.fraction - 1));
  v = std::fabs(roundToFormat(v, f));
  if (std::isinf(v)) return sign | exponentMask;
  if (v == 0) return sign;
  int e = std::ilogb(v);
  if (e < f.minExponent) return sign | uint16_t(std::ldexp(v, f.fraction - f.minExponent));
  auto significand = uint16_t(std::ldexp(v, f.fraction - e));  // with the hidden bit
  return sign | uint16_t(((e - f.minExponent) << f.fraction) + significand);
}

double toInteger(double v, double lo, double hi) {
  if (std::isnan(v)) return 0;
  return std::fmin(std::fmax(std::trunc(v), lo), hi) + 0.0;
}

}  // namespace

const char* name(DType t) { return kRows[size_t(t)].name; }

std::optional<DType> parseDType(std::string_view s) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (s == kRows[size_t(i)].name) return DType(i);
  }
  return std::nullopt;
}

int bytes(DType t) { return kRows[size_t(t)].bytes; }

DType accumulator(DType t) { return kRows[size_t(t)].accumulator; }

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool || b == DType::Bool) return std::nullopt;
  if (isFloat(a) != isFloat(b)) return isFloat(a) ? a : b;
  if (bytes(a) != bytes(b)) return bytes(a) > bytes(b) ? a : b;
  if (isFloat(a)) return std::nullopt;  // bf16 with f16
  return DType::I32;                    // i8 with u8: the narrowest that holds both
}

float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float f16ToFloat(uint16_t bits) {
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  if (exponent == 0x1f) {
    return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(fraction | 0x400), exponent - 25);
}

uint16_t toBf16(double v) { return encode(v, kBf16, 8); }
uint16_t toF16(double v) { return encode(v, kF16, 5); }

double roundTo(DType t, double v) {
  switch (t) {
    case DType::F64: return v;
    case DType::F32: return double(float(v));
    case DType::BF16: return roundToFormat(v, kBf16);
    case DType::F16: return roundToFormat(v, kF16);
    case DType::I64: return toInteger(v, -0x1p63, 0x1p63);
    case DType::I32: return toInteger(v, -0x1p31, 0x1p31 - 1);
    case DType::I8: return toInteger(v, -128, 127);
    case DType::U8: return toInteger(v, 0, 255);
    case DType::Bool: return v != 0;
  }
  return v;
}

}  // namespace tempo
