// Soft keywords: which names are keywords where they stand.
#pragma once

#include "parse/tokens.hpp"

namespace tempo::parse {

/// Gives names at the position of a keyword its token type, names before `in` the type BINDER, and names before `[ name
/// in` the type COMPREHENSION.
void markKeywords(std::vector<Token>& tokens, const std::string& text);

}  // namespace tempo::parse
