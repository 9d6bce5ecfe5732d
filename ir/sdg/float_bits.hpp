// The 16-bit float formats as bits. Conversions round to nearest, ties to even, keep subnormals and infinities; every NaN
// becomes a quiet NaN.
#pragma once

#include <cstdint>

namespace tempo {

float bf16ToFloat(uint16_t bits);
float f16ToFloat(uint16_t bits);
/// From double, in one rounding.
uint16_t toBf16(double v);
uint16_t toF16(double v);
inline uint16_t floatToBf16(float v) { return toBf16(v); }
inline uint16_t floatToF16(float v) { return toF16(v); }

}  // namespace tempo
