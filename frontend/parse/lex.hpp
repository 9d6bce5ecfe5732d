// The generated lexer behind plain tokens, and what kind of token a type is.
#pragma once

#include "parse/tokens.hpp"

namespace tempo::parse {

/// The first byte that is not valid UTF-8 or is NUL, or npos.
size_t firstBadByte(const std::string& text);

/// All tokens of valid UTF-8 text in order, NEWLINE and COMMENT included.
std::vector<Token> lex(const std::string& text);

/// Can an expression end with this token?
bool endsOperand(int type);
/// Can an expression begin with it? `-` is not counted, since after an operand it is binary.
bool beginsOperand(int type);
/// After this token a newline means nothing.
bool expectsMore(int type);

}  // namespace tempo::parse
