#include "ast/ast.hpp"

namespace tempo::ast {
namespace {

using Kind = Expr::Kind;

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string expr(const ExprPtr& e);

std::string range(const ExprPtr& lo, const ExprPtr& hi, const ExprPtr& step) {
  std::string out = (lo ? expr(lo) : "") + ":" + (hi ? expr(hi) : "");
  return step ? out + ":" + expr(step) : out;
}

std::string index(const Index& i) {
  std::string out = i.dim ? i.dim->text + "=" : "";
  switch (i.kind) {
    case Index::Kind::Point:
      out += expr(i.lo);
      break;
    case Index::Kind::Range:
      out += range(i.lo, i.hi, i.step);
      break;
    case Index::Kind::NewAxis:
      out += "None";
      break;
    case Index::Kind::Ellipsis:
      out += "...";
      break;
  }
  if (i.withinLo) out += " within " + range(i.withinLo, i.withinHi, nullptr);
  return out;
}

std::string indices(const std::vector<Index>& items) {
  std::string out;
  for (const Index& i : items) out += (out.empty() ? "" : ", ") + index(i);
  return out;
}

/// One form for all expressions: an operator and its operands in parentheses.
std::string form(const std::string& head, const std::vector<ExprPtr>& args) {
  std::string out = "(" + head;
  for (const ExprPtr& a : args) out += " " + expr(a);
  return out + ")";
}

std::string binders(const std::vector<Expr::Binder>& items) {
  std::string out;
  for (const Expr::Binder& b : items) {
    out += (out.empty() ? "" : ", ") + b.var.text + " in ";
    out += b.hi ? range(b.lo, b.hi, b.step) : expr(b.lo);
  }
  return out;
}

std::string call(const Expr& e) {
  std::string out = "(call " + expr(e.args[0]);
  for (const Arg& a : e.callArgs) out += " " + (a.name ? a.name->text + "=" : "") + expr(a.value);
  for (const OverItem& o : e.over) {
    out += " over=" + o.dim.text;
    if (o.lo) out += " in " + (o.hi ? range(o.lo, o.hi, nullptr) : expr(o.lo));
  }
  return out + ")";
}

void statements(const std::vector<StmtPtr>& stmts, int depth, const Sources& s, std::string& out);

std::string expr(const ExprPtr& p) {
  const Expr& e = *p;
  switch (e.kind) {
    case Kind::Number:
      return e.text.empty() ? std::to_string(e.integer) : e.text;
    case Kind::String:
      return quoted(e.text);
    case Kind::Bool:
      return e.integer ? "true" : "false";
    case Kind::NameRef:
      return e.text;
    case Kind::Unary:
    case Kind::Binary:
      return form(e.text, e.args);
    case Kind::If:
      return form("if", e.args);
    case Kind::Call:
      return call(e);
    case Kind::Index:
      return expr(e.args[0]) + "[" + indices(e.indices) + (e.hasSemicolon ? "; " : "") + indices(e.axisIndices) + "]";
    case Kind::Member:
      return expr(e.args[0]) + "." + e.text;
    case Kind::Tuple:
      return form("tuple", e.args);
    case Kind::List:
      return form(e.binders.empty() ? "list" : "list[" + binders(e.binders) + "]", e.args);
    case Kind::Comprehension:
      return form(e.text + "[" + binders(e.binders) + "]", e.args);
    case Kind::Block:
      return form("block", e.args);
    case Kind::Range:
      return "(" + range(e.args[0], e.args[1], e.args.size() > 2 ? e.args[2] : nullptr) + ")";
  }
  return "";
}

std::string type(const std::optional<TypeExpr>& t) {
  if (!t) return "";
  std::string out = " : ";
  if (t->dtype) out += name(*t->dtype);
  if (!t->shape) return out;
  out += "[";
  for (size_t i = 0; i < t->shape->size(); ++i) out += (i ? ", " : "") + expr((*t->shape)[i]);
  return out + "]";
}

std::string joined(const std::vector<Name>& names) {
  std::string out;
  for (const Name& n : names) out += (out.empty() ? "" : ", ") + n.text;
  return out;
}

std::string brackets(const std::vector<Name>& names) { return names.empty() ? "" : "[" + joined(names) + "]"; }

std::string target(const Target& t) { return t.name.text + (t.indexed ? "[" + indices(t.indices) + "]" : ""); }

std::string optional(const char* before, const ExprPtr& e) { return e ? before + expr(e) : ""; }

class StmtPrinter {
 public:
  StmtPrinter(int depth, const Sources& sources, std::string& out) : depth_(depth), sources_(sources), out_(out) {}

  void print(const Stmt& s) {
    doc(s);
    if (declaration(s) || effect(s)) return;
    definition(s);
  }

 private:
  void line(int extra, const std::string& text) {
    out_ += std::string(2 * static_cast<size_t>(depth_ + extra), ' ') + text + "\n";
  }
  void head(const Stmt& s, const std::string& text) {
    auto [row, column] = sources_.file(s.span.file).lineColumn(s.span.begin);
    line(0, text + " @" + std::to_string(row) + ":" + std::to_string(column));
  }
  void field(const char* label, const ExprPtr& e) {
    if (!e) return;
    line(1, std::string(label) + " " + expr(e));
    if (e->kind == Kind::Block) statements(e->body, depth_ + 2, sources_, out_);
  }
  void doc(const Stmt& s) {
    for (size_t begin = 0; begin < s.doc.size();) {
      size_t end = std::min(s.doc.find('\n', begin), s.doc.size());
      line(0, "# " + s.doc.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  bool declaration(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::Dim:
        head(s, "dim");
        for (const DimDecl& d : s.dims)
          line(1, d.dim.text + " : " + d.size.text + optional(" >= ", d.atLeast) + optional(" = ", d.value));
        field("until", s.until);
        return true;
      case Stmt::Kind::Size:
        head(s, "size");
        for (const SizeDecl& d : s.sizeDecls)
          line(1, d.name.text + optional(" >= ", d.atLeast) + optional(" = ", d.value));
        return true;
      case Stmt::Kind::Input:
        head(s, "input");
        for (const InputItem& i : s.inputItems)
          line(1, i.name.text + brackets(i.dims) + type(i.type) + optional(" = ", i.value));
        return true;
      case Stmt::Kind::Option:
        head(s, "option " + s.name.text + type(s.type));
        field("value", s.value);
        if (!s.text.empty()) line(1, "help " + quoted(s.text));
        return true;
      case Stmt::Kind::Let:
        head(s, "let " + joined(s.names));
        field("value", s.value);
        return true;
      case Stmt::Kind::Use:
        head(s, "use " + (s.value ? quoted(s.text) : s.text) + (s.name.text.empty() ? "" : " as " + s.name.text));
        return true;
      default:
        return false;
    }
  }

  void items(const Stmt& s) {
    for (const ReportItem& i : s.reportItems) line(1, (i.name ? i.name->text + " = " : "") + expr(i.value));
    field("when", s.when);
  }

  bool effect(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::Output: {
        std::string all;
        for (const Target& t : s.targets) all += (all.empty() ? "" : ", ") + target(t);
        head(s, "output " + all + (s.text.empty() ? "" : " to " + quoted(s.text)));
        return true;
      }
      case Stmt::Kind::Report:
        head(s, "report" + optional(" every ", s.every) + (s.every ? " " + s.text : ""));
        items(s);
        return true;
      case Stmt::Kind::Print:
        head(s, "print");
        items(s);
        return true;
      case Stmt::Kind::Assert:
        head(s, "assert" + (s.text.empty() ? "" : " " + quoted(s.text)));
        field("value", s.value);
        field("when", s.when);
        return true;
      case Stmt::Kind::Save:
        head(s, "save " + joined(s.names) + optional(" every ", s.every) + (s.every ? " " + s.text : ""));
        return true;
      case Stmt::Kind::Test:
        head(s, "test " + quoted(s.text));
        return true;
      default:
        return false;
    }
  }

  std::string signature(const Stmt& s) {
    std::string out = s.name.text + brackets(s.dimParams) + "(";
    for (size_t i = 0; i < s.params.size(); ++i)
      out += (i ? ", " : "") + s.params[i].name.text + type(s.params[i].type) + optional(" = ", s.params[i].value);
    return out + ")";
  }

  void definition(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::Next:
      case Stmt::Kind::Equation:
        head(s, s.kind == Stmt::Kind::Next ? "next(" + joined(s.names) + ")" : "equation" + type(s.type));
        for (const Target& t : s.targets) line(1, "target " + target(t));
        field("value", s.value);
        field("when", s.when);
        if (s.otherwise) line(1, "otherwise");
        break;
      case Stmt::Kind::Fn:
        head(s, "fn " + signature(s));
        field("value", s.value);
        break;
      case Stmt::Kind::Extern:
        head(s, "extern fn " + signature(s) + " from " + quoted(s.text));
        break;
      case Stmt::Kind::Module:
        head(s, "module " + signature(s));
        statements(s.body, depth_ + 1, sources_, out_);
        break;
      case Stmt::Kind::Param:
        head(s, "param " + s.name.text + type(s.type));
        field("value", s.value);
        break;
      case Stmt::Kind::For:
        head(s, "for " + s.name.text);
        field("in", s.value);
        statements(s.body, depth_ + 1, sources_, out_);
        break;
      default:
        break;
    }
  }

  int depth_;
  const Sources& sources_;
  std::string& out_;
};

void statements(const std::vector<StmtPtr>& stmts, int depth, const Sources& s, std::string& out) {
  for (const StmtPtr& stmt : stmts) StmtPrinter(depth, s, out).print(*stmt);
}

}  // namespace

std::string print(const File& f, const Sources& s) {
  std::string out;
  statements(f.stmts, 0, s, out);
  return out;
}

}  // namespace tempo::ast
