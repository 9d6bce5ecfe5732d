// Proves implications over dims, axes and sizes under the facts of a graph, or finds a small point that breaks them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "index/solve.hpp"
#include "sdg/graph.hpp"

namespace tempo::check {

struct Answer {
  enum class Verdict : uint8_t { Proved, Refuted, Unknown };
  Verdict verdict = Verdict::Proved;
  Env point;          // Refuted: a value for every variable of the question
  std::string tried;  // Unknown: what was tried
};

/// A size is at least a number.
struct Bound {
  Sym size;
  int64_t atLeast;
};

class Prover {
 public:
  Prover(const Graph& g, Solver& solver);

  /// Does `goal` hold wherever `given` and the facts do? A counterexample is taken at the sizes' default values if there is
  /// one, and is the smallest in the order `prefer`, then by name.
  Answer prove(const Cond& given, const Cond& goal, const std::vector<Sym>& prefer = {});
  /// As prove, without the search for a counterexample.
  bool holds(const Cond& given, const Cond& goal);
  /// A value for every variable of `xs`: those the point leaves free get their default, or 0.
  Env complete(Env point, const std::vector<Ix>& xs) const;
  /// The sizes in `a.point` without which the counterexample would be none, in program order.
  std::vector<Sym> sizesThatMatter(const Answer& a, const Cond& given, const Cond& goal);
  /// Bounds `size >= n` under which `given => goal` holds, where `a` refutes it; empty if none are known. A size with a
  /// default gets none above that, another at most 1; computed sizes get none.
  std::vector<Bound> boundsFor(Answer a, const Cond& given, const Cond& goal);
  /// From now on the bound is a fact.
  void assume(const Bound& b) { facts_.push_back({Cond::ge(Ix(b.size), Ix(b.atLeast)), {b.size}}); }
  /// The facts about these variables, and about what those facts mention.
  Cond contextOf(const std::set<Sym>& about) const;
  Cond contextOf(const Cond& c) const { return contextOf(c.vars()); }
  /// Does `goal` follow without a question to isl?
  bool holdsCheaply(const Cond& given, const Cond& goal) const;
  /// Where any piece of `n` defines it, simplified under the facts.
  const Cond& domainOf(const Node& n);
  const Env& defaults() const { return defaults_; }
  /// Small values of the sizes that matter to `about`, derived ones computed, that satisfy the facts: least sum first, at most `limit`.
  std::vector<Env> smallSizes(const std::set<Sym>& about, size_t limit) const;
  /// All sizes that matter to `about` set to `value`, derived ones computed; nothing if that breaks a fact.
  std::optional<Env> sizesAt(const std::set<Sym>& about, int64_t value) const;
  bool isSize(Sym s) const { return sizes_.count(s) != 0; }
  Solver& solver() { return solver_; }

 private:
  struct Fact {
    Cond cond;
    std::set<Sym> about;  // matters where one of these occurs
  };

  /// The largest bound that a size may get.
  int64_t highestBound(const Size& s) const;
  std::optional<Bound> singleBound(const Answer& a, const Cond& given, const Cond& goal);
  std::vector<Cond> factsAbout(std::set<Sym> about) const;
  std::vector<Sym> freeSizes(const Cond& context) const;
  bool addDerived(Env& env, const Cond& context) const;
  Answer search(const Cond& c, const std::vector<Sym>& prefer);
  Answer searchConcrete(const Cond& c, const std::vector<Sym>& prefer, const std::string& why);
  std::optional<Env> findAt(const Cond& c, const Env& sizes, const std::vector<Sym>& prefer);

  const Graph& g_;
  Solver& solver_;
  std::vector<Fact> facts_;
  std::set<Sym> sizes_;
  Env defaults_;
  std::map<NodeId, Cond> domains_;
};

/// Conjuncts of `c`; `c` itself if it is no conjunction.
std::vector<Cond> conjuncts(const Cond& c);
/// A cheap sufficient test that all of `given` imply `goal`: comparisons of `goal` that are sums of at most two of `given`.
bool followsCheaply(const std::vector<Cond>& given, const Cond& goal);
/// `c` with each product and each division by a size replaced by a variable: a weaker condition that is affine.
Cond abstractProducts(const Cond& c);

}  // namespace tempo::check
