// Random well-typed Tempo programs: dims, shifts, ranges, windows, guards, pieces, recurrences both ways, reductions,
// contractions, softmax, gathers. Every program is legal by construction: reads go to earlier equations or, in a
// recurrence, to points already computed, and every index is clamped or guarded into its range.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tempo::fuzz {

struct Type {
  std::vector<std::string> axes;  // lengths, as text
  std::string dtype = "f32";
  bool operator==(const Type&) const = default;
};

/// An expression: a text with holes `$0`, `$1`, ... for its arguments.
struct Expr {
  std::string text;
  std::vector<std::shared_ptr<Expr>> args;
  Type type;
  std::vector<int> reads;  // equations (>= 0) it reads itself; inputs are negative
};
using ExprPtr = std::shared_ptr<Expr>;

struct Piece {
  std::string left, guard;  // `x[t]`, ` when t < 1`
  ExprPtr value;
};

struct Equation {
  std::string name;
  std::vector<Piece> pieces;
  Type type;
  std::vector<int> dims;
};

struct Program {
  std::string header;  // dims, sizes, inputs
  std::vector<Equation> equations;
  std::vector<int> outputs;  // indices of equations
  std::vector<std::string> effects;
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::string text() const;  // only what the outputs need
  size_t weight() const;     // for shrinking
};

Program generate(uint64_t seed);

/// Some decisions of the planner to force upon `p`; not all can be had.
std::map<std::string, std::string> forces(const Program& p, uint64_t seed);

/// All programs one step smaller.
std::vector<Program> shrinkSteps(const Program& p);

}  // namespace tempo::fuzz
