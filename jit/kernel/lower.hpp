// Plan to Kernel IR: the one lowering that every target shares.
#pragma once

#include "kernel/kir.hpp"
#include "plan/plan.hpp"

namespace tempo {

/// Where a run-time fault came from, to tell the user.
struct FaultSite {
  Loc loc;
  std::string node;                     // the equation that reads
  std::string tensor;                   // what it reads
  std::vector<std::string> names;       // names of the reported values: "index", "low", "high", dims, axes
};

/// Where an input or output array's elements are in its buffer.
struct ArrayMap {
  std::string name;
  NodeId node;
  int buffer = -1;
  DType dtype = DType::F32;
  std::vector<Ix> shape;                // of the user's array, over sizes
  std::vector<Ix> strides;              // elements, per axis of the array
  Ix offset;                            // of the first element
  std::string path;                     // outputs: `to "file"`
};

struct EffectMap {
  std::vector<int> values;              // staging buffers
  std::vector<DType> dtypes;
  std::vector<std::vector<Ix>> shapes;  // over sizes and the effect's dims
  int on = -1;                          // bool staging buffer, -1: always
};

struct Lowered {
  kir::Program program;
  std::vector<ArrayMap> inputs, outputs;
  std::vector<EffectMap> effects;
  std::vector<FaultSite> sites;
  std::vector<std::pair<NodeId, int>> nodeBuffers;  // who owns which buffer, for `tempo plan`
};

Lowered lower(const Plan& plan);

}  // namespace tempo
