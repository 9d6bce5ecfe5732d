#include <charconv>
#include <cmath>
#include <sstream>
#include <unordered_map>

#include "check.hpp"
#include "sdg/graph.hpp"

namespace tempo {

namespace {

/// Binding strength of what is printed, as the parser reads it.
enum Level { kOr = 1, kAnd, kNot, kCompare, kSum, kProduct, kUnary, kPower, kPrimary };

struct Infix {
  int level, left, right;  // of the result, and demanded of the operands
};

std::optional<Infix> infixOf(Op op) {
  switch (op) {
    case Op::Or: return Infix{kOr, kOr, kAnd};
    case Op::And: return Infix{kAnd, kAnd, kNot};
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne: return Infix{kCompare, kSum, kSum};
    case Op::Add:
    case Op::Sub: return Infix{kSum, kSum, kProduct};
    case Op::Mul:
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod: return Infix{kProduct, kProduct, kUnary};
    case Op::Pow: return Infix{kPower, kPrimary, kUnary};
    default: return std::nullopt;
  }
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool isPlainName(const std::string& s) {
  if (s.empty()) return false;
  for (char c : s) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80);
    if (!letter && c != '_' && c != '.' && c != '\'' && c != '$' && c != '#' && c != '~') return false;
  }
  return true;
}

std::string number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[40];
  auto r = std::to_chars(buffer, buffer + sizeof buffer, v);
  return std::string(buffer, r.ptr);
}

template <class List, class F>
std::string list(const List& items, const char* between, F show) {
  std::string out;
  bool first = true;
  for (const auto& x : items) {
    if (!first) out += between;
    first = false;
    out += show(x);
  }
  return out;
}

class Printer {
 public:
  explicit Printer(const Graph& g) : g_(g) {
    std::unordered_map<std::string, int> seen;
    for (const Node& n : g.nodes()) {
      std::string label = n.name.empty() ? "node" : n.name;
      bool dead = n.pieces.empty();
      if (dead || seen[label]++ > 0) label += "~" + std::to_string(n.id.v);  // names need not be unique; text must be
      labels_.push_back("%" + (isPlainName(label) ? label : quoted(label)));
    }
  }

  std::string graph() {
    for (const Dim& d : g_.dims) os_ << "dim " << d.var.name() << " : " << d.size.name() << "\n";
    for (const Size& s : g_.sizes) size(s);
    for (size_t k = 0; k < g_.facts.size(); ++k) {
      os_ << "fact " << g_.facts[k].str();
      if (k < g_.reasons.size() && !g_.reasons[k].empty()) os_ << " because " << quoted(g_.reasons[k]);
      os_ << "\n";
    }
    for (const Option& o : g_.options) option(o);
    for (const InputDecl& i : g_.inputs) input(i);
    for (const Node& n : g_.nodes()) {
      if (!n.pieces.empty()) os_ << node(n);
    }
    for (const Output& o : g_.outputs) output(o);
    for (const Effect& e : g_.effects) effect(e);
    return os_.str();
  }

  std::string node(const Node& n) const {
    std::string out = label(n.id) + "[" + list(n.dims, ", ", [](Sym s) { return s.name(); });
    if (!n.axes.empty()) out += "; " + list(n.axes, ", ", [](const Axis& a) { return a.var.name(); });
    out += std::string("] : ") + name(n.dtype);
    if (!n.axes.empty()) out += "[" + list(n.axes, ", ", [](const Axis& a) { return a.length.str(); }) + "]";
    out += " =";
    for (const Piece& p : n.pieces) {
      if (n.pieces.size() == 1 && p.where.isTrue()) return out + " " + body(p.body) + "\n";
      out += "\n  where " + p.where.str() + ": " + body(p.body);
    }
    return out + "\n";
  }

  std::string expr(const ExprPtr& e, int level = 0) const {
    switch (e->kind) {
      case Expr::Kind::Const: return constant(*e, level);
      case Expr::Kind::Index: return "ix(" + e->ix.str() + "):" + name(e->dtype);
      case Expr::Kind::Cond: return "when(" + e->cond.str() + ")";
      case Expr::Kind::Op: return operation(*e, level);
      case Expr::Kind::Select: return "select(" + exprs(e->args) + ")";
      case Expr::Kind::Guard: return "guard(" + e->cond.str() + ", " + exprs(e->args) + ")";
      case Expr::Kind::Cast: return std::string("cast<") + name(e->dtype) + ">(" + exprs(e->args) + ")";
      case Expr::Kind::Read: return read(*e);
      case Expr::Kind::Random: {
        std::string out = "random(" + quoted(e->stream);
        for (const Index& i : e->indices) out += ", " + i.ix.str();
        return out + ")";
      }
    }
    return "?";
  }

 private:
  const std::string& label(NodeId id) const {
    TEMPO_CHECK(id.v < labels_.size(), "no node " + std::to_string(id.v));
    return labels_[id.v];
  }

  static std::string paren(const std::string& s, bool needed) { return needed ? "(" + s + ")" : s; }

  std::string exprs(const std::vector<ExprPtr>& args) const {
    return list(args, ", ", [&](const ExprPtr& a) { return expr(a); });
  }

  std::string constant(const Expr& e, int level) const {
    if (e.dtype == DType::Bool && (e.value == 0 || e.value == 1)) return e.value == 0 ? "false" : "true";
    return paren(number(e.value) + ":" + name(e.dtype), std::signbit(e.value) && level > kUnary);
  }

  std::string operation(const Expr& e, int level) const {
    if (e.op == Op::Not) return paren("not " + expr(e.args[0], kNot), level > kNot);
    if (e.op == Op::Neg) {
      bool constant = e.args[0]->kind == Expr::Kind::Const;  // `-1:f32` is a constant
      return paren("-" + paren(expr(e.args[0], constant ? 0 : kPower), constant), level > kUnary);
    }
    if (auto in = infixOf(e.op)) {
      std::string text = expr(e.args[0], in->left) + " " + info(e.op).text + " " + expr(e.args[1], in->right);
      return paren(text, level > in->level);
    }
    return std::string(info(e.op).text) + "(" + exprs(e.args) + ")";
  }

  std::string index(const Index& i) const {
    if (!i.data) return i.ix.str();
    return "{" + expr(i.data) + " in " + i.lo.str() + " : " + i.hi.str() + (i.checked ? " checked}" : "}");
  }

  std::string read(const Expr& e) const {
    size_t dims = std::min(g_.at(e.node).dims.size(), e.indices.size());
    std::string out = label(e.node) + "[";
    for (size_t i = 0; i < e.indices.size(); ++i) {
      if (i == dims) {
        out += "; ";
      } else if (i > 0) {
        out += ", ";
      }
      out += index(e.indices[i]);
    }
    return out + "]";
  }

  static std::string range(const RVar& r) { return r.var.name() + " in " + r.lo.str() + " : " + r.hi.str(); }

  std::string body(const Body& b) const {
    switch (b.kind) {
      case Body::Kind::Input: return "input";
      case Body::Kind::Map: return expr(b.value);
      case Body::Kind::Reduce: {
        std::string out = std::string(info(b.reduce).text) + "[" + list(b.rvars, ", ", range) + "] " + expr(b.value);
        return b.init ? out + " init " + expr(b.init) : out;
      }
      case Body::Kind::ArgSort: return std::string("argsort ") + (b.descending ? "descending " : "") + expr(b.value);
    }
    return "?";
  }

  void size(const Size& s) {
    os_ << "size " << s.sym.name();
    if (s.value) os_ << " = " << s.value->str();
    if (s.derived) os_ << " derived";
    if (s.atLeast != 0) os_ << " at least " << s.atLeast;
    if (s.specialised) os_ << " specialised";
    os_ << "\n";
  }

  void option(const Option& o) {
    os_ << "option " << o.name.name() << " : " << name(o.dtype) << " = " << number(o.value);
    if (o.node) os_ << " in " << label(o.node);
    if (!o.help.empty()) os_ << " " << quoted(o.help);
    os_ << "\n";
  }

  void input(const InputDecl& i) {
    os_ << "input " << label(i.node);
    if (!i.path.empty()) os_ << " from " << quoted(i.path);
    if (!i.member.empty()) os_ << " member " << quoted(i.member);
    os_ << "\n";
  }

  void output(const Output& o) {
    os_ << "output " << label(o.node) << "[";
    for (size_t i = 0; i < o.box.size(); ++i) {
      if (i) os_ << ", ";
      bool fixed = i < o.fixed.size() && o.fixed[i];
      os_ << (fixed ? o.box[i].var.name() + " = " + o.box[i].lo.str() : range(o.box[i]));
    }
    os_ << "] as " << quoted(o.name);
    if (!o.path.empty()) os_ << " to " << quoted(o.path);
    os_ << "\n";
  }

  void effect(const Effect& e) {
    static const char* kinds[] = {"report", "print", "assert"};
    os_ << kinds[size_t(e.kind)] << "[" << list(e.dims, ", ", [](Sym s) { return s.name(); }) << "]";
    if (!e.where.isTrue()) os_ << " where " << e.where.str();
    if (e.condition) os_ << (e.kind == Effect::Kind::Assert ? " that " : " if ") << expr(e.condition);
    if (!e.text.empty()) os_ << " else " << quoted(e.text);
    for (size_t i = 0; i < e.values.size(); ++i) {
      os_ << (i ? ", " : ": ") << quoted(e.values[i].first) << " ";
      if (i < e.axes.size() && !e.axes[i].empty()) {
        os_ << "[" << list(e.axes[i], ", ", [](const Axis& a) { return a.var.name() + " : " + a.length.str(); })
            << "] ";
      }
      os_ << expr(e.values[i].second);
    }
    os_ << "\n";
  }

  const Graph& g_;
  std::vector<std::string> labels_;  // by node id
  std::ostringstream os_;
};

}  // namespace

std::string print(const Graph& g) { return Printer(g).graph(); }
std::string print(const Graph& g, const Node& n) { return Printer(g).node(n); }
std::string print(const Graph& g, const ExprPtr& e) { return e ? Printer(g).expr(e) : std::string("null"); }

}  // namespace tempo
