// A program as a run needs it, without its equations: what it takes and gives, and its kernels. Kept in the cache under the
// source text and all else the front end looked at, so that a program run again starts without type checking and planning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/stages.hpp"

namespace tempo {

/// What elaboration asked of the outside, with the answers: an image is good as long as they are the same.
struct Probes {
  struct Module {
    std::string name, text;
  };
  struct Input {
    std::string name, path, member;
    std::optional<FileShape> shape;
  };
  std::vector<Module> modules;   // in the order their texts were numbered
  std::vector<Input> inputs;
};

/// The key of a program's image: its text and every option that code depends on.
std::string imageKey(const CompileOptions& options, const std::string& path, const std::string& text);
/// `v` must be lowered.
std::string encodeImage(const Variant& v, const Probes& probes, const Sources& sources);
/// Reads the probes; throws ImageError.
Probes imageProbes(const std::string& image);
/// The variant in an image whose probes hold. Places refer to `sources`, where the texts of its modules must have been added
/// in the order of the probes. Throws ImageError.
std::unique_ptr<Variant> decodeImage(const std::string& image, Sources& sources);

}  // namespace tempo
