#include "check.hpp"
#include "cpu/emit.hpp"

namespace tempo::cpu {

using namespace llvm;  // NOLINT: this file is nothing but IR building

Value* ExprEmitter::emitRandom(const kir::Expr& e) {
  TEMPO_CHECK(false, "cpu: random");
  return nullptr;
}

}  // namespace tempo::cpu
