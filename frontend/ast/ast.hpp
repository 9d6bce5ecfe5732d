// The abstract syntax tree of `.tempo` source: plain structs, one per construct, spans on everything.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diag/diag.hpp"
#include "sdg/dtype.hpp"

namespace tempo::ast {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;
struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;

struct Name {
  std::string text;
  Span span;
};

/// `lo : hi : step`; a plain index has `lo` only. `:` alone has none. `name = ...` names the dim.
/// `lo : hi` after `within` states what a tensor-valued index may touch. `None` and `...` as written.
struct Index {
  enum class Kind : uint8_t { Point, Range, NewAxis, Ellipsis };
  Kind kind = Kind::Point;
  std::optional<Name> dim;            // r[t = 0]
  ExprPtr lo, hi, step;               // Point: lo
  ExprPtr withinLo, withinHi;         // Point only
  Span span;
};

struct Arg {
  std::optional<Name> name;           // keyword argument
  ExprPtr value;
  Span span;
};

/// One `over` item: a dim, with a sub-range if `lo` is set: `over = t in 0 : T-1`. `hi` is null if `lo` names a range.
struct OverItem {
  Name dim;
  ExprPtr lo, hi;
};

struct Expr {
  enum class Kind : uint8_t {
    Number,         // number, isFloat
    String,         // text
    Bool,           // number 0/1
    NameRef,        // text; primes allowed: s'
    Unary,          // text: "-" "not"; args[0]
    Binary,         // text: + - * / // % ** @ == != < <= > >= and or; args[0..1]
    If,             // args: condition, then, else
    Call,           // args[0] callee; callArgs, over; a Range may be the value of an argument
    Index,          // args[0] base; indices, axisIndices (after `;`), hasSemicolon
    Member,         // args[0] base; text
    Tuple,          // args
    List,           // args; or a comprehension `[e for x in list]`: args[0] is e, binders[0] has var x and lo = list
    Comprehension,  // text: sum max min prod mean all any argmax softmax stack; binders; args[0] body
    Block,          // fn body: statements then args[0]
    Range,          // lo : hi : step as a value (let); args 2 or 3
  };
  struct Binder {   // s in lo : hi; hi is null in `s in window`, where lo names a dim or a range
    Name var;
    ExprPtr lo, hi, step;
  };
  Kind kind;
  Span span;
  std::string text;
  double number = 0;
  int64_t integer = 0;
  bool isFloat = false;
  std::vector<ExprPtr> args;
  std::vector<Arg> callArgs;
  std::vector<OverItem> over;          // Call: `over = ...`
  std::vector<Index> indices, axisIndices;
  bool hasSemicolon = false;
  std::vector<Binder> binders;
  std::vector<StmtPtr> body;           // Block
};

/// `f32[B, 64]`: a missing dtype or shape is inferred.
struct TypeExpr {
  std::optional<DType> dtype;
  std::optional<std::vector<ExprPtr>> shape;
  Span span;
};

/// Left side of an equation: `x`, `x[0, t+1]`, `net[i = 0, e = 0]`.
struct Target {
  Name name;
  bool indexed = false;
  std::vector<Index> indices;
  Span span;
};

struct DimDecl {
  Name dim;
  Name size;
  ExprPtr atLeast;       // T >= 1
  ExprPtr value;         // default
};

struct Param {
  Name name;
  ExprPtr value;         // default, may be null
  std::optional<TypeExpr> type;
};

struct SizeDecl {
  Name name;
  ExprPtr value;
  ExprPtr atLeast;
};

struct InputItem {
  Name name;
  std::vector<Name> dims;
  bool hasDims = false;
  std::optional<TypeExpr> type;
  ExprPtr value;         // npy("x.npy"), csv("f.csv", column = "x")
};

struct ReportItem {
  std::optional<Name> name;
  ExprPtr value;
  Span span;             // of the value: its text is the default name
};

struct Stmt {
  enum class Kind : uint8_t {
    Dim,        // dims; until
    Size,       // sizeDecls
    Input,      // inputItems
    Option,     // name, type, value, text (help)
    Let,        // names (one or more), value
    Equation,   // targets (one, or several for a tuple), type, value, when | otherwise
    Next,       // names = dims; targets[0]; value: `next(i, e) p = ...`
    Output,     // targets with indices as in an equation; text: file of `to`, which has one target
    Report,     // every (count, dim in text), reportItems, when
    Print,      // reportItems, when
    Assert,     // value, text (message), when
    Save,       // names, every
    Use,        // text: module or file; name: alias, empty if none; value: the String of a file, null for a module.
                // `use nn, optim` is one Stmt each
    Fn,         // name, dimParams, params, value (Block for braces), doc
    Module,     // name, dimParams, params, body, doc
    Param,      // `param w : f32[..] = init`: name, type, value
    Extern,     // recognised, not in this language version
    For,        // `for x in list { ... }` in module bodies: name, value, body
    Test,       // `##` at the start of a line: text is what follows it, trimmed; one Stmt each, in order of place
  };
  Kind kind;
  Span span;
  Name name;
  std::vector<Name> names;
  std::vector<DimDecl> dims;
  std::vector<SizeDecl> sizeDecls;
  std::vector<InputItem> inputItems;
  std::vector<Target> targets;
  std::vector<Name> dimParams;
  std::vector<Param> params;
  std::optional<TypeExpr> type;
  ExprPtr value;
  ExprPtr until;
  ExprPtr when;
  bool otherwise = false;
  ExprPtr every;
  std::vector<ReportItem> reportItems;
  std::vector<StmtPtr> body;
  std::string text;
  std::string doc;       // the comment lines directly above
};

struct Comment {
  Span span;             // from `#` to the end of the line
};

struct File {
  uint32_t source = 0;   // index into Sources
  std::vector<StmtPtr> stmts;
  std::vector<Comment> comments;
};

/// `tempo emit --ast`: an indented tree, stable across runs.
std::string print(const File& f, const Sources& s);

}  // namespace tempo::ast
