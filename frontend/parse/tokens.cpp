#include "parse/tokens.hpp"

#include <antlr4-runtime.h>

#include <algorithm>
#include <map>
#include <set>

#include "TempoParser.h"
#include "parse/keywords.hpp"
#include "parse/lex.hpp"

namespace tempo::parse {
namespace {

using L = grammar::TempoParser;

constexpr size_t kMaxBrackets = 200;
// Operators, calls and indices that may lie around one operand; bounds the depth of the tree, so of every walk over it.
constexpr int kMaxOperators = 500;
constexpr int kMaxResumptions = 100;

bool opens(int type) { return type == L::LPAREN || type == L::LBRACK || type == L::LBRACE; }
bool closes(int type) { return type == L::RPAREN || type == L::RBRACK || type == L::RBRACE; }

int closer(int open) {
  return open == L::LPAREN ? L::RPAREN : open == L::LBRACK ? L::RBRACK : open == L::LBRACE ? L::RBRACE : -1;
}

bool isNesting(int type) {
  return type == L::DOT || type == L::IF ||
         (expectsMore(type) && type != L::COMMA && type != L::ASSIGN && type != L::THEN);
}

bool separates(int type) { return type == L::COMMA || type == L::COLON || type == L::ASSIGN || type == L::SEMI; }

/// Does a line that begins with token `i` continue the one before it?
bool continuesLine(const std::vector<Token>& raw, size_t i, const std::string& text) {
  if (i >= raw.size()) return false;
  if (raw[i].type == L::THEN || raw[i].type == L::ELSE) return true;
  if (raw[i].type != L::NAME) return false;
  std::string word = text.substr(raw[i].begin, raw[i].end - raw[i].begin);
  int next = i + 1 < raw.size() ? raw[i + 1].type : L::NEWLINE;
  if (word == "otherwise") return next == L::NEWLINE || next == L::SEMI || next == L::RBRACE;
  // A tensor may be called `when`.
  return word == "when" && next != L::ASSIGN && next != L::LBRACK && next != L::COLON && next != L::NEWLINE &&
         next != L::DOT;
}

/// Settles newlines and brackets. Each open bracket, and the file itself, is a frame; those that hold statements know
/// where in the output the current one began.
class Segmenter {
 public:
  Segmenter(uint32_t source, const std::string& text, std::vector<Token> raw, Diagnostics& diags)
      : source_(source), text_(text), raw_(std::move(raw)), diags_(diags) {}

  std::vector<Token> run() {
    frames_.push_back({});
    for (size_t i = 0; i < raw_.size() || unfinished(i);) i = step(i);
    endStatement();
    return std::move(out_);
  }

 private:
  struct Frame {
    int open = 0;          // type of the bracket, 0 for the file
    size_t raw = 0;        // its index
    size_t statement = 0;  // file and braces: where the current statement begins in the output
    bool bad = false;      // file and braces: the current statement was reported, leave it out
    int operators = 0;     // around the next operand, since the last separator
    bool holdsStatements() const { return open == 0 || open == L::LBRACE; }
  };

  size_t step(size_t i) {
    const Token& t = raw_[i];
    if (t.type == L::NEWLINE) {
      newline(i);
    } else if (t.type == L::SEMI && frames_.back().holdsStatements()) {
      endStatement();
    } else if (t.type == L::BAD_STRING) {
      if (news(t)) diags_.error("E0104", span(t), "this string never ends", "no closing quote on this line");
      return abandon(i);
    } else if (t.type == L::STRAY || t.type == L::BAD_NUMBER) {
      if (news(t)) badToken(t);
      level().bad = true;
    } else if (opens(t.type)) {
      open(i);
    } else if (closes(t.type)) {
      return close(i);
    } else {
      count(t);
      out_.push_back(t);
    }
    return i + 1;
  }

  void newline(size_t i) {
    if (!frames_.back().holdsStatements() || out_.size() == level().statement) return;
    size_t next = i;
    while (next < raw_.size() && raw_[next].type == L::NEWLINE) ++next;
    if (expectsMore(out_.back().type) || continuesLine(raw_, next, text_)) return;
    endStatement();
  }

  void endStatement() {
    Frame& f = level();
    if (f.bad) out_.resize(f.statement);
    if (out_.size() > f.statement) out_.push_back({L::NL, out_.back().end, out_.back().end});
    f.statement = out_.size();
    f.bad = false;
    operators_ -= f.operators;
    f.operators = 0;
  }

  void count(const Token& t) {
    Frame& f = frames_.back();
    if (separates(t.type)) {
      operators_ -= f.operators;
      f.operators = 0;
    } else if (isNesting(t.type)) {
      addOperator(t);
    }
  }

  void addOperator(const Token& t) {
    ++frames_.back().operators;
    if (++operators_ > kMaxOperators) tooDeep(t, "more than " + std::to_string(kMaxOperators) + " operators");
  }

  void open(size_t i) {
    const Token& t = raw_[i];
    if (!out_.empty() && endsOperand(out_.back().type)) addOperator(t);
    out_.push_back(t);
    Frame f;
    f.open = t.type;
    f.raw = i;
    f.statement = out_.size();
    frames_.push_back(f);
    if (frames_.size() > kMaxBrackets + 1) tooDeep(t, "more than " + std::to_string(kMaxBrackets) + " brackets");
  }

  void tooDeep(const Token& t, const std::string& what) {
    for (const Frame& f : frames_)
      if (f.bad) return;
    level().bad = true;
    if (!news(t)) return;
    Diagnostic& d = diags_.error("E0190", span(t), "nested too deeply: " + what + " inside one another");
    d.fixes.push_back({"name the inner parts with equations of their own", {}});
  }

  size_t close(size_t i) {
    const Token& t = raw_[i];
    Frame& top = frames_.back();
    if (closer(top.open) == t.type) {
      if (t.type == L::RBRACE) endStatement();
      pop();
      out_.push_back(t);
      return i + 1;
    }
    if (t.type == L::RBRACE &&
        std::any_of(frames_.begin(), frames_.end(), [](const Frame& f) { return f.open == L::LBRACE; }))
      return unclosed(i);
    if (!news(t)) return abandon(i);
    if (top.holdsStatements()) {
      diags_.error("E0103", span(t), "`" + textOf(t) + "` closes nothing", "no bracket is open here");
    } else {
      const Token& opener = raw_[top.raw];
      Diagnostic& d = diags_.error("E0103", span(t), "`" + textOf(t) + "` does not close `" + textOf(opener) + "`");
      d.secondary.push_back({span(opener), "opened here"});
    }
    return abandon(i);
  }

  /// At `i` a parenthesis or square bracket of the innermost statement is still open: report the outermost of them,
  /// leave the statement out, and resume at the line after it.
  size_t unclosed(size_t i) {
    size_t opened = frames_.size() - 1;
    while (!frames_[opened - 1].holdsStatements()) --opened;
    size_t raw = frames_[opened].raw;
    reportUnclosed(raw_[raw]);
    // Each resumption reads on from the line after the bracket, so their number is bounded.
    if (++resumptions_ > kMaxResumptions) raw = raw_.size() - 1;
    return std::min(i, abandon(raw));
  }

  void reportUnclosed(const Token& opener) {
    diags_.error("E0102", span(opener), "`" + textOf(opener) + "` is never closed", "opened here");
  }

  bool unfinished(size_t& i) {
    while (i >= raw_.size() && frames_.size() > 1) {
      if (!frames_.back().holdsStatements()) {
        i = unclosed(i);
        continue;
      }
      reportUnclosed(raw_[frames_.back().raw]);
      endStatement();
      pop();
      out_.push_back({L::RBRACE, static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(text_.size())});
    }
    return i < raw_.size();
  }

  void pop() {
    operators_ -= frames_.back().operators;
    frames_.pop_back();
  }

  /// Text behind an unclosed bracket is read twice but reported once.
  bool news(const Token& t) { return reported_.insert(t.begin).second; }

  /// Leaves the current statement out. Lines indented deeper than it are taken to belong to it.
  size_t abandon(size_t i) {
    while (!frames_.back().holdsStatements()) pop();
    Frame& f = frames_.back();
    uint32_t margin = f.statement < out_.size() ? column(out_[f.statement].begin) : column(raw_[i].begin);
    f.bad = true;
    endStatement();
    for (; i < raw_.size(); ++i) {
      if (raw_[i].type != L::NEWLINE) continue;
      size_t next = i;
      while (next < raw_.size() && raw_[next].type == L::NEWLINE) ++next;
      if (next == raw_.size() || column(raw_[next].begin) <= margin || raw_[next].type == L::RBRACE) return i;
    }
    return i;
  }

  uint32_t column(uint32_t offset) const {
    size_t newline = offset == 0 ? std::string::npos : text_.rfind('\n', offset - 1);
    return newline == std::string::npos ? offset : static_cast<uint32_t>(offset - newline - 1);
  }

  void badToken(const Token& t) {
    std::string s = textOf(t);
    if (t.type == L::BAD_NUMBER) {
      Diagnostic& d = diags_.error("E0107", span(t), "`" + s + "` is not a number");
      bool hexadecimal = s.size() > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
      d.notes.push_back(hexadecimal ? "numbers are decimal"
                                    : "a name cannot begin with a digit, and multiplication is written `*`");
      return;
    }
    if (static_cast<unsigned char>(s[0]) < 0x20 || s[0] == 0x7f) {
      diags_.error("E0105", span(t), "a control character has no meaning here");
      return;
    }
    Diagnostic& d = diags_.error("E0105", span(t), "`" + s + "` has no meaning here");
    static const std::map<std::string, std::string> meant = {{"^", "powers are written `**`"},
                                                             {"&&", "write `and`"},
                                                             {"||", "write `or`"},
                                                             {"!", "write `not`, or `!=`"},
                                                             {"&", "write `and`"},
                                                             {"|", "write `or`"},
                                                             {"'", "strings are written in double quotes"}};
    if (auto it = meant.find(s); it != meant.end()) d.fixes.push_back({it->second, {}});
  }

  Frame& level() {
    size_t i = frames_.size() - 1;
    while (!frames_[i].holdsStatements()) --i;
    return frames_[i];
  }

  Span span(const Token& t) const { return {source_, t.begin, t.end}; }
  std::string textOf(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }

  uint32_t source_;
  const std::string& text_;
  std::vector<Token> raw_;
  Diagnostics& diags_;
  std::vector<Token> out_;
  std::vector<Frame> frames_;
  int operators_ = 0;
  int resumptions_ = 0;
  std::set<uint32_t> reported_;
};

bool canBeginStatement(int type) {
  return beginsOperand(type) || type == L::MINUS || type == L::BINDER || type == L::COMPREHENSION ||
         (type >= L::DIM && type <= L::EXTERN);
}

/// `in[t] = x`: a reserved word where the name of an equation stands.
bool isReservedTarget(const std::vector<Token>& tokens, size_t i) {
  if (tokens[i].type < L::IF || tokens[i].type > L::FALSE || i + 1 >= tokens.size()) return false;
  int next = tokens[i + 1].type;
  bool takesOperand = tokens[i].type == L::IF || tokens[i].type == L::NOT;
  return next == L::ASSIGN || next == L::COLON || (next == L::LBRACK && !takesOperand);
}

/// The first token of a statement is wrong, most often an operator that should have stood at the end of the line before.
void reportBeginning(const std::vector<Token>& tokens, size_t i, uint32_t source, Diagnostics& diags) {
  Span span{source, tokens[i].begin, tokens[i].end};
  std::string text = diags.sources().text(span);
  if (isReservedTarget(tokens, i)) {
    diags.error("E0108", span, "`" + text + "` is a reserved word and names nothing", "expected a name");
    return;
  }
  Diagnostic& d = diags.error("E0101", span, "a statement cannot begin with `" + text + "`");
  if (expectsMore(tokens[i].type) && i > 0)
    d.fixes.push_back({"to go on with the line before, end it with the operator, or put the expression in `()`", {}});
}

/// Leaves out statements that begin with something no statement begins with.
void checkBeginnings(std::vector<Token>& tokens, uint32_t source, Diagnostics& diags) {
  std::vector<Token> kept;
  bool begins = true;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (begins && t.type != L::RBRACE && (!canBeginStatement(t.type) || isReservedTarget(tokens, i))) {
      reportBeginning(tokens, i, source, diags);
      for (int depth = 0; tokens[i].type != L::NL || depth > 0; ++i)
        depth += tokens[i].type == L::LBRACE ? 1 : tokens[i].type == L::RBRACE ? -1 : 0;
      continue;
    }
    kept.push_back(t);
    begins = t.type == L::NL || t.type == L::LBRACE;
  }
  tokens = std::move(kept);
}

}  // namespace

Tokens tokenize(uint32_t source, Diagnostics& diags) {
  const std::string& text = diags.sources().file(source).text;
  Tokens result;
  if (size_t bad = firstBadByte(text); bad != std::string::npos) {
    uint32_t at = static_cast<uint32_t>(bad);
    diags.error("E0106", {source, at, at + 1},
                text[bad] == '\0' ? "the file holds a NUL byte, so it is not text" : "the file is not UTF-8 text",
                text[bad] == '\0' ? "NUL byte" : "this byte is not part of a character");
    return result;
  }
  std::vector<Token> raw;
  for (const Token& t : lex(text)) {
    if (t.type == L::COMMENT)
      result.comments.push_back({{source, t.begin, t.end}});
    else
      raw.push_back(t);
  }
  result.tokens = Segmenter(source, text, std::move(raw), diags).run();
  markKeywords(result.tokens, text);
  checkBeginnings(result.tokens, source, diags);
  return result;
}

bool needsMore(const std::string& text) {
  if (firstBadByte(text) != std::string::npos) return false;
  std::vector<int> open;
  int waiting = 0;
  int last = L::NEWLINE;
  for (const Token& t : lex(text)) {
    if (t.type == L::COMMENT) continue;
    if (opens(t.type)) open.push_back(closer(t.type));
    if (closes(t.type)) {
      if (open.empty() || open.back() != t.type) return false;
      open.pop_back();
    }
    if (t.type == L::BAD_STRING || t.type == L::STRAY) return false;
    waiting += t.type == L::IF ? 1 : t.type == L::ELSE ? -1 : 0;
    if (t.type != L::NEWLINE) last = t.type;
  }
  return !open.empty() || expectsMore(last) || waiting > 0;
}

}  // namespace tempo::parse
