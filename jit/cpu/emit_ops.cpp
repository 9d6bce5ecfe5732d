// Emission of every scalar operation and conversion.
#include <llvm/IR/Intrinsics.h>

#include "check.hpp"
#include "cpu/emit.hpp"
#include "cpu/vmath.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building

namespace {

Type* like(Value* v, Type* scalar) {
  if (auto* vec = dyn_cast<VectorType>(v->getType())) return VectorType::get(scalar, vec->getElementCount());
  return scalar;
}

bool isConstantNumber(Value* v) {
  if (auto* c = dyn_cast<Constant>(v)) {
    if (auto* s = v->getType()->isVectorTy() ? c->getSplatValue() : c) {
      auto* f = dyn_cast<ConstantFP>(s);
      return f && !f->isNaN();
    }
  }
  return false;
}

Value* extremum(IRBuilder<>& b, CmpInst::Predicate better, Value* x, Value* y) {
  if (isConstantNumber(y)) std::swap(x, y);
  Value* r = b.CreateSelect(b.CreateFCmp(better, x, y), x, y);
  return isConstantNumber(x) ? r : b.CreateSelect(b.CreateFCmpUNO(x, x), x, r);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Value* floatMax(IRBuilder<>& b, Value* x, Value* y) { return extremum(b, CmpInst::FCMP_OGT, x, y); }
Value* floatMin(IRBuilder<>& b, Value* x, Value* y) { return extremum(b, CmpInst::FCMP_OLT, x, y); }

Value* ExprEmitter::emitOp(tempo::Op op, DType t, std::vector<Value*> a, const kir::Expr& e) {
  Value* x = a[0];
  Value* y = a.size() > 1 ? a[1] : nullptr;
  if (y) unify(x, y);
  switch (info(op).rule) {
    case TypeRule::Cmp: return emitCompare(op, t, x, y);
    case TypeRule::Logic:
      return op == Op::And ? b_.CreateAnd(x, y) : op == Op::Or ? b_.CreateOr(x, y) : b_.CreateNot(x);
    case TypeRule::Pred: {
      if (op == Op::IsNan) return b_.CreateFCmpUNO(x, x);
      Value* inf = ConstantFP::get(x->getType(), kInfinity);
      Value* m = b_.CreateUnaryIntrinsic(Intrinsic::fabs, x);
      return op == Op::IsInf ? b_.CreateFCmpOEQ(m, inf) : b_.CreateFCmpOLT(m, inf);
    }
    default: break;
  }
  if (isFloat(t)) return emitFloatOp(op, t, x, y);
  if (op == Op::FloorDiv || op == Op::Mod) return emitIntDiv(op, t, x, y, e);
  return emitIntOp(op, t, x, y);
}

Value* ExprEmitter::emitCompare(tempo::Op op, DType t, Value* a, Value* b) {
  static constexpr CmpInst::Predicate kFloat[] = {CmpInst::FCMP_OLT, CmpInst::FCMP_OLE, CmpInst::FCMP_OGT,
                                                  CmpInst::FCMP_OGE, CmpInst::FCMP_OEQ, CmpInst::FCMP_UNE};
  static constexpr CmpInst::Predicate kSigned[] = {CmpInst::ICMP_SLT, CmpInst::ICMP_SLE, CmpInst::ICMP_SGT,
                                                   CmpInst::ICMP_SGE, CmpInst::ICMP_EQ,  CmpInst::ICMP_NE};
  static constexpr CmpInst::Predicate kUnsigned[] = {CmpInst::ICMP_ULT, CmpInst::ICMP_ULE, CmpInst::ICMP_UGT,
                                                     CmpInst::ICMP_UGE, CmpInst::ICMP_EQ,  CmpInst::ICMP_NE};
  const int k = static_cast<int>(op) - static_cast<int>(Op::Lt);
  if (isFloat(t)) return b_.CreateFCmp(kFloat[k], a, b);
  return b_.CreateICmp(t == DType::U8 || t == DType::Bool ? kUnsigned[k] : kSigned[k], a, b);
}

Value* ExprEmitter::emitIntOp(tempo::Op op, DType t, Value* a, Value* b) {
  const bool isUnsigned = t == DType::U8;
  Value* zero = Constant::getNullValue(a->getType());
  switch (op) {
    case Op::Neg: return b_.CreateNeg(a);
    case Op::Abs: return isUnsigned ? a : b_.CreateBinaryIntrinsic(Intrinsic::abs, a, b_.getFalse());
    case Op::Sign: {
      Value* positive = b_.CreateZExt(isUnsigned ? b_.CreateICmpNE(a, zero) : b_.CreateICmpSGT(a, zero), a->getType());
      if (isUnsigned) return positive;
      return b_.CreateSub(positive, b_.CreateZExt(b_.CreateICmpSLT(a, zero), a->getType()));
    }
    case Op::Add: return b_.CreateAdd(a, b);
    case Op::Sub: return b_.CreateSub(a, b);
    case Op::Mul: return b_.CreateMul(a, b);
    case Op::Min: return b_.CreateBinaryIntrinsic(isUnsigned ? Intrinsic::umin : Intrinsic::smin, a, b);
    case Op::Max: return b_.CreateBinaryIntrinsic(isUnsigned ? Intrinsic::umax : Intrinsic::smax, a, b);
    case Op::BitXor: return b_.CreateXor(a, b);
    default: break;
  }
  TEMPO_CHECK(false, std::string("cpu: no integer emission of ") + info(op).text);
  return nullptr;
}

// Floors; a divisor of 0 gives 0; the smallest integer by -1 wraps.
Value* ExprEmitter::emitIntDiv(tempo::Op op, DType t, Value* a, Value* b, const kir::Expr& e) {
  const bool isDiv = op == Op::FloorDiv;
  const auto* c = e.args[1]->kind == kir::Expr::Kind::ConstI ? e.args[1].get() : nullptr;
  const bool isUnsigned = t == DType::U8 || (t == DType::I64 && nonNegative(*e.args[0]) && nonNegative(*e.args[1]));
  if (c && c->i > 0 && (c->i & (c->i - 1)) == 0) {
    const int shift = __builtin_ctzll(static_cast<uint64_t>(c->i));
    if (!isDiv) return b_.CreateAnd(a, ConstantInt::get(a->getType(), static_cast<uint64_t>(c->i - 1)));
    return isUnsigned ? b_.CreateLShr(a, static_cast<uint64_t>(shift)) : b_.CreateAShr(a, static_cast<uint64_t>(shift));
  }
  Value* zero = Constant::getNullValue(a->getType());
  Value* one = ConstantInt::get(a->getType(), 1);
  Value* none = b_.CreateICmpEQ(b, zero);
  if (isUnsigned) {
    Value* d = b_.CreateSelect(none, one, b);
    Value* r = isDiv ? b_.CreateUDiv(a, d) : b_.CreateURem(a, d);
    return b_.CreateSelect(none, zero, r);
  }
  Value* minus = b_.CreateICmpEQ(b, Constant::getAllOnesValue(a->getType()));
  Value* d = b_.CreateSelect(b_.CreateOr(none, minus), one, b);
  Value* r = b_.CreateSRem(a, d);
  Value* fix = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, d), zero));
  if (!isDiv) {
    r = b_.CreateAdd(r, b_.CreateSelect(fix, d, zero));
    return b_.CreateSelect(b_.CreateOr(none, minus), zero, r);
  }
  Value* q = b_.CreateSub(b_.CreateSDiv(a, d), b_.CreateZExt(fix, a->getType()));
  q = b_.CreateSelect(minus, b_.CreateNeg(a), q);
  return b_.CreateSelect(none, zero, q);
}

Value* ExprEmitter::emitFloatOp(tempo::Op op, DType t, Value* a, Value* b) {
  TEMPO_CHECK(t == DType::F32 || t == DType::F64, std::string("cpu: arithmetic in ") + name(t));
  if (isFunction(op)) return emitFunction(b_, op, a, b);
  auto unary = [&](Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case Op::Neg: return b_.CreateFNeg(a);
    case Op::Abs: return unary(Intrinsic::fabs);
    case Op::Sign: {
      Value* zero = ConstantFP::get(a->getType(), 0.0);
      Value* one = b_.CreateBinaryIntrinsic(Intrinsic::copysign, ConstantFP::get(a->getType(), 1.0), a);
      Value* r = b_.CreateSelect(b_.CreateFCmpOEQ(a, zero), zero, one);
      return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, r);
    }
    case Op::Sqrt: return unary(Intrinsic::sqrt);
    case Op::Rsqrt: return b_.CreateFDiv(ConstantFP::get(a->getType(), 1.0), unary(Intrinsic::sqrt));
    case Op::Floor: return unary(Intrinsic::floor);
    case Op::Ceil: return unary(Intrinsic::ceil);
    case Op::Round: return unary(Intrinsic::roundeven);
    case Op::Add: return b_.CreateFAdd(a, b);
    case Op::Sub: return b_.CreateFSub(a, b);
    case Op::Mul: return b_.CreateFMul(a, b);
    case Op::Div: return b_.CreateFDiv(a, b);
    case Op::Min: return floatMin(b_, a, b);
    case Op::Max: return floatMax(b_, a, b);
    case Op::FloorDiv:
    case Op::Mod: break;
    default: TEMPO_CHECK(false, std::string("cpu: no emission of ") + info(op).text);
  }
  // In f64, where the quotient of two f32 cannot round up to the next integer.
  Type* wide = like(a, b_.getDoubleTy());
  Value* x = b_.CreateFPCast(a, wide);
  Value* y = b_.CreateFPCast(b, wide);
  Value* r = op == Op::FloorDiv ? b_.CreateUnaryIntrinsic(Intrinsic::floor, b_.CreateFDiv(x, y)) : emitFloatMod(b_, x, y);
  return b_.CreateFPCast(r, a->getType());
}

Value* ExprEmitter::emitCast(DType from, DType to, Value* v) {
  if (from == to) return v;
  auto type = [&](DType t) { return like(v, registerType(t)); };
  if (from == DType::BF16) return emitCast(DType::F32, to, f32FromBf16(b_, v));
  if (from == DType::F16 && to != DType::F32) return emitCast(DType::F32, to, b_.CreateFPExt(v, type(DType::F32)));
  if (to == DType::BF16 || to == DType::F16) {
    if (from == DType::F64) {
      v = roundToOdd(b_, v);
    } else if (from != DType::F32) {
      return emitCast(DType::F64, to, emitCast(from, DType::F64, v));
    }
    return to == DType::BF16 ? bf16FromF32(b_, v) : b_.CreateFPTrunc(v, type(DType::F16));
  }
  if (isFloat(from)) {
    if (isFloat(to)) return b_.CreateFPCast(v, type(to));
    if (to == DType::Bool) return b_.CreateFCmpUNE(v, Constant::getNullValue(v->getType()));
    const auto id = to == DType::U8 ? Intrinsic::fptoui_sat : Intrinsic::fptosi_sat;
    return b_.CreateIntrinsic(id, {type(to), v->getType()}, {v});
  }
  const bool isUnsigned = from == DType::U8 || from == DType::Bool;
  if (isFloat(to)) return isUnsigned ? b_.CreateUIToFP(v, type(to)) : b_.CreateSIToFP(v, type(to));
  if (to == DType::Bool) return b_.CreateICmpNE(v, Constant::getNullValue(v->getType()));
  return b_.CreateIntCast(v, type(to), !isUnsigned);
}

}  // namespace tempo::cpu
