// tempo_fuzz: random programs through the compiler and the oracle.
//   tempo_fuzz FIRST COUNT [--off all|each|PASS] [--threads N] [--print] [--keep-going]
// Prints a minimal program for the first disagreement and exits 1. At the end says how many programs were valid, so that a
// generator that has gone blind is seen; fewer than 9 in 10 is a failure too.
#include <cstdio>
#include <cstring>
#include <string>

#include "driver/driver.hpp"
#include "fuzz/generate.hpp"
#include "pipeline.hpp"

using namespace tempo;

namespace {

struct Verdict {
  bool valid = true;
  std::string problem;  // "" is agreement
};

Verdict check(const fuzz::Program& p, const std::set<std::string>& off, int threads) {
  Sources sources;
  Diagnostics diags(sources);
  CompileOptions co;
  co.passesOff = off;
  co.cache = false;
  co.verify = true;
  for (const auto& [n, v] : p.sizes) co.settings[n] = std::to_string(v);
  auto program = Program::load({"fuzz.tempo", p.text()}, co, diags);
  if (!program) return {false, renderHuman(diags, false) + program.failure().message};
  RunOptions run;
  run.sampleInputs = true;
  run.threads = threads;
  run.seed = 1;
  auto c = (*program)->compareWithOracle(run);
  if (!c) return {true, "failed: " + c.failure().message};
  for (const Comparison& x : *c) {
    if (x.agrees) continue;
    std::string at;
    for (int64_t i : x.at) at += (at.empty() ? "" : ", ") + std::to_string(i);
    return {true, x.output + "[" + at + "] is " + std::to_string(x.value) + ", the oracle says " + std::to_string(x.expected)};
  }
  return {};
}

fuzz::Program shrink(fuzz::Program p, const std::set<std::string>& off, int threads) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const fuzz::Program& q : fuzz::shrinkSteps(p)) {
      if (q.weight() >= p.weight()) continue;
      Verdict v = check(q, off, threads);
      if (!v.valid || v.problem.empty()) continue;
      p = q;
      smaller = true;
      break;
    }
  }
  return p;
}

std::string sizesText(const fuzz::Program& p) {
  std::string s;
  for (const auto& [n, v] : p.sizes) s += " " + n + "=" + std::to_string(v);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: tempo_fuzz FIRST COUNT [--off all|each|PASS] [--threads N] [--print] [--keep-going]\n"), 2;
  uint64_t first = std::stoull(argv[1]), count = std::stoull(argv[2]), valid = 0, wrong = 0;
  std::vector<std::set<std::string>> variants{{}};
  int threads = 1;
  bool keepGoing = false, show = false;
  for (int i = 3; i < argc; ++i) {
    std::string a = argv[i];
    if (a == "--off" && i + 1 < argc) {
      std::string what = argv[++i];
      variants.clear();
      if (what == "each")
        for (const std::string& p : passNames()) variants.push_back({p});
      else
        variants.push_back({what});
    } else if (a == "--threads" && i + 1 < argc) {
      threads = std::stoi(argv[++i]);
    } else if (a == "--keep-going") {
      keepGoing = true;
    } else if (a == "--print") {
      show = true;
    }
  }
  for (uint64_t seed = first; seed < first + count; ++seed) {
    fuzz::Program p = fuzz::generate(seed);
    if (show) std::printf("# seed %llu%s\n%s\n", (unsigned long long)seed, sizesText(p).c_str(), p.text().c_str());
    bool ok = true;
    for (const auto& off : variants) {
      Verdict v = check(p, off, threads);
      if (!v.valid) {
        ok = false;
        if (show || keepGoing) std::printf("# seed %llu is refused: %s\n", (unsigned long long)seed, v.problem.c_str());
        break;
      }
      if (v.problem.empty()) continue;
      ++wrong;
      fuzz::Program q = shrink(p, off, threads);
      std::printf("seed %llu%s%s: %s\nminimal:%s\n%s\n", (unsigned long long)seed, off.empty() ? "" : " without ",
                  off.empty() ? "" : off.begin()->c_str(), check(q, off, threads).problem.c_str(), sizesText(q).c_str(),
                  q.text().c_str());
      if (!keepGoing) return 1;
      break;
    }
    valid += ok;
  }
  std::printf("%llu programs, %llu valid, %llu wrong\n", (unsigned long long)count, (unsigned long long)valid, (unsigned long long)wrong);
  return wrong || valid * 10 < count * 9 ? 1 : 0;
}
