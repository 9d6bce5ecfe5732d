// The oracle: the meaning of a program, point by point, in float64. No pass runs before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "array.hpp"
#include "sdg/graph.hpp"

namespace tempo {

struct OracleOptions {
  Env sizes;                              // every size, derived ones included
  std::map<std::string, Array> inputs;    // by node name; options too
  uint64_t seed = 0;
  /// f64: exact arithmetic in double; otherwise each node's value is rounded to its dtype (bf16, f16, f32, ints).
  bool roundToDType = true;
  int64_t maxPoints = 50'000'000;         // more demanded points than this is an OracleError
};

struct OracleError : std::runtime_error {
  using runtime_error::runtime_error;
};

struct EffectRecord {
  size_t effect;                          // index into Graph::effects
  std::vector<int64_t> point;             // of its dims
  std::vector<std::vector<double>> values;
};

struct OracleResult {
  std::map<std::string, Array> outputs;   // by output name; dtype F64 always
  std::vector<EffectRecord> effects;      // lexicographic within each effect
  int64_t points = 0;                     // scalar values computed
};

/// Throws OracleError on reads outside what is defined (with node and point), missing inputs, failed asserts.
OracleResult interpret(const Graph& g, const OracleOptions& o);

/// Philox4x32-10 keyed by (seed, stream name hash); counter = the point. The one definition, used by every target.
uint32_t philox(uint64_t seed, uint64_t stream, const int64_t* point, int rank);
/// FNV-1a of the stream name.
uint64_t streamKey(const std::string& stream);

}  // namespace tempo
