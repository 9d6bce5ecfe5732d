// From settings, files and arrays to what a run needs: the value of every size, and every input as an array of the declared
// dtype and shape.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "driver/driver.hpp"
#include "driver/settings.hpp"

namespace tempo {

/// A run's inputs, before they are read.
struct InputSource {
  std::optional<Array> array;
  FileRef file;                                  // if there is no array
  ArrayHeader header;
};

struct Bound {
  Env sizes;                                     // all, derived ones included
  std::map<std::string, Array> inputs;           // by node name; options too
};

/// Which array or file each input of the graph takes; default files are relative to `folder`. Inputs without one are absent
/// from the result. Reads headers only.
Result<std::map<std::string, InputSource>> inputSources(const Graph& g, const std::map<std::string, FileRef>& files,
                                                        const std::map<std::string, Array>& arrays, const std::string& folder);
/// Sizes given, then sizes left open from the inputs, then defaults and definitions; checks `T >= 1`.
Result<Env> resolveSizes(const Graph& g, const TypedSettings& settings, const std::map<std::string, InputSource>& sources,
                         const std::map<std::string, int64_t>& fromFiles);
/// What else the program declares of its sizes.
std::optional<Failure> checkFacts(const Graph& g, const Env& sizes);
/// The shape the graph wants for an input, with the sizes' values.
std::vector<int64_t> inputShape(const Graph& g, const Node& n, const Env& sizes);
/// Reads, converts and checks every input.
Result<std::map<std::string, Array>> bindInputs(const Graph& g, const TypedSettings& settings, const Env& sizes,
                                                const std::map<std::string, InputSource>& sources, bool sampleInputs);
/// `f32[D, 64] over (t)`
std::string typeText(const Node& n);

}  // namespace tempo
