#include <charconv>
#include <limits>
#include <unordered_map>

#include "check.hpp"
#include "sdg/lexer.hpp"

namespace tempo {

namespace {

using text::fail;
using text::Token;
using Kind = Token::Kind;

/// Recursive descent over the tokens; index expressions, conditions, scalar expressions, statements, in this order.
class Parser {
 public:
  explicit Parser(const std::string& s) : tokens_(text::tokenize(s)) {}

  Graph graph() {
    declareNodes();
    at_ = 0;
    while (peek().kind != Kind::End) statement();
    for (const Node& n : g_.nodes()) TEMPO_CHECK(!n.pieces.empty(), "a node without pieces in the text form");
    return std::move(g_);
  }

 private:
  // ---- tokens

  const Token& peek(size_t k = 0) const { return tokens_[std::min(at_ + k, tokens_.size() - 1)]; }
  const Token& take() {
    const Token& t = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  bool is(const char* s, size_t k = 0) const {
    const Token& t = peek(k);
    return (t.kind == Kind::Punct || t.kind == Kind::Name) && t.text == s;
  }
  bool accept(const char* s) {
    if (!is(s)) return false;
    take();
    return true;
  }
  void expect(const char* s) {
    if (!accept(s)) fail(peek(), std::string("expected `") + s + "`, found `" + peek().text + "`");
  }
  std::string want(Kind k, const char* what) {
    if (peek().kind != k) fail(peek(), std::string("expected ") + what + ", found `" + peek().text + "`");
    return take().text;
  }
  Sym sym() { return Sym::get(want(Kind::Name, "a name")); }
  std::string string() { return want(Kind::String, "a string"); }
  DType dtype() {
    const Token& t = peek();
    auto d = parseDType(want(Kind::Name, "an element type"));
    if (!d) fail(t, "`" + t.text + "` is no element type");
    return *d;
  }
  int64_t integer() {
    const Token& t = peek();
    bool negative = accept("-");
    std::string s = (negative ? "-" : "") + want(Kind::Number, "an integer");
    int64_t v = 0;
    auto r = std::from_chars(s.data(), s.data() + s.size(), v);
    if (r.ec != std::errc() || r.ptr != s.data() + s.size()) fail(t, "`" + s + "` is no integer of 64 bits");
    return v;
  }
  bool isNumber(size_t k = 0) const {
    return peek(k).kind == Kind::Number || ((is("inf", k) || is("nan", k)) && is(":", k + 1));
  }
  double number() {
    const Token& t = peek();
    double sign = accept("-") ? -1 : 1;
    if (accept("inf")) return sign * std::numeric_limits<double>::infinity();
    if (accept("nan")) return std::numeric_limits<double>::quiet_NaN();
    std::string s = want(Kind::Number, "a number");
    double v = 0;
    auto r = std::from_chars(s.data(), s.data() + s.size(), v);
    if (r.ec != std::errc()) fail(t, "`" + s + "` is no number");
    return sign * v;
  }

  /// Bounds the recursion, so that hostile text cannot overflow the stack.
  struct Deeper {
    explicit Deeper(Parser& p) : p_(p) {
      if (++p_.depth_ > 1000) fail(p_.peek(), "nested too deeply");
    }
    ~Deeper() { --p_.depth_; }
    Parser& p_;
  };

  // ---- index expressions

  Ix ix() {
    Ix out = product();
    while (is("+") || is("-")) {
      bool minus = take().text == "-";
      Ix right = product();
      out = minus ? out - right : out + right;
    }
    return out;
  }

  Ix product() {
    Ix out = factor();
    while (is("*") || is("//") || is("%")) {
      const Token& op = take();
      Ix right = factor();
      if (op.text != "*" && right == Ix(0)) fail(op, "division by 0");
      out = op.text == "*" ? out * right : (op.text == "//" ? Ix::floordiv(out, right) : Ix::mod(out, right));
    }
    return out;
  }

  Ix factor() {
    Deeper d(*this);
    if (accept("-")) return peek().kind == Kind::Number ? Ix(negated()) : Ix(0) - factor();
    if (peek().kind == Kind::Number) return Ix(integer());
    if (accept("(")) {
      Ix out = ix();
      expect(")");
      return out;
    }
    if (is("(", 1)) {
      const Token& f = peek();
      if (accept("min")) return extreme(true);
      if (accept("max")) return extreme(false);
      if (accept("select")) {
        expect("(");
        Cond c = cond();
        expect(",");
        Ix a = ix();
        expect(",");
        Ix b = ix();
        expect(")");
        return Ix::select(c, a, b);
      }
      fail(f, "`" + f.text + "` is no function of indices");
    }
    return Ix(sym());
  }

  int64_t negated() {
    --at_;  // reads the sign with the digits: the least integer has no positive counterpart
    return integer();
  }

  Ix extreme(bool min) {
    expect("(");
    Ix out = ix();
    while (accept(",")) out = min ? Ix::min(out, ix()) : Ix::max(out, ix());
    expect(")");
    return out;
  }

  std::vector<Ix> ixList(const char* close) {
    std::vector<Ix> out;
    if (accept(close)) return out;
    do out.push_back(ix());
    while (accept(","));
    expect(close);
    return out;
  }

  // ---- conditions

  Cond cond() {
    Cond out = condAnd();
    while (accept("or")) out = out || condAnd();
    return out;
  }

  Cond condAnd() {
    Cond out = condNot();
    while (accept("and")) out = out && condNot();
    return out;
  }

  Cond condNot() {
    Deeper d(*this);
    if (accept("not")) return !condNot();
    if (accept("true")) return Cond();
    if (accept("false")) return Cond::truth(false);
    if (!is("(")) return comparison();
    size_t start = at_;
    try {  // a parenthesis opens a condition or an index expression
      take();
      Cond out = cond();
      expect(")");
      return out;
    } catch (const GraphError&) {
      at_ = start;
    }
    return comparison();
  }

  Cond comparison() {
    Ix left = ix();
    const Token& op = take();
    if (op.text == "<=") return Cond::le(left, ix());
    if (op.text == "<") return Cond::lt(left, ix());
    if (op.text == ">=") return Cond::ge(left, ix());
    if (op.text == ">") return Cond::gt(left, ix());
    if (op.text == "==") return Cond::eq(left, ix());
    if (op.text == "!=") return Cond::ne(left, ix());
    fail(op, "expected a comparison, found `" + op.text + "`");
  }

  // ---- scalar expressions

  ExprPtr operation(const Token& at, Op op, std::vector<ExprPtr> args) {
    for (const ExprPtr& a : args) {
      if (a->dtype != args[0]->dtype) {
        fail(at, std::string("`") + info(op).text + "` of " + name(args[0]->dtype) + " and " + name(a->dtype));
      }
    }
    if (!accepts(op, args[0]->dtype))
      fail(at, std::string("`") + info(op).text + "` does not take " + name(args[0]->dtype));
    return ex::op(op, std::move(args));
  }

  ExprPtr expr() { return binary(0); }

  /// Left-associative levels, loosest first; comparisons take one operator.
  ExprPtr binary(size_t level) {
    static const std::vector<std::vector<const char*>> levels{
        {"or"}, {"and"}, {"<", "<=", ">", ">=", "==", "!="}, {"+", "-"}, {"*", "/", "//", "%"}};
    if (level == levels.size()) return unary();
    if (level == 2 && is("not")) {
      Deeper d(*this);
      const Token& t = take();
      return operation(t, Op::Not, {binary(2)});
    }
    ExprPtr out = binary(level + 1);
    for (bool more = true; more;) {
      more = false;
      for (const char* op : levels[level]) {
        if (!is(op)) continue;
        const Token& t = take();
        ExprPtr right = binary(level + 1);
        out = operation(t, *findOp(op, 2), {out, right});
        more = level != 2;
        break;
      }
    }
    return out;
  }

  ExprPtr unary() {
    Deeper d(*this);
    if (is("-") && isNumber(1)) return constant();
    if (is("-")) {
      const Token& t = take();
      return operation(t, Op::Neg, {unary()});
    }
    ExprPtr base = primary();
    if (!is("**")) return base;
    const Token& t = take();
    return operation(t, Op::Pow, {base, unary()});
  }

  ExprPtr constant() {
    double v = number();
    expect(":");
    return ex::constant(dtype(), v);
  }

  std::vector<ExprPtr> arguments() {
    std::vector<ExprPtr> out;
    expect("(");
    do out.push_back(expr());
    while (accept(","));
    expect(")");
    return out;
  }

  ExprPtr primary() {
    const Token& t = peek();
    if (isNumber()) return constant();
    if (t.kind == Kind::Node) return read();
    if (accept("true")) return ex::constant(DType::Bool, 1);
    if (accept("false")) return ex::constant(DType::Bool, 0);
    if (accept("(")) {
      ExprPtr out = expr();
      expect(")");
      return out;
    }
    if (t.kind == Kind::Name && is("<", 1) && accept("cast")) {
      expect("<");
      DType d = dtype();
      expect(">");
      return ex::cast(d, one(t, arguments()));
    }
    if (t.kind == Kind::Name && is("(", 1)) return call();
    fail(t, "expected an expression, found `" + t.text + "`");
  }

  static ExprPtr one(const Token& t, std::vector<ExprPtr> args) {
    if (args.size() != 1) fail(t, "`" + t.text + "` takes one argument");
    return args[0];
  }

  ExprPtr call() {
    const Token& t = take();
    if (t.text == "ix") {
      expect("(");
      Ix x = ix();
      expect(")");
      expect(":");
      DType d = dtype();
      if (d == DType::Bool) fail(t, "an index is no bool");
      return ex::index(x, d);
    }
    if (t.text == "when") {
      expect("(");
      Cond c = cond();
      expect(")");
      return ex::cond(c);
    }
    if (t.text == "guard") {
      expect("(");
      Cond c = cond();
      expect(",");
      ExprPtr a = expr();
      expect(",");
      ExprPtr b = expr();
      expect(")");
      if (a->dtype != b->dtype) fail(t, "the two sides of `guard` differ in type");
      return ex::guard(c, a, b);
    }
    if (t.text == "random") {
      expect("(");
      std::string stream = string();
      return ex::random(stream, accept(",") ? ixList(")") : ixList(")"));
    }
    std::vector<ExprPtr> args = arguments();
    if (t.text == "select") {
      if (args.size() != 3) fail(t, "`select` takes three arguments");
      if (args[0]->dtype != DType::Bool || args[1]->dtype != args[2]->dtype)
        fail(t, "the types of `select` do not fit");
      return ex::select(args[0], args[1], args[2]);
    }
    auto op = findOp(t.text, int(args.size()));
    if (!op) fail(t, "no operation `" + t.text + "` of " + std::to_string(args.size()) + " operands");
    return operation(t, *op, std::move(args));
  }

  Index index() {
    Index i;
    if (!accept("{")) {
      i.ix = ix();
      return i;
    }
    const Token& t = peek();
    i.data = expr();
    if (!isInt(i.data->dtype)) fail(t, "a gather index that is not an integer");
    expect("in");
    i.lo = ix();
    expect(":");
    i.hi = ix();
    i.checked = accept("checked");
    expect("}");
    return i;
  }

  NodeId nodeId() {
    const Token& t = peek();
    auto it = ids_.find(want(Kind::Node, "a node"));
    if (it == ids_.end()) fail(t, "no node `%" + t.text + "`");
    return it->second;
  }

  ExprPtr read() {
    const Token& t = peek();
    NodeId id = nodeId();
    const Node& n = g_.at(id);
    std::vector<Index> at;
    size_t dims = 0;
    expect("[");
    bool axes = accept(";");
    while (!accept("]")) {
      at.push_back(index());
      if (!axes) ++dims;
      if (accept(";")) {
        axes = true;
      } else if (!is("]")) {
        expect(",");
      }
    }
    if (dims != n.dims.size() || at.size() - dims != shapes_[id.v]) {
      fail(t, "`%" + t.text + "` has " + std::to_string(n.dims.size()) + " dims and " + std::to_string(shapes_[id.v]) +
                  " axes");
    }
    return ex::read(id, n.dtype, std::move(at));
  }

  // ---- nodes

  /// Finds `%name[...] : dtype ... =` so that reads may come before what they read.
  void declareNodes() {
    for (; peek().kind != Kind::End; take()) {
      if (peek().kind != Kind::Node || !is("[", 1)) continue;
      size_t start = at_;
      if (!header()) at_ = start;
    }
  }

  /// A node's `%name[dims; axes] : dtype[`; declares it and returns true if that is what comes.
  bool header() {
    const Token& t = take();
    Node n;
    n.name = t.text;
    size_t axes = 0;
    bool semicolon = false;
    for (take(); !is("]"); take()) {
      if (accept(";")) semicolon = true;
      if (accept(",") && peek().kind != Kind::Name) return false;
      if (peek().kind != Kind::Name) return false;
      semicolon ? void(++axes) : n.dims.push_back(Sym::get(peek().text));
    }
    if (!is(":", 1) || peek(2).kind != Kind::Name) return false;
    auto d = parseDType(peek(2).text);
    if (!d || !(is("=", 3) || is("[", 3))) return false;
    n.dtype = *d;
    if (ids_.count(t.text)) fail(t, "`%" + t.text + "` is defined twice");
    ids_[t.text] = g_.add(std::move(n));
    shapes_.push_back(axes);
    return true;
  }

  void node() {
    const Token& t = peek();
    Node n = g_.at(nodeId());
    std::vector<Sym> axes;
    expect("[");
    bool semicolon = false;
    while (!accept("]")) {
      semicolon = accept(";") || semicolon;
      Sym s = sym();
      if (semicolon) axes.push_back(s);
      accept(",");
    }
    expect(":");
    dtype();
    std::vector<Ix> lengths;
    if (accept("[")) lengths = ixList("]");
    if (lengths.size() != axes.size()) fail(t, "`%" + t.text + "` has as many axes as lengths");
    for (size_t i = 0; i < axes.size(); ++i) n.axes.push_back({axes[i], lengths[i]});
    expect("=");
    if (!is("where")) {
      n.pieces.push_back({Cond(), body(), {}});
    }
    while (accept("where")) {
      Cond c = cond();
      expect(":");
      n.pieces.push_back({c, body(), {}});
    }
    g_.at(n.id) = std::move(n);
  }

  RVar range() {
    RVar r;
    r.var = sym();
    expect("in");
    r.lo = ix();
    expect(":");
    r.hi = ix();
    return r;
  }

  Body body() {
    Body b;
    if (accept("input")) {
      b.kind = Body::Kind::Input;
      return b;
    }
    if (accept("argsort")) {
      b.kind = Body::Kind::ArgSort;
      b.descending = accept("descending");
      b.value = expr();
      return b;
    }
    auto r = peek().kind == Kind::Name && is("[", 1) ? findReduce(peek().text) : std::nullopt;
    if (r) {
      b.kind = Body::Kind::Reduce;
      b.reduce = *r;
      take();
      take();
      do b.rvars.push_back(range());
      while (accept(","));
      expect("]");
    }
    b.value = expr();
    if (r && accept("init")) b.init = expr();
    return b;
  }

  // ---- statements

  void statement() {
    const Token& t = peek();
    if (t.kind == Kind::Node) return node();
    if (accept("dim")) return dim();
    if (accept("size")) return size();
    if (accept("fact")) return fact();
    if (accept("option")) return option();
    if (accept("input")) return input();
    if (accept("output")) return output();
    if (accept("report")) return effect(Effect::Kind::Report);
    if (accept("print")) return effect(Effect::Kind::Print);
    if (accept("assert")) return effect(Effect::Kind::Assert);
    fail(t, "expected a statement, found `" + t.text + "`");
  }

  void dim() {
    Dim d;
    d.var = sym();
    expect(":");
    d.size = sym();
    g_.dims.push_back(d);
  }

  void size() {
    Size s;
    s.sym = sym();
    if (accept("=")) s.value = ix();
    s.derived = accept("derived");
    if (accept("at")) {
      expect("least");
      s.atLeast = integer();
    }
    s.specialised = accept("specialised");
    g_.sizes.push_back(s);
  }

  void option() {
    Option o;
    o.name = sym();
    expect(":");
    o.dtype = dtype();
    expect("=");
    o.value = number();
    if (accept("in")) o.node = nodeId();
    if (peek().kind == Kind::String) o.help = string();
    g_.options.push_back(o);
  }

  void input() {
    InputDecl i;
    i.node = nodeId();
    if (accept("from")) i.path = string();
    if (accept("member")) i.member = string();
    g_.inputs.push_back(i);
  }

  void output() {
    Output o;
    o.node = nodeId();
    expect("[");
    while (!accept("]")) {
      if (is("=", 1)) {
        RVar r;
        r.var = sym();
        take();
        r.lo = ix();
        r.hi = r.lo + Ix(1);
        o.box.push_back(r);
        o.fixed.push_back(true);
      } else {
        o.box.push_back(range());
        o.fixed.push_back(false);
      }
      if (!is("]")) expect(",");
    }
    expect("as");
    o.name = string();
    if (accept("to")) o.path = string();
    g_.outputs.push_back(o);
  }

  void fact() {
    g_.facts.push_back(cond());
    if (!accept("because")) return;
    g_.reasons.resize(g_.facts.size());
    g_.reasons.back() = string();
  }

  void effect(Effect::Kind kind) {
    Effect e;
    e.kind = kind;
    expect("[");
    while (!accept("]")) {
      e.dims.push_back(sym());
      if (!is("]")) expect(",");
    }
    if (accept("where")) e.where = cond();
    if (accept(kind == Effect::Kind::Assert ? "that" : "if")) e.condition = expr();
    if (accept("else")) e.text = string();
    if (accept(":")) {
      do {
        std::string label = string();
        e.axes.push_back(effectAxes());
        e.values.emplace_back(label, expr());
      } while (accept(","));
    }
    g_.effects.push_back(std::move(e));
  }

  std::vector<Axis> effectAxes() {
    std::vector<Axis> out;
    if (!accept("[")) return out;
    do {
      Axis a;
      a.var = sym();
      expect(":");
      a.length = ix();
      out.push_back(a);
    } while (accept(","));
    expect("]");
    return out;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  Graph g_;
  std::unordered_map<std::string, NodeId> ids_;
  std::vector<size_t> shapes_;  // by node id: number of axes
};

}  // namespace

Graph parseGraph(const std::string& text) {
  try {
    return Parser(text).graph();
  } catch (const std::overflow_error& e) {
    throw GraphError(e.what());
  }
}

}  // namespace tempo
