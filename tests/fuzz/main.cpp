// tempo_fuzz: random programs through the compiler and the oracle.
//   tempo_fuzz FIRST COUNT [--off all|each|PASS] [--emulate] [--force] [--threads N] [--slow SECONDS]
//              [--print] [--keep-going]
//   tempo_fuzz FIRST COUNT --fault KIND|all
//   tempo_fuzz --programs FILE...
// Prints a minimal program for the first disagreement and exits 1. At the end says how many programs were valid, so
// that a generator that has gone blind is seen; fewer than 95 in 100 is a failure too. With --fault: how many programs
// it takes to find a deliberate fault of each kind; one not found within COUNT is a failure. With --programs: programs
// that were wrong once, with every pass, with each pass off, and in poisoned memory; the first line of each gives its
// sizes:
// `# T=7 W=6`.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/faults.hpp"
#include "fuzz/generate.hpp"
#include "pipeline.hpp"

using namespace tempo;

namespace {

struct Settings {
  uint64_t first = 0, count = 0;
  std::vector<fuzz::Variant> variants{{}};
  std::string fault;
  int threads = 1;
  double slow = 0;
  bool emulate = false, force = false, keepGoing = false, show = false;
};

using Seed = unsigned long long;

std::string sizesText(const fuzz::Program& p) {
  std::string s;
  for (const auto& [n, v] : p.sizes) s += " " + n + "=" + std::to_string(v);
  return s;
}

std::string variantText(const fuzz::Variant& v) {
  std::string s;
  for (const std::string& o : v.off) s += " without " + o;
  for (const auto& [k, f] : v.force) s += " forced " + k + "=" + f;
  if (v.way == fuzz::Way::Poisoned) s += " in poisoned memory";
  if (v.way == fuzz::Way::Emulated) s += " emulated";
  return s;
}

fuzz::Program shrink(fuzz::Program p, const fuzz::Variant& variant) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const fuzz::Program& q : fuzz::shrinkSteps(p)) {
      if (q.weight() >= p.weight()) continue;
      fuzz::Verdict v = fuzz::check(q, variant);
      if (!v.valid || v.problem.empty()) continue;
      p = q;
      smaller = true;
      break;
    }
  }
  return p;
}

Settings parse(int argc, char** argv) {
  Settings s;
  s.first = std::stoull(argv[1]);
  s.count = std::stoull(argv[2]);
  for (int i = 3; i < argc; ++i) {
    std::string a = argv[i];
    bool more = i + 1 < argc;
    if (a == "--off" && more) {
      std::string what = argv[++i];
      s.variants.clear();
      for (const std::string& p : what == "each" ? passNames() : std::vector<std::string>{what}) {
        s.variants.emplace_back();
        s.variants.back().off = {p};
      }
    } else if (a == "--threads" && more) {
      s.threads = std::stoi(argv[++i]);
    } else if (a == "--slow" && more) {
      s.slow = std::stod(argv[++i]);
    } else if (a == "--fault" && more) {
      s.fault = argv[++i];
    }
    s.emulate = s.emulate || a == "--emulate";
    s.force = s.force || a == "--force";
    s.keepGoing = s.keepGoing || a == "--keep-going";
    s.show = s.show || a == "--print";
  }
  return s;
}

/// Tells of a disagreement.
void tell(uint64_t seed, const fuzz::Program& p, const fuzz::Variant& v, const fuzz::Verdict& verdict) {
  std::printf("seed %llu%s: %s\n", Seed(seed), variantText(v).c_str(), verdict.problem.c_str());
  std::fflush(stdout);
  fuzz::Program q = shrink(p, v);
  std::printf("minimal:%s: %s\n%s\n", sizesText(q).c_str(), fuzz::check(q, v).problem.c_str(), q.text().c_str());
  std::fflush(stdout);
}

int campaign(const Settings& s) {
  uint64_t valid = 0, wrong = 0, runs = 0, impossible = 0;
  double longest = 0;
  for (uint64_t seed = s.first; seed < s.first + s.count; ++seed) {
    fuzz::Program p = fuzz::generate(seed);
    if (s.show)
      std::printf("# seed %llu%s\n%s\n", Seed(seed), sizesText(p).c_str(), p.text().c_str()), std::fflush(stdout);
    bool ok = true;
    for (fuzz::Variant v : s.variants) {
      v.threads = s.threads;
      v.way = s.emulate ? fuzz::Way::Emulated : seed % 2 ? fuzz::Way::Poisoned : fuzz::Way::Driver;
      if (s.force) v.force = fuzz::forces(p, seed);
      fuzz::Verdict verdict = fuzz::check(p, v);
      ++runs;
      impossible += verdict.impossible;
      longest = std::max(longest, verdict.seconds);
      if (s.slow > 0 && verdict.seconds > s.slow)
        std::printf("# seed %llu%s takes %.1f s to compile\n", Seed(seed), variantText(v).c_str(), verdict.seconds);
      if (!verdict.valid) {
        ok = false;
        if (s.show || s.keepGoing) std::printf("# seed %llu is refused: %s\n", Seed(seed), verdict.problem.c_str());
        break;
      }
      if (verdict.problem.empty()) continue;
      ++wrong;
      tell(seed, p, v, verdict);
      if (!s.keepGoing) return 1;
      break;
    }
    valid += ok;
  }
  std::printf("%llu programs, %llu valid, %llu wrong, %llu runs, %llu forced plans impossible, longest %.2f s\n",
              Seed(s.count), Seed(valid), Seed(wrong), Seed(runs), Seed(impossible), longest);
  return wrong || valid * 100 < s.count * 95 ? 1 : 0;
}

/// How many programs until a fault of each kind is noticed.
int faults(const Settings& s) {
  int missed = 0;
  for (const std::string& kind : fuzz::faultKinds()) {
    if (s.fault != "all" && s.fault != kind) continue;
    uint64_t programs = 0, fitting = 0;
    bool found = false;
    while (!found && programs < s.count) {
      uint64_t seed = s.first + programs++;
      fuzz::FaultVerdict v = fuzz::checkFault(fuzz::generate(seed), kind, seed * 7919);
      fitting += v != fuzz::FaultVerdict::DoesNotFit;
      found = v == fuzz::FaultVerdict::Found;
    }
    std::printf("%s: %s after %llu programs, %llu of which it fits\n", kind.c_str(), found ? "found" : "NOT FOUND",
                Seed(programs), Seed(fitting));
    std::fflush(stdout);
    missed += !found;
  }
  return missed ? 1 : 0;
}

fuzz::Program fromFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  fuzz::Program p;
  p.header = text.str();
  std::istringstream first(p.header.substr(0, p.header.find('\n')));
  for (std::string word; first >> word;) {
    size_t eq = word.find('=');
    if (eq != std::string::npos) p.sizes.emplace_back(word.substr(0, eq), std::stoll(word.substr(eq + 1)));
  }
  return p;
}

int programs(int count, char** paths) {
  int wrong = 0;
  std::vector<fuzz::Variant> variants{{fuzz::Way::Driver, {}, {}, 1}, {fuzz::Way::Driver, {"all"}, {}, 1}};
  for (const std::string& pass : passNames()) variants.push_back({fuzz::Way::Poisoned, {pass}, {}, 1});
  variants.push_back({fuzz::Way::Poisoned, {}, {}, 1});
  for (int i = 0; i < count; ++i) {
    fuzz::Program p = fromFile(paths[i]);
    for (const fuzz::Variant& v : variants) {
      fuzz::Verdict verdict = fuzz::check(p, v);
      if (verdict.valid && verdict.problem.empty()) continue;
      ++wrong;
      std::printf("%s%s: %s\n", paths[i], variantText(v).c_str(), verdict.problem.c_str());
    }
  }
  std::printf("%d programs, %d wrong\n", count, wrong);
  return wrong || count == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--programs") return programs(argc - 2, argv + 2);
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: tempo_fuzz FIRST COUNT [--off all|each|PASS] [--emulate] [--force] [--threads N] [--slow "
                 "SECONDS] [--print]\n"
                 "                  [--keep-going]\n       tempo_fuzz FIRST COUNT --fault KIND|all\n       tempo_fuzz "
                 "--programs FILE...\n");
    return 2;
  }
  Settings s = parse(argc, argv);
  return s.fault.empty() ? campaign(s) : faults(s);
}
