#include <map>

#include "parse/build.hpp"

namespace tempo::parse {

using ast::Expr;
using ast::ExprPtr;
using ast::Stmt;
using ast::StmtPtr;
using Kind = ast::Stmt::Kind;

std::vector<StmtPtr> Builder::statements(const std::vector<P::LineContext*>& lines, Place place) {
  std::vector<StmtPtr> out;
  for (P::LineContext* line : lines)
    if (!line->exception) statement(line->statement(), place, out);
  return out;
}

void Builder::statement(P::StatementContext* c, Place place, std::vector<StmtPtr>& out) {
  size_t first = out.size();
  if (auto x = dynamic_cast<P::UseStmtContext*>(c)) {
    uses(x, out);
  } else if (auto x = dynamic_cast<P::OutputStmtContext*>(c)) {
    outputs(x, out);
  } else {
    auto s = std::make_shared<Stmt>();
    s->span = span(c);
    size_t errors = diags_.errorCount();
    bool built = declaration(c, *s) || effect(c, *s) || definition(c, *s);
    bool equation = s->kind == Kind::Equation || s->kind == Kind::Next;
    if (built && !(equation && diags_.errorCount() > errors)) out.push_back(s);
  }
  if (out.size() > first) checkPlace(*out[first], place);
}

bool Builder::declaration(P::StatementContext* c, Stmt& s) {
  if (auto x = dynamic_cast<P::DimStmtContext*>(c)) {
    s.kind = Kind::Dim;
    for (P::DimDeclContext* d : x->dimDecl()) {
      auto bound = [&](antlr4::tree::TerminalNode* n, size_t i) { return n ? expr(d->expr(i)) : nullptr; };
      s.dims.push_back({name(d->NAME(0)), name(d->NAME(1)), bound(d->GE(), 0), bound(d->ASSIGN(), d->GE() ? 1 : 0)});
    }
    s.until = optional(x->expr());
  } else if (auto x = dynamic_cast<P::SizeStmtContext*>(c)) {
    s.kind = Kind::Size;
    for (P::SizeDeclContext* d : x->sizeDecl()) {
      auto bound = [&](antlr4::tree::TerminalNode* n, size_t i) { return n ? expr(d->expr(i)) : nullptr; };
      s.sizeDecls.push_back({name(d->NAME()), bound(d->ASSIGN(), d->GE() ? 1 : 0), bound(d->GE(), 0)});
    }
  } else if (auto x = dynamic_cast<P::InputStmtContext*>(c)) {
    s.kind = Kind::Input;
    for (P::InputItemContext* i : x->inputItem()) {
      std::vector<ast::Name> all = names(i->NAME());
      ast::InputItem item{
          all[0], {all.begin() + 1, all.end()}, i->LBRACK() != nullptr, type(i->type()), optional(i->expr())};
      s.inputItems.push_back(std::move(item));
    }
  } else if (auto x = dynamic_cast<P::OptionStmtContext*>(c)) {
    s.kind = Kind::Option;
    s.name = name(x->NAME());
    s.type = type(x->type(), true);
    s.value = expr(x->expr());
    if (x->STRING()) s.text = unquote(x->STRING()->getSymbol());
  } else if (auto x = dynamic_cast<P::LetStmtContext*>(c)) {
    s.kind = Kind::Let;
    s.names = names(x->letNames()->NAME());
    s.name = s.names[0];
    s.value = range(x->range());
  } else {
    return false;
  }
  return true;
}

bool Builder::effect(P::StatementContext* c, Stmt& s) {
  if (auto x = dynamic_cast<P::ReportStmtContext*>(c)) {
    s.kind = Kind::Report;
    every(x->every(), s);
    report(x->reportItem(), x->expr(), s);
  } else if (auto x = dynamic_cast<P::PrintStmtContext*>(c)) {
    s.kind = Kind::Print;
    report(x->reportItem(), x->expr(), s);
  } else if (auto x = dynamic_cast<P::AssertStmtContext*>(c)) {
    s.kind = Kind::Assert;
    s.value = expr(x->expr(0));
    if (x->STRING()) s.text = unquote(x->STRING()->getSymbol());
    s.when = optional(x->expr(1));
  } else if (auto x = dynamic_cast<P::SaveStmtContext*>(c)) {
    s.kind = Kind::Save;
    s.names = names(x->NAME());
    every(x->every(), s);
  } else {
    return false;
  }
  return true;
}

bool Builder::definition(P::StatementContext* c, Stmt& s) {
  if (auto x = dynamic_cast<P::EquationStmtContext*>(c)) {
    equation(x, s);
    return x->ASSIGN() != nullptr;
  }
  if (auto x = dynamic_cast<P::NextStmtContext*>(c)) {
    next(x, s);
  } else if (auto x = dynamic_cast<P::FnStmtContext*>(c)) {
    s.kind = Kind::Fn;
    s.name = name(x->NAME());
    s.dimParams = dimParams(x->dimParams());
    s.params = params(x->params());
    s.value = x->block() ? block(x->block()) : expr(x->expr());
  } else if (auto x = dynamic_cast<P::ModuleStmtContext*>(c)) {
    s.kind = Kind::Module;
    s.name = name(x->NAME());
    s.dimParams = dimParams(x->dimParams());
    s.params = params(x->params());
    s.body = statements(x->block()->line(), Place::Module);
  } else if (auto x = dynamic_cast<P::ParamStmtContext*>(c)) {
    s.kind = Kind::Param;
    s.name = name(x->NAME());
    s.type = type(x->type());
    s.value = optional(x->expr());
  } else if (auto x = dynamic_cast<P::ForStmtContext*>(c)) {
    s.kind = Kind::For;
    s.name = name(x->BINDER());
    s.value = expr(x->expr());
    s.body = statements(x->block()->line(), Place::Module);
  } else if (auto x = dynamic_cast<P::ExternStmtContext*>(c)) {
    external(x, s);
  }
  return true;
}

void Builder::equation(P::EquationStmtContext* c, Stmt& s) {
  s.kind = Kind::Equation;
  ExprPtr left = expr(c->expr(0));
  if (!c->ASSIGN()) {
    diags_.error("E0101", left->span, "an expression alone is no statement", "expected `name = ...`");
    return;
  }
  targets(*left, s.targets);
  s.type = type(c->type());
  s.value = expr(c->expr(1));
  s.when = optional(c->expr(2));
  s.otherwise = c->OTHERWISE();
}

void Builder::next(P::NextStmtContext* c, Stmt& s) {
  s.kind = Kind::Next;
  s.names = names(c->NAME());
  targets(*expr(c->expr(0)), s.targets);
  s.value = expr(c->expr(1));
}

void Builder::external(P::ExternStmtContext* c, Stmt& s) {
  s.kind = Kind::Extern;
  s.name = name(c->NAME(0));
  s.dimParams = dimParams(c->dimParams());
  s.params = params(c->params());
  s.text = unquote(c->STRING()->getSymbol());
}

/// The targets of a left side: a name, an indexed name, or a tuple of these, which may share indices.
void Builder::targets(const Expr& left, std::vector<ast::Target>& out) {
  const Expr* tuple = left.kind == Expr::Kind::Index ? left.args[0].get() : &left;
  if (tuple->kind != Expr::Kind::Tuple) {
    out.push_back(target(left));
    return;
  }
  for (const ExprPtr& part : tuple->args) {
    if (tuple == &left) {
      out.push_back(target(*part));
      continue;
    }
    auto indexed = std::make_shared<Expr>(left);
    indexed->args = {part};
    indexed->span = part->span;
    out.push_back(target(*indexed));
  }
}

ast::Target Builder::target(const Expr& left) {
  ast::Target t;
  t.span = left.span;
  const Expr* base = &left;
  if (left.kind == Expr::Kind::Index) {
    base = left.args[0].get();
    t.indexed = true;
    t.indices = left.indices;
    if (left.hasSemicolon)
      diags_.error("E0109", left.span, "the left side of an equation has no axis indices",
                   "an equation defines all elements of a point");
  }
  if (base->kind == Expr::Kind::NameRef) {
    t.name = {base->text, base->span};
  } else {
    Diagnostic& d = diags_.error("E0109", left.span, "this cannot stand on the left of `=`",
                                 "expected a name, with or without an index");
    if (left.kind == Expr::Kind::Call && left.args[0]->kind == Expr::Kind::NameRef && left.args[0]->text != "fn")
      d.fixes.push_back({"a function is defined with `fn " + diags_.sources().text(left.span) + " = ...`", {}});
  }
  return t;
}

void Builder::outputs(P::OutputStmtContext* c, std::vector<StmtPtr>& out) {
  std::shared_ptr<Stmt> open;
  for (P::OutputItemContext* item : c->outputItem()) {
    if (!open || item->TO()) {
      open = std::make_shared<Stmt>();
      open->kind = Kind::Output;
      open->span = span(c);
      out.push_back(open);
    }
    targets(*expr(item->expr()), open->targets);
    if (!item->TO()) continue;
    open->text = unquote(item->STRING()->getSymbol());
    open = nullptr;
  }
}

void Builder::uses(P::UseStmtContext* c, std::vector<StmtPtr>& out) {
  for (P::UseItemContext* item : c->useItem()) {
    auto s = std::make_shared<Stmt>();
    s->kind = Kind::Use;
    s->span = span(item);
    std::vector<ast::Name> words = names(item->NAME());
    if (item->AS()) {
      s->name = words.back();
      words.pop_back();
    }
    for (const ast::Name& w : words) s->text += (s->text.empty() ? "" : ".") + w.text;
    if (item->STRING()) {
      s->text = unquote(item->STRING()->getSymbol());
      auto path = std::make_shared<Expr>();
      path->kind = Expr::Kind::String;
      path->span = span(item->STRING()->getSymbol());
      path->text = s->text;
      s->value = path;
    }
    out.push_back(s);
  }
}

void Builder::report(const std::vector<P::ReportItemContext*>& items, P::ExprContext* when, Stmt& s) {
  for (P::ReportItemContext* i : items) {
    std::optional<ast::Name> label;
    if (i->NAME()) label = name(i->NAME());
    s.reportItems.push_back({label, expr(i->expr()), span(i->expr())});
  }
  s.when = optional(when);
}

void Builder::every(P::EveryContext* c, Stmt& s) {
  if (!c) return;
  P::EveryCountContext* count = c->everyCount();
  if (count->expr()) {
    s.every = expr(count->expr());
  } else if (count->NUMBER()) {
    s.every = number(count->NUMBER()->getSymbol());
  } else {
    auto e = make(Expr::Kind::NameRef, count);
    e->text = count->getText();
    s.every = e;
  }
  s.text = c->NAME()->getText();
}

ExprPtr Builder::block(P::BlockContext* c) {
  auto e = make(Expr::Kind::Block, c);
  std::vector<P::LineContext*> lines = c->line();
  bool failed = false;
  for (P::LineContext* l : lines) failed |= l->exception != nullptr;
  P::EquationStmtContext* last = lines.empty() || lines.back()->exception
                                     ? nullptr
                                     : dynamic_cast<P::EquationStmtContext*>(lines.back()->statement());
  if (last && !last->ASSIGN()) {
    e->args = {expr(last->expr(0))};
    lines.pop_back();
  } else {
    if (!failed)
      diags_.error("E0114", span(c->getStop()), "the block has no value", "expected an expression before this");
    auto none = std::make_shared<Expr>();
    none->kind = Expr::Kind::Number;
    none->span = e->span;
    e->args = {none};
  }
  e->body = statements(lines, Place::Function);
  return e;
}

std::vector<ast::Name> Builder::names(const std::vector<antlr4::tree::TerminalNode*>& nodes) {
  std::vector<ast::Name> out;
  for (antlr4::tree::TerminalNode* n : nodes) out.push_back(name(n));
  return out;
}

std::vector<ast::Name> Builder::dimParams(P::DimParamsContext* c) {
  return c ? names(c->NAME()) : std::vector<ast::Name>{};
}

std::vector<ast::Param> Builder::params(P::ParamsContext* c) {
  std::vector<ast::Param> out;
  if (!c) return out;
  for (P::ParamContext* p : c->param()) out.push_back({name(p->NAME()), optional(p->expr()), type(p->type())});
  return out;
}

std::optional<ast::TypeExpr> Builder::type(P::TypeContext* c, bool option) {
  static const std::map<std::string, std::string> meant = {
      {"float32", "f32"}, {"float", "f32"},     {"float64", "f64"}, {"double", "f64"}, {"float16", "f16"},
      {"half", "f16"},    {"bfloat16", "bf16"}, {"int", "i64"},     {"int64", "i64"},  {"int32", "i32"},
      {"int8", "i8"},     {"uint8", "u8"},      {"boolean", "bool"}};
  if (!c) return std::nullopt;
  ast::TypeExpr t;
  t.span = span(c);
  if (c->LBRACK()) t.shape.emplace();
  if (c->exprs())
    for (P::ExprContext* e : c->exprs()->expr()) t.shape->push_back(expr(e));
  if (!c->NAME()) return t;
  std::string word = c->NAME()->getText();
  if (option && word == "string") return t;
  if (option && (word == "int" || word == "float")) word = meant.at(word);
  t.dtype = parseDType(word);
  if (!t.dtype) {
    Diagnostic& d = diags_.error("E0112", span(c->NAME()->getSymbol()), "`" + word + "` is no dtype");
    d.notes.push_back("the dtypes are `f64 f32 bf16 f16 i64 i32 i8 u8 bool`");
    if (auto it = meant.find(word); it != meant.end())
      d.fixes.push_back({"write `" + it->second + "`", {{span(c->NAME()->getSymbol()), it->second}}});
  }
  return t;
}

void Builder::checkPlace(const Stmt& s, Place place) {
  switch (s.kind) {
    case Kind::Equation:
    case Kind::Next:
    case Kind::Let:
    case Kind::Fn:
    case Kind::Assert:
    case Kind::Print:
      return;
    case Kind::Param:
      if (place != Place::Module) diags_.error("E0218", s.span, "`param` stands in the braces of a `module` only");
      return;
    case Kind::For:
      if (place == Place::Module) return;
      diags_.error("E0113", s.span, "`for` stands in the braces of a `module` only");
      return;
    case Kind::Size:
      if (place != Place::Function) return;
      break;
    default:
      if (place == Place::File) return;
  }
  std::string word = diags_.sources().text(s.span);
  word = word.substr(0, word.find_first_of(" \t\n"));
  diags_.error("E0113", s.span,
               "`" + word + "` cannot stand in the braces of a " + (place == Place::Module ? "module" : "function"),
               "this belongs at the top of the file");
}

}  // namespace tempo::parse
