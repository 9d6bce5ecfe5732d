// Proof that an order of evaluation exists, component by component of the graph of nodes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/prover.hpp"
#include "check/read_point.hpp"
#include "diag/diag.hpp"

namespace tempo::check {

/// A piece of a node, evaluated at each point of its dims.
struct Statement {
  const Node* node;
  size_t piece;
  const Piece& where() const { return node->pieces[piece]; }
};

/// The statement `reader` reads the node of `producer` at `point`; its condition includes that `producer` defines the point.
struct Dependence {
  size_t reader, producer;
  ReadSite site;
  ReadPoint point;
};

/// Nodes that depend on one another, with what they read of one another.
struct Component {
  std::vector<Statement> statements;
  std::vector<Dependence> dependences;
};

/// The components with dependences inside.
std::vector<Component> components(const Graph& g);

/// Is there a lexicographic order of the dims, with a sign each, that puts what is read before what reads it? Nested:
/// statements that are independent within a step may go on in orders of their own. With `cheaply`, nothing is asked of isl.
bool ordersByDims(const Graph& g, const Component& c, Prover& prover, bool cheaply);

enum class Schedule : uint8_t { Found, None, Unknown };
/// Asks isl for an affine schedule; `why` says what stopped it.
Schedule scheduleByIsl(const Graph& g, const Component& c, Prover& prover, std::string& why);

/// One step of a cycle: the statement at `reader` reads `producer` at the sizes of the cycle.
struct Hop {
  size_t dependence;
  std::vector<int64_t> reader, producer;
};
struct Cycle {
  std::vector<Hop> hops;
  Env sizes;
};
/// All that occurs in conditions and indices of a component, and the sizes of its dims.
std::set<Sym> variables(const Graph& g, const Component& c);
/// A shortest cycle at the first small sizes that have one.
std::optional<Cycle> findCycle(const Graph& g, const Component& c, Prover& prover);
/// Does the cycle also stand at these sizes?
bool standsAt(const Component& c, const Cycle& cycle, const Env& sizes);

/// Reports E0302, E0303 and E0390.
void checkCausal(const Graph& g, Diagnostics& diags, Prover& prover);

}  // namespace tempo::check
