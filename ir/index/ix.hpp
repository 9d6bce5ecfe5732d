// Index expressions and affine conditions: the arithmetic of time.
//
// An `Ix` is an integer expression over dims, axes, reduction variables and sizes: sums of integer multiples of atoms,
// where an atom is a variable, floor division, floor remainder, min, max, a select, or a product of sizes. `//` and `%`
// floor, whatever the signs. A `Cond` is a Boolean combination of `ix >= 0` and `ix == 0`. Both are immutable values,
// kept in a canonical form (terms sorted, constants folded), so structural equality finds `t + 1 - 1 == t`; equality of
// meaning is a question for `index/solve.hpp`. Constants that leave 64 bits throw std::overflow_error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "index/sym.hpp"

namespace tempo {

class Cond;
class Ix;
struct IxNode;
struct CondNode;

/// Values of variables.
using Env = std::map<Sym, int64_t>;
/// Replacements of variables, applied at once.
using Subst = std::map<Sym, Ix>;

class Ix {
 public:
  enum class Kind : uint8_t { Linear, Var, Product, FloorDiv, Mod, Min, Max, Select };

  Ix() : Ix(0) {}
  Ix(int64_t c);                      // NOLINT(google-explicit-constructor): literals read naturally
  Ix(int c) : Ix(int64_t{c}) {}       // NOLINT(google-explicit-constructor)
  Ix(Sym v);                          // NOLINT(google-explicit-constructor)
  static Ix floordiv(const Ix& a, const Ix& b);
  static Ix mod(const Ix& a, const Ix& b);
  static Ix min(const Ix& a, const Ix& b);
  static Ix max(const Ix& a, const Ix& b);
  static Ix abs(const Ix& a) { return max(a, Ix(0) - a); }
  static Ix select(const Cond& c, const Ix& a, const Ix& b);

  Kind kind() const;
  std::optional<int64_t> asConst() const;
  /// The variable, if this is one variable and nothing else.
  std::optional<Sym> asVar() const;
  /// For `Linear`: the constant and the (coefficient, atom) terms. Any other kind reads as one term with coefficient 1.
  int64_t constant() const;
  std::vector<std::pair<int64_t, Ix>> terms() const;
  /// For `FloorDiv Mod Min Max Product Select`: the operands (Select: then, else).
  const std::vector<Ix>& args() const;
  /// For `Select`.
  const Cond& cond() const;

  Ix subst(const Subst& s) const;
  /// Floor semantics; throws std::out_of_range naming a variable that has no value, std::domain_error on `x // 0`.
  int64_t eval(const Env& env) const;
  void collect(std::set<Sym>& out) const;
  std::set<Sym> vars() const;
  bool uses(Sym v) const { return vars().count(v) != 0; }
  std::string str() const;

  friend Ix operator+(const Ix& a, const Ix& b);
  friend Ix operator-(const Ix& a, const Ix& b);
  friend Ix operator-(const Ix& a) { return Ix(0) - a; }
  friend Ix operator*(const Ix& a, const Ix& b);
  friend bool operator==(const Ix& a, const Ix& b);
  friend std::strong_ordering operator<=>(const Ix& a, const Ix& b);  // arbitrary but stable within a process

 private:
  friend struct IxNode;
  explicit Ix(std::shared_ptr<const IxNode> n) : n_(std::move(n)) {}
  std::shared_ptr<const IxNode> n_;
};

class Cond {
 public:
  enum class Kind : uint8_t { True, False, Ge0, Eq0, And, Or, Not };

  Cond();  // true
  static Cond truth(bool v);
  static Cond ge0(const Ix& a);
  static Cond eq0(const Ix& a);
  static Cond ge(const Ix& a, const Ix& b) { return ge0(a - b); }
  static Cond gt(const Ix& a, const Ix& b) { return ge0(a - b - 1); }
  static Cond le(const Ix& a, const Ix& b) { return ge0(b - a); }
  static Cond lt(const Ix& a, const Ix& b) { return ge0(b - a - 1); }
  static Cond eq(const Ix& a, const Ix& b) { return eq0(a - b); }
  static Cond ne(const Ix& a, const Ix& b) { return !eq0(a - b); }
  /// lo <= v < hi
  static Cond range(const Ix& v, const Ix& lo, const Ix& hi) { return ge(v, lo) && lt(v, hi); }

  Kind kind() const;
  bool isTrue() const { return kind() == Kind::True; }
  bool isFalse() const { return kind() == Kind::False; }
  /// For Ge0, Eq0.
  const Ix& ix() const;
  /// For And, Or (flattened), Not (one).
  const std::vector<Cond>& args() const;

  Cond subst(const Subst& s) const;
  bool eval(const Env& env) const;
  void collect(std::set<Sym>& out) const;
  std::set<Sym> vars() const;
  /// Reads like `0 <= t and t < T`; parsed back by the SDG reader.
  std::string str() const;

  friend Cond operator&&(const Cond& a, const Cond& b);
  friend Cond operator||(const Cond& a, const Cond& b);
  friend Cond operator!(const Cond& a);
  friend bool operator==(const Cond& a, const Cond& b);

 private:
  friend struct CondNode;
  explicit Cond(std::shared_ptr<const CondNode> n) : n_(std::move(n)) {}
  std::shared_ptr<const CondNode> n_;  // null is true
};

}  // namespace tempo
