// Group: statements that will share loops anyway are one statement to the scheduler, whose cost grows fast in their number.
//
// Two statements over the same points join when one reads the other at its own point and no other way from the first to the
// second leaves the group and comes back at the same point: that would close a cycle. Inside a group, producers come first.
// Off (`--no-group`): every statement is a group of its own.
#pragma once

#include "options.hpp"
#include "sdg/graph.hpp"

namespace tempo {

struct PieceRef {
  NodeId node;
  size_t piece = 0;
};

/// A partition of the pieces of `live` nodes (inputs apart), each group in an order of execution.
std::vector<std::vector<PieceRef>> group(const Graph& g, const std::vector<bool>& live, const PassOptions& options);

}  // namespace tempo
