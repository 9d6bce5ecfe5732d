// Suggestions for undefined reads. Each is checked again with the change made before it is given.
#include <algorithm>
#include <set>

#include "check/domains.hpp"
#include "check/words.hpp"

namespace tempo::check {

namespace {

bool isInput(const Node& n) {
  for (const Piece& p : n.pieces) {
    if (p.body.kind == Body::Kind::Input) return true;
  }
  return false;
}

/// A further piece at one step of one dim, such as `h[-1] = zeros`.
std::string zerosFix(const Graph& g, const ReadPoint& p, const Answer& a, Prover& prover) {
  const Node& n = *p.producer;
  if (isInput(n) || userName(g, n) != n.name) return "";
  std::vector<int64_t> at = p.eval(prover.complete(a.point, p.at));
  for (size_t k = 0; k < n.dims.size(); ++k) {
    // The step as a number, or as the dim's size when it is that.
    std::vector<Ix> steps{Ix(at[k])};
    Sym size = g.sizeOf(n.dims[k]);
    if (a.point.count(size) && a.point.at(size) == at[k]) steps.insert(steps.begin(), Ix(size));
    for (const Ix& step : steps) {
      Cond piece = Cond::eq(Ix(n.dims[k]), step);
      std::string index;
      for (size_t j = 0; j < n.dims.size(); ++j) {
        if (j != k) piece = piece && Cond::range(Ix(n.dims[j]), Ix(0), Ix(g.sizeOf(n.dims[j])));
        index += (j ? ", " : "") + (j == k ? step.str() : n.dims[j].name());
      }
      Cond clash = Cond::truth(false);
      for (const Piece& q : n.pieces) clash = clash || q.where;
      if (!prover.holds(p.when, p.defined(prover.domainOf(*p.producer)) || piece.subst(p.dims())) || !prover.holds(piece, !clash)) continue;
      std::string where = at[k] < 0 ? "the step before the first" : step.asConst() ? "that step" : "the step after the last";
      return "define " + where + ": `" + n.name + "[" + index + "] = zeros`";
    }
  }
  return "";
}

/// Reads kept from leaving the declared range of one dim by `max(0, ..)` or `min(.., T - 1)`.
std::string clampFix(const Graph& g, const ReadPoint& p, const std::vector<Sym>& readerDims, Prover& prover) {
  const Node& n = *p.producer;
  for (size_t k = 0; k < n.dims.size(); ++k) {
    std::set<Sym> used = p.at[k].vars();
    bool plain = true, ranged = false;
    Subst start;
    for (Sym v : used) {
      if (prover.isSize(v)) continue;
      if (std::find(readerDims.begin(), readerDims.end(), v) != readerDims.end()) continue;
      plain = false;
      ranged = true;
      start[v] = Ix(0);
    }
    for (Sym v : p.gathers) ranged = ranged && !used.count(v);
    Ix first = p.at[k].subst(start);
    if (first.asConst()) continue;
    if (plain) {
      for (bool below : {true, false}) {
        Ix last = Ix(g.sizeOf(n.dims[k])) - Ix(1);
        Ix clamped = below ? Ix::max(Ix(0), first) : Ix::min(first, last);
        ReadPoint q = p;
        q.at[k] = clamped;
        if (prover.holds(q.when, q.defined(prover.domainOf(n)))) return "stay inside: `" + clamped.str() + "` for the index";
      }
    } else if (ranged && prover.holds(p.when && Cond::ge0(p.at[k]), p.defined(prover.domainOf(*p.producer)))) {
      return "begin the range inside: `" + Ix::max(Ix(0), first).str() + "`";
    }
  }
  return "";
}

/// A bound on a size, such as `T >= 1`.
std::string boundFix(const Graph& g, const ReadPoint& p, const Answer& a, Prover& prover) {
  std::vector<Bound> bounds = prover.boundsFor(a, p.when, p.defined(prover.domainOf(*p.producer)));
  if (bounds.empty()) return "";
  std::string bound = bounds[0].size.name() + " >= " + std::to_string(bounds[0].atLeast);
  for (const Dim& d : g.dims) {
    if (d.size == bounds[0].size) return "declare how many steps there are at least: `dim " + d.var.name() + " : " + bound + "`";
  }
  return "declare a bound: `size " + bound + "`";
}

}  // namespace

std::string fixFor(const Graph& g, const ReadPoint& p, const Answer& a, const std::vector<Sym>& readerDims, Prover& prover,
                   bool piecewise) {
  std::string fix = boundFix(g, p, a, prover);
  if (fix.empty() && piecewise) fix = zerosFix(g, p, a, prover);
  if (fix.empty()) fix = clampFix(g, p, readerDims, prover);
  return fix;
}

}  // namespace tempo::check
