#include "oracle/compiled.hpp"

#include <algorithm>

#include "index/ix_node.hpp"
#include "oracle/oracle.hpp"

namespace tempo::oracle {

int64_t SlotIx::eval(const int64_t* point) const {
  switch (kind) {
    case Ix::Kind::Var: return point[slot];
    case Ix::Kind::Linear: {
      int64_t out = constant;
      for (const auto& [c, x] : terms) out += c * x.eval(point);
      return out;
    }
    case Ix::Kind::Product: {
      int64_t out = 1;
      for (const SlotIx& x : args) out *= x.eval(point);
      return out;
    }
    case Ix::Kind::FloorDiv:
    case Ix::Kind::Mod: {
      int64_t b = args[1].eval(point);
      if (b == 0) throw std::domain_error("an index divides by 0");
      int64_t a = args[0].eval(point);
      return kind == Ix::Kind::FloorDiv ? floorDivInt(a, b) : floorModInt(a, b);
    }
    case Ix::Kind::Min:
    case Ix::Kind::Max: {
      int64_t out = args[0].eval(point);
      for (const SlotIx& x : args) {
        int64_t v = x.eval(point);
        out = kind == Ix::Kind::Min ? std::min(out, v) : std::max(out, v);
      }
      return out;
    }
    case Ix::Kind::Select: return args[cond[0].eval(point) ? 0 : 1].eval(point);
  }
  return 0;
}

bool SlotCond::eval(const int64_t* point) const {
  switch (kind) {
    case Cond::Kind::True: return true;
    case Cond::Kind::False: return false;
    case Cond::Kind::Ge0: return ix.eval(point) >= 0;
    case Cond::Kind::Eq0: return ix.eval(point) == 0;
    case Cond::Kind::Not: return !args[0].eval(point);
    case Cond::Kind::And: return std::all_of(args.begin(), args.end(), [&](const auto& c) { return c.eval(point); });
    case Cond::Kind::Or: return std::any_of(args.begin(), args.end(), [&](const auto& c) { return c.eval(point); });
  }
  return false;
}

namespace {

SlotCond resolve(const Cond& c, const Slots& slots);

SlotIx resolve(const Ix& x, const Slots& slots) {
  SlotIx out;
  out.kind = x.kind();
  if (auto v = x.asVar()) {
    // The innermost variable of a name wins, as in any scope.
    auto it = std::find(slots.rbegin(), slots.rend(), *v);
    if (it == slots.rend()) throw OracleError("no value for `" + v->name() + "`");
    out.slot = size_t(slots.rend() - it) - 1;
    return out;
  }
  if (x.kind() == Ix::Kind::Linear) {
    out.constant = x.constant();
    for (const auto& [c, atom] : x.terms()) out.terms.emplace_back(c, resolve(atom, slots));
    return out;
  }
  for (const Ix& a : x.args()) out.args.push_back(resolve(a, slots));
  if (x.kind() == Ix::Kind::Select) out.cond.push_back(resolve(x.cond(), slots));
  return out;
}

SlotCond resolve(const Cond& c, const Slots& slots) {
  SlotCond out;
  out.kind = c.kind();
  if (c.kind() == Cond::Kind::Ge0 || c.kind() == Cond::Kind::Eq0) out.ix = resolve(c.ix(), slots);
  for (const Cond& a : c.args()) out.args.push_back(resolve(a, slots));
  return out;
}

constexpr Interval kAll{INT64_MIN, INT64_MAX};

Interval scaled(Interval i, int64_t k) {
  if (k == 0) return {0, 0};
  if (!i.bounded()) return kAll;
  int64_t a, b;
  if (__builtin_mul_overflow(i.lo, k, &a) || __builtin_mul_overflow(i.hi, k, &b)) return kAll;
  return {std::min(a, b), std::max(a, b)};
}

Interval sum(Interval a, Interval b) {
  if (!a.bounded() || !b.bounded()) return kAll;
  Interval out{};
  if (__builtin_add_overflow(a.lo, b.lo, &out.lo) || __builtin_add_overflow(a.hi, b.hi, &out.hi)) return kAll;
  return out;
}

using Box = std::map<Sym, Interval>;

/// Bounds from k * v + c >= 0 (or == 0) alone; no entry for anything else.
std::optional<Box> hullOfComparison(const Cond& c) {
  auto terms = c.ix().terms();
  if (terms.size() != 1 || !terms[0].second.asVar()) return Box{};
  auto [k, atom] = terms[0];
  Interval i = kAll;
  int64_t least = -floorDivInt(c.ix().constant(), k);  // k > 0: v >= ceil(-c / k)
  int64_t most = floorDivInt(c.ix().constant(), -k);   // k < 0: v <= floor(c / -k)
  if (c.kind() == Cond::Kind::Eq0) {
    if (c.ix().constant() % k != 0) return std::nullopt;
    i = {-(c.ix().constant() / k), -(c.ix().constant() / k)};
  } else if (k > 0) {
    i.lo = least;
  } else {
    i.hi = most;
  }
  return Box{{*atom.asVar(), i}};
}

std::optional<Box> meet(std::optional<Box> a, const std::optional<Box>& b) {
  if (!a || !b) return std::nullopt;
  for (const auto& [v, i] : *b) {
    auto [it, isNew] = a->emplace(v, i);
    if (!isNew) it->second = {std::max(it->second.lo, i.lo), std::min(it->second.hi, i.hi)};
    if (it->second.lo > it->second.hi) return std::nullopt;
  }
  return a;
}

std::optional<Box> join(const std::optional<Box>& a, const std::optional<Box>& b) {
  if (!a) return b;
  if (!b) return a;
  Box out;
  for (const auto& [v, i] : *a) {
    auto it = b->find(v);
    if (it != b->end()) out[v] = {std::min(i.lo, it->second.lo), std::max(i.hi, it->second.hi)};
  }
  return out;
}

}  // namespace

SlotIx compile(const Ix& x, const Subst& sizes, const Slots& slots) { return resolve(x.subst(sizes), slots); }
SlotCond compile(const Cond& c, const Subst& sizes, const Slots& slots) { return resolve(c.subst(sizes), slots); }

std::optional<std::map<Sym, Interval>> hull(const Cond& c) {
  switch (c.kind()) {
    case Cond::Kind::True:
    case Cond::Kind::Not: return Box{};
    case Cond::Kind::False: return std::nullopt;
    case Cond::Kind::Ge0:
    case Cond::Kind::Eq0: return hullOfComparison(c);
    case Cond::Kind::And: {
      std::optional<Box> out = Box{};
      for (const Cond& x : c.args()) out = meet(std::move(out), hull(x));
      return out;
    }
    case Cond::Kind::Or: {
      std::optional<Box> out;
      for (const Cond& x : c.args()) out = join(out, hull(x));
      return out;
    }
  }
  return Box{};
}

Interval range(const Ix& x, const std::map<Sym, Interval>& box) {
  switch (x.kind()) {
    case Ix::Kind::Var: {
      auto it = box.find(*x.asVar());
      return it == box.end() ? kAll : it->second;
    }
    case Ix::Kind::Linear: {
      Interval out{x.constant(), x.constant()};
      for (const auto& [c, atom] : x.terms()) out = sum(out, scaled(range(atom, box), c));
      return out;
    }
    case Ix::Kind::FloorDiv:
    case Ix::Kind::Mod: {
      auto k = x.args()[1].asConst();
      Interval a = range(x.args()[0], box);
      if (!k || *k <= 0) return kAll;
      if (x.kind() == Ix::Kind::Mod) return {0, *k - 1};
      if (!a.bounded()) return kAll;
      return {floorDivInt(a.lo, *k), floorDivInt(a.hi, *k)};
    }
    case Ix::Kind::Min:
    case Ix::Kind::Max: {
      Interval out = range(x.args()[0], box);
      for (const Ix& arg : x.args()) {
        Interval i = range(arg, box);
        bool min = x.kind() == Ix::Kind::Min;
        out = min ? Interval{std::min(out.lo, i.lo), std::min(out.hi, i.hi)}
                  : Interval{std::max(out.lo, i.lo), std::max(out.hi, i.hi)};
      }
      return out;
    }
    case Ix::Kind::Select: {
      Interval a = range(x.args()[0], box), b = range(x.args()[1], box);
      return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case Ix::Kind::Product: return kAll;
  }
  return kAll;
}

}  // namespace tempo::oracle
