#include "index/ix_node.hpp"

namespace tempo {

namespace {

enum Level { kSum = 1, kProduct = 2, kAtom = 3 };

std::string show(const Ix& x, int level);

std::string paren(const std::string& s, bool needed) { return needed ? "(" + s + ")" : s; }

std::string joinArgs(const std::vector<Ix>& args, const char* between, int level) {
  std::string out;
  for (const Ix& a : args) out += (out.empty() ? "" : between) + show(a, level);
  return out;
}

std::string showTerm(int64_t c, const Ix& atom) {
  if (c == 1) return show(atom, kProduct);
  return std::to_string(c) + "*" + (atom.kind() == Ix::Kind::Product ? show(atom, kProduct) : show(atom, kAtom));
}

/// Positive terms first, so that `t - W + 1` does not read `-W + t + 1`.
std::string showSum(const Ix& x) {
  const auto terms = x.terms();
  std::string out;
  auto add = [&](bool negative, const std::string& term) {
    if (out.empty()) {
      out = negative ? "-" + term : term;
    } else {
      out += (negative ? " - " : " + ") + term;
    }
  };
  auto magnitude = [](int64_t c) {  // exact for INT64_MIN too
    return c < 0 ? std::to_string(c).substr(1) : std::to_string(c);
  };
  bool anyPositive = false;
  for (const auto& [c, atom] : terms) {
    anyPositive = anyPositive || c > 0;
    if (c > 0) add(false, showTerm(c, atom));
  }
  const bool constantFirst = !anyPositive && x.constant() > 0;
  if (constantFirst) add(false, magnitude(x.constant()));
  for (const auto& [c, atom] : terms) {
    // A leading minus binds tighter than `//`: -(t // 4) is not (-t) // 4.
    int level = out.empty() && atom.kind() != Ix::Kind::Product ? kAtom : kProduct;
    if (c < 0) add(true, c == -1 ? show(atom, level) : showTerm(-c, atom));
  }
  if (!constantFirst && x.constant() != 0) add(x.constant() < 0, magnitude(x.constant()));
  return out.empty() ? "0" : out;
}

std::string show(const Ix& x, int level) {
  switch (x.kind()) {
    case Ix::Kind::Var: return x.asVar()->name();
    case Ix::Kind::Linear: {
      if (auto k = x.asConst()) return paren(std::to_string(*k), *k < 0 && level > kSum);
      const auto terms = x.terms();
      bool oneTerm = terms.size() == 1 && x.constant() == 0 && terms[0].first > 0;
      return paren(showSum(x), level > (oneTerm ? kProduct : kSum));
    }
    case Ix::Kind::Product: return paren(joinArgs(x.args(), "*", kAtom), level > kProduct);
    case Ix::Kind::FloorDiv:
    case Ix::Kind::Mod: {
      const char* op = x.kind() == Ix::Kind::FloorDiv ? " // " : " % ";
      return paren(show(x.args()[0], kProduct) + op + show(x.args()[1], kAtom), level > kProduct);
    }
    case Ix::Kind::Min: return "min(" + joinArgs(x.args(), ", ", kSum) + ")";
    case Ix::Kind::Max: return "max(" + joinArgs(x.args(), ", ", kSum) + ")";
    case Ix::Kind::Select: return "select(" + x.cond().str() + ", " + joinArgs(x.args(), ", ", kSum) + ")";
  }
  return "?";
}

/// The two sides of `x` compared with 0, no side with a negative term.
struct Sides {
  Ix positive, negative;  // x == positive - negative, constants apart
  int64_t constant;
};

Sides sides(const Ix& x) {
  Sides s;
  s.constant = x.constant();
  for (const auto& [c, atom] : x.terms()) {
    if (c > 0) s.positive = s.positive + Ix(c) * atom;
    if (c < 0) s.negative = s.negative + Ix(-c) * atom;
  }
  return s;
}

std::string showGe0(const Ix& x) {
  Sides s = sides(x);
  if (s.negative == Ix(0)) return Ix(-s.constant).str() + " <= " + s.positive.str();
  if (s.constant == -1) return s.negative.str() + " < " + s.positive.str();
  if (s.positive == Ix(0) || s.constant >= 0) return s.negative.str() + " <= " + (s.positive + Ix(s.constant)).str();
  return (s.negative - Ix(s.constant)).str() + " <= " + s.positive.str();
}

std::string showEq(const Ix& x, const char* op) {
  Sides s = sides(x);
  Ix right = s.constant > 0 && s.negative != Ix(0) ? s.negative : s.negative - Ix(s.constant);
  Ix left = s.constant > 0 && s.negative != Ix(0) ? s.positive + Ix(s.constant) : s.positive;
  return left.str() + op + right.str();
}

}  // namespace

std::string Ix::str() const { return show(*this, kSum); }

std::string Cond::str() const {
  switch (kind()) {
    case Kind::True: return "true";
    case Kind::False: return "false";
    case Kind::Ge0: return showGe0(ix());
    case Kind::Eq0: return showEq(ix(), " == ");
    case Kind::Not: return showEq(args()[0].ix(), " != ");
    case Kind::And:
    case Kind::Or: {
      std::string out;
      for (const Cond& c : args()) {
        if (!out.empty()) out += kind() == Kind::And ? " and " : " or ";
        out += paren(c.str(), c.kind() == (kind() == Kind::And ? Kind::Or : Kind::And));
      }
      return out;
    }
  }
  return "?";
}

}  // namespace tempo
