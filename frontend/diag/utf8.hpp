// UTF-8, as much of it as diagnostics and the lexer need.
#pragma once

#include <cstddef>
#include <string>

namespace tempo {

/// Length of the valid UTF-8 sequence that begins at byte `i`, 0 if there is none: no overlong forms, no surrogates.
size_t utf8SequenceLength(const std::string& s, size_t i);

/// The text with each byte that is part of no valid sequence replaced by U+FFFD.
std::string utf8Repaired(const std::string& s);

}  // namespace tempo
