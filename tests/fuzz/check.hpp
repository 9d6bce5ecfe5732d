// One program, compiled one way, against the oracle.
#pragma once

#include <map>
#include <set>
#include <string>

#include "fuzz/generate.hpp"

namespace tempo::fuzz {

enum class Way {
  Driver,    // as a user runs it
  Poisoned,  // buffers start as NaN between guard bytes that nothing may touch
  Emulated,  // the CUDA text, run by the emulator
};

struct Variant {
  Way way = Way::Driver;
  std::set<std::string> off;
  std::map<std::string, std::string> force;
  int threads = 1;
};

struct Verdict {
  bool valid = true;        // false: refused before anything ran
  bool impossible = false;  // a forced decision that cannot be had
  std::string problem;      // "" is agreement
  double seconds = 0;       // to compile
};

Verdict check(const Program& p, const Variant& v);

enum class FaultVerdict { DoesNotFit, Missed, Found };
/// Injects a fault into the Kernel IR of `p` and runs it in a process of its own.
FaultVerdict checkFault(const Program& p, const std::string& kind, uint64_t choice);

}  // namespace tempo::fuzz
