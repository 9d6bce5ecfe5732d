// Deliberate faults: the Kernel IR of a correct compilation changed the way a bug in the compiler would change it. A
// checker that does not notice them is blind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kir.hpp"

namespace tempo::fuzz {

/// Names of all kinds.
const std::vector<std::string>& faultKinds();

/// `p` with one fault of this kind, at the place `choice` picks among all it fits; nullopt if it fits nowhere. The
/// result is well formed, though it may compute the same values (a loop run backwards where the order does not matter).
std::optional<kir::Program> injectFault(const kir::Program& p, const std::string& kind, uint64_t choice);

}  // namespace tempo::fuzz
