#include <map>
#include <set>

#include "check.hpp"
#include "kernel/kir.hpp"

namespace tempo::kir {

namespace {

class Verifier {
 public:
  explicit Verifier(const Program& p) : prog_(p) {
    for (const auto& b : p.buffers) TEMPO_CHECK(programBuffers_.emplace(b.name, b.dtype).second, "buffer " + b.name + " twice");
  }

  void run() {
    declareSizes();
    for (const auto& b : prog_.buffers) integer(b.count, "count of " + b.name);
    for (const auto& k : prog_.kernels) kernel(k);
    vars_.clear();
    buffers_.clear();
    declareSizes();
    for (const auto& b : prog_.buffers) buffers_[b.name] = {b.dtype, false};
    where_ = "host";
    host(prog_.host);
  }

 private:
  struct BufferInfo {
    DType dtype;
    bool written;
    bool scratch = false;
  };
  const Program& prog_;
  std::map<std::string, DType> programBuffers_;
  std::map<std::string, DType> vars_;
  std::map<std::string, BufferInfo> buffers_;
  std::string where_;
  int parDepth_ = 0;

  void require(bool ok, const std::string& what) const { TEMPO_CHECK(ok, "kernel IR, " + where_ + ": " + what); }

  void declareSizes() {
    for (const auto& s : prog_.sizes) vars_[s] = DType::I64;
  }

  void integer(const ExprPtr& e, const std::string& what) {
    require(e != nullptr, what + " is missing");
    expr(e);
    require(e->dtype == DType::I64, what + " is not i64");
  }

  void expr(const ExprPtr& e) {
    for (const auto& a : e->args) {
      require(a != nullptr, "null operand");
      expr(a);
    }
    switch (e->kind) {
      case Expr::Kind::ConstF: require(isFloat(e->dtype), "float constant of another type"); break;
      case Expr::Kind::ConstI: require(!isFloat(e->dtype), "integer constant of a float type"); break;
      case Expr::Kind::Var: {
        auto it = vars_.find(e->name);
        require(it != vars_.end(), "unknown variable " + e->name);
        require(it->second == e->dtype, "type of variable " + e->name);
        break;
      }
      case Expr::Kind::Op: opExpr(*e); break;
      case Expr::Kind::Select:
      case Expr::Kind::Cond:
        require(e->args.size() == 3 && e->args[0]->dtype == DType::Bool && e->args[1]->dtype == e->dtype &&
                    e->args[2]->dtype == e->dtype,
                "types of a choice");
        break;
      case Expr::Kind::Cast: require(e->args.size() == 1, "arity of a cast"); break;
      case Expr::Kind::Load: {
        auto it = buffers_.find(e->name);
        require(it != buffers_.end(), "load from unknown buffer " + e->name);
        require(it->second.dtype == e->dtype, "type of buffer " + e->name);
        require(e->args.size() == 1 && e->args[0]->dtype == DType::I64, "index of " + e->name);
        break;
      }
      case Expr::Kind::Random:
        require(e->dtype == DType::I64, "type of random");
        for (const auto& a : e->args) require(a->dtype == DType::I64, "point of random");
        break;
    }
  }

  void opExpr(const Expr& e) {
    const std::string text = info(e.op).text;
    require(static_cast<int>(e.args.size()) == info(e.op).arity, "arity of " + text);
    const DType t = e.args[0]->dtype;
    for (const auto& a : e.args) require(a->dtype == t, "operand types of " + text);
    require(t != DType::BF16 && t != DType::F16, "arithmetic in bf16 or f16: " + text);
    require(accepts(e.op, t), text + " does not take " + name(t));
    require(resultType(e.op, t) == e.dtype, "result type of " + text);
  }

  void loop(const Loop& l) {
    integer(l.lo, "bound of " + l.var);
    integer(l.hi, "bound of " + l.var);
    require(!l.var.empty(), "loop without a variable");
    vars_[l.var] = DType::I64;
  }

  void block(const Block& b) {
    const auto saved = vars_;
    for (const auto& s : b) stmt(*s);
    vars_ = saved;
  }

  void stmt(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::Seq:
      case Stmt::Kind::Par: {
        const auto saved = vars_;
        require(s.kind == Stmt::Kind::Seq || !s.loop.reverse, "a reversed parallel loop");
        loop(s.loop);
        parDepth_ += s.kind == Stmt::Kind::Par;
        block(s.body);
        parDepth_ -= s.kind == Stmt::Kind::Par;
        vars_ = saved;
        break;
      }
      case Stmt::Kind::If:
        expr(s.cond);
        require(s.cond->dtype == DType::Bool, "condition is not bool");
        block(s.body);
        block(s.orelse);
        break;
      case Stmt::Kind::Let:
        expr(s.value);
        require(s.value->dtype == s.dtype, "type of " + s.name);
        vars_[s.name] = s.dtype;
        break;
      case Stmt::Kind::Store: store(s); break;
      case Stmt::Kind::Reduce: reduce(s); break;
      case Stmt::Kind::Check:
        expr(s.cond);
        require(s.cond->dtype == DType::Bool && s.args.size() <= 8, "shape of a check");
        for (const auto& a : s.args) integer(a, "value of a check");
        break;
      case Stmt::Kind::Poll: require(parDepth_ == 0, "poll inside a parallel loop"); break;
      case Stmt::Kind::Call: require(false, "no library call " + s.name); break;
    }
  }

  void store(const Stmt& s) {
    auto it = buffers_.find(s.name);
    require(it != buffers_.end(), "store to unknown buffer " + s.name);
    require(it->second.written, "store to read-only buffer " + s.name);
    integer(s.index, "index of " + s.name);
    expr(s.value);
    require(s.value->dtype == it->second.dtype, "type stored to " + s.name);
  }

  void reduce(const Stmt& s) {
    const auto saved = vars_;
    require(!s.loops.empty() && !s.accs.empty(), "empty reduction");
    for (const auto& l : s.loops) loop(l);
    for (const auto& b : s.body) {
      require(b->kind == Stmt::Kind::Let || b->kind == Stmt::Kind::Check, "only lets and checks inside a reduction");
      stmt(*b);
    }
    for (const auto& a : s.accs) {
      expr(a.value);
      require(a.value->dtype == a.dtype, "type of accumulator " + a.name);
      require(a.dtype != DType::BF16 && a.dtype != DType::F16, "accumulator in bf16 or f16");
      require((a.op == Reduce::All || a.op == Reduce::Any) == (a.dtype == DType::Bool), "reduction of bools: " + a.name);
    }
    vars_ = saved;
    for (const auto& a : s.accs) {
      const bool arg = a.op == Reduce::ArgMax || a.op == Reduce::ArgMin;
      require(!arg || s.loops.size() == 1, "argmax over more than one loop");
      vars_[a.name] = arg ? DType::I64 : a.dtype;
      if (arg) vars_[a.name + "_v"] = a.dtype;
    }
  }

  void kernel(const Kernel& k) {
    where_ = "kernel " + k.name;
    vars_.clear();
    buffers_.clear();
    for (const auto& p : k.params) vars_[p] = DType::I64;
    for (const auto& b : k.buffers) {
      auto it = programBuffers_.find(b.name);
      require(it != programBuffers_.end(), "buffer " + b.name + " is not the program's");
      require(it->second == b.dtype, "type of buffer " + b.name);
      require(buffers_.emplace(b.name, BufferInfo{b.dtype, b.written}).second, "buffer " + b.name + " twice");
    }
    for (const auto& s : k.scratch) {
      integer(s.count, "count of " + s.name);
      require(buffers_.emplace(s.name, BufferInfo{s.dtype, true, true}).second, "buffer " + s.name + " twice");
    }
    const auto params = vars_;
    std::map<std::string, DType> inGrid = vars_;
    for (const auto& l : k.grid) {
      vars_ = params;
      loop(l);
      require(!l.reverse, "a reversed grid loop");
      inGrid[l.var] = DType::I64;
    }
    vars_ = inGrid;
    block(k.body);
  }

  void host(const std::vector<HostStmt>& b) {
    const auto saved = vars_;
    for (const auto& s : b) hostStmt(s);
    vars_ = saved;
  }

  void hostStmt(const HostStmt& s) {
    for (const auto& a : s.args) integer(a, "host argument");
    switch (s.kind) {
      case HostStmt::Kind::For: {
        const auto saved = vars_;
        loop(s.loop);
        host(s.body);
        vars_ = saved;
        break;
      }
      case HostStmt::Kind::If:
        expr(s.cond);
        require(s.cond->dtype == DType::Bool, "condition is not bool");
        host(s.body);
        host(s.orelse);
        break;
      case HostStmt::Kind::Let:
        integer(s.value, "value of " + s.name);
        vars_[s.name] = DType::I64;
        break;
      case HostStmt::Kind::Launch: {
        require(s.kernel >= 0 && static_cast<size_t>(s.kernel) < prog_.kernels.size(), "launch of no kernel");
        const auto& k = prog_.kernels[static_cast<size_t>(s.kernel)];
        require(s.args.size() == k.params.size(), "arguments of " + k.name);
        break;
      }
      case HostStmt::Kind::Effect: require(s.effect >= 0, "number of an effect"); break;
      case HostStmt::Kind::Progress: require(s.args.size() == 2, "arguments of progress"); break;
    }
  }
};

}  // namespace

void verify(const Program& p) { Verifier(p).run(); }

}  // namespace tempo::kir
