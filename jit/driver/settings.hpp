// What `-s NAME=VALUE` may name, from the declarations of a program, and the typed values.
#pragma once

#include <map>
#include <string>

#include "ast/ast.hpp"
#include "driver/failure.hpp"

namespace tempo {

struct TypedSettings {
  std::map<std::string, int64_t> sizes;
  std::map<std::string, double> options;
};

/// Usage failures: unknown name (with the nearest one), a defined size, a value of the wrong type.
Result<TypedSettings> typeSettings(const ast::File& file, const std::map<std::string, std::string>& settings);

}  // namespace tempo
