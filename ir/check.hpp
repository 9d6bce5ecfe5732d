// Internal consistency checks, on in every build. A failure is a bug in Tempo, never a user error.
#pragma once

#include <stdexcept>
#include <string>

namespace tempo {
struct InternalError : std::logic_error {
  using logic_error::logic_error;
};
[[noreturn]] inline void internalError(const char* file, int line, const std::string& what) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}
}  // namespace tempo

#define TEMPO_CHECK(cond, what) \
  ((cond) ? void(0) : ::tempo::internalError(__FILE__, __LINE__, std::string("internal error: ") + (what)))
