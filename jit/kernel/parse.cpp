// Reader of the Kernel IR's text form. Folds nothing, so that what it reads prints the same.
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include "check.hpp"
#include "kernel/kir.hpp"

namespace tempo::kir {

namespace {

struct Token {
  enum class Kind : uint8_t { Name, Number, Symbol, End } kind = Kind::End;
  std::string text;
  bool quoted = false;
  int line = 1;
};

std::vector<Token> lex(const std::string& s) {
  std::vector<Token> out;
  int line = 1;
  auto at = [&](size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0; };
  for (size_t k = 0; k < s.size();) {
    const unsigned char c = at(k);
    if (c == '\n') ++line;
    if (std::isspace(c)) {
      ++k;
      continue;
    }
    size_t e = k;
    if (c == '`') {
      e = s.find('`', k + 1);
      TEMPO_CHECK(e != std::string::npos, "kernel text: unclosed name in line " + std::to_string(line));
      out.push_back({Token::Kind::Name, s.substr(k + 1, e - k - 1), true, line});
      k = e + 1;
    } else if (std::isalpha(c) || c == '_') {
      while (std::isalnum(at(e)) || at(e) == '_' || at(e) == '$' ||
             (at(e) == '.' && (std::isalnum(at(e + 1)) || at(e + 1) == '_'))) {
        ++e;
      }
      out.push_back({Token::Kind::Name, s.substr(k, e - k), false, line});
      k = e;
    } else if (std::isdigit(c)) {
      while (std::isalnum(at(e)) || (at(e) == '.' && at(e + 1) != '.') || ((at(e) == '-' || at(e) == '+') && at(e - 1) == 'e')) ++e;
      out.push_back({Token::Kind::Number, s.substr(k, e - k), false, line});
      k = e;
    } else {
      static const char* two[] = {"..", "//", "**", "<=", ">=", "==", "!="};
      std::string t(1, s[k]);
      for (const char* w : two) {
        if (s.compare(k, 2, w) == 0) t = w;
      }
      out.push_back({Token::Kind::Symbol, t, false, line});
      k += t.size();
    }
  }
  out.push_back({Token::Kind::End, "", false, line});
  return out;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : toks_(lex(text)) {}

  Program program() {
    Program p;
    expectWord("sizes");
    while (peek().kind == Token::Kind::Name && !isWord("buffer") && !isWord("kernel") && !isWord("host")) {
      p.sizes.push_back(name());
      declare(p.sizes.back(), DType::I64);
      if (!accept(",")) break;
    }
    while (acceptWord("buffer")) p.buffers.push_back(hostBuffer());
    while (acceptWord("kernel")) p.kernels.push_back(kernel());
    prog_ = &p;
    expectWord("host");
    p.host = hostBlock();
    return p;
  }

 private:
  std::vector<Token> toks_;
  size_t at_ = 0;
  std::map<std::string, DType> vars_, buffers_;
  const Program* prog_ = nullptr;

  const Token& peek() const { return toks_[at_]; }
  [[noreturn]] void fail(const std::string& what) const {
    internalError(__FILE__, __LINE__,
                  "kernel text, line " + std::to_string(peek().line) + ": " + what + ", found '" + peek().text + "'");
  }
  bool isSymbol(const char* s) const { return peek().kind == Token::Kind::Symbol && peek().text == s; }
  bool isWord(const char* s) const { return peek().kind == Token::Kind::Name && !peek().quoted && peek().text == s; }
  bool accept(const char* s) { return isSymbol(s) ? (++at_, true) : false; }
  bool acceptWord(const char* s) { return isWord(s) ? (++at_, true) : false; }
  void expect(const char* s) {
    if (!accept(s)) fail(std::string("expected '") + s + "'");
  }
  void expectWord(const char* s) {
    if (!acceptWord(s)) fail(std::string("expected '") + s + "'");
  }
  std::string name() {
    if (peek().kind != Token::Kind::Name) fail("expected a name");
    return toks_[at_++].text;
  }
  int64_t integer() {
    const bool neg = accept("-");
    if (peek().kind != Token::Kind::Number) fail("expected an integer");
    const uint64_t v = std::stoull(toks_[at_++].text);
    return static_cast<int64_t>(neg ? 0 - v : v);
  }
  DType dtype() {
    auto t = parseDType(name());
    if (!t) fail("expected a type");
    return *t;
  }
  void declare(const std::string& n, DType t) { vars_[n] = t; }
  DType lookup(const std::map<std::string, DType>& m, const std::string& n) const {
    auto it = m.find(n);
    if (it == m.end()) fail("unknown name " + n);
    return it->second;
  }

  static std::shared_ptr<Expr> node(Expr::Kind k, DType t) { return std::make_shared<Expr>(Expr{.kind = k, .dtype = t}); }

  std::vector<ExprPtr> args() {
    std::vector<ExprPtr> v;
    expect("(");
    if (accept(")")) return v;
    do v.push_back(expr());
    while (accept(","));
    expect(")");
    return v;
  }

  ExprPtr expr() {
    ExprPtr a = primary();
    if (peek().kind != Token::Kind::Symbol) return a;
    auto o = findOp(peek().text, 2);
    if (!o) return a;
    ++at_;
    ExprPtr b = primary();
    return opNode(*o, {a, b});
  }

  ExprPtr opNode(Op o, std::vector<ExprPtr> a) {
    if (static_cast<int>(a.size()) != info(o).arity) fail(std::string("arity of ") + info(o).text);
    auto e = node(Expr::Kind::Op, resultType(o, a[0]->dtype));
    e->op = o;
    e->args = std::move(a);
    return e;
  }

  ExprPtr number(bool neg) {
    if (acceptWord("inf") || acceptWord("nan")) {
      const double v = toks_[at_ - 1].text == "nan" ? std::nan("") : std::numeric_limits<double>::infinity();
      return floating(neg ? -v : v);
    }
    const std::string text = toks_[at_].text;
    const size_t colon = at_ + 1;
    DType t = DType::I64;
    if (toks_[colon].kind == Token::Kind::Symbol && toks_[colon].text == ":") {
      if (auto p = parseDType(toks_[colon + 1].text)) t = *p;
    }
    if (isFloat(t)) {
      ++at_;
      return floating(neg ? -std::stod(text) : std::stod(text));
    }
    auto e = node(Expr::Kind::ConstI, t);
    const uint64_t u = std::stoull(text);
    e->i = static_cast<int64_t>(neg ? 0 - u : u);
    ++at_;
    if (t != DType::I64) at_ += 2;
    return e;
  }

  ExprPtr floating(double v) {
    expect(":");
    auto e = node(Expr::Kind::ConstF, dtype());
    e->f = v;
    return e;
  }

  ExprPtr primary() {
    if (accept("(")) {
      ExprPtr e = expr();
      expect(")");
      return e;
    }
    if (accept("-")) return number(true);
    if (peek().kind == Token::Kind::Number || isWord("inf") || isWord("nan")) return number(false);
    if (isWord("true") || isWord("false")) {
      auto e = node(Expr::Kind::ConstI, DType::Bool);
      e->i = acceptWord("true") ? 1 : (++at_, 0);
      return e;
    }
    const bool quoted = peek().quoted;
    const std::string n = name();
    if (!quoted && isSymbol("(")) return callExpr(n);
    if (accept("[")) {
      auto e = node(Expr::Kind::Load, lookup(buffers_, n));
      e->name = n;
      e->args = {expr()};
      expect("]");
      return e;
    }
    auto e = node(Expr::Kind::Var, lookup(vars_, n));
    e->name = n;
    return e;
  }

  ExprPtr callExpr(const std::string& n) {
    if (n == "random") {
      auto e = node(Expr::Kind::Random, DType::I64);
      expect("(");
      e->i = integer();
      while (accept(",")) e->args.push_back(expr());
      expect(")");
      return e;
    }
    auto a = args();
    if ((n == "select" || n == "if") && a.size() == 3) {
      auto e = node(n == "if" ? Expr::Kind::Cond : Expr::Kind::Select, a[1]->dtype);
      e->args = std::move(a);
      return e;
    }
    if (auto t = parseDType(n); t && a.size() == 1) {
      auto e = node(Expr::Kind::Cast, *t);
      e->args = std::move(a);
      return e;
    }
    auto o = findOp(n, static_cast<int>(a.size()));
    if (!o) fail("unknown operation " + n);
    return opNode(*o, std::move(a));
  }

  Loop loop() {
    Loop l;
    l.var = name();
    expectWord("in");
    l.lo = expr();
    expect("..");
    l.hi = expr();
    l.reverse = acceptWord("reverse");
    declare(l.var, DType::I64);
    return l;
  }

  Block block() {
    Block b;
    const auto saved = vars_;
    expect("{");
    while (!accept("}")) b.push_back(stmt());
    vars_ = saved;
    return b;
  }

  StmtPtr stmt() {
    Stmt s{};
    if (isWord("for") || isWord("par")) {
      s.kind = acceptWord("for") ? Stmt::Kind::Seq : (++at_, Stmt::Kind::Par);
      const auto saved = vars_;
      s.loop = loop();
      s.body = block();
      vars_ = saved;
    } else if (acceptWord("if")) {
      s.kind = Stmt::Kind::If;
      s.cond = expr();
      s.body = block();
      if (acceptWord("else")) s.orelse = block();
    } else if (acceptWord("let")) {
      s.kind = Stmt::Kind::Let;
      s.name = name();
      expect(":");
      s.dtype = dtype();
      expect("=");
      s.value = expr();
      declare(s.name, s.dtype);
    } else if (acceptWord("reduce")) {
      reduce(s);
    } else if (acceptWord("check")) {
      s.kind = Stmt::Kind::Check;
      s.cond = expr();
      expectWord("site");
      s.site = integer();
      s.args = args();
    } else if (acceptWord("poll")) {
      s.kind = Stmt::Kind::Poll;
    } else if (acceptWord("call")) {
      s.kind = Stmt::Kind::Call;
      s.name = name();
      s.args = args();
    } else {
      s.kind = Stmt::Kind::Store;
      s.name = name();
      expect("[");
      s.index = expr();
      expect("]");
      expect("=");
      s.value = expr();
    }
    return std::make_shared<const Stmt>(std::move(s));
  }

  void reduce(Stmt& s) {
    s.kind = Stmt::Kind::Reduce;
    const auto saved = vars_;
    do s.loops.push_back(loop());
    while (accept(","));
    expect("{");
    while (isWord("let") || isWord("check")) s.body.push_back(stmt());
    while (!accept("}")) {
      Acc a{};
      auto r = findReduce(name());
      if (!r) fail("expected a reduction");
      a.op = *r;
      a.name = name();
      expect(":");
      a.dtype = dtype();
      expect("=");
      a.value = expr();
      s.accs.push_back(std::move(a));
    }
    vars_ = saved;
    for (const auto& a : s.accs) {
      const bool arg = a.op == Reduce::ArgMax || a.op == Reduce::ArgMin;
      declare(a.name, arg ? DType::I64 : a.dtype);
      if (arg) declare(a.name + "_v", a.dtype);
    }
  }

  HostBuffer hostBuffer() {
    HostBuffer b;
    b.name = name();
    expect(":");
    b.dtype = dtype();
    expect("[");
    b.count = expr();
    expect("]");
    const std::string role = name();
    if (role != "input" && role != "output" && role != "temp") fail("expected input, output or temp");
    b.role = role == "input" ? HostBuffer::Role::Input : role == "output" ? HostBuffer::Role::Output : HostBuffer::Role::Temp;
    b.zeroed = acceptWord("zeroed");
    buffers_[b.name] = b.dtype;
    return b;
  }

  Kernel kernel() {
    Kernel k;
    const auto savedVars = vars_;
    const auto savedBuffers = buffers_;
    vars_.clear();
    buffers_.clear();
    k.name = name();
    expect("(");
    while (!accept(")")) {
      k.params.push_back(name());
      declare(k.params.back(), DType::I64);
      accept(",");
    }
    expect("{");
    while (acceptWord("buffer")) {
      Buffer b;
      b.name = name();
      expect(":");
      b.dtype = dtype();
      b.written = acceptWord("written");
      buffers_[b.name] = b.dtype;
      k.buffers.push_back(b);
    }
    while (acceptWord("scratch")) {
      Scratch s;
      s.name = name();
      expect(":");
      s.dtype = dtype();
      expect("[");
      s.count = expr();
      expect("]");
      buffers_[s.name] = s.dtype;
      k.scratch.push_back(s);
    }
    expectWord("grid");
    expect("(");
    while (!accept(")")) {
      k.grid.push_back(loop());
      accept(",");
    }
    k.body = block();
    expect("}");
    vars_ = savedVars;
    buffers_ = savedBuffers;
    return k;
  }

  std::vector<HostStmt> hostBlock() {
    std::vector<HostStmt> b;
    const auto saved = vars_;
    expect("{");
    while (!accept("}")) b.push_back(hostStmt());
    vars_ = saved;
    return b;
  }

  HostStmt hostStmt() {
    HostStmt s{};
    if (acceptWord("for")) {
      s.kind = HostStmt::Kind::For;
      const auto saved = vars_;
      s.loop = loop();
      s.body = hostBlock();
      vars_ = saved;
    } else if (acceptWord("if")) {
      s.kind = HostStmt::Kind::If;
      s.cond = expr();
      s.body = hostBlock();
      if (acceptWord("else")) s.orelse = hostBlock();
    } else if (acceptWord("let")) {
      s.kind = HostStmt::Kind::Let;
      s.name = name();
      expect(":");
      dtype();
      expect("=");
      s.value = expr();
      declare(s.name, DType::I64);
    } else if (acceptWord("launch")) {
      s.kind = HostStmt::Kind::Launch;
      const std::string n = name();
      for (size_t i = 0; i < prog_->kernels.size(); ++i) {
        if (prog_->kernels[i].name == n) s.kernel = static_cast<int>(i);
      }
      if (s.kernel < 0) fail("unknown kernel " + n);
      s.args = args();
    } else if (acceptWord("effect")) {
      s.kind = HostStmt::Kind::Effect;
      s.effect = static_cast<int>(integer());
      s.args = args();
    } else {
      expectWord("progress");
      s.kind = HostStmt::Kind::Progress;
      s.args = args();
    }
    return s;
  }
};

}  // namespace

Program parseProgram(const std::string& text) { return Parser(text).program(); }

}  // namespace tempo::kir
