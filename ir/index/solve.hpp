// Questions about conditions, answered exactly by integer set reasoning (isl). This header and `index/isl.hpp` (raw
// handles for the scheduler) are the only doors to isl. One `Solver` belongs to one compilation and one thread.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "index/ix.hpp"

struct isl_ctx;

namespace tempo {

/// The budget of integer reasoning is spent; the caller reports E0390 with what it tried.
struct SolveBudget : std::runtime_error {
  using runtime_error::runtime_error;
};
/// An expression isl cannot take: a product of two variables, a division by a variable. Specialise a size first.
struct NotAffine : std::runtime_error {
  explicit NotAffine(const Ix& what);
  Ix what;
};

class Solver {
 public:
  explicit Solver(unsigned long maxOperations = 200'000'000);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// An assignment of every variable in `c` that satisfies it, smallest lexicographically in the order `prefer` first and
  /// then by name (so counterexamples are small); nullopt if there is none.
  std::optional<Env> find(const Cond& c, const std::vector<Sym>& prefer = {});
  bool satisfiable(const Cond& c);
  /// a => b for all integers.
  bool implies(const Cond& a, const Cond& b) { return !satisfiable(a && !b); }
  bool equal(const Ix& a, const Ix& b, const Cond& given) { return !satisfiable(given && Cond::ne(a, b)); }
  /// exists `gone` . c
  Cond project(const Cond& c, const std::vector<Sym>& gone);
  /// A smaller condition that agrees with `c` wherever `given` holds.
  Cond simplify(const Cond& c, const Cond& given = Cond());
  /// Largest / smallest value of `e` as the `over` variables range over `c`, as an expression of the other variables
  /// (may use min, max, floor and select); nullopt if unbounded. Where the set is empty the value is unspecified.
  std::optional<Ix> max(const Ix& e, const std::vector<Sym>& over, const Cond& c);
  std::optional<Ix> min(const Ix& e, const std::vector<Sym>& over, const Cond& c);

  isl_ctx* ctx();
  /// Seconds spent in isl so far.
  double seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo
