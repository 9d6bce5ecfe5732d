// The embedded standard library.
#pragma once

#include <map>
#include <string>

namespace tempo {
/// Module name (`nn`, `env.cartpole`) to source text.
const std::map<std::string, std::string>& stdlibModules();
}  // namespace tempo
