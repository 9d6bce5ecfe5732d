// The statements of a graph and the dependences between their instances, as isl objects.
#pragma once

#include <string>
#include <vector>

#include "index/isl.hpp"
#include "index/solve.hpp"
#include "plan/plan.hpp"

namespace tempo {

struct Statement {
  std::string tuple;        // isl tuple name
  std::vector<Sym> dims;
  NodeId node;              // unset: an effect
  size_t piece = 0;
  size_t effect = 0;
  bool isEffect() const { return !node; }
  poly::Set domain;
};

struct Dependences {
  std::vector<Statement> statements;
  poly::USet domain;
  poly::UMap flow;          // writer instance -> reader instance
  poly::UMap order;         // effects, in lexicographic order
  poly::Set context;        // what sizes satisfy
};

/// Nodes that an output or an effect needs, directly or not.
std::vector<bool> liveNodes(const Graph& g);
Dependences dependences(const Graph& g, Solver& solver);

}  // namespace tempo
