// Elaborates source text and runs the oracle on it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "elab/elaborate.hpp"
#include "oracle/oracle.hpp"
#include "parse/parse.hpp"
#include "stdlib.hpp"

namespace tempo::elabtest {

struct Compiled {
  std::unique_ptr<Sources> sources = std::make_unique<Sources>();
  std::unique_ptr<Diagnostics> diags;
  std::optional<Elaborated> program;
  std::string text() const { return renderHuman(*diags, false); }
  /// Codes of the errors, in order of place: "E0301 E0403".
  std::string codes() const;
};

using Files = std::map<std::string, FileShape>;

Compiled compile(const std::string& source, std::map<std::string, int64_t> sizes = {}, Files files = {});

/// A dense f64 array.
Array array(std::vector<int64_t> shape, std::vector<double> values);

/// Outputs of a program that must compile.
struct Run {
  std::map<std::string, std::vector<double>> out;
  std::map<std::string, std::vector<int64_t>> shape;
  std::vector<EffectRecord> effects;
};
Run run(const std::string& source, std::map<std::string, int64_t> sizes = {}, std::map<std::string, Array> inputs = {},
        uint64_t seed = 0);

/// The one error a program must give.
std::string errorOf(const std::string& source, std::map<std::string, int64_t> sizes = {});

void near(const std::vector<double>& got, const std::vector<double>& want, double tolerance = 1e-5);

}  // namespace tempo::elabtest
