#include "check/prover.hpp"

#include <algorithm>
#include <iterator>

namespace tempo::check {

namespace {

using Verdict = Answer::Verdict;

constexpr size_t kConcreteTries = 64;

bool shares(const std::set<Sym>& a, const std::set<Sym>& b) {
  return std::any_of(a.begin(), a.end(), [&](Sym s) { return b.count(s) != 0; });
}

/// `x >= 0` for each comparison of a conjunction; an equality gives both directions.
void inequalities(const Cond& c, std::vector<Ix>& out) {
  if (c.kind() == Cond::Kind::Ge0) out.push_back(c.ix());
  if (c.kind() == Cond::Kind::Eq0) {
    out.push_back(c.ix());
    out.push_back(Ix(0) - c.ix());
  }
}

bool nonNegative(const Ix& goal, const std::vector<Ix>& known) {
  auto atLeast0 = [](const Ix& x) {
    auto k = x.asConst();
    return k && *k >= 0;
  };
  if (atLeast0(goal)) return true;
  for (const Ix& a : known) {
    if (atLeast0(goal - a)) return true;
  }
  for (size_t i = 0; i < known.size(); ++i) {
    Ix rest = goal - known[i];
    for (size_t j = i + 1; j < known.size(); ++j) {
      if (atLeast0(rest - known[j])) return true;
    }
  }
  return false;
}

bool followsCheaply(const std::vector<Ix>& known, const std::vector<Cond>& given, const Cond& goal) {
  if (std::find(given.begin(), given.end(), goal) != given.end()) return true;
  switch (goal.kind()) {
    case Cond::Kind::True: return true;
    case Cond::Kind::Ge0: return nonNegative(goal.ix(), known);
    case Cond::Kind::Eq0: return nonNegative(goal.ix(), known) && nonNegative(Ix(0) - goal.ix(), known);
    case Cond::Kind::And:
      return std::all_of(goal.args().begin(), goal.args().end(),
                         [&](const Cond& c) { return followsCheaply(known, given, c); });
    case Cond::Kind::Or:
      return std::any_of(goal.args().begin(), goal.args().end(),
                         [&](const Cond& c) { return followsCheaply(known, given, c); });
    default: return false;
  }
}

/// Replaces what is not affine by variables, the same for equal expressions.
class Abstraction {
 public:
  Cond cond(const Cond& c) {
    switch (c.kind()) {
      case Cond::Kind::Ge0: return Cond::ge0(ix(c.ix()));
      case Cond::Kind::Eq0: return Cond::eq0(ix(c.ix()));
      case Cond::Kind::Not: return !cond(c.args()[0]);
      case Cond::Kind::And:
      case Cond::Kind::Or: {
        Cond out = Cond::truth(c.kind() == Cond::Kind::And);
        for (const Cond& x : c.args()) out = c.kind() == Cond::Kind::And ? out && cond(x) : out || cond(x);
        return out;
      }
      default: return c;
    }
  }

 private:
  Ix ix(const Ix& x) {
    switch (x.kind()) {
      case Ix::Kind::Var: return x;
      case Ix::Kind::Product: return opaque(x);
      case Ix::Kind::FloorDiv:
      case Ix::Kind::Mod: {
        auto k = x.args()[1].asConst();
        if (!k || *k <= 0) return opaque(x);
        Ix a = ix(x.args()[0]);
        return x.kind() == Ix::Kind::Mod ? Ix::mod(a, x.args()[1]) : Ix::floordiv(a, x.args()[1]);
      }
      case Ix::Kind::Min:
      case Ix::Kind::Max: {
        Ix out = ix(x.args()[0]);
        for (size_t i = 1; i < x.args().size(); ++i) {
          Ix next = ix(x.args()[i]);
          out = x.kind() == Ix::Kind::Min ? Ix::min(out, next) : Ix::max(out, next);
        }
        return out;
      }
      case Ix::Kind::Select: return Ix::select(cond(x.cond()), ix(x.args()[0]), ix(x.args()[1]));
      case Ix::Kind::Linear: break;
    }
    Ix out(x.constant());
    for (const auto& [c, atom] : x.terms()) out = out + Ix(c) * ix(atom);
    return out;
  }

  Ix opaque(const Ix& x) {
    auto [it, isNew] = names_.try_emplace(x.str());
    if (isNew) it->second = Sym::fresh("product");
    return Ix(it->second);
  }

  std::map<std::string, Sym> names_;
};

/// A size that is computed, or compiled into the program.
bool isGiven(const Size& s) { return s.value && (s.derived || s.specialised); }

Subst substOf(const Env& env) {
  Subst out;
  for (const auto& [s, v] : env) out[s] = Ix(v);
  return out;
}

}  // namespace

std::vector<Cond> conjuncts(const Cond& c) {
  if (c.isTrue()) return {};
  return c.kind() == Cond::Kind::And ? c.args() : std::vector<Cond>{c};
}

bool followsCheaply(const std::vector<Cond>& given, const Cond& goal) {
  if (goal.isTrue()) return true;
  std::vector<Ix> known;
  for (const Cond& c : given) inequalities(c, known);
  return followsCheaply(known, given, goal);
}

Cond abstractProducts(const Cond& c) { return Abstraction().cond(c); }

Prover::Prover(const Graph& g, Solver& solver) : g_(g), solver_(solver) {
  for (const Cond& f : g.facts) {
    for (const Cond& c : conjuncts(f)) facts_.push_back({c, c.vars()});
  }
  for (const Size& s : g.sizes) {
    sizes_.insert(s.sym);
    facts_.push_back({Cond::ge(Ix(s.sym), Ix(s.atLeast)), {s.sym}});
    if (!s.value) continue;
    if (s.derived) facts_.push_back({Cond::eq(Ix(s.sym), *s.value), {s.sym}});
    try {
      defaults_[s.sym] = s.value->eval(defaults_);
    } catch (const std::exception&) {
      // A default over sizes that have none is known only at the run.
    }
  }
}

std::vector<Cond> Prover::factsAbout(std::set<Sym> reached) const {
  std::vector<bool> taken(facts_.size(), false);
  std::vector<Cond> out;
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < facts_.size(); ++i) {
      const Fact& f = facts_[i];
      if (taken[i] || (!f.about.empty() && !shares(f.about, reached))) continue;
      taken[i] = grown = true;
      out.push_back(f.cond);
      f.cond.collect(reached);
    }
  }
  return out;
}

Cond Prover::contextOf(const std::set<Sym>& about) const {
  Cond out;
  for (const Cond& c : factsAbout(about)) out = out && c;
  return out;
}

bool Prover::holdsCheaply(const Cond& given, const Cond& goal) const {
  if (given.isFalse() || goal.isTrue()) return true;
  std::vector<Cond> known = conjuncts(given);
  std::set<Sym> used = given.vars();
  goal.collect(used);
  for (const Cond& c : factsAbout(std::move(used))) known.push_back(c);
  return followsCheaply(known, goal);
}

const Cond& Prover::domainOf(const Node& n) {
  auto [it, isNew] = domains_.try_emplace(n.id);
  if (!isNew) return it->second;
  Cond all = Cond::truth(false);
  for (const Piece& p : n.pieces) all = all || p.where;
  it->second = all;
  if (n.pieces.size() < 2 && all.kind() != Cond::Kind::Or) return it->second;
  try {
    it->second = solver_.simplify(all, contextOf(all));
  } catch (const NotAffine&) {
  } catch (const SolveBudget&) {
  }
  return it->second;
}

Answer Prover::prove(const Cond& given, const Cond& goal, const std::vector<Sym>& prefer) {
  if (holdsCheaply(given, goal)) return {};
  Cond broken = given && !goal;
  return search(broken && contextOf(broken), prefer);
}

bool Prover::holds(const Cond& given, const Cond& goal) {
  if (holdsCheaply(given, goal)) return true;
  Cond broken = given && !goal;
  Cond c = broken && contextOf(broken);
  for (bool abstracted : {false, true}) {
    try {
      return !solver_.satisfiable(abstracted ? abstractProducts(c) : c);
    } catch (const NotAffine&) {
    } catch (const SolveBudget&) {
    }
  }
  return false;
}

std::vector<Sym> Prover::freeSizes(const Cond& context) const {
  std::set<Sym> used = context.vars();
  std::vector<Sym> out;
  for (const Size& s : g_.sizes) {
    if (used.count(s.sym) && !isGiven(s)) out.push_back(s.sym);
  }
  return out;
}

bool Prover::addDerived(Env& env, const Cond& context) const {
  try {
    for (const Size& s : g_.sizes) {
      if (isGiven(s) && context.vars().count(s.sym)) env[s.sym] = s.value->eval(env);
    }
    return context.eval(env);
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<Env> Prover::smallSizes(const std::set<Sym>& about, size_t limit) const {
  static constexpr int64_t kValues[] = {1, 2, 3, 5};
  Cond context = contextOf(about);
  std::vector<Env> all{Env{}};
  for (Sym s : freeSizes(context)) {
    std::vector<Env> next;
    for (const Env& e : all) {
      for (int64_t v : kValues) {
        next.push_back(e);
        next.back()[s] = v;
      }
      if (next.size() >= limit * 4) break;
    }
    all = std::move(next);
  }
  auto total = [](const Env& e) {
    int64_t sum = 0;
    for (const auto& [s, v] : e) sum += v;
    return sum;
  };
  std::stable_sort(all.begin(), all.end(), [&](const Env& a, const Env& b) { return total(a) < total(b); });
  std::vector<Env> out;
  for (Env& e : all) {
    if (out.size() < limit && addDerived(e, context)) out.push_back(std::move(e));
  }
  return out;
}

std::optional<Env> Prover::sizesAt(const std::set<Sym>& about, int64_t value) const {
  Cond context = contextOf(about);
  Env env;
  for (Sym s : freeSizes(context)) env[s] = value;
  if (!addDerived(env, context)) return std::nullopt;
  return env;
}

Answer Prover::search(const Cond& c, const std::vector<Sym>& prefer) {
  try {
    if (!solver_.satisfiable(c)) return {};
    if (auto env = findAt(c, defaults_, prefer)) return {Verdict::Refuted, *env, ""};
    if (auto env = solver_.find(c, prefer)) return {Verdict::Refuted, *env, ""};
    return {};
  } catch (const NotAffine& e) {
    return searchConcrete(c, prefer, "`" + e.what.str() + "` is not affine");
  } catch (const SolveBudget&) {
    return searchConcrete(c, prefer, "the budget of integer reasoning was spent");
  }
}

/// With the given sizes filled in. Throws as Solver::find does.
std::optional<Env> Prover::findAt(const Cond& c, const Env& sizes, const std::vector<Sym>& prefer) {
  std::set<Sym> used = c.vars();
  Env fixed;
  for (const auto& [s, v] : sizes) {
    if (used.count(s)) fixed[s] = v;
  }
  if (fixed.empty()) return std::nullopt;
  auto env = solver_.find(c.subst(substOf(fixed)), prefer);
  if (!env) return std::nullopt;
  env->insert(fixed.begin(), fixed.end());
  for (Sym s : used) env->try_emplace(s, 0);  // what the other values left free
  if (!c.eval(*env)) return std::nullopt;
  return env;
}

/// For what isl cannot take whole: products become opaque, which can only prove; then sizes become numbers, which can only
/// refute.
Answer Prover::searchConcrete(const Cond& c, const std::vector<Sym>& prefer, const std::string& why) {
  std::string tried = why;
  try {
    if (!solver_.satisfiable(abstractProducts(c))) return {};
    tried += "; products of sizes were taken as unknown numbers, which did not suffice";
  } catch (const NotAffine&) {
  } catch (const SolveBudget&) {
  }
  std::vector<Env> tries = smallSizes(c.vars(), kConcreteTries);
  tries.insert(tries.begin(), defaults_);
  for (const Env& at : tries) {
    try {
      if (auto env = findAt(c, at, prefer)) return {Verdict::Refuted, *env, ""};
    } catch (const NotAffine&) {
    } catch (const SolveBudget&) {
    }
  }
  return {Verdict::Unknown, {}, tried + "; no counterexample at " + std::to_string(tries.size()) + " choices of small sizes"};
}

int64_t Prover::highestBound(const Size& s) const {
  if (s.derived) return 0;
  auto usual = defaults_.find(s.sym);
  return usual == defaults_.end() ? 1 : usual->second;
}

std::optional<Bound> Prover::singleBound(const Answer& a, const Cond& given, const Cond& goal) {
  Cond broken = given && !goal;
  broken = broken && contextOf(broken);
  std::set<Sym> used = broken.vars();
  for (const Size& s : g_.sizes) {
    auto at = a.point.find(s.sym);
    if (!used.count(s.sym) || at == a.point.end() || at->second >= highestBound(s)) continue;
    std::vector<Sym> others;
    std::copy_if(used.begin(), used.end(), std::back_inserter(others), [&](Sym v) { return v != s.sym; });
    others.push_back(s.sym);
    try {
      auto worst = solver_.max(Ix(s.sym), others, broken);
      auto k = worst ? worst->asConst() : std::nullopt;
      if (k && *k < highestBound(s)) return Bound{s.sym, *k + 1};
    } catch (const NotAffine&) {
    } catch (const SolveBudget&) {
    }
  }
  return std::nullopt;
}

std::vector<Bound> Prover::boundsFor(Answer a, const Cond& given, const Cond& goal) {
  if (a.verdict != Verdict::Refuted) return {};
  if (auto one = singleBound(a, given, goal)) return {*one};
  auto with = [&](const std::vector<Bound>& bounds) {
    Cond out = given;
    for (const Bound& b : bounds) out = out && Cond::ge(Ix(b.size), Ix(b.atLeast));
    return out;
  };
  // Several sizes that must not be 0.
  std::vector<Bound> found;
  while (a.verdict == Verdict::Refuted) {
    size_t before = found.size();
    for (const Size& s : g_.sizes) {
      auto at = a.point.find(s.sym);
      if (at != a.point.end() && at->second == 0 && highestBound(s) >= 1) found.push_back({s.sym, 1});
    }
    if (found.size() == before) return {};
    a = prove(with(found), goal);
  }
  if (a.verdict != Verdict::Proved) return {};
  for (size_t i = 0; i < found.size();) {  // those that are 0 by chance only
    std::vector<Bound> fewer = found;
    fewer.erase(fewer.begin() + std::ptrdiff_t(i));
    if (holds(with(fewer), goal)) {
      found = fewer;
    } else {
      ++i;
    }
  }
  return found;
}

Env Prover::complete(Env point, const std::vector<Ix>& xs) const {
  for (const Ix& x : xs) {
    for (Sym v : x.vars()) {
      auto it = defaults_.find(v);
      point.try_emplace(v, it == defaults_.end() ? 0 : it->second);
    }
  }
  return point;
}

std::vector<Sym> Prover::sizesThatMatter(const Answer& a, const Cond& given, const Cond& goal) {
  Subst point;
  for (const auto& [s, v] : a.point) {
    if (!isSize(s)) point[s] = Ix(v);
  }
  std::vector<Sym> out;
  Cond here = given.subst(point), there = goal.subst(point);
  if (!here.isFalse() && holds(here, !there)) return out;
  std::set<Sym> used = here.vars();
  there.collect(used);
  for (const Size& s : g_.sizes) {
    if (used.count(s.sym) && a.point.count(s.sym)) out.push_back(s.sym);
  }
  return out;
}

}  // namespace tempo::check
