// The proofs on a finished graph: pieces are disjoint, every point read is defined, axis indices are in range, and an order
// of evaluation exists. Each failure is told with a concrete counterexample.
#pragma once

#include "diag/diag.hpp"
#include "index/solve.hpp"
#include "sdg/graph.hpp"

namespace tempo {

/// True if everything is proved. Otherwise `diags` gets E0301 (undefined read), E0304 (overlap), E0305 (output with a hole),
/// E0404 (axis index out of range), E0302 or E0303 (no order; only with `causal`), or E0390 for what was neither
/// proved nor refuted. Requires a graph that passes verify(g).
bool checkGraph(const Graph& g, Diagnostics& diags, Solver& solver, bool causal = true);

/// The same, but where a proof fails only for small sizes (`x[T-1]` at T = 0, `v[; 2]` at D = 2), the size gets the bound it
/// needs in `g`, as if it were declared: it is checked when the program starts. A size with a default gets no bound above
/// that, another none above 1.
bool checkGraph(Graph& g, Diagnostics& diags, Solver& solver, bool causal = true);

}  // namespace tempo
