#include <llvm/IR/Intrinsics.h>

#include "check.hpp"
#include "cpu/emit.hpp"
#include "cpu/vmath.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building
using Kind = kir::Expr::Kind;

ExprEmitter::ExprEmitter(Module& m, const Machine& machine)
    : module_(m), ctx_(m.getContext()), machine_(machine), b_(m.getContext()) {}

Type* ExprEmitter::registerType(DType t) { return t == DType::Bool ? b_.getInt1Ty() : memoryType(t); }

Type* ExprEmitter::memoryType(DType t) {
  switch (t) {
    case DType::F64: return b_.getDoubleTy();
    case DType::F32: return b_.getFloatTy();
    case DType::F16: return b_.getHalfTy();
    case DType::BF16: return b_.getInt16Ty();
    case DType::I64: return b_.getInt64Ty();
    case DType::I32: return b_.getInt32Ty();
    default: return b_.getInt8Ty();
  }
}

BasicBlock* ExprEmitter::newBlock(const char* name) {
  return BasicBlock::Create(ctx_, name, b_.GetInsertBlock()->getParent());
}

void ExprEmitter::forget() { memo_.clear(); }

Value* ExprEmitter::splat(Value* v) {
  if (lanes_ == 1 || v->getType()->isVectorTy()) return v;
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), v);
}

void ExprEmitter::unify(Value*& x, Value*& y) {
  if (x->getType()->isVectorTy() == y->getType()->isVectorTy()) return;
  x = splat(x);
  y = splat(y);
}

void ExprEmitter::bind(const std::string& name, Binding v) {
  env_[name] = v;
  forget();
}

void ExprEmitter::bindLet(const std::string& name, const kir::ExprPtr& value) {
  Binding v;
  v.value = emit(value);
  v.nonNegative = value->dtype == DType::I64 && nonNegative(*value);
  if (v.value->getType()->isVectorTy()) {
    v.stride = value->dtype == DType::I64 ? strideOf(*value) : std::nullopt;
    if (v.stride) v.lane0 = emitLane0(value);
  }
  // Values remembered so far stay right: the name is new, or hides one that no remembered expression is read through again.
  env_[name] = v;
  forget();
}

Value* ExprEmitter::emitLane0(const kir::ExprPtr& e) {
  if (lanes_ == 1) return emit(e);
  // A separate pass without memory: the vector values must not be mistaken for scalars.
  auto saved = std::move(memo_);
  memo_.clear();
  const bool was = firstLane_;
  firstLane_ = true;
  Value* v = emit(e);
  firstLane_ = was;
  memo_ = std::move(saved);
  return v;
}

Value* ExprEmitter::emit(const kir::ExprPtr& e) {
  if (e->kind != Kind::ConstF && e->kind != Kind::ConstI && e->kind != Kind::Var) {
    auto it = memo_.find(e.get());
    if (it != memo_.end()) return it->second;
    Value* v = emitNode(*e);
    memo_[e.get()] = v;
    return v;
  }
  return emitNode(*e);
}

Value* ExprEmitter::emitNode(const kir::Expr& e) {
  switch (e.kind) {
    case Kind::ConstF:
      if (e.dtype == DType::BF16) return b_.CreateBitCast(bf16FromF32(b_, ConstantFP::get(b_.getFloatTy(), e.f)), b_.getInt16Ty());
      return ConstantFP::get(registerType(e.dtype), e.f);
    case Kind::ConstI: return ConstantInt::get(registerType(e.dtype), static_cast<uint64_t>(e.i), true);
    case Kind::Var: {
      auto it = env_.find(e.name);
      TEMPO_CHECK(it != env_.end(), "no value for " + e.name);
      if (firstLane_ && it->second.lane0) return it->second.lane0;
      return it->second.value;
    }
    case Kind::Op: {
      std::vector<Value*> a;
      for (const auto& x : e.args) a.push_back(emit(x));
      return emitOp(e.op, e.args[0]->dtype, std::move(a), e);
    }
    case Kind::Select: return emitChoice(e);
    case Kind::Cond: return emitChoice(e);
    case Kind::Cast: return emitCast(e.args[0]->dtype, e.dtype, emit(e.args[0]));
    case Kind::Load: return emitLoad(e);
    case Kind::Random: return emitRandom(e);
  }
  return nullptr;
}

Value* ExprEmitter::emitChoice(const kir::Expr& e) {
  Value* c = emit(e.args[0]);
  if (e.kind == Kind::Cond && !c->getType()->isVectorTy()) return emitBranchy(e, c);
  Value *x = nullptr, *y = nullptr;
  if (e.kind == Kind::Cond) {
    // Each side under its own mask, so that neither reads where it must not.
    Value* outer = mask_;
    auto memo = memo_;
    mask_ = outer ? b_.CreateAnd(outer, c) : c;
    x = emit(e.args[1]);
    memo_ = memo;
    mask_ = outer ? b_.CreateAnd(outer, b_.CreateNot(c)) : b_.CreateNot(c);
    y = emit(e.args[2]);
    memo_ = std::move(memo);
    mask_ = outer;
  } else {
    x = emit(e.args[1]);
    y = emit(e.args[2]);
  }
  unify(x, y);
  if (c->getType()->isVectorTy()) {
    x = splat(x);
    y = splat(y);
  }
  return b_.CreateSelect(c, x, y);
}

Value* ExprEmitter::emitBranchy(const kir::Expr& e, Value* c) {
  auto* yes = newBlock("then");
  auto* no = newBlock("else");
  auto* join = newBlock("join");
  b_.CreateCondBr(c, yes, no);
  const auto memo = memo_;
  b_.SetInsertPoint(yes);
  Value* x = emit(e.args[1]);
  const bool xVector = x->getType()->isVectorTy();
  BasicBlock* xEnd = b_.GetInsertBlock();
  memo_ = memo;
  b_.SetInsertPoint(no);
  Value* y = emit(e.args[2]);
  memo_ = memo;
  if (xVector) y = splat(y);
  BasicBlock* yEnd = b_.GetInsertBlock();
  b_.CreateBr(join);
  b_.SetInsertPoint(xEnd);
  if (y->getType()->isVectorTy()) x = splat(x);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  PHINode* r = b_.CreatePHI(x->getType(), 2);
  r->addIncoming(x, xEnd);
  r->addIncoming(y, yEnd);
  return r;
}

bool ExprEmitter::varies(const kir::Expr& e) const {
  if (e.kind == Kind::Var) {
    auto it = env_.find(e.name);
    return it != env_.end() && it->second.value && it->second.value->getType()->isVectorTy() && !firstLane_;
  }
  for (const auto& a : e.args) {
    if (varies(*a)) return true;
  }
  return false;
}

std::optional<int64_t> ExprEmitter::strideOf(const kir::Expr& e, const kir::Expr** wrap) const {
  if (!varies(e)) return 0;
  if (e.kind == Kind::Var) return env_.at(e.name).stride;
  if (e.kind != Kind::Op) return std::nullopt;
  if (e.op == Op::Neg) {
    auto s = strideOf(*e.args[0], wrap);
    return s ? std::optional<int64_t>(-*s) : std::nullopt;
  }
  if (e.op == Op::Add || e.op == Op::Sub) {
    auto x = strideOf(*e.args[0], wrap), y = strideOf(*e.args[1], wrap);
    if (!x || !y) return std::nullopt;
    return e.op == Op::Add ? *x + *y : *x - *y;
  }
  if (e.op == Op::Mul) {
    for (int k = 0; k < 2; ++k) {
      if (e.args[1 - k]->kind != Kind::ConstI) continue;
      auto s = strideOf(*e.args[k], wrap);
      return s ? std::optional<int64_t>(*s * e.args[1 - k]->i) : std::nullopt;
    }
  }
  if (e.op == Op::Mod && wrap && !*wrap && !varies(*e.args[1]) && strideOf(*e.args[0]) == 1) {
    *wrap = &e;
    return 1;
  }
  return std::nullopt;
}

bool ExprEmitter::nonNegative(const kir::Expr& e) const {
  auto arg = [&](size_t k) { return nonNegative(*e.args[k]); };
  switch (e.kind) {
    case Kind::ConstI: return e.i >= 0;
    case Kind::Var: {
      auto it = env_.find(e.name);
      return it != env_.end() && it->second.nonNegative;
    }
    case Kind::Random: return true;
    case Kind::Cast: return e.args[0]->dtype == DType::U8 || e.args[0]->dtype == DType::Bool;
    case Kind::Select:
    case Kind::Cond: return arg(1) && arg(2);
    case Kind::Op: break;
    default: return false;
  }
  switch (e.op) {
    case Op::Add:
    case Op::Mul:
    case Op::Min: return arg(0) && arg(1);
    case Op::FloorDiv: return arg(0) && arg(1);
    case Op::Max: return arg(0) || arg(1);
    case Op::Mod: return arg(1);
    default: return false;
  }
}

Value* ExprEmitter::tag(Value* access) {
  if (accessGroup_) cast<Instruction>(access)->setMetadata(LLVMContext::MD_access_group, accessGroup_);
  return access;
}

Value* ExprEmitter::toRegister(DType t, Value* v) {
  if (t != DType::Bool) return v;
  return b_.CreateICmpNE(v, Constant::getNullValue(v->getType()));
}

Value* ExprEmitter::toMemory(DType t, Value* v) {
  if (t != DType::Bool) return v;
  Type* byte = b_.getInt8Ty();
  if (auto* vec = dyn_cast<VectorType>(v->getType())) byte = VectorType::get(byte, vec->getElementCount());
  return b_.CreateZExt(v, byte);
}

Value* ExprEmitter::emitLoad(const kir::Expr& e) {
  auto it = buffers_.find(e.name);
  TEMPO_CHECK(it != buffers_.end(), "no buffer " + e.name);
  const auto& buf = it->second;
  Type* elem = memoryType(buf.dtype);
  const Align align(static_cast<uint64_t>(bytes(buf.dtype)));
  const auto stride = firstLane_ ? std::optional<int64_t>(0) : strideOf(*e.args[0]);
  const bool uniform = stride && *stride == 0;
  if (lanes_ == 1 || firstLane_ || (uniform && mask_ == tailMask_)) {
    Value* p = b_.CreateInBoundsGEP(elem, buf.pointer, emitLane0(e.args[0]));
    return toRegister(buf.dtype, tag(b_.CreateAlignedLoad(elem, p, align)));
  }
  if (stride && *stride == 1) return loadContiguous(buf, e.args[0]);
  if (stride && *stride == -1 && !mask_) {
    auto* vec = FixedVectorType::get(elem, static_cast<unsigned>(lanes_));
    Value* first = b_.CreateSub(emitLane0(e.args[0]), constant(lanes_ - 1));
    Value* p = b_.CreateInBoundsGEP(elem, buf.pointer, first);
    return toRegister(buf.dtype, b_.CreateVectorReverse(b_.CreateAlignedLoad(vec, p, align)));
  }
  const kir::Expr* wrap = nullptr;
  if (!stride && strideOf(*e.args[0], &wrap) == 1 && wrap) return loadRing(buf, e.args[0], *wrap);
  return loadGathered(buf, e.args[0]);
}

Value* ExprEmitter::loadContiguous(const BufferRef& buf, const kir::ExprPtr& index) {
  Type* elem = memoryType(buf.dtype);
  const Align align(static_cast<uint64_t>(bytes(buf.dtype)));
  auto* vec = FixedVectorType::get(elem, static_cast<unsigned>(lanes_));
  Value* p = b_.CreateInBoundsGEP(elem, buf.pointer, emitLane0(index));
  Value* v = mask_ ? static_cast<Value*>(b_.CreateMaskedLoad(vec, p, align, splat(mask_), Constant::getNullValue(vec)))
                   : static_cast<Value*>(b_.CreateAlignedLoad(vec, p, align));
  return toRegister(buf.dtype, v);
}

Value* ExprEmitter::loadGathered(const BufferRef& buf, const kir::ExprPtr& index) {
  Type* elem = memoryType(buf.dtype);
  const Align align(static_cast<uint64_t>(bytes(buf.dtype)));
  auto* vec = FixedVectorType::get(elem, static_cast<unsigned>(lanes_));
  Value* p = b_.CreateGEP(elem, buf.pointer, splat(emit(index)));
  Value* all = Constant::getAllOnesValue(FixedVectorType::get(b_.getInt1Ty(), static_cast<unsigned>(lanes_)));
  return toRegister(buf.dtype, b_.CreateMaskedGather(vec, p, align, mask_ ? splat(mask_) : all, Constant::getNullValue(vec)));
}

// A window kept in a ring: neighbours in memory but where the ring closes.
Value* ExprEmitter::loadRing(const BufferRef& buf, const kir::ExprPtr& index, const kir::Expr& wrap) {
  // The divisor is uniform and positive where the quotient matters; any other goes the general way.
  Value* first = emitLane0(std::make_shared<const kir::Expr>(wrap));
  Value* room = b_.CreateSub(emitLane0(wrap.args[1]), first);
  auto* whole = newBlock("whole");
  auto* broken = newBlock("broken");
  auto* join = newBlock("ring");
  b_.CreateCondBr(b_.CreateICmpSGE(room, constant(lanes_)), whole, broken);
  const auto memo = memo_;
  b_.SetInsertPoint(whole);
  Value* x = loadContiguous(buf, index);
  auto* wholeEnd = b_.GetInsertBlock();
  b_.CreateBr(join);
  memo_ = memo;
  b_.SetInsertPoint(broken);
  Value* y = loadGathered(buf, index);
  auto* brokenEnd = b_.GetInsertBlock();
  b_.CreateBr(join);
  memo_ = memo;
  b_.SetInsertPoint(join);
  PHINode* r = b_.CreatePHI(x->getType(), 2);
  r->addIncoming(x, wholeEnd);
  r->addIncoming(y, brokenEnd);
  return r;
}

void ExprEmitter::storeTo(const std::string& buffer, const kir::ExprPtr& index, Value* value) {
  auto it = buffers_.find(buffer);
  TEMPO_CHECK(it != buffers_.end(), "no buffer " + buffer);
  const auto& buf = it->second;
  Type* elem = memoryType(buf.dtype);
  const Align align(static_cast<uint64_t>(bytes(buf.dtype)));
  if (lanes_ == 1) {
    Value* p = b_.CreateInBoundsGEP(elem, buf.pointer, emit(index));
    tag(b_.CreateAlignedStore(toMemory(buf.dtype, value), p, align));
  } else {
    Value* v = toMemory(buf.dtype, splat(value));
    const auto stride = strideOf(*index);
    if (stride && *stride == 1) {
      Value* p = b_.CreateInBoundsGEP(elem, buf.pointer, emitLane0(index));
      if (mask_) {
        b_.CreateMaskedStore(v, p, align, splat(mask_));
      } else {
        b_.CreateAlignedStore(v, p, align);
      }
    } else {
      Value* p = b_.CreateGEP(elem, buf.pointer, splat(emit(index)));
      b_.CreateMaskedScatter(v, p, align, mask_ ? splat(mask_) : nullptr);
    }
  }
  forget();  // loads may see the new value
}

}  // namespace tempo::cpu
