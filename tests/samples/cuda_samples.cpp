// Every sample's CUDA text: compiled by NVRTC for the architectures we promise, and run in the emulator against the formulas.
#include <set>

#include "catch.hpp"
#include "cuda/emit.hpp"
#include "cuda/nvrtc.hpp"
#include "emulated.hpp"
#include "samples/cases.hpp"

using namespace tempo;
using namespace tempo::test;

namespace {

/// Two cases of each sample with inputs of their own: its last (neither empty nor large) and its first (often empty).
std::vector<Case> twoPerSample() {
  std::map<std::string, std::pair<Case, Case>> ends;
  for (const Case& c : readCases()) {
    if (c.shipped()) continue;
    auto [it, fresh] = ends.try_emplace(c.sample, c, c);
    it->second.second = c;
  }
  std::vector<Case> out;
  for (auto& [sample, pair] : ends) {
    out.push_back(pair.first);
    if (pair.second.name != pair.first.name) out.push_back(pair.second);
  }
  return out;
}

struct Open {
  Sources sources;
  Diagnostics diags{sources};
  std::shared_ptr<Program> program;
  explicit Open(const Case& c) {
    auto r = Program::load({samplePath(c), std::nullopt}, optionsOf(c), diags);
    if (r) program = *r;
  }
};

}  // namespace

TEST_CASE("samples in the emulated CUDA build give what the formulas give", "[samples][cuda]") {
  for (const Case& c : twoPerSample()) {
    for (const auto order : {emulation::Order::Forward, emulation::Order::Reversed, emulation::Order::Shuffled}) {
      INFO(c.name << ", thread order " << int(order));
      Open open(c);
      REQUIRE(open.program);
      emulation::Options options;
      options.order = order;
      const RunResult r = runEmulated(*open.program, {}, options);
      CHECK((r.failure ? r.failure->message : compareWithFormula(c, r)) == "");
    }
  }
}

TEST_CASE("NVRTC compiles every kernel of every sample", "[samples][cuda][nvrtc]") {
  std::string why;
  const cuda::Nvrtc* nvrtc = cuda::Nvrtc::get(&why);
  INFO(why);
  REQUIRE(nvrtc);
  std::set<std::string> done;
  for (const Case& c : readCases()) {
    if (!c.shipped() || !done.insert(c.sample).second) continue;
    Open open(c);
    REQUIRE(open.program);
    auto prepared = open.program->prepared({});
    REQUIRE(prepared);
    const auto emitted = cuda::emit(prepared->lowered->program);
    for (const int arch : {80, 90}) {
      INFO(c.sample << " for sm_" << arch);
      const cuda::Compiled made = nvrtc->compile(emitted.source, arch, cuda::Image::Cubin);
      INFO(made.log);
      CHECK(made.ok);
    }
  }
  CHECK(done.size() > 20);
}
