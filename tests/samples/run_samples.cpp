// Every sample against a plain formula, against the oracle, with passes off, and with other numbers of threads.
#include "catch.hpp"

#include "pipeline.hpp"
#include "samples/cases.hpp"

using namespace tempo;
using namespace tempo::test;

namespace {

struct Outcome {
  RunResult result;
  std::string problem;  // "" if it ran
};

Outcome runCase(const Case& c, const CompileOptions& compile, const RunOptions& run, bool oracle = false) {
  Sources sources;
  Diagnostics diags(sources);
  auto program = Program::load({samplePath(c), std::nullopt}, compile, diags);
  if (!program) return {{}, describe(program.failure(), diags)};
  Outcome out;
  out.result = oracle ? (*program)->oracle(run) : (*program)->run(run);
  if (out.result.failure) out.problem = describe(*out.result.failure, diags);
  return out;
}

std::string judge(const Case& c, const Outcome& o) {
  return o.problem.empty() ? compareWithFormula(c, o.result) : o.problem;
}

/// The last case of each sample that has inputs of its own: neither empty nor large.
std::vector<Case> onePerSample() {
  std::map<std::string, Case> last;
  for (const auto& c : readCases()) {
    if (!c.shipped()) last[c.sample] = c;
  }
  std::vector<Case> cases;
  for (auto& [sample, c] : last) cases.push_back(c);
  return cases;
}

/// Each pass alone, and all of them.
std::vector<std::string> passSets() {
  std::vector<std::string> sets = passNames();
  sets.push_back("all");
  return sets;
}

}  // namespace

TEST_CASE("samples give what the formulas of their papers give", "[samples]") {
  for (const auto& c : readCases()) {
    INFO(c.name);
    CHECK(judge(c, runCase(c, optionsOf(c), {})) == "");
  }
}

TEST_CASE("samples give the same by the oracle", "[samples]") {
  for (const auto& c : readCases()) {
    if (c.shipped()) continue;
    INFO(c.name);
    CHECK(judge(c, runCase(c, optionsOf(c), {}, true)) == "");
  }
}

TEST_CASE("samples give the same with passes off", "[samples]") {
  for (const auto& c : onePerSample()) {
    for (const auto& off : passSets()) {
      INFO(c.name << " without " << off);
      CompileOptions options = optionsOf(c);
      options.passesOff = {off};
      CHECK(judge(c, runCase(c, options, {})) == "");
    }
  }
}

TEST_CASE("samples give the same bits on any number of threads", "[samples]") {
  for (const auto& c : onePerSample()) {
    RunOptions one;
    one.threads = 1;
    const Outcome first = runCase(c, optionsOf(c), one);
    INFO(c.name);
    REQUIRE(first.problem == "");
    for (const int threads : {2, 3, 8}) {
      RunOptions many;
      many.threads = threads;
      const Outcome other = runCase(c, optionsOf(c), many);
      INFO(threads << " threads");
      CHECK(other.problem == "");
      CHECK(compareBytes(first.result, other.result) == "");
    }
  }
}

TEST_CASE("one compilation serves every length", "[samples]") {
  std::map<std::string, std::vector<Case>> bySample;
  for (const auto& c : readCases()) {
    if (!c.shipped() && c.sample == "attention/window.tempo") bySample[c.sample].push_back(c);
  }
  for (const auto& [sample, cases] : bySample) {
    Sources sources;
    Diagnostics diags(sources);
    auto program = Program::load({samplePath(cases[0]), std::nullopt}, optionsOf(cases.back()), diags);
    REQUIRE(program);
    for (const auto& c : cases) {
      INFO(c.name);
      RunOptions run;
      run.settings = c.settings;
      run.inputs = c.inputs;
      Outcome out;
      out.result = (*program)->run(run);
      if (out.result.failure) out.problem = describe(*out.result.failure, diags);
      CHECK(judge(c, out) == "");
    }
    CHECK((*program)->stats().compilations == 1);
  }
}
