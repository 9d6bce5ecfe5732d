// Stream: one long reduction becomes partial ones that run side by side, combined in a fixed order.
//
//   %s[] = sum[t in 0 : T] f(t)
// becomes
//   %s.part[; c] = sum[t in 512 c : min(512 c + 512, T)] f(t)    %s[] = sum[c in 0 : ceil(T / 512)] %s.part[; c]
// twice over for sums, so that a sum of a million f32 terms loses no more than a sum of a few hundred. The lengths are the
// same on every machine and for every number of threads, hence so are the bits. Applies to scalars reduced over a dim's range.
#pragma once

#include "options.hpp"
#include "plan/plan.hpp"
#include "sdg/graph.hpp"

namespace tempo {

Graph stream(Graph g, const PassOptions& options, std::vector<Decision>& log);

}  // namespace tempo
