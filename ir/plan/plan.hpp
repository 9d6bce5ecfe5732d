// The plan: what runs where and what is stored how. A tree of loops around statements, cut into kernels, and a storage
// decision per node. Made by the passes schedule, place and store; lowered to Kernel IR by the jit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sdg/graph.hpp"

namespace tempo {

/// Part of an axis: lo <= axis < hi, over loop variables and sizes.
struct AxisRange {
  Ix lo, hi;
  bool isPoint() const { return hi == lo + Ix(1); }
};

/// A node of the schedule tree.
struct Tree {
  enum class Kind : uint8_t {
    Block,   // children in order
    Loop,    // for var in lo .. hi-1; children in order. `parallel`: iterations independent
    If,      // cond; children
    Stmt,    // computes piece `piece` of `node` at the dims `point`; the first `axisBind.size()` axes in these ranges only
    Effect,  // effect number `effect` at the dims `point`
    Kernel,  // children run as one kernel; the first `gridDepth` nested parallel loops are its grid
  };
  Kind kind = Kind::Block;
  Sym var;
  Ix lo, hi;
  bool parallel = false;
  Cond cond;
  NodeId node;
  size_t piece = 0;
  size_t effect = 0;
  Subst point;                 // dim -> expression of loop variables and sizes
  std::vector<AxisRange> axisBind;
  std::string name;            // Kernel
  int gridDepth = 0;           // Kernel
  std::vector<Tree> children;
};

/// How one dim of a node is kept.
struct DimStore {
  enum class Kind : uint8_t {
    Full,   // every point: slot = index - base
    Ring,   // the last `extent` points: slot = (index - base) mod extent
    Point,  // one at a time: no slot
  };
  Kind kind = Kind::Full;
  Ix base;
  Ix extent;  // 1 for Point
};

/// Where a node's values live. Offsets are row-major over dims then axes, the last axis padded to a multiple of `pad`.
struct Store {
  enum class Class : uint8_t { None, Input, Full, Ring, Point, Local, Recomputed };
  Class cls = Class::None;
  std::vector<DimStore> dims;
  std::vector<Ix> axes;        // capacity per axis, over sizes only
  std::vector<int> order;      // permutation of dims-then-axes, outermost first
  int64_t pad = 1;             // elements the innermost extent is rounded up to
  bool output = false;         // an output reads it after the run
  int kernel = -1;             // Local: private to each instance of this kernel
  Ix elements() const;
};

const char* name(Store::Class c);

/// One line of the planner's reasoning, in the program's names.
struct Decision {
  std::string pass, subject, text;
};

struct Plan {
  Graph graph;
  Tree root;
  std::vector<Store> stores;   // by node id
  std::vector<std::vector<Ix>> effectElements;  // per effect and value: most elements it can have, over sizes
  std::vector<Decision> log;
};

/// Indented text of the tree and the table of stores.
std::string print(const Plan& p);
std::string printTree(const Graph& g, const Tree& t);

/// Every Read below a body with the condition under which it happens (guards on the way) - dims, axes and reduction
/// variables are free in it; ranges of axes and reduction variables are included.
struct ReadSite {
  const Expr* read;
  Cond when;
  std::vector<Sym> inner;      // axes and reduction variables in scope
};
std::vector<ReadSite> readSites(const Node& n, const Piece& p);
/// The same for an effect's values and condition.
std::vector<ReadSite> readSites(const Effect& e);

}  // namespace tempo
