#include "check/check.hpp"

#include "check/causal.hpp"
#include "check/domains.hpp"
#include "check/prover.hpp"

namespace tempo {

bool checkGraph(const Graph& g, Diagnostics& diags, Solver& solver, bool causal) {
  size_t before = diags.errorCount();
  check::Prover prover(g, solver);
  check::checkDomains(g, diags, prover);
  if (causal) check::checkCausal(g, diags, prover);
  return diags.errorCount() == before;
}

}  // namespace tempo
