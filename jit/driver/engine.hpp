// What a compiled program looks like to the driver, whatever the device.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "driver/bind.hpp"
#include "driver/effects.hpp"
#include "plan/plan.hpp"

namespace tempo {

struct EngineRun {
  const Bound& bound;
  uint64_t seed = 0;
  int threads = 0;
  std::atomic<int32_t>* stop = nullptr;   // never null
  EffectSink& effects;
  RunListener* listener = nullptr;
};

/// A loop of the host, outermost: what a progress bar counts.
struct OuterLoop {
  std::string dim;
  Ix length;                      // over sizes
};
std::vector<OuterLoop> outerLoops(const Plan& plan);

struct EngineOutcome {
  std::optional<Failure> failure;
  std::vector<NamedArray> outputs;
  int64_t plannedBytes = 0, allocatedBytes = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineOutcome run(const EngineRun& run) = 0;
};

/// Interprets the graph. Outputs have the nodes' dtypes, or f64 with `exact`.
std::unique_ptr<Engine> makeOracleEngine(const Graph& g, bool exact);

/// The shape of an output's array and its box: per dim of the node the range.
std::vector<int64_t> outputShape(const Graph& g, const Output& o, const Env& sizes);

}  // namespace tempo
