// Text to the token sequence the grammar wants: newlines settled, soft keywords typed, brackets balanced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ast/ast.hpp"
#include "diag/diag.hpp"

namespace tempo::parse {

struct Token {
  int type;             // a token type of the generated lexer
  uint32_t begin, end;  // bytes
};

struct Tokens {
  std::vector<Token> tokens;  // statements, each ended by one NL; no end-of-file token
  std::vector<ast::Comment> comments;
};

/// Statements with stray characters, unbalanced brackets or too deep nesting are reported to `diags` and left out. The
/// text need not be UTF-8; if it is not, that is reported and there are no tokens.
Tokens tokenize(uint32_t source, Diagnostics& diags);

/// Open brackets, a trailing operator, or an `if` that waits for its `else`.
bool needsMore(const std::string& text);

}  // namespace tempo::parse
