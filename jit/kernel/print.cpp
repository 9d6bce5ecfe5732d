// Text form of the Kernel IR. Operators with a symbol print infix and parenthesised below the top; the rest are calls.
#include <cctype>
#include <cmath>
#include <cstdio>
#include <set>

#include "check.hpp"
#include "kernel/kir.hpp"

namespace tempo::kir {

namespace {

bool plainName(const std::string& s) {
  static const std::set<std::string> reserved = {"for",  "par",  "if",     "else",  "let",    "reduce", "check", "poll",
                                                 "call", "true", "false",  "inf",   "nan",    "in",     "site",  "reverse",
                                                 "launch", "effect", "progress", "kernel", "host", "buffer", "scratch",
                                                 "grid", "sizes"};
  if (s.empty() || reserved.count(s) || !(std::isalpha(static_cast<unsigned char>(s[0])) || s[0] == '_')) return false;
  for (size_t k = 0; k < s.size(); ++k) {
    const unsigned char c = static_cast<unsigned char>(s[k]);
    const bool dot = c == '.' && k + 1 < s.size() && (std::isalnum(static_cast<unsigned char>(s[k + 1])) || s[k + 1] == '_');
    if (!std::isalnum(c) && c != '_' && c != '$' && !dot) return false;
  }
  return true;
}

std::string nameText(const std::string& s) { return plainName(s) ? s : "`" + s + "`"; }

std::string floatText(DType t, double v) {
  std::string s;
  if (std::isnan(v)) {
    s = "nan";
  } else if (std::isinf(v)) {
    s = v < 0 ? "-inf" : "inf";
  } else {
    char buf[40];
    for (int digits : {6, 9, 17}) {
      std::snprintf(buf, sizeof buf, "%.*g", digits, v);
      if (std::strtod(buf, nullptr) == v) break;
    }
    s = buf;
  }
  return s + ":" + name(t);
}

class Printer {
 public:
  std::string out;

  void expr(const ExprPtr& e, bool top = true) {
    switch (e->kind) {
      case Expr::Kind::ConstF: out += floatText(e->dtype, e->f); return;
      case Expr::Kind::ConstI: constInt(*e); return;
      case Expr::Kind::Var: out += nameText(e->name); return;
      case Expr::Kind::Op: opExpr(*e, top); return;
      case Expr::Kind::Select: call("select", e->args); return;
      case Expr::Kind::Cond: call("if", e->args); return;
      case Expr::Kind::Cast: call(name(e->dtype), e->args); return;
      case Expr::Kind::Load:
        out += nameText(e->name) + "[";
        expr(e->args[0]);
        out += "]";
        return;
      case Expr::Kind::Random:
        out += "random(" + std::to_string(e->i);
        for (const auto& a : e->args) out += ", ", expr(a);
        out += ")";
        return;
    }
  }

  void block(const Block& b, int depth) {
    out += " {\n";
    for (const auto& s : b) stmt(*s, depth + 1);
    indent(depth);
    out += "}";
  }

  void stmt(const Stmt& s, int depth) {
    indent(depth);
    switch (s.kind) {
      case Stmt::Kind::Seq:
      case Stmt::Kind::Par:
        out += s.kind == Stmt::Kind::Seq ? "for " : "par ";
        loop(s.loop);
        block(s.body, depth);
        break;
      case Stmt::Kind::If:
        out += "if ";
        expr(s.cond);
        block(s.body, depth);
        if (!s.orelse.empty()) out += " else", block(s.orelse, depth);
        break;
      case Stmt::Kind::Let:
        out += "let " + nameText(s.name) + ": " + name(s.dtype) + " = ";
        expr(s.value);
        break;
      case Stmt::Kind::Store:
        out += nameText(s.name) + "[";
        expr(s.index);
        out += "] = ";
        expr(s.value);
        break;
      case Stmt::Kind::Reduce: reduce(s, depth); break;
      case Stmt::Kind::Check:
        out += "check ";
        expr(s.cond);
        out += " site " + std::to_string(s.site);
        args(s.args);
        break;
      case Stmt::Kind::Poll: out += "poll"; break;
      case Stmt::Kind::Call:
        out += "call " + nameText(s.name);
        args(s.args);
        break;
    }
    out += "\n";
  }

  void kernel(const Kernel& k, int depth) {
    indent(depth);
    out += "kernel " + nameText(k.name) + "(";
    names(k.params);
    out += ") {\n";
    for (const auto& b : k.buffers) {
      indent(depth + 1);
      out += "buffer " + nameText(b.name) + ": " + name(b.dtype) + (b.written ? " written\n" : "\n");
    }
    for (const auto& s : k.scratch) {
      indent(depth + 1);
      out += "scratch " + nameText(s.name) + ": " + name(s.dtype) + "[";
      expr(s.count);
      out += "]\n";
    }
    indent(depth + 1);
    out += "grid(";
    for (size_t i = 0; i < k.grid.size(); ++i) out += i ? ", " : "", loop(k.grid[i]);
    out += ")";
    block(k.body, depth + 1);
    out += "\n";
    indent(depth);
    out += "}\n";
  }

  void host(const Program& p, const HostStmt& s, int depth) {
    indent(depth);
    switch (s.kind) {
      case HostStmt::Kind::For:
        out += "for ";
        loop(s.loop);
        hostBlock(p, s.body, depth);
        break;
      case HostStmt::Kind::If:
        out += "if ";
        expr(s.cond);
        hostBlock(p, s.body, depth);
        if (!s.orelse.empty()) out += " else", hostBlock(p, s.orelse, depth);
        break;
      case HostStmt::Kind::Let:
        out += "let " + nameText(s.name) + ": i64 = ";
        expr(s.value);
        break;
      case HostStmt::Kind::Launch:
        out += "launch " + nameText(p.kernels.at(static_cast<size_t>(s.kernel)).name);
        args(s.args);
        break;
      case HostStmt::Kind::Effect:
        out += "effect " + std::to_string(s.effect);
        args(s.args);
        break;
      case HostStmt::Kind::Progress:
        out += "progress";
        args(s.args);
        break;
    }
    out += "\n";
  }

  void hostBlock(const Program& p, const std::vector<HostStmt>& b, int depth) {
    out += " {\n";
    for (const auto& s : b) host(p, s, depth + 1);
    indent(depth);
    out += "}";
  }

  void names(const std::vector<std::string>& v) {
    for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + nameText(v[i]);
  }

 private:
  void indent(int depth) { out.append(static_cast<size_t>(depth) * 2, ' '); }

  void constInt(const Expr& e) {
    if (e.dtype == DType::Bool) {
      out += e.i ? "true" : "false";
    } else {
      out += std::to_string(e.i);
      if (e.dtype != DType::I64) out += std::string(":") + name(e.dtype);
    }
  }

  void args(const std::vector<ExprPtr>& v) {
    out += "(";
    for (size_t i = 0; i < v.size(); ++i) out += i ? ", " : "", expr(v[i]);
    out += ")";
  }

  void call(const char* what, const std::vector<ExprPtr>& v) {
    out += what;
    args(v);
  }

  void opExpr(const Expr& e, bool top) {
    const char* text = info(e.op).text;
    if (e.args.size() != 2 || std::isalpha(static_cast<unsigned char>(text[0]))) return call(text, e.args);
    if (!top) out += "(";
    expr(e.args[0], false);
    out += std::string(" ") + text + " ";
    expr(e.args[1], false);
    if (!top) out += ")";
  }

  void loop(const Loop& l) {
    out += nameText(l.var) + " in ";
    expr(l.lo);
    out += " .. ";
    expr(l.hi);
    if (l.reverse) out += " reverse";
  }

  void reduce(const Stmt& s, int depth) {
    out += "reduce ";
    for (size_t i = 0; i < s.loops.size(); ++i) out += i ? ", " : "", loop(s.loops[i]);
    out += " {\n";
    for (const auto& b : s.body) stmt(*b, depth + 1);
    for (const auto& a : s.accs) {
      indent(depth + 1);
      out += std::string(info(a.op).text) + " " + nameText(a.name) + ": " + name(a.dtype) + " = ";
      expr(a.value);
      out += "\n";
    }
    indent(depth);
    out += "}";
  }
};

const char* roleName(HostBuffer::Role r) {
  return r == HostBuffer::Role::Input ? "input" : r == HostBuffer::Role::Output ? "output" : "temp";
}

}  // namespace

std::string print(const Kernel& k) {
  Printer p;
  p.kernel(k, 0);
  return p.out;
}

std::string print(const Program& prog) {
  Printer p;
  p.out += "sizes ";
  p.names(prog.sizes);
  p.out += "\n";
  for (const auto& b : prog.buffers) {
    p.out += "buffer " + nameText(b.name) + ": " + name(b.dtype) + "[";
    p.expr(b.count);
    p.out += std::string("] ") + roleName(b.role) + (b.zeroed ? " zeroed\n" : "\n");
  }
  for (const auto& k : prog.kernels) p.kernel(k, 0);
  p.out += "host";
  p.hostBlock(prog, prog.host, 0);
  p.out += "\n";
  return p.out;
}

}  // namespace tempo::kir
