// Store: where each node's values live, and for how long.
//
// Lifetimes are taken on the placed tree. Going inwards through the loops that enclose all writers and readers of a node, a
// loop over one of its dims that every read meets at distance 0 needs one slot; the first one with distances in 0 .. k, if
// it is sequential, needs a ring of k + 1 slots, and all dims inside it are kept whole. A node that lives and dies within
// one kernel instance is private to it. Outputs and inputs are whole arrays.
// Off (`--no-store`): everything is kept whole.
// Forced: `store.v=full|ring`, `layout.v=pad16|transposed`.
#pragma once

#include "index/solve.hpp"
#include "options.hpp"
#include "plan/plan.hpp"

namespace tempo {

std::vector<Store> store(const Graph& g, const Tree& root, Solver& solver, const PassOptions& options,
                         std::vector<Decision>& log);

}  // namespace tempo
