#include "kernel/kir.hpp"

#include <algorithm>
#include <cmath>

#include "check.hpp"

namespace tempo::kir {

namespace {

ExprPtr make(Expr e) { return std::make_shared<const Expr>(std::move(e)); }

bool isConstI(const ExprPtr& e) { return e->kind == Expr::Kind::ConstI; }
bool isConstF(const ExprPtr& e) { return e->kind == Expr::Kind::ConstF; }
bool isInt(const ExprPtr& e, int64_t v) { return isConstI(e) && e->dtype != DType::Bool && e->i == v; }

int64_t wrap(DType t, uint64_t v) {
  switch (t) {
    case DType::I32: return static_cast<int32_t>(v);
    case DType::I8: return static_cast<int8_t>(v);
    case DType::U8: return static_cast<uint8_t>(v);
    case DType::Bool: return v != 0;
    default: return static_cast<int64_t>(v);
  }
}

ExprPtr constInt(DType t, uint64_t v) {
  Expr e{.kind = Expr::Kind::ConstI, .dtype = t};
  e.i = wrap(t, v);
  return make(std::move(e));
}

ExprPtr constBool(bool v) { return constInt(DType::Bool, v ? 1 : 0); }

int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t q = a / b;
  return q - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

ExprPtr foldInt(Op o, DType t, const std::vector<ExprPtr>& a) {
  const int64_t x = a[0]->i, y = a.size() > 1 ? a[1]->i : 0;
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  switch (o) {
    case Op::Neg: return constInt(t, 0 - ux);
    case Op::Abs: return constInt(t, x < 0 ? 0 - ux : ux);
    case Op::Sign: return constInt(t, static_cast<uint64_t>(x > 0 ? 1 : x < 0 ? -1 : 0));
    case Op::Add: return constInt(t, ux + uy);
    case Op::Sub: return constInt(t, ux - uy);
    case Op::Mul: return constInt(t, ux * uy);
    case Op::FloorDiv: return constInt(t, static_cast<uint64_t>(floorDiv(x, y)));
    case Op::Mod: return constInt(t, y == 0 ? 0 : ux - static_cast<uint64_t>(floorDiv(x, y)) * uy);
    case Op::Min: return constInt(t, static_cast<uint64_t>(std::min(x, y)));
    case Op::Max: return constInt(t, static_cast<uint64_t>(std::max(x, y)));
    case Op::Lt: return constBool(x < y);
    case Op::Le: return constBool(x <= y);
    case Op::Gt: return constBool(x > y);
    case Op::Ge: return constBool(x >= y);
    case Op::Eq: return constBool(x == y);
    case Op::Ne: return constBool(x != y);
    case Op::And: return constBool(x && y);
    case Op::Or: return constBool(x || y);
    case Op::Not: return constBool(!x);
    case Op::BitXor: return constInt(t, ux ^ uy);
    default: return nullptr;
  }
}

// Arithmetic that every target rounds the same way; functions are left to run time.
template <class T>
ExprPtr foldFloat(Op o, DType t, T x, T y) {
  switch (o) {
    case Op::Neg: return cf(t, -x);
    case Op::Add: return cf(t, x + y);
    case Op::Sub: return cf(t, x - y);
    case Op::Mul: return cf(t, x * y);
    case Op::Div: return cf(t, x / y);
    case Op::Lt: return constBool(x < y);
    case Op::Le: return constBool(x <= y);
    case Op::Gt: return constBool(x > y);
    case Op::Ge: return constBool(x >= y);
    case Op::Eq: return constBool(x == y);
    case Op::Ne: return constBool(x != y);
    default: return nullptr;
  }
}

ExprPtr foldConst(Op o, const std::vector<ExprPtr>& a) {
  if (std::all_of(a.begin(), a.end(), isConstI)) return foldInt(o, a[0]->dtype, a);
  if (!std::all_of(a.begin(), a.end(), isConstF)) return nullptr;
  const double x = a[0]->f, y = a.size() > 1 ? a[1]->f : 0;
  if (a[0]->dtype == DType::F32) return foldFloat<float>(o, DType::F32, static_cast<float>(x), static_cast<float>(y));
  if (a[0]->dtype == DType::F64) return foldFloat<double>(o, DType::F64, x, y);
  return nullptr;
}

// Laws of integers and truth values.
ExprPtr foldLaw(Op o, const std::vector<ExprPtr>& a) {
  if (a.size() != 2) return nullptr;
  const DType t = a[0]->dtype;
  if (t == DType::Bool) {
    for (int k = 0; k < 2; ++k) {
      if (!isConstI(a[k])) continue;
      if (o == Op::And) return a[k]->i ? a[1 - k] : a[k];
      if (o == Op::Or) return a[k]->i ? a[k] : a[1 - k];
    }
    return nullptr;
  }
  if (!tempo::isInt(t)) return nullptr;
  switch (o) {
    case Op::Add:
      if (isInt(a[0], 0)) return a[1];
      if (isInt(a[1], 0)) return a[0];
      if (isConstI(a[1]) && a[0]->kind == Expr::Kind::Op && a[0]->op == Op::Add && isConstI(a[0]->args[1])) {
        return op(Op::Add, {a[0]->args[0], foldInt(Op::Add, t, {a[0]->args[1], a[1]})});
      }
      return nullptr;
    case Op::Sub: return isInt(a[1], 0) ? a[0] : nullptr;
    case Op::Mul:
      if (isInt(a[0], 0) || isInt(a[1], 1)) return a[0];
      if (isInt(a[1], 0) || isInt(a[0], 1)) return a[1];
      return nullptr;
    case Op::FloorDiv: return isInt(a[1], 1) ? a[0] : nullptr;
    case Op::Mod: return isInt(a[1], 1) ? constInt(t, 0) : nullptr;
    default: return nullptr;
  }
}

// The value of a float constant as an integer of type `t`: saturating, NaN to 0.
int64_t saturate(DType t, double v) {
  if (std::isnan(v)) return 0;
  const double lo = t == DType::I64 ? -0x1p63 : t == DType::I32 ? -0x1p31 : t == DType::I8 ? -128 : 0;
  const double hi = t == DType::I64 ? 0x1p63 : t == DType::I32 ? 0x1p31 - 1 : t == DType::I8 ? 127 : 255;
  if (v <= lo) return static_cast<int64_t>(lo);
  if (v >= hi) return t == DType::I64 ? INT64_MAX : static_cast<int64_t>(hi);
  return static_cast<int64_t>(v);
}

}  // namespace

ExprPtr ci(int64_t v) { return constInt(DType::I64, static_cast<uint64_t>(v)); }

ExprPtr cf(DType t, double v) {
  if (t == DType::Bool) return constBool(v != 0);
  if (tempo::isInt(t)) return constInt(t, static_cast<uint64_t>(saturate(t, v)));
  Expr e{.kind = Expr::Kind::ConstF, .dtype = t};
  e.f = t == DType::F64 ? v : t == DType::F32 ? static_cast<double>(static_cast<float>(v)) : roundTo(t, v);
  return make(std::move(e));
}

ExprPtr var(std::string name, DType t) {
  Expr e{.kind = Expr::Kind::Var, .dtype = t};
  e.name = std::move(name);
  return make(std::move(e));
}

ExprPtr op(tempo::Op o, std::vector<ExprPtr> args) {
  TEMPO_CHECK(static_cast<int>(args.size()) == info(o).arity, std::string("arity of ") + info(o).text);
  for (const auto& a : args) TEMPO_CHECK(a && a->dtype == args[0]->dtype, std::string("operand types of ") + info(o).text);
  if (ExprPtr e = foldConst(o, args)) return e;
  if (ExprPtr e = foldLaw(o, args)) return e;
  Expr e{.kind = Expr::Kind::Op, .dtype = resultType(o, args[0]->dtype)};
  e.op = o;
  e.args = std::move(args);
  return make(std::move(e));
}

ExprPtr load(std::string buffer, DType t, ExprPtr index) {
  Expr e{.kind = Expr::Kind::Load, .dtype = t};
  e.name = std::move(buffer);
  e.args = {std::move(index)};
  return make(std::move(e));
}

ExprPtr cast(DType t, ExprPtr a) {
  if (a->dtype == t) return a;
  if (isConstI(a)) {
    if (t == DType::Bool) return constBool(a->i != 0);
    if (tempo::isInt(t)) return constInt(t, static_cast<uint64_t>(a->i));
    if (std::abs(a->i) <= (int64_t{1} << 53)) return cf(t, static_cast<double>(a->i));
  }
  if (isConstF(a)) return cf(t, a->f);
  Expr e{.kind = Expr::Kind::Cast, .dtype = t};
  e.args = {std::move(a)};
  return make(std::move(e));
}

static ExprPtr choice(Expr::Kind kind, ExprPtr c, ExprPtr a, ExprPtr b) {
  TEMPO_CHECK(c->dtype == DType::Bool && a->dtype == b->dtype, "types of a choice");
  if (isConstI(c)) return c->i ? a : b;
  Expr e{.kind = kind, .dtype = a->dtype};
  e.args = {std::move(c), std::move(a), std::move(b)};
  return make(std::move(e));
}

ExprPtr select(ExprPtr c, ExprPtr a, ExprPtr b) {
  return choice(Expr::Kind::Select, std::move(c), std::move(a), std::move(b));
}
ExprPtr condExpr(ExprPtr c, ExprPtr a, ExprPtr b) {
  return choice(Expr::Kind::Cond, std::move(c), std::move(a), std::move(b));
}

ExprPtr fromIx(const Ix& ix) {
  if (auto c = ix.asConst()) return ci(*c);
  if (auto v = ix.asVar()) return var(v->name());
  auto arg = [&](size_t k) { return fromIx(ix.args()[k]); };
  switch (ix.kind()) {
    case Ix::Kind::FloorDiv: return op(Op::FloorDiv, {arg(0), arg(1)});
    case Ix::Kind::Mod: return op(Op::Mod, {arg(0), arg(1)});
    case Ix::Kind::Min: return op(Op::Min, {arg(0), arg(1)});
    case Ix::Kind::Max: return op(Op::Max, {arg(0), arg(1)});
    case Ix::Kind::Select: return select(fromCond(ix.cond()), arg(0), arg(1));
    case Ix::Kind::Product: {
      ExprPtr r = arg(0);
      for (size_t k = 1; k < ix.args().size(); ++k) r = op(Op::Mul, {r, arg(k)});
      return r;
    }
    default: break;
  }
  ExprPtr sum;
  auto terms = ix.terms();
  // Positive terms first, so that a difference prints as one.
  std::stable_partition(terms.begin(), terms.end(), [](const auto& t) { return t.first > 0; });
  for (const auto& [c, atom] : terms) {
    const bool subtract = sum && c < 0;
    const int64_t k = subtract ? -c : c;
    ExprPtr term = k == 1 ? fromIx(atom) : op(Op::Mul, {fromIx(atom), ci(k)});
    sum = !sum ? term : op(subtract ? Op::Sub : Op::Add, {sum, term});
  }
  const int64_t k = ix.constant();
  if (!sum) return ci(k);
  if (k == 0) return sum;
  return k < 0 && k != INT64_MIN ? op(Op::Sub, {sum, ci(-k)}) : op(Op::Add, {sum, ci(k)});
}

ExprPtr fromCond(const Cond& c) {
  switch (c.kind()) {
    case Cond::Kind::True: return constBool(true);
    case Cond::Kind::False: return constBool(false);
    case Cond::Kind::Ge0: return op(Op::Ge, {fromIx(c.ix()), ci(0)});
    case Cond::Kind::Eq0: return op(Op::Eq, {fromIx(c.ix()), ci(0)});
    case Cond::Kind::Not: return op(Op::Not, {fromCond(c.args()[0])});
    default: break;
  }
  const Op join = c.kind() == Cond::Kind::And ? Op::And : Op::Or;
  ExprPtr r = fromCond(c.args()[0]);
  for (size_t k = 1; k < c.args().size(); ++k) r = op(join, {r, fromCond(c.args()[k])});
  return r;
}

}  // namespace tempo::kir
