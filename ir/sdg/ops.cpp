#include "sdg/ops.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "check.hpp"

namespace tempo {

namespace {

enum Flags { A = 1, C = 2 };

#define X(id, text, arity, rule, cost, flags, doc) \
  OpInfo{Op::id, text, arity, TypeRule::rule, cost, ((flags)&C) != 0, ((flags)&A) != 0, doc},
constexpr std::array<OpInfo, kOpCount> kOps{{
#include "sdg/ops.def"
}};
#undef X

constexpr double kInf = std::numeric_limits<double>::infinity();

const std::array<ReduceInfo, kReduceCount> kReduces{{
    {Reduce::Sum, "sum", Op::Add, true, 0, "sum; 0 over nothing"},
    {Reduce::Prod, "prod", Op::Mul, true, 1, "product; 1 over nothing"},
    {Reduce::Max, "max", Op::Max, false, -kInf, "largest; NaN if any is NaN; needs `init` over nothing"},
    {Reduce::Min, "min", Op::Min, false, kInf, "smallest; NaN if any is NaN; needs `init` over nothing"},
    {Reduce::All, "all", Op::And, true, 1, "whether all are true; true over nothing"},
    {Reduce::Any, "any", Op::Or, true, 0, "whether any is true; false over nothing"},
    {Reduce::ArgMax, "argmax", std::nullopt, false, 0, "position of the first largest, from the start of the range"},
    {Reduce::ArgMin, "argmin", std::nullopt, false, 0, "position of the first smallest, from the start of the range"},
}};

int64_t wrapInt(DType t, int64_t v) {
  switch (t) {
    case DType::I32: return int32_t(v);
    case DType::I8: return int8_t(v);
    case DType::U8: return uint8_t(v);
    default: return v;
  }
}

int64_t toInt(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (v <= -0x1p63) return std::numeric_limits<int64_t>::min();
  return int64_t(v);
}

int64_t floorDivWrapping(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return int64_t(0 - uint64_t(a));
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

double evalInt(Op op, DType t, const double* args) {
  int64_t a = toInt(args[0]);
  int64_t b = info(op).arity > 1 ? toInt(args[1]) : 0;
  auto out = [&](uint64_t v) { return double(wrapInt(t, int64_t(v))); };
  switch (op) {
    case Op::Neg: return out(0 - uint64_t(a));
    case Op::Abs: return out(a < 0 ? 0 - uint64_t(a) : uint64_t(a));
    case Op::Sign: return a > 0 ? 1 : (a < 0 ? -1 : 0);
    case Op::Add: return out(uint64_t(a) + uint64_t(b));
    case Op::Sub: return out(uint64_t(a) - uint64_t(b));
    case Op::Mul: return out(uint64_t(a) * uint64_t(b));
    case Op::FloorDiv: return out(uint64_t(floorDivWrapping(a, b)));
    case Op::Mod: return b == 0 ? 0 : out(uint64_t(a) - uint64_t(floorDivWrapping(a, b)) * uint64_t(b));
    case Op::Min: return double(std::min(a, b));
    case Op::Max: return double(std::max(a, b));
    case Op::BitXor: return out(uint64_t(a) ^ uint64_t(b));
    default: break;
  }
  TEMPO_CHECK(false, std::string("no integer meaning for ") + info(op).text);
  return 0;
}

double evalCompare(Op op, double a, double b) {
  switch (op) {
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Eq: return a == b;
    default: return a != b;
  }
}

double evalLogic(Op op, const double* args) {
  switch (op) {
    case Op::And: return args[0] != 0 && args[1] != 0;
    case Op::Or: return args[0] != 0 || args[1] != 0;
    default: return args[0] == 0;
  }
}

double evalPred(Op op, double a) {
  switch (op) {
    case Op::IsNan: return std::isnan(a);
    case Op::IsInf: return std::isinf(a);
    default: return std::isfinite(a);
  }
}

double floatFloorDiv(double a, double b) { return std::floor(a / b); }

/// a - floor(a / b) * b without the rounding of a / b: fmod is exact, then the sign follows b.
double floatMod(double a, double b) {
  if (std::isinf(b) && std::isfinite(a)) return a == 0 || (a < 0) == (b < 0) ? a : b;
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  return r == 0 ? std::copysign(0.0, b) : r;
}

double minNan(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }
double maxNan(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }

double evalFloat1(Op op, double a) {
  switch (op) {
    case Op::Neg: return -a;
    case Op::Abs: return std::fabs(a);
    case Op::Sign: return std::isnan(a) ? a : (a > 0) - (a < 0);
    case Op::Exp: return std::exp(a);
    case Op::Log: return std::log(a);
    case Op::Log1p: return std::log1p(a);
    case Op::Expm1: return std::expm1(a);
    case Op::Sqrt: return std::sqrt(a);
    case Op::Rsqrt: return 1 / std::sqrt(a);
    case Op::Sin: return std::sin(a);
    case Op::Cos: return std::cos(a);
    case Op::Tan: return std::tan(a);
    case Op::Tanh: return std::tanh(a);
    case Op::Erf: return std::erf(a);
    case Op::Atan: return std::atan(a);
    case Op::Floor: return std::floor(a);
    case Op::Ceil: return std::ceil(a);
    case Op::Round: return std::nearbyint(a);
    default: break;
  }
  TEMPO_CHECK(false, std::string("no unary meaning for ") + info(op).text);
  return 0;
}

double evalFloat2(Op op, double a, double b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::FloorDiv: return floatFloorDiv(a, b);
    case Op::Mod: return floatMod(a, b);
    case Op::Pow: return std::pow(a, b);
    case Op::Min: return minNan(a, b);
    case Op::Max: return maxNan(a, b);
    case Op::Atan2: return std::atan2(a, b);
    default: break;
  }
  TEMPO_CHECK(false, std::string("no binary meaning for ") + info(op).text);
  return 0;
}

}  // namespace

const OpInfo& info(Op op) { return kOps[size_t(op)]; }

std::optional<Op> findOp(std::string_view text, int arity) {
  for (const OpInfo& o : kOps) {
    if (o.arity == arity && text == o.text) return o.op;
  }
  if (arity == 1 && text == "-") return Op::Neg;
  return std::nullopt;
}

bool accepts(Op op, DType t) {
  switch (info(op).rule) {
    case TypeRule::Same: return t != DType::Bool;
    case TypeRule::Float:
    case TypeRule::Pred: return isFloat(t);
    case TypeRule::Cmp: return t != DType::Bool || op == Op::Eq || op == Op::Ne;
    case TypeRule::Logic: return t == DType::Bool;
    case TypeRule::Int: return isInt(t);
  }
  return false;
}

DType resultType(Op op, DType t) {
  switch (info(op).rule) {
    case TypeRule::Cmp:
    case TypeRule::Logic:
    case TypeRule::Pred: return DType::Bool;
    default: return t;
  }
}

double evalOp(Op op, DType t, const double* args) {
  switch (info(op).rule) {
    case TypeRule::Cmp: return evalCompare(op, args[0], args[1]);
    case TypeRule::Logic: return evalLogic(op, args);
    case TypeRule::Pred: return evalPred(op, args[0]);
    default: break;
  }
  if (isInt(t)) return evalInt(op, t, args);
  return info(op).arity == 1 ? evalFloat1(op, args[0]) : evalFloat2(op, args[0], args[1]);
}

const ReduceInfo& info(Reduce r) { return kReduces[size_t(r)]; }

std::optional<Reduce> findReduce(std::string_view text) {
  for (const ReduceInfo& r : kReduces) {
    if (text == r.text) return r.op;
  }
  return std::nullopt;
}

DType resultType(Reduce r, DType operand) {
  switch (r) {
    case Reduce::ArgMax:
    case Reduce::ArgMin: return DType::I32;
    case Reduce::All:
    case Reduce::Any: return DType::Bool;
    default: return operand;
  }
}

}  // namespace tempo
