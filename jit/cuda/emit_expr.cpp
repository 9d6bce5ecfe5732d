#include "cuda/emit_expr.hpp"

#include <cmath>
#include <cstdio>
#include <limits>

#include "check.hpp"

namespace tempo::cuda {
namespace {

using kir::Expr;

bool isHalf(DType t) { return t == DType::BF16 || t == DType::F16; }

std::string floatLiteral(DType t, double v) {
  const bool single = t == DType::F32;
  const std::string suffix = single ? "32()" : "64()";
  if (std::isnan(v)) return "tempo_nan" + suffix;
  if (single) v = static_cast<float>(v);
  if (std::isinf(v)) return (v < 0 ? "(-tempo_inf" : "(tempo_inf") + suffix + ")";
  char text[40];
  for (int digits = single ? 6 : 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    const double back = std::strtod(text, nullptr);
    if (single ? static_cast<float>(back) == static_cast<float>(v) : back == v) break;
  }
  std::string s = text;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  if (single) s += "f";
  return std::signbit(v) ? "(" + s + ")" : s;
}

std::string intLiteral(DType t, int64_t v, bool index) {
  if (t == DType::Bool) return v ? "true" : "false";
  std::string s;
  if (v == std::numeric_limits<int64_t>::min()) {
    s = "(-9223372036854775807ll - 1)";
  } else {
    s = std::to_string(v);
    if (v > INT32_MAX || v < -int64_t{INT32_MAX}) s += "ll";
    if (v < 0) s = "(" + s + ")";
  }
  return index ? s : std::string(typeName(t)) + "(" + s + ")";
}

std::string emitLiteral(const Expr& e, bool index) {
  const double f = e.kind == Expr::Kind::ConstF ? e.f : static_cast<double>(e.i);
  if (isHalf(e.dtype)) return "tempo_cast<" + std::string(typeName(e.dtype)) + ">(" + floatLiteral(DType::F64, f) + ")";
  if (isFloat(e.dtype)) return floatLiteral(e.dtype, f);
  const int64_t i = e.kind == Expr::Kind::ConstI ? e.i : static_cast<int64_t>(e.f);
  return intLiteral(e.dtype, i, index);
}

const char* infix(Op op) {
  switch (op) {
    case Op::Add: return "+";
    case Op::Sub: return "-";
    case Op::Mul: return "*";
    case Op::Div: return "/";
    case Op::Lt: return "<";
    case Op::Le: return "<=";
    case Op::Gt: return ">";
    case Op::Ge: return ">=";
    case Op::Eq: return "==";
    case Op::Ne: return "!=";
    case Op::And: return "&&";
    case Op::Or: return "||";
    case Op::BitXor: return "^";
    default: return nullptr;
  }
}

/// The device header's function of an op on floats; null where it has an infix form.
const char* floatFunction(Op op) {
  switch (op) {
    case Op::Abs: return "tempo_fabs";
    case Op::Sign: return "tempo_sign";
    case Op::Exp: return "tempo_exp";
    case Op::Log: return "tempo_log";
    case Op::Log1p: return "tempo_log1p";
    case Op::Expm1: return "tempo_expm1";
    case Op::Sqrt: return "tempo_sqrt";
    case Op::Rsqrt: return "tempo_rsqrt";
    case Op::Sin: return "tempo_sin";
    case Op::Cos: return "tempo_cos";
    case Op::Tan: return "tempo_tan";
    case Op::Tanh: return "tempo_tanh";
    case Op::Erf: return "tempo_erf";
    case Op::Atan: return "tempo_atan";
    case Op::Floor: return "tempo_floor";
    case Op::Ceil: return "tempo_ceil";
    case Op::Round: return "tempo_round";
    case Op::IsNan: return "tempo_isnan";
    case Op::IsInf: return "tempo_isinf";
    case Op::IsFinite: return "tempo_isfinite";
    case Op::FloorDiv: return "tempo_ffloordiv";
    case Op::Mod: return "tempo_floormod";
    case Op::Pow: return "tempo_pow";
    case Op::Min: return "tempo_min";
    case Op::Max: return "tempo_max";
    case Op::Atan2: return "tempo_atan2";
    default: return nullptr;
  }
}

/// As floatFunction, for ops on integers that need care: wrapping, flooring, division by zero.
const char* intFunction(Op op) {
  switch (op) {
    case Op::Neg: return "tempo_neg";
    case Op::Abs: return "tempo_abs";
    case Op::Sign: return "tempo_sign";
    case Op::Add: return "tempo_add";
    case Op::Sub: return "tempo_sub";
    case Op::Mul: return "tempo_mul";
    case Op::FloorDiv: return "tempo_floordiv";
    case Op::Mod: return "tempo_mod";
    case Op::Min: return "tempo_min";
    case Op::Max: return "tempo_max";
    default: return nullptr;
  }
}

std::string call(const std::string& function, const std::vector<std::string>& args) {
  std::string s = function + "(";
  for (size_t i = 0; i < args.size(); ++i) s += (i ? ", " : "") + args[i];
  return s + ")";
}

[[noreturn]] void unsupported(Op op, DType t) {
  internalError(__FILE__, __LINE__, std::string("cuda: no emission of `") + info(op).text + "` on " + name(t));
}

std::string infixText(Op op, const std::vector<std::string>& a) {
  return "(" + a[0] + " " + infix(op) + " " + a[1] + ")";
}

std::string emitFloatOp(Op op, DType t, const std::vector<std::string>& a) {
  if (op == Op::Neg) return "(-" + a[0] + ")";
  if (const char* f = floatFunction(op)) return call(f, a);
  if (infix(op) && info(op).rule != TypeRule::Logic && info(op).rule != TypeRule::Int) return infixText(op, a);
  unsupported(op, t);
}

std::string emitIntOp(Op op, DType t, const std::vector<std::string>& a, bool index) {
  if (op == Op::BitXor) return std::string(typeName(t)) + infixText(op, a);
  if (index && op == Op::Neg) return "(-" + a[0] + ")";
  const bool plain = index && (op == Op::Add || op == Op::Sub || op == Op::Mul);
  if (const char* f = plain ? nullptr : intFunction(op)) return call(f + ("<" + std::string(typeName(t)) + ">"), a);
  if (infix(op) && (plain || info(op).rule == TypeRule::Cmp)) return infixText(op, a);
  unsupported(op, t);
}

std::string emitBoolOp(Op op, const std::vector<std::string>& a) {
  if (op == Op::Not) return "(!" + a[0] + ")";
  if (op == Op::And || op == Op::Or || info(op).rule == TypeRule::Cmp) return infixText(op, a);
  unsupported(op, DType::Bool);
}

std::string emitOp(const Expr& e, const Scopes& scopes, bool index) {
  TEMPO_CHECK(static_cast<int>(e.args.size()) == info(e.op).arity, "wrong number of operands");
  const DType t = e.args[0]->dtype;
  const bool plain = index && t == DType::I64;
  std::vector<std::string> a;
  for (const auto& arg : e.args) {
    std::string s = emitExpr(*arg, scopes, plain);
    a.push_back(isHalf(t) ? "tempo_f32(" + s + ")" : std::move(s));
  }
  if (t == DType::Bool) return emitBoolOp(e.op, a);
  if (isInt(t)) return emitIntOp(e.op, t, a, plain);
  const std::string s = emitFloatOp(e.op, t, a);
  return isHalf(t) && isHalf(e.dtype) ? "tempo_cast<" + std::string(typeName(t)) + ">(" + s + ")" : s;
}

std::string emitRandom(const Expr& e, const Scopes& scopes) {
  std::vector<std::string> args = {"args.seed", std::to_string(static_cast<uint64_t>(e.i)) + "ull"};
  for (const auto& a : e.args) args.push_back("i64(" + emitExpr(*a, scopes, true) + ")");
  return call("tempo_random", args);
}

std::string emitLoad(const Expr& e, const Scopes& scopes) {
  const std::string s = "tempo_load(" + scopes.find(e.name) + ", " + emitExpr(*e.args[0], scopes, true) + ")";
  return e.dtype == DType::Bool ? "(" + s + " != 0)" : s;
}

}  // namespace

const char* typeName(DType t) { return t == DType::Bool ? "bool" : name(t); }
const char* storageName(DType t) { return t == DType::Bool ? "u8" : name(t); }

std::string cIdentifier(const std::string& name) {
  static const std::set<std::string> reserved = {
      "alignas",  "alignof",  "and",      "and_eq",   "args",     "asm",      "auto",    "bf16",     "bitand",
      "bitor",    "bool",     "break",    "case",     "catch",    "char",     "class",   "compl",    "const",
      "continue", "decltype", "default",  "delete",   "do",       "double",   "else",    "enum",     "explicit",
      "export",   "extern",   "f16",      "f32",      "f64",      "false",    "float",   "for",      "friend",
      "goto",     "i32",      "i64",      "i8",       "if",       "inline",   "int",     "linux",    "long",
      "mutable",  "namespace", "new",     "noexcept", "not",      "not_eq",   "nullptr", "operator", "or",
      "or_eq",    "private",  "protected", "public",  "register", "requires", "return",  "short",    "signed",
      "sizeof",   "static",   "struct",   "switch",   "template", "this",     "throw",   "true",     "try",
      "typedef",  "typeid",   "typename", "u32",      "u64",      "u8",       "union",   "unix",     "unsigned",
      "using",    "virtual",  "void",     "volatile", "while",    "xor",      "xor_eq",  "concept",  "NAN",
      "INFINITY", "NULL"};
  std::string s;
  for (char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    s += good ? c : '_';
  }
  if (s.empty() || (s[0] >= '0' && s[0] <= '9') || s[0] == '_') s = "v" + s;
  if (reserved.count(s) || s.rfind("tempo_", 0) == 0 || s.rfind("TEMPO_", 0) == 0 || s.rfind("Tempo", 0) == 0) s += "_";
  return s;
}

void Scopes::pop() {
  while (!active_.empty() && active_.back().first == scopes_.size()) {
    used_.erase(active_.back().second);
    active_.pop_back();
  }
  scopes_.pop_back();
}

std::string Scopes::declare(const std::string& name) {
  const std::string id = fresh(cIdentifier(name));
  scopes_.back()[name] = id;
  return id;
}

std::string Scopes::fresh(const std::string& base) {
  std::string id = base;
  for (int n = 1; used_.count(id); ++n) id = base + "_" + std::to_string(n);
  used_.insert(id);
  active_.emplace_back(scopes_.size(), id);
  return id;
}

const std::string& Scopes::find(const std::string& name) const {
  for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s) {
    auto it = s->find(name);
    if (it != s->end()) return it->second;
  }
  internalError(__FILE__, __LINE__, "kernel IR names `" + name + "`, which is not in scope");
}

std::string emitExpr(const Expr& e, const Scopes& scopes, bool index) {
  switch (e.kind) {
    case Expr::Kind::ConstF:
    case Expr::Kind::ConstI: return emitLiteral(e, index && e.dtype == DType::I64);
    case Expr::Kind::Var: return scopes.find(e.name);
    case Expr::Kind::Op: return emitOp(e, scopes, index);
    case Expr::Kind::Select:
    case Expr::Kind::Cond: {
      // Typed literals on both sides: `c ? 1 : x` would mix int with i64.
      const std::string a = emitExpr(*e.args[1], scopes, false), b = emitExpr(*e.args[2], scopes, false);
      return "(" + emitExpr(*e.args[0], scopes, index) + " ? " + a + " : " + b + ")";
    }
    case Expr::Kind::Cast:
      return "tempo_cast<" + std::string(typeName(e.dtype)) + ">(" + emitExpr(*e.args[0], scopes, false) + ")";
    case Expr::Kind::Load: return emitLoad(e, scopes);
    case Expr::Kind::Random: return emitRandom(e, scopes);
  }
  internalError(__FILE__, __LINE__, "unknown kind of expression");
}

}  // namespace tempo::cuda
