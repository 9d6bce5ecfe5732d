// The whole middle of the compiler, in order: Graph -> Plan.
#pragma once

#include <functional>

#include "index/solve.hpp"
#include "options.hpp"
#include "plan/plan.hpp"

namespace tempo {

/// Names of all passes, in the order they run; each has a `--no-<name>` switch.
const std::vector<std::string>& passNames();

/// Called after every stage with its name and how to print its result (for --emit and timing).
using StageHook = std::function<void(const std::string& pass)>;

/// Throws ForceError (user's mistake), SolveBudget, NotAffine.
Plan makePlan(Graph g, Solver& solver, const PassOptions& options, const StageHook& hook = {});

}  // namespace tempo
