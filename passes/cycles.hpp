// Questions about who reads whom: which nodes read themselves, directly or through others, and which are needed at all.
#pragma once

#include "sdg/graph.hpp"

namespace tempo {

/// Strongly connected components of the reads, producers first (Tarjan).
struct Components {
  explicit Components(const Graph& g);
  std::vector<std::vector<NodeId>> all;
  std::vector<size_t> of;       // by node id
  std::vector<bool> cyclic;     // by node id
};

/// Nodes that an output or an effect needs, directly or not; by node id.
std::vector<bool> liveNodes(const Graph& g);

}  // namespace tempo
