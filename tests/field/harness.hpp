// Runs a program given as text through the oracle, the CPU with every pass, with each pass off, with none, and through the
// emulated CUDA build, and holds each against the values a test states.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/driver.hpp"

namespace tempo::test {

using Values = std::vector<double>;

struct FieldProgram {
  std::string text;
  std::map<std::string, std::string> settings;   // sizes and options
  std::map<std::string, Array> arrays;           // inputs
  std::map<std::string, std::string> force;
};

Array f32(std::vector<int64_t> shape, const Values& v);
Array array(DType t, std::vector<int64_t> shape, const Values& v);

/// Output by name, as doubles.
struct Outputs {
  std::map<std::string, Values> values;
  std::map<std::string, std::vector<int64_t>> shapes;
  std::string problem;                            // "" if it ran
};

/// Every way to run, by name: "cpu", "cpu without recur", ..., "oracle", "emulated CUDA".
std::vector<std::string> ways();
Outputs runWay(const FieldProgram& p, const std::string& way);

/// CHECKs that output `name` is `expected` to `rtol` (0: exactly) by every way.
void gives(const FieldProgram& p, const std::string& name, const Values& expected, double rtol = 1e-5);

/// Codes of the diagnostics of a program that must not check, and the rendered text.
struct Refusal {
  std::vector<std::string> codes;
  std::string text;
};
Refusal refuses(const FieldProgram& p);

/// Loads and compiles for the CPU; REQUIREs that it works. `sources` and `diags` live in the holder.
struct Loaded {
  Sources sources;
  Diagnostics diags{sources};
  std::shared_ptr<Program> program;
};
std::unique_ptr<Loaded> load(const FieldProgram& p, CompileOptions options = {});

}  // namespace tempo::test
