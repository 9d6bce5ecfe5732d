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

/// Philox4x32-10 (Salmon and others, SC 2011) of a counter, in place.
void philox4x32(uint32_t counter[4], uint32_t key0, uint32_t key1);
/// The random word of a stream at a point; the one definition, which every target reproduces bit for bit.
///   key      k = seed ^ mix(stream), key word 0 = low 32 bits of k, key word 1 = high 32 bits;
///   mix(z)   SplitMix64: z += 0x9E3779B97F4A7C15; z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
///            z = (z ^ z >> 27) * 0x94D049BB133111EB; z ^ z >> 31;
///   counter  word i = low 32 bits of point[i] for i < 4, 0 where the point is shorter; for each i >= 4 in order,
///            word 3 = low 32 bits of mix(word 3 << 32 | low 32 bits of point[i]);
///   result   word 0 of the output after ten rounds.
uint32_t philox(uint64_t seed, uint64_t stream, const int64_t* point, int rank);
/// FNV-1a of the stream name.
uint64_t streamKey(const std::string& stream);

}  // namespace tempo
