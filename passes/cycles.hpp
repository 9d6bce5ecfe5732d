// Which nodes read themselves, directly or through others.
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

}  // namespace tempo
