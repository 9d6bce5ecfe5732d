// Remat: what is cheaper to compute again than to keep is not kept.
//
// A map node is substituted into its readers when that adds no work (one reader that visits each point at most once, or a
// mere copy, constant or index expression) or less than a load and a store cost (a few additions of values that are kept
// anyway). Reductions, recurrences, outputs and what effects show stay nodes.
//
//   %e[t; j] = exp(%s[t; j] - %m[t])    %z[t] = sum[j] %e[t; j]    (e read nowhere else)
// becomes
//   %z[t] = sum[j] exp(%s[t; j] - %m[t])
#pragma once

#include "index/solve.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "sdg/graph.hpp"

namespace tempo {

Graph remat(Graph g, Solver& solver, const PassOptions& options, std::vector<Decision>& log);

}  // namespace tempo
