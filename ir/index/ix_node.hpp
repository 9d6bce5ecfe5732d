// Representation of Ix and Cond, for the files of this folder that build them.
#pragma once

#include <string>
#include <vector>

#include "index/ix.hpp"

namespace tempo {

struct IxNode {
  Ix::Kind kind = Ix::Kind::Linear;
  int64_t constant = 0;                         // Linear
  std::vector<std::pair<int64_t, Ix>> terms;    // Linear: sorted by atom, coefficients not 0
  Sym var;                                      // Var
  std::vector<Ix> args;                         // the other kinds
  Cond cond;                                    // Select

  static Ix wrap(IxNode n) { return Ix(std::make_shared<const IxNode>(std::move(n))); }
  static const IxNode& of(const Ix& x) { return *x.n_; }
};

struct CondNode {
  Cond::Kind kind = Cond::Kind::True;
  Ix ix;
  std::vector<Cond> args;

  static Cond wrap(CondNode n) { return Cond(std::make_shared<const CondNode>(std::move(n))); }
};

/// A total order that reads well when printed: by atom, lower-case names first, positive coefficients first.
std::strong_ordering compare(const Cond& a, const Cond& b);

/// Arithmetic that refuses to wrap: throws std::overflow_error.
int64_t addExact(int64_t a, int64_t b);
int64_t mulExact(int64_t a, int64_t b);
int64_t floorDivInt(int64_t a, int64_t b);  // b != 0
int64_t floorModInt(int64_t a, int64_t b);  // sign of b

}  // namespace tempo
