// The symbolic dependence graph (SDG): a system of recurrence equations over integer points.
//
// MEANING. A node is a tensor: a function from points to scalars of one dtype. A point gives a value to each *dim*
// (temporal dimension, in the program's order) and each *axis* (position in the shape). Which points exist is said by the
// node's pieces: disjoint conditions (`Piece::where`, over dims and sizes), each with a body that says what the value is.
// At a dim point that exists, axis k runs over 0 .. length_k - 1, where the length may depend on dims and sizes, never on
// other axes. Bodies:
//   map      a scalar expression over dims, axes and sizes, reading other nodes (or the same) at index expressions
//   reduce   an associative operator over reduction variables `lo <= v < hi` (bounds may use dims, axes, sizes and earlier
//            reduction variables) of a scalar expression. Sums of bf16 and f16 accumulate in f32, of small integers in
//            i64, rounded once. An empty range gives the identity, or `init` if there is one.
//   argsort  the positions that sort a key along the last axis (stable): value at position p = index of the p-th smallest
// An input node has one piece without a body: an array bound from outside, indexed by dims then axes.
//
// All arithmetic is done in the stated dtypes (bf16 and f16 expressions: each op in f32, rounded once per node). Both sides of a `select`
// are defined wherever the select is, so evaluating either, both or one is free; `guard` reads only where its condition
// holds. Order of evaluation is free. Points that no output, report or effect needs are not computed.
// Every Read carries the place in the source it came from.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "index/ix.hpp"
#include "sdg/dtype.hpp"
#include "sdg/ops.hpp"

namespace tempo {

/// A place in a source file, as the front end's table of locations numbers it; 0 is nowhere.
struct Loc {
  uint32_t id = 0;
  friend bool operator==(Loc, Loc) = default;
};

struct NodeId {
  uint32_t v = UINT32_MAX;
  explicit operator bool() const { return v != UINT32_MAX; }
  friend auto operator<=>(NodeId, NodeId) = default;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

/// One index of a read: affine, or (gather) the value of an expression that lies in [lo, hi): proved by its range when
/// `checked` is false, else tested at run time.
struct Index {
  Ix ix;
  ExprPtr data;  // non-null: the index is this value; `ix` unused
  Ix lo, hi;     // for `data`
  bool checked = false;
};

struct Expr {
  enum class Kind : uint8_t {
    Const,   // value
    Index,   // ix, as a number of type dtype
    Cond,    // cond, as a bool
    Op,      // op(args)
    Select,  // args[0] ? args[1] : args[2]; both sides defined
    Guard,   // cond ? args[0] : args[1]; args[0] exists only where cond holds, args[1] only where it does not
    Cast,    // args[0] as dtype
    Read,    // node[indices]: dims then axes
    Random,  // 32 uniform bits (as i64 in 0 .. 2^32-1) of stream `stream` at point `indices` (affine only)
  };
  Kind kind;
  DType dtype;
  Loc loc;
  double value = 0;
  Ix ix;
  Cond cond;
  Op op = Op::Add;
  std::vector<ExprPtr> args;
  NodeId node;
  std::vector<Index> indices;
  std::string stream;
};

/// Constructors; each checks arity and types (TEMPO_CHECK) and folds nothing.
namespace ex {
ExprPtr constant(DType t, double v, Loc l = {});
ExprPtr index(const Ix& ix, DType t, Loc l = {});
ExprPtr cond(const Cond& c, Loc l = {});
ExprPtr op(Op op, std::vector<ExprPtr> args, Loc l = {});
ExprPtr select(ExprPtr c, ExprPtr a, ExprPtr b, Loc l = {});
ExprPtr guard(const Cond& c, ExprPtr a, ExprPtr b, Loc l = {});
ExprPtr cast(DType t, ExprPtr a, Loc l = {});
ExprPtr read(NodeId n, DType t, std::vector<Index> at, Loc l = {});
ExprPtr random(std::string stream, std::vector<Ix> at, Loc l = {});
/// A copy with other children (args, then the data of indices, in order).
ExprPtr withChildren(const Expr& e, std::vector<ExprPtr> children);
std::vector<ExprPtr> children(const Expr& e);
/// Replaces variables in every Ix and Cond below `e`.
ExprPtr subst(const ExprPtr& e, const Subst& s);
/// Bottom-up rewrite: `f` sees a node whose children are already rewritten and returns it or another.
ExprPtr rewrite(const ExprPtr& e, const std::function<ExprPtr(const ExprPtr&)>& f);
void visit(const ExprPtr& e, const std::function<void(const Expr&)>& f);
bool equal(const ExprPtr& a, const ExprPtr& b);  // structural; ignores places
size_t hash(const ExprPtr& e);
int cost(const ExprPtr& e);  // additions
}  // namespace ex

struct RVar {
  Sym var;
  Ix lo, hi;
};

struct Axis {
  Sym var;     // unique within the graph
  Ix length;   // >= 0 wherever the node exists
};

struct Body {
  enum class Kind : uint8_t { Input, Map, Reduce, ArgSort };
  Kind kind = Kind::Map;
  ExprPtr value;                      // Map, Reduce; ArgSort: the key
  tempo::Reduce reduce = tempo::Reduce::Sum;
  std::vector<RVar> rvars;            // Reduce
  ExprPtr init;                       // Reduce: value where the range is empty; may be null
  bool descending = false;            // ArgSort
};

struct Piece {
  Cond where;  // over the node's dims and sizes
  Body body;
  Loc loc;
};

struct Node {
  NodeId id;
  std::string name;        // the user's name, or one formed from it: `y.max`, `y.softmax.e`
  std::vector<Sym> dims;   // in program order
  std::vector<Axis> axes;
  DType dtype = DType::F32;
  std::vector<Piece> pieces;
  Loc loc;
};

struct Dim {
  Sym var;                 // `t`
  Sym size;                // `T`
};

/// A size: an integer known when the program runs.
struct Size {
  Sym sym;
  std::optional<Ix> value;  // default or definition, over earlier sizes
  bool derived = false;     // `size H = D // 2`: cannot be set from outside
  int64_t atLeast = 0;
  bool specialised = false; // multiplies, divides or steps a dim: compiled per value
  Loc loc;
};

struct Option {
  Sym name;
  DType dtype = DType::F32;
  double value = 0;
  std::string help;
  NodeId node;             // a scalar input node without dims
  Loc loc;
};

struct InputDecl {
  NodeId node;
  std::string path;        // default file, "" if none; resolved against the source file's folder
  std::string member;      // npz / safetensors member, csv column
  Loc loc;
};

/// The declared part of a node that leaves the program: points with `where`, as an array over `dims` (each lo .. hi) and axes.
struct Output {
  NodeId node;
  std::string name;
  std::vector<RVar> box;   // per dim of the node: variable, range; an index fixed to a point is a range of length one marked in `fixed`
  std::vector<bool> fixed; // fixed dims do not appear in the array's shape
  std::string path;        // "" unless `to "file"`
  Loc loc;
};

/// Effects happen at the points of `dims` where `where` holds, in lexicographic order.
struct Effect {
  enum class Kind : uint8_t { Report, Print, Assert };
  Kind kind = Kind::Print;
  std::vector<Sym> dims;
  Cond where;
  std::vector<std::pair<std::string, ExprPtr>> values;  // name (source text) and value; each a Read of a node
  ExprPtr condition;       // run-time condition of a print, or what an assert asserts; may be null
  std::vector<std::vector<Axis>> axes;                  // per value: its axes (the value's expr uses these variables)
  std::string text;        // Assert: the user's message, "" if none
  Loc loc;
};

class Graph {
 public:
  std::vector<Dim> dims;       // program order
  std::vector<Size> sizes;     // program order
  std::vector<Option> options;
  std::vector<InputDecl> inputs;
  std::vector<Output> outputs;
  std::vector<Effect> effects;
  std::vector<Cond> facts;     // what sizes satisfy: declared bounds, `N >= 0`
  std::vector<std::string> reasons;  // by fact: what needs it, told when it does not hold; "" or missing: it is declared

  NodeId add(Node n);          // gives it the next id
  Node& at(NodeId id);
  const Node& at(NodeId id) const;
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }
  const Node* find(std::string_view name) const;
  /// Conjunction of all facts.
  Cond context() const;
  Sym sizeOf(Sym dim) const;   // `t` -> `T`

 private:
  std::vector<Node> nodes_;    // dead nodes keep their slot with no pieces
};

/// All nodes read by a node's bodies, in order of appearance, with repeats.
void forEachRead(const Node& n, const std::function<void(const Piece&, const Expr& read)>& f);

/// Text form. `parseGraph(print(g))` prints the same text again. Grammar: docs/internals.md.
std::string print(const Graph& g);
std::string print(const Graph& g, const Node& n);
std::string print(const Graph& g, const ExprPtr& e);
/// Throws GraphError with line and column.
Graph parseGraph(const std::string& text);

/// A broken invariant: message names rule and node.
struct GraphError : std::runtime_error {
  using runtime_error::runtime_error;
};
/// Checks structure: arities, dtypes, variables in scope, reads with one index per dim and axis, disjoint pieces (with
/// `deep`, by isl), reads defined (with `deep`). Throws GraphError.
void verify(const Graph& g, bool deep = false);

}  // namespace tempo
