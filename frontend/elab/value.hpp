// What an expression of the language evaluates to while it is elaborated. A tensor is a *pull array*: which dims it depends
// on, its axis lengths, its dtype, and a generator that gives the scalar expression at a position. Slices, transposes and
// element-wise operations compose generators, so they cost no nodes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ast/ast.hpp"
#include "sdg/graph.hpp"

namespace tempo::elab {

/// Literals, dims and sizes take the dtype of the other side.
enum class Weak : uint8_t { None, Int, Float };

/// The scalar at axis positions `pos`; a weak array gives it as `want`, any other in its own dtype.
using Gen = std::function<ExprPtr(const std::vector<Ix>& pos, DType want)>;

/// A read of one node whose indices use the array's `holes` for axis positions; what can be gathered from.
struct Access {
  NodeId node;
  std::vector<Index> at;
};

struct Array {
  bool unknown = false;          // type not inferred yet: only `dims` means anything
  std::set<Sym> dims;            // dims (and bound variables) it depends on
  std::vector<Ix> shape;
  DType dtype = DType::F32;
  Weak weak = Weak::None;
  std::optional<Ix> ix;          // scalar made of dims and sizes: the value as an index expression
  /// A scalar made of dims and sizes that is no affine index expression as it stands: asked for one, a size that multiplies
  /// a dim is specialised, and a product of two dims reported. As a value it needs neither.
  std::function<Ix()> later;
  bool never = false;            // `later` can only report
  std::set<Sym> mention;         // dims that an index expression names, by itself or by their size
  std::optional<Cond> cond;      // truth value made of dims and sizes
  std::optional<double> number;  // literal
  std::optional<Ix> lo, hi;      // proved bounds of an integer value: lo <= v < hi
  std::optional<Access> access;
  std::vector<Sym> holes;        // of `access`, one per axis
  Gen gen;
  Loc loc;

  size_t rank() const { return shape.size(); }
};
using Arr = std::shared_ptr<const Array>;

struct Scope;
using ScopePtr = std::shared_ptr<Scope>;
struct Value;
struct Entry;

struct RangeValue {
  Arr lo, hi, step;
};

/// A function, a module (called, it makes an instance), a builtin, or an instance's `call`.
struct Callable {
  const ast::Stmt* decl = nullptr;   // Fn or Module
  std::string builtin;
  ScopePtr scope;                    // where it was declared
  std::vector<Sym> dims;             // dims given in brackets so far
  bool dimsGiven = false;
};

/// An instance of a module: its members, looked up (and elaborated) by name, seen through an index.
struct Instance {
  ScopePtr scope;
  std::vector<std::string> order;    // members that are parameters or instances, in source order
  Subst at;                          // dims fixed by an index on the instance
};

struct Value {
  enum class Kind : uint8_t { Array, Range, String, List, Tuple, Instance, Callable, Namespace };
  Kind kind = Kind::Array;
  Arr array;
  std::shared_ptr<RangeValue> range;
  std::string text;
  std::vector<Value> items;
  std::shared_ptr<const Instance> instance;
  std::shared_ptr<const Callable> callable;
  ScopePtr scope;                    // Namespace

  static Value of(Arr a) {
    Value v;
    v.array = std::move(a);
    return v;
  }
};

/// Where an expression stands.
struct Context {
  std::string path;                          // names nodes: `y.softmax`
  Cond active = Cond();                      // what is known of dims here
  std::set<Sym> dims;                        // of the equation: a draw differs at each of their points
  std::vector<Sym> bound;                    // bound variables of enclosing comprehensions
  std::optional<std::vector<Ix>> shape;      // written on the left: the shape of a draw that says none
};

/// An equation (or several of one tuple) with a plain left inside a function or module: elaborated when first read.
struct LazyEquation {
  const ast::Stmt* stmt = nullptr;
  ScopePtr scope;
  Context context;                   // of the place that declared it
  bool forced = false, busy = false;
  Value value;
};

struct Binding {
  enum class Kind : uint8_t { Value, Let, Dim, Tensor, Lazy };
  Kind kind = Kind::Value;
  Value value;                       // Value
  const ast::Expr* let = nullptr;    // Let: substituted, evaluated where it was declared
  ScopePtr letScope;
  Sym dim;                           // Dim
  Entry* entry = nullptr;            // Tensor
  std::shared_ptr<LazyEquation> lazy;
  size_t item = 0;                   // Lazy: which target of a tuple
};

struct Scope {
  ScopePtr parent;
  std::map<std::string, Binding> names;
  bool function = false;             // dims of the program behind it are no business of it
  uint32_t file = 0;
};

/// One left side with its right side.
struct PieceDef {
  const ast::Stmt* stmt = nullptr;
  const ast::Target* target = nullptr;
  size_t item = 0, items = 1;        // position in a tuple left
};

/// How a piece's equation variables map to the points of the tensor.
struct LeftMap {
  std::set<Sym> used;                // dims the left names
  Subst toEquation;                  // node dim -> its equation variable's value at that node point
  Cond where = Cond();               // over node dims: which node points the left reaches
  Cond active = Cond();              // over equation variables
};

struct PieceResult {
  const PieceDef* def = nullptr;
  Arr value;
  std::vector<LeftMap> lefts;        // several for `next`
  Cond when = Cond();
  Loc loc;
};

/// A tensor defined by equations (or an input). The signature survives from round to round until nothing changes.
struct Entry {
  std::string name;
  Span span;
  bool plain = false, input = false, local = false;
  std::vector<PieceDef> pieces;
  ScopePtr scope;
  std::optional<ast::TypeExpr> declared;

  bool known = false, failed = false, structure = false, dead = false;
  std::set<Sym> dims;
  std::vector<Ix> shape;
  DType dtype = DType::F32;
  std::optional<Ix> lo, hi;
  int boundChanges = 0;
  std::string signature;             // as text, of the round before

  NodeId node;                       // of this round
  std::vector<PieceResult> results;  // of this round
  std::set<Sym> seenDims;            // of this round
};

}  // namespace tempo::elab
