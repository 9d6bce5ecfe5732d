#include "parse/keywords.hpp"

#include <antlr4-runtime.h>

#include <map>

#include "TempoParser.h"
#include "parse/lex.hpp"

namespace tempo::parse {
namespace {

using L = grammar::TempoParser;

const std::map<std::string, int> kFirst = {
    {"dim", L::DIM},   {"size", L::SIZE},     {"input", L::INPUT},   {"option", L::OPTION}, {"let", L::LET},
    {"next", L::NEXT}, {"output", L::OUTPUT}, {"report", L::REPORT}, {"print", L::PRINT},   {"assert", L::ASSERT},
    {"save", L::SAVE}, {"use", L::USE},       {"fn", L::FN},         {"module", L::MODULE}, {"param", L::PARAM},
    {"for", L::FOR},   {"pure", L::PURE},     {"extern", L::EXTERN}};

const std::map<std::string, int> kAfterOperand = {
    {"when", L::WHEN},   {"otherwise", L::OTHERWISE}, {"until", L::UNTIL}, {"to", L::TO},          {"as", L::AS},
    {"every", L::EVERY}, {"within", L::WITHIN},       {"from", L::FROM},   {"batched", L::BATCHED}};

class Marker {
 public:
  Marker(std::vector<Token>& tokens, const std::string& text) : tokens_(tokens), text_(text) {}

  void run() {
    for (size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].type == L::NAME) tokens_[i].type = typeOf(i);
  }

 private:
  int typeOf(size_t i) {
    int previous = i == 0 ? L::NL : tokens_[i - 1].type;
    if (previous == L::NL || previous == L::LBRACE) {
      if (auto it = kFirst.find(word(i)); it != kFirst.end() && beginsStatement(i, it->second)) return it->second;
    } else if (endsOperand(previous)) {
      if (auto it = kAfterOperand.find(word(i)); it != kAfterOperand.end()) return it->second;
      if (word(i) == "for" && type(i + 1) == L::NAME && type(i + 2) == L::IN) return L::FOR;
    } else if (previous == L::REPORT && word(i) == "every" && countFollows(i + 1)) {
      return L::EVERY;
    } else if ((previous == L::EXTERN && word(i) == "fn")) {
      return L::FN;
    } else if (previous == L::PURE && word(i) == "extern") {
      return L::EXTERN;
    }
    if (type(i + 1) == L::IN) return L::BINDER;
    if (type(i + 1) == L::LBRACK && type(i + 2) == L::NAME && type(i + 3) == L::IN) return L::COMPREHENSION;
    return L::NAME;
  }

  /// A name at the start of a statement is followed by an operator, `=`, `.`, `[` or `(`; a keyword by an operand or a
  /// word.
  bool beginsStatement(size_t i, int keyword) const {
    int next = type(i + 1);
    switch (keyword) {
      case L::NEXT:
        return next == L::LPAREN && startsTarget(afterBracket(i + 1));
      case L::FOR:
        return next == L::NAME && type(i + 2) == L::IN;
      case L::PURE:
        return next == L::NAME && word(i + 1) == "extern";
      case L::EXTERN:
        return next == L::NAME && word(i + 1) == "fn";
      case L::LET:
        return isWord(next) || (next == L::LPAREN && type(afterBracket(i + 1)) == L::ASSIGN);
      case L::REPORT:
      case L::PRINT:
      case L::ASSERT:
        return isWord(next) || next == L::LPAREN || next == L::NOT || isPrefixMinus(i + 1);
      default:
        return isWord(next);
    }
  }

  /// Something that cannot follow a name: another word, or a literal.
  static bool isWord(int type) {
    return type == L::NAME || type == L::NUMBER || type == L::STRING || type == L::TRUE || type == L::FALSE ||
           type == L::IF || type == L::THEN || type == L::ELSE || type == L::IN;
  }

  bool isPrefixMinus(size_t i) const {
    return type(i) == L::MINUS && tokens_[i].begin > tokens_[i - 1].end && i + 1 < tokens_.size() &&
           tokens_[i + 1].begin == tokens_[i].end;
  }

  bool countFollows(size_t i) const {
    int t = type(i);
    if (t == L::LPAREN) return type(afterBracket(i)) == L::NAME;
    return (t == L::NUMBER || t == L::NAME) && type(i + 1) == L::NAME;
  }

  bool startsTarget(size_t i) const { return type(i) == L::NAME || type(i) == L::LPAREN; }

  /// The token after the bracket that closes the one at `i`.
  size_t afterBracket(size_t i) const {
    int depth = 0;
    for (; i < tokens_.size() && tokens_[i].type != L::NL; ++i) {
      int t = tokens_[i].type;
      if (t == L::LPAREN || t == L::LBRACK) ++depth;
      if ((t == L::RPAREN || t == L::RBRACK) && --depth == 0) return i + 1;
    }
    return i;
  }

  int type(size_t i) const { return i < tokens_.size() ? tokens_[i].type : static_cast<int>(L::NL); }
  std::string word(size_t i) const { return text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin); }

  std::vector<Token>& tokens_;
  const std::string& text_;
};

}  // namespace

void markKeywords(std::vector<Token>& tokens, const std::string& text) { Marker(tokens, text).run(); }

}  // namespace tempo::parse
