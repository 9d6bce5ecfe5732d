// Elementary functions as straight-line LLVM IR over scalars or vectors of any length: the same operations, hence the same
// bits, at every width.
//
// f32: exp, log and tanh are polynomials in f32 with explicit fused multiply-adds; the others compute in f64 and round once.
// f64: calls of the C library, lane by lane. Errors over the whole f32 range, in units in the last place: see tests/jit.
// exp rounds once when its result is subnormal and reaches 0 below -103.98; it is inf above 88.72.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "sdg/ops.hpp"

namespace tempo::cpu {

/// `y` is used by the binary functions only.
llvm::Value* emitFunction(llvm::IRBuilder<>& b, tempo::Op op, llvm::Value* x, llvm::Value* y);
/// x - floor(x / y) * y of f64 values, exact but for the last addition; the sign of y.
llvm::Value* emitFloatMod(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y);
/// Is `op` one of them?
bool isFunction(tempo::Op op);

/// bf16 bits (i16) from f32, round to nearest even, NaN kept quiet; and back.
llvm::Value* bf16FromF32(llvm::IRBuilder<>& b, llvm::Value* x);
llvm::Value* f32FromBf16(llvm::IRBuilder<>& b, llvm::Value* x);
/// f64 to f32 such that a second rounding to a narrower type rounds as one rounding would.
llvm::Value* roundToOdd(llvm::IRBuilder<>& b, llvm::Value* x);

/// Addresses of the C library functions that emitted code calls, by symbol.
struct LibraryFunction {
  const char* name;
  void* address;
};
const LibraryFunction* libraryFunctions(int& count);

}  // namespace tempo::cpu
