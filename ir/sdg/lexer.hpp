// Tokens of the SDG text form. `%name` directly is a node; a `%` followed by a blank is the remainder.
#pragma once

#include <string>
#include <vector>

#include "sdg/graph.hpp"

namespace tempo::text {

struct Token {
  enum class Kind : uint8_t { Name, Number, String, Node, Punct, End };
  Kind kind = Kind::End;
  std::string text;  // of a string or a quoted node: the unquoted content
  int line = 1, column = 1;
};

/// Throws GraphError with line and column.
std::vector<Token> tokenize(const std::string& text);
[[noreturn]] void fail(const Token& at, const std::string& what);

}  // namespace tempo::text
