// Index expressions and conditions with variables resolved to slots of a point and sizes to numbers: what the oracle
// evaluates millions of times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "index/ix.hpp"

namespace tempo::oracle {

using Slots = std::vector<Sym>;  // variable of each slot

struct SlotCond;

struct SlotIx {
  Ix::Kind kind = Ix::Kind::Linear;
  int64_t constant = 0;
  std::vector<std::pair<int64_t, SlotIx>> terms;  // Linear
  size_t slot = 0;                                // Var
  std::vector<SlotIx> args;
  std::vector<SlotCond> cond;                // Select: one
  int64_t eval(const int64_t* point) const;  // throws std::domain_error on a division by 0
};

struct SlotCond {
  Cond::Kind kind = Cond::Kind::True;
  SlotIx ix;
  std::vector<SlotCond> args;
  bool eval(const int64_t* point) const;
};

/// Throws OracleError if a variable is neither a size nor a slot.
SlotIx compile(const Ix& x, const Subst& sizes, const Slots& slots);
SlotCond compile(const Cond& c, const Subst& sizes, const Slots& slots);

/// A range lo .. hi, both included; INT64_MIN and INT64_MAX where unbounded.
struct Interval {
  int64_t lo, hi;
  bool bounded() const { return lo != INT64_MIN && hi != INT64_MAX; }
};
/// A box around the points where `c` holds (sizes substituted), per variable; nullopt if `c` is empty by its bounds.
std::optional<std::map<Sym, Interval>> hull(const Cond& c);
/// Bounds of `x` over a box.
Interval range(const Ix& x, const std::map<Sym, Interval>& box);

}  // namespace tempo::oracle
