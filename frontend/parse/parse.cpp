#include "parse/parse.hpp"

#include <antlr4-runtime.h>

#include <algorithm>

#include "TempoParser.h"
#include "parse/build.hpp"
#include "parse/errors.hpp"
#include "parse/tokens.hpp"

namespace tempo {
namespace {

using parse::P;

/// Hands the settled tokens to the parser; their start and stop indices are byte offsets.
class SettledTokens : public antlr4::TokenSource {
 public:
  SettledTokens(const parse::Tokens& tokens, const std::string& text) : tokens_(tokens.tokens), text_(text) {}

  std::unique_ptr<antlr4::Token> nextToken() override {
    bool end = next_ == tokens_.size();
    uint32_t size = static_cast<uint32_t>(text_.size());
    parse::Token t = end ? parse::Token{-1, size, size} : tokens_[next_++];
    auto out = std::make_unique<antlr4::CommonToken>(end ? antlr4::Token::EOF : static_cast<size_t>(t.type));
    out->setStartIndex(t.begin);
    out->setStopIndex(static_cast<size_t>(t.end) - 1);
    out->setText(text_.substr(t.begin, t.end - t.begin));
    return out;
  }
  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream* getInputStream() override { return nullptr; }
  std::string getSourceName() override { return ""; }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override {
    return antlr4::CommonTokenFactory::DEFAULT.get();
  }

 private:
  const std::vector<parse::Token>& tokens_;
  const std::string& text_;
  size_t next_ = 0;
};

class ParserRun {
 public:
  ParserRun(const parse::Tokens& tokens, const std::string& text)
      : source_(tokens, text), stream_(&source_), parser_(&stream_) {
    parser_.removeErrorListeners();
  }

  /// The SLL parse of a correct file is the LL parse; a wrong file is parsed again for exact messages.
  P::FileContext* parse(uint32_t source, Diagnostics& diags) {
    auto fast = std::make_shared<parse::ErrorStrategy>(source, diags, true);
    if (P::FileContext* file = attempt(fast, antlr4::atn::PredictionMode::SLL); file && !fast->failed()) return file;
    parser_.reset();
    return attempt(std::make_shared<parse::ErrorStrategy>(source, diags, false), antlr4::atn::PredictionMode::LL);
  }

 private:
  P::FileContext* attempt(const std::shared_ptr<parse::ErrorStrategy>& strategy, antlr4::atn::PredictionMode mode) {
    parser_.setErrorHandler(strategy);
    parser_.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(mode);
    try {
      return parser_.file();
    } catch (const antlr4::ParseCancellationException&) {
      return nullptr;
    }
  }

  SettledTokens source_;
  antlr4::CommonTokenStream stream_;
  P parser_;
};

/// Comments by line: documentation of what is below them, and `##` directives.
class CommentLines {
 public:
  CommentLines(const std::vector<ast::Comment>& comments, const SourceFile& file) : file_(file) {
    lineStarts_ = {0};
    for (size_t i = 0; i < file.text.size(); ++i)
      if (file.text[i] == '\n') lineStarts_.push_back(static_cast<uint32_t>(i + 1));
    for (const ast::Comment& c : comments)
      if (beginsLine(c.span.begin)) alone_[line(c.span.begin)] = c.span;
  }

  std::string documentation(uint32_t offset) const {
    if (!beginsLine(offset)) return "";
    std::vector<std::string> lines;
    for (size_t l = line(offset); l-- > 0;) {
      auto it = alone_.find(l);
      if (it == alone_.end() || isDirective(it->second)) break;
      lines.push_back(content(it->second, 1));
    }
    std::string out;
    for (size_t i = lines.size(); i-- > 0;) out += lines[i] + (i ? "\n" : "");
    return out;
  }

  std::vector<ast::StmtPtr> directives() const {
    std::vector<ast::StmtPtr> out;
    for (const auto& [line, span] : alone_) {
      if (!isDirective(span)) continue;
      auto s = std::make_shared<ast::Stmt>();
      s->kind = ast::Stmt::Kind::Test;
      s->span = span;
      s->text = content(span, 2);
      out.push_back(s);
    }
    return out;
  }

 private:
  size_t line(uint32_t offset) const {
    return std::upper_bound(lineStarts_.begin(), lineStarts_.end(), offset) - lineStarts_.begin() - 1;
  }
  bool beginsLine(uint32_t offset) const {
    uint32_t start = lineStarts_[line(offset)];
    return file_.text.substr(start, offset - start).find_first_not_of(" \t") == std::string::npos;
  }
  bool isDirective(Span s) const {
    return file_.text.compare(s.begin, 2, "##") == 0 && (s.end == s.begin + 2 || file_.text[s.begin + 2] != '#');
  }
  std::string content(Span s, uint32_t marker) const {
    std::string text = file_.text.substr(s.begin + marker, s.end - s.begin - marker);
    size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
  }

  const SourceFile& file_;
  std::vector<uint32_t> lineStarts_;
  std::map<size_t, Span> alone_;
};

ast::StmtPtr documented(const ast::StmtPtr& s, const CommentLines& comments) {
  auto copy = std::make_shared<ast::Stmt>(*s);
  copy->doc = comments.documentation(s->span.begin);
  for (ast::StmtPtr& inner : copy->body) inner = documented(inner, comments);
  return copy;
}

}  // namespace

ast::File parseSource(uint32_t source, Diagnostics& diags) {
  ast::File file;
  file.source = source;
  const SourceFile& text = diags.sources().file(source);
  parse::Tokens tokens = parse::tokenize(source, diags);
  file.comments = tokens.comments;
  ParserRun run(tokens, text.text);
  if (P::FileContext* tree = run.parse(source, diags))
    file.stmts = parse::Builder(source, diags).statements(tree->line(), parse::Place::File);
  CommentLines comments(tokens.comments, text);
  for (ast::StmtPtr& s : file.stmts) s = documented(s, comments);
  for (ast::StmtPtr& s : comments.directives()) file.stmts.push_back(std::move(s));
  std::stable_sort(file.stmts.begin(), file.stmts.end(),
                   [](const ast::StmtPtr& a, const ast::StmtPtr& b) { return a->span.begin < b->span.begin; });
  return file;
}

bool isIncomplete(const std::string& text) { return parse::needsMore(text); }

}  // namespace tempo
