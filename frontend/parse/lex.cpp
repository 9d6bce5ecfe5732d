#include "parse/lex.hpp"

#include <antlr4-runtime.h>

#include "TempoLexer.h"
#include "diag/utf8.hpp"

namespace tempo::parse {
namespace {

using L = grammar::TempoLexer;

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
    size_t n = utf8SequenceLength(text, i);
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
