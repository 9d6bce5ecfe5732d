#include "sdg/lexer.hpp"

#include <array>
#include <cctype>

namespace tempo::text {

void fail(const Token& at, const std::string& what) {
  throw GraphError(std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + what);
}

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80); }
bool isPart(char c) { return isStart(c) || isDigit(c) || c == '.' || c == '\'' || c == '#' || c == '~'; }

class Lexer {
 public:
  explicit Lexer(const std::string& s) : s_(s) {}

  std::vector<Token> run() {
    std::vector<Token> out;
    do {
      skipBlanks();
      out.push_back(next());
    } while (out.back().kind != Token::Kind::End);
    return out;
  }

 private:
  char peek(size_t k = 0) const { return at_ + k < s_.size() ? s_[at_ + k] : '\0'; }

  void advance() {
    if (peek() == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
    ++at_;
  }

  void skipBlanks() {
    while (at_ < s_.size()) {
      if (peek() == '#') {
        while (at_ < s_.size() && peek() != '\n') advance();
      } else if (std::isspace(static_cast<unsigned char>(peek()))) {
        advance();
      } else {
        return;
      }
    }
  }

  Token next() {
    Token t;
    t.line = line_;
    t.column = column_;
    if (at_ >= s_.size()) return t;
    char c = peek();
    if (c == '%' && (isPart(peek(1)) || peek(1) == '"')) {
      advance();
      t.kind = Token::Kind::Node;
      t.text = peek() == '"' ? string(t) : take(isPart);
    } else if (c == '"') {
      t.kind = Token::Kind::String;
      t.text = string(t);
    } else if (isStart(c)) {
      t.kind = Token::Kind::Name;
      t.text = take(isPart);
    } else if (isDigit(c)) {
      t.kind = Token::Kind::Number;
      t.text = number();
    } else {
      t.kind = Token::Kind::Punct;
      t.text = punct(t);
    }
    return t;
  }

  std::string take(bool (*in)(char)) {
    std::string out;
    while (at_ < s_.size() && in(peek())) {
      out += peek();
      advance();
    }
    return out;
  }

  std::string number() {
    std::string out = take(isDigit);
    if (peek() == '.' && isDigit(peek(1))) {
      out += '.';
      advance();
      out += take(isDigit);
    }
    bool exponent = (peek() == 'e' || peek() == 'E') &&
                    (isDigit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && isDigit(peek(2))));
    if (!exponent) return out;
    for (int i = 0; i < 2; ++i) {
      out += peek();
      advance();
    }
    return out + take(isDigit);
  }

  std::string string(const Token& start) {
    std::string out;
    advance();
    while (peek() != '"') {
      if (at_ >= s_.size()) fail(start, "a string that does not end");
      if (peek() == '\\') {
        advance();
        out += peek() == 'n' ? '\n' : peek();
      } else {
        out += peek();
      }
      advance();
    }
    advance();
    return out;
  }

  std::string punct(const Token& start) {
    static constexpr std::array<const char*, 6> pairs{"<=", ">=", "==", "!=", "//", "**"};
    for (const char* p : pairs) {
      if (peek() == p[0] && peek(1) == p[1]) {
        advance();
        advance();
        return p;
      }
    }
    std::string one(1, peek());
    static const std::string singles = "()[]{}<>=:;,+-*/%";
    if (singles.find(one[0]) == std::string::npos) fail(start, "unexpected character `" + one + "`");
    advance();
    return one;
  }

  const std::string& s_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace

std::vector<Token> tokenize(const std::string& text) { return Lexer(text).run(); }

}  // namespace tempo::text
