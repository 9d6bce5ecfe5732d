// Parse tree to AST. For frontend/parse/*.cpp only: the generated types stay there.
#pragma once

#include <antlr4-runtime.h>

#include "TempoParser.h"
#include "ast/ast.hpp"
#include "diag/diag.hpp"

namespace tempo::parse {

using P = grammar::TempoParser;

/// Where a run of statements stands; decides which are allowed.
enum class Place { File, Module, Function };

/// Builds what parsed; statements with an error are left out. Tokens carry byte offsets.
class Builder {
 public:
  Builder(uint32_t source, Diagnostics& diags) : source_(source), diags_(diags) {}

  std::vector<ast::StmtPtr> statements(const std::vector<P::LineContext*>& lines, Place place);

 private:
  // Statements (build_stmt.cpp); most give one, `use a, b` and `output` with files give several.
  void statement(P::StatementContext* c, Place place, std::vector<ast::StmtPtr>& out);
  bool declaration(P::StatementContext* c, ast::Stmt& s);
  bool effect(P::StatementContext* c, ast::Stmt& s);
  bool definition(P::StatementContext* c, ast::Stmt& s);
  void equation(P::EquationStmtContext* c, ast::Stmt& s);
  void next(P::NextStmtContext* c, ast::Stmt& s);
  void external(P::ExternStmtContext* c, ast::Stmt& s);
  void outputs(P::OutputStmtContext* c, std::vector<ast::StmtPtr>& out);
  void uses(P::UseStmtContext* c, std::vector<ast::StmtPtr>& out);
  void report(const std::vector<P::ReportItemContext*>& items, P::ExprContext* when, ast::Stmt& s);
  void every(P::EveryContext* c, ast::Stmt& s);
  void checkPlace(const ast::Stmt& s, Place place);
  void targets(const ast::Expr& left, std::vector<ast::Target>& out);
  ast::Target target(const ast::Expr& left);
  ast::ExprPtr block(P::BlockContext* c);
  std::vector<ast::Name> dimParams(P::DimParamsContext* c);
  std::vector<ast::Param> params(P::ParamsContext* c);
  std::optional<ast::TypeExpr> type(P::TypeContext* c, bool option = false);

  // Expressions (build_expr.cpp).
  ast::ExprPtr expr(P::ExprContext* c);
  ast::ExprPtr optional(P::ExprContext* c) { return c ? expr(c) : nullptr; }
  ast::ExprPtr range(P::RangeContext* c);
  ast::ExprPtr binary(P::BinaryContext* c);
  ast::ExprPtr call(P::CallContext* c);
  ast::ExprPtr index(P::IndexContext* c);
  ast::ExprPtr parens(P::ParensContext* c);
  ast::ExprPtr list(P::ListContext* c);
  ast::ExprPtr comprehension(P::ComprehensionContext* c);
  ast::ExprPtr number(antlr4::Token* t);
  ast::ExprPtr operand(P::ExprContext* c);
  ast::Arg arg(P::ArgContext* c);
  bool overItems(P::ArgValueContext* c, std::vector<ast::OverItem>& out);
  ast::OverItem overItem(antlr4::Token* dim, P::RangeContext* range);
  ast::Index indexItem(P::IndexItemContext* c);
  ast::Expr::Binder binder(antlr4::Token* name, P::RangeContext* range);
  void strayBinder(antlr4::Token* name);

  std::shared_ptr<ast::Expr> make(ast::Expr::Kind kind, antlr4::ParserRuleContext* c);
  ast::Name name(antlr4::Token* t) { return {t->getText(), span(t)}; }
  ast::Name name(antlr4::tree::TerminalNode* n) { return name(n->getSymbol()); }
  std::vector<ast::Name> names(const std::vector<antlr4::tree::TerminalNode*>& nodes);
  std::string unquote(antlr4::Token* t);
  Span span(antlr4::Token* t) const;
  Span span(antlr4::ParserRuleContext* c) const;

  uint32_t source_;
  Diagnostics& diags_;
};

}  // namespace tempo::parse
