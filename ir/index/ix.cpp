#include "index/ix.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "check.hpp"
#include "index/ix_node.hpp"

namespace tempo {

using Kind = Ix::Kind;
using Term = std::pair<int64_t, Ix>;

int64_t addExact(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) throw std::overflow_error("an index expression exceeds 64 bits");
  return r;
}

int64_t mulExact(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) throw std::overflow_error("an index expression exceeds 64 bits");
  return r;
}

int64_t floorDivInt(int64_t a, int64_t b) {
  if (b == -1) return mulExact(a, -1);
  int64_t q = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? q - 1 : q;
}

int64_t floorModInt(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

namespace {

Ix makeAtom(Kind kind, std::vector<Ix> args) {
  IxNode n;
  n.kind = kind;
  n.args = std::move(args);
  return IxNode::wrap(std::move(n));
}

/// Takes unsorted terms over atoms.
Ix makeLinear(int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.second < b.second; });
  std::vector<Term> out;
  for (Term& t : terms) {
    if (!out.empty() && out.back().second == t.second) {
      out.back().first = addExact(out.back().first, t.first);
    } else {
      out.push_back(std::move(t));
    }
  }
  std::erase_if(out, [](const Term& t) { return t.first == 0; });
  if (constant == 0 && out.size() == 1 && out[0].first == 1) return out[0].second;
  IxNode n;
  n.constant = constant;
  n.terms = std::move(out);
  return IxNode::wrap(std::move(n));
}

Ix scale(const Ix& a, int64_t k) {
  if (k == 1) return a;
  if (k == 0) return Ix(0);
  std::vector<Term> terms = a.terms();
  for (Term& t : terms) t.first = mulExact(t.first, k);
  return makeLinear(mulExact(a.constant(), k), std::move(terms));
}

Ix productOf(const Ix& a, const Ix& b) {
  std::vector<Ix> factors;
  for (const Ix& x : {a, b}) {
    if (x.kind() == Kind::Product) {
      factors.insert(factors.end(), x.args().begin(), x.args().end());
    } else {
      factors.push_back(x);
    }
  }
  std::sort(factors.begin(), factors.end());
  return makeAtom(Kind::Product, std::move(factors));
}

std::vector<Ix> factorsOf(const Ix& atom) { return atom.kind() == Kind::Product ? atom.args() : std::vector<Ix>{atom}; }

/// term / divisor if it is exact for every value of the variables.
std::optional<Ix> exactQuotient(const Term& t, const Term& divisor) {
  if (t.first % divisor.first != 0) return std::nullopt;
  std::vector<Ix> rest = factorsOf(t.second);
  for (const Ix& f : factorsOf(divisor.second)) {
    auto it = std::find(rest.begin(), rest.end(), f);
    if (it == rest.end()) return std::nullopt;
    rest.erase(it);
  }
  Ix q(t.first / divisor.first);
  for (const Ix& f : rest) q = q * f;
  return q;
}

/// a = quotient * b + rest, with as many terms of `a` as possible in the quotient.
struct Split {
  Ix quotient, rest;
};

Split splitByTerm(const Ix& a, const Term& b) {
  Split s;
  s.rest = Ix(a.constant());
  for (const Term& t : a.terms()) {
    if (auto q = exactQuotient(t, b)) {
      s.quotient = s.quotient + *q;
    } else {
      s.rest = s.rest + scale(t.second, t.first);
    }
  }
  return s;
}

Split splitByConst(const Ix& a, int64_t b) {
  Split s;
  s.quotient = Ix(floorDivInt(a.constant(), b));
  s.rest = Ix(floorModInt(a.constant(), b));
  for (const Term& t : a.terms()) {
    if (t.first % b == 0) {
      s.quotient = s.quotient + scale(t.second, t.first / b);
    } else {
      s.rest = s.rest + scale(t.second, t.first);
    }
  }
  return s;
}

int64_t coefficientGcd(const Ix& a, int64_t start) {
  int64_t g = start;
  for (const Term& t : a.terms()) g = std::gcd(g, t.first);
  return g;
}

/// a divided by g, which divides every coefficient; the constant is floored.
Ix divideCoefficients(const Ix& a, int64_t g) {
  std::vector<Term> terms = a.terms();
  for (Term& t : terms) t.first /= g;
  return makeLinear(floorDivInt(a.constant(), g), std::move(terms));
}

bool isModBelow(const Ix& a, int64_t b) {
  if (a.kind() != Kind::Mod) return false;
  auto m = a.args()[1].asConst();
  return m && *m > 0 && *m <= b;
}

Ix floordivConst(const Ix& a, int64_t b) {
  TEMPO_CHECK(b != 0, "floor division by zero in an index");
  if (b < 0) return floordivConst(scale(a, -1), mulExact(b, -1));
  auto [q, r] = splitByConst(a, b);
  if (r.asConst()) return q;
  int64_t g = coefficientGcd(r, b);
  r = divideCoefficients(r, g);
  b /= g;
  if (b == 1) return q + r;
  if (isModBelow(r, b)) return q;
  if (r.kind() == Kind::FloorDiv) {  // (x // m) // b
    if (auto m = r.args()[1].asConst(); m && *m > 0) return q + floordivConst(r.args()[0], mulExact(*m, b));
  }
  return q + makeAtom(Kind::FloorDiv, {r, Ix(b)});
}

/// Drops what cannot change the remainder: multiples of b, and inner remainders by a multiple of b.
Ix reduceModulo(const Ix& a, int64_t b) {
  Ix out(floorModInt(a.constant(), b));
  for (const Term& t : a.terms()) {
    int64_t c = t.first % b;
    if (c == 0) continue;
    Ix atom = t.second;
    if (atom.kind() == Kind::Mod) {
      auto m = atom.args()[1].asConst();
      if (m && *m % b == 0) atom = reduceModulo(atom.args()[0], b);
    }
    out = out + scale(atom, c);
  }
  return makeLinear(floorModInt(out.constant(), b), out.terms());
}

Ix modConst(const Ix& a, int64_t b) {
  TEMPO_CHECK(b != 0, "remainder by zero in an index");
  if (b < 0) return scale(modConst(scale(a, -1), mulExact(b, -1)), -1);
  Ix r = reduceModulo(a, b);
  if (r.asConst()) return r;
  int64_t g = coefficientGcd(r, b);
  if (g > 1) return scale(modConst(divideCoefficients(r, g), b / g), g) + Ix(floorModInt(r.constant(), g));
  if (isModBelow(r, b)) return r;
  return makeAtom(Kind::Mod, {r, Ix(b)});
}

/// The single term of b, if b is one term without a constant.
std::optional<Term> singleTerm(const Ix& b) {
  std::vector<Term> t = b.terms();
  if (b.constant() != 0 || t.size() != 1) return std::nullopt;
  return t[0];
}

Ix extreme(Kind kind, const Ix& a, const Ix& b) {
  const bool isMin = kind == Kind::Min;
  std::vector<Ix> flat;
  for (const Ix& x : {a, b}) {
    if (x.kind() == kind) {
      flat.insert(flat.end(), x.args().begin(), x.args().end());
    } else {
      flat.push_back(x);
    }
  }
  std::vector<Ix> out;
  for (const Ix& x : flat) {
    bool absorbed = false;
    for (Ix& y : out) {  // operands a constant apart: one of them always wins
      auto d = (x - y).asConst();
      if (!d) continue;
      if (isMin ? *d < 0 : *d > 0) y = x;
      absorbed = true;
      break;
    }
    if (!absorbed) out.push_back(x);
  }
  if (out.size() == 1) return out[0];
  std::sort(out.begin(), out.end());
  return makeAtom(kind, std::move(out));
}

std::strong_ordering compareNames(Sym a, Sym b) {
  if (a == b) return std::strong_ordering::equal;
  const std::string &x = a.name(), &y = b.name();
  auto lower = [](const std::string& s) { return !s.empty() && s[0] >= 'a' && s[0] <= 'z'; };
  if (lower(x) != lower(y)) return lower(x) ? std::strong_ordering::less : std::strong_ordering::greater;
  return x.compare(y) <=> 0;
}

std::strong_ordering compareAtoms(const IxNode& a, const IxNode& b) {
  if (a.kind != b.kind) return a.kind <=> b.kind;
  if (a.kind == Kind::Var) return compareNames(a.var, b.var);
  for (size_t i = 0; i < std::min(a.args.size(), b.args.size()); ++i) {
    if (auto c = a.args[i] <=> b.args[i]; c != 0) return c;
  }
  if (auto c = a.args.size() <=> b.args.size(); c != 0) return c;
  return compare(a.cond, b.cond);
}

std::strong_ordering compareTerms(const Ix& a, const Ix& b) {
  std::vector<Term> x = a.terms(), y = b.terms();
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (auto c = x[i].second <=> y[i].second; c != 0) return c;
    if (auto c = y[i].first <=> x[i].first; c != 0) return c;
  }
  if (auto c = x.size() <=> y.size(); c != 0) return c;
  return a.constant() <=> b.constant();
}

}  // namespace

Ix::Ix(int64_t c) {
  auto n = std::make_shared<IxNode>(IxNode{.constant = c});
  n_ = std::move(n);
}

Ix::Ix(Sym v) {
  auto n = std::make_shared<IxNode>();
  n->kind = Kind::Var;
  n->var = v;
  n_ = std::move(n);
}

Ix Ix::floordiv(const Ix& a, const Ix& b) {
  if (auto k = b.asConst()) return *k == 0 ? Ix(0) : floordivConst(a, *k);  // as the operation: x // 0 is 0
  if (a == Ix(0)) return a;
  if (a == b) return Ix(1);
  if (auto t = singleTerm(b)) {
    auto [q, r] = splitByTerm(a, *t);
    if (r == Ix(0)) return q;
    return q + makeAtom(Kind::FloorDiv, {r, b});
  }
  return makeAtom(Kind::FloorDiv, {a, b});
}

Ix Ix::mod(const Ix& a, const Ix& b) {
  if (auto k = b.asConst()) return *k == 0 ? Ix(0) : modConst(a, *k);
  if (a == Ix(0) || a == b) return Ix(0);
  if (auto t = singleTerm(b)) {
    Ix r = splitByTerm(a, *t).rest;
    if (r == Ix(0)) return r;
    return makeAtom(Kind::Mod, {r, b});
  }
  return makeAtom(Kind::Mod, {a, b});
}

Ix Ix::min(const Ix& a, const Ix& b) { return extreme(Kind::Min, a, b); }
Ix Ix::max(const Ix& a, const Ix& b) { return extreme(Kind::Max, a, b); }

Ix Ix::select(const Cond& c, const Ix& a, const Ix& b) {
  if (c.isTrue() || a == b) return a;
  if (c.isFalse()) return b;
  IxNode n;
  n.kind = Kind::Select;
  n.args = {a, b};
  n.cond = c;
  return IxNode::wrap(std::move(n));
}

Ix::Kind Ix::kind() const { return n_->kind; }

std::optional<int64_t> Ix::asConst() const {
  if (n_->kind != Kind::Linear || !n_->terms.empty()) return std::nullopt;
  return n_->constant;
}

std::optional<Sym> Ix::asVar() const {
  if (n_->kind != Kind::Var) return std::nullopt;
  return n_->var;
}

int64_t Ix::constant() const { return n_->constant; }

std::vector<std::pair<int64_t, Ix>> Ix::terms() const {
  if (n_->kind == Kind::Linear) return n_->terms;
  return {{1, *this}};
}

const std::vector<Ix>& Ix::args() const { return n_->args; }
const Cond& Ix::cond() const { return n_->cond; }

Ix operator+(const Ix& a, const Ix& b) {
  if (a.asConst() == 0) return b;
  if (b.asConst() == 0) return a;
  std::vector<Term> terms = a.terms(), more = b.terms();
  terms.insert(terms.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return makeLinear(addExact(a.constant(), b.constant()), std::move(terms));
}

Ix operator-(const Ix& a, const Ix& b) { return a + scale(b, -1); }

Ix operator*(const Ix& a, const Ix& b) {
  if (auto k = a.asConst()) return scale(b, *k);
  if (auto k = b.asConst()) return scale(a, *k);
  Ix out = scale(a, b.constant());
  for (const Term& s : b.terms()) {
    out = out + scale(s.second, mulExact(s.first, a.constant()));
    for (const Term& t : a.terms()) out = out + scale(productOf(t.second, s.second), mulExact(t.first, s.first));
  }
  return out;
}

bool operator==(const Ix& a, const Ix& b) { return a.n_ == b.n_ || (a <=> b) == 0; }

std::strong_ordering operator<=>(const Ix& a, const Ix& b) {
  if (a.n_ == b.n_) return std::strong_ordering::equal;
  if (a.kind() == Kind::Linear || b.kind() == Kind::Linear) return compareTerms(a, b);
  return compareAtoms(*a.n_, *b.n_);
}

Ix Ix::subst(const Subst& s) const {
  const IxNode& n = *n_;
  switch (n.kind) {
    case Kind::Var: {
      auto it = s.find(n.var);
      return it == s.end() ? *this : it->second;
    }
    case Kind::Linear: {
      Ix out(n.constant);
      for (const Term& t : n.terms) out = out + scale(t.second.subst(s), t.first);
      return out;
    }
    case Kind::Product: {
      Ix out(1);
      for (const Ix& x : n.args) out = out * x.subst(s);
      return out;
    }
    case Kind::FloorDiv: return floordiv(n.args[0].subst(s), n.args[1].subst(s));
    case Kind::Mod: return mod(n.args[0].subst(s), n.args[1].subst(s));
    case Kind::Min:
    case Kind::Max: {
      Ix out = n.args[0].subst(s);
      for (size_t i = 1; i < n.args.size(); ++i) out = extreme(n.kind, out, n.args[i].subst(s));
      return out;
    }
    case Kind::Select: return select(n.cond.subst(s), n.args[0].subst(s), n.args[1].subst(s));
  }
  return *this;
}

int64_t Ix::eval(const Env& env) const {
  const IxNode& n = *n_;
  switch (n.kind) {
    case Kind::Var: {
      auto it = env.find(n.var);
      if (it == env.end()) throw std::out_of_range("no value for `" + n.var.name() + "`");
      return it->second;
    }
    case Kind::Linear: {
      int64_t out = n.constant;
      for (const Term& t : n.terms) out = addExact(out, mulExact(t.first, t.second.eval(env)));
      return out;
    }
    case Kind::Product: {
      int64_t out = 1;
      for (const Ix& x : n.args) out = mulExact(out, x.eval(env));
      return out;
    }
    case Kind::FloorDiv:
    case Kind::Mod: {
      int64_t b = n.args[1].eval(env);
      if (b == 0) throw std::domain_error("`" + str() + "` divides by 0");
      int64_t a = n.args[0].eval(env);
      return n.kind == Kind::FloorDiv ? floorDivInt(a, b) : floorModInt(a, b);
    }
    case Kind::Min:
    case Kind::Max: {
      int64_t out = n.args[0].eval(env);
      for (const Ix& x : n.args) out = n.kind == Kind::Min ? std::min(out, x.eval(env)) : std::max(out, x.eval(env));
      return out;
    }
    case Kind::Select: return n.cond.eval(env) ? n.args[0].eval(env) : n.args[1].eval(env);
  }
  return 0;
}

void Ix::collect(std::set<Sym>& out) const {
  const IxNode& n = *n_;
  if (n.kind == Kind::Var) out.insert(n.var);
  for (const Term& t : n.terms) t.second.collect(out);
  for (const Ix& x : n.args) x.collect(out);
  if (n.kind == Kind::Select) n.cond.collect(out);
}

std::set<Sym> Ix::vars() const {
  std::set<Sym> out;
  collect(out);
  return out;
}

}  // namespace tempo
