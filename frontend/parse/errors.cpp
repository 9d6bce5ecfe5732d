#include "parse/errors.hpp"

#include "TempoParser.h"

namespace tempo::parse {
namespace {

using P = grammar::TempoParser;
using antlr4::Token;
using antlr4::misc::IntervalSet;

bool has(const IntervalSet& set, size_t type) { return set.contains(type); }

bool isReserved(size_t type) { return type >= P::IF && type <= P::FALSE; }

std::string describe(Token* t) {
  if (t->getType() == P::NL) return "end of line";
  if (t->getType() == Token::EOF) return "end of file";
  return "`" + t->getText() + "`";
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) out += (i == 0 ? "" : i + 1 == items.size() ? " or " : ", ") + items[i];
  return out;
}

/// The expected tokens in words. After a complete operand nearly everything may follow, so there calls, indices and
/// types are not listed.
std::string expectation(const IntervalSet& set) {
  static const std::vector<std::pair<size_t, const char*>> literals = {
      {P::ASSIGN, "`=`"},  {P::COMMA, "`,`"}, {P::RPAREN, "`)`"}, {P::RBRACK, "`]`"}, {P::THEN, "`then`"},
      {P::ELSE, "`else`"}, {P::IN, "`in`"},   {P::LBRACE, "`{`"}, {P::RBRACE, "`}`"}, {P::ARROW, "`->`"}};
  static const std::vector<std::pair<size_t, const char*>> notAfterOperand = {
      {P::LPAREN, "`(`"}, {P::LBRACK, "`[`"}, {P::COLON, "`:`"}, {P::DOT, "`.`"}, {P::FROM, "`from`"}};
  std::vector<std::string> items;
  bool expression = has(set, P::NUMBER), operatorToo = has(set, P::PLUS);
  if (expression) items.push_back(has(set, P::EVERY) ? "an expression or `every`" : "an expression");
  if (!expression && has(set, P::NAME)) items.push_back("a name");
  if (!expression && has(set, P::STRING)) items.push_back("a string in quotes");
  if (operatorToo) items.push_back("an operator");
  for (auto [type, text] : literals)
    if (has(set, type)) items.push_back(text);
  if (!operatorToo && !expression)
    for (auto [type, text] : notAfterOperand)
      if (has(set, type)) items.push_back(text);
  if (has(set, P::NL)) items.push_back("the end of the line");
  return joined(items);
}

IntervalSet expectedAt(const antlr4::NoViableAltException& e, antlr4::Parser* parser) {
  IntervalSet set;
  if (e.getDeadEndConfigs())
    for (const auto& config : e.getDeadEndConfigs()->configs) set.addAll(parser->getATN().nextTokens(config->state));
  return set;
}

/// Has the parser just read a complete expression? Then an operator could have gone on with it.
bool afterExpression(antlr4::ParserRuleContext* c) {
  antlr4::tree::ParseTree* last = c;
  while (last && !last->children.empty()) {
    last = last->children.back();
    if (dynamic_cast<P::ExprContext*>(last)) return true;
  }
  return false;
}

P::LineContext* lineOf(antlr4::ParserRuleContext* c) {
  for (antlr4::tree::ParseTree* p = c; p; p = p->parent)
    if (auto line = dynamic_cast<P::LineContext*>(p)) return line;
  return nullptr;
}

}  // namespace

Span ErrorStrategy::span(Token* t) const {
  return {source_, static_cast<uint32_t>(t->getStartIndex()), static_cast<uint32_t>(t->getStopIndex() + 1)};
}

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  failed_ = true;
  if (silent_) return;
  Situation s{e.getOffendingToken(), {}, parser->getContext()};
  auto noViable = dynamic_cast<const antlr4::NoViableAltException*>(&e);
  if (noViable) s.expected = expectedAt(*noViable, parser);
  if (s.expected.isEmpty()) s.expected = parser->getExpectedTokens();
  if (afterExpression(s.context)) {
    s.expected.add(P::PLUS);
    if (has(s.expected, P::RPAREN)) s.expected.add(P::COMMA);
  }
  report(s);
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
  reportError(parser, antlr4::InputMismatchException(parser));
  throw antlr4::ParseCancellationException();
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr e) {
  try {
    std::rethrow_exception(e);
  } catch (const antlr4::RecognitionException&) {
    throw antlr4::ParseCancellationException();
  } catch (const antlr4::ParseCancellationException&) {
  }
  auto* input = parser->getInputStream();
  for (int depth = 0; input->LA(1) != Token::EOF; parser->consume()) {
    size_t type = input->LA(1);
    if (type == P::NL && depth == 0) {
      parser->consume();
      return;
    }
    if (type == P::LBRACE) ++depth;
    if (type == P::RBRACE && --depth < 0) return;
  }
}

void ErrorStrategy::report(const Situation& s) {
  size_t before = diags_.errorCount();
  Diagnostic* d = nullptr;
  if (reportSpecial(s)) {
    if (!diags_.all().empty() && diags_.errorCount() <= diags_.limit) d = diags_.all().back().get();
  } else {
    std::string expected = expectation(s.expected);
    d = &diags_.error("E0101", span(s.found), "unexpected " + describe(s.found),
                      expected.empty() ? "" : "expected " + expected);
    if (s.found->getType() == P::ASSIGN && has(s.expected, P::PLUS)) d->fixes.push_back({"to compare, write `==`", {}});
  }
  if (!d || diags_.errorCount() == before) return;
  P::LineContext* line = lineOf(s.context);
  if (!line) return;
  const SourceFile& file = diags_.sources().file(source_);
  Span start = span(line->getStart());
  if (file.lineColumn(start.begin).first != file.lineColumn(d->primary.span.begin).first)
    d->secondary.push_back({start, "the statement begins here and goes on"});
}

/// Mistakes with a code of their own.
bool ErrorStrategy::reportSpecial(const Situation& s) {
  size_t found = s.found->getType();
  bool operand = has(s.expected, P::NUMBER);
  if (auto x = dynamic_cast<P::IfContext*>(s.context);
      x && (has(s.expected, P::THEN) || has(s.expected, P::ELSE)) && !operand) {
    std::string missing = has(s.expected, P::THEN) ? "then" : "else";
    Diagnostic& d = diags_.error("E0111", span(s.found), "this `if` has no `" + missing + "`",
                                 "expected `" + missing + "` before " + describe(s.found));
    d.secondary.push_back({span(x->getStart()), "the `if`"});
    return true;
  }
  if (isReserved(found) && has(s.expected, P::NAME) && !operand) {
    diags_.error("E0108", span(s.found), "`" + s.found->getText() + "` is a reserved word and names nothing",
                 "expected a name");
    return true;
  }
  if (found == P::BINDER && operand) {
    Diagnostic& d = diags_.error("E0101", span(s.found), "`in` has no meaning here", "this name stands before `in`");
    d.notes.push_back("`in` gives a range to a dim in `over = t in 0 : T-1` and in `sum[s in 0 : T] x[s]`");
    return true;
  }
  return false;
}

}  // namespace tempo::parse
