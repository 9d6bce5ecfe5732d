// What the passes may be told: switches, forced decisions, and the machine.
#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "index/ix.hpp"

namespace tempo {

/// What passes need to know of a machine; filled by the driver.
struct Machine {
  int threads = 1;
  int vectorBytes = 32;
  int64_t l1Bytes = 32 << 10, l2Bytes = 1 << 20;
  bool gpu = false;
};

struct PassOptions {
  std::set<std::string> off;                  // "recur" for --no-recur; "all" switches every pass off
  std::map<std::string, std::string> force;   // "store.v" -> "ring", "tile.t" -> "4"
  Machine machine;
  Env sizes;                                  // this run's sizes: used only where a pass specialises one, which it records
  bool verifyEach = false;                    // run the SDG verifier after every pass
  /// A decision about this tensor is forced, so it has to stay one.
  bool holds(const std::string& tensor) const { return force.count("store." + tensor) || force.count("layout." + tensor); }
  bool isOn(const std::string& pass) const { return !off.count("all") && !off.count(pass); }
};

/// A forced decision that cannot be had: unknown name, illegal choice. `what()` is for the user.
struct ForceError : std::runtime_error {
  using runtime_error::runtime_error;
};

}  // namespace tempo
