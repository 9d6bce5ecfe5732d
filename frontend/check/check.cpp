#include "check/check.hpp"

#include <algorithm>
#include <vector>

#include "check/causal.hpp"
#include "check/domains.hpp"
#include "check/prover.hpp"

namespace tempo {

namespace {

bool prove(const Graph& g, Diagnostics& diags, Solver& solver, bool causal, std::vector<check::Bound>* bounds) {
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
  std::vector<check::Bound> bounds;
  bool ok = prove(g, diags, solver, causal, &bounds);
  for (const check::Bound& b : bounds) {
    for (Size& size : g.sizes) {
      if (size.sym == b.size) size.atLeast = std::max(size.atLeast, b.atLeast);
    }
    g.facts.push_back(Cond::ge(Ix(b.size), Ix(b.atLeast)));
  }
  return ok;
}

}  // namespace tempo
