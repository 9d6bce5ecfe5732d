// Expressions of Kernel IR as CUDA C++, and the scopes of C identifiers they use. Internal to jit/cuda.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/kir.hpp"

namespace tempo::cuda {

/// The device header's name of a type; Bool is `bool` in registers and `u8` in memory.
const char* typeName(DType t);
const char* storageName(DType t);

/// Names in scope. A C identifier is never shadowed, so `let x = x + 1` in an inner block reads the outer one.
class Scopes {
 public:
  void push() { scopes_.emplace_back(); }
  void pop();
  /// A fresh C identifier for `name`, formed from it, visible until the innermost scope is popped.
  std::string declare(const std::string& name);
  /// As declare, for a variable of the printer's own that no Kernel IR expression can name.
  std::string fresh(const std::string& base);
  /// Throws InternalError for a name that is not in scope.
  const std::string& find(const std::string& name) const;

 private:
  std::vector<std::map<std::string, std::string>> scopes_;
  std::vector<std::pair<size_t, std::string>> active_;  // depth, identifier
  std::set<std::string> used_;
};

/// `name` with everything that C does not allow replaced.
std::string cIdentifier(const std::string& name);

/// `e` as an expression of its type. With `index`, i64 arithmetic is printed with plain operators: it does not wrap.
std::string emitExpr(const kir::Expr& e, const Scopes& scopes, bool index);

}  // namespace tempo::cuda
