// The buffers of a lowered program for one set of sizes, whatever the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array.hpp"
#include "driver/engine.hpp"
#include "kernel/lower.hpp"

namespace tempo {

struct BufferPlan {
  std::vector<int64_t> sizes;        // in the program's order
  std::vector<int64_t> bytes;        // per buffer
  /// Temporaries and outputs, each rounded to a cache line: what a run takes besides its inputs.
  int64_t plannedBytes = 0;
};

BufferPlan planBuffers(const Lowered& lowered, const Graph& g, const Env& sizes);

/// An ArrayMap with the sizes' values.
struct ArrayPlace {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0, count = 1;
  /// Row-major from the start: the array can be the buffer.
  bool plain = false;
};
ArrayPlace placeOf(const ArrayMap& m, const Env& sizes);
/// Copies between a dense array and the elements of a buffer.
void pack(const ArrayPlace& p, DType t, const void* array, void* buffer);
void unpack(const ArrayPlace& p, DType t, const void* buffer, void* array);

/// Tells a listener of the outermost loop alone: a program may run several loops one after the other, and what is shown must
/// not go backwards.
class ProgressTeller {
 public:
  /// `listener` may be null.
  ProgressTeller(const std::vector<OuterLoop>& loops, const Env& sizes, RunListener* listener);
  void step(int64_t done, int64_t total);

 private:
  RunListener* listener_;
  int64_t total_ = -1;
  bool finished_ = false;
};

/// What to tell of a run-time fault.
Failure faultFailure(const Lowered& lowered, const Sources& sources, int64_t site, const int64_t* values, int64_t count);

/// Collects what staged effects say; after a failed assert everything else is ignored.
class StagedEffects {
 public:
  using Bytes = std::function<const void*(int buffer)>;
  StagedEffects(const Lowered& lowered, const Graph& g, const Env& sizes, EffectSink& sink)
      : lowered_(lowered), graph_(g), sizes_(sizes), sink_(sink) {}
  /// `buffer` gives the staged bytes. Returns false when the run must stop.
  bool occur(int effect, const int64_t* point, const Bytes& buffer);
  const std::optional<Failure>& failure() const { return failure_; }

 private:
  const Lowered& lowered_;
  const Graph& graph_;
  const Env& sizes_;
  EffectSink& sink_;
  std::optional<Failure> failure_;
};

}  // namespace tempo
