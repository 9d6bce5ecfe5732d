// Split: index-set splitting (Griebl, Feautrier, Lengauer, 2000). Where a piece of a recurrence does not take part in it, the
// statements behind it are split at that piece's border, so that the side it frees can be scheduled without the loop.
//
//   %tok[t] = %prompt[t] where t < P;  f(%y[t - 1]) where t >= P      %h[t] = g(%tok[t])      %y[t] = s(%h[0 : t + 1])
// h and y get a piece for t < P and one for t >= P: the first can run for all t at once. This is how prefill is found.
#pragma once

#include "index/solve.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "sdg/graph.hpp"

namespace tempo {

Graph split(Graph g, Solver& solver, const PassOptions& options, std::vector<Decision>& log);

}  // namespace tempo
