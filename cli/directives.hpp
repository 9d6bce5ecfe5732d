// Tests written in a program's comments. A directive is one comment line that starts with `## ` and one of the words below;
// a comment line `##` followed by three or more spaces continues the one above.
//
//   ## test T=4 x=[1, 2, 3, 4] : y == [1, 1.5, 2, 2.5]
//     Runs the program with these sizes, options and inputs, and compares. Left of `==` stands an expression over the
//     program's names; right of it a value: a number, true, false, nan, inf, or nested lists of them. Several comparisons are
//     separated by `;`. Agreement is |a - b| <= r * (1 + |b|) with r = 1e-5, or as given: `y == [0.5] ~ 1e-3`. Shapes must be
//     the same. Lists in the expression are tensors; a list after `name =` inside a call stays a list.
//     A module is tested the same way: `## test : softmax([1, 2]) == [0.26894, 0.73106]`. What it does not declare is made
//     for the test: a number `T=5` is a dim `t` of that size, a list `x=[...]` an input over those dims, in the order given,
//     whose sizes lead its shape.
//
//   ## error E0301 : y[t] = x[t-1]
//     The program with these statements (separated by `;`) has this error. A statement replaces the one with the same left
//     side, `s[t]`; a plain left `s` replaces all pieces of `s`; a new left adds a piece. Nothing after the colon: the
//     program as it stands has the error.
//
//   ## compiles 1 : T=4, T=8, T=100
//     Runs one loaded program with each group of settings in turn (groups separated by `,`, settings in one by spaces); that
//     takes this many compilations. Inputs bound to nothing get sample values.
//
//   ## peak_mem <= 4096 : T=100
//     Besides its inputs the program takes at most so many bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "array.hpp"
#include "driver/failure.hpp"

namespace tempo::cli {

struct Comparand {
  std::string expression;     // source text left of `==`
  Array expected;             // f64
  double tolerance = 1e-5;
};

struct Directive {
  enum class Kind : uint8_t { Test, Error, Compiles, PeakMem };
  Kind kind = Kind::Test;
  int line = 0;
  std::string text;                                          // as written, for messages
  std::vector<std::map<std::string, std::string>> settings;  // Compiles: one per group; else one
  std::vector<std::string> order;                            // names of settings, as written
  std::map<std::string, Array> inputs;                       // f64
  std::vector<Comparand> comparands;                         // Test
  std::string code, snippet;                                 // Error
  int64_t number = 0;                                        // Compiles, PeakMem
};

/// All directives of a text. A failure's place is `path:line`.
Result<std::vector<Directive>> parseDirectives(const std::string& text, const std::string& path);
/// A value as written in a directive; false if it is none.
bool parseValue(const std::string& text, Array* out);

}  // namespace tempo::cli
