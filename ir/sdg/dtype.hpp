// Element types and their promotion rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tempo {

enum class DType : uint8_t { F64, F32, BF16, F16, I64, I32, I8, U8, Bool };
inline constexpr int kDTypeCount = 9;

const char* name(DType t);
std::optional<DType> parseDType(std::string_view s);
int bytes(DType t);
inline bool isFloat(DType t) { return t <= DType::F16; }
inline bool isInt(DType t) { return t >= DType::I64 && t <= DType::U8; }
/// The type a reduction of `t` accumulates in: f32 for bf16 and f16, i64 for the small integers and i32, else `t`.
DType accumulator(DType t);
/// int with float gives that float, the wider of two of a kind, nullopt for bf16 with f16 and for bool with a number.
std::optional<DType> promote(DType a, DType b);

}  // namespace tempo
