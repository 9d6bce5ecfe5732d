// Random words: Philox4x32-10 as oracle/oracle.hpp defines it, per lane.
#include <array>

#include "cpu/emit.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building

namespace {

uint64_t mixConstant(uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

Value* constantLike(Value* v, uint64_t c) { return ConstantInt::get(v->getType(), c); }

Value* mix(IRBuilder<>& b, Value* z) {
  z = b.CreateAdd(z, constantLike(z, 0x9E3779B97F4A7C15U));
  z = b.CreateMul(b.CreateXor(z, b.CreateLShr(z, 30)), constantLike(z, 0xBF58476D1CE4E5B9U));
  z = b.CreateMul(b.CreateXor(z, b.CreateLShr(z, 27)), constantLike(z, 0x94D049BB133111EBU));
  return b.CreateXor(z, b.CreateLShr(z, 31));
}

}  // namespace

Value* ExprEmitter::emitRandom(const kir::Expr& e) {
  auto like = [](Value* v, Type* scalar) -> Type* {
    auto* vec = dyn_cast<VectorType>(v->getType());
    return vec ? VectorType::get(scalar, vec->getElementCount()) : scalar;
  };
  std::vector<Value*> point;
  bool vector = false;
  for (const auto& a : e.args) {
    point.push_back(emit(a));
    vector = vector || point.back()->getType()->isVectorTy();
  }
  auto word = [&](Value* v) {
    if (vector) v = splat(v);
    return b_.CreateTrunc(v, like(v, b_.getInt32Ty()));
  };
  std::array<Value*, 4> c{};
  for (size_t k = 0; k < 4; ++k) c[k] = word(k < point.size() ? point[k] : constant(0));
  Type* wide = like(c[0], i64());
  for (size_t k = 4; k < point.size(); ++k) {
    Value* z = b_.CreateOr(b_.CreateShl(b_.CreateZExt(c[3], wide), 32), b_.CreateZExt(word(point[k]), wide));
    c[3] = b_.CreateTrunc(mix(b_, z), c[3]->getType());
  }
  Value* key = b_.CreateXor(seed_, b_.getInt64(mixConstant(static_cast<uint64_t>(e.i))));
  Value* key0 = b_.CreateTrunc(key, b_.getInt32Ty());
  Value* key1 = b_.CreateTrunc(b_.CreateLShr(key, 32), b_.getInt32Ty());
  auto keyed = [&](Value* k) { return vector ? splat(k) : k; };
  auto high = [&](Value* p) { return b_.CreateTrunc(b_.CreateLShr(p, 32), c[0]->getType()); };
  for (int round = 0; round < 10; ++round) {
    Value* p0 = b_.CreateMul(b_.CreateZExt(c[0], wide), ConstantInt::get(wide, 0xD2511F53U));
    Value* p1 = b_.CreateMul(b_.CreateZExt(c[2], wide), ConstantInt::get(wide, 0xCD9E8D57U));
    c = {b_.CreateXor(b_.CreateXor(high(p1), c[1]), keyed(key0)), b_.CreateTrunc(p1, c[0]->getType()),
         b_.CreateXor(b_.CreateXor(high(p0), c[3]), keyed(key1)), b_.CreateTrunc(p0, c[0]->getType())};
    key0 = b_.CreateAdd(key0, b_.getInt32(0x9E3779B9U));
    key1 = b_.CreateAdd(key1, b_.getInt32(0xBB67AE85U));
  }
  return b_.CreateZExt(c[0], wide);
}

}  // namespace tempo::cpu
