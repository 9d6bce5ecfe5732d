// Recur: a reduction over a range that moves with a dim becomes a recurrence, so each step costs O(1) instead of O(range).
//
//   growing    %y[t] = sum[s in 0 : t + 1] f(s)          y[t] = y[t - 1] + f(t)
//   shrinking  %y[t] = sum[s in t : T] f(s)              y[t] = f(t) + y[t + 1]
//   discounted %y[t] = sum[s in t : T] g ** (s - t) * f(s)   y[t] = f(t) + g * y[t + 1]
//   sliding    %y[t] = max[s in max(0, t - W + 1) : t + 1] f(s)   van Herk and Gil-Werman: prefix and suffix combinations within
//              blocks of W, three operations a step, no subtraction. W is specialised.
// f must not depend on the dim. Sums of narrow types keep their wide accumulator; the result is rounded once per point.
#pragma once

#include "index/solve.hpp"
#include "options.hpp"
#include "plan/plan.hpp"
#include "sdg/graph.hpp"

namespace tempo {

Graph recur(Graph g, Solver& solver, const PassOptions& options, std::vector<Decision>& log);

}  // namespace tempo
