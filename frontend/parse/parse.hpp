// Text to AST. ANTLR stays behind this header. Never throws on bad input: errors go to `diags` (E01xx), and what could be
// parsed is returned.
#pragma once

#include "ast/ast.hpp"

namespace tempo {

ast::File parseSource(uint32_t source, Diagnostics& diags);
/// For a REPL: is the text a prefix of something longer (open bracket, trailing operator)?
bool isIncomplete(const std::string& text);

}  // namespace tempo
