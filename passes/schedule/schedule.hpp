// Schedule: the order of all statement instances.
//
// A statement is a piece of a node; its instances are the points of the node's dims (axes are handled whole, inside). The
// instances of reads against writes give the dependences, exactly; isl finds an affine order that respects them all, makes
// outer loops independent where it can and keeps producers near consumers. The result is a tree of loops over statements.
// Off (`--no-schedule`): components are ordered one after the other, never fused.
#pragma once

#include "index/solve.hpp"
#include "options.hpp"
#include "plan/plan.hpp"

namespace tempo {

/// Throws SolveBudget when isl exceeds its budget, InternalError when no order exists (the checker has accepted it before).
Tree schedule(const Graph& g, Solver& solver, const PassOptions& options);

}  // namespace tempo
