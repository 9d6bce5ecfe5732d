// The statements of a graph and the dependences between their instances, as isl objects.
#pragma once

#include <string>
#include <vector>

#include "group/group.hpp"
#include "index/isl.hpp"
#include "index/solve.hpp"
#include "plan/plan.hpp"

namespace tempo {

struct Statement {
  std::string tuple;        // isl tuple name
  std::vector<Sym> dims;
  std::vector<PieceRef> members;  // in order of execution; empty: an effect
  size_t effect = 0;
  bool isEffect() const { return members.empty(); }
  poly::Set domain;
};

struct Dependences {
  std::vector<Statement> statements;
  poly::USet domain;
  poly::UMap flow;          // writer instance -> reader instance
  poly::UMap order;         // effects, in lexicographic order
  poly::Set context;        // what sizes satisfy
};

Dependences dependences(const Graph& g, Solver& solver, const PassOptions& options);

}  // namespace tempo
