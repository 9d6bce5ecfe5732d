// Emission of LLVM IR from Kernel IR. Values are scalars or, inside a vectorised loop, vectors with one lane per iteration;
// every operation is emitted the same way for both, so a loop's tail computes the same bits as its body.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "kernel/kir.hpp"

namespace tempo::cpu {

using llvm::Value;

/// What emission needs to know of the machine.
struct Machine {
  int vectorBytes = 32;  // 64 with AVX-512
};

std::string kernelSymbol(const kir::Program& p, size_t k);
inline constexpr const char* kHostSymbol = "tempo_host";

/// Fills `m` with every kernel and the host function.
void emitProgram(llvm::Module& m, const kir::Program& p, const Machine& machine);

/// A variable in scope. In a vectorised loop `value` may be a vector; `lane0` is then its first lane and `stride` the
/// difference between neighbouring lanes where that is a known constant.
struct Binding {
  Value* value = nullptr;
  Value* lane0 = nullptr;
  std::optional<int64_t> stride = 0;
  bool nonNegative = false;
};

struct BufferRef {
  Value* pointer = nullptr;
  DType dtype = DType::F32;
};

/// Scalar expressions: environment, types, loads.
class ExprEmitter {
 public:
  ExprEmitter(llvm::Module& m, const Machine& machine);
  virtual ~ExprEmitter() = default;

 protected:
  llvm::Module& module_;
  llvm::LLVMContext& ctx_;
  Machine machine_;
  llvm::IRBuilder<> b_;
  std::unordered_map<std::string, Binding> env_;
  std::unordered_map<std::string, BufferRef> buffers_;
  Value* seed_ = nullptr;
  int lanes_ = 1;              // of the vectorised loop being emitted
  Value* mask_ = nullptr;      // lanes that are active; null: all
  Value* tailMask_ = nullptr;  // the mask of a loop's last iterations; its first lane is active
  llvm::MDNode* accessGroup_ = nullptr;

  llvm::Type* registerType(DType t);  // of a value
  llvm::Type* memoryType(DType t);    // of a buffer's element
  llvm::Type* i64() { return b_.getInt64Ty(); }
  Value* constant(int64_t v) { return llvm::ConstantInt::get(i64(), static_cast<uint64_t>(v), true); }
  llvm::BasicBlock* newBlock(const char* name);

  Value* emit(const kir::ExprPtr& e);
  /// As `emit`, for the first lane only: always a scalar.
  Value* emitLane0(const kir::ExprPtr& e);
  /// Forgets values remembered for shared subexpressions; at every change of basic block or environment.
  void forget();
  /// Difference between neighbouring lanes of an i64 expression; nullopt: not a known constant. With `wrap`, one remainder
  /// by a uniform divisor is looked through and given: the stride holds as long as it does not wrap.
  std::optional<int64_t> strideOf(const kir::Expr& e, const kir::Expr** wrap = nullptr) const;
  bool nonNegative(const kir::Expr& e) const;
  bool varies(const kir::Expr& e) const;  // between lanes

  void bind(const std::string& name, Binding v);
  /// Binds a Let: value, first lane and stride.
  void bindLet(const std::string& name, const kir::ExprPtr& value);
  Value* splat(Value* v);                 // to `lanes_` lanes
  Value* toRegister(DType t, Value* v);   // memory to register form
  Value* toMemory(DType t, Value* v);
  Value* emitCast(DType from, DType to, Value* v);
  Value* emitOp(tempo::Op op, DType t, std::vector<Value*> a, const kir::Expr& e);
  void unify(Value*& x, Value*& y);       // both vectors if one is
  void storeTo(const std::string& buffer, const kir::ExprPtr& index, Value* value);

 private:
  std::unordered_map<const kir::Expr*, Value*> memo_;
  bool firstLane_ = false;

  Value* emitNode(const kir::Expr& e);
  Value* emitLoad(const kir::Expr& e);
  Value* loadContiguous(const BufferRef& buf, const kir::ExprPtr& index);
  Value* loadGathered(const BufferRef& buf, const kir::ExprPtr& index);
  Value* loadRing(const BufferRef& buf, const kir::ExprPtr& index, const kir::Expr& wrap);
  Value* emitChoice(const kir::Expr& e);
  Value* emitBranchy(const kir::Expr& e, Value* c);
  Value* emitRandom(const kir::Expr& e);
  Value* emitIntDiv(tempo::Op op, DType t, Value* a, Value* b, const kir::Expr& e);
  Value* emitFloatOp(tempo::Op op, DType t, Value* a, Value* b);
  Value* emitIntOp(tempo::Op op, DType t, Value* a, Value* b);
  Value* emitCompare(tempo::Op op, DType t, Value* a, Value* b);
  llvm::Value* tag(llvm::Value* access);  // marks a load or store as free of loop-carried conflicts
};

/// Larger, or the first if equal; NaN if either is NaN. Smaller likewise.
Value* floatMax(llvm::IRBuilder<>& b, Value* x, Value* y);
Value* floatMin(llvm::IRBuilder<>& b, Value* x, Value* y);

/// Emits the function for one kernel.
void emitKernel(llvm::Module& m, const kir::Program& p, size_t k, const Machine& machine);
/// Emits the host function; kernels must have been emitted.
void emitHost(llvm::Module& m, const kir::Program& p, const Machine& machine);

/// Bytes of one kernel's scratch buffer `s`, given its count; 64-byte multiples.
Value* scratchBytes(llvm::IRBuilder<>& b, const kir::Scratch& s, Value* count);
/// Constant-size scratch that lives on the stack instead.
bool onStack(const kir::Scratch& s);

}  // namespace tempo::cpu
