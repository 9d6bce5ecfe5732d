#include "parse/lex.hpp"

#include <antlr4-runtime.h>

#include "TempoLexer.h"

namespace tempo::parse {
namespace {

using L = grammar::TempoLexer;

/// Length of the valid UTF-8 sequence at `i`, 0 if there is none: no overlong forms, no surrogates.
size_t sequenceLength(const std::string& s, size_t i) {
  auto byte = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  auto continues = [&](size_t k) { return (byte(k) & 0xC0) == 0x80; };
  unsigned b = byte(i);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b <= 0xDF) return continues(i + 1) ? 2 : 0;
  if (b >= 0xE0 && b <= 0xEF) {
    if (!continues(i + 1) || !continues(i + 2)) return 0;
    if ((b == 0xE0 && byte(i + 1) < 0xA0) || (b == 0xED && byte(i + 1) > 0x9F)) return 0;
    return 3;
  }
  if (b >= 0xF0 && b <= 0xF4) {
    if (!continues(i + 1) || !continues(i + 2) || !continues(i + 3)) return 0;
    if ((b == 0xF0 && byte(i + 1) < 0x90) || (b == 0xF4 && byte(i + 1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

/// Byte offset of each code point, and of the end.
std::vector<uint32_t> codePointOffsets(const std::string& s) {
  std::vector<uint32_t> offsets;
  offsets.reserve(s.size() + 1);
  for (size_t i = 0; i < s.size(); ++i)
    if ((static_cast<unsigned char>(s[i]) & 0xC0) != 0x80) offsets.push_back(static_cast<uint32_t>(i));
  offsets.push_back(static_cast<uint32_t>(s.size()));
  return offsets;
}

}  // namespace

size_t firstBadByte(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    size_t n = sequenceLength(text, i);
    if (n == 0 || text[i] == '\0') return i;
    i += n;
  }
  return std::string::npos;
}

std::vector<Token> lex(const std::string& text) {
  std::vector<uint32_t> offsets = codePointOffsets(text);
  antlr4::ANTLRInputStream input(text);
  // The stream drops a leading byte order mark.
  size_t shift = text.rfind("\xEF\xBB\xBF", 0) == 0 ? 1 : 0;
  L lexer(&input);
  lexer.removeErrorListeners();
  std::vector<Token> out;
  for (auto token = lexer.nextToken(); token->getType() != antlr4::Token::EOF; token = lexer.nextToken())
    out.push_back({static_cast<int>(token->getType()), offsets[token->getStartIndex() + shift],
                   offsets[token->getStopIndex() + shift + 1]});
  return out;
}

bool endsOperand(int type) {
  switch (type) {
    case L::NAME:
    case L::NUMBER:
    case L::STRING:
    case L::TRUE:
    case L::FALSE:
    case L::RPAREN:
    case L::RBRACK:
      return true;
    default:
      return false;
  }
}

bool beginsOperand(int type) {
  switch (type) {
    case L::NAME:
    case L::NUMBER:
    case L::STRING:
    case L::TRUE:
    case L::FALSE:
    case L::IF:
    case L::NOT:
    case L::LPAREN:
    case L::LBRACK:
      return true;
    default:
      return false;
  }
}

bool expectsMore(int type) {
  switch (type) {
    case L::EQ:
    case L::NE:
    case L::LE:
    case L::GE:
    case L::LT:
    case L::GT:
    case L::ASSIGN:
    case L::POW:
    case L::DSLASH:
    case L::PLUS:
    case L::MINUS:
    case L::STAR:
    case L::SLASH:
    case L::PERCENT:
    case L::AT:
    case L::AND:
    case L::OR:
    case L::NOT:
    case L::THEN:
    case L::ELSE:
    case L::COMMA:
    case L::ARROW:
      return true;
    default:
      return false;
  }
}

}  // namespace tempo::parse
