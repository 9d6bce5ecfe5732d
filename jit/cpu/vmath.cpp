#include "cpu/vmath.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "check.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Shorthand over one builder and one floating type (scalar or vector).
class Maths {
 public:
  Maths(IRBuilder<>& b, Type* t) : b_(b), t_(t) {
    Type* scalarInt = t->getScalarType()->isDoubleTy() ? b.getInt64Ty() : b.getInt32Ty();
    int_ = like(scalarInt);
  }

  Type* like(Type* scalar) const {
    if (auto* v = dyn_cast<VectorType>(t_)) return VectorType::get(scalar, v->getElementCount());
    return scalar;
  }
  Value* c(double v) { return ConstantFP::get(t_, v); }
  Value* ic(int64_t v) { return ConstantInt::get(int_, static_cast<uint64_t>(v), true); }
  Value* fma(Value* x, Value* y, Value* z) { return b_.CreateIntrinsic(Intrinsic::fma, {t_}, {x, y, z}); }
  Value* abs(Value* x) { return b_.CreateUnaryIntrinsic(Intrinsic::fabs, x); }
  Value* copysign(Value* x, Value* s) { return b_.CreateBinaryIntrinsic(Intrinsic::copysign, x, s); }
  Value* floor(Value* x) { return b_.CreateUnaryIntrinsic(Intrinsic::floor, x); }
  Value* bits(Value* x) { return b_.CreateBitCast(x, int_); }
  Value* fromBits(Value* x) { return b_.CreateBitCast(x, t_); }
  Value* isNan(Value* x) { return b_.CreateFCmpUNO(x, x); }
  /// Bounds that let NaN through.
  Value* clamp(Value* x, double lo, double hi) {
    x = b_.CreateSelect(b_.CreateFCmpOLT(x, c(lo)), c(lo), x);
    return b_.CreateSelect(b_.CreateFCmpOGT(x, c(hi)), c(hi), x);
  }
  /// c0 + c1 x + c2 x^2 ...
  Value* poly(Value* x, std::initializer_list<double> coef) {
    auto it = std::rbegin(coef);
    Value* r = c(*it++);
    for (; it != std::rend(coef); ++it) r = fma(r, x, c(*it));
    return r;
  }
  /// 2^n for integer n in the normal range.
  Value* pow2(Value* n) {
    const bool f64 = t_->getScalarType()->isDoubleTy();
    return fromBits(b_.CreateShl(b_.CreateAdd(n, ic(f64 ? 1023 : 127)), ic(f64 ? 52 : 23)));
  }
  /// Nearest integer: as float (first) and in the low bits of an integer (second). |x| < 2^22 (f32), 2^51 (f64).
  std::pair<Value*, Value*> nearest(Value* x) {
    const bool f64 = t_->getScalarType()->isDoubleTy();
    Value* magic = c(f64 ? 0x1.8p52 : 0x1.8p23);
    Value* t = b_.CreateFAdd(x, magic);
    return {b_.CreateFSub(t, magic), b_.CreateSub(bits(t), bits(magic))};
  }

  IRBuilder<>& b_;
  Type* t_;
  Type* int_;
};

Value* expF32(IRBuilder<>& b, Value* x) {
  Maths m(b, x->getType());
  x = m.clamp(x, -104.5, 89.0);
  auto [n, ni] = m.nearest(b.CreateFMul(x, m.c(1.44269504088896341)));
  Value* r = m.fma(n, m.c(-0.693145751953125), x);
  r = m.fma(n, m.c(-1.42860682030941723e-6), r);
  Value* q = m.poly(r, {0.5000000014, 0.1666666668, 0.04166646401, 0.008333310824, 0.001393375139, 0.0001989110342});
  Value* p = b.CreateFAdd(m.fma(b.CreateFMul(r, r), q, r), m.c(1));
  // Two steps, so that the last product alone rounds when the result is subnormal.
  Value* half = b.CreateAShr(ni, m.ic(1));
  return b.CreateFMul(b.CreateFMul(p, m.pow2(half)), m.pow2(b.CreateSub(ni, half)));
}

Value* logF32(IRBuilder<>& b, Value* x) {
  Maths m(b, x->getType());
  Value* small = b.CreateFCmpOLT(x, m.c(0x1p-126));
  Value* bits = m.bits(b.CreateSelect(small, b.CreateFMul(x, m.c(0x1p23)), x));
  Value* e = b.CreateAShr(b.CreateSub(bits, m.ic(0x3f3504f3)), m.ic(23));
  Value* f = b.CreateFSub(m.fromBits(b.CreateSub(bits, b.CreateShl(e, m.ic(23)))), m.c(1));
  Value* fe = b.CreateSIToFP(e, x->getType());
  fe = b.CreateFSub(fe, b.CreateSelect(small, m.c(23), m.c(0)));
  Value* p = m.poly(f, {0.3333333118, -0.2499999696, 0.2000071575, -0.1666780232, 0.1424905765, -0.1242568733, 0.1168541992,
                        -0.1147973385, 0.06971611471});
  Value* f2 = b.CreateFMul(f, f);
  Value* y = b.CreateFMul(b.CreateFMul(f2, f), p);
  y = m.fma(fe, m.c(-2.12194440054690583e-4), y);
  y = m.fma(f2, m.c(-0.5), y);
  Value* r = m.fma(fe, m.c(0.693359375), b.CreateFAdd(f, y));
  r = b.CreateSelect(b.CreateFCmpOEQ(x, m.c(kInf)), x, r);
  r = b.CreateSelect(b.CreateFCmpOEQ(x, m.c(0)), m.c(-kInf), r);
  return b.CreateSelect(b.CreateFCmpULT(x, m.c(0)), m.c(std::numeric_limits<double>::quiet_NaN()), r);
}

Value* tanhF32(IRBuilder<>& b, Value* x) {
  Maths m(b, x->getType());
  Value* a = m.abs(x);
  Value* u = b.CreateFMul(x, x);
  Value* q = m.poly(u, {-0.3333333317, 0.1333330356, -0.05395925958, 0.02176891865, -0.008343945513, 0.002292744813});
  Value* small = m.fma(b.CreateFMul(u, x), q, x);
  Value* e = expF32(b, b.CreateFAdd(a, a));
  Value* large = b.CreateFSub(m.c(1), b.CreateFDiv(m.c(2), b.CreateFAdd(e, m.c(1))));
  return b.CreateSelect(b.CreateFCmpOLT(a, m.c(0.625)), small, m.copysign(large, x));
}

// ---- f64 building blocks for the f32 functions below; good to about 1e-15, arguments in the range of f32.

/// exp(x) - 1 = s * p + (s - 1), given as (s, p) with p = exp(r) - 1, s a power of two.
std::pair<Value*, Value*> expParts(Maths& m, Value* x) {
  IRBuilder<>& b = m.b_;
  auto [n, ni] = m.nearest(b.CreateFMul(x, m.c(1.44269504088896340736)));
  Value* r = m.fma(n, m.c(-0x1.62e42fefa39efp-1), x);
  r = m.fma(n, m.c(-0x1.abc9e3b39803fp-56), r);
  Value* q = m.poly(r, {0.500000000000000102, 0.166666666666666675, 0.041666666666624136, 0.00833333333333006246,
                        0.0013888888917209671, 0.000198412698630505055, 0.0000248015213022410831, 2.75572684648316265e-6,
                        2.76200854550184157e-7, 2.51003831958670213e-8});
  return {m.pow2(ni), m.fma(b.CreateFMul(r, r), q, r)};
}

Value* expF64(Maths& m, Value* x) {
  auto [s, p] = expParts(m, m.clamp(x, -700, 700));
  return m.fma(s, p, s);
}

/// x positive, normal and finite.
Value* logF64(Maths& m, Value* x) {
  IRBuilder<>& b = m.b_;
  Value* bits = m.bits(x);
  Value* e = b.CreateAShr(b.CreateSub(bits, m.ic(0x3fe6a09e667f3bcd)), m.ic(52));
  Value* f = b.CreateFSub(m.fromBits(b.CreateSub(bits, b.CreateShl(e, m.ic(52)))), m.c(1));
  Value* fe = b.CreateSIToFP(e, m.t_);
  Value* s = b.CreateFDiv(f, b.CreateFAdd(f, m.c(2)));
  Value* z = b.CreateFMul(s, s);
  Value* r = b.CreateFMul(z, m.poly(z, {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                        2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                        1.479819860510658591e-01}));
  Value* h = b.CreateFMul(b.CreateFMul(f, f), m.c(0.5));
  // f - h + s (h + r) + e ln 2, small terms first
  Value* t = m.fma(s, b.CreateFAdd(h, r), b.CreateFMul(fe, m.c(1.90821492927058770002e-10)));
  return b.CreateFAdd(b.CreateFMul(fe, m.c(6.93147180369123816490e-01)), b.CreateFSub(f, b.CreateFSub(h, t)));
}

FunctionCallee library(IRBuilder<>& b, const std::string& name, int arity) {
  Module* mod = b.GetInsertBlock()->getModule();
  Type* d = b.getDoubleTy();
  auto* type = FunctionType::get(d, std::vector<Type*>(static_cast<size_t>(arity), d), false);
  FunctionCallee f = mod->getOrInsertFunction("tempo_libm_" + name, type);
  auto* fn = cast<Function>(f.getCallee());
  fn->setDoesNotAccessMemory();
  fn->setDoesNotThrow();
  fn->addFnAttr(Attribute::WillReturn);
  return f;
}

/// A call of the C library in f64, lane by lane.
Value* callLibrary(IRBuilder<>& b, const std::string& name, std::vector<Value*> args) {
  FunctionCallee f = library(b, name, static_cast<int>(args.size()));
  auto* vec = dyn_cast<FixedVectorType>(args[0]->getType());
  if (!vec) return b.CreateCall(f, args);
  Value* r = PoisonValue::get(vec);
  for (unsigned k = 0; k < vec->getNumElements(); ++k) {
    std::vector<Value*> lane;
    for (Value* a : args) lane.push_back(b.CreateExtractElement(a, k));
    r = b.CreateInsertElement(r, b.CreateCall(f, lane), k);
  }
  return r;
}

enum class Trig { Sin, Cos, Tan };

Value* trigReduced(Maths& m, Value* x, Trig which) {
  IRBuilder<>& b = m.b_;
  auto [n, ni] = m.nearest(b.CreateFMul(x, m.c(0.63661977236758134308)));
  Value* r = m.fma(n, m.c(-0x1.921fb54442d18p+0), x);
  r = m.fma(n, m.c(-0x1.1a62633145c07p-54), r);
  Value* u = b.CreateFMul(r, r);
  Value* s = b.CreateFMul(
      r, m.poly(u, {0.999999999999999997, -0.166666666666666167, 0.00833333333332036246, -0.000198412698286503,
                    2.75573133764001291e-6, -2.50507169741027397e-8, 1.58947366518488299e-10}));
  Value* c = m.poly(u, {0.999999999999999953, -0.499999999999992508, 0.0416666666664723058, -0.00138888888699786588,
                        0.0000248015785385629863, -2.75552338848474106e-7, 2.06304543796618953e-9});
  Value* odd = b.CreateICmpNE(b.CreateAnd(ni, m.ic(1)), m.ic(0));
  if (which == Trig::Tan) {
    Value* t = b.CreateFDiv(b.CreateSelect(odd, c, s), b.CreateSelect(odd, s, c));
    return b.CreateSelect(odd, b.CreateFNeg(t), t);
  }
  Value* quadrant = which == Trig::Sin ? ni : b.CreateAdd(ni, m.ic(1));
  Value* v = which == Trig::Sin ? b.CreateSelect(odd, c, s) : b.CreateSelect(odd, s, c);
  Value* negative = b.CreateICmpNE(b.CreateAnd(quadrant, m.ic(2)), m.ic(0));
  return b.CreateSelect(negative, b.CreateFNeg(v), v);
}

/// x in f64. Beyond 2^49 the reduction above runs out of bits of pi: those lanes go to the library, on a rare branch.
Value* trig(Maths& m, Value* x, Trig which) {
  IRBuilder<>& b = m.b_;
  Value* a = m.abs(x);
  Value* big = b.CreateAnd(b.CreateFCmpOGE(a, m.c(0x1p49)), b.CreateFCmpOLT(a, m.c(kInf)));
  Value* common = trigReduced(m, x, which);
  Value* any = x->getType()->isVectorTy() ? b.CreateOrReduce(big) : big;
  Function* fn = b.GetInsertBlock()->getParent();
  BasicBlock* from = b.GetInsertBlock();
  BasicBlock* slow = BasicBlock::Create(b.getContext(), "bigangle", fn);
  BasicBlock* join = BasicBlock::Create(b.getContext(), "angle", fn);
  b.CreateCondBr(any, slow, join, MDNode::get(b.getContext(), {MDString::get(b.getContext(), "branch_weights"),
                                                              ConstantAsMetadata::get(b.getInt32(1)),
                                                              ConstantAsMetadata::get(b.getInt32(1 << 20))}));
  b.SetInsertPoint(slow);
  const char* name = which == Trig::Sin ? "sin" : which == Trig::Cos ? "cos" : "tan";
  Value* exact = b.CreateSelect(big, callLibrary(b, name, {x}), common);
  BasicBlock* slowEnd = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  PHINode* r = b.CreatePHI(x->getType(), 2);
  r->addIncoming(common, from);
  r->addIncoming(exact, slowEnd);
  return r;
}

Value* erfF64(Maths& m, Value* x) {
  IRBuilder<>& b = m.b_;
  Value* a = m.abs(x);
  Value* near = b.CreateFMul(
      x, m.poly(b.CreateFMul(x, x),
                {1.12837916709549382, -0.376126389028086136, 0.112837916585487128, -0.0268661690505993239,
                 0.00522396719354389959, -0.000854793373651962989, 0.000120462612697797472, -0.0000147950314006615863,
                 1.53063731636387954e-6, -1.04691103321463948e-7}));
  Value* z = b.CreateFSub(b.CreateSelect(b.CreateFCmpOGT(a, m.c(4)), m.c(4), a), m.c(2.5));
  Value* far = m.poly(z, {0.999593047982555041,      0.00217828424674813157,   -0.00544571057361236564,  0.00835008901336945229,
                          -0.00862237515218633786,   0.00611735340706193954,   -0.00279848945546068763,  0.000542386866470978684,
                          0.000260667130431517074,   -0.000250228030389679232, 0.0000788085232256799089, 5.05090064814145595e-6,
                          -0.0000140900963801399954, 4.77316239555533666e-6,   1.90006582425945203e-7,   -6.92023692140867921e-7,
                          1.74801293618029019e-7,    3.8108799157423325e-8,    -2.25567728067817352e-8,  -4.37864127595738299e-10,
                          1.07885985566349559e-9});
  return b.CreateSelect(b.CreateFCmpOLT(a, m.c(1)), near, m.copysign(far, x));
}

/// atan of x >= 0 in [0, 1].
Value* atanUnit(Maths& m, Value* x) {
  return m.b_.CreateFMul(
      x, m.poly(m.b_.CreateFMul(x, x),
                {0.999999999999709957, -0.333333333202547123, 0.1999999901342103, -0.14285684661254052, 0.111106407906493666,
                 -0.0908636066072723402, 0.0766317735775363134, -0.0653622881184795912, 0.0545823945423977533,
                 -0.0423246167932046321, 0.0284106121126420202, -0.0152324919090313752, 0.00593637659642877938,
                 -0.0014666686334045195, 0.000170460404660903097}));
}

constexpr double kHalfPi = 1.57079632679489661923;

Value* atanF64(Maths& m, Value* x) {
  IRBuilder<>& b = m.b_;
  Value* a = m.abs(x);
  Value* inverted = b.CreateFCmpOGT(a, m.c(1));
  Value* r = atanUnit(m, b.CreateSelect(inverted, b.CreateFDiv(m.c(1), a), a));
  return m.copysign(b.CreateSelect(inverted, b.CreateFSub(m.c(kHalfPi), r), r), x);
}

Value* atan2F64(Maths& m, Value* y, Value* x) {
  IRBuilder<>& b = m.b_;
  Value *ay = m.abs(y), *ax = m.abs(x);
  Value* steep = b.CreateFCmpOGT(ay, ax);
  Value* lo = b.CreateSelect(steep, ax, ay);
  Value* hi = b.CreateSelect(steep, ay, ax);
  Value* q = b.CreateFDiv(lo, hi);
  q = b.CreateSelect(b.CreateFCmpOEQ(hi, m.c(0)), m.c(0), q);            // both zero
  q = b.CreateSelect(b.CreateFCmpOEQ(lo, m.c(kInf)), m.c(1), q);         // both infinite
  Value* r = atanUnit(m, q);
  r = b.CreateSelect(steep, b.CreateFSub(m.c(kHalfPi), r), r);
  Value* left = b.CreateICmpSLT(m.bits(x), m.ic(0));
  r = b.CreateSelect(left, b.CreateFSub(m.c(2 * kHalfPi), r), r);
  r = m.copysign(r, y);
  Value* nan = b.CreateFCmpUNO(x, y);
  return b.CreateSelect(nan, m.c(std::numeric_limits<double>::quiet_NaN()), r);
}

Value* log1pF64(Maths& m, Value* x) {
  IRBuilder<>& b = m.b_;
  Value* u = b.CreateFAdd(x, m.c(1));
  Value* lost = b.CreateFDiv(b.CreateFSub(x, b.CreateFSub(u, m.c(1))), u);
  Value* r = b.CreateFAdd(logF64(m, u), lost);
  r = b.CreateSelect(b.CreateFCmpOEQ(x, m.c(kInf)), x, r);
  r = b.CreateSelect(b.CreateFCmpOEQ(x, m.c(-1)), m.c(-kInf), r);
  return b.CreateSelect(b.CreateFCmpULT(x, m.c(-1)), m.c(std::numeric_limits<double>::quiet_NaN()), r);
}

Value* expm1F64(Maths& m, Value* x) {
  auto [s, p] = expParts(m, m.clamp(x, -200, 200));
  return m.fma(s, p, m.b_.CreateFSub(s, m.c(1)));
}

Value* powF64(Maths& m, Value* x, Value* y) {
  IRBuilder<>& b = m.b_;
  Value* a = m.abs(x);
  Value* l = logF64(m, a);
  l = b.CreateSelect(b.CreateFCmpOEQ(a, m.c(0)), m.c(-kInf), l);
  l = b.CreateSelect(b.CreateFCmpUEQ(a, m.c(kInf)), a, l);
  Value* r = expF64(m, b.CreateFMul(y, l));
  Value* whole = b.CreateFCmpOEQ(m.floor(y), y);
  Value* half = b.CreateFMul(y, m.c(0.5));
  Value* odd = b.CreateAnd(whole, b.CreateFCmpONE(m.floor(half), half));
  r = b.CreateSelect(b.CreateAnd(odd, b.CreateICmpSLT(m.bits(x), m.ic(0))), b.CreateFNeg(r), r);
  Value* undefined = b.CreateAnd(b.CreateAnd(b.CreateFCmpOLT(x, m.c(0)), b.CreateFCmpOGT(x, m.c(-kInf))),
                                 b.CreateAnd(b.CreateNot(whole), b.CreateFCmpORD(y, y)));
  r = b.CreateSelect(undefined, m.c(std::numeric_limits<double>::quiet_NaN()), r);
  Value* one = b.CreateAnd(b.CreateFCmpOEQ(a, m.c(1)), b.CreateFCmpOEQ(m.abs(y), m.c(kInf)));
  one = b.CreateOr(one, b.CreateOr(b.CreateFCmpOEQ(y, m.c(0)), b.CreateFCmpOEQ(x, m.c(1))));
  return b.CreateSelect(one, m.c(1), r);
}

Value* widened(IRBuilder<>& b, Op op, Value* x, Value* y) {
  Maths f(b, x->getType());
  Type* d = f.like(b.getDoubleTy());
  Maths m(b, d);
  x = b.CreateFPExt(x, d);
  if (y) y = b.CreateFPExt(y, d);
  Value* r = nullptr;
  switch (op) {
    case Op::Sin: r = trig(m, x, Trig::Sin); break;
    case Op::Cos: r = trig(m, x, Trig::Cos); break;
    case Op::Tan: r = trig(m, x, Trig::Tan); break;
    case Op::Erf: r = erfF64(m, x); break;
    case Op::Atan: r = atanF64(m, x); break;
    case Op::Atan2: r = atan2F64(m, x, y); break;
    case Op::Log1p: r = log1pF64(m, x); break;
    case Op::Expm1: r = expm1F64(m, x); break;
    case Op::Pow: r = powF64(m, x, y); break;
    default: TEMPO_CHECK(false, "no emission of this function");
  }
  return b.CreateFPTrunc(r, f.t_);
}

const char* libraryName(Op op) {
  switch (op) {
    case Op::Exp: return "exp";
    case Op::Log: return "log";
    case Op::Log1p: return "log1p";
    case Op::Expm1: return "expm1";
    case Op::Sin: return "sin";
    case Op::Cos: return "cos";
    case Op::Tan: return "tan";
    case Op::Tanh: return "tanh";
    case Op::Erf: return "erf";
    case Op::Atan: return "atan";
    case Op::Atan2: return "atan2";
    case Op::Pow: return "pow";
    default: return nullptr;
  }
}

}  // namespace

bool isFunction(Op op) { return libraryName(op) != nullptr; }

Value* emitFunction(IRBuilder<>& b, Op op, Value* x, Value* y) {
  if (x->getType()->getScalarType()->isDoubleTy()) {
    return callLibrary(b, libraryName(op), y ? std::vector<Value*>{x, y} : std::vector<Value*>{x});
  }
  switch (op) {
    case Op::Exp: return expF32(b, x);
    case Op::Log: return logF32(b, x);
    case Op::Tanh: return tanhF32(b, x);
    default: return widened(b, op, x, y);
  }
}

Value* emitFloatMod(IRBuilder<>& b, Value* x, Value* y) {
  Maths m(b, x->getType());
  Value* r = callLibrary(b, "fmod", {x, y});
  Value* zero = b.CreateFCmpOEQ(r, m.c(0));
  Value* opposite = b.CreateICmpSLT(b.CreateXor(m.bits(r), m.bits(y)), m.ic(0));
  Value* shifted = b.CreateSelect(opposite, b.CreateFAdd(r, y), r);
  return b.CreateSelect(zero, m.copysign(m.c(0), y), shifted);
}

Value* bf16FromF32(IRBuilder<>& b, Value* x) {
  Maths m(b, x->getType());
  Value* bits = m.bits(x);
  Value* lsb = b.CreateAnd(b.CreateLShr(bits, m.ic(16)), m.ic(1));
  Value* rounded = b.CreateAdd(b.CreateAdd(bits, m.ic(0x7fff)), lsb);
  Value* quiet = b.CreateOr(bits, m.ic(0x400000));
  Value* r = b.CreateLShr(b.CreateSelect(m.isNan(x), quiet, rounded), m.ic(16));
  return b.CreateTrunc(r, m.like(b.getInt16Ty()));
}

Value* f32FromBf16(IRBuilder<>& b, Value* x) {
  Type* f = b.getFloatTy();
  if (auto* v = dyn_cast<VectorType>(x->getType())) f = VectorType::get(f, v->getElementCount());
  Maths m(b, f);
  return m.fromBits(b.CreateShl(b.CreateZExt(x, m.int_), m.ic(16)));
}

Value* roundToOdd(IRBuilder<>& b, Value* x) {
  Maths d(b, x->getType());
  Maths f(b, d.like(b.getFloatTy()));
  Value* y = b.CreateFPTrunc(x, f.t_);
  Value* back = b.CreateFPExt(y, d.t_);
  Value* inexact = b.CreateFCmpONE(back, x);
  // The neighbour towards zero if rounding went away from it; then the lowest bit records what was lost.
  Value* away = b.CreateFCmpOGT(d.abs(back), d.abs(x));
  Value* truncated = b.CreateSub(f.bits(y), b.CreateZExt(b.CreateAnd(away, inexact), f.int_));
  Value* sticky = b.CreateOr(truncated, b.CreateZExt(inexact, f.int_));
  return f.fromBits(sticky);
}

const LibraryFunction* libraryFunctions(int& count) {
  using Unary = double (*)(double);
  using Binary = double (*)(double, double);
  auto unary = [](Unary f) { return reinterpret_cast<void*>(f); };
  auto binary = [](Binary f) { return reinterpret_cast<void*>(f); };
  static const LibraryFunction table[] = {
      {"tempo_libm_exp", unary(std::exp)},     {"tempo_libm_log", unary(std::log)},     {"tempo_libm_log1p", unary(std::log1p)},
      {"tempo_libm_expm1", unary(std::expm1)}, {"tempo_libm_sin", unary(std::sin)},     {"tempo_libm_cos", unary(std::cos)},
      {"tempo_libm_tan", unary(std::tan)},     {"tempo_libm_tanh", unary(std::tanh)},   {"tempo_libm_erf", unary(std::erf)},
      {"tempo_libm_atan", unary(std::atan)},   {"tempo_libm_atan2", binary(std::atan2)}, {"tempo_libm_pow", binary(std::pow)},
      {"tempo_libm_fmod", binary(std::fmod)},
  };
  count = static_cast<int>(sizeof table / sizeof table[0]);
  return table;
}

}  // namespace tempo::cpu
