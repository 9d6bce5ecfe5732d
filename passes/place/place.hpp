// Place: where each loop of the schedule runs.
//
// A parallel loop becomes the grid of a kernel with all that is inside it. A sequential loop that computes scalars only runs
// inside one kernel, so its state stays in registers; one that computes tensors runs in the host loop, its statements
// becoming kernels whose grid is the outermost axis, and neighbours that agree on that axis share a kernel.
// Off (`--no-place`): every loop runs in the host loop, one kernel per statement, no grid.
// Forced: `tile.t=4` (or `chunk.t=4`) cuts the loops over dim t into runs of four, the last one shorter; `place.t=host` keeps the loop over dim t in the host loop, `place.t=kernel` puts it inside a kernel.
#pragma once

#include "options.hpp"
#include "plan/plan.hpp"

namespace tempo {

/// Cuts kernels out of the tree. Appends what it decided to `log`.
Tree place(const Graph& g, Tree root, const PassOptions& options, std::vector<Decision>& log);

}  // namespace tempo
