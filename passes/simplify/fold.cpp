// Constant folding and algebraic identities. Each rule keeps the value for every finite input, NaN and infinity included.
#include <cmath>

#include "simplify/simplify.hpp"

namespace tempo {

namespace {

bool isConst(const ExprPtr& e, double v) { return e->kind == Expr::Kind::Const && e->value == v; }

/// A size-free index is a constant.
ExprPtr foldIndex(const ExprPtr& e) {
  auto c = e->ix.asConst();
  return c ? ex::constant(e->dtype, double(*c), e->loc) : e;
}

ExprPtr foldOp(const ExprPtr& e) {
  bool constant = true;
  for (const ExprPtr& a : e->args) constant = constant && a->kind == Expr::Kind::Const;
  DType t = e->args[0]->dtype;
  if (constant && t != DType::I64) {
    double values[3] = {0, 0, 0};
    for (size_t i = 0; i < e->args.size(); ++i) values[i] = e->args[i]->value;
    return ex::constant(e->dtype, roundTo(e->dtype, evalOp(e->op, t, values)), e->loc);
  }
  if (e->args.size() != 2) return e;
  const ExprPtr &a = e->args[0], &b = e->args[1];
  switch (e->op) {
    case Op::Add:
      if (isConst(b, 0) && !std::signbit(b->value)) return isFloat(t) ? e : a;
      if (isConst(a, 0)) return isFloat(t) ? e : b;
      return e;
    case Op::Sub: return isConst(b, 0) && !std::signbit(b->value) ? a : e;
    case Op::Mul:
      if (isConst(b, 1)) return a;
      if (isConst(a, 1)) return b;
      if (isInt(t) && isConst(a, 0)) return a;
      if (isInt(t) && isConst(b, 0)) return b;
      return e;
    case Op::Pow:
      if (isConst(b, 0)) return ex::constant(e->dtype, 1, e->loc);
      return isConst(b, 1) ? a : e;
    case Op::Div: return isConst(b, 1) ? a : e;
    case Op::And:
      if (isConst(a, 1)) return b;
      if (isConst(b, 1)) return a;
      if (isConst(a, 0)) return a;
      return isConst(b, 0) ? b : e;
    case Op::Or:
      if (isConst(a, 0)) return b;
      if (isConst(b, 0)) return a;
      if (isConst(a, 1)) return a;
      return isConst(b, 1) ? b : e;
    default: return e;
  }
}

ExprPtr foldCast(const ExprPtr& e) {
  const ExprPtr& a = e->args[0];
  if (a->dtype == e->dtype) return a;
  if (a->kind == Expr::Kind::Const) return ex::constant(e->dtype, roundTo(e->dtype, a->value), e->loc);
  if (a->kind == Expr::Kind::Index && isInt(a->dtype) && (e->dtype == DType::F32 || e->dtype == DType::F64))
    return ex::index(a->ix, e->dtype, e->loc);
  return e;
}

}  // namespace

ExprPtr foldExpr(const ExprPtr& e) {
  switch (e->kind) {
    case Expr::Kind::Index: return foldIndex(e);
    case Expr::Kind::Cond:
      if (e->cond.isTrue()) return ex::constant(DType::Bool, 1, e->loc);
      if (e->cond.isFalse()) return ex::constant(DType::Bool, 0, e->loc);
      return e;
    case Expr::Kind::Op: return foldOp(e);
    case Expr::Kind::Select:
      if (e->args[0]->kind == Expr::Kind::Const) return e->args[0]->value != 0 ? e->args[1] : e->args[2];
      return ex::equal(e->args[1], e->args[2]) ? e->args[1] : e;
    case Expr::Kind::Guard:
      if (e->cond.isTrue()) return e->args[0];
      if (e->cond.isFalse()) return e->args[1];
      return e;
    case Expr::Kind::Cast: return foldCast(e);
    default: return e;
  }
}

}  // namespace tempo
