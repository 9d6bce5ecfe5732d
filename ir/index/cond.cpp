#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "index/ix_node.hpp"

namespace tempo {

using Kind = Cond::Kind;

namespace {

int64_t coefficientGcd(const Ix& a) {
  int64_t g = 0;
  for (const auto& [c, atom] : a.terms()) g = std::gcd(g, c);
  return g;
}

Ix divided(const Ix& a, int64_t g) {
  Ix out(floorDivInt(a.constant(), g));
  for (const auto& [c, atom] : a.terms()) out = out + Ix(c / g) * atom;
  return out;
}

/// min with a positive sign and max with a negative one are conjunctions: min(x, y) + r >= 0 is x + r >= 0 and y + r >= 0.
std::optional<Cond> splitGe0(const Ix& a) {
  for (const auto& [c, atom] : a.terms()) {
    bool splits = (atom.kind() == Ix::Kind::Min && c > 0) || (atom.kind() == Ix::Kind::Max && c < 0);
    if (!splits) continue;
    Ix rest = a - Ix(c) * atom;
    Cond out;
    for (const Ix& x : atom.args()) out = out && Cond::ge0(rest + Ix(c) * x);
    return out;
  }
  return std::nullopt;
}

/// x >= 0 and y != 0.
std::optional<Cond> meetDifferent(const Cond& ge, const Ix& y) {
  auto d = (y - ge.ix()).asConst();
  if (!d)
    d = (y + ge.ix()).asConst();  // then y == 0 where x == *d
  else
    *d = -*d;
  if (!d || *d > 0) return std::nullopt;
  return *d < 0 ? ge : Cond::ge0(ge.ix() - Ix(1));
}

/// What two operands of `and` come to, if one condition without a connective says it.
std::optional<Cond> meet(const Cond& a, const Cond& b) {
  if (a == b) return a;
  if (a == !b) return Cond::truth(false);
  if (a.kind() == Kind::Ge0 && b.kind() == Kind::Ge0) {
    if (auto d = (a.ix() - b.ix()).asConst()) return *d < 0 ? a : b;
    if (auto s = (a.ix() + b.ix()).asConst()) {  // x + c >= 0 and d - x >= 0
      if (*s < 0) return Cond::truth(false);
      if (*s == 0) return Cond::eq0(a.ix());
    }
  }
  if ((a.kind() == Kind::Ge0 && b.kind() == Kind::Not) || (a.kind() == Kind::Not && b.kind() == Kind::Ge0)) {
    return meetDifferent(a.kind() == Kind::Ge0 ? a : b, (a.kind() == Kind::Ge0 ? b : a).args()[0].ix());
  }
  const Cond& e = a.kind() == Kind::Eq0 ? a : b;
  const Cond& o = a.kind() == Kind::Eq0 ? b : a;
  if (e.kind() == Kind::Eq0) {
    const Ix* x = o.kind() == Kind::Ge0 || o.kind() == Kind::Eq0 ? &o.ix() : nullptr;
    if (o.kind() == Kind::Not) x = &o.args()[0].ix();
    if (!x) return std::nullopt;
    auto d = (*x - e.ix()).asConst();
    if (!d) d = (*x + e.ix()).asConst();
    if (!d) return std::nullopt;
    bool holds = o.kind() == Kind::Ge0 ? *d >= 0 : (o.kind() == Kind::Eq0) == (*d == 0);
    return holds ? e : Cond::truth(false);
  }
  return std::nullopt;
}

}  // namespace

std::strong_ordering compare(const Cond& a, const Cond& b) {
  auto rank = [](Kind k) { return k == Kind::Eq0 ? Kind::Ge0 : k; };  // comparisons sort by what they compare
  if (auto c = rank(a.kind()) <=> rank(b.kind()); c != 0) return c;
  if (a.kind() == Kind::Ge0 || a.kind() == Kind::Eq0) {
    if (auto c = a.ix() <=> b.ix(); c != 0) return c;
    return a.kind() <=> b.kind();
  }
  if (a.kind() == Kind::True || a.kind() == Kind::False) return std::strong_ordering::equal;
  const auto &x = a.args(), &y = b.args();
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (auto c = compare(x[i], y[i]); c != 0) return c;
  }
  return x.size() <=> y.size();
}

Cond::Cond() = default;

Cond Cond::truth(bool v) { return v ? Cond() : CondNode::wrap({.kind = Kind::False}); }

Cond Cond::ge0(const Ix& a) {
  if (auto k = a.asConst()) return truth(*k >= 0);
  if (auto split = splitGe0(a)) return *split;
  int64_t g = coefficientGcd(a);
  return CondNode::wrap({.kind = Kind::Ge0, .ix = g > 1 ? divided(a, g) : a});
}

Cond Cond::eq0(const Ix& a) {
  if (auto k = a.asConst()) return truth(*k == 0);
  int64_t g = coefficientGcd(a);
  if (a.constant() % g != 0) return truth(false);
  Ix x = g > 1 ? divided(a, g) : a;
  if (x.terms()[0].first < 0) x = Ix(0) - x;
  return CondNode::wrap({.kind = Kind::Eq0, .ix = x});
}

Cond::Kind Cond::kind() const { return n_ ? n_->kind : Kind::True; }

const Ix& Cond::ix() const {
  TEMPO_CHECK(n_ != nullptr, "a condition without an index expression");
  return n_->ix;
}

const std::vector<Cond>& Cond::args() const {
  static const std::vector<Cond> none;
  return n_ ? n_->args : none;
}

namespace {

/// Adds `x` to a conjunction (or, with `dual`, to a disjunction), merging it with what is there; false if it collapses.
bool join(std::vector<Cond>& list, Cond x, bool dual) {
  auto merged = [&](const Cond& a, const Cond& b) -> std::optional<Cond> {
    if (!dual) return meet(a, b);
    auto m = meet(!a, !b);
    if (!m) return std::nullopt;
    return !*m;
  };
  for (size_t i = 0; i < list.size();) {
    auto m = merged(list[i], x);
    if (!m) {
      ++i;
      continue;
    }
    if (*m == list[i]) return true;
    x = *m;
    if (dual ? x.isTrue() : x.isFalse()) return false;
    list.erase(list.begin() + ptrdiff_t(i));
    i = 0;
  }
  list.push_back(x);
  return true;
}

/// The sorted operands of a and b under `kind`, or nullopt if they collapse to its absorbing element.
std::optional<std::vector<Cond>> combine(Kind kind, const Cond& a, const Cond& b) {
  std::vector<Cond> out;
  for (const Cond* c : {&a, &b}) {
    const std::vector<Cond> one{*c};
    for (const Cond& x : c->kind() == kind ? c->args() : one) {
      if (!join(out, x, kind == Kind::Or)) return std::nullopt;
    }
  }
  std::sort(out.begin(), out.end(), [](const Cond& x, const Cond& y) { return compare(x, y) < 0; });
  return out;
}

}  // namespace

Cond operator&&(const Cond& a, const Cond& b) {
  if (a.isFalse() || b.isTrue()) return a;
  if (b.isFalse() || a.isTrue()) return b;
  auto list = combine(Kind::And, a, b);
  if (!list) return Cond::truth(false);
  if (list->size() == 1) return (*list)[0];
  return CondNode::wrap({.kind = Kind::And, .args = std::move(*list)});
}

Cond operator||(const Cond& a, const Cond& b) {
  if (a.isTrue() || b.isFalse()) return a;
  if (b.isTrue() || a.isFalse()) return b;
  auto list = combine(Kind::Or, a, b);
  if (!list) return Cond::truth(true);
  if (list->size() == 1) return (*list)[0];
  return CondNode::wrap({.kind = Kind::Or, .args = std::move(*list)});
}

Cond operator!(const Cond& a) {
  switch (a.kind()) {
    case Kind::True: return Cond::truth(false);
    case Kind::False: return Cond();
    case Kind::Ge0: return Cond::ge0(Ix(-1) - a.ix());
    case Kind::Eq0: return CondNode::wrap({.kind = Kind::Not, .args = {a}});
    case Kind::Not: return a.args()[0];
    case Kind::And: {
      Cond out = Cond::truth(false);
      for (const Cond& x : a.args()) out = out || !x;
      return out;
    }
    case Kind::Or: {
      Cond out;
      for (const Cond& x : a.args()) out = out && !x;
      return out;
    }
  }
  return a;
}

bool operator==(const Cond& a, const Cond& b) { return a.n_ == b.n_ || compare(a, b) == 0; }

Cond Cond::subst(const Subst& s) const {
  switch (kind()) {
    case Kind::True:
    case Kind::False: return *this;
    case Kind::Ge0: return ge0(ix().subst(s));
    case Kind::Eq0: return eq0(ix().subst(s));
    case Kind::Not: return !args()[0].subst(s);
    case Kind::And:
    case Kind::Or: {
      Cond out = truth(kind() == Kind::And);
      for (const Cond& c : args()) out = kind() == Kind::And ? out && c.subst(s) : out || c.subst(s);
      return out;
    }
  }
  return *this;
}

bool Cond::eval(const Env& env) const {
  switch (kind()) {
    case Kind::True: return true;
    case Kind::False: return false;
    case Kind::Ge0: return ix().eval(env) >= 0;
    case Kind::Eq0: return ix().eval(env) == 0;
    case Kind::Not: return !args()[0].eval(env);
    case Kind::And: return std::all_of(args().begin(), args().end(), [&](const Cond& c) { return c.eval(env); });
    case Kind::Or: return std::any_of(args().begin(), args().end(), [&](const Cond& c) { return c.eval(env); });
  }
  return false;
}

void Cond::collect(std::set<Sym>& out) const {
  if (kind() == Kind::Ge0 || kind() == Kind::Eq0) ix().collect(out);
  for (const Cond& c : args()) c.collect(out);
}

std::set<Sym> Cond::vars() const {
  std::set<Sym> out;
  collect(out);
  return out;
}

}  // namespace tempo
