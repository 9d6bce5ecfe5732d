// The cases of tests/reference/expected: a sample, its settings and inputs, and what a plain formula says comes out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/driver.hpp"

namespace tempo::test {

struct Case {
  std::string name, sample;                     // sample: path below samples/
  double rtol = 0, atol = 0;
  std::map<std::string, std::string> settings;
  std::string file;                             // the case's npz
  std::map<std::string, FileRef> inputs;        // none: the sample's own data
  std::vector<std::string> outputs;
  bool shipped() const { return inputs.empty(); }
};

/// In the order of the manifest. Throws std::runtime_error on a line that makes no sense.
std::vector<Case> readCases();
CompileOptions optionsOf(const Case& c);
std::string samplePath(const Case& c);

/// "" if every output is within rtol * |expected| + atol of the formula's, else the first difference. NaN only equals NaN.
std::string compareWithFormula(const Case& c, const RunResult& r);
/// "" if the outputs have the same names, shapes and bytes.
std::string compareBytes(const RunResult& a, const RunResult& b);
/// The failure in words, with the rendered diagnostics.
std::string describe(const Failure& f, const Diagnostics& d);

}  // namespace tempo::test
