// Reductions. Across lanes the association is fixed by the trip count and the machine's vector length: blocks of four
// vectors, then single vectors (the last under a mask, or single elements), each width into its own accumulator, combined
// in that order.
#include <limits>

#include "check.hpp"
#include "cpu/emit_kernel.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building

namespace {

bool isArg(tempo::Reduce r) { return r == Reduce::ArgMax || r == Reduce::ArgMin; }

Constant* identity(const kir::Acc& a, Type* t) {
  const bool max = a.op == Reduce::Max || a.op == Reduce::ArgMax;
  const bool min = a.op == Reduce::Min || a.op == Reduce::ArgMin;
  if (isFloat(a.dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return ConstantFP::get(t, max ? -inf : min ? inf : a.op == Reduce::Prod ? 1 : 0);
  }
  if (a.dtype == DType::Bool) return ConstantInt::get(t, a.op == Reduce::All || min ? 1 : 0);
  const unsigned bits = t->getScalarSizeInBits();
  const bool isUnsigned = a.dtype == DType::U8;
  if (max) return ConstantInt::get(t, isUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits));
  if (min) return ConstantInt::get(t, isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits));
  return ConstantInt::get(t, a.op == Reduce::Prod ? 1 : 0);
}

}  // namespace

void KernelEmitter::reduce(const kir::Stmt& s) {
  if (lanes_ == 1 && !sequentialReduce_ && !reducePasses(s).empty()) return reduceAcross(s);
  reduceInOrder(s);
}

std::vector<KernelEmitter::AccSlots> KernelEmitter::accSlots(const kir::Stmt& s) {
  std::vector<AccSlots> out;
  auto make = [&](Type* scalar, Constant* start) {
    Type* t = lanes_ == 1 ? scalar : FixedVectorType::get(scalar, static_cast<unsigned>(lanes_));
    auto* a = slot(t);
    b_.CreateStore(lanes_ == 1 ? start : ConstantVector::getSplat(ElementCount::getFixed(static_cast<unsigned>(lanes_)), start), a);
    return a;
  };
  for (const auto& a : s.accs) {
    AccSlots one;
    Type* t = registerType(a.dtype);
    one.value = make(t, identity(a, t));
    if (isArg(a.op)) one.position = make(i64(), b_.getInt64(0));
    out.push_back(one);
  }
  return out;
}

void KernelEmitter::outerLoops(const kir::Stmt& s, size_t k, const std::function<void(Value*, Value*, bool)>& inner) {
  const auto& l = s.loops[k];
  Value* lo = emit(l.lo);
  Value* hi = emit(l.hi);
  const bool nonNeg = nonNegative(*l.lo);
  if (k + 1 == s.loops.size()) return inner(lo, hi, nonNeg);
  loop(lo, hi, 1, nullptr, [&](Value* i) {
    bind(l.var, {.value = i, .nonNegative = nonNeg});
    outerLoops(s, k + 1, inner);
  });
}

void KernelEmitter::fold(const kir::Stmt& s, const std::vector<AccSlots>& slots, Value* position, bool across) {
  for (const auto& b : s.body) stmt(*b);
  for (size_t k = 0; k < s.accs.size(); ++k) {
    const auto& a = s.accs[k];
    AccValue now = load(slots[k]);
    const auto& v = a.value;
    const bool product = a.op == Reduce::Sum && isFloat(a.dtype) && v->kind == kir::Expr::Kind::Op && v->op == Op::Mul;
    if (product) {
      Value* x = splat(emit(v->args[0]));
      Value* y = splat(emit(v->args[1]));
      now.value = b_.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, now.value});
    } else {
      AccValue next{splat(emit(v)), isArg(a.op) ? splat(position) : nullptr};
      now = combine(a, now, next);
    }
    // Lanes past the end of a reduction's own loop keep what they had.
    if (across && mask_) {
      const AccValue was = load(slots[k]);
      now.value = b_.CreateSelect(mask_, now.value, was.value);
      if (now.position) now.position = b_.CreateSelect(mask_, now.position, was.position);
    }
    b_.CreateStore(now.value, slots[k].value);
    if (now.position) b_.CreateStore(now.position, slots[k].position);
  }
}

KernelEmitter::AccValue KernelEmitter::load(const AccSlots& s) {
  AccValue v;
  v.value = b_.CreateLoad(s.value->getAllocatedType(), s.value);
  if (s.position) v.position = b_.CreateLoad(s.position->getAllocatedType(), s.position);
  return v;
}

// Arg reductions: NaN counts as the best value; of equals, the first wins.
KernelEmitter::AccValue KernelEmitter::combine(const kir::Acc& a, AccValue x, AccValue y) {
  if (!isArg(a.op)) {
    const bool isUnsigned = a.dtype == DType::U8;
    const bool fl = isFloat(a.dtype);
    switch (a.op) {
      case Reduce::Sum: return {fl ? b_.CreateFAdd(x.value, y.value) : b_.CreateAdd(x.value, y.value)};
      case Reduce::Prod: return {fl ? b_.CreateFMul(x.value, y.value) : b_.CreateMul(x.value, y.value)};
      case Reduce::Max:
        if (fl) return {floatMax(b_, x.value, y.value)};
        return {b_.CreateBinaryIntrinsic(isUnsigned ? Intrinsic::umax : Intrinsic::smax, x.value, y.value)};
      case Reduce::Min:
        if (fl) return {floatMin(b_, x.value, y.value)};
        return {b_.CreateBinaryIntrinsic(isUnsigned ? Intrinsic::umin : Intrinsic::smin, x.value, y.value)};
      case Reduce::All: return {b_.CreateAnd(x.value, y.value)};
      default: return {b_.CreateOr(x.value, y.value)};
    }
  }
  const bool max = a.op == Reduce::ArgMax;
  Value *better = nullptr, *same = nullptr;
  if (isFloat(a.dtype)) {
    Value* xNan = b_.CreateFCmpUNO(x.value, x.value);
    Value* yNan = b_.CreateFCmpUNO(y.value, y.value);
    better = max ? b_.CreateFCmpOGT(y.value, x.value) : b_.CreateFCmpOLT(y.value, x.value);
    better = b_.CreateOr(better, b_.CreateAnd(yNan, b_.CreateNot(xNan)));
    same = b_.CreateOr(b_.CreateFCmpOEQ(x.value, y.value), b_.CreateAnd(xNan, yNan));
  } else {
    const bool isUnsigned = a.dtype == DType::U8 || a.dtype == DType::Bool;
    better = max ? (isUnsigned ? b_.CreateICmpUGT(y.value, x.value) : b_.CreateICmpSGT(y.value, x.value))
                 : (isUnsigned ? b_.CreateICmpULT(y.value, x.value) : b_.CreateICmpSLT(y.value, x.value));
    same = b_.CreateICmpEQ(x.value, y.value);
  }
  Value* take = b_.CreateOr(better, b_.CreateAnd(same, b_.CreateICmpSLT(y.position, x.position)));
  return {b_.CreateSelect(take, y.value, x.value), b_.CreateSelect(take, y.position, x.position)};
}

void KernelEmitter::bindAcc(const kir::Acc& a, AccValue v) {
  auto binding = [&](Value* x) {
    Binding b{.value = x};
    if (x->getType()->isVectorTy()) b.stride = std::nullopt;
    return b;
  };
  if (isArg(a.op)) {
    Binding p = binding(v.position);
    p.nonNegative = true;
    bind(a.name, p);
    bind(a.name + "_v", binding(v.value));
  } else {
    bind(a.name, binding(v.value));
  }
}

void KernelEmitter::reduceInOrder(const kir::Stmt& s) {
  auto* group = accessGroup_;
  accessGroup_ = nullptr;
  const auto slots = accSlots(s);
  const auto saved = env_;
  outerLoops(s, 0, [&](Value* lo, Value* hi, bool nonNeg) {
    loop(lo, hi, 1, plainLoop(), [&](Value* i) {
      bind(s.loops.back().var, {.value = i, .nonNegative = nonNeg});
      fold(s, slots, b_.CreateSub(i, lo), false);
    });
  });
  env_ = saved;
  for (size_t k = 0; k < s.accs.size(); ++k) bindAcc(s.accs[k], load(slots[k]));
  accessGroup_ = group;
}

KernelEmitter::AccValue KernelEmitter::slice(AccValue x, int from, int count) {
  auto part = [&](Value* v) -> Value* {
    if (!v) return nullptr;
    if (count == 1) return b_.CreateExtractElement(v, static_cast<uint64_t>(from));
    std::vector<int> at;
    for (int k = 0; k < count; ++k) at.push_back(from + k);
    return b_.CreateShuffleVector(v, at);
  };
  return {part(x.value), part(x.position)};
}

KernelEmitter::AccValue KernelEmitter::lanesToOne(const kir::Acc& a, AccValue x) {
  auto lanes = [](Value* v) {
    auto* t = dyn_cast<FixedVectorType>(v->getType());
    return t ? static_cast<int>(t->getNumElements()) : 1;
  };
  while (lanes(x.value) > 1) {
    const int half = lanes(x.value) / 2;
    x = combine(a, slice(x, 0, half), slice(x, half, half));
  }
  return x;
}

void KernelEmitter::reduceAcross(const kir::Stmt& s) {
  auto* group = accessGroup_;
  accessGroup_ = nullptr;
  const std::vector<Pass> all = reducePasses(s);
  std::vector<std::vector<AccSlots>> slots;  // passes of one width share theirs
  for (size_t k = 0; k < all.size(); ++k) {
    lanes_ = all[k].lanes;
    slots.push_back(k && all[k].lanes == all[k - 1].lanes ? slots.back() : accSlots(s));
  }
  lanes_ = 1;
  const auto saved = env_;
  outerLoops(s, 0, [&](Value* lo, Value* hi, bool nonNeg) {
    const auto& var = s.loops.back().var;
    Value* at = lo;
    for (size_t k = 0; k < all.size(); ++k) {
      at = lanePass(all[k], var, at, hi, nonNeg, [&] { fold(s, slots[k], b_.CreateSub(env_.at(var).value, splat(lo)), true); });
    }
  });
  env_ = saved;
  for (size_t a = 0; a < s.accs.size(); ++a) {
    AccValue total = load(slots[0][a]);
    int n = all[0].lanes;
    for (size_t k = 1; k < all.size(); ++k) {
      if (all[k].lanes == all[k - 1].lanes) continue;
      // Fold the wider accumulator down to this width, then add this one's.
      while (n > all[k].lanes) {
        n /= 2;
        total = combine(s.accs[a], slice(total, 0, n), slice(total, n, n));
      }
      total = combine(s.accs[a], total, load(slots[k][a]));
    }
    bindAcc(s.accs[a], lanesToOne(s.accs[a], total));
  }
  accessGroup_ = group;
}

}  // namespace tempo::cpu
