#include "check/check.hpp"

#include <algorithm>
#include <vector>

#include "check/causal.hpp"
#include "check/domains.hpp"
#include "check/prover.hpp"

namespace tempo {

namespace {

bool prove(const Graph& g, Diagnostics& diags, Solver& solver, bool causal, std::vector<Sym>* bounds) {
  size_t before = diags.errorCount();
  check::Prover prover(g, solver);
  check::checkDomains(g, diags, prover, bounds);
  if (causal) check::checkCausal(g, diags, prover);
  return diags.errorCount() == before;
}

}  // namespace

bool checkGraph(const Graph& g, Diagnostics& diags, Solver& solver, bool causal) {
  return prove(g, diags, solver, causal, nullptr);
}

bool checkGraph(Graph& g, Diagnostics& diags, Solver& solver, bool causal) {
  std::vector<Sym> bounds;
  bool ok = prove(g, diags, solver, causal, &bounds);
  for (Sym s : bounds) {
    for (Size& size : g.sizes) {
      if (size.sym == s) size.atLeast = std::max<int64_t>(size.atLeast, 1);
    }
    g.facts.push_back(Cond::ge(Ix(s), Ix(1)));
  }
  return ok;
}

}  // namespace tempo
