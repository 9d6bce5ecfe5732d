// The op table: all that is known of a scalar operation or a reduction apart from how a target emits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sdg/dtype.hpp"

namespace tempo {

enum class Op : uint8_t {
#define X(id, text, arity, rule, cost, flags, doc) id,
#include "sdg/ops.def"
#undef X
};
inline constexpr int kOpCount = 0
#define X(id, text, arity, rule, cost, flags, doc) +1
#include "sdg/ops.def"
#undef X
    ;

enum class TypeRule : uint8_t { Same, Float, Cmp, Logic, Int, Pred };

struct OpInfo {
  Op op;
  const char* text;  // spelling in the language and in the SDG text form
  int arity;
  TypeRule rule;
  int cost;
  bool commutative, associative;
  const char* doc;
};

const OpInfo& info(Op op);
std::optional<Op> findOp(std::string_view text, int arity);
/// Can `op` take operands of type `t`?
bool accepts(Op op, DType t);
/// Result type for operands of type `t`.
DType resultType(Op op, DType t);
/// The meaning, in float64 (bool as 0 and 1, integers exact to 2^53, wrapped to `t`'s width).
double evalOp(Op op, DType t, const double* args);

/// Reductions. ArgMax gives the position (i32) of the first largest element along one reduction variable, counted from
/// the range's start.
enum class Reduce : uint8_t { Sum, Prod, Max, Min, All, Any, ArgMax, ArgMin };
inline constexpr int kReduceCount = 8;

struct ReduceInfo {
  Reduce op;
  const char* text;
  std::optional<Op> combine;  // none for the arg reductions
  bool hasIdentity;           // max, min and the arg reductions have none: an empty range needs `init`
  double identity;            // the neutral element (used inside loops also for max and min: -inf, inf)
  const char* doc;
};
const ReduceInfo& info(Reduce r);
std::optional<Reduce> findReduce(std::string_view text);
DType resultType(Reduce r, DType operand);

/// Rounds `v` to what a value of type `t` can hold.
double roundTo(DType t, double v);

}  // namespace tempo
