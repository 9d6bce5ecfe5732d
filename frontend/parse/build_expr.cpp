#include <charconv>

#include "parse/build.hpp"

namespace tempo::parse {

using ast::Expr;
using ast::ExprPtr;
using Kind = ast::Expr::Kind;

Span Builder::span(antlr4::Token* t) const {
  return {source_, static_cast<uint32_t>(t->getStartIndex()), static_cast<uint32_t>(t->getStopIndex() + 1)};
}

Span Builder::span(antlr4::ParserRuleContext* c) const {
  return {source_, span(c->getStart()).begin, span(c->getStop()).end};
}

std::shared_ptr<Expr> Builder::make(Kind kind, antlr4::ParserRuleContext* c) {
  auto e = std::make_shared<Expr>();
  e->kind = kind;
  e->span = span(c);
  return e;
}

std::string Builder::unquote(antlr4::Token* t) {
  std::string raw = t->getText(), out;
  for (size_t i = 1; i + 1 < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
      continue;
    }
    char c = raw[++i];
    if (c != 'n' && c != 't' && c != '"' && c != '\\') {
      Span at{source_, span(t).begin + static_cast<uint32_t>(i) - 1, span(t).begin + static_cast<uint32_t>(i) + 1};
      diags_.error("E0104", at, "unknown escape in a string", "the escapes are `\\n`, `\\t`, `\\\"` and `\\\\`");
    }
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

ExprPtr Builder::number(antlr4::Token* t) {
  std::string digits = t->getText();
  std::erase(digits, '_');
  auto e = std::make_shared<Expr>();
  e->kind = Kind::Number;
  e->span = span(t);
  e->text = t->getText();
  e->isFloat = digits.find_first_of(".eE") != std::string::npos;
  const char *begin = digits.data(), *end = begin + digits.size();
  std::errc status = std::from_chars(begin, end, e->number).ec;
  if (!e->isFloat) status = std::from_chars(begin, end, e->integer).ec;
  if (status != std::errc())
    diags_.error("E0107", e->span, "`" + e->text + "` is too large or too small",
                 e->isFloat ? "beyond the range of f64" : "beyond the range of i64");
  return e;
}

ExprPtr Builder::expr(P::ExprContext* c) {
  if (auto x = dynamic_cast<P::NameContext*>(c)) {
    auto e = make(Kind::NameRef, c);
    e->text = x->NAME()->getText();
    return e;
  }
  if (auto x = dynamic_cast<P::BinaryContext*>(c)) return binary(x);
  if (auto x = dynamic_cast<P::NumberContext*>(c)) return number(x->NUMBER()->getSymbol());
  if (auto x = dynamic_cast<P::IndexContext*>(c)) return index(x);
  if (auto x = dynamic_cast<P::CallContext*>(c)) return call(x);
  if (auto x = dynamic_cast<P::ParensContext*>(c)) return parens(x);
  if (auto x = dynamic_cast<P::ListContext*>(c)) return list(x);
  if (auto x = dynamic_cast<P::ComprehensionContext*>(c)) return comprehension(x);
  if (auto x = dynamic_cast<P::MemberContext*>(c)) {
    auto e = make(Kind::Member, c);
    e->args = {operand(x->expr())};
    e->text = x->NAME()->getText();
    return e;
  }
  if (auto x = dynamic_cast<P::UnaryContext*>(c)) {
    auto e = make(Kind::Unary, c);
    e->text = x->op->getText();
    e->args = {operand(x->expr())};
    return e;
  }
  if (auto x = dynamic_cast<P::IfContext*>(c)) {
    auto e = make(Kind::If, c);
    for (P::ExprContext* part : x->expr()) e->args.push_back(expr(part));
    return e;
  }
  if (auto x = dynamic_cast<P::StringContext*>(c)) {
    auto e = make(Kind::String, c);
    e->text = unquote(x->STRING()->getSymbol());
    return e;
  }
  auto x = dynamic_cast<P::BoolContext*>(c);
  auto e = make(Kind::Bool, c);
  e->integer = x->value->getText() == "true";
  e->number = static_cast<double>(e->integer);
  return e;
}

/// An operand of an operator: `if` and comprehensions reach as far to the right as they can, so there they need
/// parentheses.
ExprPtr Builder::operand(P::ExprContext* c) {
  bool isIf = dynamic_cast<P::IfContext*>(c);
  auto comprehension = dynamic_cast<P::ComprehensionContext*>(c);
  if (isIf || comprehension) {
    std::string what = isIf ? "if" : comprehension->COMPREHENSION()->getText() + "[...]";
    Span s = span(c);
    Diagnostic& d = diags_.error("E0116", s, "`" + what + "` inside an operation needs parentheses",
                                 "reaches to here, since it extends as far as it can");
    Span before{source_, s.begin, s.begin}, after{source_, s.end, s.end};
    d.fixes.push_back({"put it in parentheses", {{before, "("}, {after, ")"}}});
  }
  return expr(c);
}

namespace {

bool isComparison(antlr4::Token* op) {
  switch (op->getType()) {
    case P::EQ:
    case P::NE:
    case P::LT:
    case P::LE:
    case P::GT:
    case P::GE:
      return true;
    default:
      return false;
  }
}

}  // namespace

ExprPtr Builder::binary(P::BinaryContext* c) {
  auto e = make(Kind::Binary, c);
  e->text = c->op->getText();
  if (auto left = dynamic_cast<P::BinaryContext*>(c->expr(0)); left && isComparison(left->op) && isComparison(c->op)) {
    Diagnostic& d = diags_.error("E0110", span(c), "comparisons do not chain");
    std::string middle = diags_.sources().text(span(left->expr(1)));
    std::string help = diags_.sources().text(span(left)) + " and " + middle + " " + e->text + " " +
                       diags_.sources().text(span(c->expr(1)));
    d.fixes.push_back({"join two comparisons: `" + help + "`", {{span(c), help}}});
  }
  e->args = {operand(c->expr(0)), operand(c->expr(1))};
  return e;
}

ExprPtr Builder::call(P::CallContext* c) {
  auto e = make(Kind::Call, c);
  e->args = {operand(c->expr())};
  if (!c->args()) return e;
  for (P::ArgContext* a : c->args()->arg()) {
    if (a->NAME() && a->NAME()->getText() == "over" && overItems(a->argValue(), e->over)) continue;
    e->callArgs.push_back(arg(a));
    bool afterNamed = e->callArgs.size() > 1 && e->callArgs[e->callArgs.size() - 2].name;
    if (!a->NAME() && (afterNamed || !e->over.empty()))
      diags_.error("E0115", span(a), "an argument without a name stands after one with a name");
  }
  return e;
}

ast::Arg Builder::arg(P::ArgContext* c) {
  ast::Arg a;
  a.span = span(c);
  if (c->NAME()) a.name = name(c->NAME());
  P::ArgValueContext* value = c->argValue();
  if (value->BINDER()) strayBinder(value->BINDER()->getSymbol());
  a.value = range(value->range());
  return a;
}

void Builder::strayBinder(antlr4::Token* name) {
  Diagnostic& d = diags_.error("E0101", span(name), "`" + name->getText() + " in ...` has no meaning here");
  d.notes.push_back("`in` gives a range to a dim in `over = t in 0 : T-1` and in `sum[s in 0 : T] x[s]`");
}

ast::OverItem Builder::overItem(antlr4::Token* dim, P::RangeContext* range) {
  ast::Expr::Binder b = binder(dim, range);
  if (b.step) diags_.error("E0101", b.step->span, "`over` takes no step");
  return {b.var, b.lo, b.hi};
}

/// The dims of `over = ...`; false if the value is something else, which is then an ordinary argument.
bool Builder::overItems(P::ArgValueContext* c, std::vector<ast::OverItem>& out) {
  if (c->BINDER()) {
    out.push_back(overItem(c->BINDER()->getSymbol(), c->range()));
    return true;
  }
  if (c->range()->hi) return false;
  if (auto x = dynamic_cast<P::NameContext*>(c->range()->lo)) {
    out.push_back({name(x->NAME()), nullptr, nullptr});
    return true;
  }
  auto tuple = dynamic_cast<P::ParensContext*>(c->range()->lo);
  if (!tuple) return false;
  std::vector<ast::OverItem> items;
  for (P::ElementContext* e : tuple->element()) {
    if (e->BINDER()) {
      items.push_back(overItem(e->BINDER()->getSymbol(), e->range()));
    } else if (auto x = dynamic_cast<P::NameContext*>(e->expr())) {
      items.push_back({name(x->NAME()), nullptr, nullptr});
    } else {
      return false;
    }
  }
  out = std::move(items);
  return true;
}

ExprPtr Builder::index(P::IndexContext* c) {
  auto e = make(Kind::Index, c);
  e->args = {operand(c->expr())};
  P::IndicesContext* indices = c->indices();
  e->hasSemicolon = indices->semicolon;
  for (P::IndexListContext* l : indices->indexList()) {
    bool afterSemicolon = e->hasSemicolon && l->getStart()->getStartIndex() > indices->semicolon->getStartIndex();
    auto& items = afterSemicolon ? e->axisIndices : e->indices;
    for (P::IndexItemContext* i : l->indexItem()) items.push_back(indexItem(i));
  }
  if (indices->indexList().empty()) diags_.error("E0101", e->span, "the brackets hold no index", "expected an index");
  return e;
}

ast::Index Builder::indexItem(P::IndexItemContext* c) {
  using IndexKind = ast::Index::Kind;
  ast::Index i;
  i.span = span(c);
  if (c->ELLIPSIS()) {
    i.kind = IndexKind::Ellipsis;
    return i;
  }
  if (c->NAME()) i.dim = name(c->NAME());
  P::IndexValueContext* v = c->indexValue();
  i.lo = optional(v->expr());
  if (P::SliceContext* s = v->slice()) {
    i.kind = IndexKind::Range;
    i.hi = optional(s->hi);
    i.step = optional(s->step);
  } else if (P::WithinContext* w = v->within()) {
    i.withinLo = expr(w->lo);
    i.withinHi = expr(w->hi);
  } else if (i.lo->kind == Kind::NameRef && i.lo->text == "None") {
    i.kind = IndexKind::NewAxis;
    i.lo = nullptr;
  }
  return i;
}

ExprPtr Builder::range(P::RangeContext* c) {
  if (!c->hi) return expr(c->lo);
  auto e = make(Kind::Range, c);
  e->args = {expr(c->lo), expr(c->hi)};
  if (c->step) e->args.push_back(expr(c->step));
  return e;
}

ast::Expr::Binder Builder::binder(antlr4::Token* var, P::RangeContext* c) {
  return {name(var), expr(c->lo), optional(c->hi), optional(c->step)};
}

ExprPtr Builder::parens(P::ParensContext* c) {
  auto e = make(Kind::Tuple, c);
  for (P::ElementContext* element : c->element()) {
    if (element->BINDER()) strayBinder(element->BINDER()->getSymbol());
    e->args.push_back(element->BINDER() ? range(element->range()) : expr(element->expr()));
  }
  if (e->args.size() > 1 || c->comma) return e;
  auto inner = std::make_shared<Expr>(*e->args[0]);
  inner->span = e->span;
  return inner;
}

ExprPtr Builder::list(P::ListContext* c) {
  auto e = make(Kind::List, c);
  std::vector<P::ExprContext*> items = c->expr();
  if (c->BINDER()) {
    e->args = {expr(items[0])};
    e->binders = {{name(c->BINDER()), expr(items[1]), nullptr, nullptr}};
    return e;
  }
  for (P::ExprContext* i : items) e->args.push_back(expr(i));
  return e;
}

ExprPtr Builder::comprehension(P::ComprehensionContext* c) {
  static const std::set<std::string> known = {"sum", "max", "min",    "prod",    "mean",
                                              "all", "any", "argmax", "softmax", "stack"};
  auto e = make(Kind::Comprehension, c);
  e->text = c->COMPREHENSION()->getText();
  if (!known.count(e->text)) {
    Diagnostic& d =
        diags_.error("E0201", span(c->COMPREHENSION()->getSymbol()), "`" + e->text + "` is no comprehension");
    d.notes.push_back("comprehensions are `sum max min prod mean all any argmax softmax stack`");
  }
  for (P::BinderContext* b : c->binder()) e->binders.push_back(binder(b->BINDER()->getSymbol(), b->range()));
  e->args = {expr(c->expr())};
  return e;
}

}  // namespace tempo::parse
