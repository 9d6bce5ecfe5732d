#include "check/words.hpp"

#include <algorithm>
#include <optional>

namespace tempo::check {

std::string userName(const Graph& g, const Node& n) {
  for (size_t dot = n.name.find('.'); dot != std::string::npos; dot = n.name.find('.', dot + 1)) {
    std::string prefix = n.name.substr(0, dot);
    if (g.find(prefix)) return prefix;
  }
  return n.name;
}

std::string pointText(const std::string& name, const std::vector<int64_t>& at, size_t dims, bool withAxes) {
  auto join = [&](size_t from, size_t to) {
    std::string out;
    for (size_t i = from; i < to; ++i) out += (i == from ? "" : ", ") + std::to_string(at[i]);
    return out;
  };
  bool axes = withAxes && at.size() > dims;
  if (dims == 0 && !axes) return name;
  return name + "[" + join(0, dims) + (axes ? "; " + join(dims, at.size()) : "") + "]";
}

std::string valuesText(const Env& env, const std::vector<Sym>& vars) {
  std::string out;
  for (Sym s : vars) {
    auto it = env.find(s);
    if (it != env.end()) out += (out.empty() ? "" : ", ") + s.name() + " = " + std::to_string(it->second);
  }
  return out;
}

namespace {

/// The coefficient of `v` in `x`, and the rest; nothing if `v` occurs inside another term.
std::optional<std::pair<int64_t, Ix>> split(const Ix& x, Sym v) {
  int64_t coefficient = 0;
  for (const auto& [c, atom] : x.terms()) {
    if (atom.asVar() == v) coefficient = c;
  }
  Ix rest = x - Ix(coefficient) * Ix(v);
  if (rest.uses(v)) return std::nullopt;
  return std::pair(coefficient, rest);
}

/// `lo <= v < hi` from the comparisons that bound v, an end that is named (`T`) before a number; these leave `parts`.
std::string chainText(std::vector<Cond>& parts, Sym v) {
  std::optional<Ix> lo, hi;
  std::vector<Cond> rest;
  bool onlyNumbers = std::none_of(parts.begin(), parts.end(), [&](const Cond& c) {
    auto s = c.kind() == Cond::Kind::Ge0 ? split(c.ix(), v) : std::nullopt;
    return s && s->first == -1 && !s->second.asConst();
  });
  for (const Cond& c : parts) {
    auto s = c.kind() == Cond::Kind::Ge0 ? split(c.ix(), v) : std::nullopt;
    if (s && s->first == 1 && !lo) {
      lo = Ix(0) - s->second;
    } else if (s && s->first == -1 && !hi && (onlyNumbers || !s->second.asConst())) {
      hi = s->second + Ix(1);
    } else {
      rest.push_back(c);
    }
  }
  if (!lo || !hi) return "";
  parts = rest;
  if (*lo + Ix(1) == *hi) return v.name() + " == " + lo->str();
  return lo->str() + " <= " + v.name() + " < " + hi->str();
}

std::string conjunctionText(const Cond& c, const std::vector<Sym>& dims) {
  std::vector<Cond> parts = conjuncts(c);
  std::string out;
  auto add = [&](const std::string& s) {
    if (!s.empty()) out += (out.empty() ? "" : " and ") + s;
  };
  for (Sym d : dims) add(chainText(parts, d));
  for (const Cond& p : parts) {
    bool onSizesOnly = !dims.empty();
    for (Sym d : dims) onSizesOnly = onSizesOnly && p.vars().count(d) == 0;
    if (!onSizesOnly) add(p.kind() == Cond::Kind::Or ? "(" + p.str() + ")" : p.str());
  }
  return out.empty() ? "all steps" : out;
}

}  // namespace

std::string domainText(const Cond& where, const std::vector<Sym>& dims) {
  if (where.isFalse()) return "no step";
  if (where.kind() != Cond::Kind::Or) return conjunctionText(where, dims);
  std::string out;
  for (const Cond& c : where.args()) out += (out.empty() ? "" : ", or ") + conjunctionText(c, dims);
  return out;
}

std::string definedText(const Graph& g, const Node& n, Prover& prover) {
  return userName(g, n) + " is defined for " + domainText(prover.domainOf(n), n.dims);
}

}  // namespace tempo::check
