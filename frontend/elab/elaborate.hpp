// AST to SDG: names, modules, inlining, types (dtype, shape, domain), and the four proofs (defined, causal, shaped, in range).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ast/ast.hpp"
#include "index/solve.hpp"
#include "sdg/graph.hpp"

namespace tempo {

/// What a file says of an input, for sizes left open: its dtype and shape. The driver fills it from headers only.
struct FileShape {
  DType dtype;
  std::vector<int64_t> shape;
};

struct ElabOptions {
  std::map<std::string, int64_t> sizes;       // -s T=64
  std::map<std::string, double> optionValues; // -s lr=1e-3
  /// Source text of `use nn`, nullopt if there is no such standard module.
  std::function<std::optional<std::string>(const std::string&)> stdlib;
  /// Shape of a bound or default input file; nullopt if there is none. Arguments: input name, default path, member.
  std::function<std::optional<FileShape>(const std::string&, const std::string&, const std::string&)> inputShape;
  bool checkCausal = true;
};

struct TypeInfo {
  std::string name;
  std::string type;                            // "f32[H, 64] over (b, t)"
  Span span;
};

struct Elaborated {
  Graph graph;
  std::map<std::string, int64_t> sizesFromFiles;  // sizes inferred, by name
  std::vector<TypeInfo> types;                    // of the user's equations, in source order
};

/// nullopt when `diags` has errors. The result passes verify(graph).
std::optional<Elaborated> elaborate(const ast::File& main, Diagnostics& diags, Solver& solver, const ElabOptions& options);

}  // namespace tempo
